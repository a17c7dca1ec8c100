"""The model itself, loaded by transformers in a process of its own."""

from __future__ import annotations

from uocr_nb.serving.engines.profile import Again, EngineProfile
from uocr_nb.serving.engines.variant import Variant

PROFILE = EngineProfile(
    name="transformers",
    owned_by="uocr-transformers",
    mode_field=True,
    # gundam cuts a page into tiles, base takes it whole; the checkpoint's processor has no other sizes.
    modes=("gundam", "base"),
    multi_modes=("base",),
    guard="xargs",
    multi="native",
    slots=1,
    again=(Again("empty", mode="base"), Again("looping", mode="base", wide_guard=True), Again("truncated", more=2.0)),
    program=("-m", "uocr_nb.local_server"),
    needs=("torch", "torchvision", "transformers", "starlette", "uvicorn"),
    extra="transformers",
    needs_gpu=False,
    start_limit=3600.0,  # the first start downloads 6.7 GB
    variants=(
        Variant(
            known="loading and generating code run on a tiny model of its kind, on a CPU; the model itself not run",
            notes=("The newest revision is looked up and recorded; the model must be of type unlimited_ocr.",),
        ),
    ),
    page_tokens=(("gundam", 903), ("base", 273)),
    known="loading and generating code run on a tiny model; the model itself not run",
)
