"""HTTP/2 that can be read: each stream is a call, whatever else is on its connection. What the client saw, what the server
answered and what `status` says is the same, to the call."""

import collections
import re
import subprocess
import threading

import pytest

from harness import ROOT, wait_for, which
from matrix import PYTHON
from secure import Answer, Http2, Server

CLIENTS = ROOT / "tests" / "e2e" / "clients"
# Nothing trips by itself here: what is counted is what is tested.
RULE = "trip=0 min=100000"


def need(program=None, module=None):
    if program and not which(program):
        pytest.skip(f"no {program}")
    if module and subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode != 0:
        pytest.skip(f"no {module} for Python")


@pytest.fixture
def front(tmp_path, certificate):
    """front(server): nginx before it, that speaks HTTP/2, in the clear unless told otherwise."""
    fronts = []

    def make(server, **how):
        need("nginx")
        fronts.append(Http2(tmp_path, certificate, server.port, **({"tls": False} | how)))
        return fronts[-1]

    yield make
    for each in fronts:
        each.close()


def counted(guest, name, **expected):
    """What prebreak counted, and how it failed."""
    if not guest.preloaded:
        return
    wait_for(lambda: guest.status(name)["inflight"] == 0, limit=10)
    status = guest.status(name)
    kinds = expected.pop("kinds", {})
    expected = {"ok": 0, "failed": sum(kinds.values()), "neutral": 0, "refused": 0} | expected
    assert {key: status["total"][key] for key in expected} == expected
    assert status["total"]["calls"] == sum(expected.values())
    assert {kind: count for kind, count in status["failures"].items() if count} == kinds


# ---- many at once ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_thousand_streams_at_once_are_counted_to_the_call_by_who_asks_and_by_the_proxy(guest, provider, front, scheme):
    need("h2load")
    guest.settings["PREBREAK_PROVIDERS"] = f"behind 127.0.0.1:{provider.port} {RULE}; front 127.0.0.1 {RULE}"
    provider.set(status=503, every=5, latency=50)
    proxy = front(provider, environment=guest.environment(), tls=scheme == "https")

    done = guest.run("h2load", "-n", 1000, "-m", 1000, "-c", 1, f"{scheme}://127.0.0.1:{proxy.port}/")

    assert "800 2xx, 0 3xx, 0 4xx, 200 5xx" in done.stdout
    assert "1000 total, 1000 started, 1000 done, 800 succeeded, 200 failed, 0 errored, 0 timeout" in done.stdout
    assert provider.report()["answers"] == {"200": 800, "503": 200}
    assert len({connection for _, _, connection, _ in proxy.log()}) == 1
    counted(guest, "front", ok=800, kinds={"status": 200})
    counted(guest, "behind", ok=800, kinds={"status": 200})


def test_ten_connections_of_a_hundred_streams_each(guest, provider, front):
    need("h2load")
    guest.settings["PREBREAK_PROVIDERS"] = f"front 127.0.0.1 {RULE}"
    provider.set(status=503, every=5)
    proxy = front(provider)

    done = guest.run("h2load", "-n", 5000, "-m", 100, "-c", 10, "-t", 2, f"http://127.0.0.1:{proxy.port}/")

    assert "4000 2xx, 0 3xx, 0 4xx, 1000 5xx" in done.stdout
    counted(guest, "front", ok=4000, kinds={"status": 1000})


def test_server_that_goes_away_now_and_then_is_not_blamed(guest, provider, front):
    need("h2load")
    guest.settings["PREBREAK_PROVIDERS"] = f"front 127.0.0.1 {RULE}"
    proxy = front(provider, requests=10)

    done = guest.run("h2load", "-n", 100, "-m", 1, "-c", 1, f"http://127.0.0.1:{proxy.port}/")

    asked = int(re.search(r"(\d+) succeeded", done.stdout)[1])
    assert asked >= 10
    log = proxy.log()
    assert len(log) == asked and {status for _, status, _, _ in log} == {"200"}
    counted(guest, "front", ok=asked)


# ---- gRPC -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def grpc_server():
    need(module="grpc")
    server = subprocess.Popen([PYTHON, CLIENTS / "grpc_server.py"], stdout=subprocess.PIPE, text=True)
    server.port, server.calls = int(server.stdout.readline()), []
    reader = threading.Thread(target=lambda: server.calls.extend(line.strip() for line in server.stdout), daemon=True)
    reader.start()
    yield server
    server.kill()
    server.wait()
    reader.join()
    server.stdout.close()


def test_status_of_grpc_is_what_a_call_came_to(guest, grpc_server):
    methods = "OK UNAVAILABLE OK DEADLINE_EXCEEDED INVALID_ARGUMENT NOT_FOUND INTERNAL RESOURCE_EXHAUSTED".split() * 3
    guest.settings["PREBREAK_PROVIDERS"] = f"acme 127.0.0.1 {RULE}"

    done = guest.run(PYTHON, CLIENTS / "grpc_client.py", f"127.0.0.1:{grpc_server.port}", 1, *methods)

    assert done.stdout.split() == methods, done.stderr
    wait_for(lambda: len(grpc_server.calls) == len(methods))
    assert grpc_server.calls == methods
    counted(guest, "acme", ok=12, kinds={"timeout": 3, "status": 9})


