"""What prebreak does not see of a connection must come to no harm by it: other writers, and numbers that are used again."""

import subprocess

import pytest

from harness import BUILD

BEHIND = BUILD / "clients" / "behind"


def total(guest):
    return {key: value for key, value in guest.status("acme")["total"].items() if value}


def behind(guest, provider, *words, hold):
    """Runs it; the provider is held open when its first request was answered."""
    guest.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=1000"
    child = guest.start(BEHIND, provider.port, *words, stdin=subprocess.PIPE)
    assert child.stdout.readline() == "request well\n"
    if hold and guest.preloaded:
        guest.prebreak("hold", "acme", "open")
    said, errors = child.communicate("\n", timeout=30)
    assert (child.returncode, errors) == (0, ""), said
    return said.splitlines()


@pytest.mark.parametrize("who", ["child", "passed", "raw"])
def test_whoever_else_writes_to_a_refused_connection_meets_no_signal(guest, provider, who):
    said = behind(guest, provider, who, hold=True)
    assert said == ["request " + ("ECONNRESET" if guest.preloaded else "well"), f"{who} well"]
    assert provider.requests() == (1 if guest.preloaded else 2)
    if guest.preloaded:
        assert total(guest) == {"calls": 2, "ok": 1, "refused": 1}


@pytest.mark.parametrize("hold", [True, False], ids=["held open", "closed"])
@pytest.mark.parametrize("refused", [[], ["refused"]], ids=["idle", "refused"])
@pytest.mark.parametrize("how", ["syscall", "asm", "passed-away"])
def test_every_byte_reaches_the_file_that_has_a_connections_number(guest, provider, how, refused, hold):
    said = behind(guest, provider, how, *refused, hold=hold)
    if refused:
        assert said.pop(0) == "request " + ("ECONNRESET" if guest.preloaded and hold else "well")
    assert said == ["number well", "written well", "file well", "close well"]
    if guest.preloaded:
        # And none of them is taken for a call
        requests = 1 + len(refused)
        spared = len(refused) if hold else 0
        assert total(guest) == {"calls": requests, "ok": requests - spared, **({"refused": spared} if spared else {})}
        assert guest.status("acme")["inflight"] == 0
