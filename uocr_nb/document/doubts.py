"""What a person should look at first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uocr_nb.document.page import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uocr_nb.document.page import Page

__all__ = ["Doubt", "Doubts", "doubtful"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something of a document that a person should look at first.

    Attributes
    ----------
    page : int
        Position of the page in the document, from 1.
    block : int or None
        Number of the block on the page, from 1; None where the whole page is in doubt.
    why : str
        One sentence.
    text : str
        The block's text, or nothing.
    confidence : float or None
        0..1 where the engine gave scores.
    """

    page: int
    block: int | None
    why: str
    text: str = ""
    confidence: float | None = None


class Doubts(list[Doubt]):
    """What a person should look at first; shown, a line for each of the first twenty."""

    def __repr__(self) -> str:
        shown = [_doubt_line(doubt) for doubt in self[:20]]
        more = [f"and {len(self) - 20:,} more"] if len(self) > len(shown) else []
        return "\n".join(shown + more) or "Nothing is in doubt."


def _doubt_line(doubt: Doubt) -> str:
    if doubt.block is None:
        return f"p. {doubt.page}  {doubt.why}"
    text = " ".join(doubt.text.split())
    sure = f"{doubt.confidence:.0%}" if doubt.confidence is not None else ""
    return f"p. {doubt.page}  block {doubt.block}  {sure} sure  {text if len(text) <= 60 else text[:57] + '...'}"


def doubtful(pages: Iterable[Page], below: float) -> Doubts:
    """Pages that are not ok, then blocks whose confidence is less than `below`, by rising confidence."""
    known = list(pages)
    bad = [
        Doubt(page.position, None, page.reason or f"The page is {page.status}.")
        for page in known
        if page.status is not Status.OK
    ]
    blocks = [
        Doubt(page.position, number, "The engine was not sure of this text.", block.text, block.confidence)
        for page in known
        for number, block in enumerate(page.blocks, 1)
        if block.confidence is not None and block.confidence < below
    ]
    return Doubts(bad + sorted(blocks, key=lambda doubt: doubt.confidence or 0.0))
