"""Faults of endpoints: what is refused, lost or gone, how often a page is asked for, and what becomes of it."""

from __future__ import annotations

import asyncio
import base64
import io
import threading
from typing import TYPE_CHECKING, Any

import pytest
from page_script import PAGE, Script, picture, read
from PIL import Image, ImageDraw
from scripted import Engine, Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Status
from uocr_nb.errors import EndpointError

if TYPE_CHECKING:
    from pathlib import Path


def test_an_endpoint_that_goes_away_is_waited_for_and_each_page_comes_once() -> None:
    gone = threading.Event()
    script = Script()
    first = Engine(lambda number, body: (gone.set() if script.asked.total() >= 5 else None, script(number, body))[1])
    port = int(first.url.rpartition(":")[2].partition("/")[0])
    second: list[Engine] = []
    waited: list[str] = []

    def replace_it() -> None:
        gone.wait(30)
        first.close()
        second.append(Engine(script, port=port))

    changing = threading.Thread(target=replace_it)
    changing.start()
    with uocr.serve(first.url) as endpoint:
        document = uocr.ocr(
            [picture(n) for n in range(1, 13)],
            endpoint=endpoint,
            concurrency=2,
            progress=lambda progress, _pages: waited.append(progress.waiting),
        )
    changing.join()
    second[0].close()
    assert document.status == {Status.OK: 12}
    assert [f"page {page.position}." in page.text for page in document.pages] == [True] * 12
    assert script.asked.total() <= 12 + 4, "no more than those under way are asked for again"


def test_another_endpoint_that_is_started_meanwhile_takes_over() -> None:
    scripts = Script(), Script()
    running = [Engine(scripts[0])]

    async def main() -> uocr.Document:
        await uocr.aserve(running[0].url)
        reading = asyncio.create_task(uocr.aocr([picture(n) for n in range(1, 31)], concurrency=1, progress=watch))
        await asyncio.to_thread(away.wait, 20)
        await asyncio.to_thread(running[0].close)
        running.append(Engine(scripts[1]))
        await uocr.aserve(running[1].url, another=True)
        return await reading

    def watch(progress: Any, _pages: Any) -> None:
        if progress.done >= 3:
            away.set()

    away = threading.Event()
    document = asyncio.run(main())
    running[1].close()
    assert document.status == {Status.OK: 30}
    assert scripts[1].asked


def test_an_endpoint_that_went_away_says_so_and_can_be_interrupted() -> None:
    script = Script()
    running = Engine(script)

    def watch(progress: Any, _pages: Any) -> None:
        if progress.done >= 3 and not closed:
            closed.append(True)
            running.close()
        if progress.waiting:
            told.append(progress.waiting)
            raise KeyboardInterrupt

    told: list[str] = []
    closed: list[bool] = []
    with uocr.serve(running.url) as endpoint, pytest.raises(KeyboardInterrupt):
        uocr.ocr([picture(n) for n in range(1, 60)], endpoint=endpoint, concurrency=1, progress=watch)
    assert "does not answer" in told[0]
    assert "pages that are done are kept" in told[0]
    document = uocr.last()
    assert document is not None
    assert document.status[Status.OK] >= 3


def test_a_page_that_always_breaks_the_connection_costs_only_itself() -> None:
    script = Script(lambda n, _times: Reply(PAGE.format(n=n), cut_after=9) if n == 3 else None)
    document = read(script, 6, concurrency=2)
    assert [page.status for page in document.pages] == [Status.OK] * 2 + [Status.TRUNCATED] + [Status.OK] * 3
    assert document.page(3).blocks
    assert script.asked[3] <= 4
    assert all(script.asked[n] == 1 for n in (1, 2, 4, 5, 6))


def test_a_page_that_always_fails_is_failed_after_three_tries() -> None:
    script = Script(lambda n, _times: Reply(status=500, message="boom") if n == 2 else None)
    document = read(script, 4)
    assert [page.status for page in document.pages] == [Status.OK, Status.FAILED, Status.OK, Status.OK]
    assert "boom" in document.page(2).reason
    assert script.asked == {1: 1, 2: 3, 3: 1, 4: 1}


