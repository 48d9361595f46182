"""Real clients over TLS: each request is seen with its status, or without where the program brings TLS of its own."""

import dataclasses

import pytest

from matrix import HTTP_CLIENTS, OPAQUE_CLIENTS, PROXIES, said
from opaque import postgres
from proxies import Front, start_proxy
from secure import Answer, no_answer
from test_clients import RULE, clients, compiled, counted, opaque  # noqa: F401 (fixtures)

SECURE_CLIENTS = [client for client in HTTP_CLIENTS if client.secure]


@pytest.fixture
def requests(guest, serve, certificate, compiled):  # noqa: F811
    """What the client says of `count` requests to a provider with this script, and the provider."""

    def make(client, count, script, http2=False):
        command = compiled(client)
        provider, front = serve(["127.0.0.1"], http2)
        provider.script["*"] = script
        guest.names = {"acme.test": ["127.0.0.1"]}
        guest.settings["PREBREAK_PROVIDERS"] = RULE
        url = f"https://acme.test:{front.port}/"
        variables = {"ADDRESSES": "127.0.0.1", "HTTP2": "1" if http2 else None, **certificate.trusting}
        done = guest.run(*command, url, count, 10, timeout=60, **variables)
        if http2:
            assert {protocol for *_, protocol in front.log()} == {"HTTP/2.0"}
        return [said(line) for line in done.stdout.splitlines()], provider

    return make


MIXED = [200, 503, 503]


def mixed():
    """A script: these one after the other."""
    statuses = iter(MIXED)
    return lambda request: Answer(next(statuses))


def told_mixed(client, told):
    # git looks for more in a good answer
    return told[client.name == "git" :] == [str(status) for status in MIXED][client.name == "git" :]


@clients(SECURE_CLIENTS)
def test_client_server_and_status_agree_over_tls(guest, requests, client):
    told, provider = requests(client, 3, mixed())
    assert provider.statuses() == {200: 1, 503: 2} and told_mixed(client, told)
    if client.secure == "request":
        counted(guest, 2, "failed", "status", before=1)
    else:
        counted(guest, 3, "ok", None)


@clients([client for client in SECURE_CLIENTS if client.http2])
def test_client_server_and_status_agree_over_http2(guest, requests, client):
    told, provider = requests(client, 3, mixed(), http2=True)
    assert provider.statuses() == {200: 1, 503: 2} and told_mixed(client, told)
    if client.http2 == "request":
        counted(guest, 2, "failed", "status", before=1)
    else:
        counted(guest, 1, "ok", None)


@clients(SECURE_CLIENTS)
def test_request_that_is_reset_over_tls_has_failed(guest, requests, client):
    told, provider = requests(client, 3, no_answer("reset"))
    assert told == ["reset"] * 3
    assert len(provider.log) == 3 * client.sends
    if not client.name.startswith("Node "):
        counted(guest, 3 * client.sends, "failed", "reset")
    elif guest.preloaded:
        # It may leave at once, with session tickets that for all that can be seen were a short answer
        total = guest.status("acme")["total"]
        assert (total["calls"], total["ok"]) == (3, 0) and total["failed"] + total["neutral"] == 3


@clients(SECURE_CLIENTS)
def test_client_is_refused_over_tls_also_on_the_connection_that_it_keeps(guest, requests, client):
    """Held open while a request is under way: that one is answered, and there is no other."""
    # Where nothing is read, the handshake leaves a doubt whether all was answered: it takes some turns to go away
    good = 20 if client.secure == "turn" else 2
    count = iter(range(1, 100))

    def script(request):
        if next(count) == good and guest.preloaded:
            guest.prebreak("hold", "acme", "open")
        return Answer()

    told, provider = requests(client, good + 2, script)
    if not guest.preloaded:
        assert len(told) == len(provider.log) == good + 2
        return
    assert len(provider.log) == good
    assert len(told) == good + 2 and set(told[good:]) <= {"refused", "reset"}
    total = guest.status("acme")["total"]
    assert (total["ok"], total["failed"], total["neutral"]) == (good, 0, 0)
    assert total["refused"] >= 2


