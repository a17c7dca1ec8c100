"""Whoever ends a Job when this process cannot: the watchdog and the ledger, told before and after each step."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from uocr_nb.serving import ledger
from uocr_nb.serving.hub.ending import job_path
from uocr_nb.serving.hub.labels import kernel_id
from uocr_nb.serving.reaper import reaper
from uocr_nb.support.platform import identify

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint

_AFTER = 300.0
"""Seconds past a Job's own timeout for which its end is still asked for."""


class JobGuard:
    """Keeps the watchdog and the ledger informed of one Job.

    Parameters
    ----------
    endpoint : Endpoint
        What runs in it.
    note : JobNote
        The Job, with no id before it is there.
    call : dict
        How the watchdog asks the Hub; holds the token, and goes over the pipe alone.
    """

    def __init__(self, endpoint: Endpoint, note: ledger.JobNote, call: dict[str, Any]) -> None:
        self._call = call
        self._keep = endpoint.plan.keep
        self.entry = ledger.Entry(
            id=endpoint.uid,
            name=endpoint.name,
            engine=endpoint.engine,
            host=endpoint.host,
            base_url="",
            owner=identify(),
            process=None,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            job=note,
            variant=endpoint.plan.variant,
            kernel=kernel_id(),
        )

    def __repr__(self) -> str:
        return f"<JobGuard {self.entry.id}>"

    def intend(self) -> None:
        """Before a Job is asked for: whoever finds it later ends it."""
        note = self._note()
        # The watchdog first: it also ends what the disk was too full to note.
        reaper.watch_mark(self.entry.id, self._call, note.namespace, note.mark, self.entry.file)
        ledger.write(self.entry)

    def hold(self, namespace: str, job_id: str) -> None:
        """Note down the id of a Job that is there."""
        note = replace(self._note(), namespace=namespace, id=job_id)
        self.entry = replace(self.entry, job=note)
        reaper.watch_job(
            self.entry.id,
            self._call,
            path=job_path(namespace, job_id),
            job_id=job_id,
            seconds=note.timeout + _AFTER,
            entry=self.entry.file,
        )
        ledger.write(self.entry)

    def ready(self, base_url: str) -> None:
        """Note its address; from now on one that shall be kept is nobody's to end but its user's."""
        self.entry = replace(self.entry, base_url=base_url, keep=self._keep)
        ledger.write(self.entry)
        if self._keep:
            reaper.forget(self.entry.id)

    def ending(self) -> None:
        """Before its end is asked for."""
        reaper.asked(self.entry.id)

    def let_go(self) -> None:
        """It has ended, or never was."""
        reaper.forget(self.entry.id)
        ledger.remove(self.entry)

    def _note(self) -> ledger.JobNote:
        if self.entry.job is None:
            raise RuntimeError("A guard is of a Job.")
        return self.entry.job
