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
from uocr_nb.document.model import Document
from uocr_nb.views.mime import document_bundle
from uocr_nb.views.watch import Terminal

if TYPE_CHECKING:
    from uocr_nb.document.model import Page
    from uocr_nb.reading.progress import Progress

__all__ = ["LiveDocument"]

_LEAST_WAIT = 0.5
"""Seconds between two updates, so that a front end is never flooded."""

_BYTES_PER_SECOND = 400_000
"""Most that updates send on average: ten pages with their pictures are about 1 MB."""


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
        self._drawn_done = -1
        self._not_before = 0.0
        self._cell = shell.execution_count

    @property
    def started(self) -> bool:
        """Whether anything was shown."""
        return self._drawn_done >= 0

    def update(self, progress: Progress, pages: list[Page]) -> None:
        """Show how far it is; called several times a second from the thread of the cell."""
        if not progress.total:
            return
        if self._terminal is not None:
            self._drawn_done = progress.done
            self._terminal(progress, pages)
            return
        now = time.monotonic()
        if now < self._not_before or progress.finished:
            return
        show = self._show if self._show in ("auto", "view") else "auto"
        # Forms without a picture of the page have nothing to show before the end but the line.
        so_far = Document.so_far(pages if self._show in ("auto", "view") else (), show=show)
        sent = self._send(document_bundle(so_far, progress=progress, uid=self._uid))
        wait = max(_LEAST_WAIT if progress.done != self._drawn_done else 2 * _LEAST_WAIT, sent / _BYTES_PER_SECOND)
        self._drawn_done = progress.done
        self._not_before = time.monotonic() + wait

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
