"""Kinds of faults that people reported of tools of this kind: refusals, silence, interrupts, floods of events."""

from __future__ import annotations

import asyncio
import base64
import io
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageDraw
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BLOCK = "<|det|>text [100, 100, 900, 400]<|/det|>Body of page {n}."


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def sizes(body: dict[str, Any]) -> list[tuple[int, int]]:
    """Width and height of the pictures of a request."""
    parts = body["messages"][-1]["content"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size for url in urls]


def pages_asked(running: Any) -> list[dict[str, Any]]:
    return [body for body in running.bodies if body.get("stream")]


@pytest.fixture
def numbered(tmp_path: Path) -> list[Path]:
    """Eight pages that a scripted engine can tell apart: page n is 200 + n pixels wide."""
    files = []
    for n in range(1, 9):
        picture = Image.new("RGB", (200 + n, 280), "white")
        ImageDraw.Draw(picture).text((20, 20), f"page {n} of eight", fill="black")
        files.append(tmp_path / f"numbered{n}.png")
        picture.save(files[-1])
    return files


@pytest.fixture
def book(numbered: list[Path], tmp_path: Path) -> Path:
    """The eight pages as one file: only pages of one source share a request."""
    first, *others = [Image.open(path) for path in numbered]
    first.save(tmp_path / "book.tiff", save_all=True, append_images=others)
    return tmp_path / "book.tiff"


def of_widths(body: dict[str, Any]) -> str:
    """The answer that names each page by its width."""
    marks = "<PAGE>" if len(sizes(body)) > 1 else ""
    return "\n".join(marks + BLOCK.format(n=width - 200) for width, _ in sizes(body))


# B37
def test_too_many_pages_for_the_context_are_asked_in_smaller_windows(book: Path) -> None:
    def script(_number: int, body: dict[str, Any]) -> Reply:
        if not body.get("stream"):
            return Reply(BLOCK.format(n=0))
        if len(sizes(body)) > 3:
            told = "This model's maximum context length is 32768 tokens. However, your request has 40000 tokens."
            return Reply(status=400, message=told)
        return Reply(of_widths(body))

    with engine(script) as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr(book, endpoint=endpoint, multi=8, progress=False)
    assert document.status == {Status.OK: 8}
    assert [page.blocks[0].text for page in document.pages] == [f"Body of page {n}." for n in range(1, 9)]
    asked = [len(sizes(body)) for body in pages_asked(running)]
    assert asked[0] > 3
    assert sum(count for count in asked if count <= 3) == 8


# B37: where nothing can be split, one short line with the numbers
def test_one_page_that_is_too_long_for_the_context_says_so_with_the_numbers(png: bytes) -> None:
    told = "This model's maximum context length is 32768 tokens. However, your request has 40000 tokens."

    def script(_number: int, body: dict[str, Any]) -> Reply:
        return Reply(status=400, message=told) if body.get("stream") else Reply(BLOCK.format(n=0))

    with engine(script) as running, uocr.serve(running.url) as endpoint:
        page = uocr.ocr([png, png], endpoint=endpoint, progress=False).page(1)
    assert page.status is Status.FAILED
    assert "32768" in page.reason
    assert "\n" not in page.reason
    # The answer is given less room, by halves, before it is given up.
    assert len(pages_asked(running)) <= 2 * 6


# B38
def test_a_picture_that_is_too_large_for_the_engine_is_sent_once_more_and_smaller(tmp_path: Path) -> None:
    picture = Image.new("L", (3000, 4000), 255)
    ImageDraw.Draw(picture).rectangle((300, 400, 2700, 800), fill=0)
    picture.save(tmp_path / "large.png")

    def script(_number: int, body: dict[str, Any]) -> Reply:
        if body.get("stream") and max(sizes(body)[0]) > 2048:
            told = "The image item with length 9000 exceeds the pre-allocated encoder cache size 4096."
            return Reply(status=400, message=told)
        return Reply("<|det|>text [100, 100, 900, 200]<|/det|>bar")

    with engine(script) as running, uocr.serve(running.url) as endpoint:
        page = uocr.ocr(tmp_path / "large.png", endpoint=endpoint, progress=False).page(1)
        asked = [sizes(body)[0] for body in pages_asked(running)]
    assert page.status is Status.OK
    assert len(asked) == 2
    assert asked[1][0] / asked[1][1] == pytest.approx(3 / 4, abs=0.01)
    assert any("smaller" in warning or "scaled" in warning for warning in page.warnings)
    crop = page.crop(1).convert("L")
    assert sum(crop.histogram()[:128]) > 0.97 * crop.width * crop.height


# B46
def test_each_page_of_a_window_is_there_when_the_next_one_begins(book: Path) -> None:
    gate = threading.Event()

    def script(_number: int, body: dict[str, Any]) -> Reply:
        if not body.get("stream"):
            return Reply(BLOCK.format(n=0))
        text = of_widths(body)
        second = text.index("<PAGE>", 1)
        return Reply(text, step=second + 20, hold=gate)

    seen: list[set[int]] = []

    def watch(progress: Any, pages: list[Any]) -> None:
        seen.append({page.position for page in (*pages, *progress.partial) if page.blocks})
        if 1 in seen[-1]:
            gate.set()

    opener = threading.Timer(20, gate.set)
    opener.start()
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        began = time.monotonic()
        document = uocr.ocr(book, pages="1-3", endpoint=endpoint, multi=3, progress=watch)
    opener.cancel()
    assert time.monotonic() - began < 15
    assert document.status == {Status.OK: 3}
    assert any(1 in shown and 3 not in shown for shown in seen)


