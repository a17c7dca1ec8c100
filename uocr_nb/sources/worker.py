"""The process that opens PDFs and pictures, so that what goes wrong in them costs a page and not the kernel.

It reads requests from stdin and writes answers to stdout, each a JSON object behind its length (four bytes, big end
first). It ends when stdin ends, when its parent is gone, or when it holds more memory than it was given.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from uocr_nb.sources.images import PictureFile
    from uocr_nb.sources.pdf import PdfFile

__all__ = ["OUT_OF_MEMORY", "main", "read_message", "write_message"]

OUT_OF_MEMORY = 77
"""Exit status that says so."""

_OPEN_FILES = 4
_WATCH = 0.05
"""Seconds between two looks at the memory: a page that fills 2 GB takes longer."""


def read_message(stream: BinaryIO) -> dict[str, Any] | None:
    """Read the next message, or None at the end of the stream."""
    head = _exactly(stream, 4)
    body = _exactly(stream, int.from_bytes(head, "big")) if head is not None else None
    if body is None:
        return None
    message: dict[str, Any] = json.loads(body)
    return message


def _exactly(stream: BinaryIO, size: int) -> bytes | None:
    parts = b""
    while len(parts) < size:
        part = stream.read(size - len(parts))
        if not part:
            return None
        parts += part
    return parts


def write_message(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write `message` whole."""
    body = json.dumps(message).encode()
    rest = memoryview(len(body).to_bytes(4, "big") + body)
    while rest:
        rest = rest[stream.write(rest) or 0 :]


class _Files:
    """The files opened last, kept open: page after page of one file is the usual order."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[Any, ...], PdfFile | PictureFile] = OrderedDict()

    def get(self, request: dict[str, Any]) -> PdfFile | PictureFile:
        path = Path(request["path"])
        state = path.stat()
        key = (request["path"], request["kind"], request["password"], state.st_mtime_ns, state.st_size)
        found = self._open.pop(key, None)
        if found is None:
            found = self._new(path, request)
        self._open[key] = found
        while len(self._open) > _OPEN_FILES:
            self._open.popitem(last=False)[1].close()
        return found

    @staticmethod
    def _new(path: Path, request: dict[str, Any]) -> PdfFile | PictureFile:
        if request["kind"] == "pdf":
            from uocr_nb.sources.pdf import PdfFile  # noqa: PLC0415 - loaded when the process is up

            return PdfFile(path, request["name"], request["password"])
        from uocr_nb.sources.images import PictureFile  # noqa: PLC0415

        return PictureFile(path, request["name"])


def _serve(request: dict[str, Any], files: _Files) -> dict[str, Any]:
    if request["do"] == "join":
        from uocr_nb.sources.tiles import join  # noqa: PLC0415

        return join(request)
    file = files.get(request)
    if request["do"] == "open":
        return {"pages": file.count, "notes": file.notes}
    from uocr_nb.sources.encode import write  # noqa: PLC0415
    from uocr_nb.sources.pdf import PdfFile  # noqa: PLC0415

    number, max_pixels = request["number"], request["max_pixels"]
    if isinstance(file, PdfFile):
        drawn = file.draw(number, dpi=request["dpi"], mode=request["mode"], max_pixels=max_pixels)
    else:
        drawn = file.draw(number, max_pixels=max_pixels)
    return write(drawn, Path(request["folder"]))


def _answer(request: dict[str, Any], files: _Files) -> dict[str, Any]:
    """Answer one request; what goes wrong is told in three parts."""
    from uocr_nb.errors import SourceError  # noqa: PLC0415
    from uocr_nb.sources.types import PageError  # noqa: PLC0415

    name = request["name"]
    try:
        return _serve(request, files)
    except SourceError as error:
        return {"error": [error.what, error.why, error.next], "page": isinstance(error, PageError)}
    except FileNotFoundError:
        return {"error": [f"{name} is not there any more.", "It was moved or deleted.", "Name it again."]}
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # what else is held cannot be told, so a fresh process is safest
    except OSError as error:
        return {"error": [f"{name} cannot be read.", f"{error.strerror or error}.", "Look at the file's rights."]}
    except Exception as error:  # noqa: BLE001 - one bad page must not end the process
        return _unforeseen(request, error)


def _unforeseen(request: dict[str, Any], error: Exception) -> dict[str, Any]:
    """Tell of a fault that a decoder has in words of its own; they are cut, and its class says nothing to a reader."""
    name, number = request["name"], request.get("number")
    what = f"{name} cannot be opened." if number is None else f"Page {number} of {name} cannot be drawn."
    told = " ".join(str(error).split()).rstrip(".")[:200]
    why = f"It is damaged, or holds something that is not known here{f' ({told})' if told else ''}."
    step = "Save it as PDF or PNG in the program that made it, and name that file."
    return {"error": [what, why, step], "page": number is not None}


def _resident() -> int | None:
    """Bytes of memory held, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _watch(parent: int, most: int) -> None:
    """End the process when its parent has gone or its memory is more than it was given."""
    while True:
        time.sleep(_WATCH)
        if os.getppid() != parent:
            os._exit(0)
        held = _resident()
        if held is not None and held > most:
            os._exit(OUT_OF_MEMORY)


def _limit(memory: int) -> int:
    """Bound the address space where the system can, and return the bound on resident memory."""
    base = _resident() or 100 << 20
    try:
        import resource  # noqa: PLC0415 - not on every system

        # Address space is always more than what is held: the watch comes first, this stops a single huge request.
        resource.setrlimit(resource.RLIMIT_AS, (base + 2 * memory + (1 << 30),) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        pass
    return base + memory


def _listen(stdin: BinaryIO, requests: queue.Queue[dict[str, Any]]) -> None:
    while (request := read_message(stdin)) is not None:
        requests.put(request)
    # The kernel has let go, perhaps in the middle of a page that would take long.
    os._exit(0)


def main() -> None:
    """Answer requests until stdin ends."""
    stdin = os.fdopen(os.dup(0), "rb", buffering=0)
    stdout = os.fdopen(os.dup(1), "wb", buffering=0)
    # What libraries print goes nowhere, least of all between the answers.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives as long as we do

    try:
        # Loaded before the limits are set and readiness is told.
        import uocr_nb.sources.images  # noqa: PLC0415
        import uocr_nb.sources.pdf  # noqa: F401, PLC0415
    except ImportError as error:
        write_message(stdout, {"id": 0, "failed": str(error)})
        return

    first = read_message(stdin)
    if first is None:
        return
    most = _limit(first["memory"])
    threading.Thread(target=_watch, args=(os.getppid(), most), daemon=True).start()
    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(stdin, requests), daemon=True).start()
    write_message(stdout, {"id": 0, "ready": True})
    files = _Files()
    while True:
        request = requests.get()
        write_message(stdout, {"id": request["id"], **_answer(request, files)})


if __name__ == "__main__":
    main()
