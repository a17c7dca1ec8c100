"""The widget behind the serve panel. It is never displayed, so that no notebook ever stores one.

Its script finds the panel's HTML by its mark, draws what changes by the second, and tells what was pressed. Messages
from the browser may arrive in another thread than the cell's: they are handed on, and nothing is done here.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Bridge", "bridge"]


class Bridge:
    """What drives one panel's HTML in the browser.

    Parameters
    ----------
    widget : anywidget.AnyWidget
        Open, and not displayed.
    on_press : callable
        Called with the key and the value of what was pressed, in whichever thread the message came.
    """

    def __init__(self, widget: Any, on_press: Callable[[str, str], None]) -> None:
        self._widget = widget
        self._on_press = on_press
        self.heard = False
        widget.on_msg(self._take)

    def push(self, **state: Any) -> None:
        """Send what has changed."""
        for name, value in state.items():
            if getattr(self._widget, name) != value:
                setattr(self._widget, name, value)

    def close(self) -> None:
        """Close the widget; the HTML stays as it was drawn last."""
        self._widget.close()

    def _take(self, widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        self.heard = True
        widget.send({"kind": "ack", "seq": content.get("seq")})
        if content.get("kind") == "press":
            self._on_press(str(content.get("key") or "")[:80], str(content.get("value") or "")[:600])


def bridge(uid: str, on_press: Callable[[str, str], None]) -> Bridge:
    """Open the widget for the panel of that mark."""
    widget = _panel_widget()(uid=uid)
    comm = getattr(widget, "comm", None)
    if comm is not None and hasattr(comm, "_reply_subshell_for"):
        # ipykernel 7.4 hands a message to the shell that wrote on the comm last; that is the one of the busy cell,
        # and a press of Stop would wait for its end. This one comm goes by what the browser asked for.
        comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001
    return Bridge(widget, on_press)


@cache
def _panel_widget() -> Any:
    import anywidget  # noqa: PLC0415 - brings ipywidgets, and is for notebooks alone
    import traitlets  # noqa: PLC0415

    script = files("uocr_nb.views").joinpath("serve_panel.js").read_text(encoding="utf-8")

    class PanelWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """State that the panel's script draws."""

        _esm = script
        uid = traitlets.Unicode().tag(sync=True)
        html = traitlets.Unicode().tag(sync=True)
        revision = traitlets.Int(0).tag(sync=True)
        text = traitlets.Dict().tag(sync=True)
        share = traitlets.Dict().tag(sync=True)
        log = traitlets.List().tag(sync=True)
        log_count = traitlets.Int(0).tag(sync=True)
        copies = traitlets.Dict().tag(sync=True)
        in_cell = traitlets.Bool(False).tag(sync=True)

    return PanelWidget
