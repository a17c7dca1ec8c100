"""Two readings of one page, block on block, and how far they agree.

Blocks are paired by place, text and order (`uocr_nb.markup.matching`). What is left over joins a pair whose other side
holds its text as well: one run may have split what the other has kept whole. The rest stands alone. Pairs and agreement
do not depend on which run is called A.

Agreement, 0..1: of a pair as `uocr_nb.markup.content.content_agreement` has it, 0 for a block that stands alone; of a
page the mean of its pairs, each weighing as many characters as its longer side, at least one (a picture without text).
It is a cheap confidence: what two runs read alike is seldom wrong, and where they differ one of them is.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from uocr_nb.markup.content import Content, content, content_agreement, joined_content
from uocr_nb.markup.distance import MOST_CHARACTERS
from uocr_nb.markup.matching import Group, Known, match_blocks
from uocr_nb.markup.pieces import in_common

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uocr_nb.document.model import Block

__all__ = ["Pair", "agreement_of", "align_blocks", "side"]

_LEAST_SHIFT, _MOST_JOINED = 8, 12
"""Characters from which a line counts that two runs put into different blocks, and blocks that are joined for it."""
_BUDGET = 1_500_000_000
"""Characters times characters of a page that are compared exactly; then words are counted."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What the two runs have at one place.

    Attributes
    ----------
    a, b : tuple of int
        Numbers of the blocks, from 1; several where one run split what the other kept whole, none where it has nothing.
    agreement : float
        0..1.
    weight : int
        Characters of the longer side, at least 1.
    same_label : bool
        Whether both call it the same.
    moved : bool
        Whether the two runs read it at another place in their order.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    agreement: float
    weight: int
    same_label: bool = True
    moved: bool = False

    @property
    def same(self) -> bool:
        """Whether there is nothing to look at: one block each, of one label, that read the same."""
        return len(self.a) == len(self.b) == 1 and self.same_label and self.agreement == 1


def agreement_of(pairs: Iterable[Pair]) -> float:
    """The mean agreement, weighted by length; 1 where there is nothing on either side."""
    pairs = list(pairs)
    weight = sum(pair.weight for pair in pairs)
    # The sum must not depend on the order, which is that of side B.
    return fsum(pair.weight * pair.agreement for pair in pairs) / weight if weight else 1.0


def side(blocks: Sequence[Block], numbers: Sequence[int]) -> Content:
    """What one side of a pair says."""
    return joined_content([content(blocks[number - 1]) for number in numbers]) if numbers else Content("text", "")


def align_blocks(a: Sequence[Block], b: Sequence[Block]) -> list[Pair]:
    """Pair the blocks of two readings of a page; every block of both stands in one pair, in reading order."""
    mine, other = [Known(block) for block in a], [Known(block) for block in b]
    # Ties are decided by order, so the side that comes first must not depend on who asks.
    turned = [one.key for one in other] < [one.key for one in mine]
    groups = match_blocks(other, mine) if turned else match_blocks(mine, other)
    groups = _merged(groups, other, mine) if turned else _merged(groups, mine, other)
    if turned:
        groups = [(two, one) for one, two in groups]
    return _pairs(mine, other, _in_order(groups))


def _merged(groups: Sequence[Group], a: Sequence[Known], b: Sequence[Known]) -> list[Group]:
    """Join neighbours where a line that ends one block on one side begins the next block on the other side."""
    merged: list[Group] = []
    last: _Shift | None = None
    for one, two in _in_order(groups):
        here = _Shift(one, two, a, b)
        both = last.joined(here, a, b) if last is not None else None
        if both is not None:
            merged[-1] = (both.a, both.b)
        else:
            merged.append((one, two))
        last = both or here
    return merged


