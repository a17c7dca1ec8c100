"""The few icons: small pictures as data URIs, because JupyterLab takes svg elements out of an untrusted notebook.

The word always stands beside the icon, so an icon that a front end drops loses nothing.
"""

from __future__ import annotations

from functools import cache
from urllib.parse import quote

from uocr_nb.document.model import Status
from uocr_nb.views.labels import status_hue

__all__ = ["ERROR", "GOOD", "INFO", "WARNING", "hatch", "icon", "status_icon", "white_icon"]

INFO = "#7d858e"
GOOD = "#2b8a55"
WARNING = "#a9761a"
ERROR = "#d2544b"

_SHAPES = {
    "tick": '<path d="M3 8.5 6.5 12 13 4.5"/>',
    "info": '<circle cx="8" cy="8" r="6"/><path d="M8 7.4v3.4M8 5v.4"/>',
    "warning": '<path d="M8 2.2 14.4 13.6H1.6zM8 6.6v3.2M8 11.6v.2"/>',
    "cross": '<path d="m4 4 8 8m0-8-8 8"/>',
    "loop": '<path d="M13.2 8.6A5.3 5.3 0 1 1 11.7 4.2M12.2 1.6v3.2H9"/>',
    "cut": '<path d="M2.5 3.5h11M2.5 8h11M2.5 12.5h4.5"/>',
    "sheet": '<path d="M4 2h5.5L12.5 5v9H4z"/>',
    "dashed": '<path stroke-dasharray="2.6 2" d="M2.7 2.7h10.6v10.6H2.7z"/>',
    "missing": '<circle cx="8" cy="8" r="6" stroke-dasharray="1.2 2.2"/><path d="M8 4.8v4M8 11v.3"/>',
    "ring": '<path d="M8 2.2A5.8 5.8 0 1 1 2.2 8"/>',
    "dot": '<circle cx="8" cy="8" r="3.2"/>',
    "square": '<path d="M4.2 4.2h7.6v7.6H4.2z"/>',
    "circle": '<circle cx="8" cy="8" r="6.2"/>',
    "chosen": '<circle cx="8" cy="8" r="6.2"/><circle cx="8" cy="8" r="2.2" stroke-width="3"/>',
    "done": '<circle cx="8" cy="8" r="6.2"/><path d="m5 8.3 2.1 2.1 3.9-4.6"/>',
    "halted": '<circle cx="8" cy="8" r="6.2"/><path d="m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4"/>',
    "clock": '<circle cx="8" cy="8" r="6.2"/><path d="M8 4.4V8l2.4 1.6"/>',
}

_OF_STATUS = {
    Status.OK: "tick",
    Status.LOOPING: "loop",
    Status.TRUNCATED: "cut",
    Status.EMPTY: "sheet",
    Status.UNBOXED: "dashed",
    Status.MISSING: "missing",
    Status.FAILED: "cross",
}


def _uri(svg: str) -> str:
    return "data:image/svg+xml," + quote(svg, safe=" '/:=.,-")


@cache
def icon(shape: str, colour: str, size: int = 14) -> str:
    """Make an ``img`` element of `size` px with an empty alternative text (the word stands beside it)."""
    svg = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke='{colour}' stroke-width='1.6' "
        f"stroke-linecap='round' stroke-linejoin='round'>{_SHAPES[shape]}</svg>"
    ).replace('"', "'")
    return (
        f'<img class="uo-icon" alt="" src="{_uri(svg)}" style="display:inline-block;width:{size}px;height:{size}px;'
        'margin:0 5px 0 0;padding:0;border:0;vertical-align:-2px">'
    )


def status_icon(status: Status, size: int = 14) -> str:
    """Draw the icon of a status in its colour."""
    return icon(_OF_STATUS[status], status_hue(status), size)


@cache
def white_icon(status: Status) -> str:
    """Draw the icon of a status for the middle of a tile of its colour, 20 px high."""
    drawn = icon(_OF_STATUS[status], "#ffffff", 10)
    return drawn.replace("display:inline-block", "display:block").replace("margin:0 5px 0 0", "margin:5px auto 0")


@cache
def hatch() -> str:
    """Make an ``img`` element of diagonal hairlines that fills its parent; the pattern keeps its size in any parent."""
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg' width='100%' height='100%'>"
        "<defs><pattern id='h' width='9' height='9' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
        "<path d='M0 0v9' stroke='#8a5200' stroke-opacity='0.45' stroke-width='1.4'/></pattern></defs>"
        "<rect width='100%' height='100%' fill='url(#h)'/></svg>"
    )
    return (
        f'<img alt="" src="{_uri(svg)}" style="position:absolute;left:0;top:0;width:100%;height:100%;margin:0;'
        'max-width:none;padding:0;border:0">'
    )
