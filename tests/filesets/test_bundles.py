"""Bundles: every member told and located, none extracted; bombs and damage have a sentence."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import struct
import tarfile
import zipfile
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lafka.filesets.bundles.unpacking import (
    BadBundle,
    member_pieces,
    read_bundle,
    unpacked_pieces,
)
from lafka.filesets.model.bundles import BundleContents, BundleLimits, Member, Slice, match_members
from lafka.filesets.model.types import FilesetManifestFile

TYPES = {"README.txt": "text/plain", "data/empty": ""}
LIMITS = BundleLimits(max_members=50, max_total=1 << 24)
FILES = {
    "README.txt": b"Read this.\n",
    "data/rain.csv": b"station,mm\n" + b"A,12\n" * 500,
    "data/empty": b"",
    "data/noise.bin": random.Random(1).randbytes(5000),
    "naïve 漢.txt": b"x" * 300,
}


def zipped(files: dict[str, bytes] = FILES, method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, method)
    return out


class Unseekable(io.RawIOBase):
    """A pipe: what is written to it gets data descriptors."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.data += bytes(data)  # type: ignore[call-overload]
        return len(bytes(data))  # type: ignore[call-overload]


def piped(files: dict[str, bytes] = FILES) -> io.BytesIO:
    """As a server writes one that streams: sizes stand behind each member."""
    out = Unseekable()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data)
    return io.BytesIO(bytes(out.data))


def tarred(files: dict[str, bytes] = FILES, mode: str = "w:") -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        folder = tarfile.TarInfo("data")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out


