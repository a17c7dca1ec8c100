"""Formulas: told from prices, tightened without a change of meaning, harmless, and MathML where nothing typesets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from uocr_nb.document.model import Block, Document, Page
from uocr_nb.markup.maths import bare_formula, split_maths, tidy, to_mathml, typesettable
from uocr_nb.markup.safe_html import clean_mathml

PRESENTATION = set(
    "math mrow mi mn mo mtext mspace msup msub msubsup mfrac msqrt mroot munder mover munderover mtable mtr mtd "  # noqa: SIM905
    "mpadded mphantom menclose mmultiscripts mprescripts b i".split()
)


@pytest.mark.parametrize(
    "text",
    [
        "Cost $5 and $7, total $12.", "from $100 to $1000", "US$5 or A$6", "\\$5 and \\$6", "$", "$$", "$5$", "$ x $ y",
        "$HOME_DIR/bin:$PATH", "$5_000 to $6_000", "it is $10-$20", "a $b and c$ d", "$$ 5 or so $$", "$x$5",
        "only \\( x",
        "only \\[ x", "\\) x \\(", "$1,000 (x_2 = $3)",
    ],
)  # fmt: skip
def test_prices_and_open_marks_are_prose(text: str) -> None:
    assert split_maths(text) == [("text", text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("let $x$ be", [("text", "let "), ("inline", "x"), ("text", " be")]),
        ("$x^2$, $\\alpha$ and $f(x) = y$.", ["x^2", "\\alpha", "f(x) = y"]),
        ("costs $5, so $n = 5$ or $$\\frac{a}{b}$$", ["n = 5", "\\frac{a}{b}"]),
        ("\\[ a \\( b \\) c", ["b"]),
        ("\\( a \\( b \\)", ["b"]),
        ("\\[ a \\\\[2pt] b \\]", ["a \\\\[2pt] b"]),
        ("\\( a \\text{ if $b$ } \\)", ["a \\text{ if \\$b\\$ }"]),
    ],
)
def test_formulas(text: str, parts: list[tuple[str, str]] | list[str]) -> None:
    found = split_maths(text)
    assert [part for kind, part in found if kind != "text"] == parts if isinstance(parts[0], str) else found == parts


@pytest.mark.parametrize(
    ("formula", "tidied"),
    [
        ("1. 2 1 0 + 1 2", "1.210 + 12"),
        ("1, 2, 3", "1, 2, 3"),
        ("12 345", "12 345"),
        ("1. 2. 3", "1.2. 3"),
        ("3 6 . 5 + 0. 0 0 1", "36.5 + 0.001"),
        ("1 23 4", "1 23 4"),
        ("x ^ 2 3 4", "x^2 3 4"),
        ("\\frac 1 2 3", "\\frac 1 2 3"),
        ("\\times 1 0", "\\times 10"),
        ("\\mathrm {a b c} \\mathrm { m s }", "\\mathrm{abc} \\mathrm{ms}"),
        ("\\operatorname* { a r g } _ x y", "\\operatorname*{arg}_x y"),
        ("\\alpha b c d", "\\alpha bcd"),
        ("\\hat a b c d", "\\hat a bcd"),
        ("a b + c d", "a b + c d"),
        ("x _ a b c d", "x_a bcd"),
        ("\\text {1 2 a b c} 1 2", "\\text{1 2 a b c} 12"),
        ("a \\eqqcolon b", "a =: b"),
        ("50 % of $5", "50 \\% of \\$5"),
        ("a \\\\ [2pt] b", "a \\\\ [2pt] b"),
        ("x\n\ny", "x\ny"),
        ("\\begin {array} {c c} 1 & 2 \\end {array}", "\\begin{array} {c c} 1 & 2 \\end{array}"),
    ],
)
def test_tightening(formula: str, tidied: str) -> None:
    assert tidy(formula) == tidied
    assert tidy(tidied) == tidied


def as_tex_reads(formula: str) -> list[str]:
    """Tokens without space, written anew: what is text for TeX is one token."""
    text = r"\\(?:text(?:rm|bf|it)?|mbox|tag|begin|end|hspace|label)\*?\s*\{(?:[^{}\\]|\\.)*\}"
    read = re.findall(rf"{text}|\\[A-Za-z]+\*?|\\.|[^\s]", formula, re.DOTALL)
    return [re.sub(r"^(\\[A-Za-z]+\*?)\s*", r"\1", token) for token in read]


PIECES = [
    "\\alpha", "\\frac", "\\text{a b  c}", "\\text {1 2}", "\\mathrm", "\\operatorname", "\\,", "\\ ", "\\\\", "\\{",
    "{", "}", "^", "_", " ", "  ", "\n", "a", "b", "ab", "1", "2", "12", ".", ",", "=", "+", "[", "]", "*", "&", "é",
    "\\begin{array}{c c}", "\\end{array}", "\\tag {1 2}", "'", "(", ")", "\\sqrt [3]", "\\hspace {1 em}",
]  # fmt: skip
TEX = st.lists(st.one_of(st.sampled_from(PIECES), st.sampled_from("abc123 {}^_.")), max_size=25)


@settings(max_examples=400, deadline=None)
@given(st.one_of(TEX.map("".join), TEX.map(" ".join)))
def test_tex_reads_the_same_from_a_tightened_formula(formula: str) -> None:
    tight = tidy(formula)
    assert as_tex_reads(tight) == as_tex_reads(formula)
    assert len(tight) <= len(formula)


@pytest.mark.parametrize(
    "formula",
    [
        "\\href{javascript:alert(1)}{x}", "\\url{x}", "\\style{position:fixed}{x}", "\\class{a}{x}", "\\cssId{a}{x}",
        "\\unicode{x41}", "\\require{html}", "\\def\\x{\\x\\x}\\x", "\\newcommand{\\x}{y}", "\\renewcommand\\x{y}",
        "\\let\\x=y", "\\includegraphics{http://h/x.png}", "\\htmlData{a=b}{x}", "\\html{x}", "\\data{a}{x}",
        "\\mmlToken{mi}[href=x]{y}", "\\bbox[position:fixed]{x}", "\\rule{99em}{99em}", "\\hspace{-50em}x",
        "\\kern-50em x", "\\kern 5 0 e m", "\\raise 9em x", "\\llap{x}", "\\smash{x}", "\\\\[-40em]", "\\\\[900em]",
        "\\!" * 60, "\\input{/etc/passwd}", "\\csname x\\endcsname", "{" * 50 + "}" * 50, "{x", "x}",
        "\\begin{array}", "\\end{x}", "\\begin{a}\\end{b}", "\\left(", "x" * 4000, "a \\] b", "`x`",
        "\\hspace{x}", "\\Huge x", "\\begin {html}", "",
    ],
)  # fmt: skip
def test_dangerous_and_broken_formulas_are_shown_as_they_were_written(formula: str) -> None:
    assert not typesettable(formula)
    assert to_mathml(formula, True) is None
    page = Page(1, 1, "a", (9, 9), (Block("text", f"a \\( {formula} \\) b"),))
    assert not re.search(r"(?<!\\)\$(?!</span>)", re.sub(r"(`+) .*? \1", "", page.markdown))
    assert "<math" not in Document([page]).to_html()


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("E = m c ^ 2 \\tag {1}", "E=mc2(1)"),
        ("\\frac{a}{b} \\coloneqq \\sqrt [3] {x}", "ab≔x3"),
        ("\\begin{align} x &= 1 \\tag{3} \\\\ y &= 2 \\end{align}", "x=1y=2(3)"),
        ("\\mbox{if } x \\ge 1. 2", "if\xa0x≥1.2"),
        ("\\begin{equation} x \\nonumber \\end{equation}", "x"),
        ("\\operatorname{argmax} \\text{<b> }", "argmax<b>\xa0"),
        ("x \\vspace{1em} \\underline{\\hspace {2 c m}}", "x\u0332"),
        ("中文 + \\widetilde{x}", "中文+x~"),
    ],
)
def test_mathml(formula: str, shown: str) -> None:
    for display in (True, False):
        made = to_mathml(formula, display)
        assert made is not None
        root = etree.HTML(made).find(".//math")
        assert "".join(root.itertext()).replace("\u2061", "") == shown
        assert (root.get("display") == "block") is display


@settings(max_examples=300, deadline=None)
@given(st.one_of(TEX.map(" ".join), st.text(alphabet="\\{}^_&<>\"'= ab1$%#~", max_size=30), st.text(max_size=20)))
def test_mathml_of_anything_is_mathml_or_nothing(formula: str) -> None:
    made = to_mathml(formula, True)
    if made is not None:
        for element in etree.HTML(made).find("body").iter():
            assert element.tag in PRESENTATION | {"body"}
            assert not {"href", "class", "id", "actiontype"} & set(element.keys())
            assert "url" not in element.get("style", "")


def test_cleaned_mathml_keeps_to_its_formula() -> None:
    sound = '<math display="block"><mrow style="color:#ff0000"><mspace width="2em"></mspace></mrow></math>'
    assert clean_mathml(sound) == sound
    assert 'notation="updiagonalstrike downdiagonalstrike"' in (to_mathml("\\xcancel{x}", False) or "")
    for bad in ("position:fixed", "background:url(x)", "color:#ff0000;position:fixed", "padding-left:99em"):
        assert not re.search("fixed|url|99", clean_mathml(sound.replace("color:#ff0000", bad)))
    for bad in ("9999em", "100vw", "-5em", "2em;x"):
        assert clean_mathml(sound.replace("2em", bad)) == sound.replace(' width="2em"', "")


def test_an_unknown_command_leaves_the_source_in_the_export() -> None:
    blocks = (
        Block("text", "a \\( \\unknown x \\) and \\( x^2 \\), $5 and $6"),
        Block("equation", "\\frac {a} {b} < c"),
    )
    html = Document([Page(1, 1, "a", (9, 9), blocks)]).to_html()
    assert html.count("<math") == 2
    assert "\\unknown x</code>" in html
    assert "$5 and $6" in html


def test_formulas_hold_no_control_characters() -> None:
    assert not any(typesettable(f"x{char}") for char in "\x07\x00\u202e\u2066")


def test_bare_formulas() -> None:
    assert bare_formula("$$ x ^ 2 $$") == bare_formula("x ^ 2") == bare_formula("$x ^ 2$") == "x^2"
    assert bare_formula("\\( x \\)") is None


@pytest.mark.parametrize(
    "shape", ["$", "$$a", "$x^", "\\(", "\\[a", "1 ", "a ", "\\text{", "{", "\\begin{a}", "\\left(", "^ "]
)
@pytest.mark.timeout(60)
def test_long_formulas_come_to_an_end(shape: str) -> None:
    text = shape * (200_000 // len(shape))
    assert "".join(part for _, part in split_maths(text)) != "", "nothing is lost on the way"
    assert split_maths(f"\\({text}\\)")
    typesettable(text[:3000])
    to_mathml(text[:3000], True)
