"""Proxies as guests: started in the foreground before a provider, and visited by a unix socket."""

import http.client
import socket
import subprocess

import pytest

from harness import wait_for


class Front(http.client.HTTPConnection):
    """To a proxy, by its unix socket."""

    def __init__(self, path):
        super().__init__("front.test", timeout=20)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def get(self, path="/"):
        self.request("GET", path)
        answer = self.getresponse()
        answer.read()
        return answer.status


def start_proxy(guest, proxy, port, patience):
    """Preloaded when the guest is; returns the way to it."""
    if proxy.missing():
        pytest.skip(proxy.missing())
    file, front = guest.directory / "proxy.conf", guest.directory / "front.sock"
    errors = guest.directory / "proxy.err"
    file.write_text(proxy.configuration.format(directory=guest.directory, front=front, port=port, patience=patience))
    with open(errors, "w") as stderr:
        words = [word.format(file=file, directory=guest.directory) for word in proxy.words]
        child = guest.start(*words, stdout=subprocess.DEVNULL, stderr=stderr, PATH="/usr/sbin:/usr/bin:/sbin:/bin")

    def up():
        assert child.poll() is None, errors.read_text()
        visitor = Front(front)
        try:
            visitor.connect()
        except OSError:
            return False
        visitor.close()
        return True

    wait_for(up)
    return front
