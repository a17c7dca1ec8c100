"""The model served by vLLM."""

from __future__ import annotations

from uocr_nb.serving.engines.profile import EngineProfile

PROFILE = EngineProfile(
    name="vllm",
    owned_by="vllm",
    image_mark=True,
    # vLLM has no field for the mode: it cuts one page into tiles (gundam) and takes several whole (base).
    modes=("gundam",),
    multi_modes=("base",),
    guard="xargs",
    multi="pages",
    multi_note="vLLM squeezes each of several pages to 640 x 640, so they read worse than one by one.",
    slots=16,
    known="one page a request: run on a GPU by others (2026-06-28); several pages: only clean documents",
)
