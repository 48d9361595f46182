"""libcurl's multi interface: a transfer is a call from its adding to its message, whatever drives it."""

import http.server
import json
import pathlib
import socket
import subprocess
import threading

import pytest

from harness import BUILD, LIBRARY, wait_for, which

MULTI = BUILD / "clients" / "multi"
EVENTS = BUILD / "clients" / "events"
PYTHON = "/usr/bin/python3"
HOWS = ["wait", "poll", "fdset", "busy", "epoll", "socket", "all"]


def two_names(guest, provider):
    """acme.test is to fail; other.test, on the same server, is the healthy one that stands in the same multi handle.

    The programs are given the addresses: nss_wrapper does not bear libcurl's threads, of which there is one a name.
    """
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test; other other.test"
    provider.acme = f"http://acme.test:{provider.port}/"
    provider.other = f"http://other.test:{provider.port}/"
    provider.addresses = [f"{name}.test:{provider.port}:127.0.0.1" for name in ("acme", "other")]
    guest.words = [f"resolve={address}" for address in provider.addresses]
    return guest


@pytest.fixture
def acme(guarded, provider):
    return two_names(guarded, provider)


@pytest.fixture
def either(guest, provider):
    """With prebreak, and without."""
    return two_names(guest, provider)


def multi(guest, how, *words):
    """What it says, by transfer: the messages of healthy ones come in any order."""
    done = guest.run(MULTI, how, *guest.words, *words)
    assert done.returncode == 0, done.stderr
    return [line.split(" ", 1)[1].rstrip() for line in sorted(done.stdout.splitlines())]


def counts(guest, name="acme"):
    return {key: value for key, value in guest.status(name)["total"].items() if value and key != "calls"}


def failures(guest, name="acme"):
    return {key: value for key, value in guest.status(name)["failures"].items() if value}


def hold(guest, provider):
    """A first good call, so that the provider stands in the region and can be held; what it cost is forgotten."""
    assert multi(guest, "wait", provider.acme) == ["0 200 0"]
    guest.prebreak("hold", "acme", "open")
    provider.clear()


# ---- refusing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", HOWS)
def test_refused_transfer_completes_by_whatever_drives_it_and_the_one_beside_it_is_served(acme, provider, how):
    hold(acme, provider)

    said = multi(acme, how, provider.acme, provider.other, provider.acme)

    assert [line.startswith("7 0 111 prebreak: acme is held-open") for line in said] == [True, False, True]
    assert said[1] == "0 200 0"
    assert provider.report()["connections"] == provider.requests() == 1
    assert counts(acme) == {"ok": 1, "refused": 2} and counts(acme, "other") == {"ok": 1}
    assert acme.status("acme")["inflight"] == acme.status("other")["inflight"] == 0


@pytest.mark.parametrize("how", HOWS)
def test_without_prebreak_all_are_served(plain, provider, how):
    two_names(plain, provider)
    assert multi(plain, how, provider.acme, provider.other) == ["0 200 0"] * 2


@pytest.mark.parametrize("option", ["thread", "dup", "late"])
def test_refusal_is_told_however_the_handles_are_used(acme, provider, option):
    hold(acme, provider)

    said = multi(acme, "epoll", option, provider.acme, provider.other)

    assert said[0].startswith("7 0 111 prebreak: acme is held-open") and said[1] == "0 200 0"
    assert provider.requests("acme.test") == 0


def test_program_that_never_reads_messages_finds_no_answer_and_the_reason(acme, provider):
    hold(acme, provider)

    said = multi(acme, "wait", "unread", provider.acme, provider.other)

    assert said[0].startswith("- 0 111 prebreak: acme is held-open") and said[1] == "- 200 0"
    assert counts(acme)["refused"] == 1 and counts(acme, "other") == {"ok": 1}


def test_handles_of_a_refused_round_work_after_release_and_show_no_stale_answer(acme, provider):
    # Given a program whose handles have been served once
    child = acme.start(MULTI, "wait", *acme.words, "rounds=3", "line", provider.acme, stdin=subprocess.PIPE)
    assert child.stdout.readline() == "0 0 200 0 \n"

    acme.prebreak("hold", "acme", "open")
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline().startswith("0 7 0 111 prebreak: acme is held-open")

    # Then its kept connection is there still
    acme.prebreak("release", "acme")
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "0 0 200 0 \n"
    assert child.wait() == 0
    assert provider.report()["connections"] == 1
    assert counts(acme) == {"ok": 2, "refused": 1}


