"""What may be chosen in the launch form, and what a choice means: its plan, its price, the lines to paste."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from uocr_nb.config import settings
from uocr_nb.errors import UocrError
from uocr_nb.serving import engines, start
from uocr_nb.serving.hub.account import Price, check_price, dollars_up, hardware_rows, price_of
from uocr_nb.serving.plan import Options, Plan, make_plan
from uocr_nb.support.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Choice",
    "Hardware",
    "Offer",
    "choose",
    "first_choice",
    "magic_line",
    "make_offer",
    "most_of",
    "options_of",
    "running",
]

TIMES = ("15m", "30m", "1h", "2h")
IDLES = ("5m", "15m", "30m", "0")
_USUAL = ("t4-small", "l4x1", "a10g-small", "l40sx1", "a100-large", "h200")
_REPORTED = re.compile(r"Jobs' (\S+) failed with (CUDA error \d+)")
_WORD = re.compile(r"[\w.:-]{0,80}")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen; texts as a user types them."""

    engine: str = "vllm"
    variant: str = ""
    host: str = "hf"
    flavor: str = "l4x1"
    timeout: str = "30m"
    idle: str = "15m"
    url: str = ""
    key_env: str = ""
    model: str = ""
    mmproj: str = ""
    all_kinds: bool = False


def first_choice(*, can_pay: bool) -> Choice:
    """Choose for a start: the model itself where a token was found, else what is free."""
    name = "vllm" if can_pay and settings.engine == "cpu" else settings.engine
    if "://" in name:
        return replace(_of_engine(Choice(), "cpu"), host="url", url=name)
    engine, _, variant = name.partition(":")
    if engine not in engines.names():
        engine, variant = "cpu", ""
    chosen = _of_engine(Choice(), engine)
    return _of_variant(chosen, variant) if variant else chosen


def choose(choice: Choice, key: str, value: str) -> Choice:
    """Change one thing of a choice, and with it what depends on it; what there is not changes nothing."""
    if key == "engine":
        return _of_engine(choice, value) if value in engines.names() else choice
    if key == "variant":
        return _of_variant(choice, value)
    if key == "host":
        allowed = (*engines.get(choice.engine).hosts, "url")
        return _with_variant_of_host(replace(choice, host=value)) if value in allowed else choice
    return replace(choice, **_plain(key, value))


def _plain(key: str, value: str) -> dict[str, Any]:
    """What a change means that nothing else depends on."""
    if key in ("timeout", "idle"):
        return {key: value.strip()[:20] or getattr(Choice(), key)}
    if key == "all_kinds":
        return {key: value == "yes"}
    if key in ("flavor", "key_env"):
        return {key: value} if _WORD.fullmatch(value) else {}
    return {key: value.strip()[:500]} if key in ("url", "model", "mmproj") else {}


def _of_engine(choice: Choice, name: str) -> Choice:
    profile = engines.get(name)
    return _with_variant_of_host(replace(choice, engine=name, host=profile.hosts[0]))


def _with_variant_of_host(choice: Choice) -> Choice:
    profile = engines.get(choice.engine)
    variant = profile.variant(None, choice.host)
    return replace(choice, variant=variant.name, flavor=variant.flavor or choice.flavor)


def _of_variant(choice: Choice, name: str) -> Choice:
    known = {variant.name: variant for variant in engines.get(choice.engine).variants}
    if name not in known:
        return choice
    return replace(choice, variant=name, flavor=known[name].flavor or choice.flavor)


def options_of(choice: Choice, *, another: bool = False) -> tuple[str, dict[str, Any]]:
    """Write a choice as what `uocr_nb.serve` takes."""
    if choice.host == "url":
        given: dict[str, Any] = {"api_key_env": choice.key_env or None, "another": another}
        return choice.url, given
    profile = engines.get(choice.engine)
    given = {"on": choice.host, "variant": choice.variant or None, "another": another}
    if choice.host == "hf":
        given |= {"flavor": choice.flavor, "timeout": choice.timeout, "idle": choice.idle}
    if not profile.model:
        given |= {"model": choice.model or None, "mmproj": choice.mmproj or None}
    return choice.engine, given


@dataclass(frozen=True, slots=True)
class Hardware:
    """One kind of hardware.

    Attributes
    ----------
    name, gpu, memory : str
        As the Hub has them.
    hour : float or None
        US dollars an hour, without the exposed port.
    known : str
        What is known of this engine on it.
    warns : bool
        Whether that is bad.
    """

    name: str
    gpu: str = ""
    memory: str = ""
    hour: float | None = None
    known: str = ""
    warns: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """What a choice means.

    Attributes
    ----------
    choice : Choice
        What was chosen.
    plan : Plan or None
        None when it cannot be started; `error` then says why.
    error : UocrError or None
        Why it is refused.
    price : Price
        What it costs where it costs anything.
    hardware : tuple of Hardware
        Kinds to choose from.
    kinds : int
        Kinds there are in all.
    read : bool
        Whether the Hub's prices were read.
    command : str
        What would be run, to paste.
    known : str
        What is validated, and by whom.
    notes : tuple of str
        Doubts.
    running : tuple of str
        Endpoints that run already.
    token : str
        Where the token was found; empty for none.
    """

    choice: Choice
    plan: Plan | None
    error: UocrError | None
    price: Price = field(default_factory=lambda: Price(None))
    hardware: tuple[Hardware, ...] = ()
    kinds: int = 0
    read: bool = False
    command: str = ""
    known: str = ""
    notes: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    token: str = ""

    @property
    def most(self) -> str:
        """``at most $0.41``, ``price unknown`` or ``free``."""
        return "free" if self.plan is None or self.plan.host != "hf" else most_of(self.plan, self.price.total)