WHOLE = {
    "zip": zipped(),
    "zip stored": zipped(method=zipfile.ZIP_STORED),
    "zip bzip2": zipped(method=zipfile.ZIP_BZIP2),
    "zip lzma": zipped(method=zipfile.ZIP_LZMA),
    "zip64 with data descriptors": piped(),
    "zip behind other bytes": io.BytesIO(b"#!/bin/sh\n" + zipped().getvalue()),
    "tar": tarred(),
    "tar.gz": tarred(mode="w:gz"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_each_member_is_told_with_its_digests(name: str) -> None:
    contents = read_bundle(WHOLE[name], LIMITS, ("sha512",))
    assert contents.trouble == ""
    assert name.startswith(contents.kind)
    assert [member.path for member in contents.members] == list(FILES)
    for member in contents.members:
        data = FILES[member.path]
        assert member.size == len(data)
        assert member.md5 == hashlib.md5(data).hexdigest()
        assert member.sha1 == hashlib.sha1(data).hexdigest()
        assert member.sha256 == hashlib.sha256(data).hexdigest()
        assert member.crc32 == f"{zlib.crc32(data):08x}"
        assert member.mimetype == TYPES.get(member.path, member.mimetype)
        assert member.others == {"sha512": hashlib.sha512(data).hexdigest()}


@pytest.mark.parametrize("name", WHOLE)
def test_a_stored_or_deflated_member_is_read_with_one_seek(name: str) -> None:
    whole = b"before" + WHOLE[name].getvalue() + b"after"
    for member in read_bundle(WHOLE[name], LIMITS).members:
        file = SeekCounter(whole)
        if member.s is None or member.method not in ("stored", "deflated"):
            assert name in ("zip bzip2", "zip lzma", "tar.gz")
            with pytest.raises(BadBundle, match="does not stand"):
                b"".join(member_pieces(file, member, 6))
            continue
        assert b"".join(member_pieces(file, member, 6)) == FILES[member.path]
        assert file.seeks == 1
        if member.method == "stored":
            assert whole[6 + member.s :][: member.l] == FILES[member.path]
        else:
            inflated = zlib.decompress(whole[6 + member.s :][: member.l], -15)
            assert inflated == FILES[member.path]


def gzipped_twice() -> io.BytesIO:
    """A tar.gz of two gzips behind each other, and padding, as some writers make them."""
    data = tarred().getvalue()
    return io.BytesIO(gzip.compress(data[:3000]) + gzip.compress(data[3000:]) + bytes(100))


@pytest.mark.parametrize("made", [WHOLE["tar.gz"], gzipped_twice()], ids=["one", "two"])
def test_a_member_of_a_gzipped_tar_is_read_where_it_stands_unpacked(made: io.BytesIO) -> None:
    members = read_bundle(made, LIMITS).members
    unpacked = gzip.decompress(made.getvalue())
    with gzip.GzipFile(fileobj=io.BytesIO(made.getvalue())) as bundle:
        for member in (*members, *reversed(members)):
            assert (member.s, member.method) == (None, "gzip")
            assert member.at is not None
            assert unpacked[member.at :][: member.l] == FILES[member.path]
            assert b"".join(unpacked_pieces(bundle, member)) == FILES[member.path]


def test_a_hard_link_of_a_gzipped_tar_stands_where_its_file_does() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("a")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
        link = tarfile.TarInfo("b")
        link.type, link.linkname = tarfile.LNKTYPE, "a"
        archive.addfile(link)
    assert {(one.at, one.l) for one in read_bundle(out, LIMITS).members} == {(512, 3)}


def test_what_a_gzipped_bundle_does_not_give_is_told() -> None:
    whole = WHOLE["tar.gz"].getvalue()
    (noise,) = (one for one in read_bundle(WHOLE["tar.gz"], LIMITS).members if "noise" in one.path)
    changed = bytearray(gzip.compress(gzip.decompress(whole), 0))  # all bytes stand as they are
    changed[changed.index(FILES[noise.path]) + 20] ^= 1
    for data, member, why in (
        (whole, structs.replace(noise, at=1 << 60), "not all there"),
        (whole, structs.replace(noise, at=(noise.at or 0) + 1), "CRC-32 is another"),
        (whole, structs.replace(noise, at=None), "does not stand in one place"),
        (whole[: len(whole) // 2], noise, "broken: Compressed file ended"),
        (bytes(changed), noise, "CRC-32 is another"),
        (b"no gzip", noise, "broken: Not a gzipped file"),
    ):
        bundle = gzip.GzipFile(fileobj=io.BytesIO(data))
        with pytest.raises(BadBundle, match=why):
            b"".join(unpacked_pieces(bundle, member))


def test_types_are_told_whatever_the_order_in_which_they_are_found_out() -> None:
    gif, pdf, text = b"GIF89a" + bytes(40), b"%PDF-1.4\n%\xe2\xe3\n", b"words and words\n" * 3000
    files = {f"{n}": (gif, pdf, text, b"")[n % 4] + bytes(f" {n}"[: n % 4 * 9], "ascii")
             for n in range(200)}  # fmt: skip
    contents = read_bundle(zipped(files), replace(LIMITS, max_members=200))
    types = ("image/gif", "application/pdf", "text/plain")
    assert [member.mimetype for member in contents.members if int(member.path) % 4 < 3] == [
        types[n % 4] for n in range(200) if n % 4 < 3
    ]
    assert [member.path for member in contents.members] == list(files)


def test_a_hard_link_of_a_tar_has_the_type_of_its_file() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:") as archive:
        info = tarfile.TarInfo("a.gif")
        info.size = 46
        archive.addfile(info, io.BytesIO(b"GIF89a" + bytes(40)))
        link = tarfile.TarInfo("b.gif")
        link.type, link.linkname = tarfile.LNKTYPE, "a.gif"
        archive.addfile(link)
    members = read_bundle(out, LIMITS).members
    assert [(one.path, one.mimetype) for one in members] == [
        ("a.gif", "image/gif"), ("b.gif", "image/gif")
    ]  # fmt: skip


def test_what_is_no_bundle_at_all_is_told_as_that() -> None:
    short = Slice(io.BytesIO(b"<html>no</html>"), 0, 15).buffered()
    assert read_bundle(short, LIMITS).trouble == "neither a ZIP nor a tar nor a gzipped tar"


class SeekCounter(io.BytesIO):
    seeks = 0

    def seek(self, *args: int) -> int:
        self.seeks += 1
        return super().seek(*args)


def test_a_member_that_is_cut_is_told() -> None:
    bundle = zipped().getvalue()
    (_, rain, *_) = read_bundle(io.BytesIO(bundle), LIMITS).members
    with pytest.raises(BadBundle, match="not all there"):
        b"".join(member_pieces(io.BytesIO(bundle[: (rain.s or 0) + 5]), rain))
    broken = bytearray(bundle)
    broken[(rain.s or 0) : (rain.s or 0) + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(BadBundle, match="broken"):
        b"".join(member_pieces(io.BytesIO(bytes(broken)), rain))


def test_a_bundle_may_be_part_of_a_file() -> None:
    data = zipped().getvalue()
    part = Slice(io.BytesIO(b"x" * 100 + data + b"y" * 100), 100, len(data)).buffered()
    assert read_bundle(part, LIMITS) == read_bundle(zipped(), LIMITS)


def test_names_in_utf8_that_are_not_called_so_are_read() -> None:
    data = zipped({"naïve.txt": b"1"}).getvalue()
    cleared = data.replace(struct.pack("<HH", 20, 0x800), struct.pack("<HH", 20, 0))
    assert cleared != data
    assert [member.path for member in read_bundle(io.BytesIO(cleared), LIMITS).members] == [
        "naïve.txt"
    ]


# Damage and malice -------------------------------------------------------------------------


def encrypted() -> bytes:
    data = bytearray(zipped({"a": b"secret"}).getvalue())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def overlapping() -> bytes:
    """Two entries of the directory that are one member: what the quoted bombs are made of."""
    one = zipped({"a": b"x" * 1000}, zipfile.ZIP_STORED).getvalue()
    start, end = one.index(b"PK\x01\x02"), one.index(b"PK\x05\x06")
    entry = one[start:end]
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2, 2, 2 * len(entry), start, 0)
    return one[:start] + entry + entry + tail


def bad_crc() -> bytes:
    data = zipped({"a": b"x" * 1000}, zipfile.ZIP_STORED).getvalue()
    return data.replace(b"x" * 1000, b"x" * 999 + b"y")


def cut_tar() -> bytes:
    data = tarred({"a": b"x" * 5000, "b": b"y"}).getvalue()
    return data[:2000]


def torn_tar() -> bytes:
    data = bytearray(tarred({"a": b"x" * 100, "b": b"y" * 100}).getvalue())
    place = data.index(b"b\0\0\0")
    data[place : place + 200] = b"\xff" * 200
    return bytes(data)


DAMAGED = {
    "empty": (b"", "neither"),
    "a page": (b"<!DOCTYPE html><title>Sign in</title>", "neither"),
    "a ZIP's first bytes": (b"PK\x03\x04 and no more", "not a sound bundle"),
    "a ZIP without its end": (zipped().getvalue()[:-30], "not a sound bundle"),
    "a ZIP without its beginning": (zipped().getvalue()[200:], "beginning is missing"),
    "encrypted": (encrypted(), "'a' is encrypted"),
    "overlapping": (overlapping(), "overlaps"),
    "another CRC": (bad_crc(), "CRC"),
    "a bomb": (zipped({"bomb": bytes(5_000_000)}).getvalue(), "1000 times"),
    "members without end": (
        zipped({f"{n}": b"" for n in range(51)}).getvalue(),
        "more than 50 members",
    ),
    "beyond the bytes": (
        zipped({"big": bytes(1 << 24), "x": b"1"}, zipfile.ZIP_STORED).getvalue(),
        "unpacks to",
    ),
    "gzip of no tar": (gzip.compress(b"no tar"), "not a sound bundle"),
    "a bomb in a tar.gz": (tarred({"bomb": bytes(1 << 23)}, "w:gz").getvalue(), "1000 times"),
    "a tar.gz without its end": (tarred(mode="w:gz").getvalue()[:-200], "not a sound bundle"),
    "a tar of members without end": (
        tarred({f"{n}": b"" for n in range(51)}).getvalue(),
        "more than 50 members",
    ),
    "a tar without its end": (cut_tar(), "not a sound bundle"),
    "a tar that is torn": (torn_tar(), "no tar header"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_no_sound_bundle_has_a_sentence(name: str) -> None:
    data, why = DAMAGED[name]
    contents = read_bundle(io.BytesIO(data), LIMITS)
    assert contents.members == ()
    assert contents.trouble
    assert why in contents.trouble


def test_links_and_folders_of_a_tar_are_no_files() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:") as archive:
        info = tarfile.TarInfo("a")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
        for kind, name in ((tarfile.SYMTYPE, "soft"), (tarfile.LNKTYPE, "hard"),
                           (tarfile.DIRTYPE, "d"), (tarfile.CHRTYPE, "tty")):  # fmt: skip
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, "a"
            archive.addfile(link)
    contents = read_bundle(out, LIMITS)
    assert [member.path for member in contents.members] == ["a", "hard"]
    assert b"".join(member_pieces(out, contents.members[1])) == b"abc"


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_changed_byte_is_told_or_harmless(name: str, data: st.DataObject) -> None:
    bundle = bytearray(WHOLE[name].getvalue())
    for _ in range(data.draw(st.integers(1, 3))):
        bundle[data.draw(st.integers(0, len(bundle) - 1))] = data.draw(st.integers(0, 255))
    contents = read_bundle(io.BytesIO(bytes(bundle)), LIMITS)
    for member in contents.members if "zip" in name else ():
        if member.path in FILES and member.size == len(FILES[member.path]):
            assert member.sha256 == hashlib.sha256(FILES[member.path]).hexdigest()


@given(st.binary(max_size=600))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for lead in (b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"PK\x05\x06"):
        contents = read_bundle(io.BytesIO(lead + data), LIMITS)
        assert contents.trouble or not contents.members


# Matching ----------------------------------------------------------------------------------


def listed(*paths: str, **values: str) -> tuple[FilesetManifestFile, ...]:
    return tuple(FilesetManifestFile(path=path, **values) for path in paths)


def contents_of(files: dict[str, bytes]) -> BundleContents:
    return read_bundle(zipped(files), LIMITS)


def test_members_are_matched_by_path() -> None:
    matched = match_members(listed("a", "d/b"), contents_of({"d/b": b"2", "a": b"1", "c": b"3"}))
    assert {path: member.path for path, member in matched.members.items()} == {
        "a": "a",
        "d/b": "d/b",
    }
    assert [member.path for member in matched.extra] == ["c"]


def test_one_common_folder_is_stripped_and_forms_of_unicode_are_one() -> None:
    contents = contents_of({"all/e\u0301.txt": b"1", "all/b/c": b"2"})
    matched = match_members(listed("é.txt", "b/c"), contents)
    assert set(matched.members) == {"é.txt", "b/c"}
    assert matched.extra == ()
    kept = match_members(listed("all/e\u0301.txt"), contents)
    assert set(kept.members) == {"all/e\u0301.txt"}


def test_a_member_of_another_name_is_matched_by_its_digest() -> None:
    contents = contents_of({"table.tab": b"1,2\n", "twin": b"x", "MANIFEST.TXT": b"m"})
    file = FilesetManifestFile(path="table.csv", md5=hashlib.md5(b"1,2\n").hexdigest())
    twins = listed("a", "b", md5=hashlib.md5(b"x").hexdigest())
    matched = match_members((file, *twins), contents)
    assert {path: member.path for path, member in matched.members.items()} == {
        "table.csv": "table.tab",
        "a": "twin",
    }
    assert [member.path for member in matched.extra] == ["MANIFEST.TXT"]


def test_a_path_that_was_kept_apart_is_found_by_its_own() -> None:
    contents = contents_of({"a.csv": b"1", "x/a.csv": b"2"})
    apart = FilesetManifestFile(path="x/a~2.csv", extra={"platform_path": "x/a.csv"})
    assert set(match_members((apart,), contents).members) == {"x/a~2.csv"}


def test_contents_survive_their_json() -> None:
    for bundle in WHOLE.values():
        contents = read_bundle(bundle, LIMITS, ("sha512",))
        assert BundleContents.of_json(contents.as_json()) == contents


@pytest.mark.parametrize(
    "value",
    [None, {}, {"path": 1}, {**contents_of({"a": b""}).members[0].as_json(), "s": -1},
     {**contents_of({"a": b""}).members[0].as_json(), "others": 5},
     {**contents_of({"a": b""}).members[0].as_json(), "md5": None}],
)  # fmt: skip
def test_what_is_no_member_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"Expected|missing"):
        Member.of_json(value)
