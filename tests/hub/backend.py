"""The project's real CPU engine behind the stand-in's face."""

from __future__ import annotations

import http.client
import json
import secrets
import subprocess
import urllib.parse
from typing import Any

from tests.hub.wire import Handler, Reply


class CpuEngine:
    """A ``python -m uocr_nb.local_server`` of its own, that reads the pages."""

    def __init__(self, python: str, root: str) -> None:
        self._key = secrets.token_hex(16)
        self._process = subprocess.Popen(
            [python, "-m", "uocr_nb.local_server"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"key": self._key, "port": 0, "low_memory": True, "threads": None}) + "\n")
        self._process.stdin.flush()
        self._url = ""
        for line in self._process.stdout:
            event = json.loads(line)
            if event["event"] == "listening":
                self._url = event["url"]
            elif event["event"] == "ready":
                return
            else:
                break
        self.close()
        raise RuntimeError("the CPU engine did not start")

    def close(self) -> None:
        """End the engine."""
        self._process.kill()
        self._process.wait()

    def relay(self, face: Handler, body: dict[str, Any]) -> int:
        """Hand a request on, its answer back piece by piece, and tell how many tokens it had."""
        place = urllib.parse.urlsplit(self._url)
        connection = http.client.HTTPConnection(place.hostname or "127.0.0.1", place.port)
        try:
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
            connection.request("POST", f"{place.path}/chat/completions", json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            if "event-stream" not in (answer.headers.get("Content-Type") or ""):
                text = answer.read().decode()
                face.send(Reply(answer.status, text=text))
                return int((json.loads(text).get("usage") or {}).get("completion_tokens", 0))
            face.start_stream()
            events = 0
            while piece := answer.read1(65536):
                face.send_chunk(piece)
                events += piece.count(b"data: ")
            face.end_stream()
            return events
        finally:
            connection.close()
