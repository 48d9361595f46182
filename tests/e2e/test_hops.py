"""Redirects that libcurl follows: a hop to another host is a call of its own, and may be refused."""

import pytest

from harness import BUILD, LIBRARY

TRANSFERS = BUILD / "clients" / "transfers"
MULTI = BUILD / "clients" / "multi"


@pytest.fixture
def acme(guarded, provider, provider_on):
    """acme.test, and other.test on a server of its own."""
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test; other other.test"
    provider.other = provider_on()
    provider.here = f"http://acme.test:{provider.port}/"
    provider.there = f"http://other.test:{provider.other.port}/"
    guarded.words = [f"resolve=acme.test:{provider.port}:127.0.0.1", f"resolve=other.test:{provider.other.port}:127.0.0.1"]
    return guarded


def easy(guest, *words):
    done = guest.run(TRANSFERS, *guest.words, "follow", *words, "perform")
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines()]


def command(guest, *words):
    resolve = [word for address in guest.words for word in ("--resolve", address.split("=")[1])]
    done = guest.run("curl", "-sSL", *resolve, "-o", "/dev/null", "-w", "%{exitcode} %{http_code} %{errormsg}", words[-1][4:])
    code, status, message = done.stdout.split(" ", 2)
    return [f"{code} {int(status)} {111 if code == '7' else 0} {message}".rstrip()]


HOWS = pytest.mark.parametrize("perform", [easy, command])


def redirect(provider, to, status=302, **more):
    provider.set("acme.test", status=status, header=f"Location:{to}", **more)


def counts(guest, name="acme"):
    return {key: value for key, value in guest.status(name)["total"].items() if value and key != "calls"}


def failures(guest, name="acme"):
    return {key: value for key, value in guest.status(name)["failures"].items() if value}


def hold_other(guest, provider):
    assert easy(guest, f"url={provider.there}") == ["0 200 0"]
    guest.prebreak("hold", "other", "open")
    provider.other.clear()


@HOWS
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_hop_to_a_refused_provider_ends_the_transfer_as_a_refused_connection(acme, provider, perform, status):
    hold_other(acme, provider)
    redirect(provider, provider.there, status)

    assert perform(acme, f"url={provider.here}")[0].startswith(f"7 {status} 111 prebreak: other is held-open")

    assert provider.requests() == 1 and provider.other.requests() == 0
    assert counts(acme) == {"ok": 1} and counts(acme, "other") == {"ok": 1, "refused": 1}


@HOWS
def test_host_of_a_refused_hop_is_not_even_connected_to(acme, provider, perform):
    hold_other(acme, provider)
    provider.other.listener("blackhole")
    redirect(provider, provider.there)

    assert perform(acme, f"url={provider.here}")[0].startswith("7 302 111 prebreak: other is held-open")

    assert provider.other.report()["connections"] == 0
    assert counts(acme) == {"ok": 1} and counts(acme, "other") == {"ok": 1, "refused": 1}


@HOWS
@pytest.mark.parametrize(
    "script, said, outcome, kind",
    [
        ({}, "0 200", "ok", None),
        ({"status": 503}, "0 503", "failed", "status"),
        ({"action": "reset"}, "56 ", "failed", "reset"),
    ],
)
def test_each_host_of_a_transfer_answers_for_itself(acme, provider, perform, script, said, outcome, kind):
    redirect(provider, provider.there)
    provider.other.set(**script)

    assert perform(acme, f"url={provider.here}")[0].startswith(said)

    assert counts(acme) == {"ok": 1} and counts(acme, "other") == {outcome: 1}
    assert failures(acme, "other") == ({kind: 1} if kind else {})
    assert acme.status("acme")["inflight"] == acme.status("other")["inflight"] == 0


def test_transfer_that_comes_back_is_a_call_more(acme, provider):
    # Every second request is sent on
    redirect(provider, provider.there, every=2)
    provider.other.set(status=307, header=f"Location:{provider.here}")
    assert easy(acme, f"url={provider.here}") == ["0 200 0"]

    assert easy(acme, f"url={provider.here}") == ["0 200 0"]

    assert provider.requests() == 3 and provider.other.requests() == 1
    assert counts(acme) == {"ok": 3} and counts(acme, "other") == {"ok": 1}


def test_hops_to_the_same_host_are_one_call(acme, provider):
    redirect(provider, "/again", every=2)
    assert easy(acme, f"url={provider.here}") == ["0 200 0"]

    assert easy(acme, f"url={provider.here}") == ["0 200 0"]

    assert provider.requests() == 3 and counts(acme) == {"ok": 2}


def test_host_that_a_hop_cannot_connect_to_has_failed_and_not_the_one_before(acme, provider):
    redirect(provider, provider.there)
    provider.other.listener("refuse")

    assert easy(acme, f"url={provider.here}")[0].startswith("7 302 111 Failed to connect to other.test")
    done = acme.run(MULTI, "epoll", *acme.words, "follow", provider.here)
    assert done.stdout.startswith("0 7 302 111 Failed to connect to other.test")

    assert counts(acme) == {"ok": 2}
    assert counts(acme, "other") == {"failed": 2} and failures(acme, "other") == {"connect": 2}