def test_refused_transfer_waits_for_nobody_and_disturbs_no_transfer_under_way(acme, provider):
    hold(acme, provider)
    provider.set("other.test", action="drip", interval=100, body=10)

    # One connection at a time, and that one has a slow transfer on it
    child = acme.start(MULTI, "epoll", *acme.words, "total=1", provider.other, provider.acme)

    assert child.stdout.readline().startswith("1 7 0 111 prebreak: acme is held-open")
    assert child.poll() is None
    assert child.stdout.readline() == "0 0 200 0 \n"
    assert counts(acme, "other") == {"ok": 1}


def test_bad_url_stays_a_bad_url_and_is_no_call(acme, provider):
    hold(acme, provider)

    assert multi(acme, "wait", "http://acme.test:99999999/", "http:///")[0].startswith("3 0 0")
    assert counts(acme) == {"ok": 1}


# ---- counting ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["wait", "epoll"])
@pytest.mark.parametrize(
    "script, words, said, outcome, kind",
    [
        ({}, [], "0 200", "ok", None),
        ({"status": 404}, [], "0 404", "ok", None),
        ({"status": 503}, [], "0 503", "failed", "status"),
        ({"status": 409}, [], "0 409", "neutral", None),
        ({"action": "reset"}, [], "56 0", "failed", "reset"),
        ({"action": "eof"}, [], "52 0", "failed", "reset"),
        ({"action": "half"}, [], "18 200", "failed", "reset"),
        ({"action": "hang"}, ["timeout=300"], "28 0", "failed", "timeout"),
        ({}, ["connect-only"], "0 0", "ok", None),
    ],
)
def test_outcome_is_read_from_code_and_status(either, provider, how, script, words, said, outcome, kind):
    provider.set("acme.test", **script)

    told = multi(either, how, *words, provider.acme, provider.other)

    assert told[0].startswith(said)
    if either.preloaded:
        assert counts(either) == {outcome: 1} and counts(either, "other") == {"ok": 1}
        assert failures(either) == ({kind: 1} if kind else {})
        assert either.status("acme")["inflight"] == 0


@pytest.mark.parametrize(
    "script, words, outcome, kind",
    [
        ({}, [], "ok", None),
        ({"status": 503}, [], "failed", "status"),
        ({"action": "reset"}, [], "failed", "reset"),
        ({"action": "hang"}, ["timeout=300"], "failed", "timeout"),
    ],
)
def test_outcome_is_known_where_nobody_reads_messages(acme, provider, script, words, outcome, kind):
    provider.set("acme.test", **script)

    multi(acme, "wait", "unread", *words, provider.acme, provider.other)

    assert counts(acme) == {outcome: 1} and counts(acme, "other") == {"ok": 1}
    assert failures(acme) == ({kind: 1} if kind else {})


def test_refused_connection_fails_each_time_and_a_name_that_does_not_exist_is_neutral(acme, provider):
    provider.listener("refuse")
    acme.settings["PREBREAK_PROVIDERS"] = "acme acme.test nowhere.invalid"

    said = multi(acme, "wait", "rounds=3", provider.acme)
    assert [line[:8] for line in said] == ["7 0 111 "] * 3
    assert counts(acme) == {"failed": 3} and failures(acme) == {"connect": 3}

    assert multi(acme, "wait", "http://nowhere.invalid/")[0].startswith("6 0 ")
    assert counts(acme) == {"failed": 3, "neutral": 1}


@pytest.mark.parametrize("how", ["remove", "cleanup", "drop"])
@pytest.mark.parametrize("after, outcome", [(200, {"neutral": 1}), (1600, {"failed": 1})])
def test_transfer_that_is_taken_back_was_given_up_if_its_provider_was_silent_for_a_second(
    acme, provider, how, after, outcome
):
    provider.set("acme.test", action="hang")

    multi(acme, "wait", f"{how}={after}", provider.acme)

    assert counts(acme) == outcome
    assert failures(acme) == ({"timeout": 1} if "failed" in outcome else {})
    assert acme.status("acme")["inflight"] == 0


