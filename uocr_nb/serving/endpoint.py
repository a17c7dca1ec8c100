"""A running engine on a host: where it is, how it is talked to, and how it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from uocr_nb.errors import EndpointError, UocrError
from uocr_nb.support import loop
from uocr_nb.support.durations import show_clock
from uocr_nb.support.net import Secret, client_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    import httpx2
    from openai import AsyncOpenAI, OpenAI

    from uocr_nb.serving.engines import EngineProfile
    from uocr_nb.serving.plan import Plan, Say, State

__all__ = ["Endpoint"]

_KEPT_LINES = 2000
_READ_TIMEOUT = 600.0
"""Seconds of silence from an engine: a dense page on a slow machine may take minutes to its first word."""

_SOON = 300.0
"""Seconds before its end from which an endpoint says so."""

_DRIFT = 3.0

_PLACES = {"process": " on this machine", "docker": " in a container on this machine", "url": ""}


class Host(Protocol):
    """What an endpoint needs of the place where its engine runs."""

    async def start(self, say: Say) -> None:
        """Bring the engine to where it has answered a real request; fill in the endpoint's address and key."""

    async def still_there(self) -> bool:
        """Tell whether an engine that was ready still is."""

    def ask_to_stop(self) -> None:
        """Begin to stop, without waiting."""

    def finish_stop(self, within: float) -> bool | None:
        """Wait so many seconds for the end, then force it; False when it is not sure yet."""

    def let_go_in_child(self) -> None:
        """Close what a forked child has inherited and its parent's engine lives by."""