class _Shift:
    """A group with how much of each side the other one lacks."""

    def __init__(self, one: tuple[int, ...], two: tuple[int, ...], a: Sequence[Known], b: Sequence[Known]) -> None:
        self.a, self.b = one, two
        self.tables = any(side[i].content.kind == "table" for side, numbers in ((a, one), (b, two)) for i in numbers)
        self.tokens = [
            [token for i in numbers for token in side[i].content.tokens] for side, numbers in ((a, one), (b, two))
        ]
        self.common = in_common(*self.tokens)
        self.lost = [sum(len(token.key) for token in side) - self.common for side in self.tokens]

    def joined(self, after: _Shift, a: Sequence[Known], b: Sequence[Known]) -> _Shift | None:
        """Both as one group, where together they have clearly more in common than apart."""
        if self.tables or after.tables or len(self.a) + len(self.b) > _MOST_JOINED:
            return None
        # Something must be left over here on one side, and there on the other one.
        room = max(min(self.lost[0], after.lost[1]), min(self.lost[1], after.lost[0]))
        follows = all(
            not mine or not theirs or mine[-1] + 1 == theirs[0]
            for mine, theirs in ((self.a, after.a), (self.b, after.b))
        )
        if room < _LEAST_SHIFT or not follows:
            return None
        both = _Shift(self.a + after.a, self.b + after.b, a, b)
        gain = both.common - self.common - after.common
        return both if gain >= max(_LEAST_SHIFT, 0.5 * room) else None


def _in_order(groups: Sequence[Group]) -> list[Group]:
    """B's reading order; what A alone has stands behind what A has before it."""
    ordered = sorted((group for group in groups if group[1]), key=lambda group: group[1][0])
    places = {i: n for n, group in enumerate(ordered) for i in group[0]}
    behind: dict[int, list[Group]] = {}
    for group in sorted((group for group in groups if not group[1]), key=lambda group: group[0][0]):
        # The block before it has a place: it is in a pair, or was placed here.
        place = places[group[0][0]] = places.get(group[0][0] - 1, -1)
        behind.setdefault(place, []).append(group)
    found = list(behind.get(-1, []))
    for n, group in enumerate(ordered):
        found += [group, *behind.get(n, [])]
    return found


def _pairs(a: Sequence[Known], b: Sequence[Known], groups: Sequence[Group]) -> list[Pair]:
    moved = _moved(groups)
    left = _BUDGET
    pairs = []
    for n, (one, two) in enumerate(groups):
        mine, other = (
            joined_content([side[i].content for i in numbers]) if numbers else None
            for side, numbers in ((a, one), (b, two))
        )
        lengths = [part.length for part in (mine, other) if part is not None]
        said = 0.0
        if mine is not None and other is not None:
            said = content_agreement(mine, other, MOST_CHARACTERS if left > 0 else 200)
            left -= min(lengths[0], MOST_CHARACTERS) * min(lengths[1], MOST_CHARACTERS)
        labels = [{side[i].block.label for i in numbers} for side, numbers in ((a, one), (b, two))]
        pairs.append(
            Pair(
                tuple(i + 1 for i in one),
                tuple(j + 1 for j in two),
                said,
                max(*lengths, 1),
                same_label=not one or not two or labels[0] == labels[1],
                moved=n in moved,
            )
        )
    return pairs


def _moved(groups: Sequence[Group]) -> set[int]:
    """Those that are out of order: all but the longest run of pairs whose numbers rise on both sides."""
    both = [(n, group[0][0]) for n, group in enumerate(groups) if group[0] and group[1]]
    ends: list[int] = []  # smallest last number of a rising run of each length
    last: list[int] = []  # which pair that is, in `both`
    before: dict[int, int | None] = {}
    for at, (_n, number) in enumerate(both):
        place = bisect_left(ends, number)
        before[at] = last[place - 1] if place else None
        ends[place : place + 1] = [number]
        last[place : place + 1] = [at]
    kept: set[int] = set()
    walk = last[-1] if last else None
    while walk is not None:
        kept.add(both[walk][0])
        walk = before[walk]
    return {n for n, _number in both} - kept
