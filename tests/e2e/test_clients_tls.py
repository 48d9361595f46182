"""Real clients over TLS: each request is seen with its status, or without where the program brings TLS of its own."""

import pytest

from matrix import HTTP_CLIENTS
from secure import always
from test_clients import RULE, clients, compiled, counted  # noqa: F401 (a fixture)


@pytest.mark.parametrize("status", [200, 503])
@clients(HTTP_CLIENTS)
def test_client_server_and_status_agree_over_tls(guest, serve, certificate, compiled, client, status):  # noqa: F811
    command = compiled(client)
    if not client.secure:
        pytest.skip(f"{client.name} has no TLS")
    provider, _ = serve(["127.0.0.1"])
    provider.script["*"] = always(status)
    guest.names = {"acme.test": ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = RULE

    done = guest.run(*command, f"https://acme.test:{provider.port}/", 3, 5, timeout=30, ADDRESSES="127.0.0.1", **certificate.trusting)

    assert len(provider.log) >= 3, done.stdout + done.stderr
    if client.name != "git" or status != 200:  # git looks for more in a good answer
        assert done.stdout.splitlines() == [str(status)] * 3, done.stdout + done.stderr
    if client.secure == "request" and status == 503:
        counted(guest, 3, "failed", "status")
    else:
        counted(guest, 3, "ok", None)
