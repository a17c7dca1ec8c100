"""Boxes over the page by matplotlib, for papers and slides; by its objects alone, never by pyplot's global state."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import COORD_MAX
from uocr_nb.errors import OptionError
from uocr_nb.views.boxes import place_tags, unread
from uocr_nb.views.labels import KNOWN, label_name, label_style, tag_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from uocr_nb.document.model import Box, Page
    from uocr_nb.views.labels import LabelStyle

__all__ = ["document_figure", "draw_boxes", "page_figure"]

_LINES = {"solid": "-", "double": "-", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.5))}


def page_figure(
    page: Page, labels: Iterable[str] | None = None, *, codes: bool = True, dpi: float = 150, width: float = 7.0
) -> Figure:
    """Draw the page with its boxes.

    Parameters
    ----------
    page : Page
        The page.
    labels : iterable of str, optional
        Draw only blocks with these labels or families (``"table"``, ``"caption"``, ``"furniture"``); all when None.
    codes : bool
        Write number and code beside each box.
    dpi : float
        Dots per inch.
    width : float
        Inches.

    Returns
    -------
    matplotlib.figure.Figure
        It shows itself in a notebook and has `savefig`.

    Raises
    ------
    OptionError
        When a label is unknown and does not occur on the page.
    SourceError
        When the page image cannot be made again.
    """
    return _figure([page], labels, codes=codes, dpi=dpi, width=width)


def document_figure(pages: Sequence[Page], *, dpi: float = 100, width: float = 7.0) -> Figure:
    """Several pages under each other."""
    return _figure(pages, None, codes=True, dpi=dpi, width=width)


def _figure(pages: Sequence[Page], labels: Iterable[str] | None, *, codes: bool, dpi: float, width: float) -> Figure:
    wanted = [labels] if isinstance(labels, str) else None if labels is None else list(labels)
    heights = [width * max(page.size[1], 1) / max(page.size[0], 1) for page in pages]
    figure: Figure = _figure_class()(figsize=(width, sum(heights)), dpi=dpi)
    top = 1.0
    for page, height in zip(pages, heights, strict=True):
        share = height / sum(heights)
        axes = figure.add_axes((0.0, top - share, 1.0, share))
        top -= share
        axes.set_axis_off()
        draw_boxes(axes, page, wanted, codes=codes)
    return figure


@cache
def _figure_class() -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415 - heavy

    class PageFigure(Figure):
        """A figure that shows itself also where pyplot was never imported."""

        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png")
            return out.getvalue()

    return PageFigure


def draw_boxes(
    ax: Axes, page: Page, labels: Iterable[str] | None = None, *, codes: bool = True, linewidth: float = 1.0
) -> Axes:
    """Draw the boxes of `page` on matplotlib axes, in pixels of its page image.

    The page image is drawn first if the axes hold none.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    page : Page
        Whose boxes.
    labels : iterable of str, optional
        Draw only blocks with these labels or families.
    codes : bool
        Write number and code beside each box.
    linewidth : float
        Factor on the width of all lines.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.
    """
    if not ax.images:
        _draw_page(ax, page)
    chosen = _chosen(page, labels)
    ratio = page.size[1] / max(page.size[0], 1)
    tags = place_tags(chosen, ratio) if codes else {}
    for number, box in chosen.items():
        style = label_style(page.blocks[number - 1].label)
        _draw_box(ax, page, box, style, linewidth)
        if number in tags:
            _draw_tag(ax, page, number, tags[number].side)
    for region in unread(page):
        _draw_unread(ax, page, region)
    return ax


def _draw_page(ax: Axes, page: Page) -> None:
    width, height = page.size
    image = page.image
    ax.imshow(image, extent=(0, width, height, 0), interpolation="antialiased", aspect="equal")
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)


def _chosen(page: Page, labels: Iterable[str] | None) -> dict[int, Box]:
    boxes = {n: block.box for n, block in enumerate(page.blocks, 1) if block.box is not None}
    if labels is None:
        return boxes
    wanted = {labels} if isinstance(labels, str) else set(labels)
    names = {
        n: {block.label, label_name(block.label), label_style(block.label).family}
        for n, block in enumerate(page.blocks, 1)
    }
    # A known label that this page has not is no mistake: figures are drawn page after page.
    for label in sorted(wanted.difference(KNOWN, *names.values())):
        raise OptionError(
            f"{label!r} is no label of page {page.position}.",
            f"Its labels are: {', '.join(sorted({block.label for block in page.blocks})) or 'none'}.",
            f"doc.page({page.position}).figure()",
        )
    return {n: box for n, box in boxes.items() if names[n] & wanted}


def _draw_box(ax: Axes, page: Page, box: Box, style: LabelStyle, linewidth: float) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - heavy

    x1, y1, x2, y2 = _frame(page, box)
    unit = page.size[0] / 520  # a point, about, when the page is as wide as a column of paper
    outsets = (0.0, 2.4 * unit) if style.line == "double" else (unit,)
    width = 1.0 if style.line == "double" else style.width
    strength = 0.8 if style.family in ("text", "code") else 1.0
    for n, out in enumerate(outsets):
        ax.add_patch(
            Rectangle(
                (x1 - out, y1 - out),
                x2 - x1 + 2 * out,
                y2 - y1 + 2 * out,
                linewidth=width * linewidth,
                linestyle=_LINES[style.line],
                edgecolor=(style.paper, strength),
                facecolor=(style.paper, 0.06 if style.fill and not n else 0.0),
            )
        )


def _frame(page: Page, box: Box) -> tuple[float, float, float, float]:
    width, height = page.size
    x1, y1, x2, y2 = box
    return x1 / COORD_MAX * width, y1 / COORD_MAX * height, x2 / COORD_MAX * width, y2 / COORD_MAX * height


def _draw_tag(ax: Axes, page: Page, number: int, side: str) -> None:
    block = page.blocks[number - 1]
    if block.box is None:
        return
    x1, y1, x2, _y2 = _frame(page, block.box)
    ax.annotate(
        tag_of(number, block.label),
        (x2 if side == "corner" else x1, y1),
        xytext={"left": (-5, 1), "inside": (1, -1)}.get(side, (-1, -1)),
        textcoords="offset points",
        ha="left" if side == "inside" else "right",
        va="top",
        fontsize=6.5,
        family="monospace",
        weight="bold",
        color=label_style(block.label).paper,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": (1, 1, 1, 0.85), "edgecolor": "none"},
        annotation_clip=False,
        parse_math=False,
    )


def _draw_unread(ax: Axes, page: Page, region: Box) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - heavy

    x1, y1, x2, y2 = _frame(page, region)
    ax.add_patch(
        Rectangle(
            (x1, y1),
            x2 - x1,
            y2 - y1,
            facecolor=(1, 0.96, 0.88, 0.3),
            edgecolor=("#8a5200", 0.35),
            hatch="/",
            linewidth=0,
        )
    )
    ax.plot([x1, x2], [y1, y1], linestyle=(0, (4, 2)), linewidth=1, color="#8a5200")
    ax.annotate(
        "not read",
        (x1, y2),
        xytext=(8, 8),
        textcoords="offset points",
        fontsize=8,
        weight="bold",
        color="#8a5200",
        bbox={"boxstyle": "square,pad=0.3", "facecolor": (1, 1, 1, 0.9), "edgecolor": "none"},
    )
