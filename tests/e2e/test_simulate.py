"""prebreak simulate as a command: what it prints, what it draws, and what it says to nonsense."""

import csv
import io
import os
import subprocess
import xml.etree.ElementTree as xml

import pytest

COMMAND = os.path.join(os.environ.get("PREBREAK_BUILD", "build"), "prebreak")
QUICK = ["--scenario", "slow-traffic-5", "--scenario", "cron"]


def simulate(*arguments):
    return subprocess.run([COMMAND, "simulate", *arguments], capture_output=True, text=True, timeout=120)


def rows(*arguments):
    done = simulate("--csv", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_csv_has_a_row_for_each_scenario_policy_and_measure():
    table = rows(*QUICK, "--seed", "1")
    assert list(table[0]) == ["scenario", "policy", "measure", "value"]
    assert {row["scenario"] for row in table} == {"slow-traffic-5", "cron"}
    assert {row["policy"] for row in table} == {"sre", "aegis", "gozero", "gobreaker", "consecutive"}
    cron = {row["measure"]: float(row["value"]) for row in table if (row["scenario"], row["policy"]) == ("cron", "sre")}
    assert cron["offered"] == 20 * 200
    assert cron["offered"] == cron["sent"] + cron["refused"] == cron["ok"] + cron["failed"] + cron["refused"]
    assert cron["would_refuse"] == 0


def test_the_same_seed_gives_the_same_answer_and_another_another():
    assert rows(*QUICK, "--seed", "7") == rows(*QUICK, "--seed", "7")
    assert rows(*QUICK, "--seed", "7") != rows(*QUICK, "--seed", "8")


def test_a_policy_with_other_parameters_behaves_otherwise_and_bears_the_name_it_was_given():
    hasty, usual = "policy=sre trip=3", "policy=sre"
    table = rows("--scenario", "slow-traffic-1", "--policy", hasty, "--policy", usual)
    leaked = {row["policy"]: float(row["value"]) for row in table if row["measure"] == "leaked"}
    assert set(leaked) == {hasty, usual}
    assert leaked[hasty] <= leaked[usual] - 5


def test_a_name_before_the_dash_means_the_family():
    table = rows("--scenario", "slow-traffic", "--policy", "policy=consecutive")
    assert {row["scenario"] for row in table} == {"slow-traffic-0.2", "slow-traffic-1", "slow-traffic-5"}


def test_observe_counts_what_enforcing_refuses_and_refuses_nothing():
    def counts(*arguments):
        return {row["measure"]: float(row["value"])
                for row in rows("--scenario", "cron", "--policy", "policy=sre", *arguments)}

    enforced, observed = counts(), counts("--observe")
    assert enforced["refused"] > 1000
    assert observed["refused"] == 0
    assert observed["would_refuse"] == enforced["refused"]
    assert observed["would_refuse_ok"] + observed["would_refuse_failed"] == observed["would_refuse"]


def test_the_table_shows_every_policy_side_by_side():
    done = simulate(*QUICK)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].split() == [
        "slow-traffic-5", "sre", "aegis", "gozero", "gobreaker", "consecutive"]
    assert "95 % passing again after" in done.stdout


def test_svg_is_a_well_formed_picture_with_a_panel_for_each_policy(tmp_path):
    picture = tmp_path / "picture.svg"
    label = "policy=sre trip=4 pause_max=59s"
    done = simulate(*QUICK, "--policy", label, "--policy", "policy=aegis", "--svg", str(picture))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    root = xml.parse(picture).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count(label) == 2 and texts.count("policy=aegis") == 2
    for legend in ("offered", "sent", "ok", "refused", "drop ratio"):
        assert legend in texts
    lines = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == 4 * 4
    assert all(len(line.get("points").split()) > 50 for line in lines)


def test_a_picture_that_cannot_be_written_is_said_in_one_line(tmp_path):
    done = simulate(*QUICK, "--policy", "policy=sre", "--svg", str(tmp_path / "no" / "where.svg"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "where.svg" in done.stderr
    done = simulate(*QUICK, "--policy", "policy=sre", "--svg", "/dev/full")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "/dev/full" in done.stderr


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["--scenario", "volcano"], "volcano"),
        (["--scenario", "volcano"], "expected one of: outage-20s outage-120s "),
        (["--scenario", ""], "scenario"),
        (["--policy", "policy=nonsense"], "nonsense"),
        (["--policy", "policy=sre trip=many"], "many"),
        (["--policy", "policy=sre; y *"], "settings"),
        (["--policy", "policy=sre colour=blue"], "colour"),
        (["--seed", "x"], "x"),
        (["--seed", "-1"], "-1"),
        (["--seed", ""], "seed"),
        (["--seed", "99999999999999999999999"], "seed"),
        (["--csv", "--svg", "/dev/null"], "--csv"),
        (["--policy"], "--policy"),
        (["--frobnicate"], "--frobnicate"),
        (["outage"], "outage"),
    ],
)
def test_bad_arguments_are_said_in_one_line(arguments, named):
    done = simulate(*arguments)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("prebreak: ") and done.stderr.count("\n") == 1
    assert named in done.stderr


def test_help_lists_the_scenarios():
    done = simulate("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("outage-503", "overload-quota", "pool-hang", "cron"):
        assert name in done.stdout