def test_address_that_nobody_answers_at_has_failed_as_a_connection(acme, provider):
    provider.listener("blackhole")

    assert multi(acme, "epoll", "timeout=400", provider.acme)[0].startswith("28 0 ")

    assert counts(acme) == {"failed": 1} and failures(acme) == {"connect": 1}


def test_connections_may_be_shared_with_easy_transfers_and_each_transfer_is_a_call(acme, provider):
    assert multi(acme, "epoll", "share", "rounds=2", provider.acme, provider.other) == ["0 200 0"] * 4

    assert counts(acme) == counts(acme, "other") == {"ok": 4}
    assert provider.requests() == 8 and provider.report()["connections"] < 8


def test_transfers_within_a_transfers_callback_are_calls_and_what_libcurl_does_not_take_is_none(acme, provider):
    done = acme.run(MULTI, "wait", *acme.words, "nested", provider.acme, provider.other)

    # An easy handle that is added in a callback is not taken (CURLM_RECURSIVE_API_CALL)
    assert sorted(done.stdout.splitlines()) == ["0 0 200 0 ", "1 0 200 0 ", "nested 0 8", "nested 0 8"]
    assert counts(acme) == counts(acme, "other") == {"ok": 2}


def test_answers_in_hand_count_though_their_handles_are_only_freed(acme, provider):
    provider.set("acme.test", status=503)

    multi(acme, "wait", "unread", "cleanup=300", provider.acme, provider.acme)

    assert counts(acme) == {"failed": 2} and failures(acme) == {"status": 2}


# ---- what is awaited -------------------------------------------------------------------------------------------------------


def answered(guest, provider, defaults):
    """Both have answered once: silence says something only of who was heard before."""
    guest.settings["PREBREAK_DEFAULTS"] = defaults
    assert multi(guest, "wait", provider.acme, provider.other) == ["0 200 0"] * 2


@pytest.mark.parametrize("how", ["wait", "epoll"])
def test_silent_transfer_is_overdue_and_one_that_drips_is_not(acme, provider, how):
    answered(acme, provider, "hang=2s")
    provider.set("acme.test", action="hang")
    provider.set("other.test", action="drip", interval=70, body=10)

    said = multi(acme, how, "timeout=9000", provider.acme, provider.other)

    assert said[0].startswith("28 0 ") and said[1] == "0 200 0"
    assert counts(acme) == {"ok": 1, "failed": 1} and failures(acme) == {"hang": 1}
    assert counts(acme, "other") == {"ok": 2}


def test_silence_on_a_kept_connection_is_overdue_too(acme, provider):
    answered(acme, provider, "hang=2s")
    child = acme.start(MULTI, "wait", *acme.words, "rounds=2", "line", "timeout=5000", provider.acme, stdin=subprocess.PIPE)
    assert child.stdout.readline() == "0 0 200 0 \n"
    provider.set("acme.test", action="hang")
    child.stdin.write("\n")
    child.stdin.flush()

    assert child.stdout.readline().startswith("0 28 0 ")
    assert counts(acme) == {"ok": 2, "failed": 1} and failures(acme) == {"hang": 1}


def test_transfer_that_ended_is_not_overdue_while_nobody_asks_how(acme, provider):
    answered(acme, provider, "hang=2s")
    provider.set("other.test", action="drip", interval=60, body=10)

    multi(acme, "wait", "unread", provider.acme, provider.other)

    assert counts(acme) == {"ok": 2} and failures(acme) == {}
    assert counts(acme, "other") == {"ok": 2} and failures(acme, "other") == {}


def test_transfer_that_is_queued_behind_another_providers_silence_is_not_overdue(acme, provider):
    answered(acme, provider, "hang=1s")
    provider.set("other.test", action="hang")

    said = multi(acme, "wait", "total=1", "timeout=4500", provider.other, provider.acme)

    assert said[0].startswith("28 0 ")
    assert failures(acme) == {}
    assert failures(acme, "other") == {"hang": 1}


# ---- beside transfers that are no calls --------------------------------------------------------------------------------------


