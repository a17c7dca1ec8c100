"""Make the sample document: ``python -m uocr_nb.samples.make OUT_DIR`` writes sample.pdf, scan.pdf and sample.txt."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymupdf

from uocr_nb.samples import article, drawings
from uocr_nb.samples.scan import make_scan
from uocr_nb.samples.typeset import Line, Paper, Style, break_lines, plain, text_width, words

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "make"]

WIDTH, HEIGHT = 595.0, 842.0
LEFT, RIGHT = 56.0, 539.0
GUTTER = 23.0
COLUMN = (RIGHT - LEFT - GUTTER) / 2
TOP, BOTTOM = 84.0, 778.0
LAST_BOTTOM = 540.0
"""Foot of the columns on the last page, chosen so that both end level."""
PAGES = 3

BODY = Style(10.5, 13.6, justify=True, after=5.5)
ITEM = Style(10.5, 13.6, justify=True, after=3)
SECTION = Style(12.5, 15, font="hebo", after=4)
TITLE = Style(25, 30, font="tibo")
AUTHORS = Style(11, 14)
STANDFIRST = Style(12, 16, font="tiit", italic="tiro", justify=True)
CAPTION = Style(9.5, 12, font="helv", italic="heit", after=12)
NOTE = Style(9, 11.5)
FURNITURE = Style(9, 11, font="helv", color=(0.3, 0.33, 0.37))
FORMULA_SIZE = 13.0
BULLET_INDENT = 13.0


@dataclass
class Column:
    """A free upright strip of a page; `y` is where the next thing starts."""

    paper: Paper
    x: float
    y: float
    bottom: float
    top: float = field(init=False)

    def __post_init__(self) -> None:
        self.top = self.y

    @property
    def room(self) -> float:
        """Points left."""
        return self.bottom - self.y


@dataclass
class Flow:
    """Running text through columns, in order."""

    columns: Sequence[Column]
    index: int = 0

    @property
    def here(self) -> Column:
        """The column that is being filled."""
        return self.columns[self.index]

    def need(self, height: float) -> Column:
        """Return a column with that much room, going on to the next when this one has less."""
        while self.here.room < height:
            if self.index + 1 == len(self.columns):
                raise OverflowError("the article is longer than its pages")
            self.index += 1
        return self.here

    def paragraph(self, label: str, lines: Sequence[Line], style: Style, indent: float = 0.0, mark: str = "") -> None:
        """Set lines, split over columns where needed but with two lines at least on either side."""
        rest = list(lines)
        while rest:
            least = len(rest) if len(rest) < 4 else 2
            column = self.need(least * style.leading)
            fit = min(int(column.room / style.leading + 1e-6), len(rest))
            if len(rest) - fit == 1:
                fit -= 1
            for line in rest[:fit]:
                column.y += style.leading
                baseline = column.y - 0.28 * style.leading
                if mark and line is lines[0]:
                    column.paper.put(mark, column.x, baseline, style)
                column.paper.line(line, column.x + indent, baseline, style, COLUMN - indent)
            column.paper.truth.append((label, " ".join(line.text for line in rest[:fit])))
            rest = rest[fit:]
        self.here.y += style.after


def _broken(text: str, style: Style, width: float = COLUMN) -> list[Line]:
    return break_lines(words(text, style), width, text_width(" ", style.font, style.size), justify=style.justify)


def _set_story(flow: Flow) -> None:
    for label, text in article.story():
        if label == "title":
            column = flow.need(8 + SECTION.leading + SECTION.after + 2 * BODY.leading)
            column.y += 8 if column.y > column.top else 0
            flow.paragraph(label, _broken(text, SECTION), SECTION)
        elif label == "chart":
            column = flow.need(drawings.CHART_HEIGHT + 3 * CAPTION.leading + 12)
            column.y += 5
            drawings.draw_chart(column.paper, column.x, column.y, COLUMN)
            column.y += drawings.CHART_HEIGHT + 4
        elif label == "image_caption":
            flow.paragraph(label, _broken(text, CAPTION), CAPTION)
        elif label == "equation":
            _set_formula(flow, text)
        elif label == "list":
            _set_list(flow, text.split("\t"))
        else:
            flow.paragraph(label, _broken(text, BODY), BODY)


def _set_formula(flow: Flow, latex: str) -> None:
    _, height = drawings.formula_size(latex, FORMULA_SIZE)
    column = flow.need(height + 20)
    drawings.draw_formula(column.paper, latex, FORMULA_SIZE, column.x + COLUMN / 2, column.y + 5)
    column.y += height + 16


def _set_list(flow: Flow, items: Sequence[str]) -> None:
    broken = [_broken(text, ITEM, COLUMN - BULLET_INDENT) for text in items]
    column = flow.need(sum(len(lines) * ITEM.leading + ITEM.after for lines in broken))
    for lines in broken:
        flow.paragraph("list", lines, ITEM, BULLET_INDENT, "•")
        column.paper.truth.pop()
    column.paper.truth.append(("list", "\t".join(f"• {text}" for text in items)))
    column.y += BODY.after - ITEM.after


def _set_furniture_above(paper: Paper) -> None:
    paper.put(article.HEADER, LEFT, 50, FURNITURE)
    paper.rule(LEFT, RIGHT, 57)
    paper.truth.append(("header", article.HEADER))


def _set_furniture_below(paper: Paper, number: int) -> None:
    paper.put(article.FOOTER, LEFT, 810, FURNITURE)
    paper.put(str(number), RIGHT, 810, FURNITURE, align=1.0)
    paper.truth += [("footer", article.FOOTER), ("page_number", str(number))]


def _set_opening(paper: Paper) -> float:
    y = TOP + 22
    paper.put(article.TITLE, WIDTH / 2, y, TITLE, align=0.5)
    paper.put(article.AUTHORS, WIDTH / 2, y + 22, AUTHORS, align=0.5)
    paper.truth += [("title", article.TITLE), ("text", article.AUTHORS)]
    y += 36
    inset = 34
    for line in _broken(article.STANDFIRST, STANDFIRST, RIGHT - LEFT - 2 * inset):
        y += STANDFIRST.leading
        paper.line(line, LEFT + inset, y, STANDFIRST, RIGHT - LEFT - 2 * inset)
    paper.truth.append(("text", " ".join(article.STANDFIRST.split())))
    return y + 22


def _set_table(paper: Paper) -> float:
    cells = drawings.table_cells()
    paper.put(article.TABLE_CAPTION, LEFT, TOP + 8, CAPTION)
    paper.truth.append(("table_caption", article.TABLE_CAPTION))
    drawings.draw_table(paper, cells, LEFT, TOP + 17)
    return TOP + 17 + drawings.table_height(cells) + 18


def _set_note(paper: Paper, column: Column) -> None:
    paper.rule(column.x, column.x + 60, column.bottom + 12)
    paper.put(article.NOTE, column.x, column.bottom + 26, NOTE)
    paper.truth.append(("page_footnote", plain(article.NOTE)))


def make() -> tuple[Any, list[list[tuple[str, str]]]]:
    """Return the sample as a PDF document of PyMuPDF, and what stands on its pages: (label, text) in reading order."""
    document = pymupdf.open()
    for _ in range(PAGES):
        document.new_page(width=WIDTH, height=HEIGHT)
    papers = [Paper(page) for page in document]  # a new page makes the objects of earlier ones stale
    for paper in papers:
        _set_furniture_above(paper)
    tops = (_set_opening(papers[0]), TOP, _set_table(papers[2]))
    columns = [
        Column(paper, x, top, BOTTOM)
        for paper, top in zip(papers, tops, strict=True)
        for x in (LEFT, LEFT + COLUMN + GUTTER)
    ]
    columns[1].bottom -= 26  # the note's place
    for column in columns[-2:]:
        column.bottom = LAST_BOTTOM
    _set_story(Flow(columns))
    _set_note(papers[0], columns[1])
    for number, paper in enumerate(papers, start=1):
        _set_furniture_below(paper, number)
        paper.finish()
        paper.page.clean_contents()
    document.set_metadata({"title": article.TITLE, "author": article.AUTHORS, "producer": "uocr_nb.samples.make"})
    document.set_language("en")
    document.subset_fonts()
    return document, [paper.truth for paper in papers]


def main(folder: Path) -> None:
    """Write sample.pdf, scan.pdf and sample.txt into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    document, truth = make()
    pages = ["".join(f"{label}\t{text}\n" for label, text in page) for page in truth]
    (folder / "sample.txt").write_text("\f".join(pages), encoding="utf-8", newline="\n")
    document.save(folder / "sample.pdf", garbage=4, deflate=True, deflate_fonts=True, use_objstms=1, no_new_id=True)
    with pymupdf.open(folder / "sample.pdf") as clean:
        make_scan(clean).save(folder / "scan.pdf", garbage=4, deflate=True, no_new_id=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m uocr_nb.samples.make OUT_DIR")
    main(Path(sys.argv[1]))
