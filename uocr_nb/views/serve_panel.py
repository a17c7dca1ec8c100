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
from uocr_nb.support.durations import show_seconds
from uocr_nb.views import launch, serve_facts
from uocr_nb.views.launch_html import draw_form
from uocr_nb.views.serve_html import draw
from uocr_nb.views.serve_plain import state_plain
from uocr_nb.views.serve_state import LOG_LINES, LogLine, PanelState, figures_of, log_line, share_in, stages_after
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
_TAIL = 3
"""Lines by which the end of what was seen of a log is found again."""

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
        self.endpoint: Endpoint | None = None
        self._show = show or _display
        self._state = PanelState(uuid4().hex[:12], in_cell=in_cell)
        self._since = "since you ran the cell" if in_cell else "since you pressed Start"
        self._offer: launch.Offer | None = None
        self._again: tuple[str | None, dict[str, Any]] = (None, {})
        self._before = {one.uid for one in start.endpoints()}
        self._began, self._seconds = time.monotonic(), 0.0
        self._again_found = False
        self._log: list[LogLine] = []
        self._tail: list[str] = []
        self._sent_log = (0, 0.0)
        self._handle: Any = None
        self._bridge: Bridge | None = None
        self._shape = ""
        self._drawn_at = 0.0
        self._lock = threading.RLock()
        self._inbox: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        _retire(_panels)
        _panels.add(self)

    # ------------------------------------------------------------------ what a start tells
    def take(self, event: StartEvent) -> None:
        """Take one event of a start, in the thread that waits for it."""
        with self._lock:
            self._began, self._seconds = time.monotonic() - event.seconds, event.seconds
            self._find_endpoint()
            getattr(self, f"_on_{event.stage}", self._on_stage)(event)
            self._draw()
        self._run()

    def _on_log(self, event: StartEvent) -> None:
        self._add_line(event.text)
        told = share_in(event.text)
        if told is not None:
            share, words = told
            stages = tuple(
                replace(one, share=share, told=words) if one.state == "going" else one for one in self._state.stages
            )
            self._state = replace(self._state, stages=stages)

    def _on_plan(self, event: StartEvent) -> None:
        self._state = replace(self._state, plan=event.text)

    def _on_note(self, event: StartEvent) -> None:
        self._state = replace(self._state, notes=(*self._state.notes, event.text))

    def _on_already(self, _event: StartEvent) -> None:
        """It runs already; `ready` follows."""
        self._again_found = True

    def _on_ready(self, event: StartEvent) -> None:
        """`ready` follows."""

    def _on_stage(self, event: StartEvent) -> None:
        going = next((one for one in self._state.stages if one.state == "going"), None)
        host = self.endpoint.host if self.endpoint is not None else "process"
        stages = stages_after(self._state.stages, event.stage, event.text, event.seconds, host)
        now = next((one for one in stages if one.state == "going"), None)
        if going is None or now is None or going.name != now.name:
            self._add_line(event.text, own=True)
        job = serve_facts.job_page(event.text) if event.stage == "queued" else ""
        self._state = replace(self._state, stages=stages, job_url=job or self._state.job_url)

    def _add_line(self, text: str, *, own: bool = False) -> None:
        if self.endpoint is not None:
            text = self.endpoint.hide(text)
        self._log.append(log_line(text, own=own))
        del self._log[:-LOG_LINES]
        self._state = replace(self._state, log=tuple(self._log), log_count=self._state.log_count + 1)

    def _find_endpoint(self) -> None:
        if self.endpoint is not None:
            return
        fresh = [one for one in start.endpoints() if one.uid not in self._before]
        if fresh:
            self._adopt(fresh[-1])

    def _adopt(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        name, place = serve_facts.name_and_place(endpoint)
        self._state = replace(self._state, name=name, place=place)

    # ------------------------------------------------------------------ how it comes out
    def ready(self, endpoint: Endpoint) -> None:
        """Show the line that stays on screen for hours."""
        with self._lock:
            for other in list(_panels):
                if other is not self and other.endpoint is endpoint:
                    other.move_away()
            self._adopt(endpoint)
            if not self._log:
                self._log = [log_line(line) for line in endpoint.logs[-LOG_LINES:]]
                self._state = replace(self._state, log=tuple(self._log), log_count=len(endpoint.logs))
            self._tail = endpoint.logs[-_TAIL:]
            took = "already ready" if self._again_found else f"ready in {show_seconds(self._seconds)}"
            self._state = replace(self._state, phase="ready", in_cell=False, took=took)
            self.refresh()
        self._run()

    def failed(self, error: UocrError | None) -> None:
        """Show how far it came, and why it stopped there; None when it was interrupted."""
        with self._lock:
            self._find_endpoint()
            self._finish(error)

    def move_away(self) -> None:
        """Leave the endpoint to a newer panel."""
        with self._lock:
            self._state = replace(self._state, phase="moved", log=())
            self._draw()
            self.endpoint = None
            self._close()

    def refresh(self) -> None:
        """Bring it up to date; called every second, and when something has happened."""
        with self._lock:
            endpoint = self.endpoint
            if endpoint is None or self._state.phase in ("failed", "stopped", "form"):
                return
            if self._state.phase == "starting":
                # Its end is told by who waits for the start.
                self._draw()
            elif endpoint.state == "failed":
                self._finish(endpoint.failure)
            elif endpoint.state == "stopped":
                self._finish(None)
            else:
                self._add_fresh_lines(endpoint)
                self._state = serve_facts.while_ready(self._state, endpoint)
                self._draw()

    def _add_fresh_lines(self, endpoint: Endpoint) -> None:
        """Take up what the engine has written since it is ready."""
        lines = endpoint.logs
        tail = lines[-_TAIL:]
        if tail == self._tail:
            return
        # The endpoint keeps so many lines and drops the oldest: what is new is what comes after the last ones seen.
        size = len(self._tail)
        ends = range(len(lines), size, -1) if size else ()
        known = next((end for end in ends if lines[end - size : end] == self._tail), len(lines) if size else 0)
        for line in lines[known:][-LOG_LINES:]:
            self._add_line(line)
        self._tail = tail

    def _finish(self, error: UocrError | None) -> None:
        endpoint = self.endpoint
        seconds = time.monotonic() - self._began
        stopped = endpoint is not None and endpoint.state in ("stopped", "stopping")
        if error is None or stopped:
            self._state = serve_facts.when_stopped(self._state, endpoint)
        else:
            self._state = serve_facts.when_failed(self._state, endpoint, seconds, error)
        self._again = serve_facts.again(endpoint) if endpoint is not None else self._again
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
        endpoint = self.endpoint
        if endpoint is None:
            return
        with self._lock:
            if self._state.phase == "ready":
                self._state = replace(self._state, phase="stopping")
                self._draw()
        threading.Thread(target=endpoint.stop, name="uocr-stop", daemon=True).start()

    def _step(self, key: str) -> tuple[str | None, dict[str, Any]]:
        if key == "step-cpu":
            return "cpu", {}
        if key == "step-checked" and self.endpoint is not None:
            return serve_facts.checked(self.endpoint)
        return self._again

    def _choose(self, key: str, value: str) -> None:
        if self._offer is None:
            return
        choice = launch.choose(self._offer.choice, key, value)
        self._offer = launch.make_offer(choice, token=self._offer.token)
        self._draw()

    def _begin(self, target: str | None, options: dict[str, Any]) -> None:
        """Start an endpoint from a press: in a thread, and shown in this place."""
        if self._state.phase not in ("form", "failed", "stopped", "ready"):
            return
        with self._lock:
            self._before = {one.uid for one in start.endpoints()}
            self.endpoint, self._log, self._tail = None, [], []
            self._since = "since you pressed Start"
            self._state = PanelState(self._state.uid, name=str(target or "").split("://")[-1])
            self._began, self._again_found = time.monotonic(), False
            self._draw()
        threading.Thread(target=self._serve, args=(target, options), name="uocr-start", daemon=True).start()

    def _serve(self, target: str | None, options: dict[str, Any]) -> None:
        self._again = (target, options)
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
            self._state = replace(self._state, phase="form", in_cell=False)
            self._draw(reading=choice.host == "hf")
        self._run()
        self.press("refresh")

    # ------------------------------------------------------------------ drawing
    def _drawing(self, *, reading: bool) -> Drawn:
        if self._state.phase == "form" and self._offer is not None:
            return draw_form(self._offer, self._state.uid, reading=reading)
        endpoint, state = self.endpoint, self._state
        if state.phase == "starting":
            seconds = time.monotonic() - self._began
            stages = tuple(
                replace(one, seconds=seconds - one.began) if one.state == "going" else one for one in state.stages
            )
            figures = state.figures
            if endpoint is not None:
                figures = figures_of(endpoint, seconds, self._since, serve_facts.most(endpoint))
            self._state = state = replace(state, stages=stages, figures=figures)
        return draw(state)

    def _draw(self, *, reading: bool = False) -> None:
        """Draw what has changed: the output when its shape has, else the texts alone."""
        with self._lock:
            drawn = self._drawing(reading=reading)
            now = time.monotonic()
            alone = self._bridge is None or not self._bridge.heard
            due = alone and self._state.phase == "starting" and now - self._drawn_at > _DRAWN_ALONE
            again = _outline(drawn.shape) != self._shape or due
            if again:
                self._shape, self._drawn_at = _outline(drawn.shape), now
                bundle = {"text/html": drawn.html, "text/plain": state_plain(self._state, self._offer)}
                if self._handle is None:
                    self._handle = self._show(bundle, self._state.uid)
                    self._bridge = bridge(self._state.uid, self.press)
                else:
                    self._handle.update(bundle, raw=True)
            self._push(drawn, now, whole=again)

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
