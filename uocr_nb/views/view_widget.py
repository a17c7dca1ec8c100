"""The widget behind a page view. It is never displayed, so that no notebook ever stores one.

Its script is the drawing module. State is kept small, because it is sent again to a page that is reloaded: what is
looked at goes in messages. Messages that are sent before the script runs are lost, so what is pushed in a run are
traits, each of them whole.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from uocr_nb.views.widget_line import WidgetLine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FEEDS", "view_line"]

FEEDS = ("feed0", "feed1", "feed2", "feed3", "feed4", "feed5")
"""Where pages that are done are pushed, one after the other: a script that starts late still finds the last six."""


def view_line(uid: str, take: Callable[[dict[str, Any]], None], **state: Any) -> WidgetLine:
    """Open the widget for the root of that mark; `take` gets what the browser says, in whichever thread it came."""
    return WidgetLine(_view_widget()(uid=uid, **state), take)


@cache
def _view_widget() -> Any:
    import anywidget  # noqa: PLC0415 - brings ipywidgets, and is for notebooks alone
    import traitlets  # noqa: PLC0415

    script = files("uocr_nb.views").joinpath("viewer.js").read_text(encoding="utf-8")
    parts = {name: traitlets.Dict().tag(sync=True) for name in ("doc", "live", "front", "now", "turn", *FEEDS)}
    parts |= {name: traitlets.Unicode().tag(sync=True) for name in ("uid", "status")}
    return type("ViewWidget", (anywidget.AnyWidget,), {"_esm": script, **parts})
