"""How far a run is, in words: one line, for a terminal and for the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.support.durations import show_clock
from uocr_nb.views.styles import HAIR, SECOND, fact
from uocr_nb.views.words import count, money

if TYPE_CHECKING:
    from uocr_nb.reading.progress import Progress

__all__ = ["progress_bar", "progress_html", "progress_line", "progress_parts"]

_BAR = 24


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


def progress_line(progress: Progress) -> str:
    """Put the parts on one line, three spaces apart."""
    return "   ".join(progress_parts(progress))


def progress_bar(progress: Progress) -> str:
    """One line for a terminal, with a bar in ASCII: ``9 of 14 pages  [######----]  1.3 pages/s``."""
    first, *rest = progress_parts(progress)
    filled = _BAR * progress.done // max(progress.total, 1)
    return "  ".join([first, f"[{'#' * filled}{'-' * (_BAR - filled)}]", *rest])


def progress_html(progress: Progress, hint: str = "") -> str:
    """Make the line at the head of a document that is being read, under a thin bar of what is done."""
    first, *rest = progress_parts(progress)
    share = 100 * progress.done / max(progress.total, 1)
    more = "".join(map(fact, rest))
    below = f'<div style="font-size:12px;line-height:16px;{SECOND}">{hint}</div>' if hint else ""
    return (
        f'<div class="uo-progress" style="border-bottom:{HAIR}">'
        '<div style="height:2px;background-color:#80808040"><div class="uo-bar" '
        f'style="height:2px;width:{share:.1f}%;background-color:#3d82c8"></div></div>'
        f'<div style="padding:7px 14px">{fact(first, ink="strong")}{more}{below}</div></div>'
    )
