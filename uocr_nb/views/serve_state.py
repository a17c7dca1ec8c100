"""What the serve panel shows at one moment, as values: stages, figures, lines of the log, and what may be done next."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from uocr_nb.support.durations import show_clock
from uocr_nb.views.plain import printable
from uocr_nb.views.words import money

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint

__all__ = [
    "LOG_LINES",
    "Figure",
    "LogLine",
    "PanelState",
    "Stage",
    "Step",
    "figures_of",
    "log_line",
    "share_in",
    "stages_after",
]

LOG_LINES = 200
"""Lines of a log that a panel keeps."""

_LINE_SIGNS = 600
_SOON = 300.0
"""Seconds before the end from which its clock warns."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LEVEL = re.compile(
    r"\s*(\([^()]{1,40}\)\s+)?\[?(DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b\]?:?\s*(.*)", re.DOTALL
)
_INSIDE = re.compile(r"\b(WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|^\s*(Traceback|[A-Za-z_.]*Error)\b")
_SHORT = {"WARNING": "WARN", "CRITICAL": "ERROR", "FATAL": "ERROR"}
_SHARE = re.compile(
    r"(weights|shards|checkpoint|download\w*|model)\b[^%\n]{0,60}?(\d{1,3}(?:\.\d+)?)\s?%", re.IGNORECASE
)

_OF_HOST = {
    "hf": ("queued", "pulling", "loading", "ready"),
    "docker": ("starting", "loading", "ready"),
    "process": ("starting", "loading", "ready"),
    "url": ("asking", "ready"),
}


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log.

    Attributes
    ----------
    clock : str
        When it came.
    level : str
        ``INFO``, ``WARN``, ``ERROR``, ``DEBUG``, or empty where the line begins with none.
    tone : str
        ``own`` for a line of ours, ``warn``, ``error``, or empty.
    text : str
        The rest of it.
    """

    clock: str
    level: str
    tone: str
    text: str


def log_line(text: str, *, own: bool = False, at: float | None = None) -> LogLine:
    """Read a line of an engine's log: its level, and what a terminal would obey taken out."""
    clock = time.strftime("%H:%M:%S", time.localtime(at))
    clean = printable(_COLOURS.sub("", text)).rstrip()[:_LINE_SIGNS]
    if own:
        return LogLine(clock, "", "own", clean)
    begins = _LEVEL.match(clean)
    if begins:
        level = _SHORT.get(begins[2], begins[2])
        return LogLine(clock, level, {"WARN": "warn", "ERROR": "error"}.get(level, ""), (begins[1] or "") + begins[3])
    inside = _INSIDE.search(clean)
    tone = "" if inside is None else "warn" if (inside[1] or "").startswith("WARN") else "error"
    return LogLine(clock, "", tone, clean)


def share_in(text: str) -> tuple[float, str] | None:
    """Find how far a line says that something is: ``(61.0, "weights 61%")``."""
    found = _SHARE.search(text)
    if found is None or float(found[2]) > 100:
        return None
    word = "weights" if found[1].lower() in ("shards", "checkpoint") else found[1].lower()
    return float(found[2]), f"{word} {float(found[2]):.0f}%"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a start.

    Attributes
    ----------
    name : str
        queued, pulling, loading, ready and the like.
    state : str
        done, going, failed, or waiting.
    began, seconds : float
        When it began, and how long it took, in seconds since the start was asked for.
    note : str
        One more word on it.
    share : float or None
        Per cent that are done, where the log tells.
    told : str
        The same in words.
    """

    name: str
    state: str = "waiting"
    began: float = 0.0
    seconds: float = 0.0
    note: str = ""
    share: float | None = None
    told: str = ""


def stages_after(stages: tuple[Stage, ...], name: str, note: str, seconds: float, host: str) -> tuple[Stage, ...]:
    """Give the stages after one more event; those that are still to come are named too."""
    name = {"checking": "ready", "starting": "asking" if host == "url" else "starting"}.get(name, name)
    if not stages:
        stages = tuple(Stage(each, note="then one test page" if each == "ready" else "") for each in _OF_HOST[host])
    names = [stage.name for stage in stages]
    if name not in names:
        at = next((n for n, stage in enumerate(stages) if stage.state == "waiting"), len(stages))
        stages = (*stages[:at], Stage(name), *stages[at:])
        names.insert(at, name)
    place = names.index(name)
    changed = []
    for n, stage in enumerate(stages):
        if n < place and stage.state in ("going", "waiting"):
            took = seconds - stage.began if stage.state == "going" else 0.0
            changed.append(replace(stage, state="done", seconds=took, note="", share=None, told=""))
        elif n == place and stage.state != "going":
            changed.append(replace(stage, state="going", began=seconds, note=note))
        else:
            changed.append(replace(stage, note=note) if n == place else stage)
    return tuple(changed)


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the figures of a start: a number over its name."""

    value: str
    label: str
    warns: bool = False


