"""Sources that could not be opened when a document was read, opened when it is read again."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import TYPE_CHECKING

from uocr_nb.errors import UocrError
from uocr_nb.reading.plan import Item, page_items, unread_page
from uocr_nb.sources import default_renderer
from uocr_nb.support.loop import wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Document, Page
    from uocr_nb.sources import Opened, Source

__all__ = ["items_again"]


def items_again(document: Document, pages: Sequence[Page]) -> list[Item]:
    """What to read again for `pages`.

    One that stands for a source that was not opened gives its place in `document` to all pages of that source, where it
    can be opened now.
    """
    counts = Counter(page.source for page in document.pages)
    items: list[Item] = []
    moved = 0
    for page in sorted(pages, key=lambda page: page.position):
        found = _opened_now(document, page, page.position + moved) if counts[page.source] == 1 else []
        items += found or [_again(page, page.position + moved)]
        moved += max(len(found) - 1, 0)
    return items


def _again(page: Page, position: int) -> Item:
    source: Source = page.origin[0]
    # What was noted of the folder stays with its first page.
    notes = tuple(note for note in page.warnings if note in source.notes)
    return Item(position, source, page.number, notes=notes, name=page.name)


def _opened_now(document: Document, page: Page, position: int) -> list[Item]:
    """The pages of a source that was not opened, put into the document; none when it has no more than was known."""
    if page.number != 1 or page.size != (0, 0):
        return []
    source = page.origin[0]
    try:
        found = page_items(source, _open(source), position, document.meta.get("pages"))
    except UocrError:
        # Why it cannot be read is found once more, and told, when its page is drawn.
        return []
    document.spread(position, [unread_page(item, page.origin) for item in found])
    return found


def _open(source: Source) -> Opened:
    stop = threading.Event()
    try:
        return wait(asyncio.to_thread(default_renderer().open, source, stop=stop))
    finally:
        stop.set()
