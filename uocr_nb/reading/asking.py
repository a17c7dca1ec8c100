"""What is sent for a window of pages, and what is done when it is refused or lost."""

from __future__ import annotations

import base64
import contextlib
import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from uocr_nb.document.grammar import AnswerParser, ParsedPage
from uocr_nb.document.model import Page, Status, Try
from uocr_nb.reading.pages import better
from uocr_nb.reading.plan import spec_of
from uocr_nb.reading.windows import PAGE_TOKENS, answer_room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.reading.client import Answer, RequestError
    from uocr_nb.reading.plan import Item, Options
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.engines.profile import Again
    from uocr_nb.sources import PageImage, RenderSpec

__all__ = ["LOST_TRIES", "SHRUNK_SIDE", "Move", "Window", "body_of", "decide", "recorded", "smaller_spec"]

TRIES = 3
"""Times that a window is sent before a fault of the server's is taken as its answer."""

BUSY_TRIES = 8
"""The same where the server said that it has too much to do: that says nothing about the page."""

LOST_TRIES = 3
"""Connections that one window may lose before it is taken as their cause."""

SHRUNK_SIDE = 2048
"""Long side in pixels of a page image that is sent once more because the first was refused as too large."""

_HALF_TAG = re.compile(r"<[^<>]{0,200}\Z")

_LEAST_TOKENS = 256
_PROMPT_ROOM = 3_300
"""Tokens left for the request itself: the largest grid of tiles takes 3,113."""


@dataclass(eq=False)
class Window:
    """The page images of one request, and how it went so far.

    Attributes
    ----------
    items, images : tuple
        The pages and their images, in page order.
    max_tokens : int
        Most tokens of the answer.
    change : Again or None
        What is changed against the first request.
    readings : list of (Page, Again or None)
        What came of earlier requests for the one page of this window.
    refused, busy, lost : int
        Requests that failed: at the server, because it had too much to do, with their connection.
    shrunk : str
        Hash of the page image that the endpoint refused as too large; empty when it took it.
    notes : tuple of str
        What was changed because the endpoint refused the request.
    parts, pieces : list of str and int
        The answer that is being read, and how many tokens it has so far.
    cut : Answer or None
        The longest answer whose connection was lost.
    """

    items: tuple[Item, ...]
    images: tuple[PageImage, ...]
    max_tokens: int
    change: Again | None = None
    readings: list[tuple[Page, Again | None]] = field(default_factory=list)
    refused: int = 0
    busy: int = 0
    lost: int = 0
    shrunk: str = ""
    notes: tuple[str, ...] = ()
    parts: list[str] = field(default_factory=list)
    pieces: int = 0
    cut: Answer | None = None

    @property
    def size(self) -> int:
        """Bytes of the page images as they are sent, before they are written as text."""
        total = 0
        for image in self.images:
            with contextlib.suppress(OSError):  # cleared away meanwhile
                total += image.file.stat().st_size
        return total

    def begin(self) -> None:
        """Forget what was read of an answer: it is asked for again."""
        self.parts, self.pieces = [], 0

    def read(self, text: str, pieces: int) -> None:
        """Take what has arrived."""
        self.parts.append(text)
        self.pieces += pieces

    def halves(self) -> list[Window]:
        """Two windows in place of this one."""
        middle = len(self.items) // 2
        return [self.some(range(middle)), self.some(range(middle, len(self.items)))]

    def some(self, numbers: Sequence[int]) -> Window:
        """The window of some of its pages, counted from 0."""
        return Window(tuple(self.items[n] for n in numbers), tuple(self.images[n] for n in numbers), self.max_tokens)

    @property
    def shas(self) -> tuple[str, ...]:
        """The hashes of the page images."""
        return (self.shrunk,) if self.shrunk else tuple(image.sha256 for image in self.images)

    def once_more(self, page: Page, endpoint: Endpoint, options: Options) -> Window | None:
        """The window by which its one page is asked for once more; None when there is no use in it."""
        if page.status is Status.OK or len(self.readings) >= options.second_tries:
            return None
        change = endpoint.profile.once_more(page.status)
        if change is None or (change.more > 1 and (options.max_tokens_named or page.finish_reason != "length")):
            return None
        if options.prompt and change.prompt:
            return None
        most = max(self.max_tokens, min(int(self.max_tokens * change.more), endpoint.profile.context - _PROMPT_ROOM))
        if change.more > 1 and most == self.max_tokens:
            return None
        return replace(
            self, max_tokens=most, change=change, readings=[*self.readings, (page, self.change)], parts=[], cut=None
        )

    def best(self, page: Page, options: Options) -> Page:
        """Of all readings of its one page the one to keep, with all of them recorded."""
        if self.notes:
            page = replace(page, warnings=(*page.warnings, *self.notes))
        if not self.readings:
            return page
        asked = [*self.readings, (page, self.change)]
        kept = page
        for earlier, _ in self.readings:
            kept = better(earlier, kept)
        tries = [
            a_try for reading, change in asked for a_try in recorded(reading, change, options, kept=reading is kept)
        ]
        return replace(kept, tries=tuple(tries))

    def so_far(self, spec: RenderSpec) -> list[Page]:
        """The pages of this window with the blocks that have arrived."""
        # A copy first: the background loop goes on adding to it.
        parsed = _unfinished("".join(list(self.parts)))
        return [
            Page(
                item.position,
                item.number,
                item.source.name,
                image.size,
                blocks=part.blocks,
                dpi=image.dpi,
                sha256=image.sha256,
                name=image.name,
                image_file=image.file,
                origin=(item.source, spec),
            )
            for item, image, part in zip(self.items, self.images, parsed, strict=False)
        ]


