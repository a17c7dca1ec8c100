"""Values handed over from memory, in the shapes that notebooks hold them in; and folders of every kind."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import os
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from uocr_nb.errors import SourceError
from uocr_nb.sources import Renderer, Source, resolve, unpack, walk

if TYPE_CHECKING:
    from collections.abc import Callable


def png(colour: int = 255) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (60, 40), colour).save(buffer, "PNG")
    return buffer.getvalue()


NOW = dt.datetime.now(dt.UTC)
PNG = png()
PICTURE = Image.new("RGB", (60, 40))


def names(item: Any) -> list[str]:
    return [source.name for source in resolve(item)]


def upload8(name: str, data: bytes = PNG) -> dict[str, Any]:
    return {"name": name, "type": "image/png", "size": len(data), "content": memoryview(data), "last_modified": NOW}


def test_uploads_of_both_widget_versions() -> None:
    seven = {
        name: {"metadata": {"name": name, "type": "image/png", "size": 1, "lastModified": 1}, "content": PNG}
        for name in ("a.png", "b.png")
    }
    eight = (upload8("a.png"), upload8("b.png"))
    colab = {"a.png": PNG, "b.png": PNG}
    widget = ipywidgets.FileUpload(multiple=True)
    with pytest.raises(SourceError, match="Nothing has been uploaded yet"):
        resolve(widget)
    widget.value = eight
    for value in (seven, eight, list(eight), colab, widget, [widget]):
        assert names(value) == ["a.png", "b.png"]
        assert all(source.data == PNG for source in resolve(value))
    assert names(eight[0]) == ["a.png"]
    assert names(next(iter(seven.values()))) == ["a.png"]
    for empty in ({}, ()):
        with pytest.raises(SourceError, match="nothing to read"):
            resolve(empty)


def test_an_upload_that_is_no_picture_says_its_name() -> None:
    with pytest.raises(SourceError, match=r"notes\.txt cannot be read"):
        resolve(upload8("notes.txt", b"hello"))


def test_cells_and_rows_of_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(PNG)
    cell = {"bytes": PNG, "path": "scans/p1.png"}
    assert names(cell) == ["p1.png"]
    assert names({"bytes": PNG, "path": None}) == ["bytes"]
    assert resolve({"bytes": None, "path": str(tmp_path / "p.png")})[0].path == tmp_path / "p.png"
    assert names([cell, PICTURE, {"bytes": PNG, "path": "p2.png"}]) == ["p1.png", "image", "p2.png"]
    rows = [{"image": PICTURE, "text": "x y", "label": 3}, {"image": cell, "text": "", "label": 4}]
    assert names(rows) == ["row 1", "p1.png"]
    assert names(rows[0]) == ["image"]
    assert names({"image": PICTURE, "file_name": "x/f7.png"}) == ["f7.png"]
    assert names({"image": np.zeros((9, 9)), "__key__": "k1", "boxes": np.zeros((4,))}) == ["k1"]
    assert names({"path": str(tmp_path / "p.png"), "label": 3}) == ["p.png"]
    with pytest.raises(SourceError, match="row with 2 pictures") as caught:
        resolve({"before": PICTURE, "after": PICTURE, "label": 1})
    assert "before, after" in caught.value.why
    assert caught.value.next == "%uocr {row['before']}"


def test_a_mapping_of_names_keeps_them(tmp_path: Path) -> None:
    for name in ("x.png", "s/1.png", "s/2.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(PNG)
    given = {"first": tmp_path / "x.png", "second": str(tmp_path / "x.png"), "third": PICTURE, 4: PNG}
    assert names(given) == ["first", "second", "third", "4"]
    assert names({"all": tmp_path / "s"}) == ["all/1.png", "all/2.png"]
    assert names({"pair": [PICTURE, PNG]}) == ["pair (1)", "pair (2)"]
    bad = resolve({"good": PNG, "bad": tmp_path / "none.png", "net": "https://a.example/x.pdf"})
    assert [(source.name, source.kind, source.problem is None) for source in bad] == [
        ("good", "image", True),
        ("bad", "image", False),
        ("net", "url", True),
    ]


def test_series_columns_sets_and_generators(tmp_path: Path) -> None:
    paths = [tmp_path / f"p{number}.png" for number in (1, 2, 10)]
    for path in paths:
        path.write_bytes(PNG)
    expected = ["p1.png", "p2.png", "p10.png"]
    texts = [str(path) for path in paths]
    table = pd.DataFrame({"path": texts, "n": [1, 2, 3]})
    for many in (
        table["path"],
        np.array(texts),
        iter(texts),
        (path for path in paths),
        map(Path, texts),
        [texts[:1], texts[1:]],
    ):
        assert names(many) == expected
    assert sorted(names(set(paths))) == sorted(expected)
    assert names(dict.fromkeys(paths).keys()) == expected
    with pytest.raises(SourceError, match="table is not something") as caught:
        resolve(table)
    assert caught.value.next == '%uocr {table["path"]}'
    holes = resolve(pd.Series([texts[0], None, float("nan")], dtype=object))
    assert [source.problem is None for source in holes] == [True, False, False]


def test_a_generator_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MOST_ITEMS", 50)
    with pytest.raises(SourceError, match="too much"):
        resolve(itertools.repeat("x.png"))


def test_things_with_a_read_method_are_read_once_and_not_looped_over(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(PNG)
    with (tmp_path / "x.png").open("rb") as file:
        assert names([file, io.BytesIO(PNG)]) == ["x.png", "file object"]


@pytest.mark.parametrize(
    ("array", "pages", "size"),
    [
        (np.zeros((3, 50, 60, 3), np.uint8), 3, (60, 50)),
        (np.zeros((2, 50, 60, 4), np.uint8), 2, (60, 50)),
        (np.zeros((2, 50, 60, 1)), 2, (60, 50)),
        (np.zeros((5, 50, 60)), 5, (60, 50)),
        (np.zeros((1, 50, 60, 3)), 1, (60, 50)),
        (np.zeros((50, 60, 2), np.uint8), 1, (60, 50)),
    ],
)
def test_arrays_of_several_pages(
    renderer: Renderer, array: np.ndarray[Any, Any], pages: int, size: tuple[int, int]
) -> None:
    (source,) = resolve(array)
    assert renderer.open(source).pages == pages
    assert renderer.render(source, pages).size == size


@pytest.mark.parametrize(
    ("array", "value"),
    [
        (np.full((40, 40), 0.5), 128),
        (np.full((40, 40, 3), 0.5, np.float32), 128),
        (np.array([[0, 65535], [32768, 32768]], np.uint16).repeat(20, 0).repeat(20, 1), 128),
        (np.array([[0, 4095], [2048, 2048]], np.int32).repeat(20, 0).repeat(20, 1), 128),
        (np.array([[0, 255], [100, 100]], np.uint8).repeat(20, 0).repeat(20, 1), 100),
        (np.array([[0, 1], [1, 1]], np.uint8).repeat(20, 0).repeat(20, 1), 255),
        (np.array([[False, True], [True, True]]).repeat(20, 0).repeat(20, 1), 255),
    ],
)
def test_every_depth_keeps_its_greys(renderer: Renderer, array: np.ndarray[Any, Any], value: int) -> None:
    (source,) = resolve(array)
    with Image.open(renderer.render(source, 1).file) as image:
        assert image.convert("L").getpixel((10, 30)) == pytest.approx(value, abs=2)


@pytest.mark.parametrize("shape", [(3, 50, 60), (5,), (2, 3, 4, 5, 6), (0, 5), (4, 50, 60, 7)])
def test_other_shapes_are_told(shape: tuple[int, ...]) -> None:
    with pytest.raises(SourceError, match="is not") as caught:
        resolve(np.zeros(shape))
    assert caught.value.next


def test_what_can_be_seen_as_an_array_is_a_picture(renderer: Renderer) -> None:
    class Tensor:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.zeros((3, 50, 60), np.float32)

    (source,) = resolve(Tensor())
    assert renderer.render(source, 1).size == (60, 50)


def test_a_picture_opened_from_a_file_of_several_pages_gives_all(renderer: Renderer, tmp_path: Path) -> None:
    frames = [Image.new("L", (60, 40), shade) for shade in (0, 100, 200)]
    frames[0].save(tmp_path / "x.tif", save_all=True, append_images=frames[1:])
    with Image.open(tmp_path / "x.tif") as image:
        (source,) = resolve(image)
        assert renderer.open(source).pages == 3
        image.seek(2)
        (third,) = resolve(image)
        assert renderer.open(third).pages == 1
        assert image.tell() == 2


def test_a_picture_that_a_cell_shows() -> None:
    from IPython.display import Image as Shown

    assert resolve(Shown(data=PNG))[0].data == PNG


def test_an_address_without_its_scheme_is_guessed() -> None:
    with pytest.raises(SourceError) as caught:
        resolve("l.example.org/a/x.pdf")
    assert caught.value.next.startswith("%uocr https://l.example.org/a/x.pdf")


def test_an_answer_of_a_web_client_names_its_content() -> None:
    answer = types.SimpleNamespace(content=PNG)
    with pytest.raises(SourceError, match="is not something") as caught:
        resolve(answer)
    assert caught.value.next == "%uocr {answer.content}"


# -- folders -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    def make(files: dict[str, bytes]) -> Path:
        for name, data in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
        return tmp_path

    return make


def test_what_was_skipped_is_told_by_reason(tree: Callable[[dict[str, bytes]], Path]) -> None:
    texts = {f"t{number}.txt": b"text" for number in range(1, 9)}
    folder = tree({"a.png": PNG, "e.png": b"", "w.pdf": b"<!doctype html>", ".h": PNG, **texts})
    (folder / "broken.png").symlink_to(folder / "gone")
    (first,) = resolve(folder)
    skipped, hidden = first.notes
    for words in (
        "broken.png (a link that leads nowhere)",
        "e.png (empty (0 bytes))",
        "t1.txt, t2.txt, t3.txt, t4.txt, t5.txt and 3 more (plain text)",
        "w.pdf (a web page)",
    ):
        assert words in skipped
    assert "1 hidden file." in hidden


def test_links_are_followed_once(tree: Callable[[dict[str, bytes]], Path]) -> None:
    folder = tree({"in/a.png": PNG, "out/b.png": PNG})
    (folder / "in" / "loop").symlink_to(folder / "in")
    (folder / "in" / "other").symlink_to(folder / "out")
    sources = resolve(folder / "in")
    assert [source.name for source in sources] == ["a.png", "b.png"]
    assert "loop (a link to a folder that is read already)" in sources[0].notes[0]
    assert names(str(folder / "in" / "**" / "*.png")) == ["a.png", "b.png"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_opened_is_named(tree: Callable[[dict[str, bytes]], Path]) -> None:
    folder = tree({"a.png": PNG, "no/b.png": PNG})
    (folder / "no").chmod(0)
    assert "no (Permission denied)" in resolve(folder)[0].notes[0]
    (folder / "no").chmod(0o700)


def test_a_folder_too_large_is_read_in_part_and_says_so(
    tree: Callable[[dict[str, bytes]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tree({f"{number}.png": PNG for number in range(1, 31)})
    monkeypatch.setattr(walk.Bounds.__init__, "__defaults__", (10, 30.0, 0, "", walk.Bounds.__init__.__defaults__[-1]))
    for item in (folder, str(folder / "*.png")):
        sources = resolve(item)
        assert len(sources) == 10
        assert "very large: only the first 10 files were looked at" in sources[0].notes[-1]
    assert names(folder) == [f"{number}.png" for number in range(1, 11)]


def test_many_names_are_made_unique_quickly() -> None:
    before = "torch" in sys.modules
    sources = resolve([PNG] * 5000)
    assert len({source.name for source in sources}) == 5000
    assert isinstance(sources[0], Source)
    assert sources[-1].name == "bytes (5000)"
    assert ("torch" in sys.modules) == before, "nothing heavy is imported to look at what was handed over"
