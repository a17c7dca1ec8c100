"""Addresses as sources: what is fetched, what is refused, and that every wait has an end."""

from __future__ import annotations

import concurrent.futures
import gzip
import io
import itertools
import shutil
import ssl
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from web import Answer, Asked, Web, redirect

from uocr_nb import config
from uocr_nb.errors import SourceError
from uocr_nb.sources import Renderer, canvases, resolve
from uocr_nb.sources import web as room
from uocr_nb.sources.names import name_of
from uocr_nb.support import addresses, fetch, wire
from uocr_nb.support.fetch import FetchError, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

QUICK = Limits(gap=0.0, tries=1, stall=20.0, connect=20.0, seconds=60.0, size=1 << 20)
HASTY = Limits(gap=0.0, tries=1, stall=0.5, connect=20.0, seconds=1.0)


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (60, 40), "white").save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setattr(config.settings, "allow_private_urls", True)
    monkeypatch.setattr(room, "_FILE", QUICK)
    place = Web()
    place.routes["/x.png"] = Answer(png())
    yield place
    place.close()


def refused(renderer: Renderer, url: str) -> SourceError:
    (source,) = resolve(url)
    with pytest.raises(SourceError) as caught:
        renderer.open(source)
    assert caught.value.what
    assert caught.value.why
    assert caught.value.next
    return caught.value


def test_a_picture_and_a_pdf_are_what_they_give(site: Web, renderer: Renderer, make_pdf: Callable[..., Path]) -> None:
    site.routes["/report"] = Answer(make_pdf(pages=3).read_bytes(), headers={"Content-Type": "text/html"})
    (source,) = resolve(f"{site.url}/report?id=3#page=2")
    assert (source.kind, source.name, site.asked) == ("url", "report", [])
    opened = renderer.open(source)
    assert (opened.pages, opened.kind) == (3, "pdf")
    page = renderer.render(source, 3)
    assert (page.number, page.source) == (3, source)
    (picture,) = resolve(f"{site.url}/x.png")
    assert renderer.open(picture).kind == "image"
    assert renderer.render(picture, 1).size == (60, 40)
    assert site.paths() == ["/report?id=3", "/x.png"]


def test_a_download_that_is_gone_is_fetched_again(site: Web, tmp_path: Path) -> None:
    (source,) = resolve(f"{site.url}/x.png")
    with Renderer(folder=tmp_path) as renderer:
        before = renderer.render(source, 1)
        for file in tmp_path.iterdir():
            file.unlink()
        assert renderer.render(source, 1).sha256 == before.sha256
    assert len(site.asked) == 2


def test_two_threads_share_one_download(site: Web, renderer: Renderer) -> None:
    site.routes["/slow.png"] = Answer(iter([png()[:9], png()[9:]]), pause=0.2, length=len(png()))
    (source,) = resolve(f"{site.url}/slow.png")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        opened = list(pool.map(renderer.open, [source] * 4))
    assert [one.pages for one in opened] == [1] * 4
    assert len(site.asked) == 1


def test_nothing_is_sent_that_could_tell_who_asks(
    site: Web, renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_fake_leak")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")  # for the world outside, never for this machine
    site.routes["/start"] = Answer(status=302, headers={"Location": "/x.png", "Set-Cookie": "a=b; Path=/"})
    renderer.open(resolve(f"{site.url}/start")[0])
    for asked in site.asked:
        assert not {"cookie", "authorization", "referer"} & set(asked.headers)
        assert "leak" not in str(asked.headers)


def test_user_and_password_go_to_their_server_alone_and_are_never_shown(site: Web, renderer: Renderer) -> None:
    other = Web()
    try:
        other.routes["/x.png"] = Answer(png())
        site.routes["/near"] = redirect("/x.png")
        site.routes["/far"] = redirect(f"{other.url}/x.png")
        given = site.url.replace("://", "://me:s3cret@")
        for path in ("/near", "/far"):
            (source,) = resolve(given + path)
            assert "s3cret" not in f"{source} {source.name}"
            renderer.open(source)
        assert [("authorization" in asked.headers) for asked in site.asked] == [True, True, True]
        assert "authorization" not in other.asked[0].headers
        assert "s3cret" not in str(refused(renderer, f"{given}/none?token=s3cret"))
        assert "s3cret" not in str(refused(renderer, given.replace(str(site.port), "1") + "/x"))
    finally:
        other.close()


