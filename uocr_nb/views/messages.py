"""Messages: one line a fact with an icon, an error in its three parts, the ready line and the receipt of an end.

All of them are values that show themselves, as HTML with inline style alone and as plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from uocr_nb.errors import UocrError
from uocr_nb.markup.safe_html import escape
from uocr_nb.support.durations import show_clock, show_seconds
from uocr_nb.views.icons import ERROR, GOOD, INFO, WARNING, icon
from uocr_nb.views.plain import printable
from uocr_nb.views.styles import HAIR, ROOT, SECOND, TINT_ERROR, code, fact, icon_line
from uocr_nb.views.words import count, money

__all__ = [
    "ErrorBox",
    "Message",
    "Messages",
    "Stage",
    "error_box",
    "info",
    "ok",
    "ready_line",
    "stage_text",
    "stopped_receipt",
    "warning",
]

_ICONS = {"info": ("info", INFO), "ok": ("tick", GOOD), "warning": ("warning", WARNING), "stopped": ("square", INFO)}


class Shown(Protocol):
    """What shows itself as HTML and as plain text."""

    def html(self) -> str:
        """Give the HTML without its root."""

    def plain(self) -> str:
        """Give the plain text."""


class _Showing:
    """Gives a message its display methods."""

    def _repr_mimebundle_(self: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        return {
            "text/html": f'<div class="uo-messages tex2jax_ignore mathjax_ignore" style="{ROOT}">{self.html()}</div>',
            "text/plain": self.plain(),
        }

    def __str__(self: Any) -> str:
        text: str = self.plain()
        return text

    def __repr__(self: Any) -> str:
        text: str = self.plain()
        return text


def _marked(text: str) -> str:
    """Escaped text; what stands between backticks is set as code."""
    parts = re.split(r"`([^`\n]+)`", text)
    return "".join(code(part) if n % 2 else escape(part) for n, part in enumerate(parts))


def _unmarked(text: str) -> str:
    return printable(re.sub(r"`([^`\n]+)`", r"\1", text))


@dataclass(frozen=True, repr=False)
class Message(_Showing):
    """One fact on one line.

    Attributes
    ----------
    kind : str
        info, ok, warning or stopped.
    text : str
        The fact. Parts between backticks are set as code.
    hint : str
        What may be done next, in secondary ink.
    more : tuple of str
        Further short facts, set apart in secondary ink; those that hold ``://`` as code.
    """

    kind: str
    text: str
    hint: str = ""
    more: tuple[str, ...] = ()

    def html(self) -> str:
        """Draw the line."""
        parts = [fact(_marked(self.text), ink="first", wraps=True) if self.more else _marked(self.text)]
        parts += [fact(code(part) if "://" in part else escape(part)) for part in self.more]
        if self.hint:
            parts.append(f' <span style="{SECOND}">{_marked(self.hint)}</span>')
        return icon_line(icon(*_ICONS[self.kind]), "".join(parts), "margin:2px 0")

    def plain(self) -> str:
        """Write the line without marks."""
        lead = "warning: " if self.kind == "warning" else ""
        line = "   ".join([lead + _unmarked(self.text), *map(printable, self.more)])
        return f"{line} {_unmarked(self.hint)}" if self.hint else line


def info(text: str, hint: str = "") -> Message:
    """Tell a fact that needs nobody."""
    return Message("info", text, hint)


def ok(text: str, hint: str = "", *more: str) -> Message:
    """Something that went well."""
    return Message("ok", text, hint, more)


def warning(text: str, hint: str = "") -> Message:
    """Something a person should know."""
    return Message("warning", text, hint)


@dataclass(frozen=True, repr=False)
class Messages(_Showing):
    """Several messages in one output."""

    messages: tuple[Shown, ...]

    def html(self) -> str:
        """Set the messages under each other."""
        return "".join(message.html() for message in self.messages)

    def plain(self) -> str:
        """Set the messages under each other."""
        return "\n".join(message.plain() for message in self.messages)


@dataclass(frozen=True, repr=False)
class ErrorBox(_Showing):
    """An error in its three parts: what happened, why, and what to do next."""

    what: str
    why: str = ""
    next: str = ""

    def inside(self) -> str:
        """Draw the three parts without the box round them."""
        parts = "".join(
            '<div style="position:relative;padding:0 0 0 48px;margin:4px 0 0">'
            f'<span style="position:absolute;left:0;top:0;{SECOND}">{name}</span>'
            '<div style="white-space:pre-line;overflow-wrap:break-word">'
            f"{_next(text) if name == 'Next' else _marked(text)}</div></div>"
            for name, text in (("Why", self.why), ("Next", self.next))
            if text
        )
        head = f'<div style="font-weight:600">{_marked(self.what)}</div>{parts}'
        return icon_line(icon("warning", ERROR), head)

    def html(self) -> str:
        """Draw the box: a bar of 3 px, a faint ground."""
        return (
            f'<div style="margin:2px 0;padding:10px 14px;border:{HAIR};border-left:3px solid {ERROR};'
            f'border-radius:0 4px 4px 0;background-color:{TINT_ERROR}">{self.inside()}</div>'
        )

    def plain(self) -> str:
        """Write the three lines, as the exception has them."""
        return printable(str(UocrError(*map(_unmarked, (self.what, self.why, self.next)))))


def _next(text: str) -> str:
    """Lines that can be pasted are set as code: those that begin like a magic, an assignment, a call or a command."""
    return "\n".join(code(line) if _PASTE.match(line) else _marked(line) for line in text.splitlines())


_PASTE = re.compile(r"(?:%{1,2}\w|!|--\w|pip |hf |uocr |[A-Za-z_][\w.]*\(.*\)$|[A-Za-z_]\w* = )")


def error_box(error: UocrError) -> ErrorBox:
    """Make the box of an error."""
    return ErrorBox(error.what, error.why, error.next)


@dataclass(frozen=True)
class Stage:
    """One stage of a start.

    Attributes
    ----------
    name : str
        queued, pulling, loading, ready and the like.
    seconds : float or None
        How long it took, or has taken so far.
    state : str
        done, going or failed.
    note : str
        One more word on it.
    """

    name: str
    seconds: float | None = None
    state: str = "done"
    note: str = ""


def stage_text(stage: Stage) -> str:
    """One line for a terminal: ``  queued   0:42  done``."""
    took = show_clock(stage.seconds) if stage.seconds is not None else ""
    word = {"failed": "stopped here", "going": "..."}.get(stage.state, stage.state)
    line = f"  {stage.name:<8} {took:>5}  {word}{'  ' + stage.note if stage.note else ''}"
    return printable(line).rstrip()


def ready_line(seconds: float, engine: str, host: str, url: str, spent: float = 0.0, *, again: bool = False) -> Message:
    """``ready in 3.1 s   cpu on this machine   http://127.0.0.1:41873/v1   $0.00``."""
    text = "already ready" if again else f"ready in {show_seconds(seconds)}"
    return Message("ok", text, more=(f"{engine} on {host}", url, money(spent)))


def stopped_receipt(
    seconds: float, pages: int, cost: float, *, who: str = "You stopped it.", running: str = "Nothing is running."
) -> Message:
    """``Ran 22:10, read 143 pages, cost $0.30 ($0.0021 a page). You stopped it. Nothing is running.``."""
    each = f" ({money(cost / pages, each=True)} a page)" if pages and cost else ""
    text = f"Ran {show_clock(seconds)}, read {count(pages, 'page')}, cost {money(cost)}{each}."
    return Message("stopped", text, " ".join(part for part in (who, running) if part))
