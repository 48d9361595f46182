"""What the hooks cost in system calls, and what programs do that a careless hook would trip over."""

import collections
import re

import pytest

from harness import CALL
from test_library import compiled


def system_calls(guest, *command):
    """How often a program makes each system call, its forks included."""
    trace = guest.directory / "trace"
    guest.run("strace", "-f", "-o", trace, *command)
    names = re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.M)
    return collections.Counter(names)


@pytest.fixture
def pair(tmp_path):
    """The same directory with prebreak and without."""
    from harness import Guest

    guests = Guest(tmp_path, preloaded=False), Guest(tmp_path, preloaded=True)
    yield guests
    for guest in guests:
        guest.close()


def test_start_opens_nothing_of_ours_and_maps_nothing(pair):
    without, preloaded = (system_calls(guest, "/bin/true") for guest in pair)
    more = preloaded - without
    # To load the object at all takes some; of our own: our pid, the inode of fd 2, memory that forks find empty
    assert more["openat"] <= 1 and more["socket"] == 0
    assert sum((more - collections.Counter({"openat": 1, "read": 1, "close": 1, "mmap": 5, "mprotect": 1, "brk": 1})).values()) <= 8


def test_reading_and_writing_what_is_not_followed_takes_no_system_call_of_ours(pair):
    (pair[0].directory / "file").write_bytes(b"x" * 100000)
    counts = []
    for guest in pair:
        few, many = (
            system_calls(guest, "dd", "if=file", "of=/dev/null", "bs=100", f"count={count}", "status=none")
            for count in (100, 600)
        )
        counts.append(many - few)
    assert counts[0] == counts[1] == {"read": 500, "write": 500}


def test_refused_connect_takes_at_most_one_system_call(pair, provider):
    guest = pair[1]
    provider.set(status=503)
    guest.settings["PREBREAK_PROVIDERS"] = "acme * probe=30s..30s"
    guest.run(CALL, "--calls", 100, "127.0.0.1", provider.port)
    assert guest.phase("acme") == "open"
    few, many = (system_calls(guest, CALL, "--calls", calls, "127.0.0.1", provider.port) for calls in (10, 510))
    more = many - few
    ours = {name: count for name, count in more.items() if name not in ("socket", "close", "write", "connect")}
    assert more["connect"] < 10, "none reached the kernel, but a probe"
    # A few for the look once a second
    assert sum(ours.values()) <= 500 + 30, ours


CHILDREN = """
import os, socket, subprocess, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nX-Slow: 1\\r\\n\\r\\n")
# vfork children that close everything, among it the number that is followed in the parent
for _ in range(5):
    subprocess.run(["true"], close_fds=True, check=True)
os.popen("true").read()
os.system("true")
pid = os.fork()
if pid == 0:
    s.close()
    os._exit(0)
os.waitpid(pid, 0)
print(s.recv(12).decode(), end="")
s.recv(4096)
"""


def test_children_of_vfork_and_fork_change_nothing_of_the_parents_connections(guest, provider):
    guest.settings["PREBREAK_PROVIDERS"] = "acme *"
    provider.set(status=503)
    done = guest.run("/usr/bin/python3", "-c", CHILDREN, provider.port)
    assert (done.stdout, done.stderr) == ("HTTP/1.1 503", "")
    if guest.preloaded:
        total = guest.status("acme")["total"]
        assert total["failed"] == 1 and total["calls"] == 1


DUPLEX = r"""
/* One thread writes requests, another reads answers, on one connection that is kept. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd;
static int answered;

static void *read_all(void *unused)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof bytes, 0) > 0) {
        __atomic_add_fetch(&answered, 1, __ATOMIC_SEQ_CST);
    }
    return unused;
}

int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&a, sizeof a);
    pthread_t reader;
    pthread_create(&reader, NULL, read_all, NULL);
    for (int i = 0; i < atoi(argv[2]); i++) {
        send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
        while (__atomic_load_n(&answered, __ATOMIC_SEQ_CST) <= i) {
            sched_yield();
        }
    }
    shutdown(fd, SHUT_RDWR);
    pthread_join(reader, NULL);
    close(fd);
    printf("%d\n", answered);
}
"""


def test_reader_and_writer_on_one_connection_are_counted_to_the_call(guarded, provider):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme *"
    program = compiled(guarded.directory, DUPLEX, "-lpthread")
    assert guarded.run(program, provider.port, 2000).stdout == "2000\n"
    total = guarded.status("acme")["total"]
    assert total["ok"] == total["calls"] == provider.report()["requests"] == 2000


CONFINED = r"""
/* Calls, puts itself under a filter that kills for anything but what it does itself, and goes on calling. */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int allowed[] = {SYS_socket, SYS_connect, SYS_sendto, SYS_recvfrom, SYS_close, SYS_write, SYS_exit_group};
#define N (sizeof allowed / sizeof *allowed)

static void confine(int how)
{
    struct sock_filter code[2 * N + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (unsigned i = 0; i < N; i++) {
        code[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        code[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[2 * N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {2 * N + 2, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (how == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) {
        _exit(3);
    }
}

static void say(const char *text)
{
    write(1, text, strlen(text));
}

static void call(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    char answer[512];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        say("refused\n");
    } else {
        send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
        say(recv(fd, answer, sizeof answer, 0) > 0 ? "answered\n" : "broken\n");
    }
    close(fd);
}

int main(int argc, char **argv)
{
    if (atoi(argv[3])) {
        call(atoi(argv[1]));
    }
    confine(atoi(argv[2]));
    for (int i = 0; i < 40; i++) {
        call(atoi(argv[1]));
    }
    _exit(0);
}
"""


@pytest.mark.parametrize("how", ["prctl", "syscall"])
@pytest.mark.parametrize("before", [False, True])
def test_program_under_a_filter_of_its_own_is_not_killed_for_us_and_is_protected(guest, provider, how, before):
    guest.settings["PREBREAK_PROVIDERS"] = "acme *"
    provider.set(status=503)
    program = compiled(guest.directory, CONFINED)
    done = guest.run(program, provider.port, ["prctl", "syscall"].index(how), int(before))
    said = done.stdout.split()
    assert done.returncode == 0 and len(said) == 40 + before
    if guest.preloaded:
        assert said.count("refused") >= 20 and provider.report()["requests"] == guest.status("acme")["total"]["failed"]