@pytest.mark.parametrize(
    "rest", ["/{}@h.invalid/x.png", ":{}#b@h.invalid/x", ":{}?b@h.invalid/x", ":{}@/x", ":{}@[::1/x"]
)
@pytest.mark.parametrize("start", ["https://me", "https:/me", "http:me", "ftp://me"])
def test_no_password_of_a_mistyped_address_is_shown(renderer: Renderer, start: str, rest: str) -> None:
    url = start + (":a" if rest[0] == "/" else "") + rest.format("s3c")
    for source in [*resolve([url, "none"]), *([] if start == "http:me" else resolve([f" {url}", "none"]))]:
        with pytest.raises(SourceError) as caught:
            renderer.open(source)
        assert "s3c" not in f"{source} {source.name} {caught.value}"


@pytest.mark.parametrize(
    "case",
    [
        ("/loop", redirect("/loop"), "in a circle"),
        ("/far", lambda asked: redirect(asked.path + "x"), "more than 5 redirects"),
        ("/file", redirect("file:///etc/passwd"), "Only http and https"),
        ("/port", redirect("http://x:99999/"), "a port that there cannot be"),
        ("/nowhere", Answer(status=302), "not told where to"),
        ("/private", redirect("http://169.254.169.254/latest"), "local network"),
        ("/none", Answer(status=404), "status 404"),
        ("/login", Answer(status=401), "asks for a login"),
        ("/page", Answer(b"\n<!-- a -->\n<!DOCTYPE html><html>"), "a page for people"),
        ("/page.pdf", Answer(b"<html><head>"), "a page for people"),
        ("/text", Answer(b"just text"), "plain text"),
        ("/empty", Answer(b""), "empty (0 bytes)"),
        ("/zip", Answer(b"PK\x03\x04...."), "zip archive"),
        ("/short", Answer(b"%PDF-1.4 " + bytes(100), length=5000), "ended early"),
        ("/large", Answer(b"%PDF-", length=10**9), "larger than 1 MB"),
        ("/endless", Answer(itertools.repeat(b"%PDF-" + bytes(9000))), "larger than 1 MB"),
        ("/zeros", Answer(itertools.repeat(bytes(9000))), "not known here"),
        ("/bomb", Answer(gzip.compress(b"%PDF-" + bytes(5 << 20)), headers={"Content-Encoding": "gzip"}), "1 MB"),
        ("/half", Answer(gzip.compress(png())[:-20], headers={"Content-Encoding": "gzip"}), "ended early"),
        ("/odd", Answer(b"xx", headers={"Content-Encoding": "br"}), "packed in a way"),
        ("/drip", Answer(itertools.repeat(b"%"), pause=0.2, length=10**5), "longer than 1 s"),
        ("/still", Answer(iter([b"x", b"x"]), pause=4.0, length=100), "sent nothing for 0.5 s"),
        ("/head", Answer(itertools.cycle([b"X", b"-", b":", b"\r\n"]), pause=0.1, raw=True), "s."),
        ("/noise", Answer(b"not http at all\r\n\r\n", raw=True), "does not speak HTTP"),
        ("/cut", Answer(b"", raw=True), "connection"),
    ],
)
def test_every_fault_is_one_message(
    site: Web, renderer: Renderer, monkeypatch: pytest.MonkeyPatch, case: tuple[str, Any, str]
) -> None:
    path, answer, words = case
    site.routes[path] = answer
    site.fallback = answer if callable(answer) else None
    if path in ("/drip", "/still", "/head"):
        monkeypatch.setattr(room, "_FILE", HASTY)
    if path == "/private":
        monkeypatch.setattr(config.settings, "allow_private_urls", False)
        (source,) = resolve(f"{site.url}{path}")
        with pytest.MonkeyPatch.context() as patch:
            # The first address counts as public, the one it leads to is as it is.
            patch.setattr(wire, "is_public", lambda address: address == "127.0.0.1" or addresses.is_public(address))
            with pytest.raises(SourceError) as caught:
                renderer.open(source)
        error = caught.value
    else:
        error = refused(renderer, f"{site.url}{path}")
    assert words in error.why
    assert "Traceback" not in str(error)


