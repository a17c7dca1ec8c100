"""What the docs say of the product is what the product says of itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from uocr_nb.serving import engines

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["cpu", "vllm", "sglang", "llamacpp", "transformers"])
def test_every_variant_stands_in_the_docs_with_what_is_known_of_it(name: str) -> None:
    text = (ROOT / "docs" / "endpoints.md").read_text(encoding="utf-8")
    profile = engines.get(name)
    for variant in profile.variants:
        named = f"| `{name}:{variant.name}`".rstrip(":`")
        row = next((line for line in text.splitlines() if line.startswith(named)), "")
        assert (variant.known or profile.known) in row
        for fact in (variant.image, (variant.revision or "")[:12], variant.flavor):
            assert not fact or fact in row


def test_each_problem_of_jobs_names_tests_that_are_there() -> None:
    text = (ROOT / "docs" / "jobs.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(row.split("|")[1]) for row in rows] == list(range(1, 23))
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "serving").glob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in tests, name


def test_links_between_the_docs_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_readme_names_every_magic_and_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    magics = ("%uocr_serve", "%uocr ", "%%uocr", "%uocr_status", "%uocr_logs", "%uocr_stop", "%uocr_jobs")
    for word in (*magics, "uocr demo"):
        assert word in text


def test_every_key_of_the_view_stands_in_the_docs() -> None:
    script = (ROOT / "uocr_nb" / "views" / "viewer.js").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "views.md").read_text(encoding="utf-8")
    listed = script[script.index("const KEYS = [") :].split("];", 1)[0]
    listed += "".join(line for line in script.splitlines() if line.strip().startswith("keys: ()"))
    pairs = re.findall(r'\["([^"]+)", "[^"]+"\]', listed)
    keys = {key.replace("−", "-") for pair in pairs for key in pair.split() if key.isascii() or key == "−"}
    assert {"[", "/", "z", "n", "e", "-"} <= keys
    for key in keys:
        assert (f"`{key}`" if len(key) == 1 else key) in text, key


def test_every_option_of_a_figure_stands_in_the_docs() -> None:
    import inspect

    from uocr_nb import Page
    from uocr_nb.views.overlay import draw_boxes, pages_figure

    docs = (ROOT / "docs" / "views.md").read_text(encoding="utf-8") + str(inspect.getdoc(Page.figure))
    options = [*inspect.signature(pages_figure).parameters.values(), *inspect.signature(draw_boxes).parameters.values()]
    for name in {option.name for option in options if option.kind is option.KEYWORD_ONLY}:
        assert re.search(rf"\b{name}\b", docs), name
