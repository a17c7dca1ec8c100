from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageDraw

from uocr_nb.errors import SourceError
from uocr_nb.sources import PageError, PageImage, Renderer, RenderSpec, resolve

if TYPE_CHECKING:
    from pathlib import Path

Encode = Callable[..., bytes]

STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
"""EXIF orientation -> how an upright picture is stored under it."""


def draw(renderer: Renderer, item: object, number: int = 1, **spec: object) -> PageImage:
    (source,) = resolve(item)
    return renderer.render(source, number, RenderSpec(**spec))  # type: ignore[arg-type]


def pixels(image: PageImage) -> Image.Image:
    with Image.open(image.file) as opened:
        assert opened.size == image.size
        assert Image.MIME[opened.format or ""] == image.mime
        return opened.convert("RGB")


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_every_orientation_is_upright(
    renderer: Renderer, mark: Image.Image, encode: Encode, form: str, orientation: int
) -> None:
    turn = STORED[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    page = draw(renderer, encode(mark if turn is None else mark.transpose(turn), form, exif=exif))
    image = pixels(page)
    assert page.size == (400, 300)
    assert image.getpixel((50, 50)) == pytest.approx((200, 0, 0), abs=20)
    assert image.getpixel((350, 250)) == pytest.approx((255, 255, 255), abs=5)
    assert b"Exif" not in page.file.read_bytes()


def test_an_upright_jpeg_keeps_its_bytes_but_for_its_metadata(renderer: Renderer, encode: Encode) -> None:
    rng = np.random.default_rng(0)
    noisy = Image.fromarray(rng.integers(0, 255, (700, 900, 3), dtype=np.uint8))
    for options in ({}, {"progressive": True}, {"subsampling": "4:4:4"}):
        plain = encode(noisy, "JPEG", quality=80, **options)
        assert draw(renderer, plain).file.read_bytes() == plain
        exif = Image.Exif()
        exif[0x010F] = "SECRET MAKER"
        tagged = encode(noisy, "JPEG", quality=80, exif=exif, comment=b"SECRET", **options) + b"SECRET TRAILER"
        sent = draw(renderer, tagged).file.read_bytes()
        assert b"SECRET" not in sent
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(sent))), np.asarray(Image.open(io.BytesIO(plain))))


def test_transparent_ground_is_white(renderer: Renderer, encode: Encode) -> None:
    clear = Image.new("RGBA", (300, 80), (0, 0, 0, 0))
    ImageDraw.Draw(clear).rectangle((10, 10, 100, 60), fill=(0, 0, 0, 255))
    for item in (encode(clear), encode(clear.convert("LA")), encode(clear.quantize(), "GIF", transparency=0), clear):
        image = pixels(draw(renderer, item))
        assert image.getpixel((200, 40)) == (255, 255, 255)
        assert image.getpixel((50, 30)) == (0, 0, 0)


def test_white_on_transparent_is_not_lost(renderer: Renderer, encode: Encode) -> None:
    clear = Image.new("RGBA", (300, 80), (0, 0, 0, 0))
    ImageDraw.Draw(clear).rectangle((10, 10, 100, 60), fill=(255, 255, 255, 255))
    page = draw(renderer, encode(clear))
    assert page.ink > 0
    assert "put on black" in page.notes[0]


@pytest.mark.parametrize(("dark", "light"), [(3000, 60000), (300, 4000), (0, 65535), (10, 200)])
def test_sixteen_bits_are_scaled_not_clipped(renderer: Renderer, encode: Encode, dark: int, light: int) -> None:
    levels = np.full((80, 300), light, np.uint16)
    levels[30:50, 50:250] = dark
    for item in (encode(Image.fromarray(levels)), encode(Image.fromarray(levels), "TIFF"), levels):
        image = pixels(draw(renderer, item)).convert("L")
        assert image.getpixel((10, 10)) > 180
        assert image.getpixel((150, 40)) < 60


def test_other_modes(renderer: Renderer, mark: Image.Image, encode: Encode) -> None:
    items = [
        encode(mark.convert("CMYK"), "JPEG"),
        encode(mark.convert("CMYK"), "TIFF"),
        encode(mark.convert("YCbCr"), "TIFF"),
        encode(mark.quantize(8)),
        encode(mark, "BMP"),
        encode(mark, "GIF"),
        encode(mark, "JPEG2000"),
        encode(mark, "AVIF"),
        encode(mark, "PPM"),
    ]
    for item in items:
        image = pixels(draw(renderer, item))
        red, green, blue = image.getpixel((50, 50))  # type: ignore[misc]
        assert red > 150
        assert max(green, blue) < 90
        assert min(image.getpixel((350, 250))) > 240  # type: ignore[type-var, arg-type]


def test_bilevel_scans_stay_exact(renderer: Renderer, encode: Encode) -> None:
    scan = Image.new("1", (1728, 2200), 1)
    ImageDraw.Draw(scan).text((100, 100), "FAX", fill=0, font_size=90)
    page = draw(renderer, encode(scan, "TIFF", compression="group4"))
    assert page.mime == "image/png"
    with Image.open(page.file) as sent:
        assert sent.mode == "1"
        assert sent.tobytes() == scan.tobytes()


