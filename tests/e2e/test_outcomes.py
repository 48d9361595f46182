"""How each kind of end is counted, whoever the client is."""

import pytest

from harness import CALL

RULE = "acme acme.test trip=0 min=100000"

# What the provider does; how its call is counted: ok, neutral, or the kind of failure.
ENDS = [
    (dict(status=200), "ok"),
    (dict(status=204, body=1), "ok"),
    (dict(status=301), "ok"),
    (dict(status=400), "ok"),
    (dict(status=401), "ok"),
    (dict(status=404), "ok"),
    (dict(status=501), "ok"),
    (dict(status=505), "ok"),
    (dict(status=409), "neutral"),
    (dict(status=499), "neutral"),
    (dict(status=500), "status"),
    (dict(status=503), "status"),
    (dict(status=529), "status"),
    (dict(status=429), "status"),
    (dict(status=408), "timeout"),
    (dict(status=425), "timeout"),
    (dict(status=504), "timeout"),
    (dict(latency=150), "ok"),
    (dict(action="drip", interval=1), "ok"),
    (dict(body=100000), "ok"),
    (dict(action="reset"), "reset"),
    (dict(action="eof"), "reset"),
    (dict(action="half", body=2000), "reset"),
    (dict(action="half-reset", body=2000), "reset"),
    (dict(action="half", status=503, body=2000), "status"),
    (dict(action="hang"), "timeout"),
]
LISTENERS = [("refuse", {"connect"}), ("blackhole", {"connect", "timeout"}), ("greet-reset", {"connect", "reset"})]

CLIENTS = {
    "curl": lambda port: ["curl", "-s", "--max-time", "1.5", "-o", "/dev/null", f"http://acme.test:{port}/"],
    "wget": lambda port: ["wget", "-q", "-t1", "-T1.5", "-O/dev/null", "--max-redirect=0", f"http://acme.test:{port}/"],
    "blocking": lambda port: [CALL, "--how", "blocking", "--timeout", 1500, "acme.test", port],
    "poll": lambda port: [CALL, "--how", "poll", "--timeout", 1500, "acme.test", port],
    "again": lambda port: [CALL, "--how", "again", "--timeout", 1500, "acme.test", port],
    "requests": lambda port: [
        "/usr/bin/python3",
        "-c",
        f"import requests; requests.get('http://acme.test:{port}/', timeout=1.5, allow_redirects=False)",
    ],
}


def counted(guest):
    """What one call was counted as."""
    status = guest.status("acme")
    total = status["total"]
    assert total["calls"] == 1 and status["inflight"] == 0
    kinds = [kind for kind, count in status["failures"].items() if count]
    return kinds[0] if total["failed"] else "ok" if total["ok"] else "neutral"


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = RULE
    guarded.names = {"acme.test": ["127.0.0.1"]}
    return guarded


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("script, end", ENDS, ids=lambda value: str(value).strip("{}").replace("'", ""))
def test_end_is_counted_once_and_for_what_it_is(acme, provider, client, script, end):
    provider.set(**script)
    acme.run(*CLIENTS[client](provider.port))
    assert counted(acme) == end


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("state, ends", LISTENERS)
def test_connection_that_does_not_come_about_is_counted_for_what_it_is(acme, provider, client, state, ends):
    provider.listener(state)
    acme.run(*CLIENTS[client](provider.port))
    assert counted(acme) in ends


def test_slow_first_byte_fails_where_asked_for(acme, provider):
    acme.settings["PREBREAK_PROVIDERS"] = RULE + " slow=100ms"
    provider.set(latency=300)
    acme.run(CALL, "acme.test", provider.port, check=True)
    assert counted(acme) == "slow"


