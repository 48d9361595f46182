"""What must not refuse: a misspelt mode, half a configuration, observe mode, an off file."""

import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from harness import CALL, CALLERS, LIBRARY, Guest, Provider, wait_for


def condemned(guest, provider, calls=40):
    """Calls that would have tripped it, made by separate processes: how they ended."""
    provider.set(status=503)
    return [CALLERS["blocking"](guest, "acme.test", provider.port).call() for _ in range(calls)]


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["127.0.0.1"]}
    return guarded


def test_enforce_is_the_default_and_refuses(acme, provider):
    assert "refused" in condemned(acme, provider)


@pytest.mark.parametrize(
    "setting, value",
    [
        ("PREBREAK_MODE", "enforse"),
        ("PREBREAK_MODE", ""),
        ("PREBREAK_MODE", "observe"),
        ("PREBREAK_MODE", "off"),
        ("PREBREAK_ONLY", "curl;wget"),
        ("PREBREAK_ONLY", "[call"),
        ("PREBREAK_EXCEPT", "c[a-"),
        ("PREBREAK_EXCEPT", "call"),
        ("PREBREAK_PROVIDERS", "acme acme.test enforce=0%"),
        ("PREBREAK_PROVIDERS", "acme acme.test enforce=most"),
        ("PREBREAK_PROVIDERS", "- 300.1.2.3/99; acme acme.test"),
        ("PREBREAK_PROVIDERS", "- acme.test; acme acme.test"),
        ("PREBREAK_PROVIDERS", "other other.test"),
    ],
)
def test_what_restrains_or_makes_no_sense_refuses_nothing(acme, provider, setting, value):
    acme.settings[setting] = value
    assert condemned(acme, provider) == ["failed"] * 40


def test_program_never_touched_is_so_until_only_names_it(acme, provider):
    # Given a program that is called `make`
    shutil.copy(CALL, acme.directory / "make")
    provider.set(status=503)

    def ends(**extra):
        return {acme.run(acme.directory / "make", "acme.test", provider.port, **extra).stdout.strip() for _ in range(40)}

    assert ends() == {"503"} and not acme.state.exists()
    assert "connect ECONNREFUSED" in ends(PREBREAK_ONLY="make")


def test_bad_setting_keeps_its_default_and_the_rest_works(acme, provider):
    acme.settings["PREBREAK_PROVIDERS"] = "bogus; acme acme.test window=soon colour=blue"
    assert "refused" in condemned(acme, provider)
    assert any("colour" in line for line in acme.events())


# ---- a configuration file caught half written -------------------------------------------------------------------------

CONFIG = """# never refuse what is not ours to judge
- 10.0.0.0/8 internal.test
acme acme.test success=0.5 enforce=0%
- spared.test
other *.test *:1
"""


def test_config_caught_half_written_refuses_nothing_that_was_not_refused_before(guarded, provider):
    config = guarded.directory / "rules"
    config.write_text(CONFIG)
    guarded.settings["PREBREAK_CONFIG"] = str(config)
    guarded.names = {"acme.test": ["127.0.0.1"], "spared.test": ["127.0.0.1"]}
    provider.set(status=503)
    children = [
        guarded.start(CALL, "--calls", 0, "--pause", 20, name, provider.port) for name in ("acme.test", "spared.test")
    ]
    ends = []
    readers = [
        threading.Thread(target=lambda c=child: ends.extend(line.strip() for line in c.stdout), daemon=True)
        for child in children
    ]
    for reader in readers:
        reader.start()
    wait_for(lambda: guarded.status("acme")["total"]["would_refuse"] > 0)
    # Cut where it hurts: within a name, before the setting that restrains, within it, after a line, to nothing
    for cut in ["acme.te", "success=0.5", "success=0.5 enf", "enforce=", "enforce=0%", "enforce=0%\n", "- spa", "- spared.test"]:
        config.write_text(CONFIG[: CONFIG.index(cut) + len(cut)])
        time.sleep(1.3)
    config.write_text("")
    time.sleep(1.3)
    config.unlink()
    time.sleep(1.3)
    # New processes read what there is, too
    config.write_text(CONFIG[: CONFIG.index(" enforce")])
    late = [CALLERS["blocking"](guarded, "acme.test", provider.port).call() for _ in range(40)]
    config.write_text(CONFIG)
    for child in children:
        child.kill()
    for reader in readers:
        reader.join()
    assert set(ends) == {"503"}
    assert set(late) == {"failed"}


def test_config_is_read_again_within_a_second_or_so(guarded, provider):
    config = guarded.directory / "rules"
    config.write_text("- acme.test\n")
    guarded.settings["PREBREAK_CONFIG"] = str(config)
    guarded.names = {"acme.test": ["127.0.0.1"]}
    provider.set(status=503)
    child = guarded.start(CALL, "--calls", 0, "--pause", 10, "acme.test", provider.port)
    for _ in range(50):
        assert child.stdout.readline() == "503\n"
    config.write_text("acme acme.test\n")
    seen = set()

    def refused():
        seen.add(child.stdout.readline())
        return "connect ECONNREFUSED\n" in seen

    wait_for(refused, every=0)


