"""How far a run is, in words: one line, for a terminal and for the notebook."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from uocr_nb.support.durations import show_clock
from uocr_nb.views.styles import HAIR, ROOT, SECOND, SPACE
from uocr_nb.views.words import count, money, status_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Page
    from uocr_nb.reading.progress import Progress

__all__ = ["progress_bar", "progress_html", "progress_line", "progress_parts", "progress_text"]

_BAR = 24

_REDRAW = 0.25
"""Seconds between two redraws in one place; numbers that change faster cannot be read."""

_REPEAT = 10.0
"""Seconds between two lines where a line cannot be redrawn."""


def progress_parts(progress: Progress) -> list[str]:
    """``9 of 14 pages``, ``1.3 pages/s``, ``about 4 s to go``, ``$0.04 so far``; what is not known is left out."""
    parts = [f"{progress.done:,} of {count(progress.total, 'page')}"]
    rate = progress.pages_per_second
    if rate is not None:
        parts.append(f"{rate:.1f} pages/s" if rate >= 0.95 else f"{1 / rate:.1f} s a page")  # 1, rounded
    if progress.to_go is not None:
        to_go = max(1, round(progress.to_go))
        parts.append(f"about {f'{to_go} s' if to_go < 60 else show_clock(to_go)} to go")  # a minute
    if progress.cost is not None:
        parts.append(f"{money(progress.cost)} so far")
    return parts


def progress_text(progress: Progress) -> str:
    """The parts on one line, three spaces apart."""
    return "   ".join(progress_parts(progress))


def progress_bar(progress: Progress) -> str:
    """One line for a terminal, with a bar in ASCII: ``9 of 14 pages  [######----]  1.3 pages/s``."""
    first, *rest = progress_parts(progress)
    filled = _BAR * progress.done // max(progress.total, 1)
    return "  ".join([first, f"[{'#' * filled}{'-' * (_BAR - filled)}]", *rest])


def progress_html(progress: Progress, hint: str = "") -> str:
    """The line at the head of a document that is being read, under a thin bar of what is done."""
    first, *rest = progress_parts(progress)
    share = 100 * progress.done / max(progress.total, 1)
    more = "".join(f'<span style="{SPACE};{SECOND}">{part}</span>' for part in rest)
    below = f'<div style="font-size:12px;line-height:16px;{SECOND}">{hint}</div>' if hint else ""
    return (
        f'<div class="uo-progress" style="border-bottom:{HAIR}">'
        '<div style="height:2px;background-color:#80808040"><div class="uo-bar" '
        f'style="height:2px;width:{share:.1f}%;background-color:#3d82c8"></div></div>'
        f'<div style="padding:7px 14px"><span style="font-weight:600">{first}</span>{more}{below}</div></div>'
    )


def progress_line(*, demanded: bool = False) -> Callable[[Progress, list[Page]], None]:
    """What shows the progress of a call of `ocr`: a bar on a terminal, one output in a notebook, lines elsewhere.

    Parameters
    ----------
    demanded : bool
        Show lines also where nobody seems to watch, such as in a log file.
    """
    stream = sys.stderr
    if _in_notebook():
        return _Notebook()
    if stream is not None and stream.isatty():
        return _Terminal(stream)
    return _Lines(stream) if demanded and stream is not None else _silent


def _silent(progress: Progress, pages: list[Page]) -> None:
    """Nobody watches."""


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython  # loaded already

    return getattr(get_ipython(), "kernel", None) is not None


class _Terminal:
    """One line that is drawn again in its place."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0.0
        self._width = 0

    def __call__(self, progress: Progress, pages: list[Page]) -> None:  # noqa: ARG002 - what a watcher is given
        now = time.monotonic()
        if not progress.finished and now - self._drawn < _REDRAW:
            return
        self._drawn = now
        line = progress_bar(progress)
        self._stream.write("\r" + line.ljust(self._width) + ("\n" if progress.finished else ""))
        self._stream.flush()
        self._width = len(line)


class _Lines:
    """A line now and then, where nothing can be drawn again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._written = time.monotonic()

    def __call__(self, progress: Progress, pages: list[Page]) -> None:  # noqa: ARG002 - what a watcher is given
        now = time.monotonic()
        if progress.finished or now - self._written >= _REPEAT:
            self._written = now
            self._stream.write(progress_text(progress) + "\n")
            self._stream.flush()


class _Notebook:
    """One output that is updated, so that it never becomes a long log."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn = 0.0

    def __call__(self, progress: Progress, pages: list[Page]) -> None:
        now = time.monotonic()
        if not progress.finished and now - self._drawn < _REDRAW:
            return
        self._drawn = now
        from IPython.display import DisplayHandle

        if progress.finished:
            words = ", ".join(text for _status, text in status_counts(pages)) or "no page"
            bundle = {"text/html": f'<div style="{ROOT}">{words}</div>', "text/plain": words}
        else:
            html = f'<div class="tex2jax_ignore mathjax_ignore" style="{ROOT};border:{HAIR}">{progress_html(progress)}</div>'
            bundle = {"text/html": html, "text/plain": progress_bar(progress)}
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(bundle, raw=True)
        else:
            self._handle.update(bundle, raw=True)
