"""Parts: what is synced is taken up again, and no name is given twice."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.targets import folder
from lafka.filesets.targets.folder import (
    ForeignItem,
    ItemFolder,
    PartFile,
    facts_on_disk,
)
from lafka.filesets.targets.item import DownloadProgress, ItemDescription

URL = "https://x.example/f"
pieces = st.lists(st.one_of(st.binary(max_size=50), st.just(b"\0" * 5000)), max_size=8)


def begun(path: Path, data: list[bytes]) -> PartFile:
    part = PartFile(path)
    part.take_up(URL)
    part.begin(DownloadProgress(url=URL, etag='"1"'))
    for piece in data:
        part.write(piece)
    part.sync()
    return part


@given(first=pieces, lost=pieces, rest=pieces)
def test_what_was_synced_is_taken_up_and_what_was_not_is_forgotten(
    tmp_path_factory: pytest.TempPathFactory, first: list[bytes], lost: list[bytes],
    rest: list[bytes],
) -> None:  # fmt: skip
    path = tmp_path_factory.mktemp("part") / "f.bin"
    killed = begun(path, first)
    for piece in lost:
        killed.write(piece)
    killed.close()
    part = PartFile(path, ["sha512"])
    part.take_up(URL)
    assert part.size == part.part.offset == len(b"".join(first))
    for piece in rest:
        part.write(piece)
    part.sync()
    whole = b"".join((*first, *rest))
    facts = part.facts()
    assert facts.digests["sha512"] == hashlib.sha512(whole).hexdigest()
    assert part.keep()
    assert path.read_bytes() == whole
    assert facts_on_disk(path).digests["md5"] == hashlib.md5(whole).hexdigest()
    assert [found.name for found in path.parent.iterdir()] == ["f.bin"]


def test_a_kill_loses_less_than_what_lies_between_two_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "SYNC_BYTES", 1_000)
    monkeypatch.setattr(folder, "SYNC_SECONDS", 1e9)
    part = begun(tmp_path / "f.bin", [])
    for size in (1, 400, 598, 1, 999, 3_000, *[7] * 300):
        part.write(b"x" * size)
        told = DownloadProgress.parse((tmp_path / ".part-f.bin.json").read_bytes())
        assert part.size - told.offset < 1_000
    part.drop()


def test_zeros_are_a_hole(tmp_path: Path) -> None:
    part = begun(tmp_path / "f", [b"a" * 4096, *(b"\0" * 65536 for _ in range(200))])
    state = part.path.stat()
    assert state.st_size == 4096 + 200 * 65536
    assert state.st_blocks * 512 < 100_000
    part.drop()
    assert list(tmp_path.iterdir()) == []


def test_another_file_under_the_final_name_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"there")
    part = begun(path, [b"new"])
    assert not part.keep()
    assert path.read_bytes() == b"there"
    assert part.set_aside().name == "f.mismatch"
    again = begun(path, [b"newer"])
    assert again.set_aside().read_bytes() == b"newer"
    assert (tmp_path / "f.mismatch").read_bytes() == b"new"


@pytest.mark.parametrize(
    "told", [b"", b"[]", b'{"url": 1}', b'{"url": "u", "offset": 99999}', b'{"url": "u"']
)
def test_a_part_that_cannot_be_believed_is_begun_anew(tmp_path: Path, told: bytes) -> None:
    begun(tmp_path / "f", [b"some bytes"]).close()
    (tmp_path / ".part-f.json").write_bytes(told)
    part = PartFile(tmp_path / "f")
    part.take_up(URL)
    assert (part.size, part.part.headers()) == (0, {})


def test_a_folder_without_the_marker_or_with_anothers_is_foreign(tmp_path: Path) -> None:
    described = ItemDescription(identifier="an-item", files={"a": "files/a"})
    ItemFolder(tmp_path, described, "fileset:x:y:1").make()
    ItemFolder(tmp_path, described, "fileset:x:y:1").make()
    with pytest.raises(ForeignItem, match="an item of fileset:x:y:1"):
        ItemFolder(tmp_path, described, "fileset:x:y:2").make()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    mine = ItemDescription(identifier="mine", files={})
    with pytest.raises(ForeignItem, match="a folder that is not Lafka's"):
        ItemFolder(tmp_path, mine, "fileset:x:y:1").make()
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]


@pytest.mark.parametrize(
    "left", [(), (".lafka.json-12",), ("files/",), (".lafka.json-12", "files/")]
)
def test_a_folder_that_a_kill_left_while_it_was_made_is_ours(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    folder = tmp_path / "an-item"
    folder.mkdir()
    for name in left:
        (folder / name).mkdir() if name.endswith("/") else (folder / name).write_bytes(b"{")
    described = ItemDescription(identifier="an-item", files={"a": "files/a"})
    ItemFolder(tmp_path, described, "fileset:x:y:1").make()
    assert sorted(path.name for path in folder.iterdir()) == [".lafka.json", "files"]


def test_what_is_told_of_a_part_is_never_believed_of_another(tmp_path: Path) -> None:
    path = tmp_path / "f.bin"
    part = begun(path, [b"first file"])
    part.begin(DownloadProgress(url=URL, etag='"2"'))
    part.write(b"other file, and longer")
    part.close()  # as a kill does
    again = PartFile(path)
    again.take_up(URL)
    assert (again.size, again.part.headers()) == (0, {})


def test_an_item_that_is_finished_has_no_part_of_what_it_has(tmp_path: Path) -> None:
    described = ItemDescription(identifier="an-item", files={"a": "files/a"})
    item = ItemFolder(tmp_path, described, "fileset:x:y:1")
    item.make()
    assert begun(item.final("a"), [b"whole"]).keep()
    for name in ("a", "bundle"):  # as a power cut brings them back
        begun(item.final("a").with_name(name), [b"who"]).close()
    theirs = item.path / "files" / ".part-theirs"
    theirs.touch()
    item.finish()
    found = {p.relative_to(item.path).as_posix() for p in item.path.rglob("*") if p.is_file()}
    assert found == {".lafka.json", "item.json", "files/a", "files/.part-theirs"}


def test_a_part_that_came_whole_needs_no_note_and_one_that_has_one_keeps_it(
    tmp_path: Path,
) -> None:
    part, note = PartFile(tmp_path / "f"), tmp_path / ".part-f.json"
    part.take_up(URL)
    part.begin(DownloadProgress(url=URL, length=4))
    part.write(b"ab")
    part.sync(is_whole=True)
    assert not note.exists()
    part.sync()
    part.write(b"cd")
    part.sync(is_whole=True)
    assert DownloadProgress.parse(note.read_bytes()).offset == 4
    assert part.keep()
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert part.final.read_bytes() == b"abcd"
