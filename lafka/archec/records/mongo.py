"""The records in MongoDB, the paper's choice: collections ``mi mo vi vo refipo gathering problem``.

A standalone mongod has no transactions. So ``apply`` writes what a line sets, never what it adds
to, and moves ``gathering.applied`` last: after a kill at any write it is applied again. What is
new is inserted, which takes a fraction of an upsert's time; what is there already is written over.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from pymongo import (
    ASCENDING,
    DESCENDING,
    MongoClient,
)
from pymongo.errors import InvalidURI, PyMongoError
from pymongo.uri_parser import parse_uri
from pymongo.write_concern import WriteConcern

from lafka.archec.records import (
    GROUPS,
    VERSION,
    Content,
    DataProblem,
    GatheringRecord,
    Kind,
    Last,
    Obi,
    Pointer,
    Present,
    Records,
    Refipo,
    in_batches,
    in_groups,
    told_as_away,
)  # fmt: skip
from lafka.archec.records.documents import (
    Document,
    cached,
    content_of,
    contents,
    counting,
    gathering_of,
    last_of,
    latest_of,
    obi_of,
    obis,
    of_gathering,
    refipo_of,
    refipos,
    write,
)
from lafka.archec.records.folding import Changes, fold, ids, opened
from lafka.archec.store.lines import Line
from lafka.errors import BadArgument, BadStore, RecordsAway

_ASKED = 1000
_M = {Kind.TOBI: "mi", Kind.FOBI: "mo"}
_V = {Kind.TOBI: "vi", Kind.FOBI: "vo"}
_OWN = {*_M.values(), *_V.values(), "refipo", "gathering", "problem", "passed"}
_MARK = "version"
_AT = b""  # the key of the cache that has its tist
_TIMEOUT = 5_000


_told = told_as_away(PyMongoError)


class MongoRecords(Records):
    """The records in the database that *uri* names: ``mongodb://host:port/name``.

    *emptying*: they are dropped first, unless that raises, asked with the gatherings they know.
    ``BadArgument`` for another *uri*, ``BadStore`` for a database of another version or of
    something else, ``RecordsAway`` where no server answers within five seconds.
    """

    def __init__(
        self, uri: str, *, read_only: bool = False,
        emptying: Callable[[Sequence[GatheringRecord]], None] | None = None,
    ) -> None:  # fmt: skip
        self.place = uri.rpartition("@")[2]  # without a password
        self._client, name = _client(uri)
        concern = WriteConcern(w="majority", j=True)
        self._db = self._client.get_database(name, write_concern=concern)
        try:
            if emptying:
                self._empty(emptying)
            self._prepare(read_only=read_only)
        except PyMongoError as error:
            self.close()
            raise self.away(error) from None
        except BaseException:
            self.close()
            raise

    def away(self, error: Exception) -> RecordsAway:
        reason = str(error).partition(" (")[0].partition(", Timeout")[0][:200]
        return RecordsAway(
            f"MongoDB at {self.place}: {reason}; the journals have all that is in it"
        )

    def _prepare(self, *, read_only: bool) -> None:
        found = self._db.gathering.find_one({"_id": 0})
        if found is None:
            if set(self._db.list_collection_names()) - _OWN:
                raise BadStore(f"MongoDB at {self.place}: a database of something else")
            if read_only:
                raise BadStore(f"MongoDB at {self.place}: no records; lafka archec rebuild")
            self._make()
        elif found.get(_MARK) != VERSION:
            raise BadStore(
                f"MongoDB at {self.place}: records of version {found.get(_MARK)}, not {VERSION};"
                " lafka archec rebuild makes them from the journals"
            )

    def _make(self) -> None:
        for name in _M.values():
            collection = self._db[name]
            collection.create_index([("archive", ASCENDING), ("series", ASCENDING), ("_id", 1)])
            collection.create_index("noted")
            collection.create_index("number")
            collection.create_index("lost", partialFilterExpression={"lost": {"$type": "number"}})
        self._db.mo.create_index(
            [("due", ASCENDING), ("_id", ASCENDING)],
            partialFilterExpression={"due": {"$type": "number"}},
        )
        self._db.mo.create_index("host")
        self._db.refipo.create_index([("tobi", ASCENDING), ("n", ASCENDING)])
        self._db.refipo.create_index("fobi")
        self._db.problem.create_index([("archive", ASCENDING), ("code", ASCENDING)])
        # Last: without it a killed beginning is made again.
        self._db.gathering.insert_one({"_id": 0, _MARK: VERSION})

    def _empty(self, check: Callable[[Sequence[GatheringRecord]], None]) -> None:
        """Drop what is ours; ``BadStore`` where something else is there, or *check* raises."""
        strange = set(self._db.list_collection_names()) - _OWN
        if strange:
            raise BadStore(f"MongoDB at {self.place}: it holds {min(strange)!r}, which is not ours")
        found = self._db.gathering.find({"_id": {"$ne": 0}}).sort("_id", ASCENDING)
        check([gathering_of(one) for one in found])
        # The mark first: without it, what a kill leaves is a beginning.
        for name in ("gathering", *sorted(_OWN - {"gathering"})):
            self._db.drop_collection(name)

    @_told
    def apply(self, journal: int, upto: int, lines: Sequence[Line]) -> None:
        gathering = self._gathering(journal) or opened(lines[0])
        if upto > gathering.applied:
            self._save(fold(gathering, upto, lines, self._known(ids(lines))))

    def _gathering(self, tist: int) -> GatheringRecord | None:
        document = self._db.gathering.find_one({"_id": tist})
        return gathering_of(document) if document else None

    def _known(self, obis: Iterable[str]) -> dict[str, Obi]:
        found = {}
        asked = {kind: [obi for obi in obis if Kind.of(obi) is kind] for kind in Kind}
        for kind, some in asked.items():
            for batch in in_batches(some, _ASKED):
                documents = self._db[_M[kind]].find({"_id": {"$in": batch}}, {"t": 0, "past": 0})
                found.update({document["_id"]: obi_of(kind, document) for document in documents})
        return found

    def _save(self, changes: Changes) -> None:
        new = self._number(changes)
        for kind in Kind:
            write(self._db[_V[kind]], contents(changes, kind))
            write(self._db[_M[kind]], obis(changes, kind, new))
        write(self._db.refipo, refipos(changes))
        values = of_gathering(changes.gathering)
        self._db.gathering.replace_one({"_id": values["_id"]}, values, upsert=True)

    def _number(self, changes: Changes) -> set[str]:
        """Give new obis the numbers behind the last one of their kind; their ids."""
        numbered = set()
        for kind in Kind:
            new = [obi for obi in changes.obis.values() if obi.kind is kind and not obi.number]
            if new:
                last = self._db[_M[kind]].find_one({}, {"number": 1}, sort=[("number", DESCENDING)])
                first = (last["number"] if last else 0) + 1
                for number, obi in enumerate(new, first):
                    obi.number = number
                    numbered.add(obi.id)
        return numbered

    @_told
    def applied(self, journal: int) -> int:
        gathering = self._gathering(journal)
        return gathering.applied if gathering else 0

    @_told
    def last_many(self, kind: Kind, obis: Iterable[str]) -> dict[str, Last]:
        found = {}
        for batch in in_batches(obis, _ASKED):
            documents = list(self._db[_M[kind]].find({"_id": {"$in": batch}}))
            keys = [key for key in map(latest_of, documents) if key]
            latest = self._db[_V[kind]].find({"_id": {"$in": keys}})
            contents = {one["_id"]: one for one in latest}
            for document in documents:
                key = latest_of(document)
                found[document["_id"]] = last_of(document, key, contents.get(key or "", {}))
        return found

    @_told
    def numbers(self, kind: Kind, obis: Iterable[str]) -> dict[str, int]:
        found = {}
        for batch in in_batches(obis, _ASKED):
            documents = self._db[_M[kind]].find({"_id": {"$in": batch}}, {"number": 1})
            found.update({one["_id"]: one["number"] for one in documents})
        return found

    @_told
    def numbered(self, kind: Kind, numbers: Iterable[int]) -> dict[int, str]:
        found = {}
        for batch in in_batches(numbers, _ASKED):
            documents = self._db[_M[kind]].find({"number": {"$in": batch}}, {"number": 1})
            found.update({one["number"]: one["_id"] for one in documents})
        return found

    @_told
    def present_page(self, kind: Kind, after: str) -> list[Present]:
        there = {"_id": {"$gt": after}, "noted": {"$ne": None}, "lost": None}
        found = self._db[_M[kind]].find(there, {"number": 1, "archive": 1})
        page = found.sort("_id", ASCENDING).limit(_ASKED)
        return [(one["_id"], one["number"], one["archive"] or "") for one in page]

    @_told
    def held_many(self, kind: Kind, md5s: Iterable[str]) -> dict[str, list[Content]]:
        found: dict[str, list[Content]] = {}
        for batch in in_batches(md5s, _ASKED):
            keys, several = batch, 1
            while contents := self.contents(kind, keys):
                for one in contents.values():
                    found.setdefault(one.md5[:32], []).append(one)
                several += 1  # a text that shares its MD5 has the next key
                keys = [f"{key[:32]}-{several}" for key in contents]
        return found

    @_told
    def contents(self, kind: Kind, keys: Iterable[str]) -> dict[str, Content]:
        found = self._db[_V[kind]].find({"_id": {"$in": list(keys)}})
        return {content.md5: content for content in (content_of(kind, one) for one in found)}

    @_told
    def history(self, obi: str) -> Obi | None:
        kind = Kind.of(obi)
        document = self._db[_M[kind]].find_one({"_id": obi})
        return obi_of(kind, document) if document else None

    @_told
    def refipos(self, tobi: str, at: int | None = None) -> list[Refipo]:
        if at is None:
            return self._refipos({"tobi": tobi, "until": None})
        ends = {"$or": [{"until": None}, {"until": {"$gt": at}}]}
        return self._refipos({"tobi": tobi, "since": {"$lte": at}, **ends})

    @_told
    def pointing_at(self, fobi: str) -> list[Refipo]:
        return self._refipos({"fobi": fobi})

    @_told
    def pointers(self, fobis: Iterable[str]) -> dict[str, list[Pointer]]:
        found: dict[str, list[Pointer]] = {}
        for some in in_batches(fobis, _ASKED):
            for one in self._db.refipo.find({"fobi": {"$in": some}}, ["fobi", "tobi", "until"]):
                found.setdefault(one["fobi"], []).append((one["tobi"], one["until"] is None))
        return found

    def _refipos(self, asked: Document) -> list[Refipo]:
        order = [("tobi", 1), ("n", 1), ("second", 1), ("since", 1)]
        return [refipo_of(document) for document in self._db.refipo.find(asked).sort(order)]

    @_told
    def due(self, now: int, limit: int, after: tuple[int, str] | None = None) -> list[Obi]:
        order = [("due", ASCENDING), ("_id", ASCENDING)]
        due, obi = after or (0, "")
        behind = {"$or": [{"due": {"$gt": due}}, {"due": due, "_id": {"$gt": obi}}]}
        within = {"due": {"$gte": due, "$lte": now}}
        found = self._db.mo.find({**within, **behind}, {"t": 0, "past": 0}).sort(order)
        return [obi_of(Kind.FOBI, document) for document in found.limit(limit)]

    @_told
    def counts(self, by: str) -> list[dict[str, Any]]:
        names = GROUPS[by]
        told = [
            {name: row["_id"].get(name) for name in names} | {"kind": str(kind)} | row
            for kind in Kind
            for row in self._db[_M[kind]].aggregate(counting(names))
        ]
        for row in told:
            del row["_id"]
        return in_groups(told, by)

    @_told
    def page(self, kind: Kind, obi: str, *, is_behind: bool) -> list[Obi]:
        wanted = {"_id": {"$gt" if is_behind else "$gte": obi}}
        found = self._db[_M[kind]].find(wanted).sort("_id", ASCENDING).limit(_ASKED)
        return [obi_of(kind, document) for document in found]

    @_told
    def gatherings(self) -> list[GatheringRecord]:
        found = self._db.gathering.find({"_id": {"$gt": 0}}).sort("_id", ASCENDING)
        return list(map(gathering_of, found))

    @_told
    def keep_problems(self, run: str, told: Iterable[DataProblem]) -> None:
        self._db.problem.delete_many({"run": {"$ne": run}})
        for batch in in_batches(told, _ASKED):
            rows = [{name: getattr(one, name) for name in DataProblem.__slots__} for one in batch]
            self._db.problem.insert_many([row | {"run": run} for row in rows])

    @_told
    def problems(self, archive: str | None = None) -> list[DataProblem]:
        asked = {"archive": archive} if archive is not None else {}
        found = self._db.problem.find(asked).sort([("file", 1), ("line", 1), ("code", 1)])
        return [DataProblem(**{name: one[name] for name in DataProblem.__slots__}) for one in found]

    @_told
    def problem_counts(self) -> list[tuple[str, str, int]]:
        group = {"_id": {"archive": "$archive", "code": "$code"}, "n": {"$sum": 1}}
        found = self._db.problem.aggregate([{"$group": group}])
        return sorted((one["_id"]["archive"], one["_id"]["code"], one["n"]) for one in found)

    @_told
    def passed_at(self) -> int:
        return int(self._passed(_AT) or 0)

    @_told
    def passed(self, key: bytes) -> bytes | None:
        return self._passed(key)

    def _passed(self, key: bytes) -> bytes | None:
        document = self._db.passed.find_one({"_id": key})
        return document["told"] if document else None

    @_told
    def keep_passed(
        self, tist: int, kept: Container[bytes], added: Iterable[tuple[bytes, bytes]]
    ) -> None:
        collection = self._db.passed
        # First, so that what a kill leaves of this counts for nothing; and it comes back last.
        collection.delete_one({"_id": _AT})
        keys = (one["_id"] for one in collection.find({}, {"_id": 1}))
        for batch in in_batches((key for key in keys if key not in kept), _ASKED):
            collection.delete_many({"_id": {"$in": batch}})
        for some in in_batches(added, _ASKED):
            write(collection, [cached(*one) for one in some])
        write(collection, [cached(_AT, str(tist).encode())])

    def close(self) -> None:
        self._client.close()


def _client(uri: str) -> tuple[MongoClient[Document], str]:
    try:
        name = parse_uri(uri)["database"]
    except (InvalidURI, ValueError, PyMongoError) as error:
        raise BadArgument(f"LAFKA_CACHING_DATABASE: {error}") from None
    if not name:
        raise BadArgument(
            "LAFKA_CACHING_DATABASE names no database: mongodb://host:port/name is wanted"
        )
    return MongoClient(uri, serverSelectionTimeoutMS=_TIMEOUT), name
