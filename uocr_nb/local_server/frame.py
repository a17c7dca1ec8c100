"""The way between the picture as sent and the picture as read: reduced, turned by quarters, straightened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uocr_nb.local_server.geometry import Rect

    Image = NDArray[np.uint8]

__all__ = ["Frame", "skew_of"]

COORD_MAX = 999
LEAST_SKEW = 0.6
"""Degrees; lines that lean less are read as well unturned."""
MOST_SKEW = 15.0
"""Degrees; more is a drawing or a photograph, not a crooked scan."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture with the affine map (2x3) from its pixels to shares (0..1) of the picture as sent."""

    image: Image
    to_sent: NDArray[np.float64]

    @classmethod
    def of(cls, image: Image) -> Frame:
        """The frame of a picture that is not turned (it may be a reduced copy of the one sent)."""
        height, width = image.shape[:2]
        return cls(image, np.array([[1 / width, 0, 0], [0, 1 / height, 0]]))

    def turned(self, quarters: int) -> Frame:
        """The picture turned by `quarters` times 90 degrees against the clock."""
        frame = self
        for _ in range(quarters % 4):
            width = frame.image.shape[1]
            # After np.rot90 the pixel (x, y) stood at (width - y, x).
            back = np.array([[0, -1, width], [1, 0, 0], [0, 0, 1]], dtype=np.float64)
            frame = Frame(np.ascontiguousarray(np.rot90(frame.image)), frame.to_sent @ back)
        return frame

    def straightened(
        self, degrees: float, quads: Sequence[NDArray[np.float32]]
    ) -> tuple[Frame, list[NDArray[np.float32]]]:
        """Turn the picture so that lines leaning by `degrees` (clockwise) lie level, and corners with it."""
        import cv2  # noqa: PLC0415 - comes with the extra

        height, width = self.image.shape[:2]
        matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
        image = cv2.warpAffine(self.image, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
        back = np.vstack([cv2.invertAffineTransform(matrix), [0, 0, 1]])
        moved = [np.asarray(quad @ matrix[:, :2].T + matrix[:, 2], dtype=np.float32) for quad in quads]
        return Frame(np.asarray(image, dtype=np.uint8), self.to_sent @ back), moved

    def box(self, rect: Rect) -> tuple[int, int, int, int]:
        """`rect` (pixels of this picture) as 0..999 along each axis of the picture as sent."""
        corners = np.array([[rect.x1, rect.y1, 1], [rect.x2, rect.y1, 1], [rect.x2, rect.y2, 1], [rect.x1, rect.y2, 1]])
        shares = np.clip(corners @ self.to_sent.T, 0, 1)
        low, high = shares.min(axis=0) * COORD_MAX, shares.max(axis=0) * COORD_MAX
        return (round(float(low[0])), round(float(low[1])), round(float(high[0])), round(float(high[1])))


def skew_of(quads: Sequence[NDArray[np.float32]]) -> float:
    """Degrees (clockwise) by which the lines lean; 0 when they lie level, are few, or disagree."""
    angles: list[float] = []
    for quad in quads:
        side = quad[1] - quad[0] + quad[2] - quad[3]
        length, height = float(np.linalg.norm(side)) / 2, float(np.linalg.norm(quad[3] - quad[0]))
        if length > 6 * height:
            angles.append(float(np.degrees(np.arctan2(side[1], side[0]))))
    if len(angles) < 4:
        return 0.0
    middle = float(np.median(angles))
    agree = float(np.median(np.abs(np.array(angles) - middle)))
    return middle if LEAST_SKEW <= abs(middle) <= MOST_SKEW and agree < 0.5 else 0.0
