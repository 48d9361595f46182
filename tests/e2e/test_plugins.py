"""Objects loaded by a running program: PHP's extensions are seen, nobody else's dlopen is changed, modules come and go."""

import pathlib
import shutil
import subprocess

import pytest

from harness import ROOT, LIBRARY, Guest

PHP = next((path for path in ["/usr/bin/php"] if pathlib.Path(path).exists()), None)
need_php = pytest.mark.skipif(PHP is None, reason="needs php-cli")


def compile(directory, name, source, *options, compiler="cc"):
    """A program, or with -shared an object, from C text; returns its path."""
    text = directory / f"{name}.c"
    text.write_text(source)
    subprocess.run(
        [compiler, "-w", "-D_GNU_SOURCE", "-fPIC", "-o", directory / name, text, *options], check=True, cwd=directory
    )
    return directory / name


# ---- where a library is looked for -------------------------------------------------------------------------------------------

FINDER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 2; i++) { /* the first call binds the real function */
        void *handle = dlopen("libfar.so", RTLD_NOW);
        puts(handle ? "found" : dlerror());
        if (handle) dlclose(handle);
    }
    return 0;
}
"""

# The hook with nothing to decide
STAND_IN = "int plugin_flags(const char *path, int flags, const void *caller) { return flags; }"

COMPILERS = {
    "gcc -O0": ["cc", "-O0"],
    "gcc -O2": ["cc", "-O2", "-fstack-protector-all"],
    "gcc -O1 with sanitizers' instrumentation": ["cc", "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"],
    "gcc LTO": ["cc", "-O2", "-flto"],
    "clang -O0": ["clang", "-O0"],
    "clang -O2": ["clang", "-O2", "-fstack-protector-all"],
    "clang LTO": ["clang", "-O2", "-flto", "-fuse-ld=lld"],
}


def finder(directory):
    """A program beside whose own directory, as its RUNPATH says, a library lies that is nowhere else."""
    (directory / "far").mkdir()
    compile(directory / "far", "libfar.so", "int far;", "-shared")
    return compile(directory, "finder", FINDER, "-Wl,-rpath,$ORIGIN/far,--enable-new-dtags")


def shim(directory, loader, compiler, *options):
    (directory / "stand_in.c").write_text(STAND_IN)
    (directory / "empty.map").write_text("{ global: dlopen; dlclose; local: *; };")
    sources = [loader, directory / "stand_in.c", ROOT / "src/real/real.c", ROOT / "src/real/caller.c"]
    subprocess.run(
        [compiler, *options, "-std=gnu11", "-w", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden",
         f"-I{ROOT}/src", f"-I{ROOT}/include", "-o", directory / "shim.so", *sources,
         f"-Wl,--version-script={directory}/empty.map"], check=True,
    )  # fmt: skip
    return directory / "shim.so"


@pytest.mark.parametrize("how", COMPILERS.values(), ids=COMPILERS.keys())
def test_dlopen_looks_where_its_callers_object_says_however_it_is_compiled(tmp_path, how):
    if shutil.which(how[0]) is None or ("-fuse-ld=lld" in how and shutil.which("ld.lld") is None):
        pytest.skip(f"needs {how[0]}" + (" and lld" if "-fuse-ld=lld" in how else ""))
    library = shim(tmp_path, ROOT / "src/hooks/loader.c", *how)
    done = Guest(tmp_path, False).run(finder(tmp_path), LD_PRELOAD=library)
    assert done.stdout == "found\nfound\n", done.stderr


def test_dlopen_called_and_not_jumped_to_would_not(tmp_path):
    called = (ROOT / "src/hooks/loader.c").read_text().replace(
        "REAL_JUMP return real_dlopen(path, loader_flags);",
        "void *handle = real_dlopen(path, loader_flags); __asm__ volatile(\"\" ::: \"memory\"); return handle;",
    )
    (tmp_path / "called.c").write_text(called)
    library = shim(tmp_path, tmp_path / "called.c", "cc", "-O2")
    assert "found" not in Guest(tmp_path, False).run(finder(tmp_path), LD_PRELOAD=library).stdout


def test_dlopen_with_the_whole_library_finds_what_it_finds_without(guest):
    assert guest.run(finder(guest.directory)).stdout == "found\nfound\n"


# ---- whose flag is cleared -------------------------------------------------------------------------------------------------

# Comes after ours and says what is really asked for.
SPY = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
void *dlopen(const char *path, int flags)
{
    if (path && strchr(path, '/') && !(flags & RTLD_NOLOAD))
        fprintf(stderr, "%s %s\n", strrchr(path, '/') + 1, flags & RTLD_DEEPBIND ? "deep" : "plain");
    return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(path, flags);
}
"""

HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
int NAME(void) { return 0; }
int main(int argc, char **argv)
{
    void *handle = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL | RTLD_DEEPBIND);
    puts(handle ? "loaded" : "not loaded");
    return 0;
}
"""

OWN_LIBRARY = ["-Wl,-rpath,$ORIGIN", "-L.", "-lown"]


def asked(directory, plugin, host="php_module_startup", **extra):
    """How the plugin is loaded by a program that defines this name."""
    compile(directory, "host", HOST.replace("NAME", host), "-rdynamic")
    compile(directory, "spy.so", SPY, "-shared")
    guest = Guest(directory, True)
    done = guest.run(directory / "host", plugin, LD_PRELOAD=f"{LIBRARY}:{directory}/spy.so", **extra)
    said = [line.split() for line in done.stderr.splitlines()]
    return dict(said)[pathlib.Path(plugin).name], done.stdout.strip()


PLUGIN = "int socket(); int plugin(void) { return socket(0, 0, 0); }"


def test_php_loads_a_plugin_that_only_calls_us_without_deepbind(tmp_path):
    plugin = compile(tmp_path, "plugin.so", PLUGIN, "-shared", "-lcurl", "-Wl,--no-as-needed")
    assert asked(tmp_path, plugin) == ("plain", "loaded")


def test_no_other_programs_dlopen_is_changed(tmp_path):
    plugin = compile(tmp_path, "plugin.so", PLUGIN, "-shared")
    assert asked(tmp_path, plugin, host="other_startup") == ("deep", "loaded")


@pytest.mark.parametrize("mode", [{"PREBREAK_MODE": "off"}, {"PREBREAK_EXCEPT": "host"}])
def test_nothing_is_changed_where_prebreak_does_not_act(tmp_path, mode):
    plugin = compile(tmp_path, "plugin.so", PLUGIN, "-shared")
    assert asked(tmp_path, plugin, **mode) == ("deep", "loaded")


@pytest.mark.parametrize("name", ["connect", "__read_chk", "curl_easy_perform", "dlopen"])
def test_plugin_that_defines_a_name_we_hook_keeps_deepbind(tmp_path, name):
    plugin = compile(tmp_path, "plugin.so", f"int {name}(void) {{ return 0; }}", "-shared", "-fno-builtin")
    assert asked(tmp_path, plugin) == ("deep", "loaded")


@pytest.mark.parametrize(
    "name, version, expected",
    [
        ("own", None, "plain"),
        ("connect", None, "deep"),
        ("connect", "OWN_1", "deep"),
        ("curl_easy_perform", None, "deep"),  # a libcurl that the loader could mix up with another
        ("curl_easy_perform", "CURL_OWN_4", "plain"),
    ],
)
@pytest.mark.parametrize("found_by", ["RUNPATH", "RPATH", "LD_LIBRARY_PATH"])
def test_library_of_a_plugins_own_is_looked_into(tmp_path, name, version, expected, found_by):
    (tmp_path / "version.map").write_text(f"{version} {{ global: *; }};" if version else "{ global: *; };")
    compile(tmp_path, "libown.so", f"int {name}(void) {{ return 0; }} int more;", "-shared", "-fno-builtin",
            "-Wl,-soname,libown.so,--version-script=version.map")  # fmt: skip
    # Needed by what the plugin needs
    between = {"RUNPATH": ["-Wl,-rpath,${ORIGIN},--enable-new-dtags"], "RPATH": ["-Wl,-rpath,$ORIGIN,--disable-new-dtags"]}
    options = ["-shared", "-Wl,--no-as-needed", "-L.", *between.get(found_by, [])]
    compile(tmp_path, "libbetween.so", "int between;", *options, "-lown", "-Wl,-soname,libbetween.so")
    plugin = compile(tmp_path, "plugin.so", PLUGIN, *options, "-lbetween", "-Wl,-rpath-link,.")
    extra = {"LD_LIBRARY_PATH": tmp_path} if found_by == "LD_LIBRARY_PATH" else {}
    assert asked(tmp_path, plugin, **extra) == (expected, "loaded")


def test_plugin_whose_library_cannot_be_found_or_read_is_left_to_the_loader(tmp_path):
    compile(tmp_path, "libown.so", "int more;", "-shared")
    plugin = compile(tmp_path, "plugin.so", PLUGIN, "-shared", "-Wl,--no-as-needed", *OWN_LIBRARY)
    assert asked(tmp_path, plugin) == ("plain", "loaded")
    (tmp_path / "libown.so").write_bytes(b"no object")
    assert asked(tmp_path, plugin) == ("deep", "not loaded")
    (tmp_path / "libown.so").unlink()
    assert asked(tmp_path, plugin) == ("deep", "not loaded")
    plugin.write_bytes(plugin.read_bytes()[:50])
    assert asked(tmp_path, plugin) == ("deep", "not loaded")
    plugin.unlink()
    assert asked(tmp_path, plugin) == ("deep", "not loaded")


# ---- PHP itself ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def acme(guarded):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["127.0.0.1"]}
    return guarded


CURL_EXEC = r"""
for ($i = 0; $i < 100; $i++) {
    $curl = curl_init($argv[1]);
    curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
    curl_exec($curl);
    echo curl_errno($curl), " ", curl_getinfo($curl, CURLINFO_RESPONSE_CODE), " ", curl_error($curl), "\n";
    usleep(5000);
}
"""


@need_php
def test_php_curl_trips_on_503_and_is_refused_with_its_own_error(acme, provider):
    provider.set(status=503)
    done = acme.run(PHP, "-r", CURL_EXEC, "--", f"http://acme.test:{provider.port}/")
    assert done.returncode == 0 and done.stderr == ""
    said = done.stdout.splitlines()
    refused = [line for line in said if line.startswith("7 0 prebreak: acme is ")]
    assert len(refused) > 50 and said.count("0 503 ") == len(said) - len(refused)
    total = acme.status("acme")["total"]
    assert total["failed"] == provider.answers(503) == said.count("0 503 ")
    assert total["refused"] == len(refused) and total["calls"] == len(said) == 100


CURL_MULTI = r"""
$multi = curl_multi_init();
foreach ([0, 1, 2] as $i) {
    $all[$i] = curl_init($argv[1]);
    curl_setopt($all[$i], CURLOPT_RETURNTRANSFER, true);
    curl_multi_add_handle($multi, $all[$i]);
}
do {
    curl_multi_exec($multi, $running);
    curl_multi_select($multi, 0.1);
} while ($running);
while ($done = curl_multi_info_read($multi)) echo $done["result"], "\n";
"""


@need_php
def test_php_curl_multi_is_refused_without_a_connection(acme, provider):
    url = f"http://acme.test:{provider.port}/"
    assert acme.run(PHP, "-r", CURL_MULTI, "--", url).stdout == "0\n" * 3
    acme.prebreak("hold", "acme", "open")
    assert acme.run(PHP, "-r", CURL_MULTI, "--", url).stdout == "7\n" * 3
    assert provider.report()["connections"] == provider.requests() == 3 and acme.status("acme")["total"]["refused"] == 3


EXTENSIONS = r"""
foreach (get_loaded_extensions() as $name) echo $name, " ", phpversion($name), " ", count(get_extension_funcs($name) ?: []), "\n";
if (function_exists("pg_connect")) {
    echo @pg_connect("host=127.0.0.1 port=1 connect_timeout=1") ? "yes" : error_get_last()["message"] ?? "no", "\n";
}
if (class_exists("Memcached")) {
    $m = new Memcached(); $m->addServer("127.0.0.1", 1); var_dump($m->get("x")); echo $m->getResultCode(), "\n";
}
echo strlen(gzcompress(str_repeat("x", 10000))), md5(json_encode([1, "a" => 2])), preg_match("/a+b/u", "aaab"), "\n";
if (function_exists("iconv")) echo iconv("UTF-8", "ISO-8859-1//TRANSLIT", "x€"), "\n";
if (class_exists("PDO")) { try { new PDO("pgsql:host=127.0.0.1;port=1"); } catch (Exception $e) { echo $e->getMessage(), "\n"; } }
if (function_exists("openssl_digest")) echo openssl_digest("x", "sha256"), "\n";
if (class_exists("FFI")) { $c = FFI::cdef("int abs(int);", "libc.so.6"); echo $c->abs(-3), "\n"; }
"""


@need_php
def test_php_with_all_its_extensions_runs_the_same(tmp_path):
    said = {}
    for preloaded in (False, True):
        done = Guest(tmp_path, preloaded).run(PHP, "-d", "ffi.enable=1", "-r", EXTENSIONS)
        assert done.returncode == 0
        said[preloaded] = done.stdout + done.stderr
    assert said[True] == said[False] and "curl" in said[True]


@need_php
def test_every_packaged_extension_of_php_is_seen(guarded):
    spy = compile(guarded.directory, "spy.so", SPY, "-shared")
    done = guarded.run(PHP, "-r", "", LD_PRELOAD=f"{LIBRARY}:{spy}")
    flags = dict(line.split() for line in done.stderr.splitlines())
    # readline's libedit needs libbsd, which has a closefrom of its own
    assert flags["curl.so"] == "plain" and {name for name, flag in flags.items() if flag == "deep"} <= {"readline.so"}


# ---- modules that come and go ----------------------------------------------------------------------------------------------

MODULE = r"""
#include <curl/curl.h>
static size_t drop(char *p, size_t n, size_t m, void *x) { return n * m; }
const char *serve(const char *url)
{
    static char said[CURL_ERROR_SIZE + 100], text[CURL_ERROR_SIZE];
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    text[0] = 0;
    CURLcode code = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    snprintf(said, sizeof said, "%d %.12s", code, text);
    return said;
}
"""

SERVER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 60; i++) { /* a reload each, of the one module and then of the other, at the same place */
        void *module = dlopen(argv[2 + i % 2], RTLD_NOW | RTLD_LOCAL);
        if (!module) { puts(dlerror()); return 1; }
        puts(((const char *(*)(const char *))dlsym(module, "serve"))(argv[1]));
        dlclose(module);
    }
    return 0;
}
"""


@pytest.mark.parametrize("other", ["libcurl.so.4", "libcurl-gnutls.so.4"])
def test_modules_with_libcurl_that_are_loaded_again_and_again_are_served(acme, provider, other):
    folder = pathlib.Path("/usr/lib") / subprocess.run(
        ["cc", "-print-multiarch"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not (folder / other).exists():
        pytest.skip(f"needs {other}")
    server = compile(acme.directory, "server", SERVER)
    one = compile(acme.directory, "one.so", MODULE, "-shared", "-lcurl", "-include", "stdio.h")
    two = compile(acme.directory, "two.so", MODULE, "-shared", folder / other, "-include", "stdio.h")
    url = f"http://acme.test:{provider.port}/"

    assert acme.run(server, url, one, two).stdout == "0 \n" * 60
    acme.prebreak("hold", "acme", "open")
    assert acme.run(server, url, one, two).stdout == "7 prebreak: ac\n" * 60
    assert provider.requests() == 60
    total = acme.status("acme")["total"]
    assert (total["ok"], total["refused"], total["calls"]) == (60, 60, 120)
