"""The routes of the Hub that Jobs need, as the real client asks them."""

from __future__ import annotations

import http
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any

from tests.hub import faults, schema, streams
from tests.hub.hardware import HARDWARE
from tests.hub.wire import Handler, Reply, Server, failure

if TYPE_CHECKING:
    from tests.hub.jobs import Job
    from tests.hub.records import Record
    from tests.hub.server import Hub

_ROUTES: tuple[tuple[str, str, str], ...] = (
    ("GET", r"/api/whoami-v2", "whoami"),
    ("GET", r"/api/jobs/hardware", "hardware"),
    ("POST", r"/api/jobs/(?P<ns>[^/]+)/auth-check/(?P<right>read|write)", "auth"),
    ("POST", r"/api/jobs/(?P<ns>[^/]+)", "run"),
    ("GET", r"/api/jobs/(?P<ns>[^/]+)", "list"),
    ("GET", r"/api/jobs/(?P<ns>[^/]+)/(?P<job>[^/]+)", "inspect"),
    ("GET", r"/api/jobs/(?P<ns>[^/]+)/(?P<job>[^/]+)/logs", "logs"),
    ("GET", r"/api/jobs/(?P<ns>[^/]+)/(?P<job>[^/]+)/metrics", "metrics"),
    ("POST", r"/api/jobs/(?P<ns>[^/]+)/(?P<job>[^/]+)/cancel", "cancel"),
    ("POST", r"/api/jobs/(?P<ns>[^/]+)/(?P<job>[^/]+)/duplicate", "duplicate"),
    ("PUT", r"/api/jobs/(?P<ns>[^/]+)/(?P<job>[^/]+)/labels", "labels"),
    ("PUT", r"/api/jobs/(?P<ns>[^/]+)/(?P<job>[^/]+)/expose", "expose"),
)
_WRITES = frozenset({"run", "cancel", "duplicate", "labels", "expose"})
_TEXTS = {
    401: "Invalid credentials in Authorization header",
    402: "Pre-paid credit balance is insufficient - add more credits to your account to use Jobs.",
    403: "This authentication method does not have sufficient permissions to start and manage Jobs: job.write",
    404: "Job not found",
    409: "Job is already in a final stage",
    429: "We had to rate limit you. Retry later.",
    500: "Internal Error - We're working hard to fix this as soon as possible!",
}


def find_route(method: str, path: str) -> tuple[str, dict[str, str]]:
    """Name the route of a request, with the parts of its path."""
    for known, pattern, name in _ROUTES:
        found = re.fullmatch(pattern, path)
        if known == method and found:
            return name, {key: urllib.parse.unquote(value) for key, value in found.groupdict().items()}
    return "unknown", {}


def scripted(fault: faults.Answer) -> Reply:
    """Make the answer that a fault asks for."""
    text = fault.message or _TEXTS.get(fault.status) or http.HTTPStatus(fault.status).phrase
    more = {"Retry-After": "1", "ratelimit": '"api";r=0;t=1', "ratelimit-policy": '"fixed window";"api";q=500;w=300'}
    headers = {**(more if fault.status == 429 else {}), **fault.headers}
    if fault.body is not None:
        return Reply(fault.status, headers=headers, text=fault.body, kind="text/html; charset=utf-8")
    return failure(fault.status, text, **headers)


class HubServer(Server):
    """The server that knows its Hub."""

    def __init__(self, hub: Hub, port: int) -> None:
        self.hub = hub
        super().__init__(Api, port)

    def wake(self) -> None:
        """Rouse the log streams."""
        for job in self.hub.jobs():
            with job.changed:
                job.changed.notify_all()


