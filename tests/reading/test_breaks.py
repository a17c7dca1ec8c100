"""Connections that break at every moment, and calls that end at any moment: nothing is lost, doubled or left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from breaking import BREAKS, WHOLE, Breaking, breaking
from page_script import PAGE, Script, picture
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Status
from uocr_nb.reading import asking
from uocr_nb.reading.desk import Gate, the_desk
from uocr_nb.support.loop import background_loop
from uocr_nb.support.state import run_folder

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr(asking, "_wait", lambda _error, _before: 0.01)


def right(pages: Sequence[uocr.Page], shown: Sequence[int]) -> list[bool]:
    """Whether each page that is ok says what was shown in its place."""
    assert [page.position for page in pages] == list(range(1, len(shown) + 1))
    return [
        page.text.count(f"Body of page {n}.") == 1 for page, n in zip(pages, shown, strict=True) if page.status == "ok"
    ]


@pytest.mark.parametrize("how", [*BREAKS, "reset after"])
def test_connections_that_go_are_not_told_of(how: str, caplog: pytest.LogCaptureFixture) -> None:
    with (
        breaking(lambda shown, times: how if shown == [2] and times == 1 else "plain") as running,
        uocr.serve(running.url) as point,
    ):
        uocr.ocr([picture(n) for n in range(1, 4)], endpoint=point, concurrency=2, progress=False)
        settle(point)
    gc.collect()
    assert not caplog.records


@pytest.mark.parametrize("how", BREAKS)
def test_a_request_that_always_breaks_costs_its_page_alone_and_what_came_is_kept(how: str) -> None:
    with breaking(lambda shown, _times: how if shown == [2] else "plain") as running, uocr.serve(running.url) as point:
        document = uocr.ocr([picture(n) for n in range(1, 5)], endpoint=point, concurrency=1, progress=False)
    assert [page.status is Status.OK for page in document.pages] == [True, False, True, True]
    assert all(right(document.pages, [1, 2, 3, 4]))
    assert running.asked[2] <= 4
    assert [running.asked[n] for n in (1, 3, 4)] == [1, 1, 1]
    if how in ("reset within", "close within", "half a chunk", "no chunk", "less than said"):
        assert document.page(2).status is Status.TRUNCATED
        assert document.page(2).blocks, "what came of it stays"


@pytest.mark.parametrize("how", [*BREAKS, 500, 502, 503, 429, 408, *WHOLE])
def test_a_request_that_breaks_once_is_sent_once_more(how: str | int) -> None:
    with (
        breaking(lambda shown, times: how if shown == [2] and times == 1 else "plain") as running,
        uocr.serve(running.url) as point,
    ):
        document = uocr.ocr([picture(n) for n in range(1, 4)], endpoint=point, concurrency=1, progress=False)
    assert document.status == {Status.OK: 3}
    assert all(right(document.pages, [1, 2, 3]))
    assert running.asked == {1: 1, 2: 1 if how in WHOLE else 2, 3: 1}


def test_the_first_page_breaks_while_no_other_has_an_answer_yet() -> None:
    given_up = threading.Event()

    def special(n: int, times: int) -> Reply:
        if n == 1 and times >= 3:
            threading.Timer(0.3, given_up.set).start()
        if n == 1:
            return Reply(cut_after=0)
        return Reply(PAGE.format(n=n), hold=given_up, cut_after=3 if times == 1 else None)

    with engine(Script(special), owned_by="vllm") as running, uocr.serve(running.url) as point:
        document = uocr.ocr([picture(n) for n in range(1, 4)], endpoint=point, concurrency=3, progress=False)
    assert [page.status is Status.OK for page in document.pages] == [False, True, True]


def test_a_gateway_whose_engine_is_away_is_waited_for() -> None:
    running: list[Breaking] = []

    def how(shown: list[int], _times: int) -> str | int:
        away = shown[0] > 2 and time.monotonic() < back
        running[0].health = 503 if away else 200
        if away:
            threading.Timer(0.6, setattr, (running[0], "health", 200)).start()
        return 502 if away else "plain"

    with breaking(how) as one, uocr.serve(one.url) as point:
        running.append(one)
        back = time.monotonic() + 0.5
        document = uocr.ocr([picture(n) for n in range(1, 9)], endpoint=point, concurrency=2, progress=False)
    assert document.status == {Status.OK: 8}


def test_a_call_that_was_told_to_have_many_at_once_does_not_starve_another() -> None:
    gate = Gate(1)
    gate.active = gate.told = 64
    assert gate.room(None, 0)
    gate.active += 1
    assert not gate.room(None, 1)
    gate.refused(began=1.0, wait=0.0)
    gate.active = gate.told = 64
    assert not gate.room(None, 0), "what the endpoint has refused holds for all"


def test_a_loop_that_is_closed_at_once_hears_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    held = threading.Event()
    with (
        engine(Script(lambda n, _times: Reply(PAGE.format(n=n), hold=held))) as running,
        uocr.serve(running.url) as point,
    ):
        for _ in range(10):
            with pytest.raises(TimeoutError):
                asyncio.run(asyncio.wait_for(uocr.aocr(picture(1), endpoint=point, progress=False), 0.02))
        held.set()
        settle(point)
    assert not caplog.records


def test_an_interrupt_at_the_very_end_keeps_the_document() -> None:
    def watch(progress: Any, _pages: Any) -> None:
        if progress.finished:
            raise KeyboardInterrupt

    with engine(Script()) as running, uocr.serve(running.url) as point, pytest.raises(KeyboardInterrupt):
        uocr.ocr([picture(n) for n in (31, 32)], endpoint=point, progress=watch)
    document = uocr.last()
    assert document is not None
    assert [page.number for page in document.pages] == [1, 1]
    assert "Body of page 31." in document.page(1).text


def test_the_last_page_of_several_is_asked_for_in_the_mode_that_it_was_drawn_for(tmp_path: Any) -> None:
    pages = [picture(n) for n in range(1, 4)]
    pages[0].save(tmp_path / "three.tiff", save_all=True, append_images=pages[1:])
    script = Script()
    with engine(script, owned_by="sglang") as running, uocr.serve(running.url) as point:
        uocr.ocr(tmp_path / "three.tiff", endpoint=point, multi=2, progress=False)
    assert {body["images_config"]["image_mode"] for body in script.bodies} == {"base"}


_FORK = """
import os, sys
import uocr_nb as uocr
from breaking import breaking
from page_script import picture

