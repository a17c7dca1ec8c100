from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pymupdf
import pypdfium2
import pytest

from uocr_nb.samples import article, sample_pdf, sample_scan, sample_truth
from uocr_nb.samples.make import main

if TYPE_CHECKING:
    from pathlib import Path

LABELS = {
    "header", "title", "text", "list", "chart", "image_caption", "equation", "table_caption", "table",
    "page_footnote", "footer", "page_number",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "new folder"
    main(folder)
    return folder


def pictures(path: Path, dpi: int) -> list[np.ndarray[Any, Any]]:
    with pymupdf.open(path) as document:
        pixmaps = [page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY) for page in document]
    return [np.frombuffer(p.samples, np.uint8).reshape(p.height, p.width).astype(float) for p in pixmaps]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def printed(page: list[tuple[str, str]]) -> str:
    # A formula is drawn as outlines and has no characters in the PDF.
    return squeezed("".join(text for label, text in page if label != "equation"))


@pytest.mark.parametrize("path", [sample_pdf(), sample_scan()], ids=["pdf", "scan"])
def test_three_a4_pages_are_shipped(path: Path) -> None:
    with pymupdf.open(path) as document:
        assert [tuple(round(v) for v in page.rect[2:]) for page in document] == [(595, 842)] * 3


def test_shipped_files_are_small() -> None:
    assert sample_scan().stat().st_size < 700_000
    assert sum(path.stat().st_size for path in sample_pdf().parent.glob("sample*")) < 300_000
    assert sample_pdf().stat().st_size + sample_scan().stat().st_size < 1_000_000


def test_text_layer_says_what_the_truth_says() -> None:
    with pymupdf.open(sample_pdf()) as document:
        found = [squeezed(page.get_text()) for page in document]
    assert found == [printed(page) for page in sample_truth()]


def test_another_reader_finds_the_same_words() -> None:
    with pypdfium2.PdfDocument(sample_pdf()) as document:
        found = [sorted(squeezed(page.get_textpage().get_text_bounded())) for page in document]
    # Compared as a bag: PDFium sorts pieces of a line in its own way.
    assert found == [sorted(printed(page)) for page in sample_truth()]


def test_scan_has_pictures_and_no_text() -> None:
    with pymupdf.open(sample_scan()) as document:
        for page in document:
            assert page.get_text().strip() == ""
            (image,) = page.get_image_info()
            assert (image["width"], image["height"]) == (1240, 1755)
            assert image["cs-name"] == "DeviceGray"


def test_making_again_gives_the_same_pages(made: Path) -> None:
    assert (made / "sample.txt").read_bytes() == sample_pdf().with_suffix(".txt").read_bytes()
    for new, shipped in zip(pictures(made / "sample.pdf", 72), pictures(sample_pdf(), 72), strict=True):
        # Font outlines of another PyMuPDF or Matplotlib may move an edge by a shade, never a line of text.
        assert new.shape == shipped.shape
        assert np.abs(new - shipped).mean() < 0.5
    for new, shipped in zip(pictures(made / "scan.pdf", 72), pictures(sample_scan(), 72), strict=True):
        assert np.abs(new - shipped).mean() < 2


def test_making_twice_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    main(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["sample.pdf", "sample.txt", "scan.pdf"]
    for name in names:
        assert (made / name).read_bytes() == (tmp_path / name).read_bytes()


def test_every_kind_of_block_is_there() -> None:
    truth = sample_truth()
    assert {label for page in truth for label, _ in page} == LABELS
    assert [text for page in truth for label, text in page if label == "page_number"] == ["1", "2", "3"]
    assert [text for page in truth for label, text in page if label == "equation"] == [
        text for label, text in article.story() if label == "equation"
    ]
    (table,) = [text.split("\t") for page in truth for label, text in page if label == "table"]
    assert table[:4] == ["Use", "Dots per inch", "Size in pixels", "Megabytes, uncompressed"]
    assert table[4:11] == ["Width", "Height", "Grey", "Colour", "Preview", "75", "620"]
    assert len(table) == 8 + 3 + 6 * 5


def test_the_article_is_whole() -> None:
    running = squeezed("".join(text for page in sample_truth() for label, text in page if label == "text"))
    for label, text in article.story():
        if label == "text":
            assert squeezed(text.replace("*", "").replace("^", "")) in running


def test_no_two_blocks_overlap() -> None:
    with pymupdf.open(sample_pdf()) as document:
        for page in document:
            lines = [pymupdf.Rect(line["bbox"]) for block in page.get_text("dict")["blocks"] for line in block["lines"]]
            for index, line in enumerate(lines):
                assert line.x0 >= 55
                assert line.x1 <= 540.5
                for other in lines[index + 1 :]:
                    shared = line & other
                    # Boxes hold ascenders and descenders, so neighbours may touch; a raised mark lies inside its line.
                    assert shared.is_empty or shared.height < 4.5 or min(line.width, other.width) < 12


def test_scan_is_tilted_and_unevenly_lit() -> None:
    clean, scanned = pictures(sample_pdf(), 144)[0], pictures(sample_scan(), 144)[0]
    paper = np.percentile(scanned, 90, axis=0)
    assert paper[200] - paper[1150] > 5
    assert paper[200] - paper[0] > 20
    assert scanned.mean() < clean.mean() - 20
    rule = slice(104, 124)  # the line under the header, four pixels higher on one side than on the other
    ends = [int(np.argmin(scanned[rule, x : x + 60].mean(axis=1))) for x in (120, 1000)]
    assert ends[0] - ends[1] > 3


def test_program_says_how_it_is_called() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "uocr_nb.samples.make"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr == "usage: python -m uocr_nb.samples.make OUT_DIR\n"


def test_paths_need_no_heavy_import() -> None:
    code = (
        "import sys; from uocr_nb.samples import sample_pdf, sample_scan, sample_truth; "
        "assert sample_pdf().is_file() and sample_scan().is_file() and len(sample_truth()) == 3; "
        "print([m for m in ('pymupdf', 'numpy', 'PIL', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
