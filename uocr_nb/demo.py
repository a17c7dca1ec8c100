"""``uocr demo``: the quickstart notebook, executed on the embedded engine, and its HTML."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from uocr_nb.errors import MissingExtraError, UocrError

__all__ = ["quickstart", "run_demo"]

_NAME = "01_quickstart.ipynb"
_CELL_TIMEOUT = 600
"""Seconds for one cell: the slowest machine reads a page of the sample in under a minute."""


def quickstart() -> Path:
    """The quickstart notebook: in the package when it is installed, in ``notebooks/`` in a checkout."""
    here = Path(__file__).parent
    for place in (here / "samples" / _NAME, here.parent / "notebooks" / _NAME):
        if place.exists():
            return place
    raise UocrError(
        f"{_NAME} is not there.",
        "It is installed with the package; this installation is incomplete.",
        "pip install --force-reinstall uocr_nb",
    )


def run_demo(out: Path, *, lab: bool = False) -> int:
    """Execute the quickstart into `out`, write its HTML beside it, and open JupyterLab on it when `lab` is set.

    Returns
    -------
    int
        Exit status.

    Raises
    ------
    MissingExtraError
        When the demo extra is not installed.
    UocrError
        When a cell fails.
    """
    for package in ("nbclient", "nbconvert", "ipykernel", "rapidocr", *(("jupyterlab",) if lab else ())):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError("The demo runs a notebook on the embedded engine.", "demo", package)
    out.mkdir(parents=True, exist_ok=True)
    notebook, page = out / _NAME, out / _NAME.replace(".ipynb", ".html")
    print(f"running {_NAME} on the embedded engine; it reads two documents of three pages")
    _execute(quickstart(), notebook)
    _write_html(notebook, page)
    print(f"notebook  {notebook}\nhtml      {page}")
    if lab:
        # JupyterLab refuses to run as root without being told to, and in a container the user is root.
        root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        return subprocess.call([sys.executable, "-m", "jupyterlab", *root, str(notebook)])
    print(f"open it   {_shown(Path(sys.executable).with_name('jupyter'))} lab {notebook}")
    return 0


def _shown(path: Path) -> Path:
    """The path as somebody in this folder would type it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _execute(source: Path, target: Path) -> None:
    import nbformat  # noqa: PLC0415 - of the extra
    from jupyter_client.kernelspec import KernelSpecManager  # noqa: PLC0415
    from jupyter_client.manager import AsyncKernelManager  # noqa: PLC0415
    from nbclient import NotebookClient  # noqa: PLC0415
    from nbclient.exceptions import CellExecutionError  # noqa: PLC0415

    notebook = nbformat.read(source, as_version=4)
    with tempfile.TemporaryDirectory(prefix="uocr-demo-") as folder:
        # This very Python, whatever kernel another environment registered under the usual name.
        spec = Path(folder) / "uocr-demo"
        spec.mkdir()
        # The kernel's own warnings (loopback without encryption) say nothing to somebody who tries a demo.
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
        (spec / "kernel.json").write_text(
            json.dumps({"argv": argv, "display_name": "Python 3 (uocr demo)", "language": "python"}), encoding="utf-8"
        )
        manager = AsyncKernelManager(
            kernel_name="uocr-demo",
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[folder], ensure_native_kernel=False),
        )
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=_CELL_TIMEOUT,
            store_widget_state=False,
            resources={"metadata": {"path": str(target.parent)}},
            on_cell_executed=_tell,
        )
        try:
            client.execute(cleanup_kc=True)
        except CellExecutionError as error:
            raise UocrError(
                "The quickstart notebook stopped at a cell.",
                f"{error.ename}: {error.evalue}".strip()[:600],
                f"See the outputs so far: {target}",
            ) from None
        finally:
            # The user's own front end picks its own kernel, so the name of the temporary one must not stay.
            notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
            nbformat.write(notebook, target)


def _tell(cell: dict[str, object], cell_index: int, execute_reply: object) -> None:  # noqa: ARG001 - nbclient's names
    lines = str(cell["source"]).strip().splitlines()
    print(f"  done  {lines[0][:100]}" if lines else "  done", flush=True)


def _write_html(notebook: Path, page: Path) -> None:
    from nbconvert import HTMLExporter  # noqa: PLC0415 - of the extra

    body, _ = HTMLExporter().from_filename(str(notebook))
    page.write_text(body, encoding="utf-8")
