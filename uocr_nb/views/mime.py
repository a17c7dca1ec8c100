"""What a document or page shows where it is the value of a cell: HTML, markdown and plain text in one bundle."""

from __future__ import annotations

import base64
import contextlib
import io
from typing import TYPE_CHECKING

from uocr_nb.errors import UocrError
from uocr_nb.markup.markdown import page_markdown
from uocr_nb.views.page_html import chosen_pages, document_html, page_html
from uocr_nb.views.plain import document_plain, page_plain
from uocr_nb.views.progress import progress_bar
from uocr_nb.views.words import shortened

if TYPE_CHECKING:
    from uocr_nb.document.model import Document, Page
    from uocr_nb.reading.progress import Progress

__all__ = ["document_bundle", "page_bundle"]

_MARKDOWN_CHARACTERS = 40_000
"""Of a page's text in a stored form; the markup around it may double that."""


def document_bundle(doc: Document, *, progress: Progress | None = None, uid: str | None = None) -> dict[str, str]:
    """MIME type -> text, as `doc.show` asks for.

    ``auto`` and ``view`` give HTML with markdown and plain text beside it, ``figure`` a picture, ``markdown`` and
    ``text`` these alone, ``none`` one line.
    """
    plain = document_plain(doc)
    if progress is not None and not progress.finished:
        plain = progress_bar(progress)
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
        "text/html": document_html(doc, progress=progress, uid=uid),
        "text/markdown": _markdown(doc),
        "text/plain": plain,
    }


def page_bundle(page: Page) -> dict[str, str]:
    """MIME type -> text of one page."""
    return {
        "text/html": page_html(page),
        "text/markdown": _page_markdown(page),
        "text/plain": page_plain(page),
    }


def _markdown(doc: Document) -> str:
    """Markdown of the pages that a stored form carries; the others are named."""
    pages = doc.pages
    shown = chosen_pages(pages)
    text = "\n\n".join(_page_markdown(page) for page in shown)
    if len(shown) < len(pages):
        text += f"\n\n*{len(pages) - len(shown)} more pages: `doc.markdown`*"
    return text


def _page_markdown(page: Page) -> str:
    short = shortened(page, _MARKDOWN_CHARACTERS)
    text = page_markdown(short)
    if short is page and len(text) <= 2 * _MARKDOWN_CHARACTERS:
        return text
    return f"{text[: 2 * _MARKDOWN_CHARACTERS]}\n\n*The rest: `doc.page({page.position}).markdown`*"


def _png(doc: Document) -> str:
    from uocr_nb.views.overlay import document_figure  # noqa: PLC0415 - heavy

    out = io.BytesIO()
    document_figure(chosen_pages(doc.pages)).savefig(out, format="png")
    return base64.b64encode(out.getvalue()).decode("ascii")
