"""The text of one block made clean: what engines put into it that the page does not show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uocr_nb.document.surface import mend

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.parsed import Open

    Note = Callable[[str, int], None]
    """Takes the kind of a repair and how often it was made."""

__all__ = ["clean", "is_plain", "left_open", "without_fence", "without_residue"]

_EMPTY = (
    r"\[(?:non-text|no (?:readable |visible )?text(?: (?:detected|found|content))?)\]"
    r"|\(no (?:readable |visible )?text(?: (?:to output|detected|found))?\)"
)
_NOTHING = re.compile(rf"^[ \t]*+(?:{_EMPTY})[ \t]*+$\n?", re.MULTILINE | re.IGNORECASE)
_UNREADABLE = re.compile(r"^[ \t]*+\[unreadable(?: text)?\][ \t]*+$\n?", re.MULTILINE | re.IGNORECASE)
_PICTURE = re.compile(r"^[ \t]*+!\[[^\]\n]{0,80}\]\([\w./-]{1,80}\)[ \t]*+$\n?", re.MULTILINE)
_ESCAPED = re.compile("<\u200b(?=\u200b*+(?:[|｜]|PAGE|(?:P(?:AG?)?)?\\Z))")
_MARK_ENDS = frozenset("])")
_FENCE = re.compile(r"(?:\A|\n)[ \t]*(```+|~~~+)[ \t]*[\w-]*[ \t]*\Z")
_RESIDUE = re.compile(
    r"(?:\s*+(?:<\|(?:im_end|im_start|end_?of_?text|eot_id|end)\|>(?:assistant|user|system)?"
    r"|<[|｜](?:User|Assistant|System)[|｜]>:?|</s>))++\s*+\Z"
)


def is_plain(text: str) -> bool:
    """Whether a whole block's text (without space at its ends, or a carriage return) surely needs no cleaning."""
    return (
        text.isascii()
        and (text[-1:] not in _MARK_ENDS or text.endswith("\\]"))
        and ("\n" not in text or ("]\n" not in text and ")\n" not in text))
        and ("<" not in text or text.count("<table") <= text.count("</table>"))
    )


def clean(text: str, note: Note, *, marked: bool = False, preamble: bool = False) -> str:
    """`text` without what the page does not show.

    Parameters
    ----------
    text : str
        Of one block, as the engine wrote it.
    note : callable
        Is told of each repair.
    marked : bool
        Whether a tag or a page mark comes right behind it, so that a "Ċ" at its end is the end of its line.
    preamble : bool
        Whether it stands before the first block.
    """
    text = text.strip()
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not text.isascii():
        if "\u200b" in text:
            text = _ESCAPED.sub("<", text)
        text = mend(text, note, marked=marked)
    # Only a line's end can end a mark for nothing; most blocks end in a word.
    if text[-1:] in _MARK_ENDS or "]\n" in text or ")\n" in text:
        text = _without_marks(text, note, preamble=preamble)
    return text


def _without_marks(text: str, note: Note, *, preamble: bool) -> str:
    for kind, pattern in (("nothing", _NOTHING), ("illegible", _UNREADABLE), ("picture", _PICTURE)):
        if kind != "picture" or preamble:
            text, taken = pattern.subn("", text)
            if taken:
                note(kind, taken)
    return text.strip()


def without_fence(preamble: str) -> tuple[str, str] | None:
    """The preamble without the code fence that opens at its end, and the fence; None when none does."""
    found = _FENCE.search(preamble[-200:])
    if found is None:
        return None
    return preamble[: len(preamble) - len(found[0])].rstrip(), found[1]


def without_residue(text: str) -> str:
    """`text`, the end of an answer, without the marks of a chat template that some servers leave there."""
    found = _RESIDUE.search(text, max(0, len(text) - 400)) if text.endswith((">", ":", "assistant", "user")) else None
    return text[: found.start()].rstrip() if found else text


def left_open(text: str) -> Open:
    """What is open at the end of `text`: table, formula, or nothing."""
    if text.count("<table") > text.count("</table>"):
        return "table"
    if text.count("\\[") > text.count("\\]") or text.count("\\(") > text.count("\\)"):
        return "formula"
    return ""
