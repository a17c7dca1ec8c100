"""Many pages through a scripted engine: order, faults, interrupts, and what is left behind."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Status
from uocr_nb.errors import EndpointError, OptionError, SourceError, UocrError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = "<|det|>title [100, 50, 900, 90]<|/det|>Head {n}\n<|det|>text [100, 100, 900, 400]<|/det|>Body of page {n}."


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def tiny(body: dict[str, Any]) -> bool:
    """Whether a request is the readiness check of `serve`, not a page of the test."""
    return not body.get("stream")


def pages_script(reply: Callable[[int], Reply]) -> Callable[[int, dict[str, Any]], Reply]:
    """Number the page requests from 1; answer the readiness check with one block."""
    seen = iter(range(1, 10_000))

    def script(_number: int, body: dict[str, Any]) -> Reply:
        return Reply(PAGE.format(n=0)) if tiny(body) else reply(next(seen))

    return script


def page_requests(running: Any) -> list[dict[str, Any]]:
    return [body for body in running.bodies if not tiny(body)]


def test_pages_come_in_order_and_several_are_asked_at_once(pictures: list[Path]) -> None:
    class FourAtOnce:
        """The first four answers are held until all four are under way."""

        def is_set(self) -> bool:
            return running.most_open >= 4

    def reply(n: int) -> Reply:
        return Reply(PAGE.format(n=n), hold=FourAtOnce() if n <= 4 else None)

    with engine(pages_script(reply)) as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr(pictures, endpoint=endpoint, concurrency=4, progress=False)
    assert [page.source for page in document.pages] == [path.name for path in pictures]
    assert document.status == {Status.OK: 12}
    assert running.most_open == 4
    assert [page.position for page in document.pages] == list(range(1, 13))


def test_iter_gives_each_page_as_soon_as_it_is_ready(pictures: list[Path]) -> None:
    gate = threading.Event()
    with (
        engine(pages_script(lambda n: Reply(PAGE.format(n=n), hold=gate if n > 2 else None))) as running,
        uocr.serve(running.url) as endpoint,
    ):
        pages = uocr.iter_ocr(pictures[:4], endpoint=endpoint, concurrency=1)
        assert next(pages).position == 1
        assert next(pages).position == 2
        gate.set()
        assert [page.position for page in pages] == [3, 4]


def test_every_byte_alone_gives_the_same_answer(png: bytes) -> None:
    text = "<|det|>text [1, 2, 300, 400]<|/det|>漢字 and 🎈\u2028 and ü\n<|det|>title [5, 500, 900, 600]<|/det|>End"
    with (
        engine(pages_script(lambda n: Reply(text, byte_by_byte=n == 2, step=3))) as running,
        uocr.serve(running.url) as endpoint,
    ):
        whole, split = (uocr.ocr(png, endpoint=endpoint, progress=False).page(1) for _ in range(2))
    assert whole.raw == split.raw == text
    assert whole.blocks == split.blocks


def test_a_page_that_fails_is_told_and_the_others_are_there(pictures: list[Path]) -> None:
    with (
        engine(
            pages_script(lambda n: Reply(status=400, message="too long") if n == 3 else Reply(PAGE.format(n=n)))
        ) as running,
        uocr.serve(running.url) as endpoint,
    ):
        document = uocr.ocr(pictures[:5], endpoint=endpoint, concurrency=1, progress=False)
    assert document.status == {Status.OK: 4, Status.FAILED: 1}
    assert "too long" in document.page(3).reason
    assert len(page_requests(running)) == 5


def test_busy_is_asked_again_and_refusals_are_not(png: bytes) -> None:
    with (
        engine(
            pages_script(
                lambda n: Reply(status=503, headers={"Retry-After": "0"}) if n < 3 else Reply(PAGE.format(n=n))
            )
        ) as running,
        uocr.serve(running.url) as endpoint,
    ):
        assert uocr.ocr(png, endpoint=endpoint, progress=False).status == {Status.OK: 1}
        assert len(page_requests(running)) == 3


def test_retry_asks_only_for_what_is_not_ok(pictures: list[Path]) -> None:
    with (
        engine(pages_script(lambda n: Reply(status=400) if n in (2, 4) else Reply(PAGE.format(n=n)))) as running,
        uocr.serve(running.url) as endpoint,
    ):
        document = uocr.ocr(pictures[:5], endpoint=endpoint, concurrency=1, progress=False)
        assert document.retry(endpoint) is document
    assert document.status == {Status.OK: 5}
    assert len(page_requests(running)) == 7
    assert [page.source for page in document.pages] == [path.name for path in pictures[:5]]


def test_length_is_never_ok(png: bytes) -> None:
    with (
        engine(pages_script(lambda n: Reply(PAGE.format(n=n), finish="length"))) as running,
        uocr.serve(running.url) as endpoint,
    ):
        page = uocr.ocr(png, endpoint=endpoint, progress=False).page(1)
    assert page.status is Status.TRUNCATED
    assert page.blocks


def test_a_connection_that_ends_too_early_is_truncated(png: bytes) -> None:
    with (
        engine(pages_script(lambda n: Reply(PAGE.format(n=n), cut_after=12))) as running,
        uocr.serve(running.url) as endpoint,
    ):
        page = uocr.ocr(png, endpoint=endpoint, progress=False).page(1)
    assert page.status is Status.TRUNCATED


def test_a_loop_is_cut_while_it_runs(png: bytes) -> None:
    block = "<|det|>text [10, 100, 990, 130]<|/det|>Same line again\n"
    good = "<|det|>title [10, 10, 990, 40]<|/det|>A heading\n"
    with (
        engine(pages_script(lambda _n: Reply(good + block * 200_000, step=4000))) as running,
        uocr.serve(running.url) as endpoint,
    ):
        page = uocr.ocr(png, endpoint=endpoint, progress=False).page(1)
        until(lambda: running.open == 0)
        assert running.left_early == 1
    assert page.status is Status.LOOPING
    assert page.blocks[0].text == "A heading"
    assert len(page.blocks) < 50


def test_scores_become_the_confidence_of_blocks(png: bytes) -> None:
    scores = [("<|det|>text [1, 1, 500, 100]<|/det|>", 0.0), ("good", -0.0), ("\n", 0.0)]
    scores += [("<|det|>text [1, 200, 500, 300]<|/det|>", 0.0), ("doubt", -0.6931471805599453)]
    with engine(pages_script(lambda _n: Reply(scores=scores))) as running, uocr.serve(running.url) as endpoint:
        page = uocr.ocr(png, endpoint=endpoint, progress=False).page(1)
    assert [block.confidence for block in page.blocks] == [1.0, 0.5]


def test_an_endpoint_that_has_gone_is_one_clear_message(png: bytes) -> None:
    with engine(pages_script(lambda n: Reply(PAGE.format(n=n)))) as running:
        endpoint = uocr.serve(running.url)
        running.close()
        with pytest.raises(EndpointError, match="cannot be reached"):
            uocr.ocr(png, endpoint=endpoint, progress=False)


def test_no_endpoint_is_one_clear_message(png: bytes) -> None:
    with pytest.raises(EndpointError, match="No endpoint is running"):
        uocr.ocr(png, progress=False)


def test_leaving_the_loop_ends_the_work(pictures: list[Path]) -> None:
    gate = threading.Event()
    with (
        engine(pages_script(lambda n: Reply(PAGE.format(n=n), hold=gate if n > 1 else None))) as running,
        uocr.serve(running.url) as endpoint,
    ):
        for _page in uocr.iter_ocr(pictures, endpoint=endpoint, concurrency=2):
            break
        until(lambda: running.open == 0)
        assert len(page_requests(running)) <= 4


def test_an_interrupt_keeps_what_is_done(pictures: list[Path]) -> None:
    gate = threading.Event()
    with (
        engine(pages_script(lambda n: Reply(PAGE.format(n=n), hold=gate if n > 3 else None))) as running,
        uocr.serve(running.url) as endpoint,
    ):

        def stop(progress: Any, _pages: Any) -> None:
            if progress.done == 3 and running.open:
                raise KeyboardInterrupt

        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            uocr.ocr(pictures, endpoint=endpoint, concurrency=1, progress=stop)
        assert time.monotonic() - began < 20
        until(lambda: running.open == 0)
        asked = len(page_requests(running))
        document = uocr.last()
        assert document is not None
        assert document.status == {Status.OK: 3, Status.MISSING: 9}
        assert {page.reason for page in document.pages[3:]} == {"The reading was interrupted before this page."}
        gate.set()
        document.retry(endpoint)
        assert document.status == {Status.OK: 12}
        assert len(page_requests(running)) == asked + 9


def test_await_in_a_running_loop_leaves_the_loop_free(pictures: list[Path]) -> None:
    async def main() -> tuple[uocr.Document, int, list[int]]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        endpoint = await uocr.aserve(running.url)
        document = await uocr.aocr(pictures[:4], endpoint=endpoint, progress=False)
        numbers = [page.position async for page in uocr.aiter_ocr(pictures[:3], endpoint=endpoint)]
        ticking.cancel()
        return document, ticks, numbers

    with engine(pages_script(lambda n: Reply(PAGE.format(n=n)))) as running:
        document, ticks, numbers = asyncio.run(main())
    assert document.status == {Status.OK: 4}
    assert ticks > 3
    assert numbers == [1, 2, 3]


def test_plain_calls_work_inside_a_running_loop(png: bytes) -> None:
    async def main() -> uocr.Document:
        with uocr.serve(running.url) as endpoint:
            return uocr.ocr(png, endpoint=endpoint, progress=False)

    with engine(pages_script(lambda n: Reply(PAGE.format(n=n)))) as running:
        assert asyncio.run(main()).status == {Status.OK: 1}


def test_options_do_not_leak_into_the_next_call(tmp_path: Path, pictures: list[Path]) -> None:
    from PIL import Image

    frames = [Image.open(path).convert("RGB") for path in pictures[:5]]
    frames[0].save(tmp_path / "five.tiff", save_all=True, append_images=frames[1:])
    with engine(pages_script(lambda n: Reply(PAGE.format(n=n)))) as running, uocr.serve(running.url) as endpoint:

        def count(given: Any, **options: Any) -> int:
            return len(uocr.ocr(given, endpoint=endpoint, progress=False, **options))

        many = tmp_path / "five.tiff"
        assert [count(pictures[0]), count(many), count(many, pages="2"), count(many)] == [1, 5, 1, 5]


def test_one_bad_source_among_several_is_one_failed_page(tmp_path: Path, pictures: list[Path]) -> None:
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no picture at all")
    with engine(pages_script(lambda n: Reply(PAGE.format(n=n)))) as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr([pictures[0], bad, pictures[1]], endpoint=endpoint, progress=False)
        assert [page.status for page in document.pages] == [Status.OK, Status.FAILED, Status.OK]
        assert document.page(2).reason
        with pytest.raises(SourceError):
            uocr.ocr(bad, endpoint=endpoint, progress=False)
        with pytest.raises(SourceError):
            uocr.ocr([bad, bad], endpoint=endpoint, progress=False)


@pytest.mark.parametrize(
    "options", [{"mode": "huge"}, {"dpi": 5}, {"dpi": "many"}, {"concurrency": 0}, {"max_tokens": 99999}]
)
def test_options_that_cannot_be_used_are_refused(png: bytes, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        uocr.ocr(png, endpoint=object(), **options)


def test_an_option_that_does_not_exist_is_refused_with_the_nearest_one(png: bytes) -> None:
    with engine(pages_script(lambda n: Reply(PAGE.format(n=n)))) as running, uocr.serve(running.url) as endpoint:
        for call in (uocr.iter_ocr, lambda *args, **options: asyncio.run(uocr.aocr(*args, **options))):
            with pytest.raises(OptionError, match="The nearest one is mode"):
                list(call(png, endpoint=endpoint, mod="base"))


def test_the_key_is_never_told(png: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", " secret-key-123\r\n")
    with engine(
        pages_script(lambda n: Reply(status=401, message="wrong key secret-key-123") if n else Reply())
    ) as running:
        endpoint = uocr.serve(running.url, api_key_env="TEST_KEY")
        with pytest.raises(UocrError) as told:
            uocr.ocr(png, endpoint=endpoint, progress=False)
        assert "401" in str(told.value)
        shown = [str(told.value), repr(endpoint), json.dumps(endpoint.logs), str(vars(told.value))]
        assert not any("secret-key-123" in text for text in shown)