def test_first_byte_of_each_hop_is_its_own(acme, provider):
    acme.settings["PREBREAK_DEFAULTS"] = "slow=400ms"
    redirect(provider, provider.there, latency=500)
    provider.other.set(latency=50)

    assert easy(acme, f"url={provider.here}") == ["0 200 0"]
    assert failures(acme) == {"slow": 1} and counts(acme, "other") == {"ok": 1}


@pytest.mark.parametrize("unread", [[], ["unread"]])
def test_hop_is_refused_in_a_multi_handle_and_the_transfer_beside_it_is_served(acme, provider, unread):
    hold_other(acme, provider)
    redirect(provider, provider.there)

    done = acme.run(MULTI, "epoll", *acme.words, "follow", *unread, provider.here, provider.here, provider.there)

    lines = sorted(done.stdout.splitlines())
    code = "-" if unread else "7"
    assert lines[0].startswith(f"0 {code} 302 111 prebreak: other is held-open") and lines[1].startswith(f"1 {code} 302 111 prebreak")
    assert lines[2].startswith(f"2 {code} 0 111 prebreak: other is held-open")
    assert provider.requests() == 2 and provider.other.requests() == 0
    assert counts(acme) == {"ok": 2} and counts(acme, "other") == {"ok": 1, "refused": 3}


@pytest.mark.parametrize("how", ["wait", "epoll"])
def test_refused_hops_in_a_multi_handle_do_not_connect_where_it_is_known_who_would(
    acme, provider, need_namespaces, tmp_path, how
):
    hold_other(acme, provider)
    redirect(provider, provider.there)
    (tmp_path / "hosts.own").write_text("127.0.0.1 acme.test other.test\n")
    script = 'mount --bind hosts.own /etc/hosts && LD_PRELOAD=$GUARD exec "$@"'
    third = f"http://acme.test:{provider.port}/?"

    def run(*urls):
        done = acme.run("unshare", "-m", "sh", "-c", script, "sh", MULTI, how, "follow", *urls, GUARD=LIBRARY, LD_PRELOAD=None)
        return [line.split(" ", 1)[1] for line in sorted(done.stdout.splitlines())]

    said = run(provider.here, third, provider.here)

    assert [line.startswith("7 302 111 prebreak: other is held-open") for line in said] == [True] * 3
    assert provider.requests() == 3 and provider.other.report()["connections"] == 0
    assert counts(acme) == {"ok": 3} and counts(acme, "other") == {"ok": 1, "refused": 3}

    # And when it is not refused any more, all is as it was
    acme.prebreak("release", "other")
    assert run(provider.here, third, provider.here) == ["0 200 0 "] * 3
    assert counts(acme) == {"ok": 6} and counts(acme, "other") == {"ok": 4, "refused": 3}


def test_hops_in_a_multi_handle_are_calls_of_their_hosts(acme, provider):
    redirect(provider, provider.there)
    provider.other.set(status=503)

    done = acme.run(MULTI, "epoll", *acme.words, "follow", *[provider.here] * 5, provider.there)

    assert done.stdout.count(" 0 503 0") == 6
    assert counts(acme) == {"ok": 5}
    assert counts(acme, "other") == {"failed": 6} and failures(acme, "other") == {"status": 6}


def test_transfer_whose_first_provider_is_told_by_the_address_is_gated_at_its_hops(acme, provider):
    acme.settings["PREBREAK_PROVIDERS"] = "- 10.0.0.0/8; acme acme.test; other other.test"
    hold_other(acme, provider)
    redirect(provider, provider.there)

    assert easy(acme, f"url={provider.here}")[0].startswith("7 302 111 prebreak: other is held-open")

    assert provider.other.requests() == 0
    assert counts(acme) == {"ok": 1} and counts(acme, "other") == {"ok": 1, "refused": 1}


def test_hop_to_nobody_of_ours_is_left_alone(acme, provider):
    acme.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    redirect(provider, provider.there)
    provider.other.set(status=503)

    assert easy(acme, f"url={provider.here}") == ["0 503 0"]
    assert counts(acme) == {"ok": 1}


# ---- the program's own callback ----------------------------------------------------------------------------------------------


def test_programs_own_callback_is_asked_at_each_hop_and_stays(acme, provider):
    redirect(provider, provider.there)

    said = easy(acme, "ask", f"url={provider.here}", "perform", "dup", "perform", "noask", "perform", "ask", "perform", "reset",
                f"url={provider.here}", *acme.words)  # fmt: skip

    twice = ["ask 127.0.0.1"] * 2 + ["0 200 0"]
    assert said == twice * 2 + ["0 200 0"] + twice + ["0 302 0"]  # a reset follows no redirects, and asks nobody


def test_programs_own_callback_aborts_and_nobody_is_blamed(acme, provider):
    redirect(provider, provider.there)

    said = easy(acme, "ask=2", f"url={provider.here}")

    assert said[:2] == ["ask 127.0.0.1"] * 2 and said[2].startswith("42 302 0 operation aborted by pre-request callback")
    assert counts(acme) == {"ok": 1} and counts(acme, "other") == {"neutral": 1}


def test_refused_hop_does_not_ask_the_programs_callback(acme, provider):
    hold_other(acme, provider)
    redirect(provider, provider.there)

    said = easy(acme, "ask", f"url={provider.here}")

    assert said[0] == "ask 127.0.0.1" and said[1].startswith("7 302 111 prebreak: other is held-open")
