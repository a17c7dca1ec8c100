from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.document.model import Block, Status
from uocr_nb.views import icons
from uocr_nb.views.labels import code_of, count_labels, label_style, status_hue

LABELS = [
    "title",
    "subtitle",
    "text",
    "list",
    "table",
    "equation",
    "algorithm",
    "image",
    "chart",
    "image_caption",
    "table_caption",
    "code",
    "header",
    "footer",
    "page_number",
    "page_footnote",
    "aside_text",
    "ref_text",
    "unknown",
]


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("label", LABELS)
def test_colours_can_be_seen(label: str) -> None:
    style = label_style(label)
    assert contrast(style.paper, "#ffffff") >= 4.5  # tags are text on paper
    assert contrast(style.static, "#ffffff") >= 3
    assert contrast(style.static, "#111111") >= 3


@pytest.mark.parametrize("colour", [*map(status_hue, Status), icons.INFO, icons.GOOD, icons.WARNING, icons.ERROR])
def test_icons_can_be_seen_in_light_and_dark(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3
    assert contrast(colour, "#111111") >= 3


def test_codes_and_lines_of_the_look() -> None:
    known = {label: (code_of(label), label_style(label).line) for label in LABELS}
    assert known["title"] == ("Ti", "solid")
    assert known["table"] == ("Tb", "double")
    assert known["equation"] == ("Eq", "dashed")
    assert known["algorithm"] == ("Al", "dashed")
    assert known["image_caption"] == known["table_caption"] == ("Ca", "dashed")
    assert known["aside_text"] == ("As", "dotted")
    assert known["unknown"] == ("Un", "solid")


@given(st.text(max_size=60))
def test_any_label_has_a_code_of_letters(label: str) -> None:
    code = code_of(label)
    assert code == "??" or code.isalnum()
    assert label_style(label).family


def test_counts_have_frequent_labels_first_and_furniture_last() -> None:
    blocks = [Block(label, "") for label in ("header", "header", "header", "text", "text", "title", "table_caption")]
    assert count_labels(blocks) == [("text", 2), ("title", 1), ("caption", 1), ("header", 3)]