@pytest.fixture
def two_addresses(acme, provider, provider_on, need_namespaces, tmp_path):
    """The names stand in the hosts file: whoever is to be told below libcurl is told by the names of addresses."""
    elsewhere = provider_on("127.0.0.2")
    (tmp_path / "hosts.own").write_text("127.0.0.1 acme.test\n127.0.0.2 other.test\n")
    script = 'mount --bind hosts.own /etc/hosts && LD_PRELOAD=$GUARD exec "$@"'

    def run(*words):
        done = acme.run("unshare", "-m", "sh", "-c", script, "sh", MULTI, *words, GUARD=LIBRARY, LD_PRELOAD=None)
        assert done.returncode == 0, done.stderr
        return [line.split(" ", 1)[1].rstrip() for line in sorted(done.stdout.splitlines())]

    run.elsewhere, run.other = elsewhere, f"http://other.test:{elsewhere.port}/"
    return run


def test_transfer_whose_provider_depends_on_the_address_is_counted_once_and_refused(acme, provider, two_addresses):
    acme.settings["PREBREAK_PROVIDERS"] = "- 10.0.0.0/8; acme acme.test; other other.test"
    urls = [provider.acme, two_addresses.other]
    provider.set(status=503)
    assert two_addresses("wait", "rounds=2", *urls) == ["0 503 0"] * 2 + ["0 200 0"] * 2
    assert counts(acme) == {"failed": 2} and counts(acme, "other") == {"ok": 2}

    acme.prebreak("hold", "acme", "open")
    provider.clear()
    said = two_addresses("wait", *urls)
    assert said[0].startswith("7 0 111 ") and said[1] == "0 200 0"
    assert provider.report()["connections"] == 0
    assert counts(acme) == {"failed": 2, "refused": 1} and counts(acme, "other") == {"ok": 3}


@pytest.mark.parametrize("how", ["wait", "epoll"])
def test_transfers_of_both_kinds_stand_in_one_handle_and_none_is_counted_twice(acme, provider, two_addresses, how):
    # acme is known by its name alone; the other by its name, unless its address forbids
    acme.settings["PREBREAK_PROVIDERS"] = "acme acme.test; - 10.0.0.0/8; other other.test"
    urls = [provider.acme, two_addresses.other] * 2

    assert two_addresses(how, "rounds=3", *urls) == ["0 200 0"] * 12

    assert counts(acme) == {"ok": 6} and counts(acme, "other") == {"ok": 6}
    assert provider.requests() == two_addresses.elsewhere.requests() == 6


@pytest.mark.parametrize("options", [[], ["unread"], ["late"], ["thread"]])
def test_handle_that_nobody_knows_stands_in_nobodys_way(acme, provider, options):
    provider.set("other.test", status=503)

    said = multi(acme, "wait", "stranger", "rounds=2", *options, provider.acme, provider.acme, provider.other)

    code = "-" if options == ["unread"] else "0"
    assert said == [f"{code} 200 0"] * 4 + [f"{code} 503 0"] * 2
    assert counts(acme) == {"ok": 2} and counts(acme, "other") == {"failed": 2}

    acme.prebreak("hold", "other", "open")
    said = multi(acme, "wait", "stranger", *options, provider.acme, provider.acme, provider.other)
    assert said[:2] == [f"{code} 200 0"] * 2 and "prebreak: other is held-open" in said[2]


# ---- streams that share a connection ----------------------------------------------------------------------------------------

NGINX = which("nginx")


@pytest.fixture
def streams(tmp_path):
    """nginx with HTTP/2: /5xx answers 503, everything else 200."""
    if NGINX is None:
        pytest.skip("needs nginx")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    key, certificate, config = tmp_path / "key.pem", tmp_path / "certificate.pem", tmp_path / "nginx.conf"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=acme.test",
         "-keyout", key, "-out", certificate], check=True, capture_output=True,
    )  # fmt: skip
    config.write_text(f"""
daemon off; pid {tmp_path}/nginx.pid; error_log {tmp_path}/error.log; events {{}}
http {{ access_log {tmp_path}/access.log combined; client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;
  fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
  server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {certificate}; ssl_certificate_key {key};
    location / {{ return 200 fine; }} location /5xx {{ return 503; }} }} }}
""")
    server = subprocess.Popen([NGINX, "-c", config], stderr=subprocess.DEVNULL)

    def listens():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens)
    yield port
    server.terminate()
    server.wait()


def test_streams_that_share_a_connection_are_a_call_each(acme, streams):
    urls = [f"https://acme.test:{streams}/{'5xx' if i % 5 == 0 else i}" for i in range(50)]
    acme.settings["PREBREAK_DEFAULTS"] = "min=10000 trip=0"

    acme.words = [f"resolve=acme.test:{streams}:127.0.0.1"]
    said = multi(acme, "epoll", "http2", *urls)

    assert sorted(said) == ["0 200 0"] * 40 + ["0 503 0"] * 10
    assert counts(acme) == {"ok": 40, "failed": 10} and failures(acme) == {"status": 10}