def test_a_manifest_has_a_limit_of_its_own(site: Web, renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_JSON_BYTES", 10_000)
    site.routes["/manifest"] = Answer(iter([b'{"a": "' + b"x" * 5_000] * 9), pause=0.01, length=10**5)
    assert "too large" in refused(renderer, f"{site.url}/manifest").what


def test_a_viewer_that_carries_its_manifest_along_names_it(site: Web, renderer: Renderer) -> None:
    site.routes["/view"] = Answer(b"<!doctype html><html>")
    error = refused(renderer, f"{site.url}/view?manifest=https%3A%2F%2Fl.example%2Fbk1%2Fmanifest.json")
    assert error.next == "%uocr https://l.example/bk1/manifest.json"


def test_an_old_download_is_fetched_again_by_the_next_run(
    site: Web, renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = resolve(f"{site.url}/x.png")
    for _ in range(2):
        renderer.open(source)
        renderer.render(source, 1)
    assert len(site.asked) == 1
    monkeypatch.setattr(canvases, "_FRESH", -1.0)
    renderer.open(source)
    renderer.render(source, 1)
    assert len(site.asked) == 2


def test_a_gzip_answer_is_unpacked(site: Web, renderer: Renderer) -> None:
    site.routes["/y.png"] = Answer(gzip.compress(png()), headers={"Content-Encoding": "gzip"})
    (source,) = resolve(f"{site.url}/y.png")
    assert renderer.render(source, 1).size == (60, 40)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "printer.local", "intranet", "metadata.google.internal",
        "2130706433", "0x7f000001", "0x7f.1", "127.1", "0", "10.1.2.3", "172.20.0.1", "192.168.0.1",
        "169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "0.0.0.0", "224.0.0.1", "255.255.255.255",
        "192.0.2.1", "192.88.99.1", "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]",
        "[ff02::1]", "[::ffff:127.0.0.1]", "[::ffff:a00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]",
        "[2002:7f00:1::]", "[2001:0:1::1]", "[2001:db8::1]",
    ],
)  # fmt: skip
def test_private_addresses_are_refused_however_they_are_written(renderer: Renderer, host: str) -> None:
    error = refused(renderer, f"http://{host}/x.pdf")
    assert "not fetched" in error.what
    assert error.next == "%config UOCR.allow_private_urls = True"


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822", "::ffff:93.184.216.34"]
)
def test_open_addresses_are_public(address: str) -> None:
    assert addresses.is_public(address)


def test_a_name_that_changes_its_address_gains_nothing(
    site: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "allow_private_urls", False)
    # The name has a private address beside an open one: not even the open one is connected to.
    monkeypatch.setattr(wire, "lookup", lambda *_: ["93.184.216.34", "127.0.0.1"])
    with monkeypatch.context() as patch:
        patch.setattr(wire, "_tls", None)
        with pytest.raises(FetchError, match="not fetched"):
            fetch.fetch(f"http://x.example:{site.port}/x.png", tmp_path, limits=QUICK)
    # The check of the name is passed, and the other end of the connection is private all the same.
    monkeypatch.setattr(wire, "lookup", lambda *_: ["127.0.0.1"])
    answers = iter([True, False, False])
    monkeypatch.setattr(wire, "is_public", lambda _address: next(answers))
    with pytest.raises(FetchError, match="not fetched"):
        fetch.fetch(f"http://x.example:{site.port}/x.png", tmp_path, limits=QUICK)
    assert site.asked == []
    assert list(tmp_path.iterdir()) == []


def test_the_next_address_of_a_name_is_tried(site: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "lookup", lambda *_: ["127.0.0.2", "127.0.0.1"])
    got = fetch.fetch(f"http://x.example:{site.port}/x.png", tmp_path, limits=QUICK)
    assert got.file.read_bytes() == png()
    assert site.asked[0].headers["host"] == f"x.example:{site.port}"


