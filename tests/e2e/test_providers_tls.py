"""What providers mean by their answers, behind TLS: each of the clients on a connection that it keeps, and on one each time.

The client, the server and `status` tell the same story, to the call.
"""

import time

import pytest

from asked import CLIENTS_ASKED, Caller, asked, skip_missing
from harness import Tally, wait_for
from matrix import PYTHON
from secure import DOMAIN, always, every

RETRY_AFTER = 3


class Provider:
    """One name at an address of its own, on whatever server there is, and those who call it."""

    def __init__(self, guest, front, server, name, settings):
        self.guest, self.front, self.server, self.name = guest, front, server, name
        self.host = f"{name}.{DOMAIN}"
        self.rule = f"{name} {self.host} {settings}"

    def calls_by(self, client, way, environment):
        address = self.guest.names[self.host][0]
        url = f"https://{self.host}:{self.front.port}/"
        self.tally = Tally(Caller(self.guest, client, way, url, {**environment, "ADDRESS": address}))
        return self

    def answers(self, script):
        self.server.script[self.host] = script

    def phase(self):
        return self.guest.phase(self.name)

    def agrees(self, failed=(503, 429), neutral=0):
        """The three sides: what was said to the client, what the server answered, what was counted."""
        told = {str(status): count for status, count in self.server.statuses(self.host).items()}
        assert told == {said: count for said, count in self.tally.items() if said.isdigit()}
        assert set(self.tally) - set(told) == ({"refused"} if self.tally["refused"] else set())
        if not self.guest.preloaded:
            assert not self.tally["refused"]
            return
        wait_for(lambda: self.guest.status(self.name)["inflight"] == 0, limit=5)
        total = self.guest.status(self.name)["total"]
        bad = sum(told.get(str(status), 0) for status in failed) - neutral
        assert total["calls"] == self.tally.total()
        assert total["neutral"] == neutral
        assert total["failed"] == bad
        assert total["ok"] == sum(told.values()) - bad - neutral
        assert total["refused"] == self.tally["refused"]


@pytest.fixture
def providers(guest, serve, certificate):
    """providers(client, NAME='settings of its rule', ...): one for each name and each of the client's ways."""

    def make(client, **rules):
        skip_missing(client)
        ways = [(way, f"{way}-{name}", settings) for name, settings in rules.items() for way in client.ways]
        addresses = [f"127.0.0.{2 + i}" for i in range(len(ways))]
        server, front = serve(addresses, client.http2)
        guest.names = {f"{name}.{DOMAIN}": [address] for (_, name, _), address in zip(ways, addresses)}
        made = [(way, Provider(guest, front, server, name, settings)) for way, name, settings in ways]
        guest.settings["PREBREAK_PROVIDERS"] = "; ".join(provider.rule for _, provider in made)
        return [provider.calls_by(client, way, certificate.trusting) for way, provider in made]

    return make


def one(providers, name):
    return [each for each in providers if each.name.endswith(name)]


@asked()
def test_503_fails_and_429s_pause_at_once_when_told_so_else_when_nothing_gets_through(guest, providers, client):
    both = providers(client, pause="429=pause", auto="")
    obeying, waiting = one(both, "pause"), one(both, "auto")

    # Given a provider that was well, and then answered 503
    for each in both:
        assert each.tally.calls(19) == ["200"] * 19
        each.last_good = time.monotonic()
        assert each.tally.call() == "200"
        each.answers(always(503))
        assert each.tally.call() == "503"
        each.answers(always(429, Retry_After=RETRY_AFTER))
        if guest.preloaded:
            assert guest.status(each.name)["total"]["failed"] == 1

    # When it answers nothing but 429, then who was told to pauses at once
    for each in obeying:
        assert each.tally.call() == "429"
        if guest.preloaded:
            assert each.phase() == "paused"
            assert each.tally.calls(3) == ["refused"] * 3
    # And by default once nothing has got through for a second
    left, rounds = list(waiting), 100 if guest.preloaded else 2
    while left and rounds:
        for each in left:
            assert each.tally.call() == "429"
        if guest.preloaded:
            for each in [each for each in left if each.phase() == "paused"]:
                assert time.monotonic() > each.last_good + 1
                assert each.tally.calls(3) == ["refused"] * 3
                left.remove(each)
        rounds -= 1
        time.sleep(0.2)
    assert not (left and guest.preloaded)

    # And three seconds later it is called again, and well
    for each in both:
        each.answers(always(200))
        if guest.preloaded:
            wait_for(lambda: each.phase() != "paused", limit=2 * RETRY_AFTER)
            # On a machine so slow that its good calls are forgotten by now, those that failed weigh for a moment more
            wait_for(lambda: each.tally.call() == "200", limit=10)
        assert each.tally.call() == "200"
        each.agrees(neutral=1 if guest.preloaded else 0)
        if guest.preloaded:
            status = guest.status(each.name)
            assert status["pauses"] == 1
            assert status["failures"]["status"] == status["total"]["failed"] == each.tally["429"]


