"""A page view in a browser, found by what a person sees and what a screen reader is told."""

from __future__ import annotations

import re
import time
from functools import cache
from importlib.resources import files
from typing import Any

THEMES = ("JupyterLab Light", "JupyterLab Dark")


class View:
    """One page view on a page of the browser.

    Parameters
    ----------
    page : playwright Page
        Where it is.
    place : playwright Locator, optional
        What it is in, such as one cell; the first view of the page otherwise.
    """

    def __init__(self, page: Any, place: Any = None) -> None:
        self.page = page
        self.root = (place or page).locator(".uo-root").first

    def ready(self, seconds: float = 30) -> View:
        """Wait until the script drives it."""
        self.root.locator(".uo-chrome").first.wait_for(timeout=seconds * 1000)
        self.root.locator(".uo-mat > *").first.wait_for(timeout=seconds * 1000)
        return self

    # What is on the page and in the text; the stored twin stands hidden beside it and is passed over.
    def box(self, n: int) -> Any:
        return self.root.locator(f".uo-box.uo-b{n}:visible")

    def row(self, n: int) -> Any:
        return self.root.locator(f".uo-row.uo-b{n}:visible")

    @property
    def boxes(self) -> Any:
        return self.root.locator(".uo-box:visible")

    @property
    def rows(self) -> Any:
        return self.root.locator(".uo-row:visible")

    def button(self, name: str, **more: Any) -> Any:
        return self.root.get_by_role("button", name=name, **more)

    def chip(self, name: str) -> Any:
        return self.root.get_by_role("button", name=re.compile(rf"^{re.escape(name)}, \d"))

    def all_chips(self) -> None:
        """Unfold the labels that do not fit."""
        rest = self.root.locator(".uo-chips .uo-rest")
        if rest.is_visible():
            rest.click()

    def tab(self, name: str) -> Any:
        return self.root.get_by_role("tab", name=name)

    def thumb(self, n: int) -> Any:
        return self.root.get_by_role("button", name=re.compile(rf"^Page {n} of "))

    @property
    def search(self) -> Any:
        return self.root.get_by_role("textbox", name=re.compile("^Find in"))

    def key(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        """Name of what has the focus, or nothing when it is not in the view."""
        return str(self.root.evaluate(_FOCUSED))

    def place(self, found: Any, seconds: float = 10) -> dict[str, float]:
        """Rectangle in the window; while pages are read, what is looked for may be drawn anew at this very moment."""
        deadline = time.monotonic() + seconds
        while (box := found.bounding_box()) is None:
            assert time.monotonic() < deadline, "it is not on the screen"
            self.page.wait_for_timeout(30)
        return dict(box)

    def style(self, found: Any, name: str, pseudo: str | None = None) -> str:
        """One value of the computed style."""
        script = "(e, [name, pseudo]) => getComputedStyle(e, pseudo).getPropertyValue(name)"
        return str(found.evaluate(script, [name, pseudo]))

    def until(self, script: str, arg: Any = None, seconds: float = 10) -> None:
        """Wait until the script, a function of the root and `arg`, gives true; the root is found anew each time."""
        deadline = time.monotonic() + seconds
        while not self.root.evaluate(f"(root, arg) => !!({script})(root, arg)", arg):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {seconds:g} s for {script} with {arg!r}")
            self.page.wait_for_timeout(30)

    def sideways(self) -> list[str]:
        """What reaches out of the view or scrolls sideways, other than tables and the film."""
        return list(self.root.evaluate(_SIDEWAYS))

    def contrasts(self) -> list[tuple[float, str]]:
        """Contrast of every text with the ground behind it, the faintest first."""
        return [(float(ratio), str(text)) for ratio, text in self.root.evaluate(_CONTRASTS)]

    def axe(self) -> list[str]:
        """What axe-core finds serious or critical in the view, one line each."""
        if not self.page.evaluate("() => typeof window.axe === 'object'"):
            self.page.evaluate(axe_script())
        found = self.root.evaluate(_AXE)
        return [str(line) for line in found]


@cache
def axe_script() -> str:
    """axe-core as the test tool brings it."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


_FOCUSED = """root => {
    const e = document.activeElement;
    if (!e || !root.contains(e)) return '';
    if (e === root) return 'the view';
    return (e.getAttribute('aria-label') || e.placeholder || e.textContent || e.tagName).trim().slice(0, 80);
}"""

_AXE = """async root => {
    const found = await axe.run(root, {resultTypes: ['violations']});
    return found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v =>
        `${v.id} (${v.impact}): ${v.help}: ` + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | '));
}"""

_SIDEWAYS = """root => {
    const out = [], own = root.getBoundingClientRect();
    const free = '.uo-scroll, .uo-film, [data-film], .uo-mat, pre, mjx-container, math';
    for (const e of root.querySelectorAll('*')) {
        if (!e.checkVisibility() || e.closest(free)) continue;
        const style = getComputedStyle(e), r = e.getBoundingClientRect();
        if (!r.width || !r.height || style.clip !== 'auto' || style.clipPath !== 'none') continue;
        if (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(style.overflowX))
            out.push(`${e.className || e.tagName} scrolls ${e.scrollWidth - e.clientWidth}`);
        if (r.right > own.right + 1.5 || r.left < own.left - 1.5)
            out.push(`${e.className || e.tagName} reaches out: ${e.textContent.slice(0, 40)}`);
    }
    if (root.scrollWidth > root.clientWidth + 1) out.push('the view scrolls');
    return out;
}"""

_CONTRASTS = """root => {
    const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const parse = s => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = s; probe.fillRect(0, 0, 1, 1);
        const d = probe.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
    const share = v => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
    const lum = c => 0.2126 * share(c[0]) + 0.7152 * share(c[1]) + 0.0722 * share(c[2]);
    const over = (top, under) => { const a = top[3];
        return [0, 1, 2].map(i => top[i] * a + under[i] * (1 - a)).concat(1); };
    const ground = e => {
        const layers = [];
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            layers.push(c);
            if (c[3] > 0.99) break;
        }
        return layers.reduceRight((under, top) => over(top, under), [255, 255, 255, 1]);
    };
    const out = [];
    for (const e of root.querySelectorAll('*')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
        const style = getComputedStyle(e), r = e.getBoundingClientRect();
        if (!e.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
        if (r.width < 2 || r.height < 2) continue;
        if (e.closest('[aria-disabled=true], :disabled, script, .MathJax, mjx-container, [aria-hidden=true]')) continue;
        let strength = 1;
        for (let p = e; p && p !== root; p = p.parentElement) strength *= getComputedStyle(p).opacity;
        const back = ground(e), raw = parse(style.color);
        raw[3] *= strength;
        const ink = over(raw, back), a = lum(ink), b = lum(back);
        const words = `${e.className || e.tagName}: ${e.textContent.trim().slice(0, 40)}`;
        const told = `${words} (${style.color} on ${back.map(Math.round)})`;
        out.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), told]);
    }
    return out.sort((x, y) => x[0] - y[0]);
}"""
