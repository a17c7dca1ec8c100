"""An answer's text made into a document, without an engine and without page images."""

from __future__ import annotations

import operator

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Document, Page
from uocr_nb.document.parts import parts_of
from uocr_nb.errors import OptionError

__all__ = ["parse"]

_MOST_PAGES = 1_000
"""Where nobody says how many page images it is about: an engine that runs wild may open a page every six characters."""


def parse(
    answer: str,
    pages: int | None = None,
    *,
    source: str = "answer",
    size: tuple[int, int] = (1000, 1414),
    finish_reason: str | None = None,
    max_tokens: int | None = None,
) -> Document:
    """Read an answer's text into a document.

    Parameters
    ----------
    answer : str
        What an engine answered: tagged or stripped, whole or cut.
    pages : int, optional
        How many page images it is about; so many pages come out. Those the answer does not speak of are ``missing``;
        what it says beyond them is left out, with a warning, but for a single page image, whose page takes everything.
        Without it, there are as many pages as the answer holds, at least one and at most 1,000.
    source : str
        Name to give to the source.
    size : tuple of int
        Pixels (width, height) to give to the pages; an upright A4 page by default, as boxes count in shares of it.
    finish_reason, max_tokens
        As the engine gave and the request asked, where they are known.

    Returns
    -------
    Document
        Each page's `raw` is its own part of the answer.

    Raises
    ------
    OptionError
        When `answer` is no text, or `pages` is no number from 1 up.
    """
    if not isinstance(answer, str):
        raise OptionError(
            f"An answer of type {type(answer).__name__} cannot be parsed.",
            "An answer is the text that an engine wrote, a str.",
            'uocr_nb.parse("<|det|>text [100, 100, 900, 200]<|/det|>Hello")',
        )
    parsed = parse_answer(answer)
    wanted = min(len(parsed), _MOST_PAGES) if pages is None else _count(pages)
    split = parts_of(answer, wanted, finish_reason=finish_reason, max_tokens=max_tokens, parsed=parsed)
    warning = split.warning
    if pages is None and wanted < len(parsed):
        warning = (
            f"The answer opens {len(parsed):,} pages; what is beyond page {wanted:,} is left out. "
            "With pages=... as many are kept as it says."
        )
    made = [
        Page(
            number,
            number,
            source,
            size,
            blocks=part.verdict.blocks,
            status=part.verdict.status,
            reason=part.verdict.reason,
            warnings=part.warnings,
            raw=part.raw,
            finish_reason=part.finish_reason,
        )
        for number, part in enumerate(split.parts, 1)
    ]
    return Document(made, warnings=[warning] if warning else [])


def _count(pages: int) -> int:
    try:
        count = operator.index(pages)
    except TypeError:
        count = 0
    if count < 1:
        raise OptionError(
            f"pages={pages!r} is no number of pages.",
            "It says how many page images the answer is about: a whole number, at least 1.",
            "uocr_nb.parse(answer, pages=2)",
        )
    return count