# ---- observe ----------------------------------------------------------------------------------------------------------


def test_observe_refuses_nothing_and_counts_what_enforcing_refuses(tmp_path):
    """Two guests side by side, two servers with the same script, the same calls at the same moments."""
    sides = {}
    for mode in ("enforce", "observe"):
        directory = tmp_path / mode
        directory.mkdir()
        guest = Guest(directory, preloaded=True)
        guest.settings.update(PREBREAK_PROVIDERS="acme acme.test", PREBREAK_MODE=mode)
        guest.names = {"acme.test": ["127.0.0.1"]}
        provider = Provider()
        caller = guest.start(CALL, "--wait", "acme.test", provider.port, stdin=subprocess.PIPE)
        sides[mode] = (guest, provider, caller)
    tallies = {mode: [] for mode in sides}

    def calls(count):
        for _ in range(count):
            for mode, (_, _, caller) in sides.items():
                caller.stdin.write("\n")
                caller.stdin.flush()
                tallies[mode].append(caller.stdout.readline().strip())
            time.sleep(0.01)

    try:
        calls(50)
        for _, provider, _ in sides.values():
            provider.set(status=503)
        calls(300)
        leaked = sides["enforce"][1].answers(503)
        enforce = sides["enforce"][0].status("acme")["total"]
        observe = sides["observe"][0].status("acme")["total"]
        assert tallies["observe"] == ["200"] * 50 + ["503"] * 300
        assert observe["refused"] == 0 and observe["calls"] == 350 and observe["failed"] == 300
        assert enforce["refused"] == tallies["enforce"].count("connect ECONNREFUSED") > 200
        assert abs(observe["would_refuse"] - enforce["refused"]) <= leaked
        assert observe["would_refuse_failed"] == observe["would_refuse"] and observe["would_refuse_ok"] == 0
        assert sides["observe"][0].phase("acme") == sides["enforce"][0].phase("acme") == "open"
    finally:
        for guest, provider, _ in sides.values():
            guest.close()
            provider.close()


# ---- the off file -----------------------------------------------------------------------------------------------------


class Namespace:
    """A shell in a mount namespace of its own, with an empty /run and /dev/shm: the machine's off files are never touched."""

    def __init__(self):
        self.started = []
        self.shell = subprocess.Popen(
            ["unshare", "-m", "sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]}
        )
        self.tell("mount -t tmpfs -o mode=755 none /run && mount -t tmpfs -o mode=1777 none /dev/shm && mkdir /run/prebreak")

    def tell(self, command):
        self.shell.stdin.write(f"{command}\necho $?\n")
        self.shell.stdin.flush()
        assert self.shell.stdout.readline() == "0\n", command

    def start(self, command, output):
        self.shell.stdin.write(f"exec {command} >{output} 2>&1 & echo $!\n")
        self.shell.stdin.flush()
        self.started.append(int(self.shell.stdout.readline()))

    def close(self):
        for pid in self.started:
            os.kill(pid, signal.SIGKILL)
        self.shell.stdin.close()
        self.shell.wait()


USERS = {"nobody": 65534, "daemon": 1}


@pytest.mark.parametrize("folder", ["/run/prebreak", "/etc/prebreak"])
def test_off_file_lets_every_user_pass_within_a_second_and_its_removal_ends_that(need_namespaces, tmp_path, provider, folder):
    # What another user runs must be where that user can read it
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_mode & 0o005 != 0o005 and str(parent) not in ("/", "/tmp"):
            parent.chmod(0o755)
    for file in (LIBRARY, CALL):
        shutil.copy(file, tmp_path)
    provider.set(status=503)
    inside = Namespace()
    try:
        if folder == "/etc/prebreak":
            inside.tell("mount -t tmpfs -o mode=755 none /etc && mkdir /etc/prebreak")
        outputs = {}
        for name, uid in USERS.items():
            outputs[name] = tmp_path / f"{name}.out"
            outputs[name].touch()
            inside.start(
                f"setpriv --reuid={uid} --regid={uid} --clear-groups env LD_PRELOAD={tmp_path}/libprebreak.so"
                f" PREBREAK_PROVIDERS='acme 127.0.0.1' {tmp_path}/call --calls 0 --pause 20 127.0.0.1 {provider.port}",
                outputs[name],
            )

        def last(count=10):
            return {name: set(path.read_text().splitlines()[-1 - count : -1]) for name, path in outputs.items()}

        def lines():
            return {name: len(path.read_text().splitlines()) for name, path in outputs.items()}

        def refused():
            return all("connect ECONNREFUSED" in ends for ends in last().values())

        wait_for(refused)
        inside.tell(f"touch {folder}/off")
        time.sleep(1.5)
        before = lines()
        wait_for(lambda: all(lines()[name] > before[name] + 20 for name in USERS))
        assert all(ends == {"503"} for ends in last(20).values())
        inside.tell(f"rm {folder}/off")
        wait_for(refused)
    finally:
        inside.close()
