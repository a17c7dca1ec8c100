"""Numbers with their units, and other small pieces of text that every view shares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.model import Status
from uocr_nb.support.durations import show_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uocr_nb.document.model import Block, Page

__all__ = [
    "BLANK",
    "BY_SOURCE",
    "DOUBTS",
    "EMPTY_LIST",
    "IN_DOUBT",
    "MOST_WARNINGS",
    "RETRY",
    "SAVE_ALL",
    "alike",
    "count",
    "doubts",
    "facts",
    "in_doubt",
    "is_blank",
    "money",
    "not_ok",
    "pages_by_source",
    "percent",
    "places",
    "positions",
    "reason_of",
    "retry_line",
    "shortened",
    "source_place",
    "status_counts",
    "summary_line",
    "tries_line",
    "tries_title",
    "warnings_of",
]

RETRY = "doc.retry()"

EMPTY_LIST = "list of the items above"
"""A list without a text of its own is a container that comes after its items."""

MOST_WARNINGS = 5
"""Warnings of a document or a page that are shown; how many more there are is said."""

BLANK = "blank, not asked"
"""The note of a page that was known to be blank before asking."""

IN_DOUBT = 0.9
"""Confidence below which a block is in doubt, as `Document.doubtful` has it."""

DOUBTS = "doc.doubtful()"
BY_SOURCE = "doc.by_source()"
SAVE_ALL = 'doc.save("document.html")'
"""Lines that show or do more, to be pasted."""

_PLAIN_REASONS = {
    Status.EMPTY: "The model found nothing here.",
    Status.UNBOXED: "The text came without places on the page.",
    Status.MISSING: "No answer came for this page.",
}
"""For pages that carry no reason of their own."""

_ORDER = (
    Status.OK,
    Status.LOOPING,
    Status.TRUNCATED,
    Status.EMPTY,
    Status.UNBOXED,
    Status.MISSING,
    Status.FAILED,
)


def count(number: int, noun: str) -> str:
    """``1 page``, ``1,087 tokens``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(agreement: float, digits: int = 0) -> str:
    """``97.1 %``; what is not wholly the same is never 100 %, and what has something in common never 0 %."""
    least = 0.1**digits
    value = agreement * 100
    shown = value if value in (0, 100) else min(max(value, least), 100 - least)
    return f"{shown:.{digits}f} %"


def money(dollars: float, *, each: bool = False) -> str:
    """US dollars with two decimals; with four when it is the price of one page (`each`)."""
    if each:
        return f"${dollars:,.4f}"
    if 0 < dollars < 0.01:
        return "under $0.01"
    return f"${dollars:,.2f}"


def positions(pages: Iterable[Page], most: int = 6) -> str:
    """Positions of pages, in brackets after their count, runs of them as ``--pages`` takes them: ``4, 9, 12-20``."""
    numbers = [page.position for page in pages]
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    # Two that follow each other are no run.
    parts = [[span] if len(span) > 2 else [[number] for number in span] for span in spans]
    flat = [span for part in parts for span in part]
    said = [f"{span[0]}-{span[-1]}" if len(span) > 1 else str(span[0]) for span in flat[:most]]
    left = sum(map(len, flat[most:]))
    return ", ".join(said) + (f" and {left:,} more" if left else "")


def alike(pages: Iterable[Page]) -> list[list[Page]]:
    """Group pages that follow each other and share their source, status and reason, three at least; others alone."""
    groups: list[list[Page]] = []
    for page in pages:
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and last.position + 1 == page.position
            and (last.source, last.status, last.reason) == (page.source, page.status, page.reason)
        ):
            groups[-1].append(page)
        else:
            groups.append([page])
    return [part for group in groups for part in ([group] if len(group) > 2 else [[page] for page in group])]


def not_ok(pages: Iterable[Page]) -> list[Page]:
    """Pick the pages that need a person."""
    return [page for page in pages if page.status is not Status.OK]


def status_counts(pages: Sequence[Page]) -> list[tuple[Status, str]]:
    """Say of each status that occurs: ``12 ok``, ``1 looping (4)``."""
    said = []
    for status in _ORDER:
        those = [page for page in pages if page.status is status]
        if those:
            where = "" if status is Status.OK else f" ({positions(those)})"
            said.append((status, f"{len(those):,} {status}{where}"))
    return said


