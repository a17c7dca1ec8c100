"""What one page view asks Python, and what it is told.

Messages of the browser come in any thread, also while a cell runs. What takes time is done in threads of the views, so
that neither the cell nor the next message waits; edits and calls of the user's functions keep their order in one.
"""

from __future__ import annotations

import bisect
import logging
import threading
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from uocr_nb.document.edits import Edits
from uocr_nb.errors import OptionError, UocrError
from uocr_nb.views import view_pages
from uocr_nb.views.find import Finder
from uocr_nb.views.hands import Hands
from uocr_nb.views.marks import document_facts
from uocr_nb.views.selection import Selection
from uocr_nb.views.view_edits import EDITS, edit_by
from uocr_nb.views.view_widget import view_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uocr_nb.document.model import Document, Page

__all__ = ["ViewDesk"]

_log = logging.getLogger("uocr_nb")
_answering = Hands("uocr_nb view", 2)
_in_order = Hands("uocr_nb view, in order", 1)

_LATELY = 8.0
"""Seconds for which a kernel that has heard the browser counts as one that hears; a live view tells every four."""

_CHUNK = 4_000_000
"""Bytes of a file that go in one message."""


class ViewDesk:
    """What stands behind one view.

    Parameters
    ----------
    uid : str
        Mark of the HTML root that it drives.
    document : Document or None
        What it shows; None while that is being read.
    on_select : callable
        Called when something was selected or let go of, in a thread of the views.
    """

    def __init__(self, uid: str, document: Document | None, on_select: Callable[[ViewDesk], None]) -> None:
        self.uid = uid
        self.document: Document | None = None
        self.chosen: tuple[int, int] | None = None
        """Page and block that are selected."""
        self.callbacks: list[Callable[[Selection | None], Any]] = []
        """Functions of the user that are called with what is selected."""
        self.looked = 0
        """Position of the page that the person looks at, as far as it is known."""
        self.on_stop: Callable[[], None] | None = None
        self.on_rerun: Callable[[Sequence[int]], str] | None = None
        self._on_select = on_select
        self._so_far: list[Page] = []
        self._partial: Mapping[int, Page] = {}
        self._total = 0
        self._finder = Finder()
        self._versions: Counter[int] = Counter()
        self._unwatch: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self.line = view_line(uid, self.take)
        if document is not None:
            self.settle(document)

    # ------------------------------------------------------------------ what it shows
    def pages(self) -> list[Page]:
        """The pages that have a status."""
        return self.document.pages if self.document is not None else self._so_far

    def page(self, position: int) -> Page | None:
        """The page at that position, also one that is being read; None when there is none, or not yet."""
        return self._done(position) or self._partial.get(position)

    def _done(self, position: int) -> Page | None:
        pages = self.pages()
        if self.document is not None:
            return pages[position - 1] if 1 <= position <= len(pages) else None
        at = bisect.bisect_left(pages, position, key=lambda page: page.position)
        return pages[at] if at < len(pages) and pages[at].position == position else None

    @property
    def total(self) -> int:
        """Pages in all."""
        return max(self._total, len(self.pages()))

    def reads(self, pages: Sequence[Page], partial: Mapping[int, Page], total: int) -> None:
        """Take how far a reading is: pages that are done, and those being read."""
        self._so_far, self._partial, self._total = list(pages), partial, total

    def settle(self, document: Document) -> None:
        """Show `document` from now on."""
        with self._lock:
            self.document, self._so_far, self._partial, self._total = document, [], {}, 0
            self._versions.clear()
            if self._unwatch is not None:
                self._unwatch()
            self._unwatch = document.watch(self._changed)
        self.tell_facts()

    def tell_facts(self, reading: Sequence[int] = ()) -> None:
        """Push name, statuses and counts of the document."""
        if self.document is None:
            return
        facts = document_facts(self.document.pages, self.document, reading=reading)
        self.line.push(status=facts.pop("status"), doc=facts)

    def _changed(self, _document: Document, positions: tuple[int, ...]) -> None:
        if not self.line.open:
            return
        self._versions.update(positions)
        self.tell_facts()
        self.line.send({"kind": "changed", "ps": list(positions)})

    @property
    def hears(self) -> bool:
        """Whether what the browser says comes through at the moment."""
        return time.monotonic() - self.line.heard_at < _LATELY

    def close(self) -> None:
        """Let go of the browser, and of the document's changes."""
        if self._unwatch is not None:
            self._unwatch()
        self.line.close()

    # ------------------------------------------------------------------ messages
    def take(self, content: dict[str, Any]) -> None:
        """Take one message of the browser, in whichever thread it came."""
        kind = content.get("kind")
        if kind == "hello":
            self._reply(content, selected=self.chosen)
        elif kind == "look":
            self.looked = _whole(content, "p")
        elif kind == "stop":
            if self.on_stop is not None:
                self.on_stop()
        elif kind == "select":
            _in_order.give(partial(self._select, content))
        elif kind in _EDITS:
            _in_order.give(partial(self._answer, content))
        elif kind == "rerun":
            threading.Thread(target=self._answer, args=(content,), name="uocr_nb view, rerun", daemon=True).start()
        elif kind in _QUESTIONS:
            _answering.give(partial(self._answer, content))

    def _reply(self, content: dict[str, Any], buffers: Sequence[bytes] = (), **answer: Any) -> None:
        self.line.send({"kind": "reply", "seq": content.get("seq"), **answer}, buffers)

    def _answer(self, content: dict[str, Any]) -> None:
        if not self.line.open:
            return
        work = (_QUESTIONS | _EDITS)[str(content["kind"])]
        try:
            work(self, content)
        except UocrError as error:
            self._reply(content, error=" ".join(filter(None, (error.what, error.why))), next=error.next)
        except Exception as error:  # noqa: BLE001 - a view that waits is told, whatever it was
            _log.exception("The view could not answer.")
            self._reply(content, error=f"That did not work: {type(error).__name__}.")

    def _select(self, content: dict[str, Any]) -> None:
        position, number = _whole(content, "p"), _whole(content, "n")
        page = self.page(position)
        wanted = (position, number) if page is not None and 1 <= number <= len(page.blocks) else None
        if wanted != self.chosen:
            self.chosen = wanted
            self._on_select(self)

    def selection(self) -> Selection | None:
        """What is selected, as it is now."""
        position, number = self.chosen or (0, 0)
        page = self.page(position)
        if page is None or not 1 <= number <= len(page.blocks):
            return None
        return Selection(position, number, page.blocks[number - 1], self.document, page)

    def show_selected(self, chosen: tuple[int, int] | None) -> None:
        """Select what another view of the document has selected."""
        self.chosen = chosen
        position, number = chosen or (0, 0)
        self.line.send({"kind": "selected", "p": position, "n": number})

    def payload(self, page: Page) -> dict[str, Any]:
        """What the view needs to show a page that is done."""
        edits = self.document.edits.of(page.position) if self.document is not None else Edits()
        version, edited = self._versions[page.position], edits.blocks(page.position)
        made = view_pages.page_payload(page, self.pages(), total=self.total, version=version, edited=edited)
        return made | {"edits": len(edits)}

    def _known(self, content: dict[str, Any]) -> Page:
        position = _whole(content, "p")
        page = self.page(position)
        if page is None:
            raise OptionError(f"Page {position} is not there yet." if position else "There is no such page.", "", "")
        return page

    def _page(self, content: dict[str, Any]) -> None:
        page = self._known(content)
        if self._done(page.position) is None:
            # It comes by itself, as it grows.
            self._reply(content, reading=True)
        else:
            self._reply(content, page=self.payload(page))

    def _thumbs(self, content: dict[str, Any]) -> None:
        asked = content.get("ps")
        wanted = [p for p in asked if isinstance(p, int)] if isinstance(asked, list) else []
        found = (self.page(position) for position in wanted)
        self._reply(content, thumbs=view_pages.thumbs(page for page in found if page is not None))

    def _find(self, content: dict[str, Any]) -> None:
        self._reply(content, found=self._finder.find(self.pages(), str(content.get("q") or "")).told())

    def _crop(self, content: dict[str, Any]) -> None:
        self._reply(content, [view_pages.crop_png(self._known(content), _whole(content, "n"))], mime="image/png")

    def _text(self, content: dict[str, Any]) -> None:
        self._reply(content, text=view_pages.block_raw(self._known(content), _whole(content, "n")))

    def _save(self, content: dict[str, Any]) -> None:
        name, data = view_pages.save_bytes(self._settled(), str(content.get("format") or "")[:20])
        parts = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)] or [b""]
        for part in parts[:-1]:
            self.line.send({"kind": "part", "seq": content.get("seq")}, [part])
        self._reply(content, [parts[-1]], name=name)

    def _settled(self) -> Document:
        if self.document is None:
            raise OptionError("The pages are still being read.", "This comes when they are done.", "")
        return self.document

    def _edit(self, content: dict[str, Any]) -> None:
        self._reply(content, **edit_by(self._settled(), content))

    def _rerun(self, content: dict[str, Any]) -> None:
        asked = content.get("ps")
        positions = [p for p in asked if isinstance(p, int)] if isinstance(asked, list) else []
        self._settled()
        if self.on_rerun is None:
            raise OptionError("Pages cannot be read again here.", "", "doc.retry()")
        self._reply(content, said=self.on_rerun(positions))


_QUESTIONS: dict[str, Callable[[ViewDesk, dict[str, Any]], None]] = {
    "page": ViewDesk._page,  # noqa: SLF001 - its own
    "thumbs": ViewDesk._thumbs,  # noqa: SLF001
    "find": ViewDesk._find,  # noqa: SLF001
    "crop": ViewDesk._crop,  # noqa: SLF001
    "text": ViewDesk._text,  # noqa: SLF001
    "save": ViewDesk._save,  # noqa: SLF001
    "rerun": ViewDesk._rerun,  # noqa: SLF001
}
_EDITS: dict[str, Callable[[ViewDesk, dict[str, Any]], None]] = dict.fromkeys(EDITS, ViewDesk._edit)  # noqa: SLF001


def _whole(content: dict[str, Any], name: str) -> int:
    """The whole number under `name`; 0 for what is none."""
    value = content.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
