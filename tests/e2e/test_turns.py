"""Requests that are known only as turns, on connections that are kept: refused in time, and counted for whom they are for."""

import socket
import subprocess
import threading

import pytest

from harness import wait_for, which
from opaque import Opaque, redis

PYTHON = "/usr/bin/python3"


class Asker:
    """A program that asks once for each line that it is given, and says how it went."""

    def __init__(self, guest, *words, **environment):
        self.process = guest.start(*words, stdin=subprocess.PIPE, **environment)

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def held_open(guest, provider, asker, server):
    """Refused on the connection that it has, nothing reaches the server; and when the hold ends all is well again."""
    before = server()
    guest.prebreak("hold", provider, "open")
    refused = [asker.ask() for _ in range(3)]
    assert "reset" in refused[0].lower(), refused
    assert server() == before
    assert guest.status(provider)["total"]["refused"] >= 3
    guest.prebreak("release", provider)


# ---- in the clear -----------------------------------------------------------------------------------------------------------

PING = """
import socket, sys
host, port, tunnel = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
connection = None
for line in sys.stdin:
    try:
        if connection is None:
            connection = socket.create_connection((host, port))
            if tunnel:
                connection.sendall(f"CONNECT {tunnel[0]} HTTP/1.1\\r\\nHost: {tunnel[0]}\\r\\n\\r\\n".encode())
                assert connection.recv(100).endswith(b"\\r\\n\\r\\n")
        connection.sendall(b"*1\\r\\n$4\\r\\nPING\\r\\n")
        print(connection.recv(100).decode().strip(), flush=True)
    except OSError as error:
        connection = None
        print(error, flush=True)
"""


@pytest.fixture
def cache():
    server = Opaque(redis, ["127.0.0.1"])
    yield server
    server.close()


def test_turn_on_a_kept_connection_is_refused_and_never_reaches_the_server(guest, cache):
    guest.names = {"acme.test": ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    asker = Asker(guest, PYTHON, "-c", PING, "acme.test", cache.port)
    assert [asker.ask() for _ in range(5)] == ["+PONG"] * 5
    assert (cache.requests, cache.connections) == (5, 1)
    if not guest.preloaded:
        return
    held_open(guest, "acme", asker, lambda: cache.requests)
    assert [asker.ask() for _ in range(5)] == ["+PONG"] * 5
    assert (cache.requests, cache.connections) == (10, 2)
    assert guest.status("acme")["total"]["ok"] == 10
    assert guest.status("acme")["total"]["failed"] == 0


# ---- through a forward proxy --------------------------------------------------------------------------------------------------


@pytest.fixture
def proxy():
    """One that tunnels to wherever it is asked to."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def serve(client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = client.recv(1)
            if not piece:
                return
            head += piece
        port = int(head.split()[1].split(b":")[1])
        server = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        threading.Thread(target=pump, args=(server, client), daemon=True).start()
        pump(client, server)

    def accept():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_turns_in_a_tunnel_are_calls_of_whom_it_leads_to(guest, cache, proxy):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test; proxy 127.0.0.1"
    asker = Asker(guest, PYTHON, "-c", PING, "127.0.0.1", proxy, f"acme.test:{cache.port}")
    assert [asker.ask() for _ in range(5)] == ["+PONG"] * 5
    if not guest.preloaded:
        return
    assert guest.status("acme")["total"]["ok"] == 5  # the first began with the tunnel
    held_open(guest, "acme", asker, lambda: cache.requests)
    assert asker.ask() == "+PONG"
    total = guest.status("proxy")["total"]
    assert (total["ok"], total["failed"], total["refused"]) == (0, 0, 0)


# ---- behind a TLS that cannot be read -------------------------------------------------------------------------------------------

FETCH = """
const lines = require('readline').createInterface({ input: process.stdin });
lines.on('line', async () => {
    try {
        const answer = await fetch(process.argv[1]);
        await answer.text();
        await new Promise(setImmediate); // the connection is given back a moment after its last byte
        console.log(answer.status);
    } catch (error) {
        console.log(String(error.cause));
    }
});
"""


def test_request_on_a_kept_connection_over_tls_is_refused_and_never_reaches_the_provider(guest, serve, certificate):
    if not which("node"):
        pytest.skip("no node here")
    provider, _ = serve(["127.0.0.1"])
    guest.names = {"acme.test": ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    asker = Asker(guest, "node", "-e", FETCH, f"https://acme.test:{provider.port}/", **certificate.trusting)
    assert [asker.ask() for _ in range(5)] == ["200"] * 5
    assert (len(provider.log), provider.connections) == (5, 1)
    if not guest.preloaded:
        return
    held_open(guest, "acme", asker, lambda: len(provider.log))
    assert [asker.ask() for _ in range(5)] == ["200"] * 5
    assert len(provider.log) == guest.status("acme")["total"]["ok"] == 10
    wait_for(lambda: guest.status("acme")["inflight"] == 0)
    assert guest.status("acme")["total"]["failed"] == 0
