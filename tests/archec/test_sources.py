from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lafka.archec.gather import sources
from lafka.archec.gather.sources import LONGEST_FILE, FolderSource, RedifSource, open_source
from lafka.errors import BadSource, TornFile

FILES = {
    "RePEc/abc/abcarch.rdf": b"Template-Type: ReDIF-Archive 1.0\nHandle: RePEc:abc\n",
    "RePEc/abc/wpaper/2012.rdf": b"Template-Type: ReDIF-Paper 1.0\nHandle: RePEc:abc:wpaper:1\n",
    "RePEc/abc/wpaper.REDIF": b"#\n",
    "RePEc/all/abcarch.rdf": b"##\n",
    "RePEc/xyz/empty.rdf": b"",
}
TIME = 1352419200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        put(tmp_path / "data", name, data)
    return tmp_path / "data"


def put(root: Path, name: str, data: bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (TIME, TIME + 0.75))
    return path


def everything(source: RedifSource) -> list[tuple[str, str, int, bytes]]:
    with source:
        return [(file.path, file.place, file.modified, whole(file)) for file in source]


def whole(file: sources.SourceFile) -> bytes:
    return b"".join(iter(lambda: file.read(97), b""))


def what_is_there(source: RedifSource) -> tuple[list[tuple[str, bytes]], list[str]]:
    """The files that can be read whole, and what is told of each that is torn."""
    read, torn = [], []
    with source:
        for file in source:
            try:
                read.append((file.path, whole(file)))
            except TornFile as error:
                torn.append(str(error))
    return read, torn


