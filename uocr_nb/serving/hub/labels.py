"""Labels of a Job: what tells ours from others, and whose it is. Letters, digits, ``.``, ``_`` and ``-`` alone."""

from __future__ import annotations

import os
import platform
import re
import sys
from typing import TYPE_CHECKING, Any

from uocr_nb.serving.hub.ending import MARK
from uocr_nb.support.platform import identify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uocr_nb.serving.plan import Plan

APP = "uocr_nb"
_LONGEST = 100


def clean(text: str) -> str:
    """Write a text as a label's value can hold it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-")[:_LONGEST] or "none"


def host_label() -> str:
    """Name this machine: for people first, then the digest by which it is known."""
    return f"{clean(platform.node().partition('.')[0])[:60]}.{identify().machine}"


def kernel_id() -> str:
    """Name this kernel: its connection's id in Jupyter, else the process."""
    if "ipykernel" in sys.modules:
        from ipykernel.connect import get_connection_file  # noqa: PLC0415 - only inside a kernel

        try:
            name = os.path.basename(get_connection_file())  # noqa: PTH119 - a name, not a path
        except Exception:  # noqa: BLE001 - a process that imported ipykernel and is no kernel
            name = ""
        if name:
            return clean(name.removeprefix("kernel-").removesuffix(".json"))
    me = identify()
    return clean(f"{me.pid}-{me.started}")


def labels_for(plan: Plan, name: str, mark: str) -> dict[str, str]:
    """Write the labels of a Job that is to be started."""
    made = {
        "app": APP,
        "host": host_label(),
        "kernel": kernel_id(),
        # The client would make up one of its own from the image.
        "name": name,
        MARK: mark,
        "engine": str(plan.engine),
        "variant": plan.variant or "default",
    }
    if plan.keep:
        made["keep"] = "yes"
    return {key: clean(value) for key, value in made.items()}


def machine_of(labels: Mapping[str, Any]) -> str:
    """Read the digest of the machine that started a Job; empty when there is none."""
    return str(labels.get("host") or "").rpartition(".")[2]
