"""All Jobs that this machine's ledger or the account knows as ours: whose, alive or not, and what they cost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from uocr_nb.errors import EndpointError, OptionError
from uocr_nb.serving import ledger
from uocr_nb.serving.hub import account as accounts
from uocr_nb.serving.hub.client import HubClient
from uocr_nb.serving.hub.ending import TERMINAL, Answer, end_job, job_path, stage_of
from uocr_nb.serving.hub.labels import APP, machine_of
from uocr_nb.serving.hub.refusals import Asked, refusal
from uocr_nb.serving.hub.sweep import ran_of, sweep_jobs
from uocr_nb.serving.hub.token import find_token, need_token
from uocr_nb.support.durations import show_seconds
from uocr_nb.support.platform import identify, is_alive

if TYPE_CHECKING:
    from collections.abc import Iterable

_CALL_SECONDS = 8.0
_CANCEL_SECONDS = 20.0

Whose = Literal["this kernel", "another kernel", "a dead kernel", "kept", "another machine", "unknown"]
"""Who started a Job, as far as it can be seen from here."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """One Job of ours, or one endpoint of this machine.

    Attributes
    ----------
    id, namespace : str
        The Job; the id is empty for one that was being asked for.
    name, engine, flavor : str
        Of the endpoint in it.
    stage : str
        ``QUEUED`` ... as the Hub says; ``LOCAL`` for an engine on this machine; empty when it was not asked.
    whose : str
        One of `Whose`.
    machine : str
        Name of the machine that started it.
    age : float
        Seconds since it was started.
    cost : float or None
        US dollars so far.
    dead : bool
        Whether its owner is known to be dead, so that it may be cancelled.
    """

    id: str
    namespace: str
    name: str
    engine: str
    flavor: str
    stage: str
    whose: Whose
    machine: str
    age: float
    cost: float | None
    dead: bool
    entry: ledger.Entry | None = field(default=None, repr=False)

    @property
    def line(self) -> str:
        """All of it in one line."""
        cost = "price unknown" if self.cost is None else f"${self.cost:.2f}"
        job = f"{self.namespace}/{self.id or 'being asked for'}" if self.namespace else "on this machine"
        what = f"{self.engine} on {self.flavor}" if self.flavor else self.engine
        parts = [job, what, self.stage.lower(), self.whose, f"since {show_seconds(self.age)}", cost]
        return "   ".join(part for part in parts if part)


def jobs(*, account: bool = True, namespace: str = "") -> list[JobRow]:
    """List what runs: the ledger of this machine, and the account's Jobs with our labels.

    Parameters
    ----------
    account : bool
        Whether the Hub is asked; without it no socket is opened.
    namespace : str
        Another account than the token's own.

    Raises
    ------
    EndpointError
        When the Hub was to be asked and did not tell.
    """
    entries = ledger.entries()
    listed = _account_jobs(namespace, entries) if account else {}
    rows = []
    for entry in entries:
        job = listed.pop(entry.job.id, None) if entry.job else None
        if job is not None and stage_of(job) in TERMINAL:
            # Its kernel, where one lives, strikes it off itself.
            if is_alive(entry.owner) is False:
                ledger.remove(entry)
            continue
        rows.append(_of_entry(entry, job))
    rows += [_of_job(job) for job in listed.values() if stage_of(job) not in TERMINAL]
    return sorted(rows, key=lambda row: -row.age)


def _account_jobs(namespace: str, entries: Iterable[ledger.Entry]) -> dict[str, dict[str, Any]]:
    """Read the account's Jobs of ours, by id; without a token and without a Job in the ledger there is none."""
    token = find_token()
    if token is None:
        return {}
    hub = HubClient(token.secret)
    own = namespace or str(accounts.who_am_i(hub, token)["name"])
    places = dict.fromkeys([own, *(entry.job.namespace for entry in entries if entry.job and not namespace)])
    found: dict[str, dict[str, Any]] = {}
    for place in places:
        answer = hub.list(f"{job_path(place)}?label=app%3D{APP}", timeout=_CALL_SECONDS)
        if not answer.ok:
            what = f"The Jobs of {place} could not be listed."
            raise refusal(answer, Asked(what, hub.endpoint, place, token.source, charged=""))
        for job in answer.data:
            if isinstance(job, dict) and (job.get("labels") or {}).get("app") == APP:
                found[str(job.get("id"))] = job
    return found


