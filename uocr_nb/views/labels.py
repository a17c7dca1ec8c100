"""How labels and statuses look: family, two-letter code, kind of line, colours, icon.

Every label has three cues (code, line, colour), so that none of them is needed to tell blocks apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uocr_nb.document.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uocr_nb.document.model import Block, Page

__all__ = [
    "FIGURES",
    "KNOWN",
    "LabelStyle",
    "block_name",
    "code_of",
    "count_labels",
    "label_name",
    "label_style",
    "status_hue",
    "tag_of",
]

FIGURES = frozenset({"image", "chart"})
"""Labels whose crop is shown in place of a text."""


@dataclass(frozen=True)
class LabelStyle:
    """How blocks of one label are drawn.

    Attributes
    ----------
    family : str
        title, text, list, table, equation, figure, caption, code or furniture.
    code : str
        Two letters.
    line : str
        A CSS border style: solid, double, dashed or dotted.
    width : float
        Of the box's line, in px.
    paper, dark, static : str
        Colours (#rrggbb) on paper, which is white in both themes, and on a light ground; on a dark ground; on a ground
        that may be either (at least 3:1 on white and on #111).
    fill : bool
        Whether the box carries 6 % of its colour.
    """

    family: str
    code: str
    line: str
    width: float
    paper: str
    dark: str
    static: str
    fill: bool = True


_TEXT = LabelStyle("text", "Tx", "solid", 1, "#5f708c", "#b4bcc8", "#75839b", fill=False)
_CAPTION = LabelStyle("caption", "Ca", "dashed", 1, "#946800", "#f2d06b", "#a17c1c")
_FURNITURE = LabelStyle("furniture", "", "dotted", 1, "#6c737b", "#8f979f", "#7d858e")

_STYLES = {
    "title": LabelStyle("title", "Ti", "solid", 1.5, "#1b3f7d", "#a9d2ff", "#4a7fd0"),
    "text": _TEXT,
    "list": LabelStyle("list", "Li", "solid", 1, "#0f7f5c", "#4fdcae", "#1f8f6c"),
    "table": LabelStyle("table", "Tb", "double", 3, "#8a2c0c", "#f4906a", "#c75a2e"),
    "equation": LabelStyle("equation", "Eq", "dashed", 1, "#9330b8", "#cf6ff0", "#a85fd0"),
    "image": LabelStyle("figure", "Im", "solid", 1, "#946800", "#f2d06b", "#a17c1c"),
    "image_caption": _CAPTION,
    "table_caption": _CAPTION,
    "code": replace(_TEXT, family="code", code="Co"),
} | {
    label: replace(_FURNITURE, code=code)
    for label, code in {
        "header": "Hd",
        "footer": "Fo",
        "page_number": "Pn",
        "page_footnote": "Fn",
        "aside_text": "As",
        "ref_text": "Rf",
    }.items()
}
_STYLES["subtitle"] = _STYLES["title"]
_STYLES["algorithm"] = replace(_STYLES["equation"], code="Al")
_STYLES["chart"] = replace(_STYLES["image"], code="Ch")

KNOWN = frozenset(_STYLES) | {style.family for style in _STYLES.values()}
"""Labels and families that have a look of their own."""

_NAMES = {"image_caption": "caption", "table_caption": "caption", "page_footnote": "footnote", "ref_text": "reference"}
"""Shorter names for people; other labels are written with spaces."""

_HUES = {
    Status.OK: "#2b8a55",
    Status.TRUNCATED: "#a9761a",
    Status.LOOPING: "#a9761a",
    Status.EMPTY: "#a9761a",
    Status.UNBOXED: "#a9761a",
    Status.MISSING: "#d2544b",
    Status.FAILED: "#d2544b",
}
"""Good, warning and error for a ground that may be light or dark (at least 3:1 on white and on #111)."""


def label_style(label: str) -> LabelStyle:
    """How `label` is drawn; an unknown one as text, with its own first two letters as code."""
    known = _STYLES.get(label)
    if known is not None:
        return known
    letters = [c for c in label if c.isalnum()][:2]
    return replace(_TEXT, code="".join(letters).capitalize() or "??")


def code_of(label: str) -> str:
    """Give the two letters of `label`."""
    return label_style(label).code


def tag_of(number: int, label: str) -> str:
    """Write number and code of a block, as they stand at both ends of every link."""
    return f"{number} {code_of(label)}"


def label_name(label: str) -> str:
    """`label` for people."""
    return _NAMES.get(label, label.replace("_", " ")[:40])


def count_labels(blocks: Iterable[Block]) -> list[tuple[str, int]]:
    """Names of labels with how many blocks have them: frequent ones first, furniture last."""
    counts = Counter(label_name(block.label) for block in blocks)
    last = {label_name(block.label) for block in blocks if label_style(block.label).family == "furniture"}
    return sorted(counts.items(), key=lambda item: (item[0] in last, -item[1]))


def block_name(page: Page, number: int, extent: str = "") -> str:
    """Name a block as it is called where it is only pointed at: ``Block 5 of 8, table, 7 rows, 11 columns``."""
    name = f"Block {number} of {len(page.blocks)}, {label_name(page.blocks[number - 1].label)}"
    return f"{name}, {extent}" if extent else name


def status_hue(status: Status) -> str:
    """Colour (#rrggbb) of a status on a ground that may be light or dark."""
    return _HUES[status]
