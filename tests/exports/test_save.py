from __future__ import annotations

import base64
import hashlib
import re
import stat
from typing import TYPE_CHECKING

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

import uocr_nb
from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.errors import OptionError
from uocr_nb.exports import check_target
from uocr_nb.exports.files import file_name
from uocr_nb.views.script import inline_script

if TYPE_CHECKING:
    from pathlib import Path


def page(source: str = "report.pdf", number: int = 1, text: str = "Grüße, 字") -> Page:
    blocks = (Block("title", "A title", (10, 10, 500, 40)), Block("text", text, (10, 50, 900, 200)))
    return Page(1, number, source, (600, 800), blocks)


@pytest.mark.parametrize("ending", [".md", ".txt", ".html", ".json", ".MD"])
def test_the_ending_decides(tmp_path: Path, ending: str) -> None:
    document = Document([page()])
    path = tmp_path / f"out{ending}"
    assert document.save(path) == path
    text = path.read_text(encoding="utf-8")
    assert "Grüße, 字" in text
    assert text.endswith("\n")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_format_wins_over_the_ending(tmp_path: Path) -> None:
    path = Document([page()]).save(tmp_path / "out.dat", format="json")
    assert len(uocr_nb.load(path)) == 1
    assert Document([page()]).save(str(tmp_path / "x"), "markdown").read_text(encoding="utf-8").count("A title") == 1


@pytest.mark.parametrize("name", ["out.docx", "out"])
def test_an_unknown_ending_names_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"\.md, \.txt, \.html, \.json"):
        Document([page()]).save(tmp_path / name)
    with pytest.raises(OptionError, match="'pdf'"):
        Document([page()]).save(tmp_path / "out.md", format="pdf")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"There is no folder .*missing\."):
        Document([page()]).save(tmp_path / "missing" / "out.md")
    with pytest.raises(OptionError, match="is a folder"):
        Document([page()]).save(tmp_path, format="md")


@pytest.mark.parametrize(
    "name", ["out.docx", "out", "{title}.md", "missing/out.md", "missing/{source}.md", "missing/{source}/{page}.md", ""]
)
def test_a_target_is_refused_without_a_document_as_save_refuses_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError) as early:
        check_target(tmp_path / name)
    with pytest.raises(OptionError) as late:
        Document([page()]).save(tmp_path / name)
    assert early.value.args == late.value.args


@pytest.mark.parametrize(
    ("name", "form"), [("a.md", None), ("{source}-{page:03}.TXT", None), ("{source}/{page}.md", None), ("a", "json")]
)
def test_a_good_target_is_checked_and_nothing_is_written(tmp_path: Path, name: str, form: str | None) -> None:
    check_target(str(tmp_path / name), form)
    assert not list(tmp_path.iterdir())


def test_one_file_a_source(tmp_path: Path) -> None:
    document = Document([page("scans/a.png"), page("b.pdf"), page("b.pdf", 2), page("other/a.jpg", text="another")])
    assert document.save(tmp_path / "{source}.txt") == tmp_path
    files = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert set(files) == {"a.txt", "b.txt", "a-2.txt"}
    assert "another" in files["a-2.txt"]
    assert files["b.txt"].count("A title") == 2


def test_one_file_a_page(tmp_path: Path) -> None:
    document = Document([page("a.png"), page("b.pdf", 3), page("b.pdf", 4)])
    document.save(tmp_path / "{source}-{page}.md")
    assert {file.name for file in tmp_path.iterdir()} == {"a-1.md", "b-3.md", "b-4.md"}
    document.save(tmp_path / "p{page:03}.md")
    assert {file.name for file in tmp_path.glob("p*")} == {"p001.md", "p002.md", "p003.md"}
    Document([page("b.pdf", 7)]).save(tmp_path / "one-{page}.md")
    assert (tmp_path / "one-7.md").exists()


@pytest.mark.parametrize("name", ["{pages}.md", "{source:x}.md", "{page:3d}.md"])
def test_an_unknown_field_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match="in a path is not known"):
        Document([page()]).save(tmp_path / name)


def test_two_pages_never_share_a_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="would write one file twice"):
        Document([page(), page()]).save(tmp_path / "{page}.md")
    with pytest.raises(OptionError, match="has no pages"):
        Document([]).save(tmp_path / "{page}.md")


@given(
    st.text(max_size=300) | st.sampled_from(["../../etc/passwd", "C:\\x\\con.pdf", "https://a/b.pdf?x=/y", "..", "nul"])
)
def test_a_source_never_becomes_a_path(source: str) -> None:
    name = file_name(source)
    assert name
    assert len(name.encode()) <= 130
    assert not set(name) & set('/\\:*?"<>|{}\0\n')
    assert name.strip(". ") == name
    assert name.casefold() not in ("con", "nul", "aux", "prn")


def test_a_replaced_file_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.md"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(real)
    Document([page()]).save(link)
    assert link.is_symlink()
    assert "A title" in real.read_text(encoding="utf-8")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_html_is_whole_and_runs_its_own_script_alone() -> None:
    hostile = "</title></style><script>top.tripped=1</script><img src=x onerror=top.tripped=1>"
    pages = [page(hostile, n, hostile) for n in range(1, 15)]
    html = Document([*pages, Page(1, 15, hostile, (600, 800), (), Status.FAILED, reason=hostile)]).to_html()
    assert html.startswith("<!DOCTYPE html>")
    root = lxml.html.document_fromstring(html)
    assert root.find("head/title").text == hostile
    assert root.xpath("//meta[@charset]")[0].get("charset") == "utf-8"
    policy = root.xpath("//meta[@http-equiv='Content-Security-Policy']")[0].get("content")
    assert policy.startswith("default-src 'none'; img-src data:;")
    (script,) = root.xpath("//script")
    own = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert re.findall(r"script-src[^;]*", policy) == [f"script-src 'sha256-{own}'"]
    assert script.text == inline_script()
    assert not script.attrib
    assert script.getparent().get("class").startswith("uo-root ")
    assert not root.xpath("//iframe|//object|//link|//form|//svg")
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on")]
    assert len(root.xpath("//*[contains(@class, 'uo-page ')]")) == 15
    assert not root.xpath("//details[contains(@class, 'uo-page')]")
    assert "color-scheme: light dark" in html


def test_formulas_of_a_file_are_mathml_with_their_latex_beside_them() -> None:
    text = 'so \\(a < b \\text{"x"}\\) and \\[c^2\\]'
    root = lxml.html.document_fromstring(Document([page(text=text)]).to_html())
    formulas = root.xpath("//*[@class='uo-math']")
    assert [one.get("data-tex") for one in formulas] == ['$a < b \\text{"x"}$', "$$c^2$$"]
    assert [one.xpath("./math/@display") for one in formulas] == [[], ["block"]]
    assert "$" not in "".join(one.text_content() for one in formulas)
