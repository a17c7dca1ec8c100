"""A document of a person who wishes the reader ill, and the wire that notices when any of it comes to life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import drawn

from uocr_nb.document.model import Block, Document, Page, Status

if TYPE_CHECKING:
    from pathlib import Path

TRIP = "window.tripped=1"

_ELSEWHERE = "http://tracker.invalid/seen.png"

MARKUP = (
    f"</div></span></td></style></title></pre></textarea><script>{TRIP}</script>"
    f"<img src=x onerror='{TRIP}'><img src='{_ELSEWHERE}'><svg onload='{TRIP}'><set onbegin='{TRIP}'></svg>"
    f"<a href='javascript:{TRIP}'>press</a><a href='data:text/html,<script>{TRIP}</script>'>press</a>"
    f"<iframe srcdoc='<script>parent.{TRIP}</script>'></iframe><object data='{_ELSEWHERE}'></object>"
    f"<form action='javascript:{TRIP}'><button formaction='javascript:{TRIP}'>press</button></form>"
    f"<input autofocus onfocus='{TRIP}'><details open ontoggle='{TRIP}'>x</details>"
    f"<math><maction actiontype='statusline#{_ELSEWHERE}'><a xlink:href='javascript:{TRIP}'>press</a></math>"
)
ENDS = f"</script><script>{TRIP}</script><!--<script>]]>--!>\u2028{TRIP}\u2029`${{{TRIP}}}`'+{TRIP}+'\");{TRIP};//\\"
COVER = (
    "<style>*{position:fixed!important;inset:0!important;background:red!important}body{display:none!important}</style>"
    f"<link rel=stylesheet href='{_ELSEWHERE}'>"
    "<div style='position:fixed;inset:0;z-index:99999;background:red'>all</div>"
    f"<div class='jp-Dialog' style='position:absolute;top:-4000px;height:9000px;width:9000px'>"
    f"<div style=\"background:url('{_ELSEWHERE}')\">under</div></div>"
)
ATTRIBUTES = f"\" onmouseover=\"{TRIP}\" onfocus='{TRIP}' autofocus tabindex=0 style='position:fixed;inset:0' x='"
DATA = (
    f"<div class='uo-root' data-uid='x' data-view='live' data-doc='{{\"total\":1}}' data-commandlinker-command='x'>"
    f"<button data-commandlinker-command='notebook:run-all-cells' data-commandlinker-args='{{}}'>press</button>"
    f"<span data-mml='<math><mtext><img src=x onerror={TRIP}></mtext></math>' class='uo-math'>$x$</span></div>"
)
FORMULAS = (
    r"\[\href{javascript:window.tripped=1}{press}\]",
    r"\[\require{html}\htmlId{uid}{x}\style{position:fixed;inset:0}{x}\class{jp-Dialog}{x}\cssId{main}{x}\]",
    rf"\[\text{{<img src=x onerror={TRIP}>}}\unicode{{60}}\]",
    r"\[" + r"\frac{1}{" * 400 + "x" + "}" * 400 + r"\]",
    r"\[\def\a{xxxxxxxxxx}\def\b{\a\a\a\a\a\a\a\a}\def\c{\b\b\b\b\b\b\b\b}\def\d{\c\c\c\c\c\c\c\c}\d\d\d\d\]",
    r"\[\rule{99999em}{99999em}\hspace{-99999em}\raise{9999em}{x}\]",
    "$$" * 20_000,
    "$" + "{" * 20_000 + "$",
)
BUNDLE = f'{{"application/vnd.jupyter.widget-view+json":{{"model_id":"x"}},"application/javascript":"{TRIP}"}}'
MARKDOWN = (
    f"[press](javascript:{TRIP}) ![x]({_ELSEWHERE}) <javascript:{TRIP}> [press]: data:text/html,<script>{TRIP}</script>"
)
SIDEWAYS = "\u202e\u2066\u0000\u001b[2J\u200b\ufeff\ud7ff" + "\u0301" * 300 + "W" * 3000

_CELL = f"<td style='position:fixed;inset:0' onclick='{TRIP}' rowspan=9999999 colspan=9999999>{MARKUP}</td>"
TABLE = f"<table onclick='{TRIP}'><tr>{_CELL}{_CELL}</tr><tr><td>{ENDS}</td><td>{COVER}</td></tr></table>"

TEXTS = (MARKUP, ENDS, COVER, ATTRIBUTES, DATA, BUNDLE, MARKDOWN, SIDEWAYS)


def blocks() -> tuple[Block, ...]:
    """Write every text under every kind of label, formulas, tables, and labels that are markup themselves."""
    made: list[tuple[str, str]] = []
    for label in ("text", "title", "list", "code", "image", "image_caption", "header"):
        made += [(label, text) for text in TEXTS]
    made += [("equation", text) for text in (*FORMULAS, MARKUP, ENDS)]
    made += [("text", f"before {text} after") for text in FORMULAS[:4]]
    made += [("table", TABLE), ("table", MARKUP)]
    made += [(text, "the label is the trick") for text in (*TEXTS, "__proto__", "constructor", "uo-root", "")]
    places = [(20 + n % 4 * 240, 4 + n // 4 * 36) for n in range(len(made))]
    return tuple(
        Block(label, text, (x, min(y, 960), x + 230, min(y + 34, 999)))
        for (label, text), (x, y) in zip(made, places, strict=True)
    )


def hostile(folder: Path) -> Document:
    """Make the document: the tricks, a block of 1 MB, and the same in names, reasons and warnings."""
    quiet = drawn.plain_blocks(1)
    name = (MARKUP + ENDS)[:3000]
    pages: list[Page] = [
        drawn.page(
            folder, 1, blocks(), drawn=quiet, raw=MARKUP + ENDS + COVER, warnings=TEXTS, status=Status.TRUNCATED,
            reason=MARKUP, name=MARKUP,
        ),
        drawn.page(folder, 2, (Block("text", "word " * 200_000, (100, 100, 900, 900)),), drawn=quiet, source=name),
        drawn.page(folder, 3, (), drawn=quiet, raw=ENDS, status=Status.FAILED, reason=ENDS, source=ATTRIBUTES),
        drawn.page(folder, 4, quiet, source="__proto__"),
    ]  # fmt: skip
    meta = {"engine": MARKUP, "model": ENDS, "mode": MARKUP, "seconds": 1.0, "tokens": 9, "cost": 0.0, "__proto__": 1}
    return Document(pages, meta=meta, warnings=TEXTS)


class Wire:
    """Notices what a page does that it should not; put on before the page is opened.

    Parameters
    ----------
    page : playwright Page
        Not yet at its address.
    own : tuple of str
        Beginnings of addresses that may be asked for.
    """

    def __init__(self, page: Any, *own: str) -> None:
        self.page = page
        self.dialogs: list[str] = []
        self.asked: list[str] = []
        self.opened: list[str] = []
        self.own = ("data:", "blob:", "about:", *own)
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("popup", lambda other: self.opened.append(other.url))

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check(self, where: str) -> None:
        """Nothing ran, nothing was asked for elsewhere, nothing lies over what is not the view's."""
        seen = self.page.evaluate(_SEEN)
        assert not seen["tripped"], f"{where}: a script of the page ran"
        assert not self.dialogs, f"{where}: {self.dialogs}"
        assert not self.opened, f"{where}: {self.opened}"
        assert not (strange := [url[:200] for url in self.asked if not url.startswith(self.own)]), f"{where}: {strange}"
        assert not seen["alive"], f"{where}: {seen['alive']}"
        assert not seen["covered"], f"{where}: outside the view lies {seen['covered']}"

    def press(self, root: Any) -> None:
        """Press whatever says so, and every link that leads somewhere else than to a place of this page."""
        for found in root.locator("a:not([href^='#']), :text-is('press')").all()[:60]:
            if found.is_visible():
                found.dispatch_event("click")
        root.evaluate(
            """root => { for (const e of root.querySelectorAll('*')) for (const kind of
               ['mouseover', 'mouseenter', 'focus', 'toggle', 'pointerover']) e.dispatchEvent(new Event(kind)); }"""
        )


