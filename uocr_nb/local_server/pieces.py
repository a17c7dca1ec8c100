"""Pieces of lines: what stands in one cell of a table, or a part of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from uocr_nb.local_server.geometry import Rect
from uocr_nb.local_server.ppocr import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.local_server.rules import Rules

__all__ = ["Piece", "Run", "cut_at", "cut_line", "scored_words", "split_line"]

WORD_GAP = 0.9
"""Gap in line heights at which one line holds two cells (measured)."""
WIDER = 1.2
"""How much wider than the other spaces of a line the one between two columns is."""

Marks = tuple[tuple[float, float], ...]

Run = tuple[str, float]
"""A stretch of text with the score of its reading (1.0 for markup)."""

_WORD = re.compile(r"\s*\S+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text inside a table.

    Attributes
    ----------
    box : Rect
        Pixels.
    text : str
        What was read.
    score : float
        0..1.
    marks : tuple
        For each character its middle along x in pixels and its probability; empty when not known.
    """

    box: Rect
    text: str
    score: float
    marks: Marks = ()


def scored_words(read: Line | Piece) -> list[Run]:
    """The words of a line or a piece of one, each with the space before it, scored by its least sure letter.

    A mean hides the one letter that was guessed: a block of a hundred letters with it has 0.995 instead of 0.5.
    """
    text = read.text
    known = len(read.marks) == len(text)
    words: list[Run] = []
    for found in _WORD.finditer(text.rstrip()):
        odds = [read.marks[n][1] for n in range(*found.span()) if text[n].isalnum()] if known else []
        words.append((found[0], min(odds, default=read.score)))
    return words


def split_line(line: Line, rules: Rules | None = None, gap: float = WORD_GAP) -> list[Piece]:
    """Split a line where its characters stand further apart than `gap` line heights, and at upright rules."""
    whole = Piece(line.box, line.text.strip(), line.score)
    if len(line.marks) != len(line.text) or line.tall:
        return [whole]
    solid = [n for n, char in enumerate(line.text) if not char.isspace()]
    if len(solid) < 2:
        return [whole]
    advance = _advance(line.marks, solid, line.box.height)
    walls = [
        rule.cx
        for rule in (rules.upright if rules else ())
        if line.box.x1 < rule.cx < line.box.x2 and rule.overlap_y(line.box) > 0.6 * line.box.height
    ]
    cuts: list[int] = []
    for n, (a, b) in enumerate(pairwise(solid)):
        left, right = line.marks[a][0], line.marks[b][0]
        if right - left - advance > gap * line.box.height or any(left < wall < right for wall in walls):
            cuts.append(n)
    return _parts(Piece(line.box, line.text, line.score, line.marks), solid, cuts, advance)


def cut_at(piece: Piece, borders: Sequence[float]) -> list[Piece]:
    """Cut a piece at the space nearest to each border; the piece itself when a border has no space near."""
    if len(piece.marks) != len(piece.text):
        return [piece]
    solid = [n for n, char in enumerate(piece.text) if not char.isspace()]
    if len(solid) < 2:
        return [piece]
    advance = _advance(piece.marks, solid, piece.box.height)
    spaces = [(n, (piece.marks[a][0] + piece.marks[b][0]) / 2) for n, (a, b) in enumerate(pairwise(solid)) if b > a + 1]
    cuts: list[int] = []
    for border in borders:
        near = min(spaces, key=lambda space: abs(space[1] - border), default=None)
        if near is None or abs(near[1] - border) > 0.7 * piece.box.height or near[0] in cuts:
            return [piece]
        cuts.append(near[0])
    # One space like all others is a space, not the border of a column.
    steps = {n: piece.marks[solid[n + 1]][0] - piece.marks[solid[n]][0] for n, _ in spaces}
    others = [step for n, step in steps.items() if n not in cuts]
    if others and min(steps[n] for n in cuts) < WIDER * median(others):
        return [piece]
    return _parts(piece, solid, sorted(cuts), advance)


def cut_line(line: Line, border: float) -> list[Line]:
    """Cut a line that runs over a gutter at `border`, where its words stand further apart than elsewhere."""
    parts = cut_at(Piece(line.box, line.text, line.score, () if line.tall else line.marks), [border])
    return [line] if len(parts) == 1 else [Line(part.box, part.text, part.score, part.marks) for part in parts]


def _advance(marks: Marks, solid: Sequence[int], height: float) -> float:
    return min(median(marks[b][0] - marks[a][0] for a, b in pairwise(solid)), 0.8 * height)


def _parts(piece: Piece, solid: Sequence[int], cuts: Sequence[int], advance: float) -> list[Piece]:
    """Cut `piece` after each of the solid characters numbered in `cuts`."""
    parts: list[Piece] = []
    start = 0
    for cut in [*cuts, len(solid) - 1]:
        first, last = solid[start], solid[cut]
        left = piece.box.x1 if start == 0 else piece.marks[first][0] - advance / 2
        right = piece.box.x2 if cut == len(solid) - 1 else piece.marks[last][0] + advance / 2
        marks = piece.marks[first : last + 1]
        score = sum(odds for _, odds in marks) / len(marks)
        box = Rect(left, piece.box.y1, max(right, left + 1), piece.box.y2)
        parts.append(Piece(box, piece.text[first : last + 1], score, marks))
        start = cut + 1
    return parts
