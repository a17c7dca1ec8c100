"""An engine that answers as fast as a test says: it stands still inside a block, and goes on when it is told."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from page_script import numbers
from scripted import Engine, Reply

if TYPE_CHECKING:
    from collections.abc import Callable

CELLS = "".join(f"<tr><td>Row {n}</td><td>0.{n}52</td><td>0.{n}28</td></tr>" for n in range(1, 5))
ANSWER = (
    "<|det|>title [100, 50, 900, 90]<|/det|>Head {n}\n"
    "<|det|>text [100, 100, 900, 300]<|/det|>Body of page {n}: a sentence that is long enough to be seen growing.\n"
    "<|det|>table [150, 320, 850, 500]<|/det|><table><tr><td>Model</td><td>Edit</td><td>Order</td></tr>"
    + CELLS
    + "</table>\n<|det|>page_number [480, 950, 520, 980]<|/det|>{n}"
)


class Gate:
    """Lets one answer go on, event by event."""

    def __init__(self, *, opened: bool = False) -> None:
        self._lock = threading.Lock()
        self._left = 0
        self._opened = opened
        self.passed = 0

    def is_set(self) -> bool:
        with self._lock:
            if not self._opened and self._left <= 0:
                return False
            self._left -= 1
            self.passed += 1
            return True

    def give(self, events: int) -> None:
        """Let so many more events through."""
        with self._lock:
            self._left += events

    def open(self) -> None:
        """Let all of it through."""
        with self._lock:
            self._opened = True


class Paced(Engine):
    """An engine with a gate for each page, known by the width of its picture (`page_script.picture`)."""

    def __init__(self, answer: Callable[[int], str] = lambda n: ANSWER.format(n=n), step: int = 6) -> None:
        self._answer = answer
        self._step = step
        self._gates: dict[int, Gate] = {}
        self._all_open = False
        self.asked: list[int] = []
        super().__init__(self._reply)

    def gate(self, n: int) -> Gate:
        """The gate of page `n`; a page that is asked for anew goes on from where its gate is."""
        return self._gates.setdefault(n, Gate(opened=self._all_open))

    def open_all(self) -> None:
        """Let every page through, also those that come."""
        self._all_open = True
        for gate in list(self._gates.values()):
            gate.open()

    def upto(self, n: int, text: str) -> None:
        """Let page `n` go on until `text`, a part of its answer, has been sent."""
        answer = self._answer(n)
        events = -(-(answer.index(text) + len(text)) // self._step)
        gate = self.gate(n)
        # The first event is sent before the gate is asked.
        with gate._lock:
            gate._left = max(gate._left, events - 1 - gate.passed)

    def _reply(self, _number: int, body: dict[str, Any]) -> Reply:
        if not body.get("stream"):
            return Reply(self._answer(0))
        shown = numbers(body)
        self.asked += shown
        return Reply("\n".join(self._answer(n) for n in shown), step=self._step, hold=self.gate(shown[0]))
