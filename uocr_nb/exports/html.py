"""A whole HTML page that needs no network, no script and no kernel."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from uocr_nb.markup.maths import to_mathml
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.page_html import document_html
from uocr_nb.views.rows import MATHS
from uocr_nb.views.styles import code

if TYPE_CHECKING:
    from uocr_nb.document.model import Document

__all__ = ["to_html"]

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Nothing is fetched and nothing runs, whatever the text of a page holds."""

_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; padding: 16px; max-width: 1200px; background: Canvas; color: CanvasText;
  font-family: system-ui, -apple-system, "Segoe UI", sans-serif; }
math { font-size: 1.1em; }
td, th, .uo-no { font-variant-numeric: tabular-nums; }
@media print {
  body { padding: 0; print-color-adjust: exact; }
  .uo-page ~ .uo-page, .uo-summary:has(.uo-bad) ~ .uo-page { break-before: page; }
  .uo-row { break-inside: avoid; }
  .uo-fold:not([open]) { display: none; }
}
"""

# Page text is escaped, so nothing in it looks like this.
_FORMULA = re.compile(
    rf'(?P<opening><(?P<name>span|div) class="{MATHS}"[^>]*>)'
    r"(?P<sign>\$\$?)(?P<tex>[^<]*)(?P=sign)(?P<closing></(?P=name)>)"
)


def to_html(document: Document) -> str:
    """Every page of the document, unfolded and in full; formulas are MathML, as no typesetter runs there."""
    sources = list(dict.fromkeys(page.source for page in document.pages))
    title = sources[0] if len(sources) == 1 else f"{len(sources):,} sources"
    return (
        '<!DOCTYPE html>\n<html lang="">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{_FORMULA.sub(_mathml, document_html(document, whole=True))}\n</body>\n</html>\n"
    )


def _mathml(found: re.Match[str]) -> str:
    tex = html.unescape(found["tex"])
    return f"{found['opening']}{to_mathml(tex, found['sign'] == '$$') or code(tex)}{found['closing']}"
