"""A web server on loopback that does what a test says, byte by byte; faults are its trade."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    at: float


@dataclass
class Answer:
    """What is sent back: whole, or in pieces with a pause before each."""

    body: bytes | Iterator[bytes] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    """Another Content-Length than the true one; -1 for none."""
    pause: float = 0.0
    raw: bool = False
    """The body is the whole answer, head and all."""


Handler = Callable[[Asked], Answer]


def redirect(target: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": target})


def data(value: Any, **headers: str) -> Answer:
    return Answer(json.dumps(value).encode(), headers={"Content-Type": "application/json", **headers})


class Web:
    """The server; `routes` has paths (without query) and answers, or functions that make them."""

    def __init__(self, wrap: Callable[[socket.socket], socket.socket] | None = None) -> None:
        self.routes: dict[str, Answer | Handler] = {}
        self.fallback: Handler | None = None
        self.asked: list[Asked] = []
        self.open = 0
        self.most_open = 0
        self._wrap = wrap
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=32)
        self.port = self._socket.getsockname()[1]
        self.url = f"http{'s' if wrap else ''}://127.0.0.1:{self.port}"
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def close(self) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in [self._accepting, *self._threads]:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._talk, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        try:
            connection = self._wrap(connection) if self._wrap else connection
            with connection, contextlib.suppress(OSError):
                asked = self._read(connection)
                if asked is None:
                    return
                with self._lock:
                    self.asked.append(asked)
                    self.open += 1
                    self.most_open = max(self.most_open, self.open)
                try:
                    self._send(connection, self._find(asked))
                finally:
                    with self._lock:
                        self.open -= 1
        except OSError:
            connection.close()

    @staticmethod
    def _read(connection: socket.socket) -> Asked | None:
        text = b""
        while b"\r\n\r\n" not in text:
            piece = connection.recv(65536)
            if not piece:
                return None
            text += piece
        first, *lines = text.split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Asked(first.split()[1], headers, time.monotonic())

    def _find(self, asked: Asked) -> Answer:
        found = self.routes.get(asked.path.partition("?")[0]) or self.fallback
        if found is None:
            return Answer(b"not here", status=404)
        return found if isinstance(found, Answer) else found(asked)

    def _send(self, connection: socket.socket, answer: Answer) -> None:
        pieces = iter([answer.body]) if isinstance(answer.body, bytes) else answer.body
        if not answer.raw:
            headers = {"Connection": "close", **answer.headers}
            if answer.length is not None or isinstance(answer.body, bytes):
                told = answer.length if answer.length is not None else len(answer.body)
                headers.setdefault("Content-Length", str(told))
            if headers.get("Content-Length") == "-1":
                del headers["Content-Length"]
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            connection.sendall(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode())
        for piece in pieces:
            if answer.pause and self._closing.wait(answer.pause):
                return
            connection.sendall(piece)
