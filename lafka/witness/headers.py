"""Record headers: what they say, and what WARC 1.1 (ISO 28500:2017) has against them: its tables of
fields, types and their syntax.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from lafka.witness.problems import Fault

HEADER_LIMIT = 1 << 20
LINE_LIMIT = 1 << 16

PLAIN = bytes(byte for byte in range(256) if byte not in range(32) and byte != 127) + b"\t\r\n"
"""The bytes that may stand in a header."""

VERSION = re.compile(r"WARC/1\.[01]")
NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
RECORD_ID = re.compile(
    r"<(?:urn:uuid:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|(?!urn:uuid:)[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+)>"
)
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?Z")
SHORT_DATE = re.compile(
    r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01])(?:T\d\d:\d\dZ)?)?)?"
)
DAY = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
MEDIA_TYPE = re.compile(
    r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;\s*[\w!#$&^.+-]+=(?:[^\s;\"]+|\"[^\"]*\"))*"
)
DIGITS = re.compile(r"[0-9]{1,18}")
TOKENS = re.compile(r"[A-Za-z0-9_-]+(?:, [A-Za-z0-9_-]+)*")
TRUNCATED = re.compile(r"length|time|disconnect|unspecified")
PROFILE = re.compile(
    r"http://netpreserve\.org/warc/1\.[01]/(?:revisit/)?"
    r"(?:revisit/)?(?:identical-payload-digest|server-not-modified|uri-agnostic-identical-payload-digest)"
)
HTTP_TYPE = re.compile(r"application/http(?:\s*;\s*msgtype=\"?(request|response)\"?)?", re.I)

ABOUT_URI = frozenset(("request", "response", "resource", "revisit", "conversion", "continuation"))
"""The types that need WARC-Target-URI."""
TYPES = ABOUT_URI | {"warcinfo", "metadata"}

MANDATORY = ("warc-type", "warc-record-id", "warc-date", "content-length")
REPEATABLE = frozenset(("warc-concurrent-to", "warc-protocol"))
SYNTAX: Mapping[str, tuple[re.Pattern[str], str]] = {
    "warc-record-id": (RECORD_ID, "bad-record-id"),
    "warc-concurrent-to": (RECORD_ID, "bad-record-id"),
    "warc-refers-to": (RECORD_ID, "bad-record-id"),
    "warc-warcinfo-id": (RECORD_ID, "bad-record-id"),
    "warc-segment-origin-id": (RECORD_ID, "bad-record-id"),
    "content-length": (DIGITS, "bad-length"),
    "content-type": (MEDIA_TYPE, "content-type"),
    "warc-identified-payload-type": (MEDIA_TYPE, "bad-value"),
    "warc-refers-to-target-uri": (URI, "bad-uri"),
    "warc-truncated": (TRUNCATED, "bad-value"),
    "warc-profile": (PROFILE, "bad-value"),
    "warc-segment-number": (DIGITS, "bad-value"),
    "warc-segment-total-length": (DIGITS, "bad-value"),
    "warc-source-uri": (URI, "bad-uri"),
    "warc-creation-date": (DAY, "bad-value"),
    "warc-cipher-suite": (TOKENS, "bad-value"),
    "lafka-certificate": (TOKENS, "bad-value"),
    "lafka-truncated": (re.compile("payload"), "bad-value"),
    "lafka-connection": (re.compile(r"[1-9][0-9]* [1-9][0-9]*"), "bad-value"),
}
"""What the value of a field has to match, and the code where it does not."""
FIELDS = frozenset(
    (*MANDATORY, *REPEATABLE, *SYNTAX, "warc-block-digest", "warc-payload-digest",
     "warc-ip-address", "warc-refers-to-date", "warc-target-uri", "warc-filename")
)  # fmt: skip
SPELLINGS = {
    re.sub(r"\b(?:Warc|Id|Uri|Ip)\b", lambda word: word[0].upper(), name.title()): name
    for name in FIELDS
}
"""The usual spelling of each name; looking it up is cheaper than to fold its case."""

ALGORITHMS: Mapping[str, int] = {"md5": 16, "sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}
"""The digests that are checked, with their bytes."""

_UUID = r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}>"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z"
_TYPE = r"[\w.+-]+/[\w.+-]+"
_PLAIN_VALUES = {
    "Type": "|".join(sorted(TYPES)),
    "Record-ID": _UUID,
    "Date": _TIME,
    "Target-URI": r"[a-z][a-z0-9+.-]*:[!-~]+",
    "Warcinfo-ID": _UUID,
    "Concurrent-To": _UUID,
    "IP-Address": r"[0-9a-f.:]+",
    "Payload-Digest": r"[!-~]+",
    "Block-Digest": r"[!-~]+",
    "Identified-Payload-Type": _TYPE,
    "Refers-To": _UUID,
    "Refers-To-Target-URI": r"[a-z][a-z0-9+.-]*:[!-~]+",
    "Refers-To-Date": _TIME,
    "Profile": PROFILE.pattern,
    "Truncated": TRUNCATED.pattern,
    "Source-URI": r"[a-z][a-z0-9+.-]*:[!-~]+",
    "Creation-Date": DAY.pattern,
}
_PLAIN_FIELDS = "|".join(f"{name}: (?:{value})" for name, value in _PLAIN_VALUES.items())
PLAIN_HEADER = re.compile(
    (
        r"WARC/1\.1\r\n(?:(?:"
        rf"WARC-(?:{_PLAIN_FIELDS})"
        rf"|Content-(?:Length: [0-9]{{1,18}}|Type: {_TYPE}(?:; ?msgtype=[a-z]+)?)"
        rf"|Lafka-Certificate: (?:{TOKENS.pattern})"
        r"|Lafka-Truncated: payload|Lafka-Connection: [1-9][0-9]* [1-9][0-9]*"
        r")\r\n)+\r\n"
    ).encode(),
    re.ASCII,
)
"""A header in the usual spelling, each of its values as the table of syntax has them: what this
matches has no fault in any one line. What it does not is looked at line by line.
"""


class RecordHeader(NamedTuple):
    """A record header: ``fields`` has lower-case names and the first value of each.

    ``faults`` are what is wrong with it, in the order of the header.
    """

    version: str
    fields: Mapping[str, str]
    concurrent_to: tuple[str, ...]
    faults: list[Fault]

    @property
    def type(self) -> str:
        return self.fields.get("warc-type", "")


def parse(head: bytes) -> RecordHeader:
    """The header in *head*, from its version line through its blank line."""
    return _parse_plain(head) or _parse_lines(head)


def _parse_plain(head: bytes) -> RecordHeader | None:
    """The header in *head*, if one pass shows that each line of it is as it should be.

    13 µs a header of a response where line by line takes 31; a test holds each header that Lafka
    writes to it.
    """
    if len(head) > LINE_LIMIT or not PLAIN_HEADER.fullmatch(head):
        return None
    version, *lines = head.decode("ascii").split("\r\n")[:-2]
    fields = {}
    for line in lines:
        spelled, _, value = line.partition(": ")
        fields[SPELLINGS[spelled]] = value
    if len(fields) != len(lines):
        return None
    other = fields.get("warc-concurrent-to")
    return RecordHeader(
        version=version,
        fields=fields,
        concurrent_to=() if other is None else (other,),
        faults=list(_faults_of_fields(fields, version)),
    )


def _parse_lines(head: bytes) -> RecordHeader:
    faults: list[Fault] = list(_faults_of_bytes(head))
    text = _decoded(head, faults)
    version, *lines = text.replace("\r\n", "\n").split("\n")[:-2]
    if not VERSION.fullmatch(version):
        faults.append(("bad-version", f"the version line is {version[:40]!r}"))
    fields: dict[str, str] = {}
    concurrent_to: list[str] = []
    folded = "\n " in text or "\n\t" in text
    for line in _unfolded(lines) if folded else lines:
        name, value = _field(line, faults)
        if name == "warc-concurrent-to":
            concurrent_to.append(value)
        if name in fields and name not in REPEATABLE and name in FIELDS:
            faults.append(("repeated-field", f"{name} stands there twice"))
        fields.setdefault(name, value)
    faults.extend(_faults_of_fields(fields, version))
    return RecordHeader(
        version=version, fields=fields, concurrent_to=tuple(concurrent_to), faults=faults
    )


def _decoded(head: bytes, faults: list[Fault]) -> str:
    try:
        return head.decode()
    except UnicodeDecodeError:
        faults.append(("bad-header", "the record header is not UTF-8"))
        return head.decode("utf-8", "replace")


def has_plain_lines(head: bytes) -> bool:
    """Return whether every line ends in CR LF, and neither stands elsewhere."""
    return head.count(b"\r\n") == head.count(b"\n") == head.count(b"\r")


def _faults_of_bytes(head: bytes) -> Iterator[Fault]:
    if head.translate(None, PLAIN):
        yield "bad-header", "a control character in the record header"
    if not has_plain_lines(head):
        yield "line-end", "a line of the record header does not end in CR LF"


def _unfolded(lines: list[str]) -> list[str]:
    whole: list[str] = []
    for line in lines:
        if line.startswith((" ", "\t")) and whole:
            whole[-1] += " " + line.strip(" \t")
        else:
            whole.append(line)
    return whole


def _field(line: str, faults: list[Fault]) -> tuple[str, str]:
    spelled, colon, value = line.partition(":")
    value = value.strip(" \t")
    name = SPELLINGS.get(spelled, "")
    if not colon or not name:
        name = spelled.lower()
        if not colon or not NAME.fullmatch(name):
            faults.append(("bad-header", f"{line[:60]!r} is no header field"))
            return "", ""
        if name not in FIELDS:
            faults.append(("unknown-field", f"{name} is no field of WARC 1.1"))
    if len(line) > LINE_LIMIT:
        faults.append(("bad-header", f"{name} is longer than 64 KiB"))
    syntax = SYNTAX.get(name)
    if syntax is not None and not syntax[0].fullmatch(value):
        faults.append((syntax[1], f"{name} is {value[:80]!r}"))
    return name, value


def _faults_of_fields(fields: Mapping[str, str], version: str) -> Iterator[Fault]:
    kind = fields.get("warc-type", "")
    for name in MANDATORY:
        if name not in fields:
            yield "missing-field", f"no {name}"
    if kind and kind not in TYPES:
        yield "unknown-type", f"a record of type {kind[:40]!r}"
    for name in ("warc-date", "warc-refers-to-date"):
        if name in fields and not _is_date(fields[name], version):
            yield "bad-date", f"{name} is {fields[name][:40]!r}"
    if "warc-ip-address" in fields and not _is_address(fields["warc-ip-address"]):
        yield "bad-value", f"{fields['warc-ip-address'][:60]!r} is no IP address"
    yield from _faults_of_url(kind, fields, version)
    yield from _faults_of_media_type(kind, fields)
    yield from _faults_of_kind(kind, fields)


def _faults_of_url(kind: str, fields: Mapping[str, str], version: str) -> Iterator[Fault]:
    url = fields.get("warc-target-uri")
    if url is None:
        if kind in ABOUT_URI:
            yield "missing-field", f"a {kind} record without warc-target-uri"
        return
    if kind == "warcinfo":
        yield "bad-value", "a warcinfo record with warc-target-uri"
    if version == "WARC/1.0" and url.startswith("<") and url.endswith(">"):
        url = url[1:-1]
    if not URI.fullmatch(url):
        yield "bad-uri", f"warc-target-uri is {url[:80]!r}"


def _faults_of_media_type(kind: str, fields: Mapping[str, str]) -> Iterator[Fault]:
    media_type = fields.get("content-type", "")
    if kind == "warcinfo":
        if media_type != "application/warc-fields":
            yield "content-type", f"a warcinfo of type {media_type[:60]!r}"
    elif media_type and kind in ("request", "response", "revisit"):
        http = HTTP_TYPE.fullmatch(media_type)
        wanted = "request" if kind == "request" else "response"
        if http is None or http[1] not in (None, wanted):
            yield "content-type", f"a {kind} of type {media_type[:60]!r}"
    elif not media_type and fields.get("content-length", "0") != "0" and kind != "continuation":
        yield "content-type", "a block without content-type"


def _faults_of_kind(kind: str, fields: Mapping[str, str]) -> Iterator[Fault]:
    if kind == "revisit":
        profile = fields.get("warc-profile")
        if profile is None:
            yield "missing-field", "a revisit without warc-profile"
        elif profile.endswith("payload-digest") and "warc-payload-digest" not in fields:
            yield "missing-field", "a revisit without warc-payload-digest"
    elif kind == "conversion" and "warc-refers-to" not in fields:
        yield "missing-field", "a conversion without warc-refers-to"


@lru_cache(1024)
def _is_date(value: str, version: str) -> bool:
    match = DATE.fullmatch(value)
    if match is None:
        return version == "WARC/1.1" and SHORT_DATE.fullmatch(value) is not None
    if version == "WARC/1.0" and "." in value:
        return False
    try:
        datetime(*map(int, match.groups()))  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


@lru_cache(1024)
def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True
