import os
import subprocess

import pytest

import harness
import secure


@pytest.fixture
def provider():
    server = harness.Provider()
    yield server
    server.close()


@pytest.fixture
def provider_on():
    """A provider on addresses of one's choice: provider_on('127.0.0.2', '127.0.0.3')."""
    servers = []

    def make(*addresses):
        servers.append(harness.Provider(*addresses))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def guarded(tmp_path):
    guest = harness.Guest(tmp_path, preloaded=True)
    yield guest
    guest.close()


@pytest.fixture
def plain(tmp_path):
    guest = harness.Guest(tmp_path, preloaded=False)
    yield guest
    guest.close()


@pytest.fixture(params=["prebreak", "plain"])
def guest(request, tmp_path):
    """Scenarios run with prebreak and without: what fails without is no fault of ours."""
    guest = harness.Guest(tmp_path, preloaded=request.param == "prebreak")
    yield guest
    guest.close()


@pytest.fixture
def need_root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def need_namespaces(need_root):
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    if done.returncode != 0:
        pytest.skip("needs a mount namespace of its own")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """Trusted by every client that is given its `trusting`."""
    return secure.Certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def serve(tmp_path, certificate):
    """serve(addresses): a scripted server, and what stands in front of it: itself, or nginx that speaks HTTP/2; over TLS or not."""
    closing = []

    def make(addresses, http2=False, tls=True, buffering="on"):
        server = secure.Server() if http2 else secure.Server(addresses, certificate.context() if tls else None)
        closing.append(server)
        if http2:
            closing.append(secure.Http2(tmp_path, certificate, server.port, addresses, buffering, tls))
        return server, closing[-1]

    yield make
    for each in reversed(closing):
        each.close()
