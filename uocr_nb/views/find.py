"""Search in a whole document: without regard to case and accents, quickly also in hundreds of pages.

A page's text is made ready once and kept with the page, so that a search while somebody types goes through strings
alone.
"""

from __future__ import annotations

import threading
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uocr_nb.markup.maths import bare_formula, split_maths
from uocr_nb.views.cells import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uocr_nb.document.model import Block, Page

__all__ = ["Finder", "Found", "folded"]

_LONGEST_QUERY = 200
_MOST_HITS = 500


_GAP = "\0"
"""Between two cells, and where a formula stands: no hit goes across, as none can be marked there."""


def _parts(block: Block) -> Iterator[str]:
    """The texts of a block that a view can mark: formulas are drawn, not written."""
    for piece in pieces(block):
        if not isinstance(piece, str):
            yield from (cell.text for row in piece.rows for cell in row)
        elif block.label == "code":
            yield piece
        elif block.label != "equation" or bare_formula(piece) is None:
            yield from (text for kind, text in split_maths(piece) if kind == "text")


class _Folding(dict[int, str]):
    """Code point -> what it is compared as: lower case, without accents; any white space is a space."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isspace():
            plain = " "
        else:
            parts = unicodedata.normalize("NFKD", char.casefold())
            plain = "".join(part for part in parts if not unicodedata.combining(part)).casefold()
        self[code] = plain
        return plain


_FOLDING = _Folding()


def folded(text: str) -> str:
    """`text` as it is compared: `Café` and `CAFE` are one, and so are a line end and a space."""
    if text.isascii():
        return text.lower().replace("\n", " ").replace("\t", " ")
    return text.translate(_FOLDING)


@dataclass(frozen=True)
class Found:
    """What a search has found.

    Attributes
    ----------
    pages : dict of int to int
        Position of each page with hits -> how many.
    hits : tuple of (int, int, int)
        Position of the page, number of the block, and which hit in that block it is, each from 1; no more than the
        first 500.
    """

    pages: dict[int, int]
    hits: tuple[tuple[int, int, int], ...]

    @property
    def total(self) -> int:
        """Hits in all."""
        return sum(self.pages.values())

    def told(self) -> dict[str, Any]:
        """What a browser is told."""
        return {"total": self.total, "pages": {str(p): n for p, n in self.pages.items()}, "hits": list(self.hits)}


class Finder:
    """Searches in pages; any thread."""

    def __init__(self) -> None:
        self._ready: dict[int, tuple[Page, tuple[str, ...]]] = {}
        self._lock = threading.Lock()

    def find(self, pages: Iterable[Page], query: str) -> Found:
        """Find `query` in the text of the blocks of `pages`; a query of spaces finds nothing."""
        wanted = folded(query[:_LONGEST_QUERY]).strip()
        counts: dict[int, int] = {}
        hits: list[tuple[int, int, int]] = []
        for page in pages if wanted else ():
            for number, text in enumerate(self._texts(page), 1):
                if count := text.count(wanted):
                    counts[page.position] = counts.get(page.position, 0) + count
                    room = min(count, _MOST_HITS - len(hits))
                    hits += [(page.position, number, n) for n in range(1, room + 1)]
        return Found(counts, tuple(hits))

    def _texts(self, page: Page) -> tuple[str, ...]:
        with self._lock:
            kept = self._ready.get(page.position)
        if kept is not None and kept[0] is page:
            return kept[1]
        texts = tuple(folded(_GAP.join(_parts(block))) for block in page.blocks)
        with self._lock:
            self._ready[page.position] = (page, texts)
        return texts
