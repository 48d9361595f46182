"""prebreak metrics: what Prometheus' own parser makes of it, and node_exporter's text file while somebody reads it."""

import collections
import os
import stat
import threading

import pytest

from harness import CALL

parser = pytest.importorskip("prometheus_client.parser", reason="no python3-prometheus-client here")

RULES = "acme 127.0.0.1 slow=5x min=1; twin 127.0.0.2 policy=sre; twin 127.0.0.3 policy=aegis"


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = RULES
    return guarded


def metrics(text):
    """Samples by name and labels; a name or a set of labels that comes twice is an error."""
    samples = {}
    families = collections.Counter()
    for family in parser.text_string_to_metric_families(text):
        families[family.name] += 1
        assert family.documentation and family.type != "unknown", family
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in samples, key
            samples[key] = sample.value
    assert set(families.values()) == {1}
    return lambda name, **labels: samples[name, frozenset(labels.items())]


def test_metrics_and_status_tell_the_same_story(acme, provider_on):
    provider = provider_on("127.0.0.1")
    acme.run(CALL, "--calls", 20, "127.0.0.1", provider.port)
    provider.set(status=503)
    acme.run(CALL, "--calls", 60, "127.0.0.1", provider.port)
    status = acme.status("acme")
    value = metrics(acme.prebreak("metrics").stdout)

    for outcome in ("ok", "failed", "neutral", "refused"):
        assert value("prebreak_calls_total", provider="acme", outcome=outcome) == status["total"][outcome]
    assert value("prebreak_refused_total", provider="acme", mode="enforce") == status["total"]["refused"] > 0
    assert value("prebreak_refused_total", provider="acme", mode="observe") == 0
    for kind, count in status["failures"].items():
        assert value("prebreak_failures_total", provider="acme", kind=kind) == count
    assert value("prebreak_inflight", provider="acme") == status["inflight"] == 0
    assert value("prebreak_phase", provider="acme", phase=status["phase"]) == 1
    assert value("prebreak_processes") == 0
    counts = status["first_byte_ms"]["counts"]
    assert value("prebreak_first_byte_seconds_count", provider="acme") == sum(counts) == provider.requests()
    assert value("prebreak_first_byte_seconds_bucket", provider="acme", le="262.144") == sum(counts[:-1])
    assert value("prebreak_first_byte_seconds_bucket", provider="acme", le="0.001") == counts[0]
    version = acme.prebreak("--version").stdout.split()[1]
    assert value("prebreak_build_info", version=version) == 1


def test_breakers_of_one_name_are_one_provider(acme, provider_on):
    provider = provider_on("127.0.0.2", "127.0.0.3")
    for address, calls in (("127.0.0.2", 3), ("127.0.0.3", 4)):
        acme.run(CALL, "--calls", calls, address, provider.port, check=True)
    acme.prebreak("hold", "twin", "open")
    value = metrics(acme.prebreak("metrics").stdout)
    assert value("prebreak_calls_total", provider="twin", outcome="ok") == 7
    assert value("prebreak_first_byte_seconds_count", provider="twin") == 7
    assert value("prebreak_phase", provider="twin", phase="held-open") == 1
    assert value("prebreak_phase", provider="twin", phase="closed") == 0
    assert value("prebreak_drop_ratio", provider="twin") == 1


def test_a_state_without_calls_is_told_and_none_at_all_is_an_error(acme, tmp_path):
    missing = acme.prebreak("metrics", check=False)
    assert (missing.returncode, missing.stdout) == (69, "")
    file = tmp_path / "prebreak.prom"
    assert acme.prebreak("metrics", "--textfile", file, check=False).returncode == 69
    assert not file.exists()
    acme.prebreak("state", "--recreate")
    assert metrics(acme.prebreak("metrics").stdout)("prebreak_processes") == 0


def test_the_text_file_is_whole_and_readable_at_every_moment(acme, provider, tmp_path):
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    directory = tmp_path / "textfile"
    directory.mkdir()
    file = directory / "prebreak.prom"
    file.write_text("stale 1\n")
    file.chmod(0o600)
    done = threading.Event()
    seen = []

    def read():
        while not done.is_set():
            seen.append(file.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    before = os.umask(0o077)
    try:
        for _ in range(40):
            assert acme.prebreak("metrics", "--textfile", file).stdout == ""
    finally:
        os.umask(before)
        done.set()
        reader.join()
    whole = acme.prebreak("metrics").stdout
    assert set(seen) <= {"stale 1\n", whole}
    assert file.read_text() == whole
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [entry.name for entry in directory.iterdir()] == ["prebreak.prom"]


@pytest.mark.parametrize("where", ["missing/prebreak.prom", "directory", "x" * 250])
def test_a_text_file_that_cannot_be_written_is_an_error_and_leaves_nothing(acme, provider, tmp_path, where):
    acme.run(CALL, "127.0.0.1", provider.port, check=True)
    (tmp_path / "directory").mkdir()
    before = sorted(tmp_path.iterdir())
    done = acme.prebreak("metrics", "--textfile", tmp_path / where, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"prebreak: metrics: cannot write '{tmp_path / where}': ")
    assert sorted(tmp_path.iterdir()) == before
