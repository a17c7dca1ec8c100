"""HTML with places whose text changes by the second: drawn whole for the notebook's file, and as the changes alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from uocr_nb.markup.safe_html import escape

__all__ = ["Drawn", "Slots"]

_MARK = re.compile("\x00([a-z0-9_-]+)\x00")
_EDGE = "\x00"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing.

    Attributes
    ----------
    shape : str
        The HTML without what changes by the second; while it stays the same, the changes alone are sent.
    text : dict of str to str
        The changing texts by their key, not escaped.
    share : dict of str to float
        The changing widths in per cent, by their key.
    """

    shape: str
    text: dict[str, str] = field(default_factory=dict)
    share: dict[str, float] = field(default_factory=dict)

    @property
    def html(self) -> str:
        """The whole HTML."""
        return _MARK.sub(self._fill, self.shape)

    def _fill(self, found: re.Match[str]) -> str:
        key = found[1]
        return escape(self.text[key]) if key in self.text else f"{self.share[key]:.1f}"


class Slots:
    """Gathers the changing places while HTML is written."""

    def __init__(self) -> None:
        self._text: dict[str, str] = {}
        self._share: dict[str, float] = {}

    def text(self, key: str, text: str, style: str = "", kind: str = "") -> str:
        """Write an element whose text changes."""
        self._text[key] = text
        names = f' class="{kind}"' if kind else ""
        inline = f' style="{style}"' if style else ""
        return f'<span{names} data-f="{key}"{inline}>{_EDGE}{key}{_EDGE}</span>'

    def bar(self, key: str, share: float, style: str) -> str:
        """Write a bar whose width in per cent changes."""
        self._share[key] = min(100.0, max(0.0, share))
        return f'<div data-w="{key}" style="{style};width:{_EDGE}{key}{_EDGE}%"></div>'

    def draw(self, html: str) -> Drawn:
        """Close the drawing."""
        return Drawn(html, dict(self._text), dict(self._share))
