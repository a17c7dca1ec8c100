"""What the view of a reading is told while the cell runs, and how it stops it."""

from __future__ import annotations

import random
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import comms
import lxml.html
import pytest
from page_script import PAGE, Script, picture
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Block, Document, Page
from uocr_nb.magics import live, ocr
from uocr_nb.reading.progress import Progress, StopReading
from uocr_nb.views import live_feed, view_desk, viewer, widget_line
from uocr_nb.views.reading_page import ReadingPage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCKS = tuple(Block("text", f"Words of block {n}. " * 12, (100, n * 60, 900, n * 60 + 50)) for n in range(15))


class Cell:
    """One run of ``%uocr`` seen from outside: the output, the widget's line, and a clock that stands."""

    def __init__(self, browser: comms.Browser, show: str = "auto") -> None:
        self.browser = browser
        self.now = 0.0
        self.outputs: list[tuple[float, dict[str, str]]] = []
        self.live = live.LiveDocument(SimpleNamespace(kernel=True, execution_count=1), show)

    def monotonic(self) -> float:
        return self.now

    def show(self, bundle: dict[str, str], **_options: Any) -> Any:
        self.outputs.append((self.now, bundle))
        return SimpleNamespace(update=self.show)

    def tick(self, pages: list[Page], partial: list[Page], total: int = 9, seconds: float = 0.2) -> None:
        self.now += seconds
        reading = tuple(page.position for page in partial)
        progress = Progress(
            total,
            len(pages),
            seconds=self.now,
            reading=reading,
            tokens=int(self.now * 100),
            look=lambda: tuple(partial),
        )
        self.live.update(progress, pages)

    @property
    def line(self) -> comms.Recorded:
        return self.browser.lines[0]

    def get(self, name: str) -> Any:
        return self.live._view._desk.line.get(name)  # type: ignore[union-attr]

    def feeds(self) -> dict[int, dict[str, Any]]:
        told = [self.get(f"feed{n}") for n in range(6)]
        return {one["p"]: one for one in told if one}


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    yield begin(monkeypatch)
    viewer._reading.clear()
    viewer.close_all()


def begin(monkeypatch: pytest.MonkeyPatch, show: str = "auto") -> Cell:
    made = Cell(comms.browser(monkeypatch), show)
    for room in (live, live_feed, view_desk, widget_line):
        monkeypatch.setattr(room, "time", made)
    monkeypatch.setattr(live, "display", made.show)
    return made


@pytest.fixture
def page(tmp_path: Path) -> Callable[..., Page]:
    from PIL import Image

    file = tmp_path / "page.jpg"
    Image.effect_noise((700, 990), 60).convert("RGB").save(file, quality=80)

    def make(n: int, blocks: int = 15, **more: Any) -> Page:
        given = {"sha256": "same", "image_file": file, "seconds": 3.0} | more
        return Page(n, n, "report.pdf", (700, 990), BLOCKS[:blocks], **given)

    return make


