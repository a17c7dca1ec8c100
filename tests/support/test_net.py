from __future__ import annotations

import os
import socket
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.errors import OptionError
from uocr_nb.support import net


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8000/",
        "http://127.0.0.1:8000/v1",
        "http://127.0.0.1:8000/v1/",
        " HTTP://127.0.0.1:8000/v1/chat/completions\n",
        "http://127.0.0.1:8000/health",
        "http://127.0.0.1:8000/v1/models/",
    ],
)
def test_every_way_to_write_a_base_url_is_the_same(text: str) -> None:
    assert net.normalise_base_url(text) == "http://127.0.0.1:8000/v1"


def test_a_path_before_v1_is_kept() -> None:
    assert net.normalise_base_url("https://Gate.example/ocr/") == "https://gate.example/ocr/v1"


@pytest.mark.parametrize("text", ["ftp://x/v1", "cpu", "http://", "http://x:99999/v1", "http://x:port"])
def test_other_text_is_no_url(text: str) -> None:
    with pytest.raises(OptionError, match="not the URL"):
        net.normalise_base_url(text)


@pytest.mark.parametrize("text", ["https://user:s3cret@gate.example/v1", "https://gate.example/v1?api_key=s3cret"])
def test_a_url_with_a_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        net.normalise_base_url(text)
    assert "s3cret" not in str(caught.value)
    assert "--api-key-env" in caught.value.next


@given(st.text(max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    try:
        result = net.normalise_base_url(text)
    except OptionError:
        return
    assert net.normalise_base_url(result) == result


def test_loopback_is_told_without_asking_for_names() -> None:
    loopback = [
        "http://127.0.0.1:1/v1",
        "http://127.9.9.9",
        "http://[::1]:80",
        "http://localhost",
        "http://a.LOCALHOST.",
    ]
    assert all(map(net.is_loopback, loopback))
    other = ["http://127.0.0.1.example.com", "http://10.0.0.1", "https://localhost.example.com", "http://0.0.0.0"]
    assert not any(map(net.is_loopback, other))


def test_a_client_for_loopback_has_no_proxy_and_none_follows_redirects() -> None:
    assert net.client_options("http://127.0.0.1:1/v1") == {"trust_env": False, "follow_redirects": False}
    assert net.client_options("https://gate.example/v1") == {"trust_env": True, "follow_redirects": False}


def test_the_same_server_is_told_by_scheme_host_and_port() -> None:
    assert net.same_server("https://a.example/v1", "https://A.example:443/other")
    assert not net.same_server("https://a.example/v1", "http://a.example/v1")


def test_a_port_that_is_taken_is_not_free() -> None:
    port = net.free_port()
    assert net.port_is_free(port)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert not net.port_is_free(other.getsockname()[1])


def test_a_secret_shows_itself_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", "  hf_fake_leak_123\r\n")
    secret = net.Secret(os.environ["FAKE_KEY"])
    assert secret.reveal() == "hf_fake_leak_123"
    try:
        int(secret)  # type: ignore[call-overload]
    except TypeError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "leak" not in f"{secret} {secret!r} {[secret]}"
    assert "secret = <secret>" in shown
    assert secret.hide("sent hf_fake_leak_123 on") == "sent *** on"
    assert not net.Secret(None)
    assert net.Secret("").hide("text") == "text"
