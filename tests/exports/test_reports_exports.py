"""Kinds of faults that people reported of tools of this kind: text that comes out another way round."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = "שלום 12 עולم — السلام ﬁne ligature, 縦書き e\u0301"


def test_text_keeps_its_order_and_its_letters_in_every_file_on_every_system(tmp_path: Path) -> None:
    code = (
        "import sys, uocr_nb as uocr\n"
        "from uocr_nb.document.model import Block, Document, Page\n"
        f"text = {TEXT!a}\n"
        "doc = Document([Page(1, 1, 'a.pdf', (9, 9), (Block('text', text, (1, 1, 9, 9)),))])\n"
        "for ending in ('md', 'txt', 'html', 'json'):\n"
        "    doc.save(f'out.{ending}')\n"
        "assert uocr.load('out.json').text == doc.text\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    env["PYTHONCOERCECLOCALE"] = "0"
    subprocess.run([sys.executable, "-X", "utf8=0", "-c", code], check=True, cwd=tmp_path, env=env, timeout=60)
    for path in tmp_path.iterdir():
        assert TEXT in path.read_text(encoding="utf-8"), path.name
