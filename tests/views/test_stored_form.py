"""What a notebook stores of a view follows the document."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from uocr_nb.document.model import Block, Document, Page
from uocr_nb.views.stored_form import StoredForm

if TYPE_CHECKING:
    from collections.abc import Callable


def _wait(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


def _document() -> Document:
    return Document([Page(1, 1, "a.pdf", (9, 9), (Block("text", "one"),))])


def test_it_is_drawn_once_for_several_changes_and_again_for_later_ones() -> None:
    doc, sent = _document(), []
    form = StoredForm(sent.append, lambda: {"text/plain": doc.text.strip()}, after=0.05)
    unwatch = doc.watch(form.changed)
    doc.edit(1, 1, text="two").edit(1, 1, text="three")
    _wait(lambda: bool(sent))
    assert sent == [{"text/plain": "three"}]
    doc.undo()
    _wait(lambda: len(sent) == 2)
    assert sent[1] == {"text/plain": "two"}
    unwatch()
    form.close()


def test_closing_draws_what_is_due_and_nothing_after_it() -> None:
    doc, sent = _document(), []
    form = StoredForm(sent.append, lambda: {"text/plain": doc.text.strip()}, after=60)
    unwatch = doc.watch(form.changed)
    doc.edit(1, 1, text="two")
    form.close()
    assert sent == [{"text/plain": "two"}]
    doc.edit(1, 1, text="three")
    form.close()
    assert len(sent) == 1
    unwatch()


def test_what_cannot_be_drawn_stays_as_it_was_and_is_tried_again() -> None:
    doc, sent, tried = _document(), [], threading.Event()

    def draw() -> dict[str, str]:
        if not tried.is_set():
            tried.set()
            raise OSError("no picture")
        return {"text/plain": doc.text.strip()}

    form = StoredForm(sent.append, draw, after=0.01)
    unwatch = doc.watch(form.changed)
    doc.edit(1, 1, text="two")
    _wait(tried.is_set)
    assert not sent

    def again() -> bool:
        doc.edit(1, 1, text=f"{doc.page(1).blocks[0].text}.")
        return bool(sent)

    _wait(again)
    unwatch()
    form.close()
