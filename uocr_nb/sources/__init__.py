"""What users hand over, opened and rendered into page images in a process of its own."""

from __future__ import annotations

from uocr_nb.sources.pages import parse_pages
from uocr_nb.sources.renderer import Renderer, default_renderer, page_image
from uocr_nb.sources.resolve import resolve
from uocr_nb.sources.types import Opened, PageError, PageImage, RenderSpec, Source

__all__ = [
    "Opened",
    "PageError",
    "PageImage",
    "RenderSpec",
    "Renderer",
    "Source",
    "default_renderer",
    "page_image",
    "parse_pages",
    "resolve",
]
