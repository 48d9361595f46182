"""Bodies that libcurl hands over: they arrive as without prebreak, and event streams that fail after 200 have failed."""

import gzip
import json
import random
import socket
import socketserver
import struct
import subprocess
import threading
import time

import pytest

from harness import BUILD, Guest

BODIES = BUILD / "clients" / "bodies"
MULTI = BUILD / "clients" / "multi"
WAYS = ["plain", "nodata", "file", "headers", "lines", "short", "pause", "scribble", "swap", "stop=5000"]

CHUNK = 'data: {"choices":[{"delta":{"content":"word"}}]}\n\n'
ANTHROPIC = 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"word"}}\n\n'
PING = 'event: ping\ndata: {"type": "ping"}\n\n'
OUT_OF_QUOTA = json.dumps({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}})

# What is sent after the head of an event stream: texts, seconds to wait, or how it ends
STREAMS = {
    "openai": [CHUNK, 0.1, CHUNK, "data: [DONE]\n\n"],
    "anthropic": [ANTHROPIC, 0.1, PING, ANTHROPIC, 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
    "ends": [CHUNK, 0.1, CHUNK],
    "openai-error": [CHUNK, 0.1, 'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n'],
    "anthropic-error": [ANTHROPIC, 0.1, 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'],
    "cut": [CHUNK, 0.1, CHUNK, "cut"],
    "reset": [CHUNK, 0.1, CHUNK, "reset"],
    "comments": [CHUNK] + [": still here\n\n", 0.3] * 18,
    "lively": [CHUNK, 0.3] * 10 + ["data: [DONE]\n\n"],
    "slowly": [CHUNK, 0.05] * 40,
}


class Streams(socketserver.ThreadingTCPServer):
    """/NAME of STREAMS; /random/SEED: a body of its own; /quota, /limit: a 429; /gzip: an encoded stream with an error in it."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        path = self.rfile.readline().split()[1].decode().strip("/")
        while self.rfile.readline().strip():
            pass
        if path in STREAMS:
            self.stream(STREAMS[path])
        elif path == "gzip":
            body = gzip.compress("".join(STREAMS["openai-error"][::2]).encode())
            self.answer(200, body, "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n")
        elif path in ("quota", "limit"):
            self.answer(429, OUT_OF_QUOTA.encode() if path == "quota" else b'{"error":{"type":"rate_limit"}}')
        else:
            self.answer(200, random.Random(path).randbytes(300000), "X-Mine: yes\r\n")

    def answer(self, status, body, headers=""):
        head = f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def stream(self, script):
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"
            b"Connection: close\r\n\r\n"
        )
        try:
            for step in script:
                if step == "cut":
                    return
                if step == "reset":
                    self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.request.close()
                    return
                if isinstance(step, float):
                    time.sleep(step)
                else:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(step), step.encode()))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass  # the client has had enough


@pytest.fixture
def streams():
    with Streams() as server:
        yield f"http://acme.test:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture
def acme(guarded, streams):
    guarded.settings["PREBREAK_PROVIDERS"] = "acme acme.test"
    guarded.names = {"acme.test": ["127.0.0.1"]}
    return guarded


def counts(guest):
    return {key: value for key, value in guest.status("acme")["total"].items() if value and key != "calls"}


def failures(guest):
    return {key: value for key, value in guest.status("acme")["failures"].items() if value}


# ---- they arrive as they are -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_bodies_and_headers_arrive_as_without_prebreak(tmp_path, streams, way):
    said = []
    for preloaded in (False, True):
        guest = Guest(tmp_path, preloaded)
        guest.names = {"acme.test": ["127.0.0.1"]}
        urls = [f"{streams}random/{i}" for i in range(3)] + [streams + "openai"]
        done = subprocess.run([BODIES, way, *urls], env=guest.environment(), capture_output=True)
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stdout.splitlines() if not line.startswith(b"Date")]
        # Where it is swapped, how much came by the first callback is chance
        said.append(b"\n".join(lines).replace(b"<second>", b""))
    assert said[0] == said[1]


# ---- event streams -----------------------------------------------------------------------------------------------------------

ENDS = [
    ("openai", "ok"),
    ("anthropic", "ok"),
    ("ends", "ok"),
    ("openai-error", "stream"),
    ("anthropic-error", "stream"),
    ("cut", "stream"),
    ("reset", "stream"),
]


def easy(guest, url):
    return guest.run(BODIES, "plain", url)


def multi(guest, url):
    return guest.run(MULTI, "epoll", url)


def command(guest, url):
    return guest.run("curl", "-sN", url)


@pytest.mark.parametrize("perform", [easy, multi, command])
@pytest.mark.parametrize("name, outcome", ENDS)
def test_event_stream_counts_by_its_events_and_its_end(acme, streams, perform, name, outcome):
    perform(acme, streams + name)

    assert counts(acme) == ({"ok": 1} if outcome == "ok" else {"failed": 1})
    assert failures(acme) == ({} if outcome == "ok" else {outcome: 1})
    assert acme.status("acme")["inflight"] == 0


@pytest.mark.parametrize("way, ended", [("pause", "stream"), ("scribble", "stream"), ("swap", "stream"), ("file", "ok"), ("headers", "ok")])
def test_event_stream_is_read_in_whatever_way_it_is_taken_unless_that_is_not_possible(acme, streams, way, ended):
    acme.run(BODIES, way, streams + "openai-error")

    assert failures(acme) == ({"stream": 1} if ended == "stream" else {})
    assert counts(acme) == ({"failed": 1} if ended == "stream" else {"ok": 1})


@pytest.mark.parametrize("name", ["cut", "reset"])
def test_event_stream_that_breaks_off_is_told_as_one_where_it_cannot_be_read(acme, streams, name):
    acme.run(BODIES, "file", streams + name)

    assert failures(acme) == {"stream": 1}


@pytest.mark.parametrize("perform", [easy, multi])
def test_stream_of_comments_has_stalled_and_one_of_events_has_not(acme, streams, perform):
    acme.settings["PREBREAK_DEFAULTS"] = "stall=2s"
    assert perform(acme, streams + "lively").returncode == 0
    assert counts(acme) == {"ok": 1}

    perform(acme, streams + "comments")
    assert counts(acme) == {"ok": 1, "failed": 1} and failures(acme) == {"stream": 1}


@pytest.mark.parametrize("way", ["rest", "hold"])
def test_stream_that_the_program_itself_holds_up_has_not_stalled(acme, streams, way):
    acme.settings["PREBREAK_DEFAULTS"] = "stall=2s"

    acme.run(BODIES, f"{way}=4500", streams + "slowly")

    assert counts(acme) == {"ok": 1}


def test_encoded_stream_is_not_read_unless_libcurl_decodes_it(acme, streams):
    assert acme.run("curl", "-s", "-o", "/dev/null", streams + "gzip").returncode == 0
    assert counts(acme) == {"ok": 1}

    assert acme.run("curl", "-s", "--compressed", "-o", "/dev/null", streams + "gzip").returncode == 0
    assert counts(acme) == {"ok": 1, "failed": 1} and failures(acme) == {"stream": 1}


# ---- 429 -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("perform", [easy, multi, command])
@pytest.mark.parametrize("name, kind", [("quota", "quota"), ("limit", "status")])
def test_account_that_is_out_of_quota_is_told_from_a_limit_of_rate(acme, streams, perform, name, kind):
    perform(acme, streams + name)

    assert counts(acme) == {"failed": 1} and failures(acme) == {kind: 1}
