"""The IPython face: parse, call the plain function, display."""

from __future__ import annotations

from typing import Any

from uocr_nb import __version__
from uocr_nb.serving import ledger

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
    if ledger.entries():
        from uocr_nb.magics import jobs  # noqa: PLC0415 - brings the Hub's client, only when there is something to look at

        jobs.sweep_when_loaded(in_notebook=hasattr(shell, "kernel"))


def unload(shell: Any) -> None:
    """Stop what the extension started and take the magics away."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        extension.remove()
