"""The parts of the sample that are drawn: a bar chart, a table with spanning cells, a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymupdf

from uocr_nb.samples import article
from uocr_nb.samples.typeset import INK, Paper, Style, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CHART_HEIGHT", "draw_chart", "draw_formula", "draw_table", "formula_size", "table_height"]

Rect = tuple[float, float, float, float]

LABEL = Style(8.5, 10, font="helv", color=INK)
CELL = Style(9.5, 12, font="helv")
HEAD = Style(9.5, 12, font="hebo")
BARS = {"Preview": (0.72, 0.79, 0.87), "Office": (0.29, 0.5, 0.73), "Archive": (0.11, 0.25, 0.49)}
GRID = (0.62, 0.65, 0.69)
TINT = (0.93, 0.945, 0.96)
CHART_HEIGHT = 168.0
ROW = 18.5
COLUMNS = (78.0, 78.0, 78.0, 78.0, 85.0, 86.0)
A4_INCHES = (210 / 25.4, 297 / 25.4)


@dataclass(frozen=True)
class Span:
    """A cell of the table: text, first row and column, rows and columns it reaches over."""

    text: str
    row: int
    col: int
    rows: int = 1
    cols: int = 1
    head: bool = False


def table_cells() -> list[Span]:
    """Return the cells row by row; the numbers are worked out here, so they are right."""
    cells = [
        Span("Use", 0, 0, rows=2, head=True),
        Span("Dots per inch", 0, 1, rows=2, head=True),
        Span("Size in pixels", 0, 2, cols=2, head=True),
        Span("Megabytes, uncompressed", 0, 4, cols=2, head=True),
        *(Span(name, 1, 2 + index, head=True) for index, name in enumerate(("Width", "Height", "Grey", "Colour"))),
    ]
    row = 2
    for use, resolutions in article.RESOLUTIONS:
        cells.append(Span(use, row, 0, rows=len(resolutions)))
        for dpi in resolutions:
            width, height = (round(side * dpi) for side in A4_INCHES)
            grey = width * height / 1e6
            values = (str(dpi), f"{width:,}", f"{height:,}", f"{grey:.2f}", f"{3 * grey:.2f}")
            cells += [Span(value, row, 1 + index) for index, value in enumerate(values)]
            row += 1
    return cells


def table_height(cells: Sequence[Span]) -> float:
    """Points."""
    return ROW * max(cell.row + cell.rows for cell in cells)


def draw_table(paper: Paper, cells: Sequence[Span], x: float, y: float) -> None:
    """Draw the table with its top left corner at (x, y), points."""
    lefts = [x + sum(COLUMNS[:index]) for index in range(len(COLUMNS) + 1)]
    for cell in cells:
        left, right = lefts[cell.col], lefts[cell.col + cell.cols]
        top, bottom = y + cell.row * ROW, y + (cell.row + cell.rows) * ROW
        fill = TINT if cell.head else None
        paper.page.draw_rect(pymupdf.Rect(left, top, right, bottom), color=GRID, fill=fill, width=0.5)
        style = HEAD if cell.head else CELL
        baseline = (top + bottom) / 2 + 0.35 * style.size
        if cell.col == 0 or (cell.head and cell.row == 0):
            centre = cell.head and cell.cols > 1
            paper.put(cell.text, (left + right) / 2 if centre else left + 8, baseline, style, align=0.5 * centre)
        else:
            paper.put(cell.text, right - 14, baseline, style, align=1.0)
    edge = (x, y, lefts[-1], y + table_height(cells))
    paper.page.draw_rect(pymupdf.Rect(edge), color=INK, width=0.9)
    paper.truth.append(("table", "\t".join(cell.text for cell in cells)))


def draw_chart(paper: Paper, x: float, y: float, width: float) -> None:
    """Draw the bar chart in a place of `width` by CHART_HEIGHT points."""
    texts: list[str] = []

    def label(text: str, at: tuple[float, float], align: float) -> None:
        paper.put(text, *at, LABEL, align=align)
        texts.append(text)

    left, right, top, base = x + 26, x + width, y + 24, y + CHART_HEIGHT - 30
    scale = (base - top) / 28
    label("Height in pixels", (x, y + 9), 0.0)
    for tick in (0, 10, 20):
        height = base - tick * scale
        paper.rule(left, right, height, color=GRID if tick else INK, width=0.4 if tick else 0.9)
        label(str(tick), (left - 6, height + 3), 1.0)
    bars = [(use, dpi) for use, resolutions in article.RESOLUTIONS for dpi in resolutions]
    step = (right - left) / len(bars)
    for index, (use, dpi) in enumerate(bars):
        middle = left + (index + 0.5) * step
        value = article.X_HEIGHT / 72 * dpi
        bar = pymupdf.Rect(middle - 0.31 * step, base - value * scale, middle + 0.31 * step, base)
        paper.page.draw_rect(bar, color=None, fill=BARS[use], width=0)
        paper.page.draw_rect(
            pymupdf.Rect(middle - 10, bar.y0 - 12, middle + 10, bar.y0 - 2), color=None, fill=(1, 1, 1)
        )
        label(f"{value + 1e-6:.1f}", (middle, bar.y0 - 4), 0.5)  # halves go up, as people expect
        label(str(dpi), (middle, base + 12), 0.5)
    label("Resolution in dots per inch", ((left + right) / 2, base + 26), 0.5)
    _legend(paper, right, y + 9, texts)
    paper.truth.append(("chart", "\t".join(texts)))


def _legend(paper: Paper, right: float, baseline: float, texts: list[str]) -> None:
    names = [use for use, _ in article.RESOLUTIONS]
    at = right - sum(text_width(name, LABEL.font, LABEL.size) + 20 for name in names) + 8
    for name in names:
        paper.page.draw_rect(pymupdf.Rect(at, baseline - 6, at + 6, baseline), color=None, fill=BARS[name], width=0)
        paper.put(name, at + 9, baseline, LABEL)
        at += text_width(name, LABEL.font, LABEL.size) + 20
        texts.append(name)


def _outline(latex: str, size: float) -> Any:
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 - heavy
    from matplotlib.textpath import TextPath  # noqa: PLC0415

    # Curves are flattened when they are read as polygons; ten times the size keeps them smooth.
    return TextPath((0, 0), f"${latex}$", size=10 * size, prop=FontProperties(math_fontfamily="stix"))


def formula_size(latex: str, size: float) -> tuple[float, float]:
    """Return width and height in points of a formula set at `size` points."""
    box = _outline(latex, size).get_extents()
    return box.width / 10, box.height / 10


def draw_formula(paper: Paper, latex: str, size: float, centre: float, top: float) -> None:
    """Draw a formula as outlines, centred on `centre`, its upper edge at `top`, points."""
    outline = _outline(latex, size)
    box = outline.get_extents()
    x0, y0 = centre - box.width / 20, top + box.y1 / 10
    shape = paper.page.new_shape()
    for polygon in outline.to_polygons():
        shape.draw_polyline([(x0 + (x - box.x0) / 10, y0 - y / 10) for x, y in polygon])
    shape.finish(color=None, fill=INK, even_odd=True, width=0)
    shape.commit()
    paper.truth.append(("equation", latex))
