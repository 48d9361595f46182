"""Streams that fail after their 200: events of the shapes that OpenAI and Anthropic send, over TLS.

Node is not among the clients: its TLS is inside node itself, and what it reads there cannot be seen.
"""

import dataclasses

from asked import CLIENTS_ASKED, Asked, Caller, asked, skip_missing
from harness import wait_for
from matrix import PYTHON
from secure import CLOSE, DOMAIN, Answer

STALL = 2  # seconds
NAMES = ("requests", "httpx", "httpx over HTTP/2", "aiohttp", "PHP streams")
STREAMERS = [each for each in CLIENTS_ASKED if each.name in NAMES]
STREAMERS += [Asked("pycurl", (PYTHON, "python_pycurl.py"), module="pycurl", curl=True)]


@dataclasses.dataclass(frozen=True)
class Shape:
    name: str
    begin: bytes
    piece: bytes
    noise: bytes  # no sign of life
    error: bytes
    done: bytes


OPENAI = Shape(
    "openai",
    b'data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n',
    b'data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello \\"error\\""}}]}\n\n',
    b": keep-alive\n\n",
    b'data: {"error":{"message":"The server had an error while processing your request","type":"server_error"}}\n\n',
    b"data: [DONE]\n\n",
)
ANTHROPIC = Shape(
    "anthropic",
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m1","role":"assistant","content":[]}}\n\n',
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"error"}}\n\n',
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
)


def halves(event):
    """An event comes in pieces as it likes."""
    return [event[: len(event) // 2], 0.01, event[len(event) // 2 :]]


def answers(silence):
    """What the provider does to a stream, by the name of the one who does so: pieces of a shape, framing, end."""
    events = {"Content-Type": "text/event-stream; charset=utf-8"}

    def answer(pieces, **more):
        return lambda shape: Answer(200, events, [shape.begin, *halves(shape.piece), *pieces(shape)], **more)

    return {
        "clean": answer(lambda shape: [shape.piece, shape.done]),
        "unmarked": answer(lambda shape: [shape.piece]),  # ended well, though it does not say so
        "error": answer(lambda shape: halves(shape.error)),
        "cut": answer(lambda shape: [shape.piece], end="cut"),
        "closed": answer(lambda shape: [shape.piece], length=CLOSE, end="close"),
        "torn": answer(lambda shape: [shape.piece], length=CLOSE, end="cut"),
        "silent": answer(lambda shape: [*[shape.noise, 0.25] * int(4 * silence), shape.done]),
    }


WELL = ("clean", "unmarked", "closed")


@asked(STREAMERS)
def test_streams_that_fail_after_their_200_are_failures(guest, serve, certificate, client):
    skip_missing(client)
    script = answers(2.5 * STALL if guest.preloaded else 0.5)
    if client.http2:
        # What nginx reads in the clear until the end has no other end
        script = {name: answer for name, answer in script.items() if name not in ("closed", "torn")}
    shapes = {f"{shape.name}-{name}": answer(shape) for shape in (OPENAI, ANTHROPIC) for name, answer in script.items()}
    addresses = [f"127.0.0.{2 + i}" for i in range(len(shapes))]
    server, front = serve(addresses, client.http2, buffering="off")
    server.script = {f"{name}.{DOMAIN}": lambda request, answer=answer: answer for name, answer in shapes.items()}
    guest.names = {f"{name}.{DOMAIN}": [address] for name, address in zip(shapes, addresses)}
    rules = [f"{name} {name}.{DOMAIN} stall={STALL}s" for name in shapes]
    guest.settings["PREBREAK_PROVIDERS"] = "; ".join(rules)

    # When each is read to its end, those that fall silent by clients of their own
    url = lambda name: f"https://{name}.{DOMAIN}:{front.port}/"
    quiet = [name for name in shapes if name.endswith("silent")]
    waiting = {name: Caller(guest, client, "fresh", url(name), certificate.trusting) for name in quiet}
    other = Caller(guest, client, "fresh", url("none"), certificate.trusting)
    for each in waiting.values():
        each.ask("x")
    said = {name: other.call(url(name)) for name in shapes if name not in quiet}
    said |= {name: each.hear() for name, each in waiting.items()}

    # Then the client had what was sent
    assert len(server.log) == len(shapes)
    assert {name: what for name, what in said.items() if not name.endswith(("cut", "torn"))} == {
        name: "200" for name in shapes if not name.endswith(("cut", "torn"))
    }
    if not guest.preloaded:
        return
    # And those that did not end well have failed, and no other
    counted = {}
    for name in shapes:
        wait_for(lambda name=name: guest.status(name)["inflight"] == 0, limit=5)
        status = guest.status(name)
        assert status["total"]["calls"] == 1
        failures = {kind: count for kind, count in status["failures"].items() if count}
        counted[name] = "ok" if status["total"]["ok"] else failures
    assert counted == {name: "ok" if name.split("-")[1] in WELL else {"stream": 1} for name in shapes}
