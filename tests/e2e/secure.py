"""Providers behind TLS: an HTTP/1 server that is scripted from within the test, and nginx in front of it for HTTP/2.

Each name has an address of its own, as real providers have: which of them a connection is for can be told from outside.
"""

import collections
import dataclasses
import hashlib
import os
import random
import socket
import ssl
import struct
import subprocess
import threading
import time

from harness import wait_for

# ---- whom a client trusts -----------------------------------------------------------------------------------------------

DOMAIN = "acme.test"
TRUST = "SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS PERL_LWP_SSL_CA_FILE GIT_SSL_CAINFO".split()


class Certificate:
    """For acme.test and what is below it, of an authority of its own; in `trusting` every client trusts it."""

    def __init__(self, directory):
        self.file, self.key = directory / "cert.pem", directory / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", f"/CN={DOMAIN}", "-addext", f"subjectAltName=DNS:{DOMAIN},DNS:*.{DOMAIN}",
             "-addext", "basicConstraints=critical,CA:true", "-keyout", self.key, "-out", self.file],
            check=True, capture_output=True,
        )  # fmt: skip
        wgetrc = directory / "wgetrc"
        wgetrc.write_text(f"ca_certificate={self.file}\n")
        self.trusting = dict.fromkeys(TRUST, self.file) | {"WGETRC": wgetrc} | self.of_java(directory / "trust.p12")

    def of_java(self, store):
        words = ["keytool", "-importcert", "-noprompt", "-file", self.file, "-keystore", store, "-storepass", "changeit"]
        try:
            subprocess.run([*words, "-storetype", "PKCS12"], capture_output=True, check=True)
        except FileNotFoundError:
            return {}  # then there is no Java either
        return {"JAVA_TOOL_OPTIONS": f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=changeit"}

    def context(self):
        """TLS 1.2 and 1.3, HTTP/1.1 for who asks."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        context.set_alpn_protocols(["http/1.1"])
        return context


# ---- the provider -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Request:
    host: str
    path: str
    method: str
    connection: int  # its number
    headers: dict  # names in small letters
    length: int = 0  # of the body
    digest: str = ""


CLOSE = -1


@dataclasses.dataclass
class Answer:
    status: int = 200  # None: not a word before the end
    headers: dict = dataclasses.field(default_factory=dict)
    # Bytes; or pieces, each bytes or a number of seconds to say nothing for: chunked unless `length` says how long it will be
    body: object = b"fine\n"
    length: int = None  # CLOSE: until the connection ends
    end: str = "keep"  # or `close` in peace, `cut` without a word of TLS or HTTP, `reset`


def lines(connection):
    """The bytes of a connection, as a file."""
    return connection.makefile("rb", buffering=1 << 16)


class Server:
    """HTTP/1.1 on some loopback addresses, all on one port; over TLS if it is given a context.

    What a request of a host meets is what `script[host](request)` returns, `script["*"]` for all others.
    """

    def __init__(self, addresses=("127.0.0.1",), context=None):
        self.context = context
        self.script = {"*": lambda request: Answer()}
        self.log = []  # [(request, status)] in the order in which answers began
        self.connections = 0
        self.lock = threading.Lock()
        self.sockets = self.listen(addresses)
        self.port = self.sockets[0].getsockname()[1]
        self.open = set()
        for listener in self.sockets:
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    @staticmethod
    def listen(addresses):
        """On a port that is free at every address."""
        while True:
            sockets = []
            try:
                for address in addresses:
                    sockets.append(socket.create_server((address, sockets[0].getsockname()[1] if sockets else 0)))
                return sockets
            except OSError:
                for each in sockets:
                    each.close()

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with self.lock:
            self.connections += 1
            number = self.connections
            self.open.add(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw = connection
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)
            stream = lines(connection)
            while self.exchange(connection, stream, number):
                pass
        except (OSError, EOFError, ValueError):
            pass
        finally:
            with self.lock:
                self.open.discard(raw)
            connection.close()

    def exchange(self, connection, stream, number):
        """One request and its answer; true if another may come."""
        request = self.read(stream, number)
        if request is None:
            self.part(connection)
            return False
        script = self.script.get(request.host) or self.script["*"]
        with self.lock:
            answer = script(request)
            if request.headers.get("connection", "").lower() == "close" and answer.end == "keep":
                answer = dataclasses.replace(answer, end="close")
            self.log.append((request, answer.status))
        self.write(connection, answer)
        if answer.end == "close":
            self.part(connection)
        elif answer.end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return answer.end == "keep"

    @staticmethod
    def part(connection):
        """In peace: a close_notify, that nobody needs to answer."""
        if isinstance(connection, ssl.SSLSocket):
            connection.settimeout(0.001)
            try:
                connection.unwrap()
            except OSError:
                pass

    @staticmethod
    def read(stream, number):
        first = stream.readline()
        if not first:
            return None
        method, path, _ = first.decode().split()
        headers = {}
        for line in iter(stream.readline, b"\r\n"):
            if not line:
                raise EOFError
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        request = Request(headers.get("host", "-").split(":")[0], path, method, number, headers)
        digest = hashlib.sha256()
        for piece in body(stream, headers):
            request.length += len(piece)
            digest.update(piece)
        request.digest = digest.hexdigest()
        return request

    @staticmethod
    def write(connection, answer):
        if answer.status is None:
            return
        whole = isinstance(answer.body, bytes)
        length = len(answer.body) if whole else answer.length
        rest = [f"{name}: {value}" for name, value in answer.headers.items()]
        rest += ["Transfer-Encoding: chunked"] if length is None else [f"Content-Length: {length}"] if length != CLOSE else []
        rest += ["Connection: close"] if answer.end == "close" or length == CLOSE else []
        head = "\r\n".join([f"HTTP/1.1 {answer.status} {'Fine' if answer.status < 400 else 'Bad'}", *rest, "", ""])
        if whole:
            connection.sendall(head.encode() + answer.body)
            return
        connection.sendall(head.encode())
        for piece in answer.body:
            if isinstance(piece, (int, float)):
                time.sleep(piece)
            elif length is None:
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            else:
                connection.sendall(piece)
        if length is None and answer.end in ("keep", "close"):
            connection.sendall(b"0\r\n\r\n")

    def statuses(self, host=None):
        """How many answers of which status it gave."""
        return collections.Counter(status for request, status in list(self.log) if host in (None, request.host))

    def connections_of(self, host):
        """On how many connections requests of it came."""
        return len({request.connection for request, _ in list(self.log) if request.host == host})

    def close(self):
        with self.lock:
            sockets = [*self.sockets, *self.open]
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for each in self.sockets:
            each.close()


def body(stream, headers):
    """The pieces of a request's body."""
    if headers.get("transfer-encoding") == "chunked":
        while True:
            left = size = int(stream.readline(), 16)
            while left:
                piece = stream.read(min(left, 1 << 16))
                left -= len(piece)
                yield piece
            stream.readline()
            if size == 0:
                return
    left = int(headers.get("content-length", 0))
    while left:
        piece = stream.read(min(left, 1 << 16))
        if not piece:
            raise EOFError
        left -= len(piece)
        yield piece


def always(status, **headers):
    """A script: Retry_After=3 is Retry-After: 3."""
    answer = Answer(status, {name.replace("_", "-"): value for name, value in headers.items()})
    return lambda request: answer


def no_answer(end):
    """A script."""
    return lambda request: Answer(None, end=end)


def every(count, bad):
    """A script: each `count`th request meets `bad`, all others are well."""
    turn = iter(range(1, 1 << 30))
    return lambda request: bad(request) if next(turn) % count == 0 else Answer()


def noise(seed, size):
    """Bytes that no compression makes smaller, in pieces of any size; the same for the same seed."""
    dice, left = random.Random(seed), size
    while left:
        piece = dice.randbytes(min(left, dice.choice((1, 100, 1400, 16384, 16385, 65536, 200000))))
        left -= len(piece)
        yield piece


# ---- HTTP/2 -------------------------------------------------------------------------------------------------------------

NGINX = """
daemon off; worker_processes 1; worker_rlimit_nofile 8192; {user} pid {directory}/nginx.pid; error_log {directory}/error.log;
events {{ worker_connections 4096; }}
http {{
    log_format told '$host $status $connection $server_protocol'; access_log {directory}/access.log told;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    client_max_body_size 0; proxy_request_buffering off; proxy_buffering {buffering}; proxy_max_temp_file_size 0;
    http2_max_concurrent_streams 2000; keepalive_requests {requests}; keepalive_timeout 300s;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    upstream behind {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 1000000; }}
    server {{
        {listen}
        location / {{
            proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
            proxy_read_timeout 60s; proxy_next_upstream off;
        }}
    }}
}}
"""


class Http2:
    """nginx, that speaks HTTP/2 over TLS (HTTP/1 to who wants that) or in the clear, and passes each request on to a plain
    server. requests: after so many it goes away from a connection."""

    def __init__(
        self, directory, certificate, upstream, addresses=("127.0.0.1",), buffering="on", tls=True, requests=1000000, environment=None
    ):
        self.directory = directory / "http2"
        self.directory.mkdir()
        # It takes over sockets that listen already, as from an older self (with a master, else it crashes): its port is ours
        # from the beginning. Root's worker stays root: nobody else may look into the directory.
        sockets = Server.listen(addresses)
        self.port = sockets[0].getsockname()[1]
        how = "ssl http2" if tls else "http2"
        listen = " ".join(f"listen {address}:{self.port} {how};" for address in addresses)
        user = "user root;" if os.geteuid() == 0 else ""
        words = dict(user=user, directory=self.directory, certificate=certificate.file, key=certificate.key)
        words |= dict(buffering=buffering, requests=requests)
        file = self.directory / "nginx.conf"
        file.write_text(NGINX.format(upstream=upstream, listen=listen, **words))
        self.process = subprocess.Popen(
            ["nginx", "-c", file, "-p", self.directory],
            env={
                **(environment or {}),
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "NGINX": "".join(f"{each.fileno()};" for each in sockets),
            },
            pass_fds=[each.fileno() for each in sockets],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in sockets:
            each.close()
        wait_for(self.up)

    def up(self):
        if self.process.poll() is not None:
            raise RuntimeError((self.directory / "error.log").read_text())
        return (self.directory / "nginx.pid").exists()

    def log(self):
        """[(host, status, connection, protocol)] of every request that it answered."""
        return [tuple(line.split()) for line in (self.directory / "access.log").read_text().splitlines()]

    def close(self):
        self.process.terminate()
        self.process.wait()
