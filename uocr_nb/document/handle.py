"""Pages that change in place: put under a lock, corrected, and watched."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.document.edits import Edits, counted, not_read
from uocr_nb.document.history import History
from uocr_nb.document.watching import Watcher, Watchers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from uocr_nb.document.edits import Edit
    from uocr_nb.document.page import Box, Page

__all__ = ["Handle"]


class Handle:
    """The pages of a document, their corrections, and who is told of changes.

    Parameters
    ----------
    pages : iterable of Page
        In page order; their positions are numbered anew from 1.
    warnings : iterable of str
        What concerns the document as a whole.
    edits : iterable of Edit
        The corrections that the pages carry. Those that cannot have made them are left out, with a warning.
    """

    def __init__(self, pages: Iterable[Page], warnings: Iterable[str], edits: Iterable[Edit]) -> None:
        self._lock = threading.RLock()
        self._pages = [replace(page, position=n) for n, page in enumerate(pages, 1)]
        self._warnings = list(warnings)
        self._watchers = Watchers()
        given = tuple(edits)
        self._history = History(given).fitting(self._pages)
        if strange := len(given) - len(self._history.done):
            self.warn(f"{counted(strange)} could not be kept: the blocks are not what they would have made of them.")

    def __getstate__(self) -> dict[str, Any]:
        # A copy has a lock of its own, and nobody watches it or has shown it yet.
        with self._lock:
            return self.__dict__ | {
                "_pages": list(self._pages),
                "_lock": None,
                "_watchers": None,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._watchers = Watchers()

    @property
    def pages(self) -> list[Page]:
        """The pages in order (a list of its own; from 0, as Python counts)."""
        with self._lock:
            return list(self._pages)

    def pages_and_edits(self) -> tuple[list[Page], Edits]:
        """The pages and the corrections that they carry, of one moment."""
        with self._lock:
            return list(self._pages), Edits(self._history.done)

    def page(self, position: int) -> Page:
        """The page at `position`, from 1, as people count.

        Raises
        ------
        IndexError
            When there is no such page.
        """
        pages = self.pages
        if not 1 <= position <= len(pages):
            raise IndexError(f"There is no page {position}: the document has {len(pages)}.")
        return pages[position - 1]

    def __len__(self) -> int:
        return len(self._pages)

    def watch(self, callback: Watcher) -> Callable[[], None]:
        """Have `callback` called whenever pages of this document change.

        Parameters
        ----------
        callback : callable
            Called as ``callback(document, positions)`` when the change is done, in the thread that made it. The object
            of a bound method is not kept alive by it. What it raises does not reach who changed the document; it is
            warned of once.

        Returns
        -------
        callable
            Without arguments; called, it ends the watching.
        """
        return self._watchers.add(callback)

    def put(self, page: Page) -> None:
        """Put `page` in the place that its position names. Edits of the page that was there go, with a warning."""
        with self._lock:
            self._place(page)
        self._watchers.tell(self, [page.position])

    def settle(self, position: int, choose: Callable[[Page, bool], Page]) -> None:
        """Put what `choose` makes of the page that stands at `position`, and of whether it has edits, in its place."""
        with self._lock:
            self._place(choose(self._pages[position - 1], bool(self.edits.per_page[position])))
        self._watchers.tell(self, [position])

    def spread(self, position: int, pages: Iterable[Page]) -> None:
        """Put several pages in the place of one; those behind it move on, with their edits."""
        with self._lock:
            before = len(self._pages)
            self._let_go(position)
            whole = [*self._pages[: position - 1], *pages, *self._pages[position:]]
            self._pages[:] = [replace(page, position=n) for n, page in enumerate(whole, 1)]
            by = len(whole) - before
            self._history = self._history.moved({n: n + by * (n > position) for n in range(1, before + 1)})
        self._watchers.tell(self, range(position, len(whole) + 1))

    def _place(self, page: Page) -> None:
        if page.blocks != self._pages[page.position - 1].blocks:
            self._let_go(page.position)
        self._pages[page.position - 1] = page

    def _let_go(self, position: int) -> None:
        """Let go of the edits of a page that another one takes the place of."""
        lost = self.edits.per_page[position]
        self._history = self._history.without(position)
        self._warnings = [warning for warning in self._warnings if warning != not_read(position)]
        if lost:
            self.warn(
                f"{counted(lost)} of page {position} went with the answer that was corrected: another took its place."
            )

    def warn(self, words: str) -> None:
        """Add `words` to the warnings of the document as a whole, once."""
        with self._lock:
            if words not in self._warnings:
                self._warnings.append(words)

    @property
    def edits(self) -> Edits:
        """What a person corrected, oldest first; what was undone is not in it."""
        with self._lock:
            return Edits(self._history.done)

    def edit(
        self, page: int, block: int, text: str | None = None, label: str | None = None, box: Box | None = None
    ) -> Self:
        """Correct a block, and return this document.

        Parameters
        ----------
        page, block : int
            Position of the page and number of the block on it, from 1.
        text : str, optional
            What it says, in the form of `Block.text`: a table as HTML, a formula as LaTeX.
        label : str, optional
            One word of letters, digits, - and _.
        box : tuple of int, optional
            x1, y1, x2, y2 in 0..999 along each axis of the page image.

        Raises
        ------
        OptionError
            When there is no such page or block, or it cannot be given this.

        Notes
        -----
        All that is made of the pages follows: markdown, text, tables, files. `Page.raw` and `Page.status` stay, being
        the engine's answer and the verdict on it. A corrected text has no confidence, for the score was not its own.
        """
        return self._change(History.edited, page, block, text=text, label=label, box=box)

    def delete(self, page: int, block: int) -> Self:
        """Take a block out of its page, and return this document. The numbers of those behind it go down by one.

        Raises
        ------
        OptionError
            When there is no such page or block.
        """
        return self._change(History.deleted, page, block)

    def undo(self) -> Self:
        """Take back what the last `edit` or `delete` changed, and return this document.

        Raises
        ------
        OptionError
            When no edit stands.
        """
        return self._change(History.undo)

    def redo(self) -> Self:
        """Bring back what was undone last, until the next edit, and return this document.

        Raises
        ------
        OptionError
            When nothing was undone since the last edit.
        """
        return self._change(History.redo)

    def _change(self, how: Callable[..., tuple[History, dict[int, Page]]], *args: Any, **options: Any) -> Self:
        with self._lock:
            self._history, changed = how(self._history, self._pages, *args, **options)
            for position, page in changed.items():
                self._pages[position - 1] = page
        self._watchers.tell(self, changed)
        return self
