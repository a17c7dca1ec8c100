"""Pictures of rarer kinds, damaged ones, and those made to cost."""

from __future__ import annotations

import io
import struct
import time
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageDraw, TiffImagePlugin

from uocr_nb.errors import SourceError
from uocr_nb.sources import PageError, PageImage, Renderer, RenderSpec, resolve

if TYPE_CHECKING:
    from pathlib import Path

Encode = Callable[..., bytes]

TURNS = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def draw(renderer: Renderer, item: object, number: int = 1, **spec: object) -> PageImage:
    (source,) = resolve(item)
    return renderer.render(source, number, RenderSpec(**spec))  # type: ignore[arg-type]


def level(page: PageImage, x: int, y: int) -> int:
    with Image.open(page.file) as image:
        return image.convert("L").getpixel((x, y))  # type: ignore[return-value]


@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("form", ["HEIF", "AVIF"])
def test_orientation_of_phone_formats(
    renderer: Renderer, mark: Image.Image, encode: Encode, form: str, orientation: int
) -> None:
    if form == "HEIF":
        pytest.importorskip("pillow_heif").register_heif_opener()
    exif = Image.Exif()
    exif[0x0112] = orientation
    turn = TURNS[orientation]
    page = draw(renderer, encode(mark if turn is None else mark.transpose(turn), form, exif=exif))
    assert page.size == (400, 300)
    assert level(page, 50, 50) < 100
    assert level(page, 350, 250) > 240


def test_pictures_of_one_heic_are_pages(renderer: Renderer, mark: Image.Image) -> None:
    plugin = pytest.importorskip("pillow_heif")
    both = plugin.from_pillow(mark)
    both.add_from_pillow(Image.new("RGB", (200, 100), "black"))
    buffer = io.BytesIO()
    both.save(buffer)
    (source,) = resolve(buffer.getvalue())
    assert renderer.open(source).pages == 2
    assert [renderer.render(source, number).size for number in (2, 1)] == [(200, 100), (400, 300)]


