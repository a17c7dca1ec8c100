"""Answers kept on disk: what comes back is what was put in, or nothing."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, strategies
from hypothesis import settings as hypothesis_settings
from scripted import Reply, engine
from traitlets.config import Config

import uocr_nb
from uocr_nb.config import settings
from uocr_nb.errors import OptionError
from uocr_nb.reading.cache import AnswerCache, key, whereabouts
from uocr_nb.reading.client import Answer
from uocr_nb.serving import engines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "<|det|>text [10, 20, 300, 40]<|/det|> What stands on the page.\n"


@pytest.fixture
def cache(tmp_path: Path) -> AnswerCache:
    return AnswerCache(tmp_path / "answers")


@pytest.fixture(autouse=True)
def _settings_back() -> Iterator[None]:
    yield
    settings.cache, settings.cache_limit = True, 500


def answer(text: str = TEXT, **more: Any) -> Answer:
    return Answer(text, "stop", 903, 120, 1.5, **more)


def key_of(number: int) -> str:
    return key([f"{number:064x}"], {"temperature": 0}, "m", "r", "")


def files(cache: AnswerCache) -> list[Path]:
    return [path for path in cache.path.rglob("*") if path.is_file()]


def only_file(cache: AnswerCache) -> Path:
    (path,) = files(cache)
    return path


# -- keys ----------------------------------------------------------------------------------------------------------


def test_a_key_follows_all_that_was_asked_and_nothing_else() -> None:
    images = ["a" * 64, "b" * 64]
    vllm = engines.get("vllm")

    def make(**other: Any) -> str:
        body = vllm.request(["data:x", "data:y"], mode="base", prompt=other.pop("prompt", None), max_tokens=100)
        given = {"image_sha256s": images, "request": body, "model": "m", "revision": "r", "where": "w"} | other
        return key(**given)

    first = make()
    assert first == make()
    other = [
        make(image_sha256s=images[::-1]),
        make(image_sha256s=images[:1]),
        make(prompt="Free OCR."),
        make(request=vllm.request(["", ""], max_tokens=101)),
        make(request=engines.get("sglang").request(["", ""], mode="base", max_tokens=100)),
        make(model="n"),
        make(revision="s"),
        make(revision=None),
        make(revision=None, where="v"),
    ]
    assert len({first, *other}) == len(other) + 1
    # Images are known by their hash, streaming says nothing of the answer, a known revision is the same everywhere.
    assert first == make(where="elsewhere")
    bare = vllm.request(["", ""], mode="base", max_tokens=100)
    assert first == make(request=bare | {"stream": True, "stream_options": {"include_usage": True}})


def test_an_endpoint_is_known_by_its_address_and_its_models_but_not_by_its_clock() -> None:
    def models(created: int, root: str = "baidu/Unlimited-OCR") -> dict[str, Any]:
        return {"data": [{"id": "m", "root": root, "created": created, "permission": [{"id": f"modelperm-{created}"}]}]}

    assert whereabouts("http://h:8000", models(1)) == whereabouts("http://H:8000/v1/", models(2))
    assert whereabouts("http://h:8000", models(1)) != whereabouts("http://h:8000", models(1, "another"))
    assert whereabouts("http://h:8000", models(1)) != whereabouts("http://h:8001", models(1))
    with pytest.raises(OptionError) as refused:
        whereabouts("http://user:hf_secret@h:8000/v1", models(1))
    assert "hf_secret" not in str(refused.value)


def test_a_key_that_is_none_is_refused(cache: AnswerCache) -> None:
    for wrong in ("", "../../etc/passwd", "A" * 64, "a" * 63):
        with pytest.raises(ValueError, match="key"):
            cache.get(wrong)


# -- what comes back -----------------------------------------------------------------------------------------------

numbers = strategies.floats(allow_nan=False, allow_infinity=False)
# With lone surrogates: an engine may cut a character in two halves.
texts = strategies.text(strategies.characters(exclude_categories=()))
answers = strategies.builds(
    Answer,
    text=texts,
    finish_reason=strategies.sampled_from(["stop", "length", None]),
    prompt_tokens=strategies.none() | strategies.integers(0, 40_000),
    tokens=strategies.none() | strategies.integers(0, 40_000),
    seconds=numbers,
    scores=strategies.lists(strategies.tuples(texts, numbers), max_size=5).map(tuple),
)


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_answer=answers)
def test_an_answer_comes_back_as_it_was(cache: AnswerCache, given_answer: Answer) -> None:
    cache.put(key_of(1), given_answer)
    found = cache.get(key_of(1))
    assert found == given_answer
    assert found is not None
    assert type(found.scores) is tuple


def test_all_that_makes_an_answer_is_kept(cache: AnswerCache) -> None:
    told = {"text", "finish_reason", "prompt_tokens", "tokens", "seconds", "scores"}
    assert {part.name for part in fields(Answer) if part.compare} == told, "write the new part too, and count _MAGIC on"


def test_the_newest_answer_stands_and_can_be_forgotten(cache: AnswerCache) -> None:
    assert cache.get(key_of(1)) is None
    cache.put(key_of(1), answer("old"))
    cache.put(key_of(1), answer("new"))
    assert cache.get(key_of(1)) == answer("new")
    assert cache.count == 1
    cache.forget(key_of(1))
    cache.forget(key_of(1))
    assert cache.get(key_of(1)) is None


# -- damage --------------------------------------------------------------------------------------------------------


def test_a_file_damaged_anywhere_is_asked_again_and_removed(cache: AnswerCache) -> None:
    cache.put(key_of(1), answer(scores=(("What", 0.93),)))
    path = only_file(cache)
    good = path.read_bytes()
    damaged = [good[:n] + bytes([good[n] ^ 1 << n % 8]) + good[n + 1 :] for n in range(len(good))]
    damaged += [good[:n] for n in range(len(good))]
    damaged += [good + b"\0", good[1:], good + good, b"\0" * len(good)]
    for data in damaged:
        path.write_bytes(data)
        assert cache.get(key_of(1)) is None
        assert not path.exists()
    path.write_bytes(good)
    assert cache.get(key_of(1)) is not None


def test_the_answer_of_another_page_is_not_taken(cache: AnswerCache) -> None:
    cache.put(key_of(1), answer("one"))
    moved = only_file(cache)
    cache.put(key_of(2), answer("two"))
    other = next(path for path in files(cache) if path != moved)
    moved.replace(other)
    assert cache.get(key_of(2)) is None
    assert cache.count == 0


@pytest.mark.parametrize("told", [b"{}", b"[]", b'{"words": "x", "scores": []}', b"no json", b'{"scores": [1]}'])
def test_an_answer_made_of_other_parts_is_asked_again(
    cache: AnswerCache, told: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other_version:
        other_version.setattr("json.dumps", lambda *_, **__: told.decode())
        cache.put("a" * 64, answer())
    assert cache.get("a" * 64) is None
    assert files(cache) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes and links in folders")
def test_what_is_no_file_is_not_read(cache: AnswerCache, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not ours")
    for make in (os.mkfifo, lambda path: path.symlink_to(tmp_path / "secret")):
        cache.put(key_of(1), answer())
        path = only_file(cache)
        path.unlink()
        make(path)
        assert cache.get(key_of(1)) is None
        cache.put(key_of(1), answer())
        assert cache.get(key_of(1)) == answer()
    assert (tmp_path / "secret").read_text() == "not ours"


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EIO, errno.EACCES])
def test_a_disk_that_fails_is_a_page_asked_again(
    cache: AnswerCache, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(key_of(1), answer())

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as network_home:
        network_home.setattr("pathlib.Path.read_bytes", fail)
        assert cache.get(key_of(1)) is None
    assert cache.get(key_of(1)) is not None, "what cannot be read now is not removed"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EXDEV, errno.ESTALE])
@pytest.mark.parametrize("where", ["os.open", "pathlib.Path.replace", "pathlib.Path.mkdir"])
def test_what_cannot_be_written_costs_one_warning(
    cache: AnswerCache, code: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as disk:
        disk.setattr(where, fail)
        for number in range(3):
            cache.put(key_of(number), answer())
    assert os.strerror(code) in (cache.take_warning() or "")
    assert cache.take_warning() is None
    assert files(cache) == []
    cache.put(key_of(1), answer())
    assert cache.get(key_of(1)) == answer()


def test_a_folder_that_cannot_be_there_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("UOCR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    cache = AnswerCache()
    cache.put(key_of(1), answer())
    assert cache.get(key_of(1)) is None
    assert cache.clear() == cache.count == cache.size == 0
    assert "0 answers" in repr(cache)
    assert cache.take_warning()


# -- kernels side by side, and their ends ----------------------------------------------------------------------------

_SETUP = """
import sys, time
from pathlib import Path
from uocr_nb.reading.cache import AnswerCache, key
from uocr_nb.reading.client import Answer
cache = AnswerCache(Path(sys.argv[1]), limit=20_000)
def key_of(number): return key([f"{number:064x}"], {"temperature": 0}, "m", "r", "")
def answer(number): return Answer(f"page {number} " * 50, "stop", 1, 2, 0.5)
"""

_BUSY = """
import random
end, found = time.monotonic() + 1.5, 0
while time.monotonic() < end:
    number = random.randrange(40)
    held = cache.get(key_of(number))
    assert held is None or held == answer(number), held
    found += held is not None
    cache.put(key_of(number), answer(number))
    if random.random() < 0.01: cache.clear()
    if random.random() < 0.05: cache.forget(key_of(number))
