"""What a script is told about a document, a page and a block: `data-` attributes beside what people see.

An untrusted notebook loses them, so nothing that people need stands in them alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from uocr_nb.markup.safe_html import escape, quoted, visible
from uocr_nb.views.labels import label_name, label_style
from uocr_nb.views.summary import name_of
from uocr_nb.views.words import facts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from uocr_nb.document.model import Document, Page

__all__ = ["block_marks", "document_facts", "document_marks", "page_marks", "states_of"]

_LONGEST_NAME = 200
_MOST_SOURCES = 400
"""Sources that are named; of the pages after them the source is not told."""


def document_marks(
    pages: Sequence[Page], doc: Document | None = None, *, total: int = 0, reading: Collection[int] = ()
) -> str:
    """The attribute ``data-doc``; arguments as in `document_facts`."""
    made = document_facts(pages, doc, total=total, reading=reading)
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f" data-doc='{quoted(text)}'"


def document_facts(
    pages: Sequence[Page], doc: Document | None = None, *, total: int = 0, reading: Collection[int] = ()
) -> dict[str, Any]:
    """Name, number of pages, a letter for the status of each, sources, mode, engine and number of edits.

    Parameters
    ----------
    pages : sequence of Page
        Those that have a status.
    doc : Document or None
        For what it was read with, and its edits.
    total : int
        How many pages there will be, where that is known and more than there are.
    reading : collection of int
        Positions of those being read.
    """
    meta: dict[str, Any] = doc.meta if doc is not None else {}
    told = {name: meta[name] if isinstance(meta.get(name), str) else None for name in ("mode", "engine")}
    return {
        "name": _short(name_of(pages)) if pages else "",
        "total": max([total, *(page.position for page in pages)]),
        "status": states_of(pages, total=total, reading=reading),
        "sources": _sources(pages),
        **{name: value and _short(value) for name, value in told.items()},
        "edits": len(doc.edits) if doc is not None else 0,
    }


def states_of(pages: Sequence[Page], *, total: int = 0, reading: Collection[int] = ()) -> str:
    """A letter a page: the first one of its status, ``r`` for one being read, ``w`` for one that waits."""
    letters = ["w"] * max([total, *(page.position for page in pages)])
    for page in pages:
        letters[page.position - 1] = str(page.status)[0]
    for position in reading:  # also one that is read again
        if 1 <= position <= len(letters):
            letters[position - 1] = "r"
    return "".join(letters)


def _sources(pages: Sequence[Page]) -> list[list[Any]]:
    """Names of the sources, each with the position of its first page, and again where another one came between."""
    runs: list[list[Any]] = []
    last = None
    for page in pages:
        if page.source == last:
            continue
        last = page.source
        if len(runs) == _MOST_SOURCES:
            runs.append(["", page.position])
            break
        runs.append([_short(page.source), page.position])
    return runs


def page_marks(page: Page, *, position: int | None = None, state: str = "") -> str:
    """Attributes of a page's element; `position` where it is not the one of its document, `state` while it has none."""
    return (
        f' data-p="{page.position if position is None else position}" data-n="{page.number}"'
        f' data-status="{state or page.status}" data-facts="{escape(" · ".join(facts(page)))}"'
        f' data-source="{escape(page.source[:_LONGEST_NAME])}"'
    )


def block_marks(page: Page, number: int, *, named: bool = False, coded: bool = True) -> str:
    """Attributes of a block's box: its number and family; and of its row (`named`): its label and code too.

    A row says its family, and its label for people, only where they are not the label itself, and its code where it is
    not to be taken from what people see (`coded`): the script fills them in.
    """
    label = page.blocks[number - 1].label
    style = label_style(label)
    marks = f' data-b="{number}"'
    if named:
        marks += f' data-l="{escape(label[:_LONGEST_NAME])}"' + (f' data-c="{escape(style.code)}"' if coded else "")
        if (name := label_name(label)) != label:
            marks += f' data-k="{escape(name)}"'
    return marks if named and style.family == label else f'{marks} data-f="{style.family}"'


def _short(text: str) -> str:
    return visible(text[:_LONGEST_NAME])
