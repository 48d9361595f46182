"""What a call costs where it is to cost nothing: system calls, and instructions as valgrind counts them."""

import re

import pytest

from harness import BUILD
from opaque import Opaque, redis
from test_hooks import pair, system_calls  # noqa: F401 (pair is a fixture)

KEPT_ALIVE = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    connection.request("GET", "/", headers={"Accept": "text/plain"})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.read()
"""


TURNS = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for _ in range(int(sys.argv[2])):
    connection.sendall(b"*1\\r\\n$4\\r\\nPING\\r\\n")
    assert connection.recv(100) == b"+PONG\\r\\n"
"""


def a_thousand(pair, program, port):  # noqa: F811
    """The system calls that a thousand exchanges more take without prebreak, and with it."""
    more = []
    for guest in pair:
        few, many = (system_calls(guest, "/usr/bin/python3", "-c", program, port, calls) for calls in (20, 1020))
        more.append(many - few)
    return more


def test_turns_on_a_connection_that_cannot_be_read_take_no_system_call_of_ours(pair):  # noqa: F811
    server = Opaque(redis, ["127.0.0.1"])
    without, preloaded = a_thousand(pair, TURNS, server.port)
    server.close()
    assert preloaded["sendto"] == without["sendto"] == 1000
    assert preloaded["recvfrom"] == without["recvfrom"] == 1000
    # Nothing is read of them before they are written, so that nobody need ask whether it can be
    assert preloaded["futex"] - without["futex"] <= 2
    # The look once a second takes a few.
    assert sum((preloaded - without).values()) <= 60, preloaded - without
    assert pair[1].status(f"127.0.0.1:{server.port}")["total"]["ok"] == 20 + 1020


def test_exchanges_on_a_kept_connection_take_no_system_call_of_ours(pair, provider):  # noqa: F811
    without, preloaded = a_thousand(pair, KEPT_ALIVE, provider.port)
    assert preloaded["sendto"] == without["sendto"] == 1000
    assert preloaded["recvfrom"] == without["recvfrom"]
    # The look once a second takes a few, and so do buffers on pages that were not read from within that second.
    assert sum((preloaded - without).values()) <= 60, preloaded - without
    assert provider.requests() == 2 * (20 + 1020)


BENCH = BUILD / "bench"


def instructions(guest, *command):
    """Instructions a call: what twice as many take more, so that the program's start falls out."""
    calls, counted = 5000, []
    for times in (1, 2):
        done = guest.run(
            "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command, times * calls, check=True
        )
        counted.append(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
    return (counted[1] - counted[0]) / calls


# A time depends on the machine and on what else it does; a count does not. The bounds are half as much again as is needed.
@pytest.mark.parametrize("what, most", [("admit", 450), ("report", 900)])
def test_decision_takes_few_instructions(plain, what, most):
    assert instructions(plain, BENCH / "breaker", "count", what) <= most


def test_untracked_read_takes_few_instructions_more(pair):  # noqa: F811
    without, preloaded = (instructions(guest, BENCH / "io", "count") for guest in pair)
    assert preloaded - without <= 20
