"""The queue, the writer, odd pictures, and the ways in which a start ends."""

from __future__ import annotations

import asyncio
import io
import socket
import sys

import numpy as np
import pytest
from cpu_child import Child, Running, data_url, page
from PIL import Image

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Block
from uocr_nb.local_server.answer import Writer
from uocr_nb.local_server.engine import ReadBlock
from uocr_nb.local_server.fairness import FairQueue
from uocr_nb.local_server.faults import Fault
from uocr_nb.local_server.images import decode
from uocr_nb.local_server.run import Settings


def png(picture: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", **options)
    return buffer.getvalue()


def test_clients_take_turns() -> None:
    async def run() -> list[str]:
        queue, served = FairQueue(), []

        async def one(client: str) -> None:
            async with queue.turn(client):
                served.append(client)
                await asyncio.sleep(0)

        await asyncio.gather(*(one(client) for client in "aaaabbc"))
        assert queue.waiting == 0
        return served

    assert asyncio.run(run()) == list("aabcaba") or asyncio.run(run()) == list("aabcaba"[::1])


def test_the_queue_is_bounded_and_a_place_is_not_lost() -> None:
    async def run() -> None:
        queue = FairQueue(1, longest=1)
        async with queue.turn("a"):
            waiting = asyncio.create_task(_enter(queue))
            await asyncio.sleep(0)
            with pytest.raises(Fault) as caught:
                queue.refuse_when_full()
            assert caught.value.status == 503
            assert caught.value.response().headers["Retry-After"]
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(1), queue.turn("c"):
            assert queue.waiting == 0

    async def _enter(queue: FairQueue) -> None:
        async with queue.turn("b"):
            pass

    asyncio.run(run())


def test_tags_printed_on_a_page_stay_text() -> None:
    text = "see <|det|>title [1, 2, 3, 4]<|/det|> and <PAGE> there"
    block = ReadBlock(Block("text", text, (1, 2, 3, 4)), ((text, 0.9),))
    written = "".join(piece.text for piece in Writer(1000, stripped=False).block(block))
    (parsed,) = parse_answer(written)
    assert [(one.label, one.box) for one in parsed.blocks] == [("text", (1, 2, 3, 4))]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_mode_becomes_bgr(mode: str) -> None:
    picture = (
        Image.new("RGB", (40, 30), "white").convert("L").convert("I")
        if mode == "I;16"
        else Image.new("RGB", (40, 30), "white").convert(mode)
    )
    kind = "TIFF" if mode in ("CMYK", "F", "I") else "PNG"
    buffer = io.BytesIO()
    (picture.convert("I;16") if mode == "I;16" else picture).save(buffer, kind)
    pixels = decode(buffer.getvalue())
    assert pixels.shape == (30, 40, 3)
    assert pixels.dtype == np.uint8


def test_clear_becomes_white_and_exif_turns() -> None:
    clear = decode(png(Image.new("RGBA", (40, 30), (0, 0, 0, 0))))
    assert clear.min() == 255
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode(png(Image.new("RGB", (40, 30)), exif=exif)).shape == (40, 30, 3)


def test_huge_pictures_are_reduced() -> None:
    assert max(decode(png(Image.new("L", (9000, 6000), 255))).shape) <= 3508
    with pytest.raises(Fault):
        decode(png(Image.new("1", (9000, 6000), 1)), low_memory=True)


@pytest.mark.parametrize("size", [(1, 1), (3, 900), (20000, 24), (24, 20000), (1000, 1400)])
def test_odd_pictures_have_an_answer(running: Running, size: tuple[int, int]) -> None:
    running.text(data_url(Image.new("L", size, 255)))
    running.text(data_url(Image.new("RGBA", size, (0, 0, 0, 255))))


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turned_pages_are_read_and_boxes_stay_with_the_picture(running: Running, degrees: int) -> None:
    lines = [f"Line number {n} of an ordinary page" for n in range(1, 9)]
    upright = page(*lines, size=(900, 1200), height=28)
    turned = upright.rotate(degrees, expand=True)
    (parsed,) = parse_answer(running.text(data_url(turned)))
    text = " ".join(block.text for block in parsed.blocks)
    assert all(one in text.replace("\n", " ") for one in lines)
    ink = np.nonzero(np.asarray(turned.convert("L")) < 128)
    box = parsed.blocks[0].pixels(turned.size)
    assert box is not None
    first = np.array([ink[1].min(), ink[0].min()])
    assert abs(min(block.pixels(turned.size)[0] for block in parsed.blocks) - first[0]) < 20
    assert abs(min(block.pixels(turned.size)[1] for block in parsed.blocks) - first[1]) < 20


def test_a_taken_port_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        child = Child(key="k", port=taken.getsockname()[1])
        event = child.event()
        assert child.close() == 3
    assert event["event"] == "failed"
    assert str(taken) not in event["what"]
    assert "taken" in event["why"]
    assert event["next"]


def test_bad_settings_are_told_and_the_key_is_not_shown() -> None:
    child = Child(port=0)
    assert child.event()["event"] == "failed"
    assert child.close() == 3
    assert "secret" not in repr(Settings("secret"))


def test_the_end_of_stdin_ends_the_process() -> None:
    child = Child(key="k", port=0)
    assert child.event()["event"] == "listening"
    assert child.close() == 0


def test_missing_packages_name_the_pip_line(tmp_path: object) -> None:
    import subprocess

    code = (
        "import sys; sys.modules['rapidocr'] = None\n"
        "from uocr_nb.local_server.ppocr import TextReader\n"
        "from uocr_nb.errors import MissingExtraError\n"
        "try: TextReader(1)\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=str(tmp_path),
        env={"PYTHONPATH": str(__import__("cpu_child").ROOT)},
    )
    assert 'pip install "uocr_nb[cpu]"' in done.stdout
