"""The example programs know nothing of prebreak, and one line before them protects them."""

import pytest

from harness import BUILD, COMMAND, ROOT

ASK = BUILD / "examples" / "socket" / "ask"
FETCH = BUILD / "examples" / "libcurl" / "fetch"
TRIP = 10
TIMES = 40


def asking(provider):
    return [ASK, "localhost", provider.port, TIMES]


def fetching(provider):
    return [FETCH, f"http://localhost:{provider.port}/", TIMES]


EXAMPLES = pytest.mark.parametrize(
    "arguments, refusal", [(asking, "Connection refused"), (fetching, "failed (7)")], ids=["socket", "libcurl"]
)


def protected(plain, command):
    plain.settings["PREBREAK_STATE"] = str(plain.state)
    return plain.run(COMMAND, "run", "-p", "acme localhost", *command, **plain.settings)


@EXAMPLES
def test_a_healthy_provider_is_asked_every_time(plain, provider, arguments, refusal):
    alone = plain.run(*arguments(provider))
    done = protected(plain, arguments(provider))
    assert (alone.returncode, done.returncode, done.stderr) == (0, 0, "")
    assert f"{TIMES} of {TIMES} answered" in done.stdout
    assert provider.requests() == 2 * TIMES == 2 * plain.status("acme")["total"]["ok"]


@EXAMPLES
def test_a_provider_that_resets_is_left_alone(plain, provider, arguments, refusal):
    provider.set(action="reset", latency=20)
    alone = plain.run(*arguments(provider))
    assert refusal not in alone.stdout and provider.requests() == TIMES
    provider.clear()
    done = protected(plain, arguments(provider))
    total = plain.status("acme")["total"]
    assert done.stdout.count(refusal) == total["refused"] >= TIMES // 2
    assert provider.requests() == total["failed"] >= TRIP
    assert total["calls"] == TIMES


@pytest.mark.parametrize("folder", ["socket", "libcurl"])
def test_an_example_does_not_mention_prebreak_and_its_readme_has_the_line(folder):
    sources = list((ROOT / "examples" / folder).glob("*.c"))
    assert sources and all("prebreak" not in source.read_text() for source in sources)
    assert "prebreak run -p" in (ROOT / "examples" / folder / "README.md").read_text()
