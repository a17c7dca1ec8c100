"""What was mended in an answer, counted by kind and told in one sentence for each kind."""

from __future__ import annotations

__all__ = ["KINDS", "Notes", "sentence"]

_SENTENCES: dict[str, tuple[str, str]] = {
    "clamped": ("1 box was out of range and is clamped", "{n} boxes were out of range and are clamped"),
    "swapped": ("1 box had its corners swapped and is turned", "{n} boxes had their corners swapped and are turned"),
    "stray": (
        "1 box held stray characters; its four numbers are kept",
        "{n} boxes held stray characters; their four numbers are kept",
    ),
    "rounded": ("1 box had decimals and is rounded", "{n} boxes had decimals and are rounded"),
    "fractions": (
        "1 box was in fractions of the page and is scaled",
        "{n} boxes were in fractions of the page and are scaled",
    ),
    "several": (
        "1 tag holds several boxes; the block gets the one around them",
        "{n} tags hold several boxes; their blocks get the one around them",
    ),
    "unreadable": (
        "1 box cannot be read; its block has no place on the page",
        "{n} boxes cannot be read; their blocks have no place on the page",
    ),
    "no_box": ("1 block came without a box", "{n} blocks came without a box"),
    "no_label": (
        "1 block came without a label and counts as text",
        "{n} blocks came without a label and count as text",
    ),
    "no_close": ("1 tag was not closed and is mended", "{n} tags were not closed and are mended"),
    "no_open": ("1 tag was not opened and is mended", "{n} tags were not opened and are mended"),
    "literal": (
        "1 tag or page mark stands in the text and is kept as text",
        "{n} tags or page marks stand in the text and are kept as text",
    ),
    "end_inside": (
        "The answer went on behind its end mark; the mark is taken out",
        "The answer went on behind {n} end marks; the marks are taken out",
    ),
    "doubled": ("1 mark of a tag came twice and counts once", "{n} marks of tags came twice and count once"),
    "foreign": (
        "1 box was in digits or brackets of another script and is read as ours",
        "{n} boxes were in digits or brackets of another script and are read as ours",
    ),
    "spelling": (
        "1 label was spelled otherwise and is read as the known one",
        "{n} labels were spelled otherwise and are read as the known ones",
    ),
    "fence": (
        "The answer stood in a code fence, which is taken off",
        "The answer stood in {n} code fences, which are taken off",
    ),
    "residue": (
        "Marks of a chat template stood at the end of the answer and are taken out",
        "Marks of a chat template stood at the end of the answer and are taken out",
    ),
    "picture": (
        "1 link to a picture that only the engine has is taken out",
        "{n} links to pictures that only the engine has are taken out",
    ),
    "illegible": (
        "1 place has text that the engine could not read ([Unreadable])",
        "{n} places have text that the engine could not read ([Unreadable])",
    ),
    "control": (
        "1 control character is replaced by U+FFFD",
        "{n} control characters are replaced by U+FFFD",
    ),
    "surface_text": (
        "1 stretch of byte-level text is decoded",
        "{n} stretches of byte-level text are decoded",
    ),
    "nothing": (
        "1 mark for a place without text, such as [Non-Text], is taken out",
        "{n} marks for places without text, such as [Non-Text], are taken out",
    ),
    "open_table": ("1 table was not closed", "{n} tables were not closed"),
    "surface_mark": (
        "1 byte-level mark (Ċ or Ġ) is read as the space it stands for",
        "{n} byte-level marks (Ċ or Ġ) are read as the spaces they stand for",
    ),
    "surface": (
        "The answer came in byte-level form and is decoded",
        "The answer came in byte-level form and is decoded",
    ),
    "half": (
        "1 lone half of a surrogate pair is no character and is replaced by U+FFFD",
        "{n} lone halves of surrogate pairs are no characters and are replaced by U+FFFD",
    ),
    "unfinished": (
        "The answer ends inside a tag; the unfinished tag is left out",
        "The answer ends inside a tag; the unfinished tag is left out",
    ),
}
KINDS = tuple(_SENTENCES)
"""Every kind of repair."""

_LISTED = 8


def sentence(kind: str, n: int) -> str:
    """What `n` repairs of `kind` are called."""
    one, many = _SENTENCES[kind]
    return f"{one if n == 1 else many.format(n=f'{n:,}')}."


class Notes:
    """Repairs of one page, by kind, with the numbers (from 1) of the blocks they concern."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._blocks: dict[str, list[int]] = {}

    def add(self, kind: str, block: int = 0, times: int = 1) -> None:
        """Count a repair of `kind` (a key of the table of sentences), of block number `block` if that is known."""
        self._counts[kind] = self._counts.get(kind, 0) + times
        if block:
            blocks = self._blocks.setdefault(kind, [])
            if len(blocks) <= _LISTED and block not in blocks:
                blocks.append(block)

    def has(self, kind: str) -> bool:
        """Whether a repair of `kind` was counted."""
        return kind in self._counts

    def sentences(self) -> tuple[str, ...]:
        """One sentence for each kind, in the order in which the kinds came up."""
        return tuple(self._sentence(kind, n) for kind, n in self._counts.items())

    def _sentence(self, kind: str, n: int) -> str:
        told = sentence(kind, n)
        blocks = self._blocks.get(kind, [])
        if not blocks:
            return told
        names = ", ".join(str(block) for block in blocks[:_LISTED])
        more = ", ..." if len(blocks) > _LISTED else ""
        return f"{told[:-1]} (block{'' if len(blocks) == 1 else 's'} {names}{more})."