with breaking(lambda _shown, _times: "plain") as running, uocr.serve(running.url) as point:
    def read(*numbers):
        pages = [picture(n) for n in numbers]
        return uocr.ocr(pages, endpoint=point, progress=False, cache=False).status["ok"]
    read(1, 2)
    child = os.fork()
    if child == 0:
        sys.exit(0 if read(3, 4) == 2 else 1)
    print(os.waitpid(child, 0)[1], read(5, 6))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_reads_and_leaves_its_parents_connections_alone() -> None:
    helpers = Path(__file__).parent.parent / "helpers"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-W", "ignore::DeprecationWarning", "-c", _FORK],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(helpers), *sys.path])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["0", "2"], done.stderr
    assert "Unclosed" not in done.stderr


# -- anything at any moment --------------------------------------------------------------------------------------------


async def _left(point: Any) -> tuple[int, int, int, int]:
    gate = the_desk().gate(point)
    reading = [task for task in asyncio.all_tasks() if "Run.drive" in repr(task) or "Queue." in repr(task)]
    return gate.active, gate.told, point.in_flight, len(reading)


def settle(point: Any) -> None:
    """Wait until nothing of any call is left."""
    until = time.monotonic() + 10
    while True:
        left = asyncio.run_coroutine_threadsafe(_left(point), background_loop()).result(10)
        if not any(left):
            return
        assert time.monotonic() < until, f"left behind: {left}"
        time.sleep(0.01)


