"""Finding text that goes round in circles, in time linear in its length (but for a logarithm).

What a page really repeats must not be taken for a loop: 1 to 365, a timetable, a form of many equal rows. So the limits
below lie beyond what fits on a page, or ask for something no page has, such as the same text twice in the same place.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

from uocr_nb.document.model import COORD_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Block, Box

__all__ = [
    "BlockRun",
    "LoopWatch",
    "Run",
    "block_run",
    "count_run",
    "is_babble",
    "is_squeezed",
    "one_mark",
    "shows_text",
    "tail_run",
    "visible",
]

SQUEEZE_CHARS, SQUEEZE_SHARE = 5_000, 0.05
"""Text longer than this that zlib brings under this share of its size is a loop (measured over 1,651 pages,
AIwork4me/Unlimited-OCR-ROCm; a ratio of distinct tokens made 146 false cuts there)."""

FULL_PAGE = 10_000
"""The same for an answer that came to its end by itself: one sentence written a hundred times fills a page."""

COUNT_STEPS = 600
"""An unfinished answer that ends by counting this far is a loop; the days of a year are not."""

SAME_BLOCKS = 100
"""An unfinished answer whose last blocks say the same, so many of them, is a loop wherever they stand."""

_SAME_PLACES = 12
"""Blocks in a row that have the very same box, whatever they say: no page has that."""

_SAME_AGAIN = 8
"""Blocks in a row that came before with the same text in the very same box."""

_TAGS = re.compile(r"<[^<>]*>")
_CUT_TAG = re.compile(r"\A[^<>]*>|<[^<>]*\Z")
_NUMBER = re.compile(r"[0-9]{1,9}")
_COUNT_WINDOW = 18_000
_PROBE = 48
_ONE_MARK = 3_000
_TRIES = 8
_LONGEST_UNIT = 8_000
_BLOCK_UNIT = 12
_SAME_PLACE = 0.5
_WHOLE_PAGE = (0, 0, COORD_MAX, COORD_MAX)
_LEADER = re.compile(r"(.)\1{3,}", re.DOTALL)


class Run(NamedTuple):
    """The end of a text that repeats one unit: where it starts, how long the unit is, how often it comes."""

    start: int
    unit: int
    times: float


class BlockRun(NamedTuple):
    """Blocks that repeat: index of the first block that was there before, and of the first after them.

    `unit` is how many blocks repeat together, 0 where only their place does.
    """

    start: int
    stop: int
    unit: int


def visible(text: str) -> str:
    """Text without the tags of tables: empty rows of a form hold nothing that could be in a loop."""
    return _TAGS.sub("", text)


def tail_run(text: str) -> Run | None:
    """The longest run of one repeated unit that the end of `text` is part of."""
    if len(text) < 2 * _PROBE:
        return None
    probe, best = text[-_PROBE:], None
    at = len(text) - _PROBE
    for _ in range(_TRIES):
        at = text.rfind(probe, max(0, len(text) - _PROBE - _LONGEST_UNIT), at + _PROBE - 1)
        if at < 0:
            break
        unit = len(text) - _PROBE - at
        start = len(text) - unit - _common_end(text[:-unit], text[unit:])
        run = Run(start, unit, (len(text) - start) / unit)
        if best is None or run.start < best.start:
            best = run
    return best if best and best.times >= 2 else None


def _common_end(one: str, other: str) -> int:
    """How many characters two texts of one length share at their ends."""
    low, high = 0, len(one)
    if one == other:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[-middle:] == other[-middle:]:
            low = middle
        else:
            high = middle
    return low


def is_squeezed(text: str, chars: int = SQUEEZE_CHARS) -> bool:
    """Whether zlib finds next to nothing in a text of over `chars`; dotted lines and their like count for little."""
    if len(text) <= chars:
        return False
    data = _LEADER.sub(r"\1\1\1", text).encode("utf-8", "replace")
    return len(data) > chars and len(zlib.compress(data, 1)) < SQUEEZE_SHARE * len(data)


def one_mark(text: str) -> int | None:
    """Where the end of `text` becomes nothing but one character, thousands of times; None when it does not."""
    kept = text.rstrip(text[-1:])
    return len(kept) if len(text) - len(kept) >= _ONE_MARK else None


def is_babble(text: str, chars: int = 1_000) -> bool:
    """Whether the last `chars` of `text` are a few marks without a letter or a number."""
    tail = text[-chars:]
    return len(tail) == chars and not any(map(str.isalnum, tail)) and len(set(tail)) <= 10


def count_run(text: str, steps: int = COUNT_STEPS) -> int | None:
    """Where the end of `text` begins to do nothing but count, when it does so for at least `steps` steps.

    Counting is the same words around numbers that change by equal steps (of at most ten), in a round of up to eight.
    """
    offset = max(0, len(text) - _COUNT_WINDOW)
    tail = text[offset:]
    words = _NUMBER.split(tail)
    found = list(_NUMBER.finditer(tail))
    numbers = [int(match[0]) for match in found]
    for unit in range(1, 9):
        counted = 0
        at = len(numbers) - 2  # the last number may be cut
        while at > 2 * unit:
            step = numbers[at] - numbers[at - unit]
            if words[at] != words[at - unit] or step != numbers[at - unit] - numbers[at - 2 * unit] or abs(step) > 10:
                break
            counted += step != 0
            at -= 1
        if counted >= steps:
            return offset + found[at].start()
    return None


def shows_text(text: str, run: Run) -> bool:
    """Whether the repeated unit, which may begin in the middle of a tag, holds text and not only empty cells."""
    unit = text[len(text) - run.unit :]
    return bool(visible(_CUT_TAG.sub("", unit + unit)).strip())


def block_run(blocks: Sequence[Block], *, unfinished: bool) -> BlockRun | None:
    """The first blocks that come again in the same place, at least three times over.

    Equal text alone is no loop: rows of a form are equal too, but each has its own place. Only when an answer is
    `unfinished` and its last 100 blocks say the same, their places do not matter.
    """
    keys = [(block.label, block.text) for block in blocks]
    boxes = [block.box for block in blocks]
    best = min(
        (run for run in (_near_run(keys, boxes), _far_run(keys, boxes), _standing_run(boxes)) if run is not None),
        key=lambda run: run.start,
        default=None,
    )
    if best is None and unfinished and blocks:
        same = next((n for n, key in enumerate(reversed(keys)) if key != keys[-1]), len(keys))
        if same >= SAME_BLOCKS and blocks[-1].text:
            return BlockRun(len(blocks) - same + 1, len(blocks), 1)
    return best


def _near_run(keys: Sequence[tuple[str, str]], boxes: Sequence[Box | None]) -> BlockRun | None:
    """A few blocks that come again and again, in the same place or nearly so."""
    best: BlockRun | None = None
    for unit in range(1, _BLOCK_UNIT + 1):
        length = 0
        for at in range(unit, len(keys) + 1):
            if at < len(keys) and keys[at] == keys[at - unit] and _same_place(boxes[at], boxes[at - unit]):
                length += 1
                continue
            if length >= 3 * unit and (best is None or at - length < best.start):
                best = BlockRun(at - length, at, unit)
            length = 0
    return best


def _far_run(keys: Sequence[tuple[str, str]], boxes: Sequence[Box | None]) -> BlockRun | None:
    """Many blocks that come again in exactly the same places, a page over, say."""
    seen: dict[tuple[tuple[str, str], Box], int] = {}
    length = unit = 0
    for at, (key, box) in enumerate(zip(keys, boxes, strict=True)):
        before = None
        if box is not None and box != _WHOLE_PAGE and key[1]:
            before = seen.get((key, box))
            seen[key, box] = at
        if before is not None and (length == 0 or at - before == unit):
            unit = at - before
            length += 1
            if length >= _SAME_AGAIN:
                return BlockRun(at + 1 - length, len(keys), unit)
        else:
            length = 0
    return None


def _standing_run(boxes: Sequence[Box | None]) -> BlockRun | None:
    """Blocks that all stand in one place, as when an answer counts up in a block for each number."""
    length = 0
    for at, box in enumerate(boxes):
        length = length + 1 if at and box is not None and box == boxes[at - 1] and _wide(box) else 0
        if length >= _SAME_PLACES:
            return BlockRun(at + 1 - length, len(boxes), 0)
    return None


def _wide(box: Box) -> bool:
    return box != _WHOLE_PAGE and box[0] < box[2] and box[1] < box[3]


def _same_place(one: Box | None, other: Box | None) -> bool:
    if one == other:
        return True
    if one is None or other is None:
        return False
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width < 0 or height < 0:
        return False
    shared = width * height
    area = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - shared
    return area > 0 and shared / area > _SAME_PLACE


class LoopWatch:
    """Looks for a loop in an answer while it arrives, at about a millisecond for every 2,000 characters.

    What it takes for a loop is more than one page can hold:

    - a box that comes six times with the same text, or a dozen boxes that come again with the same texts;
    - thirty blocks in the same place, whatever they say;
    - 8,000 characters of one repeated unit, be it in the same place or not (16,000 when the unit is rows of a table,
      which may well be eighty times ten zeros, or shows nothing, as the empty rows of a form);
    - 9,000 characters with next to no content, 3,000 times the same sign, 4,000 signs without a word;
    - 1,200 steps of counting.
    """

    _EVERY = 2_000
    _WINDOW = 18_000
    _STEPS = 1_200
    _BOX = re.compile(r"\[ ?([0-9]+, ?[0-9]+, ?[0-9]+, ?[0-9]+)\]")

    def __init__(self) -> None:
        self._text = ""
        self._new: list[str] = []
        self._waiting = 0
        self._looping = False

    def feed(self, chunk: str) -> bool:
        """Read on; whether the answer runs in a loop (once true, it stays so)."""
        self._new.append(chunk)
        self._waiting += len(chunk)
        if self._waiting >= self._EVERY and not self._looping:
            self._text = (self._text + "".join(self._new))[-self._WINDOW :]
            self._new, self._waiting = [], 0
            self._looping = self._check(self._text)
        return self._looping

    def _check(self, text: str) -> bool:
        run = tail_run(text)
        if run is not None:
            length = len(text) - run.start
            again = len(self._BOX.findall(text, run.start + run.unit))
            if (again >= 5 and run.times >= 6 and length >= 300) or again >= 12:
                return True
        boxes = self._BOX.findall(text, max(0, len(text) - 4_000))[-30:]
        if len(boxes) == 30 and len(set(boxes)) == 1 and boxes[0] != "0, 0, 999, 999":
            return True
        bare = self._BOX.sub("", text)
        run = tail_run(bare) if bare != text else run
        if run is not None:
            rows = "<td" in bare[len(bare) - 2 * run.unit :]
            if len(bare) - run.start >= (8_000 if shows_text(bare, run) and not rows else 16_000):
                return True
        return (
            is_squeezed(visible(text)[-10_000:], 9_000)
            or one_mark(text) is not None
            or is_babble(text, 4_000)
            or count_run(bare, self._STEPS) is not None
        )