# ---- proxies ------------------------------------------------------------------------------------------------------------

TO_TLS = {
    "proxy_pass http://acme;": "proxy_pass https://acme; proxy_ssl_server_name on; proxy_ssl_name acme.test;",
    "server acme acme.test:{port}\n": "server acme acme.test:{port} ssl verify none sni str(acme.test)\n",
}


@pytest.fixture
def visits(guest, serve):
    """What `count` visitors of the proxy are told, each with a connection of his own, and the provider."""

    def make(proxy, count, script):
        provider, _ = serve(["127.0.0.1"])
        provider.script["*"] = script
        guest.names = {"acme.test": ["127.0.0.1"]}
        guest.settings["PREBREAK_PROVIDERS"] = RULE
        configuration = proxy.configuration
        for clear, secure in TO_TLS.items():
            configuration = configuration.replace(clear, secure)
        front = Front(start_proxy(guest, dataclasses.replace(proxy, configuration=configuration), provider.port, 5))
        told = []
        for i in range(count):
            told.append(front.get(f"/{i}"))
            front.close()
        return told, provider

    return make


@clients(PROXIES)
def test_proxy_server_and_status_agree_over_tls(guest, visits, client):
    told, provider = visits(client, 3, mixed())
    assert told == MIXED
    assert (provider.statuses(), provider.connections) == ({200: 1, 503: 2}, 1)
    counted(guest, 2, "failed", "status", before=1)


@clients(PROXIES)
def test_request_of_a_proxy_that_is_reset_over_tls_has_failed(guest, visits, client):
    told, provider = visits(client, 3, no_answer("reset"))
    assert told == [client.says["reset"]] * 3 and len(provider.log) == 3
    counted(guest, 3, "failed", "reset")


@clients(PROXIES)
def test_proxy_is_refused_over_tls_on_the_connection_that_it_keeps(guest, visits, client):
    count = iter(range(1, 100))

    def script(request):
        if next(count) == 2 and guest.preloaded:
            guest.prebreak("hold", "acme", "open")
        return Answer()

    told, provider = visits(client, 5, script)
    if not guest.preloaded:
        assert told == [200] * 5
        return
    assert told[:2] == [200] * 2 and set(told[2:]) <= {client.says["refused"], client.says["reset"]}
    assert (len(provider.log), provider.connections) == (2, 1)
    total = guest.status("acme")["total"]
    assert (total["ok"], total["failed"], total["neutral"]) == (2, 0, 0)
    assert total["refused"] >= 3


# ---- what is not HTTP/1 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["answer", "reset"])
@clients(OPAQUE_CLIENTS)
def test_opaque_client_server_and_status_agree_over_tls(guest, opaque, compiled, certificate, client, action):  # noqa: F811
    command = compiled(client)
    context = certificate.context()
    context.set_alpn_protocols(["h2"])
    guest.names = {"acme.test": ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = RULE
    server = opaque(client.protocol, ["127.0.0.1"], action=action, context=context)

    done = guest.run(*command, "acme.test", server.port, 3, timeout=30, **certificate.trusting)

    lines = done.stdout.splitlines()
    asks = 1 if client.protocol is postgres else 0  # for TLS, in the clear, and is answered
    if action == "reset":
        assert "reset" in {said(line) for line in lines} and client.good not in lines, done.stdout
        assert server.requests == client.resets
        counted(guest, client.resets, "failed", "reset", before=asks)
        return
    assert lines == [client.good] * 3, done.stdout
    assert (server.requests, server.connections) == (client.before + 3, 1)
    counted(guest, asks + (0 if client.read else client.before) + 3, "ok", None, lost=client.goodbyes)