@pytest.mark.parametrize("form", ["TIFF", "GIF", "WEBP"])
def test_frames_are_pages(renderer: Renderer, encode: Encode, form: str) -> None:
    frames = [Image.new("RGB", (200, 60), colour) for colour in ("red", "lime", "blue")]
    (source,) = resolve(encode(frames[0], form, save_all=True, append_images=frames[1:], duration=100))
    assert renderer.open(source).pages == 3
    # In any order, as a retry asks for them.
    for number, channel in ((3, 2), (1, 0), (2, 1), (3, 2)):
        page = renderer.render(source, number)
        colour = pixels(page).getpixel((100, 30))
        assert colour[channel] > 240  # type: ignore[index]
        assert page.number == number
    with pytest.raises(PageError, match="no page 4"):
        renderer.render(source, 4)


def test_thumbnail_frames_are_no_pages(renderer: Renderer, tmp_path: Path) -> None:
    from PIL import TiffImagePlugin

    file = tmp_path / "thumbs.tif"
    small = TiffImagePlugin.ImageFileDirectory_v2()
    small[254] = 1
    with TiffImagePlugin.AppendingTiffWriter(str(file), new=True) as writer:
        Image.new("RGB", (200, 100), "red").save(writer, "TIFF")
        writer.newFrame()
        Image.new("RGB", (20, 10), "red").save(writer, "TIFF", tiffinfo=small)
        writer.newFrame()
    (source,) = resolve(file)
    assert renderer.open(source).pages == 1


