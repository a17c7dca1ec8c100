"""IIIF manifests, the way in which libraries publish scans: Presentation API 2 and 3 read into a list of canvases.

Nothing here opens an address; see `uocr_nb.sources.web`. Manifests of the wild are forgiven much: what cannot be
understood costs its canvas, never the book.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.iiif_image import Info, Service, as_info, service_of, service_of_address

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Book", "Canvas", "is_iiif", "is_presentation", "looks_like_json", "may_be_pasted", "parse", "read"]

MOST_CANVASES = 20_000
"""Canvases of one manifest that are read."""

_DEEP = 6
"""How deep choices and selections may be nested."""

_LISTED = 3
"""Manifests of a collection that a message names."""

_NAMES = {"video": "a video", "sound": "a sound", "audio": "a sound", "text": "a text", "textualbody": "a text"}


@dataclass(frozen=True)
class Canvas:
    """One page of a book.

    Attributes
    ----------
    label : str
        What the library calls it ("f. 12r"); may be empty.
    address : str
        Of its picture as it is, where there is one.
    service : Service or None
        The image service that gives the picture in other sizes.
    info : Info or None
        What is known of that service already.
    region : str
        The part of the picture that is meant, in the service's own words.
    problem : str
        Why it has no picture.
    notes : tuple of str
        What a reader should know of it.
    spread : bool
        Whether it shows two pages side by side.
    """

    label: str = ""
    address: str = field(default="", repr=False)
    service: Service | None = None
    info: Info | None = None
    region: str = "full"
    problem: str = ""
    notes: tuple[str, ...] = ()
    spread: bool = False


@dataclass(frozen=True)
class Book:
    """A manifest: its canvases in order, and what is noted of it."""

    label: str
    canvases: tuple[Canvas, ...]
    notes: tuple[str, ...] = ()


def looks_like_json(head: bytes) -> bool:
    """Tell whether the first bytes may begin a JSON object."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def is_iiif(data: Any) -> bool:
    """Tell whether a value read from JSON is a manifest, a collection or an image description of IIIF."""
    return is_presentation(data) or as_info(data) is not None


def is_presentation(data: Any) -> bool:
    """Tell whether it has pages or lists books, unlike the description of a single image."""
    return _type(data) in ("manifest", "collection", "canvas", "sequence")


