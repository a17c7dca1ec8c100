"""What the engines make of a request: their refusals in their words, and what a wrong request costs in the answer."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Any, TypeGuard

CONTEXT = 32768
MODES = {"tiny": 273, "small": 273, "base": 273, "large": 273, "gundam": 903}
PROMPTS = ("document parsing.", "Multi page parsing.")
MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")

BLOCKS = (
    ("title", (118, 76, 705, 106), "A page of the stand-in"),
    ("text", (116, 120, 884, 182), "This answer is fixed: it tells the way of a request, not what stands on the page."),
    (
        "table",
        (109, 220, 860, 296),
        "<table><tr><td>port</td><td>8000</td></tr><tr><td>tags</td><td>kept</td></tr></table>",
    ),
    ("equation", (300, 330, 700, 370), "\\[\nE = mc^{2}\n\\]"),
    ("page_number", (480, 960, 520, 980), "1"),
)


def page_text(*, stripped: bool = False) -> str:
    """Write the fixed page: tagged, or as an engine prints it that skips special tokens."""
    pairs = [(f"{label} {list(box)}", text) for label, box, text in BLOCKS]
    if stripped:
        return strip("\n".join(f"<|det|>{head}<|/det|>{text}" for head, text in pairs))
    return "\n".join(f"<|det|>{head}<|/det|>{text}" for head, text in pairs)


def strip(text: str) -> str:
    """Take the special tokens out of an answer."""
    return re.sub(r"<\|/?(?:det|ref)\|>|</?t[dr]>|<image>", "", text)


@dataclass(frozen=True)
class Served:
    """What an engine was started with, as far as requests depend on it."""

    engine: str
    model: str = "Unlimited-OCR"
    guard: bool = True
    """vLLM: the logits processor was named; SGLang: ``--enable-custom-logit-processor``."""
    page: str = ""


@dataclass(frozen=True)
class Verdict:
    """An answer, or a refusal (`status` not 200)."""

    status: int = 200
    message: str = ""
    text: str = ""
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class _Asked:
    prompt: str
    images: int
    typed: int
    text_parts: int


def judge(served: Served, body: Any) -> Verdict:
    """Answer a chat completion as the engine would."""
    try:
        asked = _read(body)
    except ValueError as error:
        return Verdict(400, str(error))
    refusal = _vllm_refusal(served, body, asked) if served.engine == "vllm" else _sglang_refusal(served, body, asked)
    if refusal is not None:
        return refusal
    return _answer(served, body, asked)


def _read(body: Any) -> _Asked:
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or not body["messages"]:
        raise ValueError("messages: Field required")
    content = body["messages"][-1].get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list):
        raise ValueError("messages: content must be a string or a list")  # noqa: TRY004 - a refusal of the request
    texts = [str(part.get("text", "")) for part in parts if part.get("type") == "text"]
    urls = [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]
    for url in urls:
        _check_image(url)
    text = "\n".join(texts)
    return _Asked(text.replace("<image>", "").strip(), len(urls), text.count("<image>"), len(texts))


def _check_image(url: str) -> None:
    head, _, data = url.partition(",")
    if not re.fullmatch(r"data:image/[a-z+.-]+;base64", head):
        raise ValueError("Failed to load image: only data: URLs of base64 work here")
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError(f"Failed to load image: {error}") from error
    if not raw.startswith(MAGIC):
        raise ValueError("Failed to load image: cannot identify image file")


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _vllm_refusal(served: Served, body: dict[str, Any], asked: _Asked) -> Verdict | None:
    model = body.get("model")
    if model not in {served.model, None}:
        return Verdict(404, f"The model `{model}` does not exist.")
    if asked.typed > asked.images:
        return Verdict(400, "Found more '<image>' placeholders in input prompt than actual multimodal data items.")
    size = (body.get("vllm_xargs") or {}).get("ngram_size", 35)
    if served.guard and not (_whole(size) and size > 0):
        return Verdict(400, f"`ngram_size` has to be a strictly positive integer, got {size!r}.")
    limit = body.get("max_tokens")
    if _whole(limit) and limit > CONTEXT:
        return Verdict(400, f"max_tokens={limit} cannot be greater than max_model_len={CONTEXT}.")
    if MODES["base"] * asked.images > CONTEXT:
        return Verdict(400, f"This model's maximum context length is {CONTEXT} tokens. However, your prompt is longer.")
    return None


def _mode_refusal(body: dict[str, Any], images: int) -> Verdict | None:
    config = body.get("images_config", {})
    if not isinstance(config, dict):
        return Verdict(400, "images_config: Input should be a valid dictionary")
    mode = config.get("image_mode", "gundam")
    if mode not in MODES:
        return Verdict(400, f"Unknown image_mode {mode!r}. Supported: tiny, small, base, large, gundam")
    if images > 1 and mode in {"gundam", "large"}:
        return Verdict(
            400,
            f"image_mode={mode!r} is not supported with multiple images (got {images} images). "
            "Please use one of: ['tiny', 'small', 'base']",
        )
    return None


def _sglang_refusal(served: Served, body: dict[str, Any], asked: _Asked) -> Verdict | None:
    refusal = _mode_refusal(body, asked.images)
    if refusal is not None:
        return refusal
    if asked.typed:
        places = asked.typed + asked.images
        return Verdict(400, f"Prompt has {places} image placeholders but {asked.images} image inputs were provided")
    if body.get("custom_logit_processor") and not served.guard:
        return Verdict(
            400,
            "The server is not configured to enable custom logit processor. "
            "Please set `--enable-custom-logit-processor` to enable this feature.",
        )
    mode = body.get("images_config", {}).get("image_mode", "gundam")
    needed = MODES[mode] * asked.images + int(body.get("max_tokens") or 0)
    if needed > CONTEXT:
        return Verdict(
            400,
            f"Requested token count exceeds the model's maximum context length of {CONTEXT} tokens. "
            f"You requested a total of {needed} tokens.",
        )
    return None


def _guarded(served: Served, body: dict[str, Any]) -> bool:
    if served.engine == "vllm":
        xargs = body.get("vllm_xargs") or {}
        return served.guard and "ngram_size" in xargs and "window_size" in xargs
    params = body.get("custom_params") or {}
    return bool(body.get("custom_logit_processor")) and "ngram_size" in params and "window_size" in params


def _answer(served: Served, body: dict[str, Any], asked: _Asked) -> Verdict:
    notes: list[str] = []
    page = served.page or page_text()
    several = asked.images > 1 or asked.prompt == PROMPTS[1]
    text = "\n".join(f"<PAGE>{page}" for _ in range(asked.images)) if several else page
    finish = "stop"
    if not _guarded(served, body):
        notes.append("no n-gram guard: the answer loops")
        text += "\n<|det|>text [116, 400, 884, 420]<|/det|>again and again" * 200
        finish = "length"
    if asked.prompt not in PROMPTS or not asked.images:
        notes.append("a prompt that the model does not know: empty answer")
        text, finish = "", "stop"
    if served.engine == "vllm" and (asked.typed != asked.images or asked.text_parts != 1):
        notes.append("<image> marks and images differ, or several text parts: empty answer")
        text, finish = "", "stop"
    if body.get("skip_special_tokens", True):
        notes.append("skip_special_tokens is not false: stripped answer")
        text = strip(text)
    tokens = -(-len(text) // 4)
    limit = body.get("max_tokens")
    if _whole(limit) and tokens > limit:
        text, tokens, finish = text[: limit * 4], limit, "length"
    mode = "base" if several else str((body.get("images_config") or {}).get("image_mode", "gundam"))
    prompt_tokens = MODES.get(mode, 903) * asked.images + len(asked.prompt) // 4
    return Verdict(200, "", text, finish, prompt_tokens, tokens, tuple(notes))
