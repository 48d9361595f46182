"""The shared object itself: what it needs, what it exports, and that it is not felt where it has no business."""

import re
import socket
import subprocess
import sys

import pytest

from harness import BUILD, CALL, LIBRARY, ROOT, Guest


def exports():
    done = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True)
    return {line.split()[2].split("@")[0]: line.split()[1] for line in done.stdout.splitlines()}


def test_library_needs_libc_only():
    done = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
    assert set(needed) <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"} and "libc.so.6" in needed


def test_library_exports_exactly_its_hooks_and_no_variable():
    text = (ROOT / "src/hooks/exports.map").read_text()
    wanted = re.search(r"global:(.*?)local:", re.sub(r"/\*.*?\*/", "", text, flags=re.S), re.S).group(1)
    hooks = {name.strip() for name in wanted.split(";") if name.strip()}
    if sys.maxsize > 2**32:
        hooks -= {name for name in hooks if re.fullmatch(r"__\w+64", name)}  # of 32-bit machines
    assert set(exports()) == hooks
    assert set(exports().values()) <= {"T", "W"}, "functions only"


def test_library_has_no_version_node_and_no_writable_code():
    done = subprocess.run(["readelf", "-V", "-l", "-W", LIBRARY], capture_output=True, text=True, check=True)
    assert "Version definition" not in done.stdout
    assert not re.search(r"LOAD.*RWE", done.stdout) and "GNU_RELRO" in done.stdout


def compiled(directory, source, *options):
    (directory / "program.c").write_text(source)
    subprocess.run(["cc", "-w", "-D_GNU_SOURCE", "-o", directory / "program", directory / "program.c", *options], check=True)
    return directory / "program"


def test_errno_is_zero_at_main(guest):
    assert guest.run(compiled(guest.directory, "#include <errno.h>\nint main(){return errno;}")).returncode == 0


ERRNO_KEPT = r"""
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <unistd.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    const char *request = "GET / HTTP/1.0\r\n\r\n";
    char answer[1000];
    int error;
    socklen_t length = sizeof error;
#define KEPT(call) do { errno = 4242; if ((call) < 0 || errno != 4242) { printf("%s: %d\n", #call, errno); return 1; } } while (0)
    int fd = -1, other;
    KEPT(fd = socket(AF_INET, SOCK_STREAM, 0));
    KEPT(connect(fd, (struct sockaddr *)&a, sizeof a));
    KEPT(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length));
    KEPT(send(fd, request, strlen(request), 0));
    KEPT(recv(fd, answer, sizeof answer, 0));
    KEPT(other = dup(fd));
    KEPT(dup2(fd, other));
    KEPT(shutdown(fd, SHUT_RDWR));
    KEPT(close(other));
    KEPT(close(fd));
    return 0;
}
"""


def test_successful_calls_leave_errno_as_it_was(guest, provider):
    program = compiled(guest.directory, ERRNO_KEPT)
    done = guest.run(program, provider.port)
    assert (done.returncode, done.stdout) == (0, "")


NONSENSE = r"""
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <limits.h>

#define SAY(call) do { errno = 0; long r = (long)(call); printf("%s = %ld %s\n", #call, r, strerrorname_np(errno)); } while (0)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    void *volatile null = NULL, *volatile wild = (void *)16;
    char buffer[16], *b = buffer;
    struct msghdr message = {.msg_iov = wild, .msg_iovlen = 1};
    struct iovec bad = {wild, 10};
    struct addrinfo *list = NULL;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    int s = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_UNIX, SOCK_DGRAM, 0), d = socket(AF_INET, SOCK_DGRAM, 0);
    int pipes[2], closed = dup(s);
    pipe(pipes);
    close(closed);
    int fds[] = {-1, INT_MIN, INT_MAX, 1 << 20, closed, pipes[1], s, u};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        int fd = fds[i];
        printf("-- %u\n", i);
        SAY(connect(fd, null, 0));
        SAY(connect(fd, null, 16));
        SAY(connect(fd, wild, 16));
        SAY(connect(fd, wild, 1));
        SAY(connect(fd, (struct sockaddr *)&six, 2));
        SAY(connect(fd, (struct sockaddr *)&six, sizeof six));
        SAY(connect(fd, (struct sockaddr *)&six, -1));
        SAY(send(fd, null, 0, MSG_NOSIGNAL | MSG_DONTWAIT));
        SAY(send(fd, wild, 10, MSG_NOSIGNAL | MSG_DONTWAIT));
        SAY(sendto(fd, wild, 10, MSG_NOSIGNAL | MSG_DONTWAIT, wild, 16));
        SAY(sendmsg(fd, null, MSG_NOSIGNAL | MSG_DONTWAIT));
        SAY(sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
        SAY(recv(fd, wild, 10, MSG_DONTWAIT));
        SAY(recvfrom(fd, null, 10, MSG_DONTWAIT, wild, wild));
        SAY(recvmsg(fd, null, MSG_DONTWAIT));
        if (fd != pipes[1]) SAY(write(fd, wild, 0));
        SAY(writev(fd, null, -1));
        SAY(writev(fd, null, 0));
        SAY(readv(fd, null, -1));
        SAY(readv(fd, null, 2000));
        SAY(getsockopt(fd, SOL_SOCKET, SO_ERROR, null, null));
        SAY(getsockopt(fd, SOL_SOCKET, SO_ERROR, wild, wild));
        SAY(getsockopt(fd, 9999, 9999, b, (socklen_t *)b));
        SAY(shutdown(fd, 99));
        SAY(dup2(fd, -1));
        SAY(dup2(fd, INT_MAX));
        SAY(dup3(fd, fd, 0));
        SAY(fcntl(fd, F_DUPFD, -1));
        SAY(fcntl(fd, 9999, 0));
        SAY(fcntl(fd, F_GETFD));
    }
    SAY(close(-1));
    SAY(close(INT_MAX));
    SAY(close(closed));
    SAY(close_range(10, 5, 0));
    SAY(close_range(1 << 20, 1 << 21, 0));
    SAY(socket(-1, -1, -1));
    SAY(socket(AF_INET, 9999, 0));
    SAY(syscall(-1));
    SAY(syscall(99999, 1, 2, 3, 4, 5, 6));
    SAY(syscall(SYS_close, -1));
    SAY(getaddrinfo(null, null, null, &list));
    SAY(getaddrinfo("", "", null, &list));
    SAY(getaddrinfo("127.0.0.1", null, null, &list));
    SAY(getaddrinfo(null, "80", null, &list));
    SAY(getaddrinfo("not a name!", "http", null, &list) != 0);
    SAY(connect(d, (struct sockaddr *)&(struct sockaddr){.sa_family = AF_UNSPEC}, sizeof(struct sockaddr)));
    SAY(connect(s, (struct sockaddr *)&(struct sockaddr){.sa_family = AF_UNSPEC}, sizeof(struct sockaddr)));
    SAY(gethostbyname("127.0.0.1") != NULL);
    return 0;
}
"""


