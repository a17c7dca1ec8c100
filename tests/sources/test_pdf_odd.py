"""PDFs that keep to the letter in odd ways, that are damaged, or that are made to cost."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from uocr_nb.errors import SourceError
from uocr_nb.sources import Opened, PageError, PageImage, Renderer, RenderSpec, resolve

Make = Callable[..., Path]

BOX = "/MediaBox[0 0 400 300]"
HELLO = "BT /F 40 Tf 50 200 Td (Hello) Tj ET"


def opened(renderer: Renderer, path: Path, password: str | None = None) -> Opened:
    (source,) = resolve(path, password=password)
    return renderer.open(source)


def draw(renderer: Renderer, path: Path, number: int = 1, **spec: object) -> PageImage:
    (source,) = resolve(path)
    return renderer.render(source, number, RenderSpec(**spec))  # type: ignore[arg-type]


def ink_box(page: PageImage) -> tuple[int, int, int, int]:
    with Image.open(page.file) as image:
        box = image.convert("L").point(lambda level: 255 * (level < 128)).getbbox()
    assert box is not None
    return box


@pytest.mark.parametrize(
    ("page", "pages", "size"),
    [
        (f"{BOX}/Rotate -90", "", (300, 400)),
        (f"{BOX}/Rotate 450", "", (300, 400)),
        (f"{BOX}/Rotate -180", "", (400, 300)),
        (f"{BOX}/Rotate 45", "", (400, 300)),
        ("", f"{BOX}/Rotate 90", (300, 400)),
        ("/MediaBox[400 300 0 0]", "", (400, 300)),
        ("/MediaBox[-50 -20 350 280]", "", (400, 300)),
        (f"{BOX}/CropBox[500 500 600 600]", "", (400, 300)),
        (f"{BOX}/CropBox[-100 -100 300 900]", "", (300, 300)),
        ("", f"{BOX}/CropBox[0 100 200 300]", (200, 200)),
        ("", "", (612, 792)),
        ("/MediaBox[0 0 0 0]", "", (612, 792)),
    ],
)
def test_pages_have_the_size_that_a_reader_shows(
    renderer: Renderer, raw_pdf: Make, page: str, pages: str, size: tuple[int, int]
) -> None:
    drawn = draw(renderer, raw_pdf(page, HELLO, pages=f"/Kids[3 0 R]/Count 1{pages}"), dpi=72)
    assert drawn.size == size
    assert drawn.ink > 0


@pytest.mark.parametrize(
    ("unit", "factor"), [("2", 2), ("0.5", 0.5), ("6 0 R", 3), ("0", 1), ("-2", 1), ("(x)", 1), ("99999999999", 1)]
)
def test_user_units(renderer: Renderer, raw_pdf: Make, unit: str, factor: float) -> None:
    page = draw(renderer, raw_pdf(f"{BOX}/UserUnit {unit}", HELLO, more=(" 3 ",)), dpi=72)
    assert page.size == (400 * factor, 300 * factor)


def test_user_units_in_packed_objects(renderer: Renderer, raw_pdf: Make, tmp_path: Path) -> None:
    import pymupdf

    packed = tmp_path / "packed.pdf"
    for options in ({}, {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "o", "user_pw": ""}):
        with pymupdf.open(raw_pdf(f"{BOX}/UserUnit 2", HELLO)) as document:
            document.save(packed, use_objstms=1, deflate=True, **options)
        assert b"/UserUnit" not in packed.read_bytes()
        assert draw(renderer, packed, dpi=72).size == (800, 600)


@pytest.mark.parametrize(
    ("box", "dpi"), [("0 0 1 1", 300), ("0 0 0.01 0.01", 300), ("0 0 10000 1", 72), ("0 0 2 9000", 80)]
)
def test_slim_pages_are_padded(renderer: Renderer, raw_pdf: Make, box: str, dpi: float) -> None:
    page = draw(renderer, raw_pdf(f"/MediaBox[{box}]"))
    assert min(page.size) == 32
    assert page.dpi == pytest.approx(dpi)
    assert "white was added" in page.notes[-1]


def widget(kind: str, rest: str, box: str) -> str:
    return f"<</Type/Annot/Subtype/Widget/FT/{kind}/F 4/Rect[{box}]/P 3 0 R{rest}>>"


@pytest.mark.parametrize("flag", ["/NeedAppearances true", ""])
def test_fields_without_appearance_show_what_was_filled_in(renderer: Renderer, raw_pdf: Make, flag: str) -> None:
    path = raw_pdf(
        f"{BOX}/Annots[6 0 R 7 0 R 8 0 R]",
        catalog=f"/AcroForm<</Fields[6 0 R 7 0 R 8 0 R]/DA(/Helv 12 Tf 0 g)/DR<</Font<</Helv 5 0 R>>>>{flag}>>",
        more=(
            widget("Tx", "/T(a)/V(FILLED)/DA(/Helv 30 Tf 0 g)", "20 20 300 60"),
            widget("Ch", "/T(b)/V(CHOSEN)/Opt[(CHOSEN)(OTHER)]/Ff 131072/DA(/Helv 30 Tf 0 g)", "20 100 300 140"),
            widget("Btn", "/T(c)/V/Yes/AS/Yes", "20 180 60 220"),
        ),
    )
    page = draw(renderer, path, dpi=72)
    with Image.open(page.file) as image:
        for box in ((20, 240, 300, 280), (20, 160, 300, 200), (20, 80, 60, 120)):
            assert image.convert("L").crop(box).getextrema()[0] < 100
    assert not page.blank


def test_annotations_are_drawn_and_hidden_ones_are_not(renderer: Renderer, raw_pdf: Make) -> None:
    square = "<</Type/Annot/Subtype/Square/IC[0 0 0]/F {}/Rect[100 100 200 200]>>"
    assert draw(renderer, raw_pdf(f"{BOX}/Annots[6 0 R]", more=(square.format(4),))).ink > 0.05
    hidden = draw(renderer, raw_pdf(f"{BOX}/Annots[6 0 R]", more=(square.format(2),)))
    assert hidden.ink == 0


def test_layers_that_are_off_are_not_drawn(renderer: Renderer, raw_pdf: Make) -> None:
    layers = "/OCProperties<</OCGs[6 0 R]/D<</{}[6 0 R]>>>>"
    inks = [
        draw(
            renderer,
            raw_pdf(
                BOX,
                f"/OC /O BDC {HELLO} EMC",
                resources="/Properties<</O 6 0 R>>",
                catalog=layers.format(state),
                more=("<</Type/OCG/Name(x)>>",),
            ),
        ).ink
        for state in ("ON", "OFF")
    ]
    assert inks[0] > 0
    assert inks[1] == 0


def test_scripts_do_not_run(renderer: Renderer, raw_pdf: Make) -> None:
    endless = "/OpenAction<</S/JavaScript/JS(while (true) {})>>/AA<</WC<</S/JavaScript/JS(app.alert\\(1\\))>>>>"
    began = time.monotonic()
    assert draw(renderer, raw_pdf(BOX, HELLO, catalog=endless)).ink > 0
    assert time.monotonic() - began < 5


def test_attached_files_are_counted_wherever_they_hang(renderer: Renderer, raw_pdf: Make, tmp_path: Path) -> None:
    import pymupdf

    hung = "<</Type/Annot/Subtype/FileAttachment/FS<</Type/Filespec/F(a.txt)/EF<</F 7 0 R>>>>/Rect[20 20 30 50]>>"
    path = raw_pdf(f"{BOX}/Annots[6 0 R]", HELLO, more=(hung, "<</Type/EmbeddedFile/Length 1>>stream\nx\nendstream"))
    assert opened(renderer, path).notes == ("1 attached file is not read.",)
    packed = tmp_path / "packed.pdf"
    with pymupdf.open(path) as document:
        for name in "bc":
            document.embfile_add(name, b"data", filename=f"{name}.txt")
        document.xref_set_key(document.pdf_catalog(), "Collection", "<</Type/Collection/View/D>>")
        document.save(packed, use_objstms=1)
    assert opened(renderer, packed).notes == (
        "This is a portfolio, and what is drawn is its cover: 3 attached files are not read.",
    )


def test_sound_files_have_no_notes(renderer: Renderer, make_pdf: Make, raw_pdf: Make, tmp_path: Path) -> None:
    import pymupdf

    (tmp_path / "shifted.pdf").write_bytes(b"\n\n  " + raw_pdf(BOX, HELLO).read_bytes() + b"\n" * 30)
    updated = make_pdf("updated.pdf", pages=2)
    with pymupdf.open(updated) as document:
        document[0].insert_text((50, 50), "more")
        document.saveIncr()
    paths = [
        raw_pdf(BOX, HELLO),
        tmp_path / "shifted.pdf",
        updated,
        make_pdf("packed.pdf", use_objstms=1),
        make_pdf("linear.pdf", pages=3, garbage=4, deflate=True),
        make_pdf("locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o"),
    ]
    for path in paths:
        assert opened(renderer, path).notes == (), path.name


def without_table(data: bytes) -> bytes:
    return data[: data.rindex(b"xref\n0")]


def wrong_places(data: bytes) -> bytes:
    return data.replace(b"1 0 obj", b"%moved by a careless editor\n1 0 obj", 1)


def looped(data: bytes) -> bytes:
    start = int(data.rpartition(b"startxref")[2].split()[0])
    return data.replace(b"trailer<<", b"trailer<</Prev %d" % start)


@pytest.mark.parametrize("damage", [without_table, wrong_places, looped])
def test_repaired_files_say_so(renderer: Renderer, raw_pdf: Make, damage: Callable[[bytes], bytes]) -> None:
    path = raw_pdf(BOX, HELLO)
    path.write_bytes(damage(path.read_bytes()))
    assert opened(renderer, path).notes == (
        "The file was damaged and repaired before it was read; parts of it may be missing.",
    )
    assert draw(renderer, path).ink > 0


def test_pages_that_are_counted_but_not_there(renderer: Renderer, raw_pdf: Make) -> None:
    path = raw_pdf(BOX, HELLO, pages="/Kids[3 0 R 9 0 R 3 0 R]/Count 4")
    assert opened(renderer, path).pages == 4
    for number in (2, 4):
        with pytest.raises(PageError, match=f"Page {number} of raw.pdf cannot be read") as caught:
            draw(renderer, path, number)
        assert "counts 4 pages" in caught.value.why
    assert draw(renderer, path, 3).ink > 0
    with pytest.raises(PageError, match="has no page 5"):
        draw(renderer, path, 5)


def test_a_count_beyond_reason(renderer: Renderer, raw_pdf: Make) -> None:
    began = time.monotonic()
    found = opened(renderer, raw_pdf(BOX, HELLO, pages="/Kids[3 0 R]/Count 1000000"))
    assert time.monotonic() - began < 5
    assert found.pages == 1
    assert found.notes == ("The file says that it has 1,000,000 pages; 1 could be found.",)


@pytest.mark.parametrize("pages", ["/Count 2", "/Kids[]/Count 0", "/Kids[7 0 R]/Count 1", "/Kids[2 0 R]/Count 1"])
def test_lists_of_pages_that_lead_nowhere(renderer: Renderer, raw_pdf: Make, pages: str) -> None:
    path = raw_pdf(BOX, HELLO, pages=pages)
    refused = None
    try:
        found = opened(renderer, path)
        assert draw(renderer, path, found.pages).ink >= 0
    except SourceError as error:
        refused = error
    if refused is not None:
        assert "raw.pdf" in refused.what
        assert "\n" not in refused.why


PICTURE = "<</Type/XObject/Subtype/Image/Width {side}/Height {side}/{rest}/Length {length}>>stream\n"


def picture(data: bytes, rest: str, side: int = 200) -> bytes:
    return PICTURE.format(side=side, rest=rest, length=len(data)).encode() + data + b"\nendstream"


@pytest.mark.parametrize(
    ("content", "rest"),
    [
        ("400 0 0 300 0 0 cm /I Do", "BitsPerComponent 8/ColorSpace/DeviceGray/Filter/DCTDecode"),
        ("400 0 0 300 0 0 cm /I Do", "Filter/JPXDecode"),
        ("400 0 0 300 0 0 cm /I Do", "BitsPerComponent 1/ColorSpace/DeviceGray/Filter/JBIG2Decode"),
        ("q BT /F 40 Tf 50 200 Td (Hello Tj ET", "Filter/JPXDecode"),
        ("1 1 1 rg BT /F 40 Tf 50 200 Td (white on white) Tj ET", "Filter/JPXDecode"),
    ],
)
def test_what_cannot_be_drawn_is_not_taken_for_blank(
    renderer: Renderer, raw_pdf: Make, content: str, rest: str
) -> None:
    page = draw(renderer, raw_pdf(BOX, content, resources="/XObject<</I 6 0 R>>", more=(picture(b"abcde", rest),)))
    assert page.ink == 0
    assert not page.blank


@pytest.mark.parametrize("content", ["", "q Q", "BT /F 12 Tf 50 200 Td (  ) Tj ET", "1 1 1 rg 0 0 400 300 re f"])
def test_pages_that_draw_nothing_are_blank(renderer: Renderer, raw_pdf: Make, content: str) -> None:
    assert draw(renderer, raw_pdf(BOX, content)).blank


def test_pages_drawn_too_coarse_are_not_taken_for_blank(renderer: Renderer, raw_pdf: Make) -> None:
    assert not draw(renderer, raw_pdf("/MediaBox[0 0 14400 14400]", HELLO)).blank
    assert not draw(renderer, raw_pdf(BOX, HELLO), dpi=20).blank


@pytest.mark.parametrize(
    "form", ["BitsPerComponent 1/ColorSpace/DeviceGray", "BitsPerComponent 8/ColorSpace/DeviceRGB"]
)
def test_pictures_that_unpack_to_far_more(renderer: Renderer, raw_pdf: Make, form: str) -> None:
    data = zlib.compress(b"\x00" * (2500 * 20000), 9)
    path = raw_pdf(
        BOX,
        "400 0 0 300 0 0 cm /I Do",
        resources="/XObject<</I 6 0 R>>",
        more=(picture(data, f"{form}/Filter/FlateDecode", 20000),),
    )
    assert path.stat().st_size < 60_000
    began = time.monotonic()
    refused = None
    try:
        assert max(draw(renderer, path).size) < 1000
    except PageError as error:
        refused = error
    assert refused is None or "MB of memory" in refused.why
    assert time.monotonic() - began < 20
    assert draw(renderer, raw_pdf(BOX, HELLO, name="next.pdf")).ink > 0


def test_pages_that_never_end_cost_less_each_time(tmp_path: Path, heavy_pdf: Path) -> None:
    (source,) = resolve(heavy_pdf)
    with Renderer(seconds=1.5, folder=tmp_path) as renderer:
        began = time.monotonic()
        for number, limit in ((1, r"1\.5 s"), (2, "1 s"), (3, "1 s")):
            with pytest.raises(PageError, match=f"longer than {limit}"):
                renderer.render(source, number)
        assert time.monotonic() - began < 12


@pytest.mark.parametrize("user", ["", "geheim"])
@pytest.mark.parametrize("method", ["PDF_ENCRYPT_RC4_128", "PDF_ENCRYPT_AES_128", "PDF_ENCRYPT_AES_256"])
def test_locked_files(renderer: Renderer, make_pdf: Make, method: str, user: str) -> None:
    import pymupdf

    path = make_pdf(encryption=getattr(pymupdf, method), user_pw=user, owner_pw="owner", permissions=0)
    for password in (None, "wrong", "owner", user or None):
        if password == "wrong" and user:
            with pytest.raises(SourceError, match="is locked"):
                opened(renderer, path, password)
        elif password is None and user:
            with pytest.raises(SourceError, match="is locked"):
                opened(renderer, path)
        else:
            assert opened(renderer, path, password).pages == 1


def test_text_without_its_font_is_not_taken_for_blank(renderer: Renderer, raw_pdf: Make) -> None:
    # Between two rules at the edges, which alone would be a blank page.
    rules = "0 1 m 400 1 l S 0 299 m 400 299 l S"
    assert draw(renderer, raw_pdf(BOX, rules)).blank
    page = draw(renderer, raw_pdf(BOX, f"{rules} BT 3 Tr /F 40 Tf 50 150 Td (Hello) Tj ET"))
    assert not page.blank
    assert "text that its picture does not show" in page.notes[0]


@pytest.mark.parametrize("part", [0.35, 0.5, 0.65, 0.8])
def test_a_file_cut_off_tells_what_is_lost(renderer: Renderer, make_pdf: Make, part: float) -> None:
    path = make_pdf(pages=6)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    refused = None
    lost = read = 0
    try:
        found = opened(renderer, path)
        assert "was damaged and repaired" in found.notes[0]
        for number in range(1, found.pages + 1):
            try:
                draw(renderer, path, number)
                read += 1
            except PageError:
                lost += 1
        said = any("says that it has 6 pages" in note for note in found.notes)
        assert read + lost == 6 or said
    except SourceError as error:
        refused = error
    assert refused is None or "damaged" in refused.why
