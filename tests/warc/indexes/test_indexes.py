from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lafka.warc.errors import BadIndex, BadValue
from lafka.warc.format.dates import WarcDate
from lafka.warc.indexes import Entry, Query, attach, builder, kind_of, sqlite
from lafka.warc.indexes.base import Index, LineSorter, digest_key
from lafka.warc.indexes.lines import InflatedText
from lafka.warc.indexes.surts import surt

SHARED = Path(__file__).parents[3].parent / "shared" / "warc"
KINDS = ("a.cdx", "a.cdxj", "a.cdx.gz", "a.cdxj.gz", "a.sqlite")


def entry(url: str = "http://x.example/a", date: str = "2026-11-20T10:00:00Z", **more: object):
    values = {
        "key": surt(url),
        "url": url,
        "date": WarcDate.parse(date),
        "type": "response",
        "record_id": f"urn:test:{url}:{date}",
        "mime": "text/html",
        "status": 200,
        "digest": "sha256:" + "ab" * 32,
        "volume": "one.warc",
        "offset": abs(hash((url, date, *sorted(more)))) % 10**9,
        "length": 1000,
    }
    return Entry(**values | more)  # type: ignore[arg-type]


def filled(path: Path, entries: list[Entry]) -> Index:
    with kind_of(path).build(path) as made:
        for one in entries:
            made.add_entry(one)
    return attach(path)


