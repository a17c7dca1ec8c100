"""What a client asks for: the body of a chat completion, in either dialect of the GPU engines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uocr_nb.local_server.faults import Fault
from uocr_nb.local_server.images import data_of

__all__ = ["CONTEXT", "IMAGE_TOKENS", "Ask", "parse_request"]

CONTEXT = 32768
"""Context of the model whose language is spoken: prompt and answer together."""
IMAGE_TOKENS = 273
"""Tokens of one page image in base mode."""
WINDOW = 100
"""Tokens in which repetition is looked for when a request names the size alone, as vLLM has it."""
LONGEST_VALUE = 40
"""Characters of a wrong value that a message shows."""
_MODES = ("tiny", "small", "base", "large", "gundam")
_SINGLE_ONLY = ("large", "gundam")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that makes sense.

    Attributes
    ----------
    images : tuple of bytes
        Encoded pictures in page order.
    prompt : str
        Text of the request without its image marks.
    multi : bool
        Each page is opened by ``<PAGE>``.
    stripped : bool
        Special tokens are left out of the answer.
    max_tokens : int
        The answer ends with finish reason ``length`` when it would be longer.
    stream, include_usage, logprobs : bool
        As in OpenAI's API.
    model : str
        Named back in the answer.
    user : str
        Whom the request is counted for in the queue; empty when the client does not say.
    mode : str or None
        Image mode; None when the client leaves it to the engine.
    guard : tuple of int or None
        Size and window of the guard against repetition; None when the client leaves it to the engine.
    """

    images: tuple[bytes, ...]
    prompt: str
    multi: bool
    stripped: bool
    max_tokens: int
    stream: bool
    include_usage: bool
    logprobs: bool
    model: str
    user: str
    mode: str | None = None
    guard: tuple[int, int] | None = None

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the question, as usage counts them."""
        return IMAGE_TOKENS * len(self.images) + len(self.prompt.split()) + 1


def parse_request(body: object) -> Ask:
    """The request in `body` (parsed JSON).

    Raises
    ------
    Fault
        400 for what the GPU engines would refuse too, 413 for a picture that is too large.
    """
    if not isinstance(body, Mapping):
        raise Fault(400, "The body must be a JSON object.")
    if body.get("n") not in (None, 1):
        raise Fault(400, "Only n=1 is supported: the engine has one answer.", param="n")
    texts, images = _content(body)
    prompt = "\n".join(texts)
    if prompt.count("<image>") > len(images):
        raise Fault(400, "Found more '<image>' placeholders in input prompt than actual multimodal data items.")
    if not images:
        raise Fault(400, "The request has no image: this engine reads page images only.", param="messages")
    words = " ".join(prompt.replace("<image>", " ").replace("<|grounding|>", " ").split())
    options = body.get("stream_options")
    ask = Ask(
        images=tuple(images),
        prompt=words,
        multi=len(images) > 1 or words.lower().startswith("multi page"),
        stripped=_flag(body, "skip_special_tokens", default=True),
        max_tokens=_max_tokens(body),
        stream=_flag(body, "stream", default=False),
        include_usage=isinstance(options, Mapping) and bool(options.get("include_usage")),
        logprobs=_flag(body, "logprobs", default=False),
        model=str(body.get("model") or "Unlimited-OCR"),
        user=str(body.get("user") or ""),
        mode=_mode(body, len(images)),
        guard=_guard(body),
    )
    if ask.prompt_tokens >= CONTEXT:
        raise Fault(
            400,
            f"This model's maximum context length is {CONTEXT} tokens. However, your prompt contains "
            f"{ask.prompt_tokens} tokens ({len(images)} images). Send fewer pages at once.",
        )
    return ask


def _flag(body: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Fault(400, f"`{name}` must be true or false.", param=name)
    return value


def _max_tokens(body: Mapping[str, Any]) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise Fault(400, f"{name} must be an integer, got {_shown(value)}.", param=name)
        if value < 1:
            raise Fault(400, f"{name} must be at least 1, got {value}.", param=name)
        if value > CONTEXT:
            raise Fault(
                400,
                f"{name}={value} cannot be greater than max_model_len={CONTEXT}. Please request fewer output tokens.",
                param=name,
            )
        return value
    return CONTEXT


def _shown(value: object) -> str:
    """A wrong value as JSON, short enough for a message."""
    if isinstance(value, Mapping | list):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _content(body: Mapping[str, Any]) -> tuple[list[str], list[bytes]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Fault(400, "`messages` must be a list with at least one message.", param="messages")
    texts: list[str] = []
    images: list[bytes] = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise Fault(400, "Each message must be an object with role and content.", param="messages")
        if message.get("role") != "user":
            continue  # instructions have no effect on an engine that only reads
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(parts, list):
            raise Fault(400, "The content of a message must be text or a list of parts.", param="messages")
        for part in parts:
            _take(part, texts, images)
    return texts, images


def _take(part: object, texts: list[str], images: list[bytes]) -> None:
    if not isinstance(part, Mapping):
        raise Fault(400, f"Each content part must be an object with a type, got {_shown(part)}.", param="messages")
    kind = part.get("type")
    if kind not in ("text", "image_url"):
        named = "without a type" if kind is None else _shown(kind)
        raise Fault(400, f"Unknown content part {named}: text and image_url are supported.", param="messages")
    if kind == "text":
        text = part.get("text")
        if not isinstance(text, str):
            raise Fault(400, "A text part needs a text.", param="messages")
        texts.append(text)
        return
    link = part.get("image_url")
    images.append(data_of(link.get("url") if isinstance(link, Mapping) else link))


def _mode(body: Mapping[str, Any], count: int) -> str | None:
    config = body.get("images_config")
    if config is None:
        return None
    if not isinstance(config, Mapping):
        raise Fault(400, 'images_config must be an object such as {"image_mode": "base"}.', param="images_config")
    mode = config.get("image_mode", "gundam")
    if mode not in _MODES:
        raise Fault(
            400,
            f"Unknown image_mode '{mode}'. Supported: {', '.join(_MODES)}",
            param="images_config",
        )
    if count > 1 and mode in _SINGLE_ONLY:
        raise Fault(
            400,
            f"image_mode='{mode}' is not supported with multiple images (got {count} images). "
            "Please use one of: ['tiny', 'small', 'base']",
            param="images_config",
        )
    return str(mode)


def _guard(body: Mapping[str, Any]) -> tuple[int, int] | None:
    field = "vllm_xargs" if body.get("vllm_xargs") is not None else "custom_params"
    guard = body.get(field)
    if guard is None:
        return None
    if not isinstance(guard, Mapping):
        raise Fault(400, f"{field} must be an object.", param=field)
    if "ngram_size" not in guard:
        return None
    size, window = guard["ngram_size"], guard.get("window_size", WINDOW)
    for name, value in (("ngram_size", size), ("window_size", window)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Fault(400, f"`{name}` has to be a strictly positive integer, got {value!r}.", param=field)
    return size, window
