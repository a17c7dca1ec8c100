"""An answer's text made into a document, without an engine and without page images."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.grammar import ParsedPage, parse_answer
from uocr_nb.document.halves import without_halves
from uocr_nb.document.model import Document, Page, Status
from uocr_nb.document.verdict import judge
from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["join_pages", "parse"]

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
    wanted = None if pages is None else _count(pages)
    parsed = parse_answer(answer)
    answer = without_halves(answer)
    ends = [page.start for page in parsed[1:]] + [len(answer)]
    warnings: list[str] = []
    if wanted is None:
        wanted = min(len(parsed), _MOST_PAGES)
        if wanted < len(parsed):
            warnings.append(
                f"The answer opens {len(parsed):,} pages; what is beyond page {wanted:,} is left out. "
                "With pages=... as many are kept as it says."
            )
    elif wanted == 1 and len(parsed) > 1:
        warnings.append(f"The answer opens {len(parsed)} pages for one page image; their blocks are put on one page.")
        parsed, ends = [join_pages(parsed)], ends[-1:]
    elif len(parsed) > wanted:
        warnings.append(
            f"The answer opens {len(parsed)} pages for {wanted} page images; what is beyond page {wanted} is left out."
        )
    elif len(parsed) < wanted:
        warnings.append(
            f"The answer holds {len(parsed)} page{'' if len(parsed) == 1 else 's'} for {wanted} page images; "
            "they are taken in order, and the rest is missing."
        )
    made = []
    for number, (part, end) in enumerate(zip(parsed[:wanted], ends, strict=False), 1):
        raw = answer[part.start : end]
        # Only the last page can be cut: a page mark after it shows that a page came to its end.
        finish = finish_reason if number == len(parsed) else finish_reason and "stop"
        verdict = judge(part, raw=raw, finish_reason=finish, max_tokens=max_tokens)
        made.append(
            Page(
                number,
                number,
                source,
                size,
                blocks=verdict.blocks,
                status=verdict.status,
                reason=verdict.reason,
                warnings=(*part.warnings, *verdict.warnings),
                raw=raw,
                finish_reason=finish,
            )
        )
    made += [
        Page(number, number, source, size, status=Status.MISSING, reason="The answer does not speak of this page.")
        for number in range(len(made) + 1, wanted + 1)
    ]
    return Document(made, warnings=warnings)


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


def join_pages(parsed: Sequence[ParsedPage]) -> ParsedPage:
    """One page that holds what an answer spread over several."""
    return replace(
        parsed[-1],
        blocks=tuple(block for page in parsed for block in page.blocks),
        warnings=tuple(warning for page in parsed for warning in page.warnings),
        preamble=parsed[0].preamble,
        start=parsed[0].start,
    )
