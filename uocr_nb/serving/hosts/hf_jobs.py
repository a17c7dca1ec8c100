"""Host ``hf``: an engine in a GPU Job of the Hugging Face Hub, paid by the minute."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from uocr_nb.errors import EndpointError, UocrError
from uocr_nb.serving import engines, ledger, probe
from uocr_nb.serving.hub import account, adoption, outcome
from uocr_nb.serving.hub.client import HubClient
from uocr_nb.serving.hub.command import IDLE_LINE, job_body
from uocr_nb.serving.hub.ending import TERMINAL, job_path, stage_of
from uocr_nb.serving.hub.guard import JobGuard
from uocr_nb.serving.hub.keeper import JobKeeper, Order
from uocr_nb.serving.hub.labels import labels_for
from uocr_nb.serving.hub.log import JobLog
from uocr_nb.serving.hub.refusals import Asked
from uocr_nb.serving.hub.sweep import ran_of
from uocr_nb.serving.hub.token import Token, for_watchdog, need_token
from uocr_nb.serving.reaper import reaper
from uocr_nb.support.durations import show_clock, show_seconds
from uocr_nb.support.net import is_loopback

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.plan import Say

_PROBE = 2.0
"""Seconds between two questions to an engine that starts."""

_TICK = 5.0
"""Seconds between two lines about a wait."""

_QUIET = 15.0
"""Seconds without a log line after which that is said."""

_REFUSALS, _EARLY_REFUSALS = 5, 30
"""Refusals in a row of our token by the Job's address that are taken for good, once the log says that the engine is
ready, and before: what the proxy answers until an engine listens is documented nowhere."""

_RENEW = 60.0
"""Seconds between two looks for a newer token."""

_END_SECONDS = 8.0
_LAST_WORDS = 20


class JobHost:
    """Starts the engine in a Job, follows it, and cancels it whatever happens."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._say: Say | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._accepted = asyncio.Event()
        self._running = asyncio.Event()
        self._broken: asyncio.Future[UocrError] | None = None
        self._keeper: JobKeeper | None = None
        self._log: JobLog | None = None
        self._token: Token | None = None
        self._hub: HubClient | None = None
        self._guard: JobGuard | None = None
        self._advice: UocrError | None = None
        self._idle_end = False
        self._stage = ""
        self._told_at = 0.0
        self._lock = threading.Lock()
        self._says_ready = False
        self._renewed_at = time.monotonic()

    def __repr__(self) -> str:
        return f"<JobHost {self._keeper!r}>"

    # ------------------------------------------------------------------ starting
    async def start(self, say: Say) -> None:
        """Start the Job; return when its engine has read the test page."""
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._broken = self._loop.create_future()
        try:
            await self._begin()
            await self._queue()
            await self._until_ready()
        except UocrError as error:
            raise await self._with_money(error) from None
        finally:
            self._say = None

    async def _begin(self) -> None:
        """Check what can be checked before anything is paid, then have the Job asked for."""
        endpoint, plan = self._endpoint, self._endpoint.plan
        price = account.price_of(plan.flavor, await asyncio.to_thread(account.hardware_rows, HubClient()))
        endpoint.price = price.total
        self._tell("plan", f"{plan.title}   {price.line(plan.timeout)}   {_limits(endpoint)}")
        account.check_price(plan, price)
        self._token = token = await asyncio.to_thread(need_token)
        endpoint.connect("", token.secret)  # before any text that might repeat it
        self._hub = hub = HubClient(token.secret)
        payer = await asyncio.to_thread(account.check_payer, plan, hub, token)
        what = f"{plan.title} was not started."
        asked = Asked(what, hub.endpoint, payer.namespace, token.source, payer.role)
        labels = labels_for(plan, endpoint.name, endpoint.uid)
        order = Order(payer.namespace, endpoint.uid, job_body(plan, labels, token.secret.reveal()), asked)
        note = ledger.JobNote(
            hub.endpoint, payer.namespace, "", endpoint.uid, plan.flavor, plan.timeout, endpoint.price
        )
        self._guard = guard = JobGuard(endpoint, note, for_watchdog(token, hub.endpoint))
        found = await asyncio.to_thread(adoption.find, plan, hub, payer.namespace) if plan.reuse else None
        if found is not None:
            self._tell("note", f"Found {plan.spelling}, which runs already: {found.id}. It is taken over.")
            note = adoption.note_of(found, note)
            self._guard = guard = JobGuard(endpoint, note, for_watchdog(token, hub.endpoint))
        elif plan.reuse:
            self._tell("note", f"No {plan.title} of yours runs that could be taken over; a new one is started.")
        self._keeper = JobKeeper(hub, order, guard, self, found.job if found else None)
        self._keeper.start()
        await self._or_broken(self._accepted.wait())
        if found is not None:
            await asyncio.to_thread(adoption.take, found)

    async def _queue(self) -> None:
        """Wait in the queue, which costs nothing, with a limit of our own."""
        endpoint, keeper = self._endpoint, self._kept()
        began = time.monotonic()
        self._tell("queued", f"Job {keeper.namespace}/{keeper.id}, waiting for {endpoint.plan.flavor}")
        while not self._running.is_set():
            waited = time.monotonic() - began
            if waited >= endpoint.plan.wait:
                raise EndpointError(
                    f"{endpoint.name} is still in the queue after {show_seconds(waited)}.",
                    f"No {endpoint.plan.flavor} became free. {self._message()}".strip(),
                    f"%uocr_serve {endpoint.plan.spelling} --flavor ...   another hardware, or a longer --wait",
                )
            step = min(_TICK, endpoint.plan.wait - waited)
            try:
                async with asyncio.timeout(step):
                    await self._or_broken(self._running.wait())
            except TimeoutError:
                text = f"waiting for {endpoint.plan.flavor}, {show_clock(time.monotonic() - began)} so far"
                self._tell("queued", f"{text}. {self._message()}".strip(". "))

    async def _until_ready(self) -> None:
        """Wait until the engine answers, and have it read the test page."""
        endpoint, keeper = self._endpoint, self._kept()
        endpoint.leave_queue()
        self._stage = "pulling"
        self._tell("pulling", f"machine found, fetching {endpoint.plan.image}")
        self._follow()
        limit = endpoint.plan.start_limit or endpoint.profile.start_limit
        try:
            async with asyncio.timeout(limit):
                models = await self._or_broken(self._until_answering())
        except TimeoutError:
            raise EndpointError(
                f"{endpoint.name} did not start within {show_seconds(limit)}.",
                self._last_words() or "It wrote nothing to its log.",
                "%uocr_logs   or a longer --start-limit",
            ) from None
        self._choose_model(models)
        self._tell("checking", "reading a test page")
        before = endpoint.profile
        answer = await self._or_broken(probe.read_one_word(endpoint))
        for doubt in probe.doubts(answer):
            self._tell("note", doubt)
        if endpoint.profile != before:
            self._tell("note", probe.UNGUARDED)
        if self._guard is not None:
            await asyncio.to_thread(self._guard.ready, endpoint.base_url)
        keeper.calm_down()

    async def _until_answering(self) -> dict[str, Any]:
        """Ask until the engine says what it serves."""
        endpoint, refused = self._endpoint, 0
        while True:
            address = self._address() + "/v1"
            if endpoint.base_url != address:
                endpoint.connect(address, self._found_token().secret)
            status, models = await probe.look_for_models(endpoint)
            if models is not None:
                return models
            refused = refused + 1 if status in (401, 403) else 0
            if refused >= (_REFUSALS if self._says_ready else _EARLY_REFUSALS):
                raise EndpointError(
                    f"{endpoint.name} runs, and its address refuses the token.",
                    f"{address} answered {status}; it wants a token that may read {self._kept().namespace}.",
                    "Make a token with read access to that account, and start it again.",
                )
            self._tell_of_silence()
            await asyncio.sleep(_PROBE)

    def _tell_of_silence(self) -> None:
        """Say how long the log has had no new line, so that nobody takes a slow start for a dead one."""
        log = self._log
        now = time.monotonic()
        if log is not None and now - log.last_at > _QUIET and now - self._told_at > _TICK:
            self._told_at = now
            begun = f", begun {log.starts} times by the Hub" if log.starts > 1 else ""
            silent = show_clock(now - log.last_at)
            self._tell(self._stage, f"no log line for {silent}{begun}; its address does not answer yet")

    def _address(self) -> str:
        """Find where the Job's port is exposed.

        Raises
        ------
        EndpointError
            When the Hub names a place that the token must not be sent to.
        """
        keeper, port = self._kept(), self._endpoint.plan.job_port
        urls = (keeper.job.get("status") or {}).get("exposeUrls") or []
        address = str(urls[0]).rstrip("/") if urls else f"https://{keeper.id}--{port}.hf.jobs"
        parts = urlsplit(address)
        own = parts.scheme == "https" and (parts.hostname or "").startswith(f"{keeper.id}--{port}.".lower())
        if not own and not is_loopback(address):
            raise EndpointError(
                f"{self._endpoint.name} is at an address that is not trusted.",
                f"The Hub names {parts.scheme}://{parts.hostname}, which is not the Job's own; the token is not sent "
                "there.",
                "%uocr_doctor",
            )
        return address

    def _choose_model(self, models: dict[str, Any]) -> None:
        endpoint = self._endpoint
        served = [str(model["id"]) for model in engines.served(models) if model.get("id")]
        if served:
            endpoint.model = served[0]
        found = engines.detect(models)
        if found and found != endpoint.engine:
            self._tell("note", f"It says that it is {found}; it is asked as {endpoint.engine}, as you told.")

    async def _or_broken(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Await `work`, or raise as soon as the Job is known to come to nothing."""
        broken = self._broken
        if broken is None:
            raise RuntimeError("The Job was not asked for.")
        doing = asyncio.ensure_future(work)
        try:
            await asyncio.wait({doing, broken}, return_when=asyncio.FIRST_COMPLETED)
            if doing.done() and doing.exception() and not broken.done():
                # A broken connection is often the first sign of a Job's end, which tells more.
                self._kept().look_now()
                await asyncio.wait({broken}, timeout=2.0)
            if broken.done():
                raise broken.result()
            return doing.result()
        finally:
            doing.cancel()

    async def _with_money(self, error: UocrError) -> UocrError:
        """End the Job of a failed start, and say so with what it has cost."""
        keeper = self._keeper
        if keeper is None or not keeper.id:
            return error
        keeper.stop()
        over = await asyncio.to_thread(keeper.over.wait, _END_SECONDS)
        why = f"{error.why} {self._money(over=over)}".strip()
        return EndpointError(error.what, why, error.next)

    def _money(self, *, over: bool) -> str:
        endpoint, keeper = self._endpoint, self._kept()
        if not over:
            until = f", at the latest at {endpoint.deadline:%H:%M} UTC by its timeout" if endpoint.deadline else ""
            return f"Its cancel was not accepted yet and is asked for again until it is{until}."
        end = "The Job is cancelled" if keeper.cancelled else "The Job has ended"
        if not endpoint.billed:
            return f"{end}; it never ran, so nothing is charged."
        cost = "" if endpoint.price is None else f" and cost {outcome.show_dollars(endpoint.spent)}"
        return f"{end}; it ran {show_clock(endpoint.billed)}{cost}."

    # ------------------------------------------------------------------ what the keeper tells (its thread)
    def accepted(self, job: dict[str, Any]) -> None:
        """The Job is there."""
        self._endpoint.job_id = str(job["id"])
        self._hear(self._accepted.set)
        self.looked(job)

    def looked(self, job: dict[str, Any]) -> None:
        """The Job was looked at."""
        endpoint, stage = self._endpoint, stage_of(job)
        if stage == "RUNNING":
            ran = ran_of(job)
            endpoint.start_meter(ran)
            if endpoint.deadline is None:
                limit = job.get("timeout")
                left = (float(limit) if isinstance(limit, (int, float)) else endpoint.plan.timeout) - ran
                endpoint.deadline = datetime.now(UTC) + timedelta(seconds=left)
                self._kept().expect_end(endpoint.deadline.timestamp())
        if stage not in ("", "SCHEDULING", *TERMINAL):
            self._hear(self._running.set)
        self._renew_later()
        with contextlib.suppress(OSError):
            reaper.ensure()

    def refused(self, error: UocrError) -> None:
        """There is no Job."""
        self._break(error)

    def ended(self, job: dict[str, Any]) -> None:
        """The Job has ended without us."""
        endpoint = self._endpoint
        endpoint.stop_meter(ran_of(job))
        # Also where it ran so shortly that nobody saw it run: its log has the reason.
        self._follow().wait(3.0)
        error = self._why_it_ended(job)
        self._break(error)
        endpoint.fail(error)

    def closed(self) -> None:
        """Nothing of it is left."""
        self._endpoint.stop_meter()
        self._endpoint.settle()

    def _break(self, error: UocrError) -> None:
        def tell() -> None:
            if self._broken is not None and not self._broken.done():
                self._broken.set_result(error)

        self._hear(tell)

    def _hear(self, what: Any) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(what)

    def _renew_later(self) -> None:
        """Take up a newer token: one of a browser login lives for hours, and the file has the next."""
        token, now = self._token, time.monotonic()
        if token is not None and token.file and now - self._renewed_at > _RENEW:
            self._renewed_at = now
            # In a thread of its own: the client may ask the Hub for it, without a time limit, and a cancel cannot wait.
            threading.Thread(target=self._renew, args=(token,), daemon=True).start()

    def _renew(self, token: Token) -> None:
        try:
            newer = need_token()
        except UocrError:
            return
        if self._hub is not None and newer.secret.reveal() != token.secret.reveal():
            self._token = newer
            self._hub.renew(newer.secret)
            self._endpoint.renew_key(newer.secret)

    # ------------------------------------------------------------------ what its log tells (its thread)
    def _follow(self) -> JobLog:
        """Follow the log, from its first line; asked for again it is the same."""
        keeper = self._kept()
        with self._lock:
            if self._log is None:
                log = JobLog(self._asks(), keeper.namespace, keeper.id, self._take_line, lambda: keeper.ended)
                log.on_end = keeper.look_now
                log.start()
                self._log = log
            return self._log

    def _take_line(self, line: str) -> None:
        endpoint = self._endpoint
        shown = endpoint.add_line(line)
        if endpoint.state != "ready" and self._stage == "pulling":
            self._stage = "loading"
            self._tell("loading", "the engine starts")
        self._tell("log", shown)
        self._idle_end = self._idle_end or IDLE_LINE in line
        self._says_ready = self._says_ready or endpoint.profile.is_ready_line(line)
        advice = endpoint.profile.diagnose(line)
        if advice is not None and self._advice is None:
            self._advice = EndpointError(advice.what, advice.why, advice.next)
            if endpoint.state != "ready":
                self._break(self._advice)

    def _tell(self, stage: str, text: str) -> None:
        say = self._say
        if say is not None:
            say(stage, self._endpoint.hide(text))

    # ------------------------------------------------------------------ how it ended
    def _why_it_ended(self, job: dict[str, Any]) -> UocrError:
        endpoint = self._endpoint
        return outcome.why_it_ended(
            job,
            endpoint,
            advice=self._advice,
            idle_end=self._idle_end,
            last_words=self._last_words(),
        )

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._endpoint.logs[-_LAST_WORDS:] if line.strip()]
        return f"Its log ends: {lines[-1][:300]!r}." if lines else ""

    def _message(self) -> str:
        said = str((self._kept().job.get("status") or {}).get("message") or "")
        return f"The Hub says: {self._endpoint.hide(said)}." if said else ""

    # ------------------------------------------------------------------ while it runs, and its end
    async def still_there(self) -> bool:
        """Tell whether the Job runs."""
        keeper = self._keeper
        if keeper is None or keeper.over.is_set():
            return False
        path = job_path(keeper.namespace, keeper.id)
        seen = await asyncio.to_thread(self._asks().ask, "GET", path, timeout=5.0)
        if seen.ok and stage_of(seen.data) in TERMINAL:
            keeper.look_now()
            await asyncio.to_thread(keeper.over.wait, 5.0)
            return False
        return True

    def ask_to_stop(self) -> None:
        """Have it cancelled, without waiting."""
        if self._keeper is not None:
            self._keeper.stop()
        if self._log is not None:
            self._log.stop()

    def finish_stop(self, within: float) -> bool:
        """Wait so many seconds until the cancel is accepted; it is asked for until it is, here or by the watchdog."""
        keeper = self._keeper
        if keeper is None:
            return True
        if not keeper.over.wait(within):
            return False
        self._endpoint.stop_meter()
        return True

    def let_go_in_child(self) -> None:
        """Close nothing: the Job lives by itself, and the threads that keep it are not in a forked child."""

    # ------------------------------------------------------------------ parts that are there once it has begun
    def _kept(self) -> JobKeeper:
        if self._keeper is None:
            raise RuntimeError("There is no Job yet.")
        return self._keeper

    def _asks(self) -> HubClient:
        if self._hub is None:
            raise RuntimeError("The Hub has not been asked yet.")
        return self._hub

    def _found_token(self) -> Token:
        if self._token is None:
            raise RuntimeError("The token has not been looked for yet.")
        return self._token


def _limits(endpoint: Endpoint) -> str:
    plan = endpoint.plan
    limit = plan.start_limit or endpoint.profile.start_limit
    parts = [f"stops after {show_seconds(plan.timeout)}"]
    if plan.idle:
        parts.append(f"or {show_seconds(plan.idle)} without a page")
    parts.append(f"given up when queued {show_seconds(plan.wait)} or starting {show_seconds(limit)}")
    return ", ".join(parts)
