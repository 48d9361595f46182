"""Connections that are kept for long: refused on, reset under load, closed while idle, frozen."""

import collections
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from harness import Caller, Tally, agree, wait_for, which
from matrix import PROXIES, PYTHON
from proxies import Front, start_proxy


class Session(Caller):
    """One requests.Session with one kept connection, in one process that lives as long as the test."""

    PROGRAM = """
import sys, requests
session = requests.Session()
for line in sys.stdin:
    try:
        said = {200: 'ok', 503: 'failed'}[session.get(sys.argv[1]).status_code]
    except requests.exceptions.ConnectionError as error:
        said = 'refused' if 'Connection refused' in str(error) else 'reset' if 'reset by peer' in str(error) else str(error)
    print(said, flush=True)
"""

    def __init__(self, guest, name, port):
        super().__init__(guest, name, port)
        self.process = guest.start(PYTHON, "-c", self.PROGRAM, self.url, stdin=subprocess.PIPE, stderr=sys.stderr)
        self.resets = 0

    def call(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        self.resets += said == "reset"
        # Nobody but us resets here: a request that is refused on an established connection
        return "refused" if said == "reset" else said


def test_session_is_refused_on_its_kept_connection_and_opened_again_by_the_first_success(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    session = Session(guest, "acme.test", provider.port)
    tally = Tally(session)
    assert tally.calls(20) == ["ok"] * 20
    assert provider.report()["connections"] == 1

    # When it answers 503 on that connection
    provider.set(status=503)
    first = next((i for i in range(200) if tally.call() == "refused"), None)
    if not guest.preloaded:
        assert first is None and provider.report()["connections"] == 1
        return

    # Then a request is refused on it, by a reset, and did not reach the provider
    assert session.resets == 1
    assert provider.report()["connections"] == 1
    assert provider.requests() == tally["ok"] + tally["failed"]
    tally.calls(100)
    assert tally["refused"] > 60
    agree(guest, "acme", tally, provider.report())

    # And when it is healthy again, so is the session
    provider.set()
    assert tally.until_back() < 5
    assert set(tally) == {"ok", "failed", "refused"}
    agree(guest, "acme", tally, provider.report())


# ---- nginx under load ---------------------------------------------------------------------------------------------------


class Visitors:
    """Threads that visit a proxy without pause, each over a connection of its own; what each visit met, and when."""

    def __init__(self, front, count=6):
        self.visits, self.over = [], False
        self.threads = [threading.Thread(target=self.visit, args=(front,), daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def visit(self, front):
        visitor = Front(front)
        while not self.over:
            begun, status = time.monotonic(), visitor.get()
            self.visits.append((begun, time.monotonic(), status))
            time.sleep(0.005)

    def between(self, begin, end):
        """Of visits that began and ended in between."""
        return [status for begun, ended, status in list(self.visits) if begin <= begun and ended <= end]

    def stop(self):
        self.over = True
        for thread in self.threads:
            thread.join()


def test_nginx_under_load_loses_nothing_that_it_could_serve_and_spares_a_dead_upstream(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    front = start_proxy(guest, PROXIES[0], provider.port, 5)
    visitors = Visitors(front)

    # Given kept connections to an upstream in good health
    begun = time.monotonic()
    time.sleep(1.5)
    killed = time.monotonic()
    # When it is killed and later brought back
    provider.listener("refuse")
    provider.sever("all")
    dead = time.monotonic()
    if guest.preloaded:
        wait_for(lambda: guest.phase("acme") == "open")
    time.sleep(1)
    before = provider.requests()
    time.sleep(1)
    assert provider.requests() == before
    back = time.monotonic()
    provider.listener("open")
    if guest.preloaded:
        wait_for(lambda: guest.phase("acme") == "closed", limit=10)
    quiet = time.monotonic()
    time.sleep(1)
    visitors.stop()

    # Then all is served while the breaker is closed
    assert set(visitors.between(begun, killed)) == {200}
    assert set(visitors.between(dead, back)) == {502}
    assert set(visitors.between(quiet, time.monotonic())) == {200}
    told = collections.Counter(status for *_, status in visitors.visits)
    assert set(told) == {200, 502}
    if not guest.preloaded:
        return
    # And what was counted is what was seen at both ends: the refused never reached it
    total = guest.status("acme")["total"]
    assert total["ok"] == told[200] == provider.answers(200)
    assert total["refused"] > 0.8 * total["failed"]
    # A visit may be two calls: nginx tries again by itself when a kept connection breaks, as one does that is refused on
    assert total["failed"] + total["refused"] + total["neutral"] >= told[502]
    assert guest.status("acme")["inflight"] == 0


# ---- closed while idle --------------------------------------------------------------------------------------------------

CARELESS = """
import http.client, random, sys, time
host, count = sys.argv[1], int(sys.argv[2])
connection, told = http.client.HTTPConnection(host, timeout=10), {}
random.seed(1)
for _ in range(count):
    try:
        connection.request('GET', '/')
        said = connection.getresponse()
        said.read()
        said = said.status
    except (ConnectionError, http.client.RemoteDisconnected):
        connection.close()
        said = 'stale'
    told[said] = told.get(said, 0) + 1
    time.sleep(random.uniform(0.0, 0.004))
print(told.pop(200), told.pop('stale', 0), told)
"""


def test_server_that_closes_idle_connections_all_the_time_never_changes_the_phase(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    # Given a server that closes what is idle for two milliseconds, and clients that pause up to twice as long
    provider.set(idle=2)
    clients = [guest.start(PYTHON, "-c", CARELESS, f"acme.test:{provider.port}", 600) for _ in range(3)]
    ends = [child.communicate(timeout=100) for child in clients]

    told = [out.split(maxsplit=2) for out, _ in ends]
    assert [rest.strip() for _, _, rest in told] == ["{}"] * 3, ends
    good, stale = (sum(int(one[i]) for one in told) for i in (0, 1))
    assert good + stale == 1800 and stale > 50, "the race was not run"
    if not guest.preloaded:
        return
    status = guest.status("acme")
    assert (status["phase"], status["transitions"]) == ("closed", 0)
    assert status["total"]["ok"] == good == provider.answers(200)
    assert status["total"]["failed"] == status["total"]["refused"] == 0
    assert status["total"]["neutral"] == stale


# ---- frozen -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def redis(tmp_path):
    """A real server on a port of its own."""
    if not which("redis-server"):
        pytest.skip("no redis-server here")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.port = port

    def up():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(up)
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


def test_frozen_redis_is_left_alone_after_hang_and_back_when_it_thaws(guest, redis):
    guest.settings["PREBREAK_PROVIDERS"] = "cache acme.test hang=1s"
    guest.names = {"acme.test": ["127.0.0.1"]}

    def cli(*words, **more):
        return guest.start("redis-cli", "-h", "acme.test", "-p", redis.port, *words, **more)

    def ping():
        child = cli("ping")
        return child.communicate(timeout=30)[0].strip() or "refused"

    # Given a connection that is kept for long, and others that come and go
    kept = cli(stdin=subprocess.PIPE)

    def ask():
        kept.stdin.write("ping\n")
        kept.stdin.flush()
        return kept.stdout.readline().strip()

    assert [ask() for _ in range(5)] == ["PONG"] * 5
    assert [ping() for _ in range(20)] == ["PONG"] * 20

    # When the server freezes
    redis.send_signal(signal.SIGSTOP)
    hung = [cli("ping") for _ in range(12)]
    if guest.preloaded:

        def opened():
            hung.append(cli("ping"))
            time.sleep(0.2)
            return guest.phase("cache") == "open"

        wait_for(opened, limit=12)
        assert guest.status("cache")["failures"]["hang"] >= 10
        # Then later callers are refused at once, but for a probe now and then that nobody waits for
        late = [cli("ping") for _ in range(20)]
        wait_for(lambda: sum(child.poll() is not None for child in late) >= 15, limit=5)
        hung += late

    # And when it thaws, who hung is answered, and everybody else soon after; the kept connection never broke
    redis.send_signal(signal.SIGCONT)
    ends = [child.communicate(timeout=30)[0].strip() for child in hung]
    assert ends[:12] == ["PONG"] * 12
    begun = time.monotonic()
    while [ping() for _ in range(10)] != ["PONG"] * 10:
        assert guest.preloaded and time.monotonic() < begun + 5
    if guest.preloaded:  # on its way back a request here or there may still be refused, also on a kept connection
        wait_for(lambda: guest.phase("cache") == "closed", limit=10)
    assert ask() == "PONG"
