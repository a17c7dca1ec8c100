"""What an engine profile is: how an engine is started, and how it is asked for one page and for several."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from uocr_nb.errors import OptionError
from uocr_nb.serving.engines.diagnosis import COMMON, Advice, Symptom, diagnose
from uocr_nb.serving.engines.launch import Launch, Place, command_line, is_path
from uocr_nb.serving.engines.variant import Metrics, Variant

if TYPE_CHECKING:
    from collections.abc import Sequence

MODEL = "baidu/Unlimited-OCR"
"""The model's repository on the Hub."""

OLD_LAYOUT = "07dea832e22aefee32ad281d4b80551282e1c168"
"""Revision of `MODEL` that calls its type ``unlimited-ocr``, the only name that vLLM 0.25 and SGLang know."""

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

PINNED = "The line differs from the validated one by --revision alone: the pin keeps the layout that this image knows."
"""A note for variants that others ran before the model's repository changed."""

_LAST_LINES = 150
"""Lines of a log that tell of its end; a fault told earlier was overcome."""

GROUNDING = "<|grounding|>OCR this image."
"""Words by which others (Docling) ask the model for text with boxes; tried where its own gave nothing."""

_PROCESSOR = ("sglang.srt.sampling.custom_logit_processor", "DeepseekOCRNoRepeatNGramLogitProcessor")


