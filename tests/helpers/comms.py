"""The browser's end of a widget's line, for tests without a browser: it keeps what is sent, and says what it is told.

The widgets themselves are real.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import comm
from comm.base_comm import BaseComm

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class Recorded(BaseComm):
    """A comm that keeps what goes to the browser."""

    def __init__(self, **options: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.buffers: list[list[bytes]] = []
        self.sizes: list[int] = []
        self.state: dict[str, Any] = {}
        self.closed = False
        super().__init__(**options)

    def publish_msg(self, msg_type: str, data: Any = None, buffers: Any = None, **_: Any) -> None:
        if msg_type == "comm_close":
            self.closed = True
        self.sizes.append(len(repr(data)) + sum(map(len, buffers or ())))
        self.state |= (data or {}).get("state", {})
        if (data or {}).get("method") == "custom":
            self.messages.append(data["content"])
            self.buffers.append(list(buffers or ()))


class Browser:
    """What the scripts of all widgets would have got, in the order in which they were opened."""

    def __init__(self) -> None:
        self.lines: list[Recorded] = []
        self._number = 0

    def create(self, **options: Any) -> Recorded:
        made = Recorded(**options)
        if options.get("target_name") == "jupyter.widget" and "uid" in (options["data"] or {}).get("state", {}):
            self.lines.append(made)
        return made

    def say(self, line: Recorded, **content: Any) -> int:
        """Send a message as the script does; return its number."""
        self._number += 1
        data = {"method": "custom", "content": {**content, "seq": self._number}}
        line.handle_msg({"content": {"data": data}, "buffers": []})
        return self._number

    def ask(self, line: Recorded, **content: Any) -> dict[str, Any]:
        """Send a question; return the answer, with the bytes that came with it and before it."""
        number = self.say(line, **content)
        sent = line.messages

        def answer() -> dict[str, Any] | None:
            return next((one for one in sent if one["kind"] == "reply" and one["seq"] == number), None)

        wait_for(lambda: answer() is not None, f"the answer to {content}")
        found = dict(answer() or {})
        mine = [n for n, one in enumerate(sent) if one.get("seq") == number and one["kind"] in ("part", "reply")]
        return found | {"bytes": b"".join(part for n in mine for part in line.buffers[n])}


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.005)


def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Put a recording line in the place of the kernel's."""
    made = Browser()
    monkeypatch.setattr(comm, "create_comm", made.create)
    return made