def test_a_proxy_is_used_and_private_addresses_stay_refused(
    site: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", site.url)
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setattr(config.settings, "allow_private_urls", False)
    site.fallback = lambda _asked: Answer(png())
    monkeypatch.setattr(wire, "lookup", lambda *_: ["93.184.216.34"])
    assert fetch.fetch("http://x.example/a.png", tmp_path, limits=QUICK).size == len(png())
    assert site.paths() == ["http://x.example/a.png"]
    for url in ("http://10.0.0.1/", "http://localhost:1/", "http://0x7f.1/", "http://intranet/"):
        with pytest.raises(FetchError, match="not fetched"):
            fetch.fetch(url, tmp_path, limits=QUICK)
    assert len(site.asked) == 1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
def test_certificates_are_checked_for_the_name_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -addext subjectAltName=DNS:x.example"
    subprocess.run(
        [*line.split(), "-keyout", "key.pem", "-out", "cert.pem"], cwd=tmp_path, check=True, capture_output=True
    )
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    safe = Web(lambda plain: server.wrap_socket(plain, server_side=True))
    try:
        safe.routes["/x.png"] = Answer(png())
        monkeypatch.setattr(config.settings, "allow_private_urls", True)
        monkeypatch.setattr(wire, "lookup", lambda *_: ["127.0.0.1"])
        monkeypatch.setattr(wire, "_context", None)
        url = f"https://x.example:{safe.port}/x.png"
        with pytest.raises(FetchError, match=r"certificate of x\.example is not good"):
            fetch.fetch(url, tmp_path, limits=QUICK)
        monkeypatch.setattr(wire, "_context", ssl.create_default_context(cafile=tmp_path / "cert.pem"))
        assert fetch.fetch(url, tmp_path, limits=QUICK).size == len(png())
        with pytest.raises(FetchError, match=r"certificate of y\.example is not good"):
            fetch.fetch(url.replace("x.example", "y.example"), tmp_path, limits=QUICK)
    finally:
        safe.close()


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_for_time_gets_it(site: Web, tmp_path: Path, status: int) -> None:
    answers = iter([Answer(status=status, headers={"Retry-After": "1"}), Answer(png())])
    site.routes["/busy.png"] = lambda _asked: next(answers)
    limits = Limits(gap=0.0, tries=2)
    assert fetch.fetch(f"{site.url}/busy.png", tmp_path, limits=limits).size == len(png())
    first, second = site.asked
    assert second.at - first.at >= 0.95
    site.routes["/later"] = Answer(status=status, headers={"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"})
    for _ in range(2):
        with pytest.raises(FetchError, match="asks to be left alone"):
            fetch.fetch(f"{site.url}/later", tmp_path, limits=limits)
    assert site.paths() == ["/busy.png", "/busy.png", "/later"]


def test_a_host_is_asked_once_at_a_time_with_gaps(site: Web, tmp_path: Path) -> None:
    limits = Limits(gap=0.1)
    threads = [
        threading.Thread(target=fetch.fetch, args=(f"{site.url}/x.png", tmp_path), kwargs={"limits": limits})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    times = [asked.at for asked in site.asked]
    assert len(times) == 4
    assert site.most_open == 1
    assert all(later - sooner >= 0.09 for sooner, later in itertools.pairwise(times))


def test_a_download_ends_when_it_is_told_to(site: Web, tmp_path: Path) -> None:
    began = threading.Event()

    def slow(_asked: Asked) -> Answer:
        began.set()
        return Answer(itertools.repeat(b"%PDF-"), pause=0.5, length=10**6)

    site.routes["/slow"] = slow
    stop = threading.Event()
    found: list[Exception] = []

    def run() -> None:
        try:
            fetch.fetch(f"{site.url}/slow", tmp_path, stop=stop)
        except FetchError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(10)
    stop.set()
    asked_at = time.monotonic()
    thread.join(5)
    assert time.monotonic() - asked_at < 1
    assert "It was stopped" in str(found[0])
    assert list(tmp_path.iterdir()) == []


def test_a_download_does_not_hold_up_the_exit(site: Web) -> None:
    site.routes["/slow"] = Answer(itertools.repeat(b"%PDF-"), pause=0.3, length=10**6)
    program = (
        "import concurrent.futures, sys, time\n"
        "from uocr_nb.config import settings\n"
        "from uocr_nb.sources import default_renderer, resolve\n"
        "settings.allow_private_urls = True\n"
        "pool = concurrent.futures.ThreadPoolExecutor()\n"
        "pool.submit(default_renderer().open, resolve(sys.argv[1])[0])\n"
        "while not __import__('uocr_nb.support.lines', fromlist=['x'])._watch.lines: time.sleep(0.01)\n"
        "time.sleep(0.3); print(time.time())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"{site.url}/slow"], capture_output=True, text=True, timeout=60, check=True
    )
    assert time.time() - float(done.stdout) < 3
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://l.example/a/My%20Book%20%C3%A9.pdf?x=1#p", "My Book é.pdf"),
        ("https://me:pw@l.example", "l.example"),
        ("https://l.example/iiif/bk1/manifest.json", "bk1/manifest.json"),
        ("https://l.example/iiif/2/ab%2Fc/full/full/0/default.jpg", "ab_c"),
        ("https://l.example/iiif/ab/info.json", "ab/info.json"),
        ("https://l.example/..%2F..%2Fetc%2Fpasswd", ".._.._etc_passwd"),
        ("https://l.example/a/../b.png", "b.png"),
        ("https://l.example/%00%1b[31m", "__[31m"),
        ("https://l.example/" + "x" * 300, "x" * 77 + "..."),
    ],
)
def test_names_come_from_the_address(url: str, name: str) -> None:
    assert name_of(url) == name


def test_two_addresses_that_end_alike_are_told_apart() -> None:
    names = [source.name for source in resolve(["https://a.example/x.pdf", "https://b.example/x.pdf"])]
    assert names == ["a.example/x.pdf", "b.example/x.pdf"]


def test_an_address_among_others_costs_itself(site: Web, renderer: Renderer) -> None:
    sources = resolve([f"{site.url}/x.png", "https://", "gopher://x/y", f"{site.url}/none.pdf"])
    assert [source.name for source in sources] == ["x.png", "address", "y", "none.pdf"]
    assert [source.problem is not None for source in sources] == [False, True, True, False]
    assert renderer.open(sources[0]).pages == 1
    with pytest.raises(SourceError, match="status 404"):
        renderer.open(sources[3])
