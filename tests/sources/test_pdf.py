from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from uocr_nb.errors import SourceError
from uocr_nb.sources import PageError, PageImage, Renderer, RenderSpec, resolve

Make = Callable[..., Path]


def draw(renderer: Renderer, path: Path, number: int = 1, password: str | None = None, **spec: object) -> PageImage:
    (source,) = resolve(path, password=password)
    return renderer.render(source, number, RenderSpec(**spec))  # type: ignore[arg-type]


def pixels(image: PageImage) -> Image.Image:
    with Image.open(image.file) as opened:
        return opened.convert("RGB")


def test_a_clean_a4_page_is_drawn_at_165_dpi_as_grey_png(renderer: Renderer, make_pdf: Make) -> None:
    page = draw(renderer, make_pdf())
    assert page.dpi == 165
    assert page.size == (1364, 1930)
    assert page.mime == "image/png"
    assert page.notes == ()
    assert 0 < page.ink < 0.05
    with Image.open(page.file) as image:
        assert (image.size, image.format) == (page.size, "PNG")
        red, green, blue = image.convert("RGB").split()
    assert red.tobytes() == green.tobytes() == blue.tobytes()
    assert len(red.getcolors() or ()) > 10, "the greys of its letters are kept"


def test_a_grey_scan_with_noise_is_sent_as_jpeg(renderer: Renderer, tmp_path: Path) -> None:
    noise = Image.effect_noise((1364, 1930), 12).point(lambda level: min(255, level + 100))
    noise.paste(0, (300, 300, 900, 360))
    noise.save(tmp_path / "scan.png")
    page = draw(renderer, tmp_path / "scan.png")
    assert page.mime == "image/jpeg"
    with Image.open(page.file) as image:
        assert (image.mode, image.format) == ("L", "JPEG")


def test_provenance_is_the_hash_of_what_is_sent(renderer: Renderer, make_pdf: Make) -> None:
    import hashlib

    page = draw(renderer, make_pdf(pages=2), 2)
    assert page.sha256 == hashlib.sha256(page.file.read_bytes()).hexdigest()
    assert (page.number, page.source.name) == (2, "doc.pdf")


@pytest.mark.parametrize(("mode", "side"), [("base", 1024), ("tiny", 512), ("small", 640), ("large", 1280)])
def test_square_modes_get_their_own_size(renderer: Renderer, make_pdf: Make, mode: str, side: int) -> None:
    page = draw(renderer, make_pdf(), mode=mode)
    assert max(page.size) == side
    assert page.dpi == pytest.approx(side / (842 / 72), rel=0.01)


def test_dpi_is_honoured_in_every_mode(renderer: Renderer, make_pdf: Make) -> None:
    for mode in ("gundam", "base"):
        assert draw(renderer, make_pdf(), mode=mode, dpi=72).size == (595, 842)


def test_small_pages_are_drawn_larger(renderer: Renderer, make_pdf: Make) -> None:
    page = draw(renderer, make_pdf(size=(180, 90)))
    assert page.size[0] == pytest.approx(640, abs=1)


def test_options_do_not_leak_into_the_next_call(renderer: Renderer, make_pdf: Make) -> None:
    first = draw(renderer, make_pdf())
    draw(renderer, make_pdf(), dpi=50, mode="tiny")
    assert draw(renderer, make_pdf()).sha256 == first.sha256


def test_crop_box_and_rotation_show_what_a_reader_sees(renderer: Renderer, raw_pdf: Make) -> None:
    # A red block inside the crop box at its lower left, a blue one outside; turned by 90 degrees clockwise.
    content = "1 0 0 rg 100 200 50 50 re f 0 0 1 rg 0 0 90 190 re f"
    page = draw(renderer, raw_pdf("/MediaBox[0 0 600 800]/CropBox[100 200 400 600]/Rotate 90", content), dpi=72)
    assert page.size == (400, 300)
    image = pixels(page)
    red, green, blue = image.split()
    assert ImageChops.subtract(blue, red).point(lambda level: 255 * (level > 60)).getbbox() is None
    found = ImageChops.subtract(red, green).point(lambda level: 255 * (level > 128)).getbbox()
    assert found == pytest.approx((0, 0, 50, 50), abs=2)


def test_user_unit_counts_in_the_dpi(renderer: Renderer, raw_pdf: Make) -> None:
    page = draw(renderer, raw_pdf("/MediaBox[0 0 100 200]/UserUnit 2"), dpi=72)
    assert page.size == (200, 400)
    assert page.dpi == 72


def test_giant_pages_are_bounded_and_say_so(renderer: Renderer, raw_pdf: Make) -> None:
    page = draw(renderer, raw_pdf("/MediaBox[0 0 14400 14400]/UserUnit 10"))
    assert page.size[0] * page.size[1] <= 13_200_000
    assert page.dpi is not None
    assert page.dpi < 2
    assert "5,080 x 5,080 cm" in page.notes[0]
    wide = draw(renderer, raw_pdf("/MediaBox[0 0 14400 20]", name="wide.pdf"), dpi=300)
    assert max(wide.size) <= 10_001
    assert wide.notes


