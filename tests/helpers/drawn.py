"""Documents for the page view, made without an engine: the papers are drawn by code, the blocks stand where they are.

Run with a folder as its argument it writes each of them there, to be looked at.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from uocr_nb.document.model import Block, Document, Page, Status

SIZE = (780, 1103)

TABLE = (
    "<table><tr><td>Model</td><td>Edit</td><td>PPT</td><td>Paper</td><td>Book</td></tr>"
    '<tr><td rowspan="2">One</td><td>Text</td><td>0.052</td><td>0.028</td><td>0.022</td></tr>'
    "<tr><td>Order</td><td>0.052</td><td>0.021</td><td>0.040</td></tr>"
    '<tr><td rowspan="2">Two</td><td>Text</td><td>0.031</td><td>0.013</td><td>0.033</td></tr>'
    "<tr><td>Order</td><td>0.025</td><td>0.013</td><td>0.027</td></tr></table>"
)
FORMULA = r"\[\alpha_{tj} = \frac{\exp(q_t^\top k_j)}{\sum_{i \in N(t)} \exp(q_t^\top k_i)} \]"
WORDS = (
    "The reader pays attention to what stands near, and to the page as a whole, so that the cost of a long document "
    "grows with its pages alone. A price of $5 to $6 a page is no formula."
)
HEBREW = "בראשית ברא אלהים את השמים ואת הארץ והארץ היתה תהו ובהו"
ARABIC = "في البدء خلق الله السماوات والأرض وكانت الأرض خربة وخالية"

EVERY = (
    Block("header", "The Journal of Small Things", (130, 30, 600, 48)),
    Block("title", "5.3. Subcategory study", (130, 62, 640, 88)),
    Block("subtitle", "Long-horizon attention", (130, 96, 640, 116)),
    Block("text", WORDS, (130, 126, 870, 200)),
    Block("table_caption", "Table 2 | A comparison of two models.", (130, 208, 870, 228)),
    Block("table", TABLE, (150, 236, 850, 350), 0.93),
    Block("equation", FORMULA, (250, 362, 750, 410)),
    Block("algorithm", "for page in pages:\n    read(page)", (130, 420, 500, 470)),
    Block("code", "import uocr_nb as uocr\nuocr.ocr('a.pdf')", (520, 420, 870, 470)),
    Block("image", "", (130, 482, 480, 640)),
    Block("chart", "", (520, 482, 870, 640)),
    Block("image_caption", "Figure 1. A drawing, and a chart.", (130, 648, 870, 668)),
    Block("list", "- first of three\n- second of three\n- third, with attention", (130, 680, 870, 740)),
    Block("text", HEBREW, (130, 750, 870, 780)),
    Block("text", ARABIC, (130, 788, 870, 818)),
    Block("aside_text", "in the margin", (20, 500, 110, 530)),
    Block("ref_text", "[1] A. Author. On attention. 2025.", (130, 828, 870, 850)),
    Block("page_footnote", "* Measured on one machine.", (130, 860, 870, 880)),
    Block("seal", "SEALED", (700, 890, 860, 930)),
    Block("footer", "Draft", (130, 950, 300, 966)),
    Block("page_number", "1", (480, 970, 520, 988)),
)
"""A block of every known label, one of an unknown label, and both directions of writing."""


@cache
def _font(size: int) -> Any:
    import matplotlib as mpl

    # It is a dependency, and its font has the letters of the test pages.
    path = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return ImageFont.truetype(str(path), size)


def paper(blocks: tuple[Block, ...], size: tuple[int, int] = SIZE) -> Image.Image:
    """Draw the page: each text in its box, pictures as shapes."""
    image = Image.new("L", size, 255)
    draw = ImageDraw.Draw(image)
    for n, block in enumerate(blocks):
        if (box := block.pixels(size)) is None:
            continue
        x1, y1, x2, y2 = box
        if block.label in ("image", "chart"):
            draw.rectangle(box, outline=120, fill=236)
            for k in range(4):
                left = x1 + 10 + k * (x2 - x1) // 4
                draw.rectangle((left, y2 - 12 - (k + 2) * (y2 - y1) // 8, left + 18, y2 - 4), fill=90 + 30 * k)
            continue
        letters = max(6, min(16, (y2 - y1) // 3 if y2 - y1 > 40 else y2 - y1 - 5))
        text = re.sub(r"<[^>]+>", " ", block.text)[:2000]
        width = max(8, int((x2 - x1) / (letters * 0.56)))
        lines = [line[i : i + width] for line in text.splitlines() for i in range(0, len(line), width)]
        for k, line in enumerate(lines[: max(1, (y2 - y1) // (letters + 3))]):
            draw.text((x1 + 2, y1 + 1 + k * (letters + 3)), line, fill=20 + n % 3 * 20, font=_font(letters))
    return image


def page(folder: Path, position: int, blocks: tuple[Block, ...] = EVERY, **more: Any) -> Page:
    """Make a page with its paper as a file in `folder`."""
    size = more.pop("size", SIZE)
    drawn = more.pop("drawn", blocks)
    out = io.BytesIO()
    paper(drawn, size).save(out, "PNG")
    sha256 = hashlib.sha256(out.getvalue()).hexdigest()
    file = folder / f"{sha256[:16]}.png"
    file.write_bytes(out.getvalue())
    raw = "\n".join(f"<|det|>{b.label} {list(b.box)}<|/det|>{b.text}" for b in blocks if b.box)
    fields: dict[str, Any] = {
        "number": position,
        "source": "report.pdf",
        "blocks": blocks,
        "raw": raw,
        "tokens": 1087,
        "seconds": 2.1,
        "sha256": sha256,
        "dpi": 165.0,
    }
    return Page(position=position, size=size, image_file=file, **(fields | more))


def plain_blocks(n: int, rows: int = 6) -> tuple[Block, ...]:
    """Head, paragraphs and number of page `n`."""
    step = 840 // (rows + 1)
    body = [
        Block("text", f"Page {n}, part {k}. {WORDS}", (130, 60 + k * step, 870, 40 + (k + 1) * step))
        for k in range(1, rows + 1)
    ]
    return (
        Block("title", f"Chapter {n}", (130, 60, 500, 90)),
        *body,
        Block("page_number", str(n), (480, 960, 520, 980)),
    )


def report(folder: Path) -> Document:
    """Make fourteen pages as of a paper: every label on the first, one of each trouble further on."""
    pages = [page(folder, n, plain_blocks(n)) for n in range(1, 15)]
    pages[0] = page(folder, 1)
    pages[1] = page(folder, 2, (*plain_blocks(2, 3)[:4], *EVERY[4:7]))
    long = plain_blocks(4)
    pages[3] = page(
        folder, 4, long[:4], drawn=long, status=Status.LOOPING,
        reason="The same row repeats from block 5 on. Cut there; 4 blocks kept.",
    )  # fmt: skip
    pages[6] = page(
        folder, 7, (), drawn=long, status=Status.EMPTY, raw="", reason="The model found nothing here.",
    )  # fmt: skip
    unboxed = tuple(Block(block.label, block.text) for block in plain_blocks(8, 3))
    pages[7] = page(
        folder, 8, unboxed, drawn=plain_blocks(8, 3), status=Status.UNBOXED, raw="Chapter 8",
        reason="The answer has text without boxes.",
    )  # fmt: skip
    pages[8] = page(
        folder, 9, EVERY[:6], drawn=EVERY, status=Status.TRUNCATED, finish_reason="length", tokens=4096,
        reason="The answer stopped at 4,096 tokens, inside block 6. Nothing below that block is read.",
    )  # fmt: skip
    lost: dict[str, Any] = {"blocks": (), "raw": "", "tokens": None, "seconds": None}
    pages[11] = page(
        folder, 12, drawn=long, status=Status.FAILED, reason="No answer in 3 tries: the engine is busy.", **lost
    )
    pages[12] = page(folder, 13, drawn=long, status=Status.MISSING, reason="The answer has no such page.", **lost)
    return Document(pages, meta={"engine": "cpu", "mode": "gundam", "seconds": 21.4, "tokens": 12_000, "cost": 0.0})


def good(folder: Path, count: int = 3) -> Document:
    """Make a few pages that are all ok, every label on the first."""
    pages = [page(folder, 1), *(page(folder, n, plain_blocks(n)) for n in range(2, count + 1))]
    return Document(pages, meta={"engine": "cpu", "mode": "gundam", "seconds": 3.2, "tokens": 3000, "cost": 0.0})


def crowded(folder: Path, count: int = 300) -> Document:
    """Make one page of so many blocks."""
    columns, height = 6, 980 // -(-count // 6)
    blocks = tuple(
        Block(
            ("text", "title", "list", "table_caption")[n % 4],
            f"Cell {n + 1} of a crowded page",
            (
                20 + n % columns * 160,
                8 + n // columns * height,
                160 + n % columns * 160,
                4 + (n // columns + 1) * height,
            ),
        )
        for n in range(count)
    )
    return Document([page(folder, 1, blocks, source="crowded.pdf")], meta={"engine": "cpu"})


def long(folder: Path, count: int = 300) -> Document:
    """Make many pages; every hundredth is not ok, and one word stands on page 250 alone."""
    pages = []
    for n in range(1, count + 1):
        blocks = plain_blocks(n, 4)
        more: dict[str, Any] = {}
        if n == 250:
            blocks = (*blocks[:-1], Block("text", "The needle is here.", (130, 900, 870, 940)), blocks[-1])
        if n % 100 == 0:
            more = {"status": Status.LOOPING, "reason": "The same row repeats from block 4 on. Cut there."}
        pages.append(page(folder, n, blocks, source="long.pdf", size=(390, 552), **more))
    return Document(pages, meta={"engine": "cpu", "seconds": 300.0, "tokens": 300_000})


def changed(document: Document) -> Document:
    """Read `document` again, not quite alike: another word, another label, a block less, another cell of a table."""
    from dataclasses import replace

    pages = document.pages
    first = list(pages[0].blocks)
    first[3] = replace(first[3], text=first[3].text.replace("near", "far away"))
    first[5] = replace(first[5], text=first[5].text.replace("0.040", "0.048"))
    first[1] = replace(first[1], label="subtitle")
    del first[15]
    pages[0] = replace(pages[0], blocks=tuple(first))
    return Document(pages, meta=document.meta | {"mode": "base"})


def save(document: Document, path: Path) -> Path:
    """Write it so that a cell of a notebook loads it, papers and all."""
    path.write_text(document.to_json(images="embed"), encoding="utf-8")
    return path


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for make in (report, good, crowded, long):
        save(make(target), target / f"{make.__name__}.json")
