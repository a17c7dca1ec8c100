"""The full view of a document: every page when it is looked at, and what is selected there comes back to Python.

What is stored in the notebook is one page as HTML; the widget that drives it is never displayed.
"""

from __future__ import annotations

import threading
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from uocr_nb.document.model import Status
from uocr_nb.errors import OptionError
from uocr_nb.reading import pipeline
from uocr_nb.reading.progress import StopReading
from uocr_nb.views.compare import compare as compared
from uocr_nb.views.live_feed import LiveFeed
from uocr_nb.views.mime import view_bundle
from uocr_nb.views.plain import document_plain
from uocr_nb.views.stored_form import StoredForm
from uocr_nb.views.view_desk import ViewDesk
from uocr_nb.views.watch import in_kernel
from uocr_nb.views.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from uocr_nb.document.model import Document, Page
    from uocr_nb.reading.progress import Progress
    from uocr_nb.views.compare import Comparison
    from uocr_nb.views.selection import Selection

    _Draw = Callable[[], dict[str, str]]

__all__ = ["LiveView", "View", "close_all", "selected", "view"]

MOST_OPEN = 20
"""Views that answer; older ones are closed and then are what is stored of them."""

_lock = threading.RLock()
_open: list[ViewDesk] = []
_last: ViewDesk | None = None
_reading: set[str] = set()
"""Marks of the views whose pages are being read."""


class View:
    """A document as a page view in a notebook, as ``doc.view()`` makes it.

    Parameters
    ----------
    document : Document or None
        What it shows; None while its pages are being read.
    uid : str
        Mark of its HTML.
    live : bool
        Whether there is a notebook that it is shown in.
    shell : InteractiveShell, optional
        Whose cell shows it now.
    """

    def __init__(self, document: Document | None, uid: str, *, live: bool = True, shell: Any = None) -> None:
        self._document = document
        self._stop = threading.Event()
        self._cell = (shell, shell.execution_count) if shell is not None else None
        self._desk: ViewDesk | None = None
        self._stored: StoredForm | None = None
        self._unwatch: Callable[[], None] | None = None
        if live:
            self._desk = ViewDesk(uid, document, _selected_there)
            self._desk.on_stop = self._stop.set
            self._desk.on_rerun = self._rerun
            _keep(self._desk)

    @property
    def document(self) -> Document | None:
        """What it shows; None while its pages are being read."""
        return self._document

    @property
    def closed(self) -> bool:
        """Whether it answers no more."""
        return self._desk is None or not self._desk.line.open

    @property
    def selected(self) -> Selection | None:
        """The block that is selected in it, or None."""
        return self._desk.selection() if self._desk is not None else None

    def on_select(self, callback: Callable[[Selection | None], Any]) -> Callable[[], None]:
        """Have `callback` called whenever a block is selected, or let go of.

        Parameters
        ----------
        callback : callable
            Called with what is selected, or None. It runs in a thread of its own ("uocr_nb view, in order"), one call
            after the other, also while a cell runs: it may read and compute, but must leave alone what belongs to the
            main thread, such as pyplot's current figure. What it raises is printed.

        Returns
        -------
        callable
            Without arguments; called, it ends this.
        """
        callbacks = self._desk.callbacks if self._desk is not None else []
        callbacks.append(callback)

        def end() -> None:
            if callback in callbacks:
                callbacks.remove(callback)

        return end

    def close(self) -> None:
        """Let go of the browser. What is on the screen stays, and shows what it has."""
        self._stop.set()
        if self._stored is not None and self._unwatch is not None:
            self._unwatch()
            self._stored.close()
        if self._desk is not None:
            _close(self._desk)

    def store(self, document: Document, update: Callable[[dict[str, str]], Any], draw: _Draw) -> None:
        """Have what the notebook stores follow `document`: `update` puts what `draw` gives into the output."""
        self._stored = StoredForm(update, draw)
        self._unwatch = document.watch(self._stored.changed)

    def __repr__(self) -> str:
        pages = "being read" if self._document is None else count(len(self._document), "page")
        chosen = self.selected
        where = f", block {chosen.number} of page {chosen.page} is selected" if chosen is not None else ""
        return f"<View: {pages}{', closed' if self.closed else ''}{where}>"

    def _ipython_display_(self) -> None:
        # As the value of the very cell that showed it, it shows nothing a second time.
        if self._cell is not None and self._cell[0].execution_count == self._cell[1]:
            return
        print(repr(self))

    # ------------------------------------------------------------------ for the package
    def _rerun(self, positions: Sequence[int]) -> str:
        """Read pages again; in a thread of its own. Give what came of it in a sentence."""
        document, desk = self._document, self._desk
        if document is None or desk is None:
            return ""
        # One that is named is read again with its edits; of several, those that a person corrected stay.
        edited = document.edits.per_page
        chosen = [p for p in positions if len(positions) == 1 or not edited[p]]
        if positions and not chosen:
            return "They have edits, and stay as they are."
        with _lock:
            if _reading:
                raise OptionError("Pages are being read already.", "Run it again when they are done.", "")
            _reading.add(desk.uid)
        self._stop.clear()
        feed = LiveFeed(desk, again=True)

        def watch(progress: Progress, pages: list[Page]) -> None:
            if self._stop.is_set():
                raise StopReading
            feed.tick(progress, pages)

        try:
            pipeline.retry(document, None, chosen or None, watcher=watch)
        except StopReading:
            return "Stopped. Pages that were read again are kept."
        finally:
            with _lock:
                _reading.discard(desk.uid)
            feed.end()
            desk.tell_facts()
        bad = [p for p in positions if 1 <= p <= len(document) and document.page(p).status is not Status.OK]
        if not bad:
            return f"{count(len(positions), 'page')} read again, ok." if positions else "Read again."
        return f"{len(positions) - len(bad)} of {len(positions)} ok now." if len(positions) > 1 else "Not better."


