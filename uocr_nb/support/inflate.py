"""Unpacking what a server packed for the way, a little at a time, so that a small answer cannot fill the memory."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Inflater"]

_PIECE = 1 << 18


class Inflater:
    """Unpacks gzip and deflate.

    Attributes
    ----------
    problem : str
        Why the result is not whole; empty when it is.
    """

    def __init__(self, encoding: str) -> None:
        self._encodings = [name.strip().lower() for name in encoding.split(",") if name.strip()]
        self._encodings = [name for name in self._encodings if name != "identity"]
        self.problem = ""

    def pieces(self, packed: Iterable[bytes]) -> Iterator[bytes]:
        """Pieces of at most 256 kB of the unpacked content."""
        if not self._encodings:
            yield from packed
        elif self._encodings in (["gzip"], ["x-gzip"], ["deflate"]):
            yield from self._unpacked(packed, self._encodings[0])
        else:
            self.problem = f"It is packed in a way that was not asked for ({', '.join(self._encodings)[:40]})."

    def _unpacked(self, packed: Iterable[bytes], encoding: str) -> Iterator[bytes]:
        engine = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, told by the header
        first = True
        try:
            for data in packed:
                rest = data
                if first and encoding == "deflate" and (data[:1] or b"x")[0] & 0x0F != 8:
                    engine = zlib.decompressobj(-zlib.MAX_WBITS)  # servers that leave the header out
                first = False
                while rest:
                    piece = engine.decompress(rest, _PIECE)
                    if piece:
                        yield piece
                    rest = engine.unconsumed_tail
                    if engine.eof:
                        break
                if engine.eof:
                    return
            yield from self._last(engine)
        except zlib.error:
            self.problem = "Its packing is damaged."

    def _last(self, engine: zlib._Decompress) -> Iterator[bytes]:
        piece = engine.flush(_PIECE)
        if piece:
            yield piece
        if not engine.eof:
            self.problem = "The download ended early: its packing has no end."
