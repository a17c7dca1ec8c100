r"""Formulas as TeX reads them: without the space that the model puts between letters, and only harmless ones.

How a formula is tightened, so that TeX reads the same from it as before:

- Space is taken out where TeX in math mode ignores it and a reader does not miss it: around ``^`` and ``_``, before
  and after braces.
- Digits that stand alone, and a point after one, are one number: ``1. 2 1 0`` is ``1.210``. A comma parts numbers. The
  digits that a script or a command takes (``x^2 3``, ``\frac 1 2``) are left alone.
- Three or more letters that stand alone are one word, ``c u r p d f`` is ``curpdf``; two are enough where the braces of
  a command that sets names hold nothing else (``\mathrm {m s}``).
- Nothing is joined to a command, and what is text for TeX too (``\text {a b}``) keeps every space.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["MAX_FORMULA", "tidy", "tokens", "typesettable"]

MAX_FORMULA = 3_000
"""Characters of a formula that is typeset; longer ones are shown as they were written."""
_MAX_DEPTH = 40
_MAX_NEGATIVE = 40
"""Negative thin spaces in one formula: more of them push it over what stands before it."""
_EMS = (-1.0, 12.0)
"""Lengths that a formula may ask for."""

_NUMBER_KINDS = re.compile(r"(?<!d)d(?:sd)*(?:s?\.s?d(?:sd)*)?(?!d)")
"""Digits that stand alone, and one point, as `_kind` tells them."""
_REPLACED = {"\\coloneqq": ":=", "\\eqqcolon": "=:"}
"""As the model's own post-processing does it."""
_TOKEN = re.compile(r"\\[A-Za-z]++\*?|\\.|\s++|[^\\\s]|\\", re.DOTALL)

_VERBATIM = frozenset(
    "text textrm textbf textit texttt textsf textnormal textup textmd textsc mbox hbox fbox verb label ref eqref tag "  # noqa: SIM905 - so many names read better in lines
    "begin end hspace vspace kern mkern hskip mskip color textcolor".split()
)
"""Commands whose first argument is not mathematics."""
_NAMES = frozenset("mathrm mathbf mathit mathsf mathtt mathbb mathcal boldsymbol bm operatorname rm bf it".split())  # noqa: SIM905
_TAKING = _NAMES | frozenset(
    "frac dfrac tfrac cfrac binom dbinom tbinom sqrt hat bar vec dot ddot dddot tilde check "  # noqa: SIM905
    "breve acute grave mathring widehat widetilde overline underline overbrace underbrace overrightarrow overset "
    "overleftarrow underset stackrel "
    "mathscr mathfrak mathnormal pmb boxed cancel bcancel xcancel not pmod pod sideset phantom hphantom vphantom "
    "xrightarrow xleftarrow substack over atop choose mathop mathbin mathrel mathord".split()
)
"""Commands that take what follows them."""

_REFUSED = re.compile(
    r"\\(?:href|url|class|style|css\w*|data|html\w*|id|require|includegraphics|unicode|char|[egx]?def|let|futurelet"
    r"|\w*newcommand|providecommand|\w*newenvironment|DeclareMath\w*|DeclarePaired\w*|Newextarrow|input|include|openin"
    r"|write|immediate|catcode|\w*csname|expandafter|mmlToken|special|bbox|f?colorbox|definecolor|enclose|toggle|endtoggle"
    r"|mathtip|texttip|action|\w*rule|Space|raise|lower|raisebox|move\w+|[rlc]lap|math[rlc]lap|text[rlc]lap|smash|scalebox|\w*makebox"
    r"|resizebox|verb|begingroup|endgroup|global|long|outer|loop|repeat|ref|eqref|label|cite|footnote|tiny|Huge|huge"
    r"|lowercase|uppercase|aftergroup|afterassignment|the|number|string|noexpand|meaning|jobname|read|show|message"
    r")(?![A-Za-z])|\\[()\[\]]|`"
)
"""Commands that reach past their formula (links, styles, definitions, boxes over what stands around), and marks that
end a formula early."""
_LENGTH = re.compile(
    r"(?:\\(?:hspace|vspace|kern|mkern|hskip|mskip|mspace|mathkern)\*?|\\\\(?=\[))[\[{]?(?P<length>[^\\}\]]{0,12})"
)
_NUMBER = re.compile(r"([-+]?[0-9]{0,4}(?:\.[0-9]{0,4})?)(em|ex|mu|pt|px|pc|cm|mm|in)")
_IN_EMS = {"em": 1, "ex": 0.5, "mu": 1 / 18, "pt": 0.1, "px": 0.1, "pc": 1.2, "cm": 2.9, "mm": 0.29, "in": 7.3}
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([A-Za-z]{1,20}\*?)\s*\}")


