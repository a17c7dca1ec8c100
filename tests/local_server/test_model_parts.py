"""What the engine `transformers` is made of, without torch."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from uocr_nb.errors import MissingExtraError
from uocr_nb.local_server.faults import Fault
from uocr_nb.local_server.request import parse_request
from uocr_nb.local_server.run import Settings
from uocr_nb.local_server.tokens import TextStream
from uocr_nb.serving import engines, start

pytest.importorskip("starlette")

PAGE = "data:image/png;base64,AAAA"


class _Bytes:
    """A tokenizer with one token a byte, and 256 for a special token."""

    def decode(self, tokens: Any, *, skip_special_tokens: bool, clean_up_tokenization_spaces: bool) -> str:
        assert not clean_up_tokenization_spaces
        shown = b"".join(
            (b"" if skip_special_tokens else b"<td>") if token > 255 else bytes([token]) for token in tokens
        )
        return shown.decode("utf-8", errors="replace")


class _Tokens:
    def __init__(self, *tokens: int) -> None:
        self.tokens = tokens

    def flatten(self) -> Any:
        return self

    def tolist(self) -> list[int]:
        return list(self.tokens)


@pytest.mark.parametrize(("stripped", "said"), [(False, "<td>né汉🙂�!"), (True, "né汉🙂�!")])
def test_no_sign_is_told_by_halves(stripped: bool, said: str) -> None:
    pieces: list[str] = []
    stream = TextStream(_Bytes(), pieces.append, drop={257}, stripped=stripped)
    stream.put(_Tokens(1, 2, 3))
    for token in [256, *"né汉🙂".encode(), 255, *b"!", 257]:
        stream.put(_Tokens(token))
    stream.end()
    assert "".join(pieces) == said
    assert "🙂" in pieces


def test_half_a_sign_at_the_end_is_told_all_the_same() -> None:
    pieces: list[str] = []
    stream = TextStream(_Bytes(), pieces.append, drop=(), stripped=False)
    stream.put(_Tokens(0))
    stream.put(_Tokens("汉".encode()[0]))
    assert pieces == []
    stream.end()
    assert pieces == ["�"]


def test_a_request_becomes_a_wish() -> None:
    from uocr_nb.local_server.model_answer import wish_of

    profile = engines.get("transformers")
    one = wish_of(parse_request(profile.request([PAGE], max_tokens=9)))
    assert (one.prompt, one.tiles, one.stripped, one.max_tokens, one.guard) == (
        "document parsing.",
        True,
        False,
        9,
        (35, 128),
    )
    assert not wish_of(parse_request(profile.request([PAGE], mode="base"))).tiles
    two = wish_of(parse_request(profile.request([PAGE] * 2, mode="gundam")))
    assert (two.prompt, two.tiles, two.guard) == ("Multi page parsing.", False, (35, 1024))
    bare = parse_request(
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": PAGE}}]}]}
    )
    assert (wish_of(bare).prompt, wish_of(bare).stripped, wish_of(bare).guard) == ("document parsing.", True, (35, 128))
    with pytest.raises(Fault, match="not supported by this engine"):
        wish_of(parse_request(engines.get("sglang").request([PAGE], mode="tiny")))


@pytest.mark.parametrize("field", ["vllm_xargs", "custom_params"])
def test_a_guard_must_be_of_numbers(field: str) -> None:
    body = engines.get("cpu").request([PAGE])
    assert parse_request(body | {field: {"ngram_size": 5}}).guard == (5, 100)
    assert parse_request(body | {field: {}}).guard is None
    for odd in ({"ngram_size": "35"}, {"ngram_size": 35, "window_size": 0}, "x", {"ngram_size": True}):
        with pytest.raises(Fault) as caught:
            parse_request(body | {field: odd})
        assert caught.value.status == 400


def test_settings_name_the_engine() -> None:
    assert Settings.of({"key": "k"}).engine == "cpu"
    made = Settings.of({"key": "k", "engine": "transformers", "model": "a/b", "revision": None})
    assert (made.engine, made.model, made.revision) == ("transformers", "a/b", None)
    with pytest.raises(ValueError, match="unknown engine"):
        Settings.of({"key": "k", "engine": "gpu"})
    assert "'k'" not in repr(made)


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_extra_is_named() -> None:
    with pytest.raises(MissingExtraError) as caught:
        start.serve("transformers", another=True)
    assert caught.value.next == 'pip install "uocr_nb[transformers]"'
