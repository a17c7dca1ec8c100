"""What two readings that are interrupted leave behind: nothing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from page_script import PAGE, Script, picture
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Status
from uocr_nb.support.loop import background_loop
from uocr_nb.support.state import run_folder


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if not thread.name.startswith(("asyncio_", "Thread-"))}


def sockets() -> int:
    folder = Path("/proc/self/fd")
    count = 0
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            count += str(entry.readlink()).startswith("socket:")
    return count


async def _tasks() -> int:
    await asyncio.sleep(0)
    return len(asyncio.all_tasks()) - 1


def tasks() -> int:
    return asyncio.run_coroutine_threadsafe(_tasks(), background_loop()).result(10)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted as Linux lists them")
def test_two_readings_in_two_cells_interrupted_leave_nothing_behind() -> None:
    held = threading.Event()
    script = Script(lambda n, _times: Reply(PAGE.format(n=n), hold=None if n % 20 < 3 else held))

    async def cells(endpoint: Any) -> list[uocr.Document]:
        """Two cells, each with its reading; an interrupt of a cell cancels what it awaits."""
        moved = [asyncio.Event(), asyncio.Event()]
        readings = [
            asyncio.create_task(
                uocr.aocr(
                    [picture(n) for n in range(first, first + 12)],
                    endpoint=endpoint,
                    concurrency=3,
                    progress=lambda progress, _pages, m=moved[at]: m.set() if progress.done >= 2 else None,
                )
            )
            for at, first in enumerate((1, 21))
        ]
        documents = []
        for reading, event in zip(readings, moved, strict=True):
            await asyncio.wait_for(event.wait(), 20)
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
            documents.append(uocr.last())
        return [document for document in documents if document is not None]

    with engine(script) as running, uocr.serve(running.url) as endpoint:
        uocr.ocr(picture(0), endpoint=endpoint, progress=False)  # what is started once and kept is there now
        before = threads(), tasks(), sockets()
        documents = asyncio.run(cells(endpoint))
        until = time.monotonic() + 10
        while (running.open or tasks() > before[1] or sockets() > before[2]) and time.monotonic() < until:
            time.sleep(0.02)
        assert running.open == 0, "the engine is left alone"
        assert threads() == before[0]
        assert tasks() == before[1]
        assert sockets() <= before[2]
        assert endpoint.in_flight == 0
        assert not list(run_folder().glob("*.part"))
        assert [document.status[Status.OK] >= 2 for document in documents] == [True, True]
        held.set()
        again = uocr.ocr([picture(n) for n in range(1, 7)], endpoint=endpoint, progress=False)
        assert again.status == {Status.OK: 6}
