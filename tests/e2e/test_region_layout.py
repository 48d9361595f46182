"""The region's bytes are the same for 32- and 64-bit processes and for every compiler."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("words", ["-m32", "-m64"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_layout_is_the_same_for_every_word_size(compiler, words):
    if not shutil.which(compiler) or subprocess.run(["uname", "-m"], stdout=subprocess.PIPE).stdout != b"x86_64\n":
        pytest.skip("no such compiler here")
    # Freestanding: no libc of that word size is needed, for nothing is linked.
    command = [compiler, "-std=c11", words, "-ffreestanding", "-fsyntax-only", "-I", ROOT / "include", "-x", "c"]
    subprocess.run([*command, ROOT / "tests/unit/region_layout.h"], check=True)
