import errno
import gzip
import itertools
import os
import random
import re
import socket
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from warcio.cli import main as warcio

from lafka.warc.errors import BadValue, TornWarc
from lafka.warc.foreign import open_volume
from lafka.warc.format.dates import WarcDate
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record
from lafka.warc.format.sources import MemorySource
from lafka.warc.indexes import attach
from lafka.warc.indexes import builder as index_builder
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder
from tests.warc.proofs import proved
from tests.warc.smalldisks import files_of_at_most

ROOT = Path(__file__).parents[3]
INFO = Fields([("software", "Test/1"), ("format", "WARC File Format 1.1")])
URL = "http://x.example/"
DATE = "2026-11-20T10:11:12.123456Z"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
KINDS = pytest.mark.parametrize(
    "how", [{}, {"gzip": True}, {"gzip": True, "skip_lengths": True}], ids=["plain", "gzip", "sl"]
)


def ask(url: str = URL) -> Record:
    return Record.request(url, b"GET / HTTP/1.1\r\nHost: x.example\r\n\r\n", date=DATE)


def answer(size: int = 10, url: str = URL) -> Record:
    return Record.response(url, HTTP + random.Random(size).randbytes(size), date=DATE)


def resource_of(block: object, **named: object) -> Record:
    return Record.resource(URL, block, content_type="text/plain", date=DATE, **named)


def bare(**fields: str) -> Record:
    """A record with a type, a URI and these fields alone."""
    items = [("WARC-Type", "resource"), ("WARC-Target-URI", URL), ("Content-Type", "text/plain")]
    items += [(name.replace("_", "-"), value) for name, value in fields.items()]
    return Record(fields=Fields(items), block=b"block")


def counting(prefix: str = "urn:test") -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"<{prefix}:{next(numbers)}>"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Records -----------------------------------------------------------------------------------


