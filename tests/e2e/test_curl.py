"""libcurl's easy interface: one transfer is one call, whatever libcurl does below it."""

import http.server
import pathlib
import ssl
import subprocess
import threading
import time

import pytest

from harness import BUILD, LIBRARY

TRANSFERS = BUILD / "clients" / "transfers"
PYTHON = "/usr/bin/python3"


@pytest.fixture
def acme(guarded, provider):
    """acme.test on the provider, known by that name alone; what is `other.test` is nobody's."""
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    provider.acme = f"http://acme.test:{provider.port}/"
    provider.other = f"http://other.test:{provider.port}/"
    return guarded


def transfers(guest, *words, **extra):
    done = guest.run(TRANSFERS, *words, **extra)
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines()]


def total(guest, name="acme"):
    return {key: value for key, value in guest.status(name)["total"].items() if value and key != "calls"}


def failures(guest, name="acme"):
    return {key: value for key, value in guest.status(name)["failures"].items() if value}


def known(guest, provider):
    """A first good call, so that the provider stands in the region and can be held."""
    assert transfers(guest, f"url={provider.acme}", "perform") == ["0 200 0"]


# ---- refusing ------------------------------------------------------------------------------------------------------------


def test_refused_transfer_looks_refused_and_its_handle_works_after_release(acme, provider):
    known(acme, provider)
    # Given a program with one handle whose provider is held open after its first transfer
    child = acme.start(
        TRANSFERS, f"url={provider.acme}", "perform", "line", "perform", "line", "perform", stdin=subprocess.PIPE
    )
    assert child.stdout.readline() == "0 200 0 \n"
    acme.prebreak("hold", "acme", "open")
    child.stdin.write("\n")
    child.stdin.flush()

    # Then the next transfer is refused: nothing of the one before is left, and the buffer says why
    said = child.stdout.readline()
    assert said.startswith("7 0 111 prebreak: acme is held-open")
    assert provider.requests() == 2

    # And after release the same handle works again
    acme.prebreak("release", "acme")
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline().startswith("0 200 0 ")
    assert child.wait() == 0
    assert total(acme) == {"ok": 3, "refused": 1}


@pytest.mark.parametrize("limit", ["protocols=http,file", "mask=1025", "dup"])
def test_refusal_puts_the_programs_protocols_back(acme, provider, limit):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")

    said = transfers(
        acme, limit, f"url={provider.acme}", "perform",
        f"url={provider.other}", "perform", "url=file:///etc/hostname", "perform", "url=ftp://127.0.0.1:1/", "perform",
    )  # fmt: skip

    # Refused, then HTTP and files work as before, and FTP is as forbidden or allowed as the program had it
    assert said[0].startswith("7 0 111 prebreak: ")
    assert said[1].startswith("0 200 ")
    assert said[2].startswith("0 0 ")
    assert said[3].startswith("7 0 111 Failed" if limit == "dup" else "1 0 ")


def test_duplicate_has_its_originals_url_and_error_buffer(acme, provider):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")

    said = transfers(acme, f"url={provider.acme}", "dup", "perform", "other", "perform")

    assert [line.startswith("7 0 111 prebreak: acme") for line in said] == [True, True]
    assert total(acme)["refused"] == 2


def test_reset_forgets_the_error_buffer_and_the_refusal(acme, provider):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")

    said = transfers(acme, f"url={provider.acme}", "perform", "reset", "perform", f"url={provider.acme}", "perform")

    assert said[0].startswith("7 0 111 prebreak: ")
    assert said[1] == "3 0 0"  # no URL any more; the buffer is not libcurl's, nor ours
    assert said[2] == "7 0 111"


def test_url_handle_names_the_provider_and_wins_over_the_url(acme, provider):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")

    said = transfers(
        acme, f"url={provider.other}", f"curlu={provider.acme}", "perform", "nocurlu", f"url={provider.other}", "perform"
    )

    assert said[0].startswith("7 0 111 prebreak: acme")
    assert said[1].startswith("0 200 ")


def test_url_without_a_scheme_has_its_host_for_a_provider(acme, provider):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")

    assert transfers(acme, f"url=ACME.test.:{provider.port}/x", "perform")[0].startswith("7 0 111 prebreak: acme")


