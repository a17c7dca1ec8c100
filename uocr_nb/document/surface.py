"""Byte-level BPE text ("Ġ" for a space, "Ċ" for a line end, mojibake for the rest) turned back into text."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LOOK", "SurfaceDecoder", "is_surface", "mend"]

LOOK = 400
"""Characters from the start of an answer by which its form is known."""


def _byte_of() -> dict[int, int]:
    """The byte that each character of GPT-2's printable alphabet stands for (openai/gpt-2, bytes_to_unicode).

    Control characters but for tab and line end have no place in an answer, so their characters ("č" among them) stand
    for themselves.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in printable]
    control = {*range(0x20), 0x7F} - {0x09, 0x0A}
    shifted = {0x100 + n: byte for n, byte in enumerate(hidden) if byte not in control}
    return {**{byte: byte for byte in printable}, **shifted}


_BYTE_OF = _byte_of()
_CHARACTER_OF = {byte: chr(code) for code, byte in _BYTE_OF.items()}
_BYTES_OF = {chr(code): bytes([byte]) for code, byte in _BYTE_OF.items()}
_TO_LATIN = str.maketrans({**_BYTE_OF, **{code: 0xFFFF for code in range(0x7F, 0x100) if code not in _BYTE_OF}})
"""Sends what is not of the alphabet out of Latin-1, but for ASCII, which stands for itself either way."""
_LESS = re.compile("<")
_TAG = re.compile(r"<\|det\|>[\w-]*Ġ\[")


def _bytes_of(chunk: str) -> bytes:
    try:
        return chunk.translate(_TO_LATIN).encode("latin-1")
    except UnicodeEncodeError:
        return b"".join(_BYTES_OF.get(character) or character.encode() for character in chunk)


def is_surface(head: str) -> bool:
    """Whether an answer that starts with `head` (its first `LOOK` characters, or all of it) is in byte-level form.

    Maltese has both letters: so spaces must be all but missing, and a tag must be written with the mark.
    """
    marks = head.count("Ġ") + head.count("Ċ")
    if marks < 3 or marks < 4 * (head.count(" ") + head.count("\n")):
        return False
    return "<|det|>" not in head or _TAG.search(head) is not None


_STRONG = re.compile(r"(?<=[a-z0-9])[ĠĊ]|(?<=[.;:!?)%])Ċ|(?<=>)Ċ(?=<|\Z)|(?<=[A-Z])Ġ(?=[a-z])")
"""A mark where no Maltese word has that letter: behind a small letter, or inside a word that goes on in small ones."""
_MARK = re.compile(r"(?<!\s)[ĠĊ]")
_SHIFTED = re.compile("[\u0122-\u0143]")
_RUN = re.compile("[\u00a1-\u00ac\u00ae-\u00ff\u0122-\u0143]{3,}")
_SURE = 3


def mend(text: str, note: Callable[[str, int], None], *, marked: bool = False) -> str:
    """`text` of one block with its byte-level stretches decoded, where an engine decoded only a part of its answer.

    With `marked`, a mark comes right behind the text, so that a "Ċ" at its end is the end of its line.
    """
    strong = _STRONG.search(text) is not None
    if _SHIFTED.search(text):
        text, decoded = _decoded_runs(text, least=1 if strong else _SURE)
        if decoded:
            note("surface_text", decoded)
    if strong:
        text, read = _MARK.subn(_white_of, text)
        note("surface_mark", read)
        text = text.strip()
    elif marked and text.endswith("Ċ"):
        note("surface_mark", 1)
        text = text[:-1].rstrip()
    return text


def _white_of(found: re.Match[str]) -> str:
    return " " if found[0] == "Ġ" else "\n"


def _decoded_runs(text: str, *, least: int) -> tuple[str, int]:
    """`text` with its runs decoded that are UTF-8 from end to end and give at least `least` characters."""
    parts, at = [], 0
    for run in _RUN.finditer(text):
        if _SHIFTED.search(run[0]) is None:
            continue
        try:
            decoded = _bytes_of(run[0]).decode()
        except UnicodeDecodeError:
            continue
        if len(decoded) >= least:
            parts += [text[at : run.start()], decoded]
            at = run.end()
    return ("".join((*parts, text[at:])), len(parts) // 2) if parts else (text, 0)


def _as_written(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no UTF-8 were never byte-level text: the characters come back that stood there."""
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - the handler is named for decoding alone
    return "".join(map(_CHARACTER_OF.__getitem__, error.object[error.start : error.end])), error.end


codecs.register_error("uocr_nb.as_written", _as_written)


class SurfaceDecoder:
    """Decodes a stream of byte-level text; a character may be split over two chunks."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("uocr_nb.as_written")
        self._read = self._written = 0
        self._marks: list[int] = []
        self._origins: list[int] = []
        """Where each "<" of the decoded text stands, and where it stood: it stands for itself, so there are as many."""

    def feed(self, chunk: str, *, final: bool = False) -> str:
        """The text that is complete after `chunk`."""
        self._origins += [self._read + found.start() for found in _LESS.finditer(chunk)]
        self._read += len(chunk)
        text = self._utf8.decode(_bytes_of(chunk), final)
        self._marks += [self._written + found.start() for found in _LESS.finditer(text)]
        self._written += len(text)
        return text

    def origin(self, place: int) -> int:
        """Where the character stood that is at `place` of the decoded text; exact for marks and what follows them."""
        if place >= self._written:
            return self._read
        before = bisect_right(self._marks, place) - 1
        return min(place - self._marks[before] + self._origins[before], self._read) if before >= 0 else place
