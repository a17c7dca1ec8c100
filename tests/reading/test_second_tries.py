"""Blank pages, second tries, several pages in one request, and answers kept from earlier runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from page_script import PAGE, Script, numbers, picture, read
from PIL import Image
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Block, Status

if TYPE_CHECKING:
    from collections.abc import Callable

BOX = "<|det|>text [100, 100, 900, 400]<|/det|>"


def words(body: dict[str, Any]) -> str:
    return next(part["text"] for part in body["messages"][0]["content"] if part["type"] == "text")


def test_a_blank_page_is_known_before_it_is_asked_for() -> None:
    script = Script()
    pages = [picture(1), Image.new("L", (400, 560), 250), picture(2)]
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr(pages, endpoint=endpoint, progress=False)
        assert document.status == {Status.OK: 3}
        assert document.page(2).warnings == ("blank, not asked",)
        assert not document.page(2).blocks
        assert script.asked.total() == 2
        asked = uocr.ocr(pages[1], endpoint=endpoint, blank=True, progress=False)
        assert script.asked.total() == 3
        assert "blank" in " ".join(asked.warnings), "text on a blank page is doubted"


@pytest.mark.parametrize(
    ("owned_by", "first", "changed"),
    [
        ("sglang", Reply(""), lambda body: body["images_config"]["image_mode"] == "base"),
        ("sglang", Reply("No box at all, but words."), lambda body: "grounding" in words(body)),
        ("vllm", Reply(""), lambda body: "grounding" in words(body)),
        ("vllm", Reply(BOX + "again and so on. " * 900), lambda body: body["vllm_xargs"]["window_size"] == 1024),
        ("vllm", Reply(PAGE.format(n=1), finish="length"), lambda body: body["max_tokens"] == 16384),
        ("llamacpp", Reply(""), lambda body: words(body) == "document parsing."),
    ],
)
def test_a_page_is_asked_for_once_more_in_the_engines_own_way(
    owned_by: str, first: Reply, changed: Callable[[dict[str, Any]], bool]
) -> None:
    script = Script(lambda _n, times: first if times == 1 else None)
    page = read(script, 1, owned_by=owned_by).page(1)
    assert len(script.bodies) == 2
    assert changed(script.bodies[1])
    assert page.status is Status.OK
    assert [(one.status is Status.OK, one.kept) for one in page.tries] == [(False, False), (True, True)]
    assert first.text.startswith(page.tries[0].raw), "what was not kept can be looked at"
    assert page.tries[0].reason


def test_the_better_answer_is_kept_whichever_it_is() -> None:
    replies = {1: Reply(PAGE.format(n=1), finish="length"), 2: Reply(BOX + "less", finish="length")}
    script = Script(lambda _n, times: replies[times])
    document = read(script, 1, owned_by="vllm")
    page = document.page(1)
    assert page.status is Status.TRUNCATED
    assert "Body of page 1" in page.text
    assert [one.kept for one in page.tries] == [True, False]
    assert page.tries[1].raw == BOX + "less"
    assert document.meta["requests"] == 2
    assert document.meta["tokens"] == sum(one.tokens or 0 for one in page.tries)


@pytest.mark.parametrize("options", [{"second_tries": 0}, {"max_tokens": 500}])
def test_no_second_try_where_it_was_not_wanted(options: dict[str, Any]) -> None:
    script = Script(lambda n, _times: Reply(PAGE.format(n=n), finish="length"))
    page = read(script, 1, owned_by="vllm", **options).page(1)
    assert len(script.bodies) == 1
    assert page.status is Status.TRUNCATED
    assert not page.tries


def test_a_retry_is_recorded_and_charged() -> None:
    script = Script(lambda _n, times: Reply("") if times <= 2 else None)
    with engine(script, owned_by="sglang") as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr(picture(1), endpoint=endpoint, progress=False)
        assert document.status == {Status.EMPTY: 1}
        document.retry(endpoint)
    page = document.page(1)
    assert page.status is Status.OK
    assert [one.kept for one in page.tries] == [False, False, True]
    assert document.meta["requests"] == 3


def test_a_retry_of_pages_that_are_named_asks_for_those_alone() -> None:
    script = Script()
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr([picture(n) for n in range(1, 5)], endpoint=endpoint, progress=False)
        document.retry(endpoint, pages=[2, 4])
        assert script.asked == {1: 1, 2: 2, 3: 1, 4: 2}
        document.retry(endpoint, pages=1)
        assert script.asked[1] == 2
        with pytest.raises(IndexError, match="no page 9"):
            document.retry(endpoint, pages=9)


def test_doubts_list_bad_pages_first_and_then_the_least_sure_blocks() -> None:
    pages = [
        uocr.Page(1, 1, "a", (9, 9), (Block("text", "sure", None, 0.99), Block("text", "hm\nhm", None, 0.4))),
        uocr.Page(2, 2, "a", (9, 9), status=Status.EMPTY, reason="The answer is empty."),
        uocr.Page(3, 3, "a", (9, 9), (Block("text", "less", None, 0.2), Block("text", "unknown"))),
    ]
    doubts = uocr.Document(pages).doubtful()
    assert [(doubt.page, doubt.block) for doubt in doubts] == [(2, None), (3, 1), (1, 2)]
    assert repr(doubts).splitlines() == [
        "p. 2  The answer is empty.",
        "p. 3  block 1  20% sure  less",
        "p. 1  block 2  40% sure  hm hm",
    ]
    assert repr(uocr.Document(pages[:1]).doubtful(below=0.1)) == "Nothing is in doubt."


# -- several pages in one request --------------------------------------------------------------------------------------


def many(shown: list[int]) -> str:
    return "\n".join("<PAGE>" + PAGE.format(n=n) for n in shown)


class Windows(Script):
    """Answers windows of pages; `spoil` changes the answer to one of several pages."""

    def __init__(self, spoil: Callable[[list[int], str], Reply]) -> None:
        super().__init__()
        self.windows: list[list[int]] = []
        self._spoil = spoil

    def __call__(self, _number: int, body: dict[str, Any]) -> Reply:
        if not body.get("stream"):
            return Reply(PAGE.format(n=0))
        shown = numbers(body)
        self.windows.append(shown)
        return Reply(PAGE.format(n=shown[0])) if len(shown) == 1 else self._spoil(shown, many(shown))


def tiff(count: int, folder: Any) -> Any:
    pages = [picture(n) for n in range(1, count + 1)]
    pages[0].save(folder / "many.tiff", save_all=True, append_images=pages[1:])
    return folder / "many.tiff"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _shown, text: Reply(text),
        lambda _shown, text: Reply(text[: text.rindex("<PAGE>")]),  # one page is left out
        lambda _shown, text: Reply(text + "\n<PAGE>" + BOX + "one page too many"),
        lambda _shown, text: Reply(text[: len(text) * 2 // 3], finish="length"),
        lambda _shown, text: Reply(text + "\n" + (BOX + "The same again.\n") * 600),
        lambda _shown, _text: Reply(status=400, message="maximum context length is 32768 tokens"),
        lambda _shown, _text: Reply(status=500, message="boom"),
        lambda _shown, _text: Reply(""),
    ],
)
def test_a_window_that_goes_wrong_is_split_and_no_page_is_doubled(
    spoil: Callable[[list[int], str], Reply], tmp_path: Any
) -> None:
    script = Windows(spoil)
    with engine(script, owned_by="sglang") as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr(tiff(6, tmp_path), endpoint=endpoint, multi=4, progress=False)
    assert document.status == {Status.OK: 6}
    assert [re.findall(r"Body of page (\d+)", page.text) for page in document.pages] == [[str(n)] for n in range(1, 7)]
    assert max(len(window) for window in script.windows) <= 4


def test_windows_ask_for_several_pages_and_are_kept_page_by_page(tmp_path: Any) -> None:
    script = Windows(lambda _shown, text: Reply(text))
    source = tiff(10, tmp_path)
    with engine(script, owned_by="sglang") as running, uocr.serve(running.url) as endpoint:
        first = uocr.ocr(source, endpoint=endpoint, multi=True, progress=False)
        assert sorted(map(len, script.windows)) == [5, 5]
        again = uocr.ocr(source, endpoint=endpoint, multi=True, progress=False)
        assert len(script.windows) == 2, "nothing is asked again"
        assert [page.text for page in again.pages] == [page.text for page in first.pages]
        one_by_one = uocr.ocr(source, endpoint=endpoint, pages="1-3", progress=False)
        assert one_by_one.meta["cached"] == 0, "another request, another answer"


# -- kept answers ------------------------------------------------------------------------------------------------------


def test_run_all_again_asks_for_nothing_that_is_ok() -> None:
    script = Script(lambda n, times: Reply(PAGE.format(n=n), finish="length") if n == 2 and times == 1 else None)
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        pages = [picture(n) for n in range(1, 5)]

        def ocr(**options: Any) -> uocr.Document:
            return uocr.ocr(pages, endpoint=endpoint, progress=False, second_tries=0, **options)

        first = ocr()
        assert first.status == {Status.OK: 3, Status.TRUNCATED: 1}
        second = ocr()
        assert script.asked == {1: 1, 2: 2, 3: 1, 4: 1}, "only the page that was not ok is asked for again"
        assert second.status == {Status.OK: 4}
        assert second.meta["cached"] == 3
        assert second.page(1).blocks == first.page(1).blocks
        ocr(cache=False)
        assert script.asked == {1: 2, 2: 3, 3: 2, 4: 2}
        uocr.cache.clear()
        ocr()
        assert script.asked == {1: 3, 2: 4, 3: 3, 4: 3}


def test_an_interrupted_run_goes_on_where_it_stopped() -> None:
    script = Script()
    pages = [picture(n) for n in range(1, 9)]

    def stop(progress: Any, _pages: Any) -> None:
        if progress.done == 4:
            raise KeyboardInterrupt

    with engine(script) as running, uocr.serve(running.url) as endpoint:
        with pytest.raises(KeyboardInterrupt):
            uocr.ocr(pages, endpoint=endpoint, concurrency=1, progress=stop)
        document = uocr.ocr(pages, endpoint=endpoint, progress=False)
    assert document.status == {Status.OK: 8}
    assert script.asked.total() <= 8 + 2
    assert document.meta["cached"] >= 3
