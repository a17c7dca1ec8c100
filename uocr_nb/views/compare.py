"""Two runs of the same pages, side by side: what differs, and how far they agree."""

from __future__ import annotations

from functools import cached_property
from math import fsum
from typing import Any

from uocr_nb.document.model import Document, Page
from uocr_nb.errors import MissingExtraError, OptionError
from uocr_nb.markup.align import align_blocks
from uocr_nb.views.compared import ComparedPage, notes_of, pages_beside
from uocr_nb.views.watch import in_kernel
from uocr_nb.views.words import count, percent

__all__ = ["Comparison", "compare", "comparison_bundle"]

_LONGEST_NAME = 40
_TOLD_APART = ("mode", "engine", "model", "revision", "prompt")
"""What `Document.meta` says that may name two runs, the most telling first."""


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
        found, by_place = pages_beside(a.pages, b.pages)
        self._pages = [
            ComparedPage(position, one, two, tuple(align_blocks(one.blocks if one else (), two.blocks if two else ())))
            for position, (one, two) in enumerate(found, 1)
        ]
        self.notes: list[str] = notes_of(self._pages, by_place=by_place)
        self._shown_in: tuple[Any, int] | None = None

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

    def show(self) -> Comparison:
        """Show it at once, printed where there is no notebook; as the value of the same cell it shows nothing again."""
        shell = in_kernel()
        if shell is None:
            print(comparison_bundle(self)["text/plain"])
            return self
        from IPython.display import display  # noqa: PLC0415 - only in a notebook, which has it

        display(comparison_bundle(self), raw=True)
        self._shown_in = (shell, shell.execution_count)
        return self

    def _ipython_display_(self) -> None:
        if self._shown_in is not None and self._shown_in[0].execution_count == self._shown_in[1]:
            return
        raise NotImplementedError  # sends IPython on to the bundle

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


def comparison_bundle(comparison: Comparison) -> dict[str, str]:
    """MIME type -> text of a comparison."""
    from uocr_nb.views.compare_html import comparison_html  # noqa: PLC0415 - it needs this module
    from uocr_nb.views.compare_plain import comparison_markdown, comparison_plain  # noqa: PLC0415

    return {
        "text/html": comparison_html(comparison),
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
