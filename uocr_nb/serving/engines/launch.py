"""The command by which an engine is started, made from data."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.serving.engines.variant import Variant

_VALUE = re.compile(r"-?\d|[^-]|-$")
"""How a word begins that belongs to the flag before it; ``-1`` is a value."""

_OURS = {
    "--host": "It decides who can reach the engine, and belongs to the host that runs it.",
    "--port": "There is an option of its own for it.",
    "--api-key": "A key in a command line can be read by every user of the machine.",
    "--served-model-name": "Requests name the model by it.",
}
"""Flags that are not handed through, and why."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How an engine's command line is written.

    Attributes
    ----------
    program : tuple of str
        The first words; ``{model}`` stands for the model.
    flags : tuple of str
        What follows, the same for every variant.
    revision, tensor_parallel, projector : str
        Flags by which the model's revision, the number of GPUs and the projector's file are told; empty where the
        engine has none.
    model_flags : tuple of str
        Flag for a model at a path and flag for one on the Hub, where they differ; ``{model_flag}`` stands for it.
    template : tuple of str
        Flags added where the model's name does not tell the engine its chat template.
    """

    program: tuple[str, ...]
    flags: tuple[str, ...] = ()
    revision: str = ""
    tensor_parallel: str = ""
    projector: str = ""
    model_flags: tuple[str, str] = ("", "")
    template: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """What a command line is written for.

    Attributes
    ----------
    port : int
        Port to listen on.
    host : str
        Address to listen on.
    model : str
        Repository or path of the model.
    revision : str or None
        Its revision.
    tp : int or None
        GPUs that share the model.
    mmproj : str or None
        Path of the projector's file.
    args, drop_args : tuple of str
        What the user adds and takes away.
    """

    port: int
    host: str
    model: str
    revision: str | None = None
    tp: int | None = None
    mmproj: str | None = None
    args: tuple[str, ...] = field(default=())
    drop_args: tuple[str, ...] = field(default=())


def command_line(launch: Launch, variant: Variant, place: Place) -> list[str]:
    """Write an engine's command as a list.

    Raises
    ------
    OptionError
        For a flag to add that is not the user's to set, and one to drop that is not there.
    """
    written = {
        "{model}": place.model,
        "{model_flag}": launch.model_flags[0 if is_path(place.model) else 1],
    }
    words = [written.get(word, word) for word in (*launch.program, *launch.flags, *variant.flags)]
    words += ["--host", place.host, "--port", str(place.port)]
    if launch.template and "unlimited" not in place.model.lower():
        words += launch.template
    for flag, value in (
        (launch.revision, place.revision),
        (launch.tensor_parallel, place.tp),
        (launch.projector, place.mmproj),
    ):
        if value is None:
            continue
        if not flag:
            raise OptionError(
                f"{words[0]} cannot be told {value!r}.", "This engine has no flag for it.", "Leave it out."
            )
        words += [flag, str(value)]
    for flag in place.drop_args:
        words = _without(words, flag)
    return words + [word for text in place.args for word in _added(text)]


def with_setup(variant: Variant, command: Sequence[str]) -> list[str]:
    """Put a variant's setup before a command: one shell line that stops at the first failure, else the command itself.

    For containers and Jobs, whose files are thrown away; a user's own machine is never set up.
    """
    if not variant.setup:
        return list(command)
    return ["bash", "-lc", " && ".join([*variant.setup, "exec " + shlex.join(command)])]


def is_path(model: str) -> bool:
    """Tell whether a model is named by a path, and not as ``owner/name`` on the Hub."""
    return (
        model.startswith(("/", ".", "~", "\\")) or model.endswith(".gguf") or bool(re.match(r"[A-Za-z]:[\\/]", model))
    )


def _same(word: str, flag: str) -> bool:
    return word.partition("=")[0].replace("_", "-") == flag.replace("_", "-")


def _without(words: list[str], flag: str) -> list[str]:
    """Take a flag and its values away."""
    flag = flag.strip()
    _refuse_ours(flag)
    kept: list[str] = []
    dropping = found = False
    for word in words:
        if _same(word, flag) and word.startswith("-"):
            dropping = found = True
        elif not (dropping and _VALUE.match(word)):
            dropping = False
            kept.append(word)
    if not found:
        there = ", ".join(word for word in words if re.match(r"--?[a-z]", word))
        raise OptionError(f"There is no {flag} to drop.", f"The flags are {there}.", f"Leave --drop-arg {flag} out.")
    return kept


def _added(text: str) -> list[str]:
    """Split a flag from its value; a value may hold spaces and quotes (JSON) and stays as it is."""
    flag, _, value = text.strip().partition(" ") if text.strip().startswith("-") else ("", "", "")
    if not flag:
        return [text]
    _refuse_ours(flag)
    return [flag, value.strip()] if value.strip() else [flag]


def _refuse_ours(flag: str) -> None:
    for ours, why in _OURS.items():
        if _same(flag, ours):
            raise OptionError(f"{ours} cannot be set by hand.", why, "Leave it out.")
