from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import uocr_nb
from uocr_nb.document.model import Block, Document, Page, Status, Try
from uocr_nb.errors import MissingExtraError, OptionError, SourceError
from uocr_nb.exports.data import COLUMNS, to_json
from uocr_nb.sources.types import RenderSpec, Source

texts = st.text(st.characters(codec="utf-8"), max_size=60)
coordinate = st.integers(0, 999)
blocks = st.builds(
    Block,
    label=texts,
    text=texts,
    box=st.none() | st.tuples(coordinate, coordinate, coordinate, coordinate),
    confidence=st.none() | st.floats(0, 1),
)
tries = st.builds(
    Try,
    status=st.sampled_from(Status),
    kept=st.booleans(),
    reason=texts,
    mode=st.none() | texts,
    prompt=st.none() | texts,
    raw=texts,
    tokens=st.none() | st.integers(0, 10**6),
    seconds=st.none() | st.floats(0, 1e6),
)
pages = st.builds(
    Page,
    position=st.just(1),
    number=st.integers(1, 10_000),
    source=texts,
    size=st.tuples(st.integers(0, 9000), st.integers(0, 9000)),
    blocks=st.lists(blocks, max_size=4).map(tuple),
    status=st.sampled_from(Status),
    warnings=st.lists(texts, max_size=2).map(tuple),
    reason=texts,
    raw=texts,
    dpi=st.none() | st.floats(30, 600),
    sha256=texts,
    tokens=st.none() | st.integers(0, 10**6),
    seconds=st.none() | st.floats(0, 1e6),
    finish_reason=st.none() | texts,
    tries=st.lists(tries, max_size=2).map(tuple),
    name=texts,
    image_file=st.none(),
    origin=st.none(),
)
metas = st.dictionaries(texts, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts, max_size=4)


@given(st.lists(pages, max_size=3), metas, st.lists(texts, max_size=2))
def test_json_round_trip(given_pages: list[Page], meta: dict[str, object], warnings: list[str]) -> None:
    document = Document(given_pages, meta=meta, show="text", warnings=warnings)
    text = document.to_json()
    again = Document.from_json(text)
    assert again.pages == document.pages
    assert again.meta == document.meta
    assert again.show == "text"
    assert again.own_warnings == document.own_warnings
    assert again.to_json() == text


def test_what_json_cannot_hold_is_written_as_it_can() -> None:
    page = Page(1, 1, "a\ud800", (6, 8), (Block("text", "half \udfff", None, float("nan")),))
    document = Document([page], meta={"path": Path("x"), "cost": float("inf"), "n": (1, 2)})
    again = Document.from_json(document.to_json())
    assert again.page(1).blocks[0] == Block("text", "half \ufffd", None, None)
    assert again.meta == {"path": "x", "cost": None, "n": [1, 2]}


def corrected() -> Document:
    page = Page(1, 1, "a", (6, 8), (Block("text", "one", None, 0.25), Block("text", "two", (1, 2, 3, 4))))
    return Document([page]).edit(1, 1, text="eins", label="title", box=(5, 6, 7, 8)).delete(1, 2)


def test_edits_are_kept_and_can_still_be_undone(tmp_path: Path) -> None:
    document = corrected()
    document.edit(1, 1, text="undone").undo()
    again = uocr_nb.load(document.save(tmp_path / "a.json"))
    assert again.edits == document.edits
    assert again.pages == document.pages
    assert again.to_json() == document.to_json()
    assert again.undo().undo().page(1).blocks == (
        Block("text", "one", None, 0.25),
        Block("text", "two", (1, 2, 3, 4)),
    )


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.html"])
def test_files_show_what_stands_after_the_edits(tmp_path: Path, name: str) -> None:
    written = corrected().save(tmp_path / name).read_text(encoding="utf-8")
    assert "eins" in written
    assert "two" not in written


def test_a_file_from_before_there_were_edits_is_read() -> None:
    whole = json.loads(Document([Page(1, 1, "a", (1, 1))]).to_json())
    assert whole.pop("edits") == []
    assert Document.from_json(json.dumps(whole)).edits == []


def test_blocks_that_somebody_changed_in_the_file_count_more_than_the_edits() -> None:
    whole = json.loads(corrected().to_json())
    whole["pages"][0]["blocks"][0]["text"] = "by hand"
    again = Document.from_json(json.dumps(whole))
    assert [block.text for block in again.page(1).blocks] == ["by hand"]
    assert not again.edits
    assert again.own_warnings[0].startswith("4 edits could not be kept")


