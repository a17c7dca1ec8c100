"""Warnings that point at the user's line and not at one of ours."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]


def warn_user(words: str) -> None:
    """Warn of something that the caller of this package should know, at the line that called it."""
    frame, level = sys._getframe(), 1  # noqa: SLF001 - as warnings.warn counts
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "uocr_nb":
        frame, level = frame.f_back, level + 1
    warnings.warn(words, UserWarning, stacklevel=level)