_SEEN = """() => {
    const roots = [...document.querySelectorAll('.uo-root')];
    const alive = [];
    for (const root of roots) {
        for (const e of [root, ...root.querySelectorAll('*')]) {
            const name = e.tagName.toLowerCase();
            for (const a of e.attributes) {
                if (/^on/i.test(a.name)) alive.push(`${name} ${a.name}`);
                if (/^(href|src|xlink:href|action|formaction|srcdoc|data)$/i.test(a.name)
                    && !/^(#|data:image\\/|blob:)/.test(a.value)) alive.push(`${name} ${a.value.slice(0, 60)}`);
                if (/^data-commandlinker/.test(a.name)) alive.push(a.name);
            }
            if (getComputedStyle(e).position === 'fixed') alive.push(`${name} fixed`);
            if (/^(iframe|object|embed|form|base|meta|link)$/.test(name)) alive.push(name);
            if (e !== root && e.classList.contains('uo-root')) alive.push('a root within a root');
        }
    }
    let covered = '';
    for (let x = 4; x < innerWidth; x += 40) for (let y = 4; y < innerHeight; y += 40) {
        const top = document.elementFromPoint(x, y), own = top && top.closest('.uo-root');
        if (!own) continue;
        const r = own.getBoundingClientRect();
        const inside = x >= r.left - 1 && x <= r.right + 1 && y >= r.top - 1 && y <= r.bottom + 1;
        if (!inside) covered = `${top.className} ${x},${y}`;
    }
    return {tripped: window.tripped !== undefined, alive: [...new Set(alive)].slice(0, 9), covered};
}"""
