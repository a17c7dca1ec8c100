"""The inside of a block's tag: its label and its box, however bent. Numbers are read, never evaluated."""

from __future__ import annotations

import re
from typing import NamedTuple

from uocr_nb.document.model import COORD_MAX, Box

__all__ = ["HEAD_LIMIT", "KNOWN_LABELS", "Head", "is_unfinished", "read_box", "read_head", "read_unclosed_head"]

HEAD_LIMIT = 4096
"""A tag longer than this many characters was not closed (190 boxes fit into it)."""

KNOWN_LABELS = frozenset(
    {
        *("title", "text", "table", "equation", "image", "chart", "list", "header", "footer", "page_number"),
        *("page_footnote", "image_caption", "table_caption", "aside_text", "ref_text", "subtitle", "code", "algorithm"),
    }
)
"""Labels seen in answers or claimed for the model; the set stays open."""

# Possessive, so that no run of spaces is tried in two ways: a hostile tag costs its length, not its square.
_SPACE = r"[\sĠĊ]*+"
_LABEL = r"[A-Za-z_][A-Za-z0-9_-]{0,63}+"
_HEAD = re.compile(rf"{_SPACE}(?P<label>{_LABEL})?{_SPACE}(?P<box>\[.*)?", re.DOTALL)
_UNCLOSED = re.compile(rf"{_SPACE}(?P<label>{_LABEL}){_SPACE}\[(?P<box>[^\[\]]*+)\]")
_BROKEN = re.compile(rf"{_SPACE}(?P<label>{_LABEL}){_SPACE}\[")
_UNFINISHED = re.compile(
    rf"{_SPACE}(?:{_LABEL})?{_SPACE}(?:\[[0-9\s,.\[\]ĠĊ-]*+)?(?:<(?:\|(?:/(?:d(?:e(?:t\|?)?)?)?)?)?)?"
)
_NUMBER = re.compile(r"(?:(?<![0-9])-)?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_PLAIN_BOX = re.compile(r"[\s\[\],]*")
_MARKS = str.maketrans("ĠĊ", "  ")


class Head(NamedTuple):
    """What a tag says: label, box, text that stood in the tag after the box, kinds of repairs."""

    label: str
    box: Box | None
    text: str
    repairs: tuple[str, ...]


def read_box(written: str) -> tuple[Box | None, tuple[str, ...]]:
    """The box that the inside of a tag gives, and the kinds of repairs it took.

    Four numbers make a box, whatever stands between them; several groups of four make the box around them all.
    Decimals are rounded, fractions (all four in 0..1, one of them with a point) scaled to 0..999, values outside
    clamped, corners put in order. A minus sign counts only right before its digits. Anything else has no box.
    """
    repairs = ["surface_mark"] if "Ġ" in written or "Ċ" in written else []
    written = written.translate(_MARKS)
    groups = [_NUMBER.findall(written)]
    if len(groups[0]) != 4:
        groups = [numbers for numbers in map(_NUMBER.findall, written.split("]")) if len(numbers) == 4]
        if not groups:
            return None, ("unreadable",)
    elif _PLAIN_BOX.fullmatch(_NUMBER.sub("", written)) is None:
        repairs.append("stray")
    boxes = []
    for numbers in groups:
        box, mended = _four(numbers)
        boxes.append(box)
        repairs += [kind for kind in mended if kind not in repairs]
    if len(set(boxes)) > 1:
        repairs.append("several")
    x1, y1, x2, y2 = zip(*boxes, strict=True)
    return (min(x1), min(y1), max(x2), max(y2)), tuple(repairs)


def _four(numbers: list[str]) -> tuple[Box, list[str]]:
    values = [float(number) for number in numbers]
    repairs = []
    if any("." in number for number in numbers):
        if all(0 <= value <= 1 for value in values):
            values = [value * COORD_MAX for value in values]
            repairs.append("fractions")
        else:
            repairs.append("rounded")
    if any(not 0 <= value <= COORD_MAX for value in values):
        repairs.append("clamped")
    # Clamped before they are rounded: a number of a thousand digits is infinite as a float.
    x1, y1, x2, y2 = (round(min(max(value, 0), COORD_MAX)) for value in values)
    if x1 > x2 or y1 > y2:
        repairs.append("swapped")
    return (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), repairs


def read_head(inside: str, label: str = "") -> Head | None:
    """What stands between the two marks of a tag; None when it cannot be a tag but only text that names the marks.

    `label` is the label that an earlier ``<|ref|>`` gave.
    """
    match = _HEAD.fullmatch(inside)
    if match is None:
        # A label outside its alphabet is not taken over, but a readable box makes it a tag all the same.
        start = inside.find("[")
        box, repairs = read_box(inside[start:]) if start >= 0 else (None, ())
        return Head(label or "text", box, "", (*repairs, "no_label")) if box else None
    named, written = label or match["label"] or "", match["box"]
    repairs = () if named else ("no_label",)
    if written is None:
        return Head(named, None, "", ("no_box",)) if named else None
    end = written.rfind("]") + 1 or len(written)
    box, mended = read_box(written[:end])
    return Head(named or "text", box, written[end:], (*mended, *repairs))


def read_unclosed_head(inside: str) -> Head | None:
    """A tag whose end is missing: `inside` runs up to the next mark. None when it is only text."""
    match = _UNCLOSED.match(inside)
    if match:
        box, repairs = read_box(match["box"])
        if box:
            return Head(match["label"], box, inside[match.end() :], (*repairs, "no_close"))
    match = _BROKEN.match(inside)
    label = match["label"].rstrip("_-") if match else ""
    if match and label in KNOWN_LABELS:
        return Head(label, None, inside[match.end() :], ("unreadable", "no_close"))
    return None


def is_unfinished(inside: str) -> bool:
    """Whether `inside`, the end of an answer, is a tag cut in its middle."""
    return len(inside) < HEAD_LIMIT and _UNFINISHED.fullmatch(inside) is not None
