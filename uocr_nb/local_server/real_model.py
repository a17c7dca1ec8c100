"""The model itself, loaded by transformers: from page images and a prompt to tokens, as they come."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError
from uocr_nb.local_server.faults import Fault
from uocr_nb.local_server.request import CONTEXT
from uocr_nb.local_server.tokens import TextStream
from uocr_nb.local_server.torch_parts import Hardware, choose_hardware, import_part, import_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PIL.Image import Image

__all__ = ["MODEL_TYPE", "Generated", "RealModel", "Wish"]

MODEL_TYPE = "unlimited_ocr"
"""What transformers calls the model; an older layout of its repository says ``unlimited-ocr``."""

DEFAULT_GUARD = (35, 128)
MULTI_GUARD = (35, 1024)
"""Repeated n-grams are refused within a window, as the model's authors do it: size and window."""

log = logging.getLogger("uocr.model")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of the model.

    Attributes
    ----------
    prompt : str
        Words after the pages.
    tiles : bool
        Whether a page is also cut into tiles (``gundam``); one page only.
    stripped : bool
        Whether special tokens are left out.
    max_tokens : int
        Tokens of the answer at most.
    guard : tuple of int
        Size and window of the guard against repetition.
    """

    prompt: str
    tiles: bool
    stripped: bool
    max_tokens: int
    guard: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Generated:
    """How an answer ended.

    Attributes
    ----------
    asked, answered : int
        Tokens of the question and of the answer.
    cut : bool
        Whether it was ended by the limit and not by the model.
    """

    asked: int
    answered: int
    cut: bool


class RealModel:
    """The model and its processor on one device; one request at a time.

    Parameters
    ----------
    source : str
        A folder, or a repository on the Hub.
    revision : str, optional
        Its revision; None looks the newest up, so that it can be recorded.

    Raises
    ------
    MissingExtraError
        When torch, torchvision or transformers are not installed.
    EndpointError
        When there is no such model, or it is of another type.
    """

    def __init__(self, source: str, revision: str | None = None) -> None:
        torch = import_torch()
        transformers = import_part("transformers")
        self._torch = torch
        self.hardware: Hardware = choose_hardware(torch)
        self.revision = _check_type(source, revision or _newest(source))
        began = time.perf_counter()
        at = f" at {self.revision}" if self.revision else ""
        log.info("Loading %s%s on %s (%s)", source, at, self.hardware.title, self.hardware.dtype)
        try:
            self.processor: Any = transformers.AutoProcessor.from_pretrained(source, revision=self.revision)
            self._model: Any = transformers.AutoModelForImageTextToText.from_pretrained(
                source, revision=self.revision, dtype=getattr(torch, self.hardware.dtype)
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise _did_not_load(source, error) from error
        self._model = self._model.to(self.hardware.device).eval()
        self._ends = _token_ids(self._model.generation_config.eos_token_id, self.processor.tokenizer.eos_token_id)
        self._drop = self._ends | _token_ids(
            self.processor.tokenizer.pad_token_id, self.processor.tokenizer.bos_token_id
        )
        limit = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self.context = min(CONTEXT, limit or CONTEXT)
        self._alone = threading.Lock()
        log.info("Model loaded in %.1f s", time.perf_counter() - began)

    def generate(
        self, pages: Sequence[Image], wish: Wish, tell: Callable[[str], None], stop: threading.Event
    ) -> Generated:
        """Read pages; `tell` gets the text as it comes, in this thread. Ends early when `stop` is set.

        Raises
        ------
        Fault
            400 when the question alone is too long, 503 when the GPU's memory is too small for it.
        """
        with self._alone:
            try:
                return self._generate(pages, wish, tell, stop)
            except self._torch.OutOfMemoryError as error:
                self._torch.cuda.empty_cache()
                raise Fault(
                    503, "The GPU has too little memory for this request. Send fewer or smaller pages."
                ) from error

    def _generate(
        self, pages: Sequence[Image], wish: Wish, tell: Callable[[str], None], stop: threading.Event
    ) -> Generated:
        inputs = self._inputs(pages, wish)
        asked = int(inputs["input_ids"].shape[1])
        if asked >= self.context:
            raise Fault(
                400,
                f"This model's maximum context length is {self.context} tokens. However, your prompt contains "
                f"{asked} tokens ({len(pages)} images). Send fewer pages at once.",
            )
        room = min(wish.max_tokens, self.context - asked)
        # As arguments of `generate` they are refused where the model's folder has no generation_config.json.
        settings = self._model.generation_config
        settings.no_repeat_ngram_size, settings.no_repeat_ngram_window_size = wish.guard
        stream = TextStream(self.processor.tokenizer, tell, drop=self._drop, stripped=wish.stripped)
        with self._torch.inference_mode():
            output = self._model.generate(
                **inputs,
                streamer=stream,
                stopping_criteria=[_Until(self._torch, stop)],
                max_new_tokens=room,
                do_sample=False,
            )
        new = output[0, asked:].tolist()
        finished = bool(new) and new[-1] in self._ends
        return Generated(asked, len(new), cut=not finished and len(new) >= room)

    def _inputs(self, pages: Sequence[Image], wish: Wish) -> dict[str, Any]:
        content = [*({"type": "image", "image": page} for page in pages), {"type": "text", "text": wish.prompt}]
        inputs = self.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"crop_to_patches": wish.tiles},
        )
        return dict(inputs.to(self.hardware.device, dtype=getattr(self._torch, self.hardware.dtype)))


class _Until:
    """Ends generation when an event is set."""

    def __init__(self, torch: Any, stop: threading.Event) -> None:
        self._torch = torch
        self._stop = stop

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002 - the form of a criterion
        return self._torch.full((input_ids.shape[0],), self._stop.is_set(), device=input_ids.device)


def _token_ids(*given: Any) -> set[int]:
    return {int(one) for some in given if some is not None for one in (some if isinstance(some, list) else [some])}


def _newest(source: str) -> str | None:
    """Look up the newest revision; None for a folder, and where the Hub cannot be reached (then its cache decides)."""
    if Path(source).exists():
        return None
    from huggingface_hub import HfApi  # noqa: PLC0415 - heavy

    try:
        return HfApi().model_info(source, timeout=30).sha
    except Exception as error:  # noqa: BLE001 - refused, unknown, offline: loading says which
        log.warning("The newest revision could not be looked up: %s", type(error).__name__)
        return None


def _check_type(source: str, revision: str | None) -> str | None:
    """Refuse a model of another type before its weights are downloaded; return the revision that was found.

    Raises
    ------
    EndpointError
        When it cannot be found, or is of another type.
    """
    try:
        config, _ = import_part("transformers").PretrainedConfig.get_config_dict(source, revision=revision)
    except (OSError, ValueError) as error:
        raise _did_not_load(source, error) from error
    found = config.get("model_type")
    if found != MODEL_TYPE:
        old = " It is the older layout of its repository." if found == MODEL_TYPE.replace("_", "-") else ""
        raise EndpointError(
            f"{source} is not a model that this engine can load.",
            f"Its type is {found!r}, and transformers knows Unlimited-OCR as {MODEL_TYPE!r}.{old}",
            "Leave --model and --revision out: the newest revision is looked up.",
        )
    return revision or config.get("_commit_hash")


def _did_not_load(source: str, error: Exception) -> EndpointError:
    said = " ".join(str(error).split())[:300]
    then = "hf auth login   if it is private; else check --model and --revision"
    if Path(source).exists():
        then = "Is it the whole folder of the model (config.json, model.safetensors, tokenizer.json, ...)?"
    return EndpointError(f"The model {source} could not be loaded.", f"{type(error).__name__}: {said}", then)