def test_threads_that_share_a_connection_are_counted_to_the_call(guest, grpc_server):
    methods = ["OK", "UNAVAILABLE", "OK", "OK", "INTERNAL"] * 30
    guest.settings["PREBREAK_PROVIDERS"] = f"acme 127.0.0.1 {RULE}"

    done = guest.run(PYTHON, CLIENTS / "grpc_client.py", f"127.0.0.1:{grpc_server.port}", 8, *methods)

    expected = collections.Counter(methods * 8)
    assert collections.Counter(done.stdout.split()) == expected, done.stderr
    wait_for(lambda: collections.Counter(grpc_server.calls) == expected)
    counted(guest, "acme", ok=expected["OK"], kinds={"status": expected.total() - expected["OK"]})


# ---- what answers mean ----------------------------------------------------------------------------------------------------

EVENTS = {"Content-Type": "text/event-stream"}
STREAMS = {
    "complete": (Answer(200, EVENTS, [b"data: x\n\n", b"data: [DONE]\n\n"]), "ok"),
    "failed": (Answer(200, EVENTS, [b"data: x\n\n", b"event: error\ndata: {}\n\n"]), "stream"),
    "cut": (Answer(200, EVENTS, [b"data: x\n\n"], end="cut"), "stream"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_event_stream_is_judged_by_its_events(guest, front, name):
    need(module="h2")
    answer, kind = STREAMS[name]
    guest.settings["PREBREAK_PROVIDERS"] = f"front 127.0.0.1 {RULE}"
    server = Server()
    server.script["*"] = lambda request: answer
    proxy = front(server, buffering="off")

    done = guest.run(PYTHON, CLIENTS / "streams.py", f"http://127.0.0.1:{proxy.port}/", input="3\n")

    said = [line.split()[0] for line in done.stdout.splitlines()]
    assert said == (["200"] * 3 if name != "cut" else ["RemoteProtocolError"] * 3), done.stderr
    assert server.statuses() == {200: 3}
    server.close()
    counted(guest, "front", **({"ok": 3} if kind == "ok" else {"kinds": {kind: 3}}))


# ---- refused --------------------------------------------------------------------------------------------------------------


class Streams:
    """clients/streams.py, that is told what to do next."""

    def __init__(self, guest, url):
        need(module="h2")
        self.child = guest.start(PYTHON, CLIENTS / "streams.py", url, stdin=subprocess.PIPE)

    def ask(self, count):
        self.child.stdin.write(f"{count}\n")
        self.child.stdin.flush()

    def hear(self, count):
        """[(what it said, after how many ms)]"""
        return [(said, int(ms)) for said, ms in (self.child.stdout.readline().split() for _ in range(count))]


def test_provider_held_open_is_refused_before_a_connection_is_made(guarded, provider, front):
    need("nghttp")
    guarded.settings["PREBREAK_PROVIDERS"] = f"front 127.0.0.1 {RULE}"
    proxy = front(provider)
    guarded.prebreak("state", "--recreate")
    guarded.prebreak("hold", "front", "open")

    streams = Streams(guarded, f"http://127.0.0.1:{proxy.port}/")
    streams.ask(1)
    ((said, ms),) = streams.hear(1)
    done = guarded.run("nghttp", "-n", f"http://127.0.0.1:{proxy.port}/")

    assert said == "ConnectError" and ms < 2000
    assert "Could not connect" in done.stderr
    assert provider.requests() == 0 and proxy.log() == []
    assert guarded.status("front")["total"]["calls"] == guarded.status("front")["total"]["refused"] == 2


def test_streams_in_flight_go_on_when_it_trips_and_the_next_one_alone_is_refused(guest, provider, front):
    guest.settings["PREBREAK_PROVIDERS"] = f"front 127.0.0.1 {RULE}"
    provider.set(latency=1500)
    proxy = front(provider)
    streams = Streams(guest, f"http://127.0.0.1:{proxy.port}/")

    # Given ten in flight, and what trips then
    streams.ask(10)
    wait_for(lambda: provider.requests() == 10)
    if guest.preloaded:
        guest.prebreak("hold", "front", "open")
    # When another one is asked for beside them
    streams.ask(1)
    # Then all are answered
    assert [said for said, _ in streams.hear(11)] == ["200"] * 11
    assert len({connection for _, _, connection, _ in proxy.log()}) == 1
    # And one that is alone is refused at once, of which the server sees nothing
    streams.ask(1)
    ((said, ms),) = streams.hear(1)
    if not guest.preloaded:
        assert said == "200"
        return
    assert said in ("ReadError", "WriteError", "ConnectError", "RemoteProtocolError") and ms < 1000
    assert provider.requests() == 11
    total = guest.status("front")["total"]
    assert (total["ok"], total["failed"], total["would_refuse"]) == (11, 0, 1)
    assert total["refused"] >= 1


def test_streams_that_hang_fail_one_by_one_while_others_are_answered(guarded, provider, front):
    guarded.settings["PREBREAK_PROVIDERS"] = f"front 127.0.0.1 {RULE} hang=1s"
    url = f"http://127.0.0.1:{front(provider).port}/"
    hanging, well = Streams(guarded, url), Streams(guarded, url)
    hanging.ask(1)
    assert [said for said, _ in hanging.hear(1)] == ["200"]

    provider.set(action="hang")
    hanging.ask(3)
    wait_for(lambda: provider.requests() == 4)
    provider.set()

    def all_are_overdue():
        well.ask(1)
        assert [said for said, _ in well.hear(1)] == ["200"]
        return guarded.status("front")["failures"]["hang"] == 3

    wait_for(all_are_overdue, every=0.2)
    assert guarded.status("front")["total"]["failed"] == 3
