"""The engines that are known, by name."""

from __future__ import annotations

import difflib
from typing import Any

from uocr_nb.errors import OptionError
from uocr_nb.serving.engines import cpu, llamacpp, sglang, transformers, vllm
from uocr_nb.serving.engines.diagnosis import Advice, Symptom
from uocr_nb.serving.engines.launch import Launch, with_setup
from uocr_nb.serving.engines.profile import EngineProfile
from uocr_nb.serving.engines.variant import Metrics, Variant

__all__ = [
    "Advice",
    "EngineProfile",
    "Launch",
    "Metrics",
    "Symptom",
    "Variant",
    "detect",
    "get",
    "names",
    "register",
    "register_engine",
    "with_setup",
]

_profiles: dict[str, EngineProfile] = {}


def register(profile: EngineProfile) -> None:
    """Add an engine, or put another profile under a known name."""
    _profiles[profile.name] = profile


register_engine = register
"""The public name of `register` (``uocr_nb.register_engine``)."""

for _module in (cpu, vllm, sglang, llamacpp, transformers):
    register(_module.PROFILE)


def names() -> list[str]:
    """List the engines that are known."""
    return list(_profiles)


def get(name: str) -> EngineProfile:
    """Find the profile of an engine.

    Raises
    ------
    OptionError
        When there is no such engine; names the nearest one.
    """
    profile = _profiles.get(name.strip().lower())
    if profile is not None:
        return profile
    near = difflib.get_close_matches(name.lower(), _profiles, n=1)
    raise OptionError(
        f"There is no engine {name!r}.",
        f"The engines are {', '.join(_profiles)}, or the URL of one that runs.",
        f"%uocr_serve {near[0] if near else 'cpu'}",
    )


def detect(models: Any) -> str | None:
    """Tell from the answer of ``/v1/models`` which engine serves; None when it does not say."""
    owners = {str(model.get("owned_by", "")).lower() for model in served(models)}
    found = {profile.name for profile in _profiles.values() if profile.owned_by in owners}
    return found.pop() if len(found) == 1 else None


def served(models: Any) -> list[dict[str, Any]]:
    """Pick the entries out of the answer of ``/v1/models``, whatever else it holds."""
    data = models.get("data") if isinstance(models, dict) else None
    return [model for model in data if isinstance(model, dict)] if isinstance(data, list) else []
