"""What providers mean by their answers, in the clear: event streams that fail after they said 200, spent quotas, and when
to come again. The client, the server and `status` tell the same story, to the call.
"""

import contextlib
import dataclasses
import select
import subprocess
import sys
import time

import pytest

from asked import Asked, Caller
from harness import LIMIT, Tally, wait_for
from matrix import CLIENTS, PYTHON, Client

STREAMS = CLIENTS.parent / "streams"


@dataclasses.dataclass(frozen=True)
class Streaming:
    name: str
    words: tuple  # the second is a file of STREAMS
    module: str = None
    needs: str = None
    tells_cuts: bool = True  # what is cut off is not taken for an end

    missing = Client.missing


CLIENTS_STREAMING = [
    Streaming("requests", (PYTHON, "python_requests.py"), module="requests"),
    Streaming("http.client", (PYTHON, "http_client.py")),
    Streaming("httpx", (PYTHON, "python_httpx.py"), module="httpx"),
    Streaming("PHP streams", ("php", "streams.php"), tells_cuts=False),
    Streaming("Node http", ("node", "http.js")),
]


class Reader:
    """Such a client, running: each call is one request, read to its end or left at the first event."""

    def __init__(self, guest, client, url):
        self.guest, self.client, self.url, self.process = guest, client, url, None

    def begin(self, what="read"):
        if self.process is None:
            program, file = self.client.words
            words = (program, STREAMS / file, self.url)
            self.process = self.guest.start(*words, stdin=subprocess.PIPE, stderr=sys.stderr)
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def end(self):
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT / 4)
        assert ready, "hangs"
        seen, how = self.process.stdout.readline().split()
        return int(seen), how

    def call(self, what="read"):
        self.begin(what)
        return self.end()


