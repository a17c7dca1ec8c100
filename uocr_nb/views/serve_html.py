"""The running half of the serve panel as HTML: starting, ready, its last minutes, failed, stopped.

It stands whole without script, with the lines to paste in place of buttons. Where the panel's script runs, it turns
each ``uo-btn`` into a button, and takes away what was meant for a page without it (``uo-static``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.markup.safe_html import escape
from uocr_nb.support.durations import show_clock
from uocr_nb.views.icons import ERROR, GOOD, INFO, WARNING, icon
from uocr_nb.views.messages import ErrorBox
from uocr_nb.views.serve_log import button, folded_log, line_html, open_log
from uocr_nb.views.slots import Drawn, Slots
from uocr_nb.views.styles import HAIR, ROOT, SECOND, TINT_ERROR, TINT_WARNING, code, fact, icon_line, second

if TYPE_CHECKING:
    from uocr_nb.views.serve_state import Figure, PanelState, Stage

__all__ = ["chip", "draw", "root", "static"]

_ACCENT = "#3d82c8"
_TRACK = "#80808059"
_TINT_ACCENT = "#3d82c826"
_ROOT_CLASSES = "tex2jax_ignore mathjax_ignore"
_LONG_URL = 52

_STAGE_ICONS = {
    "done": ("done", GOOD),
    "going": ("ring", _ACCENT),
    "failed": ("halted", ERROR),
    "waiting": ("circle", "#8c939a"),
}
_CHIPS = {
    "ready": ("tick", GOOD, "uo-good", ""),
    "soon": ("clock", WARNING, "uo-warn", TINT_WARNING),
    "failed": ("cross", ERROR, "uo-error", TINT_ERROR),
    "stopped": ("square", INFO, "", ""),
    "stopping": ("ring", INFO, "", ""),
    "starting": ("ring", _ACCENT, "uo-accent", _TINT_ACCENT),
}


def draw(state: PanelState) -> Drawn:
    """Draw the panel at one moment."""
    slots = Slots()
    body = {"failed": _failed, "stopped": _stopped, "ready": _ready, "stopping": _ready, "moved": _moved}
    html = body.get(state.phase, _starting)(state, slots)
    return slots.draw(root(html, state.uid, f"uo-{state.phase}", soon=state.soon))


# ------------------------------------------------------------------ pieces
def root(inner: str, uid: str, kind: str, *, soon: bool = False) -> str:
    """Frame a panel; what drives it finds it by its `uid`."""
    line = "1px solid #e6a81a99" if soon else HAIR
    return (
        f'<div class="uo-serve {kind} {_ROOT_CLASSES}" data-uid="{escape(uid)}" data-view="serve" '
        f'style="{ROOT};border:{line};border-radius:6px;overflow:hidden">{inner}</div>'
    )


def static(html: str) -> str:
    """Mark what is for a page without script."""
    return f'<span class="uo-static" style="{SECOND}">{html}</span>'


def chip(kind: str, html: str) -> str:
    """Draw the status chip; `html` is its word."""
    shape, hue, ink, tint = _CHIPS[kind]
    ground = f";background-color:{tint}" if tint else ""
    turns = "uo-turn" if shape == "ring" else ""
    return (
        f'<span class="uo-chip {ink} {turns}" style="display:inline-block;border:{HAIR};border-radius:11px;'
        f'padding:0 9px 0 7px;margin:0 10px 0 0;line-height:20px;white-space:nowrap{ground}">'
        f"{icon(shape, hue, 12)}{html}</span>"
    )


def _name(state: PanelState) -> str:
    place = f' <span style="{SECOND}">{escape(state.place)}</span>' if state.place else ""
    return f'<span style="margin:0 10px 0 0;white-space:nowrap"><b>{escape(state.name)}</b>{place}</span>'


# ------------------------------------------------------------------ starting
def _starting(state: PanelState, slots: Slots) -> str:
    current = next((stage for stage in state.stages if stage.state == "going"), None)
    link = _job_link(state.job_url)
    right = f"{link}{static(_stop_words(state))}{button('stop', 'Stop', 'stop')}"
    head = line_html(_name(state) + chip("starting", escape(current.name if current else "asked for")), right)
    now = slots.text("now", current.note if current else "", SECOND)
    parts = [f'<div style="border-bottom:{HAIR}">{head}</div>', _stages(state.stages, slots)]
    parts.append(f'<div class="uo-now" style="padding:0 14px 10px;font-size:12px;line-height:16px">{now}</div>')
    parts.append(_figures(state.figures, slots))
    parts += [_note(text) for text in state.notes]
    parts.append(open_log(state, slots))
    gone = "If this stands still, its kernel has gone, and what it started is stopped. Run the cell again."
    parts.append(
        f'<div class="uo-static" style="padding:4px 14px 6px;font-size:12px;line-height:16px;border-top:{HAIR};'
        f'{SECOND}">{gone}</div>'
    )
    return "".join(parts)


def _stop_words(state: PanelState) -> str:
    return "Stop: interrupt the cell" if state.in_cell else f"Stop: {code('%uocr_stop')}"


def _job_link(url: str) -> str:
    if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        return ""
    return (
        f'<a class="uo-link" href="{escape(url)}" target="_blank" rel="noopener noreferrer" '
        f'style="margin:0 14px 0 0;color:inherit">Job page</a>'
    )


def _stages(stages: tuple[Stage, ...], slots: Slots) -> str:
    if not stages:
        return ""
    width = 100 / max(len(stages), 4)
    cells = "".join(_stage(stage, n, width, slots, last=n == len(stages) - 1) for n, stage in enumerate(stages))
    return f'<div class="uo-stages" style="padding:12px 6px 8px 14px">{cells}<div style="clear:both"></div></div>'


def _stage(stage: Stage, n: int, width: float, slots: Slots, *, last: bool) -> str:
    shape, hue = _STAGE_ICONS[stage.state]
    said, strong = "", ""
    if stage.state == "done":
        said = escape(show_clock(stage.seconds))
    elif stage.state == "failed":
        said, strong = f"stopped after {escape(show_clock(stage.seconds))}", ";font-weight:600"
    elif stage.state == "going":
        clock = show_clock(stage.seconds)
        note = f", {stage.told}" if stage.told else ""
        said, strong = slots.text(f"took{n}", clock + note), ";font-weight:600"
    elif stage.note:
        said = f'<span class="uo-wide">{escape(stage.note)}</span>'
    ink = {"failed": " uo-error", "waiting": " uo-second"}.get(stage.state, "")
    dim = f";{SECOND}" if stage.state == "waiting" else ""
    turns = ' class="uo-turn"' if stage.state == "going" else ""
    return (
        f'<div class="uo-stage" style="float:left;width:{width:.4f}%;box-sizing:border-box;padding:0 8px 0 0">'
        f'<div style="position:relative;height:20px"><span{turns}>{icon(shape, hue, 16)}</span>'
        f"{'' if last else _track(stage, n, slots)}</div>"
        f'<div class="uo-name{ink}" style="line-height:18px{strong}{dim}">{escape(stage.name)}</div>'
        f'<div class="uo-took" style="font-size:12px;line-height:16px;{SECOND}">{said}</div></div>'
    )


def _track(stage: Stage, n: int, slots: Slots) -> str:
    filled = ""
    if stage.state == "done":
        filled = f'<div style="height:2px;width:100%;background-color:{GOOD}"></div>'
    elif stage.state == "going":
        filled = slots.bar(f"share{n}", stage.share or 0.0, f"height:2px;background-color:{_ACCENT}")
    return (
        f'<div style="position:absolute;left:22px;right:0;top:9px;height:2px;background-color:{_TRACK}">{filled}</div>'
    )


def _figures(figures: tuple[Figure, ...], slots: Slots) -> str:
    cells = "".join(
        f'<div class="uo-figure{" uo-warn" if figure.warns else ""}" style="float:left;box-sizing:border-box;width:25%;'
        f'min-width:150px;padding:8px 14px;border-left:{HAIR if n else "0"}">'
        f'<div style="font-size:17px;line-height:23px;font-weight:600">{_clock_mark(figure)}'
        f"{slots.text(f'figure{n}', figure.value, kind='uo-number')}</div>"
        f'<div style="font-size:12px;line-height:16px;{SECOND}">{escape(figure.label)}</div></div>'
        for n, figure in enumerate(figures)
    )
    return (
        f'<div class="uo-figures" style="border-top:{HAIR}">{cells}<div style="clear:both"></div></div>'
        if cells
        else ""
    )


def _clock_mark(figure: Figure) -> str:
    return icon("clock", WARNING, 14) if figure.warns else ""


def _note(text: str) -> str:
    return icon_line(icon("warning", WARNING), escape(text), "margin:6px 14px")


# ------------------------------------------------------------------ ready
def _ready(state: PanelState, slots: Slots) -> str:
    hue = WARNING if state.soon else GOOD
    top = ""
    if state.left_share is not None:
        top = (
            f'<div class="uo-left" style="height:2px;background-color:{_TRACK}">'
            f"{slots.bar('left-share', state.left_share, f'height:2px;background-color:{hue}')}</div>"
        )
    if state.phase == "stopping":
        badge = chip("stopping", "stopping")
    elif state.soon:
        badge = chip("soon", f"stops in {slots.text('left', state.left, kind='uo-number')}")
    else:
        badge = chip("ready", "ready")
    middle = second(state.end) if state.end else _address(state.url)
    money = (
        f"{slots.text('spent', state.spent, 'font-weight:600', 'uo-number')} {second('spent') if state.left else ''}"
        if state.spent
        else ""
    )
    left = f"{slots.text('left', state.left, 'font-weight:600', 'uo-number')} {second('left')}" if state.left else ""
    facts = "".join(fact(part, ink="first") for part in ("" if state.soon else left, money) if part)
    stop = "" if state.phase == "stopping" else button("stop", "Stop", "stop", ask=state.stop_ask)
    tools = button("log", "Log", "quiet") if state.log and not state.soon else ""
    another = "".join(button(step.key, step.label) for step in state.steps)
    words = static(f"{code('%uocr_status')} {code('%uocr_stop')}")
    line = line_html(badge + _name(state) + middle, f"{facts}{words}{tools}{another}{stop}")
    return top + line + "".join(_note(text) for text in state.notes) + folded_log(state, slots)


def _address(url: str) -> str:
    if not url:
        return ""
    short = url if len(url) <= _LONG_URL else f"{url[:10]}…{url[-(_LONG_URL - 16) :]}"
    return (
        f'<span style="white-space:nowrap" title="{escape(url)}">{code(short)}</span> '
        f"{button('copy-url', 'Copy', 'quiet')}"
    )


def _moved(state: PanelState, _slots: Slots) -> str:
    words = "It is shown again in a newer output, which goes on."
    return line_html(chip("ready", "ready") + _name(state) + second(words), "")


# ------------------------------------------------------------------ the end
def _failed(state: PanelState, slots: Slots) -> str:
    cost = second(f"cost {state.cost}") if state.cost else ""
    head = line_html(_name(state) + chip("failed", "failed"), cost)
    what, why, then = state.error
    lines = "".join(f'<div style="margin:4px 0 0">{second(step.label)} {code(step.line)}</div>' for step in state.steps)
    buttons = "".join(button(step.key, step.label, "main" if step.main else "plain") for step in state.steps)
    tools = button("log", "Log", "quiet") if state.log else ""
    steps = (
        f'<div class="uo-steps" style="padding:0 0 0 22px;margin:6px 0 0">'
        f'<div class="uo-static">{lines}</div>{buttons}{tools}</div>'
        if state.steps or tools
        else ""
    )
    box = (
        f'<div class="uo-box" style="padding:10px 14px;border-top:{HAIR};border-left:3px solid {ERROR};'
        f'background-color:{TINT_ERROR}">{ErrorBox(what, why, then).inside()}{steps}</div>'
    )
    log = f'<div style="padding:6px 0 0">{folded_log(state, slots)}</div>' if state.log else ""
    return f"{head}{_stages(state.stages, slots)}{box}{log}"


def _stopped(state: PanelState, slots: Slots) -> str:
    steps = "".join(button(step.key, step.label) for step in state.steps)
    tools = button("log", "Log", "quiet") if state.log else ""
    middle = fact(escape(state.receipt), ink="first", wraps=True)
    line = line_html(
        chip("stopped", "stopped") + _name(state) + middle + fact(escape(state.end), wraps=True), f"{tools}{steps}"
    )
    return line + folded_log(state, slots)
