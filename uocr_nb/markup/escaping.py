r"""Page text as markdown that shows that text and nothing else, whoever renders it: no tag, link, list or formula.

Two things beside CommonMark decide what is escaped. JupyterLab and others look for formulas in the rendered page once
more, where ``\$`` is a dollar sign again: a dollar that could pair with another one, or a backslash that could begin a
formula, stands in a span of its own, which no formula reaches across. And tables, struck text, check boxes and bare
addresses of GitHub's markdown are escaped too, as most renderers know them.
"""

from __future__ import annotations

import re

from uocr_nb.markup.safe_html import visible

__all__ = ["DISPLAY", "FORMULA", "defused", "escape_line", "escape_lines", "plain_lines", "without_pipes"]

FORMULA = "\x00"
"""Stands for a formula in text that is escaped; `plain_lines` leaves none of it in the text of a page."""
DISPLAY = "\x01"
"""Stands for a formula on lines of its own."""

_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

_INLINE = re.compile(
    r"(?P<tag><(?=[A-Za-z/!?]))"
    r"|(?P<entity>&(?=#?[A-Za-z0-9]{1,40};))"
    r"|(?P<tex>\\(?=[\\$()\[\]\x00]|(?:begin|end|(?:eq)?ref)\b))"
    r"|(?P<dollar>\$)"
    r"|(?P<link>(?<=[A-Za-z]):(?=//)|(?<=www)\.(?=\w)|(?<=[\w.+-])@(?=\w))"
    r"|(?P<mark>\\(?![A-Za-z0-9])|\](?=[(\[:{])|`|\*(?=\S)|(?<=\S)\*|~(?=\S)|(?<=\S)~|(?<![^\W_])_|_(?![^\W_]))"
)
_ENTITIES = {"tag": "&lt;", "entity": "&amp;"}

# Lines of marks alone are rules, underlines of headings, heads of tables.
_MARKS = re.compile(r"[-=_*+|:~ \t]+")
_START = re.compile(
    r"(?P<sign>#{1,6}(?=[ \t]|$)|>|[-+*](?=[ \t]|$)|:(?=[ \t:])|%|\([^()]*\)=[ \t]*$|\[(?=[ xX]\]))"
    r"|(?P<number>[0-9]{1,9})(?=[.)](?:[ \t]|$))"
)
_ITEM = re.compile(r"([ \t]*)- +(?=\S)")


def plain_lines(text: str) -> str:
    """`text` with line feeds as its only line ends, and nothing that cannot be seen."""
    return visible(_LINE_END.sub("\n", text))


def escape_line(text: str, *, paired: bool) -> str:
    """Markdown of `text`, which does not begin a line; `paired` says that a dollar sign might find a partner."""

    def escaped(found: re.Match[str]) -> str:
        kind = found.lastgroup
        if kind == "tex":
            return r"<span>\\</span>"
        if kind == "dollar":
            return r"<span>\$</span>" if paired else r"\$"
        return _ENTITIES.get(str(kind)) or "\\" + found[0]

    return _INLINE.sub(escaped, text)


def escape_lines(text: str, *, paired: bool) -> str:
    """Markdown of lines of text, with their line ends kept and ``- `` items as a list."""
    written: list[str] = []
    levels: list[int] = []
    for line in text.split("\n"):
        item = None if _MARKS.fullmatch(line) else _ITEM.match(line)
        if item:
            indent = len(item[1].expandtabs(4))
            while levels and levels[-1] > indent:
                levels.pop()
            if not levels or levels[-1] < indent:
                levels.append(indent)
            start, rest = "  " * (len(levels) - 1) + "- ", line[item.end() :]
        else:
            start, rest = "", line.strip(" \t")
            levels = levels if rest else []
        if written and written[-1].strip() and rest and not item:
            written[-1] += "  "
        written.append(start + _start(rest, escape_line(rest.strip(" \t"), paired=paired)))
    return "\n".join(written)


def _start(text: str, escaped: str) -> str:
    """`escaped` so that its start begins no heading, list, quotation or table."""
    if _MARKS.fullmatch(text):
        return escaped if escaped.startswith(("\\", "<")) else "\\" + escaped
    found = _START.match(escaped)
    if not found:
        return escaped
    if found["number"]:
        return f"{found['number']}\\{escaped[found.end() :]}"
    return "\\" + escaped


def defused(formula: str) -> str:
    """A formula that is also harmless for a renderer that knows no formulas: the spaces put in mean nothing to TeX."""
    formula = re.sub(r"<(?=[A-Za-z/!?])", "< ", formula)
    formula = re.sub(r"\](?=[(\[:{])", "] ", formula)
    # A line may not begin as a list, a quotation, a fence or the underline of a heading does.
    return re.sub(r"\s*\n\s*(?![A-Za-z\\({&])", " ", formula)


def without_pipes(formula: str) -> str:
    """A formula for the cell of a pipe table, where each pipe would end the cell."""
    return re.sub(r"(\\\||\|)(?=([A-Za-z])?)", _pipe_name, formula)


def _pipe_name(found: re.Match[str]) -> str:
    return (r"\Vert" if len(found[1]) > 1 else r"\vert") + " "
