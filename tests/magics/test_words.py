"""Words of a magic's line: quotes, braces, variables, and files with odd names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.errors import OptionError
from uocr_nb.magics.words import split, value_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  a.pdf   b.pdf ", ["a.pdf", "b.pdf"]),
        ('"two words.pdf" -o doc', ["two words.pdf", "-o", "doc"]),
        ("'it is.pdf'", ["it is.pdf"]),
        ("l'atlas.pdf d'or.pdf", ["l'atlas.pdf", "d'or.pdf"]),
        ("--save='a b.md' https://host/it's", ["--save=a b.md", "https://host/it's"]),
        ("report{2}.pdf", ["report{2}.pdf"]),
        ("{d['a b']} --pages 1", ["{d['a b']}", "--pages", "1"]),
        ("{[x for x in {1, 2}]}", ["{[x for x in {1, 2}]}"]),
        ("{f('}')} z", ["{f('}')}", "z"]),
        (r"with\ space.pdf", ["with space.pdf"]),
        ("{open brace", ["{open", "brace"]),
    ],
)
def test_split(line: str, words: list[str]) -> None:
    assert split(line) == words


def test_open_quote_is_told() -> None:
    with pytest.raises(OptionError, match="quote is not closed"):
        split('"a.pdf')


@given(st.lists(st.text(st.characters(exclude_characters="\"'\\{}", exclude_categories=["Z", "C"]), min_size=1)))
def test_plain_words_come_back(words: list[str]) -> None:
    assert split(" ".join(words)) == words


@given(st.text(max_size=60))
def test_split_ends_in_words_or_in_one_message(line: str) -> None:
    try:
        words = split(line)
    except OptionError:
        return
    assert all(isinstance(word, str) for word in words)


def test_whole_word_is_the_object_itself() -> None:
    picture = object()
    assert value_of("{picture}", {"picture": picture}) is picture
    assert value_of("$picture", {"picture": picture}) is picture
    assert value_of("{[picture][0]}", {"picture": picture}) is picture


def test_inside_a_word_it_is_text() -> None:
    assert value_of("{folder}/p{n+1}.png", {"folder": "scans", "n": 1}) == "scans/p2.png"
    assert value_of("$folder/a.png", {"folder": "scans"}) == "scans/a.png"


def test_braces_that_are_no_expression_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert value_of("report{no such}.pdf", {}) == "report{no such}.pdf"


def test_a_file_of_that_very_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report{2}.pdf").touch()
    (tmp_path / "$HOME.pdf").touch()
    assert value_of("report{2}.pdf", {}) == "report{2}.pdf"
    assert value_of("$HOME.pdf", {}) == "$HOME.pdf"


@pytest.mark.parametrize("word", ["{1/0}", "{nothing_of_that_name}", "$nothing_of_that_name"])
def test_what_cannot_be_worked_out_is_told(word: str) -> None:
    with pytest.raises(OptionError):
        value_of(word, {})