def test_bad_url_stays_a_bad_url_and_is_no_call(acme, provider):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")

    said = transfers(acme, "url=http://acme.test:99999999/", "perform", "url=http:///", "perform")

    assert [line[:6] for line in said] == ["3 0 0"] * 2
    assert total(acme) == {"ok": 1}


def test_unix_socket_is_no_call_to_the_host_in_the_url(acme, provider, tmp_path):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")

    said = transfers(acme, f"unix={tmp_path}/nobody", f"url={provider.acme}", "perform")

    assert said[0].startswith("7 0 2 Failed to connect")
    assert total(acme) == {"ok": 1}


def test_curl_retries_a_refused_transfer_as_it_does_a_refused_connection(acme, provider):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open", "--for", "3s")

    done = acme.run("curl", "-sS", "--retry", 9, "--retry-connrefused", "--retry-delay", 1, "-w", "%{http_code}",
                    "-o", "/dev/null", provider.acme)  # fmt: skip

    assert done.returncode == 0 and done.stdout == "200"
    assert "prebreak: acme is held-open" in done.stderr
    assert total(acme)["refused"] >= 2


# ---- rules that go by address ----------------------------------------------------------------------------------------------


@pytest.fixture
def by_address(acme):
    """Whose transfer it is cannot be told by the name alone."""
    acme.settings["PREBREAK_PROVIDERS"] = "- 10.0.0.0/8; acme acme.test"
    return acme


def test_transfer_that_is_decided_by_address_is_one_call_by_its_status(by_address, provider):
    provider.set(status=503)

    words = [f"url={provider.acme}", "perform", "perform", "perform"]
    assert transfers(by_address, *words) == ["0 503 0"] * 3
    assert provider.report()["connections"] == 1
    assert total(by_address) == {"failed": 3} and failures(by_address) == {"status": 3}


def test_transfer_that_is_decided_by_address_is_refused_at_its_connect_and_then_at_once(by_address, provider):
    known(by_address, provider)
    by_address.prebreak("hold", "acme", "open")

    said = transfers(by_address, f"url={provider.acme}", "perform", "perform", f"url={provider.other}", "perform")

    assert [line.startswith("7 0 111 prebreak: acme is held-open") for line in said[:2]] == [True, True]
    assert said[2].startswith("0 200 ")
    assert total(by_address) == {"ok": 1, "refused": 2}


def test_transfer_to_an_address_that_is_never_to_be_touched_is_not(acme, provider):
    known(acme, provider)
    acme.prebreak("hold", "acme", "open")
    acme.settings["PREBREAK_PROVIDERS"] = "- 127.0.0.0/8; acme acme.test"

    assert transfers(acme, f"url={provider.acme}", "perform", "perform") == ["0 200 0"] * 2
    assert total(acme) == {"ok": 1}


# ---- counting ------------------------------------------------------------------------------------------------------------


def test_kept_alive_transfers_are_a_call_each_and_an_idle_close_is_none(acme, provider):
    provider.set(idle=200)
    words = [f"url={provider.acme}", "perform", "perform", "perform"]
    child = acme.start(TRANSFERS, *words, "line", "perform", stdin=subprocess.PIPE)
    assert [child.stdout.readline() for _ in range(3)] == ["0 200 0 \n"] * 3
    assert provider.report()["connections"] == 1

    # When the server closes the idle connection, and the handle is used again
    time.sleep(1)
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline().startswith("0 200 ")
    assert child.wait() == 0
    assert total(acme) == {"ok": 4}
    assert provider.report()["connections"] == 2


