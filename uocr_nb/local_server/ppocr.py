"""Lines of text on a page: PP-OCRv6 as rapidocr ships it, with batches of our own.

rapidocr's own loop widens every crop to at least 320 pixels, stops after 1,000 boxes and reads wide pages at reduced
size. Here the same two models are fed directly: narrow crops stay narrow (a third of the time on dense tables),
all boxes are kept, and crops come from the full picture.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from uocr_nb.errors import MissingExtraError
from uocr_nb.local_server.geometry import Rect
from uocr_nb.local_server.sessions import session_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Image = NDArray[np.uint8]
    Quad = NDArray[np.float32]

__all__ = ["Line", "TextReader"]

CROP_HEIGHT = 48
"""Height in pixels at which the recogniser was trained."""
MIN_WIDTH = 128
"""Narrowest crop in pixels: below it single digits gain stray characters (measured at 48, 96, 160, 320)."""
BATCH_LINES = 8
BATCH_PIXELS = 2048
"""Padded width of a batch; wider ones only cost memory (sizes 1 to 16 were measured)."""
MIN_SCORE = 0.5
"""Lines below are noise more often than text (rapidocr's own default)."""
DETECT_SIDE = 736
"""Pictures with a shorter short side are enlarged to it before detection (the model's own setting)."""
MAX_SIDE = 2112
"""Long side at which lines are looked for: smaller loses narrow gutters and the digits of dense tables."""
LOW_DETECT_PIXELS = 1_000_000
"""With low memory the detector sees the page in strips of at most this size (its memory grows with the area)."""
SEAM = 96
"""Half the height in pixels by which two strips overlap."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text that was found and read.

    Attributes
    ----------
    box : Rect
        Upright box around it, pixels of the page picture.
    text : str
        What was read.
    score : float
        Mean of the recogniser's probabilities, 0..1.
    marks : tuple
        For each character of `text` its middle along x in pixels and its probability.
    tall : bool
        True when the line stands upright on the page (it was turned to be read).
    """

    box: Rect
    text: str
    score: float
    marks: tuple[tuple[float, float], ...] = ()
    tall: bool = False


class TextReader:
    """The detector and the recogniser, loaded once.

    Parameters
    ----------
    threads : int
        Threads of the inference engine.
    low_memory : bool
        Look for lines strip by strip, in smaller batches.

    Raises
    ------
    MissingExtraError
        When rapidocr or its inference engine is not installed.
    """

    def __init__(self, threads: int, *, low_memory: bool = False) -> None:
        # OpenVINO halves the time and doubles the memory, so low memory stays with onnxruntime.
        self.backend = "openvino" if not low_memory and importlib.util.find_spec("openvino") else "onnxruntime"
        self._detect_pixels = LOW_DETECT_PIXELS if low_memory else MAX_SIDE**2
        self.batch_pixels = BATCH_PIXELS // 2 if low_memory else BATCH_PIXELS
        # One infer request cannot serve two threads at once.
        self.parallel = self.backend == "onnxruntime"
        self._detector, self._recogniser = _load(threads, self.backend)
        self._characters: list[str] = self._recogniser.postprocess_op.character

    def find(self, image: Image) -> list[Quad]:
        """Find the corners (4x2, pixels, clockwise from top left) of each line on `image` (BGR)."""
        import cv2  # noqa: PLC0415 - comes with the extra

        height, width = image.shape[:2]
        scale = min(1.0, MAX_SIDE / max(height, width))
        if min(height, width) * scale < DETECT_SIDE:
            # The detector would enlarge the short side to 736; a strip of a hundred to one must not become huge.
            scale = min(DETECT_SIDE / min(height, width), MAX_SIDE / max(height, width), 4.0)
        size = (max(32, round(width * scale / 32) * 32), max(32, round(height * scale / 32) * 32))
        how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        small = np.asarray(cv2.resize(image, size, interpolation=how), dtype=np.uint8)
        found: list[Quad] = []
        for top, bottom, first, last in _strips(size[1], max(256, self._detect_pixels // size[0])):
            part = self._find(small[top:bottom])
            # A line near a seam is seen twice: the strip in whose core its middle lies has seen it whole.
            found += [
                quad + np.array([0, top], dtype=np.float32) for quad in part if first <= quad[:, 1].mean() + top < last
            ]
        stretch = np.array([width / size[0], height / size[1]], dtype=np.float32)
        return [np.asarray(quad * stretch, dtype=np.float32) for quad in found]

    def _find(self, image: Image) -> list[Quad]:
        tensor = (image.astype(np.float32) * np.float32(1 / 127.5) - 1).transpose(2, 0, 1)[np.newaxis]
        probabilities = self._detector.session(np.ascontiguousarray(tensor))
        boxes, _ = self._detector.postprocess_op(probabilities, image.shape[:2])
        return [np.asarray(box, dtype=np.float32) for box in boxes]

    def read(self, image: Image, quads: Sequence[Quad], check: Callable[[], None] | None = None) -> list[Line]:
        """The lines inside `quads` of `image` (BGR), those without text left out.

        `check` is called between batches and may raise to stop the work.
        """
        crops = [_crop(image, quad) for quad in quads]
        ratios = np.array([crop.shape[1] / crop.shape[0] for crop, _ in crops])
        order = [int(n) for n in np.argsort(ratios, kind="stable")]
        lines: list[Line | None] = [None] * len(quads)
        start = 0
        while start < len(order):
            if check is not None:
                check()
            batch, width = self._next_batch(order, start, ratios)
            start += len(batch)
            tensor = np.stack([_tensor(crops[n][0], width) for n in batch])
            guesses = self._recogniser.session(tensor)
            for n, guess in zip(batch, guesses, strict=True):
                lines[n] = self._line(guess, quads[n], width, float(ratios[n]), tall=crops[n][1])
        return [line for line in lines if line is not None and line.score >= MIN_SCORE and line.text.strip()]

    def _next_batch(self, order: list[int], start: int, ratios: NDArray[np.float64]) -> tuple[list[int], int]:
        batch: list[int] = []
        width = MIN_WIDTH
        for n in order[start : start + BATCH_LINES]:
            wider = max(width, min(_MAX_WIDTH, math.ceil(CROP_HEIGHT * ratios[n] / 8) * 8))
            if batch and wider * (len(batch) + 1) > self.batch_pixels:
                break
            batch.append(n)
            width = wider
        return batch, width

    def _line(self, guess: NDArray[np.float32], quad: Quad, width: int, ratio: float, *, tall: bool) -> Line:
        best = guess.argmax(axis=1)
        chosen = best != 0
        chosen[1:] &= best[1:] != best[:-1]
        steps = np.flatnonzero(chosen)
        odds = guess[steps, best[steps]]
        text = "".join(self._characters[n] for n in best[steps])
        box = Rect(*(float(v) for v in (*quad.min(axis=0), *quad.max(axis=0))))
        # Steps are spread evenly over the padded width, the crop fills its left part.
        filled = min(1.0, CROP_HEIGHT * ratio / width)
        places = np.clip((steps + 0.5) / (len(best) * filled), 0, 1)
        marks = tuple((box.x1 + float(p) * box.width, float(o)) for p, o in zip(places, odds, strict=True))
        return Line(box, text, float(odds.mean()) if len(odds) else 0.0, marks, tall)


def _strips(height: int, tallest: int) -> list[tuple[int, int, int, int]]:
    """Cut a page into level strips: top and bottom of each (multiples of 32), and of its core."""
    if height <= tallest:
        return [(0, height, 0, height)]
    count = -(-height // max(32, tallest - 2 * SEAM))
    edges = [round(height * n / count / 32) * 32 for n in range(count + 1)]
    edges[-1] = height
    return [(max(0, a - SEAM), min(height, b + SEAM), a, b) for a, b in pairwise(edges)]


_MAX_WIDTH = 3200
"""Longer lines are squeezed to it (about 200 characters)."""


def _load(threads: int, backend: str) -> tuple[Any, Any]:
    """Open the detector and the recogniser."""
    if backend == "openvino":
        # Its import sends a message to its makers from a forked process, which outlives ours when the network is shut.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    try:
        with session_settings(threads):
            from rapidocr import EngineType, RapidOCR  # noqa: PLC0415 - slow, and comes with the extra

            kind = EngineType(backend)
            engine = RapidOCR(
                params={
                    "Global.use_cls": False,
                    "Global.log_level": "critical",
                    "Det.engine_type": kind,
                    "Rec.engine_type": kind,
                    "Det.max_candidates": 8000,
                    "EngineConfig.openvino.inference_num_threads": threads,
                }
            )
            # The parts have no public way to them.
            return engine._load_det_model(), engine._load_rec_model()  # noqa: SLF001
    except ImportError as error:
        raise MissingExtraError("The embedded CPU engine cannot start.", "cpu", error.name or "rapidocr") from error


def _crop(image: Image, quad: Quad) -> tuple[Image, bool]:
    """Cut out what lies in `quad`, straightened; True when it was an upright line and was turned."""
    import cv2  # noqa: PLC0415

    width = max(1, int(max(np.linalg.norm(quad[0] - quad[1]), np.linalg.norm(quad[2] - quad[3]))))
    height = max(1, int(max(np.linalg.norm(quad[0] - quad[3]), np.linalg.norm(quad[1] - quad[2]))))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(quad, corners)
    crop = cv2.warpPerspective(image, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    if height >= 1.5 * width:
        return np.ascontiguousarray(np.rot90(crop)), True
    return np.asarray(crop, dtype=np.uint8), False


def _tensor(crop: Image, width: int) -> NDArray[np.float32]:
    import cv2  # noqa: PLC0415

    filled = max(1, min(width, math.ceil(CROP_HEIGHT * crop.shape[1] / crop.shape[0])))
    scaled = cv2.resize(crop, (filled, CROP_HEIGHT)).astype(np.float32)
    out = np.zeros((3, CROP_HEIGHT, width), dtype=np.float32)
    out[:, :, :filled] = scaled.transpose(2, 0, 1) * np.float32(1 / 127.5) - 1
    return out
