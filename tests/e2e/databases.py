"""Real database servers, each on a port of its own, with its files in a directory of its own, and frozen on command."""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import wait_for, which

CLIENT = pathlib.Path(__file__).parent / "clients" / "queries.py"
PYTHON = "/usr/bin/python3"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Database:
    """`before` and `goodbyes`: what its client asks by itself when it connects, and says when it leaves."""

    user = None  # whom the server insists on to be when it is started by root
    needs = None
    before = goodbyes = 0

    def __init__(self, certificate):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="prebreak-"))
        self.port = free_port()
        self.process = None
        if self.user and os.geteuid() == 0:
            shutil.chown(self.directory, self.user, pwd.getpwnam(self.user).pw_gid)
        else:
            self.user = None
        self.certificate, self.key = (self.own(file) for file in (certificate.file, certificate.key))
        self.log = open(self.directory / "log", "w+")
        self.prepare()
        self.process = self.start(self.words())
        wait_for(lambda: listens(self.port), limit=60)

    def own(self, file):
        """A copy of it that the server believes in."""
        copy = self.directory / file.name
        shutil.copyfile(file, copy)
        copy.chmod(0o600)
        if self.user:
            shutil.chown(copy, self.user)
        return copy

    @classmethod
    def missing(cls):
        """Why it cannot be run here, or None."""
        if not which(cls.needs) and not pathlib.Path(cls.needs).exists():
            return f"no {cls.needs} here"
        if subprocess.run([PYTHON, "-c", "import redis, pymysql, psycopg2"], capture_output=True).returncode:
            return "no clients of databases here"
        return None

    def start(self, words):
        group = pwd.getpwnam(self.user).pw_gid if self.user else None
        return subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=self.directory,
            user=self.user, group=group, extra_groups=[] if self.user else None,
        )  # fmt: skip

    def do(self, *words):
        code = self.start(words).wait(timeout=120)
        assert code == 0, (self.directory / "log").read_text()

    def prepare(self):
        pass

    def words(self):
        raise NotImplementedError

    def processes(self):
        """The server's, itself first."""
        family = [self.process.pid]
        for pid in family:
            try:
                family += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except FileNotFoundError:
                pass
        return family

    def signal(self, number):
        for pid in self.processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    at_once = False  # what is asked of close_idle() is true of connections that are there already

    def close_idle(self, seconds):
        """Let it close connections that are idle for longer; 0: none."""
        raise NotImplementedError

    @contextlib.contextmanager
    def closing_idle(self, seconds):
        """Hands out what makes it begin, once the connections are there and have been used."""
        if not self.at_once:
            self.close_idle(seconds)
        try:
            yield lambda: self.close_idle(seconds if self.at_once else 0)
        finally:
            self.close_idle(0)

    def close(self):
        if self.process:
            self.thaw()
            self.signal(signal.SIGKILL)
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.directory)


class Redis(Database):
    name, needs = "redis", "redis-server"
    at_once = True

    def words(self):
        return ["redis-server", "--bind", "127.0.0.1", "--port", self.port, "--save", ""]

    def close_idle(self, seconds):
        subprocess.run(["redis-cli", "-p", str(self.port), "config", "set", "timeout", str(seconds)], check=True)

    def announce(self):
        return subprocess.run(["redis-cli", "-p", str(self.port), "publish", "news", "x"], capture_output=True, text=True).stdout


class Mariadb(Database):
    """Its client is greeted, logs in and says what it wants by default; its goodbye is COM_QUIT."""

    name, needs, user = "mariadb", "/usr/sbin/mariadbd", "mysql"
    before, goodbyes = 3, 1
    before_secure = 3  # it asks for TLS and begins it at once
    small = ["--tmpdir=.", "--innodb-buffer-pool-size=8M", "--innodb-log-file-size=4M"]

    def prepare(self):
        words = ["mariadb-install-db", "--no-defaults", f"--datadir={self.directory}/data", "--skip-test-db"]
        self.do(*words, "--auth-root-authentication-method=normal", *self.small)

    def words(self):
        where = [f"--datadir={self.directory}/data", f"--socket={self.directory}/socket", f"--pid-file={self.directory}/pid"]
        network = [f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve", "--skip-log-bin"]
        secure = [f"--ssl-cert={self.certificate}", f"--ssl-key={self.key}"]
        return [self.needs, "--no-defaults", *where, *network, *secure, *self.small]

    def close_idle(self, seconds):
        where = ["-h", "127.0.0.1", "-P", str(self.port), "-u", "root"]
        subprocess.run(["mariadb", "--no-defaults", *where, "-e", f"SET GLOBAL wait_timeout={seconds or 28800}"], check=True)


class Postgres(Database):
    """Its client may ask for TLS, and logs in; its goodbye is X."""

    name, user = "postgres", "postgres"
    bin = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=pathlib.Path("/nonexistent"))
    needs = str(bin / "postgres")
    before, goodbyes = 1, 1
    before_secure = 2  # it asks whether TLS is to be had

    def prepare(self):
        self.do(self.bin / "initdb", "--no-sync", "-A", "trust", "-U", "prebreak", "-D", self.directory / "data")

    def words(self):
        options = ["listen_addresses=127.0.0.1", f"unix_socket_directories={self.directory}", "fsync=off"]
        options += ["ssl=on", f"ssl_cert_file={self.certificate}", f"ssl_key_file={self.key}"]
        return [self.needs, "-D", self.directory / "data", "-p", self.port, *(word for each in options for word in ("-c", each))]

    def sql(self, words):
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "prebreak", "-d", "postgres"]
        subprocess.run(["psql", "-qX", *where, "-c", words], check=True)

    def close_idle(self, seconds):
        self.sql(f"ALTER ROLE prebreak SET idle_session_timeout='{seconds}s'")

    def announce(self):
        self.sql("NOTIFY news")


DATABASES = [Redis, Mariadb, Postgres]


class Client:
    """A program that has one connection to a database, and asks when it is told to."""

    def __init__(self, guest, database, host, tls="disable"):
        self.process = guest.start(PYTHON, CLIENT, database.name, host, database.port, tls, stdin=subprocess.PIPE)
        assert self.hear() == "begins"

    def tell(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline().strip()
        assert line, self.process.stderr.read()
        return line

    def ask(self, count):
        self.tell(f"ask {count}")
        return self.hear()

    def leave(self):
        self.process.stdin.close()
        said = self.process.stdout.read().strip()
        self.process.wait(timeout=60)
        return said
