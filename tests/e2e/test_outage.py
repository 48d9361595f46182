"""A provider answers 503, then is healthy again: with prebreak it is left alone meanwhile, and found again at once."""

import time

import pytest

from harness import CALLERS, Tally, agree

CALLS = 300


def probes_at_most(seconds):
    """While open a probe goes out after 50, 100, 200... ms, then each second or less often; a few more in doubt."""
    return 6 + seconds + 3


@pytest.mark.parametrize("client", ["curl", "requests", "wget", "blocking", "poll", "again"])
def test_provider_answering_503_gets_only_probes_until_it_is_healthy_again(guest, provider, client):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    tally = Tally(CALLERS[client](guest, "acme.test", provider.port))

    # Given a provider that served well
    assert tally.calls(20) == ["ok"] * 20

    # When it answers 503 to a loop of 300 calls
    provider.set(status=503)
    while guest.preloaded and tally.total() < 200 and guest.phase("acme") != "open":
        tally.call()
    tripped, begun = provider.answers(503), time.monotonic()
    tally.calls(20 + CALLS - tally.total())
    lasted = time.monotonic() - begun

    if not guest.preloaded:
        assert tally["refused"] == 0 and provider.answers(503) == CALLS
        provider.set()
        assert tally.call() == "ok"
        return

    # Then it has tripped, the server got only probes, and everybody else was refused
    assert tripped < 60
    assert provider.answers(503) - tripped <= probes_at_most(lasted)
    assert tally["refused"] == CALLS - provider.answers(503)

    # And the loop is back within 5 s of its recovery
    provider.set()
    assert tally.until_back() < 5
    assert set(tally) == {"ok", "failed", "refused"}
    agree(guest, "acme", tally, provider.report())