def one_call(chance: random.Random, point: Any, source: Any) -> Sequence[uocr.Page] | None:
    """Read `source` in one of the ways there are; None where it was ended before its end."""
    stop = chance.randint(0, 4)
    options: dict[str, Any] = {
        "endpoint": point,
        "concurrency": chance.choice([None, 1, 3, 256]),
        "multi": chance.choice([None, None, 3]),
        "cache": chance.choice([None, False]),
    }

    match chance.choice(["ocr", "aocr", "iter", "cancel", "interrupt", "leave"]):
        case "ocr":
            return uocr.ocr(source, progress=False, **options).pages
        case "aocr":
            return asyncio.run(uocr.aocr(source, progress=False, **options)).pages
        case "iter":
            return list(uocr.iter_ocr(source, **options))
        case way:
            ended_call(way, stop, source, options)
    return None


def ended_call(way: str, stop: int, source: Any, options: dict[str, Any]) -> None:
    """A call that is ended, soon or when `stop` pages are done."""

    def interrupt(progress: Any, _pages: Any) -> None:
        if progress.done >= stop:
            raise KeyboardInterrupt

    async def leave() -> None:
        async for page in uocr.aiter_ocr(source, **options):
            if page.position > stop:
                break

    match way:
        case "cancel":
            with contextlib.suppress(TimeoutError):
                asyncio.run(asyncio.wait_for(uocr.aocr(source, progress=False, **options), stop * 0.03))
        case "interrupt":
            with contextlib.suppress(KeyboardInterrupt):
                uocr.ocr(source, progress=interrupt, **options)
        case _:
            asyncio.run(leave())


@pytest.mark.parametrize("seed", range(4))
def test_whatever_breaks_or_is_ended_each_page_comes_once_and_nothing_is_left(seed: int, tmp_path: Any) -> None:
    chance = random.Random(seed)

    def how(_shown: list[int], times: int) -> str | int:
        bad = times <= 2 and chance.random() < 0.3
        choices: list[str | int] = [*BREAKS, 429, 500, 502, 503] if bad else [*WHOLE]
        return chance.choice(choices)

    shown = chance.sample(range(1, 41), 9)
    pages = [picture(n) for n in shown]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:5])
    pages[5].save(tmp_path / "b.tiff", save_all=True, append_images=pages[6:])
    sources = [tmp_path / "a.tiff", tmp_path / "b.tiff"]
    results: list[Any] = []
    with breaking(how, owned_by=chance.choice(["vllm", "sglang"])) as running, uocr.serve(running.url) as point:
        for _ in range(4):
            calls = [
                threading.Thread(target=lambda: results.append(one_call(chance, point, sources)), daemon=True)
                for _ in range(2)
            ]
            for call in calls:
                call.start()
            for call in calls:
                call.join(20)
            assert not any(call.is_alive() for call in calls), "it hangs"
            settle(point)
    assert len(results) == 8, "no call failed"
    for pages_read in filter(None, results):
        assert all(page.status is Status.OK for page in pages_read)
        assert all(right(pages_read, shown))


def test_pages_that_were_read_stay_where_one_cannot_be_drawn_again(tmp_path: Any) -> None:
    source = tmp_path / "gone.png"
    picture(2).save(source)

    def how(shown: list[int], _times: int) -> str | int:
        source.unlink(missing_ok=True)
        for drawn in run_folder().rglob("*.png"):
            if shown == [2]:
                drawn.unlink()
        return 500 if shown == [2] else "plain"

    with breaking(how) as running, uocr.serve(running.url) as point:
        document = uocr.ocr(source, endpoint=point, concurrency=1, progress=False)
    assert document.status == {Status.FAILED: 1}, "a document, since the page was there"