@pytest.mark.parametrize(
    "script, words, said, outcome, kind",
    [
        ({"status": 404}, [], "0 404", "ok", None),
        ({"status": 503}, [], "0 503", "failed", "status"),
        ({"status": 504}, [], "0 504", "failed", "timeout"),
        ({"status": 501}, [], "0 501", "ok", None),
        ({"status": 409}, [], "0 409", "neutral", None),
        ({"action": "reset"}, [], "56 0", "failed", "reset"),
        ({"action": "eof"}, [], "52 0", "failed", "reset"),
        ({"action": "half"}, [], "18 200", "failed", "reset"),
        ({"action": "half", "status": 503}, [], "18 503", "failed", "status"),
        ({"action": "hang"}, ["timeout=300"], "28 0", "failed", "timeout"),
        ({}, ["connect-only"], "0 0", "ok", None),
    ],
)
def test_outcome_is_read_from_code_and_status(acme, provider, script, words, said, outcome, kind):
    provider.set(**script)

    assert transfers(acme, *words, f"url={provider.acme}", "perform")[0].startswith(said)

    assert total(acme) == {outcome: 1}
    assert failures(acme) == ({kind: 1} if kind else {})
    assert acme.status("acme")["inflight"] == 0


def test_what_goes_over_a_connection_that_was_only_made_is_the_programs_own_affair(acme, provider):
    said = transfers(acme, f"url={provider.acme}", "connect-only", "perform", "raw")

    assert said == ["0 0 0", "HTTP/1.1 200 Fine"]
    assert total(acme) == {"ok": 1}

    acme.prebreak("hold", "acme", "open")
    assert transfers(acme, f"url={provider.acme}", "connect-only", "perform", "raw")[0].startswith("7 0 111 prebreak")
    assert total(acme) == {"ok": 1, "refused": 1} and provider.report()["connections"] == 1


def test_refused_connection_fails_and_a_name_that_does_not_exist_is_neutral(acme, provider):
    provider.listener("refuse")
    acme.settings["PREBREAK_PROVIDERS"] = "acme acme.test nowhere.invalid"

    assert transfers(acme, f"url={provider.acme}", "perform")[0].startswith("7 0 111 ")
    assert total(acme) == {"failed": 1} and failures(acme) == {"connect": 1}

    assert transfers(acme, "url=http://nowhere.invalid/", "perform")[0].startswith("6 0 ")
    assert total(acme) == {"failed": 1, "neutral": 1}


def test_dead_first_address_is_not_held_against_a_name_that_answers(acme, provider):
    assert transfers(
        acme, f"resolve=acme.test:{provider.port}:127.0.0.3,127.0.0.1", f"url={provider.acme}", "perform"
    )[0].startswith("0 200 ")
    assert total(acme) == {"ok": 1}


def test_what_another_host_does_after_a_redirect_is_not_held_against_the_first(acme, provider):
    provider.set("acme.test", status=302, header=f"Location:{provider.other}")
    provider.set("other.test", status=503)

    said = transfers(acme, "follow", f"url={provider.acme}", "perform")

    assert said[0].startswith("0 503 ")
    assert total(acme) == {"ok": 1}


def test_callback_that_connects_on_its_own_makes_a_call_of_its_own(acme, provider, provider_on):
    other = provider_on()
    acme.settings["PREBREAK_PROVIDERS"] = f"database 127.0.0.1:{other.port}; acme acme.test"

    assert transfers(acme, f"url={provider.acme}", f"call={other.port}", "perform") == ["0 200 0", "0 200 0"]

    assert total(acme) == {"ok": 2}
    assert total(acme, "database") == {"ok": 1}


def test_transfer_that_is_jumped_out_of_is_neutral_and_hides_nothing_later(acme, provider):
    provider.set(body=100)

    said = transfers(acme, f"url={provider.acme}", "jump", "new", f"url={provider.acme}", "perform", "other", "new")

    assert said == ["jumped", "0 200 0"]
    assert total(acme) == {"ok": 1, "neutral": 1}
    assert acme.status("acme")["inflight"] == 0


def test_parallel_transfers_of_the_curl_command_are_counted_once_each(acme, provider):
    done = acme.run("curl", "-sZ", "-o", "/dev/null", "-o", "/dev/null", "-o", "/dev/null", *[provider.acme] * 3)

    assert done.returncode == 0, done.stderr
    assert provider.requests() == 3
    assert total(acme) == {"ok": 3}


# ---- several libcurls ----------------------------------------------------------------------------------------------------

PYCURL = """
import pycurl, sys
for url in sys.argv[1:]:
    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, url)
    handle.setopt(pycurl.WRITEFUNCTION, lambda data: None)
    try:
        handle.perform()
        print(handle.getinfo(pycurl.RESPONSE_CODE))
    except pycurl.error as error:
        print(error.args[0], error.args[1], handle.getinfo(pycurl.OS_ERRNO))
"""

