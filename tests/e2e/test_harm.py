"""A program must not be able to tell whether prebreak is there: each of these runs twice, and must say the same."""

import difflib
import os
import subprocess

import pytest

from harness import BUILD, LIBRARY, LIMIT, ROOT, Guest, which

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


def test_children_of_vfork_change_neither_kinds_nor_connections_of_their_parent(guarded, provider):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1"
    done = guarded.run(BUILD / "clients" / "descriptors", "vfork", provider.port)
    assert (done.stdout, done.returncode) == ("", 0)
    total = guarded.status("acme")["total"]
    assert (total["calls"], total["ok"]) == (2, 2)


def test_signals_cancellation_and_jumps_go_through_the_hooks_unharmed(both):
    assert both(BUILD / "clients" / "storm")[3] == "and back out of it"


def test_connects_that_were_left_before_they_began_are_held_against_nobody(guarded):
    guarded.settings.update(DECIDING, PREBREAK_PROVIDERS="healthy 127.0.0.1")
    guarded.run(BUILD / "clients" / "storm", check=True)
    total = guarded.status("healthy")["total"]
    assert total["failed"] == 0 and total["ok"] > 100


LIFE = BUILD / "clients" / "life"
HOURS = ["before all", "constructor", "main", "thread", *["again"] * 10, "at exit", "destructor"]
LIVED = [f"{hour}: 0 HTTP/1.1 200" for hour in HOURS]


def test_calls_work_in_every_hour_of_a_process(both, provider):
    assert both(LIFE, provider.port)[: len(LIVED)] == LIVED


@pytest.mark.parametrize("limit", ["-s 128 -v 4000", "-n 5", "-f 0"])
def test_no_limit_is_felt_sooner(both, provider, limit):
    said = both("bash", "-c", f"ulimit {limit}; {LIFE} {provider.port} | cat")
    assert said[: len(LIVED)] == LIVED


def test_closed_streams_stay_closed_and_are_not_written_to(both, provider):
    said = both("bash", "-c", f"{LIFE} {provider.port} <&- 2>&-; {LIFE} {provider.port} <&- >&- 2>&-; echo $?")
    assert said[: len(LIVED)] == LIVED


@pytest.mark.parametrize("ours_first", [True, False])
def test_another_allocator_may_come_before_or_after(guarded, provider, ours_first):
    order = [LIBRARY, "libjemalloc.so.2"] if ours_first else ["libjemalloc.so.2", LIBRARY]
    done = guarded.run(LIFE, provider.port, LD_PRELOAD=":".join(map(str, order)))
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (LIVED, "", 0)


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
def test_programs_under_sanitizers_find_nothing_to_say(guarded, provider, sanitizer):
    program = guarded.directory / "life"
    source = ROOT / "tests/e2e/clients/life.c"
    flags = ["-D_GNU_SOURCE", "-g", f"-fsanitize={sanitizer}"]
    subprocess.run(["cc", *flags, "-o", program, source], check=True)
    runtime = {"address": "libasan.so", "thread": "libtsan.so"}.get(sanitizer)
    preload = [str(LIBRARY)]
    if runtime:
        found = subprocess.run(["cc", f"-print-file-name={runtime}"], capture_output=True, text=True, check=True)
        preload.insert(0, os.path.realpath(found.stdout.strip()))
    done = guarded.run(program, provider.port, LD_PRELOAD=":".join(preload))
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (LIVED, "", 0)


def test_a_memory_checker_finds_nothing_to_say(guarded, provider):
    if not which("valgrind"):
        pytest.skip("needs valgrind")
    done = guarded.run("valgrind", "-q", "--error-exitcode=9", LIFE, provider.port)
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (LIVED, "", 0)


JAIL = """
import os, socket, sys, time
def call():
    connection = socket.socket()
    connection.connect(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    return connection.recv(12)
def drop():
    os.chroot(sys.argv[2]); os.setgid(65534); os.setuid(65534)
if os.fork() == 0:
    drop()
    print(call(), call(), flush=True)
    os._exit(0)
os.wait()
print(call(), flush=True)
drop()
print(call(), flush=True)
time.sleep(1.2)
print(call(), call())
"""


def test_root_changed_and_privilege_dropped_at_any_time_are_no_trouble(both, need_root, provider, tmp_path):
    said = both("/usr/bin/python3", "-c", JAIL, provider.port, tmp_path)
    assert sum(line.count("HTTP/1.1 200") for line in said) == 6


@pytest.mark.parametrize(
    "mount",
    [
        "mount -t tmpfs -o ro none /dev/shm",
        "mount -t tmpfs -o size=4k none /dev/shm; head -c 4096 /dev/zero >/dev/shm/full",
        "mount --bind /proc /dev",
    ],
    ids=["read-only", "full", "none"],
)
def test_shared_memory_that_is_read_only_full_or_missing_is_no_trouble(both, need_namespaces, provider, mount):
    said = both("unshare", "-m", "env", "-u", "PREBREAK_STATE", "sh", "-c", f"{mount}; exec {LIFE} {provider.port}")
    assert said[: len(LIVED)] == LIVED


def test_cpythons_own_tests_of_sockets_end_as_they_do_without(tmp_path):
    """The short form of `make harmless`."""
    words = [ROOT / "tests/e2e/harmless", "--build", BUILD, "--short"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=4 * LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 harmed" in done.stdout