def test_too_many_requests_slow_down_and_lose_nothing() -> None:
    script = Script(lambda n, times: Reply(status=429, headers={"Retry-After": "0.1"}) if times <= n % 3 else None)
    document = read(script, 12, owned_by="vllm")
    assert document.status == {Status.OK: 12}
    assert all(script.asked[n] == 1 + n % 3 for n in range(1, 13)), "each refusal costs one request"


@pytest.mark.parametrize("status", [400, 413])
def test_a_request_that_is_too_long_is_sent_with_fewer_tokens(status: int) -> None:
    message = "This model's maximum context length is 4096 tokens. However, you requested 8192 output tokens."
    script = Script()
    script._special = lambda _n, _times: (
        Reply(status=status, message=message) if script.bodies[-1]["max_tokens"] > 2048 else None
    )
    document = read(script, 1)
    assert document.status == {Status.OK: 1}
    assert [body["max_tokens"] for body in script.bodies] == [8192, 4096, 2048]
    assert any("2,048 tokens" in text for text in document.warnings)


def test_a_page_image_that_is_refused_as_too_large_is_sent_smaller() -> None:
    def special(_n: int, _times: int) -> Reply | None:
        content = script.bodies[-1]["messages"][0]["content"]
        url = next(part["image_url"]["url"] for part in content if part["type"] == "image_url")
        sizes.append(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size)
        if max(sizes[-1]) > 2048:
            return Reply(status=400, message="The image exceeds the encoder cache")
        return Reply(PAGE.format(n=1))

    sizes: list[tuple[int, int]] = []
    script = Script(special)
    large = Image.new("L", (3000, 4000), 255)
    ImageDraw.Draw(large).rectangle((300, 400, 900, 800), fill=0)
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        page = uocr.ocr(large, endpoint=endpoint, progress=False).page(1)
        again = uocr.ocr(large, endpoint=endpoint, progress=False)
    assert page.status is Status.OK
    assert len(sizes) == 2, "once smaller; the second call finds it kept"
    assert max(sizes[1]) <= 2048
    assert any("too large" in text for text in page.warnings)
    assert again.meta["cached"] == 1


def test_a_refused_key_ends_the_run_at_once() -> None:
    script = Script(lambda _n, _times: Reply(status=401, message="no"))
    with pytest.raises(EndpointError, match="401"):
        read(script, 12, concurrency=1)
    assert script.asked.total() == 1


def test_two_endpoints_share_the_pages_and_one_finishes_what_the_other_leaves() -> None:
    both = Script(), Script(lambda _n, _times: Reply(status=401, message="no longer"))
    with (
        engine(both[0]) as one,
        engine(both[1]) as other,
        uocr.serve(one.url) as first,
        uocr.serve(other.url, another=True) as second,
    ):
        document = uocr.ocr([picture(n) for n in range(1, 11)], endpoint=[first, second], progress=False)
    assert document.status == {Status.OK: 10}
    assert both[1].asked.total() >= 1
    assert sum(both[0].asked.values()) == 10


def test_a_retry_reads_all_pages_of_what_could_not_be_opened_before(tmp_path: Path) -> None:
    """A folder whose first file and whose last are not there yet; what was noted of the folder stays."""
    early, good, late = (tmp_path / name for name in ("a.tiff", "b.png", "c.tiff"))
    picture(1).save(good)
    (tmp_path / "notes.txt").write_text("no page")
    for file in (early, late):
        file.write_bytes(b"II*\0 not there yet")
    with engine(Script()) as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr(tmp_path, endpoint=endpoint, progress=False)
        assert [page.status for page in document.pages] == [Status.FAILED, Status.OK, Status.FAILED]
        before = document.warnings
        assert any("skipped notes.txt" in warning for warning in before)
        document.retry(endpoint)
        assert document.status == {Status.OK: 1, Status.FAILED: 2}, "nothing is raised for what is as it was"
        for file, count in ((early, 2), (late, 3)):
            picture(2).save(file, save_all=True, append_images=[picture(n) for n in range(3, 2 + count)])
        document.retry(endpoint)
    assert document.status == {Status.OK: 6}, document.doubtful()
    assert [page.position for page in document.pages] == list(range(1, 7))
    assert [(page.source, page.number) for page in document.pages] == [
        ("a.tiff", 1), ("a.tiff", 2), ("b.png", 1), ("c.tiff", 1), ("c.tiff", 2), ("c.tiff", 3)
    ]  # fmt: skip
    assert document.warnings == before
