"""Names with several addresses, of both families, before real clients that try them one after the other or race them."""

import pytest

from harness import CALL, Caller, Tally, agree, wait_for
from matrix import PYTHON

CREATE_CONNECTION = """
import socket, sys
for _ in range(int(sys.argv[3])):
    try:
        peer = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[4]))
    except ConnectionRefusedError:
        print("refused")
        continue
    peer.sendall(f"GET / HTTP/1.0\\r\\nHost: {sys.argv[1]}\\r\\n\\r\\n".encode())
    print(peer.makefile().read().split()[1])
    peer.close()
"""

# Of its addresses all are tried at once, a moment apart; the first connection that stands is taken, the others are dropped.
RACE = """
import asyncio, sys
async def call():
    try:
        reader, writer = await asyncio.open_connection(sys.argv[1], int(sys.argv[2]), happy_eyeballs_delay=0.02)
    except OSError as error:
        return "refused" if "refused" in str(error) or "Connect call failed" in str(error) else repr(error)
    writer.write(f"GET / HTTP/1.0\\r\\nHost: {sys.argv[1]}\\r\\n\\r\\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.split()[1].decode()
async def main():
    for _ in range(int(sys.argv[3])):
        print(await call())
asyncio.run(main())
"""

CLIENTS = {
    "curl": lambda port, count: [
        "sh",
        "-c",
        f"for i in $(seq {count}); do curl -s --happy-eyeballs-timeout-ms 20 -o /dev/null -w '%{{http_code}}\\n'"
        f" http://acme.test:{port}/; done | sed 's/^000/refused/'",
    ],
    "create_connection": lambda port, count: [PYTHON, "-c", CREATE_CONNECTION, "acme.test", port, count, 5],
    "asyncio": lambda port, count: [PYTHON, "-c", RACE, "acme.test", port, count],
    "blocking": lambda port, count: [CALL, "--calls", count, "acme.test", port],
    "poll": lambda port, count: [CALL, "--how", "poll", "--calls", count, "acme.test", port],
}
# Of these only two do not wait for an address that says nothing, and curl but where the next one is of the other family
RACERS = ["curl", "asyncio"]

FAMILIES = [("::1", "127.0.0.1"), ("127.0.0.2", "127.0.0.3")]


@pytest.fixture(params=FAMILIES, ids=["IPv6 and IPv4", "IPv4 twice"])
def two(request, guest, provider_on):
    """A name with two addresses, and its provider."""
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": list(request.param)}
    provider = provider_on(*request.param)
    provider.dead = request.param[0]
    return provider


def all_ok(guest, provider, calls):
    assert provider.answers(200) == calls
    if guest.preloaded:
        status = guest.status("acme")
        total = status["total"]
        assert (total["calls"], total["ok"], total["failed"], total["refused"]) == (calls, calls, 0, 0)
        assert status["phase"] == "closed" and status["inflight"] == 0


@pytest.mark.parametrize("client", CLIENTS)
def test_dead_address_beside_a_live_one_never_condemns_the_name(guest, two, client):
    two.listener("refuse", two.dead)
    done = guest.run(*CLIENTS[client](two.port, 100))
    assert done.stdout == "200\n" * 100, done.stdout + done.stderr
    all_ok(guest, two, 100)


@pytest.mark.parametrize("client", RACERS)
def test_loser_of_a_race_is_no_call_of_its_own(guest, two, client):
    """The address that is tried first swallows whatever is sent there: the second one is tried beside it, and wins."""
    if client == "curl" and ":" not in two.dead:
        pytest.skip("curl takes the addresses of one family in turn")
    two.listener("blackhole", two.dead)
    done = guest.run(*CLIENTS[client](two.port, 20))
    assert done.stdout == "200\n" * 20, done.stdout + done.stderr
    all_ok(guest, two, 20)


class OneOf(Caller):
    """One call of a client, in a process of its own."""

    def __init__(self, guest, port, client):
        super().__init__(guest, "acme.test", port)
        self.client = client

    def call(self):
        said = self.guest.run(*CLIENTS[self.client](self.port, 1)).stdout.strip()
        return {"200": "ok", "503": "failed", "connect ECONNREFUSED": "refused"}.get(said, said)


@pytest.mark.parametrize("client", CLIENTS)
def test_name_that_was_given_up_is_back_soon_though_its_first_address_stays_dead(guest, two, client):
    tally = Tally(OneOf(guest, two.port, client))
    two.listener("refuse", two.dead)
    assert tally.calls(3) == ["ok"] * 3

    # When the live address answers 503, until nothing is let through any more
    two.set(status=503)
    if guest.preloaded:
        wait_for(lambda: tally.call() and guest.phase("acme") == "open")
        assert "refused" in tally.calls(10)
    else:
        assert tally.calls(5) == ["failed"] * 5

    # Then it is back within seconds of its recovery, through the dead address that comes first
    two.set()
    assert tally.until_back() < 5
    if guest.preloaded:
        agree(guest, "acme", tally, two.report())
