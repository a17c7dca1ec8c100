"""The one output of a reading: a progress line and the pages as they are done, then the document.

In a notebook it is one HTML output that is updated through its display handle, never a widget: what is saved in the
middle of a run is a page that reads. On a terminal it is a progress bar, and the document shows itself as the value.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from IPython.display import display

from uocr_nb.config import settings
from uocr_nb.views.mime import document_bundle, live_bundle
from uocr_nb.views.watch import Terminal

if TYPE_CHECKING:
    from uocr_nb.document.model import Document, Page
    from uocr_nb.reading.progress import Progress

__all__ = ["LiveDocument"]

_LEAST_WAIT = 0.4
"""Seconds between two updates: what a person can follow, and a front end is never flooded."""

_BYTES_PER_SECOND = 200_000
"""Most that updates send on average; one is about 60 kB, most of it the picture of the page being read."""

_SHARE = 20
"""The thread of the cell draws for at most one part in so many of its time."""

_STILL = 5.0
"""Seconds after which the clock of a reading moves on although nothing has arrived."""


class LiveDocument:
    """The output of one ``%uocr`` cell.

    Parameters
    ----------
    shell : InteractiveShell
        Where the cell runs.
    show : str or None
        How the document shall show itself; None for the session's default.
    """

    def __init__(self, shell: Any, show: str | None) -> None:
        self._shell = shell
        self._show = show or settings.show
        self._uid = uuid4().hex[:12]
        self._handle: Any = None
        self._terminal = None if hasattr(shell, "kernel") else Terminal()
        self._drawn: tuple[Any, ...] = ()
        self._drawn_at = 0.0
        self._not_before = 0.0
        self._cell = shell.execution_count

    @property
    def started(self) -> bool:
        """Whether anything was shown."""
        return bool(self._drawn)

    def update(self, progress: Progress, pages: list[Page]) -> None:
        """Show how far it is; called several times a second from the thread of the cell."""
        if not progress.total:
            return
        state = (progress.done, progress.tokens, progress.reading, progress.waiting)
        if self._terminal is not None:
            self._drawn = state
            self._terminal(progress, pages)
            return
        now = time.monotonic()
        if now < self._not_before or progress.finished or (state == self._drawn and now < self._drawn_at + _STILL):
            return
        # Forms without a picture of the page have nothing to show before the end but the line.
        with_pages = self._show in ("auto", "view")
        sent = self._send(live_bundle(progress, pages, uid=self._uid, with_pages=with_pages))
        self._drawn, self._drawn_at = state, now
        then = time.monotonic()
        self._not_before = then + max(_LEAST_WAIT, sent / _BYTES_PER_SECOND, _SHARE * (then - now))

    def finish(self, document: Document) -> None:
        """Show the document; as the value of this very cell it shows nothing a second time."""
        if self._terminal is not None:
            return
        self._send(document_bundle(document, uid=self._uid))
        shell, cell = self._shell, self._cell
        document.shown_already = lambda: shell.execution_count == cell

    def clear(self) -> None:
        """Leave nothing of the progress behind when there is no document."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        if self._terminal is not None and self.started:
            sys.stderr.write("\n")

    def _send(self, bundle: dict[str, str]) -> int:
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=self._uid)
        else:
            self._handle.update(bundle, raw=True)
        return sum(len(text) for text in bundle.values())
