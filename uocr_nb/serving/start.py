"""Start endpoints, find them again, and stop them all."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, Literal

from uocr_nb.errors import EndpointError
from uocr_nb.serving import engines, ledger
from uocr_nb.serving.endpoint import Endpoint
from uocr_nb.serving.hosts import HOSTS, local_line
from uocr_nb.serving.hub.sweep import sweep_jobs
from uocr_nb.serving.hub.token import find_token
from uocr_nb.serving.plan import Options, Plan, StartEvent, make_plan
from uocr_nb.serving.reaper import reaper
from uocr_nb.support import loop
from uocr_nb.support.durations import show_seconds
from uocr_nb.support.state import run_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uocr_nb.serving.plan import Say

__all__ = [
    "StartEvent",
    "aserve",
    "current",
    "current_or_none",
    "describe_plan",
    "detach",
    "endpoints",
    "find",
    "forget_ended",
    "serve",
    "stop_all",
    "use",
]

_RUNNING = ("queued", "starting", "ready")
_EXIT_SECONDS = 1.2
"""An exit hook has 2.5 s in all before a kernel is killed."""

_lock = threading.RLock()
_endpoints: dict[str, Endpoint] = {}
_current: Endpoint | None = None
_ready: dict[str, asyncio.Event] = {}
_detached: set[asyncio.Task[Endpoint]] = set()
"""Starts that go on in the background; the loop itself holds a task only weakly."""
_hooked: int | None = None
_swept: int | None = None


# ------------------------------------------------------------------ starting
def serve(
    target: str | None = None,
    *,
    name: str | None = None,
    another: bool = False,
    engine: str | None = None,
    api_key_env: str | None = None,
    headers: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    port: int | None = None,
    low_memory: bool = False,
    on: str | None = None,
    variant: str | None = None,
    flavor: str | None = None,
    timeout: str | float | None = None,
    idle: str | float | None = None,
    namespace: str | None = None,
    image: str | None = None,
    revision: str | None = None,
    args: Sequence[str] = (),
    drop_args: Sequence[str] = (),
    model: str | None = None,
    mmproj: str | None = None,
    tp: int | None = None,
    forward_token: bool = False,
    wait: str | float | None = None,
    start_limit: str | float | None = None,
    keep: bool = False,
    reuse: bool = False,
    max_cost: float | Literal["default"] | None = "default",
    on_event: Callable[[StartEvent], None] | None = None,
) -> Endpoint:
    """Start an endpoint; return when it has read a test page. It becomes the current one.

    The same call again returns the same endpoint.

    Parameters
    ----------
    target : str, optional
        ``"cpu"``, another engine with or without its variant (``"vllm"``, ``"sglang:stable"``), or the URL of an
        endpoint that runs. Default: the environment's ``UOCR_ENDPOINT``, else the setting ``engine``, which is free.
    name : str, optional
        A name of your own.
    another : bool
        Whether to start it beside one that runs.
    engine : str, optional
        For a URL: which engine it is, where it does not tell.
    api_key_env : str, optional
        For a URL: the environment variable that holds its key (default ``UOCR_KEY``).
    headers : mapping, optional
        For a URL: header names and the environment variables that hold their values.
    env : mapping, optional
        Variables for the engine's environment.
    port : int, optional
        Port to listen on; a free one is found by default.
    low_memory : bool
        Whether the embedded engine shall spare memory.
    on : str, optional
        Host: ``"hf"`` (a GPU Job of the Hugging Face Hub, paid), ``"docker"`` or ``"process"`` (this machine).
    variant : str, optional
        Variant of the engine, where `target` does not name it.
    flavor, namespace : str, optional
        Hardware of a Job, and the account that it is billed to.
    timeout, idle : str or float, optional
        When a Job ends: after this time in any case (default ``"30m"``), and when no page was asked for in this time
        (``"15m"``; 0 = never). Text such as ``"1h30m"``, or seconds.
    image, revision, model, mmproj : str, optional
        Container image, the model's revision, its repository or path, and the projector's file.
    args, drop_args : sequence of str
        Passed on to the engine's command, and flags taken away from it.
    tp : int, optional
        GPUs that share the model.
    forward_token : bool
        Whether the Hub's token is put into the Job, as a secret.
    wait, start_limit : str or float, optional
        When a start is given up: in the queue (``"10m"``), and until it is ready (``"20m"``).
    keep, reuse : bool
        Whether the Job outlives this kernel; whether one that was kept or lost is taken over.
    max_cost : float or None
        A start that could cost more US dollars is refused; None for no limit. Default: the setting of that name.
    on_event : callable, optional
        Called in the calling thread with each `StartEvent` until the endpoint is ready.

    Raises
    ------
    OptionError
        When the arguments do not fit together.
    EndpointError
        When it did not start or cannot be reached, or another one runs.
    """
    plan = make_plan(
        target,
        Options(
            name=name,
            another=another,
            engine=engine,
            api_key_env=api_key_env,
            headers=headers,
            env=env,
            port=port,
            low_memory=low_memory,
            on=on,
            variant=variant,
            flavor=flavor,
            timeout=timeout,
            idle=idle,
            namespace=namespace,
            image=image,
            revision=revision,
            args=args,
            drop_args=drop_args,
            model=model,
            mmproj=mmproj,
            tp=tp,
            forward_token=forward_token,
            wait=wait,
            start_limit=start_limit,
            keep=keep,
            reuse=reuse,
            max_cost=max_cost,
        ),
    )
    _look_for_token(plan)
    began = time.monotonic()
    inbox: queue.SimpleQueue[StartEvent | None] = queue.SimpleQueue()

    def say(stage: str, text: str) -> None:
        inbox.put(StartEvent(stage, text, time.monotonic() - began))

    async def work() -> Endpoint:
        try:
            return await _start(plan, say)
        finally:
            inbox.put(None)

    future = loop.submit(work())
    try:
        while (event := _next(inbox)) is not None:
            if on_event is not None:
                on_event(event)
        return future.result()
    except BaseException:
        if not future.done():
            future.cancel()
            _wait_for_end(inbox)
        raise


def _next(inbox: queue.SimpleQueue[StartEvent | None]) -> StartEvent | None:
    while True:
        try:
            # A wait without end cannot be interrupted on Windows.
            return inbox.get(timeout=0.5)
        except queue.Empty:
            continue


def _wait_for_end(inbox: queue.SimpleQueue[StartEvent | None]) -> None:
    """Give an interrupted start the time to end its engine."""
    deadline = time.monotonic() + 4.0
    while time.monotonic() < deadline:
        try:
            if inbox.get(timeout=0.5) is None:
                return
        except queue.Empty:
            continue


async def aserve(
    target: str | None = None, *, on_event: Callable[[StartEvent], None] | None = None, **options: Any
) -> Endpoint:
    """Start an endpoint as `serve` does, without holding the caller's loop; `on_event` is called in that loop."""
    plan = make_plan(target, Options(**options))
    _look_for_token(plan)
    callers = asyncio.get_running_loop()
    began = time.monotonic()

    def say(stage: str, text: str) -> None:
        if on_event is None:
            return
        with contextlib.suppress(RuntimeError):  # the caller was cancelled and its loop is closed; the log goes on
            callers.call_soon_threadsafe(on_event, StartEvent(stage, text, time.monotonic() - began))

    return await loop.hand_over(_start(plan, say))


