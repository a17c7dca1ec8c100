"""The magics in a real IPython shell, against a scripted engine."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.config import settings
from uocr_nb.serving import start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "<|det|>title [100, 50, 900, 90]<|/det|>A heading\n<|det|>text [100, 100, 900, 400]<|/det|>A body."


@pytest.fixture
def server() -> Iterator[Any]:
    with engine(lambda _n, _body: Reply(TEXT)) as running:
        yield running


def run(shell: Any, cell: str) -> Any:
    with capture_output() as shown:
        result = shell.run_cell(cell)
    result.shown = shown
    result.text = shown.stdout + "\n".join(output.data.get("text/plain", "") for output in shown.outputs)
    return result


def error_of(result: Any) -> str:
    assert type(result.error_in_exec) is UsageError, result.error_in_exec
    assert "Traceback" not in result.shown.stdout + result.shown.stderr
    return str(result.error_in_exec)


def test_load_is_one_line_twice_is_once_and_reload_is_safe(shell: Any) -> None:
    assert run(shell, "%unload_ext uocr_nb").success
    first = run(shell, "%load_ext uocr_nb")
    assert first.shown.stdout.strip() == "uocr_nb 0.1 is ready. Next: %uocr_serve, then %uocr your.pdf"
    assert "already loaded" in run(shell, "%load_ext uocr_nb").shown.stdout
    assert run(shell, "%reload_ext uocr_nb").success
    assert run(shell, "uocr_nb.last()").success, "lines that messages offer can be pasted"
    assert run(shell, "%who").shown.stdout.split()[0] != "uocr_nb"
    assert sum(type(c).__name__ == "UOCR" for c in shell.configurables) == 1
    assert len([t for t in shell.input_transformers_cleanup if getattr(t, "__name__", "") == "one_line_form"]) == 1


def test_unload_takes_everything_away_and_stops_what_runs(shell: Any, server: Any) -> None:
    assert run(shell, f"%uocr_serve {server.url}").success
    assert run(shell, "%unload_ext uocr_nb").success
    assert start.current() is None
    assert shell.find_line_magic("uocr") is None
    assert shell.find_cell_magic("uocr") is None
    assert not [c for c in shell.configurables if type(c).__name__ == "UOCR"]


def test_serve_then_read_gives_a_document(shell: Any, server: Any, page: Path) -> None:
    served = run(shell, f"%uocr_serve {server.url} -o ep")
    assert served.success, served.error_in_exec
    assert "ready in" in served.shown.stdout
    assert server.url in served.shown.stdout
    result = run(shell, f"%uocr {page.name} -o doc")
    assert isinstance(result.result, uocr.Document)
    assert shell.user_ns["doc"] is result.result
    assert shell.user_ns["_"] is result.result
    assert shell.user_ns["ep"].state == "ready"
    assert "A heading" in str(result.result)


def test_the_same_line_again_is_the_same_endpoint(shell: Any, server: Any) -> None:
    run(shell, f"%uocr_serve {server.url} -o first")
    again = run(shell, f"%uocr_serve {server.url} -o second")
    assert "already ready" in again.shown.stdout
    assert shell.user_ns["first"] is shell.user_ns["second"]


def test_cell_form_reads_one_source_a_line(shell: Any, server: Any, page: Path, tmp_path: Path) -> None:
    (tmp_path / "two words.png").write_bytes(page.read_bytes())
    run(shell, f"%uocr_serve {server.url}")
    shell.user_ns["picture"] = page
    cell = "%%uocr -o doc\n# a comment\npage.png\n\ntwo words.png\n'page.png'\n{picture}\n$picture"
    result = run(shell, cell)
    assert result.success, result.error_in_exec
    assert len(shell.user_ns["doc"]) == 5


@pytest.mark.parametrize("cell", ["%%uocr page.png", "# why\n%%uocr page.png\n", "\n%%uocr page.png\n\n  \n"])
def test_a_cell_magic_alone_works(shell: Any, server: Any, page: Path, cell: str) -> None:
    run(shell, f"%uocr_serve {server.url}")
    result = run(shell, cell)
    assert isinstance(result.result, uocr.Document), result.error_in_exec


def test_comments_above_a_cell_magic_are_fine(shell: Any, server: Any, page: Path) -> None:
    run(shell, f"%uocr_serve {server.url}")
    assert isinstance(run(shell, "# why\n\n%%uocr\npage.png").result, uocr.Document)


@pytest.mark.parametrize("cell", ["%%uocr", "%%uocr\n", "%%uocr\n# only a comment\n", "%uocr"])
def test_nothing_to_read_gives_a_hint_that_works(shell: Any, server: Any, page: Path, cell: str) -> None:
    told = error_of(run(shell, cell))
    assert "nothing to read" in told
    assert "%%uocr\n" in told.replace("       ", "")
    run(shell, f"%uocr_serve {server.url}")
    assert run(shell, "%%uocr\npage.png").success


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("%uocr nothing.pdf", ["nothing.pdf", "Why", "Next"]),
        ("%uocr *.tiff", ["*.tiff"]),
        ("%uocr page.png --page 1", ["--page", "nearest", "--pages"]),
        ("%uocr page.png --mode huge", ["--mode", "gundam"]),
        ("%uocr page.png --max-tokens many", ["--max-tokens"]),
        ("%uocr page.png --password-env NO_SUCH_VARIABLE", ["NO_SUCH_VARIABLE"]),
        ("%uocr page.png -o 1x", ["variable name"]),
        ("%uocr {1/0}", ["ZeroDivisionError"]),
        ("%uocr 'page.png", ["quote is not closed"]),
        ("%uocr page.png --endpoint other", ["other"]),
        ("%uocr_serve http://127.0.0.1:9/v1 --another", ["127.0.0.1:9"]),
        ("%uocr_serve cpu", ["already running", "%uocr_stop", "--another"]),
        ("%uocr_serve cpu --header x", ["--header"]),
        ("%uocr_serve nonsense", ["nonsense"]),
        ("%uocr_stop nobody", ["nobody"]),
    ],
)
def test_wrong_use_is_three_parts_without_a_traceback(
    shell: Any, server: Any, page: Path, line: str, parts: list[str]
) -> None:
    assert page.exists()
    run(shell, f"%uocr_serve {server.url}")
    told = error_of(run(shell, line))
    for part in parts:
        assert part in told


def test_no_endpoint_is_told(shell: Any, page: Path) -> None:
    assert page.exists()
    told = error_of(run(shell, "%uocr page.png"))
    assert "No endpoint is running." in told
    assert "%uocr_serve" in told


@pytest.mark.parametrize("magic", ["uocr", "uocr_serve", "uocr_stop", "uocr_status", "uocr_logs"])
def test_help_reads_well(shell: Any, magic: str) -> None:
    shown = run(shell, f"%{magic} --help")
    assert shown.success
    text = shown.shown.stdout
    assert f"%{magic}" in text
    assert len(max(text.splitlines(), key=len)) <= 100


def test_braces_in_a_name_are_a_name(shell: Any, server: Any, page: Path, tmp_path: Path) -> None:
    (tmp_path / "report{2}.png").write_bytes(page.read_bytes())
    run(shell, f"%uocr_serve {server.url}")
    result = run(shell, "%uocr report{2}.png")
    assert result.success, result.error_in_exec
    assert result.result.page(1).source == "report{2}.png"


def test_config_sets_the_defaults_of_python_too(shell: Any) -> None:
    assert run(shell, "%config UOCR.max_tokens = 100").success
    assert settings.max_tokens == 100
    listed = run(shell, "%config UOCR").shown.stdout
    assert "UOCR.show" in listed
    run(shell, "%config UOCR.max_tokens = 8192")
    assert settings.max_tokens == 8192


def test_save_writes_one_file_a_source(shell: Any, server: Any, page: Path, tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(page.read_bytes())
    run(shell, f"%uocr_serve {server.url}")
    result = run(shell, "%uocr page.png b.png --save out-{source}.md")
    assert result.success, result.error_in_exec
    assert len(list(tmp_path.glob("out-*.md"))) == 2


def test_an_interrupt_keeps_the_pages_and_says_how_to_go_on(shell: Any, page: Path, tmp_path: Path) -> None:
    from PIL import Image

    for n in range(2, 6):
        # No two alike, or one answer would be kept for all.
        with Image.open(page) as first:
            first.rotate(n, fillcolor="white").save(tmp_path / f"page{n}.png")
    gate = threading.Event()
    main = threading.main_thread()

    def script(number: int, body: dict[str, Any]) -> Reply:
        if body.get("stream") and number == 3:
            import signal

            signal.pthread_kill(main.ident, signal.SIGINT)
        return Reply(TEXT, hold=gate if number >= 3 else None)

    with engine(script) as running:
        run(shell, f"%uocr_serve {running.url}")
        result = run(shell, "%uocr page*.png --concurrency 1 -o doc")
        assert result.success
        assert result.result is shell.user_ns["doc"], "the pages that are done are the value of the cell"
        assert result.result.status == {"ok": 2, "missing": 3}
        assert "interrupted" in result.text
        assert "2 of 5 pages" in result.text
        assert "doc.retry()" in result.text
        gate.set()
        assert run(shell, "doc.retry()").success
        assert shell.user_ns["doc"].status == {"ok": 5}


def test_status_logs_and_stop(shell: Any, server: Any) -> None:
    assert "No endpoint" in run(shell, "%uocr_status").text
    run(shell, f"%uocr_serve {server.url} --name mine")
    assert "mine" in run(shell, "%uocr_status").text
    assert run(shell, "%uocr_logs").success
    assert "mine" in run(shell, "%uocr_stop").text
    assert "Nothing is running" in run(shell, "%uocr_stop").text


def test_dry_run_starts_nothing(shell: Any) -> None:
    shown = run(shell, "%uocr_serve cpu --dry-run")
    assert shown.success, shown.error_in_exec
    assert "local_server" in shown.text
    assert uocr.endpoints() == [] or all(e.state != "ready" for e in uocr.endpoints())


def test_a_refused_default_does_not_keep_the_extension_from_loading(shell: Any) -> None:
    run(shell, "%config UOCR.show = 'bogus'")
    run(shell, "%config UOCR.engine = 'bogus'")
    assert settings.show == "auto"
    assert settings.engine == "cpu"
    again = run(shell, "%reload_ext uocr_nb")
    assert again.success, again.error_in_exec
    assert shell.find_line_magic("uocr") is not None
    assert run(shell, "%config UOCR.show = 'text'").success
    run(shell, "%config UOCR.show = 'auto'")


@pytest.mark.parametrize("target", ["bad.zzz", "no/such/folder/a.md", "{nope}.md"])
def test_where_to_save_is_checked_before_anything_is_asked(shell: Any, server: Any, page: Path, target: str) -> None:
    run(shell, f"%uocr_serve {server.url}")
    asked = len(server.bodies)
    error_of(run(shell, f"%uocr {page.name} --save {target}"))
    assert len(server.bodies) == asked


def test_a_stopped_endpoint_reads_no_more(shell: Any, server: Any, page: Path) -> None:
    run(shell, f"%uocr_serve {server.url} --name mine -o ep")
    shell.user_ns["ep"].stop()
    assert "mine is stopped" in error_of(run(shell, f"%uocr {page.name} --endpoint mine"))


@pytest.mark.parametrize(("pages", "count"), [("-2--1", 2), ("-1", 1), ("2-3", 2)])
def test_pages_count_from_the_end(shell: Any, server: Any, tmp_path: Path, pages: str, count: int) -> None:
    from PIL import Image

    frames = [Image.new("RGB", (60, 80), (255, 255, 250 - n)) for n in range(4)]
    frames[0].save(tmp_path / "four.tiff", save_all=True, append_images=frames[1:])
    run(shell, f"%uocr_serve {server.url}")
    result = run(shell, f"%uocr four.tiff --pages {pages}")
    assert result.success, result.error_in_exec
    assert len(result.result) == count


def test_names_of_failed_sources_are_short_too(shell: Any, server: Any, page: Path, tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("no picture", encoding="utf-8")
    run(shell, f"%uocr_serve {server.url}")
    result = run(shell, f"%uocr {page} {tmp_path / 'text.jpg'}")
    assert [one.source for one in result.result.pages] == ["page.png", "text.jpg"]
