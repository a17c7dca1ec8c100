"""The right half of the launch form: what a choice means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.markup.safe_html import escape
from uocr_nb.serving import engines
from uocr_nb.support.durations import show_seconds
from uocr_nb.views.icons import INFO, WARNING, icon
from uocr_nb.views.launch import magic_line
from uocr_nb.views.messages import error_box
from uocr_nb.views.serve_log import button
from uocr_nb.views.styles import HAIR, MONO, SECOND, code, icon_line, second

if TYPE_CHECKING:
    from uocr_nb.views.launch import Offer

__all__ = ["plan_html"]


def plan_html(offer: Offer, *, reading: bool) -> str:
    """Draw what a choice means: its price, what it is, when it stops, and the lines to paste."""
    parts = [_price(offer, reading=reading)]
    facts = [fact for fact in _facts(offer) if fact[1]]
    parts += [
        f'<div style="position:relative;padding:0 0 0 62px;margin:0 0 4px;line-height:18px;font-size:12px">'
        f'<span style="position:absolute;left:0;top:0;{SECOND}">{label}</span>{html}</div>'
        for label, html in facts
    ]
    parts += [
        icon_line(_mark_of(note), escape(note), "margin:6px 0;font-size:12px;line-height:16px") for note in offer.notes
    ]
    if offer.error is not None:
        parts.append(error_box(offer.error).html())
    elif offer.command:
        parts.append(_command(offer.command))
    if offer.plan is not None and offer.error is None:
        line = magic_line(offer.plan)
        parts.append(
            f'<div style="margin:8px 0 0;font-size:12px">{second("In a cell:")} {code(line)} '
            f"{button('copy-line', 'Copy', 'quiet')}</div>"
        )
        parts.append(
            f'<div class="uo-start" style="margin:10px 0 0">{button("start", _start_words(offer), "main")}</div>'
        )
    return "".join(parts)


def _mark_of(note: str) -> str:
    return icon("warning", WARNING) if "failed" in note else icon("info", INFO)


def _start_words(offer: Offer) -> str:
    return "Connect" if offer.choice.host == "url" else f"Start, {offer.most}"


def _price(offer: Offer, *, reading: bool) -> str:
    choice = offer.choice
    if choice.host == "url":
        return f'<div style="margin:0 0 10px">{second("Nothing is started there, and nothing is paid here.")}</div>'
    if choice.host != "hf":
        where = "in a container on this machine" if choice.host == "docker" else "on this machine"
        return _big("Costs", "free", f"Runs {where}.")
    hour = offer.price.total
    if hour is None and reading:
        return _big("Costs", "\u2026", "The Hub's price list is being read.")
    if hour is None:
        return _big("Costs", "price unknown", "The Hub's price list could not be read.")
    span = show_seconds(offer.plan.timeout) if offer.plan else choice.timeout
    below = f"${hour:,.2f} an hour, open port included, for {span}. Waiting in the queue is free."
    return _big("Costs at most", offer.most.removeprefix("at most "), below)


def _big(label: str, figure: str, below: str) -> str:
    return (
        f'<div style="margin:0 0 10px"><div style="font-size:12px;line-height:16px;{SECOND}">{label}</div>'
        f'<div class="uo-number" style="font-size:26px;line-height:32px;font-weight:600">{escape(figure)}</div>'
        f'<div style="font-size:12px;line-height:17px;{SECOND}">{escape(below)}</div></div>'
    )


def _facts(offer: Offer) -> list[tuple[str, str]]:
    plan, choice = offer.plan, offer.choice
    if plan is None or choice.host == "url":
        return []
    profile = engines.get(choice.engine)
    stops = "when this kernel ends, or when you press Stop"
    facts = [("Image", code(plan.image or "") if plan.image else "")]
    facts.append(("Model", escape(plan.model or profile.model) if choice.engine != "cpu" else ""))
    facts.append(("Known", escape(offer.known) if len(profile.variants) == 1 else ""))
    if choice.host == "hf":
        if offer.token:
            facts.append(("Token", escape(f"from {offer.token}; it stays here and is not put into the Job")))
        else:
            facts.append(("Token", f"none was found: {code('hf auth login')}"))
        idle = f", when no page was asked for in {show_seconds(plan.idle)}" if plan.idle else ""
        stops = f"after {show_seconds(plan.timeout)}{idle}, {stops}"
    facts.append(("Stops", escape(stops)))
    facts.append(("Beside", escape(f"{', '.join(offer.running)} goes on beside it") if offer.running else ""))
    return facts


def _command(text: str) -> str:
    label = "By hand, without the end when idle" if text.startswith("hf ") else "What is run"
    return (
        f'<div style="border:{HAIR};border-radius:4px;margin:8px 0 0">'
        f'<div style="padding:2px 8px;font-size:12px;line-height:24px;{SECOND}"><span style="float:right">'
        f"{button('copy-command', 'Copy', 'quiet')}</span>{label}</div>"
        '<pre class="uo-command" style="margin:0;padding:0 8px 6px;max-height:112px;overflow:auto;'
        f"white-space:pre-wrap;overflow-wrap:break-word;font-family:{MONO};font-size:11px;line-height:18px;background-color:transparent;"
        'border:0">'
        f"{escape(text)}</pre></div>"
    )
