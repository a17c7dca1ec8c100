"""Who is told when pages of a document change."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from inspect import ismethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uocr_nb.document.handle import Handle

__all__ = ["Watcher", "Watchers"]

Watcher = Callable[[Any, tuple[int, ...]], Any]
"""Called with the document and the positions of its pages that changed, in order."""


class _Watching:
    """One callback. A bound method does not keep its object alive: a view that nobody holds is not told."""

    def __init__(self, callback: Watcher) -> None:
        self._held: Callable[[], Watcher | None] = (
            weakref.WeakMethod(callback) if ismethod(callback) else lambda: callback
        )
        self.complained = False

    @property
    def callback(self) -> Watcher | None:
        return self._held()


class Watchers:
    """The callbacks of one document, told in the order in which they came."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[_Watching] = []

    def add(self, callback: Watcher) -> Callable[[], None]:
        """Tell `callback` from now on, until the function that this returns is called."""
        one = _Watching(callback)
        with self._lock:
            self._all.append(one)

        def unwatch() -> None:
            with self._lock:
                self._all = [other for other in self._all if other is not one]

        return unwatch

    def tell(self, document: Handle, positions: Iterable[int]) -> None:
        """Call all of them. One that fails is warned of the first time, and the others are told all the same."""
        changed = tuple(sorted(set(positions)))
        with self._lock:
            self._all = [one for one in self._all if one.callback is not None]
            told = list(self._all)
        failed: list[str] = []
        for one in told if changed else ():
            callback = one.callback
            if callback is None:
                continue
            try:
                callback(document, changed)
            except Exception as error:  # noqa: BLE001 - the document stands, whatever a watcher does
                if not one.complained:
                    failed.append(f"A watcher of the document failed: {type(error).__name__}: {error}")
                one.complained = True
        for words in failed:
            # Said last: where warnings are errors, everybody has been told before.
            warnings.warn(words, RuntimeWarning, stacklevel=3)

    def __len__(self) -> int:
        return len(self._all)
