from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from matplotlib.figure import Figure

from uocr_nb.errors import OptionError
from uocr_nb.views.overlay import document_figure, draw_boxes

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Document, Page


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_boxes_codes_and_picture(document: Document) -> None:
    figure = document.page(1).figure(dpi=60)
    axes = figure.axes[0]
    assert texts(figure) == ["1 Hd", "2 Ti", "3 Tx", "4 Tb", "5 Ca", "6 Eq", "7 Im", "8 Li", "9 Se", "10 Pn"]
    assert len(axes.patches) == 11  # a table has a double line
    assert len(axes.images) == 1
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_chosen_labels_and_no_codes(document: Document) -> None:
    assert texts(document.page(1).figure(labels=["table", "title"])) == ["2 Ti", "4 Tb"]
    assert texts(document.page(1).figure(labels="furniture")) == ["1 Hd", "10 Pn"]
    assert texts(document.page(1).figure(codes=False)) == []
    assert texts(document.page(1).figure(labels=["code", "chart"])) == []
    with pytest.raises(OptionError, match="'tabel' is no label of page 1"):
        document.page(1).figure(labels=["tabel"])


def test_what_was_not_read_is_drawn(document: Document) -> None:
    assert "not read" in texts(document.page(3).figure())


def test_boxes_on_axes_of_ones_own(document: Document) -> None:
    axes = Figure().add_subplot()
    axes.imshow(document.page(1).image)
    assert draw_boxes(axes, document.page(1)) is axes
    assert len(axes.images) == 1
    box = axes.patches[1].get_bbox()
    assert 75 < box.x0 < 85  # 130 of 999 on 620 px


def test_several_pages_under_each_other(make_page: Callable[..., Page]) -> None:
    figure = document_figure([make_page(1), make_page(2)])
    assert len(figure.axes) == 2


def test_pyplot_stays_out() -> None:
    code = (
        "import sys, uocr_nb\n"
        "from uocr_nb.views import overlay, mime, messages, watch\n"
        "import uocr_nb.exports\n"
        "loaded = {'matplotlib', 'PIL', 'pandas', 'IPython', 'pymupdf'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
        "from uocr_nb import Block, Page\n"
        "from matplotlib.figure import Figure\n"
        "page = Page(1, 1, 'a', (60, 80), (Block('text', 'x', (1, 1, 9, 9)),))\n"
        "axes = Figure().add_subplot(); axes.imshow([[0, 1], [1, 0]]); overlay.draw_boxes(axes, page)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
