"""A program must not be able to tell whether prebreak is there: each of these runs twice, and must say the same."""

import difflib

import pytest

from harness import BUILD, LIMIT, Guest

# It decides about every call, and never refuses: what differs is harm.
DECIDING = {"PREBREAK_DEFAULTS": "trip=0 min=1000000000", "PREBREAK_LOG": "off"}


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
