from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.support import state
from uocr_nb.support.platform import identify

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UOCR_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("UOCR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(state, "_run", None)


def test_folders_are_closed_to_others(tmp_path: Path) -> None:
    for folder in (state.state_dir(), state.cache_dir(), state.run_folder()):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert state.state_dir() == tmp_path / "state"


def test_without_overrides_they_are_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("UOCR_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state.state_dir().is_relative_to(tmp_path)
    assert state.state_dir().name == "uocr_nb"


def test_the_run_folder_is_one_and_comes_back_when_it_was_removed() -> None:
    first = state.run_folder()
    assert state.run_folder() == first
    first.rmdir()
    assert state.run_folder() == first
    assert first.is_dir()
    assert str(os.getpid()) in first.name


_CHILD = "import os, sys; from uocr_nb.support import state; print(state.run_folder(), flush=True); {}"


def _child(ending: str) -> Any:
    done = subprocess.run([sys.executable, "-c", _CHILD.format(ending)], capture_output=True, text=True, check=False)
    return state.Path(done.stdout.strip())


def test_the_run_folder_is_removed_at_exit() -> None:
    path = _child("open(state.run_folder() / 'page.jpg', 'w').close()")
    assert path.parent.is_dir()
    assert not path.exists()


def test_the_run_folder_of_a_dead_process_is_swept_and_others_stay() -> None:
    left = _child("os._exit(0)")
    assert left.is_dir()
    elsewhere = left.parent / identify().name.replace(identify().machine, "another")
    elsewhere.mkdir()
    stranger = left.parent / "notes"
    stranger.mkdir()
    mine = state.run_folder()
    assert not left.exists()
    assert mine.is_dir()
    assert elsewhere.is_dir()
    assert stranger.is_dir()
    os.utime(elsewhere, (0, 0))
    assert state.sweep_runs(left.parent) == [elsewhere]


def test_a_forked_childs_exit_leaves_the_parents_folder() -> None:
    code = (
        "pid = os.fork(); (sys.exit() if pid == 0 else os.waitpid(pid, 0));"
        " print(state.run_folder().is_dir(), flush=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format("0") + "\n" + code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == "True"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "entry.json"
    seen = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            if path.exists():
                seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(40):
        state.write_atomic(path, bytes([65 + number % 2]) * 20_000)
    stop.set()
    reader.join()
    assert seen <= {b"A" * 20_000, b"B" * 20_000}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["entry.json"]  # noqa: PTH208


def test_a_failed_write_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(OSError, match=r"."):
        state.write_atomic(path, b"x")
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == []
