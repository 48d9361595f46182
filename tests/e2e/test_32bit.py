"""A library for programs of 32 bits: every way to write and read is served, and the region is that of those with 64."""

import subprocess

import pytest

from harness import CALL, ROOT
from test_ways import OPENING, READS, SEEN, UNSEEN

# curl's headers are of one architecture, and say the same for all
FLAGS = "-O0 -idirafter /usr/include/x86_64-linux-gnu"
TIMES = {"time of 32 bits": [], "time of 64 bits": ["-D_FILE_OFFSET_BITS=64", "-D_TIME_BITS=64"]}


@pytest.fixture
def small(tmp_path):
    """The library, built for them; or the test is skipped."""
    if subprocess.run(["cc", "-m32", "-xc", "-o", tmp_path / "probe", "-"], input=b"int main(void){return 0;}").returncode:
        pytest.skip("no compiler for 32 bits here")
    library = tmp_path / "build" / "libprebreak.so"
    subprocess.run(
        ["make", "-s", "-C", ROOT, f"BUILD={library.parent}", "CC=cc -m32", f"CFLAGS={FLAGS}", library],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return library


def test_programs_of_32_bits_are_served_and_share_the_region(guarded, provider, small):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=100000"
    provider.set(status=503)
    calls = 0
    for flags in TIMES.values():
        program = guarded.directory / "ways"
        source = ROOT / "tests/e2e/clients/ways.c"
        subprocess.run(["cc", "-m32", "-std=c11", "-D_GNU_SOURCE", "-O2", *flags, "-o", program, source], check=True)
        for write, read in [(way, "recv") for way in SEEN + OPENING + UNSEEN] + [("send", way) for way in READS]:
            done = guarded.run(program, provider.port, write, read, 2, LD_PRELOAD=small)
            assert done.stdout == "503\n" * 2, (write, read, done)
            calls += 2
            total = guarded.status("acme")["total"]
            assert total["calls"] == total["failed"] == calls, (write, read)

    # And what they have learnt, others know
    guarded.run(CALL, "127.0.0.1", provider.port)
    assert guarded.status("acme")["total"]["failed"] == calls + 1
    guarded.prebreak("hold", "acme", "open")
    assert guarded.run(program, provider.port, "send", "recv", LD_PRELOAD=small).stdout == "connect ECONNREFUSED\n"
