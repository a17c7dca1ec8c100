"""The runner itself, over a small folder: what it takes for what, and what it calls a problem."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.cases import __main__ as program
from tests.cases.answers import Found, answers_in, try_answer
from tests.cases.inputs import try_file
from tests.cases.measure import listen
from tests.cases.records import Record
from uocr_nb.errors import SourceError, UocrError

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = "<|det|>text [1, 2, 300, 400]<|/det|>Words"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import pymupdf
    from PIL import Image

    deep = tmp_path / "cases" / "deep"
    deep.mkdir(parents=True)
    with pymupdf.open() as document:
        for _ in range(3):
            document.new_page().insert_text((72, 100), "Words", fontsize=40)
        document.save(deep / "three.pdf")
    Image.new("RGB", (60, 40), "red").save(deep / "red.png")
    (deep / "no picture.jpg").write_text("plain words")
    (deep / "whole.txt").write_text(f"<PAGE>{BLOCK}\n<PAGE>{BLOCK}")
    (deep / "chunks.jsonl").write_text("\n".join(json.dumps(piece) for piece in ("<|d", "et|>text [1, 2, 3, ", "4")))
    (deep / "heads.jsonl").write_text(json.dumps({"page": "a", "head": BLOCK}) + "\n" + json.dumps({"head": ""}))
    delta = json.dumps({"choices": [{"delta": {"content": BLOCK}, "finish_reason": "length"}]})
    (deep / "stream.sse").write_text(f"event: chunk\ndata: {delta}\n\ndata: [DONE]\n\n")
    (deep / "bytes.txt").write_bytes(b"%PDF-1.7\0\0")
    return tmp_path / "cases"


def test_a_folder_is_gone_over(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found.json"
    assert program.main([str(folder), "--pages", "2", "--json", str(out)]) == 0
    records = {record["name"].removeprefix(f"deep{os.sep}"): record for record in json.loads(out.read_text())}
    assert {name: record["pages"] for name, record in records.items()} == {
        "three.pdf": {"ok": 2},
        "red.png": {"ok": 1},
        "no picture.jpg": {},
        "bytes.txt": {},
        "whole.txt": {"ok": 2},
        "chunks.jsonl": {"truncated": 1},
        "heads.jsonl #1": {"ok": 1},
        "heads.jsonl #2": {"empty": 1},
        "stream.sse": {"truncated": 1},
    }
    assert "no picture.jpg" in records["no picture.jpg"]["message"]
    said = capfd.readouterr().out
    assert "the first 2 of 3 pages" in said
    assert "5 answers" in said
    assert "all 9 cases end well" in said


def test_limits_make_it_fail(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    only = [str(folder), "--engine", "none", "--only", "*.png"]
    assert program.main(only) == 0
    assert program.main([*only, "--seconds", "0"]) == 1
    assert program.main([*only, "--memory", "1"]) == 1
    assert program.main([str(folder / "none")]) == 2
    assert "PROBLEM" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (SourceError("a.pdf is locked.", "It asks for a password.", ""), "no next"),
        (SourceError("a.pdf is locked.", "", "Name it."), "no why"),
        (SourceError("a.pdf is locked.", "ValueError: bad", "Name it."), "speaks of 'ValueError'"),
        (SourceError("a.pdf is locked.", "one\ntwo", "Name it."), "longer"),
        (SourceError("It is locked.", "It asks.", "Name it."), "does not name the file"),
        (ValueError("oh"), "ValueError: oh"),
    ],
)
def test_what_is_no_clear_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, problem: str
) -> None:
    def refuse(_path: Path) -> None:
        os.write(2, b"error: in a C library")
        raise error

    monkeypatch.setattr("tests.cases.inputs.resolve", refuse)
    record = try_file("a.pdf", folder / "a.pdf", None, 1)
    assert problem in " ".join(record.problems)
    assert "it printed: error: in a C library" in record.problems
    assert isinstance(error, UocrError) == bool(record.message)


def test_pieces_that_give_other_pages_are_told() -> None:
    assert not try_answer("a", Found(BLOCK, (BLOCK[:5], BLOCK[5:]))).problems
    assert "fed as it arrived" in try_answer("a", Found(BLOCK, (BLOCK, "more"))).problems[0]


def test_any_text_is_an_answer_and_bytes_are_none(folder: Path) -> None:
    assert answers_in(folder / "deep" / "bytes.txt") is None
    assert answers_in(folder / "deep" / "red.png") is None
    (folder / "notes.md").write_text("Some notes")
    assert answers_in(folder / "notes.md") is None
    (folder / "truth.txt").write_bytes(b"\xff\xfe what a page says {")
    assert answers_in(folder / "truth.txt") == [Found("�� what a page says {")]


def test_what_is_printed_is_heard() -> None:
    with listen() as noise:
        os.write(1, b"one ")
        os.write(2, b"two")
    record = Record("a", "input")
    record.heard(noise)
    assert record.problems == ["it printed: one two"]
