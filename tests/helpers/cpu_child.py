"""The embedded engine as a child process, and pages to ask it for."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parents[2]
KEY = "a key for these tests"


def font(size: int) -> Any:
    import matplotlib as mpl

    return ImageFont.truetype(Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)


def page(*lines: str, size: tuple[int, int] = (900, 500), height: int = 30) -> Image.Image:
    """A white page with one line of text under the other."""
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for n, line in enumerate(lines):
        draw.text((60, 50 + n * 2 * height), line, fill="black", font=font(height))
    return picture


def data_url(picture: Image.Image, kind: str = "PNG") -> str:
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def body(*pictures: str, text: str = "document parsing.", **more: Any) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in pictures]
    return {
        "model": "Unlimited-OCR",
        "messages": [{"role": "user", "content": [*parts, {"type": "text", "text": text}]}],
        "skip_special_tokens": False,
        **more,
    }


class Child:
    """The engine's process with its events and its log."""

    def __init__(self, **settings: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uocr_nb.local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.log: list[str] = []
        self._drain = threading.Thread(target=self._keep, daemon=True)
        self._drain.start()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(settings) + "\n")
        self.process.stdin.flush()

    def _keep(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def event(self) -> dict[str, str]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else {}

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            self._drain.join(5)
            assert self.process.stdout is not None
            assert self.process.stderr is not None
            self.process.stdout.close()
            self.process.stderr.close()


@dataclass
class Running:
    url: str
    key: str
    child: Child

    def client(self, **headers: str) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self.key}", **headers},
            timeout=120,
            trust_env=False,
        )

    def ask(self, *pictures: str, **more: Any) -> dict[str, Any]:
        with self.client() as client:
            reply = client.post("/chat/completions", json=body(*pictures, **more))
        reply.raise_for_status()
        return reply.json()

    def text(self, *pictures: str, **more: Any) -> str:
        return self.ask(*pictures, **more)["choices"][0]["message"]["content"]
