"""One Job from the request to its end, kept by one thread: asked for, watched, and cancelled until that is accepted."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from uocr_nb.errors import EndpointError, UocrError
from uocr_nb.serving.hub.ending import TERMINAL, Answer, end_job, end_marked, find_marked, job_path, stage_of
from uocr_nb.serving.hub.refusals import Asked, refusal

if TYPE_CHECKING:
    from uocr_nb.serving.hub.client import HubClient

_POST_SECONDS = 45.0
_LOOK_SECONDS = 6.0
_CANCEL_SECONDS = 4.0
_LOOKS = (0.0, 0.7, 1.5, 3.0)
"""Pauses before each look for our own label after an answer that left open whether a Job was made."""

_TRIES = 3
_LONGEST_WAIT = 30.0
_LATE = 60.0
_EAGER, _CALM = 1.0, 10.0
"""Seconds between two looks at a Job that starts, and at one that is ready."""

_AFTER_ITS_TIME = 60.0
_GONE_AFTER = 3
"""Looks in a row that do not find a Job, after which it counts as deleted."""


class Guard(Protocol):
    """What is told of each step, so that somebody else ends the Job when this process cannot."""

    def intend(self) -> None:
        """A Job is about to be asked for."""

    def hold(self, namespace: str, job_id: str) -> None:
        """The Job is there."""

    def ending(self) -> None:
        """Its end is about to be asked for."""

    def let_go(self) -> None:
        """It is known to have ended, or never to have been."""


class Listener(Protocol):
    """Who hears how it goes; called in the keeper's thread."""

    def accepted(self, job: dict[str, Any]) -> None:
        """The Job is there."""

    def looked(self, job: dict[str, Any]) -> None:
        """The Job was looked at."""

    def refused(self, error: UocrError) -> None:
        """There is no Job."""

    def ended(self, job: dict[str, Any]) -> None:
        """The Job has ended by itself, or by somebody else."""

    def closed(self) -> None:
        """Nothing more comes."""


@dataclass(frozen=True, slots=True)
class Order:
    """A Job to be asked for.

    Attributes
    ----------
    namespace : str
        The account that pays.
    mark : str
        The label's value that tells this start from every other.
    body : dict
        The request. May hold the token as a secret of the Job.
    asked : Asked
        Words for a refusal.
    """

    namespace: str
    mark: str
    body: dict[str, Any] = field(repr=False)
    asked: Asked


