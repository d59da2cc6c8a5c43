"""What MongoDB's documents hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lafka.archec.records import Content, Gathering, Kind, Last, Obi, Refipo, State

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


def of_gathering(gathering: Gathering) -> Document:
    values = {name: getattr(gathering, name) for name in Gathering.__slots__}
    # Codes of archives as values, not as keys: a key with a dot could not be asked for.
    withheld = [list(pair) for pair in gathering.withheld.items()]
    return values | {"_id": values.pop("tist"), "withheld": withheld}


def gathering_of(document: Document) -> Gathering:
    values = dict(document)
    return Gathering(tist=values.pop("_id"), **values | {"withheld": dict(document["withheld"])})


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