def detach(target: str | None = None, **options: Any) -> Endpoint | None:
    """Start an endpoint as `serve` does and return it at once; its `state` tells when it is ready, `failure` why not.

    Raises
    ------
    OptionError
        When the arguments do not fit together.
    EndpointError
        When another endpoint runs.
    """
    plan = make_plan(target, Options(**options))
    _look_for_token(plan)
    _running_for(plan)
    return loop.wait(_begin(plan))


async def _begin(plan: Plan) -> Endpoint | None:
    """Start in the background; the endpoint is known after the first step."""
    starting = asyncio.create_task(_start(plan, lambda _stage, _text: None))
    _detached.add(starting)

    def ended(task: asyncio.Task[Endpoint]) -> None:
        _detached.discard(task)
        # Read, so that a failure is not told a second time when the task is collected.
        if not task.cancelled():
            task.exception()

    starting.add_done_callback(ended)
    await asyncio.sleep(0)
    return _running_now(plan)


def describe_plan(target: str | None = None, **options: Any) -> str:
    """What `serve` would do with these arguments; starts nothing, and asks the Hub for its price list at most.

    Raises
    ------
    OptionError
        When the arguments do not fit together.
    """
    plan = make_plan(target, Options(**options))
    if plan.host == "url":
        key = f"the key in {plan.api_key_env}" if plan.api_key_env else "no key"
        return f"{plan.url} with {key}: nothing is started, nothing is paid here"
    if plan.host == "hf":
        from uocr_nb.serving.hub.describe import describe_job  # noqa: PLC0415 - rarely needed

        return describe_job(plan)
    profile = engines.get(plan.engine or "")
    return local_line(Endpoint(plan, profile, plan.name or profile.name))


