"""What prebreak does not see of a connection must come to no harm by it: other writers, and numbers that are used again."""

import subprocess
import time

import pytest

from harness import BUILD

BEHIND = BUILD / "clients" / "behind"


def total(guest):
    return {key: value for key, value in guest.status("acme")["total"].items() if value}


def behind(guest, provider, *words, hold, pause=0):
    """Runs it; the provider is held open when its first request was answered."""
    guest.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=1000"
    child = guest.start(BEHIND, provider.port, *words, stdin=subprocess.PIPE)
    assert child.stdout.readline() == "request well\n"
    if hold and guest.preloaded:
        guest.prebreak("hold", "acme", "open")
    child.stdin.write("\n")
    child.stdin.flush()
    time.sleep(pause)
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


@pytest.mark.parametrize("pause", [0, 1.2], ids=["at once", "later"])
@pytest.mark.parametrize("hold", [True, False], ids=["held open", "closed"])
@pytest.mark.parametrize("then", ["idle", "refused"])
@pytest.mark.parametrize("how", ["syscall", "asm", "passed-away"])
def test_every_byte_reaches_the_file_that_has_a_connections_number(guest, provider, how, then, hold, pause):
    said = behind(guest, provider, how, then, hold=hold, pause=pause)
    if then == "refused":
        assert said.pop(0) == "request " + ("ECONNRESET" if guest.preloaded and hold else "well")
    assert said == ["number well", "written well", "file well", "close well"]
    if guest.preloaded and (how == "syscall" or pause):
        # And none of them is taken for a call: where nobody saw it go, what is written a second later
        requests = 2 if then == "refused" else 1
        spared = 1 if then == "refused" and hold else 0
        assert total(guest) == {"calls": requests, "ok": requests - spared, **({"refused": spared} if spared else {})}
        assert guest.status("acme")["inflight"] == 0


def test_connection_that_went_unseen_is_not_overdue_for_ever(guest, provider):
    """Its answer would never be read: no silence of the provider's."""
    guest.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=1000 hang=4s"
    provider.set(action="hang")
    child = guest.start(BEHIND, provider.port, "outstanding", stdin=subprocess.PIPE)
    assert child.stdout.readline() == "sent well\n"
    provider.set()
    for _ in range(7):
        time.sleep(1)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "request well\n"
    if guest.preloaded:
        assert total(guest) == {"calls": 8, "ok": 7, "neutral": 1}
    child.communicate()
    assert child.returncode == 0


def test_connection_that_is_passed_on_is_not_given_up_by_closing_it(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=1000"
    provider.set(latency=2500)
    child = guest.start(BEHIND, provider.port, "give", stdin=subprocess.PIPE)
    assert child.stdout.readline() == "sent well\n"
    time.sleep(1.3)  # long enough for a close to be giving up
    said, errors = child.communicate("\n", timeout=30)
    assert (said, errors, child.returncode) == ("answered well\n", "", 0)
    if guest.preloaded:
        assert total(guest) == {"calls": 1, "neutral": 1}


# How the answer is read, and how its call is counted: of one that was not even seen to be made, its connection is all
UNHEARD = pytest.mark.parametrize("how, outcome", [("bare", "neutral"), ("unread", "neutral"), ("half-ring", "neutral"), ("ring", "ok")])


def unless_there_is_no_ring(child):
    if child.returncode == 77:
        pytest.skip("no io_uring here")
    assert child.returncode == 0


@UNHEARD
def test_answer_that_came_and_was_not_listened_to_is_no_silence_of_the_provider(guest, provider, how, outcome):
    guest.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=1000"
    child = guest.start(BEHIND, provider.port, how, stdin=subprocess.PIPE)
    time.sleep(1.5)  # long enough for a close to be giving up
    said, errors = child.communicate("", timeout=30)
    unless_there_is_no_ring(child)
    assert (said.splitlines()[0], said.splitlines()[-1], errors) == ("sent well", "close well", "")
    if guest.preloaded:
        assert total(guest) == {"calls": 1, outcome: 1}


@UNHEARD
def test_answer_that_came_and_was_not_listened_to_is_not_overdue(guest, provider, how, outcome):
    guest.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=1000 hang=4s"
    child = guest.start(BEHIND, provider.port, how, "stay", stdin=subprocess.PIPE)
    for _ in range(7):
        time.sleep(1)
        if child.poll() is None:
            child.stdin.write("\n")
            child.stdin.flush()
    said, _ = child.communicate(timeout=30)
    unless_there_is_no_ring(child)
    assert said.count("request well\n") == 7
    if guest.preloaded:
        expected = {"calls": 8, "ok": 7}
        expected[outcome] = expected.get(outcome, 0) + 1
        assert total(guest) == expected
