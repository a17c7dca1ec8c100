"""Lone halves of surrogate pairs: Python may hold them, but no encoding takes them, and so no file and no kernel."""

from __future__ import annotations

import re

__all__ = ["HALF", "UNSOUND", "is_sound", "kind_of", "show_bytes", "without_halves"]

HALF = re.compile("[\ud800-\udfff]")

UNSOUND = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""What no text of a page holds and many formats refuse: lone halves, control characters, and what is no character."""
_CONTROL = bytes([*range(9), 11, 12, 13, *range(14, 32), 127])


def is_sound(text: str) -> bool:
    """Whether `text` surely holds nothing of `UNSOUND`, no carriage return, and no byte-order mark; a quick look."""
    if text.isprintable():
        return True
    if not text.isascii():
        return UNSOUND.search(text) is None and "\r" not in text
    data = text.encode()
    return len(data.translate(None, _CONTROL)) == len(data)


def kind_of(character: str) -> str:
    """The kind of repair that something of `UNSOUND` is."""
    return "half" if HALF.match(character) else "control"


def without_halves(text: str) -> str:
    """`text` with U+FFFD for each of them, so it is as long as before."""
    return text if text.isascii() else HALF.sub("\ufffd", text)


def show_bytes(text: str) -> str:
    r"""A name for people: a byte that Python could not decode (PEP 383) as ``\xff``, any other half as U+FFFD."""
    return text if text.isascii() else HALF.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else "\ufffd"
