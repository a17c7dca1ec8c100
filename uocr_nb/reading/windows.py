"""How many pages a request, where several are asked for at once, and which are asked for again.

Everything here is arithmetic on places: a window is a `range` of indices into the pages of a call.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from uocr_nb.document.model import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from uocr_nb.document.grammar import ParsedPage

__all__ = ["AnswerLength", "Split", "answer_room", "pages_opened", "plan_windows", "split"]

PAGES = 8
"""Most pages of a request when nobody says (the model's paper: edit distance 0.036 at 2 pages, 0.053 at 10, 0.079 at
15)."""

CONTEXT = 32_768
"""Tokens that the model takes, request and answer together."""

PAGE_TOKENS = 273
"""Tokens of a page image in the mode base, the largest that takes several pages (16 rows of 17, and one)."""

OUTPUT_TOKENS = 1_500
"""Tokens that the answer for one page is taken to need, before any was seen."""

MULTI_TOKENS = 16_384
"""Most tokens of the answer of a window."""

_WORDS = 64
"""Tokens left for the prompt's words and the marks round them."""

_MARGIN = 1.25
"""Answers are planned so much longer than the mean: a window that ends too early costs a second request."""

_PRIOR = 8
"""Pages that `OUTPUT_TOKENS` counts for beside those that were seen."""


class AnswerLength:
    """How long the answer for a page is, learnt from the answers of a run."""

    def __init__(self, expected: int = OUTPUT_TOKENS) -> None:
        self._tokens = _PRIOR * expected / _MARGIN
        self._pages = _PRIOR

    def saw(self, pages: int, tokens: int | None) -> None:
        """Learn from an answer of `tokens` tokens that came whole for `pages` pages."""
        if pages > 0 and tokens is not None:
            self._pages += pages
            self._tokens += tokens

    @property
    def per_page(self) -> int:
        """Tokens to plan for one page."""
        return max(1, round(_MARGIN * self._tokens / self._pages))


def plan_windows(
    pages: int | Sequence[int],
    *,
    groups: Sequence[Hashable] | None = None,
    most: int = PAGES,
    context: int = CONTEXT,
    page_tokens: int = PAGE_TOKENS,
    output_tokens: int = OUTPUT_TOKENS,
    max_tokens: int = MULTI_TOKENS,
) -> list[range]:
    """Cut the pages of a call into windows, as few as possible and as even as possible.

    Parameters
    ----------
    pages : int or sequence of int
        How many pages there are, or the tokens of each page image.
    groups : sequence, optional
        For each page what it belongs to; only neighbours of one group share a window. One group by default.
    most : int
        Most pages of a window.
    context : int
        Tokens that the engine takes, request and answer together.
    page_tokens : int
        Tokens of each page image, where `pages` is a number.
    output_tokens : int
        Tokens that the answer for one page is taken to need, see `AnswerLength`.
    max_tokens : int
        Most tokens of an answer.

    Returns
    -------
    list of range
        In page order; every page is in exactly one. A page that is too much by itself has a window of its own.
    """
    images = [page_tokens] * pages if isinstance(pages, int) else list(pages)

    def fits(window: range) -> bool:
        output = len(window) * output_tokens
        request = _WORDS + sum(images[window.start : window.stop])
        return len(window) <= max(1, most) and output <= max_tokens and request + output <= context

    windows: list[range] = []
    for run in _runs(groups or [None] * len(images)):
        greedy = list(_greedy(run, fits))
        even = _even(run, len(greedy))
        windows += even if all(len(window) == 1 or fits(window) for window in even) else greedy
    return windows


def _runs(groups: Sequence[Hashable]) -> Iterator[range]:
    start = 0
    for _, members in groupby(groups):
        stop = start + len(list(members))
        yield range(start, stop)
        start = stop


def _greedy(run: range, fits: Callable[[range], bool]) -> Iterator[range]:
    start = run.start
    for stop in run:
        if stop > start and not fits(range(start, stop + 1)):
            yield range(start, stop)
            start = stop
    yield range(start, run.stop)


def _even(run: range, count: int) -> list[range]:
    """`run` in `count` parts whose lengths differ by one at most, the longer ones first."""
    each, longer = divmod(len(run), count)
    starts = [run.start + n * each + min(n, longer) for n in range(count + 1)]
    return [range(start, stop) for start, stop in pairwise(starts)]


def answer_room(images: Sequence[int], *, context: int = CONTEXT, max_tokens: int = MULTI_TOKENS) -> int:
    """Most tokens to ask for in the answer of a window whose page images take these tokens.

    An engine may refuse a request whose answer could go beyond the context (vLLM 0.25 does).
    """
    return max(1, min(max_tokens, context - _WORDS - sum(images)))


def pages_opened(parsed: Sequence[ParsedPage], count: int) -> int:
    """How many pages an answer to `count` page images speaks of; page marks at its end with nothing behind are none."""
    opened = len(parsed)
    while opened > count and not parsed[opened - 1].blocks:
        opened -= 1
    return opened


class Split(NamedTuple):
    """What is done with the answer of a window: the pages that are kept, and the windows to ask for again."""

    kept: range
    again: tuple[range, ...]


def split(window: range, statuses: Sequence[Status], *, opened: int, stopped: bool) -> Split:
    """Decide what of a window's answer is kept and what is asked for again.

    Where the number of pages in the answer is not that of the window, although the engine came to an end by itself,
    nobody can tell which page it left out or cut in two, and everything is asked for again. Else what stands before the
    first page that is not ok is kept: the mark of the next page shows that each of them came to its end, and in its
    place. What stands behind is asked for again, since an engine that said a page twice has shifted all that follow.

    Asking again until nothing is left takes at most 2 n - 1 requests for n pages, the first one counted, and each page
    is kept exactly once: a window of one page is kept whatever its status.

    Parameters
    ----------
    window : range
        The pages that were asked for.
    statuses : sequence of Status
        The verdict on each of them.
    opened : int
        How many pages the answer speaks of, see `pages_opened`.
    stopped : bool
        Whether the engine came to an end by itself, rather than by a limit, a loop or a lost connection.
    """
    count = len(window)
    if count == 1:
        return Split(window, ())
    good = next((n for n, status in enumerate(statuses) if status is not Status.OK), count)
    if opened > count or (opened < count and stopped):
        good = 0
        culprit = False
    else:
        # Cut off by a limit, a page is only the one that came last; alone with all the room, it is too long.
        culprit = good < count and (
            statuses[good] is not Status.MISSING and (good == 0 or statuses[good] is not Status.TRUNCATED)
        )
    first = window.start + good
    kept, rest = range(window.start, first), range(first, window.stop)
    again: list[range] = []
    if culprit:
        again.append(rest[:1])
        rest = rest[1:]
    if rest:
        # A window of which nothing could be kept is not tried again at its full length.
        again += _even(rest, min(2, len(rest))) if good == 0 else [rest]
    return Split(kept, tuple(again))
