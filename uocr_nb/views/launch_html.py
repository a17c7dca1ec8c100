"""The launch form of the serve panel as HTML: left what is chosen, right what it means, the price first.

Without script it shows the plan and the lines to paste; with it the choices can be pressed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.errors import UocrError
from uocr_nb.markup.safe_html import escape
from uocr_nb.serving import engines
from uocr_nb.support.durations import parse_duration, show_seconds
from uocr_nb.views.icons import INFO, WARNING, icon
from uocr_nb.views.launch import IDLES, TIMES
from uocr_nb.views.launch_plan import plan_html
from uocr_nb.views.serve_html import root, static
from uocr_nb.views.serve_log import button
from uocr_nb.views.slots import Drawn, Slots
from uocr_nb.views.styles import HAIR, MONO, SECOND, second

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.views.launch import Choice, Hardware, Offer

__all__ = ["draw_form"]

_ACCENT = "#3d82c8"
_CHOSEN = "#3d82c826"
_ON = f"{_ACCENT};font-weight:600;background-color:{_CHOSEN}"
_SECOND_GROUND = "#8080800f"
_FRAME = "1px solid #808080b0"
_HOSTS = {"hf": "Hugging Face Job", "docker": "Docker", "process": "This machine", "url": "URL"}
_IDLE_WORDS = {"0": "never"}


def draw_form(offer: Offer, uid: str, *, reading: bool = False) -> Drawn:
    """Draw the form for a choice; `reading` while the prices are being read."""
    running = f"{', '.join(offer.running)} is running" if offer.running else "Nothing is running"
    head = (
        f'<div style="padding:9px 14px;border-bottom:{HAIR};line-height:22px"><span style="float:right;{SECOND}">'
        f"{escape(running)}</span><b>Start an endpoint</b></div>"
    )
    left = (
        '<div class="uo-choices" style="float:left;box-sizing:border-box;width:62%;min-width:340px;'
        'padding:8px 14px 12px">'
        f"{_choices(offer, reading=reading)}</div>"
    )
    right = (
        '<div class="uo-plan" style="overflow:hidden;min-width:260px;box-sizing:border-box;padding:12px 14px 14px;'
        f'background-color:{_SECOND_GROUND};border-left:{HAIR}">{plan_html(offer, reading=reading)}</div>'
    )
    return Slots().draw(
        root(f'{head}<div class="uo-form">{left}{right}<div style="clear:both"></div></div>', uid, "uo-launch")
    )


# ------------------------------------------------------------------ what is chosen
def _choices(offer: Offer, *, reading: bool) -> str:
    choice = offer.choice
    profile = engines.get(choice.engine)
    rows = [
        _row(
            "Engine",
            _segments("engine", "Engine", [(name, name) for name in _names()], choice.engine) + _hint(_manner(choice)),
        )
    ]
    if len(profile.variants) > 1 and choice.host != "url":
        names = [(variant.name, variant.name) for variant in profile.variants]
        rows.append(_row("Variant", _segments("variant", "Variant", names, choice.variant) + _hint(offer.known)))
    hosts = [(host, _HOSTS[host]) for host in (*profile.hosts, "url")]
    rows.append(_row("Host", _segments("host", "Host", hosts, choice.host)))
    if choice.host == "hf":
        rows.append(_row("Hardware", _table(offer, reading=reading)))
        times = _with_own(TIMES, choice.timeout)
        rows.append(
            _row(
                "Stop after",
                _segments("timeout", "Stop after", times, choice.timeout) + _field("timeout", "or 1h30m", ""),
            )
        )
        idles = _with_own(IDLES, choice.idle)
        rows.append(_row("When idle", _segments("idle", "Stop when idle for", idles, choice.idle)))
    if choice.host == "url":
        rows.append(_row("Address", _field("url", "https://host.example/v1", choice.url, wide=True)))
        rows.append(_row("Key in", _field("key_env", "variable, or none", choice.key_env)))
    elif not profile.model:
        rows.append(_row("Model", _field("model", "path of a .gguf file", choice.model, wide=True)))
        rows.append(_row("Projector", _field("mmproj", "path of its mmproj file", choice.mmproj, wide=True)))
    return "".join(rows)


def _names() -> list[str]:
    """Name the engines, the embedded one last: it is not the model."""
    return sorted(engines.names(), key=lambda name: name == "cpu")


def _manner(choice: Choice) -> str:
    if choice.host == "url":
        return "Which engine it is there is asked for."
    profile = engines.get(choice.engine)
    if choice.engine == "cpu":
        return "Free, on this machine's processor. Not the model, its language."
    return (
        "Reads several pages in one request, or one by one."
        if profile.multi == "native"
        else "Reads pages one by one, many at once."
    )


def _with_own(usual: Sequence[str], chosen: str) -> list[tuple[str, str]]:
    values = list(usual) if chosen in usual else [*usual, chosen]
    return [(value, _IDLE_WORDS.get(value) or _span(value)) for value in values]


def _span(text: str) -> str:
    try:
        return show_seconds(parse_duration(text))
    except UocrError:
        return text


def _row(label: str, html: str) -> str:
    return (
        '<div class="uo-line-of" style="padding:6px 0;position:relative">'
        f'<div class="uo-label" style="float:left;width:84px;line-height:26px;{SECOND}">{escape(label)}</div>'
        f'<div class="uo-value" style="overflow:hidden">{html}</div></div>'
    )


def _hint(text: str) -> str:
    return (
        f'<div class="uo-hint" style="font-size:12px;line-height:16px;margin:3px 0 0;{SECOND}">{escape(text)}</div>'
        if text
        else ""
    )


def _segments(key: str, label: str, values: Sequence[tuple[str, str]], chosen: str) -> str:
    parts = "".join(
        f'<span class="uo-opt{" uo-on" if value == chosen else ""}" data-k="{key}" data-v="{escape(value)}" '
        f'style="display:inline-block;padding:0 10px;line-height:24px;white-space:nowrap;border-bottom:2px solid '
        f'{_ON if value == chosen else "#00000000"}">{escape(words)}</span>'
        for value, words in values
    )
    return (
        f'<div class="uo-group" data-group="{escape(label)}" style="display:inline-block;border:{_FRAME};'
        f'border-radius:4px;overflow:hidden;vertical-align:top;margin:0 8px 0 0">{parts}</div>'
    )


def _field(key: str, hint: str, value: str, *, wide: bool = False) -> str:
    return (
        f'<span class="uo-field{" uo-long" if wide else ""}" data-k="{key}" data-kind="text" '
        f'data-hint="{escape(hint)}" '
        f'data-value="{escape(value)}" style="display:inline-block;line-height:26px">{static(escape(value))}</span>'
    )


def _table(offer: Offer, *, reading: bool) -> str:
    cell = (
        "padding:0 6px;border:0;line-height:26px;background-color:transparent;white-space:nowrap;vertical-align:middle"
    )
    heads = (
        ("", "left"),
        ("Hardware", "left"),
        ("GPU", "left"),
        ("Memory", "right"),
        ("Per hour", "right"),
        ("Known", "left"),
    )
    head = "".join(
        f'<th style="{cell};text-align:{side};font-weight:400;font-size:12px;{SECOND}">{words}</th>'
        for words, side in heads
    )
    rows = "".join(_kind(kind, offer.choice, cell) for kind in offer.hardware)
    if reading:
        told = "The prices are being read from the Hub."
    elif offer.read:
        told = "Prices read from the Hub just now, in US dollars."
    else:
        told = "The prices could not be read from the Hub."
    more = ""
    if offer.kinds > len(offer.hardware) or offer.choice.all_kinds:
        words, value = ("Fewer kinds", "no") if offer.choice.all_kinds else (f"All {offer.kinds} kinds", "yes")
        more = f'<span style="float:right">{button(f"all_kinds:{value}", words, "link")}</span>'
    return (
        f'<div class="uo-kinds" data-group="Hardware" style="border:{_FRAME};border-radius:4px;overflow-x:auto">'
        '<table style="table-layout:auto;width:100%;margin:0;border-collapse:collapse;font-size:12px">'
        f'<tbody><tr style="background-color:{_SECOND_GROUND}">{head}</tr>{rows}</tbody></table></div>'
        f"{more}{_hint(told)}"
    )


def _kind(kind: Hardware, choice: Choice, cell: str) -> str:
    on = kind.name == choice.flavor
    ground = _CHOSEN if on else "transparent"
    mark = icon("chosen", _ACCENT) if on else icon("circle", INFO)
    hour = f"${kind.hour:,.2f}" if kind.hour is not None else "unknown"
    known = (
        f'<span class="uo-warn">{icon("warning", WARNING, 13)}{escape(kind.known)}</span>'
        if kind.warns
        else second(kind.known)
    )
    name = (
        f'<span style="font-family:{MONO};font-size:12px{";font-weight:600" if on else ""}">{escape(kind.name)}</span>'
    )
    cells = (
        (mark, "left"), (name, "left"), (escape(kind.gpu), "left"),
        (escape(kind.memory), "right"), (hour, "right"), (known, "left"),
    )  # fmt: skip
    return (
        f'<tr class="uo-opt{" uo-on" if on else ""}" data-k="flavor" data-v="{escape(kind.name)}" '
        f'style="background-color:{ground};border-top:{HAIR}">'
        + "".join(f'<td style="{cell};text-align:{side}">{html}</td>' for html, side in cells)
        + "</tr>"
    )
