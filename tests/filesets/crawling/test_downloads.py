"""The sink of a huge file: what comes in small pieces is written in big ones, in order."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from lafka.filesets.crawling import downloads
from lafka.filesets.crawling.downloads import TOGETHER, DownloadContext, PartSink
from lafka.filesets.model.asks import Fetch
from lafka.filesets.model.types import FilesetManifestFile
from lafka.filesets.targets.folder import PartFile
from lafka.warc import Fields
from tests.waiting import LIMIT

URL = "https://x.example/f"


class Watched(PartFile):
    """A part whose writes are counted; ``wrote`` is set by each, ``synced`` by each sync."""

    def __init__(self, final: Path) -> None:
        super().__init__(final)
        self.sizes: list[int] = []
        self.wrote, self.synced = threading.Event(), threading.Event()

    def write(self, data: bytes) -> None:
        super().write(data)
        self.sizes.append(len(data))
        self.wrote.set()

    def sync(self, *, is_whole: bool = False) -> None:
        super().sync(is_whole=is_whole)
        self.synced.set()


async def _nothing(*_: object) -> Any:
    raise AssertionError("the sink asks for nothing")


def begun(
    path: Path, *, size: int | None = None, taken_up: bool = True
) -> tuple[Watched, PartSink]:
    file = Watched(path)
    if taken_up:
        file.take_up(URL)
    wanted = FilesetManifestFile(path="f", platform_url=URL, size=size)
    want = Fetch(file=wanted, max_bytes=1 << 30)
    way = DownloadContext(
        get=_nothing,
        aside=_nothing,
        call=lambda work: work(),
        moved=bool,
        look=lambda found, *_: found,
        told=str,
        tries=1,
    )
    sink = PartSink(file, want, way)
    assert sink.wants(200, Fields([("ETag", '"1"')]))
    sink.begin(bool, bool)
    return file, sink


def test_small_pieces_are_written_together_in_their_order(tmp_path: Path) -> None:
    file, sink = begun(tmp_path / "f")
    pieces = [b"%08d" % number * 1024 for number in range(320)]
    for piece in pieces:
        sink.receive(piece)
    sink.finish()
    assert file.sizes == [TOGETHER, TOGETHER, len(b"".join(pieces)) - 2 * TOGETHER]
    assert file.path.read_bytes() == b"".join(pieces)


def test_what_comes_slowly_is_written_and_synced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "SYNC_SECONDS", 0.02)
    file, sink = begun(tmp_path / "f")
    sink.receive(b"few")
    assert file.wrote.wait(LIMIT)
    file.synced.clear()
    assert file.synced.wait(LIMIT)
    assert file.part.offset == len(b"few")
    sink.receive(b" more")
    sink.finish()
    assert file.path.read_bytes() == b"few more"


def test_a_small_file_is_written_when_all_of_it_is_there(tmp_path: Path) -> None:
    file, sink = begun(tmp_path / "f", size=9, taken_up=False)
    for piece in (b"one", b"two"):
        sink.receive(piece)
    assert not file.path.exists()
    sink.receive(b"three")
    sink.finish(is_whole=True)
    assert file.sizes == [len(b"onetwothree")]
    assert file.part.offset == len(b"onetwothree")
    assert file.keep(later=True)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_what_is_called_small_and_is_not_is_written_as_it_comes(tmp_path: Path) -> None:
    file, sink = begun(tmp_path / "f", size=9, taken_up=False)
    sink.receive(bytes(range(256)) * (TOGETHER // 256))
    assert file.wrote.wait(LIMIT)
    sink.receive(b"more")
    sink.finish()
    assert file.sizes == [TOGETHER, 4]
