"""Databases, whose protocols prebreak does not read: long-lived connections of real clients to real servers."""

import pathlib
import subprocess
import time

import pytest

from databases import CLIENT, DATABASES, Client, Mariadb, Postgres, Redis
from harness import CALL, wait_for, which

HOST = "acme.test"


@pytest.fixture(scope="session")
def servers(certificate):
    """Started when they are first asked for."""
    running = {}

    def server(kind):
        why = kind.missing()
        if why:
            pytest.skip(why)
        if kind not in running:
            running[kind] = kind(certificate)
        return running[kind]

    yield server
    for each in running.values():
        each.close()


def each_of(*kinds):
    return pytest.mark.parametrize("kind", kinds or DATABASES, ids=lambda kind: kind.name)


def total(guest, provider, **expected):
    """So many calls of each outcome, and none that is still out."""
    wait_for(lambda: guest.status(provider)["inflight"] == 0, limit=5)
    told = guest.status(provider)["total"]
    assert {key: told[key] for key in ("ok", "failed", "neutral", "refused")} == {
        "ok": 0, "failed": 0, "neutral": 0, "refused": 0, **expected
    }  # fmt: skip


# ---- a query is a call ----------------------------------------------------------------------------------------------------


@each_of()
def test_queries_on_one_connection_are_calls_and_the_goodbye_is_neutral(guest, servers, kind):
    server = servers(kind)
    guest.names = {HOST: ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = f"db {HOST}"

    client = Client(guest, server, HOST)
    assert [client.ask(10), client.ask(90)] == ["10", "90"]
    assert client.leave() == ""

    if guest.preloaded:
        total(guest, "db", ok=kind.before + 100, neutral=kind.goodbyes)


@each_of(Mariadb, Postgres)
def test_queries_over_tls_that_is_begun_on_the_way_are_calls_too(guest, servers, kind):
    server = servers(kind)
    guest.names = {HOST: ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = f"db {HOST}"
    client = Client(guest, server, HOST, tls="require")
    assert client.ask(50) == "50"
    client.leave()
    if guest.preloaded:
        total(guest, "db", ok=kind.before_secure + 50, neutral=kind.goodbyes)


# Java brings a TLS of its own, which can only be seen from outside. What its drivers ask by themselves, and what they say
# last: PostgreSQL's goodbye is as short as a change of keys, and not to be told from one.
DRIVERS = {
    Mariadb: ("jdbc:mariadb://{}:{}/?user=root&useSsl={}&trustServerCertificate=true", ["false", "true"], [3, 3], [1, 1]),
    Postgres: ("jdbc:postgresql://{}:{}/postgres?user=prebreak&sslmode={}", ["disable", "require"], [3, 4], [1, 0]),
}
JARS = [pathlib.Path("/usr/share/java") / name for name in ("postgresql.jar", "mariadb-java-client.jar")]


@pytest.fixture(scope="session")
def java(tmp_path_factory):
    if not which("javac") or not all(jar.exists() for jar in JARS):
        pytest.skip("no Java with drivers here")
    directory = tmp_path_factory.mktemp("queries")
    subprocess.run(["javac", "-d", directory, CLIENT.with_name("Queries.java")], check=True)
    path = ":".join(str(each) for each in (directory, *JARS))
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", path, "Queries"]


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
@each_of(Mariadb, Postgres)
def test_queries_of_java_are_calls_in_the_clear_and_over_its_own_tls(guest, servers, java, kind, tls):
    url, choices, before, goodbyes = DRIVERS[kind]
    server = servers(kind)
    guest.names = {HOST: ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = f"db {HOST}"
    done = guest.run(*java, url.format(HOST, server.port, choices[tls]), 100)
    assert done.stdout == "done\n", done.stderr
    if guest.preloaded:
        wait_for(lambda: guest.status("db")["inflight"] == 0, limit=5)
        told = guest.status("db")["total"]
        if kind is Postgres and tls:
            # What it says last is as long as a KeyUpdate, and its first answers as session tickets: one call here or there
            assert (told["failed"], told["refused"]) == (0, 0)
            assert abs(told["ok"] + told["neutral"] - before[tls] - 100) <= 1 and told["neutral"] <= 1
        else:
            total(guest, "db", ok=before[tls] + 100, neutral=goodbyes[tls])


# ---- connections that nobody uses for a while ------------------------------------------------------------------------------


@each_of()
def test_connection_that_the_server_closed_while_idle_is_no_failure_when_it_is_used_again(guest, servers, kind):
    server = servers(kind)
    guest.names = {HOST: ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = f"db {HOST} trip=1"
    with server.closing_idle(2) as begin:
        client = Client(guest, server, HOST)
        assert client.ask(5) == "5"
        begin()
        time.sleep(4)  # Redis looks for them once a second
        assert client.ask(1).startswith("0, then")
        client.leave()

    if guest.preloaded:
        # PostgreSQL says why it closes, which who asks then takes for an answer: so does prebreak
        last = "ok" if kind is Postgres else "neutral"
        counts = {"ok": kind.before + 5, "neutral": 0}
        counts[last] += 1
        total(guest, "db", **counts)
        assert (guest.phase("db"), guest.status("db")["transitions"]) == ("closed", 0)


@each_of(Redis, Postgres)
def test_messages_that_come_by_themselves_are_no_calls_and_their_absence_no_failure(guest, servers, kind):
    server = servers(kind)
    guest.names = {HOST: ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = f"db {HOST} hang=1s trip=1; beat 127.0.0.1"
    client = Client(guest, server, HOST)
    assert client.ask(5) == "5"
    client.tell("listen 3")
    for _ in range(3):
        time.sleep(1.5)  # longer than `hang`, and than what the rest of an answer may take
        server.announce()
    assert client.hear() == "heard"
    client.leave()
    if guest.preloaded:
        status = guest.status("db")
        # Redis listens on a connection of its own
        assert status["total"]["ok"] == kind.before + 5 + 1
        assert (status["total"]["failed"], status["total"]["refused"], status["transitions"]) == (0, 0, 0)


# ---- frozen -----------------------------------------------------------------------------------------------------------------


class Late(Client):
    """Connects and asks once, when the server is known to be frozen."""

    def __init__(self, guest, database, host):
        super().__init__(guest, database, host)
        self.process.stdin.write("ask 1\n")
        self.process.stdin.close()

    def over(self):
        return self.process.poll() is not None


def test_frozen_databases_are_seen_to_hang_on_kept_connections_and_are_well_when_they_thaw(guest, servers, provider):
    # Given connections that are kept for long, one to each, in use all the time
    running = {kind: servers(kind) for kind in DATABASES}
    guest.names = {f"{kind.name}.test": ["127.0.0.1"] for kind in DATABASES}
    rules = [f"{kind.name} {kind.name}.test hang=5s trip=1 reset=1 ramp=0" for kind in DATABASES]
    guest.settings["PREBREAK_PROVIDERS"] = "; ".join([*rules, "beat 127.0.0.1"])
    clients = {kind: Client(guest, server, f"{kind.name}.test") for kind, server in running.items()}
    assert {client.ask(20) for client in clients.values()} == {"20"}

    def loop():
        for client in clients.values():
            client.tell("loop")

    def beat():
        """Somebody is calling somebody all the time: whoever calls looks for what is overdue."""
        assert guest.run(CALL, "127.0.0.1", provider.port).stdout.strip() == "200"
        time.sleep(0.3)

    loop()
    time.sleep(1)
    # When the servers freeze for 20 seconds
    for server in running.values():
        server.freeze()
    thaw_at = time.monotonic() + 20
    late = {kind: [] for kind in DATABASES}
    try:
        if guest.preloaded:

            def opened():
                beat()
                return all(guest.phase(kind.name) == "open" for kind in DATABASES)

            # Then the hang is seen while the clients still wait,
            wait_for(opened, limit=15)
            assert [guest.status(kind.name)["failures"]["hang"] for kind in DATABASES] == [1, 1, 1]
            # later callers fail at once, but for a few that are let through to look,
            for kind, server in running.items():
                late[kind] = [Late(guest, server, f"{kind.name}.test") for _ in range(6)]

            def refused():
                over = {kind: sum(each.over() for each in some) for kind, some in late.items()}
                return all(over[kind] == guest.status(kind.name)["total"]["refused"] >= 3 for kind in DATABASES)

            wait_for(refused, limit=10)
            time.sleep(1)
            assert refused()
            for some in late.values():
                for each in [each for each in some if not each.over()]:
                    each.process.kill()
                    each.process.wait()
        while time.monotonic() < thaw_at:
            beat()
    finally:
        for server in running.values():
            server.thaw()

    # and when they thaw all is well: the queries are answered, on the connections that were there
    answered = {}
    for kind, client in clients.items():
        if guest.preloaded:
            wait_for(lambda: guest.phase(kind.name) == "closed", limit=10)
        client.tell("stop")
        answered[kind] = client.hear()
    assert {kind.name for kind in answered if not answered[kind].isdigit() or int(answered[kind]) < 5} == set(), answered
    assert {client.ask(20) for client in clients.values()} == {"20"}
    assert {client.leave() for client in clients.values()} == {""}
    if not guest.preloaded:
        return
    for kind in DATABASES:
        killed = sum(each.process.returncode < 0 for each in late[kind])
        status = guest.status(kind.name)
        told = status["total"]
        assert told["refused"] == len(late[kind]) - killed
        assert told["failed"] == status["failures"]["hang"] >= 1
        turns = kind.before + 20 + int(answered[kind]) + 20 + kind.goodbyes
        # Who waits for a greeting has asked for nothing yet: it is told of when it ends, and killed it tells nothing
        assert told["ok"] + told["failed"] + told["neutral"] == turns + (killed if kind is not Mariadb else 0)
        assert (status["phase"], status["inflight"]) == ("closed", 0)
