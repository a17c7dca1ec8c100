"""What a cell shows of an error that was raised on purpose: the user's line and three parts, none of our own code."""

from __future__ import annotations

from typing import Any


def test_a_method_that_refuses_shows_the_users_line_and_three_parts(shell: Any, capsys: Any) -> None:
    shell.run_cell("import uocr_nb\ndef keep(doc):\n    return doc.save('report.nothing')\nkeep(uocr_nb.Document())")
    shown = capsys.readouterr().out
    assert "doc.save('report.nothing')" in shown
    assert "OptionError: " in shown
    assert "Next" in shown
    assert "exports" not in shown, "none of our own code"
