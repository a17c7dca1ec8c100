"""From an answer to pages: grammar, scores and verdict put together with what is known of the page images."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from uocr_nb.document.confidence import with_confidence
from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Page, Status
from uocr_nb.document.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.reading.client import Answer
    from uocr_nb.sources import PageImage, RenderSpec

__all__ = ["better", "page_without_answer", "pages_from_answer"]


def pages_from_answer(
    positions: Sequence[int],
    images: Sequence[PageImage],
    spec: RenderSpec,
    answer: Answer,
    *,
    max_tokens: int | None,
) -> list[Page]:
    """The pages that `answer` describes, one for each of the `images` that were sent together.

    Parameters
    ----------
    positions : sequence of int
        Place of each page in the document.
    images : sequence of PageImage
        In the order in which they were sent.
    spec : RenderSpec
        How they were rendered.
    answer : Answer
        What the engine returned for all of them.
    max_tokens : int or None
        The limit that was asked for.

    Returns
    -------
    list of Page
        As many as there are images. Each has its own part of the answer as `raw` and its share of the tokens; a page
        that the answer does not come to is ``missing``.
    """
    parsed = with_confidence(parse_answer(answer.text), answer.text, answer.scores)
    split = parts_of(
        answer.text,
        len(images),
        finish_reason=answer.finish_reason,
        max_tokens=max_tokens,
        blank=[image.blank for image in images],
        alike=[False, *(one.sha256 == two.sha256 for one, two in pairwise(images))],
        parsed=parsed,
    )
    told = (split.warning,) if split.warning else ()
    shares = _shares(answer.tokens, [len(part.raw) for part in split.parts])
    pages = []
    for position, image, part, tokens in zip(positions, images, split.parts, shares, strict=True):
        page = page_without_answer(position, image, spec, part.verdict.status, part.verdict.reason)
        if part.verdict.status is not Status.MISSING:
            page = replace(
                page,
                blocks=part.verdict.blocks,
                warnings=(*image.notes, *told, *part.warnings),
                raw=part.raw,
                finish_reason=part.finish_reason,
            )
        pages.append(replace(page, tokens=tokens, seconds=answer.seconds))
    return pages


def _shares(tokens: int | None, lengths: Sequence[int]) -> list[int | None]:
    """`tokens` shared out by length, so that the shares add up."""
    if tokens is None:
        return [None] * len(lengths)
    whole = sum(lengths)
    if not whole:
        return [tokens, *[0] * (len(lengths) - 1)]
    ends = [round(tokens * sum(lengths[: n + 1]) / whole) for n in range(len(lengths))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


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
        name=image.name,
        image_file=image.file,
        origin=(image.source, spec),
    )


def better(first: Page, second: Page) -> Page:
    """Of two readings of one page the one to keep: ok before not ok, then the one with more text."""

    def worth(page: Page) -> tuple[bool, int]:
        return page.status is Status.OK, sum(len(block.text) for block in page.blocks)

    return second if worth(second) >= worth(first) else first
