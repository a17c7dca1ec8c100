"""What a person corrected: an entry for each change, and how it changes a page, forth and back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from uocr_nb.document.page import Block, Box

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uocr_nb.document.page import Page

__all__ = ["Edit", "Edits", "What", "applied", "counted", "fits", "not_read", "reverted"]

What = Literal["text", "label", "box", "delete"]

_SHOWN = 20
_WIDTH = 34
_LEAD = 12
"""Characters that are shown before the first difference of two long texts."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One correction.

    Attributes
    ----------
    page : int
        Position of the page in the document, from 1.
    block : int
        Number of the block on the page, from 1, as the blocks were counted when it was made: behind a block that is
        deleted, the others move up.
    what : str
        text, label, box or delete.
    before, after : str, tuple, Block or None
        The text, label or box before and after; for a deleted block the block itself, and None.
    when : str
        UTC, ISO 8601.
    step : int
        The call it was part of. What one call changed is undone and redone together.
    confidence : float or None
        What the engine's score of the text was. The corrected text has none.
    """

    page: int
    block: int
    what: What
    before: str | Box | Block | None
    after: str | Box | None
    when: str
    step: int
    confidence: float | None = None

    def __str__(self) -> str:
        where = f"p. {self.page}  block {self.block}  "
        if isinstance(self.before, Block):
            return f"{where}deleted  {self.before.label} {_short(self.before.text)}"
        return f"{where}{self.what}  {' → '.join(_short_pair(self.before, self.after))}"


class Edits(list[Edit]):
    """The corrections that stand, oldest first; shown, a line for each of the last twenty."""

    @property
    def per_page(self) -> Counter[int]:
        """How many corrections each page has, by its position."""
        return Counter(edit.page for edit in self)

    def of(self, page: int) -> Edits:
        """The corrections of the page at this position."""
        return Edits(edit for edit in self if edit.page == page)

    def blocks(self, page: int) -> frozenset[int]:
        """The numbers, as they are counted now, of the blocks of this page that were corrected and are still there."""
        edited: set[int] = set()
        for edit in self.of(page):
            if edit.what == "delete":
                edited = {number - (number > edit.block) for number in edited if number != edit.block}
            else:
                edited.add(edit.block)
        return frozenset(edited)

    def moved(self, positions: Mapping[int, int]) -> Edits:
        """Those of pages that are among `positions` (old to new), where the pages are now."""
        return Edits(replace(edit, page=positions[edit.page]) for edit in self if edit.page in positions)

    def __repr__(self) -> str:
        if not self:
            return "No edits."
        pages = self.per_page
        places = [f"{count} on page {page}" for page, count in sorted(pages.items())[:_SHOWN]]
        if len(pages) > len(places):
            places.append(f"the rest on {len(pages) - len(places):,} more pages")
        head = f"{counted(len(self))}: {', '.join(places)}"
        left = len(self) - _SHOWN
        return "\n".join([head, *([f"{left:,} earlier"] if left > 0 else []), *map(str, self[-_SHOWN:])])


def counted(edits: int) -> str:
    """So many edits, in words: ``1 edit``, ``2 edits``."""
    return f"{edits:,} edit{'' if edits == 1 else 's'}"


def _short_pair(before: str | Box | None, after: str | Box | None) -> tuple[str, str]:
    """Both, short; of long texts the part in which they begin to differ."""
    if not isinstance(before, str) or not isinstance(after, str):
        return _short(before), _short(after)
    old, new = " ".join(before.split()), " ".join(after.split())
    alike = next(
        (n for n, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )
    start = 0 if max(len(old), len(new)) <= _WIDTH else max(0, alike - _LEAD)
    return _short(old, start), _short(new, start)


def _short(value: str | Box | None, start: int = 0) -> str:
    if value is None:
        return "none"
    if not isinstance(value, str):
        return " ".join(map(str, value))
    text = " ".join(value.split())
    shown = ("..." if start else "") + text[start:]
    return f'"{shown if len(shown) <= _WIDTH else shown[: _WIDTH - 3] + "..."}"'


def applied(page: Page, edit: Edit) -> Page:
    """`page` as it is with `edit`."""
    blocks = list(page.blocks)
    if edit.what == "delete":
        del blocks[edit.block - 1]
    else:
        blocks[edit.block - 1] = _with(blocks[edit.block - 1], edit, edit.after, None)
    return replace(page, blocks=tuple(blocks))


def reverted(page: Page, edit: Edit) -> Page:
    """`page` as it was before `edit`, which `applied` made."""
    blocks = list(page.blocks)
    if isinstance(edit.before, Block):
        blocks.insert(edit.block - 1, edit.before)
    else:
        blocks[edit.block - 1] = _with(blocks[edit.block - 1], edit, edit.before, edit.confidence)
    return replace(page, blocks=tuple(blocks))


def _with(block: Block, edit: Edit, value: str | Box | None, confidence: float | None) -> Block:
    changes: dict[str, Any] = {edit.what: value}
    if edit.what == "text":
        changes["confidence"] = confidence
    return replace(block, **changes)


def fits(page: Page, edits: Iterable[Edit]) -> bool:
    """Whether `page` is what `edits`, its own and oldest first, would have made of some page."""
    for edit in reversed(list(edits)):
        count = len(page.blocks)
        if not 1 <= edit.block <= count + (edit.what == "delete"):
            return False
        if edit.what != "delete" and getattr(page.blocks[edit.block - 1], edit.what) != edit.after:
            return False
        page = reverted(page, edit)
    return True


def not_read(page: int) -> str:
    """The sentence about a page that `Document.retry` passed over."""
    return (
        f"Page {page} was not read again, because it has edits. doc.retry(pages={page}) reads it again; a better "
        "answer then takes the place of the edits."
    )
