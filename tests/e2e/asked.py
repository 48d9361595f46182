"""Clients that live as long as the test and make a request whenever they are told to: clients/asked/PROGRAM URL kept|fresh.

Each line of its stdin is a path, or a whole URL for those that take one; each line that it prints is a status, or its own
words of what went wrong.
"""

import dataclasses
import os
import pathlib
import select
import subprocess
import sys
import time

import pytest

from harness import LIMIT
from matrix import CLIENTS, PYTHON, Client, said

ASKED = CLIENTS.parent / "asked"


@dataclasses.dataclass(frozen=True)
class Asked:
    name: str
    words: tuple  # the second is a file of ASKED
    module: str = None
    needs: str = None
    ways: tuple = ("kept", "fresh")  # what it does with a connection after a request
    http2: bool = False
    curl: bool = False  # its calls are transfers

    missing = Client.missing


CLIENTS_ASKED = [
    Asked("requests", (PYTHON, "python_requests.py"), module="requests"),
    Asked("httpx", (PYTHON, "python_httpx.py"), module="httpx"),
    Asked("httpx async", (PYTHON, "python_httpx_async.py"), module="httpx"),
    Asked("httpx over HTTP/2", (PYTHON, "python_httpx.py", "http2"), module="h2", http2=True),
    Asked("aiohttp", (PYTHON, "python_aiohttp.py"), module="aiohttp"),
    Asked("LWP", ("perl", "lwp.pl")),
    Asked("Ruby", ("ruby", "net_http.rb")),
    Asked("wget", ("sh", "wget.sh"), needs="wget", ways=("fresh",)),
    Asked("PHP streams", ("php", "streams.php")),
    Asked("PHP curl", ("php", "curl.php"), curl=True),
]


class Caller:
    """One such client, running; `call()` is a status, or what its words mean (matrix.SAID).

    A reset is a request that was refused on a connection that stands, where nobody else resets.
    """

    def __init__(self, guest, client, way, url, environment):
        self.url, self.way, self.resets = url, way, 0
        program, file, *more = client.words
        self.process = guest.start(
            program, ASKED / file, url, way, *more, stdin=subprocess.PIPE, stderr=sys.stderr, **environment
        )

    def call(self, what="x"):
        self.ask(what)
        return self.hear()

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def hear(self):
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT / 4)
        assert ready, f"{self.url}, {self.way}: hangs"
        what = said(self.process.stdout.readline())
        self.resets += what == "reset"
        return "refused" if what == "reset" else what


    def spins(self, seconds=0.5):
        """Is it busy, though nobody asks it anything?"""
        before = self.cpu()
        time.sleep(seconds)
        return self.cpu() - before > seconds / 2

    def cpu(self):
        times = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def asked(table=CLIENTS_ASKED):
    """For a test of each, skipped by name where it is not installed."""
    return pytest.mark.parametrize("client", table, ids=lambda each: each.name)


def skip_missing(client):
    if client.missing():
        pytest.skip(client.missing())
