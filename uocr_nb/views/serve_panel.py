"""The serve panel: one HTML output that shows an endpoint from its start to its receipt, and the form that starts one.

What is stored is that HTML, never a widget. It is drawn anew when its shape changes, and by the second through the
panel's script (`uocr_nb.views.serve_widget`). All of it happens in one thread of the panel's own: events of a start and
presses in the browser only leave a note for it.
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakSet

from uocr_nb.errors import UocrError
from uocr_nb.serving import start
from uocr_nb.views import launch, serve_facts
from uocr_nb.views.launch_html import draw_form
from uocr_nb.views.serve_html import draw
from uocr_nb.views.serve_plain import state_plain
from uocr_nb.views.serve_state import PanelState
from uocr_nb.views.serve_story import Story
from uocr_nb.views.serve_widget import Bridge, bridge

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.start import StartEvent
    from uocr_nb.views.slots import Drawn

__all__ = ["ServePanel", "panel", "panel_html", "settle"]

_TICK = 1.0
_DRAWN_ALONE = 5.0
"""Seconds between two drawings of the output where no script has answered."""

_LOG_PAUSE = 0.4
_panels: WeakSet[ServePanel] = WeakSet()


def panel_html(state: PanelState) -> str:
    """Draw the running half of the panel as one HTML element that is whole without script."""
    return draw(state).html


def settle(endpoint: Endpoint) -> bool:
    """Show the end of an endpoint in its panel at once; tell whether it has one."""
    shown = [one for one in list(_panels) if one.endpoint is endpoint]
    for one in shown:
        one.refresh()
    return bool(shown)


class ServePanel:
    """One panel.

    Parameters
    ----------
    in_cell : bool
        Whether a cell waits for the start, so that its interrupt stops it.
    show : callable, optional
        Shows a bundle and returns a handle with ``update``; IPython's display by default.
    """

    def __init__(self, *, in_cell: bool = True, show: Callable[[dict[str, str], str], Any] | None = None) -> None:
        self._show = show or _display
        since = "since you ran the cell" if in_cell else "since you pressed Start"
        self._story = Story(PanelState(uuid4().hex[:12], in_cell=in_cell), since)
        self._offer: launch.Offer | None = None
        self._stop_wanted = False
        self._sent_log = (0, 0.0)
        self._handle: Any = None
        self._bridge: Bridge | None = None
        self._shape = ""
        self._revision = 0
        self._drawn_at = 0.0
        self._lock = threading.RLock()
        self._inbox: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        _retire(_panels)
        _panels.add(self)

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint that it shows."""
        return self._story.endpoint

    @property
    def _state(self) -> PanelState:
        return self._story.state

    # ------------------------------------------------------------------ what a start tells
    def take(self, event: StartEvent) -> None:
        """Take one event of a start, in the thread that waits for it."""
        with self._lock:
            self._story.take(event)
            self._draw()
            if self._stop_wanted and self.endpoint is not None:
                self._stop()
        self._run()

    def ready(self, endpoint: Endpoint) -> None:
        """Show the line that stays on screen for hours."""
        for other in list(_panels):
            if other is not self and other.endpoint is endpoint:
                other.move_away()
        with self._lock:
            self._story.ready(endpoint)
            self._draw()
        self._run()

    def failed(self, error: UocrError | None) -> None:
        """Show how far it came, and why it stopped there; None when it was interrupted."""
        with self._lock:
            if self._handle is None:
                # Refused before anything was done: the error says all there is.
                self._close()
                return
            self._story.find_endpoint()
            self._story.end(error)
            self._draw()

    def move_away(self) -> None:
        """Leave the endpoint to a newer panel."""
        with self._lock:
            self._story.state = replace(self._state, phase="moved", log=())
            self._draw()
            self._story.endpoint = None
            self._close()

    def refresh(self) -> None:
        """Bring it up to date; called every second, and when something has happened."""
        with self._lock:
            if self._handle is None or self.over:
                return
            if self._state.phase == "form":
                # Another cell may have started or stopped one in the meantime.
                if self._offer is not None and self._offer.running != launch.running():
                    self.press("refresh")
                return
            self._story.look()
            self._draw()

    # ------------------------------------------------------------------ what is pressed
    def press(self, key: str, value: str = "") -> None:
        """Note that something was pressed; any thread."""
        self._inbox.put((key, value))

    def _act(self, key: str, value: str) -> None:
        if key == "stop":
            self._stop()
        elif key == "start" and self._offer is not None and self._offer.plan is not None:
            target, options = launch.options_of(self._offer.choice, another=bool(self._offer.running))
            if self._offer.plan.host == "hf" and self._offer.price.hour is None:
                options["max_cost"] = None  # the button said that the price is unknown
            self._begin(target, options)
        elif key.startswith("step-"):
            self._begin(*self._step(key))
        elif self._offer is not None and self._state.phase == "form":
            self._choose(key, value)

    def _stop(self) -> None:
        with self._lock:
            endpoint = self.endpoint
            self._stop_wanted = endpoint is None
            if endpoint is None:
                return
            if self._state.phase == "ready":
                self._story.state = replace(self._state, phase="stopping")
                self._draw()
        threading.Thread(target=endpoint.stop, name="uocr-stop", daemon=True).start()

    def _step(self, key: str) -> tuple[str | None, dict[str, Any]]:
        if key == "step-cpu":
            return "cpu", {}
        if key == "step-checked" and self.endpoint is not None:
            return serve_facts.checked(self.endpoint)
        if self._state.phase == "ready" and self.endpoint is not None:
            return serve_facts.again(self.endpoint)
        return self._story.again

    def _choose(self, key: str, value: str) -> None:
        if self._offer is None:
            return
        choice = launch.choose(self._offer.choice, key, value)
        self._offer = launch.make_offer(choice, token=self._offer.token)
        self._draw()

    def _begin(self, target: str | None, options: dict[str, Any]) -> None:
        """Start an endpoint from a press: in a thread, and shown in this place."""
        if self._state.phase == "ready":
            self._begin_beside(target, options)
            return
        if self._state.phase not in ("form", "failed", "stopped"):
            return
        with self._lock:
            state = PanelState(self._state.uid, name=str(target or "").split("://")[-1])
            self._story = Story(state, "since you pressed Start")
            self._story.again = (target, options)
            self._stop_wanted, self._sent_log = False, (0, 0.0)
            self._draw()
        threading.Thread(target=self._serve, args=(target, options), name="uocr-start", daemon=True).start()

    def _begin_beside(self, target: str | None, options: dict[str, Any]) -> None:
        """Start a second endpoint; the one that runs keeps this place until its end."""
        try:
            start.detach(target, **(options | {"another": True}))
            said = "Another one is starting beside it. %uocr_status tells how far it is."
        except UocrError as error:
            said = f"Another one was not started. {error.what} {error.why}"
        with self._lock:
            self._story.beside(said)
            self._draw()

    def _serve(self, target: str | None, options: dict[str, Any]) -> None:
        try:
            endpoint = start.serve(target, on_event=self.take, **options)
        except UocrError as error:
            self.failed(error)
        else:
            self.ready(endpoint)

    # ------------------------------------------------------------------ the form
    def form(self) -> None:
        """Show the launch form."""
        token = serve_facts.token_source()
        choice = launch.first_choice(can_pay=bool(token))
        with self._lock:
            self._offer = launch.make_offer(choice, token=token, rows=[])
            self._story.state = replace(self._state, phase="form", in_cell=False)
            self._draw(reading=choice.host == "hf")
        self._run()
        self.press("refresh")

    # ------------------------------------------------------------------ drawing
    def _drawing(self, *, reading: bool) -> Drawn:
        if self._state.phase == "form" and self._offer is not None:
            return draw_form(self._offer, self._state.uid, reading=reading)
        return draw(self._story.tick())

    def _draw(self, *, reading: bool = False) -> None:
        """Draw what has changed: the output when its shape has, else the texts alone."""
        with self._lock:
            drawn = self._drawing(reading=reading)
            now = time.monotonic()
            alone = self._bridge is None or not self._bridge.heard
            due = alone and self._state.phase == "starting" and now - self._drawn_at > _DRAWN_ALONE
            whole = _outline(drawn.shape) != self._shape or due
            if whole:
                self._shape, self._drawn_at = _outline(drawn.shape), now
                self._revision += 1
                html = drawn.html.replace('data-view="serve"', f'data-view="serve" data-rev="{self._revision}"', 1)
                bundle = {"text/html": html, "text/plain": state_plain(self._state, self._offer)}
                if self._handle is None:
                    self._handle = self._show(bundle, self._state.uid)
                    self._bridge = bridge(self._state.uid, self.press)
                else:
                    self._handle.update(bundle, raw=True)
                if self._bridge is not None:
                    self._bridge.push(html=_outline(html), revision=self._revision)
            self._push(drawn, now, whole=whole)

    def _push(self, drawn: Drawn, now: float, *, whole: bool) -> None:
        if self._bridge is None:
            return
        state = self._state
        count, at = self._sent_log
        if whole or (state.log_count != count and now - at > _LOG_PAUSE):
            self._sent_log = (state.log_count, now)
            lines = [[one.clock, one.level, one.tone, one.text] for one in state.log]
            self._bridge.push(log_count=state.log_count, log=lines)
        copies = {"copy-url": state.url, "phase": state.phase}
        if self._offer is not None and state.phase == "form":
            line = launch.magic_line(self._offer.plan) if self._offer.plan is not None else ""
            copies |= {"copy-command": self._offer.command, "copy-line": line}
        self._bridge.push(text=drawn.text, share=drawn.share, copies=copies, in_cell=state.in_cell)

    # ------------------------------------------------------------------ its thread
    def _run(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="uocr-panel", daemon=True)
            self._thread.start()

    def _loop(self) -> None:
        while True:
            try:
                note = self._inbox.get(timeout=_TICK)
            except queue.Empty:
                self.refresh()
                continue
            if note is None:
                return
            self._act(*note)

    @property
    def over(self) -> bool:
        """Whether what it shows will not change any more unless something is pressed."""
        return self._state.phase in ("failed", "stopped", "moved")

    def close(self) -> None:
        """Let go of the browser and end its thread; the HTML stays as it is."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        _panels.discard(self)
        self._inbox.put(None)
        if self._bridge is not None:
            self._bridge.close()
            self._bridge = None


def _outline(shape: str) -> str:
    """Take the lines of the log out of a shape: they go their own way."""
    before, mark, rest = shape.partition('<pre class="uo-log"')
    return before + mark + rest.partition("</pre>")[2]


def _retire(panels: WeakSet[ServePanel]) -> None:
    """Close the panels of endpoints that have ended: their buttons have offered what they could."""
    for one in list(panels):
        if one.over:
            one.close()


def _display(bundle: dict[str, str], uid: str) -> Any:
    from IPython.display import display  # noqa: PLC0415 - only in a notebook, which has it

    return display(bundle, raw=True, display_id=uid)


def panel() -> None:
    """Show the launch form: engine, host, hardware with its price, when it stops, and a button that starts it.

    In a notebook the form is live; without one its text is printed.
    """
    import sys  # noqa: PLC0415

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        ServePanel(in_cell=False).form()
        return
    token = serve_facts.token_source()
    offer = launch.make_offer(launch.first_choice(can_pay=bool(token)), token=token)
    print(state_plain(PanelState("", phase="form"), offer))
