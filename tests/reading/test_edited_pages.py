"""Pages that a person corrected, when they are read again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from page_script import PAGE, Script, picture
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Status
from uocr_nb.reading.pipeline import retry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uocr_nb.document.model import Document, Page
    from uocr_nb.reading.progress import Progress
    from uocr_nb.serving.endpoint import Endpoint

CUT = "<|det|>text [100, 100, 900, 400]<|/det|>Cut of page {n}."
SKIPPED = "Page 1 was not read again, because it has edits. doc.retry(pages=1) reads it again; "


def cut_at_first(n: int, times: int) -> Reply | None:
    """Pages 1 and 2 are cut when they are asked for first, page 3 is refused when it is asked for again."""
    if times == 1 and n < 3:
        return Reply(CUT.format(n=n), finish="length")
    return Reply(status=400) if times > 1 and n == 3 else None


@pytest.fixture
def script() -> Script:
    return Script(cut_at_first)


@pytest.fixture
def endpoint(script: Script) -> Iterator[Endpoint]:
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        yield endpoint


@pytest.fixture
def doc(endpoint: Endpoint) -> Document:
    pages = [picture(n) for n in (1, 2, 3)]
    document = uocr.ocr(pages, endpoint=endpoint, second_tries=0, progress=False)
    assert [page.status for page in document.pages] == [Status.TRUNCATED, Status.TRUNCATED, Status.OK]
    return document


def test_a_page_with_edits_is_passed_over_and_the_document_says_so(
    doc: Document, endpoint: Endpoint, script: Script
) -> None:
    doc.edit(1, 1, text="Whole, as a person typed it.")
    before = doc.page(1)
    doc.retry(endpoint).retry(endpoint)
    assert script.asked == {1: 1, 2: 2, 3: 1}
    assert doc.page(1) is before
    assert doc.page(2).status is Status.OK
    assert [warning.startswith(SKIPPED) for warning in doc.own_warnings] == [True]
    assert len(doc.edits) == 1


def test_a_page_that_is_named_is_read_again_and_its_edits_go_with_a_warning(doc: Document, endpoint: Endpoint) -> None:
    doc.edit(1, 1, text="one").edit(1, 1, label="title").edit(2, 1, text="two")
    doc.retry(endpoint)
    doc.retry(endpoint, pages=1)
    assert doc.page(1).blocks[1].text == "Body of page 1."
    assert [edit.page for edit in doc.edits] == [2]
    assert [warning for warning in doc.own_warnings if "age 1" in warning] == [
        "2 edits of page 1 went with the answer that was corrected: another took its place."
    ]
    assert [(one.kept, one.raw) for one in doc.page(1).tries] == [(False, CUT.format(n=1)), (True, "")]


def test_edits_stay_where_the_new_answer_is_no_better(doc: Document, endpoint: Endpoint, script: Script) -> None:
    doc.edit(3, 1, text="three")
    doc.retry(endpoint, pages=3)
    assert script.asked[3] == 2
    assert doc.page(3).blocks[0].text == "three"
    assert len(doc.edits) == 1
    assert not doc.own_warnings
    assert doc.undo().page(3).blocks[0].text == "Head 3"


def test_what_is_corrected_while_the_page_is_on_its_way_stays() -> None:
    typed = threading.Event()

    def reply(n: int, times: int) -> Reply:
        return Reply(CUT.format(n=n), finish="length") if times == 1 else Reply(PAGE.format(n=n), hold=typed)

    def type_something(_progress: Progress, _pages: list[Page]) -> None:
        if not typed.is_set():
            doc.edit(1, 1, text="typed meanwhile")
            typed.set()

    with engine(Script(reply)) as running, uocr.serve(running.url) as endpoint:
        doc = uocr.ocr([picture(1), picture(2)], endpoint=endpoint, second_tries=0, progress=False)
        retry(doc, endpoint, watcher=type_something)
    assert [block.text for block in doc.page(1).blocks] == ["typed meanwhile"]
    assert [(one.kept, one.raw) for one in doc.page(1).tries] == [(True, ""), (False, PAGE.format(n=1))]
    assert doc.page(2).status is Status.OK
    assert len(doc.edits) == 1


def test_kept_answers_are_the_engines_own(endpoint: Endpoint, script: Script) -> None:
    first = uocr.ocr(picture(4), endpoint=endpoint, progress=False)
    first.edit(1, 2, text="corrected").delete(1, 1)
    again = uocr.ocr(picture(4), endpoint=endpoint, progress=False)
    assert script.asked[4] == 1
    assert again.page(1).raw == first.page(1).raw == PAGE.format(n=4)
    assert [block.text for block in again.page(1).blocks] == ["Head 4", "Body of page 4."]
    assert not again.edits