def summary_line(pages: Sequence[Page]) -> str:
    """``57 ok, 2 looping (p. 12, 40), 1 failed (p. 7: No answer in 3 tries)``: the reason where there is but one."""
    said = []
    for status in _ORDER:
        those = [page for page in pages if page.status is status]
        if not those:
            continue
        where = ""
        if status is not Status.OK:
            why = f": {reason_of(those[0]).rstrip('.')}" if len(those) == 1 else ""
            where = f" (p. {positions(those)}{why})"
        said.append(f"{len(those):,} {status}{where}")
    return ", ".join(said)


def reason_of(page: Page) -> str:
    """Why a page is not ok, on one line."""
    return " ".join(page.reason.split()) or _PLAIN_REASONS.get(page.status, f"The page is {page.status}.")


def source_place(group: Sequence[Page], pages: Sequence[Page]) -> str:
    """Where pages stand among several sources, and what one is called there: ``b.pdf, page 2``; else nothing."""
    page = group[0]
    parts = []
    if any(other.source != page.source for other in pages):
        parts.append(page.source)
        if len(group) > 1:
            parts.append(f"pages {page.number:,} to {group[-1].number:,}")
        elif sum(other.source == page.source for other in pages) > 1 or page.number > 1:
            parts.append(f"page {page.number:,}")
    if page.name and len(group) == 1:
        parts.append(page.name)
    return ", ".join(parts)


def places(group: Sequence[Page]) -> str:
    """``page 23``, ``pages 101 to 1,000``."""
    first, last = group[0].position, group[-1].position
    return f"page {first:,}" if len(group) == 1 else f"pages {first:,} to {last:,}"


def pages_by_source(pages: Iterable[Page]) -> dict[str, list[Page]]:
    """Group pages by their source, in the order of the sources."""
    groups: dict[str, list[Page]] = {}
    for page in pages:
        groups.setdefault(page.source, []).append(page)
    return groups


def tries_line(page: Page) -> str:
    """``asked twice; the better answer is kept``, or nothing."""
    asked = len(page.tries)
    if asked < 2:  # the first try is no second one
        return ""
    if asked == 2:  # twice
        return "asked twice; the better answer is kept"
    return f"asked {asked} times; the best answer is kept"


def tries_title(page: Page) -> str:
    """What the tries ended in: ``looping (gundam), then ok (base)``."""
    return ", then ".join(f"{one.status} ({one.mode})" if one.mode else str(one.status) for one in page.tries)


def is_blank(page: Page) -> bool:
    """Tell whether a page was known to be blank, and so not asked."""
    return page.status is Status.OK and BLANK in page.warnings


def warnings_of(page: Page) -> list[str]:
    """Warnings of a page but the note that it is blank, which is no trouble."""
    return [text for text in page.warnings if text != BLANK or not is_blank(page)]


def in_doubt(block: Block) -> bool:
    """Tell whether the engine was not sure of a block's text."""
    return block.confidence is not None and block.confidence < IN_DOUBT


def doubts(pages: Iterable[Page]) -> int:
    """Count the blocks in doubt."""
    return sum(in_doubt(block) for page in pages for block in page.blocks)


def retry_line(pages: Sequence[Page]) -> str:
    """``Run the 2 again: doc.retry()``, or nothing when all is well."""
    bad = len(not_ok(pages))
    if not bad:
        return ""
    return f"Run it again: {RETRY}" if bad == 1 else f"Run the {bad:,} again: {RETRY}"


def facts(page: Page) -> list[str]:
    """Say what a page took: tokens and time, as far as they are known."""
    said = []
    if page.tokens is not None:
        said.append(count(page.tokens, "token"))
    if page.seconds is not None:
        said.append(show_seconds(page.seconds))
    return said


def shortened(page: Page, characters: int) -> Page:
    """Keep the blocks at the head of a page up to so many characters, the last one cut; for what is cut anyway."""
    kept: list[Block] = []
    for block in page.blocks:
        if characters <= 0:
            break
        kept.append(block if len(block.text) <= characters else replace(block, text=block.text[:characters]))
        characters -= len(block.text)
    return page if len(kept) == len(page.blocks) and characters >= 0 else replace(page, blocks=tuple(kept))
