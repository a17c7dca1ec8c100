"""The endpoint over real sockets: raw HTTP and OpenAI's own client."""

from __future__ import annotations

import json
import re
import time

import httpx2
import pytest
from cpu_child import KEY, Running, body, data_url, font, page
from PIL import Image, ImageDraw

TAG = re.compile(r"<\|det\|>(\w+) \[(\d+), (\d+), (\d+), (\d+)\]<\|/det\|>([^<]*)")
HELLO = page("Hello reader 42", "A second line of words")


def test_health_needs_no_key_and_models_needs_one(running: Running) -> None:
    base = running.url.removesuffix("/v1")
    with httpx2.Client(trust_env=False) as client:
        assert client.get(f"{base}/health").status_code == 200
        refused = client.get(f"{running.url}/models")
    assert refused.status_code == 401
    assert "Unauthorized" in refused.json()["error"]["message"]
    with running.client() as client:
        model = client.get("/models").json()["data"][0]
    assert (model["id"], model["owned_by"]) == ("Unlimited-OCR", "uocr-cpu")


def test_one_page_is_tagged(running: Running) -> None:
    reply = running.ask(data_url(HELLO))
    choice = reply["choices"][0]
    blocks = TAG.findall(choice["message"]["content"])
    assert "Hello reader 42" in choice["message"]["content"]
    assert choice["finish_reason"] == "stop"
    assert all(0 <= int(v) <= 999 for block in blocks for v in block[1:5])
    assert not choice["message"]["content"].startswith("<PAGE>")
    usage = reply["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert reply["model"] == "Unlimited-OCR"


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_other_picture_formats(running: Running, kind: str) -> None:
    assert "Hello reader 42" in running.text(data_url(HELLO, kind))


def on_paper(text: str, at: tuple[int, int], height: int, size: tuple[int, int] = (1240, 1754)) -> Image.Image:
    """An otherwise empty page with one line of text."""
    picture = Image.new("RGB", size, "white")
    ImageDraw.Draw(picture).text(at, text, fill="black", font=font(height))
    return picture


@pytest.mark.parametrize(
    "picture",
    [
        on_paper("Contract number 4711 is void", (200, 800), 40),
        on_paper("Contract number 4711 is void", (200, 30), 24),
        on_paper("Contract number 4711 is void", (200, 1690), 24),
        on_paper("Contract number 4711 is void", (10, 10), 30, (560, 60)),
    ],
    ids=["middle", "top", "bottom", "cut-out"],
)
def test_a_lone_line_is_no_header(running: Running, picture: Image.Image) -> None:
    ((label, *_, text),) = TAG.findall(running.text(data_url(picture)))
    assert (label, text.strip()) == ("text", "Contract number 4711 is void")


@pytest.mark.parametrize(
    ("word", "at", "height", "size"),
    [
        ("Potato", (200, 160), 36, (1240, 1754)),
        ("Potato", (1000, 1690), 30, (1240, 1754)),
        ("Page1", (200, 160), 20, (1240, 1754)),
        ("Page 2", (72, 72), 12, (595, 842)),
        ("7", (200, 160), 36, (1240, 1754)),
    ],
)
def test_a_lone_word_is_read(
    running: Running, word: str, at: tuple[int, int], height: int, size: tuple[int, int]
) -> None:
    ((label, x1, y1, x2, y2, text),) = TAG.findall(running.text(data_url(on_paper(word, at, height, size))))
    assert (label, text.strip()) == ("text", word)
    assert abs(int(x1) - 999 * at[0] / size[0]) < 20
    assert abs((int(y1) + int(y2)) / 2 - 999 * (at[1] + 0.6 * height) / size[1]) < 15
    assert int(x1) < int(x2)


def test_a_lone_word_beside_other_text_is_read(running: Running) -> None:
    picture = on_paper("Contract number 4711 is void", (200, 800), 40)
    ImageDraw.Draw(picture).text((200, 160), "Potato", fill="black", font=font(36))
    assert [block[5].strip() for block in TAG.findall(running.text(data_url(picture)))] == [
        "Potato",
        "Contract number 4711 is void",
    ]


def test_specks_and_rules_are_no_words(running: Running) -> None:
    picture = Image.new("RGB", (1240, 1754), "white")
    draw = ImageDraw.Draw(picture)
    for n in range(60):
        x, y = n * 331 % 1200, n * 577 % 1700
        draw.ellipse((x, y, x + 1 + n % 4, y + 1 + n % 5), fill="black")
    draw.line((100, 900, 1100, 900), fill="black", width=3)
    assert TAG.findall(running.text(data_url(picture))) == []


def test_several_pages_each_open_with_a_mark(running: Running) -> None:
    other = page("Another page 7")
    text = running.text(
        data_url(HELLO), data_url(other), text="<image><image>Multi page parsing.", images_config={"image_mode": "base"}
    )
    pages = text.split("<PAGE>")
    assert pages[0] == ""
    assert "Hello reader" in pages[1]
    assert "Another page 7" in pages[2]
    assert running.text(data_url(other), text="Multi page parsing.").startswith("<PAGE>")


def test_stripped_when_special_tokens_are_skipped(running: Running) -> None:
    for more in ({"skip_special_tokens": True}, {"skip_special_tokens": None}):
        text = running.text(data_url(HELLO), **more)
        assert "<|det|>" not in text
        assert re.match(r"\w+ \[\d+, \d+, \d+, \d+\]Hello reader 42", text)


def test_openai_client_streams_the_same_answer(running: Running) -> None:
    import openai

    client = openai.OpenAI(base_url=running.url, api_key=KEY, max_retries=0)
    request = body(data_url(HELLO))
    request.pop("skip_special_tokens")
    extra = {"skip_special_tokens": False, "vllm_xargs": {"ngram_size": 35, "window_size": 128}}
    with client:
        whole = client.chat.completions.create(**request, extra_body=extra, logprobs=True)
        chunks = list(
            client.chat.completions.create(
                **request, extra_body=extra, stream=True, stream_options={"include_usage": True}, logprobs=True
            )
        )
    content = whole.choices[0].message.content
    assert content == "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert chunks[-1].usage == whole.usage
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    pieces = whole.choices[0].logprobs.content
    assert "".join(piece.token for piece in pieces) == content
    assert b"".join(bytes(piece.bytes) for piece in pieces).decode() == content
    assert len(pieces) == whole.usage.completion_tokens
    assert all(piece.logprob <= 0 for piece in pieces)
    assert any(piece.logprob < 0 for piece in pieces)


def test_stream_ends_with_done_and_comes_block_by_block(running: Running) -> None:
    with (
        running.client() as client,
        client.stream("POST", "/chat/completions", json=body(data_url(HELLO), stream=True)) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = [line.removeprefix("data: ") for line in reply.iter_lines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    deltas = [json.loads(event)["choices"][0]["delta"].get("content") for event in events[:-1]]
    assert all(text.lstrip("\n").startswith("<|det|>") for text in deltas if text)


def test_max_tokens_cut_the_answer(running: Running) -> None:
    whole = running.text(data_url(HELLO))
    for name in ("max_tokens", "max_completion_tokens"):
        reply = running.ask(data_url(HELLO), **{name: 12})
        assert reply["choices"][0]["finish_reason"] == "length"
        assert reply["usage"]["completion_tokens"] == 12
        assert whole.startswith(reply["choices"][0]["message"]["content"])


WRONG = {
    "no image": ({}, (), 400, "no image"),
    "too many marks": ({"text": "<image><image>document parsing."}, (HELLO,), 400, "Found more '<image>' placeholders"),
    "unknown mode": ({"images_config": {"image_mode": "x"}}, (HELLO,), 400, "Unknown image_mode 'x'. Supported: tiny"),
    "mode as text": ({"images_config": "base"}, (HELLO,), 400, "images_config"),
    "gundam for two": (
        {"images_config": {"image_mode": "gundam"}},
        (HELLO, HELLO),
        400,
        (
            "image_mode='gundam' is not supported with multiple images (got 2 images). "
            "Please use one of: ['tiny', 'small', 'base']"
        ),
    ),
    "guard": ({"vllm_xargs": {"ngram_size": "35"}}, (HELLO,), 400, "strictly positive integer"),
    "max_tokens": ({"max_tokens": 40000}, (HELLO,), 400, "cannot be greater than"),
    "max_tokens as text": ({"max_tokens": "5"}, (HELLO,), 400, 'max_tokens must be an integer, got "5".'),
    "max_tokens of nothing": ({"max_tokens": 0}, (HELLO,), 400, "max_tokens must be at least 1, got 0."),
    "parts that are numbers": (
        {"messages": [{"role": "user", "content": [1, 2]}]},
        (),
        400,
        "Each content part must be an object with a type, got 1.",
    ),
    "a part of no type": ({"messages": [{"role": "user", "content": [{}]}]}, (), 400, "without a type"),
    "n": ({"n": 2}, (HELLO,), 400, "n=1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_requests_are_told_why(running: Running, name: str) -> None:
    more, pictures, status, words = WRONG[name]
    with running.client() as client:
        reply = client.post("/chat/completions", json=body(*map(data_url, pictures), **more))
    assert reply.status_code == status
    error = reply.json()["error"]
    assert words in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/x.png", "file:///etc/passwd", "data:image/png;base64,AAAA", "data:image/png;base64,%%%"]
)
def test_only_pictures_in_data_urls(running: Running, url: str) -> None:
    with running.client() as client:
        reply = client.post("/chat/completions", json=body(url))
    assert reply.status_code == 400
    assert not re.search(r"0x[0-9a-f]{4}|BytesIO", reply.json()["error"]["message"])


def test_bodies_that_are_no_request(running: Running) -> None:
    with running.client() as client:
        for content in (b"", b"{", b"[]", b"[" * 100_000, b'{"messages": 3}'):
            assert client.post("/chat/completions", content=content).status_code == 400
        wrong = client.get("/chat/completions")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert wrong.json()["error"]["type"] == "MethodNotAllowedError"
        assert client.get("/nothing").status_code == 404


def test_too_many_pixels_and_bytes_are_413(running: Running) -> None:
    bomb = data_url(Image.new("1", (20000, 20000), 1))
    with running.client() as client:
        assert client.post("/chat/completions", json=body(bomb)).status_code == 413
        with pytest.raises(httpx2.HTTPError):
            # The refusal comes before the body is read; whether it is seen depends on the socket's buffers.
            client.post("/chat/completions", content=b"x" * 100_000_000).raise_for_status()


def test_foreign_hosts_and_pages_are_refused(running: Running) -> None:
    with running.client() as client:
        port = httpx2.URL(running.url).port
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1"):
            assert client.get("/models", headers={"Host": host}).status_code == 403
        for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert client.get("/models", headers={"Host": host}).status_code == 200
        assert client.get("/models", headers={"Origin": "http://evil.example"}).status_code == 403
        assert client.get("/models", headers={"Origin": "null"}).status_code == 403
        assert client.get("/models", headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert client.get("/models", headers={"Authorization": "Bearer schl\u00fcssel".encode()}).status_code == 401


def test_a_request_whose_client_left_is_dropped(running: Running) -> None:
    slow = data_url(page(*[f"Many words on line number {n} of this page" for n in range(40)], size=(1200, 2500)))
    log = running.child.log
    seen = len(log)
    for stream in (True, False):
        with running.client() as client, pytest.raises(httpx2.TimeoutException):
            client.post("/chat/completions", json=body(slow, slow, stream=stream), timeout=0.3)
    deadline = time.monotonic() + 60
    while sum("client gone" in line for line in log[seen:]) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sum("client gone" in line for line in log[seen:]) == 2
    assert "Hello reader" in running.text(data_url(HELLO))
    assert not [line for line in log[seen:] if "Traceback" in line or "ERROR" in line]


def test_health_answers_while_a_page_is_read(running: Running) -> None:
    slow = data_url(page(*[f"Many words on line number {n} of this page" for n in range(30)], size=(1200, 1900)))
    base = running.url.removesuffix("/v1")
    with (
        running.client() as client,
        client.stream("POST", "/chat/completions", json=body(slow, stream=True)) as reply,
        httpx2.Client(trust_env=False) as other,
    ):
        lines = reply.iter_lines()
        next(lines)
        began = time.monotonic()
        assert other.get(f"{base}/health").status_code == 200
        assert time.monotonic() - began < 2
        assert any("number 29" in line for line in lines)
