"""The model served by vLLM."""

from __future__ import annotations

from uocr_nb.serving.engines.launch import Launch
from uocr_nb.serving.engines.profile import GROUNDING, OLD_LAYOUT, PINNED, Again, EngineProfile
from uocr_nb.serving.engines.variant import Metrics, Variant

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
    again=(
        # It knows one mode for one page, so other words are tried, after the mark and a line end as others send them.
        Again("empty", prompt=f"\n{GROUNDING}"),
        Again("unboxed", prompt=f"\n{GROUNDING}"),
        Again("looping", wide_guard=True),
        Again("truncated", more=2.0),
    ),
    start_limit=1200.0,
    hosts=("hf", "docker", "process"),
    launch=Launch(
        program=("vllm", "serve", "{model}"),
        flags=(
            *("--served-model-name", "Unlimited-OCR", "--trust-remote-code", "--max-model-len", "32768"),
            *("--logits_processors", "vllm.model_executor.models.unlimited_ocr:NGramPerReqLogitsProcessor"),
            # Every release takes this form; the newer name of the first is unknown to 0.25.
            *("--no-enable-prefix-caching", "--mm-processor-cache-gb", "0"),
        ),
        revision="--revision",
        tensor_parallel="--tensor-parallel-size",
    ),
    variants=(
        Variant(
            name="dedicated",
            image="vllm/vllm-openai:unlimited-ocr",
            revision=OLD_LAYOUT,
            flavor="l4x1",
            known=(
                "single page validated on Jobs 2026-06-28 (uv-scripts, serving recipe, without a pinned revision); "
                "many pages only on clean documents"
            ),
            validated=True,
            notes=(PINNED,),
        ),
        Variant(
            name="cu129",
            image="vllm/vllm-openai:unlimited-ocr-cu129",
            revision=OLD_LAYOUT,
            flavor="h200",
            known="documented for Hopper (vLLM recipe), not run",
            notes=("Jobs' h200 failed with CUDA error 802 in three starts of three (2026-06-28).",),
        ),
        Variant(
            name="stable",
            image="vllm/vllm-openai:v0.33.0",
            revision=OLD_LAYOUT,
            flavor="l4x1",
            known="source read and its own request models and argument parser run, no page read",
        ),
    ),
    local="stable",
    own_key="VLLM_API_KEY",
    ready_lines=("Application startup complete",),
    metrics=Metrics(
        path="/metrics",
        running="vllm:num_requests_running",
        waiting="vllm:num_requests_waiting",
        counters=("vllm:request_success_total", "vllm:generation_tokens_total"),
    ),
    page_tokens=(("gundam", 903), ("base", 273)),
    known="one page a request: run on a GPU by others (2026-06-28); several pages: only clean documents",
)
