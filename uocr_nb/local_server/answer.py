"""The answer as text: tagged or stripped, cut into pieces with the recogniser's scores."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uocr_nb.document.grammar import strip_special, write_block
from uocr_nb.document.model import Block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uocr_nb.local_server.engine import ReadBlock
    from uocr_nb.local_server.pieces import Run

__all__ = ["Piece", "Writer"]

_PIECES = re.compile(
    r"<\|/?det\|>|</?t[dr]>|</?table>|<PAGE>|\n|[ ]?[0-9]{1,3}|[ ]?[^\W\d_]{1,6}|[ ]?[^\w\s]|\s|.", re.DOTALL
)
"""Pieces about as long as the tokens of the model, so that `max_tokens` and `usage` mean about the same."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the answer, counted as one token.

    Attributes
    ----------
    text : str
        What is sent.
    score : float
        0..1: how sure the recogniser was of the word it belongs to; 1 for markup.
    """

    text: str
    score: float

    def logprob(self) -> dict[str, Any]:
        """The piece as OpenAI's ``logprobs.content`` has it."""
        value = math.log(min(1.0, max(self.score, 1e-6)))
        return {"token": self.text, "logprob": value, "bytes": list(self.text.encode()), "top_logprobs": []}


class Writer:
    """Writes blocks out until the allowed number of pieces is used up.

    Parameters
    ----------
    max_tokens : int
        Pieces at most.
    stripped : bool
        Leave the special tokens out.
    """

    def __init__(self, max_tokens: int, *, stripped: bool) -> None:
        self.left = max_tokens
        self.used = 0
        self.stripped = stripped
        self.full = False
        self._started = False

    def page(self) -> list[Piece]:
        """The opening of a page."""
        text = "<PAGE>\n" if not self._started else "\n<PAGE>\n"
        self._started = False
        return self._pieces([(text, 1.0)])

    def block(self, block: ReadBlock) -> list[Piece]:
        """One block with its tag."""
        tag = write_block(replace(block.block, text=""))
        lead = "\n" if self._started else ""
        self._started = True
        return self._pieces([(lead + tag, 1.0), *((_escaped(text), score) for text, score in block.runs)])

    def _pieces(self, runs: Iterable[Run]) -> list[Piece]:
        pieces: list[Piece] = []
        for text, score in runs:
            shown = strip_special(text) if self.stripped else text
            for part in _PIECES.findall(shown):
                if self.left == 0:
                    self.full = True
                    return pieces
                self.left -= 1
                self.used += 1
                pieces.append(Piece(part, score))
        return pieces


def _escaped(text: str) -> str:
    """Text of a page may print the tags of the language: they must not be taken for markup."""
    return write_block(Block("text", text)).removeprefix(_EMPTY)


_EMPTY = write_block(Block("text", ""))
