"""The rules of WARC 1.1 (ISO 28500:2017) for a record header: its fields, types and their
syntax.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
