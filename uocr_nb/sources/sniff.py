"""Telling what a file is by its first bytes; its name is never believed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uocr_nb.sources.types import Kind

__all__ = ["HEAD", "describe", "is_heic", "sniff", "variant"]

HEAD = 2048
"""Bytes that are enough to tell (a PDF's header may stand anywhere in its first 1,024)."""

_BOXED = rb"....ftyp(?:heic|heix|hevc|heim|heis|mif1|msf1)"

_IMAGES = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF....WEBP|BM....\x00\x00\x00\x00"
    rb"|II[*+]\x00|MM\x00[*+]|P[1-7][\s#]|P[fF]\s|\x00\x00\x00\x0cjP  |\xff\x4f\xff\x51"
    rb"|....ftypavi[fs]|\x00\x00\x01\x00.\x00|8BPS\x00\x01|\x0a[\x00-\x05]\x01[\x01\x02\x04\x08]|qoif|DDS |"
    rb"\x01\xda[\x00\x01][\x01\x02]|" + _BOXED,
    re.DOTALL,
)

_HEIC = re.compile(_BOXED, re.DOTALL)

_OTHERS = (
    (re.compile(rb"\s*(?:<\?xml[^>]*>)?[^<]*(?:<![^>]*>[^<]*){0,4}<svg"), "an SVG drawing"),
    (re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE), "a web page"),
    (re.compile(rb"PK\x03\x04.{,2000}?word/", re.DOTALL), "a Word document"),
    (re.compile(rb"PK\x03\x04.{,2000}?xl/", re.DOTALL), "an Excel workbook"),
    (re.compile(rb"PK\x03\x04.{,2000}?ppt/", re.DOTALL), "a PowerPoint presentation"),
    (re.compile(rb"PK\x03\x04.{26}mimetypeapplication/epub"), "an EPUB book"),
    (re.compile(rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis"), "an OpenDocument file"),
    (re.compile(rb"PK\x03\x04"), "a zip archive (Word, Excel and EPUB files are such archives)"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old Office file"),
    (re.compile(rb"\{\\rtf"), "an RTF document"),
    (re.compile(rb"%!PS"), "a PostScript file"),
    (re.compile(rb"AT&TFORM"), "a DjVu file"),
    (re.compile(rb"\xff\x0a|\x00\x00\x00\x0cJXL "), "a JPEG XL picture"),
    (re.compile(rb"\x97JB2"), "a JBIG2 picture"),
    (re.compile(rb"....ftyp|\x1a\x45\xdf\xa3|RIFF....AVI |\x00\x00\x01\xba", re.DOTALL), "a film"),
    (re.compile(rb"\x01\x00\x00\x00.{36} EMF|\xd7\xcd\xc6\x9a", re.DOTALL), "a Windows metafile drawing"),
    (re.compile(rb"\x1f\x8b|7z\xbc\xaf|Rar!|BZh|\xfd7zXZ|.{257}ustar", re.DOTALL), "an archive"),
    (re.compile(rb"version https://git-lfs"), "a Git LFS pointer, so the real file was not downloaded"),
)

_VARIANTS = (
    (
        re.compile(rb"II\*\x00.{4}CR|II\*\x00.{6,800}?(?:NIKON|SONY|Canon)|MM\x00\*.{6,800}?NIKON", re.DOTALL),
        "a camera's raw picture, which is not read",
    ),
    (
        re.compile(rb"II[*+]\x00|MM\x00[*+]"),
        "a kind of TIFF that is not read (of numbers, integers to 32 bit and floats of 32 bit are)",
    ),
)


def sniff(head: bytes) -> Kind | None:
    """Tell ``"pdf"`` or ``"image"`` by the first `HEAD` bytes, or None when it is neither."""
    if _IMAGES.match(head):
        return "image"
    if b"%PDF-" in head[:1029]:
        return "pdf"
    return None


def is_heic(head: bytes) -> bool:
    """Tell whether it is a HEIC or HEIF picture, which Pillow reads with a plug-in only."""
    return _HEIC.match(head) is not None


def variant(head: bytes) -> str:
    """Say what a picture may be that its reader did not take, where the format has kinds that it does not take."""
    return next((words for pattern, words in _VARIANTS if pattern.match(head)), "")


def describe(head: bytes) -> str:
    """Say what something that is neither a PDF nor a picture looks like: ``"an SVG drawing"``."""
    if not head:
        return "empty (0 bytes)"
    plain = head.removeprefix(b"\xef\xbb\xbf")
    if plain[:2] in (b"\xff\xfe", b"\xfe\xff"):
        plain = plain.decode("utf-16", "ignore").encode()
    for pattern, words in _OTHERS:
        if pattern.match(plain):
            return words
    # Bytes of no text encoding are what a truncated or encrypted file looks like; a text has none of these.
    if re.search(rb"[\x00-\x08\x0e-\x1a]", head[:512]):
        return "of a kind that is not known here"
    return "plain text"
