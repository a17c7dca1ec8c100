"""Two runs side by side as HTML that is whole without script: the page with what differs, A, B and their agreement."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from uocr_nb.markup.safe_html import escape, quoted, visible
from uocr_nb.views.compare_page import compared_page_html
from uocr_nb.views.compare_rows import only
from uocr_nb.views.icons import WARNING, icon
from uocr_nb.views.marks import document_facts
from uocr_nb.views.page_html import MAX_PAGES, PAGE_BYTES, root_html
from uocr_nb.views.script import inline_script
from uocr_nb.views.styles import HAIR, SECOND, code, fact, icon_line, second
from uocr_nb.views.tiles import anchor
from uocr_nb.views.words import count, percent, positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.views.compare import Comparison
    from uocr_nb.views.compared import ComparedPage

__all__ = ["SECTIONS", "comparison_html", "shown_pages"]

SECTIONS = ("core", "compare")
"""Of the drawing module, that stand in the stored form."""

_ALL_BYTES = 1_990_000
_FRAME_BYTES = 3_000
_MOST_NAMED = 6


def shown_pages(comparison: Comparison) -> list[ComparedPage]:
    """The pages that a stored form carries: those that differ, most first, then others up to ten."""
    differing = comparison.differing[:MAX_PAGES]
    same = [page for page in comparison.pages if page.same]
    return differing + same[: MAX_PAGES - len(differing)]


def comparison_html(comparison: Comparison, *, uid: str | None = None) -> str:
    """Draw the comparison as one HTML element, whole without the script at its end, of at most ten pages and 2 MB."""
    uid = uid or uuid4().hex[:12]
    pages = comparison.pages
    shown = shown_pages(comparison)
    parts = [_summary(comparison, shown, uid)] if len(pages) > 1 else []
    parts += [
        f'<div style="padding:4px 14px">{icon_line(icon("warning", WARNING), escape(n))}</div>'
        for n in comparison.notes
    ]
    if not pages:
        parts.append(f'<div style="padding:12px 14px;{SECOND}">There are no pages to compare.</div>')
    script = len(inline_script(SECTIONS).encode())
    taken = sum(len(part.encode()) for part in parts) + script
    number = max(len(shown), 1)
    limit = min(PAGE_BYTES - script // number, (_ALL_BYTES - taken) // number) - _FRAME_BYTES
    for n, page in enumerate(shown):
        parts.append(
            compared_page_html(
                comparison, page, limit=limit, folded=n > 0, first=n == 0, place=anchor(uid, page.position)
            )
        )
    if len(shown) < len(pages):
        parts.append(_elsewhere(pages, shown))
    if pages:
        parts.append(_legend(comparison))
    return root_html("".join(parts), uid, "compare", marks=_marks(comparison), script=True, sections=SECTIONS)


def _marks(comparison: Comparison) -> str:
    """What a script is told: as of a document, with names, agreement, and the number of differences a page."""
    pages = comparison.pages
    told = [replace(page.page, position=page.position, status=page.status) for page in pages]
    made = document_facts(told) | {
        "names": [visible(name) for name in comparison.names],
        "agreement": percent(comparison.agreement, 1),
        "differ": [len(page.differences) for page in pages],
    }
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f" data-doc='{quoted(text)}'"


def _summary(comparison: Comparison, shown: Sequence[ComparedPage], uid: str) -> str:
    """How far the runs agree in all, and on which pages they do least."""
    pages = comparison.pages
    said = f"{count(len(pages), 'page')}, {sum(page.same for page in pages):,} of them wholly"
    head = (
        '<span style="font-size:17px;line-height:23px;font-weight:600;margin:0 10px 0 0">'
        f"{percent(comparison.agreement, 1)} the same</span> "
        f"{fact(said, wraps=True)}"
    )
    carried = {page.position for page in shown}
    look = "color:inherit;text-decoration:underline"  # a browser's own blue cannot be read on a dark ground
    least = [
        f'<a href="#{anchor(uid, page.position)}" style="{look}">page {page.position:,}</a>'
        f" {second(percent(page.agreement, 1))}"
        for page in comparison.differing[:_MOST_NAMED]
        if page.position in carried
    ]
    rows = f'<div style="padding:2px 0 0">{second("Least alike:")} {", ".join(least)}</div>' if least else ""
    return f'<div class="uo-summary" style="padding:10px 14px 9px;border-bottom:{HAIR}"><div>{head}{rows}</div></div>'


def _legend(comparison: Comparison) -> str:
    pairs = [pair for page in comparison.pages for pair in page.pairs]
    agree = sum(pair.same for pair in pairs)
    names = [f"{letter} {name}" if name else letter for letter, name in zip("AB", comparison.names, strict=True)]
    marks = "".join(fact(only(letter, escape(f"only in {name}"))) for letter, name in zip("AB", names, strict=True))
    words = f"A and B agree on {agree:,} of {count(len(pairs), 'block')}"
    return (
        f'<div class="uo-legend" style="padding:8px 14px;border-top:{HAIR};font-size:12px">'
        f"{fact(words, wraps=True)}{marks}</div>"
    )


def _elsewhere(pages: Sequence[ComparedPage], shown: Sequence[ComparedPage]) -> str:
    stored = {page.position for page in shown}
    left = [page for page in pages if page.position not in stored]
    differ = sum(not page.same for page in left)
    words = f"{count(len(left), 'more page')} ({positions([replace(p.page, position=p.position) for p in left], 4)})"
    words += f", {differ:,} of them not the same:" if differ else ", the same:"
    return (
        f'<div class="uo-more" style="padding:9px 14px;border-top:{HAIR}">{second(words)} '
        f"{code(f'comparison.page({left[0].position})')}</div>"
    )
