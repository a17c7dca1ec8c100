"""Shared by the browser tests: an old kernel, installed once, and a JupyterLab for all tests of the page view."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from cells import ROOT, add_kernel, end_kernels, install_old
from lab import Lab, browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def old_ipykernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old-ipykernel")
    if why := install_old(folder):
        pytest.skip(why)
    return folder


@pytest.fixture(scope="session")
def view_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)
    try:
        running = Lab(tmp_path_factory.mktemp("view-lab"))
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update({"PYTHONPATH": before})
    yield running
    running.close()


@pytest.fixture(scope="module")
def window(view_lab: Lab, chromium_path: str) -> Iterator[Any]:
    """A browser with the clipboard open to the test."""
    with browser(chromium_path) as context:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield context
    end_kernels(view_lab)


@pytest.fixture(params=["7", "6.17"], scope="module")
def kernel(request: pytest.FixtureRequest, view_lab: Lab) -> str:
    """The name of the kernel: the installed one, and one without subshells."""
    if request.param == "7":
        return "python3"
    return add_kernel(view_lab, "old", request.getfixturevalue("old_ipykernel"))
