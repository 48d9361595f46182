"""The region's bytes mean the same to 32- and 64-bit processes and to every compiler."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [source for part in ("state", "breaker", "real") for source in sorted((ROOT / "src" / part).glob("*.c"))]


def compiler(name, words):
    """The command, or skip: freestanding, so that no libc of that word size is needed."""
    command = [name, "-std=c11", "-D_GNU_SOURCE", words, "-I", ROOT / "include", "-I", ROOT / "src"]
    if not shutil.which(name):
        pytest.skip(f"no {name} here")
    if subprocess.run([*command, "-ffreestanding", "-fsyntax-only", "-x", "c", "/dev/null"]).returncode != 0:
        pytest.skip(f"{name} knows no {words} here")
    return command


@pytest.mark.parametrize("words", ["-m32", "-m64"])
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_layout_is_the_same_for_every_word_size(name, words):
    command = [*compiler(name, words), "-ffreestanding", "-fsyntax-only", "-x", "c"]
    subprocess.run([*command, ROOT / "tests/unit/region_layout.h"], check=True)


def test_processes_of_both_word_sizes_share_one_memory(tmp_path):
    said = []
    for words in ("-m64", "-m32", "-m64"):
        program = tmp_path / f"share{words}"
        command = [*compiler("gcc", words), "-o", program, ROOT / "tests/unit/share_region.c", *SOURCES, "-lm"]
        if not program.exists() and subprocess.run(command).returncode != 0:
            pytest.skip(f"no libc for {words} here")
        done = subprocess.run([program, tmp_path / "region"], stdout=subprocess.PIPE, text=True, check=True)
        said.append(dict(field.split("=") for field in done.stdout.split()))
    assert [line["ok"] for line in said] == ["100", "200", "300"]
    assert [line["held"] for line in said] == ["closed", "held-open", "held-open"]
    assert [line["events"] for line in said] == ["1", "2", "3"]
    for same in ("trouble", "slot", "identity", "namespace"):
        assert len({line[same] for line in said}) == 1, same
