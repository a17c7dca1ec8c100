from __future__ import annotations

import io
import os
import unicodedata
from typing import TYPE_CHECKING

import pytest

from uocr_nb.errors import SourceError
from uocr_nb.sources import Renderer, resolve
from uocr_nb.sources.resolve import natural_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PIL import Image

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def put(path: Path, data: bytes = PNG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_text_path_and_list_name_the_same_file(tmp_path: Path) -> None:
    file = put(tmp_path / "a b (ü #1).png")
    for item in (str(file), file, [file], f"  {file}  "):
        (source,) = resolve(item)
        assert (source.path, source.kind, source.name) == (file, "image", "a b (ü #1).png")


def test_relative_paths_start_at_base_and_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path / "x.png")
    assert resolve("x.png", base=tmp_path)[0].path == file
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert resolve("~/x.png")[0].path == file
    assert resolve("~/*.png")[0].path == file
    monkeypatch.chdir(tmp_path)
    assert resolve("x.png")[0].path == file


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
def test_both_forms_of_an_umlaut_find_the_file(tmp_path: Path, on_disk: str) -> None:
    name = "Bücher/Größe é.png"
    put(tmp_path / unicodedata.normalize(on_disk, name))
    for form in ("NFC", "NFD"):
        assert resolve(unicodedata.normalize(form, str(tmp_path / name)))[0].name == "Größe é.png"
        assert len(resolve(unicodedata.normalize(form, str(tmp_path / "Bücher" / "Gr*é.png")))) == 1


def test_globs_sort_as_people_count(tmp_path: Path) -> None:
    for number in (10, 2, 1, 33, 3):
        put(tmp_path / f"page{number}.png")
    names = [source.name for source in resolve(str(tmp_path / "page*.png"))]
    assert names == ["page1.png", "page2.png", "page3.png", "page10.png", "page33.png"]


def test_a_base_folder_with_pattern_letters_is_taken_as_it_is(tmp_path: Path) -> None:
    put(tmp_path / "a[1]" / "x.png")
    assert len(resolve("*.png", base=tmp_path / "a[1]")) == 1
    put(tmp_path / "scan[2].png")
    assert resolve("scan[2].png", base=tmp_path)[0].name == "scan[2].png"


def test_a_folder_is_read_with_its_subfolders_and_says_what_it_skipped(tmp_path: Path) -> None:
    for name in ("b/2.png", "b/10.png", "a.pdf", ".hidden/x.png", ".DS_Store"):
        put(tmp_path / name, b"%PDF-1.4" if name.endswith("pdf") else PNG)
    put(tmp_path / "notes.txt", b"hello")
    put(tmp_path / "named.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    sources = resolve(tmp_path)
    assert [source.name for source in sources] == ["a.pdf", "2.png", "10.png"]
    said = " ".join(sources[0].notes)
    assert "skipped named.png (an SVG drawing); notes.txt (plain text)." in said
    assert "1 hidden file" in said


@pytest.mark.parametrize(
    ("data", "kind"),
    [(PNG, "image"), (b"\xff\xd8\xff\xe0", "image"), (b"junk\n%PDF-1.4", "pdf"), (b"II*\0", "image")],
)
def test_content_decides_not_the_name(tmp_path: Path, data: bytes, kind: str) -> None:
    assert resolve(put(tmp_path / "file.txt", data))[0].kind == kind


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"just a text", "plain text"),
        (b"", "empty"),
        (b'<?xml version="1.0"?>\n<!-- a --><svg>', "an SVG drawing"),
        (b"PK\x03\x04....", "zip archive"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (bytes(range(64)), "of a kind"),
    ],
)
def test_other_kinds_are_named(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        resolve(put(tmp_path / "scan.png", data))
    assert words in caught.value.why
    assert caught.value.next


def test_missing_file_names_near_ones(tmp_path: Path) -> None:
    put(tmp_path / "report_2024.png")
    with pytest.raises(SourceError, match=r"reprot_2024\.png is not there") as caught:
        resolve("reprot_2024.png", base=tmp_path)
    assert caught.value.next == "%uocr report_2024.png"


@pytest.mark.parametrize(
    "item", ["none/*.png", "*.tif", "nowhere/x.pdf", "x\0y.pdf", "n" * 5000, "", "https://", "ftp://a.b/c"]
)
def test_what_is_not_there_is_one_source_error(tmp_path: Path, item: str) -> None:
    put(tmp_path / "a.pdf", b"%PDF-")
    with pytest.raises(SourceError) as caught:
        resolve(item, base=tmp_path)
    assert caught.value.what
    assert caught.value.why
    assert caught.value.next


def test_an_empty_glob_offers_what_is_there(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", b"%PDF-")
    with pytest.raises(SourceError) as caught:
        resolve("*.tif", base=tmp_path)
    assert caught.value.next == "%uocr *.pdf"


def test_empty_folder_and_empty_list(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds nothing"):
        resolve(tmp_path)
    with pytest.raises(SourceError, match="nothing to read"):
        resolve([])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.pdf")
    with pytest.raises(SourceError, match="not a file"):
        resolve(tmp_path / "x.pdf")


def test_among_several_a_bad_one_keeps_its_place(tmp_path: Path, renderer: Renderer) -> None:
    sources = resolve([tmp_path / "none.pdf", put(tmp_path / "a.png")])
    assert [source.problem is None for source in sources] == [False, True]
    with pytest.raises(SourceError, match="is not there"):
        renderer.open(sources[0])
    with pytest.raises(SourceError, match="is not there"):
        renderer.render(sources[0], 1)


def test_names_are_unique(tmp_path: Path) -> None:
    files = [put(tmp_path / folder / "scan.png") for folder in ("a", "b")]
    names = [source.name for source in resolve([*files, files[0], PNG, PNG])]
    assert names == ["a/scan.png", "b/scan.png", "a/scan.png (2)", "bytes", "bytes (2)"]


def test_memory_is_frozen_when_handed_over(mark: Image.Image, encode: Callable[..., bytes]) -> None:
    buffer = bytearray(encode(mark))
    (source,) = resolve(buffer)
    buffer[:] = b"x"
    assert source.data == encode(mark)
    assert "data" not in repr(source)


def test_file_objects_are_read_whole_and_left_where_they_were(mark: Image.Image, encode: Callable[..., bytes]) -> None:
    stream = io.BytesIO()
    stream.write(encode(mark))
    end = stream.tell()
    (source,) = resolve(stream)
    assert source.data == encode(mark)
    assert stream.tell() == end
    with pytest.raises(SourceError, match="cannot be read"):
        resolve(io.StringIO("text"))


@pytest.mark.parametrize("item", [3, None, {"a": 1}, object()])
def test_other_objects_are_refused_by_kind(item: object) -> None:
    with pytest.raises(SourceError, match=f"A {type(item).__name__} is not something"):
        resolve(item)


def test_password_is_attached_and_not_shown(tmp_path: Path) -> None:
    (source,) = resolve(put(tmp_path / "a.pdf", b"%PDF-"), password="open sesame")
    assert source.password == "open sesame"
    assert "sesame" not in repr(source)


def test_natural_key_mixes_letters_and_numbers() -> None:
    names = ["b1", "a10", "a2", "A1", "10", "9", "², not a number", "٣"]
    assert sorted(names, key=natural_key)
