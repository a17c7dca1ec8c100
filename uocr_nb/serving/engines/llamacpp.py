"""The model served by llama.cpp (``llama-server``), from a GGUF file."""

from __future__ import annotations

from uocr_nb.serving.engines.diagnosis import Advice, Symptom
from uocr_nb.serving.engines.launch import Launch
from uocr_nb.serving.engines.profile import GROUNDING, Again, EngineProfile
from uocr_nb.serving.engines.variant import Variant

PROFILE = EngineProfile(
    name="llamacpp",
    owned_by="llamacpp",
    multi="pages",
    multi_note="llama.cpp is documented for one page a request.",
    slots=1,  # llama-server shares its context among its slots
    again=(
        # Quantised models sometimes end at once; the same words again often give the page.
        Again("empty"),
        Again("unboxed", prompt=GROUNDING),
    ),
    context=8_192,
    start_limit=1200.0,
    hosts=("process",),
    model="",
    launch=Launch(
        program=("llama-server", "{model_flag}", "{model}"),
        model_flags=("-m", "-hf"),
        projector="--mmproj",
        flags=(
            # Without --special the tags of the answer are not printed, and nothing says so.
            *("--alias", "Unlimited-OCR", "--chat-template", "deepseek-ocr", "--no-jinja", "--special"),
            *("-c", "8192", "-np", "1", "-fa", "off", "--temp", "0"),
            # In place of the guard against repetition, which llama.cpp does not have.
            *("--dry-multiplier", "0.8", "--dry-base", "1.75", "--dry-allowed-length", "2"),
            *("--dry-penalty-last-n", "-1", "--dry-sequence-breaker", "none"),
        ),
    ),
    variants=(
        Variant(
            port=8080,
            known="documented by others (llama.cpp's own test of the model), not run",
            notes=("Full attention in place of the model's own: good on single pages, loops more on long answers.",),
        ),
    ),
    own_key="LLAMA_API_KEY",
    needs_gpu=False,
    ready_lines=("server is listening on", "all slots are idle"),
    symptoms=(
        Symptom(
            r"failed to load model|error loading model|failed to open GGUF|invalid magic",
            Advice(
                "llama-server could not load the model's file.",
                "It is damaged, no GGUF file, or newer than this llama-server (b8525 is the first that fits).",
                "%uocr_logs",
            ),
        ),
        Symptom(
            r"failed to load (?:multimodal|CLIP) model|mmproj.{0,60}(?:failed|not found)|clip_init: failed",
            Advice(
                "llama-server could not load the projector.",
                "The file of --mmproj does not belong to the model, or is damaged.",
                "%uocr_serve llamacpp --model FILE.gguf --mmproj mmproj-FILE.gguf",
            ),
        ),
    ),
    known="documented by others, not run",
)
