"""What to ask a IIIF image server for: a size that the mode can use, in a way that the server understands."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uocr_nb.sources.sizing import GUNDAM_DPI, SQUARE
from uocr_nb.sources.types import MAX_SIDE

if TYPE_CHECKING:
    from uocr_nb.sources.iiif_image import Info, Service
    from uocr_nb.sources.types import RenderSpec

__all__ = ["Tile", "Tiles", "requests_for", "target"]

A4_INCHES = 11.69
"""Long side of the page that a book's page is taken for, since its true size is seldom known."""

_ENOUGH = 0.85
"""Share of the wanted size that a size on offer may have, so that a far larger one is not fetched for the rest."""

_WHOLE = 60_000_000
"""Pixels up to which a whole picture is fetched rather than its tiles one by one."""

_MOST_TILES = 300


@dataclass(frozen=True)
class Tile:
    """One tile: the addresses to try for it, and where it lies."""

    addresses: tuple[str, ...] = field(repr=False)
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Tiles:
    """A picture that is put together from tiles."""

    width: int
    height: int
    tiles: tuple[Tile, ...]


def target(width: int, height: int, spec: RenderSpec, *, spread: bool = False) -> tuple[int, int]:
    """Size at which a picture is of use in a mode, never above its own.

    A page is taken to be as high as an A4 page, and two pages side by side (`spread`) to be as high together.
    """
    if spec.dpi is None and spec.mode in SQUARE:
        side = float(SQUARE[spec.mode])
        spread = False
    else:
        side = (spec.dpi or GUNDAM_DPI) * A4_INCHES
    reference = min(width, height) if spread and width > height else max(width, height)
    scale = min(1.0, side / reference, MAX_SIDE / max(width, height), math.sqrt(spec.max_pixels / (width * height)))
    return max(1, round(width * scale)), max(1, round(height * scale))


def requests_for(info: Info, spec: RenderSpec, region: str = "full", *, spread: bool = False) -> list[str | Tiles]:
    """What to ask the server for, best first; the next is for servers that refuse what they should give."""
    width, height = info.width, info.height
    part = re.fullmatch(r"(\d+),(\d+),(\d+),(\d+)", region)
    if part:
        x, y, w, h = (int(number) for number in part.groups())
        x, y = min(x, width - 1), min(y, height - 1)
        width, height = max(1, min(w, width - x)), max(1, min(h, height - y))
        region = f"{x},{y},{width},{height}"
        if (x, y, width, height) == (0, 0, info.width, info.height):
            region = "full"
    wanted = target(width, height, spec, spread=spread)
    allowed = _allowed(info, wanted)
    sizes = _ways(info, allowed, (width, height)) if region == "full" or info.level else []
    found: list[str | Tiles] = [_address(info.service, region, size) for size in sizes]
    if region == "full" and not _any_size(info):
        tiles = _tiled(info, wanted)
        whole = [_address(info.service, region, size) for size in _whole(info)]
        offered = _offered(info, wanted)
        enough = offered and max(offered) >= 0.6 * max(wanted)
        named = [_address(info.service, region, size) for size in _as_offered(info, offered)] if offered else []
        large = info.width * info.height > _WHOLE and tiles is not None
        rest: list[str | Tiles] = [*(() if large else whole), *([tiles] if tiles else []), *(whole if large else ())]
        found = [*named, *rest] if enough else [*rest, *named]
    return list(dict.fromkeys(found))


def _any_size(info: Info) -> bool:
    return info.level > 0 or bool(info.features & {"sizeByW", "sizeByWh", "sizeByConfinedWh", "sizeByForcedWh"})


def _allowed(info: Info, wanted: tuple[int, int]) -> tuple[int, int]:
    """`wanted` brought within what the server gives."""
    width, height = wanted
    scale = min(1.0, info.most[0] / width, info.most[1] / height, math.sqrt(info.most[2] / (width * height)))
    if scale == 1:
        return wanted
    return max(1, math.floor(width * scale)), max(1, math.floor(height * scale))


def _ways(info: Info, size: tuple[int, int], whole: tuple[int, int]) -> list[str]:
    """The ways to write a size for this server, best first."""
    width, height = size
    ways = []
    if size == whole:
        ways += _whole(info)
    if info.level >= 2 or "sizeByConfinedWh" in info.features:
        ways.append(f"!{width},{height}")
    ways.append(f"{width},")
    if info.level >= 2 or "sizeByWh" in info.features or info.service.version >= 3:
        ways.append(f"{width},{height}")
    if whole == (info.width, info.height):
        offered = _offered(info, size)
        ways += _as_offered(info, offered) if offered else []
        ways += _whole(info)
    return ways


def _whole(info: Info) -> list[str]:
    limited = any(limit != math.inf for limit in info.most)
    return ["max"] if info.service.version >= 3 else ["max", "full"] if limited else ["full", "max"]


def _offered(info: Info, wanted: tuple[int, int]) -> tuple[int, int] | None:
    """Of the sizes on offer the least that is enough, or the largest."""
    fit = sorted((size for size in info.sizes if max(size) <= 2 * MAX_SIDE and _allowed(info, size) == size), key=max)
    return next((size for size in fit if max(size) >= _ENOUGH * max(wanted)), fit[-1] if fit else None)


def _as_offered(info: Info, size: tuple[int, int]) -> list[str]:
    both = f"{size[0]},{size[1]}"
    return [both, f"{size[0]},"] if info.service.version >= 3 else [f"{size[0]},", both]


def _tiled(info: Info, wanted: tuple[int, int]) -> Tiles | None:
    """The tiles that make up the picture at the least of their scales that is enough."""
    plans = []
    for width, height, factors in info.tiles:
        for factor in factors:
            whole = math.ceil(info.width / factor), math.ceil(info.height / factor)
            count = math.ceil(whole[0] / width) * math.ceil(whole[1] / height)
            if count <= _MOST_TILES:
                plans.append((max(whole) < _ENOUGH * max(wanted), abs(max(whole) - max(wanted)), width, height, factor))
    if not plans:
        return None
    _, _, width, height, factor = min(plans)
    whole = math.ceil(info.width / factor), math.ceil(info.height / factor)
    tiles = [
        _tile(info, (x, y), (width, height), factor)
        for y in range(0, whole[1], height)
        for x in range(0, whole[0], width)
    ]
    return Tiles(*whole, tuple(tiles))


def _tile(info: Info, place: tuple[int, int], size: tuple[int, int], factor: int) -> Tile:
    x, y = place[0] * factor, place[1] * factor
    width, height = min(size[0] * factor, info.width - x), min(size[1] * factor, info.height - y)
    shown = math.ceil(width / factor), math.ceil(height / factor)
    regions = [f"{x},{y},{width},{height}"]
    if (width, height) == (info.width, info.height):
        regions.insert(0, "full")
    addresses = tuple(_address(info.service, region, way) for region in regions for way in _as_offered(info, shown))
    return Tile(addresses, *place, *shown)


def _address(service: Service, region: str, size: str) -> str:
    quality = "native" if service.version < 2 else "default"
    return f"{service.base}/{region}/{size}/0/{quality}.jpg"
