"""The model served by SGLang."""

from __future__ import annotations

from uocr_nb.serving.engines.profile import ALL_MODES, MULTI_MODES, EngineProfile

PROFILE = EngineProfile(
    name="sglang",
    owned_by="sglang",
    mode_field=True,
    modes=ALL_MODES,
    multi_modes=MULTI_MODES,
    guard="processor",
    multi="native",
    slots=16,
    known="run on a GPU by others with the vendor's wheel (2026-06-28); later releases: source read, not run",
)
