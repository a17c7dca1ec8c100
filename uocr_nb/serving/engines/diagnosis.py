"""What a line of an engine's log means for the user."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """What went wrong, in the three parts of every message.

    Attributes
    ----------
    what, why, next : str
        As of `uocr_nb.errors.UocrError`.
    """

    what: str
    why: str
    next: str


@dataclass(frozen=True, slots=True)
class Symptom:
    """Words in a log that tell of a fault.

    Attributes
    ----------
    pattern : str
        Regular expression, searched without regard to case.
    advice : Advice
        What to say; ``{engine}`` stands for the engine's name, ``{0}`` for the pattern's first group.
    """

    pattern: str
    advice: Advice

    def match(self, line: str, engine: str) -> Advice | None:
        """Read a line; None when it does not tell of this fault."""
        found = re.search(self.pattern, line, re.IGNORECASE)
        if found is None:
            return None
        said = [(group or "").strip().strip("'\"`.") for group in (found.groups() or ("",))]
        parts = (self.advice.what, self.advice.why, self.advice.next)
        return Advice(*(part.format(*said, engine=engine) for part in parts))


def _symptom(pattern: str, what: str, why: str, then: str) -> Symptom:
    return Symptom(pattern, Advice(what, why, then))


COMMON: tuple[Symptom, ...] = (
    _symptom(
        r"CUDA error:? 802|system not yet initialized",
        "The GPU of this machine did not come up (CUDA error 802).",
        "The machine is at fault, not the model: reported three times of three on Jobs' h200 in June 2026.",
        "%uocr_serve {engine} --flavor a100-large",
    ),
    _symptom(
        r"No space left on device|\bENOSPC\b",
        "The disk is full.",
        "The image, the model (6.7 GB) and its cache did not fit.",
        "Take hardware with more disk (--flavor), or free some on this machine.",
    ),
    _symptom(
        r"429 Client Error|429 Too Many Requests|\b429\b.{0,60}(?:huggingface|rate.?limit)|rate.?limit.{0,60}\b429\b",
        "The Hub limits downloads from there.",
        "Anonymous downloads share one limit (429); with a token the limit is your own.",
        "%uocr_serve {engine} --forward-token",
    ),
    _symptom(
        r"GatedRepo|gated repo|awaiting a review|401 Client Error.*huggingface|403 Client Error.*huggingface",
        "The model's repository does not open to this start.",
        "It is gated or private, and no token that may read it was handed over.",
        "Accept its terms on its page, then: %uocr_serve {engine} --forward-token",
    ),
    _symptom(
        r"RevisionNotFound|Revision Not Found|is not a valid git identifier",
        "The model has no such revision.",
        "Its repository does not know the branch, tag or commit that was asked for.",
        "Leave --revision out, or name one that its page on the Hub shows.",
    ),
    _symptom(
        r"RepositoryNotFound|Repository Not Found|is not a (?:local folder|valid model identifier)"
        r"|404 Client Error.*huggingface",
        "The model was not found.",
        "No repository of that name is on the Hub, or it is private and no token was handed over.",
        "Check --model; for a private one add --forward-token.",
    ),
    _symptom(
        r"(?:unrecognized|unknown) arguments?: (.+)|invalid argument: (\S+)",
        "The engine does not know the flag {0}{1}.",
        "This release has another command line than the one the profile was written for.",
        "Take it off with --drop-arg, or choose another image with --image.",
    ),
    _symptom(
        r"error: argument (\S+?):? (?:invalid choice|expected|invalid)",
        "The engine does not take the value of {0}.",
        "Its own argument parser refused it.",
        "%uocr_logs   shows what it allows",
    ),
    _symptom(
        r"model type [`'\"]?([\w-]+).{0,40}does not recognize this architecture"
        r"|Model architectures \[(.+?)\].{0,20} (?:are not supported|failed)"
        r"|unknown model architecture:? [`'\"]?([\w-]+)",
        "The engine does not know the model {0}{1}{2}.",
        "This release of the engine is older than the model, or the model's repository has changed its layout.",
        "Leave --image and --revision out: the profile's own fit together.",
    ),
    _symptom(
        r"out of memory|OutOfMemoryError|No available memory for the cache blocks"
        r"|Free memory on device.{0,80}less than desired|Not enough memory",
        "The GPU has too little memory left.",
        "The model takes 6.7 GB and its cache the rest of what it is given (8 GB is the least).",
        "Close what else uses the GPU, or take a larger one: --flavor a100-large",
    ),
    _symptom(
        r"Bfloat16 is only supported on GPUs",
        "The GPU is too old for the model's number format.",
        "It has no bfloat16 (compute capability under 8.0).",
        '%uocr_serve {engine} --flavor l4x1   or, to try half precision: --arg "--dtype half"',
    ),
    _symptom(
        r"Address already in use|Errno 98\b|could ?n.t bind|port is already allocated",
        "The port is taken.",
        "Another program listens on it.",
        "Leave --port out (a free one is found), or name another.",
    ),
    _symptom(
        r"No CUDA GPUs are available|Found no NVIDIA driver|CUDA driver initialization failed"
        r"|libcuda\.so\.1: cannot open|Failed to infer device type|could not select device driver"
        r"|nvidia-container-cli: initialization error|no CUDA-capable device",
        "The engine sees no GPU.",
        "No GPU, or no driver for it, reaches the place where it runs.",
        "Choose hardware with a GPU (--flavor l4x1 on Jobs); on your own machine nvidia-smi must work.",
    ),
    _symptom(
        r"driver version is insufficient|NVIDIA driver on your system is too old|no kernel image is available"
        r"|unsatisfied condition: cuda",
        "The engine's CUDA and this GPU do not fit together.",
        "The driver is older than the image asks for, or the GPU newer than it was built for.",
        "Choose another image (--image) or other hardware (--flavor).",
    ),
    _symptom(
        r"Temporary failure in name resolution|Name or service not known|Max retries exceeded|LocalEntryNotFound"
        r"|offline mode is enabled|OfflineModeIsEnabled",
        "The model could not be downloaded.",
        "The Hub was not reached from where the engine runs.",
        "Try again; behind a proxy hand its variables over with --env.",
    ),
)
"""Faults that every engine can tell of; the first that fits is told."""

DOCKER: tuple[Symptom, ...] = (
    _symptom(
        r"Cannot connect to the Docker daemon|error during connect",
        "Docker does not run.",
        "Its daemon does not answer.",
        "Start Docker, then try again.",
    ),
    _symptom(
        r"permission denied while trying to connect to the Docker",
        "Docker does not let you in.",
        "Your user may not talk to its daemon.",
        "Have yourself added to the group docker, then log in again.",
    ),
    _symptom(
        r"manifest (?:for \S+ )?(?:not found|unknown)|pull access denied|repository does not exist|invalid reference",
        "The image was not found.",
        "Its registry has no such name or tag, or keeps it to itself.",
        "Leave --image out: the profile's own is public.",
    ),
)
"""Faults that docker itself tells of."""


def diagnose(line: str, engine: str, symptoms: tuple[Symptom, ...] = COMMON) -> Advice | None:
    """Find what a line of a log tells of; None when it tells of no fault that is known."""
    for symptom in symptoms:
        advice = symptom.match(line, engine)
        if advice is not None:
            return advice
    return None
