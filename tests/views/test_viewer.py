"""The full view: what the browser asks, what it gets, and what is selected there."""

from __future__ import annotations

import io
import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import comms
import lxml.html
import pytest
from harmless import HOSTILE, check_harmless
from page_script import PAGE, Script, picture
from PIL import Image
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.views import view_pages, viewer
from uocr_nb.views.view_desk import ViewDesk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BOX = (100, 100, 900, 200)
TABLE = "<table><tr><td>Model</td><td>Score</td></tr><tr><td>One</td><td>0.5</td></tr></table>"


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[comms.Browser]:
    viewer._last = None
    yield comms.browser(monkeypatch)
    viewer.close_all()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What cells show, with a kernel around."""
    bundles: list[dict[str, str]] = []

    def show(bundle: dict[str, str], **_options: Any) -> Any:
        bundles.append(bundle)
        return SimpleNamespace(update=show)

    monkeypatch.setattr("IPython.display.display", show)
    monkeypatch.setattr(viewer, "in_kernel", lambda: SimpleNamespace(kernel=True, execution_count=4))
    return bundles


def made(pages: int = 3, *blocks: Block) -> Document:
    blocks = blocks or (Block("title", "Head", BOX), Block("text", "Some words.", BOX), Block("table", TABLE, BOX))
    return Document([Page(n, n, "a.pdf", (700, 990), blocks, raw="raw") for n in range(1, pages + 1)])


# ------------------------------------------------------------------ what is shown
def test_one_page_is_shown_once_and_the_widget_beside_it(
    browser: comms.Browser, shown: list[dict[str, str]], make_page: Callable[..., Page]
) -> None:
    document = Document([make_page(n) for n in range(1, 6)])
    view = document.view(3)
    assert len(shown) == 1
    root = check_harmless(shown[0]["text/html"])
    assert [page.get("data-p") for page in root.find_class("uo-page")] == ["3"]
    assert json.loads(root.get("data-doc"))["total"] == 5
    assert shown[0]["text/plain"].startswith("report.pdf")
    assert len(browser.lines) == 1
    assert not view.closed
    assert repr(view) == "<View: 5 pages>"
    view._ipython_display_()
    assert len(shown) == 1, "as the value of its cell it shows nothing a second time"
    with pytest.raises(IndexError, match="no page 6"):
        document.view(6)


def test_what_is_kept_of_300_pages_is_small(browser: comms.Browser, shown: list[dict[str, str]]) -> None:
    view = made(300, *[Block("text", "word " * 80, BOX) for _ in range(20)]).view()
    line = browser.lines[0]
    state = sum(line.sizes)
    assert state < 300_000, state
    assert len(shown[0]["text/html"]) < 200_000
    browser.ask(line, kind="page", p=7)
    browser.ask(line, kind="find", q="word")
    kept = sum(len(repr(getattr(view._desk.line._widget, name))) for name in ("doc", "status", "live", "front", "now"))
    assert kept < 2_000, "what is looked at goes in messages"


def test_without_a_notebook_its_plain_form_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    view = made().view()
    assert capsys.readouterr().out.startswith("a.pdf   3 pages")
    assert view.closed
    assert view.selected is None
    view.on_select(print)()
    view.close()
    assert repr(view) == "<View: 3 pages, closed>"


def test_a_document_without_pages_can_be_viewed(browser: comms.Browser, shown: list[dict[str, str]]) -> None:
    view = Document().view()
    assert "no pages" in shown[0]["text/html"]
    assert "error" in browser.ask(browser.lines[0], kind="page", p=1)
    assert not view.closed


# ------------------------------------------------------------------ what is asked
@pytest.fixture
def line(browser: comms.Browser, shown: list[dict[str, str]], make_page: Callable[..., Page]) -> comms.Recorded:
    Document([make_page(n, noise=n == 2) for n in range(1, 4)]).view()
    return browser.lines[0]


def test_a_message_is_acknowledged_at_once(browser: comms.Browser, line: comms.Recorded) -> None:
    for content in ({"kind": "ping"}, {"kind": "nothing known"}, {}, {"kind": ["odd"]}):
        number = browser.say(line, **content)
        assert {"kind": "ack", "seq": number} in line.messages


def test_pages_thumbnails_and_texts(browser: comms.Browser, line: comms.Recorded) -> None:
    page = browser.ask(line, kind="page", p=2)["page"]
    root = lxml.html.fromstring(page["html"])
    assert root.get("data-p") == "2"
    assert len(root.find_class("uo-row")) == 10
    assert page["texts"][3].startswith("<table")
    assert page["thumb"].startswith("data:image/jpeg")
    assert len(page["html"]) < 400_000
    thumbs = browser.ask(line, kind="thumbs", ps=[1, 2, 99, "x", None])["thumbs"]
    assert sorted(thumbs) == ["1", "2"]
    assert max(map(len, thumbs.values())) < 4_000
    assert browser.ask(line, kind="text", p=1, n=2)["text"] == "5.3. Subcategory Study"
    found = browser.ask(line, kind="find", q="SUBCATEGORY")["found"]
    assert found["pages"] == {"1": 1, "2": 1, "3": 1}
    assert found["hits"][0] == (1, 2, 1)


def test_a_crop_has_all_pixels(browser: comms.Browser, line: comms.Recorded) -> None:
    answer = browser.ask(line, kind="crop", p=1, n=7)
    with Image.open(io.BytesIO(answer["bytes"])) as image:
        assert image.format == "PNG"
        assert image.size == (229, 159)


def test_a_file_comes_in_parts(browser: comms.Browser, line: comms.Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uocr_nb.views.view_desk._CHUNK", 1000)
    answer = browser.ask(line, kind="save", format="md")
    assert answer["name"] == "report.md"
    assert answer["bytes"].decode().count("5.3. Subcategory Study") == 3
    assert sum(one["kind"] == "part" for one in line.messages) >= 1
    monkeypatch.setattr(view_pages, "_FILE_BYTES", 10)
    assert "too much for a browser" in browser.ask(line, kind="save", format="html")["error"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"kind": "page", "p": 99}, "Page 99 is not there"),
        ({"kind": "page", "p": "1; drop"}, "no such page"),
        ({"kind": "page"}, "no such page"),
        ({"kind": "crop", "p": 1, "n": 99}, "no block 99"),
        ({"kind": "text", "p": 1, "n": -1}, "no block -1"),
        ({"kind": "save", "format": "exe"}, "cannot be saved as 'exe'"),
        ({"kind": "save", "format": "../../x"}, "cannot be saved"),
        ({"kind": "rerun", "ps": [1]}, "cannot be asked for again"),
        ({"kind": "edit", "p": 1, "n": 99, "text": "x"}, "no block 99"),
        ({"kind": "undo"}, "no edit to undo"),
    ],
)
def test_what_cannot_be_done_is_said(
    browser: comms.Browser, line: comms.Recorded, content: dict[str, Any], words: str
) -> None:
    assert words in browser.ask(line, **content)["error"]


def test_whatever_fails_is_answered(
    browser: comms.Browser, line: comms.Recorded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_given: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(view_pages, "thumbs", broken)
    assert browser.ask(line, kind="thumbs", ps=[1])["error"] == "That did not work: ZeroDivisionError."
    assert "could not answer" in caplog.text
    assert "page" in browser.ask(line, kind="page", p=1)


def nasty() -> dict[str, tuple[Block, ...]]:
    return {
        "a megabyte": (Block("text", "x" * 1_000_000, BOX),),
        "escaped": (Block("text", "<&>" * 300_000, BOX),),
        "3,000 blocks": tuple(Block("text", "some words " * 9, (n % 900, n % 900, 950, 950)) for n in range(3000)),
        "cells": (Block("table", "<table>" + "<tr><td>1</td><td>2</td></tr>" * 5_000 + "</table>", BOX),),
        "formulas": (Block("text", "\\(a^2\\) " * 12_000, BOX),),
        "figures": tuple(Block("image", "", (1, n, 990, n + 40)) for n in range(1, 900, 3)),
        "hostile": tuple(Block(kind, text, BOX) for text in HOSTILE for kind in ("text", "title", "equation", text)),
    }


@pytest.mark.parametrize("kind", nasty())
def test_a_page_is_bounded_whatever_it_holds(kind: str, make_page: Callable[..., Page]) -> None:
    page = make_page(1, noise=True, blocks=nasty()[kind], size=(1240, 1754), raw="<&>" * 200_000)
    told = view_pages.page_payload(page, [page], total=1)
    assert len(json.dumps(told)) < 640_000, "with what escaping in JSON adds"
    root = check_harmless(f'<div class="uo-root tex2jax_ignore mathjax_ignore">{told["html"]}</div>')
    assert root.find_class("uo-row")


# ------------------------------------------------------------------ what is selected
@pytest.fixture
def two(browser: comms.Browser, shown: list[dict[str, str]], make_page: Callable[..., Page]) -> list[Any]:
    document = Document([make_page(n) for n in range(1, 4)])
    other = made()
    return [document.view(), document.view(2), other.view()]


def test_what_is_selected_comes_to_python(browser: comms.Browser, two: list[Any]) -> None:
    first, second, other = two
    assert uocr.selected() is None
    calls: list[tuple[str, Any]] = []
    end = first.on_select(lambda chosen: calls.append((threading.current_thread().name, chosen)))
    second.on_select(lambda chosen: calls.append(("second", chosen)))
    browser.say(browser.lines[0], kind="select", p=2, n=4)
    comms.wait_for(lambda: len(calls) == 2, "both to be called")
    chosen = uocr.selected()
    assert repr(chosen) == "<Selection: page 2, block 4, table, 3 rows, 3 columns>"
    assert (chosen.page, chosen.number, chosen.label) == (2, 4, "table")
    assert chosen.block is first.document.page(2).blocks[3]
    assert chosen.text.splitlines()[1] == "One\tText\t0.052"
    assert chosen.df.shape == (2, 3)
    assert chosen.crop().size == chosen.image.size == (435, 158)
    assert first.selected == second.selected == chosen
    assert other.selected is None
    assert calls == [("uocr_nb view, in order", chosen), ("second", chosen)]
    assert browser.lines[1].messages[-1] == {"kind": "selected", "p": 2, "n": 4}
    assert repr(first) == "<View: 3 pages, block 4 of page 2 is selected>"
    end()
    browser.say(browser.lines[1], kind="select", p=0, n=0)
    comms.wait_for(lambda: len(calls) == 3, "the second to be called")
    assert calls[-1] == ("second", None)
    assert first.selected is None
    assert uocr.selected() is None
    with pytest.raises(uocr.UocrError, match="has no table"):
        replace(chosen, block=Block("text", "x")).df  # noqa: B018 - it raises


def test_a_new_view_has_what_another_has_selected(
    browser: comms.Browser, two: list[Any], shown: list[dict[str, str]]
) -> None:
    browser.say(browser.lines[0], kind="select", p=1, n=1)
    comms.wait_for(lambda: two[1].selected is not None, "the selection")
    third = two[0].document.view()
    assert third.selected == two[0].selected
    assert browser.ask(browser.lines[3], kind="hello")["selected"] == (1, 1)


def test_a_function_that_fails_holds_nothing_up(
    browser: comms.Browser, two: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Any] = []
    two[0].on_select(lambda _chosen: 1 / 0)
    two[0].on_select(calls.append)
    browser.say(browser.lines[0], kind="select", p=1, n=1)
    comms.wait_for(lambda: calls, "the next function to be called")
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_what_is_no_block_is_not_selected(browser: comms.Browser, two: list[Any]) -> None:
    for p, n in ((1, 99), (99, 1), (1, -1), ("1", "1"), (None, None), (True, True)):
        browser.say(browser.lines[0], kind="select", p=p, n=n)
    browser.say(browser.lines[0], kind="select", p=1, n=2)
    comms.wait_for(lambda: uocr.selected() is not None, "the selection")
    assert uocr.selected().number == 2
    two[0].document.put(replace(two[0].document.page(1), blocks=()))
    assert uocr.selected() is None, "the block has gone"


# ------------------------------------------------------------------ what changes
def test_views_of_one_document_agree_on_its_pages(browser: comms.Browser, two: list[Any]) -> None:
    document = two[0].document
    document.put(replace(document.page(2), status=Status.LOOPING))
    for line in browser.lines[:2]:
        assert line.messages[-1] == {"kind": "changed", "ps": [2]}
    assert browser.lines[2].messages == []
    assert two[1]._desk.line.get("status") == "olo"
    browser.ask(browser.lines[0], kind="edit", p=1, n=2, text="Better")
    assert document.page(1).blocks[1].text == "Better"
    assert {"kind": "changed", "ps": [1]} in browser.lines[1].messages
    page = browser.ask(browser.lines[1], kind="page", p=1)["page"]
    assert page["v"] == 1
    assert page["edits"] == 1
    assert lxml.html.fromstring(page["html"]).find_class("uo-edited")
    two[1].close()
    before = len(browser.lines[1].messages)
    document.undo()
    assert len(browser.lines[1].messages) == before


def test_old_views_are_closed_and_one_that_reads_is_not(browser: comms.Browser, shown: list[dict[str, str]]) -> None:
    reading = viewer.LiveView("reading")
    document = made(1)
    views = [document.view() for _ in range(viewer.MOST_OPEN + 5)]
    assert [view.closed for view in views] == [True] * 6 + [False] * 19
    assert not reading.closed
    assert browser.lines[1].closed
    browser.say(browser.lines[1], kind="page", p=1)
    reading.end(None)
    assert reading.closed


def test_pages_are_read_again_behind_the_cell(browser: comms.Browser, shown: list[dict[str, str]]) -> None:
    gate = threading.Event()

    def again(_n: int, times: int) -> Reply | None:
        return Reply("", finish="stop") if times == 1 else Reply(PAGE.format(n=1), hold=gate)

    with engine(Script(again)) as running, uocr.serve(running.url) as endpoint:
        document = uocr.ocr(picture(1), endpoint=endpoint, progress=False, cache=False, second_tries=0)
        assert document.page(1).status is Status.EMPTY
        view = document.view()
        line = browser.lines[0]
        number = browser.say(line, kind="rerun", ps=[1])
        comms.wait_for(lambda: view._desk.line.get("live").get("reading") == [1], "the page to be read")
        assert view._desk.line.get("status") == "r"
        assert "being read already" in browser.ask(line, kind="rerun", ps=[1])["error"]
        gate.set()
        comms.wait_for(lambda: any(one.get("seq") == number and "said" in one for one in line.messages), "the end")
    assert next(one for one in line.messages if "said" in one)["said"] == "1 page read again, ok."
    assert document.page(1).status is Status.OK
    assert view._desk.line.get("live") == {}
    assert view._desk.line.get("status") == "o"
    assert {"kind": "changed", "ps": [1]} in line.messages


def test_stop_ends_a_second_reading_and_keeps_what_it_has(browser: comms.Browser, shown: list[dict[str, str]]) -> None:
    gate = threading.Event()

    def again(n: int, times: int) -> Reply | None:
        if times == 1:
            return Reply("", finish="stop")
        return Reply(PAGE.format(n=n), hold=gate if n == 2 else None)

    with engine(Script(again)) as running, uocr.serve(running.url) as endpoint:
        pages = [picture(1), picture(2)]
        document = uocr.ocr(pages, endpoint=endpoint, progress=False, cache=False, second_tries=0, concurrency=1)
        document.view()
        line = browser.lines[0]
        number = browser.say(line, kind="rerun", ps=[1, 2])
        comms.wait_for(lambda: document.page(1).status is Status.OK, "the first page")
        browser.say(line, kind="stop")
        comms.wait_for(lambda: any(one.get("seq") == number and "said" in one for one in line.messages), "the end")
        gate.set()
    assert next(one for one in line.messages if "said" in one)["said"].startswith("Stopped.")
    assert document.status == {"ok": 1, "empty": 1}


def test_a_desk_without_a_document_says_so(browser: comms.Browser) -> None:
    ViewDesk("u", None, lambda _desk: None)
    for kind in ("save", "edit", "undo", "rerun"):
        assert "still being read" in browser.ask(browser.lines[0], kind=kind, p=1, n=1, text="x")["error"]