def tokens(formula: str) -> list[str]:
    """The tokens of a formula; those of arguments that are not mathematics are one token with all their space."""
    read: list[str] = []
    ends: dict[int, int] | None = None
    at = 0
    while at < len(formula):
        found = _TOKEN.match(formula, at)
        assert found is not None  # noqa: S101 - the pattern reads any character
        read.append(found[0])
        at = found.end()
        if found[0].startswith("\\") and found[0][1:].rstrip("*") in _VERBATIM:
            ends = _group_ends(formula) if ends is None else ends
            begins = at + len(formula[at : at + 9]) - len(formula[at : at + 9].lstrip())
            if end := ends.get(begins):
                read += [formula[at:begins]] if begins > at else []
                read.append(formula[begins:end])
                at = end
    return read


def _group_ends(formula: str) -> dict[int, int]:
    """Where each group ends, by the place where it opens."""
    ends: dict[int, int] = {}
    open_: list[int] = []
    for found in re.finditer(r"\\.|[{}]", formula, re.DOTALL):
        if found[0] == "{":
            open_.append(found.start())
        elif found[0] == "}" and open_:
            ends[open_.pop()] = found.end()
    return ends


def tidy(formula: str) -> str:
    r"""A formula without the space that the model puts between its letters and digits; the rule stands above.

    ``\coloneqq`` and ``\eqqcolon`` become ``:=`` and ``=:``; a bare dollar or percent sign, which would end the formula
    or a line of it, is escaped; blank lines are taken out.
    """
    read = [_plain(token) for token in tokens(formula.lstrip())]
    if read and read[-1].isspace():
        read.pop()
    gone = _inside_numbers(read) | _inside_words(read)
    written = (
        token if not token.isspace() else "" if place in gone else _between(token, read[place - 1], read[place + 1])
        for place, token in enumerate(read)
    )
    return "".join(written)


def _plain(token: str) -> str:
    if token in _REPLACED:
        return _REPLACED[token]
    if len(token) > 1 and token[0] == "{":  # an argument that is text
        return re.sub(r"(\\.)|([$%])", lambda found: found[1] or "\\" + found[2], token, flags=re.DOTALL)
    return "\\" + token if token in ("$", "%") else token


def _between(space: str, before: str, after: str) -> str:
    """What is left of the space between two tokens: nothing, a line end, or one space."""
    kept = "\n" if "\n" in space else " "
    named = before[0] == "\\" and before[1:2].isalpha()
    if (named and after[0].isalpha()) or before == "\\\\" or after[0] in "*[" or kept == "\n":
        # A star or a bracket may belong to a command only when it touches it.
        return kept
    scripted = before in ("^", "_") or after in ("^", "_")
    braced = before == "{" or after == "}" or (after[0] == "{" and (named or before == "}"))
    return "" if scripted or braced else kept


def _inside_numbers(read: list[str]) -> set[int]:
    """Places of the spaces inside numbers whose digits stand alone."""
    kinds = "".join(map(_kind, read))
    return {
        place
        for found in _NUMBER_KINDS.finditer(kinds)
        if _free(read, found.start())
        for place in range(found.start(), found.end())
        if kinds[place] == "s"
    }


