"""Whatever lies where the region should be: the program runs as if nothing were there, and what lies there stays."""

import os
import resource
import struct
import subprocess
import time

import pytest

from harness import CALL, wait_for

RULES = "acme 127.0.0.1"


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = RULES
    return guarded


@pytest.fixture
def region(acme, provider):
    """A sound region's bytes, made by a real program elsewhere."""
    path = acme.directory / "sound"
    acme.run(CALL, "127.0.0.1", provider.port, check=True, PREBREAK_STATE=path)
    return bytearray(path.read_bytes())


def unharmed(guest, provider):
    """Calls go out and come back; nothing is said; the breaker works within the process all the same."""
    done = guest.run(CALL, "--calls", 5, "127.0.0.1", provider.port)
    assert (done.returncode, done.stdout, done.stderr) == (0, "200\n" * 5, "")
    provider.set(status=503)
    done = guest.run(CALL, "--calls", 60, "--pause", 10, "127.0.0.1", provider.port)
    assert done.stderr == ""
    provider.set()
    return done.stdout.split("\n")


def truncated(region):
    return region[: len(region) // 2]


def one_page(region):
    return region[:4096]


def nothing(region):
    return b""


def garbage(region):
    return bytes((i * 2654435761 >> 7) & 0xFF for i in range(0, len(region)))


def zeros(region):
    return bytes(len(region))


def other_magic(region):
    return b"notours!" + region[8:]


def other_version(region):
    return region[:8] + struct.pack("<Q", 999) + region[16:]


def other_size(region):
    return region[:16] + struct.pack("<Q", 1 << 40) + region[24:]


def other_slot_count(region):
    return region[:24] + struct.pack("<Q", 1 << 60) + region[32:]


@pytest.mark.parametrize(
    "spoil", [truncated, one_page, nothing, garbage, zeros, other_magic, other_size, other_slot_count]
)
def test_unsound_region_leaves_the_program_unharmed_and_is_not_changed(acme, provider, region, spoil):
    content = bytes(spoil(region))
    acme.state.write_bytes(content)
    acme.state.chmod(0o600)
    ends = unharmed(acme, provider)
    assert "connect ECONNREFUSED" in ends, "it protects within the process"
    assert acme.state.read_bytes() == content
    said = acme.prebreak("status", check=False)
    assert said.returncode == 69
    assert "recreate" in said.stderr + said.stdout


def test_region_of_another_version_is_left_alone_and_ours_stands_beside_it(acme, provider, region):
    content = bytes(other_version(region))
    acme.state.write_bytes(content)
    acme.state.chmod(0o600)
    assert "connect ECONNREFUSED" in unharmed(acme, provider)
    assert acme.state.read_bytes() == content
    assert acme.status("acme")["total"]["failed"] > 0, "what is shared stands beside it"
    assert "beside a region of another version" in acme.prebreak("state").stdout
    acme.prebreak("state", "--recreate")
    assert "beside" not in acme.prebreak("state").stdout


def test_region_of_another_version_is_left_alone_and_ours_lies_beside_it(acme, provider, region):
    content = bytes(other_version(region))
    acme.state.write_bytes(content)
    acme.state.chmod(0o600)
    assert "connect ECONNREFUSED" in unharmed(acme, provider)
    assert acme.state.read_bytes() == content
    acme.run(CALL, "127.0.0.1", provider.port)
    assert acme.status("acme")["total"]["calls"] == 66


def test_recreate_is_the_remedy(acme, provider, region):
    acme.state.write_bytes(garbage(region))
    acme.state.chmod(0o600)
    acme.prebreak("state", "--recreate")
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    assert acme.status("acme")["total"]["ok"] == 1


def test_recreated_region_is_taken_up_by_processes_that_run(acme, provider):
    child = acme.start(CALL, "--calls", 0, "--pause", 20, "127.0.0.1", provider.port)
    for _ in range(10):
        assert child.stdout.readline() == "200\n"
    acme.prebreak("hold", "acme", "open", "--for", "1h")
    wait_for(lambda: child.stdout.readline() == "connect ECONNREFUSED\n", every=0)
    acme.prebreak("state", "--recreate")
    # The hold was carried over: nobody passes meanwhile
    assert [child.stdout.readline() for _ in range(100)] == ["connect ECONNREFUSED\n"] * 100
    acme.prebreak("release", "acme")
    wait_for(lambda: child.stdout.readline() == "200\n", every=0)


@pytest.fixture
def asking(acme, provider):
    """A program that runs for long and calls when it is told to; a line said is what came of it."""
    child = acme.start(CALL, "--wait", "127.0.0.1", provider.port, stdin=subprocess.PIPE)

    def ask():
        child.stdin.write("\n")
        child.stdin.flush()
        return child.stdout.readline()

    assert ask() == "200\n"
    yield ask
    child.communicate()
    assert child.returncode in (0, 1), "of its own will"


def test_removed_region_is_made_anew_and_shared_again_by_all_who_had_it(acme, provider, asking):
    acme.state.unlink()
    time.sleep(1.1)  # it looks once a second
    assert asking() == "200\n" and acme.state.exists()
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    assert acme.status("acme")["total"]["ok"] == 2
    acme.prebreak("hold", "acme", "open")
    assert asking() == "connect ECONNREFUSED\n"


@pytest.mark.parametrize("gone", ["directory", "another directory"])
def test_removed_region_that_cannot_be_made_anew_serves_those_who_have_it(guarded, provider, gone):
    place = guarded.directory / "place"
    place.mkdir()
    guarded.settings.update(PREBREAK_PROVIDERS="acme 127.0.0.1 trip=0 min=1000", PREBREAK_STATE=place / "state")
    children = [guarded.start(CALL, "--wait", "127.0.0.1", provider.port, stdin=subprocess.PIPE) for _ in range(2)]

    def ask(child):
        child.stdin.write("\n")
        child.stdin.flush()
        return child.stdout.readline()

    assert [ask(child) for child in children] == ["200\n"] * 2
    keep = os.open(place / "state", os.O_RDWR)
    os.unlink(place / "state")
    place.rename(guarded.directory / "elsewhere")
    if gone == "another directory":
        place.mkdir()  # as a changed root may have
    time.sleep(1.1)
    assert [ask(child) for child in children] == ["200\n"] * 2
    assert not (place / "state").exists()
    # Both in the one that is nowhere any more, and in nothing else
    os.makedirs(guarded.directory / "seen", exist_ok=True)
    seen = guarded.directory / "seen" / "state"
    seen.write_bytes(os.pread(keep, 1 << 23, 0))
    seen.chmod(0o600)
    guarded.settings["PREBREAK_STATE"] = seen
    assert guarded.status("acme")["total"]["ok"] == 4


@pytest.mark.parametrize("size", [0, 4096])
def test_region_that_was_cut_short_kills_nobody_who_was_idle(acme, asking, size):
    os.truncate(acme.state, size)
    time.sleep(1.1)
    assert asking() == "200\n"
    assert asking() == "200\n"
    assert acme.state.stat().st_size == size
    assert any("event=state" in line for line in acme.events())


def directory(path, sound):
    path.mkdir()


def symlink(path, sound):
    path.symlink_to(sound)


def dangling(path, sound):
    path.symlink_to(path.parent / "nowhere" / "at-all")


def fifo(path, sound):
    os.mkfifo(path, 0o600)


def device(path, sound):
    path.symlink_to("/dev/null")


def writable_by_others(path, sound):
    path.write_bytes(sound)
    path.chmod(0o666)


def hard_link_of_another(path, sound):
    path.write_bytes(sound)
    path.chmod(0o660)


@pytest.mark.parametrize("put", [directory, symlink, dangling, fifo, device, writable_by_others, hard_link_of_another])
def test_what_is_no_file_of_ours_leaves_the_program_unharmed(acme, provider, region, put):
    sound = acme.directory / "sound"
    put(acme.state, bytes(region) if put in (writable_by_others, hard_link_of_another) else sound)
    before = sound.read_bytes()
    assert "connect ECONNREFUSED" in unharmed(acme, provider)
    assert sound.read_bytes() == before, "nothing was written through it"
    assert acme.prebreak("status", check=False).returncode in (69, 77)


def test_a_region_that_others_may_touch_is_told_with_its_path_its_mode_and_a_remedy(acme, provider, region):
    acme.state.write_bytes(region)
    acme.state.chmod(0o644)
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    event = [line for line in acme.events() if "event=state" in line]
    assert len(event) == 1
    assert f"PREBREAK_STATE: others may read or write it: mode 0644, expected mode 0600: {acme.state}" in event[0]
    said = acme.prebreak("status", check=False)
    assert said.returncode == 69
    assert said.stderr == (
        f"prebreak: {acme.state}: others may read or write it: mode 0644, expected mode 0600; "
        "`chmod 600` if nobody has meddled with it, or `prebreak state --recreate`\n"
    )
    acme.prebreak("state", "--recreate")
    assert acme.prebreak("status").returncode == 0


def test_a_state_that_cannot_be_made_is_told_with_its_path(acme, provider):
    state = acme.directory / "missing" / "state"
    acme.run(CALL, "127.0.0.1", provider.port, check=True, PREBREAK_STATE=state)
    event = [line for line in acme.events() if "event=state" in line]
    assert len(event) == 1
    assert f'text="PREBREAK_STATE: cannot be opened or created: {state}"' in event[0]


def test_a_log_that_cannot_be_written_is_told_once_and_never_to_the_program(acme, provider):
    log = acme.directory / "missing" / "log"
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    for phase in ("open", "closed", "open"):
        acme.prebreak("hold", "acme", phase)
        done = acme.run(CALL, "127.0.0.1", provider.port, PREBREAK_LOG=log)
        assert done.stderr == ""
    events = [line for line in acme.prebreak("events").stdout.splitlines() if "PREBREAK_LOG" in line]
    assert len(events) == 1
    told = f"PREBREAK_LOG: no such directory: {log}"
    assert told[:100] in events[0]  # as much as the ring keeps


def test_region_of_somebody_else_is_not_used(need_root, acme, provider, region):
    acme.state.write_bytes(region)
    os.chmod(acme.state, 0o600)
    os.chown(acme.state, 65534, 65534)
    assert "connect ECONNREFUSED" in unharmed(acme, provider)
    assert acme.state.read_bytes() == region


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/proc/self/state", "/dev/full", "relative", "x" * 5000, "/"])
def test_path_that_cannot_be_leaves_the_program_unharmed(acme, provider, path):
    acme.settings["PREBREAK_STATE"] = path
    unharmed(acme, provider)


def test_full_filesystem_leaves_the_program_unharmed(need_namespaces, acme, provider):
    mount = acme.directory / "full"
    mount.mkdir()
    acme.settings["PREBREAK_STATE"] = str(mount / "state")
    script = f"mount -t tmpfs -o size=64k none {mount} && exec {CALL} --calls 60 --pause 5 127.0.0.1 {provider.port}"
    done = acme.run("unshare", "-m", "sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "200\n" * 60, "")


def test_file_size_limit_raises_no_signal(acme, provider):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    done = subprocess.run(
        [CALL, "--calls", "3", "127.0.0.1", str(provider.port)],
        env=acme.environment(),
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "200\n" * 3, "")
    assert not acme.state.exists()


def test_region_changed_at_random_under_a_running_program_harms_nothing(acme, provider):
    """Every word of it may be written by whoever is the same user: no value may crash a reader."""
    import mmap
    import random

    child = acme.start(CALL, "--calls", 0, "--pause", 1, "127.0.0.1", provider.port)
    assert child.stdout.readline() == "200\n"
    chance = random.Random(3)
    with open(acme.state, "r+b") as file, mmap.mmap(file.fileno(), 0) as words:
        for _ in range(300):
            for _ in range(2000):
                at = chance.randrange(0, len(words) // 8) * 8
                words[at : at + 8] = chance.getrandbits(64).to_bytes(8, "little")
            line = child.stdout.readline()
            assert line in ("200\n", "connect ECONNREFUSED\n"), line
        for verb in (["status"], ["status", "--json"], ["events"], ["state"], ["explain", "127.0.0.1"]):
            done = acme.prebreak(*verb, check=False)
            assert done.returncode in (0, 1, 69, 78), (verb, done.returncode, done.stderr)
    assert child.poll() is None