def test_truncated_files_show_what_is_there(renderer: Renderer, encode: Encode) -> None:
    rng = np.random.default_rng(1)
    noisy = Image.fromarray(rng.integers(0, 255, (300, 400, 3), dtype=np.uint8))
    for form in ("JPEG", "PNG", "BMP"):
        data = encode(noisy, form)
        page = draw(renderer, data[: len(data) * 2 // 3])
        assert page.size == (400, 300)
        assert "ends early" in page.notes[0]


def test_white_of_a_truncated_file_is_not_blank(renderer: Renderer, encode: Encode) -> None:
    sheet = Image.new("L", (400, 600), 255)
    sheet.paste(0, (100, 5, 300, 15))
    # A BMP begins with the lowest line: the line of text is lost, in a strip as black as the border of a scan.
    data = encode(sheet, "BMP")
    assert draw(renderer, data[: len(data) * 94 // 100]).blank is False
    sheet.paste(255, (100, 5, 300, 15))
    sheet.paste(0, (0, 0, 400, 36))
    assert draw(renderer, encode(sheet, "BMP")).blank is True


def test_damaged_files_are_one_short_message(renderer: Renderer, encode: Encode, mark: Image.Image) -> None:
    heads = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xffjunk", b"II*\0", encode(mark)[:30])
    for head in heads:
        (source,) = resolve(head + bytes(100))
        with pytest.raises(SourceError) as caught:
            renderer.render(source, 1)
        assert "BytesIO" not in str(caught.value)
        assert len(str(caught.value)) < 400


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_bombs_are_refused_by_their_header(renderer: Renderer) -> None:
    (source,) = resolve(png_header(65000, 65000))
    with pytest.raises(SourceError, match="too large") as caught:
        renderer.open(source)
    assert "65,000 x 65,000" in caught.value.why


def test_a_frame_that_is_a_bomb_is_refused_when_its_page_is_drawn(renderer: Renderer, tmp_path: Path) -> None:
    file = tmp_path / "pages.tif"
    Image.new("L", (60, 40)).save(file, save_all=True, append_images=[Image.new("L", (777, 555))])
    file.write_bytes(file.read_bytes().replace(struct.pack("<I", 777), struct.pack("<I", 65_000)))
    file.write_bytes(file.read_bytes().replace(struct.pack("<H", 777), struct.pack("<H", 65_000)))
    file.write_bytes(file.read_bytes().replace(struct.pack("<H", 555), struct.pack("<H", 64_000)))
    (source,) = resolve(file)
    assert renderer.render(source, 1).size == (60, 40)
    with pytest.raises(SourceError, match="too large"):
        renderer.render(source, 2)


def test_an_honest_large_scan_is_scaled_with_a_note(renderer: Renderer, encode: Encode) -> None:
    scan = Image.new("1", (14000, 12000), 1)
    ImageDraw.Draw(scan).rectangle((1000, 1000, 3000, 2000), fill=0)
    page = draw(renderer, encode(scan))
    assert max(page.size) <= 10_000
    assert page.size[0] * page.size[1] <= 40_000_000
    assert page.size[0] / page.size[1] == pytest.approx(14 / 12, rel=0.01)
    assert "14,000 x 12,000" in page.notes[0]


def test_large_jpegs_are_bounded_too(renderer: Renderer, mark: Image.Image, encode: Encode) -> None:
    page = draw(renderer, encode(mark.resize((2000, 1500)), "JPEG"), max_pixels=100_000)
    assert page.size[0] * page.size[1] <= 100_000
    assert "2,000 x 1,500" in page.notes[0]
    assert pixels(page).getpixel((20, 20)) == pytest.approx((200, 0, 0), abs=20)


def test_wide_and_tiny_pictures(renderer: Renderer, encode: Encode) -> None:
    wide = draw(renderer, encode(Image.new("L", (20000, 24), 255)))
    assert wide.size == (10000, 32)
    tiny = draw(renderer, encode(Image.new("RGB", (1, 1), "black")))
    assert tiny.size == (32, 32)
    assert "white was added" in tiny.notes[0]


def test_blank_pages_have_no_ink(renderer: Renderer, mark: Image.Image, encode: Encode) -> None:
    assert draw(renderer, encode(Image.new("RGB", (800, 600), (250, 248, 240)))).ink == 0
    assert draw(renderer, encode(mark)).ink == pytest.approx(100 * 100 / (400 * 300), rel=0.05)
    assert draw(renderer, encode(Image.eval(mark.convert("L"), lambda level: 255 - level))).ink < 0.2


def test_heic_without_its_package_names_it(renderer: Renderer) -> None:
    (source,) = resolve(b"\0\0\0\x1cftypheic" + bytes(40))
    with pytest.raises(SourceError) as caught:
        renderer.open(source)
    assert "BytesIO" not in str(caught.value)
    assert "pillow-heif" in caught.value.why or "cannot be opened" in caught.value.what


def test_pil_images(renderer: Renderer, mark: Image.Image, encode: Encode, tmp_path: Path) -> None:
    for mode in ("RGB", "L", "P", "RGBA", "CMYK", "YCbCr", "F", "I"):
        page = draw(renderer, mark.convert(mode))
        assert page.size == (400, 300)
        assert page.ink > 0.05
    exif = Image.Exif()
    exif[0x0112] = 6
    file = tmp_path / "photo.jpg"
    file.write_bytes(encode(mark.transpose(Image.Transpose.ROTATE_90), "JPEG", exif=exif))
    with Image.open(file) as fresh:
        (source,) = resolve(fresh)
        assert source.name == "photo.jpg"
        assert renderer.render(source, 1).size == (400, 300)
    with Image.open(file) as fresh:
        turned = fresh.rotate(-90, expand=True)
    assert draw(renderer, turned).size == (400, 300)


@pytest.mark.parametrize("scale", [1, 255, 65535])
def test_arrays(renderer: Renderer, mark: Image.Image, scale: int) -> None:
    rgb = np.asarray(mark)
    kind = {1: np.float64, 255: np.uint8, 65535: np.uint16}[scale]
    for array in (rgb, rgb[..., 1], np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)]), rgb[..., 1:2]):
        values = (array / 255 * scale).astype(kind)
        image = pixels(draw(renderer, values))
        assert image.size == (400, 300)
        assert image.getpixel((50, 50))[1] < 10  # type: ignore[index]
        assert image.getpixel((350, 250))[1] > 250  # type: ignore[index]


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (7,), (0, 5), (4, 4, 7)])
def test_arrays_that_are_no_picture(shape: tuple[int, ...]) -> None:
    with pytest.raises(SourceError, match="is not a picture"):
        resolve(np.zeros(shape))


def test_figures(renderer: Renderer) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.plot([1, 2])
    for item in (figure, axes):
        page = draw(renderer, item)
        assert page.size == (660, 495)
        assert page.ink > 0


def test_heic_is_read_where_its_plugin_is_installed(renderer: Renderer, tmp_path: Path) -> None:
    plugin = pytest.importorskip("pillow_heif")
    picture = Image.new("RGB", (640, 480), "white")
    ImageDraw.Draw(picture).rectangle((100, 100, 300, 200), fill="black")
    plugin.from_pillow(picture).save(tmp_path / "photo.heic")
    image = draw(renderer, tmp_path / "photo.heic")
    assert image.size == (640, 480)
    assert pixels(image).convert("L").getpixel((200, 150)) < 40
    assert pixels(image).convert("L").getpixel((500, 400)) > 215


@pytest.mark.parametrize("turned", [1, 6])
def test_a_heic_picture_is_turned_once(renderer: Renderer, encode: Encode, turned: int) -> None:
    pytest.importorskip("pillow_heif").register_heif_opener()
    exif = Image.Exif()
    exif[0x112] = turned
    data = encode(Image.new("RGB", (640, 480), "white"), "HEIF", exif=exif.tobytes())
    # The writer turns by the format's own means and leaves 1 in EXIF; telephones leave what it was.
    entry = b"\x01\x12\x00\x03\x00\x00\x00\x01\x00"
    assert data.count(entry) == 1
    assert draw(renderer, data.replace(entry + b"\x01", entry + b"\x06")).size == (480, 640)