def read(text: bytes, name: str) -> Book:
    """Read the JSON text of a manifest, or of an image's ``info.json``.

    Raises
    ------
    SourceError
        When it is something else, or a collection.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise SourceError(
            f"{name} cannot be read.", "It begins like JSON, but is damaged or cut off.", "Fetch it again."
        ) from None
    return parse(data, name)


def parse(data: Any, name: str) -> Book:
    """`read` for JSON that is a Python value already."""
    kind = _type(data)
    if kind == "collection":
        raise _collection(data, name)
    info = as_info(data)
    if info is not None and kind not in ("manifest", "canvas", "sequence"):
        return Book("", (Canvas(service=info.service, info=info),))
    if kind not in ("manifest", "canvas", "sequence"):
        raise SourceError(
            f"{name} is not something that can be read.",
            "It is JSON, but neither a IIIF manifest nor the description of a IIIF image.",
            "%uocr https://.../manifest.json",
        )
    notes: list[str] = []
    found = [data] if kind == "canvas" else _canvases(data, notes)
    if len(found) > MOST_CANVASES:
        notes.append(f"The manifest has {len(found):,} canvases; only the first {MOST_CANVASES:,} are read.")
        found = found[:MOST_CANVASES]
    if not found:
        raise SourceError(
            f"{name} has no pages.", "The manifest lists no canvas.", "Look at the book in the library's own viewer."
        )
    spread = "facing-pages" in _hints(data)
    return Book(label_of(data), tuple(_canvas(one, spread=spread) for one in found), tuple(notes))


def _canvases(data: dict[str, Any], notes: list[str]) -> list[Any]:
    items = [one for one in _list(data.get("items")) if _type(one) in ("canvas", "")]
    if items:
        return items
    if "canvases" in data:
        return _list(data["canvases"])
    sequences = [one for one in _list(data.get("sequences")) if isinstance(one, dict)]
    if len(sequences) > 1:
        notes.append("The manifest has several orders of its pages; the first is used.")
    return _list(sequences[0].get("canvases")) if sequences else []


def _canvas(data: Any, *, spread: bool = False) -> Canvas:
    if not isinstance(data, dict):
        return Canvas(problem="Its manifest only refers to it, and does not describe it.")
    label = label_of(data)
    spread = spread or "facing-pages" in _hints(data)
    bodies: list[dict[str, Any]] = []
    others: list[str] = []
    notes: list[str] = []
    for body in _bodies(data):
        picture = _picture(body, notes, others)
        if picture is not None:
            bodies.append(picture)
    if not bodies:
        why = f"It holds {others[0]}." if others else "Its manifest names none for it."
        return Canvas(label, problem=why, spread=spread)
    if len(bodies) > 1:
        notes.append(f"The canvas is put together from {len(bodies)} pictures; only the first is read.")
    first = bodies[0]
    address = _id(first)
    if not address.startswith(("http://", "https://")):
        address = ""
    service, region = service_of(first), first.get("uocr:region", "full")
    if service is None and address:
        service, part = service_of_address(address)
        region = part if region == "full" else region
    if service is None and not address:
        return Canvas(label, problem="Its manifest names a picture without an address.", spread=spread)
    info = None
    if service is not None:
        info = as_info(service.data) if service.data else None
    return Canvas(label, address, service, info, str(region), "", tuple(notes), spread)


def _bodies(canvas: dict[str, Any]) -> Iterator[Any]:
    """What is painted on a canvas, in either version."""
    for annotation in _list(canvas.get("images")):
        if isinstance(annotation, dict) and "resource" in annotation:
            yield from _list(annotation["resource"])
        elif isinstance(annotation, dict) and "body" in annotation:
            yield from _list(annotation["body"])
    for page in _list(canvas.get("items")):
        for annotation in _list(page.get("items")) if isinstance(page, dict) else ():
            if not isinstance(annotation, dict):
                continue
            motives = [str(one) for one in _list(annotation.get("motivation"))]
            if not motives or any("painting" in one for one in motives):
                yield from _list(annotation.get("body"))


def _picture(body: Any, notes: list[str], others: list[str], deep: int = 0) -> dict[str, Any] | None:
    """The picture in a body: the first of a choice, the whole or part of it in a selection."""
    if isinstance(body, str):
        return {"id": body} if body.startswith(("http://", "https://")) else None
    if not isinstance(body, dict) or deep > _DEEP:
        return None
    kind = _type(body)
    if kind == "choice":
        options = [*_list(body.get("default")), *_list(body.get("item")), *_list(body.get("items"))]
        options = [one for one in options if isinstance(one, dict)]
        found = (_picture(one, notes, others, deep + 1) for one in options)
        first = next((one for one in found if one is not None), None)
        if first is not None and len(options) > 1:
            notes.append(f"There are {len(options)} pictures of this page to choose from; the first is read.")
        return first
    if kind == "specificresource" or "full" in body or "source" in body:
        whole = next(iter(_list(body.get("full")) + _list(body.get("source"))), None)
        inner = _picture(whole, notes, others, deep + 1)
        region = _region(body.get("selector"))
        return {**inner, "uocr:region": region} if inner is not None and region else inner
    if kind in _NAMES:
        others.append(_NAMES[kind])
        return None
    return body


def _region(selector: Any) -> str:
    for one in _list(selector):
        if not isinstance(one, dict):
            continue
        text = str(one.get("region") or one.get("value") or "")
        found = re.search(r"(?:^|xywh=(?:pixel:)?)(\d+,\d+,\d+,\d+)$", text)
        if found:
            return found[1]
    return ""


def _collection(data: dict[str, Any], name: str) -> SourceError:
    members = [
        one
        for key in ("manifests", "members", "items", "collections")
        for one in _list(data.get(key))
        if isinstance(one, dict) and _id(one)
    ]
    books = [one for one in members if _type(one) != "collection"]
    few = [one for one in books or members if may_be_pasted(_id(one))][:_LISTED]
    listed = "; ".join(f"{label_of(one) or 'without a name'} ({_id(one)})" for one in few)
    more = f" It lists {len(members):,}" + (f", the first are: {listed}." if few else ".")
    return SourceError(
        f"{name} is a collection, not a book.",
        f"A collection lists manifests, each of which is a book.{more}",
        f"%uocr {_id(few[0])}" if few else "Name the manifest of one book.",
    )


def may_be_pasted(address: str) -> bool:
    """Tell whether an address may stand in a line to paste: whoever wrote a manifest must not write that line."""
    return re.fullmatch(r"https?://[\w.~:/?#@!&()*+,;=%-]{1,300}", address, re.ASCII) is not None


def label_of(data: Any) -> str:
    """The label of a manifest or canvas as one line: of any version, in English where there is a choice."""
    text = _text(data.get("label")) if isinstance(data, dict) else ""
    text = " ".join(
        re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", " ", text).encode("utf-8", "replace").decode().split()
    )
    return text if len(text) <= 120 else f"{text[:117]}..."


def _text(value: Any, deep: int = 0) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    if deep > _DEEP or not value:
        return ""
    if isinstance(value, dict):
        languages = ("@value", "en", "none", "@none", *value)
        return next((_text(value[one], deep + 1) for one in languages if value.get(one)), "")
    if not isinstance(value, list):
        return ""
    english = (one for one in value if isinstance(one, dict) and str(one.get("@language")).startswith("en"))
    if isinstance(value[0], dict):
        return _text(next(english, value[0]), deep + 1)
    return " ".join(filter(None, (_text(one, deep + 1) for one in value[:10])))


def _hints(data: dict[str, Any]) -> list[str]:
    return [str(one) for one in (*_list(data.get("behavior")), *_list(data.get("viewingHint")))]


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _id(data: Any) -> str:
    value = data.get("id") or data.get("@id") if isinstance(data, dict) else data
    return value.strip() if isinstance(value, str) else ""


def _type(data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    value = next(iter(_list(data.get("type") or data.get("@type"))), "")
    return re.split(r"[:#/]", value)[-1].lower() if isinstance(value, str) else ""
