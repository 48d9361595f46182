"""The command line: what it takes, what it answers, and how it ends."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import threading

import pytest

import harness

BUILD = pathlib.Path(os.environ.get("PREBREAK_BUILD", "build")).resolve()
PREBREAK = str(BUILD / "prebreak")

USAGE, NO_STATE, NO_PERMISSION, BAD_CONFIG = 64, 69, 77, 78

STEERING = ["status", "events", "hold", "release", "reset", "mode", "state"]


@pytest.fixture
def state(tmp_path):
    """Where a region may be: nothing is there yet."""
    return tmp_path / "region"


@pytest.fixture
def prebreak(state):
    """Runs the command on that region."""

    def run(*arguments, program=PREBREAK, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PREBREAK_") and k != "LD_PRELOAD"}
        env["PREBREAK_STATE"] = str(state)
        env.update(environment)
        return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=30, check=False)

    return run


@pytest.fixture
def region(prebreak):
    """A sound region with nothing in it."""
    assert prebreak("state", "--recreate").returncode == 0


def one_line(text, *words):
    assert text.startswith("prebreak: ")
    assert text.count("\n") == 1 and text.endswith("\n")
    for word in words:
        assert word in text


# ---- help and usage ---------------------------------------------------------------------------------------------------


def test_help_lists_every_command_and_each_has_help_with_an_example(prebreak):
    overview = prebreak("--help")
    assert overview.returncode == 0 and overview.stderr == ""
    listed = [line.split()[0] for line in overview.stdout.split("commands:\n")[1].split("\n\n")[0].splitlines()]
    assert set(STEERING + ["run"]) <= set(listed)
    for name in listed:
        answer = prebreak(name, "--help")
        assert answer.returncode == 0 and answer.stderr == "", name
        assert answer.stdout.startswith("usage: prebreak ") and name in answer.stdout.splitlines()[0]
        assert "example" in answer.stdout and "exit status" in answer.stdout, name
        assert all(len(line) <= 120 for line in answer.stdout.splitlines()), name
        assert prebreak("help", name).stdout == answer.stdout


def test_version_is_one_line(prebreak):
    assert prebreak("--version").stdout.split()[0] == "prebreak"
    assert prebreak("-V").stdout == prebreak("--version").stdout


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ([], "expected a command"),
        (["statsu"], "expected one of: run"),
        (["help", "statsu"], "expected one of: run"),
        (["--colour", "status"], "expected -u USER"),
        (["-u"], "expected -u USER"),
        (["-u", "nobody", "--all", "status"], "not both"),
        (["-u", "nobody", "run", "true"], "neither -u nor --all"),
        (["-u", "no-such-user-here", "status"], "no user"),
        (["run"], "expected a PROGRAM"),
        (["run", "-m"], "lacks its argument"),
        (["run", "-m", "enforec", "true"], "expected enforce, observe or off"),
        (["run", "-x", "true"], "unknown option '-x'"),
        (["status", "--jsno"], "unknown option '--jsno'"),
        (["status", "a", "b"], "at most one NAME"),
        (["events", "now"], "expected no argument"),
        (["events", "-g"], "unknown option '-g'"),
        (["hold", "openai"], "expected NAME and then open or closed"),
        (["hold", "openai", "opne"], "expected open or closed"),
        (["hold", "openai", "open", "--for"], "lacks its argument"),
        (["hold", "openai", "open", "--for", "soon"], "expected something like 30s"),
        (["hold", "openai", "open", "--for", "0s"], "expected something like 30s"),
        (["hold", "a b", "open"], "cannot be called that"),
        (["hold", "\033[2J", "open"], "cannot be called that"),
        (["hold", "", "open"], "cannot be called that"),
        (["hold", "x" * 400, "open"], "cannot be called that"),
        (["release"], "expected the NAME"),
        (["reset", "a", "b"], "expected the NAME"),
        (["mode", "on"], "expected enforce, observe, off or env"),
        (["mode", "off", "now"], "expected one of"),
        (["state", "now"], "expected no argument"),
    ],
)
def test_bad_usage_is_one_line_that_says_what_was_expected(prebreak, region, arguments, expected):
    answer = prebreak(*arguments)
    assert answer.returncode == USAGE
    assert answer.stdout == ""
    one_line(answer.stderr, expected)


def test_output_that_cannot_be_written_is_a_failure(prebreak, region):
    for arguments in (["--help"], ["--version"], ["status"], ["status", "--json"], ["state"], ["mode"], ["run", "--help"]):
        for redirection in (">&-", ">/dev/full"):
            shell = f'"$0" "$@" {redirection}'
            answer = prebreak("-c", shell, PREBREAK, *arguments, program="/bin/sh")
            assert answer.returncode == 1, (arguments, redirection)
            one_line(answer.stderr, "cannot write")


def test_a_closed_stdout_does_not_become_the_region(prebreak, region, state):
    before = state.read_bytes()
    prebreak("-c", '"$0" status --json >&- 2>&-', PREBREAK, program="/bin/sh")
    assert state.read_bytes() == before


# ---- run --------------------------------------------------------------------------------------------------------------


def variables(answer):
    assert answer.returncode == 0, answer.stderr
    return dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)


def test_run_sets_what_it_was_told(prebreak, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("db *:5432\n")
    seen = variables(prebreak("run", "-m", "observe", "-p", "a a.example", "-p", "b b.example", "-c", str(rules), "env"))
    assert seen["PREBREAK_MODE"] == "observe"
    assert seen["PREBREAK_PROVIDERS"] == "a a.example; b b.example"
    assert seen["PREBREAK_CONFIG"] == str(rules)
    assert seen["LD_PRELOAD"] == str(BUILD / "libprebreak.so")


def test_run_sets_nothing_that_it_was_not_told(prebreak):
    seen = variables(prebreak("run", "env", PREBREAK_MODE="off"))
    assert seen["PREBREAK_MODE"] == "off"
    assert "PREBREAK_PROVIDERS" not in seen and "PREBREAK_CONFIG" not in seen


def test_rules_of_the_command_line_come_before_those_of_the_environment(prebreak):
    seen = variables(prebreak("run", "-p", "a a.example", "env", PREBREAK_PROVIDERS="* *"))
    assert seen["PREBREAK_PROVIDERS"] == "a a.example; * *"


def test_run_appends_to_a_preload_and_does_not_add_itself_twice(prebreak):
    other = "/usr/lib/x86_64-linux-gnu/libm.so.6"
    if not os.path.exists(other):
        other = subprocess.run(["sh", "-c", "ldconfig -p | sed -n 's/.*libm.so.6.*=> //p' | head -n 1"],
                               capture_output=True, text=True, check=True).stdout.strip()
    first = variables(prebreak("run", "env", LD_PRELOAD=other))["LD_PRELOAD"]
    assert first == f"{other}:{BUILD}/libprebreak.so"
    assert variables(prebreak("run", PREBREAK, "run", "env"))["LD_PRELOAD"] == f"{BUILD}/libprebreak.so"


def test_a_relative_file_of_rules_is_found_after_a_change_of_directory(prebreak, tmp_path):
    (tmp_path / "rules").write_text("* *\n")
    answer = prebreak("-c", f'cd {tmp_path} && exec "$0" run -c rules env', PREBREAK, program="/bin/sh")
    assert variables(answer)["PREBREAK_CONFIG"] == str(tmp_path / "rules")


def test_a_file_of_rules_that_is_not_there_is_told_and_stops_nothing(prebreak, tmp_path):
    answer = prebreak("-c", f'cd {tmp_path} && exec "$0" run -c nowhere env', PREBREAK, program="/bin/sh")
    assert variables(answer)["PREBREAK_CONFIG"] == str(tmp_path / "nowhere")
    one_line(answer.stderr, "'nowhere'", "No such file")


def test_a_rule_that_is_not_understood_starts_nothing(prebreak, tmp_path):
    answer = prebreak("run", "-p", "a a.example", "-p", "b b.example sucess=0.5", "touch", str(tmp_path / "started"))
    assert answer.returncode == BAD_CONFIG
    one_line(answer.stderr, "rule 2", "column", "sucess")
    assert not (tmp_path / "started").exists()


def test_run_ends_as_its_program_does(prebreak, tmp_path):
    assert prebreak("run", "sh", "-c", "exit 23").returncode == 23
    assert prebreak("run", "--", "sh", "-c", "exit 0").returncode == 0
    assert prebreak("run", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    missing = prebreak("run", "no-such-program-here")
    assert missing.returncode == 127
    one_line(missing.stderr, "no-such-program-here", "No such file")
    (tmp_path / "plain").write_text("not a program")
    assert prebreak("run", str(tmp_path / "plain")).returncode == 126


def test_the_programs_own_options_are_its_own(prebreak):
    answer = prebreak("run", "echo", "--help", "-m", "x", "--json")
    assert answer.stdout == "--help -m x --json\n"


def test_run_leaves_closed_streams_closed(prebreak):
    answer = prebreak("-c", '"$0" run sh -c "[ ! -e /proc/self/fd/0 ]" <&-', PREBREAK, program="/bin/sh")
    assert answer.returncode == 0


@pytest.mark.parametrize("place, preloaded", [("lib/x86_64-linux-gnu", "$LIB"), ("lib", "lib"), ("lib64", "lib64")])
def test_an_installed_command_finds_the_library_under_its_prefix(prebreak, tmp_path, place, preloaded):
    if preloaded == "$LIB" and not os.path.exists("/usr/lib/x86_64-linux-gnu/libc.so.6"):
        pytest.skip("another architecture's directory")
    (tmp_path / "bin").mkdir()
    (tmp_path / place).mkdir(parents=True)
    command = tmp_path / "bin" / "prebreak"
    command.write_bytes(pathlib.Path(PREBREAK).read_bytes())
    command.chmod(0o755)
    (tmp_path / place / "libprebreak.so").write_bytes((BUILD / "libprebreak.so").read_bytes())
    answer = prebreak("run", "env", program=str(command))
    assert variables(answer)["LD_PRELOAD"] == f"{tmp_path}/{preloaded}/libprebreak.so"
    assert answer.stderr == ""


@pytest.mark.parametrize("name, reason", [("bin", "cannot find libprebreak.so"), ("a b", "space or a colon")])
def test_a_command_without_its_library_starts_nothing(prebreak, tmp_path, name, reason):
    (tmp_path / name).mkdir()
    command = tmp_path / name / "prebreak"
    command.write_bytes(pathlib.Path(PREBREAK).read_bytes())
    command.chmod(0o755)
    answer = prebreak("run", "true", program=str(command))
    assert answer.returncode == 1
    one_line(answer.stderr, reason)


# ---- the region -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"], ["events"], ["events", "-f"], ["mode"],
                                       ["mode", "off"], ["hold", "a", "open"], ["release", "a"], ["reset", "a"], ["state"]])
def test_without_a_region_every_command_says_so(prebreak, state, arguments):
    answer = prebreak(*arguments)
    assert answer.returncode == NO_STATE
    assert answer.stdout == ""
    one_line(answer.stderr, str(state), "--recreate")
    assert not state.exists()


def test_a_private_state_has_nothing_to_show(prebreak):
    answer = prebreak("status", PREBREAK_STATE="private")
    assert answer.returncode == NO_STATE
    one_line(answer.stderr, "PREBREAK_STATE")


def make_garbage(state):
    state.write_bytes(os.urandom(4096) * 1024)


def make_short(state):
    state.write_bytes(b"\0" * 100)


def make_directory(state):
    state.mkdir()


def make_symlink(state):
    (state.parent / "elsewhere").write_bytes(b"")
    state.symlink_to("elsewhere")


def make_world_writable(state):
    state.write_bytes(b"")
    state.chmod(0o666)


@pytest.mark.parametrize("make", [make_garbage, make_short, make_directory, make_symlink, make_world_writable])
def test_a_region_that_cannot_be_used_is_named_with_a_remedy_and_left_alone(prebreak, state, make):
    make(state)
    before = os.lstat(state)
    for arguments in (["status"], ["state"], ["mode", "off"]):
        answer = prebreak(*arguments)
        assert answer.returncode == NO_STATE
        one_line(answer.stderr, str(state), ";")
    assert os.lstat(state).st_mtime_ns == before.st_mtime_ns


def test_recreate_puts_a_sound_region_in_the_place_of_garbage(prebreak, state):
    make_garbage(state)
    state.chmod(0o600)
    answer = prebreak("state", "--recreate")
    assert answer.returncode == 0, answer.stderr
    assert "sound" in answer.stdout and str(state) in answer.stdout
    assert prebreak("status").returncode == 0


def test_recreate_keeps_mode_and_holds(prebreak, region):
    prebreak("mode", "observe")
    prebreak("hold", "payments", "open")
    prebreak("state", "--recreate")
    assert prebreak("mode").stdout == "observe\n"
    status = json.loads(prebreak("status", "--json").stdout)
    assert [hold["name"] for hold in status["holds"]] == ["payments"]


def test_state_says_how_full_the_region_is(prebreak, region):
    prebreak("hold", "payments", "open")
    answer = prebreak("state")
    assert answer.returncode == 0
    words = [line.split() for line in answer.stdout.splitlines()]
    assert ["holds", "1", "of", "64"] in words
    assert ["providers", "0", "of", "1024"] in words
    assert ["events", "1", "of", "256"] in words


def test_an_empty_region_is_shown_as_one(prebreak, region, state):
    assert "no provider has been called yet" in prebreak("status").stdout
    status = json.loads(prebreak("status", "--json").stdout)
    assert list(status) == ["version", "state", "mode", "providers", "holds"]
    assert status["state"] == str(state) and status["mode"] == "env" and status["providers"] == []


# ---- steering ---------------------------------------------------------------------------------------------------------


def test_mode_is_set_told_and_an_event(prebreak, region):
    for mode in ("observe", "enforce", "off", "env"):
        assert prebreak("mode", mode).returncode == 0
        assert prebreak("mode").stdout == mode + "\n"
        assert json.loads(prebreak("status", "--json").stdout)["mode"] == mode
    events = prebreak("events").stdout.splitlines()
    assert len(events) == 4
    assert all("event=mode" in event for event in events)


def test_a_hold_needs_no_provider_and_ends_when_released(prebreak, region):
    assert prebreak("hold", "payments", "open").returncode == 0
    answer = prebreak("status", "payments")
    assert answer.returncode == 0
    assert "payments: held-open" in answer.stdout
    assert prebreak("release", "payments").returncode == 0
    again = prebreak("release", "payments")
    assert again.returncode == 1
    one_line(again.stderr, "'payments' was not held")
    events = prebreak("events").stdout.splitlines()
    assert [word for event in events for word in event.split() if word.startswith("event=")] == ["event=hold", "event=release"]
    assert all("provider=payments" in event for event in events)


def test_a_hold_says_when_it_ends_and_ends_then(prebreak, region):
    prebreak("hold", "payments", "closed", "--for", "10m")
    prebreak("hold", "--for=1ms", "openai", "open")
    holds = json.loads(prebreak("status", "--json").stdout)["holds"]
    assert [(hold["name"], hold["phase"]) for hold in holds] == [("payments", "held-closed")]
    assert holds[0]["until"].endswith("Z")
    assert "another 9m" in prebreak("status", "payments").stdout


def test_a_hold_can_be_changed(prebreak, region):
    prebreak("hold", "payments", "closed")
    prebreak("hold", "payments", "open", "--for", "1h")
    holds = json.loads(prebreak("status", "--json").stdout)["holds"]
    assert [(hold["name"], hold["phase"]) for hold in holds] == [("payments", "held-open")]


def test_holds_run_out_of_room_with_a_word(prebreak, region):
    for i in range(64):
        assert prebreak("hold", f"p{i}", "open").returncode == 0
    answer = prebreak("hold", "one-more", "open")
    assert answer.returncode == 1
    one_line(answer.stderr, "no room")


@pytest.mark.parametrize("command", ["reset", "status"])
def test_a_provider_that_nobody_called_is_a_failure_with_one_line(prebreak, region, command):
    answer = prebreak(command, "opnai")
    assert answer.returncode == 1
    one_line(answer.stderr, "no provider 'opnai'")


# ---- events -----------------------------------------------------------------------------------------------------------


def test_events_are_json_when_asked(prebreak, region):
    prebreak("hold", "payments", "open", "--for", "10m")
    event = json.loads(prebreak("events", "--json").stdout)
    assert event["event"] == "hold" and event["provider"] == "payments"


@pytest.fixture
def follower(prebreak, region, state):
    prebreak("mode", "observe")
    process = subprocess.Popen([PREBREAK, "events", "-f"], env={**os.environ, "PREBREAK_STATE": str(state)},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(30, process.kill)
    watchdog.start()
    assert "event=mode" in process.stdout.readline()
    yield process
    watchdog.cancel()
    process.kill()
    process.wait()


def test_follow_shows_what_comes(prebreak, follower):
    prebreak("hold", "payments", "open")
    assert "event=hold" in follower.stdout.readline()


def test_follow_goes_on_in_a_region_that_takes_the_place(prebreak, follower):
    prebreak("state", "--recreate")
    prebreak("hold", "payments", "open")
    line = follower.stdout.readline()
    while "event=hold" not in line:
        assert line != ""
        line = follower.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_follow_ends_in_peace_when_interrupted(follower, number):
    follower.send_signal(number)
    assert follower.wait(10) == 0
    assert follower.stderr.read() == ""


def test_follow_ends_in_peace_when_its_reader_goes(follower):
    follower.stdout.close()
    assert follower.wait(10) == 0
    assert follower.stderr.read() == ""


# ---- providers that were called ---------------------------------------------------------------------------------------


def test_two_rules_of_one_name_are_two_breakers_that_can_be_told_apart(guarded, provider):
    for rule in ("acme 127.0.0.1", "acme 127.0.0.1 trip=5"):
        guarded.run(harness.CALL, "127.0.0.1", provider.port, PREBREAK_PROVIDERS=rule, check=True)
    status = json.loads(guarded.prebreak("status", "--json").stdout)
    assert [one["name"] for one in status["providers"]] == ["acme", "acme"]
    assert sorted("trip=5 " in one["settings"] for one in status["providers"]) == [False, True]
    assert "trip=5 " in guarded.prebreak("status", "acme").stdout
    guarded.prebreak("reset", "acme")
    assert guarded.prebreak("events").stdout.count("event=reset") == 2


def test_the_mode_of_a_provider_is_that_of_those_who_call_it(guarded, provider):
    guarded.prebreak("state", "--recreate")
    guarded.prebreak("hold", "acme", "open")
    guarded.run(harness.CALL, "127.0.0.1", provider.port, PREBREAK_PROVIDERS="acme 127.0.0.1", PREBREAK_MODE="observe")
    assert guarded.status("acme")["mode"] == "observe"
    assert guarded.status("acme")["total"]["would_refuse"] == 1


def test_a_running_program_is_counted(guarded, provider):
    program = guarded.start(harness.CALL, "--wait", "127.0.0.1", provider.port, stdin=subprocess.PIPE)
    program.stdin.write("\n")
    program.stdin.flush()
    program.stdout.readline()
    assert ", 1 process\n" in guarded.prebreak("status").stdout
    program.kill()
    program.wait()
    assert ", 0 processes\n" in guarded.prebreak("status").stdout


@pytest.mark.parametrize("environment, coloured", [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_only_a_terminal_is_shown_colour(guarded, provider, environment, coloured):
    guarded.run(harness.CALL, "127.0.0.1", provider.port, PREBREAK_PROVIDERS="acme 127.0.0.1", check=True)
    guarded.prebreak("hold", "acme", "open")
    ours, theirs = pty.openpty()
    env = {"TERM": "xterm", **guarded.settings, **environment}
    assert subprocess.run([PREBREAK, "status"], env=env, stdout=theirs, timeout=30, check=False).returncode == 0
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert (b"\033[1;31mheld-open\033[0m" in shown) == coloured
    assert (b"\033" in shown) == coloured
    assert "\033" not in guarded.prebreak("status").stdout


# ---- other users ------------------------------------------------------------------------------------------------------

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def other_users(prebreak):
    """Runs a script where /dev/shm is empty and its own, and knows the command as $0."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("needs root and a mount namespace")

    def run(script):
        # The command is made readable for everybody: the build tree may lie in a directory that is not.
        prologue = ("set -e; mount -t tmpfs none /dev/shm; chmod 1777 /dev/shm; unset PREBREAK_STATE; "
                    "as() { uid=$1; shift; setpriv --reuid=$uid --regid=$uid --clear-groups \"$@\"; }; "
                    "d=/dev/shm/bin; mkdir -m 755 $d; cp \"$0\" $d/prebreak; p=$d/prebreak; ")
        return prebreak("-m", "/bin/sh", "-c", prologue + script, PREBREAK, program="unshare")

    return run


