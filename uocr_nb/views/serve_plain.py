"""The serve panel as plain text, for front ends and files without HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.errors import UocrError
from uocr_nb.support.durations import show_clock
from uocr_nb.views.launch import magic_line
from uocr_nb.views.plain import printable

if TYPE_CHECKING:
    from uocr_nb.views.launch import Offer
    from uocr_nb.views.serve_state import PanelState

__all__ = ["state_plain"]


def state_plain(state: PanelState, offer: Offer | None = None) -> str:
    """Write what the panel shows: a line a stage, then the ready line, the error or the receipt."""
    if state.phase == "form" and offer is not None:
        return _form(offer)
    name = f"{state.name} {state.place}".strip()
    lines = [*state.notes]
    if state.phase in ("starting", "failed"):
        words = {"done": "done", "going": "...", "failed": "stopped here"}
        lines += [state.plan or name] + [
            f"  {one.name:<8} {show_clock(one.seconds):>5}  {words[one.state]}"
            for one in state.stages
            if one.state in words
        ]
    if state.phase == "failed":
        lines.append(str(UocrError(*state.error)))
    elif state.phase == "stopped":
        lines.append(f"{name}   {state.receipt} {state.end}")
    elif state.phase in ("ready", "stopping", "moved"):
        word = (
            f"stops in {state.left}"
            if state.soon
            else state.took
            if state.phase == "ready" and state.took
            else state.phase
        )
        left = f"{state.left} left" if state.left and not state.soon else ""
        spent = state.spent + (" spent" if state.left else "") if state.spent else ""
        lines.append("   ".join(part for part in (word, name, state.url, left, spent) if part))
    return "\n".join(printable(line) for text in lines if text for line in text.splitlines())


def _form(offer: Offer) -> str:
    lines = ["Start an endpoint"]
    if offer.plan is not None and offer.error is None:
        lines += [
            f"  {offer.plan.title if offer.plan.engine else offer.plan.url}   {offer.most}",
            f"  {magic_line(offer.plan)}",
        ]
    if offer.error is not None:
        lines.append(str(offer.error))
    if offer.command:
        lines += ["", offer.command]
    return "\n".join(lines)