def figures_of(endpoint: Endpoint, seconds: float, since: str, most: str) -> tuple[Figure, ...]:
    """Gather the figures of an endpoint that starts: what is left, what is spent, what it can cost, since when."""
    clock = Figure(show_clock(seconds), since)
    if endpoint.host != "hf":
        free = () if endpoint.host == "url" else (Figure(money(0), "free on this machine"),)
        return (*free, clock)
    left = endpoint.time_left
    runs = left is not None
    until = Figure(
        show_clock(left if left is not None else endpoint.plan.timeout),
        "to auto-stop" if runs else "once it runs, to auto-stop",
        warns=left is not None and left < _SOON,
    )
    spent = "?" if endpoint.price is None else money(endpoint.spent)
    return (until, Figure(spent, "spent so far" if runs else "the queue is free"), Figure(most, "at most"), clock)


@dataclass(frozen=True, slots=True)
class Step:
    """What may be done next.

    Attributes
    ----------
    key : str
        By which the button is known.
    label : str
        A verb, with its price.
    line : str
        The same as a line to paste.
    main : bool
        Whether it is the safest.
    """

    key: str
    label: str
    line: str
    main: bool = False


@dataclass(frozen=True, slots=True)
class PanelState:
    """All that the running half of the panel shows.

    Attributes
    ----------
    uid : str
        Marks its root.
    phase : str
        starting, ready, stopping, failed, stopped or moved.
    name, place : str
        What is started, and where.
    stages, figures, log, steps
        As far as they are known.
    log_count : int
        Lines in all, those that are no longer kept included.
    notes : tuple of str
        Facts of the start that a person should know.
    plan : str
        The plan in a line.
    url, left, spent, cost : str
        Address, time left, money.
    left_share : float or None
        Per cent of its time that are left.
    soon : bool
        Whether its last minutes run.
    error : tuple of str
        What, why, next.
    receipt, end : str
        What it was, and its last words.
    stop_words : str
        How it is stopped where no script runs.
    stop_ask : str
        What the button asks for a second time before it stops; empty asks nothing.
    job_url : str
        Page of its Job.
    in_cell : bool
        Whether the cell waits for it.
    """

    uid: str
    phase: str = "starting"
    name: str = ""
    place: str = ""
    stages: tuple[Stage, ...] = ()
    figures: tuple[Figure, ...] = ()
    log: tuple[LogLine, ...] = ()
    log_count: int = 0
    notes: tuple[str, ...] = ()
    plan: str = ""
    url: str = ""
    took: str = ""
    left: str = ""
    left_share: float | None = None
    soon: bool = False
    spent: str = ""
    cost: str = ""
    error: tuple[str, str, str] = ("", "", "")
    steps: tuple[Step, ...] = ()
    receipt: str = ""
    end: str = ""
    stop_words: str = ""
    stop_ask: str = ""
    job_url: str = field(default="", repr=False)
    in_cell: bool = False
