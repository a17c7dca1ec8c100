"""How much the output of a long reading sends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import Block, Document, Page
from uocr_nb.magics import live
from uocr_nb.reading.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PAGES = 1000
SLOTS = 8
SECONDS_A_PAGE = 4.0


def test_a_thousand_pages_stay_within_bounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from PIL import Image

    picture = tmp_path / "page.jpg"
    Image.effect_noise((700, 990), 60).convert("RGB").save(picture, quality=80)
    blocks = tuple(Block("text", "word " * 60, (100, n * 60, 900, n * 60 + 50)) for n in range(16))
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    sent: list[tuple[float, int, set[str]]] = []

    def show(bundle: dict[str, str], **_options: Any) -> Any:
        sent.append((clock.now, sum(len(text.encode()) for text in bundle.values()), set(bundle)))
        return SimpleNamespace(update=show)

    monkeypatch.setattr(live, "time", clock)
    monkeypatch.setattr(live, "display", show)
    shell = SimpleNamespace(kernel=True, execution_count=1)
    output = live.LiveDocument(shell, "auto")
    pages = [
        Page(n, n, "a.pdf", (700, 990), blocks, sha256="same", image_file=picture, seconds=SECONDS_A_PAGE)
        for n in range(1, PAGES + 1)
    ]
    while (done := int(clock.now / SECONDS_A_PAGE * SLOTS)) < PAGES:
        now = pages[done : done + SLOTS]
        partial = tuple(
            Page(p.position, p.number, p.source, p.size, blocks[: 1 + n], sha256="same", image_file=picture)
            for n, p in enumerate(reversed(now))
        )
        output.update(
            Progress(
                PAGES,
                done,
                seconds=clock.now,
                reading=tuple(p.position for p in now),
                tokens=int(clock.now * 900),
                look=lambda partial=partial: partial,  # type: ignore[misc]
            ),
            pages[:done],
        )
        clock.now += 0.2
    # At most two and a half updates a second, each of bounded size, and so is what a second sends.
    assert len(sent) <= clock.now * 2.5 + 1
    assert max(size for _, size, _ in sent) <= 120_000
    assert sum(size for _, size, _ in sent) <= clock.now * live._BYTES_PER_SECOND + 120_000
    first, second = (sum(size for at, size, _ in sent if (at > clock.now / 2) is late) for late in (False, True))
    assert second <= 1.2 * first, "an update grows with the number of pages done"
    assert all("text/html" in kinds for _, _, kinds in sent)
    output.finish(Document(pages))
    assert sent[-1][1] <= 2_200_000


def test_nothing_new_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    shown: list[dict[str, str]] = []

    def show(bundle: dict[str, str], **_options: Any) -> Any:
        shown.append(bundle)
        return SimpleNamespace(update=show)

    monkeypatch.setattr(live, "time", clock)
    monkeypatch.setattr(live, "display", show)
    output = live.LiveDocument(SimpleNamespace(kernel=True, execution_count=1), "markdown")
    assert not output.started
    for tick in range(100):  # 20 s without anything new, then a sentence
        clock.now = tick * 0.2
        output.update(Progress(9, 3, seconds=clock.now, waiting="It waits." if tick == 99 else ""), [])
    assert output.started
    assert 3 <= len(shown) <= 6
    assert "It waits." in shown[-1]["text/html"]
    assert "3 of 9 pages" in shown[-1]["text/plain"]
