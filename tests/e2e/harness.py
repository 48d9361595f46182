"""What the scenarios are told with: a provider that goes bad on command, callers with and without prebreak, and counts.

Every scenario looks at three sides: what the caller got, what the server saw, and what `prebreak status` says.
"""

import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PREBREAK_BUILD", ROOT / "build"))
LIBRARY = BUILD / "libprebreak.so"
COMMAND = BUILD / "prebreak"
CALL = BUILD / "clients" / "call"

# A hung program fails its test; nothing here is ever meant to take so long.
LIMIT = 120


def wait_for(what, limit=30.0, every=0.02):
    """Polls until what() is true and returns it. For things that happen by themselves; fails when they do not.

    A check that does not hold yet, as that a provider is known, is as good as not true.
    """
    end = time.monotonic() + limit
    while True:
        try:
            value, why = what(), "not true"
        except (AssertionError, subprocess.CalledProcessError) as error:
            value, why = None, error
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"still not so after {limit} s: {what.__name__}: {why}")
        time.sleep(every)


class Provider:
    """tests/support/provider: one server, told on its stdin how to behave."""

    def __init__(self, *addresses):
        listen = [word for address in addresses or ("127.0.0.1",) for word in ("--listen", address)]
        self.lock = threading.Lock()
        # The port that is free at the first address may be taken at another: then once more, with another port
        for _ in range(20):
            self.process = subprocess.Popen(
                [BUILD / "support" / "provider", *listen], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            ready = self.process.stdout.readline()
            if ready:
                break
            self.process.communicate()
        self.port = json.loads(ready)["port"]

    def tell(self, command):
        with self.lock:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
        if isinstance(answer, dict) and "error" in answer:
            raise ValueError(f"{command}: {answer['error']}")
        return answer

    def set(self, host="*", **script):
        """Healthy when nothing else is said."""
        self.tell(" ".join(["set", host, *(f"{key}={value}" for key, value in script.items())]))

    def listener(self, state, address="*"):
        self.tell(f"listener {address} {state}")

    def sever(self, which="busy"):
        return self.tell(f"sever {which}")["severed"]

    def report(self, host=None):
        whole = self.tell("report")
        return whole["hosts"].get(host, {"requests": 0, "abandoned": 0, "answers": {}}) if host else whole

    def requests(self, host=None):
        return self.report(host)["requests"]

    def answers(self, status, host=None):
        return self.report(host)["answers"].get(str(status), 0)

    def log(self):
        return self.tell("log")

    def clear(self):
        self.tell("clear")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


class Guest:
    """Runs programs, with prebreak before them or plainly, in one environment and with one state of their own."""

    def __init__(self, directory, preloaded):
        self.directory = directory
        self.preloaded = preloaded
        self.state = directory / "state"
        self.log = directory / "events.log"
        self.names = {}
        self.settings = {"PREBREAK_STATE": str(self.state), "PREBREAK_LOG": str(self.log)}
        self.children = []

    def environment(self, **extra):
        """`extra` wins over the settings; a value of None takes a variable away."""
        directory = str(self.directory)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": directory, "LANG": "C.UTF-8", "TMPDIR": directory}
        preload = [str(LIBRARY)] if self.preloaded else []
        if self.names:
            env["NSS_WRAPPER_HOSTS"] = str(self.hosts())
            # Ours first: nss_wrapper asks libc by itself, and would be asked past us.
            preload.append("libnss_wrapper.so")
        if preload:
            env["LD_PRELOAD"] = ":".join(preload)
        if self.preloaded:
            env.update(self.settings)
        env.update(extra)
        return {key: str(value) for key, value in env.items() if value is not None}

    def hosts(self):
        """The names as a hosts file, written once: programs that run already read it."""
        lines = [f"{address} {name}\n" for name, addresses in self.names.items() for address in addresses]
        path, text = self.directory / "hosts", "".join(lines)
        if not path.exists() or path.read_text() != text:
            fresh = self.directory / "hosts.new"
            fresh.write_text(text)
            fresh.rename(path)
        return path

    def run(self, *command, check=False, input=None, timeout=LIMIT, user=None, **extra):
        return subprocess.run(
            [str(word) for word in command],
            env=self.environment(**extra),
            capture_output=True,
            text=True,
            check=check,
            input=input,
            timeout=timeout,
            cwd=self.directory,
            user=user,
            stdin=subprocess.DEVNULL if input is None else None,
        )

    def start(self, *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **extra):
        child = subprocess.Popen(
            [str(word) for word in command],
            env=self.environment(**extra),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=True,
            cwd=self.directory,
        )
        self.children.append(child)
        return child

    def prebreak(self, *arguments, check=True, **extra):
        """The command, on this state; not itself under the preload."""
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **{k: str(v) for k, v in {**self.settings, **extra}.items()}}
        return subprocess.run(
            [str(COMMAND), *map(str, arguments)], env=env, capture_output=True, text=True, check=check, timeout=LIMIT
        )

    def status(self, name):
        """The provider as `status --json` has it; its totals are there at once as attributes of `total`."""
        for provider in json.loads(self.prebreak("status", "--json").stdout)["providers"]:
            if provider["name"] == name:
                return provider
        raise AssertionError(f"no provider {name} in the state")

    def phase(self, name):
        return self.status(name)["phase"]

    def events(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream:
                    stream.close()


# ---- callers: each makes one call in a process of its own and says how it ended ------------------------------------------


class Caller:
    """Calls http://NAME:PORT/ one at a time; `call()` is 'ok', 'failed' (answered so), 'refused' or what else went wrong."""

    def __init__(self, guest, name, port):
        self.guest, self.name, self.port = guest, name, port
        self.url = f"http://{name}:{port}/"

    def call(self):
        raise NotImplementedError


class Curl(Caller):
    def call(self):
        done = self.guest.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", self.url)
        if done.returncode == 7:
            return "refused"
        return {"200": "ok", "503": "failed"}.get(done.stdout, f"exit {done.returncode}")


class Wget(Caller):
    def call(self):
        done = self.guest.run("wget", "--tries=1", "-O", "/dev/null", self.url)
        if done.returncode == 4 and "Connection refused" in done.stderr:
            return "refused"
        return {0: "ok", 8: "failed"}.get(done.returncode, f"exit {done.returncode}: {done.stderr}")


class Plain(Caller):
    """A C program: blocking connect and send."""

    how = "blocking"

    def call(self):
        done = self.guest.run(CALL, "--how", self.how, self.name, self.port)
        return {"200": "ok", "503": "failed", "connect ECONNREFUSED": "refused"}.get(done.stdout.strip(), done.stdout)


class Polling(Plain):
    how = "poll"


class Again(Plain):
    how = "again"


class Requests(Caller):
    """Python's requests, in workers forked from one warm master, as a pre-forking server has them."""

    MASTER = """
import os, sys, requests
for line in sys.stdin:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            code = requests.get(sys.argv[1]).status_code
            said = {200: 'ok', 503: 'failed'}.get(code, str(code))
        except requests.exceptions.ConnectionError as error:
            said = 'refused' if 'Connection refused' in str(error) else repr(error)
        os.write(1, said.encode() + b'\\n')
        os._exit(0)
    os.waitpid(pid, 0)
"""

    def __init__(self, guest, name, port):
        super().__init__(guest, name, port)
        self.master = guest.start(
            "/usr/bin/python3", "-c", self.MASTER, self.url, stdin=subprocess.PIPE, stderr=sys.stderr
        )

    def call(self):
        self.master.stdin.write("\n")
        self.master.stdin.flush()
        return self.master.stdout.readline().strip()


CALLERS = {"curl": Curl, "wget": Wget, "requests": Requests, "blocking": Plain, "poll": Polling, "again": Again}


class Tally(collections.Counter):
    """How many calls ended how; every call made through it is counted."""

    def __init__(self, caller):
        super().__init__()
        self.caller = caller

    def call(self):
        how = self.caller.call()
        self[how] += 1
        return how

    def calls(self, count):
        return [self.call() for _ in range(count)]

    def until_back(self, run=10, limit=20.0):
        """Calls until `run` in a row were answered well: seconds from now to the first of them."""
        begun = time.monotonic()
        first, length = None, 0
        while length < run:
            moment = time.monotonic() - begun
            if self.call() == "ok":
                first = moment if length == 0 else first
                length += 1
            else:
                length = 0
            assert moment < limit, f"not back after {limit} s: {dict(self)}"
        return first


def agree(guest, name, tally, server):
    """status, the callers and the server tell the same story, to the call."""
    total = guest.status(name)["total"]
    answers = server["answers"]
    assert total["calls"] == tally.total()
    assert total["ok"] == tally["ok"] == answers.get("200", 0)
    assert total["failed"] == tally["failed"] == answers.get("503", 0)
    assert total["refused"] == tally["refused"]
    assert total["neutral"] == 0
    assert guest.status(name)["inflight"] == 0


def kill(child, sig=signal.SIGKILL):
    child.send_signal(sig)
    child.wait()


def which(program):
    return shutil.which(program, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
