"""The model served by SGLang."""

from __future__ import annotations

from uocr_nb.serving.engines.diagnosis import Advice, Symptom
from uocr_nb.serving.engines.launch import Launch
from uocr_nb.serving.engines.profile import ALL_MODES, GROUNDING, MULTI_MODES, OLD_LAYOUT, PINNED, Again, EngineProfile
from uocr_nb.serving.engines.variant import Metrics, Variant

_WHEEL_IMAGE = "lmsysorg/sglang:v0.5.10.post1"
_WHEEL = "https://github.com/baidu/Unlimited-OCR/raw/main/wheel/sglang-0.0.0.dev11416+g92e8bb79e-py3-none-any.whl"
_SETUP = (f"pip install --no-deps {_WHEEL}", "pip install -q kernels==0.11.7")
_VENDOR = (
    *("--page-size", "1", "--mem-fraction-static", "0.85", "--context-length", "32768"),
    *("--enable-custom-logit-processor", "--disable-overlap-schedule", "--skip-server-warmup"),
)
_BLACKWELL = ("b200", "gb200", "rtx-pro-6000")

PROFILE = EngineProfile(
    name="sglang",
    owned_by="sglang",
    mode_field=True,
    modes=ALL_MODES,
    multi_modes=MULTI_MODES,
    guard="processor",
    multi="native",
    slots=16,
    again=(
        Again("empty", mode="base"),
        Again("unboxed", prompt=GROUNDING),
        Again("looping", mode="base", wide_guard=True),
        Again("truncated", more=2.0),
    ),
    start_limit=1200.0,
    hosts=("hf", "docker", "process"),
    launch=Launch(
        program=("python", "-m", "sglang.launch_server", "--model", "{model}"),
        flags=("--served-model-name", "Unlimited-OCR"),
        revision="--revision",
        tensor_parallel="--tp",
        # The chat template is chosen by the model's path, which must hold "unlimited".
        template=("--chat-template", "unlimited-ocr"),
    ),
    variants=(
        Variant(
            name="wheel",
            image=_WHEEL_IMAGE,
            revision=OLD_LAYOUT,
            flavor="a100-large",
            port=10000,
            setup=_SETUP,
            flags=("--attention-backend", "flashinfer", *_VENDOR),
            known=(
                "validated on Jobs 2026-06-28, one page and two (uv-scripts, serving recipe, without a pinned "
                "revision); the more robust one for many pages"
            ),
            validated=True,
            notes=(PINNED,),
        ),
        Variant(
            name="wheel-fa3",
            image=_WHEEL_IMAGE,
            revision=OLD_LAYOUT,
            flavor="h200",
            port=10000,
            setup=_SETUP,
            flags=("--attention-backend", "fa3", *_VENDOR),
            known="model card's own; Jobs' h200 failed with CUDA 802",
            refused_on=("t4", *_BLACKWELL),
            notes=("Jobs' h200 failed with CUDA error 802 in three starts of three (2026-06-28).",),
        ),
        Variant(
            name="stable",
            image="lmsysorg/sglang:v0.5.23",
            revision=OLD_LAYOUT,
            flavor="a100-large",
            port=30000,
            flags=(
                *("--attention-backend", "fa3", "--page-size", "1", "--context-length", "32768"),
                *("--enable-custom-logit-processor", "--disable-radix-cache", "--enable-metrics"),
            ),
            known="source read and its own request models and argument parser run, no page read",
            refused_on=("t4", *_BLACKWELL),
            notes=(
                "The radix cache is off, which suits pages that differ; it helps where the same one is asked again.",
                "--drop-arg=--disable-radix-cache switches it on.",
            ),
        ),
    ),
    local="stable",
    ready_lines=("The server is fired up and ready to roll",),
    symptoms=(
        Symptom(
            r"FlashAttention v3 Backend requires|fa3.{0,40}requires SM",
            Advice(
                "This GPU cannot run the attention backend fa3.",
                "It works on Ampere, Ada and Hopper, and is refused on Blackwell and on anything before Ampere.",
                "%uocr_serve sglang --flavor a100-large",
            ),
        ),
        Symptom(
            r"ERROR: (?:Could not install|Could not find a version|No matching distribution|HTTP error)",
            Advice(
                "The vendor's wheel could not be installed.",
                "pip failed in the Job or container before the engine was started.",
                "%uocr_serve sglang:stable   needs no wheel",
            ),
        ),
    ),
    # /metrics is there with --enable-metrics alone, which the validated line of the wheel does not have.
    metrics=Metrics(
        path="/metrics",
        running="sglang:num_running_reqs",
        waiting="sglang:num_queue_reqs",
        counters=("sglang:num_requests_total", "sglang:generation_tokens_total"),
    ),
    page_tokens=(("gundam", 903), ("base", 273)),
    known="run on a GPU by others with the vendor's wheel (2026-06-28); later releases: source read, not run",
)