def _look_for_token(plan: Plan) -> None:
    """Find the Hub's token in the thread of the cell, where Colab can ask for it; a missing one is told of later."""
    if plan.host == "hf" and _running_now(plan) is None:
        find_token()


async def _start(plan: Plan, say: Say) -> Endpoint:
    """Find the endpoint of this plan, or start it. On the background loop, so one decision is taken at a time."""
    began = time.monotonic()
    found = _running_for(plan)
    if found is not None:
        if found.state in ("queued", "starting"):
            await _ready[found.uid].wait()
        if await found.still_there():
            say("already", f"{found.name} is already ready   {found.base_url}")
            use(found.name)
            return found
        if found.failure is not None:
            raise found.failure
    endpoint = _new(plan)
    try:
        for text in await asyncio.to_thread(_before_start, plan):
            say("note", text)
        await endpoint.start(say)
    finally:
        _ready.pop(endpoint.uid).set()
    use(endpoint.name)
    say("ready", f"ready in {show_seconds(time.monotonic() - began)}   {endpoint.describe().removeprefix('ready   ')}")
    return endpoint


def _running_for(plan: Plan) -> Endpoint | None:
    """Find the running endpoint of this plan; refuse the plan when it is another's turn."""
    found = _running_now(plan)
    if found is not None:
        return found
    running = [endpoint for endpoint in endpoints() if endpoint.state in _RUNNING]
    if plan.name and any(endpoint.name == plan.name for endpoint in running):
        raise EndpointError(
            f"{plan.name} is already running, with other options.",
            "A name belongs to one endpoint.",
            "Take another --name, or stop it first: %uocr_stop",
        )
    if running and not plan.another:
        raise EndpointError(
            f"{running[-1].name} is already running.",
            "A second endpoint beside it is started only when you say so.",
            "%uocr_stop        stops it, then start the other\n--another         starts the other beside it",
        )
    return None


def _running_now(plan: Plan) -> Endpoint | None:
    for endpoint in endpoints():
        if endpoint.state in _RUNNING and endpoint.plan == plan and plan.name in (None, endpoint.name):
            return endpoint
    return None


def _new(plan: Plan) -> Endpoint:
    profile = engines.get(plan.engine) if plan.engine else None
    with _lock:
        _hook_exit()
        endpoint = Endpoint(plan, profile, plan.name or _free_name(plan.engine or "url"))
        endpoint.place(HOSTS[plan.host](endpoint))
        _endpoints.pop(endpoint.name, None)  # a dead one of that name; the new one stands last
        _endpoints[endpoint.name] = endpoint
        _ready[endpoint.uid] = asyncio.Event()
        return endpoint


def _free_name(stem: str) -> str:
    taken = {name for name, endpoint in _endpoints.items() if endpoint.state in (*_RUNNING, "stopping")}
    names = [stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 2))]
    return next(name for name in names if name not in taken)