class JobKeeper:
    """Keeps one Job.

    Parameters
    ----------
    hub : HubClient
        Who is asked.
    order : Order
        What is asked for.
    guard : Guard
        Who ends it when this process cannot.
    listener : Listener
        Who hears of it.
    job : dict, optional
        A Job that runs already, to be taken over.
    """

    def __init__(
        self, hub: HubClient, order: Order, guard: Guard, listener: Listener, job: dict[str, Any] | None = None
    ) -> None:
        self._hub = hub
        self._order = order
        self._guard = guard
        self._listener = listener
        self._adopted = job
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._calm = False
        self._ends_at = float("inf")
        self._unclear = False
        self.job: dict[str, Any] = {}
        self.namespace = order.namespace
        self.over = threading.Event()
        self.cancelled = False
        self._thread = threading.Thread(target=self._keep, name=f"Job {order.mark}", daemon=True)

    def __repr__(self) -> str:
        return f"<JobKeeper {self.namespace}/{self.id or '?'} {self.stage}>"

    @property
    def id(self) -> str:
        """The Job's id; empty before it is there."""
        return str(self.job.get("id") or "")

    @property
    def stage(self) -> str:
        """The Job's stage as last seen."""
        return stage_of(self.job)

    @property
    def ended(self) -> bool:
        """Whether the Job was seen to have ended."""
        return self.stage in TERMINAL

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Have the Job cancelled, whatever it is doing now; returns at once."""
        self._stop.set()
        self._wake.set()

    def look_now(self) -> None:
        """Have the Job looked at, now."""
        self._wake.set()

    def calm_down(self) -> None:
        """Look less often: it is ready."""
        self._calm = True

    def expect_end(self, at: float) -> None:
        """Take the Job for ended at this time (of the wall clock), should the Hub not be there to be asked."""
        self._ends_at = at + _AFTER_ITS_TIME

    # ------------------------------------------------------------------ the thread
    def _keep(self) -> None:
        try:
            if not (self._take(self._adopted) if self._adopted else self._ask_for()):
                return
            self._watch()
        except Exception as error:  # noqa: BLE001 - from acceptance on, every way out cancels
            self._cancel()
            self._listener.refused(_as_error(error))
        finally:
            self._listener.closed()
            self.over.set()

    def _ask_for(self) -> bool:
        """Ask for the Job; tell whether it is there."""
        if self._stop.is_set():
            self._refuse(EndpointError(self._order.asked.what, "It was stopped before it began.", "%uocr_serve"))
            return False
        try:
            self._guard.intend()
        except Exception as error:  # noqa: BLE001 - a full disk, no room for a process
            why = f"It could not be noted down, so nobody could end it after this kernel ({_name(error)})."
            then = "Free some space, or set UOCR_STATE_DIR to a folder that can be written."
            self._refuse(EndpointError(self._order.asked.what, f"{why} {self._order.asked.charged}", then))
            return False
        try:
            answer = self._post()
        except Exception as error:  # noqa: BLE001 - whatever it is, a Job may have been made
            self._unclear, answer = True, Answer(0, lost="broken", said=type(error).__name__)
        if answer.ok:
            return self._take(answer.data)
        if self._unclear:
            charged = "It is not known whether a Job was made; should one turn up, it is cancelled."
            self._listener.refused(refusal(answer, replace(self._order.asked, charged=charged)))
            # Whoever waits has been told; the watchdog stays told until this is over.
            end_marked(self._patient, self._order.namespace, self._order.mark, late=_LATE)
            self._guard.let_go()
            return False
        self._refuse(refusal(answer, self._order.asked))
        return False

    def _refuse(self, error: UocrError) -> None:
        with contextlib.suppress(Exception):
            self._guard.let_go()
        self._listener.refused(error)

    def _post(self) -> Answer:
        """Send the request; after an answer that tells nothing, look for our own label before it is sent again."""
        path, answer = job_path(self._order.namespace), Answer(0)
        for attempt in range(_TRIES):
            answer = self._hub.ask("POST", path, self._order.body, timeout=_POST_SECONDS)
            if answer.ok and isinstance(answer.data, dict) and answer.data.get("id"):
                return answer
            last = attempt == _TRIES - 1 or self._stop.is_set()
            if answer.ok or answer.unclear:
                self._unclear = True
                found = self._look_for_own()
                if found:
                    return Answer(200, found[0])
                # One that the Hub is still busy with may yet become a Job: it is not asked for twice.
                if found is None or last or answer.lost == "timeout":
                    return Answer(answer.status if not answer.ok else 0, said=answer.said, lost=answer.lost or "broken")
            elif answer.status == 429 and not last:
                self._stop.wait(min(answer.retry_after or 2.0, _LONGEST_WAIT))
            else:
                return answer
        return answer

    def _look_for_own(self) -> list[dict[str, Any]] | None:
        """Find the Job by its label; None when nobody could tell, empty when it is not there."""
        told: list[dict[str, Any]] | None = None
        for pause in _LOOKS:
            time.sleep(pause)
            found = find_marked(self._brief, self._order.namespace, self._order.mark)
            if found:
                return found
            told = found if found is not None else told
        return told

    def _take(self, job: dict[str, Any]) -> bool:
        """Take the Job over: first it is noted down, then anything else is done."""
        self.job = job
        owner = job.get("owner")
        self.namespace = str((owner.get("name") if isinstance(owner, dict) else "") or self._order.namespace)
        self._guard.hold(self.namespace, self.id)
        self._listener.accepted(job)
        return True

    def _end_doubles(self) -> None:
        """After an unclear answer and a second request: end what the first one made after all."""
        for job in find_marked(self._brief, self.namespace, self._order.mark) or ():
            if job.get("id") != self.id and stage_of(job) not in TERMINAL:
                path = job_path(self.namespace, str(job["id"]))
                end_job(self._patient, path, asked=False, until=time.monotonic() + _LATE)

    def _watch(self) -> None:
        """Look at the Job until it ends or its end is asked for."""
        missing = 0
        path = job_path(self.namespace, self.id)
        doubtful_until = time.monotonic() + _LATE if self._unclear else 0.0
        while True:
            if time.monotonic() < doubtful_until:
                self._end_doubles()
            self._wake.wait(_CALM if self._calm else _EAGER)
            self._wake.clear()
            if self._stop.is_set():
                self._cancel()
                return
            seen = self._hub.ask("GET", path, timeout=_LOOK_SECONDS)
            missing = missing + 1 if seen.status == 404 else 0
            if seen.ok and stage_of(seen.data):
                self.job = seen.data
                self._listener.looked(seen.data)
            elif missing >= _GONE_AFTER:
                self.job = {**self.job, "status": {"stage": "DELETED"}}
            elif not seen.status and time.time() > self._ends_at:
                self.job = {**self.job, "status": {"stage": "ERROR", "message": "Job timeout"}}
            if self.ended:
                self._guard.let_go()
                self._listener.ended(self.job)
                return

    def _cancel(self) -> None:
        """Ask for the Job's end until that is accepted."""
        if self.ended or not self.id:
            self._guard.let_go()
            return
        with contextlib.suppress(Exception):
            self._guard.ending()
        timeout = float(self._order.body.get("timeoutSeconds") or 0) + 600
        path = job_path(self.namespace, self.id)
        if end_job(self._patient, path, asked=False, until=time.monotonic() + timeout):
            self.cancelled = True
            with contextlib.suppress(Exception):
                self._guard.let_go()

    def _brief(self, method: str, path: str) -> Answer:
        return self._hub.ask(method, path, timeout=_LOOK_SECONDS)

    def _patient(self, method: str, path: str) -> Answer:
        return self._hub.ask(method, path, timeout=_CANCEL_SECONDS)


def _as_error(error: Exception) -> UocrError:
    if isinstance(error, UocrError):
        return error
    return EndpointError("The Job could not be kept track of.", f"{_name(error)}.", "%uocr_jobs")


def _name(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
