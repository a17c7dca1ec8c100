"""All pages of a document in one row of tiles: trouble is seen at once, and a tile leads to its page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from uocr_nb.document.model import Status
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.icons import white_icon
from uocr_nb.views.labels import status_hue
from uocr_nb.views.styles import ACCENT, SECOND

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from uocr_nb.document.model import Page

__all__ = ["MOST", "Tile", "anchor", "bins", "tiles_html", "tiles_of"]

MOST = 120
"""Tiles in one row; from there on a tile stands for several pages and takes the worst of their statuses."""

_WITH_ICON = 60
"""Tiles in a row that are wide enough for an icon."""

_WORST = (
    "failed",
    "missing",
    "truncated",
    "looping",
    "empty",
    "unboxed",
    "reading",
    "waiting",
    "ok",
)
"""What a tile of several pages shows of them."""

_WIDEST = 24
"""Pitch of a tile in px where there are few pages."""

_GROUND = "#2b8a5559"
"""Of a tile that needs nobody: good at 35 %."""


@dataclass(frozen=True)
class Tile:
    """One tile.

    Attributes
    ----------
    first, last : int
        Positions of its pages, from 1.
    state : str
        A status, ``reading`` or ``waiting``: the worst of them.
    link : int or None
        Position of the page that it leads to.
    bad : int
        How many of its pages are not ok.
    """

    first: int
    last: int
    state: str
    link: int | None = None
    bad: int = 0


def anchor(uid: str, position: int) -> str:
    """Name the place of a page in a stored form, unique in the notebook."""
    return f"uo-{''.join(c for c in uid if c.isascii() and c.isalnum())}-p{position}"


def tiles_of(
    total: int, pages: Iterable[Page], reading: Collection[int] = (), linked: Collection[int] = ()
) -> list[Tile]:
    """Tiles of `total` pages: those that have a status, those that are being read; the others wait."""
    states = ["waiting"] * total
    for position in reading:
        if 1 <= position <= total:
            states[position - 1] = "reading"
    for page in pages:
        if 1 <= page.position <= total:
            states[page.position - 1] = str(page.status)
    size = bins(total)
    tiles = []
    for start in range(0, total, size):
        part = states[start : start + size]
        state = min(part, key=_WORST.index)
        bad = sum(s not in ("ok", "reading", "waiting") for s in part)
        targets = [n for n in range(start + 1, start + 1 + len(part)) if n in linked]
        link = min(targets, key=lambda n: _WORST.index(states[n - 1]), default=None)
        tiles.append(Tile(start + 1, start + len(part), state, link, bad))
    return tiles


def bins(total: int) -> int:
    """Pages in one tile."""
    return -(-total // MOST) if total > MOST else 1


def tiles_html(tiles: Sequence[Tile], *, uid: str = "", height: int = 20, axis: bool = False) -> str:
    """Draw the row of tiles; those with a link are links to the anchors of `uid`.

    Parameters
    ----------
    tiles : sequence of Tile
        In order.
    uid : str
        Of the document.
    height : int
        px of the row.
    axis : bool
        Whether numbers of pages stand below; the row of few pages is short then, else it is as wide as its parent.
    """
    if not tiles:
        return ""
    few = len(tiles) <= _WITH_ICON
    if axis:
        runs = [(tile, 1) for tile in tiles]
    else:
        # A bar of many tiles is read as a bar: what is alike runs together, and takes fewer bytes.
        groups = [list(group) for _, group in groupby(tiles, key=lambda tile: tile if few else tile.state)]
        runs = [(group[0], len(group)) for group in groups]
    drawn = "".join(
        _tile(tile, _share(wide, len(tiles)), uid, height, gap=1 if few else 0.5, icon=axis and few)
        for tile, wide in runs
    )
    below = _axis(len(tiles), tiles[0].last, tiles[-1].last) if axis else ""
    widest = f"{_WIDEST * len(tiles)}px" if axis else "100%"
    return (
        f'<div class="uo-tiles" style="max-width:{widest}">'
        f'<div style="overflow:hidden;height:{height}px;margin:0 -1px">{drawn}</div>{below}</div>'
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.4f}".rstrip("0").rstrip(".")


def _tile(tile: Tile, share: str, uid: str, height: int, *, gap: float, icon: bool) -> str:
    bad = tile.state not in ("ok", "reading", "waiting")
    look = {
        "ok": f"background-color:{_GROUND}",
        "reading": f"background-color:{ACCENT}66;border:1px solid {ACCENT}",
        "waiting": "border:1px dashed #80808099",
    }.get(tile.state, f"background-color:{status_hue(Status(tile.state))}" if bad else "")
    inner = white_icon(Status(tile.state)) if bad and icon else ""
    body = (
        f'<div style="height:{height}px;box-sizing:border-box;margin:0 {gap:g}px;overflow:hidden;{look}">{inner}</div>'
    )
    title = f' title="{escape(_name(tile))}"' if uid else ""
    frame = f"float:left;width:{share}%"
    if tile.link is not None and uid:
        href = f"#{anchor(uid, tile.link)}"
        return f'<a class="uo-tile" href="{href}"{title} style="{frame};display:block">{body}</a>'
    return f'<div class="uo-tile"{title} style="{frame}">{body}</div>'


def _name(tile: Tile) -> str:
    if tile.first == tile.last:
        return f"Page {tile.first}, {tile.state}"
    more = f", {tile.bad} not ok" if tile.bad else ""
    return f"Pages {tile.first} to {tile.last}, {tile.state}{more}"


def _axis(tiles: int, size: int, total: int) -> str:
    """Draw the numbers under a row of tiles of `size` pages: the first page, round ones, the last."""
    most = min(6, tiles // 3)  # numbers that fit a narrow output too
    step = next(step for step in _steps() if total <= step * max(most, 1))
    marks = [n for n in range(step, total, step) if total - n > step / 2]
    parts = []
    for n in dict.fromkeys((1, *marks, total)):
        middle = ((n - 1) // size + 0.5) / tiles * 100
        # The ends of the row stand under its ends, or they would reach past it.
        place = f"left:{middle:.2f}%;margin:0 0 0 -20px;text-align:center"
        if tiles * 2 > _WIDEST and n in (1, total):
            place = "left:0;text-align:left" if n == 1 else "right:0;text-align:right"
        parts.append(f'<span style="position:absolute;top:0;width:40px;{place}">{n:,}</span>')
    return (
        f'<div class="uo-axis" style="position:relative;height:16px;margin:3px 0 0;font-size:11px;line-height:16px;'
        f'{SECOND}">{"".join(parts)}</div>'
    )


def _steps() -> Iterable[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10
