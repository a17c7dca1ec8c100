"""What a person wants of a block, checked before anything is changed."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from uocr_nb.document.halves import without_halves
from uocr_nb.document.heads import is_label, known_label
from uocr_nb.document.page import COORD_MAX, Box
from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.edits import What
    from uocr_nb.document.page import Page

__all__ = ["checked", "found"]


def found(pages: Sequence[Page], page: Any, block: Any) -> tuple[int, int]:
    """The position and the number that `page` and `block` name, both there."""
    position = _whole(page, "A page", "position")
    if not 1 <= position <= len(pages):
        raise OptionError(
            f"There is no page {position}.",
            f"The document has {len(pages)}, numbered from 1." if pages else "The document has no pages.",
            'doc.edit(1, 1, text="...")' if pages else "",
        )
    number = _whole(block, "A block", "number")
    count = len(pages[position - 1].blocks)
    if not 1 <= number <= count:
        raise OptionError(
            f"There is no block {number} on page {position}.",
            f"The page has {count}, numbered from 1." if count else "The page has no blocks.",
            f'doc.edit({position}, {count}, text="...")' if count else f"print(doc.page({position}).raw)",
        )
    return position, number


def checked(page: int, block: int, *, text: Any, label: Any, box: Any) -> dict[What, Any]:
    """What of a block is to become what, as far as it is named and can be."""
    wanted: dict[What, Any] = {}
    if text is not None:
        wanted["text"] = _text(text, page, block)
    if label is not None:
        wanted["label"] = _label(label, page, block)
    if box is not None:
        wanted["box"] = _box(box, page, block)
    if not wanted:
        raise OptionError(
            f"Block {block} of page {page} stays as it is.",
            "Neither a text nor a label nor a box was given.",
            f'doc.edit({page}, {block}, text="...")',
        )
    return wanted


def _whole(value: Any, thing: str, name: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise OptionError(
            f"{value!r:.80} is no {name} of {thing.lower()}.",
            f"{thing} is named by a whole number, from 1.",
            'doc.edit(1, 1, text="...")',
        ) from None


def _text(text: Any, page: int, block: int) -> str:
    if not isinstance(text, str):
        raise OptionError(
            f"A text cannot be {text!r:.80}.",
            f"It is a {type(text).__name__}.",
            f'doc.edit({page}, {block}, text="...")',
        )
    # As it would come back from a file, so that the saved document is the same one.
    return without_halves(str(text))


def _label(label: Any, page: int, block: int) -> str:
    written = label.strip() if isinstance(label, str) else ""
    known = known_label(written) or written
    if not is_label(known):
        raise OptionError(
            f"A label cannot be {label!r:.80}.",
            "It is one word of at most 64 letters, digits, - and _, and does not begin with a digit.",
            f'doc.edit({page}, {block}, label="text")',
        )
    return known


def _box(box: Any, page: int, block: int) -> Box:
    try:
        x1, y1, x2, y2 = (_whole(number, "A corner", "coordinate") for number in box)
    except (TypeError, ValueError, OptionError):
        x1, y1, x2, y2 = 1, 1, 0, 0
    if not (0 <= x1 <= x2 <= COORD_MAX and 0 <= y1 <= y2 <= COORD_MAX):
        raise OptionError(
            f"A box cannot be {box!r:.80}.",
            f"It has four whole numbers, x1, y1, x2, y2, in 0..{COORD_MAX}; x1 is not more than x2, nor y1 than y2.",
            f"doc.edit({page}, {block}, box=(0, 0, {COORD_MAX}, {COORD_MAX}))",
        )
    return x1, y1, x2, y2
