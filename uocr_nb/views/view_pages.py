"""What a view is sent of a document's pages when it is looked at: a page, thumbnails, a crop, a file, a text.

Each answer is bounded, whatever a page holds, and made in any thread.
"""

from __future__ import annotations

import io
from itertools import islice
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from uocr_nb.document import registry
from uocr_nb.errors import OptionError
from uocr_nb.support.state import run_folder
from uocr_nb.views.page_html import page_fragment
from uocr_nb.views.pictures import VIEW, Quality, thumbnail

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from uocr_nb.document.model import Document, Page

__all__ = ["DRAFT", "block_raw", "crop_png", "page_payload", "save_bytes", "thumbs"]

DRAFT = Quality(width=560, page_bytes=40_000, crop_bytes=14_000, crop_width=320)
"""For pages that are sent before anybody has asked for them, while the kernel cannot hear."""

_TEXT_BYTES = 60_000
"""Of the texts that go with a page; the others are asked for one by one."""

_MOST_THUMBS = 40
_CROP_BYTES = 12_000_000
_FILE_BYTES = 300_000_000


def page_payload(
    page: Page,
    pages: Sequence[Page],
    *,
    total: int,
    version: int = 0,
    edited: Collection[int] = (),
    quality: Quality = VIEW,
) -> dict[str, Any]:
    """What a view needs to show one page.

    Parameters
    ----------
    page : Page
        The page.
    pages : sequence of Page
        All of the document, as far as they are there.
    total : int
        How many there will be.
    version : int
        Goes up when the page changes.
    edited : collection of int
        Numbers of blocks that a person corrected.
    quality : Quality
        Of its pictures.

    Returns
    -------
    dict
        ``p``, ``v``, ``html``, ``texts`` (of each block, as the engine wrote it; None for a long one) and
        ``thumb``.
    """
    named = total < 2 or pages[0].source != pages[-1].source
    left = _TEXT_BYTES
    texts: list[str | None] = []
    for block in page.blocks:
        left -= len(block.text)
        texts.append(block.text if left >= 0 else None)
    return {
        "p": page.position,
        "v": version,
        "html": page_fragment(page, total, quality=quality, named=named, edited=edited),
        "texts": texts,
        "thumb": thumbnail(page),
    }


def thumbs(pages: Iterable[Page]) -> dict[str, str]:
    """Pictures of 74 px across as data URIs, of at most forty pages, by position; those not at hand are left out."""
    chosen = islice(pages, _MOST_THUMBS)
    return {str(page.position): made for page in chosen if (made := thumbnail(page))}


def crop_png(page: Page, number: int) -> bytes:
    """The part of the page under block `number` (from 1) as PNG, as large as the page image has it.

    Raises
    ------
    OptionError
        When the page has no such block, or the block no box.
    """
    try:
        image = page.crop(number)
    except (IndexError, ValueError) as error:
        raise OptionError(str(error), "", "") from error
    while True:
        out = io.BytesIO()
        image.save(out, "PNG")
        if out.tell() <= _CROP_BYTES:
            return out.getvalue()
        image = image.resize((max(1, image.width // 2), max(1, image.height // 2)))


def block_raw(page: Page, number: int) -> str:
    """The text of block `number` (from 1) as the engine wrote it.

    Raises
    ------
    OptionError
        When the page has no such block.
    """
    if not 1 <= number <= len(page.blocks):
        raise OptionError(f"There is no block {number}.", f"Page {page.position} has {len(page.blocks)}.", "")
    return page.blocks[number - 1].text


def save_bytes(document: Document, form: str) -> tuple[str, bytes]:
    """The document as a file: its name, and what is in it.

    Raises
    ------
    OptionError
        When there is no such format, or the file is too large to be handed to a browser.
    """
    one_source = len({page.source for page in document.pages}) == 1
    with TemporaryDirectory(dir=run_folder(), prefix="save-") as folder:
        name = "{source}" if one_source else "document"
        written: Path = registry.call("save", document, f"{folder}/{name}.{form}", form)
        size = written.stat().st_size
        if size > _FILE_BYTES:
            raise OptionError(
                f"The file has {size / 1e6:,.0f} MB.", "That is too much for a browser.", f'doc.save("document.{form}")'
            )
        return written.name, written.read_bytes()
