from __future__ import annotations

import os
from pathlib import Path

import pytest

from lafka.errors import StorageTrouble
from lafka.storage import folders, steps
from lafka.storage.folders import draft_of, free_name, make_folders
from lafka.warc.writing.names import numbered, or_numbered


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The folders below tmp_path that are synced, in order, by a process that knows none yet."""
    seen: list[str] = []
    fsync = os.fsync

    def tell(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        if path.is_relative_to(tmp_path):
            seen.append(path.relative_to(tmp_path).as_posix())
        fsync(fd)

    monkeypatch.setattr(os, "fsync", tell)
    monkeypatch.setattr(folders, "_NAMED", set())
    return seen


def test_each_name_is_synced_once(synced: list[str], tmp_path: Path) -> None:
    make_folders(tmp_path / "a" / "b" / "c")
    assert synced == [".", "a", "a/b"]
    make_folders(tmp_path / "a" / "b" / "c")
    make_folders(tmp_path / "a" / "b" / "d")
    assert synced[3:] == ["a/b"]
    (tmp_path / "a" / "b" / "d").rmdir()
    make_folders(tmp_path / "a" / "b" / "d")
    assert synced[4:] == ["a/b"]


def test_a_name_that_another_process_made_is_synced_too(synced: list[str], tmp_path: Path) -> None:
    """It may have been killed before it synced the name, or may just be about to."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    make_folders(tmp_path / "a" / "b" / "c")
    assert synced == [".", "a", "a/b"]


def test_a_name_that_appears_between_look_and_make(
    synced: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = Path.mkdir

    def late(path: Path, *args: int, **more: bool) -> None:
        if not path.is_dir():
            mkdir(path)  # another process was quicker
        mkdir(path, *args, **more)

    monkeypatch.setattr(Path, "mkdir", late)
    make_folders(tmp_path / "a" / "b")
    assert synced == [".", "a"]


def test_a_folder_that_is_not_ours_needs_no_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(folders, "_NAMED", set())
    monkeypatch.setattr(steps, "sync_folder", refused)
    make_folders(tmp_path)
    with pytest.raises(StorageTrouble, match="Permission denied"):
        make_folders(tmp_path / "a")


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(StorageTrouble, match="a"):
        make_folders(tmp_path / "a" / "b")


def test_a_draft_lies_beside_its_file_and_is_hidden() -> None:
    assert draft_of(Path("a/1.warc")) == Path("a/.draft-1.warc")


def test_the_first_name_that_no_file_has(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for expected in ("x", "x.1", "x.2"):
        free = free_name(or_numbered(path, "."))
        assert free.name == expected
        free.touch()
    (tmp_path / "x.1").unlink()
    assert free_name(or_numbered(path, ".")).name == "x.1"
    for expected in ("x-0", "x-1"):
        free = free_name(numbered(path, first=0))
        assert free.name == expected
        free.touch()
