"""The embedded engine on this machine's processor: not the model, its language."""

from __future__ import annotations

from uocr_nb.serving.engines.profile import ALL_MODES, MULTI_MODES, Again, EngineProfile
from uocr_nb.serving.engines.variant import Variant

PROFILE = EngineProfile(
    name="cpu",
    owned_by="uocr-cpu",
    mode_field=True,
    modes=ALL_MODES,
    multi_modes=MULTI_MODES,
    scores=True,
    multi="native",
    slots=2,  # one page being read and one waiting: the engine works on one at a time
    again=(Again("truncated", more=2.0),),  # it gives the same answer to the same question
    program=("-m", "uocr_nb.local_server"),
    needs_gpu=False,
    needs=("rapidocr", "onnxruntime", "starlette", "uvicorn"),
    extra="cpu",
    variants=(Variant(known="embedded engine: not the model, its language; measured in this project", validated=True),),
    known="measured in this project",
)
