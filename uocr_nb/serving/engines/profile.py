"""What an engine profile is: how an engine is asked for one page and for several, as data and one function."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

PROMPT = "document parsing."
"""The wording the model was trained on for one page; nearly every other one gives an empty answer."""

MULTI_PROMPT = "Multi page parsing."
"""The same for several pages; the answer then opens each page with ``<PAGE>``."""

ALL_MODES = ("gundam", "large", "base", "small", "tiny")
MULTI_MODES = ("base", "small", "tiny")
"""Image modes that take several pages: the two others cut a page into tiles, and an engine refuses that."""

_NGRAM = 35
_WINDOW, _MULTI_WINDOW = 128, 1024
"""Settings of the repetition guard as the model's authors use them."""

_PROCESSOR = ("sglang.srt.sampling.custom_logit_processor", "DeepseekOCRNoRepeatNGramLogitProcessor")


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """An engine: the software that runs the model, and its own rules for a request.

    Attributes
    ----------
    name : str
        As a user types it.
    owned_by : str
        How the engine names itself in ``/v1/models``.
    image_mark : bool
        Whether the text part starts with a literal ``<image>`` for each image. Without it vLLM asks a prompt the
        model does not know; with it SGLang refuses the request.
    mode_field : bool
        Whether ``images_config`` names the image mode.
    modes : tuple of str
        Image modes for one page, its own first; empty when the engine knows none.
    multi_modes : tuple of str
        The same for several pages in one request.
    guard : str
        How the repetition guard is asked for: ``xargs`` (vLLM), ``processor`` (SGLang), or empty (none, or set
        where the engine is started).
    scores : bool
        Whether log probabilities are asked for and mean recognition scores.
    multi : str
        ``native`` where several pages in one request read well, ``pages`` where each page should be asked for alone.
    multi_note : str
        Why, for the user who asks for it all the same.
    window : int
        Most pages of one request.
    slots : int
        Requests kept going at once when nobody says.
    program : tuple of str
        Arguments to Python that start it in a process of its own; empty when it cannot be started here.
    needs : tuple of str
        Modules that the program imports, and `extra` the extra that brings them.
    start_limit : float
        Seconds within which a started program must answer.
    known : str
        What is validated, and by whom.
    """

    name: str
    owned_by: str
    image_mark: bool = False
    mode_field: bool = False
    modes: tuple[str, ...] = ()
    multi_modes: tuple[str, ...] = ()
    guard: Literal["", "xargs", "processor"] = ""
    scores: bool = False
    multi: Literal["native", "pages"] = "pages"
    multi_note: str = ""
    window: int = 8
    slots: int = 4
    program: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    extra: str = ""
    start_limit: float = 120.0
    known: str = field(default="", compare=False)

    def mode_for(self, mode: str | None, pages: int) -> str | None:
        """Choose the image mode of a request: the one asked for where the engine has it, else its own."""
        allowed = self.modes if pages == 1 else self.multi_modes
        return mode if mode in allowed else next(iter(allowed), None)

    def request(
        self,
        images: Sequence[str],
        *,
        mode: str | None = None,
        prompt: str | None = None,
        max_tokens: int | None = None,
        model: str = "Unlimited-OCR",
    ) -> dict[str, Any]:
        """Build the whole JSON body of a chat completion, apart from the fields of streaming.

        Parameters
        ----------
        images : sequence of str
            Page images as ``data:`` URLs, in page order; more than one asks for several pages at once.
        mode : str, optional
            Image mode; one that the engine does not have for so many pages gives way to the engine's own.
        prompt : str, optional
            Words other than the model's own.
        max_tokens : int, optional
            Most tokens of the answer; None leaves the field out.
        model : str
            Name under which the engine serves the model.
        """
        pages = len(images)
        words = prompt or (PROMPT if pages == 1 else MULTI_PROMPT)
        text = "<image>" * pages + words if self.image_mark else words
        content: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in images]
        # One text part: vLLM would join several by line ends, which is another prompt.
        content.append({"type": "text", "text": text})
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            # Left out, every engine drops the tags: no boxes, and tables fused into one string.
            "skip_special_tokens": False,
        }
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        chosen = self.mode_for(mode, pages)
        if self.mode_field and chosen:
            body["images_config"] = {"image_mode": chosen}
        if self.scores:
            body["logprobs"] = True
        return body | self._guard_fields(pages)

    def _guard_fields(self, pages: int) -> dict[str, Any]:
        settings = {"ngram_size": _NGRAM, "window_size": _WINDOW if pages == 1 else _MULTI_WINDOW}
        if self.guard == "xargs":
            return {"vllm_xargs": settings}
        if self.guard == "processor":
            return {"custom_logit_processor": ngram_processor(), "custom_params": settings}
        return {}

    def without_guard(self) -> EngineProfile:
        """Make the same profile without the repetition guard, for a server that refuses it."""
        return replace(self, guard="")


def ngram_processor() -> str:
    """Write the string by which SGLang is told its repetition guard.

    It is a pickle that only names the class, the same bytes on every version, so no SGLang is needed here:
    protocol 4, a frame, module and name as short strings (each memoised), STACK_GLOBAL (memoised), stop.
    """
    names = b"".join(b"\x8c" + bytes([len(name)]) + name.encode() + b"\x94" for name in _PROCESSOR)
    frame = names + b"\x93\x94."
    pickled = b"\x80\x04\x95" + len(frame).to_bytes(8, "little") + frame
    return f'{{"callable": "{pickled.hex()}"}}'
