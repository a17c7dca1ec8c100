"""One page of two runs: which page is which, what is laid beside what, and what is to be known of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from uocr_nb.document.model import Page, Status
from uocr_nb.markup.align import Pair, agreement_of, side
from uocr_nb.views.words import count, percent, positions, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Block, Box

__all__ = ["ComparedBlock", "ComparedPage", "around", "notes_of", "pages_beside", "reasons"]


@dataclass(frozen=True)
class ComparedBlock:
    """What the two runs have at one place of a page.

    Attributes
    ----------
    number : int
        Its number in the comparison, from 1.
    a, b : tuple of int
        Numbers of the blocks on each side, from 1; several where one run split what the other kept whole, none where
        it has nothing.
    agreement : float
        0..1; see `uocr_nb.markup.align`.
    same : bool
        Whether there is nothing to look at.
    moved : bool
        Whether the two runs read it at another place in their order.
    label_a, label_b : str
        Labels of the first block on each side, or nothing.
    text_a, text_b : str
        What each side says, as it is compared: of a table its cells, a line a row.
    box : tuple of int or None
        Around the blocks of B, else of A; 0..999.
    weight : int
        Characters of the longer side, at least 1.
    """

    number: int
    a: tuple[int, ...]
    b: tuple[int, ...]
    agreement: float
    same: bool
    moved: bool
    label_a: str
    label_b: str
    text_a: str
    text_b: str
    box: Box | None
    weight: int


@dataclass(frozen=True)
class ComparedPage:
    """One page of two runs.

    Attributes
    ----------
    position : int
        Place in the comparison, from 1.
    a, b : Page or None
        The page of each run; None where a run has no such page.
    pairs : tuple of Pair
        What is laid beside what, in reading order.
    """

    position: int
    a: Page | None
    b: Page | None
    pairs: tuple[Pair, ...]

    @cached_property
    def agreement(self) -> float:
        """0..1, weighted by length; 1 where neither run has any text."""
        return agreement_of(self.pairs)

    @property
    def weight(self) -> int:
        """Characters of the longer side of each pair."""
        return sum(pair.weight for pair in self.pairs)

    @property
    def differences(self) -> list[int]:
        """Numbers (from 1) of the blocks that are not the same."""
        return [number for number, pair in enumerate(self.pairs, 1) if not pair.same]

    @property
    def page(self) -> Page:
        """The page of B, else of A."""
        page = self.b if self.b is not None else self.a
        assert page is not None  # noqa: S101 - one of them is there
        return page

    @property
    def status(self) -> Status:
        """The worse one of the two."""
        those = [Status.MISSING if page is None else page.status for page in (self.a, self.b)]
        order = list(Status)
        return max(those, key=order.index)

    @property
    def same(self) -> bool:
        """Whether both runs read the page alike, or failed alike."""
        alike = self.a is not None and self.b is not None and self.a.status is self.b.status
        return alike and not self.differences

    @property
    def blocks(self) -> list[ComparedBlock]:
        """What is laid beside what, with its agreement, in reading order."""
        mine, other = ((page.blocks if page is not None else ()) for page in (self.a, self.b))
        return [_block(number, pair, mine, other) for number, pair in enumerate(self.pairs, 1)]

    @property
    def moved(self) -> int:
        """How many blocks the two runs read at another place in their order."""
        return sum(pair.moved for pair in self.pairs)

    def __repr__(self) -> str:
        differ = count(len(self.differences), "difference")
        return f"<ComparedPage {self.position}: {percent(self.agreement, 1)} the same, {differ}>"


def _block(number: int, pair: Pair, a: Sequence[Block], b: Sequence[Block]) -> ComparedBlock:
    return ComparedBlock(
        number,
        pair.a,
        pair.b,
        pair.agreement,
        pair.same,
        pair.moved,
        a[pair.a[0] - 1].label if pair.a else "",
        b[pair.b[0] - 1].label if pair.b else "",
        side(a, pair.a).text,
        side(b, pair.b).text,
        around(b, pair.b) or around(a, pair.a),
        pair.weight,
    )


def around(blocks: Sequence[Block], numbers: Sequence[int]) -> Box | None:
    """The box around several blocks; None where none of them has one."""
    boxes = [box for number in numbers if (box := blocks[number - 1].box) is not None]
    if not boxes:
        return None
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


PagesBeside = list[tuple[Page | None, Page | None]]


def pages_beside(a: Sequence[Page], b: Sequence[Page]) -> tuple[PagesBeside, bool]:
    """Pages of both runs that are one page; and whether only their order says so."""
    keys_a, keys_b = _keys(a), _keys(b)
    if not {key[0] for key in keys_a} & {key[0] for key in keys_b}:
        longer = max(len(a), len(b))
        return [(a[n] if n < len(a) else None, b[n] if n < len(b) else None) for n in range(longer)], True
    theirs = dict(zip(keys_b, b, strict=True))
    known = set(keys_a)
    found: PagesBeside = []
    after: dict[tuple[str, int, int] | None, PagesBeside] = {}
    last = None  # what B alone has stands behind the page that it stands behind in B
    for key, page in zip(keys_b, b, strict=True):
        if key in known:
            last = key
        else:
            after.setdefault(last, []).append((None, page))
    found += after.get(None, [])
    for key, page in zip(keys_a, a, strict=True):
        found += [(page, theirs.get(key)), *after.get(key, [])]
    return found, False


def _keys(pages: Sequence[Page]) -> list[tuple[str, int, int]]:
    """Source and number of each page, and which of several with the same it is."""
    seen: dict[tuple[str, int], int] = {}
    keys = []
    for page in pages:
        key = (page.source, page.number)
        seen[key] = seen.get(key, 0) + 1
        keys.append((*key, seen[key]))
    return keys


def notes_of(pages: Sequence[ComparedPage], *, by_place: bool) -> list[str]:
    """What is to be known of how the pages were matched."""
    said = []
    if by_place and any(page.a is not None and page.b is not None for page in pages):
        said.append("The two runs have no source in common: their pages are matched by their order.")
    for letter, alone in (
        ("A", [page for page in pages if page.b is None]),
        ("B", [page for page in pages if page.a is None]),
    ):
        if alone:
            where = positions([replace(page.page, position=page.position) for page in alone], 4)
            said.append(f"Only {letter} has {count(len(alone), 'page')} of {len(pages):,} ({where}).")
    return said


def reasons(page: ComparedPage) -> list[str]:
    """A sentence for each run in which the page is not ok; one where both say the same."""
    a, b = page.a, page.b
    if a is not None and b is not None and a.status is b.status is not Status.OK and reason_of(a) == reason_of(b):
        return [f"Both are {a.status}: {reason_of(a)}"]
    said = []
    for letter, one in (("A", a), ("B", b)):
        if one is None:
            said.append(f"{letter} has no such page.")
        elif one.status is not Status.OK:
            said.append(f"{letter} is {one.status}: {reason_of(one)}")
    return said
