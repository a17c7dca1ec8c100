"""How sure the engine was of each block: the scores of its pieces of text, laid over the blocks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.halves import without_halves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uocr_nb.document.parsed import ParsedPage

__all__ = ["with_confidence"]

_WORD = re.compile(r"<[^<>]*>|[^\W_]+")
"""A word of letters and digits, or a tag of a table, which is passed over."""
_AHEAD = 400
"""Characters that may be passed over to find a piece again: engines leave marks and parts of characters out."""
_SURE = 4
"""Characters that a piece needs for that; a shorter one is found anywhere."""


def with_confidence(pages: Sequence[ParsedPage], answer: str, scores: Sequence[tuple[str, float]]) -> list[ParsedPage]:
    """`pages` of `answer`, each block as sure as its least sure word.

    A mean over a block hides the one word that was guessed (benchmarks/README.md). Marks and signs do not count:
    whether a quotation mark is straight or curved is no doubt about the text.

    Parameters
    ----------
    pages : sequence of ParsedPage
        As the grammar read them; their `spans` say which part of the answer a block was made of, whatever was mended.
    answer : str
        The text of the engine.
    scores : sequence of (str, float)
        The pieces of text in order, each with its probability (0..1). Pieces that are not found in `answer` do not
        count, and a block none of whose words has a score gets none.
    """
    if not scores:
        return list(pages)
    answer = without_halves(answer)
    pieces = list(_placed(answer, scores))
    starts, ends = [start for start, _, _ in pieces], [end for _, end, _ in pieces]
    made = []
    for page in pages:
        blocks = list(page.blocks)
        for number, (start, end) in enumerate(page.spans[: len(blocks)]):
            if not blocks[number].text:
                continue
            words = [found.span() for found in _WORD.finditer(answer, start, end) if found[0][0] != "<"]
            odds = [
                pieces[n][2]
                for begin, stop in words or [(start, end)]
                for n in range(bisect_right(ends, begin), bisect_left(starts, stop))
            ]
            if odds:
                blocks[number] = replace(blocks[number], confidence=round(min(odds), 4))
        made.append(replace(page, blocks=tuple(blocks)))
    return made


def _placed(answer: str, scores: Sequence[tuple[str, float]]) -> Iterator[tuple[int, int, float]]:
    """Where in `answer` each piece stands, in order. Pieces that stand nowhere near are passed over."""
    at = 0
    for written, score in scores:
        piece = without_halves(written)
        if not answer.startswith(piece, at):
            found = answer.find(piece, at, at + _AHEAD) if len(piece.strip("\ufffd \n")) >= _SURE else -1
            if found < 0:
                continue
            at = found
        if piece:
            yield at, at + len(piece), score
        at += len(piece)
