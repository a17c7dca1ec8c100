"""Defaults that a session can change: ``%config UOCR`` in a notebook, `settings` from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MODES", "SHOWS", "Settings", "settings"]

MODES = ("gundam", "large", "base", "small", "tiny")
"""Image modes of the model (SGLang's names; 1024 px with tiles, 1280, 1024, 640, 512 px)."""

SHOWS = ("auto", "view", "figure", "markdown", "text", "none")
"""How a document shows itself."""


@dataclass
class Settings:
    """Defaults of `serve` and `ocr`, and of the magics.

    Attributes
    ----------
    engine : str
        What a bare ``%uocr_serve`` starts. "cpu" is free and needs no account.
    max_cost : float or None
        A start that could cost more than this many US dollars is refused; None lifts the cap.
    mode : str
        Image mode, one of `MODES`, for engines that have modes.
    dpi : "auto" or int
        Resolution of PDF pages; "auto" is what the mode can use.
    max_tokens : int
        Most tokens of one page's answer (8192: the recipe of vLLM for this model).
    concurrency : "auto" or int
        Requests at once; "auto" asks the endpoint.
    second_tries : int
        How often a page whose answer is not good is asked for once more, where the engine's profile knows another way.
    show : str
        One of `SHOWS`.
    allow_private_urls : bool
        Whether addresses of this machine and of local networks are fetched; off, since a document or a redirect from
        outside could name them.
    cache : bool
        Whether answers are kept on this machine, so that a page is not asked for twice.
    cache_limit : int
        Most megabytes of answers that are kept.
    """

    engine: str = "cpu"
    max_cost: float | None = 5.0
    mode: str = "gundam"
    dpi: int | Literal["auto"] = "auto"
    max_tokens: int = 8192
    concurrency: int | Literal["auto"] = "auto"
    second_tries: int = 1
    show: str = "auto"
    allow_private_urls: bool = False
    cache: bool = True
    cache_limit: int = 500


settings = Settings()
