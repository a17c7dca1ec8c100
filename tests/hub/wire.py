"""HTTP on loopback: a threaded server whose connections end when it closes, and answers that can break."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import socketserver
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@dataclass
class Reply:
    """A whole answer."""

    status: int = 200
    data: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    """Sent instead of `data`, as it is."""
    kind: str = "application/json; charset=utf-8"


def failure(status: int, message: str, **headers: str) -> Reply:
    """Make an error as the Hub words it: in the body and, for 403, readable from the header."""
    return Reply(status, {"error": message}, {"X-Error-Message": message, **headers})


class Server(socketserver.ThreadingMixIn, HTTPServer):
    """A server on 127.0.0.1 alone; ``close`` ends its connections and waits for their threads."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        self.closing = threading.Event()
        self.errors: list[BaseException] = []
        self._open: dict[socket.socket, threading.Thread] = {}
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", port), handler)
        self.port = int(self.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._loop = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True, name=f"hub-{self.port}")
        self._loop.start()

    def server_bind(self) -> None:
        """Bind without asking a name server who we are."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread that ``close`` knows."""
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        with self._guard:
            self._open[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        with self._guard:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's names
        """Keep errors of our own; a client that went away is none."""
        error = sys.exception()
        if error is not None and not isinstance(error, (ConnectionError, TimeoutError)) and not self.closing.is_set():
            self.errors.append(error)

    def wake(self) -> None:
        """Rouse threads that wait for something else than their connection."""

    def close(self, seconds: float = 5.0) -> None:
        """Stop listening, cut every connection, wait for the threads."""
        if self.closing.is_set():
            return
        self.closing.set()
        self.wake()
        self.shutdown()
        self._loop.join(seconds)
        self.socket.close()
        with self._guard:
            rest = dict(self._open)
        for connection in rest:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + seconds
        for thread in rest.values():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))


class Handler(BaseHTTPRequestHandler):
    """Helpers to answer, to stream and to break off."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing: the recorder has it."""

    def read_body(self) -> bytes:
        """Read the whole body, whichever way its length is told."""
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, reply: Reply) -> None:
        """Send a whole answer."""
        body = (json.dumps(reply.data, ensure_ascii=False) if reply.text is None else reply.text).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def start_stream(self) -> None:
        """Begin an event stream."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_chunk(self, text: str | bytes) -> None:
        """Send a piece of a stream at once."""
        data = text.encode() if isinstance(text, str) else text
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """End a stream as it should end."""
        self.wfile.write(b"0\r\n\r\n")

    def cut(self, *, reset: bool = False) -> None:
        """Break the connection off, by a reset or by its plain end."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            if reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # Closed behind the back of the file objects, which would put a polite end before the reset.
                os.close(self.connection.detach())
            else:
                self.connection.shutdown(socket.SHUT_RDWR)

    def client_gone(self) -> bool:
        """Whether the client has closed its side."""
        with contextlib.suppress(OSError, ValueError):
            ready, _, _ = select.select([self.connection], [], [], 0)
            return bool(ready) and self.connection.recv(1, socket.MSG_PEEK) == b""
        return True

    def hold(self, seconds: float | None = None) -> None:
        """Say nothing until the time is over, the server closes or (without a time) the client has gone."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self.server.closing.is_set():
            left = 0.1 if deadline is None else min(0.1, deadline - time.monotonic())
            if left <= 0 or (deadline is None and self.client_gone()):
                return
            self.server.closing.wait(left)
