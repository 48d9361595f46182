"""A thousand streams at once over TLS, every fifth answered 503: each is one call that ended as it did, and none is disturbed."""

import collections
import re

import pytest

from harness import wait_for, which
from secure import DOMAIN, Http2

STREAMS = 1000
HOST = f"acme.{DOMAIN}"
RULE = f"acme {HOST} trip=0 min=1000000"


def h2load(guest, url, *more, **extra):
    """How many answers of which class, all of them whole."""
    done = guest.run("h2load", "-n", STREAMS, "-c", 1, "-m", STREAMS, *more, url, **extra)
    assert re.search(rf"{STREAMS} done, .* 0 errored, 0 timeout", done.stdout), done.stdout + done.stderr
    return {status: int(count) for count, status in re.findall(r"(\d+) ([2-5]xx)", done.stdout) if int(count)}


def curl(guest, url, trusting):
    done = guest.run("curl", "-sS", "-Z", "--parallel-max", 300, "--http2", "-w", "%{http_code}/%{http_version}/%{size_download}\n",
                     "-o", "/dev/null", f"{url}[1-{STREAMS}]", **trusting)  # fmt: skip
    told = collections.Counter(tuple(line.split("/")) for line in done.stdout.split())
    assert {(version, size) for _, version, size in told} == {("2", "16")}, done.stderr
    return {f"{status[0]}xx": count for (status, *_), count in told.items()}


@pytest.fixture
def fifth(guest, provider):
    """A provider, every fifth of whose answers is a 503."""
    if not which("h2load"):
        pytest.skip("no h2load here")
    guest.settings["PREBREAK_PROVIDERS"] = RULE
    guest.names = {HOST: ["127.0.0.1"]}
    provider.set(status=503, every=5, latency=100)
    return provider


def agree(guest, provider, told):
    assert told == {"2xx": STREAMS * 4 // 5, "5xx": STREAMS // 5}
    assert provider.report()["answers"] == {"200": STREAMS * 4 // 5, "503": STREAMS // 5}
    if not guest.preloaded:
        return
    wait_for(lambda: guest.status("acme")["inflight"] == 0, limit=5)
    status = guest.status("acme")
    assert {key: status["total"][key] for key in ("calls", "ok", "failed", "neutral", "refused")} == {
        "calls": STREAMS, "ok": STREAMS * 4 // 5, "failed": STREAMS // 5, "neutral": 0, "refused": 0}  # fmt: skip
    assert status["failures"]["status"] == STREAMS // 5


@pytest.fixture
def front(tmp_path, certificate, fifth):
    nginx = Http2(tmp_path, certificate, fifth.port)
    yield nginx
    nginx.close()


@pytest.mark.parametrize("client", ["h2load", "curl"])
def test_thousand_streams_at_once_are_counted_each(guest, fifth, front, certificate, client):
    url = f"https://{HOST}:{front.port}/"
    told = h2load(guest, url) if client == "h2load" else curl(guest, url, certificate.trusting)
    assert {protocol for _, _, _, protocol in front.log()} == {"HTTP/2.0"}
    agree(guest, fifth, told)
