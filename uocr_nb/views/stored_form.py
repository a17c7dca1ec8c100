"""The HTML of a view that the notebook stores, drawn anew when its document has changed.

A person corrects pages in the view, which shows them at once; what is saved with the notebook would still be what the
cell had drawn. So it follows, a moment later and not more often than it can be drawn without being noticed.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["StoredForm"]

_log = logging.getLogger("uocr_nb")

_AFTER = 2.0
"""Seconds after a change: edits come in rows, and an autosave comes every two minutes."""

_SHARE = 20
"""It is drawn for at most one part in so many of the time."""


class StoredForm:
    """One output of the notebook.

    Parameters
    ----------
    update : callable
        Called with MIME type -> text to put into the output, in a thread.
    draw : callable
        Gives MIME type -> text of the document as it is.
    after : float
        Seconds after the first change that has not been drawn.
    """

    def __init__(
        self, update: Callable[[dict[str, str]], Any], draw: Callable[[], dict[str, str]], after: float = _AFTER
    ) -> None:
        self._update = update
        self._draw = draw
        self._after = after
        self._lock = threading.Lock()
        self._drawing = threading.Lock()
        self._timer: threading.Timer | None = None
        self._not_before = 0.0
        self._closed = False

    def changed(self, *_: Any) -> None:
        """Have it drawn soon; called with whatever a watcher of a document is called with."""
        with self._lock:
            if self._timer is not None or self._closed:
                return
            wait = max(self._after, self._not_before - time.monotonic())
            self._timer = threading.Timer(wait, self._now)
            self._timer.daemon = True
            self._timer.start()

    def _now(self) -> None:
        with self._lock:
            self._timer = None
            if self._closed:
                return
        began = time.monotonic()
        try:
            with self._drawing:
                self._update(self._draw())
        except Exception:  # noqa: BLE001 - what is stored stays as it was; the document is right, and so is the view
            _log.debug("The stored form of a view could not be drawn.", exc_info=True)
        with self._lock:
            self._not_before = time.monotonic() + _SHARE * (time.monotonic() - began)

    def close(self) -> None:
        """Leave it as it is. What changed just now is still drawn."""
        with self._lock:
            due = self._timer
            self._timer = None
            if due is not None:
                due.cancel()
        if due is not None:
            self._now()
        with self._lock:
            self._closed = True
