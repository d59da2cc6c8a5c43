"""The documents of MongoDB: their fields, and the writes that bring changes into them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from pymongo import InsertOne, ReplaceOne, UpdateMany, UpdateOne
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError

from lafka.archec.records import Content, GatheringRecord, Kind, Last, Obi, Refipo, State
from lafka.archec.records.folding import Changes

_IS_THERE = 11_000  # the code of a key that has a document


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


def cached(key: bytes, told: bytes) -> Any:
    return ReplaceOne({"_id": key}, {"told": told}, upsert=True)


def obis(changes: Changes, kind: Kind, new: Container[str]) -> list[Any]:
    documents: dict[str, Document] = {
        obi.id: {"_id": obi.id, **of_obi(obi)} for obi in changes.obis.values() if obi.kind is kind
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


def contents(changes: Changes, kind: Kind) -> list[Any]:
    return [
        InsertOne(
            {"_id": content.md5, "tist": content.tist, "id": content.id, "sha256": content.sha256,
             "text_sha256": content.text_sha256, "length": content.length}
        )
        for content in changes.contents.values()
        if content.kind is kind
    ]  # fmt: skip


def refipos(changes: Changes) -> list[Any]:
    ended: list[Any] = [
        UpdateMany({"tobi": tobi, "until": None, "since": {"$lt": tist}}, {"$set": {"until": tist}})
        for tobi, tist in changes.closed
    ]
    names = Refipo.__slots__
    return ended + [
        InsertOne({"_id": one.key} | {name: getattr(one, name) for name in names})
        for one in changes.refipos
    ]


# Of a document and of an Obi: the paper's t, past and payload's kind have names of their own.
_PLAIN = ("found", "noted", "lost", "type", "archive", "series", "host", "due", "interval",
          "missed", "etag", "modified", "soft", "seen", "churn",
          "answered")  # fmt: skip
Document = dict[str, Any]


def of_obi(obi: Obi) -> Document:
    values = {name: getattr(obi, name) for name in _PLAIN}
    own = {"kind": obi.payload, "bytes": obi.length, "state": str(obi.state), "number": obi.number}
    return values | own


def obi_of(kind: Kind, document: Document) -> Obi:
    return Obi(
        id=document["_id"],
        kind=kind,
        number=document["number"],
        payload=document["kind"],
        length=document["bytes"],
        state=State(document["state"]),
        versions=sorted((int(tist), md5) for tist, md5 in document.get("t", {}).items()),
        past=sorted(document.get("past", [])),
        **{name: document[name] for name in _PLAIN},
    )


def latest_of(document: Document) -> str | None:
    """The MD5 key of its last version."""
    found: str | None = document.get("t", {}).get(str(document["noted"]))
    return found


def last_of(document: Document, md5: str | None, content: Document) -> Last:
    named = {name: document[name] for name in ("number", "found", "noted", "lost")}
    text, sha256 = content.get("text_sha256"), content.get("sha256")
    return Last(md5=md5, text_sha256=text, sha256=sha256, **named)


def content_of(kind: Kind, document: Document) -> Content:
    named = {name: document[name] for name in ("tist", "id", "sha256", "text_sha256", "length")}
    return Content(kind=kind, md5=document["_id"], **named)


def refipo_of(document: Document) -> Refipo:
    return Refipo(**{name: document[name] for name in Refipo.__slots__})


def of_gathering(gathering: GatheringRecord) -> Document:
    values = {name: getattr(gathering, name) for name in GatheringRecord.__slots__}
    # Codes of archives as values, not as keys: a key with a dot could not be asked for.
    withheld = [list(pair) for pair in gathering.withheld.items()]
    return values | {"_id": values.pop("tist"), "withheld": withheld}


def gathering_of(document: Document) -> GatheringRecord:
    values = dict(document)
    return GatheringRecord(
        tist=values.pop("_id"), **values | {"withheld": dict(document["withheld"])}
    )


def counting(names: Sequence[str]) -> list[Document]:
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