# ------------------------------------------------------------------ the output and the view
def test_the_output_is_drawn_when_a_page_is_done_and_the_view_ticks(cell: Cell, page: Callable[..., Page]) -> None:
    for step in range(40):
        done = [page(n) for n in range(1, 1 + step // 16)]
        cell.tick(done, [page(len(done) + 1, 1 + step % 15)])
    assert [round(at, 1) for at, _bundle in cell.outputs] == pytest.approx([0.2, 3.4, 6.6], abs=0.5)
    assert len(cell.line.sizes) > 60
    assert cell.get("status") == "oorwwwwww"
    assert cell.get("live")["progress"][0] == "2 of 9 pages"
    assert cell.get("live")["reading"] == [3]
    assert cell.get("doc") == {
        "name": "report.pdf", "total": 9, "sources": [["report.pdf", 1]], "mode": None, "engine": None, "edits": 0,
    }  # fmt: skip
    assert cell.get("front")["p"] == 3
    cell.live.finish(Document([page(n) for n in range(1, 10)]))
    assert 'data-view="document"' in cell.outputs[-1][1]["text/html"]
    assert 'data-view="live"' in cell.outputs[-2][1]["text/html"]


def test_the_uid_is_the_same_throughout_and_the_view_stays(cell: Cell, page: Callable[..., Page]) -> None:
    cell.tick([], [page(1, 2)], total=2)
    view = cell.live._view
    document = Document([page(1), page(2)])
    cell.live.finish(document)
    assert {lxml.html.fromstring(bundle["text/html"]).get("data-uid") for _, bundle in cell.outputs} == {view._uid}
    assert not view.closed
    assert view.document is document
    for name in ("live", "front", "now", "turn", *live_feed.FEEDS):
        assert view._desk.line.get(name) == {}, name
    assert view._desk.line.get("status") == "oo"
    cell.browser.say(cell.line, kind="select", p=2, n=1)
    comms.wait_for(lambda: uocr.selected() is not None, "the selection")
    assert uocr.selected().document is document


@pytest.mark.parametrize("show", ["markdown", "text", "figure", "none"])
def test_other_forms_have_no_view(monkeypatch: pytest.MonkeyPatch, page: Callable[..., Page], show: str) -> None:
    cell = begin(monkeypatch, show)
    for step in range(20):
        cell.tick([], [page(1, 1 + step // 2)])
    assert cell.browser.lines == []
    assert "2 blocks" not in str(cell.outputs)


def test_where_no_widget_runs_the_output_shows_the_growth(
    monkeypatch: pytest.MonkeyPatch, cell: Cell, page: Callable[..., Page]
) -> None:
    monkeypatch.setenv("VSCODE_PID", "1")
    for step in range(20):
        cell.tick([], [page(1, 1 + step // 2)])
    assert len(cell.outputs) >= 4
    cell.browser.say(cell.line, kind="ping")
    before = len(cell.outputs)
    for step in range(15):
        cell.tick([], [page(1, 2 + step // 2)])
    assert len(cell.outputs) == before, "once it is heard, it draws by itself"


# ------------------------------------------------------------------ the page being read
def drawn(cell: Cell) -> dict[int, str]:
    """What a script makes of the key and what came since: number of a row -> its text."""
    front, now = cell.get("front"), cell.get("now")
    rows = {int(row.get("data-b")): row for row in lxml.html.fromstring(front["html"]).find_class("uo-row")}
    if now and now["key"] == front["key"] and now["p"] == front["p"]:
        rows |= {n: lxml.html.fromstring(html) for n, html in now["rows"]}
    return {n: " ".join(row.find_class("uo-text")[0].text_content().split()) for n, row in rows.items()}


def test_what_has_grown_is_sent_row_by_row(cell: Cell, page: Callable[..., Page]) -> None:
    text = " ".join(f"word{n}" for n in range(300))
    for step in range(60):
        count, part = 1 + step // 6, (step % 6 + 1) * 50
        blocks = tuple(Block("text", text if n < count - 1 else " ".join(text.split()[:part]), BLOCKS[n].box)
                       for n in range(count))  # fmt: skip
        cell.tick([], [Page(1, 1, "report.pdf", (700, 990), blocks, sha256="same", image_file=page(1).image_file)])
        if step > 1:
            shown = drawn(cell)
            assert len(shown) >= count - 1
            assert all(shown[n] == text for n in range(1, count - 1))
    keys = [size for size in cell.line.sizes if size > 30_000]
    assert len(keys) <= 8, "a key is rare"
    assert cell.get("front")["picture"].startswith("data:image/jpeg")
    root = lxml.html.fromstring(cell.get("front")["html"])
    assert root.get("data-status") == "reading"
    assert root.xpath("//img[@class='uo-image']")[0].get("src") == "data:,", "its picture goes once"


def test_what_is_told_since_a_key_leads_to_the_same_page() -> None:
    chance = random.Random(3)
    words = ["one", "two", "three", "four", "five", "six"]
    blocks: list[Block] = [Block("text", "", (100, 10, 900, 40))]
    reading, whole = ReadingPage(Page(1, 1, "a", (9, 9), ())), ReadingPage(Page(1, 1, "a", (9, 9), ()))
    key: dict[str, Any] = {}
    for _ in range(70):
        if chance.random() < 0.2:
            blocks.append(Block(chance.choice(["text", "title", "table"]), "", (100, 10, 900, 10 + len(blocks) * 9)))
        last = blocks[-1]
        blocks[-1] = Block(last.label, f"{last.text} {chance.choice(words)}", last.box)
        page = Page(1, 1, "a", (9, 9), tuple(blocks))
        told = reading.since(page)
        if told is None:
            key = reading.key(page)
            told = {"rows": [], "boxes": []}
        for name, mark in (("rows", "uo-row"), ("boxes", "uo-box")):
            parts = {int(e.get("data-b")): e for e in lxml.html.fromstring(key["html"]).find_class(mark)}
            parts |= {n: lxml.html.fromstring(html) for n, html in told[name]}
            wanted = lxml.html.fromstring(whole.key(page)["html"]).find_class(mark)
            got = [parts[n].text_content() for n in sorted(parts)]
            assert got == [e.text_content() for e in sorted(wanted, key=lambda e: int(e.get("data-b")))]


def test_the_page_that_is_looked_at_is_the_one_that_grows(cell: Cell, page: Callable[..., Page]) -> None:
    cell.tick([], [page(1, 3), page(2, 4), page(3, 2)])
    cell.tick([], [page(1, 3), page(2, 4), page(3, 2)], seconds=1)
    assert cell.get("front")["p"] == 1
    cell.browser.say(cell.line, kind="look", p=3)
    turn = cell.get("turn")
    for _ in range(6):
        cell.tick([], [page(1, 3), page(2, 4), page(3, 2)], seconds=1)
    assert cell.get("front")["p"] == 3
    assert cell.get("turn") == turn, "the others are asked for"
    assert cell.browser.ask(cell.line, kind="page", p=2)["reading"] is True


# ------------------------------------------------------------------ a kernel that cannot hear
def test_pages_are_pushed_where_the_kernel_hears_nothing(cell: Cell, page: Callable[..., Page]) -> None:
    for step in range(12):
        cell.tick([page(n) for n in range(1, 1 + step // 4)], [page(4, 2), page(5, 3), page(6, 1)], seconds=0.5)
    comms.wait_for(lambda: set(cell.feeds()) == {1, 2}, "two pages to be pushed")
    first = cell.feeds()[1]
    root = lxml.html.fromstring(first["html"])
    assert len(root.find_class("uo-row")) == 15
    assert root.find_class("uo-image")
    assert first["v"] < 0, "a better one can be asked for later"
    assert len(first["html"]) < 120_000
    turns = {one["p"] for one in [cell.get("turn")] if one}
    for _ in range(12):
        cell.tick([page(1), page(2)], [page(4, 2), page(5, 3), page(6, 1)], seconds=0.5)
        turns.add(cell.get("turn")["p"])
    assert turns == {5, 6}, "the others come in turn"


def test_nothing_is_pushed_where_the_kernel_hears(cell: Cell, page: Callable[..., Page]) -> None:
    cell.tick([], [page(1, 2)])
    for step in range(30):
        cell.browser.say(cell.line, kind="ping")
        cell.tick([page(n) for n in range(1, 1 + step // 4)], [page(9, 2)], seconds=0.5)
    assert cell.feeds() == {}
    answer = cell.browser.ask(cell.line, kind="page", p=2)
    assert lxml.html.fromstring(answer["page"]["html"]).get("data-p") == "2"
    found = cell.browser.ask(cell.line, kind="find", q="WORDS of block")["found"]
    assert found["pages"] == {str(n): 15 * 12 for n in range(1, 8)}
    for kind in ("save", "edit", "rerun"):
        assert "still being read" in cell.browser.ask(cell.line, kind=kind, p=1, n=1)["error"]


def test_a_thousand_pages_stay_within_bounds(
    monkeypatch: pytest.MonkeyPatch, cell: Cell, page: Callable[..., Page]
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(live_feed, "_ALL_BYTES", 300_000)
    cell.tick([], [page(1, 1)], total=1000)
    # The thread that pushes goes by the real clock, which is not what is tested here.
    cell.live._view._feed._over = SimpleNamespace(wait=lambda _seconds: None, is_set=lambda: False)
    pages = [page(n) for n in range(1, 1001)]
    for step in range(0, 1000, 3):
        cell.tick(pages[:step], pages[step : step + 8], total=1000, seconds=0.5)
        sent.append(sum(cell.line.sizes))
    comms.wait_for(lambda: not cell.live._view._feed._pushing, "the pushes to end")
    pushed = [size for size in cell.line.sizes if size > 5_000]
    assert max(cell.line.sizes) < 200_000
    assert len(pushed) > 50
    per_second = (sent[-1] - sent[len(sent) // 2]) / (len(sent) / 2 * 0.5)
    assert per_second < 250_000, per_second
    assert cell.live._view._feed._pushed <= 300_000 + 120_000
    assert len(cell.live._view._feed._streams) <= 8
    assert len(cell.get("status")) == 1000


# ------------------------------------------------------------------ Stop
def test_stop_ends_the_reading_at_the_next_tick(cell: Cell, page: Callable[..., Page]) -> None:
    cell.tick([], [page(1, 2)])
    cell.tick([], [page(1, 2)])
    number = cell.browser.say(cell.line, kind="stop")
    assert {"kind": "ack", "seq": number} in cell.line.messages
    with pytest.raises(StopReading):
        cell.tick([], [page(1, 2)])
    assert issubclass(StopReading, KeyboardInterrupt)


def test_stop_in_the_view_keeps_the_pages_that_are_done(monkeypatch: pytest.MonkeyPatch, shell: Any) -> None:
    browser = comms.browser(monkeypatch)
    monkeypatch.setattr(shell, "kernel", True, raising=False)
    outputs: list[Any] = []
    monkeypatch.setattr(live, "display", _Output(outputs))
    monkeypatch.setattr(ocr, "display", outputs.append)
    gate = threading.Event()

    def third(n: int, _times: int) -> Reply:
        return Reply(PAGE.format(n=n), hold=gate if n >= 3 else None)

    with engine(Script(third)) as running, uocr.serve(running.url):
        shell.user_ns["pages"] = [picture(n) for n in range(1, 6)]

        def press() -> None:
            comms.wait_for(lambda: browser.lines, "the view")
            line = browser.lines[0]
            comms.wait_for(lambda: line.state.get("status", "").startswith("oor"), "two pages")
            browser.say(line, kind="stop")

        threading.Thread(target=press, daemon=True).start()
        result = shell.run_cell("%uocr {pages} --concurrency 1 --no-cache -o doc")
        gate.set()
    assert result.success, result.error_in_exec
    assert shell.user_ns["doc"].status == {"ok": 2, "missing": 3}
    assert "You stopped the reading: 2 of 5 pages are done and kept." in str(outputs[-1])
    assert not viewer._reading
    assert browser.ask(browser.lines[0], kind="page", p=1)["page"]["p"] == 1
    viewer.close_all()


class _Output:
    """Stands for IPython's display with a handle."""

    def __init__(self, outputs: list[Any]) -> None:
        self._outputs = outputs

    def __call__(self, bundle: dict[str, str], **_options: Any) -> _Output:
        self.update(bundle)
        return self

    def update(self, bundle: dict[str, str], **_options: Any) -> None:
        self._outputs.append(bundle)


def test_a_reading_without_a_document_leaves_no_view(
    monkeypatch: pytest.MonkeyPatch, cell: Cell, page: Callable[..., Page]
) -> None:
    cell.tick([], [page(1, 2)])
    assert viewer._reading
    cell.live.clear()
    assert cell.line.closed
    assert not viewer._reading
    assert cell.outputs[-1][1] == {"text/plain": ""}
