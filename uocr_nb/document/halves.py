"""Lone halves of surrogate pairs: Python may hold them, but no encoding takes them, and so no file and no kernel."""

from __future__ import annotations

import re

__all__ = ["HALF", "show_bytes", "without_halves"]

HALF = re.compile("[\ud800-\udfff]")


def without_halves(text: str) -> str:
    """`text` with U+FFFD for each of them, so it is as long as before."""
    return text if text.isascii() else HALF.sub("\ufffd", text)


def show_bytes(text: str) -> str:
    r"""A name for people: a byte that Python could not decode (PEP 383) as ``\xff``, any other half as U+FFFD."""
    return text if text.isascii() else HALF.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else "\ufffd"
