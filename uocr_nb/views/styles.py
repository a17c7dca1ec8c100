"""Pieces of inline style that several views share.

JupyterLab drops style elements, variables and many properties from a notebook it does not trust, so the stored form
says everything inline, with hex colours that carry their own strength: grounds stay transparent and ink is inherited,
and one HTML serves light and dark.
"""

from __future__ import annotations

__all__ = [
    "ACCENT",
    "CODE",
    "HAIR",
    "MONO",
    "ONLY",
    "ROOT",
    "SECOND",
    "TINT_ERROR",
    "TINT_WARNING",
    "code",
    "fact",
    "icon_line",
    "leads",
    "second",
]

from uocr_nb.markup.safe_html import escape

HAIR = "1px solid #8080805c"
"""A hairline: one grey at 36 %."""

MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"

ROOT = "box-sizing:border-box;margin:2px 0;font-size:13px;line-height:20px;white-space:normal"

SECOND = "opacity:0.78"
"""Secondary ink: inherited, so that it fits any theme, and still 4.5:1 on JupyterLab's grounds."""

ACCENT = "#3d82c8"
"""What is going on now: at least 3:1 on white and on #111."""

CODE = f"font-family:{MONO};font-size:12px;background-color:transparent;padding:0"

ONLY = {
    "A": "background-color:#e6a81a45;border-bottom:2px dashed #a9761a",
    "B": "background-color:#3d82c83d;border-bottom:2px solid #3d82c8",
}
"""What stands on one side alone: a ground, and a line under it that tells the sides apart without colour."""

TINT_WARNING = "#e6a81a26"
TINT_ERROR = "#e0453c17"


def code(text: str) -> str:
    """Something to paste."""
    return f'<code style="{CODE}">{escape(text)}</code>'


def second(text: str) -> str:
    """Words in secondary ink."""
    return f'<span style="{SECOND}">{escape(text)}</span>'


def leads(words: str, line: str) -> str:
    """Words, and the line that shows or does what they say."""
    return f"{second(words)} {code(line)}"


def fact(html: str, *, ink: str = "second", kind: str = "", wraps: bool = False) -> str:
    """Set one fact of a line of several apart; the line may break after it, and inside it when it `wraps`.

    Parameters
    ----------
    html : str
        The fact.
    ink : str
        ``second`` ink, ``first`` ink, or ``strong``.
    kind : str
        A class.
    wraps : bool
        Whether it is long.
    """
    style = ("" if wraps else ";white-space:nowrap") + {"second": f";{SECOND}", "strong": ";font-weight:600"}.get(
        ink, ""
    )
    name = f' class="{kind}"' if kind else ""
    return f'<span{name} style="margin:0 8px 0 0{style}">{html}</span> '


def icon_line(icon: str, html: str, style: str = "") -> str:
    """Make a line with an icon in front of it, and its further lines under its first word."""
    return (
        f'<div style="position:relative;padding:0 0 0 22px;margin:0;{style}">'
        f'<span style="position:absolute;left:0;top:0">{icon}</span>{html}</div>'
    )
