"""Each engine's request, by the rules of its own."""

from __future__ import annotations

import json
import pickletools
from typing import Any

import pytest

from uocr_nb.errors import OptionError
from uocr_nb.serving import engines
from uocr_nb.serving.engines.profile import ngram_processor

PAGE = "data:image/png;base64,AAAA"


def _body(engine: str, pages: int, **options: Any) -> Any:
    return engines.get(engine).request([PAGE] * pages, **options)


def _rest(body: Any) -> Any:
    return {key: value for key, value in body.items() if key not in ("messages", "model", "temperature")}


@pytest.mark.parametrize(
    ("engine", "pages", "text", "rest"),
    [
        (
            "vllm",
            1,
            "<image>document parsing.",
            {"vllm_xargs": {"ngram_size": 35, "window_size": 128}},
        ),
        (
            "vllm",
            3,
            "<image><image><image>Multi page parsing.",
            {"vllm_xargs": {"ngram_size": 35, "window_size": 1024}},
        ),
        (
            "sglang",
            1,
            "document parsing.",
            {
                "images_config": {"image_mode": "gundam"},
                "custom_params": {"ngram_size": 35, "window_size": 128},
                "custom_logit_processor": ngram_processor(),
            },
        ),
        (
            "sglang",
            3,
            "Multi page parsing.",
            {
                "images_config": {"image_mode": "base"},
                "custom_params": {"ngram_size": 35, "window_size": 1024},
                "custom_logit_processor": ngram_processor(),
            },
        ),
        ("llamacpp", 1, "document parsing.", {}),
        ("cpu", 1, "document parsing.", {"images_config": {"image_mode": "gundam"}, "logprobs": True}),
        ("cpu", 2, "Multi page parsing.", {"images_config": {"image_mode": "base"}, "logprobs": True}),
        (
            "transformers",
            1,
            "document parsing.",
            {"images_config": {"image_mode": "gundam"}, "vllm_xargs": {"ngram_size": 35, "window_size": 128}},
        ),
    ],
)
def test_each_engine_is_asked_in_its_own_way(engine: str, pages: int, text: str, rest: dict[str, Any]) -> None:
    body = _body(engine, pages, max_tokens=8192)
    content = body["messages"][0]["content"]
    assert [part["type"] for part in content] == ["image_url"] * pages + ["text"]
    assert content[-1]["text"] == text
    assert body["temperature"] == 0
    assert _rest(body) == {"skip_special_tokens": False, "max_tokens": 8192, **rest}
    json.dumps(body)


def test_modes_are_the_engines_own() -> None:
    assert _body("sglang", 1, mode="tiny")["images_config"] == {"image_mode": "tiny"}
    assert _body("sglang", 2, mode="gundam")["images_config"] == {"image_mode": "base"}
    assert _body("sglang", 2, mode="small")["images_config"] == {"image_mode": "small"}
    assert "images_config" not in _body("vllm", 1, mode="base")
    assert engines.get("vllm").mode_for("base", 1) == "gundam"
    assert engines.get("llamacpp").mode_for("base", 1) is None


def test_another_prompt_keeps_the_marks() -> None:
    assert _body("vllm", 2, prompt="Read.")["messages"][0]["content"][-1]["text"] == "<image><image>Read."
    assert "max_tokens" not in _body("vllm", 1)
    assert _body("vllm", 1, model="baidu/Unlimited-OCR")["model"] == "baidu/Unlimited-OCR"


def test_the_guard_of_sglang_names_its_class_and_carries_no_code() -> None:
    pickled = bytes.fromhex(json.loads(ngram_processor())["callable"])
    steps = [(op.name, value) for op, value, _ in pickletools.genops(pickled)]
    assert steps == [
        ("PROTO", 4),
        ("FRAME", len(pickled) - 11),
        ("SHORT_BINUNICODE", "sglang.srt.sampling.custom_logit_processor"),
        ("MEMOIZE", None),
        ("SHORT_BINUNICODE", "DeepseekOCRNoRepeatNGramLogitProcessor"),
        ("MEMOIZE", None),
        ("STACK_GLOBAL", None),
        ("MEMOIZE", None),
        ("STOP", None),
    ]
    assert "custom_logit_processor" not in engines.get("sglang").without_guard().request([PAGE])


def test_an_engine_is_told_by_its_owner() -> None:
    assert engines.detect({"data": [{"id": "x", "owned_by": "vllm"}]}) == "vllm"
    assert engines.detect({"data": [{"id": "x", "owned_by": "uocr-cpu"}]}) == "cpu"
    assert engines.detect({"data": [{"id": "x", "owned_by": "library"}]}) is None
    assert engines.detect({"data": [{"owned_by": "vllm"}, {"owned_by": "sglang"}]}) is None
    for odd in (None, [], {}, {"data": None}, {"data": ["x"]}, {"data": [{}]}):
        assert engines.detect(odd) is None


def test_an_unknown_engine_names_the_nearest() -> None:
    with pytest.raises(OptionError) as caught:
        engines.get("sgland")
    assert caught.value.next == "%uocr_serve sglang"
    assert engines.get(" CPU ").name == "cpu"
