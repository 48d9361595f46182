"""Every byte arrives as it was sent, both ways, in pieces of any size: PREBREAK_TEST_BYTES of them each way."""

import dataclasses
import hashlib
import os

import pytest

from harness import wait_for
from matrix import CLIENTS, PYTHON, Client, Proxy
from proxies import Front, start_proxy
from secure import DOMAIN, Answer, noise

SIZE = int(os.environ.get("PREBREAK_TEST_BYTES", 16 << 20))
LIMIT = 60 + SIZE / 4e6  # seconds
HOST = f"acme.{DOMAIN}"


@dataclasses.dataclass(frozen=True)
class Carrier:
    """clients/payload/PROGRAM URL FILE: posts the file and prints the digest of the answer."""

    name: str
    words: tuple  # the second is the program
    tls: bool = True
    http2: bool = False
    module: str = None
    needs: str = None

    missing = Client.missing


CARRIERS = [
    Carrier("HTTP/1 in the clear", (PYTHON, "http_client.py"), tls=False),
    Carrier("HTTP/1, OpenSSL on a socket", (PYTHON, "http_client.py")),
    Carrier("HTTP/1, OpenSSL on memory", (PYTHON, "python_aiohttp.py"), module="aiohttp"),
    Carrier("HTTP/1, OpenSSL in libcurl", ("sh", "curl.sh", "--http1.1"), needs="curl"),
    Carrier("HTTP/1, GnuTLS on a socket", ("sh", "wget.sh"), needs="wget"),
    Carrier("HTTP/1, GnuTLS in libcurl", (PYTHON, "python_pycurl.py", "1"), module="pycurl"),
    Carrier("HTTP/2 in the clear", (PYTHON, "python_httpx.py"), module="h2", tls=False, http2=True),
    Carrier("HTTP/2, OpenSSL on a socket", (PYTHON, "python_httpx.py"), module="h2", http2=True),
    Carrier("HTTP/2, OpenSSL in libcurl", ("sh", "curl.sh", "--http2"), needs="curl", http2=True),
    Carrier("HTTP/2, GnuTLS in libcurl", (PYTHON, "python_pycurl.py", "2"), module="pycurl", http2=True),
]


@pytest.fixture(scope="session")
def cargo(tmp_path_factory):
    """A file to send; its digest and that of what comes back."""
    file, sent, back = tmp_path_factory.mktemp("cargo") / "cargo", hashlib.sha256(), hashlib.sha256()
    with open(file, "wb") as stream:
        for piece in noise(1, SIZE):
            stream.write(piece)
            sent.update(piece)
    for piece in noise(2, SIZE):
        back.update(piece)
    return file, sent.hexdigest(), back.hexdigest()


def returns(request):
    return Answer(headers={"Content-Type": "application/octet-stream"}, body=noise(2, SIZE))


def one_good_call(guest):
    if not guest.preloaded:
        return
    wait_for(lambda: guest.status("acme")["inflight"] == 0, limit=5)
    total = guest.status("acme")["total"]
    assert (total["calls"], total["ok"]) == (1, 1)


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda each: each.name)
def test_every_byte_arrives_both_ways(guest, serve, certificate, cargo, carrier):
    if carrier.missing():
        pytest.skip(carrier.missing())
    file, sent, back = cargo
    guest.settings["PREBREAK_PROVIDERS"] = f"acme {HOST}"
    guest.names = {HOST: ["127.0.0.1"]}
    server, front = serve(["127.0.0.1"], carrier.http2, carrier.tls, buffering="off")
    server.script["*"] = returns
    program, script, *more = carrier.words
    url = f"{'https' if carrier.tls else 'http'}://{HOST}:{front.port}/"

    done = guest.run(program, CLIENTS.parent / "payload" / script, url, file, *more, timeout=LIMIT, **certificate.trusting)

    assert (done.stdout.strip(), done.stderr) == (back, "")
    ((request, _),) = server.log
    assert (request.length, request.digest) == (SIZE, sent)
    one_good_call(guest)


NGINX = """
daemon off; master_process off; pid {directory}/nginx.pid; error_log stderr;
events {{}}
http {{
    access_log off; client_max_body_size 0;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    server {{
        listen unix:{front};
        location / {{
            proxy_pass https://HOST:{port}; proxy_ssl_server_name on; proxy_http_version 1.1;
            proxy_request_buffering off; proxy_max_temp_file_size 0;
        }}
    }}
}}
""".replace("HOST", HOST)


def test_every_byte_arrives_both_ways_through_nginx_and_its_upstreams_tls(guest, serve, cargo):
    file, sent, back = cargo
    guest.settings["PREBREAK_PROVIDERS"] = f"acme {HOST}"
    guest.names = {HOST: ["127.0.0.1"]}
    server, _ = serve(["127.0.0.1"])
    server.script["*"] = returns
    proxy = Proxy("nginx", ("nginx", "-c", "{file}", "-p", "{directory}"), NGINX, {})
    visitor = Front(start_proxy(guest, proxy, server.port, LIMIT))

    with open(file, "rb") as stream:
        visitor.request("POST", "/", stream, {"Content-Length": str(SIZE)})
    answer, digest = visitor.getresponse(), hashlib.sha256()
    while piece := answer.read(100000):
        digest.update(piece)
    visitor.close()

    assert digest.hexdigest() == back
    ((request, _),) = server.log
    assert (request.length, request.digest) == (SIZE, sent)
    one_good_call(guest)
