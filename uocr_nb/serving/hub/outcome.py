"""Why a Job ended without us, and what it cost, in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError
from uocr_nb.serving.hub.client import hub_endpoint
from uocr_nb.serving.hub.ending import stage_of
from uocr_nb.support.durations import show_clock, show_seconds

if TYPE_CHECKING:
    from uocr_nb.errors import UocrError
    from uocr_nb.serving.endpoint import Endpoint

_REASONS = {
    "NO_CREDITS": "The account has no credit left.",
    "NO_SUBSCRIPTION": "The account's plan does not cover it.",
    "RESOURCE_GROUP_LIMIT": "The limit of its resource group was reached.",
}
_STAGES = {"COMPLETED": "Its engine ended.", "DELETED": "Its Job is no longer there."}


def why_it_ended(
    job: dict[str, Any], endpoint: Endpoint, *, advice: UocrError | None, idle_end: bool, last_words: str
) -> UocrError:
    """Make the error of a Job that has ended by itself, or by somebody else.

    Parameters
    ----------
    job : dict
        As the Hub describes it now.
    endpoint : Endpoint
        What ran in it.
    advice : UocrError or None
        What a line of its log told of.
    idle_end : bool
        Whether the supervisor in it said that it ends it.
    last_words : str
        How its log ends.
    """
    plan, status = endpoint.plan, job.get("status") or {}
    was_ready = endpoint.state == "ready"
    what = f"{endpoint.name} has gone." if was_ready else f"{endpoint.name} did not start."
    # Of a start that failed the start itself tells the cost.
    money = cost_of(endpoint) if was_ready else ""
    again = f"%uocr_serve {plan.spelling}"
    said = endpoint.hide(str(status.get("message") or ""))
    if idle_end:
        why, then = f"No page was asked for in {show_seconds(plan.idle)}, so its Job ended itself.", again
    elif stage_of(job) == "CANCELED":
        reason = str(status.get("cancelReason") or "")
        why = _REASONS.get(reason, "Somebody cancelled its Job: on the website, or from another program.")
        why, then = f"{why} {said}".strip(), f"{hub_endpoint()}/settings/billing" if reason == "NO_CREDITS" else again
    elif _time_is_up(endpoint, said):
        limit = show_seconds(plan.timeout)
        why = f"The {limit} that it was started for are over. A Job cannot be given more time."
        then = f"{again} --timeout 1h"
    elif advice is not None:
        return advice
    else:
        told = _STAGES.get(stage_of(job), "Its Job failed.")
        why, then = " ".join(filter(None, [told, _sentence(said), last_words])), "%uocr_logs"
    return EndpointError(what, f"{why} {money}".strip(), then)


def _time_is_up(endpoint: Endpoint, said: str) -> bool:
    deadline = endpoint.deadline
    late = deadline is not None and datetime.now(UTC) >= deadline - timedelta(seconds=3)
    return "timeout" in said.lower() or late


def cost_of(endpoint: Endpoint) -> str:
    """Say how long a Job ran and what it cost; empty where the price is unknown."""
    if endpoint.price is None:
        return ""
    return f"It ran {show_clock(endpoint.billed)} and cost {show_dollars(endpoint.spent)}."


def show_dollars(amount: float) -> str:
    """Write an amount: two decimals, and under a cent in words."""
    return "under $0.01" if 0 < amount < 0.005 else f"${amount:.2f}"


def _sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?" else text + "."