assert cache.take_warning() is None, cache._trouble
assert found > 10, found
"""


def test_two_kernels_write_read_and_clear_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SETUP + _BUSY, str(tmp_path / "answers")]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [(child.communicate(timeout=60)[1], child.returncode) for child in children]
    assert ended == [("", 0), ("", 0)]
    cache = AnswerCache(tmp_path / "answers")
    assert not [path for path in files(cache) if path.name.endswith(".part")]


_KILLED = """
cache.put(key_of(1), answer(1))
def wait(*_):
    print("written", flush=True)
    time.sleep(60)
Path.replace = wait
cache.put(key_of(2), answer(2))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kernel_killed_while_it_writes_leaves_no_answer_and_nothing_for_long(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SETUP + _KILLED, str(tmp_path / "answers")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "written\n"
        child.send_signal(signal.SIGKILL)
    cache = AnswerCache(tmp_path / "answers", limit=1)
    (part,) = (path for path in files(cache) if path.name.endswith(".part"))
    assert cache.count == 1
    assert cache.get(key_of(2)) is None
    assert cache.clear() == 1
    assert part.exists(), "its writer may live"
    os.utime(part, (time.time() - 7200,) * 2)
    AnswerCache(tmp_path / "answers", limit=1).put(key_of(3), answer())
    assert not part.exists()


def test_threads_share_one_cache(cache: AnswerCache) -> None:
    wrong = []

    def work(first: int) -> None:
        for number in range(first, first + 30):
            cache.put(key_of(number), answer(str(number)))
            if cache.get(key_of(number)) != answer(str(number)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 15, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.count == 60


# -- size, privacy, switches -------------------------------------------------------------------------------------------


def test_the_answers_not_used_for_longest_go_first(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    filling = AnswerCache(folder)
    for number in range(20):
        filling.put(key_of(number), answer(os.urandom(500).hex()))
        path = folder / key_of(number)[:2] / key_of(number)[2:]
        os.utime(path, (time.time() - 86400 + number,) * 2)
    (folder / "notes.txt").write_text("not ours")
    each = filling.size // 20
    assert filling.get(key_of(0)) is not None, "looked up, so in use again"
    limited = AnswerCache(folder, limit=each * 10)
    for number in range(20, 23):
        limited.put(key_of(number), answer(os.urandom(500).hex()))
    left = [number for number in range(23) if limited.get(key_of(number))]
    assert limited.size <= limited.limit
    assert len(left) >= 8
    assert left == [0, *range(23 - len(left) + 1, 23)]
    assert limited.clear() == len(left)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_many_short_kernels_keep_to_the_limit_too(tmp_path: Path) -> None:
    for number in range(300):
        AnswerCache(tmp_path, limit=40_000).put(key_of(number), answer(os.urandom(200).hex()))
    # A look at the folder is due every twentieth of the limit; by chance it may come a few times later.
    assert AnswerCache(tmp_path).size < 80_000


@pytest.mark.skipif(sys.platform == "win32", reason="no modes")
def test_files_are_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UOCR_CACHE_DIR", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        (tmp_path / "cache" / "answers").mkdir(parents=True, mode=0o777)
        uocr_nb.cache.put(key_of(1), answer())
    finally:
        os.umask(before)
    assert uocr_nb.cache.path == tmp_path / "cache" / "answers"
    for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_switched_off_it_neither_reads_nor_writes(cache: AnswerCache) -> None:
    from uocr_nb.magics.defaults import UOCR

    cache.put(key_of(1), answer())
    cache.enabled = False
    assert cache.get(key_of(1)) is None
    cache.put(key_of(2), answer())
    assert cache.count == 1
    assert "switched off" in repr(cache)
    cache.enabled = True
    assert cache.get(key_of(1)) is not None
    # %config and Python's switch are one: the last word counts, also where the trait does not change.
    defaults = UOCR(config=Config())
    cache.enabled = False
    defaults.cache = True
    assert cache.enabled
    defaults.cache, defaults.cache_limit = False, 7
    assert not cache.enabled
    assert cache.limit == 7_000_000


def test_it_shows_itself_in_words(cache: AnswerCache) -> None:
    cache.put(key_of(1), answer())
    shown = cache._repr_mimebundle_()
    assert shown["text/plain"].startswith("1 answer, ")
    assert "of at most 500 MB" in shown["text/plain"]
    assert "uocr_nb.cache.clear()" in shown["text/plain"]
    assert "<" not in shown["text/plain"]
    assert shown["text/html"].startswith("<div")


# -- a real call -------------------------------------------------------------------------------------------------------


def test_the_key_of_an_endpoint_is_in_no_file(
    tmp_path: Path, pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UOCR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SOME_KEY", "sk-not-to-be-kept")
    with engine(lambda _number, _body: Reply(TEXT)) as running:
        endpoint = uocr_nb.serve(running.url, engine="cpu", api_key_env="SOME_KEY")
        first = uocr_nb.ocr(pictures[:2], endpoint=endpoint)
        asked = len(running.bodies)
        again = uocr_nb.ocr(pictures[:2], endpoint=endpoint)
        assert len(running.bodies) == asked
        endpoint.stop()
    assert [page.text for page in again.pages] == [page.text for page in first.pages]
    kept = files(uocr_nb.cache)
    assert len(kept) == 2
    for path in (path for path in (tmp_path / "cache").rglob("*") if path.is_file()):
        data = path.read_bytes()
        told = zlib.decompress(data.partition(b"\n")[2][64:]) if path in kept else b""
        assert b"sk-not" not in data + told + str(path).encode()
