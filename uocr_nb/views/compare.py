"""Two runs of the same pages, side by side: what differs, and how far they agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import Document, Page, Status
from uocr_nb.errors import MissingExtraError, OptionError
from uocr_nb.markup.align import Pair, agreement_of, align_blocks, side
from uocr_nb.views.words import count, percent, positions, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Block, Box

__all__ = ["ComparedBlock", "ComparedPage", "Comparison", "around", "compare", "compare_bundle", "reasons"]

_LONGEST_NAME = 40
_TOLD_APART = ("mode", "engine", "model", "revision", "prompt")
"""What `Document.meta` says that may name two runs, the most telling first."""


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
        """Whether there is nothing to look at."""
        return not self.differences and self.status is Status.OK

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


class Comparison:
    """Two runs of the same pages, as they were when it was made; `uocr_nb.compare` makes it.

    Parameters
    ----------
    a, b : Document
        The runs.
    names : tuple of str
        What each is called beside A and B; may be empty.
    """

    def __init__(self, a: Document, b: Document, names: tuple[str, str]) -> None:
        self.a = a
        self.b = b
        self.names = names
        found, by_place = _pages_beside(a.pages, b.pages)
        self._pages = [
            ComparedPage(position, one, two, tuple(align_blocks(one.blocks if one else (), two.blocks if two else ())))
            for position, (one, two) in enumerate(found, 1)
        ]
        self.notes: list[str] = _notes(self._pages, by_place=by_place)

    @property
    def pages(self) -> list[ComparedPage]:
        """The pages in order (from 0, as Python counts)."""
        return list(self._pages)

    def page(self, position: int) -> ComparedPage:
        """The page at `position`, from 1, as people count.

        Raises
        ------
        IndexError
            When there is no such page.
        """
        if not 1 <= position <= len(self._pages):
            raise IndexError(f"There is no page {position}: the comparison has {len(self._pages)}.")
        return self._pages[position - 1]

    def __len__(self) -> int:
        return len(self._pages)

    @cached_property
    def agreement(self) -> float:
        """0..1 in all, weighted by length: a cheap confidence, as what two runs read alike is seldom wrong."""
        weight = sum(page.weight for page in self._pages)
        return fsum(page.weight * page.agreement for page in self._pages) / weight if weight else 1.0

    @property
    def differing(self) -> list[ComparedPage]:
        """Pages with something to look at, those that differ most first."""
        return sorted((page for page in self._pages if not page.same), key=lambda page: (page.agreement, page.position))

    def to_dataframe(self) -> Any:
        """One row a block (pandas): page, number, label_a, label_b, a, b, agreement, same, moved, text_a, text_b.

        Raises
        ------
        MissingExtraError
            When pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415 - only when it is asked for
        except ImportError as error:
            raise MissingExtraError("A table of blocks needs pandas.", "data", "pandas") from error
        columns = ["number", "label_a", "label_b", "a", "b", "agreement", "same", "moved", "text_a", "text_b"]
        rows = [
            [page.position, *(getattr(block, name) for name in columns)]
            for page in self._pages
            for block in page.blocks
        ]
        return pd.DataFrame(rows, columns=["page", *columns])

    def __repr__(self) -> str:
        differ = sum(len(page.differences) for page in self._pages)
        named = " and ".join(name or letter for name, letter in zip(self.names, "AB", strict=True))
        return (
            f"<Comparison of {named}: {percent(self.agreement, 1)} the same, {count(len(self), 'page')}, "
            f"{count(differ, 'difference')}>"
        )

    def __str__(self) -> str:
        from uocr_nb.views.compare_plain import comparison_plain  # noqa: PLC0415 - it needs this module

        return comparison_plain(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        return comparison_bundle(self)


def compare(a: Document | Page, b: Document | Page, names: tuple[str, str] | None = None) -> Comparison:
    """Lay two runs of the same pages side by side.

    Pages are matched by source and number where both runs name the same sources, else by their order. Where one run
    has pages that the other lacks, this is said.

    Parameters
    ----------
    a, b : Document or Page
        The runs.
    names : tuple of str, optional
        What each run is called; by default what tells them apart: mode, engine, model, revision or prompt.

    Returns
    -------
    Comparison
        Shown, the pages with what differs; `agreement` (0..1), `pages`, `to_dataframe()`.

    Raises
    ------
    OptionError
        When something else is given.
    """
    runs = [Document([one]) if isinstance(one, Page) else one for one in (a, b)]
    if not all(isinstance(one, Document) for one in runs):
        raise OptionError("Only documents and pages can be compared.", "", "uocr.compare(doc, other)")
    if names is None:
        names = _own_names(*runs)
    elif isinstance(names, str) or len(names) != 2:
        raise OptionError("`names` must be two.", "", 'uocr.compare(doc, other, names=("base", "gundam"))')
    first, second = (" ".join(str(name).split())[:_LONGEST_NAME] for name in names)
    return Comparison(runs[0], runs[1], (_beside("A", first), _beside("B", second)))


def compare_bundle(
    a: Document | Page, b: Document | Page, names: tuple[str, str] | None = None, *, uid: str | None = None
) -> dict[str, str]:
    """MIME type -> text of two runs side by side: HTML, markdown and plain text."""
    return comparison_bundle(compare(a, b, names), uid=uid)


def comparison_bundle(comparison: Comparison, *, uid: str | None = None) -> dict[str, str]:
    """MIME type -> text of a comparison."""
    from uocr_nb.views.compare_html import comparison_html  # noqa: PLC0415 - it needs this module
    from uocr_nb.views.compare_plain import comparison_markdown, comparison_plain  # noqa: PLC0415

    return {
        "text/html": comparison_html(comparison, uid=uid),
        "text/markdown": comparison_markdown(comparison),
        "text/plain": comparison_plain(comparison),
    }


def _beside(letter: str, name: str) -> str:
    """What stands beside the letter; nothing where it is the letter itself."""
    return "" if name == letter else name


def _own_names(a: Document, b: Document) -> tuple[str, str]:
    for key in _TOLD_APART:
        one, two = a.meta.get(key), b.meta.get(key)
        if one and two and one != two:
            return str(one), str(two)
    return "", ""


PagesBeside = list[tuple[Page | None, Page | None]]


def _pages_beside(a: Sequence[Page], b: Sequence[Page]) -> tuple[PagesBeside, bool]:
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


def _notes(pages: Sequence[ComparedPage], *, by_place: bool) -> list[str]:
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
    """A sentence for each run in which the page is not ok."""
    said = []
    for letter, one in (("A", page.a), ("B", page.b)):
        if one is None:
            said.append(f"{letter} has no such page.")
        elif one.status is not Status.OK:
            said.append(f"{letter} is {one.status}: {reason_of(one)}")
    return said
