"""The inside of a block's tag: its label and its box, however bent. Numbers are read, never evaluated."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from uocr_nb.document.page import COORD_MAX, Box

__all__ = [
    "HEAD_LIMIT",
    "KNOWN_LABELS",
    "Head",
    "is_label",
    "is_label_of_ref",
    "is_unfinished",
    "known_label",
    "read_box",
    "read_head",
    "read_unclosed_head",
]

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
_PLAIN_HEAD = re.compile(rf"{_SPACE}(?:{_LABEL})?{_SPACE}\[[0-9\s,.\[\]-]*+")
_UNCLOSED = re.compile(rf"{_SPACE}(?P<label>{_LABEL}){_SPACE}\[(?P<box>[^\[\]]*+)\](?:<[|/]{{0,3}}det[|/]{{0,2}}>)?")
_BROKEN = re.compile(rf"{_SPACE}(?P<label>{_LABEL}){_SPACE}\[")
_UNFINISHED = re.compile(
    rf"{_SPACE}(?:{_LABEL})?{_SPACE}(?:\[[0-9\s,.\[\]ĠĊ-]*+)?(?:<(?:\|(?:/(?:d(?:e(?:t\|?)?)?)?)?)?)?"
)
_ONE_LABEL = re.compile(_LABEL)
_REF_LABEL = re.compile(
    r"[a-z]+(?:_[a-z]+)+|figure|picture|formula|caption|paragraph|footnote|abstract|reference|seal|stamp"
)
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z][A-Za-z0-9_-]*){0,2}")
_NUMBER = re.compile(r"(?:(?<![0-9])-)?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DIGIT = re.compile(r"[^\x00-\x7f]")
_GROUP = r"\[\s*NUMBER\s*(?:,\s*NUMBER\s*){3}\]".replace("NUMBER", r"-?[0-9.]+")
_PLAIN_BOX = re.compile(rf"\s*(?:{_GROUP}|\[\s*{_GROUP}\s*(?:,\s*{_GROUP}\s*){{0,200}}\])\s*")
_MARKS = str.maketrans("ĠĊ", "  ")
_ASCII = str.maketrans("−–‐‑﹣，、،【】〔〕「」", "-----,,,[][][]")
_LOOSE_LIMIT = 200


class Head(NamedTuple):
    """What a tag says: label, box, text that stood in the tag after the box, kinds of repairs."""

    label: str
    box: Box | None
    text: str
    repairs: tuple[str, ...]


def is_label(written: str) -> bool:
    """Whether `written` has the form of a label."""
    return _ONE_LABEL.fullmatch(written) is not None


def is_label_of_ref(written: str) -> bool:
    """Whether what stands between ``<|ref|>`` and ``<|/ref|>`` is a label, and not text of the page."""
    return written in KNOWN_LABELS or _REF_LABEL.fullmatch(written) is not None


def known_label(written: str) -> str | None:
    """The known label that is meant, where it is only spelled otherwise: ``Page Number`` is page_number."""
    label = "_".join(written.lower().replace("-", " ").replace("_", " ").split())
    return label if label in KNOWN_LABELS else None


def read_box(written: str) -> tuple[Box | None, tuple[str, ...]]:
    """The box that the inside of a tag gives, and the kinds of repairs it took.

    Four numbers make a box, whatever stands between them; several groups of four make the box around them all.
    Decimals are rounded, fractions (all four in 0..1, one of them with a point) scaled to 0..999, values outside
    clamped, corners put in order. A minus sign counts only right before its digits. Digits and brackets of other
    scripts count as ours. Anything else has no box.
    """
    repairs = []
    if not written.isascii():
        if "Ġ" in written or "Ċ" in written:
            repairs.append("surface_mark")
            written = written.translate(_MARKS)
        plain = _in_ascii(written)
        if plain != written:
            repairs.append("foreign")
            written = plain
    numbers = _NUMBER.findall(written)
    groups = [numbers]
    if len(numbers) != 4:
        groups = [group for group in map(_NUMBER.findall, written.split("]")) if len(group) == 4]
        if not groups and len(numbers) % 4 == 0:
            groups = [numbers[n : n + 4] for n in range(0, len(numbers), 4)]
        if not groups:
            return None, ("unreadable",)
    if _PLAIN_BOX.fullmatch(written) is None:
        repairs.append("stray")
    boxes = []
    for group in groups:
        box, mended = _four(group)
        boxes.append(box)
        repairs += [kind for kind in mended if kind not in repairs]
    if len(set(boxes)) > 1:
        repairs.append("several")
    x1, y1, x2, y2 = zip(*boxes, strict=True)
    return (min(x1), min(y1), max(x2), max(y2)), tuple(repairs)


def _in_ascii(written: str) -> str:
    """Numbers and brackets of any script as ASCII; marks that show nothing, such as those of direction, are dropped."""
    return _DIGIT.sub(_ascii_of, unicodedata.normalize("NFKC", written).translate(_ASCII))


def _ascii_of(found: re.Match[str]) -> str:
    digit = unicodedata.digit(found[0], None)
    if digit is not None:
        return str(digit)
    return "" if unicodedata.category(found[0]) == "Cf" else found[0]


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
    if match is None and not inside.isascii():
        plain = _in_ascii(inside)
        found = _PLAIN_HEAD.fullmatch(plain)
        if found is not None:
            head = read_head(plain, label)
            return head and head._replace(repairs=("foreign", *head.repairs))
    if match is None:
        return _loose_head(inside, label)
    named, written = match["label"] or label, match["box"]
    repairs: tuple[str, ...] = () if named else ("no_label",)
    if written is None:
        return Head(named, None, "", ("no_box",)) if named else None
    end = written.rfind("]") + 1 or len(written)
    box, mended = read_box(written[:end])
    return _spelled(Head(named or "text", box, written[end:], (*mended, *repairs)))


def _spelled(head: Head) -> Head:
    known = head.label if head.label in KNOWN_LABELS else known_label(head.label)
    return head if known in (None, head.label) else head._replace(label=known, repairs=(*head.repairs, "spelling"))


def _loose_head(inside: str, label: str) -> Head | None:
    """A tag whose label or box is out of its form, but that has a box all the same."""
    start = inside.find("[")
    if start < 0:
        # Brackets of another kind, or none: four numbers in a short tag can be nothing else.
        plain = _in_ascii(inside) if len(inside) <= _LOOSE_LIMIT else ""
        first = _NUMBER.search(plain)
        if first is None or len(_NUMBER.findall(plain)) != 4:
            return None
        written, before = plain[first.start() :], plain[: first.start()]
    else:
        written, before = inside[start:], inside[:start]
    box, repairs = read_box(written)
    if box is None:
        return None
    words = _WORDS.search(before)
    # A label outside its alphabet is not taken over: it may be anything, a piece of HTML for one.
    meant = label or (known_label(words[0]) if words else None)
    same = label or (words is not None and words[0] == meant)
    about_label = () if same else ("spelling",) if meant else ("no_label",)
    about_box = ("stray",) if start < 0 and "stray" not in repairs else ()
    return Head(meant or "text", box, "", (*repairs, *about_box, *about_label))


def read_unclosed_head(inside: str) -> Head | None:
    """A tag whose end is missing: `inside` runs up to the next mark. None when it is only text."""
    match = _UNCLOSED.match(inside)
    if match:
        box, repairs = read_box(f"[{match['box']}]")
        if box:
            return _spelled(Head(match["label"], box, inside[match.end() :], (*repairs, "no_close")))
    match = _BROKEN.match(inside)
    label = match["label"].rstrip("_-") if match else ""
    if match and label in KNOWN_LABELS:
        return Head(label, None, inside[match.end() :], ("unreadable", "no_close"))
    return None


def is_unfinished(inside: str) -> bool:
    """Whether `inside`, the end of an answer, is a tag cut in its middle."""
    return len(inside) < HEAD_LIMIT and _UNFINISHED.fullmatch(inside) is not None
