"""A whole HTML page that needs no network and no kernel.

All pages stand in it, unfolded: what is seen where no script runs, and on paper. The script of a stored form, which
turns and links them, is the one thing that may run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from typing import TYPE_CHECKING

from uocr_nb.markup.maths import to_mathml
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.page_html import document_html
from uocr_nb.views.rows import MATHS
from uocr_nb.views.script import inline_script
from uocr_nb.views.styles import code

if TYPE_CHECKING:
    from uocr_nb.document.model import Document

__all__ = ["to_html"]

_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; "
    "form-action 'none'"
)
"""Nothing is fetched, and nothing runs but the script with this hash, whatever the text of a page holds."""

_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; padding: 16px; max-width: 1200px; background: Canvas; color: CanvasText;
  font-family: system-ui, -apple-system, "Segoe UI", sans-serif; }
math { font-size: 1.1em; }
td, th, .uo-no { font-variant-numeric: tabular-nums; }
@media screen {
  .uo-page ~ .uo-page { content-visibility: auto; contain-intrinsic-size: auto 800px; }
}
@media print {
  body { padding: 0; print-color-adjust: exact; }
  .uo-page ~ .uo-page, .uo-summary:has(.uo-bad) ~ .uo-page { break-before: page; }
  .uo-row { break-inside: avoid; }
  .uo-fold:not([open]) { display: none; }
}
"""

# Page text is escaped, so nothing in it looks like this.
_FORMULA = re.compile(
    rf'<(?P<name>span|div) class="{MATHS}"(?P<style>[^>]*)>'
    r"(?P<sign>\$\$?)(?P<tex>[^<]*)(?P=sign)</(?P=name)>"
)


def to_html(document: Document) -> str:
    """Every page of the document in full; formulas are MathML, as no typesetter runs there."""
    sources = list(dict.fromkeys(page.source for page in document.pages))
    title = sources[0] if len(sources) == 1 else f"{len(sources):,} sources"
    own = base64.b64encode(hashlib.sha256(inline_script().encode()).digest()).decode()
    return (
        '<!DOCTYPE html>\n<html lang="">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(own)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{_FORMULA.sub(_mathml, document_html(document, whole=True))}\n</body>\n</html>\n"
    )


def _mathml(found: re.Match[str]) -> str:
    """Set a formula; what it was made from stays beside it, to be copied."""
    tex, sign, name = found["tex"], found["sign"], found["name"]
    plain = html.unescape(tex)
    return (
        f'<{name} class="uo-math" data-tex="{sign}{tex}{sign}"{found["style"]}>'
        f"{to_mathml(plain, sign == '$$') or code(plain)}</{name}>"
    )
