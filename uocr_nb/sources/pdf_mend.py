"""What PyMuPDF does for PDFs that PDFium cannot open or tell about. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import pypdfium2

from uocr_nb.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["mended", "no_pages", "user_units", "writes_something"]

_HEAD = 8 << 20
"""Bytes in which the list of pages of a file without pages is looked for."""

_LARGEST = 1e6
"""A unit beyond it is damage: 72,000,000 inches."""

_COUNT_0 = re.compile(rb"/Count\s+0\b")
_A_PAGE = re.compile(rb"/Type\s*/Page\b")

_SHOWS = re.compile(rb"\b(?:Tj|TJ|Do|BI|sh)\b|['\"]")
"""Operators that show text, a picture or a shading."""


def _quiet_pymupdf() -> Any:
    import pymupdf  # noqa: PLC0415 - 0.7 s and 150 MB, for rare files only

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf


def user_units(path: Path, password: str | None) -> dict[int, float]:
    """Read the size of a unit in 1/72 inch, of the pages where it is not 1 (PDFium does not tell)."""
    pymupdf = _quiet_pymupdf()
    units: dict[int, float] = {}
    with contextlib.suppress(Exception), pymupdf.open(path, filetype="pdf") as document:
        if document.needs_pass:
            document.authenticate(password or "")
        for index in range(document.page_count):
            kind, value = document.xref_get_key(document.page_xref(index), "UserUnit")
            if kind == "xref":
                kind, value = "float", document.xref_object(int(value.split()[0]))
            with contextlib.suppress(ValueError):
                if kind in ("int", "float") and 0 < float(value) < _LARGEST:
                    units[index + 1] = float(value)
    return units


def mended(path: Path, name: str, password: str | None, error: Exception) -> bytes:
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
        start = file.read(_HEAD)
    # Zero pages may also be all that a repair could find: the file itself must say so.
    if pages == 0 and _COUNT_0.search(start) and not _A_PAGE.search(start):
        raise no_pages(name)
    size = path.stat().st_size
    raise SourceError(
        f"{name} cannot be opened.",
        f"The file is damaged or cut off ({size:,} bytes); no page could be found in it.",
        "Download or copy it again.",
    )


def no_pages(name: str) -> SourceError:
    """Say that there is no page in the file."""
    return SourceError(f"{name} has no pages.", "Its list of pages is empty.", "Make it again, or name another file.")


def _locked(name: str, password: str | None) -> SourceError:
    if password:
        return SourceError(
            f"{name} is locked.",
            "The password does not open it, so no page could be read.",
            "Look at the variable's value: capitals count.",
        )
    return SourceError(
        f"{name} is locked.",
        "The PDF asks for a password, so no page could be read.",
        "Put the password in an environment variable and add its name to the line:\n--password-env SCAN_PW",
    )


def writes_something(path: Path, number: int, password: str | None) -> bool:
    """Tell whether the content of page `number` shows text or pictures, or cannot even be unpacked."""
    pymupdf = _quiet_pymupdf()
    with contextlib.suppress(Exception), pymupdf.open(path, filetype="pdf") as document:
        if document.needs_pass:
            document.authenticate(password or "")
        for xref in document[number - 1].get_contents():
            content = document.xref_stream(xref)
            if _SHOWS.search(content or b"") or (not content and document.xref_stream_raw(xref)):
                return True
        return False
    return True
