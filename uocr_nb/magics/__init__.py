"""The IPython face: parse, call the plain function, display."""

from __future__ import annotations

from typing import Any

from uocr_nb import __version__

__all__ = ["load", "unload"]

_loaded: dict[int, Any] = {}


def load(shell: Any) -> None:
    """Register the magics in `shell`; loading twice is loading once."""
    from uocr_nb.magics.extension import Extension  # noqa: PLC0415 - brings IPython's classes

    if id(shell) in _loaded:
        return
    extension = Extension(shell)
    extension.register()
    _loaded[id(shell)] = extension
    print(f"uocr_nb {'.'.join(__version__.split('.')[:2])} is ready. Next: %uocr_serve, then %uocr your.pdf")


def unload(shell: Any) -> None:
    """Stop what the extension started and take the magics away."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        extension.remove()