@pytest.fixture(params=KINDS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def urls(found: Iterator[Entry]) -> list[str]:
    return [one.url for one in found]


def dates(found: Iterator[Entry]) -> list[str]:
    return [one.date.text[:10] for one in found if one.date]


def test_what_is_added_is_found(path: Path) -> None:
    one, other = entry(), entry("http://y.example/")
    with filled(path, [one, other]) as index:
        assert urls(index.search(url=one.url)) == [one.url]
        [found] = index.search(url=other.url, time="2026")
        assert (found.volume, found.offset, found.length) == ("one.warc", other.offset, 1000)
        assert (found.status, found.mime, found.date) == (200, "text/html", other.date)
        assert sorted(urls(iter(index))) == [one.url, other.url]
        assert index.volumes() == {"one.warc"}
        assert not list(index.search(url="http://z.example/"))
        assert not index.problems


def test_the_nearest_comes_first(path: Path) -> None:
    days = [entry(date=f"2026-01-{day:02}T00:00:00Z") for day in (1, 9, 5, 20)]
    with filled(path, days) as index:
        found = dates(index.search(url=days[0].url, time="2026-01-06T00:00:00Z"))
        assert found == ["2026-01-05", "2026-01-09", "2026-01-01", "2026-01-20"]
        assert dates(index.search(url=days[0].url)) == [
            "2026-01-20", "2026-01-09", "2026-01-05", "2026-01-01",
        ]  # fmt: skip
        assert dates(index.search(time="2026-01-19"))[0] == "2026-01-20"


def test_a_month_is_near_to_all_its_days(path: Path) -> None:
    days = [entry(date=f"2026-{day}T00:00:00Z") for day in ("01-31", "02-10", "02-20", "03-01")]
    with filled(path, days) as index:
        found = dates(index.search(url=days[0].url, time="2026-02"))
        assert found == ["2026-02-20", "2026-02-10", "2026-03-01", "2026-01-31"]


def test_the_url_itself_comes_before_those_that_are_like_it(path: Path) -> None:
    near = entry("https://www.x.example/A", "2026-01-02T00:00:00Z")
    same = entry("http://x.example/a", "2020-01-01T00:00:00Z")
    with filled(path, [near, same]) as index:
        assert urls(index.search(url=same.url, time="2026-01-02")) == [same.url, near.url]


def test_responses_come_before_revisits_of_the_same_time(path: Path) -> None:
    revisit = entry(type="revisit", mime="warc/revisit", offset=1)
    response = entry(offset=2)
    with filled(path, [revisit, response]) as index:
        assert [e.offset for e in index.search(url=response.url, time="2026")] == [2, 1]
        assert [e.offset for e in index.search(url=response.url)] == [2, 1]
        assert [e.type for e in index.search(url=response.url, types=["revisit"])][-1] == "revisit"


def test_beginnings_of_urls(path: Path) -> None:
    made = [entry(f"http://{name}") for name in ("a.x/1", "a.x/1/2", "a.x/2", "b.a.x/", "b.x/1")]
    with filled(path, made) as index:
        assert urls(index.search(url_prefix="http://a.x/1")) == ["http://a.x/1", "http://a.x/1/2"]
        assert len(list(index.search(url_prefix="http://a.x"))) == 3
        assert len(list(index.search(url_prefix="*.a.x", time="2026"))) == 4
        assert not list(index.search(url_prefix="http://c.x"))


def test_digests_are_found_in_any_notation(path: Path) -> None:
    other = entry("http://y.example/", digest="sha1:AQLNJ7DOPHK477BWWC726H7Y5XBPBNF7")
    with filled(path, [entry(), other]) as index:
        for text in ("AQLNJ7DOPHK477BWWC726H7Y5XBPBNF7", "SHA1:aqlnj7dophk477bwwc726h7y5xbpbnf7"):
            assert urls(index.search(digest=text)) == [other.url]
        assert urls(index.search(digest="sha256:" + "AB" * 32)) == [entry().url]
        assert not list(index.search(url="http://x.example/a", digest=other.digest))


def test_ids_are_found_with_brackets_or_without(path: Path) -> None:
    one = entry(record_id="<urn:uuid:1>")
    with filled(path, [one, entry("http://y.example/")]) as index:
        if not index.has_ids:
            with pytest.raises(BadValue, match="no record ids"):
                index.search(record_id="urn:uuid:1")
            return
        for text in ("urn:uuid:1", "<urn:uuid:1>"):
            assert urls(index.search(record_id=text)) == [one.url]
        assert not list(index.search(record_id="urn:uuid:2"))


UGLY = st.text(st.characters(), max_size=12)


@given(st.lists(st.tuples(UGLY, UGLY, UGLY), max_size=6), st.sampled_from(KINDS))
@settings(max_examples=30)
def test_ugly_values_come_back(tmp_path_factory, values, name) -> None:
    path = tmp_path_factory.mktemp("ugly") / name
    made = [
        entry(url, mime=f"a/{mime}", volume=volume, offset=n)
        for n, (url, mime, volume) in enumerate(values)
    ]
    with filled(path, made) as index:
        assert len(list(index)) == len(made)
        for one in made if "cdxj" in name or "sqlite" in name else ():
            [found] = [e for e in index.search(url=one.url) if e.offset == one.offset]
            assert (found.url, found.mime, found.volume) == (one.url, one.mime, one.volume)
        assert not index.problems


@pytest.mark.parametrize("name", ["a.cdxj", "a.sqlite"])
def test_all_that_an_entry_says_comes_back(tmp_path: Path, name: str) -> None:
    one = entry(
        date="2026-11-20T10:00:00.123456Z", inner=7, payload_offset=12, payload_length=0,
        record_id="urn:uuid:1", type="conversion",
    )  # fmt: skip
    bare = Entry(key="-", url="", volume="")
    with filled(tmp_path / name, [one, bare]) as index:
        assert sorted(index, key=lambda e: e.key) == [bare, one]


def test_an_entry_without_a_date_is_the_farthest(path: Path) -> None:
    undated = replace(entry(offset=3), date=None)
    with filled(path, [undated, entry()]) as index:
        for time in (None, "1990", "2040"):
            assert [e.date is None for e in index.search(url=undated.url, time=time)] == [0, 1]


def test_an_index_is_replaced_when_it_is_whole(path: Path) -> None:
    filled(path, [entry()]).close()
    before = path.read_bytes()
    with suppress(KeyError), kind_of(path).build(path) as made:
        made.add_entry(entry("http://y.example/"))
        raise KeyError
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_an_index_is_added_to(path: Path) -> None:
    filled(path, [entry()]).close()
    for _ in range(2):  # the same record again is no other
        with builder(path) as made:
            made.add_entry(entry("http://y.example/"))
    with attach(path) as index:
        assert sorted(urls(iter(index))) == ["http://x.example/a", "http://y.example/"]


def test_what_is_added_to_sqlite_is_found_at_once(tmp_path: Path) -> None:
    path = tmp_path / "live.sqlite"
    with builder(path) as made:
        with attach(path) as index:
            for n in range(3):
                assert not list(index.search(url=f"http://x.example/{n}"))
                made.add_entry(entry(f"http://x.example/{n}", offset=n))
                assert len(list(index.search(url=f"http://x.example/{n}"))) == 1
        made.add_entry(entry("http://y.example/", volume="two.warc"))
    with attach(path) as index:
        assert len(list(index)) == 4
    assert [p.name for p in tmp_path.iterdir()] == ["live.sqlite"]


def test_urls_of_one_hash_are_told_apart(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("lafka.warc.indexes.sqlite.hashed", lambda text: 7)
    made = [entry(f"http://x.example/{n}", offset=n) for n in range(5)]
    with filled(tmp_path / "a.sqlite", made) as index:
        for n, one in enumerate(made):
            assert [e.offset for e in index.search(url=one.url)] == [n]
            assert [e.offset for e in index.search(record_id=one.record_id)] == [n]
        assert not list(index.search(url="http://x.example/9"))


@given(
    st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=30, unique=True),
    st.none() | st.integers(0, 60),
)
def test_sqlite_gives_what_sorting_all_would(tmp_path_factory, values, second) -> None:
    path = tmp_path_factory.mktemp("order") / "a.sqlite"
    made = [
        entry(f"http://x.example/{'A' if odd else 'a'}", f"2026-01-01T00:00:{n:02}Z", offset=n)
        for n, odd in values
        if n < 60
    ]
    query = Query.of(
        url="http://x.example/a",
        time=None if second is None else f"2026-01-01T00:00:{min(second, 59):02}Z",
    )
    with filled(path, made) as index:
        assert list(index.found(query)) == sorted(made, key=query.rank)


def test_several_add_to_one_index_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    builder(path).close()

    def add(start: int) -> None:
        with builder(path) as made:
            for n in range(40):
                made.add_entry(entry(f"http://x.example/{n % 10}", offset=start + n))

    threads = [Thread(target=add, args=(start,)) for start in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with attach(path) as index:
        assert len(list(index)) == 120
        assert len(list(index.search(url="http://x.example/3"))) == 12


def test_another_writer_is_waited_for_where_the_journal_changes(
    tmp_path: Path, monkeypatch
) -> None:
    """SQLite itself refuses at once there, whatever the time-out of the connection."""
    path = tmp_path / "a.sqlite"
    builder(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        other.execute("COMMIT")

    monkeypatch.setattr(sqlite.time, "sleep", wait)
    with builder(path) as made:
        made.add_entry(entry("http://x.example/"))
    other.close()
    assert len(waits) == 1
    with attach(path) as index:
        assert len(list(index)) == 1


def test_what_the_disk_says_is_an_os_error(tmp_path: Path, monkeypatch) -> None:
    made = builder(tmp_path / "a.sqlite")
    made._db.execute("PRAGMA max_page_count = 20")

    def fill() -> None:
        for n in range(10_000):
            made.add_entry(entry(f"http://x.example/{n}", offset=n))

    with pytest.raises(OSError, match="No space"):
        fill()
    made.close()
    with pytest.raises(FileNotFoundError):
        attach(tmp_path / "b.sqlite")


def test_indexes_are_what_they_hold_whatever_their_name(tmp_path: Path) -> None:
    for name in KINDS:
        filled(tmp_path / name, [entry()]).close()
        with attach((tmp_path / name).rename(tmp_path / "index")) as index:
            assert type(index) is type(attach_by(tmp_path, name))
            assert urls(index.search(url=entry().url)) == [entry().url]


def attach_by(folder: Path, name: str) -> Index:
    with filled(folder / name, [entry()]) as index:
        return index


def test_what_is_no_index_is_refused(tmp_path: Path) -> None:
    for data in (b"hello\n", b"\x1f\x8b\x08", b"SQLite format 3\0" + bytes(90), b"\xff" * 5000):
        (tmp_path / "a.cdx").write_bytes(data)
        with pytest.raises(BadIndex):
            attach(tmp_path / "a.cdx")
    with pytest.raises(BadValue):
        builder(tmp_path / "a.txt")
    with pytest.raises(BadValue):
        entry_index(tmp_path).search(url="x", time="yesterday")


def entry_index(tmp_path: Path) -> Index:
    return filled(tmp_path / "b.cdxj", [entry()])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """An index of each kind, as bytes."""
    folder = tmp_path_factory.mktemp("sound")
    made = [entry(f"http://x.example/{n % 7}", f"2026-01-{n + 1:02}T00:00:00Z") for n in range(20)]
    for name in KINDS:
        filled(folder / name, made).close()
    return {name: (folder / name).read_bytes() for name in KINDS}


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3), st.integers(0, 3)), max_size=4),
    st.floats(0.2, 1),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_index_gives_what_it_can_or_says_that_it_is(
    tmp_path_factory, sound, name, damages, kept
) -> None:
    data = bytearray(sound[name])
    for place, new, gone in damages:
        start = int(place * (len(data) - 1))
        data[start : start + gone] = new
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(bytes(data[: int(len(data) * kept)]))
    with suppress(BadIndex), attach(path) as index:
        list(index)
        index.volumes()
        for what in (
            {"url": "http://x.example/3"}, {"url": "http://x.example/3", "time": "2026-01-11"},
            {"url_prefix": "http://x.example/"}, {"url_prefix": "http://x", "time": "2026"},
            {"digest": "sha256:" + "ab" * 32}, {"time": "2026-01-11"}, {"record_id": "urn:x"},
        ):  # fmt: skip
            if index.has_ids or "record_id" not in what:
                list(index.search(**what))


