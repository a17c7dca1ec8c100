"""What the serve panel says of an endpoint: name and place, money, how it ended, and what may be done next."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import UocrError
from uocr_nb.serving import engines, start
from uocr_nb.support.durations import show_clock
from uocr_nb.views.launch import magic_line, most_of
from uocr_nb.views.serve_state import PanelState, Step
from uocr_nb.views.words import count, money

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.plan import Plan

__all__ = [
    "again",
    "checked",
    "job_page",
    "most",
    "name_and_place",
    "token_source",
    "when_failed",
    "when_stopped",
    "while_ready",
]

_JOB = re.compile(r"Job ([\w.-]+)/([\w-]+),")


def name_and_place(endpoint: Endpoint) -> tuple[str, str]:
    """Say what it is and where: ``vllm``, ``on l4x1``."""
    plan = endpoint.plan
    if plan.host == "url":
        return endpoint.engine or "endpoint", "at a URL"
    place = {"hf": f"on {plan.flavor}", "docker": "in a container on this machine"}.get(plan.host, "on this machine")
    return plan.spelling, place


def job_page(text: str) -> str:
    """Find the page of the Job that a line names; empty when it names none."""
    found = _JOB.match(text)
    if found is None:
        return ""
    from uocr_nb.serving.hub.client import hub_endpoint  # noqa: PLC0415 - for Jobs alone

    return f"{hub_endpoint()}/jobs/{found[1]}/{found[2]}"


def token_source() -> str:
    """Say where the Hub's token is found; empty when there is none. To be called in the cell's thread."""
    if "google.colab" in sys.modules:
        return "the Colab secret HF_TOKEN"
    from uocr_nb.serving.hub.token import find_token  # noqa: PLC0415 - brings the Hub's client

    try:
        found = find_token()
    except UocrError:
        return ""
    return found.source if found is not None else ""


def most(endpoint: Endpoint) -> str:
    """Say the most that it can cost: ``$0.41``, ``unknown``."""
    said = most_of(endpoint.plan, endpoint.price)
    return said.removeprefix("at most ") if endpoint.price is not None else "unknown"


# ------------------------------------------------------------------ while it runs
def while_ready(state: PanelState, endpoint: Endpoint) -> PanelState:
    """Bring the line of a running endpoint up to date."""
    left = endpoint.time_left
    paid = endpoint.host == "hf"
    soon = endpoint.ends_soon
    busy = endpoint.in_flight
    reading = f"{count(busy, 'page')} {'is' if busy == 1 else 'are'} being read"
    end = ""
    if endpoint.state == "stopping":
        end = "Its end is asked for until it is accepted."
    elif soon:
        end = f"{reading}. Pages that are done stay." if busy else "Pages that are done stay."
    steps = (Step("step-again", f"Start another, {most_of(endpoint.plan, endpoint.price)}", magic_line(endpoint.plan)),)
    return replace(
        state,
        phase="stopping" if endpoint.state == "stopping" else "ready",
        url=endpoint.base_url,
        left="" if left is None else show_clock(left),
        left_share=None if left is None or not endpoint.plan.timeout else 100 * left / endpoint.plan.timeout,
        soon=soon,
        spent="" if endpoint.price is None else money(endpoint.spent),
        stop_ask=f"Stop, {reading}" if busy else "",
        end=end,
        steps=steps if soon and paid else (),
    )


# ------------------------------------------------------------------ the end
def when_stopped(state: PanelState, endpoint: Endpoint | None) -> PanelState:
    """Write the receipt."""
    steps: tuple[Step, ...] = ()
    who = "You stopped it." if state.phase != "starting" else "You stopped the start."
    if endpoint is None:
        return replace(state, phase="stopped", receipt="Nothing was started.", end=f"{who} {_what_runs()}", steps=())
    if endpoint.host == "url":
        receipt, who = "It is let go; its server runs on.", ""
        running = f"{_others(endpoint)} still running: %uocr_status" if _others(endpoint) else ""
    else:
        pages, cost = endpoint.pages_read, endpoint.spent
        each = f" ({money(cost / pages, each=True)} a page)" if pages and cost else ""
        paid = f"cost {money(cost)}{each}" if endpoint.price is not None else "its price is unknown"
        ran = endpoint.billed if endpoint.host == "hf" else endpoint.ran
        receipt = f"Ran {show_clock(ran)}, read {count(pages, 'page')}, {paid}."
        running = _what_runs(endpoint)
        most_said = "free" if endpoint.host != "hf" else most_of(endpoint.plan, endpoint.price)
        steps = (Step("step-again", f"Start again, {most_said}", magic_line(endpoint.plan)),)
    if endpoint.state == "stopping":
        running = "Its end is asked for until it is accepted."
    end = " ".join(part for part in (who, running) if part)
    return replace(state, phase="stopped", receipt=receipt, end=end, steps=steps, soon=False, notes=(), in_cell=False)


def _others(endpoint: Endpoint | None) -> int:
    return sum(one.state in ("queued", "starting", "ready") for one in start.endpoints() if one is not endpoint)


def _what_runs(endpoint: Endpoint | None = None) -> str:
    others = _others(endpoint)
    return f"{others} still running: %uocr_status" if others else "Nothing is running."


def when_failed(state: PanelState, endpoint: Endpoint | None, seconds: float, error: UocrError) -> PanelState:
    """Keep the stages as far as it came, and put the error under them."""
    stages = tuple(
        replace(one, state="failed", seconds=seconds - one.began)
        if one.state == "going"
        else replace(one, note="")
        if one.state == "waiting"
        else one
        for one in state.stages
    )
    if state.phase == "ready":
        stages = ()
    cost = ""
    if endpoint is not None and endpoint.host == "hf" and endpoint.price is not None:
        cost = money(endpoint.spent)
    name = state.name or "start"
    return replace(
        state,
        phase="failed",
        name=name,
        stages=stages,
        error=(error.what, error.why, error.next),
        steps=_steps(endpoint),
        cost=cost,
        soon=False,
        in_cell=False,
    )


def _steps(endpoint: Endpoint | None) -> tuple[Step, ...]:
    if endpoint is None:
        return ()
    plan = endpoint.plan
    if plan.host != "hf":
        price = "" if plan.host == "url" else ", free"
        return (Step("step-again", f"Try again{price}", magic_line(plan), main=True),)
    retry = Step("step-again", f"Try again, {most_of(plan, endpoint.price)}", magic_line(plan))
    if not endpoint.job_id:
        # The Hub did not take it, and will not at once: what needs no account comes first.
        return (Step("step-cpu", "Use cpu instead, free", "%uocr_serve cpu", main=True), retry)
    other = _checked_plan(plan)
    if other is None or endpoint.price is None:
        return (replace(retry, main=True),)
    from uocr_nb.serving.hub import account  # noqa: PLC0415 - for Jobs alone
    from uocr_nb.serving.hub.client import HubClient  # noqa: PLC0415

    hour = account.price_of(other.flavor, account.hardware_rows(HubClient())).total
    label = f"Start {other.spelling} on {other.flavor}, {most_of(other, hour)}"
    return (Step("step-checked", label, magic_line(other), main=True), retry)


def _checked_plan(plan: Plan) -> Plan | None:
    """Find the combination that was checked, where the plan is another one."""
    profile = engines.get(plan.engine or "")
    good = next((variant for variant in profile.variants if variant.validated and variant.flavor), None)
    if good is None or (good.name, good.flavor) == (plan.variant, plan.flavor):
        return None
    return replace(plan, variant=good.name, flavor=good.flavor or "", image=good.image)


def checked(endpoint: Endpoint) -> tuple[str | None, dict[str, Any]]:
    """Write the combination that was checked as what `uocr_nb.serve` takes."""
    other = _checked_plan(endpoint.plan)
    if other is None:
        return again(endpoint)
    target, options = again(endpoint)
    return target, options | {"variant": other.variant, "flavor": other.flavor, "image": None}


def again(endpoint: Endpoint) -> tuple[str | None, dict[str, Any]]:
    """Write what was asked for as what `uocr_nb.serve` takes."""
    plan = endpoint.plan
    if plan.host == "url":
        return plan.url, {"engine": plan.engine, "api_key_env": plan.api_key_env, "headers": dict(plan.headers) or None}
    profile = engines.get(plan.engine or "")
    variant = profile.variant(plan.variant)
    options: dict[str, Any] = {
        "on": plan.host,
        "variant": plan.variant or None,
        "env": dict(plan.env) or None,
        "port": plan.port,
        "low_memory": plan.low_memory,
        "revision": plan.revision,
        "model": plan.model,
        "mmproj": plan.mmproj,
        "tp": plan.tp,
        "args": plan.args,
        "drop_args": plan.drop_args,
        "start_limit": plan.start_limit,
        "another": bool(_others(endpoint)),
    }
    if plan.host in ("hf", "docker"):
        options["image"] = None if plan.image == variant.image else plan.image
    if plan.host == "hf":
        options |= {
            "flavor": plan.flavor,
            "timeout": plan.timeout,
            "idle": plan.idle,
            "namespace": plan.namespace or None,
            "forward_token": plan.forward_token,
            "wait": plan.wait,
            "keep": plan.keep,
            "max_cost": plan.max_cost,
        }
    return plan.engine, options
