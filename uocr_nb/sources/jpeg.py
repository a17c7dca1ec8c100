"""JPEG files without their metadata, the picture untouched."""

from __future__ import annotations

import re

__all__ = ["stripped"]

_SOS, _EOI = 0xDA, 0xD9
_ALONE = {0x01, *range(0xD0, 0xD9)}
_KEPT = {0xE0, 0xEE}
"""Of the application segments only JFIF (aspect) and Adobe (colour transform) say how to decode."""

_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL)


def stripped(data: bytes) -> bytes | None:
    """`data` without EXIF, XMP, thumbnails, comments and whatever follows the picture; its pixels stay as they are.

    Returns
    -------
    bytes or None
        None when the file does not keep to the format, so that it must be encoded anew.
    """
    if data[:2] != b"\xff\xd8":
        return None
    kept = [data[:2]]
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes may stand before a marker
            at += 1
            continue
        if marker == _EOI:
            break
        if marker in _ALONE:
            kept.append(data[at : at + 2])
            at += 2
            continue
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if end > len(data):
            return None
        if marker in _KEPT or not (0xE0 <= marker <= 0xEF or marker == 0xFE):
            kept.append(data[at:end])
        at = end
        if marker == _SOS:
            found = _NEXT_MARKER.search(data, at)
            if found is None:
                return None
            kept.append(data[at : found.start()])
            at = found.start()
    if data[at : at + 2] != b"\xff\xd9":
        return None
    kept.append(b"\xff\xd9")
    return b"".join(kept)
