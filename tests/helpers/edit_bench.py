"""The drawing module over a real document in a bare page: what it asks goes to Python by the browser's own line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from view_kit import View

from uocr_nb.errors import UocrError
from uocr_nb.views.marks import document_facts
from uocr_nb.views.page_html import document_html
from uocr_nb.views.view_edits import EDITS, edit_by
from uocr_nb.views.view_pages import block_raw, page_payload

if TYPE_CHECKING:
    from pathlib import Path

    from uocr_nb.document.model import Document

_SCRIPT = """
class Source extends StoredSource {
  constructor(root) {
    super(root);
    this.live = true;
    this.can = new Set(["edit"]);
    this.facts = JSON.parse(root.dataset.doc);
  }
  doc() { return this.facts; }
  async load(p) {
    const told = await this.ask("page", { p });
    const held = document.createElement("template");
    held.innerHTML = told.html;
    const node = held.content.firstElementChild;
    node.dataset.edits = told.edits;
    return node;
  }
  async ask(kind, given) {
    const told = JSON.parse(await window.askPython(kind, JSON.stringify(given || {})));
    if (told.error) throw new Error(told.error);
    if (told.doc) window.view.update((this.facts = told.doc));
    return told;
  }
}
const root = document.querySelector(".uo-root");
const view = mount(root, new Source(root));
window.view = view;
view.attach(root);
view.go(1);
"""


def answer(document: Document, kind: str, given: str) -> str:
    """What Python says to one question, as JSON."""
    message = {"kind": kind, **json.loads(given)}
    try:
        told = _told(document, message)
    except UocrError as error:
        told = {"error": f"{error.what} {error.why}"}
    return json.dumps(told)


def _told(document: Document, message: dict[str, Any]) -> dict[str, Any]:
    if message["kind"] in EDITS:
        told = edit_by(document, message)
        return told | {"doc": document_facts(document.pages, document)}
    page = document.page(message["p"])
    if message["kind"] == "text":
        return {"text": block_raw(page, message["n"])}
    edits = document.edits.of(page.position)
    made = page_payload(page, document.pages, total=len(document), edited=edits.blocks(page.position))
    return {"html": made["html"], "edits": len(edits)}


def open_bench(page: Any, document: Document, script: str, path: Path, *, ground: str = "#ffffff") -> View:
    """Open `document` with the drawing module `script` on a page of the browser, as a view that can edit."""
    html = document_html(document).partition("<script>")[0]
    ink, scheme = ("#1b1f24", "light") if ground == "#ffffff" else ("#e8eaed", "dark")
    module = script.replace("export default", "const exported =")
    path.write_text(
        f"<!doctype html><html lang=en style='color-scheme:{scheme}'><meta charset=utf-8><title>x</title>"
        f"<body style='margin:8px;background:{ground};color:{ink}'>{html}</div>"
        f"<p><a id=after href='#'>after</a></p><script type=module>{module}\n{_SCRIPT}</script>",
        encoding="utf-8",
    )
    page.expose_function("askPython", lambda kind, given: answer(document, kind, given))
    page.goto(path.as_uri())
    return View(page).ready()
