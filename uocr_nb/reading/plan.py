"""What is to be read: the page list of a call, made before anything is asked."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from uocr_nb.config import MODES, settings
from uocr_nb.document.model import Page, Status
from uocr_nb.errors import OptionError
from uocr_nb.reading.windows import MULTI_TOKENS
from uocr_nb.sources import RenderSpec, parse_pages, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uocr_nb.errors import SourceError
    from uocr_nb.sources import Opened, Source

__all__ = ["Item", "Options", "open_source", "page_items", "page_spec", "unread_page"]


MULTI_MODES = ("base", "small", "tiny")
"""Image modes that take several pages; the two others cut a page into tiles, and engines refuse that."""


@dataclass(frozen=True)
class Options:
    """How pages are read; see `uocr_nb.ocr`."""

    pages: str | None = None
    mode: str = "gundam"
    prompt: str | None = None
    dpi: float | None = None
    max_tokens: int = 8192
    concurrency: int | None = None
    password: str | None = None
    multi: int | None = None
    blank: bool = False
    second_tries: int = 1
    confidence: bool = False
    cache: bool = True
    max_tokens_named: bool = False

    @classmethod
    def named(cls, asked: Mapping[str, Any], call: str) -> Options:
        """`checked` for options that a caller handed on by name; `call` is the function that was called.

        Raises
        ------
        OptionError
            When there is no such option (with the nearest one), or a value cannot be used.
        """
        known = [name for name in inspect.signature(cls.checked).parameters if name != "cls"]
        for name in asked:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                why = f"The nearest one is {near[0]}." if near else f"It takes {', '.join(known)}."
                step = f"{call}(source, {near[0] if near else known[0]}=...)"
                raise OptionError(f"{call} has no option {name}.", why, step)
        return cls.checked(**asked)

    @classmethod
    def checked(
        cls,
        *,
        pages: str | int | Iterable[int] | None = None,
        mode: str | None = None,
        prompt: str | None = None,
        dpi: float | Literal["auto"] | None = None,
        max_tokens: int | None = None,
        concurrency: int | Literal["auto"] | None = None,
        password: str | None = None,
        multi: bool | int | None = None,
        blank: bool = False,
        second_tries: int | None = None,
        confidence: bool = False,
        cache: bool | None = None,
    ) -> Options:
        """Options with defaults filled in from `uocr_nb.config.settings`.

        Raises
        ------
        OptionError
            When a value cannot be used.
        """
        mode = mode or settings.mode
        if mode not in MODES:
            raise OptionError(
                f"There is no image mode {mode!r}.", f"The model knows {', '.join(MODES)}.", "--mode gundam"
            )
        dpi = settings.dpi if dpi is None else dpi
        concurrency = settings.concurrency if concurrency is None else concurrency
        usual = MULTI_TOKENS if multi else settings.max_tokens
        second_tries = settings.second_tries if second_tries is None else second_tries
        return cls(
            pages=page_spec(pages),
            mode=mode,
            prompt=prompt,
            dpi=None if dpi == "auto" else _number("dpi", dpi, 20, 1200),
            max_tokens=int(_number("max_tokens", usual if max_tokens is None else max_tokens, 1, 32768)),
            max_tokens_named=max_tokens is not None,
            concurrency=None if concurrency == "auto" else int(_number("concurrency", concurrency, 1, 256)),
            password=password,
            multi=_window(multi),
            blank=bool(blank),
            second_tries=int(_number("second_tries", second_tries, 0, 3)),
            confidence=bool(confidence),
            cache=settings.cache if cache is None else bool(cache),
        )


def _window(multi: bool | int | None) -> int | None:  # noqa: FBT001 - as `ocr` takes it
    """Most pages of a request; 0 leaves the number to the engine's profile, None asks for each page alone."""
    if multi is None or multi is False:
        return None
    return 0 if multi is True else int(_number("multi", multi, 1, 40))


@dataclass(frozen=True)
class Item:
    """One page to read.

    Attributes
    ----------
    position : int
        Place in the document, from 1.
    source : Source
        Where it comes from.
    number : int
        Place in its source, from 1.
    failed : Page or None
        Set when the source could not be opened: the page that stands for it.
    notes : tuple of str
        What was noted when the source was opened, on its first page.
    name : str
        What the page is called in its source, where that is known before it is drawn.
    """

    position: int
    source: Source
    number: int
    failed: Page | None = None
    notes: tuple[str, ...] = ()
    name: str = ""


INTERRUPTED = "The reading was interrupted before this page."


def unread_page(
    item: Item, origin: tuple[Source, RenderSpec], status: Status = Status.MISSING, reason: str = INTERRUPTED
) -> Page:
    """A page that was not drawn; it knows where it comes from, so that it can be asked for again."""
    return Page(
        item.position,
        item.number,
        item.source.name,
        (0, 0),
        status=status,
        reason=reason,
        warnings=item.notes,
        name=item.name,
        origin=origin,
    )


def page_spec(pages: str | int | Iterable[int] | None) -> str | None:
    """Page numbers as the text that ``--pages`` takes."""
    if pages is None or isinstance(pages, str):
        return pages or None
    if isinstance(pages, int):
        return str(pages)
    return ",".join(str(int(number)) for number in pages)


def open_source(
    source: Source, opened: Opened | None, error: SourceError | None, position: int, options: Options
) -> list[Item]:
    """The pages of a source, the first of them at `position`; for one that could not be opened a failed page.

    Raises
    ------
    OptionError
        When ``pages`` names a page that it does not have.
    """
    if opened is None:
        reason = error.advice if error else ""
        item = Item(position, source, 1, notes=source.notes)
        return [replace(item, failed=unread_page(item, (source, spec_of(options)), Status.FAILED, reason))]
    return page_items(source, opened, position, options.pages)


def page_items(source: Source, opened: Opened, position: int, pages: str | None) -> list[Item]:
    """The pages of an open source that `pages` names, the first of them at `position`.

    Raises
    ------
    OptionError
        When ``pages`` names a page that it does not have.
    """
    # A single picture has no pages to choose from, so that `--pages 2-3` may stand beside a folder of both.
    spec = pages if opened.pages > 1 or opened.kind == "pdf" else None
    return [
        Item(
            position + n,
            source,
            number,
            notes=opened.notes if n == 0 else (),
            name=opened.names[number - 1] if opened.names else "",
        )
        for n, number in enumerate(parse_pages(spec, opened.pages))
    ]


def sources_of(given: Any, password: str | None) -> list[Source]:
    """The sources that the user handed over, password attached."""
    return resolve(given, password=password)


def spec_of(options: Options) -> RenderSpec:
    """How pages are rendered under `options`."""
    mode = options.mode
    if options.multi is not None and mode not in MULTI_MODES:
        mode = MULTI_MODES[0]
    return RenderSpec(dpi=options.dpi, mode=mode)


def _number(name: str, value: Any, least: float, most: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not least <= number <= most:
        raise OptionError(
            f"{name} cannot be {value!r}.", f"It is a number from {least:g} to {most:g}.", f"{name}={least:g}"
        )
    return number