def test_a_thousand_streams_through_a_proxy_are_counted_to_the_last(acme, streams, tmp_path):
    acme.settings["PREBREAK_DEFAULTS"] = "min=10000 trip=0"
    lines = [f'url = "https://acme.test:{streams}/{"5xx" if i % 5 == 0 else i}"\noutput = /dev/null\n' for i in range(1000)]
    (tmp_path / "urls").write_text("".join(lines))

    done = acme.run("curl", "-skZ", "--parallel-max", 200, "--http2", "--resolve", f"acme.test:{streams}:127.0.0.1", "-K",
                    tmp_path / "urls", "-w", "%{http_code} %{http_version}\n")  # fmt: skip

    said = done.stdout.splitlines()
    assert said.count("200 2") == 800 and said.count("503 2") == 200
    assert counts(acme) == {"ok": 800, "failed": 200} and failures(acme) == {"status": 200}


# ---- real clients ------------------------------------------------------------------------------------------------------------


def test_git_fails_with_its_own_error_and_the_server_sees_nothing(acme, provider):
    hold(acme, provider)

    done = acme.run("git", "-c", f"http.curloptResolve={provider.addresses[0]}", "ls-remote", provider.acme + "x.git", GIT_TERMINAL_PROMPT=0)

    assert done.returncode == 128
    assert done.stderr.startswith("fatal: unable to access") and "prebreak: acme is held-open" in done.stderr
    assert provider.report()["connections"] == 0
    assert counts(acme) == {"ok": 1, "refused": 1}


@pytest.mark.parametrize("status", [200, 503])
def test_git_is_counted_by_what_its_server_answers(either, provider, status):
    provider.set("acme.test", status=status)

    done = either.run("git", "-c", f"http.curloptResolve={provider.addresses[0]}", "ls-remote", provider.acme + "x.git", GIT_TERMINAL_PROMPT=0)

    assert done.returncode == 128
    if either.preloaded:
        assert counts(either) == ({"ok": provider.requests()} if status == 200 else {"failed": provider.requests()})


def resolve(provider):
    return [word for address in provider.addresses for word in ("--resolve", address)]


def test_parallel_curl_reports_each_refusal_and_fetches_the_rest(acme, provider):
    hold(acme, provider)
    urls = [word for i in range(10) for url in (provider.acme, provider.other) for word in ("-o", "/dev/null", f"{url}{i}")]

    done = acme.run("curl", *resolve(provider), "-sS", "-Z", "--no-progress-meter", "-w", "%{http_code} %{exitcode} %{errormsg}\n", *urls)

    lines = done.stdout.splitlines()
    assert sum(line.startswith("000 7 prebreak: acme is held-open") for line in lines) == 10
    assert sum(line.startswith("200 0") for line in lines) == 10
    assert provider.requests("acme.test") == 0 and provider.requests("other.test") == 10
    assert counts(acme) == {"ok": 1, "refused": 10} and counts(acme, "other") == {"ok": 10}


def test_parallel_curl_retries_a_refused_transfer_as_it_does_a_refused_connection(acme, provider):
    hold(acme, provider)
    acme.prebreak("hold", "acme", "open", "--for", "3s")

    done = acme.run("curl", *resolve(provider), "-sS", "-Z", "--retry", 9, "--retry-connrefused", "--retry-delay", 1, "-w", "%{http_code}\n",
                    "-o", "/dev/null", provider.acme, "-o", "/dev/null", provider.other)  # fmt: skip

    assert done.returncode == 0 and done.stdout.splitlines()[-2:] == ["200", "200"]
    assert counts(acme)["refused"] >= 2 and counts(acme)["ok"] == 2


def test_libevent_program_is_told_as_of_any_failure(acme, provider):
    hold(acme, provider)

    done = acme.run(EVENTS, *provider.addresses, *[provider.acme, provider.other] * 5)

    lines = sorted(done.stdout.splitlines())
    assert done.returncode == 0 and lines[:5] == ["0 200 "] * 5
    assert [line.startswith("7 0 prebreak: acme is held-open") for line in lines[5:]] == [True] * 5
    assert provider.requests() == 5 and counts(acme) == {"ok": 1, "refused": 5} and counts(acme, "other") == {"ok": 5}


