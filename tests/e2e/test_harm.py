"""A program must not be able to tell whether prebreak is there: each of these runs twice, and must say the same."""

import difflib

import pytest

from harness import BUILD, LIMIT, Guest

# It decides about every call, and never refuses: what differs is harm.
DECIDING = {"PREBREAK_DEFAULTS": "trip=0 min=1000000", "PREBREAK_LOG": "off"}


@pytest.fixture
def both(tmp_path):
    """Runs a program both ways; what it said, its exit and its errors are the same, and are returned."""

    def run(*command, **extra):
        said = []
        for preloaded in (False, True):
            directory = tmp_path / ("with" if preloaded else "without")
            directory.mkdir(exist_ok=True)
            guest = Guest(directory, preloaded)
            guest.settings.update(DECIDING)
            done = guest.run(*command, timeout=LIMIT, **extra)
            said.append(f"{done.stdout}\nstderr: {done.stderr}\nexit: {done.returncode}".splitlines())
        difference = "\n".join(difflib.unified_diff(*said, "without", "with", lineterm="", n=0))
        assert not difference, difference[:4000]
        return said[0]

    return run


def test_arguments_that_make_no_sense_get_the_real_answer_of_every_call(both):
    said = both(BUILD / "clients" / "odd")
    assert sum("untouched" in line for line in said) > 1000, "errno is left as it was by what succeeds"
    assert sum("Bad address" in line for line in said) > 500


def test_descriptors_are_copied_closed_and_used_again_as_ever(both):
    """A number whose connection went unseen is a file's: every byte reaches it. Children change nothing here."""
    assert both(BUILD / "clients" / "descriptors")[:2] == ["descriptors are what they were", "and threads may race"]


def test_signals_cancellation_and_jumps_go_through_the_hooks_unharmed(both):
    assert both(BUILD / "clients" / "storm")[3] == "and back out of it"


def test_connects_that_were_left_before_they_began_are_held_against_nobody(guarded):
    guarded.settings.update(DECIDING, PREBREAK_PROVIDERS="healthy 127.0.0.1")
    guarded.run(BUILD / "clients" / "storm", check=True)
    total = guarded.status("healthy")["total"]
    assert total["failed"] == 0 and total["ok"] > 100
