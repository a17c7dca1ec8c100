"""A notebook in JupyterLab whose cells are run one by one, and the old kernel beside the installed one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab import Lab, Notebook, kernelspec, open_notebook, wait_until

ROOT = Path(__file__).resolve().parents[2]
OLD = "6.17.1"
"""An ipykernel without subshells: what a browser sends waits for the end of the cell."""


class Cells(Notebook):
    """A notebook whose cells are run one by one; the first one loads the extension, and has run when this is made."""

    def __init__(
        self,
        context: Any,
        lab: Lab,
        name: str,
        sources: list[str],
        kernel: str = "python3",
        *,
        where: str = "doc/tree",
    ) -> None:
        cells = [
            {
                "cell_type": "code",
                "id": f"c{n}",
                "metadata": {},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
            for n, source in enumerate(["%load_ext uocr_nb", *sources])
        ]
        body = {"cells": cells, "metadata": kernelspec(kernel), "nbformat": 4, "nbformat_minor": 5}
        self.path = lab.folder / f"{name}.ipynb"
        self.path.write_text(json.dumps(body), encoding="utf-8")
        super().__init__(open_notebook(context, lab, self.path.name, where).page)
        self.page.wait_for_selector(
            ".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000, state="attached"
        )
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.run(0)
        self.page.wait_for_selector(".jp-Cell:nth-of-type(1) .jp-OutputArea-output", timeout=60_000)

    def run(self, number: int) -> None:
        """Start a cell."""
        from playwright.sync_api import TimeoutError as StillNothing

        for _ in range(20):
            # Opened before the server has told its kernels, Lab asks which one.
            if self.page.locator(".jp-Dialog").count():
                self.page.locator(".jp-Dialog .jp-mod-accept").click()
            with contextlib.suppress(StillNothing):
                # Right after opening, the notebook may not be the current one yet, and the command then does nothing.
                self.page.locator(".jp-Cell .jp-InputArea-editor").nth(number).click(timeout=3000)
                self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-cell') }")
                self.page.wait_for_function(
                    "n => /[*\\d]/.test(document.querySelectorAll('.jp-InputPrompt')[n].textContent)",
                    arg=number,
                    timeout=3000,
                )
                return

    def ended(self, number: int, seconds: float = 60) -> str:
        """Wait for the end of a cell; return the text of its output."""
        self.page.wait_for_function(
            """n => /\\[\\d+\\]/.test(document.querySelectorAll('.jp-InputPrompt')[n].textContent)
                && document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=idle]')""",
            arg=number,
            timeout=seconds * 1000,
        )
        return str(self.cell(number).locator(".jp-OutputArea").inner_text())

    def runs(self, number: int) -> bool:
        """Whether the cell has not ended."""
        return "*" in self.page.locator(".jp-InputPrompt").nth(number).inner_text()

    def cell(self, number: int) -> Any:
        """The cell with its outputs."""
        return self.page.locator(".jp-Cell").nth(number)

    def stored(self) -> list[dict[str, Any]]:
        """Save; return all outputs of the file."""
        self.save()
        notebook = json.loads(self.path.read_text(encoding="utf-8"))
        assert "widgets" not in notebook["metadata"]
        return [output for cell in notebook["cells"] for output in cell["outputs"]]


def install_old(folder: Path) -> str | None:
    """Put the old ipykernel into `folder`; return why not, or None."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), f"ipykernel=={OLD}"]
    done = subprocess.run(pip, check=False, timeout=120, capture_output=True, text=True)
    return None if done.returncode == 0 else f"ipykernel {OLD} cannot be installed: {done.stderr.strip()[-300:]}"


def add_kernel(lab: Lab, name: str, *first: Path) -> str:
    """Make a kernel of this Python known to `lab`; what is in the folders `first` is imported before the rest."""
    spec = Path(lab.environment["JUPYTER_DATA_DIR"]) / "kernels" / name
    spec.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    env = {"PYTHONPATH": ":".join(map(str, (*first, ROOT)))}
    body = {"argv": argv, "display_name": name.title(), "language": "python", "env": env}
    (spec / "kernel.json").write_text(json.dumps(body), encoding="utf-8")
    return name


def end_kernels(lab: Lab) -> None:
    """Shut down what notebooks have started: each holds memory, and a machine of two cores has little to spare."""
    import urllib.request

    for kernel in lab.kernels():
        with contextlib.suppress(OSError):
            urllib.request.urlopen(urllib.request.Request(lab.api(f"kernels/{kernel}"), method="DELETE"), timeout=20)
    wait_until(lambda: not lab.kernels(), 20, "the kernels to end")


def trust(lab: Lab, path: Path) -> None:
    """Sign the notebook, as the one who ran it has."""
    command = [sys.executable, "-m", "jupyter", "trust", str(path)]
    subprocess.run(command, check=True, env=lab.environment, timeout=60, stdout=subprocess.DEVNULL)


def decline_kernel(page: Any) -> None:
    """Say that no kernel is wanted, whenever that is asked, and "Ok" to what is only told."""
    asked = page.locator(".jp-Dialog")
    page.add_locator_handler(asked, asked.locator("button.jp-mod-reject, button.jp-mod-accept").first.click)
