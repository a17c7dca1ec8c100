"""The blocks of one page as two runs read them."""

from __future__ import annotations

from dataclasses import replace

from uocr_nb.document.model import Block


def table(*lines: str) -> str:
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line.split())}</tr>" for line in lines)
    return f"<table>{rows}</table>"


ROWS = (
    "Model Edit PPT Paper Book Colour Exam",
    *(f"M{n} Text 0.{n}1 0.{n}2 0.{n}3 0.{n}4 0.{n}5" for n in range(1, 8)),
)
BASE = (
    Block("title", "5.3. Subcategory Study", (130, 80, 500, 110)),
    Block("text", "A price of $5 to $6 a page, and \\(E = mc^2\\).", (130, 120, 870, 200)),
    Block("table_caption", "Table 2 ! A comparison of the DeepSeek OCR series", (130, 210, 870, 240)),
    Block("table", table(*ROWS), (150, 250, 850, 400)),
    Block("image", "", (130, 410, 500, 560)),
    Block("text", "The end of the page.", (130, 580, 870, 620)),
)
GUNDAM = (
    *BASE[:2],
    replace(BASE[2], text="Table 2 | A comparison of the DeepSeek-OCR series"),
    replace(BASE[3], text=table(*ROWS[:3], ROWS[3].replace("0.33", "0.38"), *ROWS[4:])),
    *BASE[4:],
    Block("page_number", "10", (480, 950, 520, 970)),
)
