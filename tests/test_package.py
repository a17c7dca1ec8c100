"""The package as a whole: what importing it costs, what it promises, and what a commit may not hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import uocr_nb

ROOT = Path(__file__).parent.parent
HEAVY = (
    "IPython openai huggingface_hub pymupdf fitz matplotlib pandas PIL numpy pypdfium2 rapidocr onnxruntime httpx2 "
    "anywidget ipywidgets"
)


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.strip()


def test_import_loads_nothing_heavy() -> None:
    loaded = python(f"import uocr_nb, sys; print(*[name for name in {HEAVY.split()!r} if name in sys.modules])")
    assert loaded == ""


def test_import_is_small() -> None:
    # Modules, not milliseconds: a time would fail on a busy machine. benchmarks/startup.py measures the time.
    added = int(python("import sys; before = set(sys.modules); import uocr_nb; print(len(set(sys.modules) - before))"))
    assert added < 60


@pytest.mark.parametrize("name", uocr_nb.__all__)
def test_every_public_name_is_there_and_told_about(name: str) -> None:
    value = getattr(uocr_nb, name)
    assert name in dir(uocr_nb)
    assert (value.__doc__ or "").strip()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        uocr_nb.no_such_name  # noqa: B018


def test_public_functions_load_no_notebook_parts() -> None:
    code = "import uocr_nb, sys; uocr_nb.ocr, uocr_nb.serve, uocr_nb.Document; print('IPython' in sys.modules)"
    assert python(code) == "False"


def tracked() -> list[Path]:
    try:
        done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def test_no_file_names_a_package_index_or_a_path_of_one_machine() -> None:
    index = re.compile(r"py[p]i\.org|python[h]osted\.|registry\.n[p]mjs|deb\.[d]ebian\.")
    machine = re.compile(r"(^|[^A-Za-z0-9_.])/(wor[k]|ro[o]t|hom[e]/[a-z]+)/")
    found = []
    for path in tracked():
        if path.suffix in {".png", ".pdf", ".jpg"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            # A path inside a container is nobody's machine.
            if index.search(line) or (machine.search(line) and "_CACHE}:" not in line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)


def test_notebooks_are_kept_without_outputs_and_widget_state() -> None:
    import nbformat

    for path in (ROOT / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        assert "widgets" not in notebook.metadata
        assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
