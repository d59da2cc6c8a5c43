"""What every home of the records promises: one class of tests, run against each of them."""

from __future__ import annotations

import hashlib
import random
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from lafka.archec.gather.gathering import Gathering
from lafka.archec.records import DataProblem, Kind, LatestVersion, Records, State
from lafka.archec.records.opening import open_records
from lafka.archec.records.sqlite import NAME, SqliteRecords
from lafka.archec.store.folders import ObiStore
from lafka.errors import BadArgument, BadStore, RecordsAway
from tests.archec.mongods import started
from tests.archec.stores import DAY, START, Home, template, walked

Line = dict[str, Any]
OUTCOMES = ("not-found", "dns", "timeout")


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def head(tist: int, kind: str = "tobi") -> Line:
    return {"format": 1, "gathering": tist, "kind": kind, "source": "x", "run": f"run-{tist}"}


def stored(event: str, obi: str, text: str, **more: Any) -> Line:
    return {"e": event, "id": obi, "md5": md5(text), "sha256": sha(text), "text_sha256": sha(text),
            "length": len(text), "found": START - DAY, **more}  # fmt: skip


def refipo(n: int, uri: str, **more: Any) -> Line:
    return {"n": n, "uri": uri, "raw": more.pop("raw", uri), **more}


def journals(rng: random.Random, count: int, obis: int) -> Iterator[tuple[int, list[Line]]]:
    """Gatherings of tobis and fobis as they could have been, each with every kind of line."""
    there: dict[str, str] = {}
    for place in range(count):
        tist = START + place * 40 * DAY
        kind = "fobi" if place % 3 == 2 else "tobi"
        lines = [head(tist, kind)]
        for obi in (f"RePEc:a.b{n % 3}:s${n % 2}:{n}" for n in range(obis)):
            uri = f"http://h{crc32(obi.encode()) % 3}.example/{obi[-2:].strip(':')}.pdf"
            lines += _of_tobi(rng, obi, uri, there) if kind == "tobi" else _of_fobi(rng, uri, tist)
        yield tist, [*lines, {"e": "end", "counts": {"x": place}, "seconds": 0.1}]


def _of_tobi(rng: random.Random, obi: str, uri: str, there: dict[str, str]) -> list[Line]:
    if obi in there and rng.random() < 0.2:
        del there[obi]
        return [{"e": "deletion", "id": obi, "why": "gone from the data"}]
    text = f"{obi} {rng.randrange(3)}"
    if there.get(obi) == text:
        return []
    event = "change" if obi in there else "appearance"
    there[obi] = text
    second = refipo(2, f"{uri}?b", raw=f"{uri} ?b", second=True, restriction="R", size=7)
    pointers = [refipo(1, uri, format="application/pdf"), second]
    return [stored(event, obi, text, type="paper", refipos=pointers[: rng.randrange(3)])]


def _of_fobi(rng: random.Random, uri: str, tist: int) -> list[Line]:
    return [rng.choice([
        stored("appearance", uri, f"{uri}{rng.randrange(2)}", kind="pdf", etag='"x"', found=tist),
        {"e": "visit", "id": uri, "time": "t", "way": [uri], "status": 304},
        {"e": "miss", "id": uri, "time": "t", "outcome": rng.choice(OUTCOMES)},
        {"e": "deletion", "id": uri, "why": "410"},
    ])]  # fmt: skip


def apply(records: Records, tist: int, lines: Sequence[Line], step: int = 3) -> None:
    """Apply *lines* as groups; a line counts as a byte."""
    for begin in range(0, len(lines), step):
        records.apply(tist, min(begin + step, len(lines)), lines[begin : begin + step])


def filled(records: Records, seed: int = 1, count: int = 9, obis: int = 12) -> Records:
    for tist, lines in journals(random.Random(seed), count, obis):
        apply(records, tist, lines)
    return records


