"""nginx under load by wrk, its upstream connections kept: what was asked of it, what it could serve, what reached the upstream."""

import os
import re
import socket
import subprocess

import pytest

from harness import wait_for, which
from matrix import NGINX, PROXIES


@pytest.fixture
def load(guest, provider):
    """Runs wrk for a second before a preloaded nginx: (requests answered, of them not with 200)."""
    if not which("wrk") or PROXIES[0].missing():
        pytest.skip("no wrk or no nginx here")
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    # A loopback address of its own: nobody else takes the port between our finding it free and nginx's taking it
    address = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
    with socket.create_server((address, 0)) as free:
        front = f"{address}:{free.getsockname()[1]}"
    configuration = NGINX.replace("listen unix:{front};", f"listen {front};")
    file, errors = guest.directory / "nginx.conf", guest.directory / "nginx.err"
    file.write_text(configuration.format(directory=guest.directory, port=provider.port, patience=5))
    with open(errors, "w") as stderr:
        command = ["nginx", "-c", file, "-p", guest.directory]
        nginx = guest.start(*command, stdout=subprocess.DEVNULL, stderr=stderr, PATH="/usr/sbin:/usr/bin:/sbin:/bin")

    def up():
        assert nginx.poll() is None, errors.read_text()
        with socket.socket() as visitor:
            return visitor.connect_ex((address, int(front.split(":")[1]))) == 0

    wait_for(up)

    def run():
        command = ["wrk", "-t1", "-c32", "-d1s", "--timeout", "20s", f"http://{front}/"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "Socket errors" not in said, said + errors.read_text()
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
        return int(re.search(r"(\d+) requests in", said)[1]), int(bad[1]) if bad else 0

    return run


def test_nginx_loses_nothing_that_it_could_serve_and_its_dead_upstream_is_left_alone(guest, provider, load):
    # Given kept connections to an upstream in good health
    asked, bad = load()
    assert asked > 100 and bad == 0

    # When it is killed
    provider.listener("refuse")
    provider.sever("all")
    asked, bad = load()
    assert bad == asked > 100
    if guest.preloaded:
        wait_for(lambda: guest.phase("acme") == "open")
    reached = provider.requests()
    asked, bad = load()
    assert bad == asked > 100 and provider.requests() == reached

    # and brought back, then all is served as soon as the breaker is closed
    provider.listener("open")
    if guest.preloaded:

        def closed():
            load()
            return guest.phase("acme") == "closed"

        wait_for(closed)
    asked, bad = load()
    assert asked > 100 and bad == 0
    if guest.preloaded:
        total = guest.status("acme")["total"]
        # wrk leaves without the answers that it was waiting for last: nginx has them all the same, or drops its own call
        assert total["ok"] <= provider.answers(200) and total["refused"] > total["failed"]
        assert guest.status("acme")["inflight"] == 0
