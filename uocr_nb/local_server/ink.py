"""Boxes drawn in to the ink: the detector leaves a margin in which narrow gutters and columns would close."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uocr_nb.local_server.geometry import Rect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Image = NDArray[np.uint8]

__all__ = ["tightened"]

CONTRAST = 48
"""Steps of grey between paper and ink."""


def tightened(boxes: Sequence[Rect], image: Image) -> list[Rect]:
    """Draw each box in to its ink along x; `image` is the page (BGR). A box without ink stays as it is."""
    import cv2  # noqa: PLC0415 - comes with the extra

    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
    return [_tight(box, grey) for box in boxes]


def _tight(box: Rect, grey: Image) -> Rect:
    x1, y1, x2, y2 = (max(0, int(v)) for v in box)
    # The rows at the top and bottom may hold rules or the letters of the next line.
    margin = (y2 - y1) // 5
    cut = grey[y1 + margin : max(y1 + margin, y2 - margin), x1:x2]
    if cut.size == 0:
        return box
    paper = int(np.median(cut[::2, ::3]))
    darkest, lightest = cut.min(axis=0), cut.max(axis=0)
    inked = np.flatnonzero((darkest < paper - CONTRAST) | (lightest > paper + CONTRAST))
    if len(inked) < 2:
        return box
    return Rect(x1 + float(inked[0]), box.y1, x1 + float(inked[-1]) + 1, box.y2)
