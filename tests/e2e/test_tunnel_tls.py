"""TLS through a forward proxy's tunnel: whose call it is comes from within, and so does what the answer was."""

import socket
import threading

import pytest

from asked import CLIENTS_ASKED, Caller, asked, skip_missing
from harness import Tally, wait_for
from secure import DOMAIN, always


class Proxy:
    """Obeys CONNECT and nothing else: every name is at 127.0.0.1."""

    def __init__(self):
        self.tunnels = 0
        self.sockets = [socket.create_server(("127.0.0.1", 0))]
        self.port = self.sockets[0].getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.sockets[0].accept()
            except OSError:
                return
            threading.Thread(target=self.tunnel, args=(client,), daemon=True).start()

    def tunnel(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        method, target = head.decode().split()[:2]
        assert method == "CONNECT"
        self.tunnels += 1
        server = socket.create_connection(("127.0.0.1", int(target.rsplit(":")[1])))
        self.sockets += [client, server]
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=self.pump, args=(server, client), daemon=True).start()
        self.pump(client, server)

    @staticmethod
    def pump(source, target):
        try:
            while piece := source.recv(1 << 16):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for each in source, target:
                each.close()

    def close(self):
        for each in self.sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()


@pytest.fixture
def proxy():
    proxy = Proxy()
    yield proxy
    proxy.close()


# These take the proxy from the environment
TUNNELLERS = [each for each in CLIENTS_ASKED if each.name not in ("aiohttp", "PHP streams", "LWP", "Ruby")]


@asked(TUNNELLERS)
def test_provider_behind_a_tunnel_is_judged_and_refused_as_if_there_were_none(guest, serve, certificate, proxy, client):
    skip_missing(client)
    guest.settings["PREBREAK_PROVIDERS"] = f"acme {DOMAIN}"
    server, front = serve(["127.0.0.1"], client.http2)
    variables = certificate.trusting | {"https_proxy": f"http://127.0.0.1:{proxy.port}", "ADDRESS": "127.0.0.1"}
    tally = Tally(Caller(guest, client, client.ways[0], f"https://{DOMAIN}:{front.port}/", variables))
    assert tally.calls(15) == ["200"] * 15

    server.script["*"] = always(503)
    tally.calls(40 if client.name == "wget" else 150)  # the decision is up to 10 ms old: quick ones are some ahead
    assert (tally["refused"] > 0) == guest.preloaded
    assert set(tally) <= {"200", "503", "refused"}
    assert server.statuses() == {200: 15, 503: tally["503"]}
    if not guest.preloaded:
        return
    wait_for(lambda: guest.status("acme")["inflight"] == 0, limit=5)
    status = guest.status("acme")
    assert status["failures"]["status"] == status["total"]["failed"] == tally["503"]
    assert (status["total"]["ok"], status["total"]["refused"]) == (15, tally["refused"])
