"""Stand-ins for programs of others on PATH: engines, nvidia-smi and docker; standard library alone when they run.

`install` puts them into a folder. The engine's stand-in misbehaves as the variable FAKE_PROGRAM says: refuse-flag,
no-gpu, hang, crash-later, no-guard (SGLang started without its processor), stripped, moved-on (deaf to SIGTERM).
The docker's keeps its containers in the folder FAKE_DOCKER, one file each, and misbehaves by FAKE_DOCKER_HOW: down,
no-image, slow-pull, no-gpu.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HOW = os.environ.get("FAKE_PROGRAM", "")
ANSWER = "<|det|>title [120, 200, 700, 800]<|/det|>Ready"


def install(folder: Path, *names: str) -> None:
    """Put stand-ins of these names into a folder that is on PATH."""
    folder.mkdir(exist_ok=True)
    for name in names:
        program = folder / name
        here = str(Path(__file__).parent)
        program.write_text(
            f"#!{sys.executable} -S\nimport sys\nsys.path.insert(0, {here!r})\nsys.argv[0] = {name!r}\n"
            "import fake_programs\nsys.exit(fake_programs.main())\n"
        )
        program.chmod(0o755)


def say(text: str) -> None:
    print(text, flush=True)


# ------------------------------------------------------------------ engines
class Face(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner, key, began, guarded = "", "", 0.0, True

    def log_message(self, form: Any, *args: Any) -> None:
        say(f"INFO:     {form % args}")

    def answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self) -> bool:
        if not self.key or self.headers.get("Authorization") == f"Bearer {self.key}":
            return True
        self.answer(401, {"error": {"message": "Unauthorized"}})
        return False

    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(200 if time.monotonic() - self.began > 0.2 else 503, {})
        elif self.path == "/v1/models" and self.allowed():
            self.answer(200, {"data": [{"id": "Unlimited-OCR", "owned_by": self.owner}]})
        elif self.path == "/argv" and self.allowed():
            self.answer(200, {"argv": sys.argv, "env": dict(os.environ), "cwd": str(Path.cwd())})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        if "custom_logit_processor" in body and not self.guarded:
            text = "The server is not configured to enable custom logit processor."
            self.answer(400, {"message": text, "code": 400})
            return
        text = "title [120, 200, 700, 800]Ready" if HOW == "stripped" else ANSWER
        self.answer(200, {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]})
        if HOW == "crash-later":
            say("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
            os._exit(1)


def engine(owner: str, key_variable: str) -> None:
    """Listen where the command line says, and answer as this engine does."""
    say("\x1b[32mINFO\x1b[0m starting")
    if HOW == "refuse-flag":
        say("usage: vllm serve [model_tag] [options]")
        say("vllm: error: unrecognized arguments: --new-flag")
        sys.exit(2)
    if HOW == "no-gpu":
        say("CUDA initialization: Unexpected error. Error 802: system not yet initialized")
        say("RuntimeError: Failed to infer device type")
        sys.exit(1)
    if HOW == "hang":
        say("Loading weights:  50%")
        time.sleep(120)
    if HOW == "moved-on":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    host, port = (sys.argv[sys.argv.index(flag) + 1] for flag in ("--host", "--port"))
    Face.owner, Face.key, Face.began = owner, os.environ.get(key_variable, ""), time.monotonic()
    Face.guarded = "--enable-custom-logit-processor" in sys.argv
    server = ThreadingHTTPServer((host, int(port)), Face)
    say("INFO:     Application startup complete.")
    server.serve_forever()


# ------------------------------------------------------------------ docker
def docker(words: list[str]) -> int:
    how, state = os.environ.get("FAKE_DOCKER_HOW", ""), Path(os.environ["FAKE_DOCKER"])
    with (state / "calls").open("a") as calls:
        calls.write(json.dumps(words) + "\n")
    while words and words[0].startswith(("--host=", "--context=")):
        words.pop(0)
    if how == "down":
        print("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?", file=sys.stderr)
        return 1
    if words[0] == "version":
        say("29.1.0")
        return 0
    if words[0] in ("stop", "rm"):
        return _end_container(state / words[-1], force=words[0] == "rm")
    return _run_container(words[1:], state, how)


def _end_container(file: Path, *, force: bool) -> int:
    try:
        pid = int(file.read_text())
    except OSError:
        print(f"Error response from daemon: No such container: {file.name}", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGKILL)[force:]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
        deadline = time.monotonic() + 1.0
        while file.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    file.unlink(missing_ok=True)
    return 0


def _run_container(words: list[str], state: Path, how: str) -> int:
    """Run what a container would, beside this client: its life is docker's, not the client's."""
    options = dict(itertools.pairwise(words))
    if how == "no-image":
        print(
            "docker: Error response from daemon: manifest for my/image:x not found: manifest unknown.", file=sys.stderr
        )
        return 125
    if how == "no-gpu":
        print('docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
              file=sys.stderr)  # fmt: skip
        return 125
    if how == "slow-pull":
        print("unlimited-ocr: Pulling from vllm/vllm-openai", file=sys.stderr, flush=True)
        time.sleep(2.0)
    address, outer, inner = options["--publish"].split(":")
    at = words.index("--entrypoint")
    inside = [words[at + 1], *words[at + 3 :]]
    # No network of its own here: the published address stands in for the one inside.
    inside = [word.replace(f"--host 0.0.0.0 --port {inner}", f"--host {address} --port {outer}") for word in inside]
    for flag, value in (("--host", address), ("--port", outer)):
        if flag in inside:
            inside[inside.index(flag) + 1] = value
    named = [words[n + 1] for n, word in enumerate(words) if word == "--env"]
    env = {name: os.environ[name] for name in ("PATH", "FAKE_PROGRAM", "PYTHONPATH", *named) if name in os.environ}
    # Held by the container alone: docker's daemon keeps it when the client is killed.
    keeper = [sys.executable, "-S", __file__, "container", str(state / options["--name"]), *inside]
    container = subprocess.Popen(keeper, env=env, start_new_session=True, stdin=subprocess.DEVNULL)
    with contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, lambda *_: os.killpg(container.pid, signal.SIGTERM))
        return container.wait()
    return 0


def container(file: Path, command: list[str]) -> int:
    """Hold a container's process; with --rm its traces go with it."""
    file.write_text(str(os.getpid()))
    program = subprocess.Popen(command)
    signal.signal(signal.SIGTERM, lambda *_: program.send_signal(signal.SIGTERM))
    code = program.wait()
    file.unlink(missing_ok=True)
    return 128 - code if code < 0 else code


def main() -> int:
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    if name == "docker":
        return docker(words)
    if name == "nvidia-smi":
        say("GPU 0: Fake (UUID: GPU-0)" if HOW != "no-devices" else "No devices were found")
        return 0 if HOW != "no-devices" else 6
    if name == "bash":  # a container's setup: the pip lines are not run here
        command = words[-1].rpartition("&& exec ")[2].split()
        sys.argv = command
        engine("sglang", "")
    elif words[:1] == ["container"]:
        return container(Path(words[1]), words[2:])
    elif name == "llama-server":
        engine("llamacpp", "LLAMA_API_KEY")
    else:
        engine("vllm", "VLLM_API_KEY")
    return 0


if __name__ == "__main__":
    threading.current_thread().name = "main"
    sys.exit(main())
