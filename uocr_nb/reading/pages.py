"""From an answer to a page: grammar, verdict and scores put together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.halves import without_halves
from uocr_nb.document.model import Block, Page, Status
from uocr_nb.document.verdict import judge
from uocr_nb.reading.parse import join_pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.reading.client import Answer
    from uocr_nb.sources import PageImage, RenderSpec

__all__ = ["better", "page_from_answer", "page_without_answer"]


def page_from_answer(
    position: int, image: PageImage, spec: RenderSpec, answer: Answer, *, max_tokens: int | None
) -> Page:
    """The page that `answer` describes; `image` is the one that was sent."""
    parsed = parse_answer(answer.text)
    page = parsed[0] if len(parsed) == 1 else join_pages(parsed)
    joined = (
        (f"The answer spoke of {len(parsed)} pages for one page image; they are joined.",) if len(parsed) > 1 else ()
    )
    verdict = judge(page, raw=answer.text, finish_reason=answer.finish_reason, max_tokens=max_tokens)
    status, reason = verdict.status, verdict.reason
    if answer.finish_reason == "loop" and status is not Status.LOOPING:
        status, reason = Status.LOOPING, "The answer began to repeat itself and was cut there."
    if answer.finish_reason == "cut" and status is not Status.LOOPING:
        status, reason = Status.TRUNCATED, "The connection ended before the answer did."
    return replace(
        page_without_answer(position, image, spec, status, reason),
        blocks=_with_confidence(verdict.blocks, answer),
        warnings=(*image.notes, *joined, *page.warnings, *verdict.warnings),
        raw=without_halves(answer.text),
        tokens=answer.tokens,
        seconds=answer.seconds,
        finish_reason=answer.finish_reason,
    )


def page_without_answer(position: int, image: PageImage, spec: RenderSpec, status: Status, reason: str) -> Page:
    """A page whose image is known and whose answer is not."""
    return Page(
        position=position,
        number=image.number,
        source=image.source.name,
        size=image.size,
        status=status,
        reason=reason,
        warnings=image.notes,
        dpi=image.dpi,
        sha256=image.sha256,
        image_file=image.file,
        origin=(image.source, spec),
    )


def better(first: Page, second: Page) -> Page:
    """Of two readings of one page the one to keep: ok before not ok, then the one with more text."""

    def worth(page: Page) -> tuple[bool, int]:
        return page.status is Status.OK, sum(len(block.text) for block in page.blocks)

    return second if worth(second) >= worth(first) else first


def _with_confidence(blocks: Sequence[Block], answer: Answer) -> tuple[Block, ...]:
    """Blocks with the mean score of the pieces that make up their text."""
    if not answer.scores:
        return tuple(blocks)
    starts: list[int] = []
    at = 0
    for piece, _ in answer.scores:
        starts.append(at)
        at += len(piece)
    text = without_halves(answer.text)
    if at != len(text):
        return tuple(blocks)
    scored: list[Block] = []
    after = entry = 0
    for block in blocks:
        found = text.find(block.text, after) if block.text else -1
        if found < 0:
            scored.append(block)
            continue
        after = found + len(block.text)
        weight = total = 0.0
        while entry < len(starts) and starts[entry] + len(answer.scores[entry][0]) <= found:
            entry += 1
        look = entry
        while look < len(starts) and starts[look] < after:
            piece, score = answer.scores[look]
            overlap = min(after, starts[look] + len(piece)) - max(found, starts[look])
            weight += overlap
            total += overlap * score
            look += 1
        scored.append(replace(block, confidence=round(total / weight, 4)) if weight else block)
    return tuple(scored)
