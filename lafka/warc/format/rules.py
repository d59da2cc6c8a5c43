"""The rules of the standard for the fields of a record, as a list of faults (WARC/1.1 section 5).

Records are held to it when they are written, volumes when they are checked.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ..errors import BadValue
from .dates import WarcDate
from .digests import Digest
from .fields import Fields

Fault = tuple[str, dict[str, object]]
"""A code of :mod:`problems`, and what its sentence names."""

VERSIONS = ("1.0", "1.1")
_CAPTURED = frozenset(["response", "resource", "request", "revisit", "metadata"])
_URI_TYPES = _CAPTURED - {"metadata"} | {"conversion", "continuation"}
TYPES = _CAPTURED | _URI_TYPES | {"warcinfo"}
MANDATORY = ("WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length")
# name: the types that have to have it, and those that may
_BY_TYPE: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "WARC-Target-URI": (_URI_TYPES, _URI_TYPES | {"metadata"}),
    "WARC-Concurrent-To": (frozenset(), _CAPTURED),
    "WARC-IP-Address": (frozenset(), _CAPTURED),
    "WARC-Refers-To": (frozenset(), frozenset({"metadata", "revisit", "conversion"})),
    "WARC-Refers-To-Target-URI": (frozenset(), frozenset({"revisit"})),
    "WARC-Refers-To-Date": (frozenset(), frozenset({"revisit"})),
    "WARC-Profile": (frozenset({"revisit"}), frozenset({"revisit"})),
    "WARC-Filename": (frozenset(), frozenset({"warcinfo"})),
    "WARC-Warcinfo-ID": (frozenset(), TYPES - {"warcinfo"}),
    "WARC-Segment-Number": (frozenset({"continuation"}), TYPES),
    "WARC-Segment-Origin-ID": (frozenset({"continuation"}), frozenset({"continuation"})),
    "WARC-Segment-Total-Length": (frozenset(), frozenset({"continuation"})),
}
_OF_PAYLOADS = ("WARC-Payload-Digest", "WARC-Identified-Payload-Type")
_ALWAYS = {name.lower(): name for name in MANDATORY}
_NEEDED = {
    type_: {n.lower(): n for n in (*MANDATORY, *(n for n in _BY_TYPE if type_ in _BY_TYPE[n][0]))}
    for type_ in TYPES
}
_FORBIDDEN = {
    type_: {n.lower(): n for n in _BY_TYPE if type_ not in _BY_TYPE[n][1]} for type_ in TYPES
}
_RECORD_ID = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+>")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+|<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+>")
_PLAIN_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha1:[A-Z2-7]{32}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_WORD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+ *(?:;.*)?", re.ASCII)
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_WARC_FIELDS = re.compile(r"application/warc-fields *(?:;.*)?", re.IGNORECASE)


def faults(fields: Fields, version: str = "1.1") -> Iterator[Fault]:
    """Everything about *fields*, of a record of that *version*, that the standard has otherwise.

    Which segment is the last one, and what a block holds, is not known here.
    """
    values: dict[str, str] = {}
    for name, value in fields:
        low = name.lower()
        values.setdefault(low, value)
        check = _VALUES.get(low)
        if check and (code := check(value, version)):
            yield code, {"name": name, "value": value[:200]}
    type_ = values.get("warc-type", "").lower()
    needed = _NEEDED.get(type_, _ALWAYS)
    for low, name in () if needed.keys() <= values.keys() else needed.items():
        if low not in values:
            yield "missing-field", {"type": type_ or "typeless", "name": name}
    forbidden = _FORBIDDEN.get(type_, {})
    for low, name in () if forbidden.keys().isdisjoint(values) else forbidden.items():
        if low in values:
            yield "forbidden-field", {"type": type_, "name": name}
    if len(values) < len(fields):
        for low, count in Counter(name.lower() for name, _ in fields).items():
            if count > 1 and low in _SOLE:
                yield "repeated-field", {"name": _SOLE[low], "count": count}
    yield from _of_type(type_, values)


def _of_type(type_: str, values: Mapping[str, str]) -> Iterator[Fault]:
    kind = values.get("content-type", "")
    if type_ and type_ not in TYPES:
        yield "unknown-type", {"type": type_}
    if type_ == "warcinfo" and kind and not _WARC_FIELDS.fullmatch(kind):
        yield "content-type", {"type": type_, "value": kind[:200]}
    for name in _OF_PAYLOADS if type_ in ("warcinfo", "metadata") else ():
        if name.lower() in values:
            yield "no-payload", {"type": type_, "name": name}
    identical = values.get("warc-profile", "").endswith("/identical-payload-digest")
    if type_ == "revisit" and identical and "warc-payload-digest" not in values:
        yield "missing-field", {"type": type_, "name": "WARC-Payload-Digest"}
    number = values.get("warc-segment-number", "")
    if _NUMBER.fullmatch(number) and (int(number) > 1) != (type_ == "continuation"):
        yield "bad-value", {"name": "WARC-Segment-Number", "value": number}


def _matches(pattern: re.Pattern[str], code: str) -> Callable[[str, str], str]:
    return lambda value, _: "" if pattern.fullmatch(value) else code


def _date(value: str, _: str) -> str:
    try:
        WarcDate.parse(value)
    except BadValue:
        return "bad-date"
    return "bad-date" if value[4:5].isdigit() else ""  # digits alone are for other formats


def _own_date(value: str, version: str) -> str:
    if version == "1.0" and not _SECONDS.fullmatch(value):
        return "bad-date"
    return _date(value, version)


def _digest(value: str, _: str) -> str:
    if _PLAIN_DIGEST.fullmatch(value):
        return ""
    try:
        return "" if Digest.parse(value).known else "unknown-digest"
    except BadValue:
        return "bad-digest"


def _address(value: str, _: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return "bad-value"
    return ""


_ID = _matches(_RECORD_ID, "bad-record-id")
_TARGET = _matches(_URI, "bad-uri")
_COUNT = _matches(_NUMBER, "bad-value")
_TYPE = _matches(_MEDIA_TYPE, "bad-value")
_VALUES: Mapping[str, Callable[[str, str], str]] = {
    "content-length": _matches(_NUMBER, "bad-length"),
    "content-type": _TYPE,
    "warc-block-digest": _digest,
    "warc-concurrent-to": _ID,
    "warc-date": _own_date,
    "warc-identified-payload-type": _TYPE,
    "warc-ip-address": _address,
    "warc-payload-digest": _digest,
    "warc-profile": _TARGET,
    "warc-record-id": _ID,
    "warc-refers-to": _ID,
    "warc-refers-to-date": _date,
    "warc-refers-to-target-uri": _TARGET,
    "warc-segment-number": _COUNT,
    "warc-segment-origin-id": _ID,
    "warc-segment-total-length": _COUNT,
    "warc-target-uri": _TARGET,
    "warc-truncated": _matches(_WORD, "bad-value"),
    "warc-warcinfo-id": _ID,
}
_SOLE = {
    name.lower(): name
    for name in (
        *MANDATORY, *_BY_TYPE, "Content-Type", "WARC-Block-Digest",
        "WARC-Payload-Digest", "WARC-Identified-Payload-Type", "WARC-Truncated",
    )
    if name != "WARC-Concurrent-To"
}  # fmt: skip