@pytest.mark.parametrize("form", ["HEIF", "AVIF", "WEBP", "TIFF"])
def test_formats_that_need_their_end_say_that_they_are_cut_off(
    renderer: Renderer, mark: Image.Image, encode: Encode, form: str
) -> None:
    if form == "HEIF":
        pytest.importorskip("pillow_heif").register_heif_opener()
    options = {"compression": "tiff_lzw"} if form == "TIFF" else {}
    data = encode(mark, form, **options)
    (source,) = resolve(data[: len(data) * 2 // 3])
    with pytest.raises(SourceError) as caught:
        renderer.render(source, 1)
    assert "damaged or cut off" in caught.value.why


@pytest.mark.parametrize("form", ["GIF", "JPEG2000"])
def test_where_nothing_is_left_the_page_fails(renderer: Renderer, encode: Encode, form: str) -> None:
    rng = np.random.default_rng(0)
    data = encode(Image.fromarray(rng.integers(0, 255, (300, 400), dtype=np.uint8)), form)
    with pytest.raises(SourceError, match="cannot be"):
        draw(renderer, data[: 1000 if form == "GIF" else 400])


def tiff(values: np.ndarray, kind: int, photometric: int = 1, extra: tuple[int, ...] = ()) -> bytes:
    """A TIFF of the plainest form, with samples of any kind (1 unsigned, 2 signed, 3 floating)."""
    height, width = values.shape[:2]
    samples = values.shape[2] if values.ndim == 3 else 1
    data = values.tobytes()
    entries: list[tuple[int, str, list[int]]] = [
        (256, "I", [width]),
        (257, "I", [height]),
        (258, "H", [values.dtype.itemsize * 8] * samples),
        (259, "H", [1]),
        (262, "H", [photometric]),
        (273, "I", [8]),
        (277, "H", [samples]),
        (278, "I", [height]),
        (279, "I", [len(data)]),
        *([(338, "H", list(extra))] if extra else []),
        (339, "H", [kind] * samples),
    ]
    at = 8 + len(data)
    behind = at + 2 + 12 * len(entries) + 4
    table, rest = struct.pack("<H", len(entries)), b""
    for tag, form, numbers in entries:
        packed = struct.pack(f"<{len(numbers)}{form}", *numbers)
        if len(packed) > 4:
            packed, rest = struct.pack("<I", behind + len(rest)), rest + packed
        table += struct.pack("<HHI", tag, {"H": 3, "I": 4}[form], len(numbers)) + packed.ljust(4, b"\0")
    return struct.pack("<2sHI", b"II", 42, at) + data + table + bytes(4) + rest


PAPER = np.full((80, 300), 60000, np.uint16)
PAPER[30:50, 50:250] = 3000
UNIT = PAPER.astype(np.float32) / 65535
HURT = UNIT.copy()
HURT[0, 0], HURT[0, 1] = np.nan, np.inf


@pytest.mark.parametrize(
    "data",
    [
        tiff(PAPER, 1),
        tiff(65535 - PAPER, 1, photometric=0),
        tiff(np.dstack([PAPER] * 3), 1, photometric=2),
        tiff(np.dstack([PAPER] * 3 + [np.full_like(PAPER, 65535)]), 1, photometric=2, extra=(2,)),
        tiff((PAPER // 2).astype(np.int16), 2),
        tiff(PAPER.astype(np.uint32) * 65537, 1),
        tiff(PAPER.astype(np.int32) * 30000, 2),
        tiff(UNIT, 3),
        tiff(UNIT * 255, 3),
        tiff(UNIT * 65535, 3),
        tiff(UNIT * 0.01, 3),
        tiff(UNIT * 2 - 1, 3),
        tiff(HURT, 3),
        tiff(PAPER // 2000, 1),
        tiff(
            np.dstack([np.zeros((80, 300), np.uint8), np.where(PAPER < 5000, 255, 0).astype(np.uint8)]), 1, extra=(2,)
        ),
    ],
    ids=lambda data: str(len(data)),
)
def test_deep_tiffs_keep_ink_and_paper(renderer: Renderer, data: bytes) -> None:
    page = draw(renderer, data)
    assert level(page, 10, 10) > 180
    assert level(page, 150, 40) < 100
    assert not page.blank


def test_kinds_of_tiff_that_are_not_read(renderer: Renderer) -> None:
    for values in (UNIT.astype(np.float64), np.dstack([UNIT] * 3)):
        with pytest.raises(SourceError, match="cannot be opened as a picture") as caught:
            draw(renderer, tiff(values, 3, photometric=values.ndim - 1))
        assert "a kind of TIFF that is not read" in caught.value.why


def png_of(rows: np.ndarray, bits: int, colour: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], bits, colour, 0, 0, 0)
    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def test_deep_pngs_keep_ink_and_paper(renderer: Renderer, encode: Encode) -> None:
    full = np.full_like(PAPER, 65535)
    items = [
        png_of(np.dstack([PAPER] * 3), 16, 2),
        png_of(np.dstack([PAPER, full]), 16, 4),
        png_of(np.dstack([PAPER] * 3 + [full]), 16, 6),
        encode(Image.fromarray(PAPER), "JPEG2000"),
    ]
    for data in items:
        page = draw(renderer, data)
        assert level(page, 10, 10) > 220
        assert level(page, 150, 40) < 30


def test_lab_and_profiles(renderer: Renderer, mark: Image.Image, encode: Encode) -> None:
    srgb = ImageCms.createProfile("sRGB")
    lab = ImageCms.profileToProfile(mark, srgb, ImageCms.createProfile("LAB"), outputMode="LAB")
    assert lab is not None
    cmyk = mark.convert("CMYK")
    plain = encode(cmyk, "JPEG")
    adobe = plain.index(b"\xff\xee")
    unmarked = plain[:adobe] + plain[adobe + 2 + int.from_bytes(plain[adobe + 2 : adobe + 4], "big") :]
    wrong = ImageCms.ImageCmsProfile(srgb).tobytes()
    for data in (
        encode(lab, "TIFF"),
        plain,
        unmarked,
        encode(cmyk, "JPEG", icc_profile=b"junk" * 50),
        encode(cmyk, "TIFF", icc_profile=wrong),
        encode(mark, "PNG", icc_profile=b"junk" * 50),
    ):
        page = draw(renderer, data)
        with Image.open(page.file) as image:
            red, green, blue = image.convert("RGB").getpixel((50, 50))  # type: ignore[misc]
        assert red > 150
        assert max(green, blue) < 90
        assert level(page, 350, 250) > 240


def test_animations_show_their_first_frame_and_say_so(renderer: Renderer, mark: Image.Image, encode: Encode) -> None:
    later = [Image.new("RGB", mark.size, colour) for colour in ("lime", "blue")]
    for form in ("PNG", "AVIF"):
        (source,) = resolve(encode(mark, form, save_all=True, append_images=later, duration=100))
        opened = renderer.open(source)
        assert opened.pages == 1
        assert opened.notes == ("The picture moves: the first of its 3 frames is read.",)
        assert level(renderer.render(source, 1), 50, 50) < 100


def test_frames_of_any_size_and_what_is_no_page(renderer: Renderer, tmp_path: Path) -> None:
    file = tmp_path / "mixed.tif"
    kinds: list[tuple[tuple[int, int], dict[int, int]]] = [
        ((600, 400), {}),
        ((60, 40), {254: 1}),
        ((400, 600), {254: 2}),
        ((40, 60), {255: 2}),
        ((400, 600), {254: 4}),
        ((50, 50), {255: 3}),
    ]
    with TiffImagePlugin.AppendingTiffWriter(str(file), new=True) as writer:
        for size, tags in kinds:
            directory = TiffImagePlugin.ImageFileDirectory_v2()
            for tag, value in tags.items():
                directory[tag] = value
            Image.new("RGB", size, "red").save(writer, "TIFF", tiffinfo=directory)
            writer.newFrame()
    (source,) = resolve(file)
    pages = renderer.open(source).pages
    assert [renderer.render(source, number).size for number in range(1, pages + 1)] == [
        (600, 400),
        (400, 600),
        (50, 50),
    ]


@pytest.mark.parametrize("back_to", [0, 1])
def test_directories_that_loop_end(renderer: Renderer, encode: Encode, back_to: int) -> None:
    frames = [Image.new("L", (100, 60 + step), 40 * step) for step in range(3)]
    data = bytearray(encode(frames[0], "TIFF", save_all=True, append_images=frames[1:]))
    places, at = [], 4
    while start := int.from_bytes(data[at : at + 4], "little"):
        places.append(start)
        at = start + 2 + 12 * int.from_bytes(data[start : start + 2], "little")
    data[at : at + 4] = places[back_to].to_bytes(4, "little")
    began = time.monotonic()
    (source,) = resolve(bytes(data))
    assert renderer.open(source).pages == 3
    assert renderer.render(source, 3).size == (100, 62)
    assert time.monotonic() - began < 5


def jpeg_header(width: int, height: int, *, progressive: bool) -> bytes:
    """A JPEG that claims a size and holds next to nothing."""
    buffer = io.BytesIO()
    Image.new("L", (64, 64), 90).save(buffer, "JPEG", progressive=progressive)
    data = bytearray(buffer.getvalue())
    frame = data.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


@pytest.mark.parametrize("form", ["progressive", "baseline", "heif", "gif", "tiff"])
def test_bombs_of_other_formats(tmp_path: Path, encode: Encode, form: str) -> None:
    if form == "gif":
        data = b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\x80\0\0" + b"\0\0\0\xff\xff\xff"
        data += b"," + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0) + b"\x02\x02\x44\x01\0;"
    elif form == "tiff":
        data = bytearray(encode(Image.new("L", (64, 64)), "TIFF"))
        for tag in (256, 257):
            at = data.index(struct.pack("<HHI", tag, 3, 1)) if struct.pack("<HHI", tag, 3, 1) in data else -1
            at = at if at >= 0 else data.index(struct.pack("<HHI", tag, 4, 1))
            data[at : at + 12] = struct.pack("<HHII", tag, 4, 1, 60000)
        data = bytes(data)
    elif form == "heif":
        plugin = pytest.importorskip("pillow_heif")
        plugin.register_heif_opener()
        data = encode(Image.new("L", (64, 64)), "HEIF").replace(
            b"ispe\0\0\0\0" + struct.pack(">II", 64, 64), b"ispe\0\0\0\0" + struct.pack(">II", 30000, 30000)
        )
    else:
        data = jpeg_header(65000, 65000, progressive=form == "progressive")
    (source,) = resolve(data)
    with Renderer(folder=tmp_path) as renderer:
        renderer.open(resolve(encode(Image.new("L", (64, 64)), "PNG"))[0])
        began = time.monotonic()
        with pytest.raises(SourceError) as caught:
            renderer.render(source, 1)
        assert time.monotonic() - began < 1.5
    assert "too large" in caught.value.what or "damaged" in caught.value.why


def test_honest_large_pictures_of_other_formats(renderer: Renderer, encode: Encode) -> None:
    scan = Image.new("L", (1750, 1750), 230)
    ImageDraw.Draw(scan).rectangle((250, 250, 750, 500), fill=10)
    for form in ("JPEG2000", "JPEG"):
        data = encode(scan, form, **({"progressive": True} if form == "JPEG" else {}))
        page = draw(renderer, data, max_pixels=1_000_000)
        assert 500_000 < page.size[0] * page.size[1] <= 1_000_000
        assert "1,750 x 1,750" in page.notes[0]
        assert level(page, page.size[0] * 2 // 7, page.size[1] * 3 // 14) < 40


def test_strips_say_that_the_model_cannot_take_them_in(renderer: Renderer, encode: Encode) -> None:
    page = draw(renderer, encode(Image.new("L", (20000, 40), 255)))
    assert "500 times as long" in page.notes[1]
    tall = draw(renderer, encode(Image.new("L", (40, 3000), 255)))
    assert "75 times as long" in tall.notes[0]
    assert draw(renderer, encode(Image.new("L", (600, 40), 255))).notes == ()
    assert draw(renderer, encode(Image.new("L", (1, 1), 0))).notes == (
        "The picture is only 1 pixel slim; white was added around it.",
    )


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"<?xml version='1.0'?><svg/>", "an SVG drawing"),
        ("\ufeff<svg/>".encode("utf-16-le"), "an SVG drawing"),
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml" + bytes(200) + b"word/document.xml", "a Word document"),
        (b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml", "an Excel workbook"),
        (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/epub+zip", "an EPUB book"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file"),
        (b"AT&TFORM\0\0\0\0DJVM", "a DjVu file"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "a PostScript file"),
        (b"\xff\x0a" + bytes(20), "a JPEG XL picture"),
        (b"\0\0\0\x20ftypisom" + bytes(20), "a film"),
        (b"Rar!\x1a\x07\0", "an archive"),
        (b"{\\rtf1 hello}", "an RTF document"),
    ],
)
def test_files_that_are_no_pictures_are_named(tmp_path: Path, head: bytes, words: str) -> None:
    file = tmp_path / "page.png"
    file.write_bytes(head)
    with pytest.raises(SourceError, match=r"page\.png") as caught:
        resolve(file)
    assert words in caught.value.why
    assert caught.value.next


def test_layered_pictures_are_read(renderer: Renderer) -> None:
    header = b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 300, 400, 8, 3)
    plane = np.full((300, 400), 255, np.uint8)
    plane[100:200, 100:300] = 0
    page = draw(renderer, header + bytes(4) * 3 + b"\0\0" + plane.tobytes() * 3)
    assert page.size == (400, 300)
    assert level(page, 200, 150) < 30


def test_a_damaged_picture_is_never_blank(renderer: Renderer, encode: Encode) -> None:
    scan = Image.new("L", (1000, 1400), 255)
    ImageDraw.Draw(scan).text((200, 1200), "at the end", fill=0, font_size=40)
    data = encode(scan, "PNG")
    try:
        page = draw(renderer, data[: len(data) // 2])
    except PageError:
        return
    assert not page.blank


def hurt_avif(encode: Encode) -> bytes:
    """The coded picture replaced by noise: its decoder raises a RuntimeError."""
    data = encode(Image.effect_noise((300, 200), 90), "AVIF")
    coded = data.index(b"mdat") + 8
    return data[:coded] + np.random.default_rng(0).bytes(len(data) - coded)


def hurt_dds(encode: Encode) -> bytes:
    """A pixel format without a flag: a NotImplementedError."""
    data = encode(Image.new("RGB", (30, 20)), "DDS")
    return data[:80] + bytes(4) + data[84:]


@pytest.mark.parametrize("hurt", [hurt_avif, hurt_dds])
def test_whatever_a_decoder_raises_is_told_in_plain_words(
    renderer: Renderer, encode: Encode, hurt: Callable[[Encode], bytes]
) -> None:
    with pytest.raises(SourceError, match="cannot be") as caught:
        draw(renderer, hurt(encode))
    assert "damaged or cut off" in caught.value.why
    assert "Error" not in str(caught.value)
