"""Engines as data: variants, launch lines, and what their logs tell."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import uocr_nb
from uocr_nb.errors import OptionError
from uocr_nb.serving import engines
from uocr_nb.serving.engines import EngineProfile, Launch, Metrics, Variant
from uocr_nb.serving.engines.diagnosis import COMMON, DOCKER, diagnose

PIN = "07dea832e22aefee32ad281d4b80551282e1c168"
WHEEL_IMAGE = "lmsysorg/sglang:v0.5.10.post1"

VARIANTS = {
    "vllm:dedicated": ("vllm/vllm-openai:unlimited-ocr", PIN, "l4x1", 8000, True),
    "vllm:cu129": ("vllm/vllm-openai:unlimited-ocr-cu129", PIN, "h200", 8000, False),
    "vllm:stable": ("vllm/vllm-openai:v0.33.0", PIN, "l4x1", 8000, False),
    "sglang:wheel": (WHEEL_IMAGE, PIN, "a100-large", 10000, True),
    "sglang:wheel-fa3": (WHEEL_IMAGE, PIN, "h200", 10000, False),
    "sglang:stable": ("lmsysorg/sglang:v0.5.23", PIN, "a100-large", 30000, False),
    "llamacpp:": (None, None, None, 8080, False),
    "transformers:": (None, None, None, 8000, False),
    "cpu:": (None, None, None, 8000, True),
}

# As they were run on Jobs by others on 2026-06-28.
SEEN_VLLM = (
    "vllm serve baidu/Unlimited-OCR --served-model-name Unlimited-OCR --trust-remote-code --max-model-len 32768 "
    "--host 0.0.0.0 --port 8000 --no-enable-prefix-caching --mm-processor-cache-gb 0 "
    "--logits_processors vllm.model_executor.models.unlimited_ocr:NGramPerReqLogitsProcessor"
)
SEEN_SGLANG = (
    "python -m sglang.launch_server --model baidu/Unlimited-OCR --served-model-name Unlimited-OCR "
    "--attention-backend flashinfer --page-size 1 --mem-fraction-static 0.85 --context-length 32768 "
    "--enable-custom-logit-processor --disable-overlap-schedule --skip-server-warmup --host 0.0.0.0 --port 10000"
)


def _variants() -> list[tuple[EngineProfile, Variant]]:
    return [(engines.get(name), variant) for name in engines.names() for variant in engines.get(name).variants]


def _command(engine: str, variant: str | None = None, **options: Any) -> list[str]:
    profile = engines.get(engine)
    found = profile.variant(variant)
    return profile.command(found, port=options.pop("port", found.port), **options)


def _pairs(words: list[str]) -> set[tuple[str, ...]]:
    """Flags with their values, in no order."""
    groups: list[list[str]] = [[]]
    for word in words:
        if re.match(r"--?[a-z]", word):
            groups.append([])
        groups[-1].append(word)
    return set(map(tuple, groups))


def test_the_variants_are_those_that_were_written_down() -> None:
    found = {
        f"{profile.name}:{variant.name}": (
            variant.image,
            variant.revision,
            variant.flavor,
            variant.port,
            variant.validated,
        )
        for profile, variant in _variants()
    }
    assert found == VARIANTS
    assert all(variant.known for _, variant in _variants())


def test_each_engine_has_its_hosts() -> None:
    hosts = {name: engines.get(name).hosts for name in engines.names()}
    assert hosts.pop("vllm") == hosts.pop("sglang") == ("hf", "docker", "process")
    assert set(hosts.values()) == {("process",)}
    assert engines.get("sglang").metrics == Metrics(
        "/metrics",
        "sglang:num_running_reqs",
        "sglang:num_queue_reqs",
        ("sglang:num_requests_total", "sglang:generation_tokens_total"),
    )
    assert "vllm:num_requests_running" in str(engines.get("vllm").metrics)


@pytest.mark.parametrize(("engine", "seen"), [("vllm", SEEN_VLLM), ("sglang", SEEN_SGLANG)])
def test_the_validated_lines_differ_from_those_seen_by_the_pin_alone(engine: str, seen: str) -> None:
    ours = _pairs(_command(engine, host="0.0.0.0"))
    assert _pairs(shlex.split(seen)) <= ours
    assert ours - _pairs(shlex.split(seen)) == {("--revision", PIN)}


def test_sglang_of_today_needs_no_wheel() -> None:
    words = _command("sglang", "stable")
    assert {("--attention-backend", "fa3"), ("--page-size", "1"), ("--disable-radix-cache",)} <= _pairs(words)
    assert engines.get("sglang").variant("stable").setup == ()
    assert engines.get("sglang").variant(host="process").name == "stable"
    assert engines.get("vllm").variant(host="process").name == "stable"
    assert engines.get("vllm").variant(host="hf").name == "dedicated"


def test_the_setup_stands_before_the_engine_and_is_good_shell() -> None:
    profile = engines.get("sglang")
    wheel = profile.variant("wheel")
    line = engines.with_setup(wheel, profile.command(wheel, port=10000, args=["--x a'b"]))
    assert line[:2] == ["bash", "-lc"]
    assert line[2].startswith("pip install --no-deps https://github.com/baidu/Unlimited-OCR/raw/main/wheel/")
    assert shlex.split(line[2])[-2:] == ["--x", "a'b"]
    assert subprocess.run(["bash", "-n", "-c", line[2]], check=False).returncode == 0
    bare = profile.command(profile.variant("stable"), port=1)
    assert engines.with_setup(profile.variant("stable"), bare) == bare


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp"])
def test_flags_are_added_and_dropped(engine: str) -> None:
    model: dict[str, Any] = {"model": "/m.gguf"} if engine == "llamacpp" else {}
    before = _command(engine, **model)
    json_text = '{"image_size": 1024, "b": " c"}'
    assert _command(engine, args=["--a", "--b 2", f"--c {json_text}", "tail"], **model) == [
        *before,
        *("--a", "--b", "2", "--c", json_text, "tail"),
    ]
    flags = [
        word for word in before if word.startswith("--") and word not in ("--host", "--port", "--served-model-name")
    ]
    for flag in flags:
        kept = _command(engine, drop_args=[flag], **model)
        assert flag not in kept
        assert _pairs(kept) == {pair for pair in _pairs(before) if pair[0] != flag}
    for odd in ("--not-there", "serve", "-m sglang"):
        with pytest.raises(OptionError, match="to drop"):
            _command(engine, drop_args=[odd], **model)


def test_a_flag_is_known_in_both_its_spellings() -> None:
    assert "--logits_processors" not in _command("vllm", drop_args=["--logits-processors"])
    assert "-1" not in _command("llamacpp", model="/m.gguf", drop_args=["--dry-penalty-last-n"])


@pytest.mark.parametrize("flag", ["--host 0.0.0.0", "--port 1", "--api-key x", "--api_key=x", "--served-model-name y"])
def test_what_the_host_decides_is_not_handed_through(flag: str) -> None:
    with pytest.raises(OptionError, match="cannot be set by hand"):
        _command("vllm", args=[flag])
    with pytest.raises(OptionError, match="cannot be set by hand"):
        _command("vllm", drop_args=[flag.partition(" ")[0]])


def test_models_and_revisions() -> None:
    def revision(**options: Any) -> Any:
        words = _command("vllm", **options)
        return words[words.index("--revision") + 1] if "--revision" in words else None

    assert revision() == PIN
    assert revision(revision="main") == "main"
    assert revision(model="me/finetuned") is None
    assert revision(model="me/finetuned", revision="v1") == "v1"
    assert revision(model="/models/unlimited") is None
    # SGLang tells its template by the model's name.
    assert "--chat-template" in _command("sglang", model="/models/ocr")
    assert "--chat-template" not in _command("sglang", model="/models/Unlimited-OCR")
    assert _command("vllm", tp=2)[-2:] == ["--tensor-parallel-size", "2"]
    assert _command("sglang", tp=2)[-2:] == ["--tp", "2"]
    assert _command("llamacpp", model="me/GGUF")[1:3] == ["-hf", "me/GGUF"]
    with pytest.raises(OptionError, match="cannot be told"):
        _command("llamacpp", model="/m.gguf", tp=2)
    with pytest.raises(OptionError, match="cannot be told"):
        _command("vllm", mmproj="/m.gguf")


def test_a_variant_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(OptionError, match="has no variant 'big'") as caught:
        engines.get("vllm").variant("big")
    assert caught.value.why == "It has vllm:dedicated, vllm:cu129, vllm:stable."
    with pytest.raises(OptionError) as caught:
        engines.get("cpu").variant("big")
    assert caught.value.why == "It has one form only."


def test_hardware_that_refuses_is_known() -> None:
    profile = engines.get("sglang")
    assert profile.variant("stable").refuses("rtx-pro-6000x2")
    assert not profile.variant("stable").refuses("a100-large")
    assert not profile.variant("wheel").refuses("rtx-pro-6000")
    assert not profile.variant("stable").refuses(None)


LOGS = {
    "RuntimeError: CUDA error 802: system not yet initialized": "CUDA error 802",
    "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized": "CUDA error 802",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB": "too little memory",
    "ValueError: No available memory for the cache blocks.": "too little memory",
    "ValueError: Free memory on device (3.1/22.0 GiB) on startup is less than desired GPU memory": "too little memory",
    "OSError: [Errno 28] No space left on device": "disk is full",
    "HTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/x": "limits downloads",
    "GatedRepoError: 403 Client Error. Cannot access gated repo for url https://huggingface.co/x": "does not open",
    "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error.": "was not found",
    "OSError: me/x is not a local folder and is not a valid model identifier": "was not found",
    "huggingface_hub.errors.RevisionNotFoundError: 404 Client Error": "no such revision",
    "vllm: error: unrecognized arguments: --uocr-doc-split": "flag --uocr-doc-split",
    "error: invalid argument: --special": "flag --special",
    "launch_server.py: error: argument --attention-backend: invalid choice: 'fa9'": "value of --attention-backend",
    "The checkpoint you are trying to load has model type `unlimited_ocr` but Transformers does not recognize this "
    "architecture.": "model unlimited_ocr",
    "ValueError: Model architectures ['UnlimitedOCRForCausalLM'] are not supported for now.": "UnlimitedOCRForCausalLM",
    "llama_model_load: error loading model: unknown model architecture: 'unlimited-ocr'": "model unlimited-ocr",
    "OSError: [Errno 98] Address already in use": "port is taken",
    "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use": "port is taken",
    "RuntimeError: No CUDA GPUs are available": "sees no GPU",
    "RuntimeError: Failed to infer device type": "sees no GPU",
    "The NVIDIA driver on your system is too old (found version 11040).": "do not fit together",
    "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.": "too old",
    "urllib3.exceptions.MaxRetryError: Max retries exceeded with url: /api/models": "could not be downloaded",
}


@pytest.mark.parametrize("line", LOGS)
def test_a_line_of_a_log_is_put_in_words(line: str) -> None:
    for engine in ("vllm", "cpu"):
        advice = engines.get(engine).diagnose(line)
        assert advice is not None
        assert LOGS[line] in advice.what
        assert advice.why
        assert advice.next
        assert "{" not in advice.what + advice.next


def test_engines_have_faults_of_their_own() -> None:
    fa3 = "AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend"
    wheel = "ERROR: Could not install packages due to an OSError"
    assert "fa3" in str(engines.get("sglang").diagnose(fa3))
    assert "sglang:stable" in str(engines.get("sglang").diagnose(wheel))
    assert engines.get("vllm").diagnose(fa3) is None
    assert "GGUF" in str(engines.get("llamacpp").diagnose("llama_model_load_from_file_impl: failed to load model"))
    told = diagnose(
        "docker: Error response from daemon: pull access denied for x, repository does not exist", "vllm", DOCKER
    )
    assert told is not None
    assert told.what == "The image was not found."


QUIET = (
    'INFO:     10.0.0.1:5429 - "GET /health HTTP/1.1" 200 OK',
    "INFO 11-30 05:00:00 [loader.py:429] Loading weights took 12.80 seconds",
    "INFO: Application startup complete.",
    "WARNING: The argument 'trust_remote_code' is to be used with Auto classes.",
    "Maximum concurrency for 32,768 tokens per request: 4.29x",
    "Downloading shards: 100%|##########| 1/1 [04:29<00:00]",
)


@pytest.mark.parametrize("line", QUIET)
def test_a_line_that_tells_of_nothing_is_let_pass(line: str) -> None:
    for name in engines.names():
        assert engines.get(name).diagnose(line) is None
    assert engines.get("vllm").is_ready_line("INFO:     Application startup complete.")
    assert engines.get("sglang").is_ready_line("The server is fired up and ready to roll!")


@given(st.text())
def test_any_line_can_be_read(line: str) -> None:
    for symptom in (*COMMON, *DOCKER):
        symptom.match(line, "vllm")
    diagnose("error: unrecognized arguments: " + line, "vllm")


def test_of_several_faults_the_first_is_told_unless_it_was_overcome() -> None:
    log = ["x Error 802: system not yet initialized", "y", "RuntimeError: Failed to infer device type"]
    profile = engines.get("vllm")
    assert "802" in str(profile.explain(log))
    assert "no GPU" in str(profile.explain(["429 Client Error: Too Many Requests", *["downloading"] * 200, log[2]]))
    assert profile.explain([]) is None


def test_an_engine_can_be_added_from_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_profiles", dict(engines._profiles))
    second = dataclasses.replace(
        engines.get("sglang"),
        name="uocr2",
        owned_by="uocr2",
        model="baidu/Unlimited-OCR-2",
        launch=Launch(program=("serve2", "{model}"), revision="--revision"),
        variants=(Variant(name="dev", image="x:dev", flavor="h200", port=9, known="not run"),),
        local="",
    )
    uocr_nb.register_engine(second)
    assert engines.get("uocr2") is second
    assert engines.detect({"data": [{"owned_by": "uocr2"}]}) == "uocr2"
    assert _command("uocr2", host="127.0.0.1") == [
        *("serve2", "baidu/Unlimited-OCR-2", "--host", "127.0.0.1", "--port", "9"),
    ]
