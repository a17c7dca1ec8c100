"""What scores cost: bytes and client time a token of a stream with and without ``logprobs``, on loopback.

    python benchmarks/logprobs.py [--tokens 4000] [--rounds 5]

A process of its own streams answers in vLLM's shape, one token an event (``logprobs: true, top_logprobs: 0``), as fast
as the client takes them. The client is the one that reads pages; its processor time is counted, all threads of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from typing import Any

import uocr_nb as uocr
from uocr_nb.document.confidence import with_confidence
from uocr_nb.document.grammar import parse_answer
from uocr_nb.reading import client
from uocr_nb.support import loop

WORDS = " the of and to in is that for it as was with be by on not he his but at are this have from or had an they"


def answer(tokens: int) -> list[str]:
    """The tokens of a page: blocks of 60 words."""
    dice = random.Random(0)  # the same page each time
    pieces: list[str] = []
    while len(pieces) < tokens:
        box = (x for n in range(4) for x in (str(dice.randrange(1000)), ", " if n < 3 else "]"))
        pieces += [
            "<|det|>",
            "text",
            " [",
            *box,
            "<|/det|>",
            *(f" {word}" for word in dice.choices(WORDS.split(), k=60)),
        ]
        pieces.append("\n")
    return pieces[:tokens]


def stream(pieces: list[str], *, scores: bool) -> bytes:
    """The whole body of an answer as the engine sends it."""
    head = {"id": "chatcmpl-" + "0" * 32, "object": "chat.completion.chunk", "created": 1, "model": "Unlimited-OCR"}
    events: list[dict[str, Any]] = []
    for n, piece in enumerate(pieces):
        entry = {"token": piece, "logprob": -0.0123456789 * (n % 7), "bytes": list(piece.encode()), "top_logprobs": []}
        choice = {"index": 0, "delta": {"content": piece}, "logprobs": {"content": [entry]} if scores else None}
        events.append({**head, "choices": [{**choice, "finish_reason": None}]})
    events.append({**head, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]})
    lines = [b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n" for event in events]
    return b"".join([*lines, b"data: [DONE]\n\n"])


async def serve(tokens: int) -> None:
    """Answer like an engine until standard input ends."""
    bodies = {scores: stream(answer(tokens), scores=scores) for scores in (False, True)}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line), 0)
        asked = json.loads(await reader.readexactly(size)) if size else {}
        kind, body = "application/json", b'{"data": [{"id": "Unlimited-OCR", "owned_by": "vllm"}]}'
        if asked.get("stream"):
            kind, body = "text/event-stream", bodies[bool(asked.get("logprobs"))]
        elif asked:
            choice = {"message": {"content": "<|det|>text [1, 1, 9, 9]<|/det|>ready"}, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice]}).encode()
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n".encode())
        writer.write(b"connection: close\r\n\r\n")
        for at in range(0, len(body), 4096):
            writer.write(body[at : at + 4096])
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


def cost(endpoint: uocr.Endpoint, *, scores: bool) -> tuple[float, float]:
    """Microseconds of processor time a token: reading the stream, and bringing scores to blocks."""
    body = {"model": "Unlimited-OCR", "messages": [{"role": "user", "content": "x"}], "logprobs": scores}
    began = time.process_time()
    got = loop.wait(client.ask(endpoint, body))
    read = time.process_time() - began
    pages = parse_answer(got.text)
    began = time.process_time()
    with_confidence(pages, got.text, got.scores)
    return read, time.process_time() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.tokens))
        return
    command = [sys.executable, __file__, "--serve", "--tokens", str(options.tokens)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        if server.stdout is None or server.stdin is None:
            raise RuntimeError("no pipes")
        with uocr.serve(f"http://127.0.0.1:{server.stdout.readline().strip()}/v1", engine="vllm") as endpoint:
            cost(endpoint, scores=True)
            rounds = {s: [cost(endpoint, scores=s) for _ in range(options.rounds)] for s in (False, True)}
        server.stdin.close()
    for scores, name in ((False, "without"), (True, "with")):
        size = len(stream(answer(options.tokens), scores=scores)) / options.tokens
        read, bring = (1e6 * statistics.median(column) / options.tokens for column in zip(*rounds[scores], strict=True))
        print(f"{name:<8} logprobs: {size:4.0f} bytes, {read:5.1f} us to read and {bring:4.1f} us to score, a token")


if __name__ == "__main__":
    main()
