"""OCR in a notebook, where the endpoint belongs to the cell that started it.

    %load_ext uocr_nb
    %uocr_serve
    %uocr report.pdf

The same from Python:

>>> import uocr_nb as uocr
>>> ep = uocr.serve("cpu")                 # doctest: +SKIP
>>> doc = uocr.ocr("report.pdf")           # doctest: +SKIP

Public names are loaded when they are first used, so importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from uocr_nb.document import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Block, Document, Page, Status, Table
    from uocr_nb.errors import UocrError
    from uocr_nb.exports import load
    from uocr_nb.reading.cache import cache
    from uocr_nb.reading.parse import parse
    from uocr_nb.reading.pipeline import aiter_ocr, aocr, iter_ocr, last, ocr
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.engines import register_engine
    from uocr_nb.serving.start import aserve, endpoints, serve
    from uocr_nb.views.compare import compare
    from uocr_nb.views.overlay import draw_boxes
    from uocr_nb.views.serve_panel import panel
    from uocr_nb.views.viewer import selected

__version__ = "0.1.0"

_HOME = {
    "Block": "document.model",
    "Document": "document.model",
    "Page": "document.model",
    "Status": "document.model",
    "Table": "document.model",
    "UocrError": "errors",
    "cache": "reading.cache",
    "compare": "views.compare",
    "parse": "reading.parse",
    "Endpoint": "serving.endpoint",
    "serve": "serving.start",
    "register_engine": "serving.engines",
    "aserve": "serving.start",
    "endpoints": "serving.start",
    "ocr": "reading.pipeline",
    "aocr": "reading.pipeline",
    "iter_ocr": "reading.pipeline",
    "last": "reading.pipeline",
    "aiter_ocr": "reading.pipeline",
    "draw_boxes": "views.overlay",
    "load": "exports",
    "panel": "views.serve_panel",
    "selected": "views.viewer",
}
"""Public name -> the room it lives in."""

__all__ = [
    "Block",
    "Document",
    "Endpoint",
    "Page",
    "Status",
    "Table",
    "UocrError",
    "aiter_ocr",
    "aocr",
    "aserve",
    "cache",
    "compare",
    "draw_boxes",
    "endpoints",
    "iter_ocr",
    "last",
    "load",
    "ocr",
    "panel",
    "parse",
    "register_engine",
    "selected",
    "serve",
]

_HOOKS = {
    "page_image": "sources:page_image",
    "page_markdown": "markup.markdown:page_markdown",
    "page_text": "markup.markdown:page_text",
    "document_markdown": "markup.markdown:document_markdown",
    "page_tables": "markup.tables:page_tables",
    "table_df": "markup.tables:table_df",
    "page_figure": "views.overlay:page_figure",
    "pages_figure": "views.overlay:pages_figure",
    "page_plain": "views.plain:page_plain",
    "document_plain": "views.plain:document_plain",
    "page_bundle": "views.mime:page_bundle",
    "document_bundle": "views.mime:document_bundle",
    "save": "exports:save",
    "to_json": "exports.data:to_json",
    "from_json": "exports.data:from_json",
    "to_dataframe": "exports.data:to_dataframe",
    "to_html": "exports.html:to_html",
    "retry": "reading.pipeline:retry",
    "view": "views.viewer:view",
    "watcher": "views.watch:watcher",
}
"""What a document can do through the rooms above it: hook -> room and function, imported when it is called."""


def _late(place: str) -> Callable[..., Any]:
    room, name = place.split(":")

    def hook(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(f"{__name__}.{room}"), name)(*args, **kwargs)

    return hook


for _hook, _place in _HOOKS.items():
    registry.provide(_hook, _late(_place))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Register the magics (``%load_ext uocr_nb``)."""
    import_module(f"{__name__}.magics").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Stop what the extension started and take the magics away (``%unload_ext uocr_nb``)."""
    import_module(f"{__name__}.magics").unload(shell)
