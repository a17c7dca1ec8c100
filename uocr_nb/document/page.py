"""Blocks and pages, frozen, with the verdict on each page."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from uocr_nb.document import registry
from uocr_nb.document.halves import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from PIL.Image import Image

__all__ = ["COORD_MAX", "Block", "Box", "Page", "Status", "Table", "Try"]

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

    def figure(self, labels: Iterable[str] | str | None = None, **options: Any) -> Any:
        """A matplotlib figure of the page with its boxes, for papers and slides.

        Parameters
        ----------
        labels : iterable of str or str, optional
            Draw only blocks with these labels or families (``"table"``, ``"caption"``, ``"furniture"``); all when None.
        **options
            codes : bool, optional
                Number and code beside each box; by default where the page is at least two inches wide.
            order : str, optional
                ``"numbers"`` puts the number of each block at its middle, ``"path"`` joins them by arrows as well.
            title : str or bool, default False
                A line above the page; True writes source and page.
            width : float, default 7
                Inches.
            height : float, optional
                Inches; the page is as wide as fits into both, and the figure no larger than the page needs. Without
                it a page is at most 10 inches high.
            dpi : float, default 150
                Pixels an inch, in a notebook (up to 2 MB) and in a saved PNG; in PDF and SVG at most those of the page
                image.
            linewidth : float, default 1
                Factor on the width of all lines.

        Returns
        -------
        matplotlib.figure.Figure
            It shows itself as the value of a cell, and `savefig` writes PNG, PDF and SVG. pyplot does not know of it.

        Raises
        ------
        OptionError
            When a label is unknown and does not occur on the page, or a size cannot be used.

        Warns
        -----
        UserWarning
            When no font has a character, or when the page image is gone and blank paper is drawn.

        Examples
        --------
        >>> doc.page(3).figure("table", dpi=300).savefig("table.png")   # doctest: +SKIP
        >>> doc.page(3).figure(order="path", codes=False)               # doctest: +SKIP
        """
        return registry.call("page_figure", self, labels, **options)

    def __repr__(self) -> str:
        return f"<Page {self.position} of {show_bytes(self.source)}: {self.status}, {len(self.blocks)} blocks>"

    def __str__(self) -> str:
        text: str = registry.call("page_plain", self)
        return text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        bundle: dict[str, str] = registry.call("page_bundle", self)
        return bundle
