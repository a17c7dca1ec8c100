"""Jobs that dead kernels left running: found in the ledger, looked at, and cancelled; everybody else's let be."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import UocrError
from uocr_nb.serving import ledger
from uocr_nb.serving.hub import adoption
from uocr_nb.serving.hub.client import HubClient
from uocr_nb.serving.hub.ending import TERMINAL, end_job, find_marked, job_path, stage_of
from uocr_nb.serving.hub.token import find_token
from uocr_nb.support.durations import show_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.serving.hub.ending import Answer

_CALL_SECONDS = 3.0
_SWEEP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Swept:
    """A Job of a dead kernel that is cancelled now.

    Attributes
    ----------
    entry : Entry
        What the ledger knew of it.
    ran : float
        Seconds that it ran.
    """

    entry: ledger.Entry
    ran: float

    @property
    def text(self) -> str:
        """What to tell the user."""
        note = self.entry.job
        price = note.price if note else None
        money = "" if price is None else f", ${price * self.ran / 3600:.2f}"
        flavor = note.flavor if note else ""
        return (
            "A Job from a kernel that died was still running and is now cancelled: "
            f"{self.entry.engine} on {flavor}, {show_seconds(self.ran)}{money}."
        )


def open_jobs() -> list[ledger.Entry]:
    """List the Jobs in the ledger whose owner is known to be dead and that nobody wants kept; opens no socket."""
    found = []
    for entry in ledger.entries():
        if entry.job is None:
            continue
        if adoption.is_over(entry):
            ledger.remove(entry)
        elif not entry.keep and entry.is_orphan():
            found.append(entry)
    return found


def sweep_jobs() -> list[Swept]:
    """End the Jobs of dead kernels of this machine; return those that were still running.

    What cannot be ended now (no token, no network) stays in the ledger for the next time.
    """
    orphans = open_jobs()
    if not orphans:
        return []
    try:
        token = find_token(may_ask=False)
        hub = HubClient(token.secret) if token else None
    except UocrError:
        hub = None
    if hub is None:
        return []
    return [swept for entry in orphans if (swept := _end(hub, entry)) is not None]


def _end(hub: HubClient, entry: ledger.Entry) -> Swept | None:
    note = entry.job
    if note is None or note.endpoint != hub.endpoint or not ledger.claim(entry.file):
        return None

    def ask(method: str, path: str) -> Answer:
        return hub.ask(method, path, timeout=_CALL_SECONDS)

    try:
        found = _look(ask, note)
        if found is None:
            return None
        if not found or stage_of(found) in TERMINAL:
            ledger.remove(entry)
            return None
        path = job_path(note.namespace, str(found["id"]))
        if not end_job(ask, path, asked=False, until=time.monotonic() + _SWEEP_SECONDS):
            return None
        ledger.remove(entry)
        return Swept(entry, ran_of(found))
    finally:
        ledger.release(entry.file)


def _look(ask: Callable[[str, str], Answer], note: ledger.JobNote) -> dict[str, Any] | None:
    """Look at a Job; None when the Hub did not tell, empty when there is none."""
    if not note.id:
        # It was being asked for when the kernel died.
        marked = find_marked(ask, note.namespace, note.mark)
        return None if marked is None else next(iter(marked), {})
    seen = ask("GET", job_path(note.namespace, note.id))
    if seen.status == 404:
        return {}
    return seen.data if seen.ok and isinstance(seen.data, dict) else None


def ran_of(job: dict[str, Any]) -> float:
    """Read how many seconds a Job has run so far."""
    started, ended = _moment(job.get("startedAt")), _moment(job.get("finishedAt"))
    if started is not None and ended is not None:
        return max(0.0, (ended - started).total_seconds())
    # The Hub's own count before the difference to our clock, which may be wrong.
    durations = job.get("durations")
    ran = durations.get("runningSecs") if isinstance(durations, dict) else None
    if isinstance(ran, (int, float)):
        return max(0.0, float(ran))
    return max(0.0, (datetime.now(UTC) - started).total_seconds()) if started is not None else 0.0


def _moment(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def sweep_later(tell: Callable[[str], None] | None = None) -> threading.Thread | None:
    """Sweep in the background, where the ledger holds a Job of a dead kernel; else nothing is done at all.

    Parameters
    ----------
    tell : callable, optional
        Called in the background thread with a sentence for each Job that was ended.
    """
    if not open_jobs():
        return None

    def work() -> None:
        for swept in sweep_jobs():
            if tell is not None:
                tell(swept.text)

    thread = threading.Thread(target=work, name="uocr_nb sweep", daemon=True)
    thread.start()
    return thread
