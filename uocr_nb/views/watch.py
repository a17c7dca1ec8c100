"""The progress of a plain `uocr_nb.ocr` call, where somebody can see it."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

from uocr_nb.views.plain import printable
from uocr_nb.views.progress import progress_bar, progress_line

if TYPE_CHECKING:
    from uocr_nb.document.model import Page
    from uocr_nb.reading.progress import Progress

__all__ = ["Terminal", "in_kernel", "watcher"]


_LEAST_WAIT = 0.4
"""Seconds between two updates of a line in a notebook."""


def _silent(_progress: Progress, _pages: list[Page]) -> None:
    """Show nothing: nobody watches."""


class Terminal:
    """One line on standard error, drawn again in place."""

    def __init__(self) -> None:
        self._drawn = ""
        self._waiting = False

    def __call__(self, progress: Progress, _pages: list[Page]) -> None:
        """Draw the line anew when it says something new; why the reading waits gets a line of its own, once."""
        if not progress.total:
            return
        if progress.waiting and not self._waiting:
            sys.stderr.write(f"\r\x1b[K{printable(progress.waiting)}\n")
            self._drawn = ""
        self._waiting = bool(progress.waiting)
        line = progress_bar(progress, shutil.get_terminal_size().columns)
        if line != self._drawn:
            self._drawn = line
            end = "\n" if progress.finished else ""
            sys.stderr.write(f"\r\x1b[K{line}{end}")
            sys.stderr.flush()


class _Notebook:
    """One line in the cell's output, by a display handle (a print from a thread lands in whichever cell runs)."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn = ""
        self._not_before = 0.0

    def __call__(self, progress: Progress, _pages: list[Page]) -> None:
        """Update the line when it says something new, but not more often than can be read."""
        from IPython.display import display  # noqa: PLC0415 - only in a notebook, which has it

        now = time.monotonic()
        if not progress.total or (now < self._not_before and not progress.finished):
            return
        line = progress_line(progress)
        if line == self._drawn:
            return
        self._drawn = line
        self._not_before = now + _LEAST_WAIT
        bundle = {"text/plain": line}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def watcher(*, demanded: bool) -> Any:
    """Make what shows the progress here: a line in a notebook or on a terminal, else nothing unless it was demanded."""
    if in_kernel() is not None:
        return _Notebook()
    if demanded or sys.stderr.isatty():
        return Terminal()
    return _silent


def in_kernel() -> Any:
    """The shell of the notebook that this runs in; None where it runs in none."""
    # IPython is looked up, not imported: where it is not loaded, nobody is in a notebook.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if shell is not None and hasattr(shell, "kernel") else None
