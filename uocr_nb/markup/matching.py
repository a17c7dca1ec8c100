"""Which block of one reading of a page is which block of another: by place, text and order, best pairs first."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from uocr_nb.markup.content import content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Block, Box

__all__ = ["Group", "Known", "match_blocks"]

_SCANNED = 200_000
"""Characters of a page that are scanned for what its blocks have in common."""
_LEAD = 8
"""Characters of a stretch that leads from one block to another."""
_RARE = 6
"""Blocks that may share such a stretch; what more of them say tells nothing apart."""
_TELLING = 20
"""Characters of a text that nothing else on a page says by chance."""
_NEAR = 2
"""Places by which blocks are tried that only their order brings together."""
_MOST_PLACED, _BEST_PLACED = 120, 8
"""Blocks in the same stretches of the page that are looked at for one block, and those of them that are tried."""
_BEST_LED, _MOST_HOLDERS = 6, 40
"""Blocks or pairs tried because of what they say, and those looked at because of one stretch."""
_STRIPS = 40
"""Stretches of the page, from top to bottom, by which boxes find each other."""

_ENOUGH = 0.4
"""Score from which two blocks are a pair."""
_SAME_PLACE = 0.6
"""Overlap from which two blocks are a pair whatever they say."""
_FEW = 12
"""Trigrams so few that they are found in many texts."""
_INSIDE = 0.4
"""Share of the stretches of a block that stands alone which its pair must hold; one wrong letter spoils eight."""
_SHORT = 24
"""Characters of a text that has too few stretches to be found by them."""


class Known:
    """A block with what is needed of it more than once.

    Parameters
    ----------
    block : Block
        The block.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.content = content(block)
        self.text = self.content.as_text
        self.key = (self.text, block.label, block.box or ())
        self.scanned = _SCANNED
        """Characters of it that are scanned."""

    @cached_property
    def grams(self) -> frozenset[str]:
        """Its trigrams, by which blocks are alike."""
        text = self._folded
        return frozenset(text[n : n + 3] for n in range(len(text) - 2))

    @cached_property
    def leads(self) -> frozenset[str]:
        """Longer stretches, by which blocks find each other."""
        text = self._folded
        return frozenset(text[n : n + _LEAD] for n in range(max(1, len(text) - _LEAD + 1))) if text else frozenset()

    @property
    def _folded(self) -> str:
        return f" {self.text[: self.scanned].casefold()} " if self.text else ""


Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Indices (from 0) of the blocks of A and of B."""


def match_blocks(a: Sequence[Known], b: Sequence[Known]) -> list[Group]:
    """Every block of both sides in one group; most groups have one on each side."""
    for blocks in (a, b):
        for one in blocks:
            one.scanned = max(400, _SCANNED // len(blocks))
    scored = []
    for i, j in _candidates(a, b):
        score = _score(a[i], b[j])
        if score > 0:
            apart = abs(i / len(a) - j / len(b))
            scored.append((-score - 0.05 * (1 - apart), apart, i + j, i, j))
    scored.sort()
    of_a: dict[int, int] = {}
    of_b: dict[int, int] = {}
    for *_rank, i, j in scored:
        if i not in of_a and j not in of_b:
            of_a[i], of_b[j] = j, i
    groups = {i: ([i], [j]) for i, j in of_a.items()}
    alone_a = [i for i in range(len(a)) if i not in of_a]
    alone_b = [j for j in range(len(b)) if j not in of_b]
    left_a = _attach(alone_a, a, b, [(group[0], group[1]) for group in groups.values()])
    left_b = _attach(alone_b, b, a, [(group[1], group[0]) for group in groups.values()])
    whole: list[Group] = [(tuple(sorted(one)), tuple(sorted(two))) for one, two in groups.values()]
    return whole + [((i,), ()) for i in left_a] + [((), (j,)) for j in left_b]


def _candidates(a: Sequence[Known], b: Sequence[Known]) -> set[tuple[int, int]]:
    """Pairs worth a look: of one text, with a rare stretch in common, of one place, or near each other in order."""
    if not a or not b:
        return set()
    found: set[tuple[int, int]] = set()
    mine, other = _by_text(a), _by_text(b)
    # A text that both sides have once says enough; most blocks are done with that.
    sure = {
        mine[text][0]: other[text][0]
        for text in mine.keys() & other.keys()
        if len(text) >= _TELLING and len(mine[text]) == len(other[text]) == 1
    }
    found.update(sure.items())
    taken = set(sure.values())
    strips = _strips(b)
    holders: dict[str, list[int]] = {}
    for j, one in enumerate(b):
        for lead in one.leads if j not in taken else ():
            holders.setdefault(lead, []).append(j)
    for i, one in enumerate(a):
        if i in sure:
            continue
        near = round(i * len(b) / len(a))
        tried = set(range(max(0, near - _NEAR), min(len(b), near + _NEAR + 1)))
        if one.text:
            tried.update(_around(other.get(one.text, []), near, 4))
        shared: Counter[int] = Counter()
        for lead in one.leads:
            those = holders.get(lead, ())
            if len(those) <= _RARE:
                shared.update(those)
        tried.update(sorted(shared, key=lambda j: (-shared[j], j))[:_BEST_LED])
        tried.update(_placed(one, b, strips, near))
        found.update((i, j) for j in tried)
    return found


def _by_text(blocks: Sequence[Known]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for n, one in enumerate(blocks):
        found.setdefault(one.text, []).append(n)
    return found


def _placed(one: Known, b: Sequence[Known], strips: dict[int, list[int]], near: int) -> list[int]:
    """Those blocks whose boxes overlap most with that of `one`."""
    most = _MOST_PLACED // 2
    those = sorted({j for strip in _strips_of(one) for j in _around(strips.get(strip, []), near, most)})
    overlaps = {j: _overlap(one.block.box, b[j].block.box) for j in _around(those, near, most)}
    best = sorted(overlaps, key=lambda j: (-overlaps[j], abs(j - near), j))[:_BEST_PLACED]
    return [j for j in best if overlaps[j] > 0.1]


def _strips(blocks: Sequence[Known]) -> dict[int, list[int]]:
    strips: dict[int, list[int]] = {}
    for j, one in enumerate(blocks):
        for strip in _strips_of(one):
            strips.setdefault(strip, []).append(j)
    return strips


def _strips_of(one: Known) -> range:
    box = one.block.box
    return range(box[1] * _STRIPS // 1000, box[3] * _STRIPS // 1000 + 1) if box is not None else range(0)


def _around(numbers: list[int], near: int, most: int) -> list[int]:
    """At most `most` on either side of `near`; the numbers rise."""
    at = bisect_left(numbers, near)
    return numbers[max(0, at - most) : at + most]


def _overlap(a: Box | None, b: Box | None) -> float:
    """What two boxes share of what both cover (IoU)."""
    if a is None or b is None:
        return 0.0
    across, along = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if across <= 0 or along <= 0:
        return float(a == b)
    shared = across * along
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / both if both > 0 else 0.0


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / max(len(a) + len(b), 1)


def _score(a: Known, b: Known) -> float:
    """How surely two blocks are one, 0..1; 0 where it is too little."""
    label = 0.05 if a.block.label == b.block.label else 0.0
    placed = a.block.box is not None and b.block.box is not None
    overlap = _overlap(a.block.box, b.block.box)
    if not a.grams and not b.grams:  # pictures: their place, else their order
        alike = overlap if placed else 0.5
        return alike + label if alike > 0.1 and label else 0.0
    shared = len(a.grams & b.grams)
    alike = _dice(a.grams, b.grams)
    if shared > _FEW:  # one may be a part of the other
        alike = max(alike, 0.8 * shared / min(len(a.grams), len(b.grams)))
    score = 0.55 * alike + 0.45 * overlap if placed else alike
    if score < _ENOUGH and overlap < _SAME_PLACE and alike < 0.75:
        return 0.0
    return score + label


def _attach(
    alone: Sequence[int], mine: Sequence[Known], other: Sequence[Known], groups: list[tuple[list[int], list[int]]]
) -> list[int]:
    """Join blocks that stand alone to the pair whose other side holds their text too; give back those that none holds.

    Parameters
    ----------
    alone : sequence of int
        Blocks of a side.
    mine, other : sequence
        The blocks of that side, and of the other one.
    groups : list
        Pairs as lists of numbers, of that side first; they grow.
    """
    if not alone:
        return []
    said = [frozenset[str]().union(*(mine[i].leads for i in own)) for own, _theirs in groups]
    theirs = [frozenset[str]().union(*(other[j].leads for j in those)) for _own, those in groups]
    holders: dict[str, list[int]] = {}
    for n, leads in enumerate(theirs):
        for lead in leads - said[n]:
            holders.setdefault(lead, []).append(n)
    left = []
    for i in alone:
        leads = mine[i].leads
        shared: Counter[int] = Counter()
        for lead in leads:
            shared.update(holders.get(lead, ())[:_MOST_HOLDERS])
        best = max(shared, key=lambda n: (shared[n], -n), default=None)
        if best is None or shared[best] < _INSIDE * len(leads):
            # Of a few characters the place must speak too.
            best = next((n for n, group in enumerate(groups) if _within(mine[i], mine, other, group)), None)
        if best is None:
            left.append(i)
        else:
            groups[best][0].append(i)
    return left


def _within(one: Known, mine: Sequence[Known], other: Sequence[Known], group: tuple[list[int], list[int]]) -> bool:
    """Whether a short text stands in that of the other side alone, and its box in one of theirs."""
    own, theirs = group
    box, text = one.block.box, one.text
    if box is None or not text or len(text) > _SHORT or not any(text in other[j].text for j in theirs):
        return False
    if any(text in mine[i].text for i in own):
        return False
    area = max((box[2] - box[0]) * (box[3] - box[1]), 1)
    for place in (other[j].block.box for j in theirs):
        if place is not None:
            across, along = min(box[2], place[2]) - max(box[0], place[0]), min(box[3], place[3]) - max(box[1], place[1])
            if across > 0 and along > 0 and across * along >= area / 2:
                return True
    return False
