"""Behind TLS, request by request: each way of using a TLS library, and whatever else can be loaded under its name."""

import subprocess

import pytest

from harness import BUILD
from matrix import PYTHON
from secure import always, every

# What each case of clients/tls.c prints, and how the calls were counted: `ok`, `failed` and of which kind.
CASES = {
    "kept": (["200", "503", "404"], {"ok": 2, "failed": 1}, "status"),
    "by-bytes": (["503", "503"], {"failed": 2}, "status"),
    "peeking": (["503", "200"], {"ok": 1, "failed": 1}, "status"),
    "implicit": (["200", "503"], {"ok": 1, "failed": 1}, "status"),
    "cleared": (["200", "503", "503"], {"ok": 1, "failed": 2}, "status"),
    "renegotiated": (["200", "503"], {"ok": 1, "failed": 1}, "status"),
    "early": (["200", "taken", "503", "200"], {"ok": 2, "failed": 1}, "status"),
    "early-rejected": (["200", "503", "200"], {"ok": 2, "failed": 1}, "status"),
    "unwelcome": (["no answer: 1"], {"failed": 1}, "tls"),
    "unused": ([], {"ok": 1}, None),
    "until-goodbye": (["some, then 6"], {"ok": 1}, None),
    "cut-off": (["some, then 1"], {"failed": 1}, "reset"),
    "forked": (["200", "503"], {"ok": 1}, None),  # the child's is its parent's affair
    "piecewise": (["503", "503"], {"failed": 2}, "status"),
    "with-errors": (["200", "242", "503", "0", "200"], {"ok": 2, "failed": 1}, "status"),
    "gnutls-kept": (["200", "503"], {"ok": 1, "failed": 1}, "status"),
    "gnutls-corked": (["503", "503"], {"failed": 2}, "status"),
    "gnutls-piecewise": (["503", "503"], {"failed": 2}, "status"),
    "both": (["503", "200", "503", "200"], {"ok": 2, "failed": 2}, "status"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_way_of_using_a_library_is_counted_request_by_request(guest, certificate, case):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test trip=0 min=1000"
    lines, counts, kind = CASES[case]

    done = guest.run(BUILD / "clients" / "tls", case, certificate.file, certificate.key, timeout=30)

    statuses = [line for line in lines if line in ("200", "404", "503") or line.startswith("some")]
    assert (done.stdout.splitlines(), done.stderr) == ([*lines, f"served {len(statuses)}"], "")
    if not guest.preloaded:
        return
    status = guest.status("acme")
    expected = {"ok": 0, "failed": 0, "neutral": 0, "refused": 0} | counts
    assert {key: status["total"][key] for key in expected} == expected
    assert status["total"]["calls"] == sum(counts.values()) and status["inflight"] == 0
    assert {key: count for key, count in status["failures"].items() if count} == (
        {kind: counts["failed"]} if kind else {}
    )


# ---- a caller that nobody sees ------------------------------------------------------------------------------------------

LOOKED_UP = """
import ctypes, sys
curl = ctypes.CDLL(sys.argv[1])
curl.curl_easy_init.restype = ctypes.c_void_p
easy = ctypes.c_void_p(curl.curl_easy_init())
curl.curl_easy_setopt(easy, 10002, sys.argv[2].encode())
curl.curl_easy_setopt(easy, 64, ctypes.c_long(0))
curl.curl_easy_setopt(easy, 81, ctypes.c_long(0))
print([curl.curl_easy_perform(easy) for _ in range(6)])
"""


@pytest.mark.parametrize("library", ["libcurl.so.4", "libcurl-gnutls.so.4"])
def test_libcurl_that_a_program_looked_up_is_seen_at_its_tls_library(guest, serve, library):
    guest.settings["PREBREAK_PROVIDERS"] = "acme acme.test trip=0 min=1000"
    guest.names = {"acme.test": ["127.0.0.1"]}
    server, _ = serve(["127.0.0.1"])
    server.script["*"] = every(3, always(503))
    done = guest.run(PYTHON, "-c", LOOKED_UP, library, f"https://acme.test:{server.port}/")
    assert "[0, 0, 0, 0, 0, 0]" in done.stdout, done.stderr
    assert server.statuses() == {200: 4, 503: 2} and server.connections == 1
    if guest.preloaded:
        total = guest.status("acme")["total"]
        assert (total["calls"], total["ok"], total["failed"]) == (6, 4, 2)


# ---- several libraries of one name --------------------------------------------------------------------------------------

LIBRARY = """
int SSL_write(void *ssl, const void *bytes, int length) { return NUMBER; }
int SSL_read(void *ssl, void *bytes, int length) { return NUMBER; }
int SSL_do_handshake(void *ssl) { return NUMBER; }
int SSL_connect(void *ssl) { return SSL_do_handshake(ssl); }
void SSL_free(void *ssl) {}
"""
# What calls it: by a call of its own, and by a jump, after which nobody can tell who called.
MODULE = """
int SSL_write(void *, const void *, int), SSL_read(void *, void *, int), SSL_connect(void *);
void SSL_free(void *);
int writes(void *ssl) { return SSL_write(ssl, "", 0) + 0 * NUMBER; }
int reads(void *ssl) { int got = SSL_read(ssl, 0, 0); SSL_free(ssl); return got; }
int connects(void *ssl) { int done = SSL_connect(ssl); __asm__ volatile("" ::: "memory"); return done; }
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    static char objects[2][4096];
    const char *names[] = {"./module1.so", "./module2.so"};
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 2; i++) {
            void *module = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
            int (*connects)(void *) = dlsym(module, "connects"), (*reads)(void *) = dlsym(module, "reads");
            int (*writes)(void *) = dlsym(module, "writes");
            if (turn == 1 && JUMPS) printf("%d ", writes(objects[i]));
            printf("%d %d\\n", connects(objects[i]), reads(objects[i]));
            if (turn == 2) dlclose(module);
        }
    }
    return 0;
}
"""


def build(directory, name, source, *options):
    (directory / f"{name}.c").write_text(source)
    words = ["cc", "-w", "-O2", "-o", directory / name, directory / f"{name}.c", f"-L{directory}", f"-Wl,-rpath,{directory}"]
    subprocess.run([*words, *options], check=True)


def test_each_module_gets_the_library_that_it_was_linked_with(guest):
    """Two that nobody sees but their modules, loaded and unloaded by turns."""
    there = guest.directory
    for number in "12":
        more = [f"-DNUMBER={number}", "-shared", "-fPIC"]
        build(there, f"libtls{number}.so", LIBRARY, *more)
        build(there, f"module{number}.so", MODULE, *more, f"-l:libtls{number}.so")
    build(there, "program", PROGRAM, "-DJUMPS=0", "-ldl")
    assert guest.run(there / "program").stdout.splitlines() == ["1 1", "2 2"] * 3


def test_only_library_is_found_for_who_hides_behind_a_jump(guest):
    there = guest.directory
    build(there, "libtls1.so", LIBRARY, "-DNUMBER=1", "-shared", "-fPIC")
    build(there, "module1.so", MODULE, "-DNUMBER=0", "-shared", "-fPIC", "-l:libtls1.so")
    build(there, "program", PROGRAM.replace("i < 2", "i < 1"), "-DJUMPS=1", "-ldl")
    assert guest.run(there / "program").stdout.splitlines() == ["1 1", "1 1 1", "1 1"]
