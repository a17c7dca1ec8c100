"""Correcting a block in its row: the drawing module over a real document, without a notebook round it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import drawn
import pytest
from edit_bench import open_bench
from lab import browser

from uocr_nb.document.model import Block, Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from view_kit import View

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(180)]

CAPTION = 5
FIELD = f"Text of block {CAPTION}"
LONGER = "Table 2 | A comparison of two models. More."


@pytest.fixture(scope="module")
def context(chromium_path: str) -> Iterator[Any]:
    with browser(chromium_path, offline=True) as opened:
        yield opened


@pytest.fixture
def doc(tmp_path: Path) -> Document:
    return drawn.good(tmp_path)


@pytest.fixture
def shown(context: Any, tmp_path: Path, doc: Document) -> Iterator[Callable[..., View]]:
    script = files("uocr_nb.views").joinpath("viewer.js").read_text(encoding="utf-8")
    errors: list[str] = []

    def show(*, width: int = 900, ground: str = "#ffffff", document: Document = doc) -> View:
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_viewport_size({"width": width, "height": 1000})
        return open_bench(page, document, script, tmp_path / "view.html", ground=ground)

    yield show
    for page in context.pages:
        page.close()
    assert not errors


def field(view: View, name: str = FIELD) -> Any:
    return view.root.get_by_role("textbox", name=name, exact=True)


def said(view: View, words: str) -> None:
    view.until("(root, words) => root.querySelector('[aria-live]').textContent.includes(words)", words)


def gone(view: View) -> None:
    view.until("root => !root.querySelector('.uo-edit')")


def test_a_double_click_opens_the_row_and_keep_writes_to_the_document(shown: Any, doc: Document) -> None:
    view = shown()
    view.row(CAPTION).dblclick()
    area = field(view)
    area.wait_for()
    assert area.input_value() == doc.page(1).blocks[CAPTION - 1].text
    assert view.focused() == FIELD
    assert view.root.get_by_role("combobox").input_value() == "table_caption"
    assert view.box(CAPTION).get_attribute("aria-pressed") == "true"
    assert view.box(CAPTION).locator(".uo-grip").count() == 8
    area.press_sequentially(" More.")
    view.button("Keep").click()
    gone(view)
    assert doc.page(1).blocks[CAPTION - 1].text == LONGER
    assert LONGER in view.row(CAPTION).inner_text()
    assert "1 edit on this page" in view.root.inner_text()
    assert "1 edit kept in doc.edits" in " ".join(view.root.inner_text().split())
    dot = "(e, kind) => getComputedStyle(e.querySelector(kind), '::after').content"
    assert "•" in view.box(CAPTION).evaluate(dot, ".uo-tag")
    view.button("Done editing").click()
    assert view.button("Done editing").count() == 0
    assert view.box(CAPTION).get_attribute("aria-pressed") == "true"


def test_a_whole_correction_by_keys_alone(shown: Any, doc: Document) -> None:
    view = shown()
    before = doc.pages
    view.box(1).focus()
    view.key(*["ArrowDown"] * (CAPTION - 1), "Enter", "e")
    field(view).wait_for()
    view.page.keyboard.type(" More.")
    view.key("Tab", "ArrowDown")
    assert view.root.get_by_role("combobox").input_value() == "code"
    view.key("Tab", "Tab", "Tab")
    assert view.focused() == "Keep"
    view.key("Enter")
    gone(view)
    assert (doc.page(1).blocks[CAPTION - 1].label, doc.page(1).blocks[CAPTION - 1].text) == ("code", LONGER)
    view.until("(root, n) => document.activeElement.matches(`.uo-row.uo-b${n}`)", CAPTION)
    view.key("z")
    said(view, "Undone:")
    assert doc.pages == before
    view.key("Shift+Z")
    said(view, "Done again:")
    assert len(doc.edits) == 2
    view.key("e")
    field(view).wait_for()
    view.page.keyboard.type("!")
    view.key("Control+Enter")
    gone(view)
    assert doc.page(1).blocks[CAPTION - 1].text == LONGER + "!"
    view.key("Escape")
    view.until("root => !/Done editing/.test(root.textContent)")


def test_escape_gives_up_and_the_keys_are_the_views_again(shown: Any, doc: Document) -> None:
    view = shown()
    view.row(CAPTION).dblclick()
    field(view).press_sequentially("mtr[]zex?")
    assert view.tab("Markdown").get_attribute("aria-selected") == "true"
    view.box(CAPTION).focus()
    view.key("ArrowRight", "Escape")
    gone(view)
    assert not doc.edits
    view.row(CAPTION).dblclick()
    assert field(view).input_value() == doc.page(1).blocks[CAPTION - 1].text
    view.key("Escape")
    gone(view)
    assert view.focused().startswith(f"Block {CAPTION} of 21")


def test_a_block_is_deleted_and_comes_back(shown: Any, doc: Document) -> None:
    view = shown()
    last = len(doc.page(1).blocks)
    view.row(last).dblclick()
    view.button("Delete block").click()
    said(view, f"Block {last} is deleted.")
    assert len(doc.page(1).blocks) == last - 1
    assert view.row(last).count() == 0
    assert view.focused().startswith(f"Block {last - 1} of {last - 1}")
    view.button("Undo").click()
    said(view, f"Undone: deletion of block {last} on page 1.")
    assert view.row(last).count() == 1
    assert not doc.edits


def test_another_label_can_be_written_and_one_that_cannot_be_is_refused_in_words(shown: Any, doc: Document) -> None:
    view = shown()
    view.row(CAPTION).dblclick()
    choice = view.root.get_by_role("combobox")
    choice.select_option("another label …")
    field(view, f"Other label of block {CAPTION}").fill("margin note")
    view.button("Keep").click()
    refused = view.root.get_by_role("alert")
    refused.wait_for()
    assert "A label cannot be 'margin note'." in refused.inner_text()
    assert not doc.edits
    field(view, f"Other label of block {CAPTION}").fill("margin_note")
    assert view.root.locator(".uo-choose .uo-tile").inner_text() == "Ma"
    view.button("Keep").click()
    gone(view)
    assert doc.page(1).blocks[CAPTION - 1].label == "margin_note"
    assert view.row(CAPTION).get_attribute("data-l") == "margin_note"
    view.row(1).dblclick()
    assert "margin_note" in view.root.get_by_role("combobox").inner_text()


def test_what_changed_meanwhile_is_not_written_over(shown: Any, doc: Document) -> None:
    view = shown()
    view.row(CAPTION).dblclick()
    field(view).press_sequentially(" Mine.")
    doc.delete(1, 1)
    view.button("Keep").click()
    view.root.get_by_role("alert").filter(has_text="is not what it was").wait_for()
    assert field(view).input_value().endswith(" Mine.")
    assert len(doc.edits) == 1


def test_the_box_moves_and_is_sized_by_keys_and_by_its_handles(shown: Any, doc: Document) -> None:
    view = shown()
    x1, y1, x2, y2 = doc.page(1).blocks[CAPTION - 1].box or (0, 0, 0, 0)
    view.row(CAPTION).dblclick()
    box = view.box(CAPTION)
    box.focus()
    view.key("ArrowRight", "ArrowDown", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowUp")
    said(view, f"Box {x1 + 1}, {y1 + 2}, {x2 + 2}, {y2 + 1}")
    view.button("Keep").click()
    gone(view)
    assert doc.page(1).blocks[CAPTION - 1].box == (x1 + 1, y1 + 2, x2 + 2, y2 + 1)
    view.row(CAPTION).dblclick()
    field(view).wait_for()
    sheet = view.place(view.root.locator(".uo-mat .uo-sheet"))
    grip = view.place(box.locator(".uo-grip[data-x='1'][data-y='1']"))
    mouse = view.page.mouse
    mouse.move(grip["x"] + 4, grip["y"] + 4)
    mouse.down()
    mouse.move(grip["x"] + 4 - sheet["width"] / 10, grip["y"] + 4 + sheet["height"] / 10, steps=4)
    mouse.up()
    view.button("Keep").click()
    gone(view)
    made = doc.page(1).blocks[CAPTION - 1].box or (0, 0, 0, 0)
    assert made[:2] == (x1 + 1, y1 + 2)
    assert made[2] == pytest.approx(x2 + 2 - 100, abs=4)
    assert made[3] == pytest.approx(y2 + 1 + 100, abs=4)
    assert [edit.what for edit in doc.edits] == ["box", "box"]


def test_a_draft_outlives_turned_pages_and_pages_drawn_anew(shown: Any, doc: Document) -> None:
    view = shown()
    view.row(CAPTION).dblclick()
    field(view).press_sequentially(" More")
    view.page.evaluate("() => view.refresh()")
    view.until("(root, name) => document.activeElement.getAttribute('aria-label') === name", FIELD)
    view.page.keyboard.type(".")
    view.button("Next page").click()
    view.row(2).dblclick()
    said(view, f"The edit of block {CAPTION} on page 1 is open")
    assert field(view).input_value() == LONGER
    view.button("Keep").click()
    gone(view)
    assert doc.page(1).blocks[CAPTION - 1].text == LONGER


def test_undo_turns_to_the_page_it_is_on(shown: Any, doc: Document) -> None:
    view = shown()
    doc.edit(3, 2, text="by Python")
    view.box(1).focus()
    view.key("z")
    said(view, "Undone: text of block 2 on page 3.")
    assert view.root.get_by_role("textbox", name="Page", exact=True).input_value() == "3"
    assert "by Python" not in view.row(2).inner_text()
    view.key("z")
    said(view, "There is no edit to undo.")


def test_text_of_a_page_is_text_in_the_field_too(shown: Any, tmp_path: Path) -> None:
    evil = "</textarea><img src=x onerror='window.hurt=1'><script>window.hurt=1</script>\n $$x$$ & &amp; "
    label = '"><img src=x onerror=window.hurt=1>'
    page = drawn.page(tmp_path, 1, (Block(label, evil, (100, 100, 800, 200)), Block("text", "b", (9, 9, 90, 90))))
    document = Document([page])
    view = shown(document=document)
    view.row(1).dblclick()
    assert field(view, "Text of block 1").input_value() == evil
    assert view.root.get_by_role("combobox").input_value() == label
    view.key("Control+Enter")
    gone(view)
    assert not document.edits, "what was not typed over is no edit"
    view.row(2).dblclick()
    field(view, "Text of block 2").fill(evil)
    view.key("Control+Enter")
    gone(view)
    assert document.page(1).blocks[1].text == evil
    assert not view.page.evaluate("() => window.hurt")


@pytest.mark.parametrize(("width", "ground"), [(900, "#ffffff"), (900, "#111111"), (480, "#ffffff")])
def test_the_field_can_be_read_and_reached_by_all(shown: Any, width: int, ground: str) -> None:
    view = shown(width=width, ground=ground)
    if width < 640:
        view.tab("Markdown").click()
    view.row(CAPTION).dblclick()
    field(view).wait_for()
    assert view.axe() == []
    assert view.sideways() == []
    assert view.contrasts()[0][0] >= 4.5
    for name in ("Keep", "Cancel", "Delete block", "Done editing"):
        place = view.place(view.button(name))
        assert place["width"] >= 24, name
        assert place["height"] >= 24, name
