"""JPEG files without their metadata, the picture untouched."""

from __future__ import annotations

import re

__all__ = ["stripped"]

_SOS, _EOI, _COMMENT, _FILL = 0xDA, 0xD9, 0xFE, 0xFF
_ALONE = {0x01, *range(0xD0, 0xD9)}
_KEPT = {0xE0, 0xEE}
"""Of the application segments only JFIF (aspect) and Adobe (colour transform) say how to decode."""

_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL)


def stripped(data: bytes) -> bytes | None:
    """Take EXIF, XMP, thumbnails, comments and whatever follows the picture from `data`; its pixels stay as they are.

    Returns
    -------
    bytes or None
        None when the file does not keep to the format, so that it must be encoded anew.
    """
    if data[:2] != b"\xff\xd8":
        return None
    kept = [data[:2]]
    at = 2
    while (found := _segment(data, at)) is not None:
        marker, end = found
        if marker == _EOI:
            return b"".join([*kept, b"\xff\xd9"])
        if marker in _KEPT or not (0xE0 <= marker <= 0xEF or marker in (_COMMENT, _FILL)):
            kept.append(data[at:end])
        at = end
    return None


def _segment(data: bytes, at: int) -> tuple[int, int] | None:
    """Find marker and end of the segment at `at` (with the coded pixels behind it, when it starts a scan)."""
    if len(data) < at + 2 or data[at] != 0xFF:
        return None
    marker = data[at + 1]
    if marker == _FILL:
        return marker, at + 1
    if marker == _EOI or marker in _ALONE:
        return marker, at + 2
    length = int.from_bytes(data[at + 2 : at + 4], "big")
    end = at + 2 + length
    if length < 2 or end > len(data):
        return None
    if marker == _SOS:
        following = _NEXT_MARKER.search(data, end)
        if following is None:
            return None
        end = following.start()
    return marker, end
