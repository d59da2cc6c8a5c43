"""Many files made durable at once, by whatever the kernel has for that."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from lafka.archec.gather import gathering, tobis
from lafka.archec.gather.gathering import Gathering, NewObi
from lafka.archec.records import Kind
from lafka.archec.store import pages
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.lines import first_line, version
from lafka.errors import StorageTrouble
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
    fsync, syncfs = os.fsync, gathering.syncfs
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(gathering, "syncfs", lambda fd: (calls.append("syncfs"), syncfs(fd)))
    return calls


@pytest.mark.parametrize(
    ("count", "by_syncfs", "calls"),
    [(3, True, ["fsync"] * 3), (17, True, ["syncfs"]), (17, False, ["fsync"] * 17)],
)
def test_few_files_are_synced_one_by_one_and_many_at_once(
    tmp_path, monkeypatch, synced, count, by_syncfs, calls
):
    monkeypatch.setattr(gathering, "_BY_SYNCFS", by_syncfs)
    anchor = os.open(tmp_path, os.O_RDONLY)
    gathering.begin_sync(list(map(str, files(tmp_path, count))), anchor)()
    os.close(anchor)
    assert synced == calls


def test_an_error_of_syncfs_is_raised():
    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        gathering.syncfs(-1)
    assert caught.value.errno == errno.EBADF


def test_the_descriptor_was_open_before_the_first_draft_was_written(tmp_path, monkeypatch):
    """A write that fails is told by it only then."""
    if not gathering._BY_SYNCFS:
        pytest.skip("no syncfs that tells of errors here: Linux before 5.8, or another system")
    anchors: list[int] = []
    open_at_writes: list[bool] = []
    write_all = gathering.write_all

    def writing(fd: int, data: bytes) -> None:
        opened = [os.path.realpath(path) for path in Path("/proc/self/fd").iterdir()]
        open_at_writes.append(str(home.archive.resolve()) in opened)
        write_all(fd, data)

    monkeypatch.setattr(gathering, "write_all", writing)
    monkeypatch.setattr(gathering, "syncfs", anchors.append)
    home = Home(tmp_path / "home")
    home.put({"abc/wpaper/1.rdf": "".join(template(n) for n in range(20))})
    home.tobi()
    assert len(anchors) == 1
    assert open_at_writes == [True] * 20
    assert len(list(ObiStore(home.archive).folder(START).iterdir())) == 20


@pytest.fixture
def small(monkeypatch, tmp_path) -> Home:
    """A home with ten tobis, whose runs make groups of two."""
    monkeypatch.setattr(tobis, "BATCH", 2)
    monkeypatch.setattr(tobis, "GROUP", 4)
    monkeypatch.setattr(gathering, "FEW", 0)
    monkeypatch.setattr(gathering, "_BY_SYNCFS", True)
    home = Home(tmp_path / "home")
    home.put({"abc/wpaper/1.rdf": "".join(template(n) for n in range(10))})
    return home


def test_a_group_gets_its_names_when_the_drafts_of_the_next_one_are_written(small, monkeypatch):
    done: list[str] = []
    rename, write_all = os.rename, gathering.write_all
    monkeypatch.setattr(os, "rename", lambda *to: (done.append("name"), rename(*to)))
    monkeypatch.setattr(gathering, "write_all", lambda *to: (done.append("draft"), write_all(*to)))
    monkeypatch.setattr(gathering, "syncfs", lambda _: None)
    small.tobi()
    named = ["name"] * 2
    assert [one for one in done if one != "draft"] == ["name"] * 10
    assert done[:6] == ["draft"] * 4 + named


def test_a_sync_that_fails_undoes_its_group_and_the_one_behind_it(small, monkeypatch):
    anchors: list[int] = []

    def failing(anchor: int) -> None:
        anchors.append(anchor)
        if len(anchors) == 2:
            raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(gathering, "syncfs", failing)
        with pytest.raises(StorageTrouble, match="Input/output error"):
            small.tobi()
    assert len(small.objects()) == 2
    assert [line.get("e") for line in small.journal(START)] == [None, "appearance", "appearance"]
    assert small.tobi().counts == {"same": 2, "appearance": 8}


def test_a_content_on_its_way_to_the_disk_is_held_and_linked_to(tmp_path):
    store, data = ObiStore.create(tmp_path / "store"), b"%PDF-1.4"
    ids = [f"http://x.example/{n}.pdf" for n in range(3)]
    head = first_line("fobi", "r")
    with Home(tmp_path).records(store) as records:
        made = Gathering.begin(store, records, Kind.FOBI, head, not_before=START)
        for obi in ids:
            sums = pages.of_file(data, is_page=False)
            line = version("appearance", obi, sums, length=8, found=START, way=[obi], status=200)
            made.put(NewObi(data=data, mtime=START, line=line))
            made.begin_commit()
        made.end(seconds=0.0)
    assert [store.read(START, obi) for obi in ids] == [data] * 3
    assert [store.path(START, obi).is_symlink() for obi in ids] == [False, True, True]
