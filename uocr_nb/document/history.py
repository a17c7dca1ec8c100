"""The corrections of a document: those that stand and those that were undone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from uocr_nb.document.checks import checked, found
from uocr_nb.document.edits import Edit, Edits, applied, fits, reverted
from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from uocr_nb.document.page import Page

__all__ = ["History"]


@dataclass(frozen=True, slots=True)
class History:
    """What was corrected. Nothing in it changes: each change gives another history, and the pages it makes anew.

    Attributes
    ----------
    done : tuple of Edit
        What stands, oldest first.
    undone : tuple of tuple of Edit
        What was undone, the next to be redone last; what one call changed is together.
    """

    done: tuple[Edit, ...] = ()
    undone: tuple[tuple[Edit, ...], ...] = ()

    def edited(
        self, pages: Sequence[Page], page: int, block: int, *, text: str | None, label: str | None, box: Any
    ) -> tuple[History, dict[int, Page]]:
        """Give a block another text, label or box. Nothing happens where all is as it should be."""
        position, number = found(pages, page, block)
        chosen, step, when = pages[position - 1].blocks[number - 1], self._next_step(), _now()
        new = [
            Edit(
                position,
                number,
                what,
                before=getattr(chosen, what),
                after=value,
                when=when,
                step=step,
                confidence=chosen.confidence if what == "text" else None,
            )
            for what, value in checked(position, number, text=text, label=label, box=box).items()
            if value != getattr(chosen, what)
        ]
        return self._with(new, pages)

    def deleted(self, pages: Sequence[Page], page: int, block: int) -> tuple[History, dict[int, Page]]:
        """Take a block out of its page."""
        position, number = found(pages, page, block)
        gone = pages[position - 1].blocks[number - 1]
        return self._with([Edit(position, number, "delete", gone, None, _now(), self._next_step())], pages)

    def _with(self, new: Sequence[Edit], pages: Sequence[Page]) -> tuple[History, dict[int, Page]]:
        if not new:
            return self, {}
        return History((*self.done, *new)), _changed(pages, new, applied)

    def undo(self, pages: Sequence[Page]) -> tuple[History, dict[int, Page]]:
        """Take the last correction back."""
        if not self.done:
            raise OptionError(
                "There is no edit to undo.",
                "No correction of this document stands.",
                "doc.redo() brings the last one back." if self.undone else "",
            )
        start = len(self.done) - 1
        while start and self.done[start - 1].step == self.done[-1].step:
            start -= 1
        last = self.done[start:]
        return History(self.done[:start], (*self.undone, last)), _changed(pages, last[::-1], reverted)

    def redo(self, pages: Sequence[Page]) -> tuple[History, dict[int, Page]]:
        """Bring back what was undone last."""
        if not self.undone:
            raise OptionError(
                "There is no edit to redo.", "Nothing was undone since the last edit.", "doc.edits shows what stands."
            )
        *rest, again = self.undone
        return History((*self.done, *again), tuple(rest)), _changed(pages, again, applied)

    def moved(self, positions: Mapping[int, int]) -> History:
        """The part of it whose pages are among `positions` (old to new), where they are now."""
        undone = tuple(tuple(kept) for step in self.undone if (kept := Edits(step).moved(positions)))
        return History(tuple(Edits(self.done).moved(positions)), undone)

    def without(self, page: int) -> History:
        """All of it but what concerns the page at this position."""
        pages = {edit.page for edit in (*self.done, *(edit for step in self.undone for edit in step))}
        return self.moved({other: other for other in pages if other != page})

    def fitting(self, pages: Sequence[Page]) -> History:
        """All of it but what `pages` cannot have come from."""
        edits = Edits(self.done)
        good = {
            number: number
            for number in edits.per_page
            if 1 <= number <= len(pages) and fits(pages[number - 1], edits.of(number))
        }
        return self if len(good) == len(edits.per_page) else History(tuple(edits.moved(good)))

    def _next_step(self) -> int:
        return max((edit.step for edit in self.done), default=0) + 1


def _changed(pages: Sequence[Page], edits: Iterable[Edit], change: Callable[[Page, Edit], Page]) -> dict[int, Page]:
    changed: dict[int, Page] = {}
    for edit in edits:
        changed[edit.page] = change(changed.get(edit.page) or pages[edit.page - 1], edit)
    return changed


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
