"""The model itself, loaded by transformers in a process of its own."""

from __future__ import annotations

from uocr_nb.serving.engines.profile import ALL_MODES, MULTI_MODES, EngineProfile

PROFILE = EngineProfile(
    name="transformers",
    owned_by="uocr-transformers",
    mode_field=True,
    modes=ALL_MODES,
    multi_modes=MULTI_MODES,
    guard="xargs",
    multi="native",
    slots=1,
    known="request form only",
)