def _of_entry(entry: ledger.Entry, job: dict[str, Any] | None) -> JobRow:
    note = entry.job
    age = max(0.0, time.time() - datetime.fromisoformat(entry.started).timestamp())
    cost: float | None = 0.0
    if note is not None:
        cost = None if note.price is None else note.price * (ran_of(job) if job else age) / 3600
    return JobRow(
        id=note.id if note else "",
        namespace=note.namespace if note else "",
        name=entry.name,
        engine=entry.engine,
        flavor=note.flavor if note else "",
        stage=stage_of(job) if job else ("" if note else "LOCAL"),
        whose=_whose(entry),
        machine="" if entry.owner.machine == identify().machine else entry.owner.machine,
        age=age,
        cost=cost,
        dead=not entry.keep and entry.is_orphan(),
        entry=entry,
    )


def _whose(entry: ledger.Entry) -> Whose:
    if entry.owner == identify():
        return "this kernel"
    alive = is_alive(entry.owner)
    if alive is None:
        return "another machine"
    if alive:
        return "another kernel"
    return "kept" if entry.keep else "a dead kernel"


def _of_job(job: dict[str, Any]) -> JobRow:
    labels = job.get("labels") or {}
    # Not in this machine's ledger: its owner cannot be seen, even where it was this machine.
    elsewhere = machine_of(labels) != identify().machine
    price = accounts.price_of(str(job.get("flavor")), accounts.hardware_rows(HubClient())).total
    try:
        age = (datetime.now(UTC) - datetime.fromisoformat(str(job.get("createdAt")))).total_seconds()
    except ValueError:
        age = 0.0
    return JobRow(
        id=str(job.get("id")),
        namespace=str((job.get("owner") or {}).get("name") or ""),
        name=str(labels.get("name") or ""),
        engine=str(labels.get("engine") or ""),
        flavor=str(job.get("flavor") or ""),
        stage=stage_of(job),
        whose="another machine" if elsewhere else "unknown",
        machine=str(labels.get("host") or "").rpartition(".")[0],
        age=max(0.0, age),
        cost=None if price is None else price * ran_of(job) / 3600,
        dead=False,
    )


def cancel_dead() -> list[str]:
    """End what is proven dead: engines and Jobs of dead kernels of this machine; return a sentence for each."""
    told = [f"Stopped {entry.name}, from a kernel that died." for entry in ledger.sweep()]
    return told + [swept.text for swept in sweep_jobs()]


def cancel_job(job_id: str) -> str:
    """End one Job by its id (``ID`` or ``NAMESPACE/ID``), whoever started it; return a sentence.

    Raises
    ------
    OptionError
        When there is no such Job of ours.
    EndpointError
        When its cancel was not accepted.
    """
    place, _, wanted = job_id.strip().rpartition("/")
    rows = [row for row in jobs(namespace=place) if row.id and row.id == wanted]
    if not rows:
        raise OptionError(f"There is no running Job {wanted!r} of ours.", "It may have ended.", "%uocr_jobs")
    row, token = rows[0], need_token()
    hub = HubClient(token.secret)

    def ask(method: str, path: str) -> Answer:
        return hub.ask(method, path, timeout=4.0)

    path = job_path(row.namespace, row.id)
    if not end_job(ask, path, asked=False, until=time.monotonic() + _CANCEL_SECONDS):
        raise EndpointError(
            f"{row.namespace}/{row.id} was not cancelled.", "The Hub did not accept it.", f"hf jobs cancel {row.id}"
        )
    if row.entry is not None:
        ledger.remove(row.entry)
    return f"Cancelled {row.namespace}/{row.id}: {row.engine} on {row.flavor}, {show_seconds(row.age)}."