BELIEVED = [
    ("Retry-After:30", "pause_by=all", True),
    ("Retry-After:30", "pause_by=none", False),
    ("Retry-After:30", "pause_by=x-ratelimit,ratelimit", False),
    ("retry-after-ms:30000", "pause_by=retry-after", True),
    ("x-ratelimit-reset-requests:30s", "pause_by=retry-after", False),
    ("x-ratelimit-reset-requests:30s", "api=openai", True),
    ("x-ratelimit-reset-requests:30s", "api=anthropic", False),
    ("x-ratelimit-reset-requests:30s", "api=anthropic pause_by=all", True),
    ("anthropic-ratelimit-requests-reset:2099-01-01T00:00:00Z", "api=openai", False),
]


@pytest.mark.parametrize("client", ["blocking", "curl"])
@pytest.mark.parametrize("header, settings, paused", BELIEVED)
def test_only_headers_that_a_rule_believes_make_a_pause(acme, provider, client, header, settings, paused):
    acme.settings["PREBREAK_PROVIDERS"] = f"{RULE} 429=pause {settings}"
    provider.set(status=429, header=header)
    acme.run(*CLIENTS[client](provider.port))
    assert acme.phase("acme") == ("paused" if paused else "closed")
    assert counted(acme) == ("neutral" if paused else "status")


SLOWER = {"slow=10x": "ok", "slow=10x slow_enforce=on": "slow", "slow=400ms slow_enforce=off": "ok"}


@pytest.mark.parametrize("setting", SLOWER)
def test_answer_slower_than_usual_is_told_and_fails_only_where_asked_for(acme, provider, setting):
    acme.settings["PREBREAK_PROVIDERS"] = RULE + " window=500ms " + setting
    provider.set(latency=30)
    acme.run(CALL, "--keep", "--calls", 40, "--pause", 50, "acme.test", provider.port, check=True)
    before = acme.status("acme")
    provider.set(latency=1500)
    acme.run(CALL, "acme.test", provider.port, check=True)
    after = acme.status("acme")
    assert before["total"]["ok"] == sum(before["first_byte_ms"]["counts"]) == 40
    assert before["first_byte_ms"]["slow"] == before["failures"]["slow"] == 0
    assert after["failures"]["slow"] == (SLOWER[setting] == "slow")
    assert after["first_byte_ms"]["slow"] == (SLOWER[setting] == "ok")
    assert after["total"]["ok"] == 40 + (SLOWER[setting] == "ok")
    assert sum(after["first_byte_ms"]["counts"]) == 41
    assert after["first_byte_ms"]["p50"] < 100


def test_kept_alive_connection_is_a_call_for_each_request(acme, provider):
    done = acme.run(CALL, "--keep", "--calls", 50, "acme.test", provider.port)
    assert done.stdout == "200\n" * 50
    assert provider.report()["connections"] == 1
    total = acme.status("acme")["total"]
    assert total["calls"] == total["ok"] == 50


def test_kept_alive_connection_closed_while_idle_is_nobodys_failure(acme, provider):
    provider.set(idle=50)
    acme.run(CALL, "--keep", "--calls", 5, "--pause", 200, "acme.test", provider.port)
    total = acme.status("acme")["total"]
    assert total["failed"] == 0 and total["ok"] == provider.answers(200)


def test_fail_and_neutral_lists_of_a_rule_are_obeyed(acme, provider):
    acme.settings["PREBREAK_PROVIDERS"] = RULE + " fail=404,!503 neutral=500"
    for status in (404, 503, 500):
        provider.set(status=status)
        acme.run(CALL, "acme.test", provider.port)
    total = acme.status("acme")["total"]
    assert (total["failed"], total["ok"], total["neutral"]) == (1, 1, 1)


@pytest.mark.parametrize("keep", [[], ["--keep"]])
@pytest.mark.parametrize("turn", range(5))
def test_threads_of_one_process_count_to_the_call(acme, provider, keep, turn):
    done = acme.run(CALL, "--threads", 8, "--calls", 100, *keep, "acme.test", provider.port)
    assert done.stdout == "200\n" * 800
    total = acme.status("acme")["total"]
    assert total["calls"] == total["ok"] == provider.answers(200) == 800
