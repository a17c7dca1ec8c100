"""Telling what a file is by its first bytes; its name is never believed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uocr_nb.sources.types import Kind

__all__ = ["HEAD", "describe", "is_heic", "sniff"]

HEAD = 2048
"""Bytes that are enough to tell (a PDF's header may stand anywhere in its first 1,024)."""

_BOXED = rb"....ftyp(?:heic|heix|hevc|heim|heis|mif1|msf1)"

_IMAGES = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF....WEBP|BM....\x00\x00\x00\x00"
    rb"|II[*+]\x00|MM\x00[*+]|P[1-7][\s#]|P[fF]\s|\x00\x00\x00\x0cjP  |\xff\x4f\xff\x51"
    rb"|....ftypavi[fs]|\x00\x00\x01\x00.\x00|8BPS\x00\x01|\x0a[\x00-\x05]\x01[\x01\x02\x04\x08]|qoif|DDS |" + _BOXED,
    re.DOTALL,
)

_HEIC = re.compile(_BOXED, re.DOTALL)

_OTHERS = (
    (re.compile(rb"\s*(?:<\?xml[^>]*>)?[^<]*(?:<![^>]*>[^<]*){0,4}<svg"), "an SVG drawing"),
    (re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE), "a web page"),
    (re.compile(rb"PK\x03\x04"), "a zip archive (Word, Excel and EPUB files are such archives)"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old Office file"),
    (re.compile(rb"%!PS"), "a PostScript file"),
    (re.compile(rb"AT&TFORM"), "a DjVu file"),
    (re.compile(rb"\x1f\x8b"), "a gzip archive"),
    (re.compile(rb"version https://git-lfs"), "a Git LFS pointer, so the real file was not downloaded"),
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


def describe(head: bytes) -> str:
    """Say what something that is neither a PDF nor a picture looks like: ``"an SVG drawing"``."""
    if not head:
        return "empty (0 bytes)"
    plain = head.removeprefix(b"\xef\xbb\xbf")
    for pattern, words in _OTHERS:
        if pattern.match(plain):
            return words
    # Bytes of no text encoding are what a truncated or encrypted file looks like; a text has none of these.
    if re.search(rb"[\x00-\x08\x0e-\x1a]", head[:512]):
        return "of a kind that is not known here"
    return "plain text"
