"""Collections of volumes and indexes."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lafka.warc.errors import BadIndex, BadWarc, MissingSegment, NotFound
from lafka.warc.indexes import attach, build
from lafka.warc.indexes.collections import Collection
from lafka.warc.reading.stored import StoredRecord
from tests.warc.captures import (
    DATE,
    NOT_MODIFIED,
    PROFILES,
    URL,
    digest,
    message,
    record,
    request,
    response,
    revisit,
    volume,
)

LATER = "2026-11-21T10:00:00Z"
INDEXES = ("", "a.cdx", "a.cdxj", "a.sqlite")


def ids(found: Iterator[StoredRecord]) -> list[str]:
    return [one.id.removeprefix("<urn:test:").removesuffix(">") for one in found]


def body(found: StoredRecord) -> bytes:
    return b"".join(found.payload())


def collected(folder: Path, name: str, *volumes: Path) -> Collection:
    """A collection of *volumes*, searched through the index *name*, without one where it is ''."""
    if not name:
        return Collection(volumes)
    build(volumes, folder / name)
    return Collection(indexes=[folder / name])


@pytest.fixture(params=INDEXES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_records_of_many_volumes_are_found(tmp_path: Path, name: str) -> None:
    one = volume(tmp_path / "one.warc", response(b"1", date=DATE, name="1"))
    two = volume(tmp_path / "two.warc.gz", request(), response(b"2", date=LATER, name="2"))
    with collected(tmp_path, name, one, two) as collection:
        assert ids(collection.search(url=URL, time=LATER)) == ["2", "1"]
        assert ids(collection.search(url=URL, time="2026-11-20")) == ["1", "2"]
        assert [body(found) for found in collection.search(url=URL)] == [b"2", b"1"]
        assert ids(collection.search(digest=digest(b"1"))) == ["1"]
        assert len(list(collection)) == 3
        assert not list(collection.search(url="http://y.example/"))
        assert not collection.problems


def test_a_record_is_found_once_whatever_knows_it(tmp_path: Path) -> None:
    one = volume(tmp_path / "deep" / "one.warc", response(name="1"), request())
    (tmp_path / "other.warc").symlink_to(one)
    paths = [tmp_path / "a.cdx", tmp_path / "b.cdxj", tmp_path / "c.sqlite"]
    for path in paths:
        build([one], path)
    build([tmp_path / "other.warc"], tmp_path / "d.cdxj")
    everything = Collection([one, tmp_path / "other.warc"], [*paths, tmp_path / "d.cdxj"])
    with everything as collection:
        assert ids(collection.search(url=URL)) == ["1"]


def test_volumes_that_no_index_knows_are_found_too(tmp_path: Path) -> None:
    one = volume(tmp_path / "one.warc", response(name="1"))
    two = volume(tmp_path / "two.warc", response(name="2", date=LATER))
    build([one], tmp_path / "a.cdxj")
    with Collection([one, two], [tmp_path / "a.cdxj"]) as collection:
        assert ids(collection.search(url=URL)) == ["2", "1"]
    build([one], tmp_path / "b.sqlite")
    with Collection([one, two], [tmp_path / "b.sqlite"]) as collection:
        assert ids(collection.search(url=URL)) == ["2", "1"]


def test_an_index_may_call_volumes_by_their_bare_names(tmp_path: Path) -> None:
    one = volume(tmp_path / "far" / "one.warc", response(name="1"))
    build([one], one.parent / "a.cdxj")
    moved = (one.parent / "a.cdxj").rename(tmp_path / "a.cdxj")
    with Collection([tmp_path / "far"], [moved]) as collection:
        assert ids(collection.search(url=URL)) == ["1"]
        assert not collection.problems


def test_a_folder_is_a_collection(tmp_path: Path) -> None:
    volume(tmp_path / "b" / "two.warc.gz", response(name="2"))
    volume(tmp_path / "a" / "one.warc", response(name="1"))
    volume(tmp_path / "c.warc.open", response(name="3"))
    volume(tmp_path / ".draft.warc", response(name="4"))
    volume(tmp_path / "notes.txt", b"WARC/1.1\r\n")
    build([tmp_path / "a" / "one.warc"], tmp_path / "a.sqlite")
    with Collection.from_folder(tmp_path) as collection:
        assert ids(iter(collection)) == ["1", "2", "3"]
        assert sorted(ids(collection.search(url=URL))) == ["1", "2", "3"]


def test_what_is_wrong_is_told_and_hides_nothing(tmp_path: Path) -> None:
    one = volume(tmp_path / "one.warc", response(name="1"), b"junk\r\n")
    two = volume(tmp_path / "two.warc", response(name="2"))
    three = volume(tmp_path / "three.warc", request(), response(name="3"))
    build([one, two, three], tmp_path / "a.cdxj")
    two.unlink()
    volume(three, response(b"longer", "http://other.example/"), response(name="3"))
    with Collection(indexes=[tmp_path / "a.cdxj"]) as collection:
        assert ids(collection.search(url=URL)) == ["1"]
        assert sorted(p.code for p in collection.problems) == ["missing-volume", "stale-entry"]
        assert ids(iter(collection)) == ["1", "", "3"]
        assert len(collection.problems) == 3
    with (
        Collection(indexes=[tmp_path / "a.cdxj"], strict=True) as collection,
        pytest.raises((BadIndex, BadWarc)),
    ):
        list(collection.search(url=URL))


def test_volumes_are_scanned_over_what_is_wrong_in_them(tmp_path: Path) -> None:
    one = volume(tmp_path / "one.warc", response(name="1"), b"junk\r\n", response(name="2")[:-9])
    with Collection([one, tmp_path / "gone.warc"]) as collection:
        assert ids(collection.search(url=URL)) == ["1"]
        assert {p.path.name for p in collection.problems} == {"one.warc", "gone.warc"}
        count = len(collection.problems)
        list(collection.search(url=URL))
        assert len(collection.problems) == count


# Revisits -------------------------------------------------------------------------------------


def resolved(collection: Collection, name: str) -> bytes:
    [found] = [one for one in collection if one.id == f"<urn:test:{name}>"]
    return body(collection.resolve(found))


def test_a_revisit_is_resolved_by_the_id_it_names(tmp_path: Path) -> None:
    one = volume(tmp_path / "1.warc", response(b"old", name="1"))
    two = volume(tmp_path / "2.warc", response(b"new", date=LATER, name="2"),
                 revisit(b"old", name="r", date=LATER, Refers_To="<urn:test:1>"))  # fmt: skip
    for index in ("", "a.cdxj", "a.sqlite"):
        with collected(tmp_path, index, one, two) as collection:
            assert resolved(collection, "r") == b"old"


def test_a_revisit_is_resolved_by_uri_and_date(tmp_path: Path, name: str) -> None:
    other = "http://y.example/"
    one = volume(
        tmp_path / "1.warc",
        response(b"right", other, DATE), response(b"wrong", other, LATER),
        revisit(b"?", name="r", date=LATER, Refers_To="<urn:test:gone>",
                Refers_To_Target_URI=f"<{other}>", Refers_To_Date=DATE),
    )  # fmt: skip
    with collected(tmp_path, name, one) as collection:
        assert resolved(collection, "r") == b"right"


def test_a_revisit_is_resolved_by_digest_first_of_its_url(tmp_path: Path, name: str) -> None:
    one = volume(
        tmp_path / "1.warc",
        response(b"same", "http://y.example/", DATE, name="far"),
        response(b"same", URL, LATER, name="near"),
        revisit(b"same", name="r", date="2026-11-22T10:00:00Z"),
        revisit(b"same", "http://z.example/", name="s"),
        revisit(b"lost", name="t"),
    )  # fmt: skip
    with collected(tmp_path, name, one) as collection:
        by_name = {one.id: one for one in collection}
        assert collection.resolve(by_name["<urn:test:r>"]).id == "<urn:test:near>"
        assert resolved(collection, "s") == b"same"
        with pytest.raises(NotFound):
            resolved(collection, "t")
        near = by_name["<urn:test:near>"]
        assert collection.resolve(near) is near


def test_not_modified_is_resolved_by_what_came_before(tmp_path: Path, name: str) -> None:
    one = volume(
        tmp_path / "1.warc",
        response(b"1", date="2026-11-01T00:00:00Z"), response(b"2", date="2026-11-02T00:00:00Z"),
        response(b"4", date="2026-11-04T00:00:00Z"),
        record("revisit", message(b"", "304 Not Modified"), name="r", Target_URI=URL,
               Date="2026-11-03T00:00:00Z", Profile=NOT_MODIFIED,
               Content_Type="application/http;msgtype=response"),
    )  # fmt: skip
    with collected(tmp_path, name, one) as collection:
        assert resolved(collection, "r") == b"2"


def test_revisits_of_revisits_are_followed_and_loops_end(tmp_path: Path) -> None:
    one = volume(
        tmp_path / "1.warc",
        response(b"x", "http://y.example/", name="1"),
        revisit(b"-", name="2", Refers_To="<urn:test:1>"),
        revisit(b"-", name="3", Refers_To="<urn:test:2>"),
        revisit(b"+", name="4", Refers_To="<urn:test:5>", Profile=PROFILES + "x"),
        revisit(b"+", name="5", Refers_To="<urn:test:4>", Profile=PROFILES + "x"),
    )  # fmt: skip
    with Collection([one]) as collection:
        assert resolved(collection, "3") == b"x"
        with pytest.raises(NotFound):
            resolved(collection, "4")


# Segments -------------------------------------------------------------------------------------


def test_segments_are_joined_over_volumes(tmp_path: Path, name: str) -> None:
    block = message(b"abcdef")
    first = volume(tmp_path / "1.warc", record(
        "response", block[:-4], name="1", Target_URI=URL, Segment_Number="1",
        Content_Type="application/http;msgtype=response"))  # fmt: skip
    rest = [
        record("continuation", part, name=f"c{n}", Target_URI=URL, Segment_Number=str(n),
               Segment_Origin_ID="<urn:test:1>", **more)
        for n, part, more in (
            (2, block[-4:-2], {}), (3, block[-2:], {"Segment_Total_Length": str(len(block))}),
        )
    ]  # fmt: skip
    others = [volume(tmp_path / f"{n}.warc", one) for n, one in enumerate(rest, 2)]
    with collected(tmp_path, name, first, *others) as collection:
        for one in collection:
            joined = collection.whole(one, eager=True)
            assert b"".join(joined.payload()) == b"abcdef"
    with collected(tmp_path, name, first, others[0]) as collection:
        [found] = collection.search(url=URL, types=["response"])
        lazy = collection.whole(found)
        with pytest.raises(MissingSegment):
            b"".join(lazy.payload())
        with pytest.raises(MissingSegment):
            collection.whole(found, eager=True)


# Many volumes ---------------------------------------------------------------------------------


def many(folder: Path, count: int) -> None:
    for n in range(count):
        url = f"http://x.example/{n}"
        volume(folder / f"{n // 500:03}" / f"{n:06}.warc", response(b"%d" % n, url))


@contextmanager
def descriptors(count: int) -> Iterator[None]:
    """At most *count* descriptors more than are open now."""
    gc.collect()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken + count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_many_volumes_take_few_descriptors(tmp_path: Path) -> None:
    many(tmp_path, 200)
    build(sorted(tmp_path.glob("*/*.warc")), tmp_path / "a.sqlite")
    with descriptors(30), Collection.from_folder(tmp_path, opened_max=4) as collection:
        found = list(collection)
        assert len(found) == 200
        for n in (0, 99, 199):
            [one] = collection.search(url=f"http://x.example/{n}")
            assert body(one) == b"%d" % n
    with descriptors(30), Collection([tmp_path / "000"], opened_max=4) as collection:
        [one] = collection.search(url="http://x.example/149")
        assert body(one) == b"149"


def test_a_search_opens_only_the_volume_it_finds(tmp_path: Path, monkeypatch) -> None:
    many(tmp_path, 50)
    build(sorted(tmp_path.glob("*/*.warc")), tmp_path / "a.sqlite")
    opened: list[Path] = []
    import lafka.warc.indexes.collections as module

    real = module.open_volume
    monkeypatch.setattr(module, "open_volume", lambda path, **kw: opened.append(path) or real(path))
    with Collection.from_folder(tmp_path) as collection:
        [one] = collection.search(url="http://x.example/7")
        assert body(one) == b"7"
    assert [path.name for path in opened] == ["000007.warc"]


def test_the_library_imports_neither_scrapy_nor_lafka(tmp_path: Path) -> None:
    code = (
        "import sys, lafka.warc.indexes.collections as c;"
        "bad = [m for m in sys.modules if m.startswith(('scrapy', 'twisted'))"
        " or m.startswith('lafka.') and not m.startswith('lafka.warc')];"
        "print(bad)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_index_object_is_left_open(tmp_path: Path) -> None:
    one = volume(tmp_path / "one.warc", response(name="1"))
    build([one], tmp_path / "a.cdxj")
    with attach(tmp_path / "a.cdxj") as index:
        with Collection(indexes=[index]) as collection:
            assert ids(collection.search(url=URL)) == ["1"]
        assert len(list(index)) == 1