def _before_start(plan: Plan) -> list[str]:
    """End what dead kernels left running; with the first start of this process, have its folder watched."""
    global _swept  # noqa: PLW0603 - once a process is the point
    told = []
    if _swept != os.getpid():
        _swept = os.getpid()
        reaper.watch_folder("run", run_folder())
        told += [
            f"An engine from a kernel that died was still running and is now stopped: {entry.name}."
            for entry in ledger.sweep()
        ]
    # One that was lost may be what this start is to take over.
    if plan.host == "hf" and not plan.reuse:
        told += [swept.text for swept in sweep_jobs()]
    return told


# ------------------------------------------------------------------ finding
def endpoints() -> list[Endpoint]:
    """List the endpoints of this kernel, those that stopped or failed included, oldest first."""
    with _lock:
        return list(_endpoints.values())


def current() -> Endpoint | None:
    """Return the endpoint that pages go to when none is named; None when there is none.

    With ``UOCR_ENDPOINT`` set and nothing started, it is connected to.

    Raises
    ------
    EndpointError
        When the current one's engine has gone; says why.
    """
    with _lock:
        chosen = _current
    if chosen is not None and chosen.state == "failed" and chosen.failure is not None:
        raise chosen.failure
    if chosen is not None and chosen.state == "ready":
        return chosen
    ready = [endpoint for endpoint in endpoints() if endpoint.state == "ready"]
    if ready:
        return ready[-1]
    return serve() if os.environ.get("UOCR_ENDPOINT") and not _on_own_loop() else None


def current_or_none() -> Endpoint | None:
    """The endpoint that pages would go to now, without starting or connecting anything."""
    with _lock:
        chosen = _current
    if chosen is not None and chosen.state == "ready":
        return chosen
    return next((endpoint for endpoint in reversed(endpoints()) if endpoint.state == "ready"), None)


def _on_own_loop() -> bool:
    try:
        return asyncio.get_running_loop() is loop.background_loop()
    except RuntimeError:
        return False


def find(name: str) -> Endpoint:
    """Find an endpoint by its name.

    Raises
    ------
    EndpointError
        When there is none of that name; names those there are.
    """
    with _lock:
        if name in _endpoints:
            return _endpoints[name]
        known = ", ".join(_endpoints)
    raise EndpointError(
        f"There is no endpoint {name!r}.",
        f"This kernel has {known}." if known else "None was started in this kernel.",
        "%uocr_status" if known else "%uocr_serve",
    )


def use(name: str) -> Endpoint:
    """Make the endpoint of that name the current one."""
    global _current  # noqa: PLW0603 - one current endpoint is the point
    endpoint = find(name)
    with _lock:
        _current = endpoint
    return endpoint


# ------------------------------------------------------------------ stopping
def stop_all(within: float = 3.0, *, kept: bool = True) -> list[Endpoint]:
    """Stop every endpoint of this kernel, all at the same time; return those that were running.

    With `kept` false, those that shall outlive the kernel are let be.
    """
    chosen = [one for one in endpoints() if kept or not (one.plan.keep and one.state == "ready")]
    stopping = [endpoint for endpoint in chosen if endpoint.ask_to_stop()]
    deadline = time.monotonic() + within
    for endpoint in stopping:
        endpoint.finish_stop(max(0.0, deadline - time.monotonic()))
    return stopping


def forget_ended() -> None:
    """Drop the endpoints that stopped or failed from the list of this kernel."""
    with _lock:
        for name in [name for name, endpoint in _endpoints.items() if endpoint.state in ("stopped", "failed")]:
            del _endpoints[name]


def _hook_exit() -> None:
    global _hooked  # noqa: PLW0603 - once a process
    if _hooked != os.getpid():
        _hooked = os.getpid()
        atexit.register(_at_exit, _hooked)


def _at_exit(owner: int) -> None:
    # A forked child runs its parent's exit hooks too.
    if os.getpid() == owner:
        stop_all(_EXIT_SECONDS, kept=False)
        reaper.done()


def _in_child() -> None:
    """Let go in a forked child, which may use its parent's endpoints; they live by the parent alone."""
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.RLock()
    for endpoint in _endpoints.values():
        endpoint.let_go_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
