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
    "EMPTY_LIST",
    "RETRY",
    "count",
    "facts",
    "money",
    "not_ok",
    "positions",
    "retry_line",
    "shortened",
    "status_counts",
]

RETRY = "doc.retry()"

EMPTY_LIST = "list of the items above"
"""A list without a text of its own is a container that comes after its items."""

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


def money(dollars: float, *, each: bool = False) -> str:
    """US dollars with two decimals; with four when it is the price of one page (`each`)."""
    if each:
        return f"${dollars:,.4f}"
    if 0 < dollars < 0.01:
        return "under $0.01"
    return f"${dollars:,.2f}"


def positions(pages: Iterable[Page], most: int = 6) -> str:
    """Positions of pages, in brackets after their count: ``4, 9``."""
    numbers = [str(page.position) for page in pages]
    return ", ".join(numbers[:most]) + (f" and {len(numbers) - most} more" if len(numbers) > most else "")


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
