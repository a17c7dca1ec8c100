"""Pages that a scripted engine can tell apart, and counts how often each is asked for."""

from __future__ import annotations

import base64
import io
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw
from scripted import Reply, engine

import uocr_nb as uocr

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = "<|det|>title [100, 50, 900, 90]<|/det|>Head {n}\n<|det|>text [100, 100, 900, 400]<|/det|>Body of page {n}."
BASE = 200


def picture(n: int) -> Image.Image:
    """A page that is known by its width."""
    image = Image.new("L", (BASE + n, 280), 255)
    ImageDraw.Draw(image).text((20, 20), f"page {n} of the test", fill=0)
    return image


def numbers(body: dict[str, Any]) -> list[int]:
    """The pages that a request shows."""
    urls = [part["image_url"]["url"] for part in body["messages"][0]["content"] if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).width - BASE for url in urls]


class Script:
    """Answers pages, counts how often each was asked for; `first` may give another reply for a page."""

    def __init__(self, special: Callable[[int, int], Reply | None] = lambda _n, _times: None) -> None:
        self.asked: Counter[int] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self._special = special
        self._lock = threading.Lock()

    def __call__(self, _number: int, body: dict[str, Any]) -> Reply:
        if not body.get("stream"):
            return Reply(PAGE.format(n=0))
        shown = numbers(body)
        with self._lock:
            self.bodies.append(body)
            self.asked.update(shown)
        special = self._special(shown[0], self.asked[shown[0]])
        return special if special is not None else Reply("\n".join(PAGE.format(n=n) for n in shown))


def read(script: Script, count: int, **options: Any) -> uocr.Document:
    owned_by = options.pop("owned_by", "uocr-cpu")
    with engine(script, owned_by=owned_by) as running, uocr.serve(running.url) as endpoint:
        pages = [picture(n) for n in range(1, count + 1)]
        return uocr.ocr(pages, endpoint=endpoint, progress=False, **options)
