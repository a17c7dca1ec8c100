"""An engine whose connections break: HTTP written by hand, so that it can end at every possible moment."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import struct
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from page_script import PAGE, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BREAKS = (
    "reset",
    "close",
    "half a head",
    "no http",
    "nothing",
    "reset within",
    "close within",
    "half a chunk",
    "no chunk",
    "less than said",
    "no json",
    "an error",
    "no gzip",
)
"""How a request may go wrong on its way; "within" is in the middle of the answer."""

WHOLE = ("plain", "gzip", "http/1.0", "interim", "closed after")
"""How a good answer may come."""


_START = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


class Breaking:
    """The engine; `how` gets the pages of a request and how often the first was asked for, and says what happens.

    It says a name of `BREAKS` or `WHOLE`, or an HTTP status.
    """

    def __init__(
        self, how: Callable[[list[int], int], str | int], *, owned_by: str = "vllm", health: int = 200
    ) -> None:
        self.how = how
        self.health = health
        self.asked: Counter[int] = Counter()
        self._models = {"data": [{"id": "Unlimited-OCR", "owned_by": owned_by}]}
        self._open: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._end = asyncio.Event()
        server = await asyncio.start_server(self._client, "127.0.0.1", 0, limit=1 << 22)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        await self._end.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while await self._request(reader, writer):
                    await writer.drain()
        finally:
            self._open.discard(task)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays."""
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].split(b"\r\n")[0]
        body = json.loads(await reader.readexactly(int(length))) if length else {}
        if not body.get("stream"):
            status = self.health if b"/health" in head.split(b"\r\n")[0] else 200
            message = {"role": "assistant", "content": PAGE.format(n="Ready")}
            _plain(writer, status, self._models | {"choices": [{"message": message}]})
            return True
        shown = numbers(body)
        self.asked.update(shown)
        how = self.how(shown, self.asked[shown[0]])
        if isinstance(how, int):
            _plain(writer, how, {"error": {"message": f"scripted {how}"}})
            return True
        if how == "reset":
            return _reset(writer)
        if how == "close":
            return False
        if how in ("half a head", "no http"):
            writer.write(b"HTTP/1.1 200 OK\r\ncont" if how == "half a head" else b"\0\1\2 hello\r\n\r\n")
            return False
        return await _stream(writer, how, shown)


async def _stream(writer: asyncio.StreamWriter, how: str, shown: list[int]) -> bool:
    lines = _events("\n".join(("<PAGE>" if len(shown) > 1 else "") + PAGE.format(n=n) for n in shown))
    if how == "nothing":
        lines = []
    if how == "no json":
        lines.insert(len(lines) // 2, b"data: {not json\n\n")
    if how == "an error":
        lines[len(lines) // 2 :] = [b'data: {"error": {"message": "engine died"}}\n\n']
    if how in ("less than said", "gzip", "no gzip", "http/1.0"):
        return _at_once(writer, how, b"".join(lines))
    if how == "interim":
        writer.write(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
    writer.write(_START + b"transfer-encoding: chunked\r\n\r\n")
    for n, line in enumerate(lines):
        if n == len(lines) // 2 and how in ("reset within", "close within", "half a chunk", "no chunk"):
            await writer.drain()
            await asyncio.sleep(0.06)  # what came is read before the connection goes
            writer.write({"half a chunk": b"1f4\r\n" + line, "no chunk": b"zz\r\nxx"}.get(how, b""))
            return _reset(writer) if how == "reset within" else False
        writer.write(b"%x\r\n%b\r\n" % (len(line), line))
    writer.write(b"0\r\n\r\n")
    if how == "reset after":
        await writer.drain()
        await asyncio.sleep(0.06)
        return _reset(writer)
    return how != "closed after"


def _at_once(writer: asyncio.StreamWriter, how: str, whole: bytes) -> bool:
    if how == "http/1.0":
        writer.write(_START.replace(b"1.1", b"1.0") + b"\r\n" + whole)
        return False
    if how == "less than said":
        writer.write(_START + b"content-length: %d\r\n\r\n" % len(whole) + whole[: len(whole) // 2])
        return False
    data = gzip.compress(whole)
    if how == "no gzip":
        data = data[:30] + b"\xff" * 8 + data[38:]
    writer.write(_START + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
    return True


def _events(text: str) -> list[bytes]:
    pieces = [text[at : at + 9] for at in range(0, len(text), 9)]
    events: list[dict[str, Any]] = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    events.append({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": len(pieces)}})
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]


def _plain(writer: asyncio.StreamWriter, status: int, told: dict[str, Any]) -> None:
    data = json.dumps(told).encode()
    writer.write(b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(data)))
    writer.write(data)


def _reset(writer: asyncio.StreamWriter) -> bool:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


@contextlib.contextmanager
def breaking(how: Callable[[list[int], int], str | int], **options: Any) -> Iterator[Breaking]:
    """The engine for the length of a test."""
    running = Breaking(how, **options)
    try:
        yield running
    finally:
        running.close()