def _kind(token: str) -> str:
    """D for a digit, s for a space within a line, the point itself, x for all else."""
    if len(token) == 1 and "0" <= token <= "9":
        return "d"
    if token.isspace():
        return "x" if "\n" in token else "s"
    return {".": "."}.get(token, "x")


def _inside_words(read: list[str]) -> set[int]:
    """Places of the spaces inside words whose letters stand alone."""
    gone: set[int] = set()
    at = 0
    while at < len(read):
        if not _lone(read, at):
            at += 1
            continue
        start = at
        while at + 2 < len(read) and read[at + 1].isspace() and "\n" not in read[at + 1] and _lone(read, at + 2):
            at += 2
        names = _in_names(read, start, at)
        first = start if names or _free(read, start) else start + 2
        if at - first >= (2 if names else 4):
            gone.update(range(first + 1, at, 2))
        at += 1
    return gone


def _letter(read: list[str], at: int) -> bool:
    return 0 <= at < len(read) and len(read[at]) == 1 and read[at].isascii() and read[at].isalpha()


def _lone(read: list[str], at: int) -> bool:
    return _letter(read, at) and not _letter(read, at - 1) and not _letter(read, at + 1)


def _free(read: list[str], at: int) -> bool:
    """Whether the token at `at` is no argument of what stands before it."""
    before = at - 1
    if before >= 0 and read[before].isspace():
        before -= 1
    if before < 0:
        return True
    token = read[before]
    if token[0] == "\\":
        return token[1:].rstrip("*") not in _TAKING
    return token not in ("^", "_")


def _in_names(read: list[str], first: int, last: int) -> bool:
    r"""Whether what stands from `first` to `last` is all that the braces of a command such as ``\mathrm`` hold."""
    before, after = first - 1, last + 1
    before -= before >= 0 and read[before].isspace()
    after += after < len(read) and read[after].isspace()
    if before < 0 or after >= len(read) or read[before] != "{" or read[after] != "}":
        return False
    before -= 1
    before -= before >= 0 and read[before].isspace()
    return before >= 0 and read[before][0] == "\\" and read[before][1:].rstrip("*") in _NAMES


@lru_cache(maxsize=1024)  # the row, the markdown and the export ask for the same formulas
def typesettable(formula: str) -> bool:
    """Whether a formula may be handed to a typesetter: short, whole, and with no command that reaches past it."""
    if not formula.strip() or len(formula) > MAX_FORMULA or _REFUSED.search(formula):
        return False
    if any(not char.isprintable() and char not in "\n\t" for char in formula):
        return False
    if len(re.findall(r"\\(?:!|negthinspace|negmedspace|negthickspace)", formula)) > _MAX_NEGATIVE:
        return False
    return _balanced(formula) and _sound_lengths(formula)


def _balanced(formula: str) -> bool:
    depth = 0
    for token in _TOKEN.findall(formula):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if not 0 <= depth <= _MAX_DEPTH:
            return False
    open_: list[str] = []
    for kind, name in _ENVIRONMENT.findall(formula):
        if kind == "begin":
            open_.append(name)
        elif not open_ or open_.pop() != name:
            return False
    counted = formula.count("\\begin"), formula.count("\\end")
    found = len(_ENVIRONMENT.findall(formula))
    sides = len(re.findall(r"\\left(?![A-Za-z])", formula)), len(re.findall(r"\\right(?![A-Za-z])", formula))
    return depth == 0 and not open_ and sum(counted) == found and sides[0] == sides[1] <= _MAX_DEPTH


def _sound_lengths(formula: str) -> bool:
    for found in _LENGTH.finditer(re.sub(r"\s+", "", formula)):
        number = _NUMBER.match(found["length"])
        try:
            ems = float(number[1]) * _IN_EMS[number[2]] if number else None
        except ValueError:
            ems = None
        if ems is None or not _EMS[0] <= ems <= _EMS[1]:
            return False
    return True
