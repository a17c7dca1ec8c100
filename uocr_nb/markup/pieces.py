"""Where two readings of the same text differ: each side in pieces that are the same on both, or stand on it alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from uocr_nb.markup.distance import Token, fine_tokens, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Piece", "differences", "in_common"]

Piece = tuple[Literal["same", "only"], str]

_MOST_TOKENS = 6_000
"""Tokens of a differing middle that are laid against each other; of more, all is called different."""
_FINE_FROM, _FINE_MOST = 14, 3_000
"""Characters of a word or formula, alone different, that is looked at closely."""
_SPECK = 3
"""Characters of a common word that is no hold between two differences larger than it."""

Range = tuple[int, int, int, int]
"""Tokens from, to on side A, and from, to on side B."""

Span = tuple[int, int]
Spans = tuple[Span, Span]
"""From, to in the text of A, and in that of B."""

_SPACE = re.compile(r"\s")


def differences(a: str, b: str, *, formula: bool = False) -> tuple[list[Piece], list[Piece]]:
    """The pieces of both texts, in order; together they are the texts as they were given.

    Parameters
    ----------
    a, b : str
        The texts.
    formula : bool
        Whether both are LaTeX, where a space parts nothing.
    """
    split = fine_tokens if formula else tokens
    mine, other = split(a), split(b)
    apart = _apart([token.key for token in mine], [token.key for token in other])
    spans: list[Spans] = []
    for a1, a2, b1, b2 in _without_specks(apart, mine, other):
        here, there = _span(a, mine, a1, a2), _span(b, other, b1, b2)
        spans += [(here, there)] if formula else _closer(a, b, here, there)
    return _pieces(a, [one for one, _other in spans]), _pieces(b, [one for _one, one in spans])


def in_common(a: Sequence[Token], b: Sequence[Token]) -> int:
    """Characters of the tokens that both lists have in the same order."""
    apart = _apart([token.key for token in a], [token.key for token in b])
    return sum(len(token.key) for token in a) - sum(len(t.key) for a1, a2, _b1, _b2 in apart for t in a[a1:a2])


def _span(text: str, found: Sequence[Token], first: int, after: int) -> Span:
    if first < after:
        return found[first].start, found[after - 1].end
    at = found[first].start if first < len(found) else len(text)
    return at, at


def _pieces(text: str, spans: Sequence[Span]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for start, end in spans:
        if start > at:
            pieces.append(("same", text[at:start]))
        if end > start:
            pieces.append(("only", text[start:end]))
        at = max(at, end)
    if at < len(text):
        pieces.append(("same", text[at:]))
    return pieces


def _closer(a: str, b: str, here: Span, there: Span) -> list[Spans]:
    """Look at the signs of one long word or formula that differs; as a whole where little of it is the same."""
    mine, other = a[slice(*here)], b[slice(*there)]
    whole = [(here, there)]
    formula = mine.startswith("\\") and other.startswith("\\")
    if not formula and (_SPACE.search(mine) or _SPACE.search(other)):
        return whole
    if min(len(mine), len(other)) < _FINE_FROM or max(len(mine), len(other)) > _FINE_MOST:
        return whole
    one, two = (fine_tokens(mine), fine_tokens(other)) if formula else (_letters(mine), _letters(other))
    apart = _without_specks(_apart([t.key for t in one], [t.key for t in two]), one, two, speck=1)
    lost = sum(a2 - a1 + b2 - b1 for a1, a2, b1, b2 in apart)
    if lost > (len(one) + len(two)) / 2:
        return whole
    spans = [(_span(mine, one, a1, a2), _span(other, two, b1, b2)) for a1, a2, b1, b2 in apart]
    return [
        ((here[0] + mine_at[0], here[0] + mine_at[1]), (there[0] + other_at[0], there[0] + other_at[1]))
        for mine_at, other_at in spans
    ]


def _letters(text: str) -> list[Token]:
    return [Token(char, n, n + 1, "letter") for n, char in enumerate(text)]


def _without_specks(
    apart: Sequence[Range], mine: Sequence[Token], other: Sequence[Token], speck: int = _SPECK
) -> list[Range]:
    """Join differences that only a short word parts: a lone ``of`` in the midst of other words says nothing."""
    joined: list[Range] = []
    for one in apart:
        if joined:
            a1, a2, b1, _b2 = joined[-1]
            between = sum(len(token.key) for token in mine[a2 : one[0]])
            before = max(_letters_in(mine, a1, a2), _letters_in(other, b1, joined[-1][3]))
            after = max(_letters_in(mine, one[0], one[1]), _letters_in(other, one[2], one[3]))
            if between <= speck and between < before and between < after:
                joined[-1] = (a1, one[1], b1, one[3])
                continue
        joined.append(one)
    return joined


def _letters_in(found: Sequence[Token], first: int, after: int) -> int:
    return sum(len(token.key) for token in found[first:after])


def _apart(a: Sequence[str], b: Sequence[str]) -> list[Range]:
    """The ranges in which two lists differ, beside their longest common subsequence."""
    start, shorter = 0, min(len(a), len(b))
    while start < shorter and a[start] == b[start]:
        start += 1
    end = 0
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    if not a and not b:
        return []
    pairs = _common(a, b) if a and b and max(len(a), len(b)) <= _MOST_TOKENS else []
    ranges = []
    at_a = at_b = 0
    for one, other in [*pairs, (len(a), len(b))]:
        if at_a < one or at_b < other:
            ranges.append((start + at_a, start + one, start + at_b, start + other))
        at_a, at_b = one + 1, other + 1
    return ranges


def _common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of the longest common subsequence, by whole numbers as rows of bits (Hyyrö), read backwards."""
    places: dict[str, int] = {}
    for n, key in enumerate(b):
        places[key] = places.get(key, 0) | (1 << n)
    full = (1 << len(b)) - 1
    row, rows = full, []
    for key in a:
        hit = row & places.get(key, 0)
        row = ((row + hit) | (row - hit)) & full
        rows.append(row)
    pairs = []
    i, j = len(a), len(b)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
            continue
        i -= 1
        if i == 0 or rows[i - 1] >> (j - 1) & 1:
            j -= 1
            pairs.append((i, j))
    return pairs[::-1]
