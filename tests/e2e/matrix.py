"""The client matrix as data: real HTTP clients, what can go wrong with their provider, and what each client shows of it.

A client is a program in clients/matrix/, called with URL COUNT SECONDS: it makes COUNT requests one after the other, kept
alive where it can, each with SECONDS of patience, and prints for each one line, a status or its own words of what went wrong.
"""

import dataclasses
import pathlib
import re
import subprocess

import opaque
from harness import which

CLIENTS = pathlib.Path(__file__).parent / "clients" / "matrix"
PYTHON = "/usr/bin/python3"


@dataclasses.dataclass(frozen=True)
class Client:
    name: str
    words: tuple  # how it is started; the last word is a file of CLIENTS
    needs: str = None  # another program
    module: str = None  # of Python
    file: str = None  # of another language's library
    keeps: bool = True  # all its requests on one connection
    sends: int = 1  # how often it sends, by itself, a request that was reset
    connects: int = 1  # how often it tries, by itself, a connection that was refused
    first_only: bool = False  # of a name's addresses it tries but the first
    secure: str = "request"  # what is seen over TLS: each request with its status, or without (`turn`); None: no TLS
    http2: str = None  # and over HTTP/2: each request with its status, or each `connection`; None: it was not asked for any

    def missing(self):
        """Why it cannot be run here, or None."""
        for program in filter(None, (self.words[0], self.needs)):
            if not which(program):
                return f"{self.name}: no {program} here"
        if self.module and subprocess.run([PYTHON, "-c", f"import {self.module}"], capture_output=True).returncode:
            return f"{self.name}: no {self.module} here"
        if getattr(self, "file", None) and not pathlib.Path(self.file).exists():
            return f"{self.name}: no {self.file} here"
        return None

    def command(self, directory):
        """Compiled first where it takes a compiler."""
        file = CLIENTS / self.words[-1]
        if self.words[0] == "javac":
            subprocess.run(["javac", "-d", directory, file], check=True)
            # Small and quick to start: the heap's default is a quarter of the machine.
            return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", directory, file.stem]
        if self.words[0] == "rustc":
            subprocess.run(["rustc", "-o", directory / file.stem, file], check=True)
            return [directory / file.stem]
        return [*self.words[:-1], file]


def node_is_old():
    """Before Node 20 a name's further addresses were not tried."""
    node = which("node")
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout if node else "v20."
    return int(version[1:].split(".")[0]) < 20


def node_links_openssl():
    """Debian's Node does; others bring a copy of their own that nobody can look into."""
    node = which("node")
    return bool(node) and "libssl.so" in subprocess.run(["ldd", node], capture_output=True, text=True).stdout


OLD_NODE = node_is_old()
NODE_SECURE = "request" if node_links_openssl() else "turn"

HTTP_CLIENTS = [
    Client("curl", ("sh", "curl.sh"), needs="curl", http2="request"),
    Client("wget", ("sh", "wget.sh"), needs="wget"),
    Client("git", ("sh", "git.sh"), needs="git", keeps=False, http2="request"),
    Client("Python http.client", (PYTHON, "http_client.py")),
    Client("Python requests", (PYTHON, "python_requests.py"), module="requests"),
    Client("Python httpx", (PYTHON, "python_httpx.py"), module="httpx", http2="request"),
    Client("Python aiohttp", (PYTHON, "python_aiohttp.py"), module="aiohttp"),
    Client("pycurl", (PYTHON, "python_pycurl.py"), module="pycurl", http2="request"),
    Client("Perl LWP", ("perl", "lwp.pl")),
    Client("Ruby net/http", ("ruby", "net_http.rb")),
    Client("PHP streams", ("php", "streams.php"), keeps=False),
    Client("PHP curl", ("php", "curl.php"), http2="request"),
    Client("PHP Guzzle", ("php", "guzzle.php"), file="/usr/share/php/GuzzleHttp/autoload.php"),
    Client("Node http", ("node", "http.js"), secure=NODE_SECURE, first_only=OLD_NODE),
    Client("Node fetch", ("node", "fetch.js"), secure=NODE_SECURE, first_only=OLD_NODE),
    Client("Java HttpURLConnection", ("javac", "UrlConnection.java"), secure="turn", sends=2, first_only=True),
    Client("Java HttpClient", ("javac", "HttpClient.java"), secure="turn", sends=2, connects=2, first_only=True, http2="connection"),
    Client("Rust std", ("rustc", "std.rs"), secure=None),
]

# What clients say in their own words, and what it means.
SAID = [
    ("reset", r"reset by peer|pull function"),
    ("refused", r"refused|prebreak: |is held-open|ConnectException|(couldn't|failed to) connect"),
    ("timeout", r"time.?out|timed out|too slow|deadline exceeded"),
    ("reset", r"reset|closed|disconnect|EOF|empty reply|hang up|no bytes|no data|properly terminated|failed to open stream|reached end"),
]


