"""JupyterLab in headless Chromium, for tests that look at what a person sees."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "test"
_FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until(condition: Any, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}")
        time.sleep(0.1)


class Lab:
    """One JupyterLab server in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        home = folder / ".home"
        settings = home / "share" / "lab" / "settings"
        settings.mkdir(parents=True)
        quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
        (settings / "overrides.json").write_text(
            json.dumps({"@jupyterlab/apputils-extension:notification": quiet}), encoding="utf-8"
        )
        self.environment = environment = {
            **os.environ,
            "HOME": str(home),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "user-settings"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
        }
        self.log = (folder / "lab.log").open("wb")
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={self.port}",
                "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", "--allow-root",
                f"--ServerApp.root_dir={folder}", "--ServerApp.disable_check_xsrf=True",
                "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
                f"--LabApp.app_settings_dir={settings}",
            ],
            env=environment,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )  # fmt: skip
        wait_until(self._answers, 90, "JupyterLab to answer")

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "lab.log").read_text(errors="replace")[-2000:]
        with contextlib.suppress(OSError), urllib.request.urlopen(self.api("status"), timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def api(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/api/{path}?token={TOKEN}"

    def kernels(self) -> list[str]:
        with urllib.request.urlopen(self.api("kernels"), timeout=10) as answer:
            return [kernel["id"] for kernel in json.load(answer)]

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


_READY = """() => {
    const shown = window.jupyterapp.shell.currentWidget;
    return shown?.context?.isReady && shown.sessionContext?.kernelDisplayStatus === 'idle'
        && document.querySelectorAll('.jp-Cell').length === shown.content?.widgets?.length;
}"""


class Notebook:
    """One notebook open in the browser."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def run_all(self, seconds: float = 300) -> None:
        from playwright.sync_api import TimeoutError as StillNothing

        for _ in range(20):
            if self.page.locator(".jp-Dialog").count():
                # Opened before the server has told its kernels, Lab asks which one.
                self.page.locator(".jp-Dialog .jp-mod-accept").click()
            with contextlib.suppress(StillNothing):
                # Right after opening, the notebook may not be the current one yet, hold none of its cells, or have no
                # kernel; the command then does nothing, or runs the first cell alone.
                self.page.wait_for_function(_READY, timeout=6000)
                self.page.locator(".jp-Cell").first.click(timeout=3000)
                self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
                self.page.wait_for_function(
                    """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].every(
                        e => /[*\\d]/.test(e.textContent))""",
                    timeout=3000,
                )
                break
        self.wait_idle(seconds)

    def wait_idle(self, seconds: float = 300) -> None:
        # Every code cell has its number (none a star), or one has failed; and the kernel is idle.
        self.page.wait_for_function(
            """() => {
                const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
                const done = prompts.length && prompts.every(e => /\\[\\d+\\]/.test(e.textContent));
                const waits = prompts.some(e => e.textContent.includes('*'));
                const failed = document.querySelector('[data-mime-type="application/vnd.jupyter.stderr"]') && !waits;
                const idle = document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=idle]');
                // Between two cells of a run it may look so for a moment.
                if (!(idle && (done || failed))) { window.idleSince = undefined; return false; }
                window.idleSince = window.idleSince ?? Date.now();
                return Date.now() - window.idleSince > 1000;
            }""",
            timeout=seconds * 1000,
        )

    def save(self) -> None:
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")

    def theme(self, name: str) -> None:
        self.page.evaluate(
            "async (name) => { await window.jupyterapp.commands.execute('apputils:change-theme', {theme: name}) }", name
        )
        self.page.wait_for_timeout(500)


def kernelspec(name: str = "python3") -> dict[str, Any]:
    return {
        "kernelspec": {"name": name, "display_name": "Python 3 (ipykernel)", "language": "python"},
        "language_info": {"name": "python"},
    }


class _Play:
    """The one playwright of this process: a second one beside it is refused."""

    running: Any = None
    users = 0


@contextlib.contextmanager
def _playwright() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if not _Play.users:
        _Play.running = sync_playwright().start()
    _Play.users += 1
    try:
        yield _Play.running
    finally:
        _Play.users -= 1
        if not _Play.users:
            _Play.running.stop()


@contextlib.contextmanager
def browser(executable: str, *, offline: bool = False, **options: Any) -> Iterator[Any]:
    """A browser context; `offline` cuts every network but loopback."""
    with _playwright() as play:
        chromium = play.chromium.launch(executable_path=executable, args=_FLAGS, headless=True)
        try:
            context = chromium.new_context(**{"viewport": {"width": 1180, "height": 1400}, **options})
            if offline:
                context.set_offline(True)
            yield context
        finally:
            chromium.close()


def open_notebook(context: Any, lab: Lab, name: str, where: str = "doc/tree") -> Notebook:
    """Open it in JupyterLab, or in Notebook 7 where `where` is "notebooks"."""
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{lab.port}/{where}/{name}?token={TOKEN}&reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook", timeout=60_000)
    return Notebook(page)