@as_root
def test_root_sees_and_steers_another_users_region(other_users):
    answer = other_users("as 1234 $p state --recreate >/dev/null; $p -u 1234 hold payments open; "
                         "$p -u 1234 status; stat -c %u /dev/shm/prebreak-1234; as 1234 $p status; ls /dev/shm")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("payments: held-open") == 2
    assert "/dev/shm/prebreak-1234:" in answer.stdout and "\n1234\n" in answer.stdout
    assert "prebreak-0" not in answer.stdout


@as_root
def test_root_recreates_a_region_for_the_user_whose_it_is(other_users):
    answer = other_users("$p -u 1234 state --recreate >/dev/null; stat -c '%u %g %a' /dev/shm/prebreak-1234")
    assert answer.stdout == "1234 1234 600\n", answer.stderr


@as_root
def test_all_reaches_everybody(other_users):
    answer = other_users("as 1234 $p state --recreate >/dev/null; as 99 $p state --recreate >/dev/null; "
                         "$p --all mode observe; $p --all mode; $p --all status --json; $p --all status")
    assert answer.returncode == 0, answer.stderr
    modes, rest = answer.stdout.split("[", 1)
    assert modes == "/dev/shm/prebreak-99: observe\n/dev/shm/prebreak-1234: observe\n"
    regions, end = json.JSONDecoder().raw_decode("[" + rest)
    assert [region["state"] for region in regions] == ["/dev/shm/prebreak-99", "/dev/shm/prebreak-1234"]
    assert ("[" + rest)[end:].count("mode observe") == 2