def most_of(plan: Plan, hour: float | None) -> str:
    """Say the most that a Job of this plan can cost at so many US dollars an hour."""
    if hour is None:
        return "price unknown"
    return f"at most ${dollars_up(hour * plan.timeout / 3600):,.2f}"


def make_offer(choice: Choice, *, token: str = "", rows: Sequence[dict[str, Any]] | None = None) -> Offer:
    """Find what a choice means; asks the Hub for its prices where `rows` are None and a Job is chosen.

    May wait for the Hub, some seconds at most.
    """
    if rows is None:
        rows = _prices() if choice.host == "hf" else []
    profile = engines.get(choice.engine)
    variant = profile.variant(choice.variant)
    price = price_of(choice.flavor, list(rows))
    beside = running()
    plan, error, command = _plan_of(choice, price, another=bool(beside))
    hardware, kinds = _hardware(choice, rows)
    return Offer(
        choice=choice,
        plan=plan,
        error=error,
        price=price,
        hardware=hardware,
        kinds=kinds,
        read=bool(rows),
        command=command,
        known="" if choice.host == "url" else variant.known or profile.known,
        notes=variant.notes if choice.host == "hf" else (),
        running=beside,
        token=token,
    )


def running() -> tuple[str, ...]:
    """Name the endpoints of this kernel that run or start."""
    return tuple(one.name for one in start.endpoints() if one.state in ("queued", "starting", "ready"))


def _plan_of(choice: Choice, price: Price, *, another: bool) -> tuple[Plan | None, UocrError | None, str]:
    if choice.host == "url" and not choice.url:
        return None, None, ""
    target, options = options_of(choice, another=another)
    plan = None
    try:
        plan = make_plan(target, Options(**options))
        if plan.host == "hf":
            from uocr_nb.serving.hub.command import hf_jobs_line  # noqa: PLC0415 - for Jobs alone

            command = hf_jobs_line(plan, supervised=False)
            if price.hour is not None:  # an unknown price is said on the button, and accepted by pressing it
                check_price(plan, price)
        else:
            command = start.describe_plan(target, **options).partition("free: ")[2]
    except UocrError as error:
        return plan, error, ""
    return plan, None, command


def _prices() -> list[dict[str, Any]]:
    from uocr_nb.serving.hub.client import HubClient  # noqa: PLC0415 - brings the Hub's client

    return hardware_rows(HubClient())


# ------------------------------------------------------------------ hardware
def _hardware(choice: Choice, rows: Sequence[dict[str, Any]]) -> tuple[tuple[Hardware, ...], int]:
    if choice.host != "hf":
        return (), 0
    with_gpu = {str(row.get("name")): row for row in rows if isinstance(row.get("accelerator"), dict)}
    shown = list(with_gpu) if choice.all_kinds else [name for name in _USUAL if name in with_gpu or not rows]
    if choice.flavor not in shown and (choice.flavor in with_gpu or not rows):
        shown.append(choice.flavor)
    kinds = [_kind(name, with_gpu.get(name, {}), rows, choice) for name in shown]
    return tuple(sorted(kinds, key=lambda kind: (kind.hour or 0.0, shown.index(kind.name)))), len(with_gpu)


def _kind(name: str, row: dict[str, Any], rows: Sequence[dict[str, Any]], choice: Choice) -> Hardware:
    chip = row.get("accelerator") or {}
    many = str(chip.get("quantity") or "1")
    gpu = (f"{many} x " if many != "1" else "") + str(chip.get("model") or "")
    known, warns = _known(name, choice)
    return Hardware(name, gpu, str(chip.get("vram") or ""), price_of(name, list(rows)).hour, known, warns)


def _known(flavor: str, choice: Choice) -> tuple[str, bool]:
    """Say what is known of a kind: refused, reported broken, checked, or not tried."""
    profile = engines.get(choice.engine)
    if profile.variant(choice.variant).refuses(flavor):
        return "does not start here", True
    everyone = [(each, variant) for each in map(engines.get, engines.names()) for variant in each.variants]
    for _, variant in everyone:
        for note in variant.notes:
            reported = _REPORTED.search(note)
            if reported and reported[1] == flavor:
                return f"{reported[2].replace(' error', '')} reported", True
    checked = [
        (each.name, variant.name) for each, variant in everyone if variant.validated and variant.flavor == flavor
    ]
    if (choice.engine, choice.variant) in checked:
        return "checked", False
    return (f"checked with {checked[0][0]}", False) if checked else ("not tried", False)


# ------------------------------------------------------------------ as a line to paste
def magic_line(plan: Plan) -> str:
    """Write the magic that starts a plan."""
    if plan.host == "url":
        key = ["--api-key-env", plan.api_key_env] if plan.api_key_env else []
        return shlex.join(["%uocr_serve", plan.url, *key])
    profile = engines.get(plan.engine or "")
    words = ["%uocr_serve", plan.spelling]
    if plan.host != profile.hosts[0]:
        words += ["--on", plan.host]
    if plan.host == "hf":
        if plan.flavor != profile.variant(plan.variant).flavor:
            words += ["--flavor", plan.flavor]
        words += _time("--timeout", plan.timeout, "30m") + _time("--idle", plan.idle, "15m")
    for option, value in (("--model", plan.model), ("--mmproj", plan.mmproj), ("--namespace", plan.namespace)):
        words += [option, value] if value else []
    if plan.low_memory:
        words.append("--low-memory")
    return shlex.join(words)


def _time(option: str, seconds: float, usual: str) -> list[str]:
    if seconds == parse_duration(usual):
        return []
    whole = int(seconds)
    return [
        option,
        f"{whole // 3600}h" if whole and whole % 3600 == 0 else f"{whole // 60}m" if whole % 60 == 0 else f"{whole}s",
    ]
