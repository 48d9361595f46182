"""Whatever call a program writes and reads with: the same is seen, and the same is refused."""

import subprocess

import pytest

from harness import BUILD

PYTHON = "/usr/bin/python3"
WAYS = BUILD / "clients" / "ways"
SEEN = ["send", "__send", "sendto", "sendmsg", "sendmmsg", "write", "__write", "writev", "pwritev2", "pwritev64v2", "zerocopy"]
SEEN += ["urgent"]
UNSEEN = ["sendfile", "sendfile64", "splice", "dprintf", "__dprintf_chk", "vdprintf", "__vdprintf_chk"]
OPENING = ["fastopen", "fastopen-message", "fastopen-messages", "fastopen-connect"]
READS = ["recv", "recvfrom", "read", "__read", "recvmsg", "recvmmsg", "readv", "preadv2", "preadv64v2", "peek", "waitall"]


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1 trip=0 min=1000"
    return guarded


def total(guest):
    return {key: value for key, value in guest.status("acme")["total"].items() if value}


def ways(guest, provider, *words):
    done = guest.run(WAYS, provider.port, *words)
    assert done.returncode == 0, done
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("write, read", [(way, "recv") for way in SEEN + OPENING] + [("send", way) for way in READS])
def test_status_is_seen_and_a_call_refused(acme, provider, write, read):
    provider.set(status=503)
    assert ways(acme, provider, write, read, 3) == ["503"] * 3
    assert total(acme) == {"calls": 3, "failed": 3}

    acme.prebreak("hold", "acme", "open")
    hidden = write in OPENING and write != "fastopen-connect"
    assert ways(acme, provider, write, read, 2) == [("write" if hidden else "connect") + " ECONNREFUSED"] * 2
    assert total(acme) == {"calls": 5, "failed": 3, "refused": 2} and provider.requests() == 3


@pytest.mark.parametrize("write", UNSEEN)
def test_request_that_is_not_seen_is_told_of_by_its_answer(acme, provider, write):
    provider.set(status=503)
    assert ways(acme, provider, write, "recv", 3) == ["503"] * 3
    assert total(acme) == {"calls": 3, "failed": 3}


KEPT = """
import os, socket, sys
port, how = int(sys.argv[1]), sys.argv[2]
peer = socket.create_connection(("127.0.0.1", port))
body, fields = b"x" * 70000, b"Host: acme.test\\r\\n"
whole, head = b"GET / HTTP/1.1\\r\\n" + fields + b"\\r\\n", b"POST / HTTP/1.1\\r\\n" + fields + b"Content-Length: 70000\\r\\n\\r\\n"
with open("bytes", "wb") as file:
    file.write(whole if how == "whole" else body)
source = os.open("bytes", os.O_RDONLY)
def unseen(count):
    sent = 0
    while sent < count:
        sent += os.sendfile(peer.fileno(), source, sent, count - sent)
def call(seen):
    try:
        if how == "whole" and not seen:
            unseen(len(whole))
        elif how == "whole":
            peer.sendall(whole)
        else:
            peer.sendall(head)
            unseen(len(body))
        return peer.recv(4096)[9:12].decode()
    except OSError as error:
        return str(error.errno)
for line in sys.stdin:
    print(call(line == "seen\\n"), flush=True)
"""


