"""Corrections that a person makes in a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uocr_nb.document.model import Document, Edit

__all__ = ["EDITS", "edit_by"]

EDITS = ("edit", "delete", "undo", "redo")
"""Kinds of messages that correct something."""


def edit_by(document: Document, message: Mapping[str, Any]) -> dict[str, Any]:
    """Correct `document` as a message of the browser says.

    Parameters
    ----------
    document : Document
        What is corrected.
    message : dict
        ``kind`` is edit, delete, undo or redo. The first two name page ``p`` and block ``n``, and ``before``, the text
        that the person saw; an edit brings ``text``, ``label``, ``box`` or several of them.

    Returns
    -------
    dict
        ``edits`` that stand now, and the last change: page ``p``, block ``n`` and ``what``.

    Raises
    ------
    OptionError
        When there is no such block, it cannot become that, or it is no longer what the person saw.
    """
    kind = message["kind"]
    if kind == "undo":
        last = document.edits[-1:]
        document.undo()
    elif kind == "redo":
        last = document.redo().edits[-1:]
    else:
        position, number = message.get("p"), message.get("n")
        _check_seen(document, position, number, message.get("before"))
        if kind == "delete":
            document.delete(position, number)  # type: ignore[arg-type]  # it is checked there
        else:
            given = {name: message[name] for name in ("text", "label", "box") if message.get(name) is not None}
            document.edit(position, number, **given)  # type: ignore[arg-type]
        last = document.edits[-1:]
    return {"edits": len(document.edits)} | (_told(last[0]) if last else {})


def _check_seen(document: Document, position: Any, number: Any, before: Any) -> None:
    """Another view, or a line of Python, may have moved or changed the block since the person opened it."""
    if not isinstance(before, str) or not isinstance(position, int) or not isinstance(number, int):
        return
    pages = document.pages
    if not 1 <= position <= len(pages) or not 1 <= number <= len(pages[position - 1].blocks):
        return
    now = pages[position - 1].blocks[number - 1].text
    if _as_in_a_field(now) != _as_in_a_field(before):
        raise OptionError(
            f"Block {number} is not what it was when you opened it.",
            "Something else changed the page meanwhile. Cancel, and open the block again.",
            f"doc.page({position})",
        )


def _as_in_a_field(text: str) -> str:
    """A field of a browser has one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _told(edit: Edit) -> dict[str, Any]:
    return {"p": edit.page, "n": edit.block, "what": edit.what}
