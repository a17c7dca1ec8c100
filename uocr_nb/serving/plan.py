"""What is to be started, and what is told while it starts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from uocr_nb.errors import OptionError
from uocr_nb.serving import engines
from uocr_nb.support.net import normalise_base_url

State = Literal["queued", "starting", "ready", "stopping", "stopped", "failed"]
"""The states of an endpoint; a host without a queue leaves the first one out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a user asked for. Equal plans are the same endpoint; the name alone does not make another.

    Attributes
    ----------
    host : str
        Where it runs: ``process`` or ``url``.
    engine : str or None
        The engine; None when a URL is to tell.
    url : str
        Base URL of one that runs already.
    port : int or None
        Port to listen on; None takes a free one.
    low_memory : bool
        Whether the embedded engine shall spare memory.
    env : tuple of (str, str)
        Variables for the engine's environment. Their values may be secret.
    headers : tuple of (str, str)
        Header and the environment variable that holds its value.
    api_key_env : str or None
        The environment variable that holds the key.
    another : bool
        Whether it was asked for beside the first.
    name : str or None
        A name of the user's own.
    """

    host: str
    engine: str | None = None
    url: str = ""
    port: int | None = None
    low_memory: bool = False
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    headers: tuple[tuple[str, str], ...] = ()
    api_key_env: str | None = None
    another: bool = False
    name: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class StartEvent:
    """One thing that happened while an endpoint starts.

    Attributes
    ----------
    stage : str
        ``plan`` ``starting`` ``log`` ``loading`` ``checking`` ``note`` ``ready`` ``already``.
    text : str
        The line to show. For ``log`` a line of the engine's own.
    seconds : float
        Since the start was asked for.
    """

    stage: str
    text: str
    seconds: float


Say = Callable[[str, str], None]
"""How a host tells a stage and a line."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a start as a user gives them; see `uocr_nb.serve`."""

    name: str | None = None
    another: bool = False
    engine: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] | None = None
    env: Mapping[str, str] | None = field(default=None, repr=False)
    port: int | None = None
    low_memory: bool = False


def make_plan(target: str | None, options: Options) -> Plan:
    """Check what a user asked for, and make the plan of it.

    Raises
    ------
    OptionError
        When there is no such engine, or the options do not go together.
    """
    wanted = (target or os.environ.get("UOCR_ENDPOINT") or "cpu").strip()
    if options.name is not None and not re.fullmatch(r"[\w.-]+", options.name):
        why = "A name is made of letters, digits, '-', '_' and '.'."
        raise OptionError(f"{options.name!r} cannot be a name.", why, "--name cpu-2")
    if "://" in wanted:
        return _url_plan(wanted, options)
    if re.fullmatch(r"[\w.-]+:\d+(/.*)?", wanted):
        raise OptionError(f"{wanted!r} is not a URL.", "It does not say http or https.", f"%uocr_serve http://{wanted}")
    return _engine_plan(wanted, options)


def _engine_plan(wanted: str, options: Options) -> Plan:
    _refuse(
        wanted,
        "It is for the URL of an endpoint that runs.",
        {"--engine": options.engine, "--api-key-env": options.api_key_env, "--header": options.headers},
    )
    kind, _, variant = wanted.partition(":")
    profile = engines.get(kind)
    if variant:
        raise OptionError(f"{kind} has no variant {variant!r}.", "It has one form only.", f"%uocr_serve {kind}")
    if not profile.program:
        raise OptionError(
            f"{profile.name} cannot be started from here.",
            "This version starts the embedded engine, and uses the others where they run already.",
            f"%uocr_serve http://HOST:PORT/v1 --engine {profile.name}",
        )
    port = options.port
    if port is not None and not 0 < port < 65536:
        raise OptionError(f"{port} is not a port.", "A port is a number from 1 to 65535.", "Leave --port out.")
    return Plan(
        host="process",
        engine=profile.name,
        port=port,
        low_memory=options.low_memory,
        env=tuple(sorted((options.env or {}).items())),
        another=options.another,
        name=options.name,
    )


def _url_plan(wanted: str, options: Options) -> Plan:
    _refuse(
        "a URL",
        "The engine there has been started already.",
        {"--env": options.env, "--port": options.port, "--low-memory": options.low_memory},
    )
    return Plan(
        host="url",
        engine=engines.get(options.engine).name if options.engine else None,
        url=normalise_base_url(wanted),
        headers=tuple(sorted((options.headers or {}).items())),
        api_key_env=options.api_key_env,
        another=options.another,
        name=options.name,
    )


def _refuse(wanted: str, why: str, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise OptionError(f"{option} does not go with {wanted}.", why, f"Leave {option} out.")