@dataclass(frozen=True, slots=True)
class Again:
    """How a page is asked for once more when its first answer has a certain status.

    Attributes
    ----------
    status : str
        The status of the first answer: empty, unboxed, looping or truncated.
    mode, prompt : str or None
        Another image mode, other words; None leaves it as it was.
    wide_guard : bool
        Whether the repetition guard looks back as far as it does for several pages.
    more : float
        Factor for the most tokens of the answer, where the user named no number.
    """

    status: str
    mode: str | None = None
    prompt: str | None = None
    wide_guard: bool = False
    more: float = 1.0


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
        Requests kept going at once when nobody says, to begin with; more or fewer as it answers.
    again : tuple of Again
        What is changed when a page is asked for once more; a status that is not named is left as it is.
    context : int
        Tokens that a request and its answer may have together.
    variants : tuple of Variant
        Images, revisions and hardware that fit together; the first is the default.
    local : str
        The variant whose flags are used for an engine that the user has installed on this machine.
    hosts : tuple of str
        Where it can be started; the first is the default.
    model : str
        The model's repository on the Hub; empty where the user must name a file.
    launch : Launch or None
        How its command is written; None for a program of this package.
    own_key : str
        Environment variable by which it takes a key of its own; empty where only its command line could carry one,
        which every user of the machine can read.
    needs_gpu : bool
        Whether it starts on a machine with an NVIDIA GPU only.
    health : str
        Path that answers 200 when it is ready.
    ready_lines : tuple of str
        What its log says when it is ready.
    symptoms : tuple of Symptom
        Faults that only this engine's log can tell of, beside those of all.
    metrics : Metrics or None
        Where it counts its requests.
    page_tokens : tuple of (str, int)
        Prompt tokens of one A4 page at up to 200 dpi, by image mode.
    program : tuple of str
        Arguments to Python that start a program of this package, which is told its settings on standard input.
    needs : tuple of str
        Modules that the program imports, and `extra` the extra that brings them.
    start_limit : float
        Seconds within which a program started on this machine must answer.
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
    again: tuple[Again, ...] = ()
    context: int = 32_768
    variants: tuple[Variant, ...] = (Variant(),)
    local: str = ""
    hosts: tuple[str, ...] = ("process",)
    model: str = MODEL
    launch: Launch | None = None
    own_key: str = ""
    needs_gpu: bool = True
    health: str = "/health"
    ready_lines: tuple[str, ...] = ("Application startup complete",)
    symptoms: tuple[Symptom, ...] = ()
    metrics: Metrics | None = None
    page_tokens: tuple[tuple[str, int], ...] = ()
    program: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    extra: str = ""
    start_limit: float = 120.0
    known: str = field(default="", compare=False)

    # ------------------------------------------------------------------ starting
    def variant(self, name: str | None = None, host: str | None = None) -> Variant:
        """Find a variant by its name; without one the default of the host.

        Raises
        ------
        OptionError
            When there is no such variant; names those there are.
        """
        wanted = name or (self.local if host == "process" else "") or self.variants[0].name
        for variant in self.variants:
            if variant.name == wanted.strip().lower():
                return variant
        known = [f"{self.name}:{variant.name}" for variant in self.variants if variant.name]
        why = f"It has {', '.join(known)}." if known else "It has one form only."
        raise OptionError(f"{self.name} has no variant {name!r}.", why, f"%uocr_serve {self.name}")

    def command(
        self,
        variant: Variant,
        *,
        port: int,
        host: str = "127.0.0.1",
        model: str | None = None,
        revision: str | None = None,
        tp: int | None = None,
        args: Sequence[str] = (),
        drop_args: Sequence[str] = (),
        mmproj: str | None = None,
    ) -> list[str]:
        """Write the engine's command as a list, without a variant's setup (`launch.with_setup` puts that before it).

        Parameters
        ----------
        variant : Variant
            As `variant` found it.
        port, host : int and str
            Where it shall listen; ``0.0.0.0`` inside a container or Job.
        model : str, optional
            Another model: a repository on the Hub, or a path where it runs. Its newest revision is taken then.
        revision : str, optional
            Another revision than the variant's.
        tp : int, optional
            GPUs that share the model.
        args, drop_args : sequence of str
            What to add (``"--flag value"``, split at the first space) and which flags to take away with their values.
        mmproj : str, optional
            Path of the projector's file (llama.cpp).

        Raises
        ------
        OptionError
            When one of them does not go with this engine.
        """
        if self.launch is None:
            return ["python", "-P", *self.program]
        chosen = model or self.model
        if not chosen:
            raise OptionError(
                f"{self.name} needs the file of a model.",
                "It reads GGUF files; there is none by default.",
                f"%uocr_serve {self.name} --model FILE.gguf --mmproj mmproj-FILE.gguf",
            )
        pin = self.pin(variant, chosen, revision)
        place = Place(port, host, chosen, pin, tp, mmproj, tuple(args), tuple(drop_args))
        return command_line(self.launch, variant, place)

    def pin(self, variant: Variant, model: str | None = None, revision: str | None = None) -> str | None:
        """Find the revision of the model that a start asks for; None for a file and for "the newest"."""
        chosen = model or self.model
        if is_path(chosen):
            return None
        return revision or (variant.revision if chosen == self.model else None)

    def diagnose(self, line: str) -> Advice | None:
        """Find what a line of the engine's log tells of; None when it tells of no fault that is known."""
        return diagnose(line, self.name, (*self.symptoms, *COMMON))

    def explain(self, lines: Sequence[str]) -> Advice | None:
        """Find in the last lines of the log of an engine that has ended what it died of.

        The first of several faults that are told is taken: those after it follow from it.
        """
        return next(filter(None, map(self.diagnose, lines[-_LAST_LINES:])), None)

    def is_ready_line(self, line: str) -> bool:
        """Tell whether the engine says in this line of its log that it is ready."""
        return any(words in line for words in self.ready_lines)

    # ------------------------------------------------------------------ asking
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
        wide_guard: bool = False,
        scores: bool | None = None,
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
        wide_guard : bool
            Whether the repetition guard looks back as far as it does for several pages.
        scores : bool, optional
            Whether log probabilities are asked for; None leaves it to the profile.
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
        if self.scores if scores is None else scores:
            body["logprobs"] = True
        return body | self._guard_fields(wide=wide_guard or pages > 1)

    def _guard_fields(self, *, wide: bool) -> dict[str, Any]:
        settings = {"ngram_size": _NGRAM, "window_size": _MULTI_WINDOW if wide else _WINDOW}
        if self.guard == "xargs":
            return {"vllm_xargs": settings}
        if self.guard == "processor":
            return {"custom_logit_processor": ngram_processor(), "custom_params": settings}
        return {}

    def once_more(self, status: str) -> Again | None:
        """Find how a page whose answer has this status is asked for once more; None when that is of no use."""
        return next((again for again in self.again if again.status == status), None)

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
