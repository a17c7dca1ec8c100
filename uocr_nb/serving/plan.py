"""What is to be started, and what is told while it starts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from uocr_nb.config import settings
from uocr_nb.errors import OptionError
from uocr_nb.serving import engines
from uocr_nb.serving.engines.launch import is_path
from uocr_nb.support.durations import parse_duration
from uocr_nb.support.net import normalise_base_url

State = Literal["queued", "starting", "ready", "stopping", "stopped", "failed"]
"""The states of an endpoint; a host without a queue leaves the first one out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a user asked for. Equal plans are the same endpoint; the name alone does not make another.

    Attributes
    ----------
    host : str
        Where it runs: ``hf``, ``docker``, ``process`` or ``url``.
    engine : str or None
        The engine; None when a URL is to tell.
    variant : str
        Its variant; empty for an engine with one form.
    url : str
        Base URL of one that runs already.
    port : int or None
        Port to listen on; None takes the variant's own inside a Job or container, else a free one.
    low_memory : bool
        Whether the embedded engine shall spare memory.
    env : tuple of (str, str)
        Variables for the engine's environment. Their values may be secret.
    headers : tuple of (str, str)
        Header and the environment variable that holds its value.
    api_key_env : str or None
        The environment variable that holds the key.
    image, revision, model, mmproj, tp, args, drop_args
        Container image, the model's revision and name, and what is passed on to the engine.
    flavor : str
        Hardware of a Job.
    timeout : float
        Seconds after which a Job is ended, whatever it does.
    idle : float
        Seconds without a request after which a Job ends itself; 0 for never.
    namespace : str
        Account that a Job is billed to; empty for the user's own.
    forward_token : bool
        Whether the Hub's token is put into the Job as a secret.
    keep : bool
        Whether it outlives this kernel.
    reuse : bool
        Whether one that was kept or lost may be taken.
    wait : float
        Seconds in the queue after which a start is given up.
    start_limit : float or None
        Seconds within which the engine must be ready; None for the profile's.
    max_cost : float or None
        A start that could cost more US dollars is refused; None for no limit.
    another : bool
        Whether it was asked for beside the first.
    name : str or None
        A name of the user's own.
    """

    host: str
    engine: str | None = None
    variant: str = ""
    url: str = ""
    port: int | None = None
    low_memory: bool = False
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    headers: tuple[tuple[str, str], ...] = ()
    api_key_env: str | None = None
    image: str | None = None
    revision: str | None = None
    model: str | None = None
    mmproj: str | None = None
    tp: int | None = None
    args: tuple[str, ...] = ()
    drop_args: tuple[str, ...] = ()
    flavor: str = ""
    timeout: float = 0.0
    idle: float = 0.0
    namespace: str = ""
    forward_token: bool = False
    keep: bool = False
    reuse: bool = field(default=False, compare=False)
    wait: float = field(default=600.0, compare=False)
    start_limit: float | None = field(default=None, compare=False)
    max_cost: float | None = field(default=None, compare=False)
    another: bool = False
    name: str | None = field(default=None, compare=False)

    @property
    def title(self) -> str:
        """Engine, variant and hardware in words: ``vllm on l4x1``, ``sglang:stable on a100-large``."""
        return self.spelling + (f" on {self.flavor}" if self.flavor else "")

    @property
    def spelling(self) -> str:
        """Engine and variant as a user types them, the default variant left out."""
        profile = engines.get(self.engine or "")
        named = self.variant and self.variant != profile.variants[0].name
        return f"{profile.name}:{self.variant}" if named else profile.name

    @property
    def job_port(self) -> int:
        """Port that the engine listens on inside its Job or container."""
        return self.port or engines.get(self.engine or "").variant(self.variant).port


@dataclass(frozen=True, slots=True)
class StartEvent:
    """One thing that happened while an endpoint starts.

    Attributes
    ----------
    stage : str
        ``plan`` ``queued`` ``starting`` ``log`` ``loading`` ``checking`` ``note`` ``ready`` ``already``. The stage that
        was told last, told again, brings its line up to date.
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
    """The options of a start as a user gives them; see `uocr_nb.serve`. None is "not given"."""

    name: str | None = None
    another: bool = False
    engine: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] | None = None
    env: Mapping[str, str] | None = field(default=None, repr=False)
    port: int | None = None
    low_memory: bool = False
    on: str | None = None
    variant: str | None = None
    flavor: str | None = None
    timeout: str | float | None = None
    idle: str | float | None = None
    namespace: str | None = None
    image: str | None = None
    revision: str | None = None
    args: Sequence[str] = ()
    drop_args: Sequence[str] = ()
    model: str | None = None
    mmproj: str | None = None
    tp: int | None = None
    forward_token: bool = False
    wait: str | float | None = None
    start_limit: str | float | None = None
    keep: bool = False
    reuse: bool = False
    max_cost: float | Literal["default"] | None = "default"


_TIMEOUT, _IDLE, _WAIT, _START_LIMIT = 1800.0, 900.0, 600.0, 1200.0
"""Seconds: what a Job gets when nobody says."""

_ENV_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
"""Names of variables that the Hub takes."""


