"""What stands above the two panes of a page: the line about it, why it is not ok, and what else is to be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.document.model import Status
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.icons import WARNING, icon, status_icon
from uocr_nb.views.labels import count_labels, status_hue
from uocr_nb.views.styles import HAIR, SECOND, TINT_ERROR, TINT_WARNING, code, fact, icon_line, leads, second
from uocr_nb.views.summary import right
from uocr_nb.views.words import (
    BLANK,
    MOST_WARNINGS,
    RETRY,
    count,
    doubts,
    facts,
    is_blank,
    reason_of,
    tries_line,
    tries_title,
    warnings_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Page

__all__ = ["banner_html", "notes_html", "page_head", "warning_lines"]

_MAX_KINDS = 5


def page_head(page: Page, total: int, *, named: bool, state: str = "", kinds: bool = True) -> str:
    """The line about a page: its name and place, its status (or its `state` while it has none), what is on it."""
    where = f"page {page.position:,} of {total:,}" if total else f"page {page.number:,}"
    # The only page of a picture among others is not told twice.
    if total and page.number not in (1, page.position):
        where += f" (page {page.number:,} of its source)"
    if page.name:
        where += f", {escape(page.name)}"
    name = fact(escape(page.source), ink="strong", kind="uo-name", wraps=True) if named else ""
    place = fact(where, ink="first" if named else "strong", wraps=bool(page.name))
    word = str(page.status) if page.status is Status.OK else f'<span style="font-weight:600">{page.status}</span>'
    said = BLANK if is_blank(page) else _counts(page) if kinds else count(len(page.blocks), "block")
    return (
        f"{right(facts(page))}{name}{place}"
        f"{fact(state or status_icon(page.status) + word, ink='first', kind='uo-status')}"
        f"{fact(escape(said), kind='uo-counts', wraps=True)}"
    )


def _counts(page: Page) -> str:
    kinds = count_labels(page.blocks)
    named = [f"{number:,} {name}" for name, number in kinds[:_MAX_KINDS]]
    if len(kinds) > _MAX_KINDS:
        named.append(f"+{len(kinds) - _MAX_KINDS}")
    unsure = f"; {unsure:,} in doubt" if (unsure := doubts([page])) else ""
    return count(len(page.blocks), "block") + (f": {', '.join(named)}" if named else "") + unsure


def banner_html(page: Page) -> str:
    """Why a page is not ok, and the line that runs it again."""
    if page.status is Status.OK:
        return ""
    again = fact(f"{second('Run again:')} {code(RETRY)}", ink="first")
    severe = page.status in (Status.MISSING, Status.FAILED)
    return (
        f'<div class="uo-banner" style="padding:8px 14px 8px 11px;border-left:3px solid {status_hue(page.status)};'
        f'border-bottom:{HAIR};background-color:{TINT_ERROR if severe else TINT_WARNING}">'
        f'<span class="uo-reason" dir="auto" style="margin:0 8px 0 0">{escape(page.reason or reason_of(page))}</span> '
        f"{again}</div>"
    )


def notes_html(page: Page) -> str:
    """What was mended or is in doubt on a page, and, quietly, that it was asked more than once."""
    shown = warning_lines(warnings_of(page), f"doc.page({page.position}).warnings")
    if again := tries_line(page):
        words = f"{again[0].upper()}{again[1:]}."
        shown.append(f'<div title="{escape(tries_title(page))}" style="padding:4px 14px;{SECOND}">{words}</div>')
    return f'<div class="uo-notes" style="padding:4px 0;border-bottom:{HAIR}">{"".join(shown)}</div>' if shown else ""


def warning_lines(texts: Sequence[str], line: str) -> list[str]:
    """A line for each, up to some; `line` shows all of them."""
    shown = [escape(text) for text in texts[:MOST_WARNINGS]]
    if len(texts) > MOST_WARNINGS:
        shown.append(leads(f"{len(texts) - MOST_WARNINGS:,} more:", line))
    return [f'<div style="padding:4px 14px">{icon_line(icon("warning", WARNING), html)}</div>' for html in shown]