@pytest.fixture
def acme(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1"
    provider.url = f"http://127.0.0.1:{provider.port}/"
    return provider


@pytest.fixture(params=CLIENTS_STREAMING, ids=lambda each: each.name)
def reader(request, guest, acme):
    if request.param.missing():
        pytest.skip(request.param.missing())
    return Reader(guest, request.param, acme.url)


def counted(guest, calls, ok=0, neutral=0, refused=0, **failures):
    """These and no others, once nothing is under way any more."""
    if not guest.preloaded:
        return
    wait_for(lambda: guest.status("acme")["inflight"] == 0, limit=5)
    status = guest.status("acme")
    total = status["total"]
    assert {kind: count for kind, count in status["failures"].items() if count} == failures
    assert total["failed"] == sum(failures.values())
    assert (total["ok"], total["neutral"], total["refused"]) == (ok, neutral, refused)
    assert total["calls"] == calls


# ---- streams -----------------------------------------------------------------------------------------------------------

# How a stream goes: events and end; data lines and how they end as a client sees them; the kind of failure, if it is one.
WAYS = {
    "OpenAI, to its last words": ("chunk,chunk,comment,done", "whole", 3, "whole", None),
    "OpenAI, without them": ("chunk,chunk", "whole", 2, "whole", None),
    "OpenAI, until the connection ends": ("chunk,chunk,done", "whole until_close", 3, "whole", None),
    "OpenAI, cut off after its last words": ("chunk,done", "reset", 2, "cut", None),
    "Anthropic, to its last words": ("start,ping,delta,delta,stop", "whole", 5, "whole", None),
    "OpenAI fails": ("chunk,failure", "whole", 2, "whole", "stream"),
    "Anthropic fails": ("start,delta,error", "whole", 3, "whole", "stream"),
    "Anthropic fails until the connection ends": ("start,error", "whole until_close", 2, "whole", "stream"),
    "cut off": ("start,delta,delta", "cut", 3, "cut", "stream"),
    "reset": ("chunk,chunk", "reset", 2, "cut", "stream"),
}


@pytest.mark.parametrize("way", WAYS)
def test_stream_is_counted_by_what_became_of_it(guest, acme, reader, way):
    events, end, seen, how, failure = WAYS[way]
    end, _, until_close = end.partition(" ")
    acme.set(action="stream", events=events, end=end, interval=3, until_close=int(bool(until_close)))

    # When three of them are read to their end
    for _ in range(3):
        assert reader.call() == (seen, how if reader.client.tells_cuts else "whole")

    # Then they are what they were, and an ordinary call after them is one too
    acme.set()
    assert reader.call() == (0, "whole")
    assert acme.requests() == acme.answers(200) == 4
    if failure:
        counted(guest, calls=4, ok=1, **{failure: 3})
    else:
        counted(guest, calls=4, ok=4)


def test_stream_that_is_left_at_an_event_was_answered(guest, acme, reader):
    acme.set(action="stream", events="start,delta,delta,delta", end="silent", interval=3)
    for _ in range(3):
        assert reader.call("leave") == (1, "left")
    wait_for(lambda: acme.report()["abandoned"] == 3, limit=5)
    assert acme.requests() == 3
    counted(guest, calls=3, ok=3)


@pytest.mark.parametrize("end", ["silent", "repeat"])
def test_stream_that_goes_silent_but_for_comments_has_stalled_while_its_client_hangs(guest, acme, reader, end):
    guest.settings["PREBREAK_PROVIDERS"] += " stall=2s hang=60s"
    begun = time.monotonic()
    reader.call()
    # Given a stream whose last event repeats: a comment, that is no sign of life
    acme.set(action="stream", events="start,delta,ping,comment", end=end, interval=50)
    reader.begin()
    wait_for(lambda: acme.answers(200) == 2)

    # Then somebody else's calls find it out, and the first caller hangs still
    if guest.preloaded:
        other = Tally(Caller(guest, Asked("requests", (PYTHON, "python_requests.py")), "kept", acme.url, {}))

        def found():
            acme.set()
            other.call()
            return guest.status("acme")["failures"]["stream"]

        wait_for(found, limit=20, every=0.2)
        assert time.monotonic() > begun + 2
        counted_now = guest.status("acme")
        assert counted_now["total"]["failed"] == 1
        assert counted_now["inflight"] == 0
    else:
        time.sleep(1)
    assert not select.select([reader.process.stdout], [], [], 0)[0]

    # And what it says in the end is not counted a second time
    assert acme.tell("sever busy")["severed"] == 1
    assert reader.end()[0] == 3
    if guest.preloaded:
        assert set(other) == {"200"}
        counted(guest, calls=2 + other.total(), ok=1 + other.total(), stream=1)


def test_streams_that_fail_open_the_breaker_and_good_ones_close_it(guest, acme):
    reader = Reader(guest, CLIENTS_STREAMING[1], acme.url)
    acme.set(action="stream", events="start,delta,stop", interval=1)
    assert [reader.call() for _ in range(20)] == [(3, "whole")] * 20

    # When every stream fails after it said 200
    acme.set(action="stream", events="start,error", interval=1)
    told = [reader.call() for _ in range(120)]

    # Then calls are refused and do not reach the provider
    refused = told.count((0, "refused"))
    assert (refused > 50) == guest.preloaded
    assert told.count((2, "whole")) == 120 - refused == acme.requests() - 20
    counted(guest, calls=140, ok=20, refused=refused, **{"stream": 120 - refused})

    # And when they are good again, they pass
    acme.set(action="stream", events="start,delta,stop", interval=1)
    wait_for(lambda: [reader.call() for _ in range(10)] == [(3, "whole")] * 10, limit=20)


# ---- quota -------------------------------------------------------------------------------------------------------------

OUT_OF_QUOTA = '{"error":{"message":"You_exceeded_your_current_quota","type":"insufficient_quota","param":null}}'
RATE_LIMITED = '{"error":{"message":"Rate_limit_reached","type":"requests","code":"rate_limit_exceeded"}}'
ASKED = [
    Asked("requests", (PYTHON, "python_requests.py"), module="requests"),
    Asked("httpx", (PYTHON, "python_httpx.py"), module="httpx"),
    Asked("PHP streams", ("php", "streams.php")),
]


@pytest.fixture
def asking(guest, acme):
    with contextlib.ExitStack() as stack:

        def make(client=ASKED[0], way="kept"):
            if client.missing():
                pytest.skip(client.missing())
            return Tally(Caller(guest, client, way, acme.url, {}))

        yield make
        stack.close()


@pytest.mark.parametrize("client", ASKED, ids=lambda each: each.name)
def test_spent_quota_is_told_from_a_rate_limit(guest, acme, asking, client):
    tally = asking(client)
    acme.set(status=429, text=OUT_OF_QUOTA)
    assert tally.calls(3) == ["429"] * 3
    acme.set(status=429, text=RATE_LIMITED)
    assert tally.calls(2) == ["429"] * 2
    # What cannot be read is a rate limit
    acme.set(status=429, text=OUT_OF_QUOTA, header="Content-Encoding:x-unknown")
    assert tally.call() == "429"
    # And other statuses say what they say
    acme.set(status=403, text=OUT_OF_QUOTA)
    assert tally.call() == "403"

    assert acme.requests() == 7
    counted(guest, calls=7, ok=1, quota=3, status=3)
    if guest.preloaded:
        told = [line for line in guest.events() if "event=quota" in line]
        assert len(told) == 1 and "provider=acme" in told[0] and "level=warn" in told[0]


# ---- when to come again ------------------------------------------------------------------------------------------------


def test_503_fails_and_429s_pause_at_once_where_they_are_obeyed(guest, acme, asking):
    guest.settings["PREBREAK_PROVIDERS"] += " 429=pause"
    tally = asking()
    assert tally.calls(10) == ["200"] * 10
    acme.set(status=503)
    assert tally.call() == "503"
    if guest.preloaded:
        assert guest.status("acme")["total"]["failed"] == 1

    acme.set(status=429, header="Retry-After:3")
    paused = time.monotonic()
    assert tally.call() == "429"
    if guest.preloaded:
        assert guest.phase("acme") == "paused"
        assert tally.calls(5) == ["refused"] * 5
        wait_for(lambda: guest.phase("acme") != "paused", limit=10)
        assert time.monotonic() > paused + 2.9
    acme.set()
    assert tally.calls(3) == ["200"] * 3
    assert acme.requests() == 15
    counted(guest, calls=tally.total(), ok=13, neutral=int(guest.preloaded), refused=tally["refused"], status=1)
    if guest.preloaded:
        assert guest.status("acme")["pauses"] == 1


def test_429s_pause_by_default_once_nothing_has_got_through_for_a_second(guest, acme, asking):
    tally = asking()
    assert tally.calls(19) == ["200"] * 19
    last_good = time.monotonic()
    assert tally.call() == "200"
    acme.set(status=503)
    assert tally.call() == "503"
    acme.set(status=429, header="Retry-After:3")
    for _ in range(100 if guest.preloaded else 3):
        assert tally.call() == "429"
        if guest.preloaded and guest.phase("acme") == "paused":
            break
        time.sleep(0.2)
    if guest.preloaded:
        assert time.monotonic() > last_good + 1
        assert tally.calls(5) == ["refused"] * 5
        wait_for(lambda: guest.phase("acme") != "paused", limit=10)
    acme.set()
    assert tally.calls(3) == ["200"] * 3
    assert acme.answers(429) == tally["429"]
    if guest.preloaded:
        counted(
            guest, calls=tally.total(), ok=23, neutral=1, refused=tally["refused"], status=1 + tally["429"] - 1
        )
        assert guest.status("acme")["pauses"] == 1


def test_provider_that_sends_every_third_call_away_is_not_paused_by_default(guest, acme, asking):
    tally = asking()
    acme.set(status=429, header="Retry-After:30", every=3)
    begun = time.monotonic()
    while time.monotonic() < begun + 2.5 or tally.total() < 30:
        tally.calls(3)
    assert tally["200"] == 2 * tally["429"] == 2 * tally.total() // 3
    assert acme.answers(429) == tally["429"]
    counted(guest, calls=tally.total(), ok=tally["200"], status=tally["429"])
    if guest.preloaded:
        status = guest.status("acme")
        assert (status["phase"], status["pauses"], status["transitions"]) == ("closed", 0, 0)


@pytest.mark.parametrize(
    "header",
    [
        "retry-after-ms:2500",
        "x-ratelimit-reset-tokens:2.5s",
        "x-ratelimit-reset:3",
        "RateLimit-Reset:3",
    ],
)
def test_providers_ways_of_saying_when_are_obeyed(guest, acme, asking, header):
    guest.settings["PREBREAK_PROVIDERS"] += " 429=pause"
    tally = asking()
    acme.set(status=429, header=header)
    paused = time.monotonic()
    assert tally.call() == "429"
    acme.set()
    if guest.preloaded:
        assert tally.call() == "refused"
        wait_for(lambda: guest.phase("acme") != "paused", limit=10)
        assert time.monotonic() > paused + 2.4
    assert tally.call() == "200"
    counted(guest, calls=tally.total(), ok=1, neutral=1, refused=1)


def test_what_the_caller_did_wrong_trips_nothing(guest, acme, asking):
    tally = asking()
    for status in (400, 401, 404):
        acme.set(status=status)
        assert tally.calls(334) == [str(status)] * 334
    assert acme.requests() == 1002
    counted(guest, calls=1002, ok=1002)
    if guest.preloaded:
        status = guest.status("acme")
        assert (status["phase"], status["transitions"]) == ("closed", 0)


def test_overloaded_is_a_failure(guest, acme, asking):
    tally = asking()
    acme.set(status=529)
    assert tally.calls(3) == ["529"] * 3
    counted(guest, calls=3, status=3)
