"""What passes between this room and the others: a source, how to render it, and the page image that comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from uocr_nb.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MAX_PIXELS", "MAX_SIDE", "Kind", "Opened", "PageError", "PageImage", "RenderSpec", "Source"]

Kind = Literal["pdf", "image", "url", "iiif"]

MAX_PIXELS = 40_000_000
"""No page image has more pixels: an A4 page at 400 dpi has 15 million, and the largest grid of a mode uses 13."""

MAX_SIDE = 10_000
"""No side of a page image is longer, in pixels."""


class PageError(SourceError):
    """One page that cannot be rendered; the others of its source are not touched by it."""


@dataclass(frozen=True)
class Source:
    """One thing that a user handed over.

    Attributes
    ----------
    name : str
        Unique among the sources of a call; a file's own name where that is unique.
    kind : str
        ``"pdf"`` or ``"image"``, told by the content; ``"url"`` for an address whose content is not known before it is
        opened, ``"iiif"`` for a manifest.
    path : Path or None
        The file, absolute; None for what came from memory.
    data : bytes or None
        The content of what came from memory.
    url : str or None
        The address of what comes over the network. Never shown as it is: it may hold a password.
    notes : tuple of str
        What was noted when it was looked up, such as files of a folder that were skipped.
    problem : SourceError or None
        Why it cannot be read. `Renderer.open` raises it, so that one bad source among several costs only itself.
    """

    name: str
    kind: Kind
    path: Path | None = None
    data: bytes | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    problem: SourceError | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Opened:
    """What is known of a source once it is open.

    Attributes
    ----------
    pages : int
        How many page images it gives, at least 1.
    kind : str
        As `Source.kind`.
    notes : tuple of str
        One sentence for each thing a reader should know: attachments, XFA forms, repairs, skipped files.
    names : tuple of str
        What each page is called, where the source says so (labels of a IIIF manifest).
    """

    pages: int
    kind: Kind
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class RenderSpec:
    """How pages become page images.

    Attributes
    ----------
    dpi : float or None
        Resolution of PDF pages; None takes what `mode` can use.
    mode : str
        Image mode of the model: gundam, large, base, small or tiny.
    max_pixels : int
        Bound on width times height; a larger page is scaled down, and a note says so.
    """

    dpi: float | None = None
    mode: str = "gundam"
    max_pixels: int = MAX_PIXELS


@dataclass(frozen=True)
class PageImage:
    """One raster page with where it came from.

    Attributes
    ----------
    source : Source
        What it was made from.
    number : int
        Page of the source, from 1.
    size : tuple of int
        Width and height in pixels; boxes refer to this frame.
    dpi : float or None
        Resolution that a PDF page was rendered at; None for pictures.
    sha256 : str
        Of the bytes of `file` (hex).
    file : Path
        The picture as it is sent, in the run folder of this process.
    mime : str
        ``"image/jpeg"`` or ``"image/png"``.
    notes : tuple of str
        What was changed or is missing, in sentences.
    ink : float
        Share (0..1) of pixels that differ clearly from the paper; 0 on a page without a mark.
    name : str
        What the page is called in its source (a IIIF canvas label); empty where it has no name.
    blank : bool
        Whether nothing but paper is to be seen, so that asking for text would only invite inventions.
    """

    source: Source
    number: int
    size: tuple[int, int]
    dpi: float | None
    sha256: str
    file: Path
    mime: str
    notes: tuple[str, ...] = ()
    ink: float = 1.0
    name: str = ""
    blank: bool = False
