"""A library's IIIF server on loopback: strict about what its level and version of the Image API allow."""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass, field
from typing import Any

from PIL import Image, ImageDraw
from web import Answer, Asked, Web, data, redirect


@dataclass
class Scan:
    """One picture of the library, and what its service can do."""

    size: tuple[int, int] = (1600, 2400)
    version: int = 2
    level: int = 2
    most: dict[str, int] = field(default_factory=dict)
    sizes: list[tuple[int, int]] | None = None
    tile: int = 0
    factors: tuple[int, ...] = (1, 2, 4)
    whole: bool = True
    """Whether the whole picture is given at full size."""
    status: int = 200
    info_status: int = 200

    def info(self, base: str) -> dict[str, Any]:
        width, height = self.size
        found: dict[str, Any] = {"protocol": "http://iiif.io/api/image", "width": width, "height": height}
        if self.sizes:
            found["sizes"] = [{"width": w, "height": h} for w, h in self.sizes]
        if self.tile:
            found["tiles"] = [{"width": self.tile, "scaleFactors": list(self.factors)}]
        if self.version == 3:
            found |= {"@context": "http://iiif.io/api/image/3/context.json", "id": base, "type": "ImageService3"}
            found |= {"profile": f"level{self.level}", **self.most}
        else:
            found |= {"@context": "http://iiif.io/api/image/2/context.json", "@id": base}
            found["profile"] = [
                f"http://iiif.io/api/image/2/level{self.level}.json",
                *([self.most] if self.most else []),
            ]
        return found

    def answer(self, region: str, size: str, rest: str) -> Answer:
        if self.status != 200:
            return Answer(status=self.status)
        width, height = self.size
        box = (0, 0, width, height)
        if region != "full":
            x, y, w, h = (int(number) for number in region.split(","))
            box = (x, y, min(width, x + w), min(height, y + h))
        whole = box == (0, 0, width, height)
        given = self._size(size, box[2] - box[0], box[3] - box[1], whole=whole, region=region)
        if rest != "0/default.jpg" or given is None or given[0] > box[2] - box[0] or given[1] > box[3] - box[1]:
            return Answer(b"no such size", status=400)
        most = self.most.get("maxWidth", 10**6)
        limits = most, self.most.get("maxHeight", most), self.most.get("maxArea", 10**12)
        if given[0] > limits[0] or given[1] > limits[1] or given[0] * given[1] > limits[2]:
            return Answer(b"too large", status=403)
        picture = draw(self.size).resize(given, box=box)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=90)
        return Answer(buffer.getvalue(), headers={"Content-Type": "image/jpeg"})

    def _size(self, size: str, w: int, h: int, *, whole: bool, region: str) -> tuple[int, int] | None:  # noqa: PLR0911
        three = self.version == 3
        if size == ("max" if three else "full"):
            return (w, h) if self.whole and whole else None
        confined = re.fullmatch(r"!(\d+),(\d+)", size)
        if confined:
            scale = min(int(confined[1]) / w, int(confined[2]) / h, 1)
            return (max(1, round(w * scale)), max(1, round(h * scale))) if self.level == 2 else None
        numbers = re.fullmatch(r"(\d+),(\d*)", size)
        if not numbers:
            return None
        given = int(numbers[1]), int(numbers[2]) if numbers[2] else max(1, round(int(numbers[1]) * h / w))
        if self.level == 2 or (self.level == 1 and not numbers[2]):
            return given
        # A static server has the files of one way of writing alone.
        if bool(numbers[2]) is not three:
            return None
        if region == "full" and whole and any(given[0] == offered[0] for offered in self.sizes or ()):
            return next(offered for offered in self.sizes or () if offered[0] == given[0])
        for factor in self.factors if self.tile else ():
            if given[0] == math.ceil(w / factor) and max(w, h) <= self.tile * factor:
                return given[0], math.ceil(h / factor)
        return None


def draw(size: tuple[int, int]) -> Image.Image:
    """A page whose corners can be told apart."""
    width, height = size
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, width // 8, height // 8), fill=(200, 0, 0))
    pen.rectangle((width - width // 8, height - height // 8, width, height), fill=(0, 0, 200))
    return image


class Library(Web):
    """`scans` by their id; manifests are routes like any other."""

    def __init__(self) -> None:
        super().__init__()
        self.scans: dict[str, Scan] = {}
        self.fallback = self._iiif

    def base(self, name: str) -> str:
        return f"{self.url}/iiif/{name}"

    def images(self) -> list[str]:
        """What was asked of the image services, without the descriptions."""
        return [path.removeprefix("/iiif/") for path in self.paths() if path.endswith(".jpg")]

    def _iiif(self, asked: Asked) -> Answer:
        found = re.fullmatch(r"/iiif/([^/]+)(?:/(.*))?", asked.path)
        scan = self.scans.get(found[1]) if found else None
        if found is None or scan is None:
            return Answer(b"<html>not here</html>", status=404)
        if not found[2]:
            return redirect(f"{asked.path}/info.json", 303)
        if found[2] == "info.json":
            return data(scan.info(self.base(found[1]))) if scan.info_status == 200 else Answer(status=scan.info_status)
        region, size, rest = found[2].split("/", 2)
        return scan.answer(region, size, rest)

    def service(self, name: str) -> dict[str, Any]:
        scan = self.scans[name]
        if scan.version == 3:
            return {"id": self.base(name), "type": "ImageService3", "profile": f"level{scan.level}"}
        return {
            "@context": "http://iiif.io/api/image/2/context.json",
            "@id": self.base(name),
            "profile": f"http://iiif.io/api/image/2/level{scan.level}.json",
        }

    def manifest2(self, canvases: list[dict[str, Any]], path: str = "/bk1/manifest.json", **more: Any) -> str:
        value = {
            "@context": "http://iiif.io/api/presentation/2/context.json",
            "@id": self.url + path,
            "@type": "sc:Manifest",
            "label": "Book",
            "sequences": [{"@type": "sc:Sequence", "canvases": canvases}],
            **more,
        }
        self.routes[path] = data(value)
        return self.url + path

    def manifest3(self, canvases: list[dict[str, Any]], path: str = "/bk1/manifest.json", **more: Any) -> str:
        value = {
            "@context": ["http://example.org/ext.json", "http://iiif.io/api/presentation/3/context.json"],
            "id": self.url + path,
            "type": "Manifest",
            "label": {"de": ["Buch"], "en": ["Book"]},
            "items": canvases,
            **more,
        }
        self.routes[path] = data(value)
        return self.url + path

    def canvas2(self, label: Any, *resources: Any) -> dict[str, Any]:
        images = [{"@type": "oa:Annotation", "motivation": "sc:painting", "resource": one} for one in resources]
        return {"@id": f"{self.url}/c/{label}", "@type": "sc:Canvas", "label": label, "images": images}

    def canvas3(self, label: Any, *bodies: Any) -> dict[str, Any]:
        notes = [{"type": "Annotation", "motivation": "painting", "body": one} for one in bodies]
        items = [{"type": "AnnotationPage", "items": notes}] if notes else []
        return {"id": f"{self.url}/c/1", "type": "Canvas", "label": label, "items": items}

    def resource2(self, name: str, service: Any = None) -> dict[str, Any]:
        service = self.service(name) if service is None else service
        return {"@id": f"{self.base(name)}/full/full/0/default.jpg", "@type": "dctypes:Image", "service": service}

    def body3(self, name: str, service: Any = None) -> dict[str, Any]:
        service = [self.service(name)] if service is None else service
        return {"id": f"{self.base(name)}/full/max/0/default.jpg", "type": "Image", "service": service}
