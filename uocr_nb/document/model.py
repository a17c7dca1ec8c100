"""The document, which holds the pages in order. What it holds is in modules of its own, and is named here too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from uocr_nb.document import registry
from uocr_nb.document.doubts import Doubt, Doubts, doubtful
from uocr_nb.document.edits import Edit, Edits
from uocr_nb.document.handle import Handle
from uocr_nb.document.page import COORD_MAX, Block, Box, Page, Status, Table, Try

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = [
    "COORD_MAX",
    "Block",
    "Box",
    "Document",
    "Doubt",
    "Doubts",
    "Edit",
    "Edits",
    "Page",
    "Status",
    "Table",
    "Try",
    "part_of",
]


class Document(Handle):
    """The pages of one call, in order. A handle: `retry` and edits put new pages in place.

    Parameters
    ----------
    pages : iterable of Page
        In page order; their positions are numbered anew from 1.
    meta : dict, optional
        engine, endpoint, model, revision, mode, tokens, seconds, cost.
    show : str
        How it shows itself: auto, view, figure, markdown, text or none.
    warnings : iterable of str
        What concerns the document as a whole, beside the warnings of its pages.
    edits : iterable of Edit
        The corrections that its pages carry, oldest first.
    """

    def __init__(
        self,
        pages: Iterable[Page] = (),
        *,
        meta: dict[str, Any] | None = None,
        show: str = "auto",
        warnings: Iterable[str] = (),
        edits: Iterable[Edit] = (),
    ) -> None:
        super().__init__(pages, warnings, edits)
        self.meta: dict[str, Any] = dict(meta or {})
        self.show = show
        self.shown_already: Callable[[], bool] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"shown_already": None}

    @classmethod
    def so_far(cls, pages: Iterable[Page], **options: Any) -> Document:
        """The pages of a reading that goes on: each keeps its position, and there may be gaps between them."""
        document = cls((), **options)
        document._pages = list(pages)
        return document

    @property
    def status(self) -> Counter[Status]:
        """How many pages have each status."""
        return Counter(page.status for page in self.pages)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the document, then of each page with its position."""
        return self._warnings + [f"page {page.position}: {text}" for page in self.pages for text in page.warnings]

    @property
    def own_warnings(self) -> list[str]:
        """Warnings of the document as a whole."""
        return list(self._warnings)

    @property
    def markdown(self) -> str:
        """Markdown of all pages."""
        text: str = registry.call("document_markdown", self)
        return text

    @property
    def text(self) -> str:
        """Plain text of all pages, a form feed between two pages."""
        return "\f".join(page.text for page in self.pages)

    @property
    def tables(self) -> list[Table]:
        """Tables of all pages."""
        return [table for page in self.pages for table in page.tables]

    @property
    def figures(self) -> list[Any]:
        """Crops (PIL) of the image and chart blocks of all pages."""
        return [
            page.crop(block)
            for page in self.pages
            for block in page.blocks
            if block.label in ("image", "chart") and block.box is not None
        ]

    def doubtful(self, below: float = 0.9) -> Doubts:
        """What a person should look at first: pages that are not ok, then blocks by rising confidence.

        Parameters
        ----------
        below : float
            Blocks of at least this confidence (0..1) are left out, and so are those without one.
        """
        return doubtful(self.pages, below)

    def by_source(self) -> dict[str, Document]:
        """One document for each source, by name, in the order they were given."""
        groups: dict[str, list[Page]] = {}
        with self._lock:  # so that pages and edits are those of one moment
            for page in self.pages:
                groups.setdefault(page.source, []).append(page)
            return {name: part_of(self, pages) for name, pages in groups.items()}

    def save(self, path: str | Path, format: str | None = None) -> Path:  # noqa: A002 - promised name
        """Write the document; the ending of `path` decides the format unless `format` names it.

        Returns
        -------
        Path
            The file that was written.
        """
        written: Path = registry.call("save", self, path, format)
        return written

    def to_json(self, *, images: str = "refer") -> str:
        """JSON text of the document (schema in ``docs/json.md``); `uocr_nb.load` reads it.

        Parameters
        ----------
        images : str
            ``"refer"`` names the source of each page image, ``"embed"`` puts the page images into the text.
        """
        text: str = registry.call("to_json", self, images=images)
        return text

    @classmethod
    def from_json(cls, text: str) -> Document:
        """The document that `to_json` wrote."""
        document: Document = registry.call("from_json", text)
        return document

    def to_html(self) -> str:
        """A whole HTML page that needs no network and no kernel."""
        text: str = registry.call("to_html", self)
        return text

    def to_dataframe(self) -> Any:
        """One row a block (pandas): source, page, number, label, text, x1, y1, x2, y2, confidence, status."""
        return registry.call("to_dataframe", self)

    def retry(self, endpoint: Any = None, *, pages: Iterable[int] | int | None = None) -> Document:
        """Ask again for pages, put the better answers in place, and return this document.

        Parameters
        ----------
        endpoint : Endpoint, str or list, optional
            Where; the current endpoint by default.
        pages : int or iterable of int, optional
            Positions, from 1; by default those of all pages that are not ok and that nobody corrected.

        Notes
        -----
        A source that could not be opened stands as one page; when it can be opened now, all its pages take that place.
        What still cannot be read stays as it is, with its reason; nothing is raised for it.
        A page with edits is read again only where `pages` names it. When the new answer is the better one, it takes the
        place of the edits too, and a warning says so.
        """
        registry.call("retry", self, endpoint, pages)
        return self

    def view(
        self,
        page: int | None = None,
        *,
        compare: Document | Page | None = None,
        names: tuple[str, str] | None = None,
    ) -> Any:
        """Show the document as a full view in the notebook: all pages on demand, selection, corrections.

        Parameters
        ----------
        page : int, optional
            Position of the page that it opens at, from 1.
        compare : Document or Page, optional
            Another run of the same pages, to be laid beside this one (see `uocr_nb.compare`).
        names : tuple of str, optional
            What the two runs are called.

        Returns
        -------
        View or Comparison
            With `selected`, `on_select` and `close`. Without a notebook the plain form is printed, and the view is
            closed.
        """
        return registry.call("view", self, page, compare, names)

    def figure(self, position: int = 1, *, pages: Iterable[int] | str | None = None, **options: Any) -> Any:
        """A matplotlib figure of one page, or of several in a grid.

        Parameters
        ----------
        position : int
            Of the one page, from 1.
        pages : iterable of int or str, optional
            Positions of several pages, in the order they shall have, as numbers or as text (``"1-4,7"``, ``"all"``).
        **options
            columns : int, optional
                Pages side by side; by default what suits their number.

            All others as in `Page.figure`. `width` and `height` are those of the whole figure.

        Returns
        -------
        matplotlib.figure.Figure
            As `Page.figure` gives.

        Examples
        --------
        >>> doc.figure(pages="1-6", columns=3, codes=False).savefig("pages.pdf")   # doctest: +SKIP
        """
        return registry.call("pages_figure", self, position, pages, **options)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in sorted(self.status.items())) or "no pages"
        return f"<Document: {counts}>"

    def __str__(self) -> str:
        text: str = registry.call("document_plain", self)
        return text

    def _ipython_display_(self) -> None:
        # The cell that read the document has shown it already; NotImplementedError sends IPython on to the bundle.
        if self.show == "none" or (self.shown_already is not None and self.shown_already()):
            return
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        bundle: dict[str, str] = registry.call("document_bundle", self)
        return bundle


_OF_THE_RUN = ("requests", "cached", "seconds", "cost")
"""What `Document.meta` says of a whole run; no share of it is known for some of its pages."""


def part_of(document: Document, pages: Sequence[Page]) -> Document:
    """A document of some of its pages with their edits, whose `meta` does not count what the other pages took."""
    tokens = [one.tokens for page in pages for one in page.tries or (page,) if one.tokens is not None]
    meta = document.meta | {name: None for name in _OF_THE_RUN if name in document.meta}
    if "tokens" in meta:
        meta["tokens"] = sum(tokens) if tokens else None
    edits = document.edits.moved({page.position: n for n, page in enumerate(pages, 1)})
    return Document(pages, meta=meta, show=document.show, edits=edits)