@pytest.mark.forms
@KINDS
@pytest.mark.parametrize("size", [0, 1, 1 << 18, 1 << 20, (1 << 20) + 1, 3 << 20])
@pytest.mark.parametrize("make", [bytes, MemorySource])
def test_what_is_written_is_read(
    tmp_path: Path, how: dict, size: int, make: Callable[[bytes], object]
) -> None:
    block = random.Random(size).randbytes(size // 2) + bytes(size - size // 2)
    with Builder(tmp_path / "x.warc", warcinfo=INFO, **how) as builder:
        places = builder.append(resource_of(make(block)), resource_of(b"small"))
        places += builder.append(Record.response(URL, make(HTTP + block)))
    info, *records = proved(tmp_path / "x.warc")
    assert info.fields["WARC-Filename"] == "x.warc"
    assert [(r.offset, r.length, r.id) for r in records] == [
        (p.offset, p.length, p.id) for p in places
    ]
    assert {place.path for place in places} == {tmp_path / "x.warc"}
    assert [b"".join(r.block().chunks()) for r in records] == [block, b"small", HTTP + block]
    assert all(r.fields["WARC-Warcinfo-ID"] == info.id for r in records)


def test_warcio_check_is_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Builder(tmp_path / "x.warc.gz", warcinfo=INFO, gzip=True) as builder:
        builder.append(ask(), answer(2 << 20))
    with pytest.raises(SystemExit) as ended:
        warcio(["check", "-v", str(tmp_path / "x.warc.gz")])
    assert ended.value.code == 0
    assert capsys.readouterr().out.count("digest pass") == 3


def test_an_odd_answer_is_written_in_one_pass_or_two(tmp_path: Path) -> None:
    chunked = HTTP.replace(b"Type: text/plain", b"Type: a/b\r\nTransfer-Encoding: chunked")
    body = b"200000\r\n" + b"x" * 0x200000 + b"\r\n0\r\n\r\n"
    blocks = [chunked + body, chunked + body[:-9], b"no HTTP" + bytes(2 << 20)]
    with Builder(tmp_path / "x.warc") as builder:
        builder.append(*(Record.response(URL, MemorySource(block)) for block in blocks))
        builder.append(Record.response(URL, MemorySource(blocks[2]), algorithm=""))
        builder.append(Record.response(URL, MemorySource(HTTP + blocks[2]), algorithm="sha1"))
    # warcio takes the chunks for the payload, the standard what is in them.
    *three, bare_one, last = proved(tmp_path / "x.warc", digests=False)
    assert ["WARC-Payload-Digest" in r.fields for r in three] == [True, False, False]
    assert "WARC-Block-Digest" not in bare_one.fields
    assert last.fields["WARC-Block-Digest"].startswith("sha1:")


def test_a_group_is_one_capture_event(tmp_path: Path) -> None:
    with Builder(tmp_path / "x.warc", ids=counting()) as builder:
        builder.append(bare(), bare(WARC_Record_ID="<urn:mine>"), bare(WARC_Date=DATE))
    one, mine, three = proved(tmp_path / "x.warc")
    assert [r.id for r in (one, mine, three)] == ["<urn:test:1>", "<urn:mine>", "<urn:test:2>"]
    assert {r.fields["WARC-Date"] for r in (one, mine, three)} == {DATE}
    assert "WARC-Concurrent-To" not in one.fields
    assert mine.fields["WARC-Concurrent-To"] == three.fields["WARC-Concurrent-To"] == one.id


def test_only_what_may_be_concurrent_is(tmp_path: Path) -> None:
    info = Record.warcinfo(INFO)
    converted = Record.conversion(answer(), b"x", content_type="text/plain")
    with Builder(tmp_path / "x.warc") as builder:
        builder.append(info, converted, ask(), answer())
    *others, asked, answered = proved(tmp_path / "x.warc")
    assert [r.fields.all("WARC-Concurrent-To") for r in (*others, asked)] == [[], [], []]
    assert answered.fields["WARC-Concurrent-To"] == asked.id


def test_concurrence_that_was_said_is_left_alone(tmp_path: Path) -> None:
    tied = Record.request(URL, b"", concurrent_to="<urn:other>")
    with Builder(tmp_path / "x.warc") as builder:
        builder.append(ask(), answer(), tied)
        builder.append(ask(), answer(), concurrent=False)
    said = [r.fields.all("WARC-Concurrent-To") for r in proved(tmp_path / "x.warc")]
    assert said == [[], [], ["<urn:other>"], [], []]


def test_what_is_appended_is_not_changed(tmp_path: Path) -> None:
    record = bare()
    before = list(record.fields)
    with Builder(tmp_path / "x.warc", warcinfo=INFO) as builder:
        builder.append(record, record)
    assert list(record.fields) == before


def test_records_are_of_the_warcinfo_before_them(tmp_path: Path) -> None:
    own = Record.warcinfo(INFO)
    said = Record.request(URL, b"", warcinfo="<urn:said>")
    with Builder(tmp_path / "x.warc", warcinfo=INFO) as builder:
        builder.append(ask())
        builder.append(own, answer(), said)
        builder.append(ask())
    first, *records = proved(tmp_path / "x.warc")
    assert [r.fields.first("WARC-Warcinfo-ID") for r in records] == [
        first.id, "", own.id, "<urn:said>", own.id,
    ]  # fmt: skip


def test_a_version_for_all(tmp_path: Path) -> None:
    with Builder(tmp_path / "x.warc", warcinfo=INFO, version="1.0") as builder:
        builder.append(answer(), bare())
    records = proved(tmp_path / "x.warc")
    assert {record.version for record in records} == {"1.0"}
    assert records[1].fields["WARC-Date"] == "2026-11-20T10:11:12Z"
    with pytest.raises(BadValue):
        Builder(tmp_path / "y.warc", version="2")


class Lying(MemorySource):
    """A source that gives fewer or more bytes than it says."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._size = size

    @property
    def size(self) -> int:
        return self._size


class Failing(MemorySource):
    def __init__(self, error: BaseException) -> None:
        super().__init__(bytes(5 << 20))
        self.error = error

    def chunks(self, start: int = 0, size: int = 1 << 20) -> Iterator[bytes]:
        for _ in range(4):
            yield bytes(1 << 20)
        raise self.error


@pytest.mark.forms
@KINDS
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (resource_of(Lying(b"x" * 100, 101)), BadValue),
        (resource_of(Lying(b"x" * 100, 99)), BadValue),
        (resource_of(Lying(bytes(3 << 20), (3 << 20) + 1)), BadValue),
        (resource_of(Lying(bytes(3 << 20), (3 << 20) - 1)), BadValue),
        (resource_of(Failing(OSError(errno.EIO, "bad"))), OSError),
        (resource_of(Failing(KeyboardInterrupt())), KeyboardInterrupt),
        (bare(Content_Length="6"), BadValue),
        (resource_of(bytes(3 << 20), more=[("Content-Length", "6")]), BadValue),
        (bare(WARC_Date="yesterday"), BadValue),
        (bare(X="a\r\nb"), BadValue),
        (Record(fields=Fields(), block=b""), BadValue),
        (Record(fields=Fields.parse(b"WARC-Type: resource\r\n"), block=b""), BadValue),
    ],
)
def test_a_bad_record_leaves_the_file_as_it_was(
    tmp_path: Path, how: dict, bad: Record, error: type[BaseException]
) -> None:
    with Builder(tmp_path / "x.warc", warcinfo=INFO, **how) as builder:
        builder.append(ask())
        before = (tmp_path / "x.warc.open").read_bytes()
        with pytest.raises(error):
            builder.append(answer(3 << 20), ask(), bad, ask())
        assert (tmp_path / "x.warc.open").read_bytes() == before
        builder.append(answer())
    assert len(proved(tmp_path / "x.warc")) == 3


# Stored records ----------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("source", [{}, {"gzip": True}, {"gzip": True, "skip_lengths": True}])
def test_a_stored_record_is_copied_as_it_is(tmp_path: Path, how: dict, source: dict) -> None:
    with Builder(tmp_path / "a", warcinfo=INFO, **source) as builder:
        builder.append(answer(2 << 20), ask())
    with Volume(tmp_path / "a") as volume, Builder(tmp_path / "b", **how) as builder:
        for record in volume:
            builder.append(record, record)
    before, after = proved(tmp_path / "a"), proved(tmp_path / "b")
    assert [b"".join(r.pieces()) for r in after] == [
        b"".join(r.pieces()) for r in before for _ in range(2)
    ]
    if bool(how) == bool(source):
        data = (tmp_path / "a").read_bytes()
        assert (tmp_path / "b").read_bytes() == b"".join(2 * data[r.offset : r.end] for r in before)


def test_a_copied_record_may_be_the_first_of_a_group(tmp_path: Path) -> None:
    with Builder(tmp_path / "a") as builder:
        builder.append(ask())
    with Volume(tmp_path / "a") as volume, Builder(tmp_path / "b", warcinfo=INFO) as builder:
        stored = volume.first()
        assert stored
        builder.append(stored, answer())
    _, copy, answered = proved(tmp_path / "b")
    assert answered.fields["WARC-Concurrent-To"] == copy.id == stored.id
    assert copy.header == stored.header


def test_what_shares_its_member_is_given_one(tmp_path: Path) -> None:
    with Builder(tmp_path / "a") as builder:
        builder.append(ask(), answer())
    whole = gzip.compress((tmp_path / "a").read_bytes())
    (tmp_path / "b").write_bytes(whole + bytes(100) + whole)
    with Volume(tmp_path / "b") as volume, Builder(tmp_path / "c", gzip=True) as builder:
        builder.append(*volume)
    assert len(proved(tmp_path / "c")) == 4


def test_a_stored_record_without_an_id_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n\r\n\r\n")
    with Builder(tmp_path / "b") as builder, Volume(tmp_path / "a") as volume:
        stored = list(volume)
        with pytest.raises(BadValue, match="WARC-Record-ID"):
            builder.append(*stored)
    assert names(tmp_path) == ["a"]


def test_a_volume_in_another_file_is_copied_too(tmp_path: Path) -> None:
    with Builder(tmp_path / "a") as builder:
        builder.append(ask(), answer())
    source = MemorySource((tmp_path / "a").read_bytes())
    with Volume(tmp_path / "in.zip", source=source) as volume, Builder(tmp_path / "b") as builder:
        builder.append(*volume)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()


def test_a_volume_that_got_shorter_is_told(tmp_path: Path) -> None:
    with Builder(tmp_path / "a") as builder:
        builder.append(ask(), answer())
    with Volume(tmp_path / "a") as volume, Builder(tmp_path / "b") as builder:
        first, last = volume
        os.truncate(tmp_path / "a", last.end - 3)
        with pytest.raises(TornWarc, match=f"at byte {last.offset}"):
            builder.append(first, last)
        builder.append(first)
    assert len(proved(tmp_path / "b")) == 1


def test_an_arc_record_is_no_warc_record(tmp_path: Path) -> None:
    page = b"http://x.example/ 192.0.2.1 20261120101112 text/plain 5\nhello\n"
    (tmp_path / "x.arc").write_bytes(page)
    with open_volume(tmp_path / "x.arc") as volume, Builder(tmp_path / "b") as builder:
        [record] = volume
        with pytest.raises(BadValue, match="not a WARC record"):
            builder.append(record)
    assert names(tmp_path) == ["x.arc"]


# Members -----------------------------------------------------------------------------------


def test_members_tell_their_lengths(tmp_path: Path) -> None:
    with Builder(tmp_path / "x.warc.gz", gzip=True, skip_lengths=True) as builder:
        places = builder.append(answer(3 << 20), ask())
    data = (tmp_path / "x.warc.gz").read_bytes()
    for place in places:
        member = data[place.offset : place.offset + place.length]
        assert member[:10] == b"\x1f\x8b\x08\x04\0\0\0\0\0\xff"
        size, label, length, packed, plain = struct.unpack("<H2sHII", member[10:24])
        assert (size, label, length) == (12, b"sl", 8)
        assert packed == place.length
        assert plain == len(gzip.decompress(member))


@KINDS
def test_the_same_records_are_the_same_bytes(tmp_path: Path, how: dict) -> None:
    files = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        with Builder(
            folder / "x", warcinfo=INFO, ids=counting(), clock=lambda: WarcDate(DATE_DIGITS), **how
        ) as builder:
            builder.append(bare(), bare())
        files.append((folder / "x").read_bytes())
    assert files[0] == files[1]


DATE_DIGITS = "20261120101112123456"


# Files -------------------------------------------------------------------------------------


def test_files_are_named_by_the_guidelines(tmp_path: Path) -> None:
    with Builder(folder=tmp_path, prefix="CRAWL", gzip=True, warcinfo=INFO) as builder:
        assert builder.path is None
        assert names(tmp_path) == []
        builder.append(ask())
        assert names(tmp_path) == [f"{builder.path.name}.open"]
    assert names(tmp_path) == [builder.finished[0].name]
    host = "".join(c if c.isalnum() or c in "._~-" else "_" for c in socket.gethostname())
    assert re.fullmatch(rf"CRAWL-[0-9]{{17}}-00000-{re.escape(host)}\.warc\.gz", *names(tmp_path))


@KINDS
def test_a_full_file_is_followed_by_the_next(tmp_path: Path, how: dict) -> None:
    with Builder(folder=tmp_path, warcinfo=INFO, max_size="20K", **how) as builder:
        places = [builder.append(ask(), answer(4000)) for _ in range(10)]
    assert len(builder.finished) > 1
    assert all(len({place.path for place in group}) == 1 for group in places)
    assert names(tmp_path) == sorted(path.name for path in builder.finished)
    serials = [int(path.name.split("-")[2]) for path in builder.finished]
    assert serials == list(range(len(serials)))
    infos = []
    for path in builder.finished:
        info, *records = proved(path)
        infos.append(info)
        assert info.fields["WARC-Filename"] == path.name
        made = WarcDate.parse(info.fields["WARC-Date"])
        assert made.digits17 == path.name.split("-")[1]
        assert Fields.parse(info.block().read(0, 1000))["software"] == "Test/1"
        assert all(r.fields["WARC-Warcinfo-ID"] == info.id for r in records)
        assert path.stat().st_size <= 20_000 + (6_000 if how else 0)
    assert len({info.id for info in infos}) == len(infos)
    assert len({info.fields["WARC-Date"] for info in infos}) == len(infos)


def test_serials_can_end(tmp_path: Path) -> None:
    with Builder(folder=tmp_path, serials=iter([7]), max_size=10) as builder:
        builder.append(ask())
        with pytest.raises(BadValue, match="serial"):
            builder.append(ask())
    assert [path.name.split("-")[2] for path in builder.finished] == ["00007"]


def test_a_group_larger_than_a_file_has_its_own(tmp_path: Path) -> None:
    with Builder(folder=tmp_path, warcinfo=INFO, max_size=1000) as builder:
        for size in (10, 5000, 5000, 10):
            builder.append(answer(size), ask())
    assert [len(proved(path)) for path in builder.finished] == [3, 3, 3, 3]


def test_a_warcinfo_is_cloned_from_a_record(tmp_path: Path) -> None:
    given = Record.warcinfo(INFO, id="<urn:given>", filename="other.warc", more=[("X-Mine", "1")])
    with Builder(tmp_path / "a.warc", warcinfo=given) as builder:
        builder.append(ask())
    stored = proved(tmp_path / "a.warc")[0]
    with Builder(tmp_path / "b.warc", warcinfo=stored) as builder:
        builder.append(ask())
    for name in ("a.warc", "b.warc"):
        info = proved(tmp_path / name)[0]
        assert info.fields["WARC-Filename"] == name
        assert info.fields["X-Mine"] == "1"
        assert info.id not in ("<urn:given>", stored.id if name == "b.warc" else "")
        assert info.block().read(0, 1000) == INFO.to_bytes()


def test_nothing_appended_is_no_file(tmp_path: Path) -> None:
    with Builder(folder=tmp_path, warcinfo=INFO) as builder:
        assert builder.append() == []
    assert names(tmp_path) == []
    with pytest.raises(BadValue, match="closed"):
        builder.append(ask())


@pytest.mark.parametrize("name", ["x.warc", "x.warc.open"])
def test_a_path_that_is_taken_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with Builder(tmp_path / "x.warc") as builder, pytest.raises(FileExistsError):
        builder.append(ask())
    assert names(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_made_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    builder = Builder(folder=tmp_path)
    builder.append(ask())
    assert builder.path
    builder.path.write_text("mine")
    builder.close()
    assert builder.finished[0] != builder.path
    assert len(proved(builder.finished[0])) == 1
    assert sorted(path.read_bytes()[:4] for path in tmp_path.iterdir()) == [b"WARC", b"mine"]
    single = Builder(tmp_path / "x")
    single.append(ask())
    (tmp_path / "x").write_text("mine")
    with pytest.raises(FileExistsError):
        single.close()
    assert (tmp_path / "x").read_text() == "mine"
    assert len(proved(tmp_path / "x.open")) == 1


def test_names_that_are_taken_are_passed_over(tmp_path: Path) -> None:
    def builder() -> Builder:
        return Builder(folder=tmp_path, template="x-{serial}")

    for name in ("x-0", "x-1.open"):
        (tmp_path / name).write_text("mine")
    with builder() as one, builder() as other:
        one.append(ask())
        other.append(ask())
        assert names(tmp_path) == ["x-0", "x-1.open", "x-2.open", "x-3.open"]
    assert names(tmp_path) == ["x-0", "x-1.open", "x-2", "x-3"]


@pytest.mark.parametrize(
    "named",
    [{}, {"path": "x", "folder": "y"}, {"folder": ".", "template": "x-{timestamp}"},
     {"folder": ".", "prefix": "a/b"}, {"folder": ".", "max_size": "1X"}],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(named: dict) -> None:
    with pytest.raises(BadValue):
        Builder(**named)


def test_two_processes_with_one_template(tmp_path: Path) -> None:
    code = """
        import sys
        from lafka.warc.writing.builders import Builder
        from lafka.warc.format.dates import WarcDate
        from lafka.warc.format.records import Record
        from lafka.warc.format.fields import Fields
        clock = lambda: WarcDate("20261120101112123")
        info = Fields([("software", sys.argv[2])])
        with Builder(folder=sys.argv[1], warcinfo=info, clock=clock, max_size=1200) as builder:
            for number in range(60):
                url = f"urn:{sys.argv[2]}:{number}"
                builder.append(Record.resource(url, b"x" * 300, content_type="text/plain"))
    """
    going = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(tmp_path), name], cwd=ROOT
        )
        for name in ("a", "b")
    ]
    assert [process.wait() for process in going] == [0, 0]
    urls = []
    for path in tmp_path.iterdir():
        info, *records = proved(path)
        assert info.fields["WARC-Filename"] == path.name
        urls += [record.url for record in records]
    assert sorted(urls) == sorted(f"urn:{name}:{number}" for name in "ab" for number in range(60))


# A disk that refuses -----------------------------------------------------------------------


@KINDS
def test_a_full_disk_leaves_whole_records(tmp_path: Path, how: dict) -> None:
    with (
        files_of_at_most(30_000),
        Builder(folder=tmp_path, warcinfo=INFO, **how) as builder,
    ):
        builder.append(ask(), answer(1000))
        for size in (100_000, 2 << 20):
            with pytest.raises(OSError, match="too large"):
                builder.append(ask(), answer(size))
        builder.append(ask(), answer(2000))
    assert [len(proved(path)) for path in tmp_path.iterdir()] == [5]


def test_no_file_is_left_that_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with Builder(folder=tmp_path, warcinfo=INFO) as builder:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", refuse)
            with pytest.raises(OSError, match="no space"):
                builder.append(ask())
        assert names(tmp_path) == []
        builder.append(ask())
    assert len(proved(builder.finished[0])) == 2


def test_a_file_that_cannot_be_mended_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "bad")

    with Builder(folder=tmp_path, warcinfo=INFO) as builder:
        builder.append(ask())
        with monkeypatch.context() as patch:
            patch.setattr(os, "ftruncate", refuse)
            with pytest.raises(KeyboardInterrupt):
                builder.append(resource_of(Failing(KeyboardInterrupt())))
        [aside] = tmp_path.iterdir()
        assert aside.name.endswith(".warc.invalid")
        builder.append(answer())
    assert builder.failed == [aside]
    assert len(proved(builder.finished[0])) == 2
    with Volume(aside) as volume:
        assert [record.type for record in volume] == ["warcinfo", "request"]
        assert [problem.code for problem in volume.problems] == ["torn-tail"]


def test_a_single_file_that_was_set_aside_is_not_begun_again(tmp_path: Path) -> None:
    with Builder(tmp_path / "x.warc") as builder:
        builder.append(ask())
        builder.set_aside()
        with pytest.raises(BadValue, match="set aside"):
            builder.append(ask())
    assert names(tmp_path) == ["x.warc.invalid"]


def test_durable_is_synced_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def note(kind: str, call: Callable[[int], None]) -> Callable[[int], None]:
        def noted(fd: int) -> None:
            synced.append(f"{kind} {Path(f'/proc/self/fd/{fd}').readlink().name}")
            call(fd)

        return noted

    monkeypatch.setattr(os, "fdatasync", note("data", os.fdatasync))
    monkeypatch.setattr(os, "fsync", note("folder", os.fsync))
    with Builder(tmp_path / "x", durable=True, warcinfo=INFO) as builder:
        builder.append(ask())
        assert synced == [f"folder {tmp_path.name}", "data x.open"]
    assert synced[2:] == ["data x.open", f"folder {tmp_path.name}"]
    with Builder(tmp_path / "y") as builder:
        builder.append(ask())
    assert len(synced) == 4


# Indexes -----------------------------------------------------------------------------------


class Listing:
    def __init__(self) -> None:
        self.entries: list[tuple[str, int, int, str]] = []

    def add(self, record: StoredRecord) -> None:
        self.entries.append((record.path.name, record.offset, record.length, record.id))


@KINDS
def test_indexes_are_fed_as_it_writes(tmp_path: Path, how: dict) -> None:
    one, other = Listing(), Listing()
    with Builder(
        folder=tmp_path, warcinfo=INFO, max_size=3000, indexes=[one, other], **how
    ) as builder:
        for number in range(1, 6):
            builder.append(ask(), answer(1500))
            assert len(one.entries) >= 2 * number
    read = [
        (record.path.name, record.offset, record.length, record.id)
        for path in builder.finished
        for record in proved(path)
    ]
    assert one.entries == other.entries == read


@KINDS
def test_an_index_finds_what_was_just_written(tmp_path: Path, how: dict) -> None:
    index = index_builder(tmp_path / "x.sqlite")
    with index, Builder(folder=tmp_path, max_size=3000, indexes=[index], **how) as builder:
        for number in range(5):
            builder.append(answer(1500, f"{URL}{number}"))
    with attach(tmp_path / "x.sqlite") as found:
        [entry] = found.search(url=f"{URL}3")
    with Volume(tmp_path / entry.volume) as volume:
        assert volume.at(entry.offset).url == f"{URL}3"
        assert volume.at(entry.offset).length == entry.length
