"""torch and torchvision, made to be imported together, and what this machine's hardware can do for the model."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from uocr_nb.errors import MissingExtraError
from uocr_nb.support.platform import memory_limit

_ROOMY = 20 * 10**9
"""Bytes of memory from which a CPU holds the model in float32 (13.3 GB), which it computes fastest."""

_kept: list[Any] = []
"""The library object whose end would take the declared operators away again."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """Where the model is computed.

    Attributes
    ----------
    device : str
        ``cuda``, ``mps`` or ``cpu``.
    dtype : str
        Name of torch's number format.
    title : str
        In words, for the log.
    """

    device: str
    dtype: str
    title: str


def import_torch() -> Any:
    """Import torch and, so that transformers can, torchvision.

    The registry's torchvision is built for CUDA. Beside a torch without CUDA its compiled part cannot be loaded, and
    its import ends at two operators that are then not registered. The model's image processor needs neither, so they
    are declared here first.

    Raises
    ------
    MissingExtraError
        When one of them is not installed.
    """
    torch = import_part("torch")
    try:
        import_part("torchvision")
    except (RuntimeError, OSError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _kept.append(library)
        import_part("torchvision")
    return torch


def import_part(name: str) -> Any:
    """Import a package that the extra ``transformers`` brings.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError("The engine transformers cannot start.", "transformers", error.name or name) from error


def choose_hardware(torch: Any) -> Hardware:
    """Choose the device, and the number format that it computes well."""
    if torch.cuda.is_available():
        # Emulated bfloat16 (before Ampere) is slower than half precision.
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return Hardware("cuda", "bfloat16" if has_bf16 else "float16", str(torch.cuda.get_device_name()))
    if torch.backends.mps.is_available():
        return Hardware("mps", "float16", "Apple's GPU")
    return Hardware("cpu", "float32" if _memory() > _ROOMY else "bfloat16", "the processor, which is slow")


def _memory() -> float:
    sizes = [float(limit)] if (limit := memory_limit()) else []
    with contextlib.suppress(AttributeError, OSError, ValueError):  # not on Windows
        sizes.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    return min(sizes, default=0.0)
