"""Real clients against a provider that goes bad: the client, the server and `status` tell the same story, to the call."""

import pytest

from matrix import FAULTS, FIRST, HTTP_CLIENTS, SECOND, said

# Nothing trips by itself here: what is counted is what is tested.
RULE = "acme acme.test trip=0 min=1000"
PATIENCE = 2  # seconds; over one, else a silence says nothing


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


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("client", HTTP_CLIENTS, ids=lambda client: client.name)
def test_client_server_and_status_agree(guest, provider_on, compiled, client, fault):
    command = compiled(client)
    if client.first_only and fault.addresses > 1:
        pytest.skip(f"{client.name} tries but the first address of a name")
    addresses = [FIRST, SECOND][: fault.addresses]
    provider = provider_on(*addresses)
    guest.names = {"acme.test": addresses}
    guest.settings["PREBREAK_PROVIDERS"] = RULE
    arguments = f"http://acme.test:{provider.port}/", fault.requests, PATIENCE
    provider.set(**fault.script)
    for address in fault.refuse:
        provider.listener("refuse", address)
    if fault.hold:
        if not guest.preloaded:
            pytest.skip("nothing is held open without prebreak")
        guest.prebreak("state", "--recreate")
        guest.prebreak("hold", "acme", "open")

    done = guest.run(*command, *arguments, timeout=20, ADDRESSES=",".join(addresses))

    # What the client saw
    assert [said(line) for line in done.stdout.splitlines()] == [fault.says] * fault.requests, done.stdout + done.stderr
    # What the server got
    server = provider.report()
    tries = fault.tries(client)
    assert server["requests"] == (tries if fault.reaches else 0)
    if client.keeps and fault.says.isdigit():
        assert server["connections"] == 1
    # What prebreak counted
    if guest.preloaded:
        status = guest.status("acme")
        expected = {"calls": tries, "ok": 0, "failed": 0, "neutral": 0, "refused": 0, fault.outcome: tries}
        assert {key: status["total"][key] for key in expected} == expected
        assert {kind: count for kind, count in status["failures"].items() if count} == (
            {fault.kind: tries} if fault.kind else {}
        )
        assert status["inflight"] == 0
