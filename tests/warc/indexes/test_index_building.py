"""Indexes made of volumes."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from lafka.warc.errors import BadValue
from lafka.warc.format.records import Record
from lafka.warc.indexes import Entry, attach, build, builder, copy, index_lines
from lafka.warc.indexes.base import Index
from lafka.warc.indexes.collections import Collection
from lafka.warc.problems import Problem
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder
from tests.warc.captures import DATE, URL, digest, record, request, response, revisit, volume

SHARED = Path(__file__).parents[3].parent / "shared" / "warc"
KINDS = ("a.cdx", "a.cdxj", "a.cdx.gz", "a.cdxj.gz", "a.sqlite")


@pytest.fixture(params=["one.warc", "one.warc.gz"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return volume(tmp_path / "volumes" / request.param, *captures())


def captures() -> list[bytes]:
    return [
        record("warcinfo", b"software: x\r\n", name="info", Content_Type="application/warc-fields"),
        request(name="asked"),
        response(b"hello", name="answered"),
        revisit(b"hello", name="again", date="2026-11-21T10:00:00Z"),
        record("resource", b"text", name="res", Target_URI="urn:x:1", Content_Type="text/plain",
               Block_Digest=digest(b"text")),
    ]  # fmt: skip


def found(index: Index, **what: object) -> list[Entry]:
    with index:
        return list(index.search(**what))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", KINDS)
def test_an_index_leads_to_the_records(source: Path, tmp_path: Path, name: str) -> None:
    into = tmp_path / name
    assert build([source], into) == 5
    first, second = found(attach(into), url=URL, time=DATE)
    assert (first.status, first.mime, second.mime) == (200, "text/html", "warc/revisit")
    assert first.volume == second.volume == f"volumes/{source.name}"
    with Volume(into.parent / first.volume) as opened:
        assert first.offset is not None
        there = opened.at(first.offset)
        assert there.id == "<urn:test:answered>"
        assert first.length in (None, there.length)
    assert found(attach(into), digest=digest(b"text"))[0].url == "urn:x:1"


@pytest.mark.parametrize("name", ["a.cdxj", "a.sqlite"])
def test_entries_say_where_a_literal_payload_is(tmp_path: Path, name: str) -> None:
    source = volume(tmp_path / "one.warc", *captures())
    build([source], tmp_path / name)
    first, *_ = found(attach(tmp_path / name), url=URL, time=DATE)
    assert first.payload_offset is not None
    assert first.payload_length is not None
    end = first.payload_offset + first.payload_length
    assert source.read_bytes()[first.payload_offset : end] == b"hello"


def test_compressed_payloads_have_no_place(tmp_path: Path) -> None:
    source = volume(tmp_path / "one.warc.gz", *captures())
    build([source], tmp_path / "a.sqlite")
    first, *_ = found(attach(tmp_path / "a.sqlite"), url=URL)
    assert first.payload_offset is None


def test_sqlite_knows_every_record_and_the_others_captures(tmp_path: Path) -> None:
    source = volume(tmp_path / "one.warc", *captures())
    for name, count in (("a.sqlite", 5), ("a.cdxj", 3), ("a.cdx", 3)):
        build([source], tmp_path / name)
        with attach(tmp_path / name) as index:
            assert len(list(index)) == count
    [asked] = found(attach(tmp_path / "a.sqlite"), record_id="<urn:test:asked>")
    assert asked.type == "request"
    assert {e.type for e in found(attach(tmp_path / "a.sqlite"), url=URL)} == {
        "response",
        "revisit",
    }
    [asked] = found(attach(tmp_path / "a.sqlite"), url=URL, types=["request"])
    assert asked.type == "request"


def test_records_that_share_a_member_are_told_apart(tmp_path: Path) -> None:
    source = tmp_path / "one.warc.gz"
    source.write_bytes(gzip.compress(response(b"1") + response(b"2", "http://x.example/b")))
    build([source], tmp_path / "a.cdxj")
    [second] = found(attach(tmp_path / "a.cdxj"), url="http://x.example/b")
    assert (second.offset, second.inner) == (0, len(response(b"1")))


def test_problems_of_volumes_are_told(tmp_path: Path) -> None:
    source = volume(tmp_path / "one.warc", response(), b"junk\r\n", response(b"2")[:-10])
    problems: list[Problem] = []
    assert build([source], tmp_path / "a.cdxj", problems=problems.append) == 1
    assert {p.path for p in problems} == {source}
    assert len(problems) == 2


def test_records_are_added_one_by_one(tmp_path: Path) -> None:
    source = volume(tmp_path / "one.warc.open", *captures())
    with builder(tmp_path / "a.sqlite") as made, Volume(source) as opened:
        for one in opened:
            made.add(one, tmp_path / "one.warc")
            with attach(tmp_path / "a.sqlite") as index:
                [entry] = index.search(record_id=one.id)
            assert (entry.volume, entry.offset) == ("one.warc", one.offset)


def test_a_builder_of_volumes_feeds_an_index_that_is_searched_meanwhile(tmp_path: Path) -> None:
    with (
        builder(tmp_path / "a.sqlite") as index,
        Builder(folder=tmp_path, prefix="X", host="h", max_size=900, indexes=[index]) as made,
        attach(tmp_path / "a.sqlite") as live,
        Collection(indexes=[live]) as collection,
    ):
        for n in range(4):
            url = f"http://x.example/{n}"
            made.append(Record.resource(url, b"%d" % n, content_type="text/plain"))
            [found] = collection.search(url=url)
            assert b"".join(found.payload()) == b"%d" % n
    assert len(made.finished) > 1
    with attach(tmp_path / "a.sqlite") as index:
        assert index.volumes() == {path.name for path in made.finished}


def test_lines_for_a_pipe(tmp_path: Path) -> None:
    source = volume(tmp_path / "one.warc", *captures())
    for kind, name in (("cdx", "a.cdx"), ("cdxj", "a.cdxj")):
        build([source], tmp_path / name)
        lines = list(index_lines([source], kind, folder=tmp_path))
        assert b"".join(lines) == (tmp_path / name).read_bytes()
    with pytest.raises(BadValue):
        list(index_lines([source], "sqlite"))


def test_an_index_is_copied_into_another_kind_and_folder(tmp_path: Path) -> None:
    source = volume(tmp_path / "deep" / "one.warc", *captures())
    build([source], tmp_path / "deep" / "a.sqlite")
    with attach(tmp_path / "deep" / "a.sqlite") as index:
        assert copy(index, tmp_path / "b.sqlite") == 5
    with attach(tmp_path / "b.sqlite") as index:
        assert index.volumes() == {"deep/one.warc"}


def test_memory_does_not_grow_with_the_volume(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("lafka.warc.indexes.base.RUN_SIZE", 1 << 12)
    monkeypatch.setattr("lafka.warc.indexes.base._RUNS_MAX", 3)

    def peak(count: int, name: str) -> int:
        source = volume(tmp_path / "many.warc", *(response(b"%16000d" % n) for n in range(count)))
        tracemalloc.start()
        build([source], tmp_path / name)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    for name in ("a.cdxj", "a.sqlite"):
        peak(20, name)  # what is made once
        assert peak(120, name) < 1.2 * peak(40, name)


SAMPLES = sorted(SHARED.glob("[wz]*")) if SHARED.exists() else []


@pytest.mark.parametrize("path", SAMPLES[::4], ids=lambda path: path.name)
def test_each_capture_in_the_samples_is_found_again(path: Path, tmp_path: Path) -> None:
    build([path], tmp_path / "a.cdxj")
    build([path], tmp_path / "a.sqlite")
    with attach(tmp_path / "a.cdxj") as lines, attach(tmp_path / "a.sqlite") as base:
        for entry in lines:
            wanted = (entry.offset, entry.inner)
            for index in (lines, base):
                same = index.search(url=entry.url, time=entry.date, types=[entry.type])
                assert wanted in [(e.offset, e.inner) for e in same]
