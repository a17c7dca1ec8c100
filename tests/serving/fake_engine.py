"""A tiny engine that speaks the embedded engine's protocol on its pipes and on HTTP; standard library alone.

The environment variable FAKE says how it misbehaves: slow-health, failed, crash, killed, deaf (ignores SIGTERM and the
end of standard input), wrong, hang, child (leaves a process in its group), noisy.
"""

from __future__ import annotations

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

FAKE = os.environ.get("FAKE", "")
BEGAN = time.monotonic()


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Face(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    key = ""

    def log_message(self, form: Any, *args: Any) -> None:
        log(form % args)

    def answer(self, status: Any, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self) -> Any:
        if self.headers.get("Authorization") == f"Bearer {self.key}":
            return True
        self.answer(401, {"error": {"message": "Unauthorized"}})
        return False

    def do_GET(self) -> None:
        if self.path == "/health":
            slow = FAKE == "slow-health" and time.monotonic() - BEGAN < 1.0
            self.answer(503 if slow else 200, {})
        elif self.path == "/v1/models" and self.allowed():
            self.answer(200, {"data": [{"id": "Unlimited-OCR", "owned_by": "uocr-cpu"}]})
        elif self.path == "/v1/env" and self.allowed():
            self.answer(200, {"env": dict(os.environ), "argv": sys.argv, "cwd": str(Path.cwd()), "hello": HELLO})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        assert body["skip_special_tokens"] is False
        if FAKE == "crash-on-request":
            log("Traceback: the model broke")
            os._exit(7)
        text = "<|det|>title [120, 200, 700, 800]<|/det|>" + ("Nonsense" if FAKE == "wrong" else "Ready")
        self.answer(200, {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]})


HELLO = json.loads(sys.stdin.readline())


def main() -> None:
    log("fake engine starts")
    log(f"a careless engine prints its key: {HELLO['key']}")
    if FAKE == "failed":
        say(event="failed", what="The weights are broken.", why="Their sum is wrong.", next="pip install --force x")
        sys.exit(3)
    if FAKE == "crash":
        log("RuntimeError: no such operator")
        sys.exit(1)
    if FAKE == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAKE == "hang":
        time.sleep(60)
    if FAKE == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if FAKE == "child":
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(120)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        log(f"child {child.pid}")
    if FAKE == "noisy":
        for number in range(3000):
            log(f"line {number}")
    Face.key = HELLO["key"]
    server = ThreadingHTTPServer(("127.0.0.1", HELLO["port"]), Face)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(event="listening", url=f"http://127.0.0.1:{server.server_port}/v1")
    say(event="ready")
    sys.stdin.read()
    if FAKE == "deaf":
        time.sleep(120)


main()
