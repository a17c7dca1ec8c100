"""A plan for a Job in words, with the line that would start the same by hand."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from uocr_nb.errors import OptionError, UocrError
from uocr_nb.serving import engines
from uocr_nb.serving.hub import account
from uocr_nb.serving.hub.client import HubClient
from uocr_nb.serving.hub.command import engine_command, hf_jobs_line
from uocr_nb.support.durations import show_seconds

if TYPE_CHECKING:
    from uocr_nb.serving.plan import Plan


def describe_job(plan: Plan) -> str:
    """Describe what a start would do; asks the Hub for its price list, without a token, and for nothing else."""
    profile = engines.get(plan.engine or "")
    variant = profile.variant(plan.variant)
    price = account.price_of(plan.flavor, account.hardware_rows(HubClient()))
    known = [f"known: {variant.known or profile.known}", *(f"note: {note}" for note in variant.notes)]
    model = plan.model or profile.model
    revision = plan.revision or (variant.revision if model == profile.model else None)
    span = f"{show_seconds(plan.timeout)}; $0.01/h of it for the exposed port; the queue is free"
    lines = [
        f"{plan.title} as a Job of the Hugging Face Hub: {price.line(plan.timeout)} ({span})",
        f"billed to: {plan.namespace or 'your own account'}",
        f"image: {plan.image}",
        f"model: {model}" + (f" at {revision}" if revision else ", newest"),
        *known,
        _ends(plan),
        *_verdict(plan, price),
        "",
        "The request, as a line of the Hub's own program:",
        hf_jobs_line(plan, supervised=True),
    ]
    if plan.idle:
        lines += [
            "",
            "The engine line inside the supervisor:",
            "  " + shlex.join(engine_command(plan)),
            "",
            "To paste (the same without the supervisor, so without the end after idle time):",
            hf_jobs_line(plan, supervised=False),
        ]
    if not plan.forward_token:
        lines += ["", "No token goes into the Job: the model is public. --forward-token puts it in as a secret."]
    return "\n".join(lines)


def _ends(plan: Plan) -> str:
    parts = [f"ends: when you stop it or this kernel ends{' (not: --keep)' if plan.keep else ''}"]
    if plan.idle:
        parts.append(f"after {show_seconds(plan.idle)} without a page")
    parts.append(f"after {show_seconds(plan.timeout)} in any case, the start-up included")
    limit = plan.start_limit or 0.0
    return ", ".join(parts) + (
        f"; given up when queued for {show_seconds(plan.wait)} or starting for {show_seconds(limit)}"
    )


def _verdict(plan: Plan, price: account.Price) -> list[str]:
    try:
        account.check_price(plan, price)
    except OptionError:
        raise
    except UocrError as error:
        return [f"would be refused: {error.what} {error.why}"]
    return []
