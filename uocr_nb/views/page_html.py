"""The document as HTML that is whole without script: page picture with boxes beside the text (the static twin).

A script at its end links the two where scripts run. It finds pages ``uo-page uo-p4`` in one root, and the same number
``uo-b5`` on a box and on its row; what else it needs stands in `data-` attributes. Links lead to the line about a page:
JupyterLab scrolls to it, also in a notebook that it does not trust (where it keeps an `id` under another name), but
does not unfold what is folded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from uocr_nb.document.model import Status
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.marks import document_marks, page_marks
from uocr_nb.views.page_lines import banner_html, notes_html, page_head, warning_lines
from uocr_nb.views.page_parts import page_panes
from uocr_nb.views.pictures import VIEW, WHOLE
from uocr_nb.views.rows import ALL, FULL, SHORT
from uocr_nb.views.script import inline_script
from uocr_nb.views.styles import HAIR, ROOT, SECOND, code, second
from uocr_nb.views.summary import summary_html
from uocr_nb.views.tiles import anchor
from uocr_nb.views.words import SAVE_ALL, count, positions

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from uocr_nb.document.model import Document, Page
    from uocr_nb.views.pictures import Quality

__all__ = [
    "FRAGMENT_BYTES",
    "MAX_PAGES",
    "PAGE_BYTES",
    "chosen_pages",
    "document_html",
    "page_fragment",
    "page_html",
    "root_html",
    "view_html",
]

MAX_PAGES = 10
"""Pages in a stored form; those that are not ok come first."""

PAGE_BYTES = 199_000
"""Of one page in a stored form with its share of the script; it may have 200 kB, and ten of them 2 MB."""

FRAGMENT_BYTES = 520_000
"""Of one page that is sent to a view."""

_ALL_BYTES = 1_990_000
"""Of all pages, what stands above them and the script."""

_FRAME_BYTES = 1_500
"""Of the line about a page, and of what stands around one page alone."""

_ROOT_CLASSES = "uo-root tex2jax_ignore mathjax_ignore"


def chosen_pages(pages: Sequence[Page], most: int = MAX_PAGES) -> list[Page]:
    """Choose the pages that a stored form carries, in order: the first one, those that are not ok, then others.

    Pages of which there is neither a picture nor text, as those that were never reached, come last: their line in the
    head says all.
    """
    if len(pages) <= most:
        return list(pages)
    first, *rest = pages
    wanted = sorted(rest, key=lambda page: (_rank(page), page.position))[: most - 1]
    return [first, *sorted(wanted, key=lambda page: page.position)]


def _rank(page: Page) -> int:
    if page.status is Status.OK:
        return 1
    return 0 if page.blocks or page.sha256 else 2


def document_html(doc: Document, *, uid: str | None = None, whole: bool = False) -> str:
    """Draw the document as one HTML element.

    Parameters
    ----------
    doc : Document
        Its pages.
    uid : str or None
        Marks the root for what drives it; made up when None.
    whole : bool
        Every page, unfolded and in full, for a file of its own; else at most ten pages and 2 MB.

    Returns
    -------
    str
        HTML that is whole without the script at its end; all text of the pages is escaped.
    """
    pages, edits = doc.pages_and_edits()
    uid = uid or uuid4().hex[:12]
    shown = pages if whole else chosen_pages(pages)
    summed = len(pages) > 1
    parts = [summary_html(doc, pages, uid=uid, carried=[page.position for page in shown])] if summed else []
    parts += warning_lines(doc.own_warnings, "doc.warnings")
    if not pages:
        parts.append(f'<div style="padding:12px 14px;{SECOND}">The document has no pages.</div>')
    named = not summed or len({page.source for page in pages}) > 1
    taken = sum(len(part.encode()) for part in parts)
    limit = None if whole else _room(max(len(shown), 1), taken)
    for n, page in enumerate(shown):
        head = page_head(page, len(pages), named=named)
        place, edited = anchor(uid, page.position), edits.blocks(page.position)
        parts.append(
            _page(page, head, limit=limit, folded=n > 0 and not whole, first=n == 0, place=place, edited=edited)
        )
    if len(shown) < len(pages):
        parts.append(_elsewhere(pages, shown))
    return root_html("".join(parts), uid, "document", marks=document_marks(pages, doc), script=True)


def page_html(page: Page, *, uid: str | None = None) -> str:
    """One page as one HTML element, as in `document_html`; it is page 1 of 1 there."""
    head = page_head(page, 0, named=True)
    inner = _page(page, head, limit=_room(1), alone=True)
    marks = document_marks([replace(page, position=1)])
    return root_html(inner, uid or uuid4().hex[:12], "page", marks=marks, script=True)


def view_html(doc: Document, position: int, *, uid: str) -> str:
    """Draw the document as one HTML element with one of its pages; a view asks for the others."""
    pages, edits = doc.pages_and_edits()
    if not pages:
        return document_html(doc, uid=uid)
    page = pages[position - 1]
    summed = len(pages) > 1
    # The view turns to any page, so each of them is a link.
    carried = [page.position for page in pages]
    parts = [summary_html(doc, pages, uid=uid, carried=carried)] if summed else []
    named = not summed or len({page.source for page in pages}) > 1
    head, place = page_head(page, len(pages), named=named), anchor(uid, position)
    parts.append(_page(page, head, limit=_room(1), place=place, edited=edits.blocks(position)))
    if summed:
        parts.append(_elsewhere(pages, [page]))
    return root_html("".join(parts), uid, "document", marks=document_marks(pages, doc), script=True)


def page_fragment(
    page: Page, total: int, *, quality: Quality = VIEW, named: bool = True, edited: Collection[int] = ()
) -> str:
    """One page of `total` as it is sent to a view when it is looked at: unfolded, in full up to `FRAGMENT_BYTES`.

    Parameters
    ----------
    page : Page
        The page.
    total : int
        Pages of its document.
    quality : Quality
        Of its pictures.
    named : bool
        Whether its source stands in the line about it.
    edited : collection of int
        Numbers of the blocks that a person corrected, as ``doc.edits.blocks(position)`` gives them.
    """
    head = page_head(page, total, named=named)
    return _page(page, head, limit=FRAGMENT_BYTES, quality=quality, edited=edited)


def root_html(
    inner: str, uid: str, view: str, *, marks: str = "", script: bool = False, sections: tuple[str, ...] = ("core",)
) -> str:
    """Put the one frame around it.

    Parameters
    ----------
    inner : str
        What stands in it.
    uid : str
        Marks the root for what drives it.
    view : str
        document, page, live or compare.
    marks : str
        Further attributes.
    script : bool
        Whether the script that links boxes and text stands at the end of it.
    sections : tuple of str
        Of the drawing module, that the script is made of.
    """
    last = f"<script>{inline_script(sections)}</script>" if script else ""
    return (
        f'<div class="{_ROOT_CLASSES}" data-uid="{escape(uid)}" data-view="{view}"{marks} '
        f'style="{ROOT};border:{HAIR};border-radius:6px;overflow:hidden">{inner}{last}</div>'
    )


def _room(pages: int, taken: int = 0) -> int:
    """Bytes that each of so many pages may take where so many are taken already."""
    script = len(inline_script().encode())
    return min(PAGE_BYTES - script // pages, (_ALL_BYTES - script - taken) // pages) - _FRAME_BYTES


def _page(
    page: Page,
    head: str,
    *,
    limit: int | None,
    folded: bool = False,
    first: bool = True,
    place: str = "",
    alone: bool = False,
    quality: Quality | None = None,
    edited: Collection[int] = (),
) -> str:
    """One page: a line about it, a banner when it is not ok, and the two panes; folded away or not."""
    if limit is None:
        panes = page_panes(page, limit=None, limits=ALL, quality=WHOLE, edited=edited)
    else:
        panes = page_panes(page, limit=limit, limits=FULL if quality else SHORT, quality=quality, edited=edited)
    inner = banner_html(page) + notes_html(page) + panes
    classes = f"uo-page uo-p{page.position} uo-s-{page.status}"
    rule = "" if first else f"border-top:{HAIR};"
    target = (f' id="{place}"' if place else "") + page_marks(page, position=1 if alone else None)
    if folded:
        return (
            f'<details class="{classes}"{target} style="{rule}margin:0;padding:0">'
            f'<summary class="uo-head" style="padding:9px 14px;cursor:pointer">{head}</summary>'
            f'<div style="border-top:{HAIR}"></div>{inner}</details>'
        )
    return (
        f'<div class="{classes}"{target} style="{rule}margin:0;padding:0">'
        f'<div class="uo-head" style="padding:9px 14px;border-bottom:{HAIR}">{head}</div>{inner}</div>'
    )


def _elsewhere(pages: Sequence[Page], shown: Sequence[Page]) -> str:
    stored = {page.position for page in shown}
    left = [page for page in pages if page.position not in stored]
    words = f"{count(len(left), 'more page')} ({positions(left, 4)}):"
    return (
        f'<div class="uo-more" style="padding:9px 14px;border-top:{HAIR}">{second(words)} '
        f"{code(f'doc.page({left[0].position})')} {second('or all in one file:')} "
        f"{code(SAVE_ALL)}</div>"
    )