PYCURL = """
import pycurl, sys, json
multi, handles, said = pycurl.CurlMulti(), [], []
for url in sys.argv[3:]:
    easy = pycurl.Curl()
    easy.setopt(pycurl.RESOLVE, sys.argv[1:3])
    easy.setopt(pycurl.URL, url)
    easy.setopt(pycurl.WRITEFUNCTION, lambda data: None)
    multi.add_handle(easy)
    handles.append(easy)
running = len(handles)
while running:
    multi.select(0.1)
    running = multi.perform()[1]
    left = 1
    while left:
        left, good, bad = multi.info_read()
        said += [[easy.getinfo(pycurl.EFFECTIVE_URL), 0, easy.getinfo(pycurl.RESPONSE_CODE)] for easy in good]
        said += [[easy.getinfo(pycurl.EFFECTIVE_URL), code, text] for easy, code, text in bad]
print(json.dumps(said))
"""


@pytest.mark.parametrize("preloads", [[], ["libcurl.so.4"]], ids=["alone", "beside OpenSSL's"])
def test_pycurl_is_told_by_its_own_libcurl(acme, provider, preloads):
    hold(acme, provider)
    environment = acme.environment()
    environment["LD_PRELOAD"] = ":".join([environment["LD_PRELOAD"], *preloads])

    done = subprocess.run([PYTHON, "-c", PYCURL, *provider.addresses, provider.acme, provider.other], env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    said = {url: (code, what) for url, code, what in json.loads(done.stdout)}
    assert said[provider.other] == (0, 200)
    assert said[provider.acme][0] == 7 and said[provider.acme][1].startswith("prebreak: acme is held-open")
    assert provider.requests() == 1 and counts(acme, "other") == {"ok": 1}


GUZZLE = """
require '/usr/share/php/GuzzleHttp/autoload.php';
$client = new GuzzleHttp\\Client(['timeout' => 9, 'curl' => [CURLOPT_RESOLVE => array_slice($argv, 1, 2)]]);
$requests = function () use ($argv) {
    foreach (array_slice($argv, 3) as $url) { yield new GuzzleHttp\\Psr7\\Request('GET', $url); }
};
$said = [];
$pool = new GuzzleHttp\\Pool($client, $requests(), [
    'concurrency' => 5,
    'fulfilled' => function ($response, $i) use (&$said) { $said[$i] = $response->getStatusCode(); },
    'rejected' => function ($reason, $i) use (&$said) { $said[$i] = get_class($reason) . ' ' . $reason->getMessage(); },
]);
$pool->promise()->wait();
ksort($said);
echo implode("\\n", $said);
"""


def test_guzzle_pool_rejects_what_is_refused_as_failed_connections(acme, provider):
    hold(acme, provider)

    done = acme.run("php", "-r", GUZZLE, "--", *provider.addresses, *[provider.acme, provider.other] * 10)

    said = done.stdout.splitlines()
    assert len(said) == 20, done.stdout + done.stderr
    assert said[1::2] == ["200"] * 10
    assert all(line.startswith("GuzzleHttp\\Exception\\ConnectException cURL error 7: prebreak: acme") for line in said[::2])
    assert provider.requests() == 10 and counts(acme) == {"ok": 1, "refused": 10} and counts(acme, "other") == {"ok": 10}


PHP_MULTI = """
$multi = curl_multi_init();
$handles = [];
foreach (array_slice($argv, 3) as $url) {
    $easy = curl_init($url);
    curl_setopt($easy, CURLOPT_RESOLVE, array_slice($argv, 1, 2));
    curl_setopt($easy, CURLOPT_RETURNTRANSFER, true);
    curl_multi_add_handle($multi, $easy);
    $handles[] = $easy;
}
do {
    curl_multi_exec($multi, $running);
    if ($running) { curl_multi_select($multi, 0.1); }
} while ($running);
foreach ($handles as $easy) {
    echo curl_getinfo($easy, CURLINFO_HTTP_CODE), ' ', strlen(curl_multi_getcontent($easy)) > 0 ? 'body' : 'nothing', "\\n";
    curl_multi_remove_handle($multi, $easy);
}
"""


def test_php_without_any_reading_of_messages_gets_nothing_from_the_refused(either, provider):
    words = ["php", "-r", PHP_MULTI, "--", *provider.addresses, provider.acme, provider.other]
    assert either.run(*words).stdout == "200 body\n" * 2
    if either.preloaded:
        either.prebreak("hold", "acme", "open")
        assert either.run(*words).stdout == "0 nothing\n200 body\n"
        assert provider.requests() == 3
        assert counts(either) == {"ok": 1, "refused": 1} and counts(either, "other") == {"ok": 2}


@pytest.fixture
def repository(tmp_path):
    """A repository behind a plain file server, for git's simple way."""
    git = {"cwd": tmp_path, "check": True, "capture_output": True, "env": {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}}
    subprocess.run(["git", "init", "-q", "--bare", "served.git"], **git)
    tree = subprocess.run(["git", "-C", "served.git", "write-tree"], **git).stdout.decode().strip()
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    commit = subprocess.run(["git", "-C", "served.git", *who, "commit-tree", "-m", "x", tree], **git).stdout.decode().strip()
    subprocess.run(["git", "-C", "served.git", "update-ref", "refs/heads/main", commit], **git)
    subprocess.run(["git", "-C", "served.git", "update-server-info"], **git)
    seen = []

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words):
            super().__init__(*words, directory=tmp_path)

        def log_request(self, *words):
            seen.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, commit, seen
        server.shutdown()


