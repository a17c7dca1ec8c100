"""Corrections: what they change, what they leave, and that each can be taken back."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uocr_nb.document.model import Block, Document, Edit, Edits, Page, Status, part_of
from uocr_nb.errors import OptionError

TABLE = "<table><tr><td>a</td><td>1</td></tr></table>"


def _page(position: int, *texts: str, source: str = "a.pdf") -> Page:
    blocks = tuple(Block("text", text, (0, 10 * n, 900, 10 * n + 9), 0.5) for n, text in enumerate(texts))
    return Page(position, position, source, (100, 100), blocks, raw="as the engine wrote it")


@pytest.fixture
def doc() -> Document:
    return Document([_page(1, "one", "two", "three"), _page(2, "four"), _page(3)])


def _texts(doc: Document, position: int) -> list[str]:
    return [block.text for block in doc.page(position).blocks]


def test_an_edit_is_seen_by_everything_made_of_the_document(doc: Document) -> None:
    before = doc.page(1)
    assert doc.edit(1, 2, text=TABLE, label="table", box=(1, 2, 3, 4)) is doc
    page = doc.page(1)
    assert page.blocks[1] == Block("table", TABLE, (1, 2, 3, 4))
    assert "<table>" in page.markdown
    assert "two" not in doc.markdown + doc.text + doc.to_html()
    assert [(table.page, table.box) for table in doc.tables] == [(1, (1, 2, 3, 4))]
    assert doc.to_dataframe()["label"].tolist() == ["text", "table", "text", "text"]
    assert before.blocks[1].text == "two"
    assert dataclasses.replace(page, blocks=before.blocks) == before


def test_a_verdict_and_an_answer_stay_what_they_are() -> None:
    page = dataclasses.replace(_page(1, "one"), status=Status.LOOPING, reason="The same row repeats.")
    doc = Document([page]).edit(1, 1, text="two").delete(1, 1)
    assert (doc.page(1).status, doc.page(1).reason, doc.page(1).raw) == (page.status, page.reason, page.raw)
    assert doc.page(1).blocks == ()
    assert doc.text == ""


def test_the_log_has_an_entry_for_each_thing_that_changed(doc: Document) -> None:
    doc.edit(1, 2, text="zwei", label="title")
    doc.delete(1, 1)
    doc.edit(2, 1, box=(0, 0, 5, 5))
    shown = [(e.page, e.block, e.what, e.before, e.after, e.step, e.confidence) for e in doc.edits]
    assert shown == [
        (1, 2, "text", "two", "zwei", 1, 0.5),
        (1, 2, "label", "text", "title", 1, None),
        (1, 1, "delete", Block("text", "one", (0, 0, 900, 9), 0.5), None, 2, None),
        (2, 1, "box", (0, 0, 900, 9), (0, 0, 5, 5), 3, None),
    ]
    assert all(datetime.fromisoformat(edit.when).utcoffset() == timedelta(0) for edit in doc.edits)
    assert doc.edits.per_page == {1: 3, 2: 1}
    assert (doc.edits.blocks(1), doc.edits.blocks(2), doc.edits.blocks(3)) == ({1}, {1}, frozenset())
    assert doc.edits.of(2) == doc.edits[3:]
    assert repr(doc.edits) == (
        "4 edits: 3 on page 1, 1 on page 2\n"
        'p. 1  block 2  text  "two" → "zwei"\n'
        'p. 1  block 2  label  "text" → "title"\n'
        'p. 1  block 1  deleted  text "one"\n'
        "p. 2  block 1  box  0 0 900 9 → 0 0 5 5"
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        doc.edits[0].page = 2


def test_long_texts_are_shown_where_they_begin_to_differ() -> None:
    doc = Document([_page(1, "Table 2 | A comparison of two modles of one kind, and more.")])
    doc.edit(1, 1, text="Table 2 | A comparison of two models of one kind, and more.")
    assert str(doc.edits[0]) == (
        'p. 1  block 1  text  "...n of two modles of one kind,..." → "...n of two models of one kind,..."'
    )


def test_a_long_log_shows_its_end() -> None:
    doc = Document([_page(n, "x " * 60) for n in range(1, 31)])
    assert repr(doc.edits) == "No edits."
    for n in range(1, 31):
        doc.edit(n, 1, label="title")
        doc.edit(n, 1, text="y\n" * 60)
    head, earlier, *lines = repr(doc.edits).splitlines()
    assert head.startswith("60 edits: 2 on page 1, ")
    assert head.endswith(", the rest on 10 more pages")
    assert (earlier, len(lines)) == ("40 earlier", 20)
    assert all(len(line) < 120 for line in lines)


def test_what_changes_nothing_is_no_edit(doc: Document) -> None:
    seen = []
    doc.edit(1, 1, text="new").undo()
    doc.watch(lambda _doc, positions: seen.append(positions))
    doc.edit(1, 1, text="one", label="text", box=(0, 0, 900, 9))
    assert not doc.edits
    assert not seen
    assert _texts(doc.redo(), 1)[0] == "new"


def test_what_one_call_changed_is_undone_and_redone_together(doc: Document) -> None:
    before = doc.pages
    doc.edit(1, 1, text="eins", label="title").delete(1, 2)
    after = doc.pages
    assert doc.undo() is doc
    assert _texts(doc, 1) == ["eins", "two", "three"]
    doc.undo()
    assert doc.pages == before
    assert doc.page(1).blocks[0].confidence == 0.5
    assert doc.redo().redo().pages == after
    assert len(doc.edits) == 3
    doc.undo().edit(1, 3, text="drei")
    with pytest.raises(OptionError, match="There is no edit to redo"):
        doc.redo()
    assert [edit.step for edit in doc.edits] == [1, 1, 2]


def test_a_corrected_text_is_no_longer_in_doubt(doc: Document) -> None:
    assert [doubt.block for doubt in doc.doubtful() if doubt.page == 1] == [1, 2, 3]
    doc.edit(1, 2, text="two, surely")
    assert [doubt.block for doubt in doc.doubtful() if doubt.page == 1] == [1, 3]
    doc.edit(1, 1, label="title")
    assert [doubt.block for doubt in doc.doubtful() if doubt.page == 1] == [1, 3]


@pytest.mark.parametrize(
    ("page", "block", "change", "what"),
    [
        (0, 1, {"text": "a"}, "There is no page 0"),
        (4, 1, {"text": "a"}, "There is no page 4"),
        (-1, 1, {"text": "a"}, "There is no page -1"),
        ("1", 1, {"text": "a"}, "'1' is no position of a page"),
        (1.0, 1, {"text": "a"}, "1.0 is no position of a page"),
        (1, 0, {"text": "a"}, "There is no block 0 on page 1"),
        (1, 4, {"text": "a"}, "There is no block 4 on page 1"),
        (3, 1, {"text": "a"}, "There is no block 1 on page 3"),
        (1, None, {"text": "a"}, "None is no number of a block"),
        (1, 1, {}, "Block 1 of page 1 stays as it is"),
        (1, 1, {"text": 5}, "A text cannot be 5"),
        (1, 1, {"text": b"a"}, "A text cannot be b'a'"),
        (1, 1, {"label": ""}, "A label cannot be ''"),
        (1, 1, {"label": "   "}, "A label cannot be"),
        (1, 1, {"label": "two words"}, "A label cannot be 'two words'"),
        (1, 1, {"label": "a" * 65}, "A label cannot be"),
        (1, 1, {"label": "<|det|>"}, "A label cannot be"),
        (1, 1, {"label": "a\nb"}, "A label cannot be"),
        (1, 1, {"label": 7}, "A label cannot be 7"),
        (1, 1, {"box": (1, 2, 3)}, "A box cannot be"),
        (1, 1, {"box": (1, 2, 3, 4, 5)}, "A box cannot be"),
        (1, 1, {"box": (0, 0, 1000, 5)}, "A box cannot be"),
        (1, 1, {"box": (-1, 0, 10, 5)}, "A box cannot be"),
        (1, 1, {"box": (9, 0, 5, 5)}, "A box cannot be"),
        (1, 1, {"box": (0, 9, 5, 5)}, "A box cannot be"),
        (1, 1, {"box": (0, 0, 5.0, 5)}, "A box cannot be"),
        (1, 1, {"box": 5}, "A box cannot be 5"),
        (1, 1, {"box": "1234"}, "A box cannot be '1234'"),
    ],
)
def test_what_cannot_be_is_refused_in_three_parts_and_changes_nothing(
    doc: Document, page: int, block: int, change: dict[str, object], what: str
) -> None:
    before = doc.pages
    with pytest.raises(OptionError) as refused:
        doc.edit(page, block, **{"label": "title", **change} if "box" in change else change)
    assert refused.value.what.startswith(what)
    assert refused.value.why
    assert refused.value.next
    assert doc.pages == before
    assert not doc.edits


def test_nothing_is_there_to_undo_or_to_delete(doc: Document) -> None:
    with pytest.raises(OptionError, match="There is no edit to undo"):
        doc.undo()
    with pytest.raises(OptionError, match="There is no block 2 on page 2"):
        doc.delete(2, 2)
    with pytest.raises(OptionError, match="The document has no pages"):
        Document().delete(1, 1)


def test_labels_are_known_by_any_spelling_and_boxes_by_any_whole_numbers(doc: Document) -> None:
    numpy = pytest.importorskip("numpy")
    doc.edit(1, 1, label=" Page Number ", box=numpy.array([1, 2, 3, 4]))
    doc.edit(1, 2, label="margin-note")
    assert doc.page(1).blocks[0].label == "page_number"
    assert doc.page(1).blocks[1].label == "margin-note"
    box = doc.page(1).blocks[0].box
    assert box == (1, 2, 3, 4)
    assert {type(number) for number in box or ()} == {int}


def test_a_half_of_a_surrogate_pair_becomes_what_a_file_would_make_of_it(doc: Document) -> None:
    doc.edit(1, 1, text="a\ud800\x00\r\n  b ")
    assert _texts(doc, 1)[0] == "a\ufffd\x00\r\n  b "
    assert Document.from_json(doc.to_json()).pages == doc.pages


def test_watchers_are_told_of_edits_outside_the_lock(doc: Document) -> None:
    seen = []

    def look(document: Document, positions: tuple[int, ...]) -> None:
        thread = threading.Thread(target=lambda: seen.append((positions, len(document.edits))), daemon=True)
        thread.start()
        thread.join(10)

    doc.watch(look)
    doc.edit(2, 1, text="a", label="title").delete(1, 1).undo().redo()
    assert seen == [((2,), 2), ((1,), 3), ((1,), 2), ((1,), 3)]


def test_another_answer_takes_the_place_of_edits_with_a_warning(doc: Document) -> None:
    doc.edit(1, 1, text="a").edit(2, 1, text="b").edit(1, 2, text="c").edit(2, 1, label="title").undo()
    doc.put(dataclasses.replace(doc.page(1), name="f. 1"))
    assert len(doc.edits) == 3
    assert not doc.own_warnings
    doc.put(_page(1, "anew"))
    assert [edit.page for edit in doc.edits] == [2]
    assert doc.own_warnings == ["2 edits of page 1 went with the answer that was corrected: another took its place."]
    doc.redo()
    assert doc.page(2).blocks[0].label == "title"
    doc.undo().undo()
    assert _texts(doc, 2) == ["four"]
    assert not doc.edits


def test_edits_move_with_their_pages(doc: Document) -> None:
    doc.edit(1, 1, text="a").edit(2, 1, text="b").edit(2, 1, text="c").undo()
    doc.spread(1, [_page(1, "x"), _page(2, "y"), _page(3, "z")])
    assert [(edit.page, edit.after) for edit in doc.edits] == [(4, "b")]
    assert [warning.split(" went")[0] for warning in doc.own_warnings] == ["1 edit of page 1"]
    assert _texts(doc.redo(), 4) == ["c"]
    assert _texts(doc.undo().undo(), 4) == ["four"]


def test_parts_of_a_document_have_the_edits_of_their_pages() -> None:
    doc = Document([_page(1, "one", source="a"), _page(2, "two", source="b"), _page(3, "three", source="a")])
    doc.edit(3, 1, text="drei").edit(2, 1, text="zwei").edit(1, 1, text="eins").delete(3, 1)
    parts = doc.by_source()
    assert [(edit.page, edit.what) for edit in parts["a"].edits] == [(2, "text"), (1, "text"), (2, "delete")]
    assert [(edit.page, edit.what) for edit in parts["b"].edits] == [(1, "text")]
    assert _texts(parts["a"].undo().undo().undo(), 2) == ["three"]
    assert len(doc.edits) == 4
    assert part_of(doc, [doc.page(2)]).edits == parts["b"].edits
    assert not doc.own_warnings


def test_edits_that_do_not_fit_the_pages_are_left_out_with_a_warning(doc: Document) -> None:
    doc.edit(1, 1, text="a").edit(2, 1, text="b").delete(1, 2)
    pages = [dataclasses.replace(doc.page(1), blocks=doc.page(1).blocks[1:]), *doc.pages[1:]]
    again = Document(pages, edits=[*doc.edits, dataclasses.replace(doc.edits[0], page=9)])
    assert [edit.page for edit in again.edits] == [2]
    assert again.own_warnings == [
        "3 edits could not be kept: the blocks are not what they would have made of them.",
    ]
    assert _texts(again.undo(), 2) == ["four"]


@pytest.mark.parametrize("copied", [lambda doc: pickle.loads(pickle.dumps(doc)), copy.deepcopy, copy.copy])
def test_a_copy_has_a_log_of_its_own(doc: Document, copied: object) -> None:
    doc.edit(1, 1, text="a").edit(1, 1, text="b").undo()
    again = copied(doc)
    assert again.edits == doc.edits
    again.redo().undo().undo()
    assert (_texts(again, 1)[0], _texts(doc, 1)[0]) == ("one", "a")
    assert (len(again.edits), len(doc.edits)) == (0, 1)


def test_threads_that_edit_at_once_lose_nothing() -> None:
    doc = Document([_page(1, *[""] * 8)])
    started = threading.Barrier(8)

    def work(block: int) -> None:
        started.wait(10)
        for n in range(50):
            doc.edit(1, block, text=str(n))

    threads = [threading.Thread(target=work, args=(block,), daemon=True) for block in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert _texts(doc, 1) == ["49"] * 8
    assert len(doc.edits) == 400
    assert len({edit.step for edit in doc.edits}) == 400
    for _ in range(400):
        doc.undo()
    assert _texts(doc, 1) == [""] * 8


box = st.tuples(st.integers(0, 499), st.integers(0, 499), st.integers(500, 999), st.integers(500, 999))
operations = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.integers(1, 3), st.integers(1, 4), st.sampled_from("abc"), st.none() | box),
        st.tuples(st.just("label"), st.integers(1, 3), st.integers(1, 4), st.sampled_from(["title", "text", "note"])),
        st.tuples(st.just("delete"), st.integers(1, 3), st.integers(1, 4)),
        st.just(("undo",)),
        st.just(("undo",)),
        st.just(("redo",)),
        st.just(("load",)),
        st.just(("pickle",)),
    ),
    max_size=24,
)

Plain = tuple[tuple[tuple[str, str, object], ...], ...]


class _Model:
    """The document as plain lists: every state that stands, and those that were undone."""

    def __init__(self, state: Plain) -> None:
        self.states, self.undone = [state], []

    def blocks(self, page: int) -> list[tuple[str, str, object]]:
        return list(self.states[-1][page - 1])

    def change(self, page: int, blocks: list[tuple[str, str, object]]) -> None:
        new = (*self.states[-1][: page - 1], tuple(blocks), *self.states[-1][page:])
        if new != self.states[-1]:
            self.states.append(new)
            self.undone.clear()

    def move(self, back: bool) -> bool:
        if back and len(self.states) > 1:
            self.undone.append(self.states.pop())
        elif not back and self.undone:
            self.states.append(self.undone.pop())
        else:
            return False
        return True


def _plain(doc: Document) -> Plain:
    return tuple(tuple((b.label, b.text, b.box) for b in page.blocks) for page in doc.pages)


def _change_both(doc: Document, model: _Model, name: str, page: int, block: int, *change: object) -> None:
    blocks = model.blocks(page)
    if block > len(blocks):
        with pytest.raises(OptionError):
            doc.delete(page, block) if name == "delete" else doc.edit(page, block, "x")
        return
    label, text, old = blocks[block - 1]
    if name == "delete":
        doc.delete(page, block)
        del blocks[block - 1]
    elif name == "label":
        doc.edit(page, block, label=change[0])
        blocks[block - 1] = (change[0], text, old)
    else:
        doc.edit(page, block, text=change[0], box=change[1])
        blocks[block - 1] = (label, change[0], change[1] or old)
    model.change(page, blocks)


@settings(max_examples=150, deadline=None)
@given(operations)
def test_any_sequence_gives_what_plain_lists_give(given_operations: list[tuple[object, ...]]) -> None:
    doc = Document([_page(1, "a", "b", "c", "a"), _page(2, "a"), _page(3)])
    start = doc.pages
    model = _Model(_plain(doc))
    for name, *rest in given_operations:
        if name in ("undo", "redo"):
            moved = model.move(name == "undo")
            if moved:
                getattr(doc, name)()
            else:
                with pytest.raises(OptionError):
                    getattr(doc, name)()
        elif name == "load":
            doc = Document.from_json(doc.to_json())
            model.undone.clear()
        elif name == "pickle":
            doc = pickle.loads(pickle.dumps(doc))
        else:
            _change_both(doc, model, name, *rest)
        assert _plain(doc) == model.states[-1]
        assert len({edit.step for edit in doc.edits}) == len(model.states) - 1
        assert sum(doc.edits.per_page.values()) == len(doc.edits)
        for page in doc.pages:
            assert doc.edits.blocks(page.position) <= set(range(1, len(page.blocks) + 1))
    assert not doc.own_warnings
    while doc.edits:
        doc.undo()
    assert doc.pages == start


def test_the_log_is_a_list_of_its_own(doc: Document) -> None:
    doc.edit(1, 1, text="a")
    log = doc.edits
    log.clear()
    assert len(doc.edits) == 1
    assert isinstance(log, Edits)
    assert isinstance(doc.edits[0], Edit)
