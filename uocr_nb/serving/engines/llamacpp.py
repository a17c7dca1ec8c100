"""The model served by llama.cpp (``llama-server``), from a GGUF file."""

from __future__ import annotations

from uocr_nb.serving.engines.profile import EngineProfile

PROFILE = EngineProfile(
    name="llamacpp",
    owned_by="llamacpp",
    multi="pages",
    multi_note="llama.cpp is documented for one page a request.",
    slots=1,  # llama-server shares its context among its slots
    known="documented by others, not run",
)
