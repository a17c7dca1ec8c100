"""Pieces of the serve panel: its buttons and lines, and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.markup.safe_html import escape
from uocr_nb.views.styles import HAIR, MONO, SECOND, TINT_ERROR, TINT_WARNING
from uocr_nb.views.words import count

if TYPE_CHECKING:
    from uocr_nb.views.serve_state import LogLine, PanelState
    from uocr_nb.views.slots import Slots

__all__ = ["button", "folded_log", "line_html", "open_log"]


def button(key: str, label: str, tone: str = "plain", *, ask: str = "") -> str:
    """Write what becomes a button where the script runs, and is not there where it does not.

    Parameters
    ----------
    key : str
        What a press tells.
    label : str
        Its words.
    tone : str
        ``main``, ``plain``, ``quiet`` or ``stop``.
    ask : str
        Words that take the place of the label at the first press; the second one counts.
    """
    more = f' data-ask="{escape(ask)}"' if ask else ""
    return (
        f'<span class="uo-btn" data-a="{escape(key)}" data-tone="{tone}"{more} style="display:none">'
        f"{escape(label)}</span>"
    )


def line_html(left: str, right: str) -> str:
    """Set one line: what is read first on the left, what counts on the right."""
    return (
        '<div class="uo-line" style="padding:7px 14px;min-height:26px;line-height:26px">'
        f'<div class="uo-right" style="float:right;margin:0 0 0 12px">{right}</div>'
        f'<div class="uo-first">{left}</div><div style="clear:both"></div></div>'
    )


def _log_rows(lines: tuple[LogLine, ...]) -> str:
    return "".join(map(_log_row, lines))


def _log_row(line: LogLine) -> str:
    tint = {"warn": f";background-color:{TINT_WARNING}", "error": f";background-color:{TINT_ERROR}"}.get(line.tone, "")
    level = f"{line.level:<5} " if line.level else ""
    strong = f"<b>{escape(level)}</b>" if line.tone in ("warn", "error") and level else escape(level)
    kind = f" uo-{line.tone}" if line.tone else ""
    return (
        f'<span class="uo-row{kind}" style="display:block{tint}">'
        f'<span class="uo-time" style="{SECOND}">{line.clock}</span> {strong}{escape(line.text)}</span>'
    )


def _log_pane(state: PanelState) -> str:
    return (
        '<pre class="uo-log" style="margin:0;padding:6px 14px 8px;height:auto;max-height:176px;overflow:auto;'
        f"white-space:pre-wrap;overflow-wrap:break-word;font-family:{MONO};font-size:11px;line-height:18px;"
        f'background-color:transparent;border:0;border-top:{HAIR}">{_log_rows(state.log)}</pre>'
    )


def _log_head(state: PanelState, slots: Slots) -> str:
    words = slots.text("lines", count(state.log_count, "line"), SECOND)
    tools = (
        '<span class="uo-field" data-k="find" data-kind="search" data-hint="Find in log" style="display:none"></span>'
        f"{button('copy', 'Copy all', 'quiet')}"
    )
    return line_html(f'<span style="margin:0 10px 0 0">Log</span>{words}', tools)


def open_log(state: PanelState, slots: Slots) -> str:
    """Draw the log of a start."""
    if not state.log:
        return ""
    return f'<div style="border-top:{HAIR}">{_log_head(state, slots)}{_log_pane(state)}</div>'


def folded_log(state: PanelState, slots: Slots) -> str:
    """Draw the log folded away."""
    if not state.log:
        return ""
    return (
        f'<details class="uo-fold" style="margin:0;padding:0"><summary style="padding:0 14px 6px;cursor:pointer;'
        f'{SECOND}">Log, last {count(len(state.log), "line")}</summary>'
        f'<div style="border-top:{HAIR}">{_log_head(state, slots)}{_log_pane(state)}</div></details>'
    )
