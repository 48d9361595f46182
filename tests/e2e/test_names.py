"""Whose call it is: providers that share an address, and names with several addresses of which one is dead."""

import subprocess
import sys

import pytest

from harness import CALL, CALLERS, Tally, agree

TWO = "good good.test; bad bad.test"


@pytest.fixture
def two(guest, provider):
    """Two providers on one address, told apart by Host; one of them is down."""
    guest.settings["PREBREAK_PROVIDERS"] = TWO
    guest.names = {"good.test": ["127.0.0.1"], "bad.test": ["127.0.0.1"]}
    provider.set("good.test")
    return guest, provider


@pytest.mark.parametrize("client", ["curl", "requests", "wget", "blocking", "poll", "again"])
def test_provider_that_is_down_leaves_another_on_the_same_address_untouched(two, client):
    guest, provider = two
    good = Tally(CALLERS[client](guest, "good.test", provider.port))
    bad = Tally(CALLERS[client](guest, "bad.test", provider.port))
    for _ in range(10):
        good.call(), bad.call()
    provider.set("bad.test", status=503)
    for _ in range(60):
        good.call(), bad.call()
    assert good == {"ok": 70}
    if not guest.preloaded:
        assert bad == {"ok": 10, "failed": 60}
        return
    assert bad["refused"] > 0 and set(bad) == {"ok", "failed", "refused"}
    agree(guest, "good", good, provider.report("good.test"))
    agree(guest, "bad", bad, provider.report("bad.test"))


ONE_PROCESS = """
import sys, requests
port = sys.argv[1]
for line in sys.stdin:
    try:
        print(requests.get(f'http://{line.strip()}:{port}/').status_code, flush=True)
    except requests.exceptions.ConnectionError as error:
        print('refused', flush=True)
"""


def test_one_process_that_talks_to_both_is_refused_only_the_one_that_is_down(two):
    guest, provider = two
    program = guest.start(
        "/usr/bin/python3", "-c", ONE_PROCESS, provider.port, stdin=subprocess.PIPE, stderr=sys.stderr
    )

    def call(name):
        program.stdin.write(name + "\n")
        program.stdin.flush()
        return program.stdout.readline().strip()

    for _ in range(10):
        assert call("good.test") == "200" and call("bad.test") == "200"
    provider.set("bad.test", status=503)
    bad = [call(name) for _ in range(200) for name in ("bad.test", "good.test")]
    assert bad[1::2] == ["200"] * 200
    assert ("refused" in bad[0::2]) == guest.preloaded
    assert set(bad[0::2]) <= {"503", "refused"}
    if guest.preloaded:
        total = guest.status("bad")["total"]
        assert total["refused"] == bad.count("refused")
        assert total["failed"] == bad.count("503") == provider.answers(503)
        assert guest.status("good")["total"] == dict(guest.status("good")["total"], calls=210, ok=210, refused=0)


@pytest.mark.parametrize("client", ["curl", "requests", "wget", "blocking", "poll", "again"])
def test_dead_first_address_never_condemns_the_name_nor_keeps_it_open(guest, provider_on, client):
    provider = provider_on("127.0.0.2", "127.0.0.3")
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.2", "127.0.0.3"]}
    tally = Tally(CALLERS[client](guest, "acme.test", provider.port))
    tally.calls(10)

    # Given a first address that is dead, and a second that answers
    provider.listener("refuse", "127.0.0.2")
    assert tally.calls(100) == ["ok"] * 100
    if guest.preloaded:
        assert guest.phase("acme") == "closed"
        agree(guest, "acme", tally, provider.report())

    # When real failures trip it, and then only the second address recovers
    provider.set(status=503)
    tally.calls(80)
    assert (tally["refused"] > 0) == guest.preloaded
    provider.set()

    # Then it is back within 5 s
    assert tally.until_back() < 5
    if guest.preloaded:
        agree(guest, "acme", tally, provider.report())


MANY_AT_ONCE = """
import asyncio, socket, sys
# Resolved once: the library that stands in for the resolver here is not made for threads.
known = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_STREAM)
async def resolve(*unused, **options):
    return known
async def call():
    asyncio.get_running_loop().getaddrinfo = resolve
    reader, writer = await asyncio.open_connection(sys.argv[1], int(sys.argv[2]))
    writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    answer = await reader.read()
    writer.close()
    return answer.startswith(b"HTTP/1.1 200")
async def main():
    for _ in range(5):
        print(*await asyncio.gather(*[call() for _ in range(50)]))
asyncio.run(main())
"""


def test_event_loop_with_many_calls_to_a_dead_first_address_never_condemns_the_name(guest, provider_on):
    provider = provider_on("127.0.0.2", "127.0.0.3")
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.2", "127.0.0.3"]}
    provider.listener("refuse", "127.0.0.2")
    done = guest.run("/usr/bin/python3", "-c", MANY_AT_ONCE, "acme.test", provider.port)
    assert (done.stdout.split(), done.stderr) == (["True"] * 250, "")
    if guest.preloaded:
        total = guest.status("acme")["total"]
        assert (total["ok"], total["failed"], total["refused"]) == (250, 0, 0)


def test_name_with_only_dead_addresses_is_one_failed_call_each_time(guarded, provider_on):
    provider = provider_on("127.0.0.2", "127.0.0.3")
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test trip=0 min=1000"
    guarded.names = {"acme.test": ["127.0.0.2", "127.0.0.3"]}
    provider.listener("refuse")
    for _ in range(5):
        guarded.run(CALL, "acme.test", provider.port)
    status = guarded.status("acme")
    assert status["total"]["calls"] == status["total"]["failed"] == status["failures"]["connect"] == 5


@pytest.mark.parametrize("how", ["blocking", "poll", "again"])
def test_address_families_are_one_provider_by_name(guarded, provider_on, how):
    provider = provider_on("::1", "127.0.0.1")
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["::1", "127.0.0.1"]}
    assert guarded.run(CALL, "--how", how, "acme.test", provider.port).stdout == "200\n"
    provider.listener("refuse", "::1")
    assert guarded.run(CALL, "--how", how, "acme.test", provider.port).stdout == "200\n"
    assert guarded.status("acme")["total"]["ok"] == 2


def test_address_rules_and_never_touch_rules_hold(guarded, provider_on):
    provider = provider_on("127.0.0.2", "127.0.0.3")
    guarded.settings["PREBREAK_PROVIDERS"] = f"- 127.0.0.3; box 127.0.0.0/8:{provider.port}"
    for _ in range(3):
        guarded.run(CALL, "127.0.0.2", provider.port, check=True)
        guarded.run(CALL, "127.0.0.3", provider.port, check=True)
    assert guarded.status("box")["total"]["calls"] == 3


def test_without_any_rule_each_host_is_its_own_provider(guarded, provider):
    guarded.names = {"acme.test": ["127.0.0.1"]}
    guarded.run("curl", "-s", f"http://acme.test:{provider.port}/", check=True)
    guarded.run(CALL, "127.0.0.1", provider.port, check=True)
    assert guarded.status(f"acme.test:{provider.port}")["total"]["ok"] == 1
    assert guarded.status(f"127.0.0.1:{provider.port}")["total"]["ok"] == 1
