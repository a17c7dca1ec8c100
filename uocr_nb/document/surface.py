"""Byte-level BPE text ("Ġ" for a space, "Ċ" for a line end, mojibake for the rest) turned back into text."""

from __future__ import annotations

import codecs
import re

__all__ = ["LOOK", "SurfaceDecoder", "is_surface"]

LOOK = 400
"""Characters from the start of an answer by which its form is known."""


def _byte_of() -> dict[int, int]:
    """The byte that each character of GPT-2's printable alphabet stands for (openai/gpt-2, bytes_to_unicode)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in printable]
    return {**{byte: byte for byte in printable}, **{0x100 + n: byte for n, byte in enumerate(hidden)}}


_BYTE_OF = _byte_of()
_TAG = re.compile(r"<\|det\|>[\w-]*Ġ\[")


def is_surface(head: str) -> bool:
    """Whether an answer that starts with `head` (its first `LOOK` characters, or all of it) is in byte-level form.

    Maltese has both letters: so spaces must be all but missing, and a tag must be written with the mark.
    """
    marks = head.count("Ġ") + head.count("Ċ")
    if marks < 3 or marks < 4 * (head.count(" ") + head.count("\n")):
        return False
    return "<|det|>" not in head or _TAG.search(head) is not None


class SurfaceDecoder:
    """Decodes a stream of byte-level text; a character may be split over two chunks."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._read = self._written = 0
        self.origins: dict[int, int] = {}
        """Where each "<" of the decoded text stood in the answer; it stands for itself, so there are as many."""

    def feed(self, chunk: str, *, final: bool = False) -> str:
        """The text that is complete after `chunk`."""
        raw = bytearray()
        marks = [self._read + at for at, character in enumerate(chunk) if character == "<"]
        self._read += len(chunk)
        for character in chunk:
            byte = _BYTE_OF.get(ord(character))
            if byte is None:
                raw += character.encode()
            else:
                raw.append(byte)
        text = self._utf8.decode(bytes(raw), final)
        decoded = (self._written + at for at, character in enumerate(text) if character == "<")
        self.origins.update(zip(decoded, marks, strict=True))
        self._written += len(text)
        return text
