from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageDraw

from uocr_nb.serving import start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def ipython() -> Any:
    """One real shell for the session: IPython allows no second one in a process."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell.instance(config=config)


@pytest.fixture
def shell(ipython: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The shell with the extension loaded, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    ipython.run_cell("%load_ext uocr_nb")
    yield ipython
    ipython.run_cell("%unload_ext uocr_nb")
    start.stop_all()
    ipython.reset(new_session=False)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    image = Image.new("RGB", (200, 280), "white")
    ImageDraw.Draw(image).text((20, 20), "one page", fill="black")
    path = tmp_path / "page.png"
    image.save(path)
    return path
