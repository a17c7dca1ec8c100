"""What a Job is asked to run: the engine's command, the supervisor round it, and the whole as a line to paste."""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uocr_nb.serving import engines
from uocr_nb.serving.engines.launch import with_setup

if TYPE_CHECKING:
    from uocr_nb.serving.plan import Plan

_UNPACK = "import base64,zlib;exec(zlib.decompress(base64.b64decode({!r})))"
IDLE_LINE = "uocr_nb: no page was asked for"
"""How the supervisor says in the log that it ends the Job."""


def engine_command(plan: Plan) -> list[str]:
    """Write the engine's own command, the variant's setup before it."""
    profile = engines.get(plan.engine or "")
    variant = profile.variant(plan.variant)
    command = profile.command(
        variant,
        host="0.0.0.0",  # noqa: S104 - the Job's proxy reaches it by the container's network
        port=plan.job_port,
        model=plan.model,
        revision=plan.revision,
        tp=plan.tp,
        args=plan.args,
        drop_args=plan.drop_args,
        mmproj=plan.mmproj,
    )
    return with_setup(variant, command)


def job_command(plan: Plan) -> list[str]:
    """Write the whole command of the Job."""
    engine = engine_command(plan)
    return [*supervisor_words(plan), *engine] if plan.idle else engine


def supervisor_words(plan: Plan) -> list[str]:
    """Write the words that start the supervisor, up to the two dashes before the engine."""
    profile = engines.get(plan.engine or "")
    metrics = profile.metrics
    settings: dict[str, Any] = {"idle": plan.idle, "at": f"127.0.0.1:{plan.job_port}", "health": profile.health}
    if metrics is not None:
        settings |= {
            "metrics": metrics.path,
            "gauges": [metrics.running, metrics.waiting],
            "counters": list(metrics.counters),
        }
    return ["python3", "-c", packed_supervisor(), json.dumps(settings, separators=(",", ":")), "--"]


@cache
def packed_supervisor() -> str:
    """Pack the supervisor's source into one line of Python."""
    from uocr_nb.serving import supervisor  # noqa: PLC0415 - read, not run

    source = Path(str(supervisor.__file__)).read_text(encoding="utf-8")
    # Base 64 and not 85: container systems rewrite "$" in commands.
    return _UNPACK.format(base64.b64encode(zlib.compress(source.encode(), 9)).decode())


def job_environment(plan: Plan) -> dict[str, str]:
    """Write the Job's variables; without the first one its log comes in blocks, late."""
    return {"PYTHONUNBUFFERED": "1", **dict(plan.env)}


def job_body(plan: Plan, labels: dict[str, str], token: str) -> dict[str, Any]:
    """Write the request for a Job, as the Hub's client writes it."""
    body: dict[str, Any] = {
        "command": job_command(plan),
        "arguments": [],
        "environment": job_environment(plan),
        "flavor": plan.flavor,
        "timeoutSeconds": int(plan.timeout),
        "labels": labels,
        "expose": {"ports": [plan.job_port], "portsPublic": []},
    }
    if plan.forward_token and token:
        body["secrets"] = {"HF_TOKEN": token}
    image = plan.image or ""
    for prefix in ("https://huggingface.co/spaces/", "hf.co/spaces/"):
        if image.startswith(prefix):
            return body | {"spaceId": image.removeprefix(prefix)}
    return body | {"dockerImage": image}


def hf_jobs_line(plan: Plan, *, supervised: bool) -> str:
    """Write the ``hf jobs run`` line of a plan; without the supervisor it can be pasted as it is."""
    words = ["hf", "jobs", "run", "--detach", "--expose", str(plan.job_port), "--flavor", plan.flavor]
    seconds = int(plan.timeout)
    words += ["--timeout", f"{seconds}s" if seconds % 60 else f"{seconds // 60}m"]
    if plan.forward_token:
        words += ["-s", "HF_TOKEN"]
    if plan.namespace:
        words += ["--namespace", plan.namespace]
    for name in job_environment(plan):
        # The values of a user's own variables may be secret.
        words += ["-e", f"{name}=1" if name == "PYTHONUNBUFFERED" else f"{name}=***"]
    words += ["-l", "app=uocr_nb", plan.image or "", "--"]
    engine = shlex.join(engine_command(plan))
    if not supervised or not plan.idle:
        return f"{shlex.join(words)} \\\n  {engine}"
    python, flag, source, settings, dashes = supervisor_words(plan)
    inside = f"{python} {flag} '<supervisor, {len(source):,} characters>' {shlex.quote(settings)} {dashes}"
    return f"{shlex.join(words)} \\\n  {inside} \\\n  {engine}"
