from __future__ import annotations

import asyncio
import threading

import pytest

from uocr_nb.support import loop


async def _where() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_plain_calls_and_awaits_work_on_the_one_loop() -> None:
    async def notebook() -> tuple[str, str]:
        # A plain call in a cell's own running loop, and an await there.
        return loop.wait(_where()), await loop.hand_over(_where())

    assert asyncio.run(notebook()) == ("uocr_nb loop", "uocr_nb loop")
    assert loop.wait(_where()) == "uocr_nb loop"
    assert loop.background_loop() is loop.background_loop()


def test_errors_come_out_and_cancelling_goes_in() -> None:
    async def fail() -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        loop.wait(fail())
    begun, cancelled = threading.Event(), threading.Event()

    async def long() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    async def notebook() -> None:
        work = asyncio.ensure_future(loop.hand_over(long()))
        await asyncio.to_thread(begun.wait, 5)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(notebook())
    assert cancelled.wait(5)
