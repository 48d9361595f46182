"""prebreak explain: the rule, the provider, the settings and what a call would meet, from the same variables as a
protected program's."""

import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("PREBREAK_BUILD", "build")).resolve()
RULES = "openai api.openai.com *.openai.azure.com success=0.5; - 127.0.0.0/8; db 10.1.0.0/16:5432 policy=gobreaker"


@pytest.fixture
def prebreak(tmp_path):
    """Runs the command with these variables and none else."""

    def run(*arguments, **variables):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PREBREAK_") and k != "LD_PRELOAD"}
        env["PREBREAK_STATE"] = str(tmp_path / "region")
        env.update({f"PREBREAK_{name}": value for name, value in variables.items()})
        return subprocess.run(
            [str(BUILD / "prebreak"), *arguments], env=env, capture_output=True, text=True, timeout=30, check=False
        )

    return run


@pytest.fixture
def explain(prebreak):
    """What is said of a target: its lines by label."""

    def ask(target, **variables):
        done = prebreak("explain", target, **variables)
        assert done.returncode == 0, done.stderr
        lines = {}
        for line in done.stdout.splitlines():
            label = line[:9].strip() or label  # noqa: F821 - a line without a label goes on
            lines[label] = f"{lines[label]} {line[10:].strip()}" if label in lines else line[10:]
        lines["stderr"] = done.stderr
        return lines

    return ask


def test_without_rules_a_host_is_its_own_provider(explain):
    said = explain("api.example.com:8443")
    assert said["target"] == "api.example.com:8443"
    assert said["rule"].endswith(": * *") and "built in" in said["rule"]
    assert said["provider"] == "api.example.com:8443"
    assert said["settings"].startswith("policy=sre ")
    assert said["mode"] == "enforce (the default)"
    assert said["a call"] == "passes"
    assert said["stderr"] == ""


def test_the_rule_is_shown_as_written_with_what_it_sets(explain):
    said = explain("eu.OpenAI.azure.com.", PROVIDERS=RULES)
    assert said["rule"] == (
        "PREBREAK_PROVIDERS, rule 1: openai api.openai.com *.openai.azure.com success=0.5"
    )
    assert said["matches"] == "*.openai.azure.com"
    assert said["provider"] == "openai"
    assert " success=0.5 " in said["settings"]
    assert " open=15s " in explain("10.1.2.3:5432", PROVIDERS=RULES)["settings"]


def test_a_preset_is_shown_with_what_is_left_of_it(explain):
    said = explain("api.openai.com", PROVIDERS="openai api.openai.com api=openai hang=9s")
    assert said["preset"].startswith("api=openai: ") and "stall=2m" in said["preset"] and "hang" not in said["preset"]
    assert " api=openai " in said["settings"] and " hang=9s " in said["settings"]
    assert "preset" not in explain("api.openai.com", PROVIDERS="openai api.openai.com hang=9s")


def test_the_file_is_named_with_its_line(explain, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("# ours\n\npay *.example.com\n")
    assert explain("a.example.com", CONFIG=str(rules))["rule"] == f"{rules}, line 3: pay *.example.com"


@pytest.mark.parametrize("target", ["other.test", "10.2.0.1:5432", "[2001:db8::1]:443", "unix:/run/x.sock"])
def test_no_rule_is_an_answer_too(explain, target):
    said = explain(target, PROVIDERS="openai api.openai.com; db 10.1.0.0/16:5432")
    assert said["rule"] == "none matches"
    assert said["a call"] == "passes and is not looked at"


def test_a_name_is_looked_up_where_addresses_come_first(explain):
    said = explain("localhost:80", PROVIDERS="- 127.0.0.0/8 [::1]; * *")
    assert said["address"].startswith(("127.0.0.1", "::1"))
    assert said["rule"].endswith("- 127.0.0.0/8 [::1]")
    assert said["a call"] == "passes and is not looked at, as the rule says"
    assert "address" not in explain("localhost:80", PROVIDERS="a localhost; - 127.0.0.0/8")


@pytest.mark.parametrize(
    "target,host",
    [
        ("https://user:pw@h.test/v1?x#y", "h.test:443"),
        ("http://h.test", "h.test:80"),
        ("http://h.test:8080/", "h.test:8080"),
        ("[::1]", "[::1]:443"),
        ("::1", "[::1]:443"),
        ("[::1]:80", "[::1]:80"),
        ("unix:/run/x", "unix:/run/x"),
    ],
)
def test_targets_are_taken_as_people_have_them(explain, target, host):
    assert explain(target)["target"] == host


@pytest.mark.parametrize("target", ["", "a:b", "h:0", "h:65536", "h:", "[::1", "[x]", "a b", "x" * 300, "h:80:81"])
def test_what_is_no_target_is_bad_usage(prebreak, target):
    done = prebreak("explain", target)
    assert done.returncode == 64
    assert done.stderr.startswith("prebreak: explain: found '")


def test_bad_configuration_is_said_as_the_library_says_it(explain):
    said = explain("h.test", PROVIDERS="n h.test enfroce=10%", MODE="obsreve", CONFIG="/nowhere/rules")
    assert said["stderr"].splitlines() == [
        "prebreak: PREBREAK_MODE: found 'obsreve', expected enforce, observe or off: only observing",
        "prebreak: PREBREAK_CONFIG '/nowhere/rules': no such file; going without it",
        "prebreak: PREBREAK_PROVIDERS, rule 1, column 10: found 'enfroce=10%', expected a setting: is it 'enforce'?",
    ]
    assert said["mode"] == "observe (PREBREAK_MODE)"
    assert " enforce=0% " in said["settings"]


def test_a_restraint_that_cannot_be_read_shows_in_the_mode(explain):
    said = explain("h.test", PROVIDERS="- 10.0.0.0/99; * *")
    assert said["mode"] == "observe (a rule that restrains could not be understood)"


@pytest.mark.parametrize("variables", [{"MODE": "off"}, {"ONLY": "[x"}])
def test_off_is_off(explain, variables):
    said = explain("h.test", **variables)
    assert said["mode"].startswith("off (PREBREAK_")
    assert said["a call"] == "passes and is not looked at"


def test_it_tells_what_a_call_would_meet_now(prebreak, explain):
    assert prebreak("state", "--recreate").returncode == 0
    assert prebreak("hold", "h.test", "open").returncode == 0
    said = explain("h.test")
    assert said["now"].startswith("held-open, drop 100%")
    assert said["a call"] == "is refused"
    assert explain("h.test", MODE="observe")["a call"] == "passes; enforcing would refuse 100% of them"
    assert explain("h.test", DEFAULTS="enforce=25%")["a call"] == "is refused in 25% of cases"
    assert prebreak("mode", "off").returncode == 0
    assert explain("h.test")["mode"] == "off (the operator's word, prebreak mode)"


def test_it_makes_no_region_and_no_breaker(prebreak, explain, tmp_path):
    explain("h.test")
    assert not (tmp_path / "region").exists()
    assert prebreak("state", "--recreate").returncode == 0
    explain("h.test")
    assert '"providers":[]' in prebreak("status", "--json").stdout.replace(" ", "").replace("\n", "")


def test_help_lists_every_setting(prebreak):
    text = prebreak("explain", "--help").stdout
    for setting in ("policy", "enforce", "429", "half_open"):
        assert f"\n  {setting} " in text
