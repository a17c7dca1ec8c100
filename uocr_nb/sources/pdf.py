"""PDF pages as pictures, by PDFium. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2
import pypdfium2.raw as pdfium_c

from uocr_nb.errors import SourceError
from uocr_nb.sources.encode import is_grey
from uocr_nb.sources.sizing import plan
from uocr_nb.sources.types import PageError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Drawn", "PdfFile"]

_REOPEN = 50
"""Pages drawn before the document is opened anew: PDFium keeps what it has decoded, 0.5 GB in 1,000 pages."""

_CHUNK = 8 << 20

_COUNT_0 = re.compile(rb"/Count\s+0\b")
_A_PAGE = re.compile(rb"/Type\s*/Page\b")

_MARKS = (b"/XFA", b"/NeedsRendering true", b"/UserUnit", b"/Collection")
"""Keys that PDFium does not report; those inside compressed objects stay unseen."""


@dataclass
class Drawn:
    """A page as it was drawn: the picture, its resolution, notes, and whatever must live as long as the picture.

    `sure` is False where the picture may not show what is on the page, so that nothing seen does not mean blank.
    """

    image: Image
    dpi: float | None
    notes: list[str]
    quality: int = 90
    original: bytes | None = None
    hold: Any = None
    sure: bool = True


class PdfFile:
    """One open PDF.

    Raises
    ------
    SourceError
        When it is locked, damaged, or has no pages.
    """

    def __init__(self, path: Path, name: str, password: str | None) -> None:
        self._name = name
        self._password = password
        self._input: Path | bytes = path
        self._drawn = 0
        self.notes: list[str] = []
        try:
            self._document = self._open()
        except pypdfium2.PdfiumError as error:
            self._input = _mended(path, name, password, error)
            self.notes.append("The file is damaged; it was repaired before it was read, and parts may be missing.")
            self._document = self._open()
        self.count = len(self._document)
        if self.count == 0:
            raise _no_pages(name)
        self._describe(path)

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
        try:
            page = self._document[number - 1]
        except (pypdfium2.PdfiumError, IndexError) as error:
            raise PageError(
                f"Page {number} of {self._name} cannot be read.",
                "Its entry in the file is damaged.",
                "Read the others with --pages.",
            ) from error
        try:
            return self._draw(page, number, dpi=dpi, mode=mode, max_pixels=max_pixels)
        finally:
            page.close()

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
        notes = []
        if way.limited:
            cm = 2.54 * unit / 72
            notes.append(
                f"The page measures {width * cm:,.0f} x {height * cm:,.0f} cm, so it was drawn at "
                f"{way.dpi:.3g} dpi ({image.width:,} x {image.height:,} pixels)."
            )
        if way.shrink is not None:
            from PIL import ImageOps  # noqa: PLC0415 - only the square modes need it

            # One channel shrinks in a third of the time of three, to the same pixels.
            image = ImageOps.contain(image.convert("L" if is_grey(image) else "RGB"), (way.shrink, way.shrink))
            # Small pictures can afford it: 49 dB against the engine's own rather than 44, for 50 KiB.
            return Drawn(image, round(way.dpi, 2), notes, quality=95)
        return Drawn(image, round(way.dpi, 2), notes, hold=bitmap)

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

    def _describe(self, path: Path) -> None:
        marks = _marks(path)
        self._units: dict[int, float] = _user_units(path, self._password) if b"/UserUnit" in marks else {}
        form = self._document.get_formtype()
        if form in (pdfium_c.FORMTYPE_XFA_FULL, pdfium_c.FORMTYPE_XFA_FOREGROUND) or marks & {_MARKS[0], _MARKS[1]}:
            self.notes.append("This is an XFA form: what is drawn may be only a placeholder for what Acrobat shows.")
        with contextlib.suppress(pypdfium2.PdfiumError):
            attached = self._document.count_attachments()
            if attached > 0:
                files = "1 attached file is" if attached == 1 else f"{attached} attached files are"
                portfolio = "This is a portfolio: " if b"/Collection" in marks else ""
                self.notes.append(f"{portfolio}{files} not read.")


def _marks(path: Path) -> set[bytes]:
    """Find which of `_MARKS` stand in the file."""
    found: set[bytes] = set()
    tail = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            window = tail + chunk
            found.update(mark for mark in _MARKS if mark in window)
            tail = window[-32:]
    return found


def _quiet_pymupdf() -> Any:
    import pymupdf  # noqa: PLC0415 - 0.7 s and 150 MB, for rare files only

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf


def _user_units(path: Path, password: str | None) -> dict[int, float]:
    """Read the size of a unit in 1/72 inch, of the pages where it is not 1 (PDFium does not tell)."""
    pymupdf = _quiet_pymupdf()
    units: dict[int, float] = {}
    with contextlib.suppress(Exception), pymupdf.open(path, filetype="pdf") as document:
        if document.needs_pass:
            document.authenticate(password or "")
        for index in range(document.page_count):
            kind, value = document.xref_get_key(document.page_xref(index), "UserUnit")
            if kind in ("int", "float") and float(value) > 0:
                units[index + 1] = float(value)
    return units


def _mended(path: Path, name: str, password: str | None, error: Exception) -> bytes:
    """Write the file anew by PyMuPDF, which repairs more than PDFium does.

    Raises
    ------
    SourceError
        When it is locked, has no pages, or cannot be repaired either.
    """
    if "password" in str(error).lower():
        raise _locked(name, password)
    if "security" in str(error).lower():
        raise SourceError(
            f"{name} is encrypted in a way that cannot be read.",
            "Its security handler is not one of the PDF standard.",
            "Print it to a new PDF in the program that opens it.",
        )
    pymupdf = _quiet_pymupdf()
    pages: int | None = None
    with contextlib.suppress(Exception), pymupdf.open(path, filetype="pdf") as document:
        if not document.needs_pass or document.authenticate(password or ""):
            pages = document.page_count
            if pages:
                data: bytes = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_NONE)
                with pypdfium2.PdfDocument(data) as check:
                    if len(check):
                        return data
    with path.open("rb") as file:
        start = file.read(_CHUNK)
    # Zero pages may also be all that a repair could find: the file itself must say so.
    if pages == 0 and _COUNT_0.search(start) and not _A_PAGE.search(start):
        raise _no_pages(name)
    size = path.stat().st_size
    raise SourceError(
        f"{name} cannot be opened.",
        f"The file is damaged or cut off ({size:,} bytes); no page could be found in it.",
        "Download or copy it again.",
    )


def _no_pages(name: str) -> SourceError:
    return SourceError(f"{name} has no pages.", "Its list of pages is empty.", "Make it again, or name another file.")


def _locked(name: str, password: str | None) -> SourceError:
    shown = name if " " not in name else f'"{name}"'
    if password:
        return SourceError(
            f"{name} is locked.",
            "The password does not open it, so no page could be read.",
            f"Look at the variable's value (capitals count), then:\n%uocr {shown} --password-env SCAN_PW",
        )
    return SourceError(
        f"{name} is locked.",
        "The PDF asks for a password, so no page could be read.",
        f"Put the password in an environment variable and name it:\n%uocr {shown} --password-env SCAN_PW",
    )