def test_git_lists_what_a_healthy_server_has(either, repository):
    port, commit, seen = repository

    done = either.run("git", "-c", f"http.curloptResolve=acme.test:{port}:127.0.0.1", "ls-remote", f"http://acme.test:{port}/served.git")

    assert f"{commit}\trefs/heads/main" in done.stdout, done.stderr
    if either.preloaded:
        assert counts(either) == {"ok": len(seen)}


# ---- both flavours -------------------------------------------------------------------------------------------------------------

FLAVOUR = r"""
#include <curl/curl.h>
#include <stdio.h>
static size_t swallow(char *bytes, size_t size, size_t count, void *unused) { return size * count; }
void fetch(const char *url, const char *address)
{
    CURLM *multi = curl_multi_init();
    CURL *easy = curl_easy_init();
    struct curl_slist *list = curl_slist_append(NULL, address);
    int running = 1, left;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_RESOLVE, list);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
    curl_multi_add_handle(multi, easy);
    while (running) {
        curl_multi_perform(multi, &running);
        curl_multi_wait(multi, NULL, 0, 20, NULL);
    }
    printf("%d %s\n", curl_multi_info_read(multi, &left)->data.result, curl_version_info(CURLVERSION_NOW)->ssl_version);
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
}
"""
HOST = r"""
#include <dlfcn.h>
void fetch(const char *url, const char *address);
int main(int argc, char **argv)
{
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void (*other)(const char *, const char *) = dlsym(plugin, "fetch");
    for (int i = 0; i < 2; i++) {
        fetch(argv[2], argv[3]);
        other(argv[2], argv[3]);
    }
}
"""


def test_both_flavours_of_libcurl_in_one_process_are_each_asked_for_their_own(acme, provider, tmp_path):
    if not pathlib.Path("/usr/lib/x86_64-linux-gnu/libcurl-gnutls.so.4").exists():
        pytest.skip("needs libcurl-gnutls")
    (tmp_path / "flavour.c").write_text(FLAVOUR)
    (tmp_path / "host.c").write_text(HOST + FLAVOUR)
    cc = ["cc", "-w", "-O1"]
    subprocess.run([*cc, "-shared", "-fPIC", "-o", tmp_path / "plugin.so", tmp_path / "flavour.c", "-l:libcurl-gnutls.so.4"], check=True)
    subprocess.run([*cc, "-o", tmp_path / "host", tmp_path / "host.c", "-lcurl"], check=True)

    def run():
        return acme.run(tmp_path / "host", tmp_path / "plugin.so", provider.acme, provider.addresses[0]).stdout.splitlines()

    said = run()
    assert [line.split("/")[0] for line in said] == ["0 OpenSSL", "0 GnuTLS"] * 2
    assert counts(acme) == {"ok": 4}
    acme.prebreak("hold", "acme", "open")
    assert [line.split("/")[0] for line in run()] == ["7 OpenSSL", "7 GnuTLS"] * 2
    assert counts(acme) == {"ok": 4, "refused": 4} and provider.requests() == 4


THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
void fetch(const char *url, const char *address);
static char **words;
static void *work(void *number)
{
    for (int i = 0; i < 40; i++) {
        int other = (i + (int)(long)number) % 2;
        fetch(words[3 + other], words[1 + other]);
    }
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t threads[8];
    words = argv;
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (long i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}
"""


def test_threads_with_a_multi_handle_each_do_not_mix_their_transfers_up(acme, provider, tmp_path):
    hold(acme, provider)
    (tmp_path / "threads.c").write_text(THREADS + FLAVOUR)
    subprocess.run(["cc", "-w", "-O1", "-o", tmp_path / "threads", tmp_path / "threads.c", "-lcurl", "-lpthread"], check=True)

    done = acme.run(tmp_path / "threads", *provider.addresses, provider.acme, provider.other)

    said = [line.split()[0] for line in done.stdout.splitlines()]
    assert said.count("7") == said.count("0") == 160
    assert counts(acme) == {"ok": 1, "refused": 160} and counts(acme, "other") == {"ok": 160}
    assert provider.requests() == 160 and acme.status("other")["inflight"] == 0


PHP_EXIT = """
register_shutdown_function(function () { echo "shut down\n"; });
$multi = curl_multi_init();
foreach (array_slice($argv, 3) as $url) {
    $easy = curl_init($url);
    curl_setopt($easy, CURLOPT_RESOLVE, array_slice($argv, 1, 2));
    curl_setopt($easy, CURLOPT_WRITEFUNCTION, function ($easy, $data) { echo "got some\n"; exit(3); });
    curl_multi_add_handle($multi, $easy);
}
do { curl_multi_exec($multi, $running); curl_multi_select($multi, 0.1); } while ($running);
"""


def test_php_that_exits_in_a_callback_ends_as_without_prebreak(either, provider):
    done = either.run("php", "-r", PHP_EXIT, "--", *provider.addresses, provider.acme, provider.other)

    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.endswith("got some\nshut down\n")
    if either.preloaded:
        # What was under way is nobody's fault
        assert sum(counts(either).values()) <= 1 and failures(either) == failures(either, "other") == {}
        assert either.status("acme")["inflight"] == either.status("other")["inflight"] == 0


# ---- libcurl that is not seen ------------------------------------------------------------------------------------------------

CTYPES = """
import ctypes, sys
curl = ctypes.CDLL('libcurl.so.4')
for name in 'curl_easy_init', 'curl_multi_init':
    getattr(curl, name).restype = ctypes.c_void_p
class Message(ctypes.Structure):
    _fields_ = [('msg', ctypes.c_int), ('easy', ctypes.c_void_p), ('result', ctypes.c_int)]
curl.curl_multi_info_read.restype = ctypes.POINTER(Message)
multi = ctypes.c_void_p(curl.curl_multi_init())
for url in sys.argv[1:]:
    easy = ctypes.c_void_p(curl.curl_easy_init())
    curl.curl_easy_setopt(easy, 10002, ctypes.c_char_p(url.encode()))
    curl.curl_easy_setopt(easy, 44, ctypes.c_long(1))
    print(curl.curl_easy_perform(easy))
    curl.curl_multi_add_handle(multi, easy)
running = ctypes.c_int(1)
while running.value:
    curl.curl_multi_perform(multi, ctypes.byref(running))
    curl.curl_multi_wait(multi, None, 0, 20, None)
left = ctypes.c_int(0)
message = curl.curl_multi_info_read(multi, ctypes.byref(left))
while message:
    print(message.contents.result)
    message = curl.curl_multi_info_read(multi, ctypes.byref(left))
"""


def test_libcurl_that_was_reached_by_dlsym_is_served_at_its_connections_and_counted_once(acme, provider):
    acme.names = {"acme.test": ["127.0.0.1"]}
    assert acme.run(PYTHON, "-c", CTYPES, provider.acme).stdout.splitlines() == ["0", "0"]
    assert counts(acme) == {"ok": 2}

    acme.prebreak("hold", "acme", "open")
    assert acme.run(PYTHON, "-c", CTYPES, provider.acme).stdout.splitlines() == ["7", "7"]
    assert counts(acme) == {"ok": 2, "refused": 2} and provider.requests() == 2
