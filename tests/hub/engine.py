"""The stand-in for vLLM and SGLang: their HTTP face, counters, log lines and rules, with a fixed answer.

Run as a program by the shims of a Job (``vllm serve ...``, ``python -m sglang.launch_server ...``), stdlib only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import threading
import time
import traceback
from http import HTTPStatus
from pathlib import Path
from typing import Any, NoReturn

from tests.hub import backend, rules
from tests.hub.wire import Handler, Reply, Server

# Flags of the other engine, or of no release: the engine's own parser ends the program at them.
_UNKNOWN = {
    "vllm": ("--context-length", "--uocr-doc-split", "--mem-fraction-static"),
    "sglang": ("--max-model-len", "--uocr-doc-split", "--keep-mm-feature-on-device", "--logits_processors"),
}
_NAMES = {
    "running": ("vllm:num_requests_running", "sglang:num_running_reqs"),
    "waiting": ("vllm:num_requests_waiting", "sglang:num_queue_reqs"),
}
_print_lock = threading.Lock()


def say(text: str, end: str = "\n") -> None:
    """Write to the Job's log."""
    with _print_lock:
        sys.stdout.write(text + end)
        sys.stdout.flush()


class Engine:
    """One engine: what it was started with, and what it has counted."""

    def __init__(self, name: str, arguments: list[str], settings: dict[str, Any]) -> None:
        self.name = name
        self.settings = settings
        self.flags = self._parse(arguments)
        self.bound = self.flags.host or ("0.0.0.0" if name == "vllm" else "127.0.0.1")
        declared = self.flags.port or (8000 if name == "vllm" else 30000)
        self.port = int(settings.get("ports", {}).get(str(declared), declared))
        text = " ".join(arguments).replace("_", "-")
        guard = "--logits-processors" in text if name == "vllm" else "--enable-custom-logit-processor" in text
        model = self.flags.served_model_name or self.flags.model or "baidu/Unlimited-OCR"
        self.served = rules.Served(name, model, guard, settings.get("answer", ""))
        self.metrics = settings.get("metrics", True) and (name == "vllm" or "--enable-metrics" in arguments)
        self.ready = threading.Event()
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.running = self.finished = self.tokens = 0
        self.backend: backend.CpuEngine | None = None

    def _parse(self, arguments: list[str]) -> argparse.Namespace:
        for unknown in _UNKNOWN[self.name]:
            if any(argument.split("=")[0] == unknown for argument in arguments):
                say(
                    "usage: vllm serve [model_tag] [options]" if self.name == "vllm" else "usage: launch_server.py [-h]"
                )
                say(
                    f"{'vllm' if self.name == 'vllm' else 'launch_server.py'}: error: unrecognized arguments: {unknown}"
                )
                sys.exit(2)
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        parser.add_argument("--host")
        parser.add_argument("--port", type=int)
        parser.add_argument("--served-model-name", "--served_model_name")
        parser.add_argument("--model", "--model-path", "--model_path")
        flags, rest = parser.parse_known_args(arguments)
        if self.name == "vllm" and rest[:1] == ["serve"] and len(rest) > 1 and not rest[1].startswith("-"):
            flags.model = flags.model or rest[1]
        return flags

    # -- start -------------------------------------------------------------------------------------------------------

    def fatal(self, moment: str) -> None:
        """End here if the settings say so."""
        text = self.settings.get("fatal", "")
        if text and self.settings.get("fatal_at", "weights") == moment:
            say(text)
            self.leave(int(self.settings.get("exit_code", 1)))

    def leave(self, code: int) -> NoReturn:
        """End at once, as a crash does."""
        if self.backend is not None:
            self.backend.close()
        os._exit(code)

    def run(self) -> None:
        """Start, serve until killed."""
        step = float(self.settings.get("startup", 0.1)) / 4
        prefix = "\x1b[1;36m(APIServer pid=1)\x1b[0;0m INFO" if self.name == "vllm" else "[2026-06-28 10:00:00]"
        say(f"{prefix} {self.name} stand-in for tests, model {self.served.model}")
        self.fatal("start")
        for line in self.settings.get("lines", []):
            say(line)
        time.sleep(step)
        say(f"{prefix} Unlimited-OCR: auto-selected attention backend=TRITON_ATTN")
        for percent in (0, 50, 100):
            say(f"Loading safetensors checkpoint shards: {percent:3d}% Completed", end="\r" if percent < 100 else "\n")
            time.sleep(step / 2)
        self.fatal("weights")
        if self.settings.get("backend") == "cpu":
            self.backend = backend.CpuEngine(self.settings["python"], self.settings["root"])
        while self.settings.get("stuck"):
            time.sleep(3600)
        time.sleep(step)
        self._serve(prefix)

    def _serve(self, prefix: str) -> None:
        Face.engine = self
        try:
            server = Server(Face, self.port)
        except OSError as error:
            say(f"OSError: [Errno {error.errno}] Address already in use")
            self.leave(1)
        self.fatal("ready")
        if self.name == "vllm":
            say(f"{prefix} Starting vLLM server on http://{self.bound}:{self.port}")
        say("INFO:     Application startup complete.")
        if self.name == "sglang":
            say(f"INFO:     Uvicorn running on http://{self.bound}:{self.port} (Press CTRL+C to quit)")
            say(f"{prefix} The server is fired up and ready to roll!")
        self.ready.set()
        while True:
            time.sleep(0.5)
            for problem in server.errors:
                say("".join(traceback.format_exception(problem)))
            server.errors.clear()

    # -- counters ----------------------------------------------------------------------------------------------------

    def counters(self) -> str:
        """Write the page of ``/metrics``."""
        which = 0 if self.name == "vllm" else 1
        labels = (
            f'{{engine="0",model_name="{self.served.model}"' if which == 0 else f'{{model_name="{self.served.model}"'
        )
        rows = [("gauge", _NAMES["running"][which], "", self.running), ("gauge", _NAMES["waiting"][which], "", 0)]
        done = "vllm:request_success_total" if which == 0 else "sglang:num_requests_total"
        rows.append(("counter", done, ',finished_reason="stop"' if which == 0 else "", self.finished))
        rows.append(("counter", f"{self.name}:generation_tokens_total", "", self.tokens))
        return "".join(
            f"# TYPE {name} {kind}\n{name}{labels}{more}}} {float(value)}\n" for kind, name, more, value in rows
        )