def packed(path: Path, names: dict[str, bytes], ending: str = "") -> Path:
    """A tarball of *names*, in their order."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in names.items():
            add(tar, name, data)
    packers: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }
    path.write_bytes(packers[ending](plain.getvalue()))
    return path


def add(tar: tarfile.TarFile, name: str, data: bytes = b"", **headers: object) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mtime = TIME + 0.75
    for key, value in headers.items():
        setattr(member, key, value)
    tar.addfile(member, io.BytesIO(data))


def test_a_folder_comes_in_byte_order_of_its_paths(folder: Path) -> None:
    found = everything(open_source(folder))
    assert [(path, data) for path, _, _, data in found] == sorted(FILES.items())
    assert {time for _, _, time, _ in found} == {TIME}


def test_places_are_below_the_folder_that_holds_the_archives(folder: Path) -> None:
    above = {place for _, place, _, _ in everything(open_source(folder))}
    inside = {place for _, place, _, _ in everything(open_source(folder / "RePEc"))}
    assert above == inside
    assert "abc/wpaper/2012.rdf" in above


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
def test_a_tarball_gives_the_same_files_as_the_folder(folder: Path, ending: str) -> None:
    names = dict(reversed(FILES.items()))
    tarball = packed(folder.parent / f"2012-11-07.tar{ending}", names, ending)
    source = open_source(tarball)
    assert sorted(everything(source)) == everything(open_source(folder))
    assert source.whole
    assert source.covers("abc")
    assert source.archives == {"abc", "all", "xyz"}


def test_an_archive_by_itself_is_known_by_its_template(folder: Path) -> None:
    source = open_source(folder / "RePEc" / "abc")
    assert source.partial
    assert [place for _, place, _, _ in everything(source)] == [
        "abc/abcarch.rdf",
        "abc/wpaper.REDIF",
        "abc/wpaper/2012.rdf",
    ]
    assert source.archives == {"abc"}
    assert not open_source(folder).partial


def test_what_is_no_redif_is_passed_over(folder: Path) -> None:
    for name in ("a.txt", "b.rdf~", ".c.rdf", ".git/d.rdf", "rdf", "e.rdf.gz"):
        put(folder / "RePEc" / "abc", name, b"Template-Type: ReDIF-Paper 1.0\n")
    (folder / "RePEc" / "abc" / "link.rdf").symlink_to("abcarch.rdf")
    (folder / "RePEc" / "loop").symlink_to(folder)
    os.mkfifo(folder / "RePEc" / "abc" / "pipe.rdf")
    (folder / "RePEc" / "abc" / "folder.rdf").mkdir()
    source = open_source(folder)
    found = {path: data for path, *_, data in everything(source)}
    odd = {f"RePEc/abc/{name}.rdf" for name in ("folder", "link", "pipe")}
    assert {*found} == {*FILES} | odd
    assert {found[path] for path in odd} == {b""}
    assert {(one.file, one.code, one.sentence) for one in source.problems} == {
        ("RePEc/abc/folder.rdf", "passed-over", "a folder"),
        ("RePEc/abc/link.rdf", "passed-over", "a symbolic link"),
        ("RePEc/abc/pipe.rdf", "passed-over", "no plain file"),
        ("RePEc/loop", "passed-over", "a symbolic link to a folder"),
    }


def test_a_link_to_the_source_is_resolved_once(folder: Path) -> None:
    current = folder.parent / "current"
    current.symlink_to(folder)
    source = open_source(current)
    current.unlink()
    assert source.path == folder
    assert len(everything(source)) == len(FILES)


def test_names_that_are_no_utf_8_are_shown_as_escapes_and_read(folder: Path) -> None:
    put(folder, os.fsdecode(b"RePEc/abc/\xff.rdf"), b"x")
    assert "RePEc/abc/\\xff.rdf" in {path for path, *_ in everything(open_source(folder))}


def test_a_file_that_cannot_be_read_uncovers_its_archive(folder: Path, monkeypatch) -> None:
    real = os.open

    def refusing(path, flags, *rest):
        if os.fsencode(path).endswith(b"2012.rdf"):
            raise PermissionError(13, "no")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refusing)
    source = open_source(folder)
    assert len(everything(source)) == len(FILES) - 1
    assert [str(problem) for problem in source.problems] == [
        "RePEc/abc/wpaper/2012.rdf: unreadable: permission denied"
    ]
    assert not source.covers("ABC")
    assert source.covers("xyz")


def test_a_folder_that_disappears_uncovers_its_archive(folder: Path) -> None:
    source = open_source(folder)
    for file in source:
        if file.place == "abc/wpaper.REDIF":
            (folder / "RePEc/abc/wpaper").rename(folder.parent / "away")
    assert not source.covers("abc")
    assert source.covers("all")
    assert [problem.code for problem in source.problems] == ["unreadable"]


def test_a_source_that_disappears_covers_nothing(folder: Path) -> None:
    source = open_source(folder)
    folder.rename(folder.parent / "away")
    assert everything(source) == []
    assert not source.covers("abc")


def test_a_disk_that_fails_is_one_torn_file_and_the_rest_goes_on(folder: Path, monkeypatch) -> None:
    class Failing(io.FileIO):
        def read(self, size=-1):
            if Path(f"/proc/self/fd/{self.fileno()}").readlink().name == "2012.rdf":
                raise OSError(5, "no")
            return super().read(size)

    monkeypatch.setattr("builtins.open", lambda descriptor, *_, **__: Failing(descriptor))
    source = open_source(folder)
    read, torn = what_is_there(source)
    assert torn == ["RePEc/abc/wpaper/2012.rdf: input/output error"]
    assert len(read) == len(FILES) - 1
    assert not source.covers("abc")


def test_nothing_is_covered_before_the_end(folder: Path) -> None:
    source = open_source(folder)
    next(iter(source))
    assert not source.covers("xyz")


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
def test_a_torn_tarball_gives_what_it_has_and_covers_nothing(tmp_path: Path, ending: str) -> None:
    names = {f"RePEc/abc/{number}.rdf": os.urandom(5000) for number in range(400)}
    tarball = packed(tmp_path / "a.tar", names, ending)
    data = tarball.read_bytes()
    for size in (len(data) // 2, len(data) - 20_000, 300 * 6144 + 512):
        tarball.write_bytes(data[:size])
        source = open_source(tarball)
        read, torn = what_is_there(source)
        assert 0 < len(read) < 400
        assert len(torn) <= 1
        assert read == list(names.items())[: len(read)]
        assert [problem.code for problem in source.problems] == ["truncated"]
        assert not source.covers("abc")


def test_a_tarball_cut_between_two_members_is_torn(tmp_path: Path) -> None:
    tarball = packed(tmp_path / "a.tar", {f"abc/{n}.rdf": b"x" * 512 for n in range(9)})
    members = tarball.read_bytes()
    with tarfile.open(tarball) as tar:
        end = tar.getmembers()[4].offset
    tarball.write_bytes(members[:end])
    source = open_source(tarball)
    assert len(everything(source)) == 4
    assert [problem.code for problem in source.problems] == ["truncated"]


def test_damage_in_the_compressor_s_checksum_is_found(tmp_path: Path) -> None:
    tarball = packed(tmp_path / "a.tar.gz", FILES, ".gz")
    data = bytearray(tarball.read_bytes())
    data[-6] ^= 1
    tarball.write_bytes(data)
    source = open_source(tarball)
    assert len(everything(source)) == len(FILES)
    assert not source.whole


def test_members_that_are_no_plain_files_below_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        add(tar, "./RePEc/abc/good.rdf", b"x")
        add(tar, "RePEc/abc/folder.rdf", type=tarfile.DIRTYPE)
        add(tar, "../RePEc/abc/up.rdf", b"x")
        add(tar, "/RePEc/abc/root.rdf", b"x")
        add(tar, "RePEc/abc/hard.rdf", type=tarfile.LNKTYPE, linkname="RePEc/abc/good.rdf")
        add(tar, "RePEc/abc/link.rdf", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        add(tar, "RePEc/abc/device.rdf", type=tarfile.CHRTYPE)
        add(tar, "RePEc/.hidden/a.rdf", b"x")
        add(tar, "RePEc/abc/good.rdf", b"again")
    source = open_source(path)
    assert [(name, data) for name, _, _, data in everything(source)] == [
        ("RePEc/abc/good.rdf", b"x"),
        ("RePEc/abc/folder.rdf", b""),
        ("RePEc/abc/root.rdf", b"x"),
        ("RePEc/abc/hard.rdf", b""),
        ("RePEc/abc/link.rdf", b""),
        ("RePEc/abc/device.rdf", b""),
        ("RePEc/abc/good.rdf", b"again"),
    ]
    assert [(problem.file, problem.code) for problem in source.problems] == [
        ("RePEc/abc/folder.rdf", "passed-over"),
        ("../RePEc/abc/up.rdf", "passed-over"),
        ("RePEc/abc/hard.rdf", "passed-over"),
        ("RePEc/abc/link.rdf", "passed-over"),
        ("RePEc/abc/device.rdf", "passed-over"),
    ]
    assert source.whole


def test_a_bomb_is_passed_over_and_its_archive_not_covered(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as packer:
        bomb = tarfile.TarInfo("RePEc/abc/bomb.rdf")
        bomb.size = LONGEST_FILE + 1
        packer.write(bomb.tobuf())
    source = open_source(path)
    assert everything(source) == []
    assert [problem.code for problem in source.problems] == ["passed-over", "truncated"]
    assert not source.covers("abc")


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        add(tar, "RePEc/abc/good.rdf", b"x")
        long = tarfile.TarInfo("././@LongLink")
        long.type, long.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
        tar.fileobj.write(long.tobuf(tarfile.GNU_FORMAT))
    source = open_source(path)
    assert len(everything(source)) == 1
    assert source.problems[0].sentence == f"a header of {1 << 40} bytes"


def test_a_time_that_is_none_is_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        add(tar, "abc/a.rdf", b"x", mtime=0, pax_headers={"mtime": "nan"})
        add(tar, "abc/b.rdf", b"x", mtime=0, pax_headers={"mtime": "-1.5"})
    assert [time for _, _, time, _ in everything(open_source(path))] == [0, -2]


def test_a_tarball_of_nothing_is_whole(tmp_path: Path) -> None:
    source = open_source(packed(tmp_path / "a.tar", {}))
    assert everything(source) == []
    assert source.whole


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "no tarball"), (b"Template-Type: ReDIF", "no tarball"), (b"\x1f\x8b" * 9, "no tarball")],
)
def test_what_is_no_tarball_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.tar").write_bytes(data)
    with pytest.raises(BadSource, match=reason):
        open_source(tmp_path / "a.tar")


def test_what_is_not_there_or_a_loop_or_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for path, reason in [
        (tmp_path / "none", "no such file"),
        (tmp_path / "loop", "symbolic links"),
        (tmp_path / "pipe", "neither a folder nor a tarball"),
        ("\0", "null"),
    ]:
        with pytest.raises(BadSource, match=reason):
            open_source(path)


def test_a_folder_is_walked_without_holding_its_files_open(folder: Path) -> None:
    def opened() -> set[str]:
        links = [f"/proc/self/fd/{number}" for number in range(200)]
        return {str(Path(link).readlink()) for link in links if os.path.lexists(link)}

    source = FolderSource(folder)
    before = opened()
    list(source)
    assert opened() == before
