"""``%config UOCR``: the session's defaults as traits."""

from __future__ import annotations

from typing import Any

from traitlets import All, Bool, Enum, Float, Int, TraitError, Unicode, Union, observe, validate
from traitlets.config import Config, Configurable

from uocr_nb.config import MODES, SHOWS, settings
from uocr_nb.errors import OptionError
from uocr_nb.serving import engines

__all__ = ["UOCR"]


class UOCR(Configurable):
    """Defaults of the magics, and of `uocr_nb.serve` and `uocr_nb.ocr`."""

    engine = Unicode("cpu", help="What a bare %uocr_serve starts.").tag(config=True)
    max_cost = Float(
        5.0,
        allow_none=True,
        help="A start that could cost more than this many US dollars is refused; None lifts the cap.",
    ).tag(config=True)
    mode = Enum(MODES, "gundam", help="Image mode, for engines that have modes.").tag(config=True)
    dpi = Union([Enum(["auto"]), Int(min=20, max=1200)], default_value="auto", help="Resolution of PDF pages.").tag(
        config=True
    )
    max_tokens = Int(8192, min=1, max=32768, help="Most tokens of one page's answer.").tag(config=True)
    concurrency = Union([Enum(["auto"]), Int(min=1, max=256)], default_value="auto", help="Requests at once.").tag(
        config=True
    )
    second_tries = Int(
        1, min=0, max=3, help="How often a page is asked for once more when its answer is not good."
    ).tag(config=True)
    show = Enum(SHOWS, "auto", help="How a document shows itself.").tag(config=True)
    allow_private_urls = Bool(
        False, help="Whether addresses of this machine and of local networks are fetched, too."
    ).tag(config=True)
    cache = Bool(True, help="Whether answers are kept on this machine, so that a page is not asked for twice.").tag(
        config=True
    )
    cache_limit = Int(500, min=1, help="Most megabytes of answers that are kept.").tag(config=True)

    @classmethod
    def sound(cls, shell: Any) -> UOCR:
        """The defaults of `shell`; a value in its configuration that cannot be used is dropped, with one line.

        A refused ``%config`` leaves its value behind there, and would keep the extension from being loaded again.
        """
        given = shell.config.get("UOCR", {})
        for name in list(given):
            try:
                cls(config=Config({"UOCR": {name: given[name]}}))
            except TraitError as error:
                print(f"UOCR.{name} keeps its default: {error}")
                del given[name]
        return cls(parent=shell)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for name in self.trait_names(config=True):
            setattr(settings, name, getattr(self, name))

    @validate("engine")
    def _known_engine(self, proposal: Any) -> str:
        value = str(proposal["value"]).strip()
        if not value:
            raise TraitError("engine is the name of an engine, such as cpu, or the address of a server.")
        if "://" not in value:
            name, _, variant = value.partition(":")
            try:
                engines.get(name).variant(variant or None)
            except OptionError as error:
                raise TraitError(f"{error.what} {error.why}") from None
        return value

    @validate("cache")
    def _cache_as_said(self, proposal: Any) -> bool:
        # Here and not in `_follow`, which hears of changes alone: uocr.cache.enabled may have been set since.
        settings.cache = bool(proposal["value"])
        return settings.cache

    @observe(All)
    def _follow(self, change: Any) -> None:
        if hasattr(settings, change["name"]):
            setattr(settings, change["name"], change["new"])
