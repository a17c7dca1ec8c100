"""What a document or page shows where it is the value of a cell: HTML, markdown and plain text in one bundle."""

from __future__ import annotations

import base64
import contextlib
from typing import TYPE_CHECKING

from uocr_nb.document.model import Block
from uocr_nb.errors import UocrError
from uocr_nb.markup.markdown import block_markdown, page_markdown
from uocr_nb.views.live_html import live_html
from uocr_nb.views.page_html import chosen_pages, document_html, page_html, view_html
from uocr_nb.views.plain import document_plain, page_plain
from uocr_nb.views.progress import progress_line
from uocr_nb.views.words import (
    DOUBTS,
    RETRY,
    alike,
    count,
    not_ok,
    places,
    reason_of,
    shortened,
    source_place,
    summary_line,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Document, Page
    from uocr_nb.reading.progress import Progress

__all__ = ["document_bundle", "live_bundle", "page_bundle", "view_bundle"]

_MOST_BAD = 20
"""Pages that are named one by one."""

_MARKDOWN_CHARACTERS = 40_000
"""Of a page's text in a stored form; the markup around it may double that."""


def document_bundle(doc: Document, *, uid: str | None = None) -> dict[str, str]:
    """MIME type -> text, as `doc.show` asks for.

    ``auto`` and ``view`` give HTML with markdown and plain text beside it, ``figure`` a picture, ``markdown`` and
    ``text`` these alone, ``none`` one line.
    """
    plain = document_plain(doc)
    if doc.show == "none":
        return {"text/plain": repr(doc)}
    if doc.show == "text":
        return {"text/plain": doc.text}
    if doc.show == "markdown":
        return {"text/markdown": _markdown(doc), "text/plain": plain}
    if doc.show == "figure" and doc.pages:
        # Without the page pictures there is no figure, but there is still a document.
        with contextlib.suppress(UocrError):
            return {"image/png": _png(doc), "text/plain": plain}
    return {
        "text/html": document_html(doc, uid=uid),
        "text/markdown": _markdown(doc),
        "text/plain": plain,
    }


def live_bundle(
    progress: Progress, pages: Sequence[Page], *, uid: str | None = None, with_pages: bool = True
) -> dict[str, str]:
    """MIME type -> text of a reading that goes on; small, because it is sent again and again."""
    return {
        "text/html": live_html(progress, pages, uid=uid, with_pages=with_pages),
        "text/plain": progress_line(progress),
    }


def page_bundle(page: Page) -> dict[str, str]:
    """MIME type -> text of one page."""
    return {
        "text/html": page_html(page),
        "text/markdown": _page_markdown(page),
        "text/plain": page_plain(page),
    }


def view_bundle(doc: Document, position: int, *, uid: str) -> dict[str, str]:
    """MIME type -> text of a full view: one page, and the name of what shows the others."""
    return {
        "text/html": view_html(doc, position, uid=uid),
        "text/markdown": _markdown(doc, [page for page in doc.pages if page.position == position]),
        "text/plain": document_plain(doc),
    }


def _markdown(doc: Document, carried: Sequence[Page] | None = None) -> str:
    """Markdown of the pages that a stored form carries; the others are named, and so are those that are not ok."""
    pages = doc.pages
    shown = chosen_pages(pages) if carried is None else carried
    parts = [_markdown_summary(pages)] if len(pages) > 1 and not_ok(pages) else []
    parts += [_page_markdown(page) for page in shown]
    if len(shown) < len(pages):
        parts.append(f"*{len(pages) - len(shown)} more pages: `doc.markdown`*")
    return "\n\n".join(parts)


def _markdown_summary(pages: Sequence[Page]) -> str:
    """``57 ok, 2 looping (p. 12, 40)``, a line for each page that is not ok, and how to run them again."""
    bad = not_ok(pages)
    groups = alike(bad)
    lines = []
    for group in groups[:_MOST_BAD]:
        place = source_place(group, pages)
        reason = reason_of(group[0])
        said = f"{places(group)}, {group[0].status}: {f'{place}: ' if place else ''}{reason}"
        lines.append(f"- {block_markdown(Block('text', said))}")
    if left := sum(map(len, groups[_MOST_BAD:])):
        lines.append(f"- {count(left, 'more page')}: `{DOUBTS}`")
    counts = block_markdown(Block("text", f"{len(pages):,} pages: {summary_line(pages)}"))
    again = "Run it again" if len(bad) == 1 else f"Run the {len(bad):,} again"
    return "\n".join([f"**{counts}**", "", *lines, "", f"{again}: `{RETRY}`"])


def _page_markdown(page: Page) -> str:
    short = shortened(page, _MARKDOWN_CHARACTERS)
    text = page_markdown(short)
    if short is page and len(text) <= 2 * _MARKDOWN_CHARACTERS:
        return text
    return f"{text[: 2 * _MARKDOWN_CHARACTERS]}\n\n*The rest: `doc.page({page.position}).markdown`*"


def _png(doc: Document) -> str:
    from uocr_nb.views.overlay import document_figure, shown_png  # noqa: PLC0415 - heavy

    return base64.b64encode(shown_png(document_figure(chosen_pages(doc.pages)))).decode("ascii")