def _unfinished(text: str) -> list[ParsedPage]:
    """The pages of an answer that goes on; the half of a mark or tag at its end is not shown as text."""
    parser = AnswerParser()
    parser.feed(text)
    pages = parser.pages or parser.finish()
    last = pages[-1].blocks[-1:]
    if not last or last[0].label != "table":
        return pages
    whole = replace(last[0], text=_HALF_TAG.sub("", last[0].text))
    return [*pages[:-1], replace(pages[-1], blocks=(*pages[-1].blocks[:-1], whole))]


def recorded(page: Page, change: Again | None = None, options: Options | None = None, *, kept: bool) -> tuple[Try, ...]:
    """The tries that a reading of a page stands for: its own, or those it holds already."""
    if page.tries:
        # The answer that was kept so far stands in the page; if another is kept now, it moves to its try.
        return tuple(
            replace(one, kept=kept and one.kept, raw=page.raw if one.kept and not kept else one.raw)
            for one in page.tries
        )
    mode = page.origin[1].mode if page.origin else None
    return (
        Try(
            page.status,
            kept,
            page.reason,
            mode=(change and change.mode) or (spec_of(options).mode if options else mode),
            prompt=(change and change.prompt) or (options.prompt if options else None),
            raw="" if kept else page.raw,
            tokens=page.tokens,
            seconds=page.seconds,
        ),
    )


def body_of(window: Window, endpoint: Endpoint, options: Options) -> dict[str, Any]:
    """The request for `window`.

    Raises
    ------
    OSError
        When a page image is not there any more.
    """
    change, profile = window.change, endpoint.profile
    room = window.max_tokens
    if len(window.items) > 1:
        mode = profile.mode_for(options.mode, len(window.items))
        each = dict(profile.page_tokens).get(mode or "", PAGE_TOKENS)
        room = answer_room([each] * len(window.items), context=profile.context, max_tokens=room)
    return profile.request(
        [_data_url(image) for image in window.images],
        # The mode that the picture was drawn for: with several pages a request, the rest is asked for one by one.
        mode=(change and change.mode) or spec_of(options).mode,
        prompt=(change and change.prompt) or options.prompt,
        max_tokens=room,
        model=endpoint.model,
        wide_guard=bool(change and change.wide_guard),
        scores=True if options.confidence else None,
    )


def _data_url(image: PageImage) -> str:
    return f"data:{image.mime};base64,{base64.b64encode(image.file.read_bytes()).decode('ascii')}"


class Move(NamedTuple):
    """What is done about a request that failed.

    ``again`` sends it once more after `delay` seconds; ``busy`` does, and slows down; ``down`` waits until the endpoint
    answers again; ``split``, ``fewer`` and ``shrink`` ask for fewer pages, fewer tokens, a smaller picture; ``stop``
    gives the endpoint up; ``fail`` gives the pages up.
    """

    what: Literal["again", "busy", "down", "split", "fewer", "shrink", "stop", "fail"]
    delay: float = 0.0


def decide(window: Window, error: RequestError, *, answered: bool) -> Move:
    """Decide what is done about `error`; `answered` tells whether its endpoint has answered in this run."""
    status = error.status
    told = error.why.casefold()
    if error.lost:
        return _lost(window, answered=answered)
    if status in (401, 403, 404):
        return Move("stop")
    if status in (400, 413, 422):
        return _too_much(window, told)
    if status in (429, 503):
        return Move("busy", _wait(error, window.busy)) if window.busy < BUSY_TRIES else Move("fail")
    if not error.again:
        return Move("stop" if status is None else "fail")
    return Move("again", _wait(error, window.refused)) if window.refused + 1 < TRIES else Move("fail")


def _lost(window: Window, *, answered: bool) -> Move:
    if answered:
        return Move("down") if window.lost < LOST_TRIES else Move("fail")
    return Move("again", 0.5 * 2**window.lost) if window.lost + 1 < TRIES else Move("stop")


def _too_much(window: Window, told: str) -> Move:
    """A request that the server finds too long or too large."""
    long = "context length" in told or "context size" in told
    if len(window.items) > 1:
        return Move("split")
    if long and window.max_tokens // 2 >= _LEAST_TOKENS:
        return Move("fewer")
    if not long and not window.shrunk and max(window.images[0].size) > SHRUNK_SIDE:
        return Move("shrink")
    return Move("fail")


def _wait(error: RequestError, before: int) -> float:
    return error.wait if error.wait is not None else min(30.0, 0.5 * 2**before)


def smaller_spec(spec: RenderSpec, sizes: Sequence[tuple[int, int]]) -> RenderSpec:
    """How the pages of these sizes are drawn so that no side is longer than `SHRUNK_SIDE`."""
    width, height = sizes[0]
    return replace(spec, max_pixels=max(1, math.floor(SHRUNK_SIDE**2 * min(width, height) / max(width, height))))
