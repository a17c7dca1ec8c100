"""Watchers of a document, and copies of it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings

import pytest

from uocr_nb.document.model import Block, Document, Page


def _page(position: int, text: str = "one") -> Page:
    return Page(position, position, "a.pdf", (100, 100), (Block("text", text, (0, 0, 9, 9)),))


@pytest.fixture
def doc() -> Document:
    return Document([_page(1), _page(2), _page(3)])


class _View:
    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []

    def changed(self, _document: Document, positions: tuple[int, ...]) -> None:
        self.seen.append(positions)


def test_a_watcher_is_told_which_pages_changed_until_it_stops(doc: Document) -> None:
    seen = []
    unwatch = doc.watch(lambda document, positions: seen.append((document, positions)))
    doc.put(_page(2, "two"))
    doc.spread(2, [_page(1), _page(2)])
    assert seen == [(doc, (2,)), (doc, (2, 3, 4))]
    unwatch()
    unwatch()
    doc.put(_page(1))
    assert len(seen) == 2


def test_a_watcher_sees_the_page_that_was_put_and_may_use_the_document_from_another_thread(doc: Document) -> None:
    texts = []

    def look(document: Document, positions: tuple[int, ...]) -> None:
        thread = threading.Thread(target=lambda: texts.extend(document.page(n).text for n in positions), daemon=True)
        thread.start()
        thread.join(10)

    doc.watch(look)
    doc.put(_page(1, "new"))
    assert [text.strip() for text in texts] == ["new"]


def test_a_view_that_nobody_holds_is_let_go(doc: Document) -> None:
    view = _View()
    doc.watch(view.changed)
    doc.put(_page(1))
    assert view.seen == [(1,)]
    del view
    gc.collect()
    doc.put(_page(1))
    assert len(doc._watchers) == 0


def test_a_watcher_that_fails_is_warned_of_once_and_the_others_are_told(doc: Document) -> None:
    view = _View()

    def broken(_document: Document, _positions: tuple[int, ...]) -> None:
        raise ValueError("no")

    doc.watch(broken)
    doc.watch(view.changed)
    with pytest.warns(RuntimeWarning, match="A watcher of the document failed: ValueError: no"):
        doc.put(_page(1, "put"))
    assert doc.page(1).blocks[0].text == "put"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc.put(_page(2))
    assert view.seen == [(1,), (2,)]


def test_a_watcher_may_watch_unwatch_and_change_in_its_turn(doc: Document) -> None:
    seen = []

    def once(document: Document, positions: tuple[int, ...]) -> None:
        seen.append(positions)
        unwatch()
        document.watch(lambda _document, more: seen.append(more))
        document.put(_page(3))

    unwatch = doc.watch(once)
    doc.put(_page(1))
    assert seen == [(1,), (3,)]


@pytest.mark.parametrize("copied", [lambda doc: pickle.loads(pickle.dumps(doc)), copy.deepcopy, copy.copy])
def test_a_copy_is_a_document_of_its_own(doc: Document, copied: object) -> None:
    seen = []
    doc.meta["engine"] = "cpu"
    doc.watch(lambda _document, positions: seen.append(positions))
    doc.shown_already = lambda: True
    again = copied(doc)
    assert again.pages == doc.pages
    assert again.meta == doc.meta
    assert again.shown_already is None
    again.put(_page(1, "changed"))
    assert (again.page(1).blocks[0].text, doc.page(1).blocks[0].text) == ("changed", "one")
    assert not seen
