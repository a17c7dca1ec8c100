"""Pages with their boxes by matplotlib, for papers and slides; by its objects alone, never by pyplot's global state."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import Status
from uocr_nb.errors import OptionError, SourceError, UocrError
from uocr_nb.sources import parse_pages
from uocr_nb.support.warn import warn_user
from uocr_nb.views.artists import (
    Sheet,
    draw_box,
    draw_order,
    draw_page,
    draw_tags,
    draw_unread,
    extent,
)
from uocr_nb.views.fonts import Lettering
from uocr_nb.views.grid import MARGIN, Grid, columns_for, lay_out, positive
from uocr_nb.views.labels import KNOWN, label_name, label_style, status_hue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from uocr_nb.document.model import Box, Document, Page

__all__ = ["document_figure", "draw_boxes", "page_figure", "pages_figure", "shown_png"]

INK = "#1b1f24"
ORDERS = ("numbers", "path")

_SHOWN_BYTES, _LEAST_DPI = 1_400_000, 30
"""Of the picture in a notebook, where it takes a third more; and where making it smaller ends."""

_CAPTION, _TITLE = 0.2, 0.34
"""Inches that the caption of a page and the title of the figure take."""


@dataclass(frozen=True)
class _Look:
    """What the caller chose of how pages are drawn."""

    labels: tuple[str, ...] | None = None
    codes: bool | None = None
    order: str | None = None
    linewidth: float = 1.0


def page_figure(
    page: Page,
    labels: Iterable[str] | str | None = None,
    *,
    codes: bool | None = None,
    order: str | None = None,
    title: str | bool = False,
    width: float = 7.0,
    height: float | None = None,
    dpi: float = 150.0,
    linewidth: float = 1.0,
) -> Figure:
    """Draw the page with its boxes; see `uocr_nb.Page.figure`."""
    look = _Look(_wanted(labels), codes, _order(order), positive("linewidth", linewidth))
    name = f"{page.source}, page {page.number}"
    return _figure([page], look, title=_title(name, title), width=width, height=height, dpi=dpi)


def pages_figure(
    document: Document,
    position: int = 1,
    pages: Iterable[int] | str | None = None,
    *,
    labels: Iterable[str] | str | None = None,
    codes: bool | None = None,
    order: str | None = None,
    title: str | bool = False,
    columns: int | None = None,
    width: float = 7.0,
    height: float | None = None,
    dpi: float = 150.0,
    linewidth: float = 1.0,
) -> Figure:
    """Draw one page, or several in a grid; see `uocr_nb.Document.figure`."""
    look = _Look(_wanted(labels), codes, _order(order), positive("linewidth", linewidth))
    chosen = [document.page(position)] if pages is None else _positions(document, pages)
    if pages is None:
        name = f"{chosen[0].source}, page {chosen[0].number}"
    else:
        name = ", ".join(dict.fromkeys(page.source for page in chosen))
    return _figure(
        chosen,
        look,
        title=_title(name, title),
        columns=columns or columns_for(len(chosen)),
        captions=pages is not None,
        width=width,
        height=height,
        dpi=dpi,
    )


def document_figure(pages: Sequence[Page], *, width: float = 7.0, dpi: float = 100.0) -> Figure:
    """Draw pages under each other, as a document shows itself by ``--show figure``.

    Raises
    ------
    SourceError
        When not one of them has a picture.
    """
    return _figure(pages, _Look(), captions=len(pages) > 1, width=width, dpi=dpi, some_picture=True)


def draw_boxes(
    ax: Axes,
    page: Page,
    labels: Iterable[str] | str | None = None,
    *,
    codes: bool | None = None,
    order: str | None = None,
    linewidth: float = 1.0,
    offset: tuple[float, float] = (0.0, 0.0),
) -> Axes:
    """Draw the boxes of `page` on matplotlib axes, in pixels of its page image.

    Axes that hold no image get the page first, with the edge of the paper. On axes with an image nothing but the
    boxes is drawn and the limits stay; if it is the whole page at another size, the boxes are scaled to it. What an
    earlier call drew of the same blocks is replaced.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    page : Page
        Whose boxes.
    labels : iterable of str or str, optional
        Draw only blocks with these labels or families (``"table"``, ``"caption"``, ``"furniture"``); all when None.
    codes : bool, optional
        Write number and code beside each box; by default where the page is at least two inches wide.
    order : str, optional
        ``"numbers"`` puts the number of each block at its middle, ``"path"`` joins them by arrows as well.
    linewidth : float
        Factor on the width of all lines; 1 suits a page that fills a sheet of paper.
    offset : tuple of float
        Where the axes show a part of the page that was cut out: x and y of its top left corner, in pixels of the
        page image.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    OptionError
        When a label is unknown and does not occur on the page.

    Examples
    --------
    >>> figure, ax = plt.subplots()                         # doctest: +SKIP
    >>> uocr.draw_boxes(ax, doc.page(3), labels="table")    # doctest: +SKIP

    A part of the page, with what stands on it:

    >>> x, y, _, _ = page.blocks[4].pixels(page.size)       # doctest: +SKIP
    >>> ax.imshow(page.crop(5))                             # doctest: +SKIP
    >>> uocr.draw_boxes(ax, page, offset=(x, y))            # doctest: +SKIP
    """
    look = _Look(_wanted(labels), codes, _order(order), positive("linewidth", linewidth))
    _check_labels([page], look.labels)
    letters = Lettering()
    if not ax.images:
        picture, lost = _picture(page)
        _tell_lost(lost)
        draw_page(Sheet(ax, page, letters, linewidth=linewidth), picture)
    _draw(ax, page, look, letters, offset)
    letters.tell()
    return ax


def _draw(ax: Axes, page: Page, look: _Look, letters: Lettering, offset: tuple[float, float] = (0.0, 0.0)) -> None:
    unit = _unit(ax, page) if offset == (0.0, 0.0) else 1.0
    sheet = Sheet(ax, page, letters, -offset[0], -offset[1], unit, look.linewidth)
    boxes = _chosen(page, look.labels)
    for number, box in boxes.items():
        draw_box(sheet, number, box)
    draw_tags(sheet, boxes, codes=look.codes)
    draw_unread(sheet)
    draw_order(sheet, boxes, look.order)


def _unit(ax: Axes, page: Page) -> float:
    """Units of the axes in a pixel of the page: not 1 where the axes hold the whole page at another size."""
    if not ax.images:
        return 1.0
    (left, right, bottom, top), (width, height) = ax.images[0].get_extent(), extent(page)
    wide, tall = abs(right - left), abs(bottom - top)
    whole = max(abs(min(left, right)), abs(min(bottom, top))) <= 0.5 and min(wide, tall) > 0
    return wide / width if whole and abs(wide / tall * height / width - 1) < 0.01 else 1.0


def _chosen(page: Page, labels: tuple[str, ...] | None) -> dict[int, Box]:
    boxes = {n: block.box for n, block in enumerate(page.blocks, 1) if block.box is not None}
    if labels is None:
        return boxes
    return {n: box for n, box in boxes.items() if _names(page.blocks[n - 1].label) & set(labels)}


def _names(label: str) -> set[str]:
    return {label, label_name(label), label_style(label).family}


def _check_labels(pages: Sequence[Page], labels: tuple[str, ...] | None) -> None:
    """Refuse a label that nobody knows; one that only these pages have not is no mistake."""
    there = sorted({block.label for page in pages for block in page.blocks})
    unknown = sorted(set(labels or ()).difference(KNOWN, *map(_names, there)))
    if unknown:
        place = f"page {pages[0].position}" if len(pages) == 1 else f"these {len(pages):,} pages"
        # One step that works wherever the call came from.
        raise OptionError(
            f"{unknown[0]!r} is no label of {place}.",
            f"The labels there are: {', '.join(there) or 'none'}.",
            f"doc.page({pages[0].position}).figure()",
        )


def _figure(
    pages: Sequence[Page],
    look: _Look,
    *,
    title: str = "",
    columns: int = 1,
    captions: bool = False,
    width: float = 7.0,
    height: float | None = None,
    dpi: float = 150.0,
    some_picture: bool = False,
) -> Figure:
    _check_labels(pages, look.labels)
    grid = lay_out(
        pages,
        columns,
        width=width,
        height=height,
        dpi=dpi,
        title=_TITLE if title else 0.0,
        caption=_CAPTION if captions else 0.0,
    )
    letters, lost = Lettering(), []
    figure: Figure = _figure_class()(figsize=(grid.width, grid.height), dpi=dpi, facecolor="white")
    if title:
        _write(figure, grid, (MARGIN, grid.height - MARGIN), title, letters, size=11.0, room=grid.width - 2 * MARGIN)
    seen = 0
    for page, (left, top, wide, tall) in zip(pages, grid.places, strict=True):
        if captions:
            name = f"{page.position}" if page.status is Status.OK else f"{page.position}, {page.status}"
            place = (left, grid.height - top + _CAPTION)
            hue = INK if page.status is Status.OK else status_hue(page.status)
            _write(figure, grid, place, name, letters, size=8.0, room=wide, colour=hue)
        shares = (left / grid.width, 1 - (top + tall) / grid.height, wide / grid.width, tall / grid.height)
        axes = figure.add_axes(shares, frameon=False)
        axes.set_axis_off()
        # Twice as many pixels as the figure has, so that it may be saved finer and memory stays small all the same.
        picture, reason = _picture(page, 2 * wide * dpi)
        lost += reason
        seen += picture is not None
        draw_page(Sheet(axes, page, letters, linewidth=look.linewidth), picture)
        _draw(axes, page, look, letters)
    if some_picture and pages and not seen:
        raise SourceError("No page has a picture.", lost[0][1] if lost else "", "doc.view()")
    _tell_lost(lost)
    letters.tell()
    return figure


def _write(
    figure: Figure,
    grid: Grid,
    place: tuple[float, float],
    words: str,
    letters: Lettering,
    *,
    size: float,
    room: float,
    colour: str = INK,
) -> None:
    text, font = letters(words, weight="bold" if size > 9 else "normal")
    most = max(int(room * 72 / (0.62 * size)), 4)
    text = text if len(text) <= most else text[: most - 1].rstrip() + "…"
    x, y = place[0] / grid.width, place[1] / grid.height
    figure.text(x, y, text, fontsize=size, color=colour, ha="left", va="top", **font)


def _picture(page: Page, widest: float | None = None) -> tuple[Image | None, list[tuple[int, str]]]:
    """The page image, no wider than `widest` pixels; or why a page that had one has none."""
    try:
        picture = page.image
    except UocrError as error:
        return None, [(page.position, error.reason)] if page.sha256 else []
    if widest is not None and picture.width > widest:
        wide = max(math.ceil(widest), 1)
        picture = picture.resize((wide, max(round(picture.height * wide / picture.width), 1)), reducing_gap=2.0)
    return picture, []


def _tell_lost(lost: list[tuple[int, str]]) -> None:
    if lost:
        places = ", ".join(str(position) for position, _ in lost[:10]) + (" ..." if len(lost) > 10 else "")
        pages = f"page {places} is" if len(lost) == 1 else f"pages {places} are"
        what = "its picture is" if len(lost) == 1 else "their pictures are"
        warn_user(f"{pages.capitalize()} drawn as blank paper: {what} gone. {lost[0][1]}")


def _wanted(labels: Iterable[str] | str | None) -> tuple[str, ...] | None:
    return None if labels is None else (labels,) if isinstance(labels, str) else tuple(labels)


def _order(order: str | None) -> str | None:
    if order is None or order in ORDERS:
        return order
    raise OptionError(
        f"order={order!r} is not known.", "The reading order is shown by numbers or by a path.", 'order="path"'
    )


def _title(name: str, title: str | bool) -> str:  # noqa: FBT001 - as the caller gave it
    return name if title is True else title or ""


def _positions(document: Document, pages: Iterable[int] | str) -> list[Page]:
    positions = parse_pages(pages, len(document)) if isinstance(pages, str) else list(pages)
    chosen = [document.page(position) for position in positions]
    if not chosen:
        raise OptionError("There is no page to draw.", "`pages` is empty.", 'doc.figure(pages="1-4")')
    return chosen


@cache
def _figure_class() -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415 - heavy

    class PageFigure(Figure):
        """A figure that shows itself also where pyplot was never imported."""

        def _repr_png_(self) -> bytes:
            return shown_png(self)

    return PageFigure


def shown_png(figure: Figure) -> bytes:
    """The figure as a notebook keeps it: a PNG of 256 colours, no larger than an output may be."""
    from PIL import Image  # noqa: PLC0415 - heavy

    dpi = figure.dpi
    while True:
        drawn, kept = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png", dpi=dpi)
        picture = Image.open(drawn).convert("RGB")
        picture.quantize(256, dither=Image.Dither.NONE).save(kept, "PNG")
        if kept.tell() <= _SHOWN_BYTES or dpi < _LEAST_DPI:
            return kept.getvalue()
        dpi *= min(math.sqrt(_SHOWN_BYTES / kept.tell()), 0.9)
