"""The JSON of a Job, in the real shape."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.hub.jobs import Job

DEFAULT_TIMEOUT = 1800
"""Seconds, what the service takes when a request names none."""


def stamp(moment: dt.datetime) -> str:
    """Write a moment as the Hub writes it."""
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _durations(job: Job) -> dict[str, int | None]:
    now = job.finished or dt.datetime.now(dt.UTC)
    return {
        "schedulingSecs": int((job.started - job.created).total_seconds()) if job.started else None,
        "runningSecs": int((now - job.started).total_seconds()) if job.started else None,
        "totalSecs": int((now - job.created).total_seconds()),
    }


def describe(job: Job) -> dict[str, Any]:
    """Describe a Job; what is empty is absent."""
    status = {
        "stage": job.stage,
        "message": job.message,
        "failureCount": int(job.stage == "ERROR"),
        "cancelReason": job.cancel_reason,
        "exposeUrls": job.urls(),
    }
    data = {
        "type": "job",
        "id": job.id,
        "createdAt": stamp(job.created),
        "startedAt": job.started and stamp(job.started),
        "finishedAt": job.finished and stamp(job.finished),
        "dockerImage": job.body.get("dockerImage"),
        "spaceId": job.body.get("spaceId"),
        "command": job.body["command"],
        "arguments": job.body.get("arguments", []),
        "environment": job.body.get("environment", {}),
        "secrets": sorted(job.body.get("secrets") or {}) or None,
        "flavor": job.body["flavor"],
        "arch": "amd64",
        "timeout": job.timeout,
        "retry": max(0, int(job.body.get("attempts") or 1) - 1),
        "labels": dict(job.labels) or None,
        "createdBy": job.author,
        "owner": job.owner,
        "initiator": {"type": job.initiator, **job.author},
        "durations": _durations(job),
        "expose": job.expose and {"ports": [], "portsPublic": [], **job.expose},
        "status": {key: value for key, value in status.items() if value is not None or key == "message"},
    }
    return {key: value for key, value in data.items() if value is not None}
