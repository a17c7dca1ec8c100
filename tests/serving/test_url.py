"""The host `url`: what is read from an address, and what is said when it is not one."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.errors import EndpointError, OptionError
from uocr_nb.serving import start
from uocr_nb.support.net import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator


ANSWER = "<|det|>title [120, 200, 700, 800]<|/det|>Ready"


class Server:
    """A server that answers each path as told and notes what it was asked."""

    def __init__(self) -> None:
        self.answers = {}
        self.requests = []
        server = self

        class Face(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.requests.append((self.path, dict(self.headers), json.loads(body) if body else None))
                answer = server.answers.get(self.path, (404, {"error": {"message": "Not Found"}}))
                if callable(answer):
                    answer = answer(server.requests[-1])
                status, content, *headers = answer
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = _answer  # noqa: N815 - names of the library

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Face)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def serves(self, owner: str, *models: Any) -> None:
        data = [{"id": model, "object": "model", "owned_by": owner} for model in models or ("Unlimited-OCR",)]
        self.answers["/v1/models"] = (200, {"object": "list", "data": data})
        self.answers["/v1/chat/completions"] = (200, _completion(ANSWER))

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    @property
    def last(self) -> Any:
        return self.requests[-1]


def _completion(text: str) -> Any:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


@pytest.fixture
def server() -> Iterator[Any]:
    made = Server()
    yield made
    made.close()


def _serve(url: str, **options: Any) -> Any:
    events = []
    endpoint = start.serve(url, on_event=events.append, **options)
    return endpoint, [event.text for event in events if event.stage == "note"]


@pytest.mark.parametrize("owner", ["vllm", "sglang", "llamacpp", "uocr-cpu"])
@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_engine_and_model_are_read_from_the_address(server: Server, owner: str, ending: str) -> None:
    server.serves(owner, "baidu/Unlimited-OCR")
    endpoint, notes = _serve(server.url + ending)
    assert notes == []
    assert endpoint.base_url == server.url + "/v1"
    assert endpoint.engine == {"uocr-cpu": "cpu"}.get(owner, owner)
    assert (endpoint.host, endpoint.model, endpoint.price) == ("url", "baidu/Unlimited-OCR", None)
    path, headers, body = server.last
    assert path == "/v1/chat/completions"
    assert body["model"] == "baidu/Unlimited-OCR"
    assert body["skip_special_tokens"] is False
    assert "Authorization" not in headers
    endpoint.stop()
    assert endpoint.state == "stopped"


def test_an_engine_that_does_not_tell_is_asked_for_and_not_guessed(server: Server) -> None:
    server.serves("library")
    with pytest.raises(EndpointError) as caught:
        start.serve(server.url)
    assert "library" in caught.value.why
    assert f"%uocr_serve {server.url}/v1 --engine " in caught.value.next
    endpoint, notes = _serve(server.url, engine="sglang")
    assert endpoint.engine == "sglang"
    assert notes == []


def test_an_engine_told_otherwise_is_believed_and_noted(server: Server) -> None:
    server.serves("vllm")
    endpoint, notes = _serve(server.url, engine="sglang")
    assert endpoint.engine == "sglang"
    assert "says that it is vllm" in notes[0]


def test_the_model_is_chosen_among_several(server: Server) -> None:
    server.serves("vllm", "qwen", "baidu/unlimited_ocr", "other")
    assert _serve(server.url)[0].model == "baidu/unlimited_ocr"
    start.stop_all()
    server.serves("vllm", "qwen", "other")
    endpoint, notes = _serve(server.url)
    assert endpoint.model == "qwen"
    assert "qwen, other" in notes[0]
    start.stop_all()
    server.answers["/v1/models"] = (200, {"data": []})
    with pytest.raises(EndpointError, match="serves no model"):
        start.serve(server.url, engine="vllm")


def test_tags_that_are_dropped_on_the_way_are_noted(server: Server) -> None:
    server.serves("vllm")
    server.answers["/v1/chat/completions"] = (200, _completion("title [120, 200, 700, 800]Ready"))
    assert "without its tags" in _serve(server.url)[1][0]
    start.stop_all()
    server.answers["/v1/chat/completions"] = (200, _completion(""))
    assert "empty answer" in _serve(server.url)[1][0]
    start.stop_all()
    server.answers["/v1/chat/completions"] = (200, _completion(ANSWER.replace("Ready", "Reedy")))
    assert "was read as" in _serve(server.url)[1][0]


def test_a_guard_that_is_refused_is_left_out_from_then_on(server: Server) -> None:
    server.serves("sglang")
    refusal = "The server is not configured to enable custom logit processor."

    def answer(request: Any) -> Any:
        refused = "custom_logit_processor" in request[2]
        return (400, {"message": refusal}) if refused else (200, _completion(ANSWER))

    server.answers["/v1/chat/completions"] = answer
    endpoint, notes = _serve(server.url)
    assert "repetition guard" in notes[0]
    assert "custom_logit_processor" not in endpoint.profile.request(["data:,"])


@pytest.mark.parametrize("value", ["hf_fake_leak_123", " hf_fake_leak_123\r\n"])
def test_the_key_comes_from_the_named_variable_and_shows_nowhere(
    server: Server, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("MY_KEY", value)
    monkeypatch.setenv("GATE", "gate_fake_leak\n")
    server.serves("vllm")
    endpoint, _ = _serve(server.url, api_key_env="MY_KEY", headers={"X-Gate": "GATE"})
    for _path, headers, _body in server.requests:
        assert headers["Authorization"] == "Bearer hf_fake_leak_123"
        assert headers["X-Gate"] == "gate_fake_leak"
    assert "leak" not in repr(endpoint) + repr(vars(endpoint)) + str(endpoint.describe())
    assert endpoint.credential() == "hf_fake_leak_123"


def test_the_key_of_a_class_goes_to_its_own_endpoint_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UOCR_KEY", "class_fake_leak")
    server.serves("vllm")
    _serve(server.url)
    assert server.last[1]["Authorization"] == "Bearer class_fake_leak"
    start.stop_all()
    monkeypatch.setenv("UOCR_ENDPOINT", "https://class.example/v1")
    _serve(server.url)
    assert "Authorization" not in server.last[1]


def test_the_environments_endpoint_is_the_default(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert start.current() is None
    monkeypatch.setenv("UOCR_ENDPOINT", server.url)
    server.serves("vllm")
    endpoint = start.current()
    assert endpoint is not None
    assert endpoint.base_url == server.url + "/v1"
    assert start.serve() is endpoint


def test_a_key_is_not_sent_over_an_open_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "fake_leak")
    with pytest.raises(OptionError, match="is not sent to"):
        start.serve("http://192.0.2.1:8000", api_key_env="MY_KEY")
    with pytest.raises(OptionError, match="MY_OTHER_KEY is not set"):
        start.serve("https://192.0.2.1", api_key_env="MY_OTHER_KEY")


@pytest.mark.parametrize("value", ["fake\nleak", "fake_leak_\u2019", "fake\x1bleak"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("MY_KEY", value)
    monkeypatch.setenv("UOCR_KEY", value)
    for options in ({"api_key_env": "MY_KEY"}, {}):
        with pytest.raises(OptionError, match="cannot be a key") as caught:
            start.serve("https://192.0.2.1", **options)
        assert "leak" not in str(caught.value)


def test_nothing_listens_there() -> None:
    port = free_port()
    with pytest.raises(EndpointError) as caught:
        start.serve(f"http://127.0.0.1:{port}")
    assert caught.value.what == f"Nothing answers at http://127.0.0.1:{port}/v1."
    assert "refused" in caught.value.why
    assert start.find("url").state == "failed"


@pytest.mark.parametrize(
    ("answer", "what", "why"),
    [
        ((401, {"error": {"message": "Bad key: hf_fake_leak_123"}}), "refused the key", "401. Bad key: ***"),
        ((403, b"no"), "refused the key", "403."),
        (
            (404, {"detail": "Not Found"}),
            "is not an OpenAI-compatible server",
            "/v1/models is not there (404). Not Found",
        ),
        ((200, b"<html>"), "is not an OpenAI-compatible server", "a list of models"),
        ((200, {"models": []}), "is not an OpenAI-compatible server", "a list of models"),
        ((503, b"starting"), "did not answer a first request", "503."),
        ((302, b"", ("Location", "http://192.0.2.1/")), "is not where the endpoint is", "redirects are not followed"),
    ],
)
def test_each_wrong_address_has_its_message(
    server: Server, monkeypatch: pytest.MonkeyPatch, answer: Any, what: str, why: str
) -> None:
    monkeypatch.setenv("MY_KEY", "hf_fake_leak_123")
    server.answers["/v1/models"] = answer
    with pytest.raises(EndpointError) as caught:
        start.serve(server.url, api_key_env="MY_KEY")
    assert what in caught.value.what
    assert why in caught.value.why
    assert caught.value.next
    assert "leak" not in str(caught.value)
    assert len(server.requests) == 1


def test_a_missing_key_is_asked_for(server: Server) -> None:
    server.answers["/v1/models"] = (401, {"error": {"message": "Unauthorized"}})
    with pytest.raises(EndpointError, match="asks for a key"):
        start.serve(server.url)


def test_a_first_request_that_is_refused_says_so(server: Server) -> None:
    server.serves("vllm")
    server.answers["/v1/chat/completions"] = (400, {"error": {"message": "This model's maximum context length is 10."}})
    with pytest.raises(EndpointError, match="did not answer a first request") as caught:
        start.serve(server.url)
    assert "maximum context length" in caught.value.why
    server.answers["/v1/chat/completions"] = (200, {"odd": 1})
    with pytest.raises(EndpointError, match="not an OpenAI-compatible server"):
        start.serve(server.url)


def test_the_same_address_again_is_looked_at_again(server: Server) -> None:
    server.serves("vllm")
    first, _ = _serve(server.url)
    asked = len(server.requests)
    assert start.serve(server.url + "/v1") is first
    assert [path for path, _, _ in server.requests[asked:]] == ["/v1/models"]
    server.answers["/v1/models"] = (502, b"")
    with pytest.raises(EndpointError, match="502"):
        start.serve(server.url)
    assert first.state == "failed"
    server.serves("vllm")
    assert start.serve(server.url).state == "ready"