class Endpoint:
    """A running engine on a host. Made by `uocr_nb.serve`; a context manager that stops it at the end.

    Attributes
    ----------
    id : str
        Unlike that of any other endpoint; that of its Job where it runs in one.
    name : str
        What it is called here; unique among the endpoints of this kernel.
    base_url : str
        Address of its OpenAI-compatible interface, ending in ``/v1``.
    model : str
        Name under which it serves the model.
    profile : EngineProfile
        How its engine is asked.
    slots : int
        Requests to keep going at once.
    pages_read, in_flight : int
        Pages that it has answered for this kernel, and those that it is being asked for.
    deadline : datetime or None
        When it ends by itself.
    price : float or None
        US dollars an hour, the exposed port of a Job included; None when unknown.
    revision : str or None
        Revision of the model that it was started with; None where that is not known.
    job_id : str
        Id of its Job on the Hub; empty where it runs in none.
    served : dict or None
        What its ``/v1/models`` answered, where it was read.
    """

    def __init__(self, plan: Plan, profile: EngineProfile | None, name: str) -> None:
        self.uid = secrets.token_hex(6)
        self.job_id = ""
        self.name = name
        self.plan = plan
        self.base_url = plan.url
        self.model = "Unlimited-OCR"
        self.revision = (
            None
            if profile is None or plan.host == "url"
            else profile.pin(profile.variant(plan.variant, plan.host), plan.model, plan.revision)
        )
        self.deadline: datetime | None = None
        self.price: float | None = 0.0 if plan.host in ("process", "docker") else None
        self.failure: UocrError | None = None
        self.served: dict[str, Any] | None = None
        self.pages_read = 0
        self.in_flight = 0
        self._meter: tuple[float, float | None] | None = None
        self._began = time.monotonic()
        self._ended: float | None = None
        self._profile = profile
        self._state: State = "queued" if plan.host == "hf" else "starting"
        self._key = Secret("")
        self._headers: dict[str, Secret] = {}
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._client: tuple[int, httpx2.AsyncClient, AsyncOpenAI | None] | None = None
        self._plain_client: tuple[int, OpenAI] | None = None
        self._runs_on: Host | None = None
        self._give_up: Callable[[], Any] | None = None

    # ------------------------------------------------------------------ what it is
    @property
    def id(self) -> str:
        """Unlike that of any other endpoint; that of its Job where it runs in one."""
        return self.job_id or self.uid

    @property
    def profile(self) -> EngineProfile:
        """How its engine is asked."""
        if self._profile is None:
            raise EndpointError(f"{self.name} is not ready.", "Which engine it is has not been read yet.")
        return self._profile

    @profile.setter
    def profile(self, profile: EngineProfile) -> None:
        self._profile = profile

    @property
    def engine(self) -> str:
        """Name of its engine; empty until a URL has told."""
        return self._profile.name if self._profile else ""

    @property
    def host(self) -> str:
        """Where it runs: ``hf``, ``docker``, ``process`` or ``url``."""
        return self.plan.host

    @property
    def slots(self) -> int:
        """Requests to keep going at once."""
        return self.profile.slots

    @property
    def state(self) -> State:
        """One of ``queued starting ready stopping stopped failed``."""
        return self._state

    @property
    def logs(self) -> list[str]:
        """The last lines of the engine's log (at most 2,000), oldest first."""
        return list(self._lines)

    @property
    def spent(self) -> float:
        """US dollars spent so far; 0 where nothing is paid here or the price is unknown."""
        return (self.price or 0.0) * self.billed / 3600

    @property
    def billed(self) -> float:
        """Seconds that are paid for so far: those that a Job has run, not those in the queue."""
        meter = self._meter
        if meter is None:
            return 0.0
        began, ended = meter
        return max(0.0, (time.monotonic() if ended is None else ended) - began)

    @property
    def time_left(self) -> float | None:
        """Seconds until it ends by itself; None when it does not."""
        if self.deadline is None:
            return None
        return max(0.0, (self.deadline - datetime.now(UTC)).total_seconds())

    @property
    def ends_soon(self) -> bool:
        """Whether less than five minutes are left."""
        left = self.time_left
        return self._state == "ready" and left is not None and left < _SOON

    @property
    def ran(self) -> float:
        """Seconds from the start to the end, or to now."""
        return (self._ended if self._ended is not None else time.monotonic()) - self._began

    def credential(self) -> str:
        """Return the key, empty when there is none; for handing to another client, never for showing."""
        return self._key.reveal()

    def hide(self, text: str) -> str:
        """Return `text` without any secret of this endpoint that something may have repeated."""
        for secret in (self._key, *self._headers.values()):
            text = secret.hide(text)
        return text

    # ------------------------------------------------------------------ what its host tells it
    def connect(self, base_url: str, key: Secret, headers: Mapping[str, Secret] | None = None) -> None:
        """Take the address and what to show there."""
        self.base_url, self._key, self._headers = base_url, key, dict(headers or {})
        self._drop_client()

    def place(self, host: Host) -> None:
        """Take the host that runs it."""
        self._runs_on = host

    def add_line(self, line: str) -> str:
        """Keep a line of the engine's log; return it as it may be shown."""
        shown = self.hide(line)
        self._lines.append(shown)
        return shown

    def leave_queue(self) -> None:
        """Note that its machine was found."""
        with self._lock:
            if self._state == "queued":
                self._state = "starting"

    def start_meter(self, ran: float = 0.0) -> None:
        """Note that it is paid for, since `ran` seconds; told again, a clock that slept is put right."""
        meter = self._meter
        if meter is None or (meter[1] is None and abs(self.billed - ran) > _DRIFT):
            self._meter = (time.monotonic() - ran, None)

    def stop_meter(self, ran: float | None = None) -> None:
        """Note that it is paid for no longer; after `ran` seconds where that is known."""
        if self._meter is None and ran:
            self._meter = (time.monotonic() - ran, None)  # it ran so shortly that nobody saw it
        if self._meter is not None and self._meter[1] is None:
            began = self._meter[0]
            self._meter = (began, began + ran if ran else time.monotonic())

    def settle(self) -> None:
        """Note that what `finish_stop` did not wait for has come about."""
        with self._lock:
            if self._state == "stopping":
                self._state, self._ended = "stopped", time.monotonic()

    def renew_key(self, key: Secret) -> None:
        """Take a newer key for the same address."""
        self._key = key

    def _become_ready(self) -> None:
        with self._lock:
            if self._state in ("queued", "starting"):
                self._state = "ready"
                return
        # Its engine ended between its first answer and now, or somebody stopped it.
        raise self.failure or EndpointError(f"{self.name} was stopped while it started.", "", "%uocr_serve")

    def fail(self, failure: UocrError) -> None:
        """Note that its engine has gone, or did not come; quiet when that was asked for."""
        with self._lock:
            if self._state in ("queued", "starting", "ready"):
                self._state, self.failure, self._ended = "failed", failure, time.monotonic()
        self._drop_client()

    async def start(self, say: Say) -> None:
        """Start it on its host; return when it has answered a real request."""
        host, task = self._host(), asyncio.current_task()
        own_loop = asyncio.get_running_loop()
        if task is not None:
            self._give_up = lambda: own_loop.call_soon_threadsafe(task.cancel)
        try:
            await host.start(say)
        except BaseException as error:
            self._give_up = None
            failure = error if isinstance(error, UocrError) else None
            failure = failure or EndpointError(f"{self.name} was not started.", "The start was interrupted.")
            stopped = self._state in ("stopping", "stopped")
            self.fail(failure)
            # Its host may have told of the end already, without what the start knows of it.
            self.failure = failure
            host.ask_to_stop()
            await asyncio.to_thread(host.finish_stop, 3.0 if self.plan.host == "hf" else 1.0)
            if stopped:
                why = "What was started of it is stopped."
                raise EndpointError(f"{self.name} was stopped while it started.", why, "%uocr_serve") from None
            raise
        self._give_up = None
        self._become_ready()

    async def still_there(self) -> bool:
        """Tell whether it is ready and its engine still answers; raises what is wrong at a URL."""
        try:
            return self._state == "ready" and await self._host().still_there()
        except UocrError as error:
            self.fail(error)
            raise

    def _host(self) -> Host:
        if self._runs_on is None:
            raise RuntimeError("The endpoint has no host yet.")
        return self._runs_on

    # ------------------------------------------------------------------ stopping
    def stop(self) -> None:
        """Stop it, whatever state it is in; stopping twice does nothing. Another engine's URL is only let go."""
        if self.ask_to_stop():
            self.finish_stop(3.0)

    async def astop(self) -> None:
        """Stop it without holding the caller's loop."""
        await asyncio.to_thread(self.stop)

    def ask_to_stop(self) -> bool:
        """Begin to stop; tell whether there is anything to stop. A forked child never stops its parent's engine."""
        if os.getpid() != self._owner:
            return False
        with self._lock:
            if self._state in ("stopped", "failed", "stopping"):
                return False
            self._state = "stopping"
        give_up = self._give_up
        if give_up is not None:  # whoever waits for its start waits no longer
            give_up()
        if self._runs_on is not None:
            self._runs_on.ask_to_stop()
        return True

    def finish_stop(self, within: float) -> None:
        """Wait for the end of what `ask_to_stop` began; force it after so many seconds."""
        sure = self._runs_on is None or self._runs_on.finish_stop(within) is not False
        self._drop_client()
        with self._lock:
            # A Job whose cancel nobody has accepted yet is not said to have stopped.
            if sure:
                self._state = "stopped"
            self._ended = time.monotonic()

    def let_go_in_child(self) -> None:
        """Close what this forked child has inherited and the engine lives by."""
        self._lock = threading.Lock()
        if self._runs_on is not None:
            self._runs_on.let_go_in_child()

    def __enter__(self) -> Endpoint:  # noqa: PYI034 - Self adds nothing, and this reads in the docs
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Endpoint:  # noqa: PYI034
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.astop()

    # ------------------------------------------------------------------ clients
    def openai(self, **options: Any) -> OpenAI:
        """Return an OpenAI client that is ready to use; `options` as of its ``with_options``.

        It is closed when the endpoint stops.
        """
        import httpx2  # noqa: PLC0415 - heavy
        import openai  # noqa: PLC0415 - heavy

        with self._lock:
            if self._plain_client is None or self._plain_client[0] != os.getpid():
                transport = httpx2.Client(
                    timeout=httpx2.Timeout(_READ_TIMEOUT, connect=10.0),
                    event_hooks={"request": [self._sign]},
                    **client_options(self.base_url),
                )
                self._plain_client = (os.getpid(), openai.OpenAI(**self._client_arguments(), http_client=transport))
            client = self._plain_client[1]
        return client.with_options(**options) if options else client

    def http(self) -> httpx2.AsyncClient:
        """Return the client for this endpoint; it belongs to the background loop and is used there alone."""
        import httpx2  # noqa: PLC0415 - heavy

        from uocr_nb.support.transport import quick_transport  # noqa: PLC0415 - heavy

        with self._lock:
            # A forked child has another loop, and must not share its parent's connections.
            if self._client is None or self._client[0] != os.getpid():
                client = httpx2.AsyncClient(
                    timeout=httpx2.Timeout(_READ_TIMEOUT, connect=10.0, pool=None),
                    limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
                    event_hooks={"request": [self._sign_later]},
                    transport=quick_transport(self.base_url),
                    **client_options(self.base_url),
                )
                self._client = (os.getpid(), client, None)
            return self._client[1]

    def async_openai(self) -> AsyncOpenAI:
        """Return the OpenAI client of the background loop: no retries of its own, over `http`."""
        import openai  # noqa: PLC0415 - heavy

        transport = self.http()
        with self._lock:
            if self._client is not None and self._client[2] is not None:
                return self._client[2]
            made = openai.AsyncOpenAI(**self._client_arguments(), http_client=transport, max_retries=0)
            self._client = (os.getpid(), transport, made)
            return made

    def _client_arguments(self) -> dict[str, Any]:
        # The key is put on each request by `_sign`, so the client itself has nothing to show.
        return {"base_url": self.base_url, "api_key": "kept-by-the-endpoint"}

    def _sign(self, request: httpx2.Request) -> None:
        """Put this endpoint's key and headers on a request, and take off what the environment added for OpenAI."""
        for name in ("authorization", "openai-organization", "openai-project", *_environment_headers()):
            request.headers.pop(name, None)
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key.reveal()}"
        for name, value in self._headers.items():
            request.headers[name] = value.reveal()

    async def _sign_later(self, request: httpx2.Request) -> None:
        self._sign(request)

    def _drop_client(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            plain, self._plain_client = self._plain_client, None
        if plain is not None and plain[0] == os.getpid():
            plain[1].close()
        if client is not None and client[0] == os.getpid():
            with contextlib.suppress(RuntimeError):  # the loop is gone at interpreter exit
                loop.submit(client[1].aclose())

    # ------------------------------------------------------------------ how it shows itself
    def __repr__(self) -> str:
        at = f", {self.base_url}" if self.base_url else f", Job {self.job_id}" if self.job_id else ""
        return f"<Endpoint {self.name}: {self._state}{at}>"

    def describe(self) -> str:
        """Say in one line what it is: state, engine and place, address, money."""
        what = self.engine + _PLACES.get(self.host, f" on {self.plan.flavor or self.host}")
        parts = [f"stops in {show_clock(self.time_left or 0)}" if self.ends_soon else self._state, what, self.base_url]
        if self._state == "ready" and self.time_left is not None and not self.ends_soon:
            parts.append(f"{show_clock(self.time_left)} left")
        if self.price is not None:
            parts.append(f"${self.spent:.2f}" + (" spent" if self.host == "hf" else ""))
        return "   ".join(part for part in parts if part)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        from uocr_nb.markup.safe_html import escape  # noqa: PLC0415 - only for showing

        name, rest = self.name, self.describe()
        return {
            "text/plain": f"{name}   {rest}",
            "text/markdown": f"**{name}**   `{rest}`",
            "text/html": f"<div><b>{escape(name)}</b> &nbsp; <span>{escape(rest)}</span></div>",
        }


def _environment_headers() -> list[str]:
    """Name the headers that the openai package takes from the environment for OpenAI's own server."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
    return [line.partition(":")[0].strip() for line in lines if ":" in line]
