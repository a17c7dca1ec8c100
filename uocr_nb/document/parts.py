"""An answer cut into one part for each page image, whatever number of pages it speaks of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uocr_nb.document.grammar import ParsedPage, parse_answer
from uocr_nb.document.halves import without_halves
from uocr_nb.document.model import Status
from uocr_nb.document.verdict import Verdict, judge, why_unreached

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Part", "Parts", "join_pages", "parts_of"]

_SAME_PAGE = 200
"""Characters of text from which on two pages cannot say the same in the same places by chance."""


@dataclass(frozen=True, slots=True)
class Part:
    """What an answer says of one page image.

    Attributes
    ----------
    verdict : Verdict
        Its status, reason and blocks; ``missing`` when the answer does not speak of the page.
    warnings : tuple of str
        What was mended and what is in doubt.
    raw : str
        This page's own part of the answer.
    start : int
        Where in the answer it begins.
    finish_reason : str or None
        How this part ended: as the answer did for the last one, "stop" for those before it.
    """

    verdict: Verdict
    warnings: tuple[str, ...] = ()
    raw: str = ""
    start: int = 0
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an answer in page order, and a sentence where their number is not that of the page images."""

    parts: tuple[Part, ...]
    warning: str = ""


def parts_of(
    answer: str,
    count: int,
    *,
    finish_reason: str | None = None,
    max_tokens: int | None = None,
    blank: Sequence[bool] = (),
    alike: Sequence[bool] = (),
    parsed: Sequence[ParsedPage] | None = None,
) -> Parts:
    """Exactly `count` parts of `answer`, taken in order.

    What a page prints as its number is never looked at: it is not its place in the source. Pages beyond `count` are
    left out with a warning, but for a single page image, which takes everything; pages that the answer does not come
    to are ``missing``.

    Parameters
    ----------
    answer : str
        The text of the engine.
    count : int
        How many page images it is about, at least 1.
    finish_reason, max_tokens
        As in `judge`.
    blank : sequence of bool
        For each page image whether it holds nothing but paper.
    alike : sequence of bool
        For each page image whether it is the same picture as the one before. Where it is known not to be, a page that
        says the same as the one before, place by place, is ``looping``; where nothing is known there is a warning.
    parsed : sequence of ParsedPage, optional
        The pages of `answer`, where they have been read already.
    """
    parsed = list(parsed or parse_answer(answer))
    answer = without_halves(answer)
    ends = [page.start for page in parsed[1:]] + [len(answer)]
    warning = _mismatch(parsed, count)
    if count == 1:
        parsed, ends = [join_pages(parsed)], ends[-1:]
    last = len(parsed)
    parts = []
    for number, (page, end) in enumerate(zip(parsed[:count], ends, strict=False)):
        raw = answer[page.start : end]
        # Only the last page can be cut: a page mark after it shows that a page came to its end.
        finish = finish_reason if number == last - 1 else finish_reason and "stop"
        verdict = judge(
            page, raw=raw, finish_reason=finish, max_tokens=max_tokens, blank=number < len(blank) and blank[number]
        )
        again = number > 0 and _says_the_same(parsed[number - 1], page)
        doubts: tuple[str, ...] = ()
        if again and number < len(alike) and not alike[number] and verdict.status is Status.OK:
            verdict = replace(
                verdict,
                status=Status.LOOPING,
                reason="The answer gives the page before once more, block by block in the same places.",
            )
        elif again and number >= len(alike):
            doubts = ("This page says the same as the one before, block by block in the same places.",)
        parts.append(Part(verdict, (*page.warnings, *verdict.warnings, *doubts), raw, page.start, finish))
    missing = Part(Verdict(Status.MISSING, why_unreached(len(parsed), count, finish_reason, max_tokens)))
    return Parts((*parts, *[missing] * (count - len(parts))), warning)


def _mismatch(parsed: Sequence[ParsedPage], count: int) -> str:
    held = len(parsed)
    if held == count:
        return ""
    pages = f"{held:,} page{'' if held == 1 else 's'}"
    if count == 1:
        return f"The answer opens {pages} for one page image; their blocks are put on one page."
    if held < count:
        return (
            f"The answer holds {pages} for {count} page images; they are taken in order, and the rest is missing. "
            "Where the engine left a page out in the middle, those after it stand one too early."
        )
    if not any(page.blocks for page in parsed[count:]):
        more = held - count
        return f"The answer ends with {more:,} page mark{'' if more == 1 else 's'} too many; nothing stands behind."
    return f"The answer opens {pages} for {count} page images; what is beyond page {count} is left out."


def _says_the_same(one: ParsedPage, other: ParsedPage) -> bool:
    if len(one.blocks) < 2 or len(one.blocks) != len(other.blocks):
        return False
    pairs = zip(one.blocks, other.blocks, strict=True)
    same = all(a.box and (a.label, a.text, a.box) == (b.label, b.text, b.box) for a, b in pairs)
    return same and sum(len(block.text) for block in one.blocks) >= _SAME_PAGE


def join_pages(parsed: Sequence[ParsedPage]) -> ParsedPage:
    """One page that holds what an answer spread over several."""
    if len(parsed) == 1:
        return parsed[0]
    return replace(
        parsed[-1],
        blocks=tuple(block for page in parsed for block in page.blocks),
        spans=tuple(span for page in parsed for span in page.spans),
        warnings=tuple(dict.fromkeys(warning for page in parsed for warning in page.warnings)),
        preamble=parsed[0].preamble,
        start=parsed[0].start,
        dialect=next((page.dialect for page in parsed if page.blocks), parsed[0].dialect),
    )
