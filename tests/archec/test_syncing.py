"""Many files made durable at once, by whatever the kernel has for that."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from lafka.archec import gathering, syncing
from lafka.archec.store import ObiStore
from tests.archec.stores import START, Home, template


def files(folder: Path, count: int) -> list[Path]:
    paths = [folder / str(n) for n in range(count)]
    for path in paths:
        path.write_bytes(b"x")
    return paths


@pytest.fixture
def synced(monkeypatch) -> list[str]:
    """The calls that are made, in their order."""
    calls: list[str] = []
    fsync, syncfs = os.fsync, syncing.syncfs
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(syncing, "syncfs", lambda fd: (calls.append("syncfs"), syncfs(fd)))
    return calls


@pytest.mark.parametrize(
    ("count", "by_syncfs", "calls"),
    [(3, True, ["fsync"] * 3), (17, True, ["syncfs"]), (17, False, ["fsync"] * 17)],
)
def test_few_files_are_synced_one_by_one_and_many_at_once(
    tmp_path, monkeypatch, synced, count, by_syncfs, calls
):
    monkeypatch.setattr(syncing, "_BY_SYNCFS", by_syncfs)
    anchor = os.open(tmp_path, os.O_RDONLY)
    syncing.sync_files(files(tmp_path, count), anchor)
    os.close(anchor)
    assert synced == calls


def test_an_error_of_syncfs_is_raised():
    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        syncing.syncfs(-1)
    assert caught.value.errno == errno.EBADF


def test_the_descriptor_was_open_before_the_first_draft_was_written(tmp_path, monkeypatch):
    """A write that fails is told by it only then."""
    if not syncing._BY_SYNCFS:
        pytest.skip("no syncfs that tells of errors here: Linux before 5.8, or another system")
    anchors: list[int] = []
    open_at_writes: list[bool] = []
    write_all = gathering.write_all

    def writing(fd: int, data: bytes) -> None:
        opened = [os.path.realpath(path) for path in Path("/proc/self/fd").iterdir()]
        open_at_writes.append(str(home.archive.resolve()) in opened)
        write_all(fd, data)

    monkeypatch.setattr(gathering, "write_all", writing)
    monkeypatch.setattr(syncing, "syncfs", anchors.append)
    home = Home(tmp_path / "home")
    home.put({"abc/wpaper/1.rdf": "".join(template(n) for n in range(20))})
    home.tobi()
    assert len(anchors) == 1
    assert open_at_writes == [True] * 20
    assert len(list(ObiStore(home.archive).folder(START).iterdir())) == 20
