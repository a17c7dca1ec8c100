from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from uocr_nb.document.model import Page
from uocr_nb.errors import SourceError
from uocr_nb.sources import PageError, Renderer, RenderSpec, default_renderer, page_image, resolve

Make = Callable[..., Path]

ROOT = Path(__file__).parents[2]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def until(true: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_hanging_page_costs_itself(tmp_path: Path, heavy_pdf: Path, make_pdf: Make) -> None:
    with Renderer(seconds=0.7, folder=tmp_path) as renderer:
        (heavy,), (good,) = resolve(heavy_pdf), resolve(make_pdf())
        renderer.open(good)
        before = renderer.worker_pid
        began = time.monotonic()
        with pytest.raises(PageError, match=r"Page 1 of heavy\.pdf took longer than 0\.7 s"):
            renderer.render(heavy, 1)
        assert time.monotonic() - began < 5
        assert before is not None
        assert not alive(before)
        assert renderer.render(good, 1).ink > 0
        assert renderer.worker_pid != before


def test_a_memory_bomb_costs_itself(tmp_path: Path, make_pdf: Make) -> None:
    file = tmp_path / "big.png"
    Image.new("L", (14000, 14000), 255).save(file, compress_level=1)
    with Renderer(memory=150 << 20, folder=tmp_path) as renderer:
        (bomb,), (good,) = resolve(file), resolve(make_pdf())
        with pytest.raises(PageError, match=r"Page 1 of big\.png") as caught:
            renderer.render(bomb, 1)
        assert "MB of memory" in caught.value.why
        assert renderer.render(good, 1).ink > 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_killed_worker_costs_the_page_it_was_at(tmp_path: Path, heavy_pdf: Path, make_pdf: Make) -> None:
    with Renderer(folder=tmp_path) as renderer:
        (heavy,), (good,) = resolve(heavy_pdf), resolve(make_pdf())
        renderer.open(heavy)
        pid = renderer.worker_pid
        assert pid is not None
        caught: list[BaseException] = []

        def run() -> None:
            try:
                renderer.render(heavy, 1)
            except PageError as error:
                caught.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        assert until(renderer._lock.locked)
        os.kill(pid, signal.SIGKILL)
        thread.join(10)
        assert "SIGKILL" in str(caught[0])
        assert renderer.render(good, 1).ink > 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_worker_killed_between_pages_is_not_noticed(tmp_path: Path, make_pdf: Make) -> None:
    with Renderer(folder=tmp_path) as renderer:
        (good,) = resolve(make_pdf(pages=2))
        first = renderer.render(good, 1)
        pid = renderer.worker_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        # Dead for the system, and seen to be dead by its parent: between pages there is time for both.
        assert until(lambda: not alive(pid) and renderer.worker_pid is None)
        assert renderer.render(good, 2).sha256 != first.sha256


def test_close_ends_the_process_and_a_later_call_starts_another(tmp_path: Path, make_pdf: Make) -> None:
    renderer = Renderer(folder=tmp_path)
    (source,) = resolve(make_pdf())
    renderer.open(source)
    pid = renderer.worker_pid
    assert pid is not None
    assert os.getpgid(pid) == pid, "an interrupt of our group must not reach it"
    renderer.close()
    assert not alive(pid)
    assert renderer.open(source).pages == 1
    renderer.close()
    renderer.close()


def test_threads_share_it(renderer: Renderer, make_pdf: Make) -> None:
    (source,) = resolve(make_pdf(pages=8))
    single = [renderer.render(source, number, RenderSpec(dpi=50)).sha256 for number in range(1, 9)]
    got: dict[int, str] = {}

    def run(number: int) -> None:
        got[number] = renderer.render(source, number, RenderSpec(dpi=50)).sha256

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [got[number] for number in range(1, 9)] == single


def script(body: str) -> subprocess.Popen[str]:
    code = textwrap.dedent(body)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=env)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_the_worker_goes_when_its_parent_is_killed(heavy_pdf: Path) -> None:
    # In the middle of a page that would take long.
    with script(
        f"""
        import threading, time
        from uocr_nb.sources import default_renderer, resolve
        source, = resolve({str(heavy_pdf)!r})
        renderer = default_renderer()
        renderer.open(source)
        threading.Thread(target=renderer.render, args=(source, 1), daemon=True).start()
        print(renderer.worker_pid, flush=True)
        time.sleep(60)
        """
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
        assert until(lambda: not alive(pid))


def test_the_worker_goes_at_exit_and_nothing_is_printed(make_pdf: Make) -> None:
    with script(
        f"""
        from uocr_nb.sources import default_renderer, resolve
        source, = resolve({str(make_pdf())!r})
        print(default_renderer().render(source, 1).size, default_renderer().worker_pid)
        """
    ) as parent:
        out, _ = parent.communicate(timeout=60)
        assert parent.returncode == 0
        size, _, pid = out.strip().rpartition(" ")
        assert size == "(1364, 1930)"
        assert until(lambda: not alive(int(pid)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_its_own(make_pdf: Make) -> None:
    with script(
        f"""
        import os, warnings
        warnings.simplefilter("ignore")
        from uocr_nb.sources import default_renderer, resolve
        source, = resolve({str(make_pdf(pages=2))!r})
        renderer = default_renderer()
        renderer.open(source)
        mine = renderer.worker_pid
        renderer._lock.acquire()
        child = os.fork()
        if child == 0:
            renderer.render(source, 2)
            same = renderer.worker_pid == mine
            renderer.close()
            os._exit(1 if same else 0)
        renderer._lock.release()
        status = os.waitpid(child, 0)[1]
        renderer.render(source, 1)
        print(status, renderer.worker_pid == mine)
        """
    ) as parent:
        out, _ = parent.communicate(timeout=60)
        assert out.split() == ["0", "True"]


def test_the_worker_loads_no_notebook_and_holds_no_secret() -> None:
    with script(
        """
        import sys
        import uocr_nb.sources.images, uocr_nb.sources.pdf, uocr_nb.sources.encode, uocr_nb.sources.worker
        heavy = {"IPython", "numpy", "pymupdf", "matplotlib", "openai", "huggingface_hub"}
        print(sorted(heavy & set(sys.modules)))
        """
    ) as process:
        assert process.communicate(timeout=60)[0].strip() == "[]"
    from uocr_nb.sources.process import _SECRET

    assert all(_SECRET.search(name) for name in ("HF_TOKEN", "OPENAI_API_KEY", "SCAN_PW_PASSWORD", "aws_secret"))


def test_importing_the_room_is_light() -> None:
    code = "import sys, uocr_nb.sources; print({'PIL', 'numpy', 'pypdfium2', 'pymupdf'} & set(sys.modules))"
    with script(code) as process:
        assert process.communicate(timeout=60)[0].strip() == "set()"


def page_of(renderer: Renderer, path: Path) -> Page:
    (source,) = resolve(path)
    spec = RenderSpec(dpi=60)
    image = renderer.render(source, 1, spec)
    return Page(
        1, 1, source.name, image.size, sha256=image.sha256, image_file=image.file, origin=(source, spec), dpi=image.dpi
    )


def test_page_image_from_its_file_or_rendered_again(
    tmp_path: Path, make_pdf: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UOCR_CACHE_DIR", str(tmp_path / "cache"))
    renderer = default_renderer()
    path = make_pdf()
    page = page_of(renderer, path)
    first = page_image(page)
    assert (first.size, first.mode) == (page.size, "RGB")
    again = page_image(replace(page, image_file=None))
    assert again.tobytes() == first.tobytes()
    lost = replace(page, image_file=tmp_path / "gone.jpg")
    assert page_image(lost).tobytes() == first.tobytes()
    assert page.image.size == page.size
    with pytest.raises(SourceError, match="its source is not known"):
        page_image(replace(page, image_file=None, origin=None))
    make_pdf(size=(300, 300))
    with pytest.raises(SourceError, match="has changed"):
        page_image(replace(page, image_file=None))
    renderer.close()