@pytest.mark.parametrize(
    "change",
    [{"what": "moved"}, {"page": "x"}, {"what": "box", "after": [1, 2]}, {"what": "delete", "before": "one"}],
)
def test_a_strange_edit_is_refused(change: dict[str, object]) -> None:
    whole = json.loads(corrected().to_json())
    whole["edits"][0].update(change)
    with pytest.raises(SourceError, match="cannot be read"):
        Document.from_json(json.dumps(whole))


@pytest.mark.parametrize("change", [{"page": 7}, {"page": 0}, {"block": 0}, {"block": 9}, {"block": -1}, {"step": 9}])
def test_edits_of_a_file_never_break_the_document(change: dict[str, object]) -> None:
    whole = json.loads(corrected().to_json())
    whole["edits"][0].update(change)
    again = Document.from_json(json.dumps(whole))
    while again.edits:
        again.undo()
    assert again.page(1).blocks


def picture(tmp_path: Path, colour: str = "white") -> Page:
    file = tmp_path / "page.png"
    Image.new("RGB", (60, 80), colour).save(file)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    source = Source("scan.png", "image", file, password="secret-word")
    return Page(
        1,
        1,
        "scan.png",
        (60, 80),
        sha256=sha256,
        image_file=file,
        origin=(source, RenderSpec(mode="base", max_pixels=4000)),
    )


def test_images_are_referred_to_and_found_again(tmp_path: Path) -> None:
    document = Document([picture(tmp_path)])
    path = document.save(tmp_path / "out.json")
    text = path.read_text(encoding="utf-8")
    assert "secret-word" not in text
    assert "base64" not in text
    source, spec = uocr_nb.load(path).page(1).origin
    assert source.path == (tmp_path / "page.png").resolve()
    assert spec == RenderSpec(mode="base", max_pixels=4000)


def test_sources_are_found_beside_a_document_that_was_moved(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    text = Document([picture(tmp_path / "old")]).to_json()
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "new" / "out.json").write_text(text, encoding="utf-8")
    source, _spec = uocr_nb.load(tmp_path / "new" / "out.json").page(1).origin
    assert source.path == (tmp_path / "new" / "page.png").resolve()


def test_embedded_images_travel_with_the_document(tmp_path: Path) -> None:
    page = picture(tmp_path, "#ff0000")
    text = Document([replace(page, origin=None)]).to_json(images="embed")
    assert page.image_file is not None
    page.image_file.unlink()
    again = Document.from_json(text).page(1)
    assert again.image.getpixel((5, 5)) == (255, 0, 0)
    assert again.image_file is not None
    assert hashlib.sha256(again.image_file.read_bytes()).hexdigest() == page.sha256
    with pytest.raises(OptionError):
        to_json(Document([]), images="yes")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "other"}, "no document of uocr_nb"),
        ({"version": 99}, "version 99"),
        ({"version": None}, "version None"),
        ({"pages": None}, "cannot be read"),
        ({"pages": [{}]}, "cannot be read"),
        ({"pages": ["x"]}, "cannot be read"),
    ],
)
def test_a_strange_document_is_refused(change: dict[str, object], words: str) -> None:
    whole = json.loads(Document([Page(1, 1, "a", (1, 1))]).to_json())
    with pytest.raises(SourceError, match=words):
        Document.from_json(json.dumps(whole | change))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", "fine"),
        ("size", [1]),
        ("blocks", [{"label": "x"}]),
        ("image", "data:image/png;base64,AAAA"),
        ("image", "x,%"),
    ],
)
def test_a_strange_page_is_refused(key: str, value: object) -> None:
    whole = json.loads(Document([Page(1, 1, "a", (1, 1))]).to_json())
    whole["pages"][0][key] = value
    with pytest.raises(SourceError, match="cannot be read"):
        Document.from_json(json.dumps(whole))


def test_what_is_no_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is no JSON"):
        Document.from_json("{")
    with pytest.raises(SourceError, match="is no document of uocr_nb"):
        Document.from_json("[1]")
    with pytest.raises(SourceError, match="cannot be read"):
        uocr_nb.load(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="UTF-8"):
        uocr_nb.load(tmp_path / "binary.json")


def test_one_row_a_block() -> None:
    page = Page(1, 4, "a.pdf", (60, 80), (Block("title", "T", (1, 2, 3, 4), 0.5), Block("text", "x")))
    frame = Document([page, Page(2, 5, "a.pdf", (60, 80), (), Status.FAILED)]).to_dataframe()
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 2
    assert frame.iloc[0].tolist() == ["a.pdf", 1, 1, "title", "T", 1, 2, 3, 4, 0.5, "ok"]
    assert frame["x1"].isna().tolist() == [False, True]
    assert str(frame["x1"].dtype) == "Int64"
    assert len(Document([]).to_dataframe()) == 0


def test_pandas_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r'pip install "uocr_nb\[data\]"'):
        Document([]).to_dataframe()
