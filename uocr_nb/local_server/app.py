"""The HTTP face of the embedded engine: OpenAI's chat completions over loopback."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from uocr_nb.local_server.answer import Piece, Writer
from uocr_nb.local_server.fairness import FairQueue
from uocr_nb.local_server.faults import Fault
from uocr_nb.local_server.guard import Guard
from uocr_nb.local_server.images import MAX_BYTES, decode
from uocr_nb.local_server.request import Ask, parse_request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from uocr_nb.local_server.engine import Engine, ReadBlock

__all__ = ["MODEL", "OWNER", "Service", "create_app"]

MODEL = "Unlimited-OCR"
OWNER = "uocr-cpu"
PULSE = 5.0
"""Seconds between two comment lines of a silent stream: proxies and clients see that it lives."""
log = logging.getLogger("uocr.cpu")


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


@dataclass
class Service:
    """What the app serves: the engine once it is loaded, and the queue in front of it.

    Attributes
    ----------
    key : str
        What clients must send.
    engine : Engine or RealModel or None
        None while it is loaded.
    queue : FairQueue
        Who comes next.
    owner : str
        How the engine names itself in ``/v1/models``.
    answer : type of Answer, optional
        How a request is answered by it; by the embedded engine's way when None.
    """

    key: str
    engine: Any = None
    queue: FairQueue = field(default_factory=FairQueue)
    owner: str = OWNER
    answer: type[Answer] | None = None


def create_app(service: Service) -> Starlette:
    """The ASGI app for `service`; only requests from this machine with its key get through (`Guard`)."""

    async def health(_: Request) -> Response:
        return Response(status_code=200 if service.engine else 503)

    async def models(_: Request) -> Response:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": service.owner, "max_model_len": 32768}
        revision = getattr(service.engine, "revision", None)
        if revision:
            model["revision"] = revision
        return JSONResponse({"object": "list", "data": [model]})

    async def completions(request: Request) -> Response:
        return await _complete(service, request)

    async def refused(_: Request, fault: Exception) -> Response:
        return fault.response() if isinstance(fault, Fault) else Fault(500, "Internal error.").response()

    async def unknown(request: Request, _: Exception) -> Response:
        return Fault(404, f"There is no {request.method} {request.url.path} here.").response()

    async def unsuited(request: Request, fault: Exception) -> Response:
        reply = Fault(405, f"{request.url.path} cannot be asked with {request.method}.").response()
        reply.headers.update(getattr(fault, "headers", None) or {})
        return reply

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/v1/models", models),
            Route("/v1/chat/completions", completions, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, check=lambda given: hmac.compare_digest(given, service.key.encode()))],
        exception_handlers={Fault: refused, 404: unknown, 405: unsuited},
    )


async def _complete(service: Service, request: Request) -> Response:
    if service.engine is None:
        raise Fault(503, "The engine is still loading its models. Please try again.", retry_after=2)
    body = await _body(request)
    service.queue.refuse_when_full()
    ask = await asyncio.to_thread(_understand, body)
    address = f"{request.client.host}:{request.client.port}" if request.client else ""
    return (service.answer or Answer)(service, ask, client=ask.user or address)


async def _body(request: Request) -> bytes:
    limit = MAX_BYTES * 4 // 3 + 2**20
    too_large = Fault(413, f"The request is larger than {limit // 2**20} MiB. Send fewer or smaller pages.")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large
    return bytes(body)


def _understand(body: bytes) -> Ask:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Fault(400, f"The body is not JSON: {error}") from error
    return parse_request(parsed)


class Answer(Response):
    """The answer to one request, read while it is sent; a client that goes away stops the work."""

    def __init__(self, service: Service, ask: Ask, client: str) -> None:
        super().__init__()
        self._service = service
        self._ask = ask
        self._client = client
        self._id = f"chatcmpl-{uuid.uuid4().hex}"
        self._created = int(time.time())
        self._writer = Writer(ask.max_tokens, stripped=ask.stripped)
        self._stop = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's form
        """Serve the answer, watching for the client to leave."""
        work = asyncio.create_task(self._stream(send) if self._ask.stream else self._whole(send))
        watch = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self._stop.set()
                work.cancel()
                log.info("%s: client gone, dropped", self._id[-6:])
            await asyncio.gather(work, return_exceptions=not watch.done() or work.cancelled())
        except (asyncio.CancelledError, ClientGoneError, OSError):
            self._stop.set()
        finally:
            watch.cancel()

    async def _whole(self, send: Send) -> None:
        pieces: list[Piece] = []
        try:
            async for some in self._read():
                pieces += some
        except Fault as fault:
            await _send_json(send, fault.status, fault.body())
            return
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": "".join(piece.text for piece in pieces)},
            "finish_reason": self._reason(),
            "logprobs": self._logprobs(pieces),
        }
        reply = {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}
        await _send_json(send, 200, reply)

    async def _stream(self, send: Send) -> None:
        head = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await self._event(send, self._chunk({"role": "assistant", "content": ""}))
        try:
            async with contextlib.aclosing(self._lively(send)) as lively:
                async for pieces in lively:
                    text = "".join(piece.text for piece in pieces)
                    await self._event(send, self._chunk({"content": text}, logprobs=self._logprobs(pieces)))
        except Fault as fault:
            # The status line is out already: the error goes where OpenAI's clients look for it.
            await self._event(send, fault.body())
        else:
            await self._event(send, self._chunk({}, reason=self._reason()))
            if self._ask.include_usage:
                await self._event(send, {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()})
        await _send_text(send, "data: [DONE]\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _lively(self, send: Send) -> AsyncGenerator[list[Piece], None]:
        """Give what `_read` gives, with a sign of life while it takes long."""
        blocks = self._read()
        following: asyncio.Future[list[Piece] | None] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(anext(blocks, None))
                done, _ = await asyncio.wait({following}, timeout=PULSE)
                if not done:
                    await _send_text(send, ": reading\n\n")
                    continue
                pieces, following = following.result(), None
                if pieces is None:
                    return
                yield pieces
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    async def _read(self) -> AsyncGenerator[list[Piece], None]:
        """Blocks of all pages, written, as they come; each page waits for its turn."""
        began = time.perf_counter()
        count = len(self._ask.images)
        for number, data in enumerate(self._ask.images, 1):
            async with self._service.queue.turn(self._client):
                started = time.perf_counter()
                blocks = await self._in_thread(data)
                log.info(
                    "%s: page %d/%d, %d blocks, %.1f s (waited %.1f s)",
                    self._id[-6:], number, count, len(blocks), time.perf_counter() - started, started - began,
                )  # fmt: skip
            if self._ask.multi:
                yield self._writer.page()
            for block in blocks:
                yield self._writer.block(block)
                if self._writer.full:
                    return
            began = time.perf_counter()

    async def _in_thread(self, data: bytes) -> list[ReadBlock]:
        """Read one page in a thread, and wait for that thread also when the request is dropped."""
        engine = self._service.engine
        if engine is None:
            raise Fault(503, "The engine is stopping.")
        work = asyncio.ensure_future(asyncio.to_thread(self._work, engine, data))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # The place in the queue is given back only when the processor is free again.
            self._stop.set()
            await asyncio.wait({work})
            work.exception()
            raise

    def _work(self, engine: Engine, data: bytes) -> list[ReadBlock]:
        self._check()
        try:
            return engine.read(decode(data, low_memory=engine.low_memory), self._check)
        except (Fault, ClientGoneError):
            raise
        except Exception as error:
            log.exception("%s: reading failed", self._id[-6:])
            raise Fault(500, f"Reading the page failed: {type(error).__name__}.") from error

    def _check(self) -> None:
        if self._stop.is_set():
            raise ClientGoneError

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._ask.model}

    def _chunk(self, delta: dict[str, Any], *, reason: str | None = None, logprobs: Any = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": logprobs}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    async def _event(self, send: Send, data: dict[str, Any]) -> None:
        await _send_text(send, f"data: {json.dumps(data, ensure_ascii=False)}\n\n")

    def _reason(self) -> str:
        return "length" if self._writer.full else "stop"

    def _logprobs(self, pieces: list[Piece]) -> dict[str, Any] | None:
        return {"content": [piece.logprob() for piece in pieces]} if self._ask.logprobs else None

    def _usage(self) -> dict[str, int]:
        asked, answered = self._ask.prompt_tokens, self._writer.used
        return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_text(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _send_json(send: Send, status: int, data: dict[str, Any]) -> None:
    await JSONResponse(data, status_code=status)({"type": "http"}, _nothing, send)


async def _nothing() -> dict[str, Any]:
    return {"type": "http.disconnect"}
