"""The page view as its stored form draws it, in a browser without a notebook round it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import drawn
import pytest
from lab import browser
from view_kit import View

from uocr_nb.views.labels import label_style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from uocr_nb.document.model import Document

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
slow = pytest.mark.slow

LIGHT, DARK = "#ffffff", "#111111"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers")


@pytest.fixture(scope="module")
def report(folder: Path) -> Document:
    return drawn.report(folder)


@pytest.fixture(scope="module")
def context(chromium_path: str) -> Iterator[Any]:
    with browser(chromium_path, offline=True, accept_downloads=True) as opened:
        opened.grant_permissions(["clipboard-read", "clipboard-write"])
        yield opened


@pytest.fixture
def shown(context: Any, tmp_path: Path) -> Iterator[Callable[..., View]]:
    """Open the stored form of a document, on a ground and in a width."""

    def show(document: Document, width: int = 1000, ground: str = LIGHT, **media: str) -> View:
        html = document._repr_mimebundle_()["text/html"]
        ink = "#1b1f24" if ground == LIGHT else "#e8eaed"
        before = "<p><a id=before href='#'>before</a></p>"
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        scheme = "light" if ground == LIGHT else "dark"
        style = f"margin:8px;background:{ground};color:{ink}"
        head = f"<!doctype html><html lang=en style='color-scheme:{scheme}'><meta charset=utf-8><title>x</title>"
        body = f"<body style='{style}'>{before}{html}<p><a id=after href='#'>after</a></p>"
        path.write_text(head + body, encoding="utf-8")
        page = context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.set_viewport_size({"width": width, "height": 1000})
        if media:
            page.emulate_media(**media)
        page.goto(path.as_uri())
        return View(page).ready()

    yield show
    errors = [error for page in context.pages for error in page.errors]
    for page in context.pages:
        page.close()
    assert not errors


def hot(view: View, n: int) -> None:
    """Wait until both ends of block `n` are marked, and nothing else is."""
    view.until(
        """(root, n) => {
            const marked = kind => [...root.querySelectorAll(kind)].filter(e => e.checkVisibility() &&
                e.matches('.uo-hot')).map(e => Number(e.dataset.b));
            return String(marked('.uo-box')) === String([n]) && String(marked('.uo-row')) === String([n]);
        }""",
        n,
    )


def selected(view: View) -> list[int]:
    """Numbers of the boxes that are pressed."""
    return list(
        view.root.evaluate(
            """root => [...root.querySelectorAll('.uo-box[aria-pressed=true]')].filter(e => e.checkVisibility())
               .map(e => Number(e.dataset.b))"""
        )
    )


def rgb(hex_colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(hex_colour[i : i + 2], 16) for i in (1, 3, 5)))


def enter(view: View, n: int = 1) -> None:
    """Put the focus on a box, as Tab does."""
    view.box(n).focus()
    assert view.focused().startswith(f"Block {n} of")


def current(view: View) -> int:
    return int(view.root.get_by_role("textbox", name="Page", exact=True).input_value())


def clipboard(view: View) -> str:
    return str(view.page.evaluate("() => navigator.clipboard.readText()"))


def copied(view: View, text: str) -> None:
    view.page.wait_for_function("text => navigator.clipboard.readText().then(t => t.trim() === text)", arg=text)


def test_page_and_text_are_one_thing(shown: Callable[..., View], folder: Path) -> None:
    """Hover, select, walk, filter, search, turn: the quick test of the script that every saved notebook carries."""
    view = shown(drawn.good(folder))
    view.box(6).hover(position={"x": 8, "y": 8})
    hot(view, 6)
    view.row(4).hover()
    hot(view, 4)
    view.box(4).click()
    assert selected(view) == [4]
    view.key("ArrowDown", "ArrowDown", "Enter")
    assert selected(view) == [6]
    assert view.button("TSV").is_visible()
    view.chip("text").click()
    assert view.box(4).count() == view.row(4).count() == 0
    assert view.root.get_by_text("filtered out").is_visible()
    view.search.fill("chapter 3")
    view.until("root => root.querySelector('mark')?.textContent === 'Chapter 3'")
    assert current(view) == 3
    view.key("Escape", "[")
    assert current(view) == 2


@slow
def test_pointing_marks_both_ends_and_moves_nothing(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    sheet = view.place(view.root.locator(".uo-sheet:visible"))
    places = """root => [...root.querySelectorAll('.uo-box, .uo-row')].filter(e => e.checkVisibility()).map(e => {
        const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height].join(); })"""
    before = view.root.evaluate(places)
    for n in (2, 4, 6, 7):
        block = drawn.EVERY[n - 1]
        assert block.box is not None
        style = label_style(block.label)
        # The box is where the answer says: 3 px further out at the sides, 2 above and below, and its line.
        box = view.place(view.box(n))
        x1, y1, x2, y2 = (v / 999 for v in block.box)
        assert box["x"] + box["width"] / 2 == pytest.approx(sheet["x"] + sheet["width"] * (x1 + x2) / 2, abs=1.5)
        assert box["y"] + box["height"] / 2 == pytest.approx(sheet["y"] + sheet["height"] * (y1 + y2) / 2, abs=1.5)
        assert 4 <= box["width"] - sheet["width"] * (x2 - x1) <= 13
        assert 3 <= box["height"] - sheet["height"] * (y2 - y1) <= 11
        assert view.style(view.box(n), "border-top-style") == style.line
        # Plain text is at 80 % strength.
        assert rgb(style.paper)[4:-1] in view.style(view.box(n), "border-top-color")
        ground = view.style(view.row(n), "background-color")
        for end, side in (("box", view.box(n)), ("row", view.row(n))):
            view.root.locator(".uo-name").hover()
            view.until("root => !root.querySelector('.uo-hot')")
            side.hover(position={"x": 6, "y": 6})
            hot(view, n)
            assert view.style(view.box(n), "border-top-width", "::after") == "2px", end
            assert view.style(view.box(n), "border-top-style", "::after") == "solid"
            assert view.style(view.box(n), "border-top-color", "::after") == rgb(style.paper)
            tag = view.box(n).locator(".uo-tag")
            assert view.style(tag, "background-color") == rgb(style.paper)
            assert view.style(tag, "color") == rgb("#ffffff")
            view.until("(root, [n, was]) => [...root.querySelectorAll(`.uo-row.uo-b${n}`)].some(e => "
                       "e.checkVisibility() && getComputedStyle(e).backgroundColor !== was)", [n, ground])  # fmt: skip
            assert view.style(view.row(n), "border-left-color") == rgb(style.paper)
            assert view.root.evaluate(places) == before, "hover moved something"


@slow
def test_pointing_brings_the_other_end_into_sight(shown: Callable[..., View], report: Document) -> None:
    view = shown(report, width=900)
    pane = view.place(view.root.get_by_role("tabpanel"))
    last = len(drawn.EVERY)
    assert view.place(view.row(last))["y"] > pane["y"] + pane["height"], "the page is not long enough for this test"
    enter(view)
    view.key("End")
    view.until(
        """(root, n) => {
            const row = [...root.querySelectorAll(`.uo-row.uo-b${n}`)].find(e => e.checkVisibility());
            const a = row.getBoundingClientRect(), b = root.querySelector('[role=tabpanel]').getBoundingClientRect();
            return a.top >= b.top && a.bottom <= b.bottom;
        }""",
        last,
    )
    view.page.mouse.move(0, 0)
    view.row(last).hover()
    hot(view, last)
    view.box(2).hover(position={"x": 20, "y": 4})
    hot(view, 2)
    view.until(
        """root => {
            const row = [...root.querySelectorAll('.uo-row.uo-b2')].find(e => e.checkVisibility());
            const a = row.getBoundingClientRect(), b = root.querySelector('[role=tabpanel]').getBoundingClientRect();
            return a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
        }"""
    )


@slow
def test_a_click_selects_and_a_second_one_lets_go(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    assert view.button("Copy page").is_visible()
    view.row(6).click()
    assert selected(view) == [6]
    assert view.root.get_by_text("Block 6", exact=True).locator("visible=true").count() == 1
    for name in ("Copy", "TSV", "Crop"):
        assert view.button(name, exact=True).is_visible()
    assert not view.button("Copy page").is_visible()
    assert "table, 5 rows, 5 columns" in view.root.locator(".uo-chrome .uo-foot").inner_text()
    # It stays when the mouse goes elsewhere.
    view.box(2).hover(position={"x": 30, "y": 4})
    assert view.style(view.box(6), "border-top-width", "::after") == "2px"
    view.row(6).click()
    assert selected(view) == []
    view.box(7).click()
    assert selected(view) == [7]
    assert view.button("LaTeX").is_visible()
    view.key("Escape")
    assert selected(view) == []
    # Marking text with the mouse is not selecting a block.
    text = view.row(4).locator(".uo-text")
    text.scroll_into_view_if_needed()
    place = view.place(text)
    view.page.mouse.move(place["x"] + 2, place["y"] + 10)
    view.page.mouse.down()
    view.page.mouse.move(place["x"] + 200, place["y"] + 10, steps=4)
    view.page.mouse.up()
    assert view.page.evaluate("() => String(getSelection())").strip()
    assert selected(view) == []


@slow
def test_keys_walk_the_blocks_in_reading_order(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    last = len(drawn.EVERY)
    enter(view)
    assert view.focused() == f"Block 1 of {last}, header"
    view.key("ArrowDown")
    assert view.focused() == f"Block 2 of {last}, title"
    assert view.style(view.box(2), "outline-style") == "solid"
    assert view.style(view.box(2), "outline-width") == "2px"
    hot(view, 2)
    view.key("ArrowRight", "ArrowRight", "ArrowUp")
    assert view.focused().startswith("Block 3 of")
    view.key("ArrowLeft", "End")
    assert view.focused().startswith(f"Block {last} of")
    view.key("ArrowDown")
    assert view.focused().startswith(f"Block {last} of"), "it stops at the last one"
    view.key("Home")
    assert view.focused().startswith("Block 1 of")
    # What is filtered out is passed over.
    view.chip("title").click()
    view.chip("subtitle").click()
    enter(view)
    view.key("ArrowDown")
    assert view.focused().startswith("Block 4 of")
    view.key(" ")
    assert selected(view) == [4]
    view.key("Enter")
    assert selected(view) == []
    # The same in the text.
    view.row(4).focus()
    view.key("ArrowDown")
    assert view.root.evaluate("root => document.activeElement.closest('.uo-row')?.dataset.b") == "5"
    # One stop for Tab on each side, wherever one is.
    for kind in ("uo-box", "uo-row"):
        stops = (
            f"root => [...root.querySelectorAll('.{kind}')].filter(e => e.checkVisibility() && e.tabIndex === 0).length"
        )
        assert view.root.evaluate(stops) == 1


@slow
def test_tab_goes_from_part_to_part_and_out(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    view.page.locator("#before").focus()
    part = """root => {
        const at = document.activeElement;
        if (!root.contains(at)) return at.id;
        const of = {'.uo-summary': 'summary', '.uo-bar': 'bar', '.uo-chips': 'chips', '.uo-mat': 'page',
            '.uo-zoom': 'zoom', '[role=tablist]': 'tabs', '.uo-actions': 'actions', '[role=tabpanel]': 'text',
            '.uo-film': 'film', '.uo-foot': 'foot'};
        return Object.entries(of).find(([place]) => at.closest(place))?.[1] || at.outerHTML.slice(0, 80);
    }"""
    forth: list[str] = []
    for _ in range(60):
        view.key("Tab")
        forth.append(view.root.evaluate(part))
        if forth[-1] == "after":
            break
    parts = list(dict.fromkeys(forth))
    assert parts == ["summary", "bar", "chips", "page", "zoom", "tabs", "actions", "text", "film", "foot", "after"]
    for one in ("chips", "page", "tabs", "text", "film"):
        assert forth.count(one) == 1, f"{one}: one stop, the rest by arrows"
    view.key("Shift+Tab")
    assert view.root.evaluate(part) == "foot"
    # Whatever has the focus shows it.
    view.page.locator("#before").focus()
    for _ in range(len(forth) - 1):
        view.key("Tab")
        ring = view.root.evaluate(
            """() => { const e = document.activeElement; const near = [e, e.closest('.uo-find')].filter(Boolean);
               return near.some(one => getComputedStyle(one).outlineStyle !== 'none'
                 && parseFloat(getComputedStyle(one).outlineWidth) >= 1) ? '' : e.outerHTML.slice(0, 120); }"""
        )
        assert not ring, f"no focus is seen on {ring}"


@slow
def test_labels_are_filtered_by_mouse_and_key(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    view.chip("text").click()
    for n in (4, 14, 15):
        assert view.box(n).count() == view.row(n).count() == 0
    assert view.root.get_by_text("3 text blocks are filtered out.").is_visible()
    chip = view.chip("text")
    assert chip.get_attribute("aria-pressed") == "false"
    assert "line-through" in view.style(chip, "text-decoration-line")
    assert view.row(5).locator(".uo-no").inner_text().split() == ["5", "Ca"], "numbers do not change"
    view.button("Show all labels").click()
    assert view.rows.count() == len(drawn.EVERY)
    # By key: this label alone, then all again.
    view.chip("text").focus()
    view.key("ArrowRight", "Shift+Enter")
    assert view.focused().startswith("caption, 2 blocks")
    assert view.root.evaluate(
        "root => [...root.querySelectorAll('.uo-row')].filter(e => e.checkVisibility()).map(e => e.dataset.b)"
    ) == ["5", "12"]
    view.key("Shift+Enter")
    assert view.rows.count() == len(drawn.EVERY)
    view.key(" ")
    assert view.rows.count() == len(drawn.EVERY) - 2
    view.key(" ")
    # What does not fit is behind one button, furniture first.
    more = view.root.get_by_role("toolbar", name="Labels").get_by_text("+")
    hidden = int(more.inner_text().removeprefix("+"))
    assert hidden > 0
    more.click()
    kinds = {block.label for block in drawn.EVERY}
    chips = view.root.get_by_role("toolbar", name="Labels").get_by_role("button", pressed=True)
    # Two labels of captions share a name.
    assert chips.count() == len(kinds) - 1
    for chip in chips.all():
        assert view.place(chip)["height"] >= 24
    assert view.sideways() == []


@slow
def test_search_finds_in_text_and_on_the_page(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    enter(view)
    view.key("/")
    assert view.focused() == "Find in 14 pages"
    view.page.keyboard.type("ATTENTION")
    view.until("root => / of /.test(root.querySelector('.uo-found').textContent)")
    counter = view.root.locator(".uo-found")
    first = counter.inner_text()
    assert first.startswith("1 of ")
    here = view.root.locator("mark:visible")
    assert here.count() == 4
    assert {mark.inner_text().lower() for mark in here.all()} == {"attention"}
    assert view.style(here.nth(1), "background-color") == "rgb(255, 224, 138)"
    # Each stands in its box on the page too.
    strikes = view.root.locator(".uo-strike:visible").all()
    assert len(strikes) == 4
    for strike, n in zip(strikes, (3, 4, 13, 17), strict=True):
        inner, outer = view.place(strike), view.place(view.box(n))
        assert outer["x"] - 1 <= inner["x"] <= inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
        assert outer["y"] - 1 <= inner["y"] <= inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 1
    view.key("Enter")
    view.until("root => root.querySelector('.uo-found').textContent.startsWith('2 of ')")
    view.key("Shift+Enter", "Shift+Enter")
    count = int(first.split(" of ")[1])
    view.until("(root, n) => root.querySelector('.uo-found').textContent === `${n} of ${n}`", count)
    assert current(view) != 1, "the last hit is on another page"
    assert view.root.locator("mark.uo-now:visible").count() == 1
    view.search.fill("no such word")
    view.until("root => root.querySelector('.uo-found').textContent === 'not found'")
    view.search.fill("$5 to $6")
    view.until("root => root.querySelector('mark')?.textContent === '$5 to $6'")
    view.search.fill("בראשית")
    view.until("root => root.querySelector('mark')?.textContent === 'בראשית'")
    view.key("Escape")
    assert view.search.input_value() == ""
    assert view.root.locator("mark:visible").count() == 0
    assert view.focused().startswith("Block "), "the keys go on where they were"


@slow
def test_tabs_show_text_and_raw_answer(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    assert view.tab("Markdown").get_attribute("aria-selected") == "true"
    assert view.row(7).locator("math").count() == 1
    panel = view.root.get_by_role("tabpanel")
    enter(view)
    view.key("t")
    assert view.tab("Text").get_attribute("aria-selected") == "true"
    assert "Model\tEdit\tPPT" in panel.locator("pre").all_text_contents()[5]
    view.key("r")
    assert view.tab("Raw").get_attribute("aria-selected") == "true"
    raw = report.page(1).raw
    assert panel.locator("pre").first.text_content() == raw
    view.key("m")
    assert view.tab("Markdown").get_attribute("aria-selected") == "true"
    view.tab("Markdown").focus()
    view.key("ArrowRight", "Enter")
    assert view.tab("Text").get_attribute("aria-selected") == "true"
    assert "direction" not in (panel.get_attribute("style") or "")
    view.tab("Markdown").click()
    for n in (14, 15):
        words = view.row(n).locator(".uo-text")
        assert view.style(words, "direction") == "rtl"
        box = view.place(words)
        start = words.evaluate(
            "e => { const r = document.createRange(); r.selectNodeContents(e); const all = [...r.getClientRects()];"
            " return Math.max(...all.map(one => one.right)); }"
        )
        assert box["x"] + box["width"] - start < 20, "text that is written from the right begins at the right"


@slow
def test_pages_are_turned_by_bar_film_and_key(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    number = view.root.get_by_role("textbox", name="Page", exact=True)
    view.button("Next page").click()
    assert current(view) == 2
    assert view.row(1).inner_text().endswith("Chapter 2")
    enter(view)
    view.key("]", "]")
    assert current(view) == 4
    assert view.focused().startswith("Block "), "the focus stays in the page"
    view.key("}")
    assert current(view) == 7
    view.key("}", "}")
    assert current(view) == 9
    view.key("{", "{", "{")
    assert current(view) == 4
    view.key("[", "[", "[", "[")
    assert current(view) == 1
    number.fill("12")
    number.press("Enter")
    assert current(view) == 12
    assert "No answer in 3 tries" in view.root.locator(".uo-note").inner_text()
    number.fill("99")
    number.press("Enter")
    assert current(view) == 12, "there is no such page"
    view.thumb(9).click()
    assert current(view) == 9
    assert view.thumb(9).get_attribute("aria-current") == "page"
    assert view.thumb(9).get_attribute("aria-label") == "Page 9 of 14, truncated"
    view.thumb(9).focus()
    view.key("ArrowRight", "Enter")
    assert current(view) == 10
    view.root.locator(".uo-chrome .uo-foot").get_by_role("button", name="looping").click()
    assert current(view) == 4
    # A page that is not stored says where it is.
    missing = next(n for n in range(2, 15) if f'data-p="{n}"' not in report._repr_mimebundle_()["text/html"])
    number.fill(str(missing))
    number.press("Enter")
    assert f"doc.page({missing})" in view.root.get_by_role("tabpanel").inner_text()


@slow
def test_troubles_are_seen_and_told(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    for n, word in ((4, "looping"), (7, "empty"), (8, "unboxed"), (9, "truncated"), (12, "failed"), (13, "missing")):
        view.thumb(n).click()
        assert current(view) == n
        pill = view.root.locator(".uo-pill")
        assert pill.inner_text() == word
        banner = view.root.locator(".uo-note")
        assert report.page(n).reason in banner.inner_text()
        assert "doc.retry()" in banner.inner_text()
        thumb = view.thumb(n).locator(".uo-thumb")
        assert view.style(thumb, "border-top-width") == "2px"
        assert view.thumb(n).locator("svg").count() == 1
    view.thumb(8).click()
    assert view.boxes.count() == 0
    assert view.rows.count() == len(report.page(8).blocks)
    # Below the block in which the answer stopped nothing was read.
    view.thumb(9).click()
    assert "Cut here, at 4,096 tokens" in view.root.get_by_role("tabpanel").inner_text()
    unread, sheet = (view.place(view.root.locator(f"{kind}:visible")) for kind in (".uo-unread", ".uo-sheet"))
    assert unread["y"] >= view.place(view.box(5))["y"]
    assert unread["y"] + unread["height"] == pytest.approx(sheet["y"] + sheet["height"], abs=3)
    view.thumb(1).click()
    assert not view.root.locator(".uo-note").is_visible()
    assert view.style(view.thumb(1).locator(".uo-thumb"), "border-top-width") == "1px"


@slow
def test_zoom_keeps_the_boxes_on_the_words(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    enter(view)

    def share() -> list[float]:
        sheet, box = view.place(view.root.locator(".uo-sheet:visible")), view.place(view.box(6))
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        return [(middle[0] - sheet["x"]) / sheet["width"], (middle[1] - sheet["y"]) / sheet["height"]]

    before, width = share(), view.place(view.root.locator(".uo-sheet:visible"))["width"]
    view.key("+", "+")
    view.until(
        """(root, was) => [...root.querySelectorAll('.uo-sheet')].some(
            e => e.getBoundingClientRect().width > was * 1.5)""",
        width,
    )
    assert share() == pytest.approx(before, abs=0.005)
    view.key("-")
    assert view.place(view.root.locator(".uo-sheet:visible"))["width"] == pytest.approx(width * 1.25, rel=0.02)
    view.key("0")
    assert view.place(view.root.locator(".uo-sheet:visible"))["width"] == pytest.approx(width, abs=1)
    view.button("Zoom in").click()
    assert view.place(view.root.locator(".uo-sheet:visible"))["width"] > width * 1.2
    view.key("o")
    assert view.box(2).locator(".uo-tag").is_hidden()
    view.key("o")
    assert view.box(2).locator(".uo-tag").is_visible()


@slow
def test_what_is_copied(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    enter(view, 4)
    view.key("Enter", "c")
    copied(view, drawn.WORDS)
    enter(view, 6)
    view.key("Enter", "x")
    rows = [["Model", "Edit", "PPT", "Paper", "Book"], ["One", "Text", "0.052", "0.028", "0.022"]]
    copied_rows = ["\t".join(row) for row in rows]
    view.page.wait_for_function("() => navigator.clipboard.readText().then(t => t.startsWith('Model\\tEdit'))")
    lines = clipboard(view).splitlines()
    assert lines[:2] == copied_rows
    assert lines[2].split("\t")[0] == "One", "a span is filled"
    assert len(lines) == 5
    enter(view, 7)
    view.key("Enter", "x")
    view.page.wait_for_function("() => navigator.clipboard.readText().then(t => t.includes('frac'))")
    assert "$" not in clipboard(view)
    assert clipboard(view).startswith(r"\alpha_{tj}")
    view.key("Escape", "c")
    view.page.wait_for_function("() => navigator.clipboard.readText().then(t => t.includes('5.3. Subcategory'))")
    assert clipboard(view).strip() == report.page(1).markdown.strip()
    enter(view, 2)
    view.key("Enter")
    view.button("Copy", exact=True).click()
    copied(view, "5.3. Subcategory study")
    view.until("root => [...root.querySelectorAll('[aria-live]')].some(e => e.textContent.includes('Copied'))")


@slow
def test_a_block_is_cut_out_as_a_picture(shown: Callable[..., View], report: Document, tmp_path: Path) -> None:
    from PIL import Image

    view = shown(report)
    view.box(10).click()
    with view.page.expect_download() as waiting:
        view.button("Crop").click()
    assert waiting.value.suggested_filename == "report-p1-b10.png"
    waiting.value.save_as(tmp_path / "crop.png")
    image = Image.open(tmp_path / "crop.png")
    assert image.width / image.height == pytest.approx(350 / 999 * 780 / (158 / 999 * 1103), rel=0.02)
    # The drawing of the block, not what lies beside it: grey inside, no white margin.
    assert image.convert("L").getpixel((image.width // 2, 8)) < 245


@slow
def test_the_list_of_keys_and_the_order_of_escape(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    enter(view, 4)
    view.key("Enter", "?")
    sheet = view.root.get_by_role("dialog", name="Keys")
    assert sheet.is_visible()
    inside = "root => !!document.activeElement.closest('[role=dialog]')"
    assert view.root.evaluate(inside), "the focus goes into the list"
    outer, inner = view.place(view.root), view.place(sheet)
    assert inner["x"] >= outer["x"]
    assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]
    text = sheet.inner_text()
    for key in (
        "Tab",
        "Home",
        "End",
        "Enter",
        "Esc",
        "[",
        "]",
        "{",
        "}",
        "/",
        "m",
        "t",
        "r",
        "c",
        "x",
        "+",
        "0",
        "o",
        "?",
    ):
        assert key in text.split(), key
    view.key("Escape")
    assert sheet.count() == 0
    assert view.focused().startswith("Block 4 of")
    view.key("/")
    view.page.keyboard.type("the")
    view.until("root => root.querySelector('mark')")
    view.key("Escape")
    assert view.search.input_value() == ""
    assert selected(view) == [4], "search first"
    view.key("Escape")
    assert selected(view) == []
    view.key("Escape")
    assert view.focused() == "", "then the view"
    # The menu, by key alone.
    view.button("More", exact=True).focus()
    view.key("Enter")
    menu = view.root.get_by_role("menu")
    assert menu.is_visible()
    assert view.root.evaluate("root => !!document.activeElement.closest('[role=menu]')")
    view.key("ArrowDown", "Escape")
    assert menu.count() == 0
    assert view.focused() == "More"


@slow
def test_keys_with_ctrl_stay_with_the_browser_and_typing_is_typing(
    shown: Callable[..., View], report: Document
) -> None:
    view = shown(report)
    enter(view)
    view.key("Control+c", "Alt+x", "Meta+[")
    assert current(view) == 1
    view.search.focus()
    view.page.keyboard.type("[]{}mtrcxo?+-0")
    assert view.search.input_value() == "[]{}mtrcxo?+-0"
    assert view.tab("Markdown").get_attribute("aria-selected") == "true"
    assert current(view) == 1
    assert view.root.get_by_role("dialog").count() == 0


@slow
def test_a_whole_task_by_keys_alone(shown: Callable[..., View], report: Document) -> None:
    """Find the table, take it along as TSV, look at the page that was cut, and go on behind the view."""
    view = shown(report)
    view.page.locator("#before").focus()
    for _ in range(40):
        view.key("Tab")
        if view.focused().startswith("Block 1 of"):
            break
    view.key("/")
    view.page.keyboard.type("0.040")
    view.until("root => root.querySelector('mark')")
    view.key("Escape")
    for _ in range(30):
        if ", table, " in view.focused():
            break
        view.key("ArrowDown")
    assert view.focused() == "Block 6 of 21, table, 5 rows, 5 columns"
    view.key("Enter", "x")
    view.page.wait_for_function("() => navigator.clipboard.readText().then(t => t.startsWith('Model\\tEdit'))")
    for _ in range(6):
        view.key("}")
        if view.root.locator(".uo-pill").inner_text() == "truncated":
            break
    assert current(view) == 9
    view.key("r")
    assert report.page(9).raw[:40] in view.root.get_by_role("tabpanel").inner_text()
    for _ in range(40):
        view.key("Tab")
        if view.page.evaluate("() => document.activeElement.id") == "after":
            break
    assert view.page.evaluate("() => document.activeElement.id") == "after"


@slow
@pytest.mark.parametrize("ground", [LIGHT, DARK])
@pytest.mark.parametrize("width", [480, 640, 900, 1400])
def test_it_fits_and_is_read_by_everybody(
    shown: Callable[..., View], report: Document, width: int, ground: str
) -> None:
    view = shown(report, width=width, ground=ground)

    wrong: list[str] = []

    def good(state: str) -> None:
        wrong.extend(f"{state}: {what}" for what in view.sideways())
        wrong.extend(f"{state}: contrast {ratio:.2f}: {what}" for ratio, what in view.contrasts() if ratio < 4.5)
        wrong.extend(f"{state}: {what}" for what in view.axe())

    good("first page")
    view.thumb(9).click()
    good("truncated")
    view.thumb(12).click()
    good("failed")
    view.thumb(1).click()
    if width > 640:
        view.row(6).click()
        view.chip("text").click()
        view.search.fill("attention")
        view.until("root => root.querySelector('mark')")
        good("selected, filtered, searched")
        view.tab("Raw").click()
        good("raw")
    else:
        view.box(6).click()
        good("selected")
        view.tab("Markdown").click()
        good("text")
    view.box(1).or_(view.row(1)).first.focus()
    view.key("?")
    good("keys")
    assert not wrong, "\n".join(dict.fromkeys(wrong))


@slow
def test_narrow_is_folded_and_nothing_is_lost(shown: Callable[..., View], report: Document) -> None:
    view = shown(report, width=480)
    assert view.tab("Page").get_attribute("aria-selected") == "true"
    assert not view.root.get_by_role("tabpanel").is_visible()
    sheet = view.place(view.root.locator(".uo-sheet:visible"))
    assert sheet["width"] > 400
    view.box(13).click()
    strip = view.root.locator(".uo-strip")
    assert strip.is_visible()
    assert "Block 13" in strip.inner_text()
    assert view.place(strip)["y"] >= view.place(view.root.locator(".uo-mat"))["y"] + 200
    strip.get_by_text("first of three").click()
    assert view.tab("Markdown").get_attribute("aria-selected") == "true"
    assert view.row(13).is_visible()
    assert view.place(view.row(4))["height"] < 120
    view.button("Search").click()
    view.page.keyboard.type("attention")
    view.until("root => root.querySelector('mark')")
    for found in view.root.get_by_role("button").all():
        if found.is_visible() and not (found.get_attribute("class") or "").startswith("uo-box"):
            place = view.place(found)
            assert place["width"] >= 24, found.inner_text()
            assert place["height"] >= 24, found.inner_text()


@slow
def test_nothing_moves_for_those_who_do_not_want_it(shown: Callable[..., View], report: Document) -> None:
    moving = """root => [...root.querySelectorAll('.uo-chrome *')].filter(e => {
        const s = getComputedStyle(e);
        return s.transitionDuration.split(',').some(t => parseFloat(t) > 0) || s.animationName !== 'none';
    }).length"""
    assert shown(report, reduced_motion="reduce").root.evaluate(moving) == 0
    assert shown(report, reduced_motion="no-preference").root.evaluate(moving) > 0


@slow
def test_two_views_on_one_page_do_not_meddle(shown: Callable[..., View], report: Document) -> None:
    view = shown(report)
    view.page.evaluate(
        """() => { const root = document.querySelector('.uo-root');
           const other = document.createElement('div'); other.id = 'second'; document.body.append(other);
           other.append(document.createRange().createContextualFragment(window.first || '')); }"""
    )
    html = report._repr_mimebundle_()["text/html"]
    view.page.evaluate(
        "html => document.querySelector('#second').append(document.createRange().createContextualFragment(html))", html
    )
    other = View(view.page, view.page.locator("#second")).ready()
    other.chip("text").click()
    assert other.row(4).count() == 0
    assert view.row(4).count() == 1
    enter(other, 2)
    other.key("]")
    assert (current(view), current(other)) == (1, 2)


@slow
def test_three_hundred_blocks(shown: Callable[..., View], folder: Path) -> None:
    view = shown(drawn.crowded(folder), width=1200)
    assert view.boxes.count() == view.rows.count() == 300
    spent = view.root.evaluate(
        """root => {
            const boxes = [...root.querySelectorAll('.uo-box')].filter(e => e.checkVisibility());
            const times = boxes.filter((_, i) => i % 10 === 0).map(box => {
                const from = performance.now();
                box.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
                return performance.now() - from;
            });
            return times.sort((a, b) => a - b);
        }"""
    )
    middle = spent[len(spent) // 2]
    print(f"hover on a page of 300 blocks: {middle:.2f} ms, longest {spent[-1]:.2f} ms")
    assert middle < 16
    view.box(287).hover()
    hot(view, 287)
    view.chip("text").click()
    assert view.boxes.count() == 225