# The other flavour comes first in the global scope: what is found there is the wrong one.
FLAVOURS = {"alone": [], "beside OpenSSL's": ["libcurl.so.4"]}


@pytest.mark.parametrize("preloads", FLAVOURS.values(), ids=FLAVOURS.keys())
def test_pycurl_is_refused_and_counted_by_its_own_libcurl(acme, provider, preloads):
    environment = acme.environment()
    environment["LD_PRELOAD"] = ":".join([environment["LD_PRELOAD"], *preloads])

    def run():
        done = subprocess.run(
            [PYTHON, "-c", PYCURL, provider.acme, provider.acme], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert run() == ["200", "200"]
    acme.prebreak("hold", "acme", "open")
    said = run()
    assert [line.startswith("7 prebreak: acme is held-open") and line.endswith(" 111") for line in said] == [True, True]
    assert total(acme) == {"ok": 2, "refused": 2}


def test_library_itself_needs_no_libcurl():
    needed = subprocess.run(["readelf", "-dW", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert "libcurl" not in needed
    assert pathlib.Path(LIBRARY).exists()


# ---- over TLS ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tls_port(tmp_path):
    """A server of one answer, 503, over TLS, with a certificate that nobody knows."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=acme.test",
         "-keyout", key, "-out", certificate], check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(503)

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("rules", ["acme acme.test", "- 10.0.0.0/8; acme acme.test"])
def test_status_counts_within_tls_and_a_bad_certificate_is_a_failed_handshake(acme, tls_port, rules):
    acme.settings["PREBREAK_PROVIDERS"] = rules
    url = f"https://acme.test:{tls_port}/"

    assert acme.run("curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", url).stdout == "503"
    assert failures(acme) == {"status": 1}

    assert acme.run("curl", "-s", url).returncode == 60
    assert failures(acme) == {"status": 1, "tls": 1}
    assert total(acme) == {"failed": 2}


# ---- names that do not resolve ---------------------------------------------------------------------------------------------


def without_resolver(guest, tmp_path, *command):
    """Nobody answers at the resolver's address; other.test stands in the hosts file."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    (tmp_path / "hosts.own").write_text("127.0.0.1 other.test\n")
    script = """
mount --bind resolv.conf /etc/resolv.conf && mount --bind hosts.own /etc/hosts || exit 99
LD_PRELOAD=$GUARD exec "$@"
"""
    return guest.run("unshare", "-m", "sh", "-c", script, "sh", *command, GUARD=LIBRARY, LD_PRELOAD=None)


def test_silent_resolver_is_held_against_a_name_only_if_it_answers_for_others(acme, provider, need_namespaces, tmp_path):
    acme.settings["PREBREAK_PROVIDERS"] = "lost lost.test"
    fate = ["-s", "-o", "/dev/null", "http://lost.test/"]

    # While nothing resolves it is our network's fault
    assert without_resolver(acme, tmp_path, "curl", *fate).returncode == 6
    assert total(acme, "lost") == {"neutral": 1}

    # When the same process has just resolved another name, it is the name's
    done = without_resolver(acme, tmp_path, "curl", "-s", "-o", "/dev/null", provider.other, "--next", *fate)
    assert done.returncode == 6
    assert total(acme, "lost") == {"neutral": 1, "failed": 1}
    assert failures(acme, "lost") == {"dns": 1}


@pytest.mark.parametrize("resolve", ["getaddrinfo(name, 80)", "gethostbyname_ex(name)"])
def test_name_that_does_not_resolve_fails_once_without_libcurl_too(acme, provider, need_namespaces, tmp_path, resolve):
    acme.settings["PREBREAK_PROVIDERS"] = "lost lost.test"
    script = f"""
import socket
for name in 'other.test', 'lost.test':
    try:
        socket.{resolve}
    except OSError as error:
        print(error.errno in (socket.EAI_AGAIN, 2)) # or TRY_AGAIN
"""
    assert without_resolver(acme, tmp_path, PYTHON, "-c", script).stdout == "True\n"
    assert failures(acme, "lost") == {"dns": 1}
