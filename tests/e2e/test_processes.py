"""One memory for all processes of a user, whatever they are called and however they end."""

import random
import shutil
import subprocess
import time

import pytest

from harness import CALL, CALLERS, Curl, Plain, Tally, agree, kill, wait_for


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["127.0.0.1"]}
    return guarded


def trip(guest, provider, client=Curl):
    provider.set(status=503)
    tally = Tally(client(guest, "acme.test", provider.port))
    wait_for(lambda: tally.call() and guest.phase("acme") == "open")
    return tally


def test_tripped_breaker_is_tripped_for_later_processes_and_other_programs(acme, provider):
    trip(acme, provider)
    under_another_name = acme.directory / "nightly-report"
    shutil.copy(CALL, under_another_name)
    refused = {"curl": 0, "wget": 0, "copy": 0, "threads": 0}
    for _ in range(5):
        refused["curl"] += CALLERS["curl"](acme, "acme.test", provider.port).call() == "refused"
        refused["wget"] += CALLERS["wget"](acme, "acme.test", provider.port).call() == "refused"
        done = acme.run(under_another_name, "acme.test", provider.port)
        refused["copy"] += done.stdout == "connect ECONNREFUSED\n"
        done = acme.run(CALL, "--threads", 4, "--how", "poll", "acme.test", provider.port)
        refused["threads"] += done.stdout.count("connect ECONNREFUSED") >= 3
    # A probe now and then went through, whoever came first when it was due
    assert all(refused.values()) and sum(refused.values()) >= 12, refused


def test_private_state_is_not_shared_and_nobody_leaves_a_file(acme, provider):
    acme.settings["PREBREAK_STATE"] = "private"
    provider.set(status=503)
    ends = [Plain(acme, "acme.test", provider.port).call() for _ in range(40)]
    assert ends == ["failed"] * 40
    assert not acme.state.exists()
    # Within one process and its threads it is one memory all the same
    done = acme.run(CALL, "--threads", 4, "--calls", 30, "--pause", 10, "acme.test", provider.port)
    assert "connect ECONNREFUSED" in done.stdout


def test_two_states_know_nothing_of_each_other(acme, provider):
    trip(acme, provider)
    done = acme.run(CALL, "acme.test", provider.port, PREBREAK_STATE=acme.directory / "other")
    assert done.stdout == "503\n"


def test_killing_200_callers_at_random_moments_leaves_nothing_stuck(acme, provider):
    chance = random.Random(1)
    provider.set(latency=3)
    for _ in range(10):
        children = [
            acme.start(CALL, "--threads", 4, "--calls", 0, "acme.test", provider.port, stdout=subprocess.DEVNULL) for _ in range(20)
        ]
        for child in children:
            time.sleep(chance.uniform(0, 0.05))
            kill(child)

    # Then what they did is counted, but for what each thread had under way
    tally = Tally(Plain(acme, "acme.test", provider.port))
    provider.set()
    tally.calls(10)
    answered = provider.answers(200)
    total = acme.status("acme")["total"]
    assert answered - 200 * 4 <= total["ok"] <= answered
    assert tally["ok"] == 10 and total["refused"] == 0

    # And the calls of the dead are freed by whoever looks, once a second
    def freed():
        tally.call()
        return acme.status("acme")["inflight"] == 0

    wait_for(freed, limit=60, every=0.2)
    status = acme.status("acme")
    total = status["total"]
    assert status["phase"] == "closed" and total["failed"] == total["refused"] == 0
    assert total["calls"] == total["ok"] + total["neutral"]

    # And the breaker works as before
    trip(acme, provider)
    provider.set()
    assert Tally(Plain(acme, "acme.test", provider.port)).until_back() < 5


def test_killing_processes_while_they_build_the_region_leaves_a_sound_one(acme, provider):
    chance = random.Random(2)
    for _ in range(60):
        child = acme.start(CALL, "--calls", 3, "acme.test", provider.port, stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.006))
        kill(child)
        acme.state.unlink(missing_ok=True)
    tally = Tally(Plain(acme, "acme.test", provider.port))
    provider.clear()
    assert tally.calls(5) == ["ok"] * 5
    agree(acme, "acme", tally, provider.report())


FORKS = """
import os, sys, threading
import http.client
name, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def call():
    connection = http.client.HTTPConnection(name, port)
    try:
        connection.request('GET', '/')
        return str(connection.getresponse().status)
    except OSError as error:
        return type(error).__name__
    finally:
        connection.close()
call()
for _ in range(count):
    if os.fork() == 0:
        os.write(1, (call() + '\\n').encode())
        os._exit(0)
for _ in range(count):
    os.wait()
"""


def test_forked_workers_share_one_memory_and_count_each_call_once(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    done = guest.run("/usr/bin/python3", "-c", FORKS, "acme.test", provider.port, 30)
    assert done.stdout.split() == ["200"] * 30 and done.stderr == ""
    if guest.preloaded:
        total = guest.status("acme")["total"]
        assert total["calls"] == total["ok"] == provider.answers(200) == 31
