"""The engine `transformers` on a tiny model of the real one's kind, which is made and taught here."""

from __future__ import annotations

import base64
import io
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.errors import EndpointError
from uocr_nb.serving import start
from uocr_nb.serving.probe import test_page as draw_page

if TYPE_CHECKING:
    from collections.abc import Iterator

for _module in ("torch", "transformers"):
    pytest.importorskip(_module)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # torch and transformers warn of their own affairs
]

ONE = "<|det|>table [120, 345, 678, 999]<|/det|><table><tr><td>Ready é汉</td></tr></table>"
STRIPPED = "table [120, 345, 678, 999]<table>Ready é汉</table>"
TWO = "<PAGE>\n<|det|>text [1, 2, 3, 4]<|/det|>one\n<PAGE>\n<|det|>list [5, 6, 7, 8]<|/det|>two"


def _page() -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(base64.b64decode(draw_page().partition(",")[2]))).convert("RGB")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the taught model."""
    from tests.helpers import tiny_model

    place = tmp_path_factory.mktemp("model")
    model, processor = tiny_model.make(place)
    tiny_model.teach(
        model,
        processor,
        [([_page()], "document parsing.", ONE), ([_page()] * 2, "Multi page parsing.", TWO)],
    )
    model.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def real(folder: Path) -> Any:
    from uocr_nb.local_server.real_model import RealModel

    return RealModel(str(folder))


def _generate(real: Any, pages: int = 1, stop: Any = None, **changes: Any) -> Any:
    from uocr_nb.local_server.real_model import Wish

    asked: dict[str, Any] = {
        "prompt": "document parsing." if pages == 1 else "Multi page parsing.",
        "tiles": pages == 1,
        "stripped": False,
        "max_tokens": 400,
        "guard": (35, 128),
    }
    pieces: list[str] = []
    done = real.generate([_page()] * pages, Wish(**asked | changes), pieces.append, stop or threading.Event())
    return "".join(pieces), pieces, done


def test_one_page_comes_as_it_is_generated(real: Any) -> None:
    text, pieces, done = _generate(real)
    assert text == ONE
    assert len(pieces) > 40
    assert "�" not in "".join(pieces)
    assert not done.cut
    assert done.answered > len(ONE) - 30


def test_special_tokens_are_left_out_when_asked(real: Any) -> None:
    assert _generate(real, stripped=True)[0] == STRIPPED


def test_several_pages_are_read_whole(real: Any) -> None:
    one, two = _generate(real)[2], _generate(real, pages=2)
    assert two[0] == TWO
    # 3 tiles of a 480 x 160 page come on top for one page alone.
    assert two[2].asked < 2 * one.asked


def test_an_answer_that_is_too_long_is_cut_and_says_so(real: Any) -> None:
    text, _, done = _generate(real, max_tokens=5)
    assert ONE.startswith(text)
    assert (done.answered, done.cut) == (5, True)


def test_the_guard_refuses_repetition(real: Any) -> None:
    assert _generate(real, guard=(1, 400))[0] != ONE
    assert _generate(real)[0] == ONE


def test_it_stops_when_nobody_waits(real: Any) -> None:
    stop = threading.Event()
    stop.set()
    assert _generate(real, stop=stop)[2].answered == 1


def test_a_question_that_is_too_long_is_refused_with_the_engines_words(real: Any) -> None:
    from uocr_nb.local_server.faults import Fault

    with pytest.raises(Fault, match="maximum context length is 1024 tokens") as caught:
        _generate(real, prompt="document parsing. " * 80)
    assert caught.value.status == 400


def test_a_model_of_another_type_is_refused_before_its_weights_are_read(folder: Path, tmp_path: Path) -> None:
    from uocr_nb.local_server.real_model import RealModel

    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "unlimited-ocr"}))
    with pytest.raises(EndpointError, match="not a model that this engine can load") as caught:
        RealModel(str(tmp_path))
    assert "older layout" in caught.value.why
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(EndpointError, match="could not be loaded"):
        RealModel(str(tmp_path))


def test_the_newest_revision_is_looked_up_and_recorded(
    real: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    import transformers

    from uocr_nb.local_server.real_model import RealModel

    assert real.revision is None  # a folder has none
    asked: list[Any] = []

    def from_folder(load: Any) -> Any:
        def loaded(name: str, **options: Any) -> Any:
            revision = options.pop("revision", None)
            if name == "baidu/Unlimited-OCR":  # the loaders call one another with the folder
                asked.append(revision)
            return load(str(folder), **options)

        return loaded

    for owner, name in (
        (transformers.PretrainedConfig, "get_config_dict"),
        (transformers.AutoProcessor, "from_pretrained"),
        (transformers.AutoModelForImageTextToText, "from_pretrained"),
    ):
        monkeypatch.setattr(owner, name, from_folder(getattr(owner, name)))
    info = type("Info", (), {"sha": "0123abc"})()
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: info)
    assert RealModel("baidu/Unlimited-OCR").revision == "0123abc"
    assert asked == ["0123abc"] * 3
    assert RealModel("baidu/Unlimited-OCR", "v1").revision == "v1"


def test_torchvision_is_imported_beside_any_torch() -> None:
    from uocr_nb.local_server.torch_parts import choose_hardware, import_torch

    torch = import_torch()
    assert import_torch() is torch
    hardware = choose_hardware(torch)
    if hardware.device == "cpu":
        assert hardware.dtype in ("float32", "bfloat16")


class _Cuda:
    """Enough of a torch to choose by."""

    OutOfMemoryError = MemoryError

    def __init__(self, *, cuda: bool, bf16: bool, mps: bool) -> None:
        self.cuda = self
        self.backends = self
        self.mps = type("Mps", (), {"is_available": staticmethod(lambda: mps)})
        self.is_available = lambda: cuda
        self.is_bf16_supported = lambda **_: bf16
        self.get_device_name = lambda: "T4"


def test_the_number_format_is_the_devices_own() -> None:
    from uocr_nb.local_server.torch_parts import choose_hardware

    assert choose_hardware(_Cuda(cuda=True, bf16=True, mps=False)).dtype == "bfloat16"
    assert choose_hardware(_Cuda(cuda=True, bf16=False, mps=False)).dtype == "float16"
    assert choose_hardware(_Cuda(cuda=False, bf16=False, mps=True)).device == "mps"
    assert choose_hardware(_Cuda(cuda=False, bf16=False, mps=False)).device == "cpu"


# ------------------------------------------------------------------ as users start it
@pytest.fixture(scope="module")
def endpoint(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    changed = pytest.MonkeyPatch()
    changed.setenv("UOCR_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    changed.chdir(folder.parent)
    changed.setenv("HF_TOKEN", "hf_fake_leak")
    # Named by a path from here, which the engine's process does not stand in.
    events: list[Any] = []
    with start.serve("transformers", model=f"./{folder.name}", on_event=events.append) as running:
        running.events = events
        yield running
    changed.undo()


def _ask(endpoint: Any, pages: int = 1, **changes: Any) -> Any:
    body = endpoint.profile.request([draw_page()] * pages) | changes
    named = {key: body.pop(key) for key in ("model", "messages", "temperature")}
    return endpoint.openai().chat.completions.create(**named, **body.pop("named", {}), extra_body=body)


def test_it_is_started_by_the_process_host(endpoint: Any, folder: Path) -> None:
    assert [event.stage for event in endpoint.events if event.stage != "log"] == [
        "starting",
        "loading",
        "checking",
        "ready",
    ]
    model = endpoint.openai().models.list().data[0]
    assert (model.id, model.owned_by) == ("Unlimited-OCR", "uocr-transformers")
    assert any(f"Loading {folder}" in line for line in endpoint.logs)
    environ = Path(f"/proc/{endpoint._runs_on._who.pid}/environ")
    if environ.exists():
        assert b"hf_fake_leak" not in environ.read_bytes()


def test_it_answers_whole(endpoint: Any) -> None:
    answer = _ask(endpoint)
    assert answer.choices[0].message.content == ONE
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens > 40
    assert _ask(endpoint, skip_special_tokens=True).choices[0].message.content == STRIPPED
    assert _ask(endpoint, max_tokens=7).choices[0].finish_reason == "length"


def test_it_answers_in_pieces(endpoint: Any) -> None:
    stream = _ask(endpoint, named={"stream": True, "stream_options": {"include_usage": True}})
    chunks = list(stream)
    said = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(said) == ONE
    assert sum(map(bool, said)) > 40
    assert chunks[-1].usage.total_tokens > chunks[-1].usage.completion_tokens > 0


def test_it_reads_several_pages_in_one_request(endpoint: Any) -> None:
    assert _ask(endpoint, pages=2).choices[0].message.content == TWO


def test_a_mode_that_it_has_not_is_refused(endpoint: Any) -> None:
    import openai

    with pytest.raises(openai.BadRequestError, match="not supported by this engine"):
        _ask(endpoint, images_config={"image_mode": "tiny"})


def test_a_client_that_leaves_frees_the_model(endpoint: Any) -> None:
    stream = _ask(endpoint, named={"stream": True})
    next(iter(stream))
    stream.close()
    assert _ask(endpoint).choices[0].message.content == ONE


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(EndpointError, match="There is no model at /not/there"):
        start.serve("transformers", model="/not/there", another=True)


def test_a_model_that_cannot_be_loaded_ends_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UOCR_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(EndpointError, match="not a model that this engine can load") as caught:
        start.serve("transformers", model=str(tmp_path), another=True)
    assert "'llama'" in caught.value.why