# B47
def test_an_empty_answer_of_a_full_page_is_asked_for_once_more_and_a_blank_one_never(
    png: bytes, tmp_path: Path
) -> None:
    Image.new("RGB", (800, 1100), "white").save(tmp_path / "blank.png")

    def script(_number: int, body: dict[str, Any]) -> Reply:
        return Reply("") if body.get("stream") else Reply(BLOCK.format(n=0))

    # The embedded engine gives the same answer again, so the others are meant.
    with engine(script) as running, uocr.serve(running.url, engine="vllm") as endpoint:
        full = uocr.ocr(png, endpoint=endpoint, progress=False).page(1)
        assert len(pages_asked(running)) == 2
        blank = uocr.ocr(tmp_path / "blank.png", endpoint=endpoint, progress=False).page(1)
        assert len(pages_asked(running)) == 2
    assert full.status is Status.EMPTY
    assert full.reason
    assert len(full.tries) == 2
    assert blank.status is Status.OK
    assert any("blank" in warning for warning in blank.warnings)


# B65
def test_every_call_gives_the_same_inside_a_running_loop(numbered: list[Path]) -> None:
    def script(_number: int, body: dict[str, Any]) -> Reply:
        return Reply(of_widths(body) if body.get("stream") else BLOCK.format(n=0))

    def calls() -> list[Any]:
        with uocr.serve(running.url) as endpoint:
            document = uocr.ocr(numbered[:2], endpoint=endpoint, progress=False)
            pages = list(uocr.iter_ocr(numbered[:2], endpoint=endpoint))
            again = document.retry(endpoint)
            state = endpoint.state
        parsed = uocr.parse(document.page(1).raw)
        return [document.text, [page.text for page in pages], again is document, state, parsed.text, endpoint.state]

    async def inside() -> list[Any]:
        return calls()

    with engine(script) as running:
        assert asyncio.run(inside()) == calls()


# B67
def test_after_an_interrupt_no_further_page_is_asked_for(numbered: list[Path]) -> None:
    gate = threading.Event()

    def script(number: int, body: dict[str, Any]) -> Reply:
        if not body.get("stream"):
            return Reply(BLOCK.format(n=0))
        return Reply(of_widths(body), hold=gate if number > 4 else None)

    def stop(progress: Any, _pages: Any) -> None:
        if progress.done >= 3 and running.open:
            raise KeyboardInterrupt

    with engine(script) as running, uocr.serve(running.url) as endpoint:
        with pytest.raises(KeyboardInterrupt):
            uocr.ocr(numbered * 6, endpoint=endpoint, concurrency=4, progress=stop)
        # What was sent before the interrupt may reach the engine after it.
        time.sleep(0.3)
        until(lambda: running.open == 0)
        asked = len(pages_asked(running))
        time.sleep(0.5)
        assert len(pages_asked(running)) == asked
        document = uocr.last()
        assert document is not None
        done = document.status[Status.OK]
        assert done >= 3
        assert asked <= done + 4
        gate.set()
        assert document.retry(endpoint).status == {Status.OK: 48}
        assert len(pages_asked(running)) == asked + 48 - done


# B68
def test_two_interrupts_in_a_row_end_it_soon_and_the_next_call_works(numbered: list[Path]) -> None:
    gate = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def script(_number: int, body: dict[str, Any]) -> Reply:
        return Reply(of_widths(body), hold=gate) if body.get("stream") else Reply(BLOCK.format(n=0))

    def press() -> None:
        until(lambda: running.open >= 4)
        for _ in range(2):
            signal.pthread_kill(main, signal.SIGINT)
            pressed.append(time.monotonic())
            time.sleep(0.2)

    pressed: list[float] = []
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        presser = threading.Thread(target=press)
        presser.start()
        try:
            try:
                uocr.ocr(numbered * 3, endpoint=endpoint, concurrency=4, progress=False)
            except KeyboardInterrupt:
                assert time.monotonic() - pressed[0] < 2
            presser.join()
            time.sleep(0.05)
        except KeyboardInterrupt:
            presser.join()
        assert time.monotonic() - pressed[-1] < 2
        until(lambda: running.open == 0)
        gate.set()
        assert uocr.ocr(numbered, endpoint=endpoint, progress=False).status == {Status.OK: 8}


# B74
def test_a_flood_of_pieces_is_shown_a_few_times_a_second(png: bytes) -> None:
    text = "".join(f"<|det|>text [10, {n % 900}, 990, {n % 900 + 9}]<|/det|>Line {n}\n" for n in range(600))

    def script(_number: int, body: dict[str, Any]) -> Reply:
        return Reply(text, step=6) if body.get("stream") else Reply(BLOCK.format(n=0))

    shown = 0

    def watch(_progress: Any, _pages: Any) -> None:
        nonlocal shown
        shown += 1

    with engine(script) as running, uocr.serve(running.url) as endpoint:
        began = time.monotonic()
        document = uocr.ocr(png, endpoint=endpoint, progress=watch)
        seconds = time.monotonic() - began
    assert document.page(1).status is Status.OK
    assert len(document.page(1).blocks) == 600
    assert shown <= 10 * seconds + 5
