"""How sure an engine was: the scores of its pieces, brought to the blocks."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uocr_nb.document.model import Block

__all__ = ["Score", "scored", "with_confidence"]

Score = tuple[str, float]
"""A piece of an answer with the engine's probability of it, 0..1."""

_WORD = re.compile(r"<[^<>]*>|[^\W_]+")
"""A word of letters and digits, or a tag of a table, which is passed over."""


def scored(text: str, entries: Iterable[dict[str, Any]]) -> list[Score]:
    """The scores of one event of a stream.

    Parameters
    ----------
    text : str
        What the event adds to the answer.
    entries : iterable of dict
        Its ``logprobs.content``.

    Returns
    -------
    list of Score
        One a token where the tokens make up `text`. A token that ends in the middle of a character has no text of its
        own: then one piece for all of them, as sure as the least sure.
    """
    pieces = [(str(entry["token"]), math.exp(min(0.0, entry["logprob"]))) for entry in entries]
    if not pieces or "".join(piece for piece, _ in pieces) == text:
        return pieces
    return [(text, min(score for _, score in pieces))]


def with_confidence(blocks: Sequence[Block], scores: Sequence[Score], text: str) -> tuple[Block, ...]:
    """The blocks of the answer `text`, each as sure as its least sure word.

    A mean over a block hides the one word that was guessed (benchmarks/README.md). Marks and signs do not count:
    whether a quotation mark is straight or curved is no doubt about the text.
    """
    ends = list(accumulate(len(piece) for piece, _ in scores))
    if not ends or ends[-1] != len(text):
        return tuple(blocks)
    odds = [score for _, score in scores]
    done: list[Block] = []
    after = 0
    for block in blocks:
        at = text.find(block.text, after) if block.text else -1
        if at < 0:
            done.append(block)
            continue
        after = at + len(block.text)
        words = [found.span() for found in _WORD.finditer(block.text) if found[0][0] != "<"]
        least = min(
            odds[n]
            for start, end in words or [(0, len(block.text))]
            for n in range(bisect_right(ends, at + start), bisect_right(ends, at + end - 1) + 1)
        )
        done.append(replace(block, confidence=round(least, 4)))
    return tuple(done)
