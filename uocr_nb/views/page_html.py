"""The document as HTML that is whole without script: page picture with boxes beside the text (the static twin).

Laid out for a script to come: one root with `data-uid`, pages ``uo-page uo-p4``, and the same number ``uo-b5`` on a box
and on its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from uocr_nb.document.model import Status
from uocr_nb.markup.safe_html import escape
from uocr_nb.support.durations import show_seconds
from uocr_nb.views.icons import WARNING, icon, status_icon
from uocr_nb.views.labels import count_labels, status_hue
from uocr_nb.views.page_parts import page_panes
from uocr_nb.views.progress import progress_html
from uocr_nb.views.styles import HAIR, ROOT, SECOND, TINT_ERROR, TINT_WARNING, code, fact, icon_line, second
from uocr_nb.views.words import RETRY, count, facts, money, not_ok, positions, status_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Document, Page
    from uocr_nb.reading.progress import Progress

__all__ = ["MAX_PAGES", "PAGE_BYTES", "chosen_pages", "document_html", "page_html"]

MAX_PAGES = 10
"""Pages in a stored form; those that are not ok come first."""

PAGE_BYTES = 190_000
"""Of one page in a stored form, which may have 200 kB, and ten of them 2 MB."""

SAVE_ALL = 'doc.save("document.html")'

_MAX_KINDS = 5
_MAX_WARNINGS = 5
_HINT = "Interrupt the cell to stop; pages that are done are kept. If this line stands still, run the cell again."
_ROOT_CLASSES = "uo-root tex2jax_ignore mathjax_ignore"


def chosen_pages(pages: Sequence[Page], most: int = MAX_PAGES) -> list[Page]:
    """Choose the pages that a stored form carries, in order: the first one, those that are not ok, then others."""
    if len(pages) <= most:
        return list(pages)
    first, *rest = pages
    wanted = sorted(rest, key=lambda page: (page.status is Status.OK, page.position))[: most - 1]
    return [first, *sorted(wanted, key=lambda page: page.position)]


def document_html(
    doc: Document, *, progress: Progress | None = None, uid: str | None = None, whole: bool = False
) -> str:
    """Draw the document as one HTML element.

    Parameters
    ----------
    doc : Document
        Its pages so far.
    progress : Progress or None
        How far the reading is, while it goes on.
    uid : str or None
        Marks the root for what drives it; made up when None.
    whole : bool
        Every page, unfolded and in full, for a file of its own; else at most ten pages and 2 MB.

    Returns
    -------
    str
        HTML without script and style elements; all text of the pages is escaped.
    """
    pages = doc.pages
    shown = pages if whole else chosen_pages(pages)
    running = progress is not None and not progress.finished
    total = max(progress.total if progress is not None else 0, len(pages))
    parts = [progress_html(progress, _HINT)] if progress is not None and running else []
    summed = total > 1 and bool(pages)
    if summed:
        parts.append(_summary(doc, pages, running=running))
    parts += [_warning(text) for text in doc.own_warnings[:_MAX_WARNINGS]]
    if not pages:
        words = "No page yet. The first one is being read." if running else "The document has no pages."
        parts.append(f'<div style="padding:12px 14px;{SECOND}">{words}</div>')
    named = not summed or len({page.source for page in pages}) > 1
    for n, page in enumerate(shown):
        head = _head(page, total, named=named)
        parts.append(_page(page, head, whole=whole, folded=n > 0 and not whole, first=n == 0))
    if len(shown) < len(pages):
        parts.append(_elsewhere(pages, shown))
    return _root("".join(parts), uid or uuid4().hex[:12], "document")


def page_html(page: Page, *, uid: str | None = None) -> str:
    """One page as one HTML element, as in `document_html`."""
    head = _head(page, 0, named=True)
    return _root(_page(page, head, whole=False, folded=False, first=True), uid or uuid4().hex[:12], "page")


def _root(inner: str, uid: str, view: str) -> str:
    return (
        f'<div class="{_ROOT_CLASSES}" data-uid="{escape(uid)}" data-view="{view}" '
        f'style="{ROOT};border:{HAIR};border-radius:6px;overflow:hidden">{inner}</div>'
    )


def _summary(doc: Document, pages: Sequence[Page], *, running: bool) -> str:
    said = ", ".join(
        f'<span style="white-space:nowrap">{text}</span>'
        if status is Status.OK
        else f'<span style="white-space:nowrap;font-weight:600">{status_icon(status)}{text}</span>'
        for status, text in status_counts(pages)
    )
    sources = list(dict.fromkeys(page.source for page in pages))
    name = sources[0] if len(sources) == 1 else f"{len(sources):,} sources"
    bad = not_ok(pages)
    again = ""
    if bad and not running:
        words = "Run it again:" if len(bad) == 1 else f"Run the {len(bad):,} again:"
        again = fact(f"{second(words)} {code(RETRY)}", ink="first")
    counted = f'<span style="white-space:nowrap">{count(len(pages), "page")}:</span> {said}'
    return (
        f'<div class="uo-summary" style="padding:9px 14px;border-bottom:{HAIR}">{_right(_document_facts(doc))}'
        f"{fact(escape(name), ink='strong')}"
        f"{fact(counted, ink='first', wraps=True)}{again}</div>"
    )


def _document_facts(doc: Document) -> list[str]:
    said = []
    if isinstance(engine := doc.meta.get("engine"), str):
        said.append(engine)
    if isinstance(seconds := doc.meta.get("seconds"), (int, float)):
        said.append(show_seconds(seconds))
    if isinstance(tokens := doc.meta.get("tokens"), int):
        said.append(count(tokens, "token"))
    if isinstance(cost := doc.meta.get("cost"), (int, float)):
        said.append(money(cost))
    return said


def _right(said: Sequence[str]) -> str:
    if not said:
        return ""
    return f'<div style="float:right;margin:0 -8px 0 12px">{"".join(fact(escape(text)) for text in said)}</div>'


def _warning(text: str) -> str:
    return f'<div style="padding:4px 14px">{icon_line(icon("warning", WARNING), escape(text))}</div>'


def _page(page: Page, head: str, *, whole: bool, folded: bool, first: bool) -> str:
    """One page: a line about it, a banner when it is not ok, and the two panes; folded away or not."""
    inner = _banner(page) + _page_warnings(page) + page_panes(page, limit=None if whole else PAGE_BYTES, whole=whole)
    classes = f"uo-page uo-p{page.position} uo-s-{page.status}"
    rule = "" if first else f"border-top:{HAIR};"
    if folded:
        return (
            f'<details class="{classes}" style="{rule}margin:0;padding:0">'
            f'<summary style="padding:9px 14px;cursor:pointer">{head}</summary>'
            f'<div style="border-top:{HAIR}">{inner}</div></details>'
        )
    return (
        f'<div class="{classes}" style="{rule}margin:0;padding:0">'
        f'<div class="uo-head" style="padding:9px 14px;border-bottom:{HAIR}">{head}</div>{inner}</div>'
    )


def _head(page: Page, total: int, *, named: bool) -> str:
    where = f"page {page.position} of {total:,}" if total else f"page {page.number}"
    if total and page.number != page.position:
        where += f" (page {page.number:,} of its source)"
    name = fact(escape(page.source), ink="strong", kind="uo-source", wraps=True) if named else ""
    place = fact(where, ink="first" if named else "strong")
    word = str(page.status) if page.status is Status.OK else f'<span style="font-weight:600">{page.status}</span>'
    return (
        f"{_right(facts(page))}{name}{place}"
        f"{fact(status_icon(page.status) + word, ink='first', kind='uo-status')}"
        f"{fact(escape(_counts(page)), kind='uo-counts', wraps=True)}"
    )


def _counts(page: Page) -> str:
    kinds = count_labels(page.blocks)
    named = [f"{number:,} {name}" for name, number in kinds[:_MAX_KINDS]]
    if len(kinds) > _MAX_KINDS:
        named.append(f"+{len(kinds) - _MAX_KINDS}")
    return count(len(page.blocks), "block") + (f": {', '.join(named)}" if named else "")


def _banner(page: Page) -> str:
    if page.status is Status.OK:
        return ""
    again = fact(f"{second('Run again:')} {code(RETRY)}", ink="first")
    severe = page.status in (Status.MISSING, Status.FAILED)
    reason = page.reason or (
        "The model found nothing here." if page.status is Status.EMPTY else f"The page is {page.status}."
    )
    return (
        f'<div class="uo-banner" style="padding:8px 14px 8px 11px;border-left:3px solid {status_hue(page.status)};'
        f'border-bottom:{HAIR};background-color:{TINT_ERROR if severe else TINT_WARNING}">'
        f'<span dir="auto" style="margin:0 8px 0 0">{escape(reason)}</span> '
        f"{again}</div>"
    )


def _page_warnings(page: Page) -> str:
    shown = [_warning(text) for text in page.warnings[:_MAX_WARNINGS]]
    if len(page.warnings) > _MAX_WARNINGS:
        shown.append(_warning(f"{len(page.warnings) - _MAX_WARNINGS} more: doc.page({page.position}).warnings"))
    return f'<div style="padding:4px 0;border-bottom:{HAIR}">{"".join(shown)}</div>' if shown else ""


def _elsewhere(pages: Sequence[Page], shown: Sequence[Page]) -> str:
    stored = {page.position for page in shown}
    left = [page for page in pages if page.position not in stored]
    words = f"{count(len(left), 'more page')} ({positions(left, 4)}):"
    return (
        f'<div class="uo-more" style="padding:9px 14px;border-top:{HAIR}">{second(words)} '
        f"{code(f'doc.page({left[0].position})')} {second('or all in one file:')} "
        f"{code(SAVE_ALL)}</div>"
    )
