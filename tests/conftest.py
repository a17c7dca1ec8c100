"""Shared by all tests: state and cache in a folder of the test run, and the choice of tiers."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# Time is never asserted: the machine may be busy.
hypothesis.settings.register_profile("ours", deadline=None)
hypothesis.settings.load_profile("ours")

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

# Set before anything of the project is imported, and inherited by every process that a test starts.
_FOLDER = Path(tempfile.mkdtemp(prefix="uocr-tests-"))
os.environ["UOCR_STATE_DIR"] = str(_FOLDER / "state")
os.environ["UOCR_CACHE_DIR"] = str(_FOLDER / "cache")
for _name in ("UOCR_ENDPOINT", "UOCR_KEY", "HF_TOKEN"):
    os.environ.pop(_name, None)


def chromium() -> str | None:
    """Debian's Chromium, or one that UOCR_CHROMIUM names."""
    return os.environ.get("UOCR_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    demanded = os.environ.get("UOCR_REQUIRE_BROWSER") == "1"
    for item in items:
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="slow: --slow runs it"))
        if "browser" in item.keywords and chromium() is None and not demanded:
            item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))


def pytest_unconfigure() -> None:
    shutil.rmtree(_FOLDER, ignore_errors=True)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answers kept by one test are not found by the next."""
    folder = tempfile.mkdtemp(dir=_FOLDER)
    monkeypatch.setenv("UOCR_CACHE_DIR", folder)
    yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = chromium()
    assert path is not None, "UOCR_REQUIRE_BROWSER=1 demands Chromium: apt-get install chromium"
    return path


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Any]:
    """A Chromium of the module's own, for pages without a notebook."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium_path, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield started
        started.close()
