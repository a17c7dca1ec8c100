"""A continuous-batching engine without a model: time passes and answers come as they would from a GPU.

    python benchmarks/simulated_engine.py [--slots 16] [--uplink MBIT] [--busy SHARE] [--fail SHA256] [--port N]

It speaks vLLM's part of the OpenAI protocol (stream or not, usage, /health, /v1/models). Every step gives one token to
each request that holds a slot and takes 4 ms and 0.06 ms a slot; a new request first takes a step of 50 ms for its
page image. The clock of the steps never waits for this machine: steps that came late are made up for, as a GPU does not
slow down because its client is busy.

The n-th page image that was never seen before gets the n-th answer, whoever asks and in whatever format the image
comes: every client is given the same amount of work. Lengths are lognormal. Requests for the same bytes again get the
same answer.

GET /stats tells what it has seen; POST /reset forgets it and may set `busy`, `fail` and `uplink`. With --log FILE each
page request is noted there as a line of JSON, which outlives the engine.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import math
import random
import re
import signal
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

ONE_WORD = "<|det|>title [125, 250, 480, 700]<|/det|>Ready"
"""The answer to the first question that `uocr_nb.serve` asks: one word on a small page."""

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

SMALL = 20_000
"""Bytes of a request that is no page but a question whether anybody is there."""

SYLLABLES = "ka lo ve ri tan mo sil ne da ber un to fi gra pe lu om ste vi na cor ha dis el tu ja".split()  # noqa: SIM905
TOKEN = re.compile(r"<\|/?det\|>|</?t[dhr]>|</?table>| ?\w{1,6}|\s|[^\w\s]")


@dataclass(frozen=True)
class Timing:
    """How long things take, and how long answers are."""

    slots: int = 16
    step_ms: float = 4.0
    slot_ms: float = 0.06
    prefill_ms: float = 50.0
    median: int = 665
    sigma: float = 0.6
    longest: int = 8000

    def step(self, running: int) -> float:
        """Seconds of one step with so many requests in their slots."""
        return (self.step_ms + self.slot_ms * running) / 1000

    def length(self, number: int) -> int:
        """Tokens of the answer to page image `number`."""
        value = self.median * math.exp(random.Random(f"length {number}").gauss(0, self.sigma))
        return max(24, min(self.longest, round(value)))


def ideal(timing: Timing, pages: int) -> tuple[float, float]:
    """Seconds that the engine needs for its first `pages` answers when all are asked at once.

    Returns
    -------
    full, whole : float
        Until the last page has found a slot (until then all slots are full), and until the last answer is complete.
    """
    waiting = deque(timing.length(number) for number in range(pages))
    left: list[int] = []
    now = full = 0.0
    while waiting or left:
        if waiting and len(left) < timing.slots:
            left.append(waiting.popleft())
            now += timing.prefill_ms / 1000
            full = now
        now += timing.step(len(left))
        left = [tokens - 1 for tokens in left if tokens > 1]
    return full, now


def answer(number: int, tokens: int) -> list[str]:
    """Pieces of the answer to page image `number`: titles, paragraphs and a table with their boxes, no two alike."""
    rng = random.Random(f"text {number}")

    def words(count: int) -> str:
        return " ".join("".join(rng.choices(SYLLABLES, k=rng.choice((1, 2, 2, 3)))) for _ in range(count))

    pieces: list[str] = []
    top = 40
    while len(pieces) < tokens:
        kind = rng.choice(("title", "text", "text", "text", "text", "table"))
        box = f"<|det|>{kind} [{rng.randrange(60, 110)}, {top}, {rng.randrange(850, 930)}, {top + 22}]<|/det|>"
        text = words(5) if kind == "title" else words(rng.randrange(25, 70)).capitalize() + "."
        if kind == "table":
            cells = "".join(f"<tr><td>{words(2)}</td><td>{rng.randrange(10**5)}</td></tr>" for _ in range(5))
            text = f"<table>{cells}</table>"
            if len(pieces) + len(TOKEN.findall(text)) > tokens - 40:
                continue
        top = min(top + 25, 950)
        pieces += TOKEN.findall(box + text + "\n")
    # Cut inside a box the answer would be a damaged one.
    start = max(i for i, piece in enumerate(pieces) if piece == "<|det|>")
    end = max(i for i, piece in enumerate(pieces) if piece == "<|/det|>")
    return pieces[:tokens] if end < tokens or start >= tokens else [*pieces[:start], *["."] * (tokens - start)]


def event(**fields: Any) -> bytes:
    """One event of the stream, in a chunk of its own."""
    body = {"id": "chatcmpl-sim", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "Unlimited-OCR"}
    return chunk(b"data: " + json.dumps(body | fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n")


def chunk(data: bytes) -> bytes:
    """Wrap `data` as a piece of a body without a known length."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def choice(text: str, finish: str | None = None) -> dict[str, Any]:
    """A choice of an event, with the fields that vLLM sends."""
    return {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": finish, "token_ids": None}


@dataclass
class Counts:
    """What the engine has seen since it was started or reset."""

    requests: int = 0
    refused: int = 0
    finished: int = 0
    left: int = 0
    connections: int = 0
    bytes_received: int = 0
    tokens: int = 0
    busy_slot_seconds: float = 0.0
    full_seconds: float = 0.0
    most_running: int = 0
    most_waiting: int = 0
    first_request: float | None = None
    last_request: float | None = None
    last_admitted: float | None = None
    last_token: float | None = None
    most_late_ms: float = 0.0
    asked: dict[str, int] = field(default_factory=dict)


class Job:
    """A request that has a slot or waits for one."""

    def __init__(self, wire: Wire, number: int, tokens: int, *, stream: bool, usage: bool) -> None:
        self.wire = wire
        self.stream = stream
        pieces = answer(number, tokens)
        self.tokens = len(pieces)
        counted = {"prompt_tokens": 903, "completion_tokens": self.tokens, "total_tokens": 903 + self.tokens}
        if stream:
            first = event(choices=[choice("") | {"delta": {"role": "assistant", "content": ""}}])
            events = [event(choices=[choice(piece)]) for piece in pieces]
            last = event(choices=[choice("", "stop")])
            end = (event(choices=[], usage=counted) if usage else b"") + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
            events[0] = first + events[0]
            events[-1] += last + end
            self.events = deque(events)
        else:
            message = {"role": "assistant", "content": "".join(pieces)}
            self.body = {
                "id": "chatcmpl-sim",
                "object": "chat.completion",
                "model": "Unlimited-OCR",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": counted,
            }
            self.events = deque([b""] * self.tokens)


class Engine:
    """Slots, a queue before them, and the clock that moves them on."""

    def __init__(self, timing: Timing, log: Path | None = None) -> None:
        self.timing = timing
        self.log = log
        self.busy = 0.0
        self.fail: set[str] = set()
        self.uplink = 0.0
        self.line_free_at = 0.0
        self.numbers: dict[str, int] = {}
        self.counts = Counts()
        self.waiting: deque[Job] = deque()
        self.running: list[Job] = []
        self.wake = asyncio.Event()

    def reset(self, told: dict[str, Any]) -> None:
        """Forget what was seen; set the faults that `told` names."""
        self.busy = float(told.get("busy", self.busy))
        self.fail = set(told.get("fail", self.fail))
        self.uplink = float(told.get("uplink", self.uplink))
        self.numbers.clear()
        self.counts = Counts()

    def note(self, image: str, what: str) -> None:
        """Write a line into the log."""
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(json.dumps({"at": time.monotonic(), "image": image, "what": what}) + "\n")

    def refusal(self, image: str) -> int:
        """Status by which a page request is refused, 0 when it is taken."""
        counts = self.counts
        counts.requests += 1
        counts.asked[image] = counts.asked.get(image, 0) + 1
        counts.last_request = time.monotonic()
        counts.first_request = counts.first_request or counts.last_request
        status = 0
        if image in self.fail:
            status = 500
        elif random.Random(f"busy {counts.requests}").random() < self.busy:
            status = 503
        counts.refused += bool(status)
        self.note(image, f"refused {status}" if status else "asked")
        return status

    def take(self, wire: Wire, image: str, body: bytes) -> Job:
        """Put a page request into the queue."""
        number = self.numbers.setdefault(image, len(self.numbers))
        tail = body[-4000:] + body[:4000]
        stream = re.search(rb'"stream"\s*:\s*true', tail) is not None
        usage = re.search(rb'"include_usage"\s*:\s*true', tail) is not None
        limit = re.search(rb'"max_tokens"\s*:\s*(\d+)', tail)
        tokens = min(self.timing.length(number), int(limit[1]) if limit else self.timing.longest)
        job = Job(wire, number, tokens, stream=stream, usage=usage)
        self.waiting.append(job)
        self.counts.most_waiting = max(self.counts.most_waiting, len(self.waiting))
        self.wake.set()
        return job

    async def run(self) -> None:
        """Make steps for ever."""
        due = time.monotonic()
        while True:
            if not self.running and not self.waiting:
                self.wake.clear()
                await self.wake.wait()
                due = time.monotonic()
            due += self._seconds_of_next_step()
            late = time.monotonic() - due
            self.counts.most_late_ms = max(self.counts.most_late_ms, 1000 * late)
            await asyncio.sleep(max(0.0, -late))
            self._step()

    def _seconds_of_next_step(self) -> float:
        seconds = 0.0
        while self.waiting and len(self.running) < self.timing.slots:
            job = self.waiting.popleft()
            if job.wire.gone:
                continue
            self.running.append(job)
            self.counts.last_admitted = time.monotonic()
            seconds = self.timing.prefill_ms / 1000
            break
        seconds += self.timing.step(len(self.running))
        self.counts.most_running = max(self.counts.most_running, len(self.running))
        self.counts.busy_slot_seconds += seconds * len(self.running)
        self.counts.full_seconds += seconds * (len(self.running) == self.timing.slots)
        return seconds

    def _step(self) -> None:
        over = []
        for job in self.running:
            if job.wire.gone:
                over.append(job)
                continue
            data = job.events.popleft()
            self.counts.tokens += 1
            if job.stream:
                job.wire.send(data)
            if not job.events:
                over.append(job)
                self.counts.finished += 1
                self.note("", "finished")
                if not job.stream:
                    job.wire.reply(200, job.body)
                job.wire.over()
        for job in over:
            self.running.remove(job)
        self.counts.last_token = time.monotonic()


class Wire(asyncio.Protocol):
    """One connection: HTTP/1.1 as far as clients of this engine need it."""

    paths: ClassVar[dict[bytes, int]] = {b"/health": 200, b"/v1/models": 200, b"/stats": 200}

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.parts: list[bytes] = []
        self.held = 0
        self.needed = 0
        self.head = b""
        self.gone = False
        self.job: Job | None = None

    def connection_made(self, transport: Any) -> None:
        """Keep where to write to."""
        self.transport = transport
        self.engine.counts.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that the client has gone."""
        self.gone = True
        if self.job is not None:
            self.engine.counts.left += 1
            self.engine.note("", "left")

    def data_received(self, data: bytes) -> None:
        """Collect requests, and answer each that is whole."""
        self.engine.counts.bytes_received += len(data)
        self._slow_down(len(data))
        self.parts.append(data)
        self.held += len(data)
        while self.held >= max(1, self.needed) and self._one_request():
            pass

    def _slow_down(self, size: int) -> None:
        """Read no more until the line, which all connections share, would have carried this much."""
        if not self.engine.uplink:
            return
        loop = asyncio.get_running_loop()
        free = max(self.engine.line_free_at, loop.time()) + size * 8 / (self.engine.uplink * 1e6)
        self.engine.line_free_at = free
        self.transport.pause_reading()
        loop.call_at(free, self._go_on)

    def _go_on(self) -> None:
        if not self.gone:
            self.transport.resume_reading()

    def _one_request(self) -> bool:
        data = b"".join(self.parts)
        self.parts = [data]
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return False
        head, rest = data[:end], data[end + 4 :]
        length = re.search(rb"(?i)\r\ncontent-length:\s*(\d+)", head)
        self.needed = end + 4 + (int(length[1]) if length else 0)
        if len(data) < self.needed:
            if re.search(rb"(?i)\r\nexpect:\s*100", head):
                self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            return False
        size = self.needed - end - 4
        self.parts, self.held, self.needed = [rest[size:]], len(rest) - size, 0
        method, path = head.split(b" ", 2)[:2]
        self._answer(method, path, rest[:size])
        return self.held > 0

    def _answer(self, method: bytes, path: bytes, body: bytes) -> None:
        engine = self.engine
        if path == b"/v1/chat/completions" and method == b"POST":
            self._ask(body)
        elif path == b"/health":
            self.reply(200, {})
        elif path == b"/v1/models":
            self.reply(200, {"object": "list", "data": [{"id": "Unlimited-OCR", "owned_by": "vllm"}]})
        elif path == b"/stats":
            self.reply(200, asdict(engine.counts) | {"running": len(engine.running), "waiting": len(engine.waiting)})
        elif path == b"/reset":
            engine.reset(json.loads(body or b"{}"))
            self.reply(200, {})
        else:
            self.reply(404, {"error": {"message": "There is nothing here."}})

    def _ask(self, body: bytes) -> None:
        mark = body.find(b"base64,")
        if len(body) < SMALL and b'"stream":true' not in body.replace(b" ", b""):
            message = {"role": "assistant", "content": ONE_WORD}
            self.reply(200, {"object": "chat.completion", "choices": [{"index": 0, "message": message}]})
            return
        if mark < 0:
            self.reply(400, {"error": {"message": "There is no image."}})
            return
        image = hashlib.sha256(base64.b64decode(body[mark + 7 : body.index(b'"', mark)])).hexdigest()
        status = self.engine.refusal(image)
        if status:
            self.reply(status, {"error": {"message": "The server is overloaded." if status == 503 else "It broke."}})
            return
        self.job = self.engine.take(self, image, body)
        if self.job.stream:
            self.send(STREAM)

    def send(self, data: bytes) -> None:
        """Write to the client while it is there."""
        if not self.gone:
            self.transport.write(data)

    def over(self) -> None:
        """Note that the answer is complete: whoever hangs up now leaves nothing unread."""
        self.job = None

    def reply(self, status: int, body: dict[str, Any]) -> None:
        """Answer with JSON."""
        data = json.dumps(body).encode()
        self.send(
            b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (status, len(data), data)
        )


def timing_from(options: argparse.Namespace) -> Timing:
    """The timing that the command line asks for."""
    return Timing(**{name: getattr(options, name) for name in Timing.__dataclass_fields__})


def add_timing(parser: argparse.ArgumentParser) -> None:
    """Add an option for each number of `Timing`."""
    for name, spec in Timing.__dataclass_fields__.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(spec.default), default=spec.default)


async def serve(options: argparse.Namespace) -> None:
    """Listen until told to end."""
    engine = Engine(timing_from(options), options.log)
    engine.busy, engine.fail, engine.uplink = options.busy, set(options.fail), options.uplink
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    server = await loop.create_server(lambda: Wire(engine), "127.0.0.1", options.port)
    steps = asyncio.create_task(engine.run())
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"}), flush=True)
    end = asyncio.create_task(stop.wait())
    await asyncio.wait({steps, end}, return_when=asyncio.FIRST_COMPLETED)
    if steps.done():
        steps.result()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_timing(parser)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--uplink", type=float, default=0.0, help="Mbit/s that all clients share; 0 is no limit")
    parser.add_argument("--busy", type=float, default=0.0, help="share of page requests that are answered 503")
    parser.add_argument("--fail", action="append", default=[], help="sha256 of a page image that always fails")
    parser.add_argument("--log", type=Path)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
