"""A provider restarts: every call in flight dies at once, which is one piece of evidence and not forty."""

import pytest

from harness import CALL, CALLERS, Tally, wait_for

FLIGHT = 40


def threads(guest, provider):
    return [guest.start(CALL, "--threads", FLIGHT, "acme.test", provider.port)]


def processes(guest, provider):
    return [guest.start("curl", "-s", f"http://acme.test:{provider.port}/") for _ in range(FLIGHT)]


@pytest.mark.parametrize("in_flight, client", [(threads, "blocking"), (processes, "curl")])
def test_forty_calls_reset_at_once_refuse_nobody(guest, provider, in_flight, client):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    tally = Tally(CALLERS[client](guest, "acme.test", provider.port))

    # Given 100 good calls, and 40 more in flight
    assert tally.calls(100) == ["ok"] * 100
    provider.set(action="hang")
    children = in_flight(guest, provider)
    wait_for(lambda: provider.requests() == 100 + FLIGHT)

    # When the server resets them all at once
    assert provider.sever() == FLIGHT
    provider.set()
    for child in children:
        child.wait()

    # Then the next 40 calls all pass
    assert tally.calls(FLIGHT) == ["ok"] * FLIGHT
    if guest.preloaded:
        status = guest.status("acme")
        assert status["phase"] == "closed" and status["transitions"] == 0
        assert status["failures"]["reset"] == status["total"]["failed"] == FLIGHT
        assert status["total"]["ok"] == 140 and status["total"]["refused"] == 0
