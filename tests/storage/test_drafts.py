from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lafka.errors import StorageTrouble
from lafka.storage import drafts
from lafka.storage.folders import draft_of

OLD, NEW = b"what was there", b"what is there"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The syncs, locks and moves that are made, each with the name of its file."""
    seen: list[str] = []

    def tell(module: Any, name: str, of: Callable[..., Any]) -> None:
        call = getattr(module, name)

        def told(*args: Any, **more: Any) -> Any:
            seen.append(f"{name} {of(*args).name}")
            return call(*args, **more)

        monkeypatch.setattr(module, name, told)

    def opened(fd: Any, *_: object) -> Path:
        return Path(f"/proc/self/fd/{fd}").readlink()

    tell(os, "fsync", opened)
    tell(fcntl, "flock", opened)
    tell(os, "replace", lambda draft, _: Path(draft))
    tell(os, "link", lambda _, path: Path(path))
    tell(os, "unlink", Path)
    return seen


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, nth: int = 1) -> None:
    """The *nth* call of ``os.<name>`` says that the disk is full."""
    call, count = getattr(os, name), iter(range(1, 1000))

    def refused(*args: Any, **more: Any) -> Any:
        if next(count) == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*args, **more)

    monkeypatch.setattr(os, name, refused)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "papers.json"
    path.write_bytes(OLD)
    return path


def test_a_file_is_synced_named_and_then_its_name_is_synced(path: Path, calls: list[str]) -> None:
    drafts.replace(path, [NEW[:4], NEW[4:]])
    assert calls == [
        "fsync .draft-papers.json",
        "replace .draft-papers.json",
        f"fsync {path.parent.name}",
    ]
    assert path.read_bytes() == NEW
    assert names(path.parent) == ["papers.json"]


def test_a_draft_of_a_killed_writer_is_written_over(path: Path) -> None:
    draft_of(path).write_bytes(b"longer than what is to be written" * 3)
    drafts.replace(path, [NEW])
    assert path.read_bytes() == NEW
    assert names(path.parent) == ["papers.json"]


def test_a_draft_of_another_name(path: Path, calls: list[str]) -> None:
    drafts.replace(path, [NEW], draft=path.with_name("other"))
    assert calls[:2] == ["fsync other", "replace other"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_refusal_leaves_what_was_there(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    refuse(monkeypatch, call)
    with pytest.raises(StorageTrouble) as found:
        drafts.replace(path, [NEW])
    assert str(found.value) == f"{path}: No space left on device"
    assert path.read_bytes() == OLD
    assert names(path.parent) == ["papers.json"]


def test_a_source_that_cannot_be_read_leaves_what_was_there(path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield NEW
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(StorageTrouble, match="Input/output error"):
        drafts.replace(path, pieces())
    assert path.read_bytes() == OLD
    assert names(path.parent) == ["papers.json"]


def test_a_name_that_could_not_be_synced_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "fsync", nth=2)
    with pytest.raises(StorageTrouble):
        drafts.replace(path, [NEW])
    assert path.read_bytes() == NEW


def test_a_locked_file_is_locked_before_it_has_its_name(path: Path, calls: list[str]) -> None:
    draft_of(path).write_bytes(b"longer than what is to be written" * 3)
    fd = drafts.replace_locked(path, NEW)
    assert calls == [
        "flock .draft-papers.json",
        "fsync .draft-papers.json",
        "replace .draft-papers.json",
        f"fsync {path.parent.name}",
    ]
    assert path.read_bytes() == NEW
    with path.open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.close(fd)


@pytest.mark.parametrize("call", ["ftruncate", "fsync", "replace"])
def test_a_locked_file_that_is_refused_leaves_nothing_open(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    refuse(monkeypatch, call)
    with pytest.raises(StorageTrouble):
        drafts.replace_locked(path, NEW)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert path.read_bytes() == OLD
    assert names(path.parent) == ["papers.json"]


def test_the_first_of_two_makers_wins(tmp_path: Path) -> None:
    path = tmp_path / "marker"
    assert drafts.create(path, [OLD], draft=tmp_path / "one")
    assert not drafts.create(path, [NEW], draft=tmp_path / "two")
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["marker"]


def test_a_new_file_has_its_name_only_when_it_is_on_the_disk(
    tmp_path: Path, calls: list[str]
) -> None:
    drafts.create(tmp_path / "marker", [NEW], draft=tmp_path / "one")
    assert calls == ["fsync one", "link marker", "unlink one"]


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_new_file_that_is_refused_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    refuse(monkeypatch, call)
    with pytest.raises(StorageTrouble, match="marker: No space left on device"):
        drafts.create(tmp_path / "marker", [NEW], draft=tmp_path / "one")
    assert names(tmp_path) == []


def test_a_second_name_never_replaces(path: Path, calls: list[str]) -> None:
    other = path.with_name("other")
    drafts.link(path, other)
    assert calls == ["link other", f"fsync {path.parent.name}"]
    assert other.samefile(path)
    other.unlink()
    other.write_bytes(NEW)
    with pytest.raises(FileExistsError):
        drafts.link(path, other)
    assert other.read_bytes() == NEW
