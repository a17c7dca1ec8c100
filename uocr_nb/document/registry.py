"""Hooks by which the rooms above serve a document, so that the ground floor imports none of them.

The package's root fills the table with functions that import their room when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_hooks: dict[str, Callable[..., Any]] = {}


def provide(name: str, hook: Callable[..., Any]) -> None:
    """Put `hook` under `name`; a later one replaces an earlier one."""
    _hooks[name] = hook


def call(name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call the hook `name`.

    Raises
    ------
    KeyError
        When nothing was provided under that name (a programming error, not a user's).
    """
    return _hooks[name](*args, **kwargs)