def make_plan(target: str | None, options: Options) -> Plan:
    """Check what a user asked for, and make the plan of it.

    Raises
    ------
    OptionError
        When there is no such engine, or the options do not go together.
    """
    wanted = (target or os.environ.get("UOCR_ENDPOINT") or settings.engine).strip()
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
    kind, _, variant_name = wanted.partition(":")
    profile = engines.get(kind)
    host = _host_of(profile, options)
    variant = profile.variant(variant_name or options.variant, host)
    port = options.port
    if port is not None and not 0 < port < 65536:
        raise OptionError(f"{port} is not a port.", "A port is a number from 1 to 65535.", "Leave --port out.")
    if options.tp is not None and options.tp < 1:
        raise OptionError(f"--tp {options.tp} is no number of GPUs.", "It counts from 1.", "Leave --tp out.")
    if profile.launch is None:
        why = "It is for engines that are started by a command line of their own."
        _refuse(wanted, why, {"--arg": options.args, "--drop-arg": options.drop_args, "--tp": options.tp})
    if profile.name != "cpu":
        _refuse(wanted, "It is for the embedded engine.", {"--low-memory": options.low_memory})
    plan = Plan(
        host=host,
        engine=profile.name,
        variant=variant.name,
        port=port,
        low_memory=options.low_memory,
        env=tuple(sorted((options.env or {}).items())),
        image=(options.image or variant.image) if host in ("hf", "docker") else None,
        revision=options.revision,
        model=options.model,
        mmproj=options.mmproj,
        tp=options.tp,
        args=tuple(options.args),
        drop_args=tuple(options.drop_args),
        start_limit=None if options.start_limit is None else _seconds("--start-limit", options.start_limit),
        another=options.another,
        name=options.name,
    )
    if host == "hf":
        return _job_plan(plan, variant, options)
    why = f"It is for Jobs of the Hub, and {profile.name} is started on {host}."
    _refuse(
        wanted,
        why,
        {
            "--flavor": options.flavor,
            "--timeout": options.timeout,
            "--idle": options.idle,
            "--namespace": options.namespace,
            "--forward-token": options.forward_token,
            "--wait": options.wait,
            "--keep": options.keep,
            "--reuse": options.reuse,
        },
    )
    if host != "docker":
        _refuse(wanted, "It is for containers.", {"--image": options.image})
    return plan


def _host_of(profile: engines.EngineProfile, options: Options) -> str:
    host = options.on or profile.hosts[0]
    if host not in profile.hosts:
        raise OptionError(
            f"{profile.name} cannot run on {host!r}.",
            f"It can be started on {', '.join(profile.hosts)}.",
            f"%uocr_serve {profile.name} --on {profile.hosts[0]}",
        )
    return host


def _job_plan(plan: Plan, variant: engines.Variant, options: Options) -> Plan:
    """Fill in what a Job needs."""
    flavor = options.flavor or variant.flavor or ""
    if variant.refuses(flavor):
        raise OptionError(
            f"{plan.spelling} does not start on {flavor}.",
            f"{variant.known}. It is refused on hardware named {', '.join(variant.refused_on)}...",
            f"%uocr_serve {plan.spelling} --flavor {variant.flavor}",
        )
    if plan.model and is_path(plan.model):
        why = "A Job has its own disk: a model is named by its repository there."
        raise OptionError(f"{plan.model!r} is not on the Job's machine.", why, "--model OWNER/NAME")
    for name, value in plan.env:
        if not _ENV_NAME.fullmatch(name) or not isinstance(value, str):
            why = "The Hub takes letters, digits and '_', a letter first, two signs at least."
            raise OptionError(f"{name!r} cannot be a variable of a Job.", why, "--env NAME=VALUE")
    timeout = _seconds("--timeout", options.timeout, _TIMEOUT)
    if timeout < 1:
        raise OptionError("A Job cannot have no time.", "Its timeout is the last net.", "--timeout 30m")
    return replace(
        plan,
        flavor=flavor,
        timeout=float(int(timeout)),
        idle=_seconds("--idle", options.idle, _IDLE),
        namespace=(options.namespace or "").strip(),
        forward_token=options.forward_token,
        keep=options.keep,
        reuse=options.reuse,
        wait=_seconds("--wait", options.wait, _WAIT),
        start_limit=plan.start_limit if plan.start_limit is not None else _START_LIMIT,
        max_cost=settings.max_cost if options.max_cost == "default" else options.max_cost,
    )


def _seconds(option: str, value: str | float | None, default: float = 0.0) -> float:
    if value is None:
        return default
    if isinstance(value, str):
        return parse_duration(value)
    if not 0 <= float(value) < float("inf"):
        raise OptionError(f"{option} {value} is not a duration.", "It cannot be negative.", f"{option} 30m")
    return float(value)


def _url_plan(wanted: str, options: Options) -> Plan:
    _refuse(
        "a URL",
        "The engine there has been started already.",
        {
            "--env": options.env,
            "--port": options.port,
            "--low-memory": options.low_memory,
            "--on": options.on,
            "--flavor": options.flavor,
            "--timeout": options.timeout,
            "--idle": options.idle,
            "--namespace": options.namespace,
            "--image": options.image,
            "--revision": options.revision,
            "--arg": options.args,
            "--drop-arg": options.drop_args,
            "--mmproj": options.mmproj,
            "--tp": options.tp,
            "--forward-token": options.forward_token,
            "--wait": options.wait,
            "--start-limit": options.start_limit,
            "--keep": options.keep,
            "--reuse": options.reuse,
        },
    )
    return Plan(
        host="url",
        engine=engines.get(options.engine).name if options.engine else None,
        url=normalise_base_url(wanted),
        headers=tuple(sorted((options.headers or {}).items())),
        api_key_env=options.api_key_env,
        model=options.model,
        another=options.another,
        name=options.name,
    )


def _refuse(wanted: str, why: str, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value or (value == 0 and not isinstance(value, bool)):
            raise OptionError(f"{option} does not go with {wanted}.", why, f"Leave {option} out.")
