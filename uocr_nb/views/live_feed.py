"""What a view is told while pages are read: how far it is, the page being read as it grows, pages that are done.

A tick is called several times a second from the thread of the cell and takes little of its time. What it sends is
bounded by the second and by the run. Where the kernel cannot hear while a cell runs (ipykernel before 7), nothing can
be asked for, so pages that are done are pushed; where it hears, they are asked for when they are looked at.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import UocrError
from uocr_nb.views import view_pages
from uocr_nb.views.hands import Hands
from uocr_nb.views.marks import document_facts, states_of
from uocr_nb.views.progress import progress_parts
from uocr_nb.views.reading_page import ReadingPage
from uocr_nb.views.view_widget import FEEDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uocr_nb.document.model import Page
    from uocr_nb.reading.progress import Progress
    from uocr_nb.views.view_desk import ViewDesk

__all__ = ["LiveFeed"]

_pushing = Hands("uocr_nb feed", 1)

_LEAST_WAIT = 0.15
"""Seconds between two looks at the page being read."""

_BYTES_PER_SECOND = 160_000
_SHARE = 12
"""The thread of the cell draws for at most one part in so many of its time."""

_FACTS_WAIT = 1.0
"""Seconds between two tellings of names, which may be many."""

_LISTENING = 1.2
"""Seconds from the start after which a kernel that has heard nothing is taken for one that cannot."""

_PICTURE_BYTES = 16_000_000
_ALL_BYTES = 32_000_000
"""Of pages that are pushed in one run; what comes after them waits for the end of the cell."""

_LATE = 40
"""Pages waiting to be pushed from which on they go without pictures."""


class LiveFeed:
    """Tells one view of one reading.

    Parameters
    ----------
    desk : ViewDesk
        Of the view.
    again : bool
        Whether pages of a document are read again, outside any cell.
    """

    def __init__(self, desk: ViewDesk, *, again: bool = False) -> None:
        self._desk = desk
        self._again = again
        self._began = time.monotonic()
        self._not_before = self._facts_at = 0.0
        self._partial: dict[int, Page] = {}
        self._streams: dict[int, ReadingPage] = {}
        self._front = 0
        self._turns = 0
        self._told: set[int] = set()
        self._due: deque[Page] = deque()
        self._pushing = False
        self._pushed = self._pictures = self._slot = 0
        self._total = 0
        self._over = threading.Event()
        self._lock = threading.Lock()

    # ------------------------------------------------------------------ a tick
    def tick(self, progress: Progress, pages: Sequence[Page]) -> None:
        """Tell what is new; `pages` are those that have a status."""
        now = time.monotonic()
        done = {page.position for page in pages}
        self._total = max(progress.total, len(pages))
        due = now >= self._not_before
        if due:
            self._partial = {page.position: page for page in progress.partial}
        partial = self._partial = {position: page for position, page in self._partial.items() if position not in done}
        if not self._again:
            # Before the statuses: what is told to be done is asked for at once.
            self._desk.reads(pages, partial, self._total)
        self._tell(progress, pages, sorted({*progress.reading, *partial} - done), now)
        if due:
            sent = self._stream(partial)
            then = time.monotonic()
            self._not_before = then + max(_LEAST_WAIT, sent / _BYTES_PER_SECOND, _SHARE * (then - now))
        if not self._again:
            self._push_done(pages)

    def _tell(self, progress: Progress, pages: Sequence[Page], reading: Sequence[int], now: float) -> None:
        live: dict[str, Any] = {
            "progress": progress_parts(progress),
            "share": round(progress.done / max(progress.total, 1), 4),
            "waiting": progress.waiting,
            "reading": list(reading),
            "done": progress.done,
            "again": self._again,
        }
        if self._again:
            self._desk.tell_facts(reading)
            self._desk.line.push(live=live)
            return
        state: dict[str, Any] = {"status": states_of(pages, total=self._total, reading=reading), "live": live}
        if now >= self._facts_at:
            facts = document_facts([*pages, *self._partial.values()], total=self._total, reading=reading)
            del facts["status"]
            state["doc"] = facts
            self._facts_at = now + _FACTS_WAIT
        self._desk.line.push(**state)

    # ------------------------------------------------------------------ the pages being read
    def _stream(self, partial: Mapping[int, Page]) -> int:
        """Push what has changed on the page in front, and in turn another one; give the number of bytes."""
        for gone in self._streams.keys() - partial.keys():
            del self._streams[gone]
        if not partial:
            return 0
        if self._desk.looked in partial and self._desk.hears:
            self._front = self._desk.looked
        elif self._front not in partial:
            self._front = min(partial, key=lambda position: (not partial[position].blocks, position))
        sent = self._grow(partial[self._front])
        others = sorted(partial.keys() - {self._front})
        if others and not self._desk.hears:
            self._turns += 1
            if self._turns % 2 == 0:
                page = partial[others[self._turns // 2 % len(others)]]
                told = self._stream_of(page).key(page, again=self._turns < 4 * len(others))
                self._desk.line.push(turn=told)
                sent += _bytes_of(told)
        return sent

    def _stream_of(self, page: Page) -> ReadingPage:
        return self._streams.setdefault(page.position, ReadingPage(page))

    def _grow(self, page: Page) -> int:
        stream = self._stream_of(page)
        current = self._desk.line.get("front")
        change = stream.since(page) if current.get("p") == page.position else None
        if change is None:
            told = stream.key(page, again=True)
            self._desk.line.push(front=told, now={})
            return _bytes_of(told)
        if self._desk.line.get("now") == change or not (change["rows"] or change["boxes"]):
            return 0
        self._desk.line.push(now=change)
        return _bytes_of(change)

    # ------------------------------------------------------------------ the pages that are done
    def _push_done(self, pages: Sequence[Page]) -> None:
        if len(self._told) == len(pages):
            return
        fresh = [page for page in pages if page.position not in self._told]
        if self._desk.hears:
            # They are asked for when they are looked at.
            self._told.update(page.position for page in fresh)
            return
        if time.monotonic() - self._began < _LISTENING or self._pushed > _ALL_BYTES:
            return
        self._told.update(page.position for page in fresh)
        with self._lock:
            self._due.extend(fresh)
            if not self._pushing:
                self._pushing = True
                _pushing.give(self._push_all)

    def _push_all(self) -> None:
        while True:
            with self._lock:
                if self._over.is_set() or not self._due or self._pushed > _ALL_BYTES:
                    self._due.clear()
                    self._pushing = False
                    return
                page, waiting = self._due.popleft(), len(self._due)
            began = time.monotonic()
            sent = self._push(page, pictures=waiting < _LATE and self._pictures < _PICTURE_BYTES)
            took = time.monotonic() - began
            # No more than half of one thread, and what a slow line to the browser can take.
            self._over.wait(max(took, sent / (2 * _BYTES_PER_SECOND)))

    def _push(self, page: Page, *, pictures: bool) -> int:
        if not pictures:
            page = replace(page, image_file=None, origin=None, sha256="")
        try:
            told = view_pages.page_payload(page, [page], total=self._total, quality=view_pages.DRAFT, version=-1) | {
                "texts": None
            }
        except UocrError:
            return 0
        sent = _bytes_of(told)
        self._pushed += sent
        if pictures:
            self._pictures += sent
        self._desk.line.push(**{FEEDS[self._slot]: told})
        self._slot = (self._slot + 1) % len(FEEDS)
        return sent

    # ------------------------------------------------------------------ the end
    def end(self) -> None:
        """Tell that nothing more comes; what was pushed need not be kept here."""
        self._over.set()
        if self._desk.line.open:
            nothing: dict[str, dict[str, Any]] = {name: {} for name in ("live", "front", "now", "turn", *FEEDS)}
            self._desk.line.push(**nothing)


def _bytes_of(told: Mapping[str, Any]) -> int:
    return len(str(told.get("html", ""))) + len(str(told.get("picture", ""))) + len(str(told.get("rows", ""))) + 200
