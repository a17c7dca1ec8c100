"""What a figure of a page is made of, as matplotlib's artists: sheet, boxes, tags, reading order, what was not read."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import COORD_MAX, Status
from uocr_nb.views.boxes import place_tags, unread
from uocr_nb.views.fonts import MONO, Lettering
from uocr_nb.views.labels import label_style, tag_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from uocr_nb.document.model import Box, Page
    from uocr_nb.views.labels import LabelStyle

__all__ = ["PAPER", "Sheet", "draw_box", "draw_order", "draw_page", "draw_tags", "draw_unread", "extent"]

PAPER = (707, 1000)
"""Size in pixels of a page that was never drawn: a sheet of A4."""

EDGE = "#868d95"
_WARNING = "#8a5200"
_TOP = 12
"""Thousandths of the page above a box in which no tag has room."""

_LINES: dict[str, Any] = {"solid": "-", "double": "-", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.5))}
_PAGE_POINTS = 504.0
"""Width in points of a page as it fills a sheet of paper; line widths and letters are made for it."""

_READABLE = 144.0
"""Width in points of a page whose tags can be read."""

_NOMINAL = 333.0
"""Width in px of the page for which `place_tags` decides."""

_LETTER = 10.0
"""Size in px of letters there."""


def extent(page: Page) -> tuple[int, int]:
    """Width and height of the page in pixels, also of one that was never drawn."""
    return page.size if min(page.size) > 0 else PAPER


@dataclass(frozen=True)
class Sheet:
    """Where a page lies on its axes.

    Attributes
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    page : Page
        The page.
    letters : Lettering
        Chooses the fonts.
    left, top : float
        Where the page's top left corner lies, in the units of the axes.
    unit : float
        Units of the axes in a pixel of the page image.
    linewidth : float
        Factor on the width of all lines.
    """

    ax: Axes
    page: Page
    letters: Lettering
    left: float = 0.0
    top: float = 0.0
    unit: float = 1.0
    linewidth: float = 1.0

    def frame(self, box: Box) -> tuple[float, float, float, float]:
        """`box` in the units of the axes."""
        width, height = extent(self.page)
        across, along = width * self.unit / COORD_MAX, height * self.unit / COORD_MAX
        x1, y1, x2, y2 = box
        return self.left + x1 * across, self.top + y1 * along, self.left + x2 * across, self.top + y2 * along

    def seen(self, box: Box) -> tuple[float, float, float, float] | None:
        """The part of `box` that lies in what the axes show."""
        x1, y1, x2, y2 = self.frame(box)
        left, right, top, bottom = self.window
        if x2 < left or x1 > right or y2 < top or y1 > bottom:
            return None
        return max(x1, left), max(y1, top), min(x2, right), min(y2, bottom)

    @cached_property
    def window(self) -> tuple[float, float, float, float]:
        """What the axes show: left, right, top, bottom."""
        left, right = sorted(self.ax.get_xlim())
        top, bottom = sorted(self.ax.get_ylim())
        return left, right, top, bottom

    @cached_property
    def points(self) -> float:
        """Width of the whole page in points (1/72 inch), as the axes stand now."""
        area = self.ax.get_window_extent()
        left, right, top, bottom = self.window
        pixels = min(area.width / max(right - left, 1e-9), area.height / max(bottom - top, 1e-9))
        return float(pixels * extent(self.page)[0] * self.unit * 72 / self.ax.figure.dpi)

    @cached_property
    def scale(self) -> float:
        """Factor on lines: they grow and shrink with the page, but stay lines."""
        return min(max(self.points / _PAGE_POINTS, 0.45), 2.0) * self.linewidth

    @cached_property
    def size(self) -> float:
        """Of letters, in points: as large as the margin of a small page has room for."""
        points = self.points
        # No font can be drawn with less than a pixel.
        least = max(2.0, 90 / self.ax.figure.dpi)
        return max(min(6.0, 0.026 * points), 6.0 * points / _PAGE_POINTS, least)

    def name(self, what: str) -> str:
        """The label of an artist; one that begins so stands in no legend."""
        return f"_uocr {self.page.position} {what}"

    @cached_property
    def earlier(self) -> dict[str, list[Artist]]:
        """What earlier calls have drawn of this page, by name."""
        found: dict[str, list[Artist]] = {}
        artists: list[Artist] = [*self.ax.patches, *self.ax.lines, *self.ax.texts]
        for artist in artists:
            if str(artist.get_label()).startswith(self.name("")):
                found.setdefault(str(artist.get_label()), []).append(artist)
        return found

    def clear(self, what: str) -> bool:
        """Take away what an earlier call has drawn under that name, and tell whether there was something."""
        old = self.earlier.pop(self.name(what), [])
        for artist in old:
            artist.remove()
        return bool(old)

    def add(self, artist: Artist) -> None:
        """Add an artist; the limits of the axes do not follow it."""
        self.ax.add_artist(artist)

    def rectangle(self, frame: tuple[float, float, float, float], what: str, **look: Any) -> None:
        """Add a rectangle."""
        from matplotlib.patches import Rectangle  # noqa: PLC0415 - heavy

        x1, y1, x2, y2 = frame
        self.add(Rectangle((x1, y1), x2 - x1, y2 - y1, label=self.name(what), **look))


def draw_page(sheet: Sheet, picture: Any) -> None:
    """Put the page on empty axes: the picture if there is one, else blank paper, and the edge of the paper.

    White paper on a white slide has no end without its edge.
    """
    width, height = extent(sheet.page)
    drawn = sheet.clear("paper")
    sheet.rectangle(
        sheet.frame((0, 0, COORD_MAX, COORD_MAX)),
        "paper",
        facecolor="white" if picture is None else "none",
        edgecolor=EDGE,
        linewidth=0.6 * sheet.linewidth,
        clip_on=False,
        zorder=0.5,
    )
    if drawn:
        return
    if picture is not None:
        _add_picture(sheet.ax, picture, (0, width, height, 0))
    sheet.ax.set_xlim(0, width)
    sheet.ax.set_ylim(height, 0)
    sheet.ax.set_aspect("equal")


def _add_picture(ax: Axes, picture: Any, place: tuple[float, float, float, float]) -> None:
    import numpy as np  # noqa: PLC0415 - heavy
    from matplotlib.image import AxesImage  # noqa: PLC0415 - heavy

    class Picture(AxesImage):
        """Is smoothed where it is made smaller, and goes as it is into files of lines that would only enlarge it."""

        def draw(self, renderer: Any) -> None:
            wide = self.get_window_extent().width * renderer.get_image_magnification()
            enlarged = wide > self.get_size()[1] and renderer.option_scale_image()
            if (how := "none" if enlarged else "antialiased") != self.get_interpolation():
                self.set_interpolation(how)
            super().draw(renderer)

    image = Picture(ax, extent=place, interpolation="antialiased", origin="upper")
    image.set_data(np.asarray(picture))
    image.set_clip_path(ax.patch)
    ax.add_image(image)


def draw_box(sheet: Sheet, number: int, box: Box) -> None:
    """Draw the lines of one block, as its label has them."""
    style = label_style(sheet.page.blocks[number - 1].label)
    what = f"block {number}"
    sheet.clear(what)
    if sheet.seen(box) is None:
        return
    x1, y1, x2, y2 = sheet.frame(box)
    scale = sheet.scale
    point = extent(sheet.page)[0] * sheet.unit / sheet.points * scale
    double = style.line == "double"
    strength = 0.8 if style.family in ("text", "code") else 1.0
    for n, out in enumerate((0.0, 2.4 * point) if double else (point,)):
        sheet.rectangle(
            (x1 - out, y1 - out, x2 + out, y2 + out),
            what,
            linewidth=(1.0 if double else style.width) * scale,
            linestyle=_LINES[style.line],
            edgecolor=(style.paper, strength),
            facecolor=(style.paper, 0.06 if style.fill and not n else 0.0),
        )


def draw_tags(sheet: Sheet, boxes: dict[int, Box], *, codes: bool | None) -> None:
    """Write number and code beside each box; where nobody chose, on pages that are large enough to read them."""
    codes = sheet.points >= _READABLE if codes is None else codes
    width, height = extent(sheet.page)
    nominal = sheet.points / sheet.size * _LETTER / _NOMINAL
    larger = {n: _times(box, nominal) for n, box in boxes.items()} if codes else {}
    tags = place_tags(larger, height / width)
    for number, box in boxes.items():
        sheet.clear(f"tag {number}")
        seen = sheet.seen(box)
        if number not in tags or seen is None:
            continue
        # Where the margin has no room, a tag on top of its box hides less than one inside it.
        room = (seen[0] - sheet.window[0]) / extent(sheet.page)[0] / sheet.unit * sheet.points
        side = "inside" if room < sheet.size * 0.62 * len(tag_of(number, "xx")) else tags[number].side
        if side == "inside":
            side = "inside" if box[1] < _TOP else "above"
        _write_tag(sheet, number, seen, side, tags[number].down * sheet.size / _LETTER)


def _times(box: Box, factor: float) -> Box:
    x1, y1, x2, y2 = box
    return round(x1 * factor), round(y1 * factor), round(x2 * factor), round(y2 * factor)


def _write_tag(sheet: Sheet, number: int, seen: tuple[float, float, float, float], side: str, down: float) -> None:
    label = sheet.page.blocks[number - 1].label
    style: LabelStyle = label_style(label)
    text, font = sheet.letters(tag_of(number, label), MONO, "bold")
    across, up = {"left": (-2.6, 0.4), "above": (0.0, 0.8), "inside": (1.2, -1.2)}.get(side, (-1.2, -1.2))
    rel = sheet.size / 6
    down = 0.0 if side == "above" else down
    sheet.ax.annotate(
        text,
        (seen[2] if side == "corner" else seen[0], seen[1]),
        xytext=(across * rel, up * rel - down),
        textcoords="offset points",
        ha="left" if side in ("inside", "above") else "right",
        va="bottom" if side == "above" else "top",
        fontsize=sheet.size,
        color=style.paper,
        bbox={"boxstyle": "square,pad=0.02", "facecolor": (1, 1, 1, 0.85), "edgecolor": "none"},
        annotation_clip=False,
        label=sheet.name(f"tag {number}"),
        zorder=4,
        **font,
    )


def draw_order(sheet: Sheet, boxes: dict[int, Box], order: str | None) -> None:
    """Show the reading order: the number of each block at its middle, with arrows from block to block for a path."""
    sheet.clear("order")
    middles = {}
    for number, box in boxes.items() if order else ():
        seen = sheet.seen(box)
        if seen is not None:
            middles[number] = ((seen[0] + seen[2]) / 2, (seen[1] + seen[3]) / 2)
    if order == "path":
        _draw_path(sheet, list(middles.values()))
    size = sheet.size
    for number, middle in middles.items():
        text, font = sheet.letters(str(number), MONO, "bold")
        sheet.ax.annotate(
            text,
            middle,
            ha="center",
            va="center",
            fontsize=size if number < 100 else 0.85 * size,
            color="white",
            bbox={
                "boxstyle": f"circle,pad={0.28 if number > 9 else 0.45}",
                "facecolor": label_style(sheet.page.blocks[number - 1].label).paper,
                "edgecolor": "white",
                "linewidth": 0.8 * sheet.scale,
            },
            annotation_clip=False,
            label=sheet.name("order"),
            zorder=6,
            **font,
        )


def _draw_path(sheet: Sheet, middles: list[tuple[float, float]]) -> None:
    from matplotlib.patches import FancyArrowPatch  # noqa: PLC0415 - heavy

    size = sheet.size
    for start, end in pairwise(middles):
        sheet.add(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="-|>",
                mutation_scale=1.1 * size,
                shrinkA=0,
                shrinkB=1.0 * size,
                linewidth=1.3 * sheet.scale,
                color=("#1565c0", 0.7),
                label=sheet.name("order"),
                zorder=5,
            )
        )


def draw_unread(sheet: Sheet) -> None:
    """Hatch what the model did not reach, and say so; with the reason where that is the whole page."""
    sheet.clear("not read")
    page = sheet.page
    regions = [seen for region in unread(page) if (seen := sheet.seen(region)) is not None]
    size = max(1.25 * sheet.size, 5.0)
    hatch = "/" if sheet.points > 300 else "//"
    for n, (x1, y1, x2, y2) in enumerate(regions):
        ground, line = (1, 0.96, 0.88, 0.3), (_WARNING, 0.35)
        sheet.rectangle((x1, y1, x2, y2), "not read", facecolor=ground, edgecolor=line, hatch=hatch, linewidth=0)
        sheet.add(_line((x1, x2), (y1, y1), sheet))
        if n < len(regions) - 1:
            continue
        words = "not read"
        if page.status in (Status.FAILED, Status.MISSING) and page.reason:
            words = f"{page.status}: {page.reason}"
        text, font = sheet.letters(words, weight="bold")
        room = max(int(0.85 * sheet.points / (0.62 * size)), 8)
        sheet.ax.annotate(
            "\n".join(textwrap.wrap(text, room, max_lines=6, placeholder=" ...")),
            (x1, max(y1, y2)),
            xytext=(size, size),
            textcoords="offset points",
            va="bottom",
            fontsize=size,
            color=_WARNING,
            bbox={"boxstyle": "square,pad=0.3", "facecolor": (1, 1, 1, 0.9), "edgecolor": "none"},
            annotation_clip=False,
            label=sheet.name("not read"),
            zorder=4,
            **font,
        )


def _line(xs: tuple[float, float], ys: tuple[float, float], sheet: Sheet) -> Any:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - heavy

    name = sheet.name("not read")
    return Line2D(xs, ys, linestyle=(0, (4, 2)), linewidth=sheet.scale, color=_WARNING, label=name)
