"""Behind TLS: curl tells the status of its transfers; of others the server name says whose call it is."""

import pytest

from secure import always, every, no_answer


@pytest.fixture
def secure(serve):
    """HTTPS with a certificate for acme.test that nobody trusts."""
    return serve(["127.0.0.1"])[0]


def curl(guest, port):
    done = guest.run("curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", f"https://acme.test:{port}/")
    return "refused" if done.returncode == 7 else done.stdout


def test_curl_over_tls_is_judged_by_its_status(guest, secure):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    assert [curl(guest, secure.port) for _ in range(15)] == ["200"] * 15
    secure.script["*"] = always(503)
    ends = [curl(guest, secure.port) for _ in range(80)]
    assert set(ends) <= {"503", "refused"} and ("refused" in ends) == guest.preloaded
    if guest.preloaded:
        total = guest.status("acme")["total"]
        assert (total["calls"], total["ok"]) == (95, 15)
        assert total["failed"] == ends.count("503") == len(secure.log) - 15
        assert total["refused"] == ends.count("refused")


# Some find out within the handshake, some (GnuTLS) ask after it.
DISTRUSTFUL = {
    "curl": ["curl", "-s"],
    "wget": ["wget", "-t1"],
    "urllib": ["/usr/bin/python3", "-c", "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])"],
    "LWP": ["perl", "-MLWP::UserAgent", "-e", "exit LWP::UserAgent->new->get(shift)->is_error"],
    "PHP": ["php", "-r", "exit(@file_get_contents($argv[1]) === false ? 1 : 0);"],
}


@pytest.mark.parametrize("client", DISTRUSTFUL)
def test_untrusted_certificate_is_a_tls_failure_of_the_provider(guarded, secure, client):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["127.0.0.1"]}
    assert guarded.run(*DISTRUSTFUL[client], f"https://acme.test:{secure.port}/").returncode != 0
    assert not secure.log
    status = guarded.status("acme")
    assert status["failures"]["tls"] == status["total"]["failed"] == status["total"]["calls"] == 1


BY_SERVER_NAME = """
import socket, ssl, sys
context = ssl._create_unverified_context()
with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as plain:
    with context.wrap_socket(plain, server_hostname=sys.argv[2]) as secure:
        secure.sendall(b'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
        print(secure.recv(100).split()[1].decode())
"""


def by_server_name(guest, port, name):
    done = guest.run("/usr/bin/python3", "-c", BY_SERVER_NAME, port, name)
    return done.stdout.strip() or done.stderr.splitlines()[-1]


def test_server_name_says_whose_call_it_is_when_the_address_does_not(guest, secure):
    """A client whose resolver nobody saw: the name is in its ClientHello."""
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test; other other.test"
    assert by_server_name(guest, secure.port, "acme.test") == "200"
    if not guest.preloaded:
        return
    total = guest.status("acme")["total"]
    assert (total["calls"], total["ok"]) == (1, 1)
    guest.prebreak("hold", "acme", "open")
    assert "ConnectionResetError" in by_server_name(guest, secure.port, "acme.test")
    assert by_server_name(guest, secure.port, "other.test") == "200"
    assert guest.status("acme")["total"]["refused"] == 1


@pytest.mark.parametrize("program", ["requests", "wget"])
def test_others_over_tls_are_refused_at_connect(guarded, secure, program):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["127.0.0.1"]}
    url = f"https://acme.test:{secure.port}/"
    script = f"import requests; print(requests.get({url!r}, verify=False).status_code)"
    words = {"requests": ["/usr/bin/python3", "-W", "ignore", "-c", script],
             "wget": ["wget", "-t1", "-O-", "--no-check-certificate", url]}[program]  # fmt: skip
    assert guarded.run(*words).returncode == 0
    total = guarded.status("acme")["total"]
    assert (total["calls"], total["ok"]) == (1, 1)
    guarded.prebreak("hold", "acme", "open")
    done = guarded.run(*words)
    assert done.returncode != 0 and "refused" in done.stderr
    assert guarded.status("acme")["total"]["refused"] == 1


LOOP = """
import http.client, ssl, sys
context = ssl._create_unverified_context()
for _ in range(int(sys.argv[2])):
    connection = http.client.HTTPSConnection('acme.test', int(sys.argv[1]), context=context)
    try:
        connection.request('GET', '/')
        answer = connection.getresponse()
        answer.read()
        print(answer.status)
    except OSError as error:
        print(type(error).__name__)
    connection.close()
"""


@pytest.mark.parametrize("tickets", [0, 1, 2])
def test_healthy_provider_is_not_condemned_for_answers_that_cannot_be_told_from_tickets(guest, secure, tickets):
    """Short answers behind TLS 1.3 look like what a server says of its own accord; failures show all the same."""
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guest.names = {"acme.test": ["127.0.0.1"]}
    secure.context.num_tickets = tickets
    secure.script["*"] = every(8, no_answer("reset"))
    ends = guest.run("/usr/bin/python3", "-c", LOOP, secure.port, 240).stdout.split()
    assert ends.count("200") == 210
    assert "ConnectionRefusedError" not in ends
    if guest.preloaded:
        status = guest.status("acme")
        assert status["phase"] == "closed" and status["total"]["refused"] == 0
        assert status["total"]["ok"] == 210 and status["failures"]["reset"] == status["total"]["failed"] == 30