@as_root
def test_metrics_of_all_users_are_one_file_of_whoever_asked(other_users):
    answer = other_users("as 1234 $p state --recreate >/dev/null; as 99 $p state --recreate >/dev/null; "
                         "$p --all metrics --textfile $d/all.prom; stat -c '%u %a' $d/all.prom; grep -c '^prebreak_processes 0$' $d/all.prom; ls $d")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "0 644\n1\nall.prom\nprebreak\n"


@as_root
def test_one_bad_region_does_not_hide_the_others(other_users):
    answer = other_users("as 1234 $p state --recreate >/dev/null; echo junk >/dev/shm/prebreak-99; chown 99 /dev/shm/prebreak-99; "
                         "chmod 600 /dev/shm/prebreak-99; $p --all status")
    assert answer.returncode == NO_STATE
    one_line(answer.stderr, "/dev/shm/prebreak-99")
    assert "/dev/shm/prebreak-1234: mode env" in answer.stdout


@as_root
def test_only_root_may_ask_for_others(other_users):
    for option in ("-u 99", "--all"):
        answer = other_users(f"as 99 $p state --recreate >/dev/null; as 1234 $p {option} status")
        assert answer.returncode == NO_PERMISSION
        one_line(answer.stderr, "only root")


@as_root
def test_a_user_may_ask_for_oneself(other_users):
    answer = other_users("as 1234 $p state --recreate >/dev/null; as 1234 $p -u 1234 status")
    assert answer.returncode == 0, answer.stderr


@as_root
def test_all_without_any_region_says_so(other_users):
    answer = other_users("$p --all status")
    assert answer.returncode == NO_STATE
    one_line(answer.stderr, "no region")


@as_root
def test_status_and_state_say_that_everything_is_switched_off(other_users):
    switched_off = "every process is switched off: /run/prebreak/off exists"
    answer = other_users("mount -t tmpfs none /run; mkdir /run/prebreak; $p state --recreate; $p status")
    assert switched_off not in answer.stdout
    answer = other_users("mount -t tmpfs none /run; mkdir /run/prebreak; touch /run/prebreak/off; $p state --recreate; $p status")
    assert answer.stdout.count(switched_off) == 2, answer.stderr
    answer = other_users("mount -t tmpfs none /run; mkdir /run/prebreak; touch /run/prebreak/off; chown 99 /run/prebreak/off; "
                         "$p state --recreate; $p status")
    assert switched_off not in answer.stdout and answer.returncode == 0