def test_nonsense_gets_what_the_real_calls_give(tmp_path):
    program = compiled(tmp_path, NONSENSE)
    said = {}
    for preloaded in (False, True):
        guest = Guest(tmp_path, preloaded)
        guest.settings["PREBREAK_PROVIDERS"] = "- 10.0.0.1; all *"
        done = guest.run(program)
        assert done.returncode == 0 and done.stderr == ""
        said[preloaded] = done.stdout
    assert said[True] == said[False]


CURL_NONSENSE = r"""
/* What a careless program does with libcurl. */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

static size_t drop(char *p, size_t n, size_t m, void *x) { return n * m; }

int main(int argc, char **argv)
{
    char text[CURL_ERROR_SIZE] = "";
    printf("null perform %d\n", curl_easy_perform(NULL));
    printf("null setopt %d\n", curl_easy_setopt(NULL, CURLOPT_URL, "x"));
    curl_easy_cleanup(NULL);
    CURL *c = curl_easy_init();
    printf("no URL %d\n", curl_easy_perform(c));
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, text);
    const char *urls[] = {"", " ", "http://", "http://[::1", "bogus://x/", "http://127.0.0.1:99999/", "file:///nowhere"};
    for (unsigned i = 0; i < sizeof urls / sizeof *urls; i++) {
        text[0] = 0;
        curl_easy_setopt(c, CURLOPT_URL, urls[i]);
        CURLcode code = curl_easy_perform(c);
        printf("%s: %d %s\n", urls[i], code, text);
    }
    printf("null URL %d\n", curl_easy_setopt(c, CURLOPT_URL, NULL));
    printf("%d\n", curl_easy_perform(c));
    printf("unknown option %d\n", curl_easy_setopt(c, (CURLoption)19999, 1L));
    long code = -1;
    printf("getinfo %d %ld\n", curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code), code);
    printf("bad getinfo %d\n", curl_easy_getinfo(c, (CURLINFO)0x2000ff, &code));
    CURL *d = curl_easy_duphandle(c);
    curl_easy_setopt(d, CURLOPT_URL, argv[1]);
    printf("dup %d\n", curl_easy_perform(d));
    curl_easy_reset(d);
    printf("reset %d\n", curl_easy_perform(d));
    curl_easy_cleanup(d);
    curl_easy_cleanup(c);
    return 0;
}
"""


def test_careless_use_of_libcurl_gets_what_libcurl_gives(tmp_path, provider):
    program = compiled(tmp_path, CURL_NONSENSE, "-lcurl")
    said = {}
    for preloaded in (False, True):
        done = Guest(tmp_path, preloaded).run(program, f"http://127.0.0.1:{provider.port}/")
        assert done.returncode == 0 and done.stderr == ""
        said[preloaded] = done.stdout
    assert said[True] == said[False]


def calls_of(guest, *command):
    trace = guest.directory / "trace"
    preload = guest.environment().get("LD_PRELOAD", "")
    words = ["strace", "-f", "-o", trace, "-E", f"LD_PRELOAD={preload}", *command]
    guest.run(*words, LD_PRELOAD=None, check=True)
    return [line.split(None, 1)[1] for line in trace.read_text().splitlines()]


def test_program_that_calls_nobody_maps_no_region_and_makes_few_more_system_calls(tmp_path):
    plain = calls_of(Guest(tmp_path, False), "/bin/true")
    guest = Guest(tmp_path, True)
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    ours = calls_of(guest, "/bin/true")
    assert not guest.state.exists() and not any(str(guest.state) in line for line in ours)
    # The loader's own work for one more object, and what the constructor looks at
    assert len(ours) - len(plain) <= 25, "\n".join(ours)


def test_stdout_and_stderr_of_a_program_are_its_own(guest, provider):
    for rules in (None, "acme 127.0.0.1", "complete nonsense here = ;;; %"):
        done = guest.run("curl", "-s", f"http://127.0.0.1:{provider.port}/", PREBREAK_PROVIDERS=rules)
        assert done.stdout == "x" * 15 + "\n" and done.stderr == "" and done.returncode == 0


def test_exit_code_and_death_by_signal_are_kept(guest):
    assert guest.run("/bin/sh", "-c", "exit 42").returncode == 42
    assert guest.run("/bin/sh", "-c", "kill -TERM $$").returncode == -15
