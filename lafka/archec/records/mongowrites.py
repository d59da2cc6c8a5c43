"""What a gathering changes, as writes to collections of MongoDB that may be done twice."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from pymongo import InsertOne, ReplaceOne, UpdateMany, UpdateOne
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError

from lafka.archec.records import Kind, Refipo
from lafka.archec.records.documents import Document, of_obi
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
