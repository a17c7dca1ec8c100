"""How far a run is, in words: one line, for a terminal and for the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.markup.safe_html import escape
from uocr_nb.support.durations import show_clock
from uocr_nb.views.icons import WARNING, icon
from uocr_nb.views.styles import ACCENT, HAIR, SECOND, TINT_WARNING, fact, icon_line
from uocr_nb.views.words import count, money

if TYPE_CHECKING:
    from uocr_nb.reading.progress import Progress

__all__ = ["progress_bar", "progress_html", "progress_line", "progress_parts"]

_BAR = 24
_SHORTEST_BAR = 8

_LEAST_TOKENS = 10
"""Tokens a second below which an engine sends whole lines, so that they are no tokens."""

_HINT = "Interrupt the cell to stop; pages that are done are kept. If this line stands still, run the cell again."


def progress_parts(progress: Progress) -> list[str]:
    """``9 of 14 pages``, ``1.3 pages/s``, ``about 4 s to go``, ``$0.04 so far``; what is not known is left out."""
    parts = [f"{progress.done:,} of {count(progress.total, 'page')}"]
    rate = progress.pages_per_second
    if rate is not None:
        parts.append(f"{rate:.1f} pages/s" if rate >= 0.95 else f"{1 / rate:.{int(rate > 0.1)}f} s a page")
    tokens = progress.tokens_per_second
    if tokens is not None and tokens >= _LEAST_TOKENS:
        parts.append(f"{tokens:,.0f} tokens/s")
    if progress.to_go is not None and not progress.waiting:
        to_go = max(1, round(progress.to_go))
        parts.append(f"about {f'{to_go} s' if to_go < 60 else show_clock(to_go)} to go")  # a minute
    if progress.cost is not None:
        parts.append(f"{money(progress.cost)} so far")
    if progress.cached:
        parts.append(f"{progress.cached:,} from the cache")
    return parts


def progress_line(progress: Progress) -> str:
    """Put the parts on one line, three spaces apart; below it why it waits, when it does."""
    line = "   ".join(progress_parts(progress))
    return f"{line}\n{progress.waiting}" if progress.waiting else line


def progress_bar(progress: Progress, columns: int = 80) -> str:
    """One line for a terminal, with a bar in ASCII: ``9 of 14 pages  [######----]  1.3 pages/s``.

    It is never wider than `columns`, because a line that wraps cannot be drawn again in place: the bar gets shorter,
    then the tokens go, then what stands last.
    """
    first, *rest = progress_parts(progress)
    spare = [part for part in rest if part.endswith("tokens/s")] + rest[::-1]
    while (room := columns - 1 - len("  ".join([first, "[]", *rest]))) < _SHORTEST_BAR and rest:
        rest.remove(next(part for part in spare if part in rest))
    bar = max(1, min(_BAR, room))
    filled = bar * progress.done // max(progress.total, 1)
    return "  ".join([first, f"[{'#' * filled}{'-' * (bar - filled)}]", *rest])


def progress_html(progress: Progress, tiles: str = "") -> str:
    """Make the line at the head of a document that is being read, under a row of tiles or a thin bar."""
    first, *rest = progress_parts(progress)
    share = 100 * progress.done / max(progress.total, 1)
    bar = (
        f'<div style="padding:8px 14px 0">{tiles}</div>'
        if tiles
        else (
            '<div style="height:2px;background-color:#80808040"><div class="uo-bar" '
            f'style="height:2px;width:{share:.1f}%;background-color:{ACCENT}"></div></div>'
        )
    )
    below = f'<div style="padding:0 14px 7px;font-size:12px;line-height:16px;{SECOND}">{_HINT}</div>'
    if progress.waiting:
        # It takes the place of the hint, which it says in its own words.
        words = icon_line(icon("warning", WARNING), escape(progress.waiting))
        below = f'<div class="uo-waiting" style="padding:5px 14px;background-color:{TINT_WARNING}">{words}</div>'
    return (
        f'<div class="uo-progress" style="border-bottom:{HAIR}">{bar}'
        f'<div style="padding:7px 14px 3px">{fact(first, ink="strong")}{"".join(map(fact, rest))}</div>{below}</div>'
    )
