"""Blocks and edits as JSON has them, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from uocr_nb.document.edits import Edit, What
from uocr_nb.document.model import COORD_MAX, Block, Box

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["block_data", "block_of", "edit_data", "edit_of", "number_of"]


def block_data(block: Block) -> dict[str, Any]:
    """`block` for JSON."""
    return {
        "label": block.label,
        "text": block.text,
        "box": None if block.box is None else list(block.box),
        "confidence": block.confidence,
    }


def block_of(data: Mapping[str, Any]) -> Block:
    """The block that `block_data` wrote."""
    return Block(str(data["label"]), str(data["text"]), _box(data.get("box")), number_of(data.get("confidence")))


def number_of(value: Any) -> float | None:
    """`value` as a number, where there is one."""
    return None if value is None else float(value)


def _box(value: Any) -> Box | None:
    if value is None:
        return None
    x1, y1, x2, y2 = (min(max(int(number), 0), COORD_MAX) for number in value)
    return x1, y1, x2, y2


def edit_data(edit: Edit) -> dict[str, Any]:
    """`edit` for JSON."""
    return {
        "page": edit.page,
        "block": edit.block,
        "what": edit.what,
        "before": block_data(edit.before) if isinstance(edit.before, Block) else edit.before,
        "after": edit.after,
        "when": edit.when,
        "step": edit.step,
        "confidence": edit.confidence,
    }


def edit_of(data: Mapping[str, Any]) -> Edit:
    """The edit that `edit_data` wrote."""
    what: What = data["what"]
    if what not in get_args(What):
        raise ValueError(f"{what!r:.80} is no kind of edit")
    return Edit(
        page=int(data["page"]),
        block=int(data["block"]),
        what=what,
        before=_value(what, data["before"]),
        after=None if what == "delete" else _value(what, data["after"]),
        when=str(data["when"]),
        step=int(data["step"]),
        confidence=number_of(data.get("confidence")),
    )


def _value(what: What, value: Any) -> Any:
    if what == "box":
        return _box(value)
    return block_of(value) if what == "delete" else str(value)
