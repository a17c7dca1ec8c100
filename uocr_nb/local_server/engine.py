"""One page through all the parts: found, read, turned, grouped, ordered, written."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from uocr_nb.document.model import Block
from uocr_nb.local_server.blocks import page_blocks
from uocr_nb.local_server.frame import Frame, skew_of
from uocr_nb.local_server.gutters import cut_at_gutters
from uocr_nb.local_server.ink import tightened
from uocr_nb.local_server.layout import LayoutModel
from uocr_nb.local_server.lonely import find_lines
from uocr_nb.local_server.pictures import find_pictures
from uocr_nb.local_server.ppocr import Line, TextReader
from uocr_nb.local_server.rotation import doubtful, lies_sideways, quarter_turns
from uocr_nb.local_server.rules import Rules, find_rules, without_upright

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from uocr_nb.local_server.pieces import Run

    Image = NDArray[np.uint8]
    Quad = NDArray[np.float32]

__all__ = ["Engine", "ReadBlock"]


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """A block with the scores of its text.

    Attributes
    ----------
    block : Block
        Label, text and box in the frame of the picture as sent.
    runs : tuple
        The text again, in stretches with their scores.
    """

    block: Block
    runs: tuple[Run, ...]


class Engine:
    """The embedded CPU engine: models loaded once, pages read one at a time.

    Parameters
    ----------
    threads : int
        Threads of the inference engines.
    low_memory : bool
        Smaller detection size, no memory pools.

    Raises
    ------
    MissingExtraError
        When the packages of the extra ``cpu`` are not installed.
    """

    def __init__(self, threads: int, *, low_memory: bool = False) -> None:
        self.low_memory = low_memory
        self.reader = TextReader(threads, low_memory=low_memory)
        self.layout = LayoutModel(threads)
        self.backend = self.reader.backend
        self._alone = threading.Lock()

    def warm_up(self) -> None:
        """Read a tiny page, so that the first real one does not pay for what is set up late."""
        import cv2  # noqa: PLC0415 - comes with the extra

        page = np.full((160, 480, 3), 255, dtype=np.uint8)
        cv2.putText(page, "ready 1", (20, 90), cv2.FONT_HERSHEY_SIMPLEX, 2, (0, 0, 0), 3)
        self.read(page)

    def read(self, image: Image, check: Callable[[], None] | None = None) -> list[ReadBlock]:
        """Blocks of the page on `image` (BGR), in reading order.

        `check` is called between the stages and may raise to stop the work.
        """
        with self._alone:
            frame, lines, rules = self._lines(Frame.of(image), check)
            if check is not None:
                check()
            boxes = tightened([line.box for line in lines], frame.image)
            lines = [line if line.tall else replace(line, box=box) for line, box in zip(lines, boxes, strict=True)]
            regions = self.layout.regions(frame.image, lines)
            if check is not None:
                check()
            spoken = page_blocks(regions, find_pictures(frame.image, lines), frame.image, rules)
        return [
            ReadBlock(Block(one.label, one.text, frame.box(one.rect), _confidence(one.runs)), one.runs)
            for one in spoken
        ]

    def _lines(self, frame: Frame, check: Callable[[], None] | None) -> tuple[Frame, list[Line], Rules]:
        frame, rules = _unruled(frame)
        quads = find_lines(self.reader, frame.image, check)
        if quads and lies_sideways(quads):
            frame, quads, rules = self._turned(frame, quads, rules, (1, 3), check)
        frame, quads, rules = _level(frame, quads, rules)
        lines = self._read(frame, quads, check)
        if doubtful(lines):
            turned, quads, rules = self._turned(frame, quads, rules, (0, 2), check)
            if turned is not frame:
                frame, quads, rules = _level(turned, quads, rules)
                lines = self._read(frame, quads, check)
        return frame, lines, rules

    def _read(self, frame: Frame, quads: list[Quad], check: Callable[[], None] | None) -> list[Line]:
        return self.reader.read(frame.image, cut_at_gutters(frame.image, quads), check)

    def _turned(
        self,
        frame: Frame,
        quads: list[Quad],
        rules: Rules,
        candidates: tuple[int, ...],
        check: Callable[[], None] | None,
    ) -> tuple[Frame, list[Quad], Rules]:
        """Turn the page the way it reads best; unchanged when that is how it lies."""
        turn = quarter_turns(self.reader, frame.image, quads, candidates, check)
        if not turn:
            return frame, quads, rules
        turned, rules = _unruled(frame.turned(turn))
        return turned, find_lines(self.reader, turned.image, check), rules


def _level(frame: Frame, quads: list[Quad], rules: Rules) -> tuple[Frame, list[Quad], Rules]:
    """Straighten a crooked scan: boxes of leaning lines reach into one another, leaning rules are not found."""
    lean = skew_of(quads)
    if not lean:
        return frame, quads, rules
    straight, quads = frame.straightened(lean, quads)
    straight, rules = _unruled(straight)
    return straight, quads, rules


def _unruled(frame: Frame) -> tuple[Frame, Rules]:
    """Paint the upright rules over, or they are read as letters."""
    rules = find_rules(frame.image)
    return Frame(without_upright(frame.image, rules), frame.to_sent), rules


def _confidence(runs: tuple[Run, ...]) -> float | None:
    """A block is as sure as its least sure word."""
    return min((score for _, score in runs if score < 1.0), default=None)
