"""PDF pages as pictures, by PDFium. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2
import pypdfium2.raw as pdfium_c

from uocr_nb.errors import SourceError
from uocr_nb.sources.encode import is_grey
from uocr_nb.sources.pdf_facts import facts
from uocr_nb.sources.pdf_mend import mended, no_pages, user_units, writes_something
from uocr_nb.sources.pixels import MIN_SIDE, padded, slim
from uocr_nb.sources.sizing import plan
from uocr_nb.sources.types import PageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

    from uocr_nb.sources.sizing import Plan

__all__ = ["Drawn", "PdfFile"]

_REOPEN = 50
"""Pages drawn before the document is opened anew: PDFium keeps what it has decoded, 0.5 GB in 1,000 pages."""

_MANY = 1000
"""So many pages may be missing one by one; where more are, the number of pages is what is wrong."""

_SEARCH = 1.0
"""Seconds that the search for the last of them may take."""

_COARSE = 60.0
"""Below this resolution (dpi) small print leaves no trace, so that nothing seen does not mean blank."""

_LARGE_PICTURE = 60_000_000
"""Pixels of a picture that is not decoded once more, only to see whether it can be."""

_BILEVEL = {"JBIG2Decode": (30, 0.0), "CCITTFaxDecode": (1, 4.0)}
"""Coders of black-and-white scans: the least bytes that say anything, and the most for each line of a blank page."""


@dataclass
class Drawn:
    """A page as it was drawn: the picture, its resolution, notes, and whatever must live as long as the picture.

    `sure` is False where the picture may not show what is on the page, so that nothing seen does not mean blank;
    `hidden`, asked when nothing is seen, tells what the page has all the same (an empty text: nothing).
    """

    image: Image
    dpi: float | None
    notes: list[str]
    quality: int = 90
    original: bytes | None = None
    hold: Any = None
    sure: bool = True
    hidden: Callable[[], str] | None = None


class PdfFile:
    """One open PDF.

    Raises
    ------
    SourceError
        When it is locked, damaged, or has no pages.
    """

    def __init__(self, path: Path, name: str, password: str | None) -> None:
        self._path = path
        self._name = name
        self._password = password
        self._input: Path | bytes = path
        self._drawn = 0
        self.notes: list[str] = []
        self._sound = True
        try:
            self._document = self._unlocked()
        except pypdfium2.PdfiumError as error:
            self._input = mended(path, name, password, error)
            self._sound = False
            self._document = self._open()
        self.count = len(self._document)
        if self.count == 0:
            raise no_pages(name)
        self._describe()

    def close(self) -> None:
        """Let go of the file."""
        self._document.close()

    def draw(self, number: int, *, dpi: float | None, mode: str, max_pixels: int) -> Drawn:
        """Draw page `number` (from 1) on white, with its annotations and filled-in form fields.

        Raises
        ------
        PageError
            When there is no such page, or PDFium cannot load it.
        """
        self._drawn += 1
        if self._drawn > _REOPEN:
            self._document.close()
            self._document, self._drawn = self._open(), 1
        page = self._page(number)
        try:
            if min(page.get_size()) <= 0:
                # A crop box that lies beside the page counts for nothing.
                page.set_cropbox(*page.get_mediabox())
                page.close()
                page = self._page(number)
            return self._draw(page, number, dpi=dpi, mode=mode, max_pixels=max_pixels)
        finally:
            page.close()

    def _page(self, number: int) -> Any:
        try:
            return self._document[number - 1]
        except (pypdfium2.PdfiumError, IndexError) as error:
            if number > self.count:
                raise PageError(
                    f"{self._name} has no page {number}.", f"It has {self.count}.", f"--pages 1-{self.count}"
                ) from error
            raise PageError(
                f"Page {number} of {self._name} cannot be read.",
                f"The file counts {_pages(self.count)}, but this one is damaged or not in it.",
                "Download or copy the file again, or read the others with --pages.",
            ) from error

    def _draw(self, page: Any, number: int, *, dpi: float | None, mode: str, max_pixels: int) -> Drawn:
        width, height = page.get_size()
        if not (width > 0 and height > 0):
            raise PageError(
                f"Page {number} of {self._name} cannot be drawn.",
                f"Its size is given as {width:g} x {height:g} points.",
                "Read the others with --pages.",
            )
        unit = self._units.get(number, 1.0)
        way = plan(width, height, unit=unit, dpi=dpi, mode=mode, max_pixels=max_pixels)
        # Four bytes a pixel in RGB order are what Pillow takes without a copy, and what its JPEG writer reads.
        bitmap = page.render(scale=way.scale, prefer_bgrx=True, rev_byteorder=True, may_draw_forms=True)
        image = bitmap.to_pil()
        drawn = Drawn(image, round(way.dpi, 2), [], hold=bitmap, sure=self._sound and way.dpi >= _COARSE)
        drawn.hidden = partial(self._hidden, number, image)
        return _fitted(drawn, way, (width * unit, height * unit))

    def _hidden(self, number: int, image: Image) -> str:
        """Tell what a page has that nothing is seen of in `image`."""
        # A scan of an empty sheet has been decoded; one plain surface may be all that came of a broken one.
        flat = _is_flat(image)
        page = self._page(number)
        try:
            kinds = set()
            broken = False
            for item in page.get_objects(max_depth=4):
                kinds.add(item.type)
                broken |= flat and item.type == pdfium_c.FPDF_PAGEOBJ_IMAGE and not _decodes(item)
            if pdfium_c.FPDF_PAGEOBJ_TEXT in kinds and _words(page):
                return "The page has text that its picture does not show: the font is not in the file, or it is hidden."
        finally:
            page.close()
        if broken:
            return "The page has a picture that cannot be decoded."
        if not kinds and isinstance(self._input, Path) and writes_something(self._input, number, self._password):
            return "The page may have content that cannot be drawn."
        return ""

    def _unlocked(self) -> Any:
        try:
            return self._open()
        except pypdfium2.PdfiumError:
            if not self._password:
                raise
        # A password that is meant for another file of the folder is no obstacle where none is asked for.
        given, self._password = self._password, None
        try:
            return self._open()
        except pypdfium2.PdfiumError:
            self._password = given
            raise

    def _open(self) -> Any:
        given: Any = self._input
        if isinstance(given, Path) and not str(given).isprintable():
            # A name that is no valid text cannot be handed to PDFium, but an open file can.
            given = given.open("rb")
        document = pypdfium2.PdfDocument(given, password=self._password, autoclose=True)
        # Form fields are drawn only when this comes before the first page.
        with contextlib.suppress(pypdfium2.PdfiumError):
            document.init_forms()
        return document

    def _describe(self) -> None:
        found = facts(self._path)
        self._units: dict[int, float] = user_units(self._path, self._password) if found.units else {}
        self._cut_to_what_is_there()
        self._sound = self._sound and found.sound
        if not self._sound:
            self.notes.append("The file was damaged and repaired before it was read; parts of it may be missing.")
        if found.claimed > self.count:
            self.notes.append(f"The file says that it has {_pages(found.claimed)}; {self.count:,} could be found.")
        if found.xfa or self._document.get_formtype() in (
            pdfium_c.FORMTYPE_XFA_FULL,
            pdfium_c.FORMTYPE_XFA_FOREGROUND,
        ):
            self._sound = False
            self.notes.append("This is an XFA form: what is drawn may be only a placeholder for what Acrobat shows.")
        attached = found.attached
        with contextlib.suppress(pypdfium2.PdfiumError):
            attached = max(attached, self._document.count_attachments())
        if attached or found.portfolio:
            files = "1 attached file is" if attached == 1 else f"{attached or 'its'} attached files are"
            portfolio = "This is a portfolio, and what is drawn is its cover: " if found.portfolio else ""
            self.notes.append(f"{portfolio}{files} not read.")

    def _cut_to_what_is_there(self) -> None:
        """Bring the count down to the last page that exists, where a file counts far more than it has.

        Raises
        ------
        SourceError
            When not one page exists.
        """
        # Every page takes a byte at least, however well the file is packed.
        last = min(self.count, self._path.stat().st_size)
        until = time.monotonic() + _SEARCH
        while last > 1 and not self._exists(last):
            last = last - 1 if time.monotonic() < until else last // 2
        if last == 1 and not self._exists(1):
            raise SourceError(
                f"{self._name} cannot be opened.",
                f"The file is damaged: it counts {_pages(self.count)}, and none is in it.",
                "Download or copy it again.",
            )
        if self.count - last > _MANY:
            self.count = last

    def _exists(self, number: int) -> bool:
        try:
            self._document.get_page_size(number - 1)
        except (pypdfium2.PdfiumError, IndexError):
            return False
        return True


def _pages(count: int) -> str:
    """Say how many pages: ``"1 page"``, ``"1,200 pages"``."""
    return "1 page" if count == 1 else f"{count:,} pages"


def _fitted(drawn: Drawn, way: Plan, size: tuple[float, float]) -> Drawn:
    """Bring a drawn page to the size that is sent, and note what was done to it."""
    image = drawn.image
    if way.limited:
        width, height = (side * 2.54 / 72 for side in size)
        drawn.notes.append(
            f"The page measures {_cm(width)} x {_cm(height)} cm, so it was drawn at "
            f"{way.dpi:.3g} dpi ({image.width:,} x {image.height:,} pixels)."
        )
    if way.shrink is not None:
        from PIL import ImageOps  # noqa: PLC0415 - only the square modes need it

        # One channel shrinks in a third of the time of three, to the same pixels.
        image = ImageOps.contain(image.convert("L" if is_grey(image) else "RGB"), (way.shrink, way.shrink))
        # Small pictures can afford it: 49 dB against the engine's own rather than 44, for 50 KiB.
        drawn.quality = 95
    if min(image.size) < MIN_SIDE:
        drawn.notes.append(slim("page", min(image.size)))
        image = padded(image.convert("RGB"))
    drawn.image = image
    return drawn


def _cm(length: float) -> str:
    return f"{length:,.0f}" if length >= 10 else f"{length:.2g}"


def _is_flat(image: Image) -> bool:
    levels: Any = image.getextrema()
    return all(low == high for low, high in levels[:3])


def _words(page: Any) -> bool:
    text = page.get_textpage()
    try:
        return bool(text.get_text_range().strip())
    finally:
        text.close()


def _decodes(picture: Any) -> bool:
    """Tell whether a picture that came out as one plain surface may truly be one."""
    try:
        width, height = picture.get_px_size()
        coder = (picture.get_filters() or [""])[-1]
        if coder in _BILEVEL:
            # Broken data of these is drawn as white, and a blank page is coded in very little.
            least, line = _BILEVEL[coder]
            return bool(least <= len(picture.get_data()) <= 100 + line * height)
        if width * height <= _LARGE_PICTURE:
            picture.get_bitmap().close()
    except pypdfium2.PdfiumError:
        return False
    return True