class Face(Handler):
    """The HTTP face of the engine."""

    engine: Engine

    def send_response(self, code: int, message: str | None = None) -> None:
        """Answer, and write the access line that uvicorn writes."""
        super().send_response(code, message)
        if self.engine.bound not in {"0.0.0.0", "::"}:
            # The proxy of a real Job would not reach it.
            self.send_header("X-Stand-In-Bound", self.engine.bound)
        status = f"{code} {HTTPStatus(code).phrase}"
        say(f'INFO:     127.0.0.1:{self.client_address[1]} - "{self.command} {self.path} HTTP/1.1" {status}')

    def do_GET(self) -> None:  # noqa: N802 - the base class's name
        """Health, models, counters."""
        engine = self.engine
        path = self.path.partition("?")[0]
        if path in {"/health", "/health_generate", "/ping"}:
            self.send(Reply(200 if engine.ready.is_set() else 503, text=""))
        elif path == "/v1/models":
            model = {
                "id": engine.served.model,
                "object": "model",
                "owned_by": engine.name,
                "max_model_len": rules.CONTEXT,
            }
            self.send(Reply(200, {"object": "list", "data": [{**model, "created": int(time.time())}]}))
        elif path == "/metrics" and engine.metrics:
            self.send(Reply(200, text=engine.counters(), kind="text/plain; version=0.0.4; charset=utf-8"))
        else:
            self.send(Reply(404, {"detail": "Not Found"}))

    def do_POST(self) -> None:  # noqa: N802 - the base class's name
        """Chat completions."""
        raw = self.read_body()
        if self.path != "/v1/chat/completions":
            self.send(Reply(404, {"detail": "Not Found"}))
            return
        engine = self.engine
        with engine.lock:
            number = next(engine.numbers)
            engine.running += 1
        try:
            self._chat(number, json.loads(raw))
        finally:
            with engine.lock:
                engine.running -= 1

    def _refuse(self, status: int, message: str) -> None:
        error = {
            "message": message,
            "type": "BadRequestError" if status == 400 else "NotFoundError",
            "param": None,
            "code": status,
        }
        self.send(Reply(status, {"error": error} if self.engine.name == "vllm" else {"object": "error", **error}))

    def _chat(self, number: int, body: dict[str, Any]) -> None:
        engine = self.engine
        if engine.settings.get("refuse"):
            self._refuse(int(engine.settings["refuse"]), "scripted refusal")
            return
        verdict = rules.judge(engine.served, body)
        for note in verdict.notes:
            say(f"[stand-in] request {number}: {note}")
        if verdict.status != 200:
            self._refuse(verdict.status, verdict.message)
            return
        if engine.backend is not None:
            tokens = engine.backend.relay(self, body)
        else:
            time.sleep(float(engine.settings.get("think", 0)))
            tokens = verdict.completion_tokens
            if body.get("stream"):
                self._stream(number, body, verdict)
            else:
                self._die_if(number)
                self.send(Reply(200, self._whole(number, verdict)))
        with engine.lock:
            engine.finished += 1
            engine.tokens += tokens

    def _die_if(self, number: int) -> None:
        last = self.engine.settings.get("die_after")
        if last is not None and number >= last:
            self.engine.leave(1)

    def _head(self, number: int, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{number}",
            "object": kind,
            "created": int(time.time()),
            "model": self.engine.served.model,
        }

    @staticmethod
    def _usage(verdict: rules.Verdict) -> dict[str, int]:
        total = verdict.prompt_tokens + verdict.completion_tokens
        return {
            "prompt_tokens": verdict.prompt_tokens,
            "completion_tokens": verdict.completion_tokens,
            "total_tokens": total,
        }

    def _whole(self, number: int, verdict: rules.Verdict) -> dict[str, Any]:
        message = {"role": "assistant", "content": verdict.text}
        choice = {"index": 0, "message": message, "finish_reason": verdict.finish, "logprobs": None}
        return {**self._head(number, "chat.completion"), "choices": [choice], "usage": self._usage(verdict)}

    def _stream(self, number: int, body: dict[str, Any], verdict: rules.Verdict) -> None:
        head = self._head(number, "chat.completion.chunk")
        piece = max(1, int(self.engine.settings.get("piece", 12)))
        deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
        deltas += [({"content": verdict.text[i : i + piece]}, None) for i in range(0, len(verdict.text), piece)]
        deltas.append(({}, verdict.finish))
        self.start_stream()
        for n, (delta, finish) in enumerate(deltas):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self.send_chunk(f"data: {json.dumps({**head, 'choices': [choice]}, ensure_ascii=False)}\n\n")
            if n == 2:
                self._die_if(number)
            time.sleep(float(self.engine.settings.get("delay", 0)))
        if (body.get("stream_options") or {}).get("include_usage"):
            self.send_chunk(f"data: {json.dumps({**head, 'choices': [], 'usage': self._usage(verdict)})}\n\n")
        self.send_chunk("data: [DONE]\n\n")
        self.end_stream()


def main() -> None:
    """Play the engine that the first argument names."""
    name, *arguments = sys.argv[1:]
    settings = json.loads(Path(os.environ["UOCR_HUB_ENGINE"]).read_text(encoding="utf-8"))
    engine = Engine(name, arguments, settings)
    try:
        engine.run()
    except KeyboardInterrupt:
        engine.leave(130)


if __name__ == "__main__":
    main()
