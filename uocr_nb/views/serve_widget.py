"""The widget behind the serve panel. It is never displayed, so that no notebook ever stores one.

Its script finds the panel's HTML by its mark, draws what changes by the second, and tells what was pressed.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from uocr_nb.views.widget_line import WidgetLine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Bridge", "bridge"]


class Bridge(WidgetLine):
    """What drives one panel's HTML in the browser.

    Parameters
    ----------
    widget : anywidget.AnyWidget
        Open, and not displayed.
    on_press : callable
        Called with the key and the value of what was pressed, in whichever thread the message came.
    """

    def __init__(self, widget: Any, on_press: Callable[[str, str], None]) -> None:
        def take(content: dict[str, Any]) -> None:
            if content.get("kind") == "press":
                on_press(str(content.get("key") or "")[:80], str(content.get("value") or "")[:600])

        super().__init__(widget, take)


def bridge(uid: str, on_press: Callable[[str, str], None]) -> Bridge:
    """Open the widget for the panel of that mark."""
    return Bridge(_panel_widget()(uid=uid), on_press)


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