class Conformance:
    """The tests; a subclass gives ``records``, empty, and ``again``, the same database anew."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        raise NotImplementedError

    def opened(self, place: str) -> Records:
        raise NotImplementedError

    @pytest.fixture
    def records(self, place: str) -> Iterator[Records]:
        records = self.opened(place)
        yield records
        records.close()

    def test_an_obi_has_its_versions_and_losses(self, records):
        obi, at = "RePEc:abc:w:1", [START + n * DAY for n in range(5)]
        apply(records, at[0], [head(at[0]), stored("appearance", obi, "a", type="paper")])
        apply(records, at[1], [head(at[1]), stored("change", obi, "b")])
        apply(records, at[2], [head(at[2]), {"e": "deletion", "id": obi, "why": "gone"}])
        assert records.last(Kind.TOBI, obi).lost == at[2]
        apply(records, at[3], [head(at[3]), stored("appearance", obi, "b", held=[at[1], obi])])
        found = records.history(obi)
        assert found.versions == [(at[0], md5("a")), (at[1], md5("b")), (at[3], md5("b"))]
        assert (found.found, found.noted, found.lost) == (START - DAY, at[3], None)
        assert (found.past, found.type, found.archive, found.series) == (
            [at[2]],
            "paper",
            "abc",
            "w",
        )
        assert (found.state, found.length) == (State.LIVE, 1)
        last = records.last(Kind.TOBI, obi)
        assert last == LatestVersion(number=found.number, found=START - DAY, noted=at[3], lost=None,
                            md5=md5("b"), text_sha256=sha("b"), sha256=sha("b"))  # fmt: skip
        (content,) = records.held(Kind.TOBI, md5("b"))
        assert (content.tist, content.id, content.sha256) == (at[1], obi, sha("b"))

    def test_what_is_not_there_is_not_found(self, records):
        assert records.last(Kind.TOBI, "RePEc:x") is None
        assert records.history("RePEc:x") is None
        assert records.held(Kind.TOBI, md5("a")) == []
        assert records.refipos("RePEc:x:y:1") == records.pointing_at("http://x/") == []
        assert (records.applied(START), records.gatherings()) == (0, [])
        assert list(records.walk(Kind.FOBI)) == records.due(START, 9) == []

    def test_texts_that_share_an_md5_have_keys_of_their_own(self, records):
        lines = [stored("appearance", f"a:b:c:{n}", str(n)) for n in (1, 2, 3, 4)]
        one, *others, other = lines
        shared = [one["md5"], *(f"{one['md5']}-{n}" for n in (2, 3))]
        for line, key in zip(others, shared[1:], strict=True):
            line["md5"] = key
        apply(records, START, [head(START), *lines])
        assert [content.md5 for content in records.held(Kind.TOBI, one["md5"])] == shared
        found = records.held_many(Kind.TOBI, [one["md5"], other["md5"], md5("none")])
        assert {key: [one.md5 for one in held] for key, held in found.items()} == {
            one["md5"]: shared, other["md5"]: [other["md5"]]
        }  # fmt: skip
        assert list(records.contents(Kind.TOBI, shared[1:2])) == shared[1:2]
        assert records.last(Kind.TOBI, "a:b:c:2").text_sha256 == sha("2")
        assert records.history("a:b:c:2").versions == [(START, f"{one['md5']}-2")]

    def test_refipos_have_their_times_and_make_fobis_due(self, records):
        obi, uris = "RePEc:abc:w:1", [f"http://h.example/{n}" for n in range(3)]
        first = [refipo(1, uris[0], format="f", function="g", size=9, restriction=None)]
        apply(records, START, [head(START), stored("appearance", obi, "a", refipos=first)])
        later, last = START + DAY, START + 2 * DAY
        second = [refipo(1, uris[1], raw="raw"), refipo(1, uris[2], second=True)]
        apply(records, later, [head(later), stored("change", obi, "b", refipos=second)])
        assert [one.fobi for one in records.refipos(obi)] == uris[1:]
        assert [one.raw for one in records.refipos(obi)] == ["raw", uris[2]]
        (old,) = records.refipos(obi, START)
        assert (old.fobi, old.since, old.until, old.size) == (uris[0], START, later, 9)
        assert records.pointing_at(uris[0]) == [old]
        every = {uri: [(one.tobi, one.until is None) for one in records.pointing_at(uri)]
                 for uri in uris}  # fmt: skip
        assert every[uris[0]] == [(obi, False)]
        assert records.pointers([*uris, "http://x.example/"]) == every
        assert [(one.id, one.due) for one in records.due(last, 9)] == [
            (uris[0], START), (uris[1], later),
        ]  # fmt: skip
        assert records.due(START - 1, 9) == []
        assert len(records.due(last, 1)) == 1
        apply(records, last, [head(last), {"e": "deletion", "id": obi, "why": "gone"}])
        assert records.refipos(obi) == []
        assert [one.fobi for one in records.refipos(obi, later)] == uris[1:]

    def test_what_is_due_comes_in_pages(self, records):
        pointers = [refipo(n, f"http://h.example/{n}") for n in range(7)]
        for tist in (START, START + DAY):
            lines = stored("appearance", f"a:b:c:{tist}", "a", refipos=pointers[: tist % 100 % 8])
            apply(records, tist, [head(tist), lines])
        found, page = [], records.due(START + 9 * DAY, 3)
        while page:
            found += page
            page = records.due(START + 9 * DAY, 3, (page[-1].due, page[-1].id))
        expected = records.due(START + 9 * DAY, 99)
        assert [(one.id, one.due) for one in found] == [(one.id, one.due) for one in expected]
        assert len(found) == 6

    def test_a_fobi_says_when_it_is_due_and_who_answered(self, records):
        uri, day = "http://h.example/1", [START + n * DAY for n in range(9)]
        way = {"way": [uri, "http://h.example/2"], "etag": '"1"', "interval": 40 * DAY}
        apply(records, day[0], [head(day[0], "fobi"), stored("appearance", uri, "0", **way)])
        one = records.history(uri)
        assert (one.due, one.answered, one.churn) == (day[0] + 40 * DAY, way["way"][1], 0)
        for n in (1, 2):
            change = stored("change", uri, str(n), way=[uri], interval=DAY)
            apply(records, day[n], [head(day[n], "fobi"), change])
        one = records.history(uri)
        assert (one.churn, one.answered, one.etag, one.due) == (2, None, None, day[3])
        visit = {"e": "visit", "id": uri, "time": "t", "way": way["way"], "status": 304}
        apply(records, day[3], [head(day[3], "fobi"), visit | {"interval": 0, "modified": "m"}])
        one = records.history(uri)
        assert (one.churn, one.answered, one.modified, one.due) == (0, way["way"][1], "m", day[3])

    def test_what_is_lost_is_asked_for_twice_and_again_when_it_is_pointed_at(self, records):
        uri, year = "http://h.example/1", 365 * DAY
        gone = {"e": "deletion", "id": uri, "why": "410"}
        apply(records, START, [head(START, "fobi"), stored("appearance", uri, "0", interval=0)])
        apply(records, START + DAY, [head(START + DAY, "fobi"), gone])
        dues = [records.history(uri).due]
        for n in (1, 2):
            tist = START + DAY + n * year
            miss = {"e": "miss", "id": uri, "time": "t", "outcome": "gone"}
            apply(records, tist, [head(tist, "fobi"), miss])
            dues.append(records.history(uri).due)
        assert dues == [START + DAY + year, START + DAY + 2 * year, None]
        tist = START + 4 * year
        pointer = stored("appearance", "a:b:c:1", "a", refipos=[refipo(1, uri)])
        apply(records, tist, [head(tist), pointer])
        assert (records.history(uri).due, records.history(uri).state) == (tist, State.LOST)

    def test_restricted_files_are_not_due(self, records):
        pointers = [refipo(1, "http://h.example/1", restriction="Access to subscribers")]
        apply(records, START, [head(START), stored("appearance", "a:b:c:1", "a", refipos=pointers)])
        assert records.history("http://h.example/1").state is State.RESTRICTED
        assert records.due(START + DAY, 9) == []

    def test_applied_twice_is_applied_once(self, records, place):
        for tist, lines in journals(random.Random(2), 9, 12):
            apply(records, tist, lines)
            apply(records, tist, lines)
            assert records.applied(tist) == len(lines)
        other = SqliteRecords(Path(":memory:"))
        assert walked(records) == walked(filled(other, 2))

    def test_it_is_there_when_it_is_opened_again(self, records, place):
        filled(records)
        before, gatherings = walked(records), records.gatherings()
        records.close()
        again = self.opened(place)
        assert (walked(again), again.gatherings()) == (before, gatherings)
        again.close()

    def test_the_same_journals_give_the_same_refipos_contents_and_counts(self, records):
        other = filled(SqliteRecords(Path(":memory:")), 4)
        filled(records, 4)
        for obi in other.walk(Kind.TOBI):
            assert records.refipos(obi.id) == other.refipos(obi.id)
            assert records.refipos(obi.id, START) == other.refipos(obi.id, START)
            for _, key in obi.versions:
                assert records.held(Kind.TOBI, key) == other.held(Kind.TOBI, key)
                assert records.contents(Kind.TOBI, [key]) == other.contents(Kind.TOBI, [key])
        for obi in other.walk(Kind.FOBI):
            assert records.pointing_at(obi.id) == other.pointing_at(obi.id)
        for by in ("kind", "archive", "series", "host"):
            assert records.counts(by) == other.counts(by)
        assert records.gatherings() == other.gatherings()
        times = range(START, START + 900 * DAY, 30 * DAY)
        for now in times:
            due = [[one.id for one in home.due(now, 5)] for home in (records, other)]
            assert due[0] == due[1]

    def test_a_walk_is_sorted_and_has_a_prefix(self, records):
        filled(records)
        ids = [obi.id for obi in records.walk(Kind.TOBI)]
        assert ids == sorted(ids, key=str.encode)
        within = [obi.id for obi in records.walk(Kind.TOBI, "RePEc:a.b1:")]
        assert within == [obi for obi in ids if obi.startswith("RePEc:a.b1:")] != []

    def test_a_walk_stands_writing(self, records):
        lines = [stored("appearance", f"a:b:c:{n:04}", str(n)) for n in range(1500)]
        apply(records, START, [head(START), *lines], step=800)
        seen = []
        for obi in records.walk(Kind.TOBI):
            seen.append(obi.id)
            if len(seen) == 10:
                apply(records, START + 1, [head(START + 1), stored("change", "a:b:c:1499", "x")])
        assert len(seen) == len(set(seen)) == 1500

    def test_what_is_there_is_told_in_short_and_by_number(self, records):
        filled(records, obis=30)
        obis = list(records.walk(Kind.TOBI))
        there = [obi for obi in obis if obi.noted and not obi.lost]
        present = list(records.present(Kind.TOBI))
        assert present == [(o.id, o.number, o.archive) for o in there]
        assert 0 < len(there) < len(obis)
        numbers = {obi.id: obi.number for obi in obis}
        assert records.numbers(Kind.TOBI, [*numbers, "a:b:c:unknown"]) == numbers
        numbered = records.numbered(Kind.TOBI, [obi.number for obi in obis] + [10**6])
        assert numbered == {obi.number: obi.id for obi in obis}
        assert not records.numbered(Kind.TOBI, [])

    def test_what_a_run_found_is_kept_for_the_next_one_alone(self, records, place):
        assert (records.passed_at(), records.passed(b"a")) == (0, None)
        records.keep_passed(START, set(), [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
        assert (records.passed_at(), records.passed(b"a")) == (START, b"3")
        records.keep_passed(START + DAY, {b"b", b"z"}, iter([(b"c", b"4")]))
        again = self.opened(place)
        assert (again.passed_at(), again.passed(b"a")) == (START + DAY, None)
        assert (again.passed(b"b"), again.passed(b"c")) == (b"2", b"4")
        again.close()

    def test_problems_are_those_of_the_last_run(self, records):
        told = [
            DataProblem(archive="abc", file=f"f{n}", line=n, code="bad-uri", sentence="s")
            for n in (1, 2)
        ]
        records.keep_problems("run-1", told)
        records.keep_problems("run-2", told[1:])
        assert list(records.problems()) == list(records.problems("abc")) == told[1:]
        assert list(records.problems("x")) == []
        more = DataProblem(archive="a", file="f", line=0, code="no-handle", sentence="s")
        records.keep_problems("run-3", [*told, more])
        assert records.problem_counts() == [("a", "no-handle", 1), ("abc", "bad-uri", 2)]

    def test_losses_that_were_withheld_are_known(self, records):
        lines = [head(START), {"e": "withheld", "archive": "a.b", "count": 12}]
        apply(records, START, [*lines, {"e": "end", "counts": {}, "seconds": 1, "killed": True}])
        (found,) = records.gatherings()
        assert (found.withheld, found.ended, found.killed) == ({"a.b": 12}, True, True)


class TestSqlite(Conformance):
    @pytest.fixture
    def place(self, tmp_path):
        return str(tmp_path / NAME)

    def opened(self, place):
        return SqliteRecords(Path(place))

    def test_the_views_are_those_of_the_paper(self, records, place):
        apply(records, START, [head(START), stored("appearance", "a:b:c:1", "a")])
        with sqlite3.connect(place) as db:
            assert db.execute("SELECT id, tist, md5 FROM mi").fetchall() == [
                ("a:b:c:1", START, md5("a"))
            ]
            assert db.execute("SELECT md5, tist, id FROM vi").fetchall() == [
                (md5("a"), START, "a:b:c:1")
            ]
            assert db.execute("SELECT * FROM mo").fetchall() == []
            assert db.execute("SELECT * FROM vo").fetchall() == []

    def test_another_version_is_refused(self, records, place):
        records.close()
        with sqlite3.connect(place) as db:
            db.execute("PRAGMA user_version = 7")
        with pytest.raises(BadStore, match="version 7, not 1; lafka archec rebuild"):
            self.opened(place)

    def test_what_is_no_database_is_refused(self, tmp_path):
        (tmp_path / NAME).write_bytes(b"no database" * 100)
        with pytest.raises(BadStore, match="rebuild makes it again"):
            SqliteRecords(tmp_path / NAME)


class TestMongo(Conformance):
    @pytest.fixture
    def place(self, mongod):
        return mongod.uri()

    def opened(self, place):
        from lafka.archec.records.mongo import MongoRecords

        return MongoRecords(place)

    def test_the_documents_are_those_of_the_paper(self, records, place):
        from pymongo import MongoClient

        obi = "RePEc:abc:w:1"
        both = [refipo(1, "http://h.example/1"), refipo(1, "http://h.example/2", second=True)]
        apply(records, START, [head(START), stored("appearance", obi, "a", refipos=both)])
        with MongoClient(place) as client:
            db = client.get_default_database()
            document = db.mi.find_one({"_id": obi})
            assert document["t"] == {str(START): md5("a")}
            assert (document["found"], document["noted"], document["lost"]) == (
                START - DAY, START, None,
            )  # fmt: skip
            assert db.vi.find_one()["_id"] == md5("a")
            keys = sorted(one["_id"] for one in db.refipo.find())
            assert keys == [f"{obi}#file-1@{START}", f"{obi}#file-1b@{START}"]

    def test_a_kill_at_any_write_of_apply_is_mended_by_applying_again(self, place, monkeypatch):
        from lafka.archec.records import mongo

        writes = 0
        fatal = 0
        real = mongo.write

        def write(collection, some):
            nonlocal writes
            for one in some:
                writes += 1
                if writes == fatal:
                    raise KeyboardInterrupt
                real(collection, [one])

        monkeypatch.setattr(mongo, "write", write)
        lines = list(journals(random.Random(5), 3, 2))
        expected = walked(filled(SqliteRecords(Path(":memory:")), 5, 3, 2))
        fatal, total = 0, 1
        while fatal < total:
            records = mongo.MongoRecords(place, emptying=lambda _: None)
            writes = 0
            for tist, some in lines:
                try:
                    apply(records, tist, some, step=7)
                except KeyboardInterrupt:
                    apply(records, tist, some, step=7)
            assert walked(records) == expected, f"killed at write {fatal}"
            total = total if fatal else writes
            fatal += 1
            records.close()
        assert total > 8

    @pytest.mark.rare("a minute where the machine is busy")
    def test_a_hundred_thousand_lines(self, records):
        lines = [stored("appearance", f"a:b:c:{n:06}", str(n)) for n in range(100_000)]
        apply(records, START, [head(START), *lines], step=4096)
        assert records.counts("archive")[0]["live"] == 100_000
        assert sum(1 for _ in records.walk(Kind.TOBI)) == 100_000

    def test_another_version_and_something_else_are_refused(self, records, place):
        from pymongo import MongoClient

        with MongoClient(place) as client:
            client.get_default_database().gathering.update_one({"_id": 0}, {"$set": {"version": 7}})
            with pytest.raises(BadStore, match="version 7, not 1"):
                self.opened(place)
            client[f"{client.get_default_database().name}x"].users.insert_one({})
        with pytest.raises(BadStore, match="something else"):
            self.opened(f"{place}x")


@pytest.mark.server("MongoDB")
def test_a_mongod_killed_in_the_middle_of_a_run_loses_nothing(tmp_path, monkeypatch):
    """Its own process is killed between two groups; the same command goes on."""
    own = started()
    from lafka.archec.records import mongo

    monkeypatch.setattr(mongo, "_TIMEOUT", 1000)
    try:
        home = Home(tmp_path, database=own.uri())
        home.put({f"abc/wpaper/{n}.rdf": template(n) for n in range(20)})
        home.tobi()
        home.put({f"abc/wpaper/{n}.rdf": template(n, title="B") for n in range(20)})
        place = Gathering._place
        with monkeypatch.context() as patch:
            patch.setattr(Gathering, "_place", lambda self, group: (place(self, group), own.kill()))
            with pytest.raises(RecordsAway, match="the journals have all"):
                home.tobi()
        own.start()
        report = home.tobi()
        assert (len(report.recovered), report.counts["same"]) == (1, 20)
        assert [len(obi["versions"]) for obi in home.walk()[:20]] == [2] * 20
        expected = home.walk()
    finally:
        own.end()
    home.database = ""
    home.tobi()
    assert [obi["versions"] for obi in home.walk()] == [obi["versions"] for obi in expected]


@pytest.mark.parametrize("database", ["mysql://x/y", "mongodb://127.0.0.1:1", "mongodb://"])
def test_a_setting_that_names_no_database_is_refused(tmp_path, database):
    pytest.importorskip("pymongo")
    with pytest.raises(BadArgument, match="LAFKA_CACHING_DATABASE"):
        open_records(ObiStore.create(tmp_path), database)


def test_a_mongod_that_is_away_is_told_in_one_sentence(tmp_path, monkeypatch):
    mongo = pytest.importorskip("lafka.archec.records.mongo")
    monkeypatch.setattr(mongo, "_TIMEOUT", 200)
    with pytest.raises(RecordsAway, match=r"MongoDB at 127.0.0.1:1/x: .*refused"):
        open_records(ObiStore.create(tmp_path), "mongodb://me:secret@127.0.0.1:1/x")