def said(line):
    line = line.strip()
    if re.fullmatch(r"\d{3}", line):
        return line
    for meaning, words in SAID:
        if re.search(words, line, re.IGNORECASE):
            return meaning
    return line


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    says: str  # what the client says of each request; without prebreak too, unless the fault is ours
    outcome: str  # what each call is counted as
    kind: str = None  # of the failures
    script: dict = dataclasses.field(default_factory=dict)  # what the provider does to requests
    refuse: tuple = ()  # addresses that refuse connections
    hold: bool = False
    requests: int = 3
    reaches: bool = True  # requests come through to the provider
    addresses: int = 1

    def tries(self, client):
        """How many calls these requests of the client's are."""
        return self.requests * {"reset": client.sends, "refused": client.connects}.get(self.says, 1)


FIRST, SECOND = "127.0.0.2", "127.0.0.3"
FAULTS = [
    Fault("healthy", "200", "ok"),
    Fault("503", "503", "failed", "status", script={"status": 503}),
    Fault("refused", "refused", "failed", "connect", refuse=(FIRST,), reaches=False),
    Fault("reset", "reset", "failed", "reset", script={"action": "reset"}),
    Fault("silent", "timeout", "failed", "timeout", script={"action": "hang"}, requests=1),
    Fault("dead first address", "200", "ok", refuse=(FIRST,), addresses=2),
    Fault("held open", "refused", "refused", hold=True, reaches=False),
]


# ---- proxies ------------------------------------------------------------------------------------------------------------

NGINX = """
daemon off; master_process off; pid {directory}/nginx.pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    upstream acme {{ server acme.test:{port} max_fails=0; keepalive 8; }}
    server {{
        listen unix:{front};
        location / {{
            proxy_pass http://acme; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host acme.test;
            proxy_read_timeout {patience}s;
        }}
    }}
}}
"""

HAPROXY = """
global
    nbthread 1
defaults
    mode http
    timeout connect {patience}s
    timeout client 30s
    timeout server {patience}s
    retries 0
    http-reuse always
    default-server init-addr libc
listen front
    bind {front}
    server acme acme.test:{port}
"""


@dataclasses.dataclass(frozen=True)
class Proxy:
    name: str
    words: tuple  # {file}: its configuration
    configuration: str  # a template
    says: dict  # the status that it answers for what befell its own call
    needs: str = None
    module: str = None
    keeps: bool = True
    sends: int = 1
    connects: int = 1
    first_only: bool = False

    missing = Client.missing


PROXIES = [
    Proxy("nginx", ("nginx", "-c", "{file}", "-p", "{directory}"), NGINX, {"refused": 502, "reset": 502, "timeout": 504}),
    Proxy("HAProxy", ("haproxy", "-f", "{file}"), HAPROXY, {"refused": 503, "reset": 502, "timeout": 504}, first_only=True),
]


# ---- what is not HTTP/1 -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class OpaqueClient:
    """Called with HOST PORT COUNT; each of its requests is a call, or the first on each connection where that is all."""

    name: str
    words: tuple
    needs: str
    protocol: object
    good: str  # what it says of a request that went well
    before: int = 1  # requests of its own before those that it was told
    read: bool = False  # HTTP/2 in the clear: what it says of its own is no call
    goodbyes: int = 0  # what it says last, and waits for no answer: a neutral call
    connects: int = 1  # connections that it tries in all where each is refused
    resets: int = 1  # and where each is reset after its first request
    first_only: bool = False
    timeout: bool = True  # it can give up by itself
    threads: bool = False  # it tries the addresses of a name from several threads: the dead ones are neutral calls
    module: str = None

    missing = Client.missing
    command = Client.command


OPAQUE_CLIENTS = [
    OpaqueClient("redis-cli", ("sh", "redis.sh"), "redis-cli", opaque.redis, "PONG", connects=5, resets=4, first_only=True, timeout=False),
    OpaqueClient("grpcio", (PYTHON, "python_grpcio.py"), None, opaque.grpc, "OK", before=2, read=True, threads=True, module="grpc"),
    OpaqueClient("psql", ("sh", "psql.sh"), "psql", opaque.postgres, "SET", goodbyes=1),
]  # fmt: skip


# ---- the matrix as the README has it: rows that the tests hold true -----------------------------------------------------

SEEN = {"request": "requests, status", "turn": "requests", "connection": "connections", None: "-"}


def table():
    rows = [("client", "connections", "requests", "status", "over TLS", "over HTTP/2")]
    for client in HTTP_CLIENTS:
        # The same table on every machine, whichever Node it has
        one_address = "before version 20 tries" if client.name.startswith("Node ") else "tries" if client.first_only else None
        note = f" ({one_address} one address of a name)" if one_address else ""
        note = note or ("" if client.keeps else " (a connection each)")
        over_tls = "requests; status of Debian's" if client.name.startswith("Node ") else SEEN[client.secure]
        rows.append((client.name + note, "yes", "yes", "yes", over_tls, SEEN[client.http2]))
    for proxy in PROXIES:
        note = " (takes one address of a name)" if proxy.first_only else ""
        rows.append((f"{proxy.name}, as a proxy{note}", "yes", "yes", "yes", SEEN["request"], "-"))
    for client in OPAQUE_CLIENTS:
        status, seen = ("yes", SEEN["request"]) if client.read else ("no", SEEN["turn"])
        rows.append((client.name, "yes", "yes", status, seen, seen if client.read else "-"))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


if __name__ == "__main__":
    print(table(), end="")