def test_annotations_and_form_fields_are_drawn(renderer: Renderer, tmp_path: Path) -> None:
    import pymupdf

    with pymupdf.open() as document:
        page = document.new_page(width=200, height=200)
        page.add_rect_annot((20, 20, 60, 60)).update(fill_color=(1, 0, 0))
        field = pymupdf.Widget()
        field.field_type, field.field_name = pymupdf.PDF_WIDGET_TYPE_TEXT, "name"
        field.rect, field.field_value = pymupdf.Rect(20, 100, 180, 140), "FILLED"
        field.text_fontsize = 20
        page.add_widget(field)
        document.save(tmp_path / "form.pdf")
    image = pixels(draw(renderer, tmp_path / "form.pdf", dpi=72))
    assert image.getpixel((40, 40)) == pytest.approx((255, 0, 0), abs=40)
    assert image.crop((20, 100, 180, 140)).convert("L").getextrema()[0] < 100


def test_locked_files_say_what_to_do(renderer: Renderer, make_pdf: Make) -> None:
    import pymupdf

    path = make_pdf("scan-017.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="gehéim", owner_pw="o")
    (source,) = resolve(path)
    with pytest.raises(SourceError) as caught:
        renderer.open(source)
    assert str(caught.value) == (
        "scan-017.pdf is locked.\n"
        "  Why  The PDF asks for a password, so no page could be read.\n"
        "  Next Put the password in an environment variable and add its name to the line:\n"
        "       --password-env SCAN_PW"
    )
    (wrong,) = resolve(path, password="wrong")
    with pytest.raises(SourceError, match="does not open it") as caught:
        renderer.open(wrong)
    assert "wrong" not in str(caught.value)
    assert draw(renderer, path, password="gehéim").ink > 0


def test_copy_restrictions_are_no_obstacle(renderer: Renderer, make_pdf: Make) -> None:
    import pymupdf

    path = make_pdf(encryption=pymupdf.PDF_ENCRYPT_AES_128, owner_pw="owner", permissions=0)
    assert draw(renderer, path).ink > 0


def test_attachments_and_xfa_are_noted(renderer: Renderer, tmp_path: Path, raw_pdf: Make) -> None:
    import pymupdf

    with pymupdf.open() as document:
        document.new_page()
        for name in "ab":
            document.embfile_add(name, b"data", filename=f"{name}.txt")
        document.save(tmp_path / "folder.pdf")
    (source,) = resolve(tmp_path / "folder.pdf")
    assert renderer.open(source).notes == ("2 attached files are not read.",)
    (form,) = resolve(raw_pdf("/MediaBox[0 0 200 200]", more=("<</XFA 7 0 R>>",)))
    (note,) = renderer.open(form).notes
    assert "XFA form" in note
    assert not renderer.render(form, 1).blank, "what Acrobat shows is not known"


def test_no_pages(renderer: Renderer, tmp_path: Path) -> None:
    path = tmp_path / "none.pdf"
    path.write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
        b"trailer<</Root 1 0 R>>\n%%EOF\n"
    )
    with pytest.raises(SourceError, match=r"none\.pdf has no pages"):
        renderer.open(resolve(path)[0])


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.95])
def test_truncated_files_are_mended_or_refused_in_one_message(renderer: Renderer, make_pdf: Make, part: float) -> None:
    path = make_pdf(pages=3)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    (source,) = resolve(path)
    refused = None
    try:
        assert renderer.open(source).pages >= 1
    except SourceError as error:
        refused = error
    if refused is not None:
        assert "damaged or cut off" in refused.why or "no pages" in refused.what
        assert "\n" not in refused.why


def test_a_page_that_is_not_there_is_a_page_error(renderer: Renderer, make_pdf: Make) -> None:
    with pytest.raises(PageError, match="has no page 4"):
        draw(renderer, make_pdf(), 4)


def test_a_file_that_went_away(renderer: Renderer, make_pdf: Make) -> None:
    path = make_pdf()
    (source,) = resolve(path)
    path.unlink()
    with pytest.raises(SourceError, match="not there any more"):
        renderer.open(source)


def test_a_file_that_changed_is_read_anew(renderer: Renderer, make_pdf: Make) -> None:
    (source,) = resolve(make_pdf(pages=1))
    assert renderer.open(source).pages == 1
    make_pdf(pages=5)
    assert renderer.open(source).pages == 5


def test_bytes_of_a_pdf(renderer: Renderer, make_pdf: Make) -> None:
    path = make_pdf(pages=2)
    (source,) = resolve(path.read_bytes())
    assert renderer.open(source).pages == 2
    assert renderer.render(source, 2).sha256 == draw(renderer, path, 2).sha256


def test_a_hundred_and_twenty_pages_over_the_reopening(renderer: Renderer, make_pdf: Make) -> None:
    (source,) = resolve(make_pdf(pages=120, size=(320, 150)))
    hashes = [renderer.render(source, number, RenderSpec(dpi=40)).sha256 for number in range(1, 121)]
    assert len(set(hashes)) == 120


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text exist on Linux only")
def test_a_name_that_is_no_text(renderer: Renderer, make_pdf: Make) -> None:
    path = make_pdf()
    odd = path.with_name(os.fsdecode(b"caf\xe9.pdf"))
    path.rename(odd)
    page = draw(renderer, odd, dpi=30)
    assert page.source.name == "caf?.pdf"
    assert page.ink > 0


def test_names_of_any_letters(renderer: Renderer, make_pdf: Make) -> None:
    for name in ("a b (ü #1) 100%.pdf", "quote'\".pdf", "文" * 60 + ".pdf"):
        assert draw(renderer, make_pdf(name), dpi=30).ink > 0
