"""Blocks and pages (frozen), and the document that holds the pages in order."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from uocr_nb.document import registry
from uocr_nb.document.halves import show_bytes
from uocr_nb.document.watching import Watcher, Watchers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from PIL.Image import Image

__all__ = ["COORD_MAX", "Block", "Box", "Document", "Doubt", "Doubts", "Page", "Status", "Table", "Try", "part_of"]

COORD_MAX = 999
"""Full extent of a page along each axis in an answer's boxes (the model's own code divides by 999)."""

Box = tuple[int, int, int, int]


class Status(StrEnum):
    """The honest verdict on one page."""

    OK = "ok"
    TRUNCATED = "truncated"
    LOOPING = "looping"
    EMPTY = "empty"
    UNBOXED = "unboxed"
    MISSING = "missing"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of an answer.

    Attributes
    ----------
    label : str
        The label as the engine wrote it; the set is open.
    text : str
        The text as the engine wrote it (tables as HTML, formulas as LaTeX).
    box : tuple of int or None
        x1, y1, x2, y2 in 0..999 along each axis of the page image, or None when it is unknown.
    confidence : float or None
        0..1 where the engine gave scores.
    """

    label: str
    text: str
    box: Box | None = None
    confidence: float | None = None

    def pixels(self, size: tuple[int, int]) -> Box | None:
        """The box in pixels of an image of `size` (width, height): ``round(v / 999 * size)``."""
        if self.box is None:
            return None
        width, height = size
        x1, y1, x2, y2 = self.box
        return (
            round(x1 / COORD_MAX * width),
            round(y1 / COORD_MAX * height),
            round(x2 / COORD_MAX * width),
            round(y2 / COORD_MAX * height),
        )


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a page.

    Attributes
    ----------
    html : str
        Sanitised HTML of the table (table, tr, td, th, br, sub, sup and the two span attributes).
    box : tuple of int or None
        As in `Block`.
    page : int
        Position of its page in the document, from 1.
    """

    html: str
    box: Box | None
    page: int

    @property
    def df(self) -> Any:
        """The table as a pandas DataFrame, spans filled.

        Raises
        ------
        MissingExtraError
            When pandas is not installed.
        """
        return registry.call("table_df", self)

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True, slots=True)
class Try:
    """One request for a page, where it was asked for more than once.

    Attributes
    ----------
    status : Status
        The verdict on its answer.
    kept : bool
        Whether the page shows this answer.
    reason : str
        Why the status is not ok.
    mode, prompt : str or None
        What the request asked with.
    raw : str
        The answer, empty for the one that was kept (it is the page's own `raw`).
    tokens : int or None
        Tokens of the answer; they are paid for, kept or not.
    seconds : float or None
        From the request to the end of the answer.
    """

    status: Status
    kept: bool
    reason: str = ""
    mode: str | None = None
    prompt: str | None = None
    raw: str = ""
    tokens: int | None = None
    seconds: float | None = None


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


@dataclass(frozen=True)
class Page:
    """The blocks of one page image, with its status and its raw answer.

    Attributes
    ----------
    position : int
        Place in the document, from 1.
    number : int
        Place in its source, from 1.
    source : str
        Name of the source, unique in the document.
    size : tuple of int
        Width and height in pixels of the page image.
    blocks : tuple of Block
        In reading order.
    status : Status
        The verdict.
    warnings : tuple of str
        One sentence for each thing that was mended or is in doubt.
    reason : str
        Why the status is not ok, in one sentence; empty when it is.
    raw : str
        The answer as the engine wrote it.
    dpi : float or None
        Resolution at which a PDF page was rendered.
    sha256 : str
        Of the page image as sent (hex).
    tokens : int or None
        Tokens of the answer.
    seconds : float or None
        From the request to the end of the answer.
    finish_reason : str or None
        As the engine gave it.
    tries : tuple of Try
        Every request for this page, oldest first, where there was more than one.
    name : str
        What the page is called in its source (a IIIF canvas label such as "f. 12v"); empty where it has no name.
    """

    position: int
    number: int
    source: str
    size: tuple[int, int]
    blocks: tuple[Block, ...] = ()
    status: Status = Status.OK
    warnings: tuple[str, ...] = ()
    reason: str = ""
    raw: str = ""
    dpi: float | None = None
    sha256: str = ""
    tokens: int | None = None
    seconds: float | None = None
    finish_reason: str | None = None
    tries: tuple[Try, ...] = ()
    name: str = ""
    image_file: Path | None = field(default=None, repr=False, compare=False)
    origin: Any = field(default=None, repr=False, compare=False)

    @property
    def image(self) -> Image:
        """The page image (PIL, RGB), read from disk or rendered again from its source.

        Raises
        ------
        SourceError
            When neither the image file nor its source is there any more, or the source has changed.
        """
        image: Image = registry.call("page_image", self)
        return image

    @property
    def markdown(self) -> str:
        """Markdown of the page: tables as HTML, formulas between dollar signs.

        Furniture (header, footer, page number) is left out where the page has other text.
        """
        text: str = registry.call("page_markdown", self)
        return text

    @property
    def text(self) -> str:
        """Plain text of the page; furniture is left out where the page has other text."""
        text: str = registry.call("page_text", self)
        return text

    @property
    def tables(self) -> list[Table]:
        """Tables of the page in reading order."""
        tables: list[Table] = registry.call("page_tables", self)
        return tables

    def crop(self, block: Block | int) -> Image:
        """The part of the page image under `block` (a Block, or its number from 1).

        Raises
        ------
        IndexError
            When the page has no block of that number.
        ValueError
            When the block has no box.
        """
        if isinstance(block, int) and not 1 <= block <= len(self.blocks):
            raise IndexError(f"There is no block {block}: the page has {len(self.blocks)}, numbered from 1.")
        chosen = self.blocks[block - 1] if isinstance(block, int) else block
        pixels = chosen.pixels(self.size)
        if pixels is None:
            raise ValueError(f"The {chosen.label} block has no box, so there is nothing to cut out.")
        x1, y1, x2, y2 = pixels
        return self.image.crop((x1, y1, max(x2, x1 + 1), max(y2, y1 + 1)))

    def figure(self, **options: Any) -> Any:
        """A matplotlib figure of the page with its boxes; see `uocr_nb.draw_boxes` for the options."""
        return registry.call("page_figure", self, **options)

    def __repr__(self) -> str:
        return f"<Page {self.position} of {show_bytes(self.source)}: {self.status}, {len(self.blocks)} blocks>"

    def __str__(self) -> str:
        text: str = registry.call("page_plain", self)
        return text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        bundle: dict[str, str] = registry.call("page_bundle", self)
        return bundle


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
        pages = [
            Doubt(page.position, None, page.reason or f"The page is {page.status}.")
            for page in self.pages
            if page.status is not Status.OK
        ]
        blocks = [
            Doubt(page.position, number, "The engine was not sure of this text.", block.text, block.confidence)
            for page in self.pages
            for number, block in enumerate(page.blocks, 1)
            if block.confidence is not None and block.confidence < below
        ]
        return Doubts(pages + sorted(blocks, key=lambda doubt: doubt.confidence or 0.0))

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
