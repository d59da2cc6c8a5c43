"""The table of all problem codes of the library: what can be wrong with a volume, as data.

An *error* is lost or changed data, or a breach of the standard; a *warning* is something that
readers tolerate and writers should not do; a *note* is lawful and worth knowing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from .errors import printable

Severity = Literal["error", "warning", "note"]

# code: severity, and the sentence; what it names in braces is given to Problem.of.
CODES: Mapping[str, tuple[Severity, str]] = {
    # The file and its framing
    "torn-tail": ("error", "the file ends inside a record"),
    "torn-member": ("error", "the file ends inside a compressed member"),
    "bad-trailer": ("error", "the record is followed by {found!r}, not by CRLF CRLF"),
    "no-record": ("error", "no WARC record begins here"),
    "stray-bytes": ("error", "{size} bytes that belong to no record"),
    "wrong-length": ("error", "Content-Length is {length}, and the block has {found} bytes"),
    "overlong-block": ("error", "Content-Length {length} runs over the record at byte {next}"),
    "open-header": ("error", "the header has no end before the next record begins"),
    "bad-version": ("error", "the version line is {line!r}"),
    "old-version": ("warning", "the version is {version}, older than the standard"),
    "bad-compression": ("error", "the compressed data is broken: {reason}"),
    "unread-compression": ("error", "it is compressed by {name}, which is not read here"),
    "padding": ("warning", "{size} zeros between compressed members"),
    "split-record": ("warning", "the record lies in more than one compressed member"),
    "one-member": ("warning", "several records in one compressed member: none can be read alone"),
    "unreadable": ("error", "the block cannot be read: {reason}"),
    "no-records": ("error", "no records"),
    "more": ("error", "there is more that is wrong than is kept"),
    # ARC
    "arc-header": ("error", "no ARC header: {line!r}"),
    "overlong-arc": ("error", "Archive-length {length} runs over the record at byte {next}"),
    "arc-length": ("error", "Archive-length is {length}, but the next record is at byte {next}"),
    "arc-trailer": ("warning", "no line end before the record at byte {next}"),
    "unconverted": ("error", "the record cannot be converted: {reason}"),
    # What is read as if it were a WARC
    "bad-part": ("error", "a part of the message: {reason}"),
    "bad-zip": ("error", "the zip file cannot be read: {reason}"),
    "bad-member": ("error", "{name!r}: {reason}"),
    "zip-overlap": ("error", "{name!r} lies in another member, as in a zip bomb"),
    "maff-index": ("warning", "{name!r} says nothing of its page: {reason}"),
    "wacz-package": ("error", "datapackage.json: {reason}"),
    "wacz-missing": ("error", "in datapackage.json and not in the file: {names}"),
    "wacz-unlisted": ("warning", "{name!r} is not in datapackage.json"),
    "wacz-length": ("error", "{name!r} has {found} bytes, not {value}"),
    "wacz-digest": ("error", "{name!r} is {found}, not {value}"),
    "wacz-packed": ("warning", "{name!r} is compressed by the zip: it cannot be read in place"),
    "wacz-empty": ("error", "no WARC in archive/"),
    "wacz-signed": ("note", "signed for {domain!r}; certificates are not checked"),
    # Header lines
    "line-end": ("error", "a header line ends with a bare LF"),
    "no-colon": ("error", "a header line without a colon: {line!r}"),
    "no-name": ("error", "a header line without a name: {line!r}"),
    "bad-name": ("error", "not a field name: {name!r}"),
    "control-character": ("error", "a control character in {name}"),
    "bad-utf-8": ("error", "{name} is not UTF-8"),
    "long-line": ("error", "a header line of {size} bytes"),
    "long-header": ("error", "a header of more than {size} bytes"),
    "folded-first-line": ("error", "the first header line is folded"),
    "folded-line": ("note", "{name} is folded over several lines"),
    "comment": ("note", "a comment among the fields"),
    # Fields
    "repeated-field": ("error", "{name} stands {count} times"),
    "missing-field": ("error", "a {type} record without {name}"),
    "forbidden-field": ("error", "a {type} record with {name}"),
    "no-payload": ("warning", "a {type} record, which has no payload, with {name}"),
    "unknown-type": ("warning", "the record type {type!r} is unknown"),
    "bad-length": ("error", "Content-Length is {value!r}"),
    "bad-date": ("error", "{name} is {value!r}"),
    "bad-record-id": ("error", "{name} is {value!r}, not a URI in angle brackets"),
    "repeated-id": ("error", "WARC-Record-ID {value!r} is that of the record at byte {first} too"),
    "bad-uri": ("warning", "{name} is {value!r}"),
    "bad-value": ("error", "{name} is {value!r}"),
    "content-type": ("warning", "a {type} record with the Content-Type {value!r}"),
    # Digests
    "bad-digest": ("error", "{name} is {value!r}"),
    "unknown-digest": ("warning", "{name} uses an unknown algorithm: {value!r}"),
    "no-block-digest": ("note", "no WARC-Block-Digest"),
    "block-digest": ("error", "the block is {found}, not {value}"),
    "payload-digest": ("error", "the payload is {found}, not {value}"),
    "truncated-payload": ("note", "what was kept of the payload is {found}, all was {value}"),
    # Indexes
    "bad-line": ("error", "an index line is none: {reason}"),
    "missing-volume": ("error", "the volume is missing: {reason}"),
    "stale-entry": ("error", "an index says that a record lies here: {reason}"),
    "no-record-ids": ("warning", "an index of this kind has no record ids, and is passed over"),
    "unsorted-index": ("warning", "the lines are not sorted, so each search reads all of them"),
    # HTTP in a block
    "bad-http": ("warning", "the block is no HTTP message: {reason}"),
    "bad-payload": ("warning", "the payload is not all that its head says: {reason}"),
    "undone-coding": ("note", "the head says {coding}, and the body is not coded so"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong at byte ``offset`` of the file ``path``, in one sentence.

    ``inner``: how many bytes behind, in what the compressed member there inflates to.
    """

    path: Path
    offset: int
    code: str
    severity: Severity
    sentence: str
    inner: int = 0

    @classmethod
    def of(cls, code: str, path: Path, offset: int, inner: int = 0, /, **values: object) -> Problem:
        """The problem *code* of the table; *values* are what its sentence names."""
        severity, template = CODES[code]
        return cls(
            path=path,
            offset=offset,
            code=code,
            severity=severity,
            sentence=printable(template.format(**values)),
            inner=inner,
        )

    def at(self, path: Path, offset: int) -> Problem:
        """The same problem, of bytes that stand at *offset* of the file *path*."""
        return replace(self, path=path, offset=offset + self.offset)

    def to_json(self) -> str:
        """The problem as one line of JSON, without a line end."""
        values: dict[str, object] = {"path": printable(self.path), "offset": self.offset}
        if self.inner:
            values["inner"] = self.inner
        values |= {"code": self.code, "severity": self.severity, "sentence": self.sentence}
        return json.dumps(values, ensure_ascii=False)
