"""Manifests and image services, against a library that is strict about what it allows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library import Library, Scan
from PIL import Image
from web import Answer

from uocr_nb import config
from uocr_nb.errors import SourceError
from uocr_nb.sources import (
    Opened,
    PageError,
    PageImage,
    Renderer,
    RenderSpec,
    Source,
    canvases,
    iiif,
    iiif_request,
    resolve,
    web,
)
from uocr_nb.support.fetch import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.setattr(config.settings, "allow_private_urls", True)
    quick = Limits(gap=0.0, tries=2, stall=20.0, seconds=60.0)
    monkeypatch.setattr(web, "_FILE", quick)
    monkeypatch.setattr(canvases, "_PAGE", quick)
    monkeypatch.setattr(canvases, "_INFO", quick)
    place = Library()
    yield place
    place.close()


def opened(renderer: Renderer, item: Any) -> tuple[Source, Opened]:
    (source,) = resolve(item)
    return source, renderer.open(source)


def first(renderer: Renderer, item: Any, spec: RenderSpec | None = None, number: int = 1) -> PageImage:
    source, _ = opened(renderer, item)
    return renderer.render(source, number, spec)


def is_the_page(page: PageImage) -> bool:
    """Red at the top left, blue at the bottom right: the whole page, upright."""
    with Image.open(page.file) as image:
        red = image.convert("RGB").getpixel((image.width // 20, image.height // 20))
        blue = image.convert("RGB").getpixel((image.width - image.width // 20, image.height - image.height // 20))
    return red[0] > 150 > max(red[1:]) and blue[2] > 150 > max(blue[:2])


@pytest.mark.parametrize("version", [2, 3])
def test_pages_come_in_order_with_their_labels(library: Library, renderer: Renderer, version: int) -> None:
    names = ["a", "b", "c"]
    for name in names:
        library.scans[name] = Scan(version=version)
    if version == 2:
        url = library.manifest2([library.canvas2(f"f. {name}r", library.resource2(name)) for name in names])
    else:
        url = library.manifest3([library.canvas3({"none": [f"f. {name}r"]}, library.body3(name)) for name in names])
    source, book = opened(renderer, url)
    assert (source.kind, source.name, book.pages) == ("url", "bk1/manifest.json", 3)
    assert library.paths() == ["/bk1/manifest.json"]
    pages = [renderer.render(source, number) for number in (1, 2, 3)]
    assert [(page.number, page.name, page.source) for page in pages] == [
        (number, f"f. {name}r", source) for number, name in enumerate(names, 1)
    ]
    assert all(max(page.size) == 1929 for page in pages)
    assert all(map(is_the_page, pages))
    assert library.images() == [f"{name}/full/!1286,1929/0/default.jpg" for name in names]
    assert library.most_open == 1


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "case",
    [
        (Scan(), RenderSpec(mode="base"), "!683,1024", (683, 1024)),
        (Scan(), RenderSpec(mode="tiny"), "!341,512", (341, 512)),
        (Scan(), RenderSpec(dpi=100), "!779,1169", (779, 1169)),
        (Scan(size=(600, 900)), RenderSpec(), "whole", (600, 900)),
        (Scan(level=1), RenderSpec(), "1286,", (1286, 1929)),
        (Scan(most={"maxWidth": 800}), RenderSpec(), "!533,800", (533, 800)),
        (Scan(most={"maxWidth": 800, "maxHeight": 900}), RenderSpec(), "!600,900", (600, 900)),
        (Scan(most={"maxArea": 540_000}), RenderSpec(), "!600,900", (600, 900)),
        (Scan(level=0, sizes=[(300, 450), (1200, 1800), (1600, 2400)]), RenderSpec(), "offered", (1200, 1800)),
        (Scan(level=0, sizes=[(150, 225)], size=(1000, 1500)), RenderSpec(), "whole", (1000, 1500)),
        (Scan(level=0, size=(800, 1200)), RenderSpec(), "whole", (800, 1200)),
    ],
)
def test_the_size_that_the_mode_can_use_is_asked_for(
    library: Library, renderer: Renderer, case: tuple[Scan, RenderSpec, str, tuple[int, int]], version: int
) -> None:
    scan, spec, asked, size = case
    library.scans["a"] = replace(scan, version=version)
    asked = asked.replace("whole", "max" if version == 3 else "full")
    asked = asked.replace("offered", "1200,1800" if version == 3 else "1200,")
    page = first(renderer, library.base("a") + "/info.json", spec)
    assert page.size == pytest.approx(size, abs=1)
    assert library.images() == [f"a/full/{asked}/0/default.jpg"]


@pytest.mark.parametrize("version", [2, 3])
def test_tiles_are_put_together_where_there_is_nothing_else(library: Library, renderer: Renderer, version: int) -> None:
    library.scans["a"] = Scan(size=(1500, 2110), version=version, level=0, tile=512, whole=False)
    page = first(renderer, library.base("a"), RenderSpec(mode="base"))
    assert page.size == (750, 1055)
    assert is_the_page(page)
    assert len([path for path in library.images() if not path.startswith("a/full/")]) in (6, 7)


def test_tiles_are_taken_rather_than_a_whole_that_is_huge(
    library: Library, renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iiif_request, "_WHOLE", 1_000_000)
    library.scans["a"] = Scan(size=(1500, 2110), level=0, tile=1024)
    assert is_the_page(first(renderer, library.base("a"), RenderSpec(mode="base")))
    assert len(library.images()) > 1


def test_a_manifest_without_end_is_read_in_part(
    library: Library, renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iiif, "MOST_CANVASES", 2)
    _, book = opened(renderer, library.manifest2([library.canvas2(str(n)) for n in range(5)]))
    assert book.pages == 2
    assert "has 5 canvases; only the first 2" in book.notes[0]


def test_a_server_that_refuses_one_way_is_asked_in_another(library: Library, renderer: Renderer) -> None:
    library.scans["a"] = Scan(level=1)
    info = library.scans["a"].info(library.base("a")) | {"profile": "level2"}
    library.routes["/iiif/a/info.json"] = Answer(json.dumps(info).encode())
    assert first(renderer, library.base("a")).size == (1286, 1929)
    assert library.images() == ["a/full/!1286,1929/0/default.jpg", "a/full/1286,/0/default.jpg"]


def test_the_address_of_a_picture_in_full_is_asked_for_in_size(library: Library, renderer: Renderer) -> None:
    library.scans["a"] = Scan()
    source, _ = opened(renderer, library.base("a") + "/full/full/0/default.jpg")
    assert source.name == "a"
    assert renderer.render(source, 1).size == (1286, 1929)
    assert first(renderer, library.base("a") + "/0,0,1200,1200/max/0/default.jpg").size == (1200, 1200)
    # A size that the user chose is kept.
    assert first(renderer, library.base("a") + "/full/300,/0/default.jpg").size == (300, 450)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda service: [service],
        lambda service: [{"@id": "https://l.example/login", "profile": "http://iiif.io/api/auth/1/login"}, service],
        lambda service: service | {"@context": ["http://x.example/", "http://iiif.io/api/image/2/context.json"]},
        lambda service: service["@id"],
        lambda service: {**service, "@id": service["@id"] + "/"},
    ],
)
def test_services_come_in_many_forms(library: Library, renderer: Renderer, wrap: Any) -> None:
    library.scans["a"] = Scan()
    resource = library.resource2("a", wrap(library.service("a")))
    assert first(renderer, library.manifest2([library.canvas2("1", resource)])).size == (1286, 1929)


def test_canvases_without_a_picture_keep_their_place(library: Library, renderer: Renderer) -> None:
    library.scans["a"] = Scan()
    library.scans["gone"] = Scan(status=404)
    video = {"id": "https://x.example/v.mp4", "type": "Video"}
    url = library.manifest3(
        [
            library.canvas3({"none": ["1"]}, library.body3("a")),
            library.canvas3({"none": ["2"]}),
            library.canvas3({"none": ["3"]}, video),
            "https://x.example/canvas",
            library.canvas3({"none": ["5"]}, library.body3("gone")),
            library.canvas3({"none": ["6"]}, library.body3("a")),
        ]
    )
    source, book = opened(renderer, url)
    assert book.names == ("1", "2", "3", "", "5", "6")
    assert renderer.render(source, 6).name == "6"
    for number, words in ((2, "names none"), (3, "a video"), (4, "only refers")):
        with pytest.raises(PageError, match="has no picture") as caught:
            renderer.render(source, number)
        assert words in caught.value.why
    with pytest.raises(PageError, match=r"Page 5 of bk1/manifest.json \(5\) cannot be fetched") as caught:
        renderer.render(source, 5)
    assert "status 404" in caught.value.why
    with pytest.raises(PageError, match="has no page 7"):
        renderer.render(source, 7)


def test_choices_several_pictures_and_parts(library: Library, renderer: Renderer) -> None:
    for name in ("a", "b"):
        library.scans[name] = Scan()
    choice2 = {"@type": "oa:Choice", "default": library.resource2("b"), "item": [library.resource2("a"), "rdf:nil"]}
    choice3 = {"type": "Choice", "items": [library.body3("b"), library.body3("a")]}
    part = {
        "type": "SpecificResource",
        "source": library.body3("a"),
        "selector": {"type": "ImageApiSelector", "region": "800,0,800,2400"},
    }
    two = library.manifest2([library.canvas2("1", choice2), library.canvas2("2", *map(library.resource2, "ba"))])
    source, _ = opened(renderer, two)
    assert "to choose from" in renderer.render(source, 1).notes[0]
    assert "put together from 2 pictures" in renderer.render(source, 2).notes[0]
    source, _ = opened(
        renderer, library.manifest3([library.canvas3({}, choice3), library.canvas3({}, part)], "/3/manifest")
    )
    assert "to choose from" in renderer.render(source, 1).notes[0]
    assert all(path.startswith("b/") for path in library.images())
    page = renderer.render(source, 2)
    assert page.size == (643, 1929)
    assert library.images()[-1] == "a/800,0,800,2400/!643,1929/0/default.jpg"


def test_a_static_picture_is_fetched_as_it_is_and_made_no_larger_than_of_use(
    library: Library, renderer: Renderer
) -> None:
    scan = Scan(size=(300, 200))
    library.routes["/scan.jpg"] = scan.answer("full", "full", "0/default.jpg")
    body = {"id": f"{library.url}/scan.jpg", "type": "Image", "format": "image/jpeg"}
    assert first(renderer, library.manifest3([library.canvas3({}, body)])).size == (300, 200)
    library.routes["/scan.jpg"] = Scan(size=(4200, 2800)).answer("full", "full", "0/default.jpg")
    page = first(renderer, library.manifest3([library.canvas3({}, body)], "/large"))
    assert 1929 < max(page.size) < 3500


def test_two_pages_side_by_side_are_asked_for_larger(library: Library, renderer: Renderer) -> None:
    library.scans["a"] = Scan(size=(3000, 2000))
    canvas = library.canvas3({}, library.body3("a")) | {"behavior": ["facing-pages"]}
    source, _ = opened(renderer, library.manifest3([canvas]))
    assert renderer.render(source, 1).size == pytest.approx((2894, 1929), abs=1)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("f. 1r", "f. 1r"),
        ({"@value": "Seite 1", "@language": "de"}, "Seite 1"),
        ([{"@value": "Seite 1", "@language": "de"}, {"@value": "page 1", "@language": "en"}], "page 1"),
        (["a", "b"], "a b"),
        ({"de": ["Seite"], "fr": ["page"]}, "Seite"),
        ({"none": ["[1]\n\t "]}, "[1]"),
        (7, "7"),
        (None, ""),
        ({"en": []}, ""),
        ("x" * 500, "x" * 117 + "..."),
    ],
)
def test_labels_of_every_form_are_one_line(label: Any, shown: str) -> None:
    assert iiif.label_of({"label": label}) == shown


@pytest.mark.parametrize("key", ["manifests", "members", "items"])
def test_a_collection_names_its_first_books(library: Library, renderer: Renderer, key: str) -> None:
    members = [{"@id": f"https://l.example/{n}", "@type": "sc:Manifest", "label": f"Book {n}"} for n in range(5)]
    library.routes["/top"] = Answer(json.dumps({"@type": "sc:Collection", "@id": "x", key: members}).encode())
    with pytest.raises(SourceError, match="is a collection, not a book") as caught:
        opened(renderer, f"{library.url}/top")
    assert "It lists 5, the first are: Book 0 (https://l.example/0)" in caught.value.why
    assert caught.value.next == "%uocr https://l.example/0"


def test_a_collection_writes_no_line_to_paste(library: Library, renderer: Renderer) -> None:
    odd = ["https://l.example/a\n!ls", "https://l.example/{x}", "javascript:x", "https://l.example/'"]
    members = [{"id": one, "type": "Manifest", "label": {"en": ["\u202eB\x1b"]}} for one in odd]
    library.routes["/top"] = Answer(json.dumps({"type": "Collection", "items": members}).encode())
    with pytest.raises(SourceError) as caught:
        opened(renderer, f"{library.url}/top")
    assert caught.value.next == "Name the manifest of one book."
    assert iiif.label_of(members[0]) == "B"


def test_a_password_goes_to_no_other_server_that_a_manifest_names(library: Library, renderer: Renderer) -> None:
    other = Library()
    try:
        for place in (library, other):
            place.scans["a"] = Scan()
        url = library.manifest2([library.canvas2("1", place.resource2("a")) for place in (library, other)])
        source, _ = opened(renderer, url.replace("://", "://me:s3cret@"))
        for number in (1, 2):
            renderer.render(source, number)
        assert all("authorization" in asked.headers for asked in library.asked)
        assert other.asked
        assert not any("authorization" in asked.headers for asked in other.asked)
    finally:
        other.close()


def test_a_login_is_named(library: Library, renderer: Renderer) -> None:
    library.scans["a"] = Scan(info_status=401)
    source, _ = opened(renderer, library.manifest2([library.canvas2("1", library.resource2("a"))]))
    with pytest.raises(PageError) as caught:
        renderer.render(source, 1)
    assert "asks for a login (status 401)" in caught.value.why
    assert "logged in" in caught.value.next


def test_a_missing_description_is_done_without(library: Library, renderer: Renderer) -> None:
    library.scans["a"] = Scan(size=(400, 600), info_status=404)
    assert first(renderer, library.manifest2([library.canvas2("1", library.resource2("a"))])).size == (400, 600)


def test_a_manifest_in_a_file_in_memory_or_among_scans(library: Library, renderer: Renderer, tmp_path: Path) -> None:
    library.scans["a"] = Scan()
    library.manifest2([library.canvas2("1", library.resource2("a"))])
    answer = library.routes["/bk1/manifest.json"]
    assert isinstance(answer, Answer)
    assert isinstance(answer.body, bytes)
    (tmp_path / "book.json").write_bytes(answer.body)
    for item in (tmp_path / "book.json", answer.body, json.loads(answer.body), str(tmp_path / "*.json")):
        source, book = opened(renderer, item)
        assert (source.kind, book.pages) == ("iiif", 1)
        assert renderer.render(source, 1).name == "1"
    Image.new("L", (40, 40)).save(tmp_path / "x.png")
    (source,) = resolve(tmp_path)
    assert "book.json (a IIIF manifest; name it to read it)" in source.notes[0]
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(SourceError, match=r"other\.json is not a file that can be read"):
        resolve(tmp_path / "other.json")


@pytest.mark.parametrize("text", [b"{", b'{"a": 1}', b'{"type": "Manifest"}', b'{"items": ' + b"[" * 100_000])
def test_other_json_is_one_message(library: Library, renderer: Renderer, text: bytes) -> None:
    library.routes["/x.json"] = Answer(text)
    with pytest.raises(SourceError) as caught:
        opened(renderer, f"{library.url}/x.json")
    assert "x.json" in caught.value.what
    assert caught.value.why
    assert caught.value.next


_KEYS = st.sampled_from(
    ["type", "@type", "id", "@id", "items", "sequences", "canvases", "images", "resource", "body", "service", "label"]
) | (
    st.sampled_from(
        [
            "width",
            "height",
            "sizes",
            "tiles",
            "profile",
            "@context",
            "default",
            "source",
            "selector",
            "behavior",
            "full",
        ]
    )
)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**12)
    | st.sampled_from(
        ["Manifest", "sc:Canvas", "Canvas", "oa:Choice", "Annotation", "Image", "http://x/y", "level0", ""]
    )
    | st.just("http://iiif.io/api/image/3/context.json"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=30,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, max_size=6))
def test_no_json_breaks_the_reading(value: dict[str, Any]) -> None:
    from uocr_nb.sources.iiif_request import requests_for

    try:
        book = iiif.parse({"type": "Manifest", **value}, "x")
    except SourceError:
        return
    for canvas in book.canvases:
        assert canvas.problem or canvas.address or canvas.service
        if canvas.info is not None:
            for mode in ("gundam", "base"):
                assert len(requests_for(canvas.info, RenderSpec(mode=mode), canvas.region)) < 20
