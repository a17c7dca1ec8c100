"""What an undisplayed widget and Python say to each other: state that is pushed, messages that are taken and answered.

A message from the browser may arrive in another thread than the cell's, while the cell runs: it is acknowledged at once
and handed on, so whoever takes it does no work there.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["WidgetLine"]


class WidgetLine:
    """The line to one widget in the browser.

    Parameters
    ----------
    widget : anywidget.AnyWidget
        Open, and not displayed.
    take : callable
        Called with each message that is more than a ping, a dict, in whichever thread it came.
    """

    def __init__(self, widget: Any, take: Callable[[dict[str, Any]], None]) -> None:
        self._widget = widget
        self._take = take
        self._lock = threading.RLock()
        self.heard = False
        """Whether a message has ever come."""
        self.heard_at = -math.inf
        """When one came last, by the monotonic clock."""
        comm = getattr(widget, "comm", None)
        if comm is not None and hasattr(comm, "_reply_subshell_for"):
            # ipykernel 7.4 hands a message to the shell that wrote on the comm last; that is the one of the busy cell,
            # and a press of Stop would wait for its end. This one comm goes by what the browser asked for.
            comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001
        widget.on_msg(self._arrived)

    @property
    def open(self) -> bool:
        """Whether anything still goes through."""
        return getattr(self._widget, "comm", None) is not None

    def get(self, name: str) -> Any:
        """What was pushed last under `name`."""
        return getattr(self._widget, name)

    def push(self, **state: Any) -> None:
        """Send what has changed."""
        with self._lock:
            for name, value in state.items():
                if getattr(self._widget, name) != value:
                    setattr(self._widget, name, value)

    def send(self, content: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        """Send a message; it is lost where nobody listens yet, or any more."""
        # At its end a kernel closes what this goes through, and nobody waits for it then.
        with contextlib.suppress(OSError, RuntimeError):
            self._widget.send(content, list(buffers) or None)

    def close(self) -> None:
        """Close the widget; the HTML stays as it was drawn last."""
        with self._lock:
            self._widget.close()

    def _arrived(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        self.heard, self.heard_at = True, time.monotonic()
        self.send({"kind": "ack", "seq": content.get("seq")})
        if content.get("kind") != "ping":
            self._take(content)
