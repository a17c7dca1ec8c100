from __future__ import annotations

import io
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from matplotlib.figure import Figure
from PIL import Image

from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.errors import OptionError, SourceError
from uocr_nb.views import fonts, overlay
from uocr_nb.views.overlay import document_figure, draw_boxes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes


def texts(figure: Figure) -> list[str]:
    return words(figure.axes[0])


def words(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def drawn(figure: Figure, **options: object) -> Image.Image:
    out = io.BytesIO()
    figure.savefig(out, **options)
    return Image.open(out)


def test_boxes_codes_and_picture(document: Document) -> None:
    figure = document.page(1).figure(dpi=60)
    axes = figure.axes[0]
    assert texts(figure) == ["1 Hd", "2 Ti", "3 Tx", "4 Tb", "5 Ca", "6 Eq", "7 Im", "8 Li", "9 Se", "10 Pn"]
    assert len(axes.patches) == 12  # the edge of the paper, and a table has a double line
    assert len(axes.images) == 1
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_chosen_labels_and_no_codes(document: Document) -> None:
    assert texts(document.page(1).figure(labels=["table", "title"])) == ["2 Ti", "4 Tb"]
    assert texts(document.page(1).figure("furniture")) == ["1 Hd", "10 Pn"]
    assert texts(document.page(1).figure(codes=False)) == []
    assert texts(document.page(1).figure(labels=["code", "chart"])) == []
    with pytest.raises(OptionError, match="'tabel' is no label of page 1"):
        document.page(1).figure(labels=["tabel"])
    with pytest.raises(OptionError, match="'tabel' is no label of these 2 pages"):
        document.figure(pages=[1, 2], labels="tabel")


def test_what_was_not_read_is_drawn(document: Document) -> None:
    assert "not read" in texts(document.page(3).figure())
    assert texts(document.page(5).figure()) == ["failed: No answer in 3 tries."]


def test_reading_order_as_numbers_and_as_a_path(document: Document) -> None:
    page = document.page(1)
    numbers = page.figure(["title", "text", "table"], order="numbers", codes=False)
    assert texts(numbers) == ["2", "3", "4", "9"]  # an unknown label is of the family of text
    path = page.figure(["title", "text", "table"], order="path", codes=False).axes[0]
    arrows = [patch for patch in path.patches if type(patch).__name__ == "FancyArrowPatch"]
    assert len(arrows) == 3
    start = arrows[0]._posA_posB[0]
    assert start == pytest.approx(((130 + 500) / 2 / 999 * 620, (80 + 110) / 2 / 999 * 877))
    with pytest.raises(OptionError, match="order='arrows' is not known"):
        page.figure(order="arrows")


def test_a_figure_is_as_large_as_was_asked_for(document: Document) -> None:
    page = document.page(1)
    assert drawn(page.figure(width=2, dpi=300)).size[0] == 600
    assert drawn(page.figure(width=2, dpi=300)).info["dpi"] == pytest.approx((300, 300), abs=0.1)
    assert drawn(page.figure(width=2, dpi=50), dpi=100).size[0] == 200
    assert page.figure().get_size_inches().max() <= 10.2
    low = page.figure(width=7, height=3).get_size_inches()
    assert low[1] == pytest.approx(3, abs=0.2)
    assert low[0] < 3
    for wrong in ({"width": 0}, {"dpi": float("nan")}, {"height": -1}, {"linewidth": 0}):
        with pytest.raises(OptionError, match="cannot be used"):
            page.figure(**wrong)
    with pytest.raises(OptionError, match="pixels"):
        page.figure(dpi=10_000)


def test_the_page_picture_is_stored_once_and_not_enlarged(make_page: Callable[..., Page]) -> None:
    figure = make_page(1, noise=True).figure(width=6, dpi=200, codes=False)
    pdf, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(pdf, format="pdf")
    figure.savefig(svg, format="svg")
    widths = [int(found) for found in re.findall(rb"/Width (\d+)", pdf.getvalue())]
    assert widths == [620]
    assert svg.getvalue().count(b"data:image/png") == 1
    raw = 620 * 877 * 3
    assert len(pdf.getvalue()) < raw
    assert len(svg.getvalue()) < 1.4 * raw
    large = make_page(2, size=(1500, 2000)).figure(width=2, dpi=100)
    assert large.axes[0].images[0].get_size()[1] < 400  # enough to be saved with twice the pixels


def test_a_notebook_keeps_no_more_than_an_output_may_have(
    make_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = make_page(1, noise=True).figure(width=2, dpi=150)
    whole = figure._repr_png_()
    assert len(whole) < 300 * 430  # a byte a pixel at most
    monkeypatch.setattr(overlay, "_SHOWN_BYTES", len(whole) // 3)
    assert len(figure._repr_png_()) <= len(whole) // 3
    assert figure.dpi == 150


def test_white_paper_has_an_edge(make_page: Callable[..., Page]) -> None:
    for figure in (make_page(1, blocks=()).figure(dpi=80), document_figure([make_page(1, blocks=())], dpi=80)):
        picture = drawn(figure).convert("L")
        columns = [
            min(picture.getpixel((x % picture.width, picture.height // 4)) for x in band)
            for band in (range(10), range(-10, 0))
        ]
        assert max(columns) < 200


def test_several_pages_in_a_grid(document: Document) -> None:
    figure = document.figure(pages="1-5", title=True, width=6, dpi=60)
    assert len(figure.axes) == 5
    assert [text.get_text() for text in figure.texts] == [
        "report.pdf",
        "1",
        "2",
        "3, truncated",
        "4, looping",
        "5, failed",
    ]
    lefts = [round(axes.get_position().x0, 2) for axes in figure.axes]
    assert lefts[:2] == lefts[3:]
    assert len({*lefts}) == 3
    places = [axes.get_position() for axes in figure.axes]
    assert all(0 <= place.x0 < place.x1 <= 1 and 0 <= place.y0 < place.y1 <= 1 for place in places)
    assert len(document.figure(pages=[2, 1], columns=1).axes) == 2
    assert len(document.figure(2).axes) == 1
    with pytest.raises(OptionError, match="There is no page 9"):
        document.figure(pages="1-9")
    with pytest.raises(OptionError, match="no page to draw"):
        document.figure(pages=[])
    with pytest.raises(OptionError, match="pixels"):
        document.figure(pages=[1] * 50, columns=1)


def test_pages_without_picture_size_or_boxes(make_page: Callable[..., Page], tmp_path: Path) -> None:
    bare = Page(
        1,
        1,
        "a",
        (60, 80),
        (Block("text", "x", (1, 1, 9, 9)), Block("text", "no box"), Block("text", "", (5, 5, 5, 5))),
    )
    assert texts(bare.figure(dpi=60, order="path")) == ["1 Tx", "3 Tx", "1", "3"]
    never = Page(1, 1, "a", (0, 0), status=Status.MISSING, reason="The answer does not come to it.")
    assert drawn(never.figure(dpi=60)).size == (420, 591)
    strip = make_page(2, size=(900, 3), blocks=())
    assert drawn(strip.figure(dpi=60)).size[0] == 420
    gone = replace(make_page(3), image_file=tmp_path / "gone.png", origin=None)
    with pytest.warns(UserWarning, match="Page 3 is drawn as blank paper: its picture is gone") as told:
        assert not gone.figure(dpi=60).axes[0].images
    assert told[0].filename == __file__
    with pytest.raises(SourceError, match="No page has a picture"):
        document_figure([never, gone])


def test_boxes_on_axes_of_ones_own(document: Document) -> None:
    page = document.page(1)
    left, right = Figure(figsize=(9, 6)).subplots(1, 2)
    left.imshow(page.image)
    assert draw_boxes(left, page) is left
    assert len(left.images) == 1
    assert 75 < left.patches[1].get_bbox().x0 < 85  # 130 of 999 on 620 px
    before = (len(left.patches), len(left.texts), left.get_xlim(), left.get_ylim())
    draw_boxes(left, page)
    assert (len(left.patches), len(left.texts), left.get_xlim(), left.get_ylim()) == before
    right.imshow(page.image.resize((310, 438)))
    draw_boxes(right, page)
    assert 37 < right.patches[1].get_bbox().x0 < 43
    assert left.get_legend_handles_labels() == ([], [])
    draw_boxes(left, page, codes=False)
    assert words(left) == []


def test_boxes_on_a_part_of_the_page(document: Document) -> None:
    page = document.page(1)
    axes = Figure().add_subplot()
    x, y, *_ = page.blocks[3].pixels(page.size)
    axes.imshow(page.crop(4))
    limits = axes.get_xlim(), axes.get_ylim()
    draw_boxes(axes, page, offset=(x, y), order="numbers")
    assert words(axes) == ["4 Tb", "4"]
    assert (axes.get_xlim(), axes.get_ylim()) == limits
    part = Figure().add_subplot()  # with its place on the page as extent
    x1, y1, x2, y2 = page.blocks[3].pixels(page.size)
    part.imshow(page.crop(4), extent=(x1, x2, y2, y1))
    draw_boxes(part, page)
    assert words(part) == ["4 Tb"]


def test_text_in_any_script(make_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_told", set())
    blocks = (
        Block("Ωμέγα", "x", (100, 100, 400, 200)),
        Block("титул", "x", (100, 300, 400, 400)),
        Block("عنوان", "x", (100, 500, 400, 600)),
        Block("𓀀𓀁", "x", (100, 700, 400, 800)),
        Block("𓀀𓀂", "x", (100, 850, 400, 900)),
    )
    page = make_page(1, blocks=blocks, source="$5_to^6\u202e\n\x07\ud800.pdf")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        figure = page.figure(title=True, dpi=60)
    assert texts(figure)[:3] == ["1 Ωμ", "2 Ти", "3 عن"]
    assert [text.get_text() for text in figure.texts] == ["$5_to^6 \ufffd.pdf, page 1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib's own, a glyph at a time
        for kind in ("png", "pdf", "svg"):
            file = io.BytesIO()
            figure.savefig(file, format=kind)
        page.figure(dpi=60)  # what was said is not said again
    hieroglyphs = [str(one.message) for one in told]
    if texts(figure)[3] == f"4 {fonts.MISSING * 2}":
        assert len(hieroglyphs) == 1
        assert "No font on this machine has 𓀀 𓀁 𓀂 (Egyptian)" in hieroglyphs[0]
        assert told[0].filename == __file__


def test_fonts_are_chosen_for_the_text() -> None:
    letter = fonts.Lettering()
    assert letter("plain")[1]["family"] == [fonts.SANS]
    text, properties = letter("Grüße ☃", fonts.MONO, "bold")
    assert text == "Grüße ☃"
    assert properties["family"][0] == fonts.MONO
    assert letter("a\u200db\ufe0f\u202ec")[0].replace("\u200d", "").replace("\ufe0f", "") == "abc"
    assert not letter.missing
    homes = fonts._homes_of("中", fonts.SANS, "normal")
    _, properties = letter("中 a", weight="bold")
    assert homes["中"] is None or homes["中"] in properties["family"]


def test_figures_in_threads(document: Document) -> None:
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda n: document.page(n).figure(dpi=40)._repr_png_(), [1, 2, 1, 2]))
    assert made[0] == made[2]
    assert made[1] == made[3]


def test_pyplot_stays_out() -> None:
    code = (
        "import sys, uocr_nb\n"
        "from uocr_nb.views import overlay, mime, messages, watch\n"
        "import uocr_nb.exports\n"
        "loaded = {'matplotlib', 'PIL', 'pandas', 'IPython', 'pymupdf'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
        "from uocr_nb import Block, Document, Page\n"
        "from matplotlib.figure import Figure\n"
        "page = Page(1, 1, 'a', (60, 80), (Block('text', 'x', (1, 1, 9, 9)),))\n"
        "axes = Figure().add_subplot(); axes.imshow([[0, 1], [1, 0]]); overlay.draw_boxes(axes, page)\n"
        "Document([page]).figure(pages='all', order='path', title='T')._repr_png_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
