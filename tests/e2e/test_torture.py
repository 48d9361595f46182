"""Each system call that the library makes fails in turn: the program must not notice."""

import collections
import concurrent.futures
import pathlib
import re
import tempfile

import pytest

from harness import BUILD, which

TORTURE = BUILD / "clients" / "torture"
FINE = "HTTP/1.1 200\n" * 3
# The program's own.
OWN = {"connect", "sendto", "recvfrom", "write", "exit_group", "clock_nanosleep", "socket", "close"}
ERRORS = ["ENOMEM", "ENOSYS", "EINTR"]
# They sleep most of the time.
AT_ONCE = 8


def traced(guest, port, *options, state=None):
    with tempfile.NamedTemporaryFile(dir=guest.directory) as file:
        trace = pathlib.Path(file.name)
        preload = guest.environment()["LD_PRELOAD"]
        words = ["strace", "-o", trace, *options, "-E", f"LD_PRELOAD={preload}", TORTURE, port]
        done = guest.run(*words, LD_PRELOAD=None, PREBREAK_STATE=state or guest.state)
        return done, called(trace)


def called(trace):
    lines = trace.read_text().splitlines()
    return [match.group(1) for line in lines if (match := re.match(r"(\w+)\(", line))]


@pytest.fixture
def acme(guarded, provider):
    if not which("strace"):
        pytest.skip("needs strace")
    guarded.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1"
    config = guarded.directory / "rules"
    config.write_text("other other.test\n")
    guarded.settings["PREBREAK_CONFIG"] = str(config)
    guarded.settings["PREBREAK_LOG"] = str(guarded.directory / "log")
    return guarded


def library_calls(guest, port):
    """What the program said; and what was called after the marker and is not the program's: numbers of calls by name."""
    done, names = traced(guest, port)
    if done.returncode != 0 and "ptrace" in done.stderr.lower():
        pytest.skip("may not trace here")
    marker = names.index("getpgid")
    counts = collections.Counter(names[:marker])
    ours = collections.defaultdict(list)
    for name in names[marker + 1 :]:
        counts[name] += 1
        if name not in OWN:
            ours[name].append(counts[name])
    assert ours, "the library makes some"
    return done.stdout, ours


def unharmed(guest, port, *injections):
    """Each in a run of its own, which finds no region yet."""

    def run(injection):
        with tempfile.TemporaryDirectory(dir=guest.directory) as directory:
            done, _ = traced(guest, port, "-e", injection, state=f"{directory}/state")
        return injection, done.returncode, done.stdout, done.stderr

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for result in pool.map(run, injections):
            assert result == (result[0], 0, FINE, "")


@pytest.mark.parametrize("error", ERRORS)
def test_every_system_call_of_the_library_may_fail(acme, provider, error):
    said, ours = library_calls(acme, provider.port)
    assert said == FINE
    unharmed(
        acme,
        provider.port,
        *(f"inject={name}:error={error}:when={number}" for name, numbers in ours.items() for number in numbers),
    )


def test_all_of_them_may_fail_together(acme, provider):
    _, ours = library_calls(acme, provider.port)
    unharmed(
        acme, provider.port, *(f"inject={name}:error=EACCES:when={numbers[0]}+" for name, numbers in ours.items())
    )


def test_refusals_survive_failing_calls_without_harm(acme, provider):
    """A refusal that cannot be made safely is not made: the call passes, or is refused, and nothing else."""
    acme.run(TORTURE, provider.port, check=True)
    acme.prebreak("hold", "acme", "open")
    said, ours = library_calls(acme, provider.port)
    assert said == "connect failed\n" * 3
    injections = [f"inject={name}:error=EPERM:when={number}" for name, numbers in ours.items() for number in numbers]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done, _ in pool.map(lambda injection: traced(acme, provider.port, "-e", injection), injections):
            assert done.returncode == 0 and done.stderr == ""
            assert set(done.stdout.splitlines()) <= {"connect failed", "HTTP/1.1 200"}

