"""How a start goes, told event by event, as the state that the serve panel shows."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.serving import start
from uocr_nb.support.durations import show_seconds
from uocr_nb.views import serve_facts
from uocr_nb.views.serve_state import (
    LOG_LINES,
    LogLine,
    PanelState,
    figures_of,
    log_line,
    share_in,
    stages_after,
)

if TYPE_CHECKING:
    from uocr_nb.errors import UocrError
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.start import StartEvent

__all__ = ["Story"]

_TAIL = 3
"""Lines by which the end of what was seen of a log is found again."""


class Story:
    """What is known of one start and of the endpoint that comes of it. Not for several threads at once.

    Parameters
    ----------
    state : PanelState
        Where it begins.
    since : str
        What its clock counts from, in words.
    """

    def __init__(self, state: PanelState, since: str) -> None:
        self.state = state
        self.endpoint: Endpoint | None = None
        self.again: tuple[str | None, dict[str, Any]] = (None, {})
        self._since = since
        self._before = {one.uid for one in start.endpoints()}
        self._began, self._seconds = time.monotonic(), 0.0
        self._ran_already = self._has_another = False
        self._log: list[LogLine] = []
        self._tail: list[str] = []

    # ------------------------------------------------------------------ while it starts
    def take(self, event: StartEvent) -> None:
        """Take one event of the start."""
        self._began, self._seconds = time.monotonic() - event.seconds, event.seconds
        self.find_endpoint()
        if event.stage == "log":
            self._take_line(event.text)
        elif event.stage == "plan":
            self.state = replace(self.state, plan=event.text)
        elif event.stage == "note":
            self.state = replace(self.state, notes=(*self.state.notes, event.text))
        elif event.stage == "already":
            self._ran_already = True
        elif event.stage != "ready":
            self._take_stage(event)

    def _take_line(self, text: str) -> None:
        self._add_line(text)
        told = share_in(text)
        if told is not None:
            share, words = told
            stages = tuple(
                replace(one, share=share, told=words) if one.state == "going" else one for one in self.state.stages
            )
            self.state = replace(self.state, stages=stages)

    def _take_stage(self, event: StartEvent) -> None:
        going = next((one.name for one in self.state.stages if one.state == "going"), "")
        host = self.endpoint.host if self.endpoint is not None else "process"
        stages = stages_after(self.state.stages, event.stage, event.text, event.seconds, host)
        if going != next((one.name for one in stages if one.state == "going"), ""):
            self._add_line(event.text, own=True)
        job = serve_facts.job_page(event.text) if event.stage == "queued" else ""
        self.state = replace(self.state, stages=stages, job_url=job or self.state.job_url)

    def _add_line(self, text: str, *, own: bool = False) -> None:
        if self.endpoint is not None:
            text = self.endpoint.hide(text)
        self._log.append(log_line(text, own=own))
        del self._log[:-LOG_LINES]
        self.state = replace(self.state, log=tuple(self._log), log_count=self.state.log_count + 1)

    def find_endpoint(self) -> None:
        """Find the endpoint that the start has made."""
        fresh = [one for one in start.endpoints() if one.uid not in self._before]
        if self.endpoint is None and fresh:
            self._adopt(fresh[-1])

    def _adopt(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        name, place = serve_facts.name_and_place(endpoint)
        self.state = replace(self.state, name=name, place=place)

    def tick(self) -> PanelState:
        """Move its clocks on."""
        if self.state.phase == "starting":
            seconds = time.monotonic() - self._began
            stages = tuple(
                replace(one, seconds=seconds - one.began) if one.state == "going" else one for one in self.state.stages
            )
            self.state = replace(self.state, stages=stages)
            if self.endpoint is not None:
                figures = figures_of(self.endpoint, seconds, self._since, serve_facts.most(self.endpoint))
                self.state = replace(self.state, figures=figures)
        return self.state

    # ------------------------------------------------------------------ how it comes out
    def ready(self, endpoint: Endpoint) -> None:
        """The endpoint has answered."""
        self._adopt(endpoint)
        if not self._log:
            self._log = [log_line(line) for line in endpoint.logs[-LOG_LINES:]]
            self.state = replace(self.state, log=tuple(self._log), log_count=len(endpoint.logs))
        self._tail = endpoint.logs[-_TAIL:]
        took = "already ready" if self._ran_already else f"ready in {show_seconds(self._seconds)}"
        self.state = replace(self.state, phase="ready", in_cell=False, took=took)
        self.look()

    def look(self) -> None:
        """Look at a running endpoint: its time, its money, its log, or its end."""
        endpoint = self.endpoint
        if endpoint is None or self.state.phase not in ("ready", "stopping"):
            return
        if endpoint.state == "failed":
            self.end(endpoint.failure)
        elif endpoint.state == "stopped":
            self.end(None)
        else:
            self._add_fresh_lines(endpoint)
            state = serve_facts.while_ready(self.state, endpoint)
            self.state = replace(state, steps=()) if self._has_another else state

    def beside(self, said: str) -> None:
        """Another one was asked for beside it; it is not offered a second time."""
        self._has_another = True
        self.state = replace(self.state, notes=(*self.state.notes, said), steps=())

    def _add_fresh_lines(self, endpoint: Endpoint) -> None:
        lines = endpoint.logs
        tail = lines[-_TAIL:]
        if tail == self._tail:
            return
        # The endpoint keeps so many lines and drops the oldest: what is new is what comes after the last ones seen.
        size = len(self._tail)
        ends = range(len(lines), size - 1, -1) if size else ()
        known = next((end for end in ends if lines[end - size : end] == self._tail), len(lines) if size else 0)
        for line in lines[known:][-LOG_LINES:]:
            self._add_line(line)
        self._tail = tail

    def end(self, error: UocrError | None) -> None:
        """It has stopped, or failed with `error`."""
        endpoint = self.endpoint
        stopped = endpoint is not None and endpoint.state in ("stopped", "stopping")
        if error is None or stopped:
            self.state = serve_facts.when_stopped(self.state, endpoint)
        else:
            seconds = time.monotonic() - self._began
            self.state = serve_facts.when_failed(self.state, endpoint, seconds, error)
        if endpoint is not None:
            self.again = serve_facts.again(endpoint)
