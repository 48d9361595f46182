"""The command beside running programs: it starts them, shows them and steers them."""

import json
import re
import subprocess

import pytest

from harness import BUILD, CALL, CALLERS, COMMAND, wait_for


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1"
    return guarded


class Running:
    """A program that runs for long and calls whenever it is told to."""

    def __init__(self, guest, port, *options):
        self.child = guest.start(CALL, "--wait", *options, "127.0.0.1", port, stdin=subprocess.PIPE)

    def call(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().strip()


def test_run_protects_a_program_and_keeps_its_exit_status(plain, provider):
    plain.settings["PREBREAK_STATE"] = str(plain.state)
    rule = "acme 127.0.0.1"
    done = plain.run(COMMAND, "run", "-p", rule, "--", CALL, "127.0.0.1", provider.port, **plain.settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "200\n", "")
    assert plain.status("acme")["total"]["ok"] == 1
    assert plain.run(COMMAND, "run", "sh", "-c", "exit 42", **plain.settings).returncode == 42
    assert plain.run(COMMAND, "run", "/nowhere/at/all", **plain.settings).returncode == 127
    assert plain.run(COMMAND, "run", "/etc/passwd", **plain.settings).returncode == 126


def test_hold_open_refuses_at_the_next_call_and_release_lets_go(acme, provider):
    program = Running(acme, provider.port)
    assert program.call() == "200"
    acme.prebreak("hold", "acme", "open")
    assert program.call() == "connect ECONNREFUSED"
    assert CALLERS["curl"](acme, "127.0.0.1", provider.port).call() == "refused"
    assert acme.phase("acme") == "held-open"
    acme.prebreak("release", "acme")
    assert program.call() == "200"
    assert acme.phase("acme") == "closed"


def test_hold_closed_lets_everything_through(acme, provider):
    program = Running(acme, provider.port)
    program.call()
    acme.prebreak("hold", "acme", "closed")
    provider.set(status=503)
    assert [program.call() for _ in range(100)] == ["503"] * 100
    assert acme.phase("acme") == "held-closed"


def test_hold_set_before_the_first_call_holds_and_ends_by_itself(acme, provider):
    acme.run(CALL, "127.0.0.1", provider.port, PREBREAK_PROVIDERS="other 127.0.0.1")
    acme.prebreak("hold", "acme", "open", "--for", "2s")
    program = Running(acme, provider.port)
    assert program.call() == "connect ECONNREFUSED"
    wait_for(lambda: program.call() == "200", limit=10)


def test_mode_is_obeyed_by_all_processes_at_their_next_call(acme, provider):
    program = Running(acme, provider.port)
    program.call()
    acme.prebreak("hold", "acme", "open")
    assert program.call() == "connect ECONNREFUSED"
    acme.prebreak("mode", "observe")
    assert program.call() == "200"
    acme.prebreak("mode", "enforce")
    assert program.call() == "connect ECONNREFUSED"
    acme.prebreak("mode", "off")
    calls = acme.status("acme")["total"]["calls"]
    assert program.call() == "200"
    assert acme.status("acme")["total"]["calls"] == calls
    acme.prebreak("mode", "env")
    assert program.call() == "connect ECONNREFUSED"


def test_reset_closes_a_tripped_breaker(acme, provider):
    provider.set(status=503)
    program = Running(acme, provider.port, "--pause", "10")
    wait_for(lambda: program.call() and acme.phase("acme") == "open", limit=60)
    provider.set()
    acme.prebreak("reset", "acme")
    assert acme.phase("acme") == "closed"
    assert [program.call() for _ in range(20)] == ["200"] * 20


def test_events_tell_the_trip_the_refusal_and_the_recovery(acme, provider):
    program = Running(acme, provider.port, "--pause", "10")
    for _ in range(20):
        program.call()
    provider.set(status=503)
    wait_for(lambda: program.call() and acme.phase("acme") == "open", limit=60)
    wait_for(lambda: program.call() == "connect ECONNREFUSED", limit=60)
    provider.set()
    # Whoever calls tells of a change, and not whoever looks
    wait_for(lambda: program.call() == "200" and any("to=closed" in line for line in acme.events()), limit=60)
    for lines in (acme.prebreak("events").stdout.splitlines(), acme.events()):
        phases = [line for line in lines if "event=phase" in line]
        assert any(re.search(r"provider=acme .*to=open\b.*reason=streak", line) for line in phases), lines
        assert any(re.search(r"provider=acme .*to=closed\b", line) for line in phases), lines
        assert any("event=refused" in line and "provider=acme" in line for line in lines), lines
        assert all(line.startswith("ts=") for line in lines)
        assert not any("GET" in line or "/secret" in line for line in lines)


def test_many_refused_processes_do_not_push_the_change_of_phase_out(acme, provider):
    log = acme.directory / "log"
    acme.settings["PREBREAK_LOG"] = log
    acme.prebreak("state", "--recreate")
    acme.prebreak("hold", "acme", "open")
    for _ in range(30):
        assert Running(acme, provider.port).call() == "connect ECONNREFUSED"
    # Everybody who was refused is in the log; the region keeps one in ten seconds
    assert log.read_text().count("event=refused") == 30
    kept = acme.prebreak("events").stdout
    assert 1 <= kept.count("event=refused") <= 9 and "event=hold" in kept


def test_log_in_json_is_json(acme, provider):
    acme.settings["PREBREAK_LOG_FORMAT"] = "json"
    acme.run(CALL, "127.0.0.1", provider.port)
    acme.prebreak("hold", "acme", "open")
    acme.run(CALL, "127.0.0.1", provider.port)
    lines = [json.loads(line) for line in acme.events()]
    assert any(line["event"] == "refused" and line["provider"] == "acme" for line in lines)


def test_explain_says_which_rule_and_what_it_would_do(acme, provider):
    acme.run(CALL, "127.0.0.1", provider.port)
    said = acme.prebreak("explain", f"127.0.0.1:{provider.port}").stdout
    assert "acme" in said and "closed" in said
    assert acme.prebreak("explain", "other.test").returncode == 0


def test_status_without_any_state_says_so(acme):
    done = acme.prebreak("status", check=False)
    assert done.returncode == 69 and done.stderr


@pytest.mark.parametrize("words", [["hold"], ["hold", "acme", "ajar"], ["bogus"], ["mode", "enforse"], ["release"]])
def test_wrong_usage_is_said_and_exits_64(acme, words):
    done = acme.prebreak(*words, check=False)
    assert done.returncode == 64 and done.stderr


def test_log_never_follows_into_what_the_program_opened(acme, provider):
    """A log at a symlink or a device is not written, and nothing is said."""
    target = acme.directory / "precious"
    target.write_text("untouched\n")
    link = acme.directory / "link"
    link.symlink_to(target)
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    acme.prebreak("hold", "acme", "open")
    for log in (link, "/dev/full", acme.directory, "/nowhere/log"):
        done = acme.run(CALL, "127.0.0.1", provider.port, PREBREAK_LOG=log)
        assert (done.stdout, done.stderr) == ("connect ECONNREFUSED\n", "")
    assert target.read_text() == "untouched\n"


def test_refusal_is_told_in_curls_error_buffer(acme, provider):
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    acme.prebreak("hold", "acme", "open")
    done = acme.run("curl", "-sS", f"http://127.0.0.1:{provider.port}/")
    assert done.returncode == 7 and "prebreak: acme" in done.stderr
