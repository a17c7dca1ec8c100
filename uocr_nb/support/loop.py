"""The one background thread that owns the event loop and every network client.

A notebook's kernel runs a loop of its own in the main thread; nothing here touches it. Plain calls hand a
coroutine over and wait; `await` calls hand it over and await its result in the caller's own loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_owner_pid: int | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop, started when first asked for (anew in a forked child, where the thread does not exist)."""
    global _loop, _owner_pid
    with _lock:
        if _loop is None or _loop.is_closed() or _owner_pid != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(loop,), name="uocr_nb loop", daemon=True).start()
            _loop, _owner_pid = loop, os.getpid()
        return _loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()


def submit(work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
    """Start `work` on the background loop."""
    return asyncio.run_coroutine_threadsafe(work, background_loop())


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on the background loop and wait for it.

    An interrupt (KeyboardInterrupt) cancels the work, waits a moment for it to let go, and is raised again.
    """
    future = submit(work)
    try:
        while True:
            # A wait without end cannot be interrupted on Windows; half a second can.
            done, _ = concurrent.futures.wait([future], timeout=0.5)
            if done:
                return future.result()
    except BaseException:
        if not future.done():
            future.cancel()
        raise


@contextlib.contextmanager
def held_interrupts() -> Iterator[None]:
    """Let a further Ctrl-C pass while what was done is put away; outside the main thread there is none to hold."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def hand_over(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on the background loop and await it from the caller's loop; cancelling cancels the work."""
    return await asyncio.wrap_future(submit(work))
