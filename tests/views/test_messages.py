from __future__ import annotations

from typing import Any

import lxml.html
import pytest

from uocr_nb.errors import SourceError
from uocr_nb.views import messages
from uocr_nb.views.words import money

HOSTILE = "<script>top.tripped=1</script>`<img src=x onerror=1>`\x1b[31m"


def html_of(shown: Any) -> Any:
    return lxml.html.fromstring(shown._repr_mimebundle_()["text/html"])


def test_one_line_a_fact() -> None:
    first = messages.info("uocr_nb 0.1 is ready.", "Next: `%uocr_serve`, then `%uocr your.pdf`.")
    assert str(first) == "uocr_nb 0.1 is ready. Next: %uocr_serve, then %uocr your.pdf."
    root = html_of(first)
    assert [code.text for code in root.iter("code")] == ["%uocr_serve", "%uocr your.pdf"]
    assert root.text_content() == str(first)
    assert str(messages.warning("A Job was cancelled.")) == "warning: A Job was cancelled."


def test_ready_and_stopped() -> None:
    line = messages.ready_line(3.1, "cpu", "this machine", "http://127.0.0.1:41873/v1")
    assert str(line) == "ready in 3.1 s   cpu on this machine   http://127.0.0.1:41873/v1   $0.00"
    assert [code.text for code in html_of(line).iter("code")] == ["http://127.0.0.1:41873/v1"]
    assert str(messages.ready_line(0, "cpu", "this machine", "http://x/v1", again=True)).startswith(
        "already ready   cpu"
    )
    receipt = messages.stopped_receipt(1330, 143, 0.30)
    assert str(receipt) == "Ran 22:10, read 143 pages, cost $0.30 ($0.0021 a page). You stopped it. Nothing is running."
    assert str(messages.stopped_receipt(5, 0, 0.0)).startswith("Ran 0:05, read 0 pages, cost $0.00. ")


def test_an_error_reads_the_same_everywhere() -> None:
    error = SourceError(
        "scan-017.pdf is locked.",
        "The PDF asks for a password, so no page could be read.",
        "Put the password in an environment variable and name it:\n%uocr scan-017.pdf --password-env SCAN_PW",
    )
    box = messages.error_box(error)
    assert str(box) == str(error)
    root = html_of(box)
    assert [code.text for code in root.iter("code")] == ["%uocr scan-017.pdf --password-env SCAN_PW"]
    for part in ("scan-017.pdf is locked.", "Why", "Next", error.why):
        assert part in root.text_content()


@pytest.mark.parametrize(
    "shown",
    [
        messages.info(HOSTILE, HOSTILE),
        messages.ok(HOSTILE, HOSTILE, HOSTILE),
        messages.error_box(SourceError(HOSTILE, HOSTILE, HOSTILE)),
        messages.Messages((messages.warning(HOSTILE), messages.ready_line(1, HOSTILE, HOSTILE, HOSTILE))),
    ],
)
def test_names_in_messages_are_inert(shown: Any) -> None:
    root = html_of(shown)
    assert {element.tag for element in root.iter()} <= {"div", "span", "img", "code", "details", "summary", "pre"}
    assert all(image.get("src").startswith("data:image/svg+xml,") for image in root.iter("img"))
    assert "\x1b" not in shown._repr_mimebundle_()["text/plain"]


def test_a_stage_is_a_line() -> None:
    assert messages.stage_text(messages.Stage("queued", 42)) == "  queued    0:42  done"
    assert messages.stage_text(messages.Stage("loading", 91, "failed", HOSTILE)).startswith(
        "  loading   1:31  stopped here  <script>"
    )


def test_money() -> None:
    assert [money(value) for value in (0, 0.004, 0.041, 1234.5)] == ["$0.00", "under $0.01", "$0.04", "$1,234.50"]
    assert money(0.00214, each=True) == "$0.0021"
