"""The records in MongoDB, the paper's choice: collections ``mi mo vi vo refipo gathering problem``.

A standalone mongod has no transactions. So ``apply`` writes what a line sets, never what it adds
to, and moves ``gathering.applied`` last: after a kill at any write it is applied again. What is
new is inserted, which takes a fraction of an upsert's time; what is there already is written over.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

from pymongo import (
    ASCENDING,
    DESCENDING,
    InsertOne,
    MongoClient,
    ReplaceOne,
    UpdateMany,
    UpdateOne,
)  # fmt: skip
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError, InvalidURI, PyMongoError
from pymongo.uri_parser import parse_uri
from pymongo.write_concern import WriteConcern

from lafka.archec.records import (
    PASSED_AT,
    VERSION,
    Content,
    DataProblem,
    GatheringRecord,
    Kind,
    LatestVersion,
    Obi,
    Pointer,
    Present,
    Records,
    Refipo,
    State,
    in_batches,
    told_as_away,
)  # fmt: skip
from lafka.archec.records.folding import Changes, fold, ids, opened
from lafka.archec.store.lines import Line
from lafka.errors import BadArgument, BadStore, RecordsAway

_ASKED = 1000
_M = {Kind.TOBI: "mi", Kind.FOBI: "mo"}
_V = {Kind.TOBI: "vi", Kind.FOBI: "vo"}
_OWN = {*_M.values(), *_V.values(), "refipo", "gathering", "problem", "passed"}
_MARK = "version"
_TIMEOUT = 5_000
_IS_THERE = 11_000  # the code of a key that has a document
# Fields of an Obi and of its document alike, but for these names, and the t and past of the paper.
_OBI = tuple(n for n in Obi.__slots__ if n not in ("id", "kind", "versions", "past"))
_NAMES = {"payload": "kind", "length": "bytes"}
Document = dict[str, Any]


@told_as_away(PyMongoError)
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
        check([_gathering_of(one) for one in found])
        # The mark first: without it, what a kill leaves is a beginning.
        for name in ("gathering", *sorted(_OWN - {"gathering"})):
            self._db.drop_collection(name)

    def apply(self, journal: int, upto: int, lines: Sequence[Line]) -> None:
        gathering = self.gathering(journal) or opened(lines[0])
        if upto > gathering.applied:
            self._save(fold(gathering, upto, lines, self._known(ids(lines))))

    def gathering(self, tist: int) -> GatheringRecord | None:
        document = self._db.gathering.find_one({"_id": tist})
        return _gathering_of(document) if document else None

    def _found(
        self, name: str, values: Iterable[Any], only: Any = None, *, field: str = "_id"
    ) -> Iterator[Document]:
        """The documents of a collection whose *field* is among *values*, asked for by batches."""
        for batch in in_batches(values, _ASKED):
            yield from self._db[name].find({field: {"$in": batch}}, only)

    def _known(self, obis: Iterable[str]) -> dict[str, Obi]:
        found = {}
        asked = {kind: [obi for obi in obis if Kind.of(obi) is kind] for kind in Kind}
        for kind, some in asked.items():
            for document in self._found(_M[kind], some, {"t": 0, "past": 0}):
                found[document["_id"]] = _obi_of(kind, document)
        return found

    def _save(self, changes: Changes) -> None:
        new = self._number(changes)
        for kind in Kind:
            write(self._db[_V[kind]], _contents(changes, kind))
            write(self._db[_M[kind]], _obis(changes, kind, new))
        write(self._db.refipo, _refipos(changes))
        values = _of_gathering(changes.gathering)
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

    def last_many(self, kind: Kind, obis: Iterable[str]) -> dict[str, LatestVersion]:
        found = {}
        for documents in in_batches(self._found(_M[kind], obis), _ASKED):
            contents = self.contents(kind, filter(None, map(_latest_of, documents)))
            for one in documents:
                key = _latest_of(one)
                content = contents.get(key or "")
                found[one["_id"]] = LatestVersion(
                    number=one["number"], found=one["found"], noted=one["noted"], lost=one["lost"],
                    md5=key, text_sha256=content.text_sha256 if content else None,
                    sha256=content.sha256 if content else None,
                )  # fmt: skip
        return found

    def numbers(self, kind: Kind, obis: Iterable[str]) -> dict[str, int]:
        return {one["_id"]: one["number"] for one in self._found(_M[kind], obis, {"number": 1})}

    def numbered(self, kind: Kind, numbers: Iterable[int]) -> dict[int, str]:
        found = self._found(_M[kind], numbers, {"number": 1}, field="number")
        return {one["number"]: one["_id"] for one in found}

    def present_page(self, kind: Kind, after: str) -> list[Present]:
        there = {"_id": {"$gt": after}, "noted": {"$ne": None}, "lost": None}
        found = self._db[_M[kind]].find(there, {"number": 1, "archive": 1})
        page = found.sort("_id", ASCENDING).limit(_ASKED)
        return [(one["_id"], one["number"], one["archive"] or "") for one in page]

    def contents(self, kind: Kind, keys: Iterable[str]) -> dict[str, Content]:
        return {one["_id"]: Content(kind=kind, md5=one.pop("_id"), **one)
                for one in self._found(_V[kind], keys)}  # fmt: skip

    def history(self, obi: str) -> Obi | None:
        kind = Kind.of(obi)
        document = self._db[_M[kind]].find_one({"_id": obi})
        return _obi_of(kind, document) if document else None

    def pointers(self, fobis: Iterable[str]) -> dict[str, list[Pointer]]:
        found: dict[str, list[Pointer]] = {}
        for one in self._found("refipo", fobis, ["fobi", "tobi", "until"], field="fobi"):
            found.setdefault(one["fobi"], []).append((one["tobi"], one["until"] is None))
        return found

    def refipos_of(self, kind: Kind, obi: str) -> list[Refipo]:
        found = self._db.refipo.find({str(kind): obi}, {"_id": 0})
        order = [("tobi", ASCENDING), ("n", ASCENDING), ("second", ASCENDING), ("since", ASCENDING)]
        return [Refipo(**document) for document in found.sort(order)]

    def due(self, now: int, limit: int, after: tuple[int, str] | None = None) -> list[Obi]:
        order = [("due", ASCENDING), ("_id", ASCENDING)]
        due, obi = after or (0, "")
        behind = {"$or": [{"due": {"$gt": due}}, {"due": due, "_id": {"$gt": obi}}]}
        within = {"due": {"$gte": due, "$lte": now}}
        found = self._db.mo.find({**within, **behind}, {"t": 0, "past": 0}).sort(order)
        return [_obi_of(Kind.FOBI, document) for document in found.limit(limit)]

    def counted(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        for kind in Kind:
            for row in self._db[_M[kind]].aggregate(_counting(names)):
                group = row.pop("_id")
                yield {name: group.get(name) for name in names} | {"kind": str(kind)} | row

    def page(self, kind: Kind, obi: str, *, is_behind: bool) -> list[Obi]:
        wanted = {"_id": {"$gt" if is_behind else "$gte": obi}}
        found = self._db[_M[kind]].find(wanted).sort("_id", ASCENDING).limit(_ASKED)
        return [_obi_of(kind, document) for document in found]

    def gatherings(self) -> list[GatheringRecord]:
        found = self._db.gathering.find({"_id": {"$gt": 0}}).sort("_id", ASCENDING)
        return list(map(_gathering_of, found))

    def keep_problems(self, run: str, told: Iterable[DataProblem]) -> None:
        self._db.problem.delete_many({"run": {"$ne": run}})
        for batch in in_batches(told, _ASKED):
            self._db.problem.insert_many([_fields(one) | {"run": run} for one in batch])

    def problems(self, archive: str | None = None) -> list[DataProblem]:
        asked = {"archive": archive} if archive is not None else {}
        found = self._db.problem.find(asked, {"_id": 0, "run": 0})
        return [DataProblem(**one) for one in found.sort([("file", 1), ("line", 1), ("code", 1)])]

    def problem_counts(self) -> list[tuple[str, str, int]]:
        group = {"_id": {"archive": "$archive", "code": "$code"}, "n": {"$sum": 1}}
        found = self._db.problem.aggregate([{"$group": group}])
        return sorted((one["_id"]["archive"], one["_id"]["code"], one["n"]) for one in found)

    def passed(self, key: bytes) -> bytes | None:
        document = self._db.passed.find_one({"_id": key})
        return document["told"] if document else None

    def keep_passed(
        self, tist: int, kept: Container[bytes], added: Iterable[tuple[bytes, bytes]]
    ) -> None:
        collection = self._db.passed
        # First, so that what a kill leaves of this counts for nothing; and it comes back last.
        collection.delete_one({"_id": PASSED_AT})
        keys = (one["_id"] for one in collection.find({}, {"_id": 1}))
        for batch in in_batches((key for key in keys if key not in kept), _ASKED):
            collection.delete_many({"_id": {"$in": batch}})
        for some in in_batches(added, _ASKED):
            write(collection, [_cached(*one) for one in some])
        write(collection, [_cached(PASSED_AT, str(tist).encode())])

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


def write(collection: Collection[Document], writes: list[Any]) -> None:
    """Do *writes*, in any order; what one inserts that is there already is written over."""
    if not writes:
        return
    try:
        collection.bulk_write(writes, ordered=False)
    except BulkWriteError as error:
        told = error.details or {}
        errors = told["writeErrors"]
        if told["writeConcernErrors"] or not all(map(_is_there, errors)):
            raise
        collection.bulk_write([_over(one["op"]) for one in errors], ordered=False)


def _is_there(error: Document) -> bool:
    return bool(error["code"] == _IS_THERE and "_id" in error["op"])


def _over(document: Document) -> Any:
    """Return what makes the document that is there have all that *document* has."""
    values = {name: value for name, value in document.items() if name not in ("_id", "t", "past")}
    values |= {f"t.{tist}": md5 for tist, md5 in document.get("t", {}).items()}
    write = {"$set": values}
    if "past" in document:
        write["$addToSet"] = {"past": {"$each": document["past"]}}
    return UpdateOne({"_id": document["_id"]}, write, upsert=True)


def _cached(key: bytes, told: bytes) -> Any:
    return ReplaceOne({"_id": key}, {"told": told}, upsert=True)


def _obis(changes: Changes, kind: Kind, new: Container[str]) -> list[Any]:
    documents: dict[str, Document] = {
        obi.id: {"_id": obi.id, **_of_obi(obi)} for obi in changes.obis.values() if obi.kind is kind
    }
    for obi, tist, md5 in changes.versions:
        if obi in documents:
            documents[obi].setdefault("t", {})[str(tist)] = md5
    for obi, tist in changes.losses:
        if obi in documents:
            documents[obi]["past"] = [tist]
    return [
        InsertOne(document) if obi in new else _over(document)
        for obi, document in documents.items()
    ]


def _contents(changes: Changes, kind: Kind) -> list[Any]:
    writes = []
    for content in changes.contents.values():
        if content.kind is kind:
            values = _fields(content)
            del values["kind"]
            writes.append(InsertOne({"_id": values.pop("md5")} | values))
    return writes


def _refipos(changes: Changes) -> list[Any]:
    ended: list[Any] = [
        UpdateMany({"tobi": tobi, "until": None, "since": {"$lt": tist}}, {"$set": {"until": tist}})
        for tobi, tist in changes.closed
    ]
    return ended + [InsertOne({"_id": one.key} | _fields(one)) for one in changes.refipos]


def _fields(record: Any) -> Document:
    return {name: getattr(record, name) for name in record.__slots__}


def _of_obi(obi: Obi) -> Document:
    values = {_NAMES.get(name, name): getattr(obi, name) for name in _OBI}
    return values | {"state": str(obi.state)}


def _obi_of(kind: Kind, document: Document) -> Obi:
    values = {name: document[_NAMES.get(name, name)] for name in _OBI}
    return Obi(
        id=document["_id"],
        kind=kind,
        versions=sorted((int(tist), md5) for tist, md5 in document.get("t", {}).items()),
        past=sorted(document.get("past", [])),
        **values | {"state": State(document["state"])},
    )


def _latest_of(document: Document) -> str | None:
    """The MD5 key of its last version."""
    found: str | None = document.get("t", {}).get(str(document["noted"]))
    return found


def _of_gathering(gathering: GatheringRecord) -> Document:
    values = _fields(gathering)
    # Codes of archives as values, not as keys: a key with a dot could not be asked for.
    withheld = [list(pair) for pair in gathering.withheld.items()]
    return values | {"_id": values.pop("tist"), "withheld": withheld}


def _gathering_of(document: Document) -> GatheringRecord:
    withheld = dict(document.pop("withheld"))
    return GatheringRecord(tist=document.pop("_id"), withheld=withheld, **document)


def _counting(names: Sequence[str]) -> list[Document]:
    noted = {"$ne": ["$noted", None]}
    lost = {"$ne": ["$lost", None]}
    return [
        {
            "$group": {
                "_id": {name: f"${name}" for name in names},
                "live": {"$sum": {"$toInt": {"$and": [noted, {"$not": lost}]}}},
                "lost": {"$sum": {"$toInt": lost}},
                "obis": {"$sum": 1},
                "versions": {"$sum": {"$size": {"$objectToArray": {"$ifNull": ["$t", {}]}}}},
            }
        }
    ]