class LiveView(View):
    """The view of a reading in a cell: made when it begins, and kept as the view of its document.

    Parameters
    ----------
    uid : str
        Mark of its HTML.
    """

    def __init__(self, uid: str) -> None:
        super().__init__(None, uid)
        self._uid = uid
        with _lock:
            _reading.add(uid)
        self._feed = LiveFeed(self._desk) if self._desk is not None else None

    def tick(self, progress: Progress, pages: Sequence[Page]) -> None:
        """Tell how far it is, several times a second.

        Raises
        ------
        StopReading
            When Stop was pressed in the view.
        """
        if self._stop.is_set():
            raise StopReading
        if self._feed is not None:
            self._feed.tick(progress, pages)

    @property
    def heard(self) -> bool:
        """Whether the browser has ever answered."""
        return self._desk is not None and self._desk.line.heard

    def end(self, document: Document | None) -> None:
        """The reading is over; without a document there is nothing more to view."""
        with _lock:
            _reading.discard(self._uid)
        if self._feed is not None:
            self._feed.end()
        if document is None:
            self.close()
        elif self._desk is not None and not self.closed:
            self._document = document
            self._desk.settle(document)


def view(
    document: Document,
    page: int | None = None,
    compare: Document | Page | None = None,
    names: tuple[str, str] | None = None,
) -> View | Comparison:
    """Show `document` as a full view at `page`, or beside another run; without a notebook its plain form is printed."""
    if compare is not None:
        return compared(document, compare, names).show()
    position = 1 if page is None else page
    if len(document):
        document.page(position)  # raises for a page that is not there
    shell = in_kernel()
    if shell is None:
        print(document_plain(document))
        return View(document, "", live=False)
    from IPython.display import display  # noqa: PLC0415 - only in a notebook, which has it

    uid = uuid4().hex[:12]

    def draw() -> dict[str, str]:
        return view_bundle(document, min(position, len(document)), uid=uid)

    handle = display(draw(), raw=True, display_id=uid)
    made = View(document, uid, shell=shell)
    made.store(document, partial(handle.update, raw=True), draw)
    return made


def selected() -> Selection | None:
    """The block that was selected last in any view of this kernel, or None.

    It has `page`, `number`, `block`, `label`, `text`, `df` for a table, and `crop()`.
    """
    return _last.selection() if _last is not None else None


def close_all() -> None:
    """Close every view."""
    while _open:
        _close(_open[0])


def _keep(desk: ViewDesk) -> None:
    with _lock:
        desk.chosen = next((one.chosen for one in _open if one.document is desk.document is not None), None)
        _open.append(desk)
        # One whose pages are being read is never closed under its cell.
        old = [one for one in _open if one.document is not None][: max(len(_open) - MOST_OPEN, 0)]
    for one in old:
        _close(one)


def _close(desk: ViewDesk) -> None:
    with _lock:
        if desk in _open:
            _open.remove(desk)
    desk.close()


def _selected_there(desk: ViewDesk) -> None:
    """Something was selected in the browser: the other views of the document select it too, then functions are called.

    In the thread that keeps the order.
    """
    global _last  # noqa: PLW0603 - the last selection of the kernel is one thing
    with _lock:
        if desk.chosen is not None or _last is None:
            _last = desk
        others = [other for other in _open if other is not desk and other.document is desk.document is not None]
    for other in others:
        other.show_selected(desk.chosen)
    for one in (desk, *others):
        for callback in list(one.callbacks):
            try:
                callback(one.selection())
            except Exception:  # noqa: BLE001 - it is the user's own
                traceback.print_exc()
