"""Taking over a Job that runs already: one that was kept, or one that a kernel which has died has lost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from uocr_nb.serving import ledger
from uocr_nb.serving.hub.ending import MARK, TERMINAL, job_path, stage_of
from uocr_nb.serving.hub.labels import APP
from uocr_nb.support.platform import is_alive

if TYPE_CHECKING:
    from uocr_nb.serving.hub.client import HubClient
    from uocr_nb.serving.plan import Plan


@dataclass(frozen=True, slots=True)
class Found:
    """A Job to take over.

    Attributes
    ----------
    job : dict
        As the Hub describes it.
    entry : Entry or None
        Where the ledger of this machine has it.
    """

    job: dict[str, Any] = field(repr=False)
    entry: ledger.Entry | None = None

    @property
    def id(self) -> str:
        """The Job's id."""
        return str(self.job["id"])


def find(plan: Plan, hub: HubClient, namespace: str) -> Found | None:
    """Find a Job that fits the plan: in the ledger of this machine first, else among the account's kept ones."""
    for entry in reversed(ledger.entries()):
        if _fits(entry, plan, hub.endpoint) and ledger.claim(entry.file):
            path = job_path(entry.job.namespace, entry.job.id) if entry.job else ""
            seen = hub.ask("GET", path, timeout=8.0)
            if seen.ok and stage_of(seen.data) not in ("", *TERMINAL):
                return Found(seen.data, entry)
            ledger.release(entry.file)
    listed = hub.list(f"{job_path(namespace)}?label=app%3D{APP}&stage=RUNNING", timeout=8.0)
    jobs = listed.data if listed.ok and isinstance(listed.data, list) else []
    known = {entry.job.id for entry in ledger.entries() if entry.job}
    for job in jobs:
        labels = job.get("labels") or {}
        wanted = {"app": APP, "keep": "yes", "engine": plan.engine, "variant": plan.variant or "default"}
        good = all(labels.get(key) == value for key, value in wanted.items())
        if good and job.get("id") not in known and job.get("flavor") == plan.flavor and stage_of(job) == "RUNNING":
            return Found(job)
    return None


def _fits(entry: ledger.Entry, plan: Plan, endpoint: str) -> bool:
    note = entry.job
    if note is None or not note.id or note.endpoint != endpoint or note.flavor != plan.flavor:
        return False
    if (entry.engine, entry.variant) != (plan.engine, plan.variant) or plan.namespace not in ("", note.namespace):
        return False
    # Not one that another living kernel uses, nor another machine's.
    return is_alive(entry.owner) is False


def note_of(found: Found, fresh: ledger.JobNote) -> ledger.JobNote:
    """Write the note of a Job that is taken over."""
    owner = (found.job.get("owner") or {}).get("name") or fresh.namespace
    mark = str((found.job.get("labels") or {}).get(MARK) or fresh.mark)
    timeout = found.job.get("timeout")
    left = float(timeout) if isinstance(timeout, (int, float)) else fresh.timeout
    return replace(fresh, namespace=str(owner), id=found.id, mark=mark, timeout=left)


def take(found: Found) -> None:
    """Strike off the entry of its former owner; this kernel's own is written by then."""
    if found.entry is not None:
        ledger.remove(found.entry)
        ledger.release(found.entry.file)


def is_over(entry: ledger.Entry, now: float | None = None) -> bool:
    """Tell whether a Job's own timeout must have ended it by now, with a day for the queue."""
    from datetime import datetime  # noqa: PLC0415 - beside its only use

    if entry.job is None:
        return False
    started = datetime.fromisoformat(entry.started).timestamp()
    return (time.time() if now is None else now) > started + entry.job.timeout + 86400
