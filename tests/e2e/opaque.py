"""Providers whose words prebreak does not read: just enough of Redis and of PostgreSQL to be talked to, and to go bad."""

import socket
import struct
import threading


def redis(take):
    """A RESP array of bulk strings is a request, whatever it says."""
    while True:
        for _ in range(int(take(until=b"\r\n")[1:])):
            take(int(take(until=b"\r\n")[1:]) + 2)
        yield b"+PONG\r\n"


def postgres(take):
    """No password, no encryption; every statement is a SET."""
    message = lambda kind, body: kind + struct.pack(">i", len(body) + 4) + body
    ready = message(b"Z", b"I")
    while struct.unpack(">i", take(struct.unpack(">i", take(4))[0] - 4)[:4])[0] != 196608:
        yield b"N"
    yield message(b"R", struct.pack(">i", 0)) + message(b"S", b"server_version\x0015.0\0") + ready
    while take(1) == b"Q":
        take(struct.unpack(">i", take(4))[0] - 4)
        yield message(b"C", b"SET\0") + ready


def grpc(take):
    """HTTP/2, whose every unary call is answered with an empty message and status 0."""
    frame = lambda kind, flags, stream, body=b"": struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body
    literal = lambda name, value: b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    data, headers, settings, ack, end_stream, end_headers = 0, 1, 4, 1, 1, 4
    take(24)  # the preface
    yield frame(settings, 0, 0)
    while True:
        head = take(9)
        length, (kind, flags, stream) = int.from_bytes(head[:3], "big"), struct.unpack(">BBI", head[3:])
        if length:
            take(length)
        if kind == settings and not flags & ack:
            yield frame(settings, ack, 0)
        if kind == data and flags & end_stream:
            begin = frame(headers, end_headers, stream, b"\x88" + literal(b"content-type", b"application/grpc"))
            message = frame(data, 0, stream, bytes(5))
            yield begin + message + frame(headers, end_headers | end_stream, stream, literal(b"grpc-status", b"0"))


class Opaque:
    """One of these on `addresses`, all on one port; those in `refuse` do not listen. Over TLS if it is given a context."""

    def __init__(self, protocol, addresses, refuse=(), action="answer", context=None):
        self.protocol, self.action, self.context = protocol, action, context
        self.requests = self.connections = 0
        self.ended, self.port, self.sockets = False, 0, []
        for address in addresses:
            listener = socket.socket()
            listener.bind((address, self.port))
            self.port = listener.getsockname()[1]
            self.sockets.append(listener)
            if address not in refuse:
                listener.listen()
                threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            self.sockets.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            self.converse(self.secured(connection) if self.context else connection)
        except OSError:
            connection.close()

    def secured(self, connection):
        if self.protocol is postgres:  # that is asked for it first, in the clear
            connection.recv(8)
            connection.sendall(b"S")
        return self.context.wrap_socket(connection, server_side=True)

    def converse(self, connection):
        stream = connection.makefile("rb")

        def take(count=0, until=None):
            got = stream.readline() if until else stream.read(count)
            if len(got) < max(count, 1):
                raise EOFError
            return got

        try:
            for answer in self.protocol(take):
                self.requests += 1
                if self.action == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    break
                if self.action == "hang":
                    stream.read()
                    break
                connection.sendall(answer)
        except (EOFError, OSError):
            pass
        stream.close()
        connection.close()

    def close(self):
        for each in self.sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
