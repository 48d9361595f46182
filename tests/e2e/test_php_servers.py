"""PHP as servers run it: its curl extension is seen under php-fpm and in Apache, also after Apache has loaded it again."""

import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import urllib.request

import pytest

from harness import LIBRARY, wait_for

FPM = next(iter(sorted(glob.glob("/usr/sbin/php-fpm*"))), None)
APACHE = "/usr/sbin/apache2"
MODULES = "/usr/lib/apache2/modules"
MOD_PHP = next(iter(sorted(glob.glob(f"{MODULES}/libphp*.so"))), None)

PAGE = """<?php
$curl = curl_init("%s");
curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
curl_exec($curl);
echo curl_errno($curl), " ", curl_getinfo($curl, CURLINFO_RESPONSE_CODE), " ", curl_error($curl);
"""


def page(directory, provider):
    directory.mkdir()
    (directory / "index.php").write_text(PAGE % f"http://127.0.0.1:{provider.port}/")
    return directory / "index.php"


def refused(answers):
    assert all(answer.startswith(("0 503 ", "7 0 prebreak: acme is ")) for answer in answers), answers
    return sum(answer.startswith("7 0 ") for answer in answers)


# ---- php-fpm ---------------------------------------------------------------------------------------------------------------


def record(kind, content):
    return struct.pack("!BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def ask_fpm(path, script):
    """One request by FastCGI; the body of its answer."""
    words = {"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/index.php"}
    pairs = b"".join(bytes([len(key), len(value)]) + key.encode() + value.encode() for key, value in words.items())
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(path))
        peer.sendall(record(1, struct.pack("!HB5x", 1, 0)) + record(4, pairs) + record(4, b"") + record(5, b""))
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
    body = b""
    while answer:
        _, kind, _, length, padding, _ = struct.unpack("!BBHHBB", answer[:8])
        body += answer[8 : 8 + length] if kind == 6 else b""
        answer = answer[8 + length + padding :]
    return body.split(b"\r\n\r\n", 1)[1].decode()


@pytest.mark.skipif(FPM is None, reason="needs php-fpm")
def test_workers_of_php_fpm_share_what_they_find_out(guarded, provider):
    script, listens = page(guarded.directory / "pages", provider), guarded.directory / "fpm.sock"
    # Its workers find no environment: clear_env is on by default
    (guarded.directory / "fpm.conf").write_text(
        f"[global]\nerror_log = {guarded.directory}/fpm.log\n[www]\nlisten = {listens}\n"
        "user = root\ngroup = root\npm = static\npm.max_children = 3\npm.max_requests = 10\n"
    )
    guarded.settings["PREBREAK_PROVIDERS"] = "acme 127.0.0.1"
    provider.set(status=503)
    server = guarded.start(FPM, "-R", "-F", "-n", "-d", "extension=curl", "-y", guarded.directory / "fpm.conf")
    try:
        wait_for(listens.exists)
        answers = [ask_fpm(listens, script) for _ in range(60)]
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    total = guarded.status("acme")["total"]
    assert refused(answers) == total["refused"] > 20
    assert provider.answers(503) == total["failed"] == 60 - total["refused"]


# ---- mod_php ---------------------------------------------------------------------------------------------------------------

CONFIGURATION = """
ServerRoot {root}
ServerName localhost
PidFile {root}/pid
Listen 127.0.0.1:{port}
User nobody
Group nogroup
ErrorLog {root}/error.log
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule php_module {php}
DocumentRoot {root}/pages
TypesConfig /dev/null
AddHandler application/x-httpd-php .php
StartServers 1
MinSpareServers 1
MaxSpareServers 1
MaxRequestWorkers 1
"""


def open_to_all(directory):
    """What another user runs must be where that user can read it."""
    for folder in (directory, *directory.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(0o755)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.skipif(MOD_PHP is None or not os.path.exists(APACHE), reason="needs apache2-bin and libapache2-mod-php")
@pytest.mark.parametrize("restart", [signal.SIGHUP, signal.SIGUSR1], ids=["at once", "gracefully"])
def test_mod_php_is_seen_before_and_after_apache_loads_it_again(guarded, provider, restart):
    root, port = guarded.directory, free_port()
    page(root / "pages", provider)
    open_to_all(root)
    shutil.copy(LIBRARY, root)
    (root / "apache.conf").write_text(CONFIGURATION.format(root=root, port=port, modules=MODULES, php=MOD_PHP))
    provider.set(status=503)
    # A region of the worker's own: a restart begins anew
    environment = guarded.environment(
        LD_PRELOAD=root / "libprebreak.so", PREBREAK_STATE="private", PREBREAK_LOG="off",
        PREBREAK_PROVIDERS=f"acme 127.0.0.1:{provider.port}",
    )  # fmt: skip
    # It signals its whole group
    server = subprocess.Popen(
        [APACHE, "-f", root / "apache.conf", "-DFOREGROUND"], env=environment, start_new_session=True, stderr=subprocess.PIPE
    )

    def ask():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/index.php", timeout=10) as answer:
            return answer.read().decode()

    def starts():
        return (root / "error.log").read_text().count("resuming normal operations")

    try:
        for round in range(3):
            wait_for(lambda: (root / "error.log").exists() and starts() == round + 1)
            before = provider.answers(503)
            answers = [ask() for _ in range(40)]
            assert refused(answers) > 10
            assert provider.answers(503) - before == 40 - refused(answers)
            server.send_signal(restart)
    finally:
        wait_for(lambda: starts() == 4 or server.poll() is not None)
        server.terminate()
        _, noise = server.communicate(timeout=30)
    assert noise == b""
