"""Clients over TLS whose provider stops answering, and who would wait for ever."""

import pathlib
import subprocess
import threading
import time

import pytest

from harness import CALL, wait_for, which
from matrix import said
from secure import Answer

CLIENTS = pathlib.Path(__file__).parent / "clients" / "waves"
GUZZLE = pathlib.Path("/usr/share/php/GuzzleHttp/autoload.php")
COUNT = 12


@pytest.fixture(scope="session")
def java(tmp_path_factory):
    directory = tmp_path_factory.mktemp("waves")
    if which("javac"):
        subprocess.run(["javac", "-d", directory, CLIENTS / "Waves.java"], check=True)
    # Small and quick to start, with a thread for each request.
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", directory, "Waves"]


class Caller:
    """A program that makes waves of requests, and how each has ended so far."""

    def __init__(self, guest, words, environment):
        self.process = guest.start(*words, **environment)
        self.ends = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.ends.append(said(line))

    def kill(self):
        self.process.kill()
        self.reader.join()


# Where a second wave comes on the connections of the first, each of its requests is a call that was not seen to begin with
# a connect. Java by default offers HTTP/2, of which a connection is one call: there it must be the first.
@pytest.mark.parametrize(
    "words, kept",
    [
        (["node", "fetch.js"], True),
        (["java", "HTTP_1_1"], True),
        (["java", "HTTP_2"], False),
        (["php", "curl.php"], True),
        (["php", "guzzle.php"], True),
    ],
    ids=["Node fetch", "Java HttpClient", "Java HttpClient offering HTTP/2", "PHP curl", "Guzzle"],
)
def test_provider_that_stops_answering_is_open_while_its_first_callers_still_wait(
    guest, serve, certificate, provider, java, words, kept
):
    if not which(words[0]) or (words[1] == "guzzle.php" and not GUZZLE.exists()):
        pytest.skip(f"no {words[0]} or no Guzzle here")
    command = [*java, words[1]] if words[0] == "java" else [words[0], CLIENTS / words[1]]
    server, _ = serve(["127.0.0.1"])
    guest.names = {"acme.test": ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test hang=3s; beat 127.0.0.1"

    def call(waves):
        return Caller(guest, [*command, f"https://acme.test:{server.port}/", COUNT, waves], certificate.trusting)

    # Given a provider that is known to answer, and stops it
    server.script["*"] = lambda request: Answer() if request.path == "/0" else Answer(status=None)
    first = call(2 if kept else 1)
    wait_for(lambda: first.ends == ["200"] * COUNT, limit=60)
    if not kept:
        first.process.wait(timeout=10)
        server.script["*"] = lambda request: Answer(status=None)
        first = call(1)
    wait_for(lambda: len(server.log) == 2 * COUNT)
    server.script["*"] = lambda request: Answer(status=None)
    before = list(first.ends)

    if not guest.preloaded:
        time.sleep(5)
        assert first.ends == before and first.process.poll() is None
        first.kill()
        return

    # When somebody calls somebody, which is when the overdue are looked for
    def overdue():
        assert guest.run(CALL, "127.0.0.1", provider.port).stdout.strip() == "200"
        time.sleep(0.3)
        status = guest.status("acme")
        assert status["failures"]["hang"] == COUNT, (status, server.connections)
        return True

    wait_for(overdue, limit=30)

    # Then the first callers have failed while they wait,
    assert guest.phase("acme") == "open"
    assert guest.status("acme")["total"]["ok"] == COUNT
    assert first.ends == before and first.process.poll() is None
    # and later ones fail at once, but for a few that are let through to look
    later = call(1)
    wait_for(lambda: later.ends.count("refused") >= COUNT - 4, limit=20)
    assert set(later.ends) == {"refused"}
    assert len(server.log) <= 3 * COUNT - later.ends.count("refused")
    first.kill()
    later.kill()
