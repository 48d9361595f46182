"""Real clients against a provider that goes bad: the client, the server and `status` tell the same story, to the call."""

import pytest

from harness import ROOT, wait_for
from matrix import FAULTS, FIRST, HTTP_CLIENTS, OPAQUE_CLIENTS, PROXIES, SECOND, said, table
from opaque import Opaque
from proxies import Front, start_proxy

# Nothing trips by itself here: what is counted is what is tested.
RULE = "acme acme.test trip=0 min=1000"
# Seconds: over one, else a silence says nothing; and more, since some clients count from before they connect.
PATIENCE = 3


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The commands of the clients, each made once."""
    commands = {}

    def command(client):
        if client.name not in commands:
            why = client.missing()
            commands[client.name] = why or client.command(tmp_path_factory.mktemp("client"))
        if isinstance(commands[client.name], str):
            pytest.skip(commands[client.name])
        return commands[client.name]

    return command


def faults(*without):
    return pytest.mark.parametrize("fault", [each for each in FAULTS if each.name not in without], ids=lambda each: each.name)


def clients(table):
    return pytest.mark.parametrize("client", table, ids=lambda each: each.name)


def addresses(guest, client, fault):
    """Those of the name, as the fault has them."""
    if client.first_only and fault.addresses > 1:
        pytest.skip(f"{client.name} tries but the first address of a name")
    if fault.hold and not guest.preloaded:
        pytest.skip("nothing is held open without prebreak")
    guest.settings["PREBREAK_PROVIDERS"] = RULE
    guest.names = {"acme.test": [FIRST, SECOND][: fault.addresses]}
    if fault.hold:
        guest.prebreak("state", "--recreate")
        guest.prebreak("hold", "acme", "open")
    return guest.names["acme.test"]


@pytest.fixture
def scripted(guest, provider_on):
    """The HTTP provider as the fault has it."""

    def make(client, fault):
        provider = provider_on(*addresses(guest, client, fault))
        provider.set(**fault.script)
        for address in fault.refuse:
            provider.listener("refuse", address)
        return provider

    return make


def counted(guest, calls, outcome, kind, before=0, lost=0):
    """What prebreak counted: so many calls, all ended so, and no other but good ones `before` and neutral ones `lost`."""
    if not guest.preloaded:
        return
    # A proxy answers its visitor before it closes what its answer is about
    wait_for(lambda: guest.status("acme")["inflight"] == 0, limit=5)
    status = guest.status("acme")
    expected = {"calls": before + calls + lost, "ok": before, "failed": 0, "neutral": lost, "refused": 0}
    expected[outcome] += calls
    assert {key: status["total"][key] for key in expected} == expected
    assert {key: count for key, count in status["failures"].items() if count} == ({kind: calls} if kind else {})


# ---- HTTP ---------------------------------------------------------------------------------------------------------------


@faults()
@clients(HTTP_CLIENTS)
def test_client_server_and_status_agree(guest, scripted, compiled, client, fault):
    command = compiled(client)
    provider = scripted(client, fault)

    words = [*command, f"http://acme.test:{provider.port}/", fault.requests, PATIENCE]
    done = guest.run(*words, timeout=20, ADDRESSES=",".join(guest.names["acme.test"]))

    assert [said(line) for line in done.stdout.splitlines()] == [fault.says] * fault.requests, done.stdout + done.stderr
    server = provider.report()
    assert server["requests"] == (fault.tries(client) if fault.reaches else 0)
    if client.keeps and fault.says.isdigit():
        assert server["connections"] == 1
    counted(guest, fault.tries(client), fault.outcome, fault.kind)


@clients([client for client in HTTP_CLIENTS if client.keeps])
def test_client_with_a_kept_connection_is_refused_at_once_and_does_not_wait_for_an_answer(guest, scripted, compiled, client):
    """However it waits: a client that misses the refusal would run into its own time limit, and say so."""
    command, requests = compiled(client), 40
    provider = scripted(client, FAULTS[0])
    provider.set(latency=25)
    if guest.preloaded:
        guest.prebreak("state", "--recreate")

    words = [*command, f"http://acme.test:{provider.port}/", requests, PATIENCE]
    child = guest.start(*words, ADDRESSES=",".join(guest.names["acme.test"]))
    wait_for(lambda: provider.requests() >= 5)
    if guest.preloaded:
        guest.prebreak("hold", "acme", "open")
    out, errors = child.communicate(timeout=60)

    lines = [said(line) for line in out.splitlines()]
    good = lines.count("200")
    assert len(lines) == requests and lines[:good] == ["200"] * good, out + errors
    assert provider.requests() == good and (good == requests) == (not guest.preloaded)
    assert set(lines[good:]) <= {"reset", "refused"}, out + errors
    if guest.preloaded:
        total = guest.status("acme")["total"]
        assert total["ok"] == good and total["failed"] == total["neutral"] == 0
        assert total["refused"] >= requests - good and guest.status("acme")["inflight"] == 0


# ---- proxies ------------------------------------------------------------------------------------------------------------


@faults()
@clients(PROXIES)
def test_proxy_server_and_status_agree(guest, scripted, client, fault):
    provider = scripted(client, fault)
    front = Front(start_proxy(guest, client, provider.port, PATIENCE))

    statuses = []
    for i in range(fault.requests):
        statuses.append(front.get(f"/{i}"))
        front.close()  # each from a visitor of its own: HAProxy drops one whose earlier request went well

    assert statuses == [client.says.get(fault.says) or int(fault.says)] * fault.requests
    server = provider.report()
    assert server["requests"] == (fault.requests if fault.reaches else 0)
    if fault.says.isdigit():
        assert server["connections"] == 1
    counted(guest, fault.requests, fault.outcome, fault.kind)


@clients(PROXIES)
def test_proxy_with_a_kept_connection_is_refused_at_once_and_serves_again_when_let(guest, scripted, client):
    provider = scripted(client, FAULTS[0])
    front = Front(start_proxy(guest, client, provider.port, PATIENCE))

    def visit():
        status = front.get()
        front.close()
        return status

    assert [visit() for _ in range(3)] == [200] * 3 and provider.report()["connections"] == 1
    if guest.preloaded:
        guest.prebreak("hold", "acme", "open")
        # Not as one that waited for an answer in vain
        assert {visit() for _ in range(3)} <= {client.says["refused"], client.says["reset"]}
        assert provider.requests() == 3
        guest.prebreak("release", "acme")
    assert [visit() for _ in range(3)] == [200] * 3 and provider.requests() == 6
    if guest.preloaded:
        total = guest.status("acme")["total"]
        assert total["ok"] == 6 and total["failed"] == total["neutral"] == 0 and total["refused"] >= 3


# ---- what is not HTTP: what is written after something was read is a call --------------------------------------------------


@pytest.fixture
def opaque():
    servers = []

    def make(*arguments, **more):
        servers.append(Opaque(*arguments, **more))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@faults("503")
@clients(OPAQUE_CLIENTS)
def test_opaque_client_server_and_status_agree(guest, opaque, compiled, client, fault):
    command = compiled(client)
    if fault.name == "silent" and not client.timeout:
        pytest.skip(f"{client.name} waits for ever")
    # Who has never been heard to answer, as a log server, is not blamed for silence
    known = fault.name == "silent"
    before = 0 if client.read else client.before
    answered, lost = (before + 1, client.goodbyes) if known else (0, 0)
    if known:
        guest.names = {"acme.test": [FIRST]}
        guest.settings["PREBREAK_PROVIDERS"] = RULE
        guest.run(*command, "acme.test", opaque(client.protocol, [FIRST]).port, 1, check=True)
    server = opaque(client.protocol, addresses(guest, client, fault), fault.refuse, fault.script.get("action", "answer"))

    done = guest.run(*command, "acme.test", server.port, fault.requests, timeout=20)

    lines = done.stdout.splitlines()
    if fault.says == "200":
        assert lines == [client.good] * fault.requests
        assert (server.requests, server.connections) == (client.before + fault.requests, 1)
        lost = guest.status("acme")["total"]["neutral"] if guest.preloaded and client.threads else client.goodbyes
        assert lost <= fault.addresses - 1 + client.goodbyes
        counted(guest, before + fault.requests, "ok", None, lost=lost)
        return
    assert fault.says in {said(line) for line in lines} and client.good not in lines, done.stdout
    calls = {"refused": client.connects, "reset": client.resets}.get(fault.says, 1)
    assert server.requests == (calls if fault.reaches else 0)
    counted(guest, calls, fault.outcome, fault.kind, before=answered, lost=lost)


# ---- what the README says of it -------------------------------------------------------------------------------------------


def test_readme_has_the_matrix_as_it_was_tested():
    """Mend it with what `python3 tests/e2e/matrix.py` prints."""
    assert table() in (ROOT / "README.md").read_text()
