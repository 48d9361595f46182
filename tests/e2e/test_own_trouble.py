"""What goes wrong on our own side says nothing about the provider, and what the client gives up says what it should."""

import pytest

from matrix import PYTHON

RULE = "acme 10.0.0.0/8 127.0.0.0/8 acme.test trip=0 min=1000"


def total(guest):
    return {key: value for key, value in guest.status("acme")["total"].items() if value}


# ---- the network says no, or it is our own routing table ------------------------------------------------------------------

# In a network of its own, with a neighbour that nobody is: the network's own word takes as long as it asks for him.
NETWORK = r"""
ip link set lo up && ip link add one type veth peer name two && ip link set one up && ip link set two up &&
    ip address add 10.9.0.1/24 dev one && echo 100 >/proc/sys/net/ipv4/neigh/one/retrans_time_ms &&
    ip route add unreachable 10.1.0.0/16 && ip route add prohibit 10.2.0.0/16 && ip route add blackhole 10.3.0.0/16 &&
    echo 20000 20001 >/proc/sys/net/ipv4/ip_local_port_range || exit 99
exec "$@"
"""

CONNECT = """
import errno, select, socket, sys
how, address = sys.argv[1:]
if how == "no ports":
    listener = socket.create_server(("127.0.0.1", 7000)) # the network is its own
    address, port = listener.getsockname()
    kept = [socket.create_connection((address, port)) for _ in range(2)]
else:
    port = 80
peer = socket.socket()
peer.setblocking(how != "poll")
error = peer.connect_ex((address, port))
if error == errno.EINPROGRESS:
    select.select([], [peer], [], 20)
    error = peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
print(errno.errorcode.get(error, error), flush=True)
"""


@pytest.mark.parametrize(
    "how, address, error, outcome",
    [
        ("block", "10.1.0.1", "EHOSTUNREACH", "neutral"),  # at once: our own routing table's
        ("block", "10.2.0.1", "EACCES", "neutral"),
        ("block", "10.3.0.1", "EINVAL", "neutral"),
        ("block", "10.4.0.1", "ENETUNREACH", "neutral"),
        ("poll", "10.4.0.1", "ENETUNREACH", "neutral"),
        ("no ports", "", "EADDRNOTAVAIL", "neutral"),
        ("block", "10.9.0.2", "EHOSTUNREACH", "failed"),  # after a while: the network's
        ("poll", "10.9.0.2", "EHOSTUNREACH", "failed"),
    ],
)
def test_own_network_is_held_against_nobody_and_the_providers_is(guest, need_namespaces, how, address, error, outcome):
    guest.settings["PREBREAK_PROVIDERS"] = RULE
    preload = guest.environment().get("LD_PRELOAD", "")
    words = ["env", f"LD_PRELOAD={preload}", PYTHON, "-c", CONNECT, how, address]
    done = guest.run("unshare", "-n", "sh", "-c", NETWORK, "sh", *words, LD_PRELOAD=None)
    if done.returncode == 99:
        pytest.skip("needs a network namespace")
    assert done.stdout == error + "\n", done
    if guest.preloaded:
        # Those that take up the ports were good connections
        good = {"ok": 2} if how == "no ports" else {}
        assert total(guest) == {"calls": 1 + sum(good.values()), outcome: 1, **good}


NO_DESCRIPTORS = """
import http.client, resource, sys
connection = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]))
connection.request("GET", "/")
print(connection.getresponse().status)
connection.close()
kept = []
resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))
try:
    while True:
        kept.append(open("/dev/null"))
except OSError:
    pass
for _ in range(30):
    try:
        http.client.HTTPConnection("127.0.0.1", int(sys.argv[2])).request("GET", "/")
    except OSError as error:
        said = error.strerror
print(said)
kept.clear()
connection.request("GET", "/")
print(connection.getresponse().status)
"""


def test_process_that_has_run_out_of_descriptors_holds_it_against_nobody(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = RULE
    done = guest.run(PYTHON, "-c", NO_DESCRIPTORS, "127.0.0.1", provider.port)
    assert done.stdout == "200\nToo many open files\n200\n", done
    if guest.preloaded:
        assert total(guest) == {"calls": 2, "ok": 2}


# ---- given up -------------------------------------------------------------------------------------------------------------

# A request to a server that falls silent, and the ways to have enough of it. Over a second, else it is only a change of mind.
GIVE_UP = """
import os, socket, struct, sys, time
how, port, patience = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
peer = socket.create_connection(("127.0.0.1", port))
peer.sendall(b"GET / HTTP/1.1\\r\\nHost: acme.test\\r\\n\\r\\n")
if how == "time limit":
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(patience), int(patience % 1 * 1e6)))
    try:
        os.read(peer.fileno(), 10)
    except BlockingIOError:
        pass
    # What counts is that it ran out, not that it is closed afterwards: it is looked at while it is open
    print("out of time", flush=True)
    sys.stdin.readline()
    os._exit(0)
time.sleep(patience)
if how == "close":
    peer.close()
elif how == "shutdown":
    peer.shutdown(socket.SHUT_RDWR)
elif how == "dup2":
    os.dup2(os.open("/dev/null", os.O_RDONLY), peer.fileno())
elif how == "close_range":
    os.closerange(3, 100)
print("given up", flush=True)
if how != "exit":
    sys.stdin.readline()
    os._exit(0)
peer.detach() # else the interpreter closes it before the process ends
"""


@pytest.mark.parametrize("patience, outcome", [(1.3, "failed"), (0.2, "neutral")])
@pytest.mark.parametrize("how", ["close", "shutdown", "dup2", "close_range", "time limit", "exit"])
def test_client_that_has_waited_long_enough_gave_up_and_one_that_has_not_changed_its_mind(guest, provider, how, patience, outcome):
    guest.settings["PREBREAK_PROVIDERS"] = RULE
    provider.set(action="hang")
    child = guest.start(PYTHON, "-c", GIVE_UP, how, provider.port, patience, stdin=-1)
    assert child.stdout.readline() in ("given up\n", "out of time\n")
    if how == "exit":
        child.wait()
    if guest.preloaded and not (how == "time limit" and outcome == "neutral"):
        assert total(guest) == {"calls": 1, outcome: 1}
        assert guest.status("acme")["failures"]["timeout"] == (outcome == "failed")
    child.communicate("\n")
    assert child.returncode == 0