class Api(Handler):
    """One connection to the Hub."""

    server: HubServer

    def do_GET(self) -> None:  # noqa: N802 - the base class's name
        """Serve."""
        self._serve()

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815 - the base class's names

    def _serve(self) -> None:
        self.hub = self.server.hub
        split = urllib.parse.urlsplit(self.path)
        self.query = urllib.parse.parse_qs(split.query, keep_blank_values=True)
        self.raw = self.read_body()
        if split.path == "/_control":
            self.send(self.hub.control(self.raw))
            return
        self.token = self.headers.get("Authorization")
        self.route, self.parts = find_route(self.command, split.path)
        record = self.hub.recorder.open(
            where="hub",
            method=self.command,
            path=split.path,
            query=self.query,
            route=self.route,
            job_id=self.parts.get("job", ""),
            namespace=self.parts.get("ns", ""),
            auth=self.hub.account.knows(self.token),
            headers=dict(self.headers.items()),
            body=self.raw,
        )
        self._answer(record, split.path)

    def _answer(self, record: Record, path: str) -> None:
        job_id = self.parts.get("job", "")
        kinds = (faults.Answer, faults.Lost, faults.Silent, faults.Hangup, faults.Slow)
        fault = self.hub.script.for_request(kinds, self.route, path, job_id)
        if isinstance(fault, faults.Answer):
            self._give(record, scripted(fault))
        elif isinstance(fault, (faults.Silent, faults.Hangup)):
            record.status = 0
            if isinstance(fault, faults.Silent):
                self.hold()
            self.cut(reset=isinstance(fault, faults.Hangup) and fault.reset)
        elif isinstance(fault, faults.Lost):
            record.status = 0
            self._do()
            self._lose(record, fault)
        elif isinstance(fault, faults.Slow):
            reply = self._do() if fault.created else None
            self.hold(fault.seconds)
            self._give(record, reply or self._do())
        else:
            self._give(record, self._do())

    def _lose(self, record: Record, fault: faults.Lost) -> None:
        if fault.how == "status":
            self._give(record, scripted(faults.Answer(status=fault.status)))
            return
        if fault.how == "silence":
            self.hold()
        self.cut(reset=fault.how == "reset")

    def _give(self, record: Record, reply: Reply | Job) -> None:
        """Send an answer; a Job stands for the stream of its log or metrics."""
        if isinstance(reply, Reply):
            record.status = reply.status
            self.send(reply)
            return
        record.status = 200
        self.start_stream()
        if self.route == "logs":
            tail = self.query.get("tail", [""])[0]
            streams.send_logs(self, self.hub, reply, int(tail) if tail.isdigit() else None)
        else:
            streams.send_metrics(self, reply)

    # -- the routes --------------------------------------------------------------------------------------------------

    def _do(self) -> Reply | Job:
        """Do what is asked."""
        if self.route == "hardware":
            return Reply(data=HARDWARE)
        if self.hub.account.knows(self.token) != "ok":
            return failure(401, _TEXTS[401])
        if self.route == "whoami":
            return Reply(data=self.hub.account.whoami(self.token))
        if self.route == "unknown":
            return failure(404, "Not Found")
        return self._do_job()

    def _do_job(self) -> Reply | Job:
        namespace = self.parts["ns"]
        pays = self.hub.account.pays(namespace)
        if pays is None:
            return failure(404, _TEXTS[404])
        needs_write = self.route in _WRITES or self.parts.get("right") == "write"
        if needs_write and not self.hub.account.may_write(self.token):
            return failure(403, _TEXTS[403])
        if "job" in self.parts:
            job = self.hub.find(self.parts["job"])
            return self._do_one(job) if job and job.owner["name"] == namespace else failure(404, _TEXTS[404])
        if self.route == "run":
            return self._run(namespace, pays=pays)
        return self._list(namespace) if self.route == "list" else Reply(data={"success": True})

    def _do_one(self, job: Job) -> Reply | Job:
        if self.route == "logs":
            return job
        if self.route == "metrics":
            return failure(406, "Job is not running") if job.ended else job
        if self.route == "cancel":
            return Reply(data=job.info()) if job.end("CANCELED") else failure(409, _TEXTS[409])
        if self.route == "duplicate":
            return Reply(data=self.hub.create(job.body, job.owner["name"], "duplicated-job").info())
        if self.route in {"labels", "expose"}:
            return self._change(job)
        return Reply(data=job.info())

    def _json(self) -> Any:
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    def _run(self, namespace: str, *, pays: bool) -> Reply:
        body = self._json()
        error = schema.job_error(body)
        if error:
            return failure(400, error)
        if not pays:
            return failure(402, _TEXTS[402])
        return Reply(data=self.hub.create(body, namespace, "user").info())

    def _change(self, job: Job) -> Reply:
        body = self._json()
        if self.route == "labels":
            labels = body.get("labels") if isinstance(body, dict) else None
            error = schema.labels_error(labels)
            if isinstance(labels, dict) and error is None:
                job.labels = dict(labels)
        else:
            error = schema.expose_error(body)
            if error is None:
                job.expose = body
        return failure(400, error) if error else Reply(data=job.info())

    def _list(self, namespace: str) -> Reply:
        stages = set(self.query.get("stage", []))
        wanted = [label.partition("=")[::2] for label in self.query.get("label", [])]
        jobs = [
            job
            for job in self.hub.jobs(namespace)
            if (not stages or job.stage in stages) and all(job.labels.get(key) == value for key, value in wanted)
        ]
        cursor = self.query.get("cursor", [""])[0]
        start = next((n + 1 for n, job in enumerate(jobs) if job.id == cursor), 0)
        page = jobs[start : start + self.hub.page_size]
        headers = {}
        if start + len(page) < len(jobs):
            rest = [(key, value) for key, values in self.query.items() if key != "cursor" for value in values]
            query = urllib.parse.urlencode([*rest, ("cursor", page[-1].id)])
            headers["Link"] = f'<{self.server.url}/api/jobs/{namespace}?{query}>; rel="next"'
        return Reply(data=[job.info() for job in page], headers=headers)
