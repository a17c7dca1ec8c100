"""An engine whose answers a test writes: real HTTP on loopback, so that the real client talks to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request


@dataclass
class Reply:
    """One answer: pieces of text, or an HTTP error."""

    text: str = ""
    finish: str | None = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "scripted"
    step: int = 7
    """Characters in one event."""
    byte_by_byte: bool = False
    hold: Any = None
    """The stream waits after its first piece until ``hold.is_set()``."""
    cut_after: int | None = None
    """The connection ends after so many events, without a word."""
    scores: list[tuple[str, float]] | None = None


class Engine:
    """The scripted engine; `script` gets the request's number (from 0) and its body."""

    def __init__(
        self, script: Callable[[int, dict[str, Any]], Reply], *, owned_by: str = "uocr-cpu", port: int = 0
    ) -> None:
        self.script = script
        self.owned_by = owned_by
        self.bodies: list[dict[str, Any]] = []
        self.open = 0
        self.most_open = 0
        self.left_early = 0
        app = Starlette(
            routes=[
                Route("/health", lambda _request: Response()),
                Route("/v1/models", self._models),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
            ]
        )
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", ws="none", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}/v1"

    def close(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10)

    async def _models(self, _request: Request) -> Response:
        return JSONResponse(
            {"object": "list", "data": [{"id": "Unlimited-OCR", "object": "model", "owned_by": self.owned_by}]}
        )

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        number = len(self.bodies)
        self.bodies.append(body)
        reply = self.script(number, body)
        if reply.status != 200:
            return JSONResponse({"error": {"message": reply.message}}, reply.status, reply.headers)
        if not body.get("stream"):
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "finish_reason": reply.finish,
            }
            return JSONResponse({"object": "chat.completion", "choices": [choice]})
        return StreamingResponse(self._stream(reply), media_type="text/event-stream")

    async def _stream(self, reply: Reply) -> AsyncIterator[bytes]:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        ended = False
        try:
            for n, event in enumerate(self._events(reply)):
                if reply.cut_after is not None and n >= reply.cut_after:
                    ended = True
                    return
                for piece in [event[i : i + 1] for i in range(len(event))] if reply.byte_by_byte else [event]:
                    yield piece
                    await asyncio.sleep(0)  # lets the server notice a client that has gone
                if reply.hold is not None:
                    while not reply.hold.is_set():
                        await asyncio.sleep(0.01)
            ended = True
        finally:
            self.open -= 1
            self.left_early += not ended

    def _events(self, reply: Reply) -> list[bytes]:
        if reply.scores is not None:
            pieces = [text for text, _ in reply.scores]
        else:
            pieces = [reply.text[i : i + reply.step] for i in range(0, len(reply.text), reply.step)]
        events: list[dict[str, Any]] = []
        for n, piece in enumerate(pieces):
            choice: dict[str, Any] = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
            if reply.scores is not None:
                choice["logprobs"] = {"content": [{"token": piece, "logprob": reply.scores[n][1], "bytes": None}]}
            events.append({"choices": [choice]})
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]})
        events.append({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": len(pieces)}})
        lines = [b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events]
        return [*lines, b"data: [DONE]\n\n"]


@contextlib.contextmanager
def engine(script: Callable[[int, dict[str, Any]], Reply], **options: Any) -> Any:
    """An engine for the length of a test."""
    running = Engine(script, **options)
    try:
        yield running
    finally:
        running.close()
