"""The Hub itself: two servers of 127.0.0.1, its Jobs, its faults, its list of requests."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, Self

from tests.hub import faults
from tests.hub.account import Account, new_token
from tests.hub.api import HubServer
from tests.hub.jobs import Job, World
from tests.hub.proxy import ProxyServer
from tests.hub.records import Queries, Record, Recorder
from tests.hub.shims import Programs
from tests.hub.wire import Reply, failure


class Hub(Queries):
    """A loopback Hub; a context manager.

    Parameters
    ----------
    port : int
        Port of the API; 0 takes a free one.
    scheduling : float
        Seconds a Job waits in the queue.
    speed : float
        How much faster a Job's timeout passes than the clock on the wall.
    grace : float
        Seconds between SIGTERM and SIGKILL when a Job is stopped.
    stage_lag : float
        Seconds between the last log line and the last stage.
    keepalive : float
        Seconds of silence before a keep-alive comment in a log stream (the service: 30).
    page_size : int
        Jobs on one page of the list.
    mapped : bool
        Never use a Job's declared port itself, also when it is free.
    programs : Programs
        How the programs of a Job are played.
    not_ready_status, gone_status : int
        What the proxy answers while no server listens in the Job, and when the Job is over.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        scheduling: float = 0.05,
        speed: float = 1.0,
        grace: float = 1.0,
        stage_lag: float = 0.0,
        keepalive: float = 30.0,
        page_size: int = 50,
        mapped: bool = False,
        programs: Programs | None = None,
        not_ready_status: int = 503,
        gone_status: int = 404,
    ) -> None:
        self.token = new_token()
        self.account = Account(tokens={self.token: ""})
        self.script = faults.Script()
        self.recorder = Recorder(lambda: list(self.account.tokens))
        self.keepalive = keepalive
        self.page_size = page_size
        self.not_ready_status = not_ready_status
        self.gone_status = gone_status
        self.folder = Path(tempfile.mkdtemp(prefix="uocr-hub-"))
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        self._proxy = ProxyServer(self, 0)
        self._server: HubServer | None = HubServer(self, port)
        self.endpoint = self._server.url
        self._port = self._server.port
        self._world = World(
            self.folder,
            programs or Programs(),
            self.script,
            lambda: self._proxy.url,
            scheduling,
            speed,
            grace,
            stage_lag,
            mapped,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill every Job, stop both servers, remove the folder."""
        for job in self.jobs():
            job.end("CANCELED", at_once=True)
        for job in self.jobs():
            job.close()
        self.down()
        self._proxy.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def errors(self) -> list[BaseException]:
        """Errors of the Hub's own code, which a test must not hide."""
        return [*self._errors, *self._proxy.errors, *(self._server.errors if self._server else [])]

    # -- faults ------------------------------------------------------------------------------------------------------

    def add(self, *waiting: faults.Fault) -> None:
        """Script faults; each waits for its request or its Job."""
        self.script.add(*waiting)

    def clear(self) -> None:
        """Forget the faults that wait."""
        self.script.clear()

    def down(self) -> None:
        """Stop listening: connections to the API are refused until ``up``."""
        if self._server is not None:
            self._errors += self._server.errors
            self._server.close()
            self._server = None

    def up(self) -> None:
        """Listen again on the same port."""
        if self._server is None:
            self._server = HubServer(self, self._port)

    def set_account(self, **fields: Any) -> None:
        """Change the account: ``can_pay``, ``role``, ``rights``, ``orgs``, ``name``, ``pro``."""
        for name, value in fields.items():
            if name not in {field.name for field in dataclasses.fields(Account)}:
                raise AttributeError(name)
            setattr(self.account, name, value)

    def add_token(self, role: str = "") -> str:
        """Make one more valid token, with a role of its own where it is given."""
        token = new_token()
        self.account.tokens[token] = role
        return token

    def revoke(self, token: str) -> None:
        """Let a token be valid no more."""
        self.account.tokens.pop(token, None)

    # -- Jobs --------------------------------------------------------------------------------------------------------

    def create(self, body: dict[str, Any], namespace: str, initiator: str) -> Job:
        """Make a Job and put it into the queue."""
        job = Job(self._world, body, self.account.owner(namespace), self.account.author(), initiator=initiator)
        with self._lock:
            self._jobs[job.id] = job
        job.start()
        return job

    def find(self, job_id: str) -> Job | None:
        """Find a Job by its id."""
        return self._jobs.get(job_id)

    def jobs(self, namespace: str = "") -> list[Job]:
        """List the Jobs (of one namespace), newest first."""
        with self._lock:
            return [job for job in reversed(self._jobs.values()) if namespace in {"", job.owner["name"]}]

    def infos(self) -> list[dict[str, Any]]:
        """Describe every Job in the Hub's shape, newest first."""
        return [job.info() for job in self.jobs()]

    def alive(self) -> list[str]:
        """List the ids of Jobs of which a process still runs."""
        return [job.id for job in self.jobs() if job.alive]

    def lines(self, job_id: str) -> list[str]:
        """List the log lines of a Job, without the start mark."""
        job = self._jobs[job_id]
        with job.changed:
            return [text for _, text in job.logs if not text.startswith("===== Job started")]

    def kill(self, job_id: str, code: int = 137, message: str | None = None) -> bool:
        """Let a Job die now."""
        return self._jobs[job_id].die(code, message)

    def cancel(self, job_id: str, reason: str | None = None, message: str | None = None) -> bool:
        """Cancel a Job from the service's side, for instance with ``NO_CREDITS``."""
        return self._jobs[job_id].end("CANCELED", message, reason=reason)

    # -- what was asked ----------------------------------------------------------------------------------------------

    def records(self) -> list[Record]:
        """List every request so far."""
        return self.recorder.list()

    def forget(self) -> None:
        """Start again with an empty list of requests."""
        self.recorder.clear()

    # -- from another process ----------------------------------------------------------------------------------------

    _REMOTE = frozenset(
        {
            "clear",
            "down_for",
            "set_account",
            "add_token",
            "revoke",
            "infos",
            "alive",
            "lines",
            "kill",
            "cancel",
            "forget",
        }
    )

    def down_for(self, seconds: float) -> None:
        """Refuse connections for some seconds (from another process, which could not ask for ``up``)."""

        def pause() -> None:
            # The answer to the one who asked goes out first.
            self._proxy.closing.wait(0.1)
            self.down()
            self._proxy.closing.wait(seconds)
            if not self._proxy.closing.is_set():
                self.up()

        threading.Thread(target=pause, daemon=True).start()

    def control(self, raw: bytes) -> Reply:
        """Answer ``POST /_control``: ``{"call": NAME, "arguments": {...}}``."""
        try:
            order = json.loads(raw)
            return Reply(data={"result": self._called(order["call"], order.get("arguments", {}))})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return failure(400, repr(error))

    def _called(self, call: str, arguments: dict[str, Any]) -> Any:
        if call == "add":
            self.add(*(faults.from_json(fault) for fault in arguments["faults"]))
            return None
        if call == "records":
            return [dataclasses.asdict(record) for record in self.records()]
        if call == "waiting":
            return [faults.to_json(fault) for fault in self.script.waiting()]
        if call == "errors":
            return [repr(error) for error in self.errors]
        if call not in self._REMOTE:
            raise KeyError(call)
        return getattr(self, call)(**arguments)
