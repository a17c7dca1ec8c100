"""Sources opened and pages rendered, in a process that may die without harm."""

from __future__ import annotations

import atexit
import hashlib
import os
import threading
import weakref
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from uocr_nb.errors import SourceError
from uocr_nb.sources.iiif import Book
from uocr_nb.sources.process import Gone, TooSlow, WorkerProcess
from uocr_nb.sources.shelf import forget_shelves, shelf_of
from uocr_nb.sources.types import Opened, PageError, PageImage, RenderSpec, Source
from uocr_nb.sources.web import Remote
from uocr_nb.sources.worker import OUT_OF_MEMORY
from uocr_nb.support.platform import describe_exit
from uocr_nb.support.state import run_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

    from uocr_nb.document.model import Page

__all__ = ["Renderer", "default_renderer", "page_image"]

SECONDS = 12.0
"""Time limit of one page. What is honest takes a second or two, on a busy machine too."""

LEAST_SECONDS = 1.0
"""Time limit of the pages of a source that has been too slow more than once; each time takes three quarters off."""

MEMORY = 900 << 20
"""Bytes that one page may take in the worker."""


class Renderer:
    """Opens sources and renders their pages, one at a time, in one worker process.

    The process is started when first needed, and anew after a crash, a hang or a memory bomb. All methods block and
    may be called from any thread.

    Parameters
    ----------
    seconds : float
        Time limit of one page, and of opening one source.
    memory : int
        Bytes that the worker may take beyond its own size.
    folder : Path, optional
        Where page images are written; the run folder of this process by default.
    """

    def __init__(self, *, seconds: float = SECONDS, memory: int = MEMORY, folder: Path | None = None) -> None:
        self._seconds = seconds
        self._memory = memory
        self._folder = folder
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._too_slow: Counter[str] = Counter()
        self._remote = Remote(lambda: self.folder, self._join)
        _renderers.add(self)

    def open(self, source: Source, *, stop: threading.Event | None = None) -> Opened:
        """Open `source` and count its pages.

        What comes over the network is fetched first; `stop`, set from another thread, ends that.

        Raises
        ------
        SourceError
            When it cannot be opened.
        """
        if source.problem is not None:
            raise source.problem
        found = self._remote.open(source, stop)
        if isinstance(found, Book):
            names = tuple(canvas.label for canvas in found.canvases)
            return Opened(len(found.canvases), "iiif", (*source.notes, *found.notes), names)
        answer = self._ask(found, {"do": "open"}, SourceError, source.name)
        return Opened(answer["pages"], found.kind, (*source.notes, *answer["notes"]))

    def render(
        self, source: Source, number: int, spec: RenderSpec | None = None, *, stop: threading.Event | None = None
    ) -> PageImage:
        """Render page `number` (from 1) of `source`; `stop` as in `open`.

        Raises
        ------
        PageError
            When this page cannot be rendered; others may.
        SourceError
            When the source cannot be opened.
        """
        if source.problem is not None:
            raise source.problem
        page = self._remote.page(source, number, spec or RenderSpec(), stop)
        request = {
            "do": "render",
            "number": page.number,
            "dpi": page.spec.dpi,
            "mode": page.spec.mode,
            "max_pixels": page.spec.max_pixels,
            "folder": str(self.folder),
        }
        answer = self._ask(page.source, request, PageError, f"Page {number} of {source.name}")
        width, height = answer["size"]
        return PageImage(
            source=source,
            number=number,
            size=(width, height),
            dpi=answer["dpi"],
            sha256=answer["sha256"],
            file=Path(answer["file"]),
            mime=answer["mime"],
            notes=(*page.notes, *answer["notes"]),
            name=page.name,
            ink=answer["ink"],
            blank=answer["blank"],
        )

    @property
    def folder(self) -> Path:
        """Where page images are written."""
        return self._folder or run_folder()

    @property
    def worker_pid(self) -> int | None:
        """Number of the worker process, while one runs."""
        worker = self._worker
        return worker.pid if worker is not None and worker.alive else None

    def close(self) -> None:
        """End the worker process; the next call starts another."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, source: Source, request: dict[str, Any], lost: type[SourceError], what: str) -> dict[str, Any]:
        request = {
            **request,
            "path": str(source.path or self._spooled(source)),
            "kind": source.kind,
            "name": source.name,
            "password": source.password,
        }
        whole = "Save it anew from the program that opens it, or print it to PDF."
        advice = "Try it alone with a lower --dpi." if "number" in request and source.kind == "pdf" else whole
        with self._lock:
            if self._worker is None or not self._worker.alive:
                if self._worker is not None:
                    self._worker.kill()
                self._worker = WorkerProcess(self._memory)
            # A file made of pages that never end must not cost their sum.
            seconds = max(self._seconds / 4 ** self._too_slow[request["path"]], min(LEAST_SECONDS, self._seconds))
            try:
                answer = self._worker.ask(request, seconds)
            except TooSlow:
                self._too_slow[request["path"]] += 1
                raise lost(
                    f"{what} took longer than {seconds:.2g} s.", "It was given up, so that the others go on.", advice
                ) from None
            except Gone as gone:
                raise lost(f"{what} cannot be drawn.", self._why(gone.status), advice) from None
            # Before another page is asked for, which may remove the oldest.
            if "file" in answer:
                shelf_of(self.folder, "pages").put(Path(answer["file"]))
        if "error" in answer:
            raise (PageError if answer.get("page") else SourceError)(*answer["error"])
        return answer

    def _join(self, tiles: list[tuple[Path, int, int]], size: tuple[int, int], file: Path) -> None:
        request = {
            "do": "join",
            "tiles": [(str(tile), left, top) for tile, left, top in tiles],
            "size": size,
            "target": str(file),
        }
        self._ask(Source(file.name, "image", path=file), request, PageError, "A picture")

    def _why(self, status: int) -> str:
        if status == OUT_OF_MEMORY:
            return f"It needs more than {self._memory >> 20} MB of memory."
        return f"The process that draws pages {describe_exit(status)} while it worked on it."

    def _spooled(self, source: Source) -> Path:
        """Write the content of a source from memory to a file that the worker can open."""
        data = source.data or b""
        file = self.folder / f"source-{hashlib.sha256(data).hexdigest()[:40]}"
        if not file.exists():
            part = file.with_name(f"{file.name}.{threading.get_ident()}.part")
            part.write_bytes(data)
            part.replace(file)
        shelf_of(self.folder, "sources").put(file)
        return file

    def _after_fork(self) -> None:
        """In a forked child: a lock that another thread may have held, and a process that is the parent's."""
        self._lock = threading.Lock()
        self._remote = Remote(lambda: self.folder, self._join)
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.forget()