@pytest.fixture
def kept(acme, provider):
    """Asks again and again on one connection."""

    def make(how):
        child = acme.start(PYTHON, "-c", KEPT, provider.port, how, stdin=subprocess.PIPE)

        def ask(word):
            child.stdin.write(word + "\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        return ask

    return make


@pytest.mark.parametrize("held", [False, True], ids=["let through", "held open"])
def test_request_that_begins_unseen_on_a_kept_connection_is_a_call_like_the_one_before(acme, provider, kept, held):
    ask = kept("whole")
    assert ask("seen") == "200"
    provider.set(status=503)
    if held:
        acme.prebreak("hold", "acme", "open")
        assert ask("unseen") == "104" and provider.requests() == 1
        assert total(acme) == {"calls": 2, "ok": 1, "refused": 1}
    else:
        assert ask("unseen") == "503"
        assert total(acme) == {"calls": 2, "ok": 1, "failed": 1}


def test_request_whose_body_alone_is_not_seen_is_followed_by_others(acme, provider, kept):
    ask = kept("body")
    assert ask("seen") == ask("seen") == "200"
    provider.set(status=503)
    assert ask("seen") == "503" and provider.report()["connections"] == 1
    assert total(acme) == {"calls": 3, "ok": 2, "failed": 1}
    acme.prebreak("hold", "acme", "open")
    assert ask("seen") == "104" and provider.requests() == 3
    assert total(acme) == {"calls": 4, "ok": 2, "failed": 1, "refused": 1}


@pytest.mark.parametrize("write, read", [(way, "recv") for way in UNSEEN] + [("send", "splice"), ("sendfile", "splice")])
def test_call_whose_bytes_are_not_seen_is_one_that_was_answered(acme, provider, write, read):
    assert ways(acme, provider, write, read, 3) == ["200"] * 3
    assert total(acme) == {"calls": 3, "ok": 3}

    acme.prebreak("hold", "acme", "open")
    assert ways(acme, provider, write, read) == ["connect ECONNREFUSED"]
    assert provider.requests() == 3


@pytest.mark.parametrize("write", SEEN)
def test_later_request_on_a_kept_alive_connection_is_refused_before_its_first_byte(acme, provider, write):
    child = acme.start(WAYS, provider.port, write, "recv", 3, "keep", stdin=subprocess.PIPE)
    assert child.stdout.readline() == "200\n"
    acme.prebreak("hold", "acme", "open")
    said, _ = child.communicate("\n\n", timeout=30)
    # The second write is to a connection that was condemned; no signal comes of it
    assert said.split("\n")[:-1] == ["write ECONNRESET"] * 2 and child.returncode == 0
    assert provider.requests() == 1


@pytest.mark.parametrize("write", ["sendfile", "splice"])
def test_unseen_write_to_a_condemned_connection_fails_without_a_signal(acme, provider, write):
    program = """
import os, signal, socket, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def exchange():
    try:
        peer.send(b"GET / HTTP/1.1\\r\\nHost: acme.test\\r\\n\\r\\n")
        return peer.recv(4096)[9:12].decode()
    except OSError as error:
        return str(error.errno)
def unseen():
    try:
        if sys.argv[2] == "splice":
            ends = os.pipe()
            os.write(ends[1], b"more")
            os.splice(ends[0], peer.fileno(), 4)
        else:
            os.sendfile(peer.fileno(), os.open("/etc/passwd", os.O_RDONLY), 0, 4)
        return "sent"
    except OSError as error:
        return str(error.errno)
print(exchange(), flush=True)
sys.stdin.readline()
print(exchange(), unseen(), flush=True)
"""
    child = acme.start(PYTHON, "-c", program, provider.port, write, stdin=subprocess.PIPE)
    assert child.stdout.readline() == "200\n"
    acme.prebreak("hold", "acme", "open")
    said, _ = child.communicate("\n", timeout=30)
    assert said == "104 104\n" and child.returncode == 0


@pytest.mark.parametrize("write", OPENING)
def test_hidden_connect_to_a_dead_server_failed_at_connecting(acme, provider, write):
    provider.listener("refuse")
    said = ways(acme, provider, write, "recv", 2)
    assert set(said) <= {"write ECONNREFUSED", "connect ECONNREFUSED"}
    assert total(acme) == {"calls": 2, "failed": 2}
    assert acme.status("acme")["failures"]["connect"] == 2


TWO_NAMES = """
import socket, sys
port = int(sys.argv[1])
for name in "good.test", "bad.test":
    socket.getaddrinfo(name, port)
for name in "good.test", "bad.test", "good.test":
    with socket.socket() as peer:
        request = f"GET / HTTP/1.0\\r\\nHost: {name}\\r\\n\\r\\n".encode()
        try:
            peer.sendto(request, socket.MSG_FASTOPEN, ("127.0.0.1", port))
            print(peer.recv(4096)[9:12].decode())
        except OSError as error:
            print(error.errno)
            peer.connect(("127.0.0.1", port)) # by another way: not condemned for good
            peer.sendall(request.replace(b"bad", b"good"))
            print(peer.recv(4096)[9:12].decode())
"""


def test_hidden_connect_to_an_address_of_two_providers_is_decided_by_its_request(guarded, provider):
    guarded.settings["PREBREAK_PROVIDERS"] = "good good.test; bad bad.test"
    guarded.names = {"good.test": ["127.0.0.1"], "bad.test": ["127.0.0.1"]}
    assert guarded.run(PYTHON, "-c", TWO_NAMES, provider.port).stdout == "200\n" * 3
    guarded.prebreak("hold", "bad", "open")
    assert guarded.run(PYTHON, "-c", TWO_NAMES, provider.port).stdout == "200\n104\n200\n200\n"
    assert provider.requests("bad.test") == 1 and guarded.status("bad")["total"]["refused"] == 1
    assert guarded.status("good")["total"]["ok"] == 5 == provider.requests("good.test")


# ---- TCP Fast Open that does what it is for --------------------------------------------------------------------------------

FAST_SERVER = """
import socket, sys, threading
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", 0))
server.setsockopt(socket.IPPROTO_TCP, 23, 16) # TCP_FASTOPEN
server.listen()
print(server.getsockname()[1], flush=True)
def serve():
    while True:
        peer, _ = server.accept()
        peer.recv(4096)
        peer.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
        peer.close()
threading.Thread(target=serve, daemon=True).start()
sys.stdin.readline()
server.shutdown(socket.SHUT_RDWR)
server.close()
print("gone", flush=True)
sys.stdin.readline()
"""

FAST = r"""
ip link set lo up && echo 3 > /proc/sys/net/ipv4/tcp_fastopen || exit 99
exec "$@"
"""


@pytest.mark.parametrize("write", OPENING)
def test_connect_that_was_put_off_fails_as_a_connect_when_the_server_is_gone(acme, need_namespaces, write):
    script = f"""
import subprocess, sys, os
guarded = dict(os.environ, LD_PRELOAD=os.environ["GUARD"])
server = subprocess.Popen([sys.executable, "-c", {FAST_SERVER!r}], stdin=-1, stdout=-1, text=True)
port = server.stdout.readline().strip()
def call(count):
    return subprocess.run([{str(WAYS)!r}, port, {write!r}, "recv", count], env=guarded, capture_output=True, text=True).stdout
print(call("3"), end="") # the first one gets the cookie
server.stdin.write("\\n")
server.stdin.flush()
server.stdout.readline()
print(call("2"), end="")
server.stdin.close()
"""
    guard = acme.environment()["LD_PRELOAD"]
    done = acme.run("unshare", "-n", "sh", "-c", FAST, "sh", PYTHON, "-c", script, LD_PRELOAD=None, GUARD=guard)
    if done.returncode == 99:
        pytest.skip("needs a network namespace with TCP Fast Open")
    assert done.stdout.split("\n")[:3] == ["200"] * 3, done
    assert all(line.endswith("ECONNREFUSED") for line in done.stdout.split("\n")[3:5]), done
    assert total(acme) == {"calls": 5, "ok": 3, "failed": 2}
    assert acme.status("acme")["failures"]["connect"] == 2


# ---- names -----------------------------------------------------------------------------------------------------------------

LOOKUPS = r"""
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <errno.h>

static struct sockaddr_storage to;
static socklen_t length;

static void take(struct hostent *host, const char *port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    memcpy(&in.sin_addr, host->h_addr_list[0], 4);
    memcpy(&to, &in, length = sizeof in);
}

int main(int argc, char **argv)
{
    const char *how = argv[1], *name = argv[2], *port = argv[3];
    char room[4000];
    struct hostent entry, *host = NULL;
    int error;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct gaicb request = {.ar_name = name, .ar_service = port, .ar_request = &hints}, *list[] = {&request, NULL};
    if (!strcmp(how, "gethostbyname")) host = gethostbyname(name);
    if (!strcmp(how, "gethostbyname2")) host = gethostbyname2(name, AF_INET);
    if (!strcmp(how, "gethostbyname_r")) gethostbyname_r(name, &entry, room, sizeof room, &host, &error);
    if (!strcmp(how, "gethostbyname2_r")) gethostbyname2_r(name, AF_INET, &entry, room, sizeof room, &host, &error);
    if (host) take(host, port);
    if (!strncmp(how, "getaddrinfo_a", 13)) {
        int waits = !strcmp(how, "getaddrinfo_a wait");
        getaddrinfo_a(waits ? GAI_WAIT : GAI_NOWAIT, list, 2, NULL);
        while (!waits && gai_error(&request) == EAI_INPROGRESS) usleep(1000);
        if (!request.ar_result) return 2;
        memcpy(&to, request.ar_result->ai_addr, length = request.ar_result->ai_addrlen);
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    errno = 0;
    connect(fd, (struct sockaddr *)&to, length);
    puts(errno == 0 ? "connected" : strerrorname_np(errno));
    return 0;
}
"""


@pytest.mark.parametrize(
    "how",
    ["gethostbyname", "gethostbyname2", "gethostbyname_r", "gethostbyname2_r", "getaddrinfo_a wait", "getaddrinfo_a poll"],
)
def test_name_is_known_by_whichever_way_it_was_resolved(acme, provider, how, need_namespaces, tmp_path):
    acme.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    (tmp_path / "lookups.c").write_text(LOOKUPS)
    subprocess.run(["cc", "-w", "-D_GNU_SOURCE", "-o", tmp_path / "lookups", tmp_path / "lookups.c"], check=True)
    # A hosts file of its own: nss_wrapper does not stand in for getaddrinfo_a
    (tmp_path / "hosts.own").write_text("127.0.0.1 acme.test\n")
    guard = acme.environment()["LD_PRELOAD"]

    def call():
        script = 'mount --bind hosts.own /etc/hosts && LD_PRELOAD=$GUARD exec "$@"'
        words = ["unshare", "-m", "sh", "-c", script, "sh", tmp_path / "lookups", how, "acme.test", provider.port]
        return acme.run(*words, LD_PRELOAD=None, GUARD=guard).stdout

    assert call() == "connected\n"
    acme.prebreak("hold", "acme", "open")
    assert call() == "ECONNREFUSED\n"
    assert total(acme)["refused"] == 1
