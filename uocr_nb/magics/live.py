"""The one output of a reading: a progress line and the pages as they are done, then the document.

In a notebook it is one HTML output that is updated through its display handle, never a widget: what is saved in the
middle of a run is a page that reads. What changes by the second goes to a view that drives this HTML
(`uocr_nb.views.viewer`), so the output itself is updated when a page is done. On a terminal it is a progress bar, and
the document shows itself as the value.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from IPython.display import display

from uocr_nb.config import settings
from uocr_nb.views.mime import document_bundle, live_bundle
from uocr_nb.views.viewer import LiveView
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

_SELDOM = 30.0
"""The same where a view shows it: what a notebook saved in the middle of a long page says is not much older."""


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
        self._view: LiveView | None = None
        self._drawn: tuple[Any, ...] = ()
        self._drawn_at = 0.0
        self._not_before = 0.0
        self._cell = shell.execution_count

    @property
    def started(self) -> bool:
        """Whether anything was shown."""
        return bool(self._drawn)

    def update(self, progress: Progress, pages: list[Page]) -> None:
        """Show how far it is; called several times a second from the thread of the cell.

        Raises
        ------
        StopReading
            When Stop was pressed in the output.
        """
        if self._view is not None:
            self._view.tick(progress, pages)
        if not progress.total:
            return
        state = (progress.done, progress.waiting, progress.tokens, progress.reading)
        if self._terminal is not None:
            self._drawn = state
            self._terminal(progress, pages)
            return
        now = time.monotonic()
        # What a view draws by itself is no reason to draw the output anew, which puts another one in its place.
        same = state[:2] == self._drawn[:2] if self._driven else state == self._drawn
        still = _SELDOM if self._view is not None and self._view.heard else _STILL
        if now < self._not_before or progress.finished or (same and now < self._drawn_at + still):
            return
        # Forms without a picture of the page have nothing to show before the end but the line.
        with_pages = self._show in ("auto", "view")
        sent = self._send(live_bundle(progress, pages, uid=self._uid, with_pages=with_pages))
        self._drawn, self._drawn_at = state, now
        then = time.monotonic()
        self._not_before = then + max(_LEAST_WAIT, sent / _BYTES_PER_SECOND, _SHARE * (then - now))
        if with_pages and self._view is None:
            # After the output, which it looks for.
            self._view = LiveView(self._uid)
            self._view.tick(progress, pages)

    @property
    def _driven(self) -> bool:
        """Whether a view draws what changes by the second.

        A front end that loads no undisplayed widget is never heard, but neither is JupyterLab by an old kernel.
        """
        return self._view is not None and (self._view.heard or not _draws_no_view())

    def finish(self, document: Document) -> None:
        """Show the document; as the value of this very cell it shows nothing a second time."""
        if self._terminal is not None:
            return
        self._send(document_bundle(document, uid=self._uid))
        shell, cell = self._shell, self._cell
        document.shown_already = lambda: shell.execution_count == cell
        if self._view is not None:
            self._view.end(document)
            draw = partial(document_bundle, document, uid=self._uid)
            self._view.store(document, partial(self._handle.update, raw=True), draw)
            self._view = None

    def clear(self) -> None:
        """Leave nothing of the progress behind when there is no document."""
        self.leave()
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        if self._terminal is not None and self.started:
            sys.stderr.write("\n")

    def leave(self) -> None:
        """Let go of the view when there is no document for it."""
        if self._view is not None:
            self._view.end(None)
            self._view = None

    def _send(self, bundle: dict[str, str]) -> int:
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=self._uid)
        else:
            self._handle.update(bundle, raw=True)
        return sum(len(text) for text in bundle.values())


def _draws_no_view() -> bool:
    """Tell whether the front end is known to load no widget that is not displayed."""
    return "VSCODE_PID" in os.environ or "google.colab" in sys.modules