_renderers: weakref.WeakSet[Renderer] = weakref.WeakSet()
_default: Renderer | None = None
_default_lock = threading.Lock()


def default_renderer() -> Renderer:
    """Give the renderer that this process shares."""
    global _default  # noqa: PLW0603 - one for the process is the point
    with _default_lock:
        if _default is None:
            _default = Renderer()
        return _default


def page_image(page: Page) -> Image:
    """Load the page image of `page` (PIL, RGB) from its file, or render it again from its source.

    Raises
    ------
    SourceError
        When neither is there any more, or the source has changed since it was read.
    """
    from PIL import Image as pil  # noqa: N813, PLC0415 - heavy

    file = page.image_file
    if file is None or not file.is_file():
        file = _again(page)
    with pil.open(file) as image:
        return image.convert("RGB")


def _again(page: Page) -> Path:
    what = f"The picture of page {page.number} of {page.source} cannot be shown."
    if page.origin is None:
        raise SourceError(what, "It is not stored with the document, and its source is not known.", "Read it again.")
    source, spec = page.origin
    image = default_renderer().render(source, page.number, spec)
    if page.sha256 and image.sha256 != page.sha256:
        raise SourceError(what, "The source has changed since it was read.", f'doc = uocr.ocr("{page.source}")')
    return image.file


def _close_all() -> None:
    for renderer in list(_renderers):
        renderer.close()


def _after_fork() -> None:
    global _default_lock  # noqa: PLW0603
    _default_lock = threading.Lock()
    forget_shelves()
    for renderer in list(_renderers):
        renderer._after_fork()  # noqa: SLF001


atexit.register(_close_all)
_register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
if _register is not None:
    _register(after_in_child=_after_fork)
