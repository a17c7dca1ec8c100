"""The document, which holds the pages in order. Blocks and pages themselves are in `page`, and are named here too."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.document import registry
from uocr_nb.document.doubts import Doubt, Doubts, doubtful
from uocr_nb.document.page import COORD_MAX, Block, Box, Page, Status, Table, Try
from uocr_nb.document.watching import Watcher, Watchers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = ["COORD_MAX", "Block", "Box", "Document", "Doubt", "Doubts", "Page", "Status", "Table", "Try", "part_of"]


class Document:
    """The pages of one call, in order. A handle: `retry` puts new pages in place.

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
    """

    def __init__(
        self,
        pages: Iterable[Page] = (),
        *,
        meta: dict[str, Any] | None = None,
        show: str = "auto",
        warnings: Iterable[str] = (),
    ) -> None:
        self._lock = threading.RLock()
        self._pages = [replace(page, position=n) for n, page in enumerate(pages, 1)]
        self._warnings = list(warnings)
        self.meta: dict[str, Any] = dict(meta or {})
        self.show = show
        self.shown_already: Callable[[], bool] | None = None
        self._watchers = Watchers()

    def __getstate__(self) -> dict[str, Any]:
        # A copy has a lock of its own, and nobody watches it or has shown it yet.
        with self._lock:
            return self.__dict__ | {
                "_pages": list(self._pages),
                "_lock": None,
                "_watchers": None,
                "shown_already": None,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._watchers = Watchers()

    @classmethod
    def so_far(cls, pages: Iterable[Page], **options: Any) -> Document:
        """The pages of a reading that goes on: each keeps its position, and there may be gaps between them."""
        document = cls((), **options)
        document._pages = list(pages)
        return document

    @property
    def pages(self) -> list[Page]:
        """The pages in order (a list of its own; from 0, as Python counts)."""
        with self._lock:
            return list(self._pages)

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

    def put(self, page: Page) -> None:
        """Put `page` in the place that its position names."""
        with self._lock:
            self._pages[page.position - 1] = page
        self._watchers.tell(self, [page.position])

    def spread(self, position: int, pages: Iterable[Page]) -> None:
        """Put several pages in the place of one; those behind it move on."""
        with self._lock:
            whole = [*self._pages[: position - 1], *pages, *self._pages[position:]]
            self._pages[:] = [replace(page, position=n) for n, page in enumerate(whole, 1)]
        self._watchers.tell(self, range(position, len(whole) + 1))

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

    def __len__(self) -> int:
        return len(self._pages)

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
            Positions, from 1; by default those of all pages that are not ok.

        Notes
        -----
        A source that could not be opened stands as one page; when it can be opened now, all its pages take that place.
        What still cannot be read stays as it is, with its reason; nothing is raised for it.
        """
        registry.call("retry", self, endpoint, pages)
        return self

    def figure(self, position: int = 1, **options: Any) -> Any:
        """A matplotlib figure of one page; see `Page.figure`."""
        return self.page(position).figure(**options)

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
    """A document of some of its pages, whose `meta` does not count what the other pages took."""
    tokens = [one.tokens for page in pages for one in page.tries or (page,) if one.tokens is not None]
    meta = document.meta | {name: None for name in _OF_THE_RUN if name in document.meta}
    if "tokens" in meta:
        meta["tokens"] = sum(tokens) if tokens else None
    return Document(pages, meta=meta, show=document.show)
