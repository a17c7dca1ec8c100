"""Regions of a page by the layout model inside PyMuPDF.

The model wants a PDF page, so the lines that were read are written invisibly onto a page that carries the picture.
It is asked for classes and groups only: boxes come from the lines themselves, order and tables from our own code.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uocr_nb.local_server.geometry import Rect, union
from uocr_nb.local_server.sessions import session_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uocr_nb.local_server.ppocr import Line

    Image = NDArray[np.uint8]

__all__ = ["LayoutModel", "Region"]

PAGE_POINTS = 842.0
"""Long side of the page given to the model: an A4 page, the size it knows best."""


@dataclass(frozen=True, slots=True)
class Region:
    """One group of lines with the class that the model gave it.

    Attributes
    ----------
    kind : str
        text, title, picture, table, list-item, page-header, page-footer, section-header, footnote, caption, formula.
    box : Rect
        Around its lines, pixels; for a picture the model's own box where that is larger.
    lines : tuple of Line
        In no particular order.
    """

    kind: str
    box: Rect
    lines: tuple[Line, ...]


class LayoutModel:
    """The layout model, loaded once (PyMuPDF is not made for several threads: calls wait for one another).

    Parameters
    ----------
    threads : int
        Threads of the inference engine.
    """

    def __init__(self, threads: int) -> None:
        self._lock = threading.Lock()
        with session_settings(threads):
            import pymupdf  # noqa: PLC0415 - slow to import, and loads the model when it is
            import pymupdf.layout  # noqa: PLC0415
        pymupdf.TOOLS.mupdf_display_errors(False)
        pymupdf.TOOLS.mupdf_display_warnings(False)

    def regions(self, image: Image, lines: Sequence[Line]) -> list[Region]:
        """Group `lines` of `image` (BGR); a line that the model leaves out is a region of its own."""
        if not lines:
            return []
        with self._lock:
            groups = self._ask(image, lines)
        owners = _owners(lines, [boxes for _, _, boxes in groups])
        regions = [Region("text", line.box, (line,)) for line, owner in zip(lines, owners, strict=True) if owner < 0]
        for n, (kind, box, _) in enumerate(groups):
            members = tuple(line for line, owner in zip(lines, owners, strict=True) if owner == n)
            if members:
                around = union(line.box for line in members)
                regions.append(Region(kind, union([around, box]) if kind == "picture" else around, members))
        return regions

    def _ask(self, image: Image, lines: Sequence[Line]) -> list[tuple[str, Rect, list[Rect]]]:
        import pymupdf  # noqa: PLC0415

        height, width = image.shape[:2]
        scale = PAGE_POINTS / max(width, height)
        with pymupdf.open() as document:
            page = document.new_page(width=max(20.0, width * scale), height=max(20.0, height * scale))
            page.insert_image(page.rect, pixmap=_pixmap(pymupdf, image, page.rect))
            shape = page.new_shape()
            for line, width in zip(lines, _apart(lines), strict=True):
                _write(pymupdf, shape, line, width, scale)
            shape.commit()
            page.get_layout(return_raw=True)
            found = page.layout_information or []
        return [
            (
                str(group["class_name"]),
                Rect(*(float(v) / scale for v in group["group_bbox"][:4])),
                [Rect(*(float(v) / scale for v in box[:4])).grown(1) for box in group["bboxes"]],
            )
            for group in found
        ]


def _arrays(lines: Sequence[Line]) -> NDArray[np.float64]:
    return np.array([line.box for line in lines], dtype=np.float64).reshape(-1, 4)


def _apart(lines: Sequence[Line]) -> list[float]:
    """Widths at which the lines are written: MuPDF joins what stands close together, also over a narrow gutter."""
    boxes = _arrays(lines)
    x1, y1, _x2, y2 = boxes.T
    widths: list[float] = []
    for n, line in enumerate(lines):
        height = line.box.height
        beside = (np.minimum(y2, y2[n]) - np.maximum(y1, y1[n]) > 0.5 * height) & (x1 > x1[n] + 0.3 * line.box.width)
        room = float(x1[beside].min()) - 1.5 * height - line.box.x1 if beside.any() else line.box.width
        widths.append(max(0.6 * line.box.width, min(line.box.width, room)))
    return widths


def _owners(lines: Sequence[Line], groups: Sequence[Sequence[Rect]]) -> list[int]:
    """Find for each line the group whose boxes cover most of it; -1 when none does."""
    owner = np.array([n for n, boxes in enumerate(groups) for _ in boxes], dtype=np.int64)
    if not len(owner):
        return [-1] * len(lines)
    parts = np.array([box for boxes in groups for box in boxes], dtype=np.float64)
    owners: list[int] = []
    for box in _arrays(lines):
        width = np.minimum(parts[:, 2], box[2]) - np.maximum(parts[:, 0], box[0])
        height = np.minimum(parts[:, 3], box[3]) - np.maximum(parts[:, 1], box[1])
        shared = width.clip(0) * height.clip(0)
        best = int(shared.argmax())
        area = max(1.0, (box[2] - box[0]) * (box[3] - box[1]))
        owners.append(int(owner[best]) if shared[best] > 0.1 * area else -1)
    return owners


def _pixmap(pymupdf: Any, image: Image, rect: Any) -> Any:
    import cv2  # noqa: PLC0415

    size = (max(1, round(rect.width)), max(1, round(rect.height)))
    small = np.ascontiguousarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA)[:, :, ::-1])
    return pymupdf.Pixmap(pymupdf.csRGB, size[0], size[1], small.tobytes(), False)


def _write(pymupdf: Any, shape: Any, line: Line, width: float, scale: float) -> None:
    """Write the text of `line` invisibly, stretched over `width` pixels from its left end."""
    text = "".join(char if char.isprintable() else " " for char in line.text)
    wide = any(ord(char) > 255 for char in text)
    # One glyph for one character: only the width and the pattern of digits and letters matter to the model.
    font = "china-s" if wide else "helv"
    size = max(1.0, line.box.height * scale * 0.85)
    length = pymupdf.get_text_length(text, fontname=font, fontsize=size)
    if length <= 0:
        return
    origin = pymupdf.Point(line.box.x1 * scale, line.box.y2 * scale - 0.2 * line.box.height * scale)
    stretch = pymupdf.Matrix(width * scale / length, 1)
    shape.insert_text(origin, text, fontsize=size, fontname=font, render_mode=3, morph=(origin, stretch))