@asked()
def test_provider_that_sends_every_third_call_away_is_not_paused_by_default(guest, providers, client):
    served = providers(client, acme="")
    for each in served:
        each.answers(every(3, always(429, Retry_After=30)))
    begun = time.monotonic()
    while time.monotonic() < begun + 2.5 or served[0].tally.total() < 30:
        for each in served:
            each.tally.calls(3)
    for each in served:
        assert each.tally["200"] == 2 * each.tally["429"] == 2 * each.tally.total() // 3
        each.agrees()
        if guest.preloaded:
            status = guest.status(each.name)
            assert (status["phase"], status["pauses"], status["transitions"]) == ("closed", 0, 0)


@asked([each for each in CLIENTS_ASKED if "kept" in each.ways])
def test_kept_connection_is_refused_on_and_opened_again_by_the_first_success(guest, providers, client):
    (acme,) = [each for each in providers(client, acme="") if each.name == "kept-acme"]
    assert acme.tally.calls(20) == ["200"] * 20
    assert acme.server.connections_of(acme.host) == 1

    # When it answers 503 on that connection
    acme.answers(always(503))
    first = next((i for i in range(60) if acme.tally.call() != "503"), None)
    assert (first is None) != guest.preloaded
    if not guest.preloaded:
        assert acme.server.connections_of(acme.host) == 1
        acme.agrees()
        return

    # Then a request is refused on that very connection, and does not reach the server; and so are others; nobody spins
    assert not acme.tally.caller.spins()
    assert acme.server.connections_of(acme.host) == 1
    assert acme.tally["refused"] == 1 and acme.tally.caller.resets == (not client.curl)
    acme.tally.calls(60)
    assert acme.tally["refused"] > 30
    acme.agrees()

    # And when it is well again, so is the client
    acme.answers(always(200))
    wait_for(lambda: acme.tally.calls(10) == ["200"] * 10, limit=10)
    acme.agrees()


@asked([each for each in CLIENTS_ASKED if each.name in ("requests", "httpx over HTTP/2", "PHP curl")])
def test_what_the_caller_did_wrong_trips_nothing(guest, providers, client):
    """A content filter's 400, a revoked key's 401, a 404: a thousand on one connection prove that it answers."""
    (acme,) = [each for each in providers(client, acme="") if each.name == "kept-acme"]
    statuses = iter(range(1 << 30))
    scripts = [always(status) for status in (400, 401, 404)]
    acme.answers(lambda request: scripts[next(statuses) % 3](request))
    assert set(acme.tally.calls(1000)) == {"400", "401", "404"}
    assert acme.server.connections_of(acme.host) == 1
    acme.agrees(failed=())
    if guest.preloaded:
        status = guest.status(acme.name)
        assert (status["phase"], status["transitions"]) == ("closed", 0)


# ---- many at once -------------------------------------------------------------------------------------------------------

THREADS = """
import collections, concurrent.futures, requests, socket, sys
socket.gethostbyname("acme.test")  # nss_wrapper reads its names at the first question, and only one thread may ask that
session = requests.Session()
session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=5))  # fewer than there are threads: some are new each time
with concurrent.futures.ThreadPoolExecutor(12) as pool:
    answers = pool.map(lambda i: session.get(sys.argv[1], timeout=30).status_code, range(int(sys.argv[2])))
    print(sorted(collections.Counter(answers).items()))
"""

TASKS = """
import aiohttp, asyncio, collections, sys
async def get(session):
    async with session.get(sys.argv[1]) as answer:
        await answer.read()
        return answer.status
async def main():
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=40)) as session:
        answers = await asyncio.gather(*(get(session) for _ in range(int(sys.argv[2]))))
        print(sorted(collections.Counter(answers).items()))
asyncio.run(main())
"""

FORKS = """
import os, requests, sys
statuses = []
for _ in range(8):
    reader, writer = os.pipe()
    if os.fork() == 0:
        session = requests.Session()
        for _ in range(int(sys.argv[2]) // 8):
            os.write(writer, b"%d\\n" % session.get(sys.argv[1], timeout=30).status_code)
        os._exit(0)
    os.close(writer)
    statuses.append(reader)
statuses = [int(line) for reader in statuses for line in os.fdopen(reader)]
print(sorted((status, statuses.count(status)) for status in set(statuses)))
"""


@pytest.mark.parametrize("program", [THREADS, TASKS, FORKS], ids=["threads", "tasks", "forks"])
def test_many_at_once_are_counted_each(guest, serve, certificate, program):
    guest.settings["PREBREAK_PROVIDERS"] = f"acme {DOMAIN} trip=0 min=1000000"
    guest.names = {DOMAIN: ["127.0.0.1"]}
    server, _ = serve(["127.0.0.1"])
    server.script["*"] = every(5, always(503))
    done = guest.run(PYTHON, "-c", program, f"https://{DOMAIN}:{server.port}/", 400, **certificate.trusting)
    assert done.stdout == "[(200, 320), (503, 80)]\n", done.stderr
    assert server.statuses() == {200: 320, 503: 80}
    if guest.preloaded:
        wait_for(lambda: guest.status("acme")["inflight"] == 0, limit=5)
        total = guest.status("acme")["total"]
        assert (total["calls"], total["ok"], total["failed"]) == (400, 320, 80)
