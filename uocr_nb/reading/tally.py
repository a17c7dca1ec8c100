"""What has come back in one call: the pages that have a status, and the counts for the progress and the document."""

from __future__ import annotations

import bisect
import time
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import Page, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.reading.plan import Options
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["Tally"]


class Tally:
    """Pages and counts. Written on the background loop, read from any thread.

    Attributes
    ----------
    done : dict of int to Page
        The pages that have a status, by position.
    not_ok, cached, unasked : int
        As in `Progress`.
    requests : int
        Requests sent, those that failed among them.
    pieces, tokens : int
        Pieces of text of the answers that are whole, and their tokens as the engines count them.
    """

    def __init__(self) -> None:
        self.done: dict[int, Page] = {}
        self.not_ok = self.cached = self.unasked = 0
        self.requests = self.pieces = self.tokens = 0
        self._order: list[int] = []
        self._began = time.monotonic()
        self._ended: float | None = None

    def start(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    def stop(self) -> None:
        """Stop the clock."""
        self._ended = time.monotonic()

    @property
    def seconds(self) -> float:
        """From the start to the end, or to now."""
        return (time.monotonic() if self._ended is None else self._ended) - self._began

    def add(self, page: Page) -> None:
        """Take a page that has its status."""
        self.done[page.position] = page
        self.not_ok += page.status is not Status.OK
        bisect.insort(self._order, page.position)

    def pages(self) -> list[Page]:
        """The pages that have a status, in page order."""
        return [self.done[position] for position in list(self._order)]

    def cost(self, endpoints: Sequence[Endpoint]) -> float | None:
        """US dollars so far: the time of each endpoint that has a price; None when none has."""
        prices = [endpoint.price for endpoint in endpoints if endpoint.price]
        return sum(prices) * self.seconds / 3600 if prices else None

    def meta(self, endpoints: Sequence[Endpoint], options: Options) -> dict[str, Any]:
        """What the document tells of the call."""
        first = endpoints[0]
        return {
            "engine": "+".join(dict.fromkeys(endpoint.engine for endpoint in endpoints)),
            "endpoint": "+".join(endpoint.name for endpoint in endpoints),
            "model": first.model,
            "revision": first.revision,
            "mode": options.mode,
            "pages": options.pages,
            "prompt": options.prompt,
            "max_tokens": options.max_tokens,
            "max_tokens_named": options.max_tokens_named,
            "confidence": options.confidence,
            "requests": self.requests,
            "cached": self.cached,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
            "cost": self.cost(endpoints),
        }