def test_an_empty_index_finds_nothing(path: Path) -> None:
    with filled(path, []) as index:
        assert not list(index.search(url="http://x.example/"))
        assert not list(index)


# Lines ----------------------------------------------------------------------------------------


def many(path: Path, count: int) -> list[bytes]:
    with kind_of(path).build(path) as made:
        for n in range(count):
            made.add_entry(entry(f"http://x.example/{n}", offset=n))
    return path.read_bytes().splitlines(keepends=True)


class Counted:
    """How many bytes of an index are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads: list[int] = []
        import lafka.warc.indexes.lines as module

        real = module.os.pread

        def pread(fd: int, size: int, offset: int) -> bytes:
            self.reads.append(size)
            return real(fd, size, offset)

        monkeypatch.setattr(module.os, "pread", pread)


@pytest.mark.parametrize("name", ["a.cdx", "a.cdxj"])
def test_a_sorted_index_is_not_read_whole(tmp_path, monkeypatch, name) -> None:
    many(tmp_path / name, 3000)
    with attach(tmp_path / name) as index:
        assert index.is_sorted
        counted = Counted(monkeypatch)
        for n in (0, 1, 999, 1500, 2998, 2999):
            counted.reads.clear()
            assert [e.offset for e in index.search(url=f"http://x.example/{n}")] == [n]
            assert sum(counted.reads) < 60_000
        assert len(list(index.search(url_prefix="http://x.example/29"))) == 111


@pytest.mark.parametrize("name", ["a.cdx", "a.cdxj"])
def test_an_unsorted_index_is_read_whole(tmp_path, name) -> None:
    lines = many(tmp_path / name, 500)
    random.Random(1).shuffle(lines)
    head = [line for line in lines if line.startswith(b" CDX")]
    (tmp_path / name).write_bytes(b"".join([*head, *(x for x in lines if x not in head)]))
    with attach(tmp_path / name) as index:
        for n in (0, 250, 499):
            assert [e.offset for e in index.search(url=f"http://x.example/{n}")] == [n]
        assert [p.code for p in index.problems] == ["unsorted-index"]


def test_one_line_out_of_place_in_a_big_index_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("lafka.warc.indexes.lines._WHOLE", 1 << 16)
    monkeypatch.setattr("lafka.warc.indexes.lines._SAMPLES", 4)
    path = tmp_path / "a.cdxj"
    lines = many(path, 3000)
    lines.insert(1400, lines.pop(300))
    path.write_bytes(b"".join(lines))
    lost = json.loads(lines[1400].split(b" ", 2)[2])
    with attach(path) as index:
        assert index.is_sorted  # for all that was looked at
        assert [str(e.offset) for e in index.search(url=lost["url"])] == [lost["offset"]]
        assert [p.code for p in index.problems] == ["unsorted-index"]
        assert [e.offset for e in index.search(url="http://x.example/11")] == [11]


BAD = [
    b"com,example)/ 2026 {",
    b"com,example)/",
    b'com,example)/ 2026 ["a"]',
    b'com,example)/ yesterday {"url": "http://example.com/"}',
    b'com,example)/ 2026 {"offset": "-1"}',
    b"\x00\xff",
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_is_a_problem_and_hides_nothing(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "a.cdxj"
    filled(path, [entry(), entry("http://y.example/")]).close()
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], bad, b"", lines[1], b""]))
    with attach(path) as index:
        assert len(list(index)) == len(list(index)) == 2
        [problem] = [p for p in index.problems if p.code == "bad-line"]
        assert problem.offset == len(lines[0]) + 1
        assert len(list(index.search(url="http://x.example/a"))) == 1
    path.write_bytes(b"\n\n" + path.read_bytes())
    with pytest.raises(BadIndex, match="line 4: "), attach(path, strict=True) as index:
        list(index)


def test_a_line_without_an_end_is_read_and_an_endless_one_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.cdxj"
    filled(path, [entry()]).close()
    line = path.read_bytes()
    path.write_bytes(line + b"x" * (3 << 20) + b"\n" + line.rstrip())
    with attach(path) as index:
        assert urls(iter(index)) == [entry().url] * 2
        assert [p.code for p in index.problems] == ["bad-line"]


def test_cdx_is_written_as_the_archive_does(tmp_path: Path) -> None:
    one = entry(
        "http://www.financeminister.gov.au/", "2015-09-14T22:20:34Z", length=83848, offset=117273,
        digest="sha1:ZMSA5TNJUKKRYAIM5PRUJLL24DV7QYOO", volume="WEB~8443.warc.gz",
    )  # fmt: skip
    filled(tmp_path / "a.cdx", [one]).close()
    assert (tmp_path / "a.cdx").read_text() == (
        " CDX N b a m s k r M S V g\n"
        "au,gov,financeminister)/ 20150914222034 http://www.financeminister.gov.au/ text/html 200 "
        "ZMSA5TNJUKKRYAIM5PRUJLL24DV7QYOO - - 83848 117273 WEB~8443.warc.gz\n"
    )
    with kind_of("", "cdx9").build(tmp_path / "b.cdx") as made:
        made.add_entry(one)
    assert (tmp_path / "b.cdx").read_text() == (
        " CDX N b a m s k r V g\n"
        "au,gov,financeminister)/ 20150914222034 http://www.financeminister.gov.au/ text/html 200 "
        "ZMSA5TNJUKKRYAIM5PRUJLL24DV7QYOO - 117273 WEB~8443.warc.gz\n"
    )
    with attach(tmp_path / "b.cdx") as index:
        assert [(e.offset, e.length) for e in index] == [(117273, None)]


def test_cdxj_is_written_as_pywb_does(tmp_path: Path) -> None:
    one = entry(
        "http://example.com/", "2017-07-30T22:38:50Z", length=1219, offset=771, type="",
        digest="G7HRM7BGOKSKMSXZAHMUQTTV53QOFSMK", volume="example.warc.gz", record_id="",
    )  # fmt: skip
    filled(tmp_path / "a.cdxj", [one]).close()
    assert (tmp_path / "a.cdxj").read_text() == (
        'com,example)/ 20170730223850 {"url": "http://example.com/", "mime": "text/html", '
        '"status": "200", "digest": "G7HRM7BGOKSKMSXZAHMUQTTV53QOFSMK", "length": "1219", '
        '"offset": "771", "filename": "example.warc.gz"}\n'
    )


OTHER_FORMS = {
    "openwayback": (
        (
            b"!OpenWayback-CDXJ 1.0\n"
            b"(com,example,)/a 2015-02-03T04:05:06Z response "
            b'{"uri": "http://example.com/a", "sha": "AQLNJ7DOPHK477BWWC726H7Y5XBPBNF7",'
            b' "hsc": 200, "mct": "text/html", "rid": "<urn:uuid:1>",'
            b' "ref": "warcfile:x.warc.gz#12"}\n'
        ),
        ("http://example.com/a", "x.warc.gz", 12, 200),
    ),
    "tabs": (
        (
            b"\tCDX\tN\tb\ta\tV\tg\n"
            b"com,example)/a\t20150203040506\thttp://example.com/a\t12\tx y.warc.gz\n"
        ),
        ("http://example.com/a", "x y.warc.gz", 12, None),
    ),
    "no legend": (
        b"com,example)/a 20150203040506 http://example.com/a - - - - 12 x.arc.gz\n",
        ("http://example.com/a", "x.arc.gz", 12, None),
    ),
    "keys of another kind": (
        (
            b" CDX N b a m s k r V g\n"
            b"http://(com,example,)/a 20150203040506 http://example.com/a - 200 - - 12 x.arc.gz\n"
        ),
        ("http://example.com/a", "x.arc.gz", 12, 200),
    ),
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_other_forms_are_read(tmp_path: Path, form: str) -> None:
    data, wanted = OTHER_FORMS[form]
    (tmp_path / "index").write_bytes(data)
    with attach(tmp_path / "index") as index:
        [found] = index.search(url="https://www.example.com/A", time="2015")
        assert (found.url, found.volume, found.offset, found.status) == wanted
        assert found.date == WarcDate.parse("20150203040506")
        assert not index.problems


SAMPLES: dict[str, tuple[int, Callable[[Entry], object], object]] = {
    "c001_valid.cdxj": (1, lambda e: (e.url, e.offset), ("https://webrecorder.net/", 0)),
    "c002_valid2.cdx": (2, lambda e: (e.offset, e.length), (19176, 2041)),
    "c006_salam-home.cdxj": (1, lambda e: e.url, "http://www.cs.odu.edu/~salam/"),
    "c008_sample-2.cdxj": (1, lambda e: (e.key, e.offset), ("edu,odu,cs)/~salam", None)),
    "c010_sample-old.cdxj": (65, lambda e: e.status, 302),
    "c011_hello-world.cdx": (3, lambda e: (e.offset, e.status), (17130110, 200)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str) -> None:
    if not (SHARED / name).exists():
        pytest.skip("the samples are not here")
    count, look, wanted = SAMPLES[name]
    with attach(SHARED / name) as index:
        entries = list(index)
        assert len(entries) == count
        assert look(entries[0]) == wanted
        assert not [p for p in index.problems if p.code == "bad-line"]
        for one in entries:
            if one.url:
                assert one in list(index.search(url=one.url, time=one.date))


@given(st.lists(st.binary(min_size=1, max_size=8).filter(lambda b: b"\n" not in b)))
def test_lines_are_sorted_in_runs(lines: list[bytes]) -> None:
    lines = [line + b"\n" for line in lines]
    with LineSorter(run_size=16) as sorter:
        for line in lines:
            sorter.add(line)
        assert list(sorter) == sorted(set(lines))


def test_many_runs_are_merged() -> None:
    lines = [b"%d\n" % n for n in range(1000)]
    random.Random(1).shuffle(lines)
    with LineSorter(run_size=8) as sorter:
        for line in lines:
            sorter.add(line)
        assert list(sorter) == sorted(lines)


def test_digest_keys() -> None:
    hexed = "040d54fc8c2d5fcef836b0bd" + "f5a63b9c5f00b4bf"
    assert digest_key("sha-1:" + hexed.upper()) == digest_key(hexed) == f"sha1:{hexed}"
    assert digest_key("md5:" + "AB" * 16) == "md5:" + "ab" * 16
    assert digest_key("Odd: !") != digest_key("Odd: ?")


@given(
    st.lists(
        st.lists(st.sampled_from([b"a", b"\n", b"bc\n", b"d" * 3000]), max_size=4), max_size=5
    ),
    st.sampled_from([b"", bytes(600), bytes(70_000)]),
    st.integers(1, 70_000),
)
def test_members_end_lines(texts: list[list[bytes]], padding: bytes, size: int) -> None:
    members = [b"".join(parts) for parts in texts]
    packed = io.BytesIO(b"".join(gzip.compress(member) for member in members) + padding)
    inflated, read = InflatedText(packed), b""
    while text := inflated.read(size):
        read += text
    ended = [m + b"\n" if m and not m.endswith(b"\n") else m for m in members]
    assert read == b"".join(ended)


def test_zipnum_blocks_are_read(tmp_path: Path) -> None:
    lines = many(tmp_path / "b.cdxj", 90)
    blocks = [b"".join(lines[n : n + 30]).rstrip(b"\n") for n in (0, 30, 60)]
    path = tmp_path / "a.cdx.gz"
    path.write_bytes(b"".join(map(gzip.compress, blocks)))
    with attach(path) as index:
        assert len(list(index)) == 90
        assert len(list(index.search(url="http://x.example/30"))) == 1
        assert not index.problems


def test_gzip_that_breaks_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.cdxj.gz"
    line = many(tmp_path / "b.cdxj", 2000)
    path.write_bytes(gzip.compress(b"".join(line))[:-2000])
    with attach(path) as index:
        assert len(list(index)) > 500
        assert [p.code for p in index.problems] == ["bad-line"]
