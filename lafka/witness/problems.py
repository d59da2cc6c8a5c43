"""The problems that proofs find, as data: of papers, filesets and obi stores.

docs/problems.md explains each code of papers and filesets, docs/archec.md those of obi stores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

Severity = Literal["error", "warning"]
_ERROR: Severity = "error"
_WARNING: Severity = "warning"
Fault = tuple[str, str]
"""A code and its sentence, of a thing whose place somebody else knows."""

PAPER_CODES: Mapping[str, Severity] = dict.fromkeys((
    "bad-version", "stray-bytes", "line-end", "bad-header", "missing-field", "repeated-field",
    "bad-record-id", "bad-date", "bad-length", "bad-value", "bad-digest", "block-digest",
    "payload-digest", "bad-trailer", "torn-tail", "bad-marker", "no-suwaf", "no-warc",
    "unreadable", "bad-suwaf", "wrong-path", "wrong-pid", "short-warc", "end-inside-record",
    "headers-changed", "not-a-fut", "fut-digest", "unknown-futli", "suwaf-differs",
    "fut-not-in-suwaf", "stored-twice", "digest-twice", "repeated-id", "dangling-reference",
    "revisit-differs", "conversion-differs", "pair-differs", "bad-warcinfo", "payload-type",
    "broken-link", "papers-missed", "acknowledged-lost", "feed-changed", "bad-report",
), _ERROR) | dict.fromkeys((
    "unknown-field", "unknown-type", "bad-uri", "content-type", "unknown-digest",
    "no-block-digest", "payload-digest-unsure", "suwaf-spelling", "unknown-key", "no-end",
    "uncommitted-tail", "empty-warc", "draft", "torn-aside", "stray-file", "link-loop",
    "raw-left", "bad-feed",
), _WARNING)  # fmt: skip
FILESET_CODES: Mapping[str, Severity] = dict.fromkeys((
    "bad-record", "bad-block", "bad-summary", "no-summary", "no-fileset-warc", "fileset-short",
    "fileset-headers", "fileset-digest", "summary-differs", "result-lost", "item-missing",
    "item-description", "bad-description",
), _ERROR) | dict.fromkeys((
    "fileset-tail", "member-unchecked", "item-part",
), _WARNING)  # fmt: skip
OBI_CODES = frozenset((
    "stray-object", "missing-object", "changed-object", "wrong-place", "dangling-link",
    "outside-link", "link-loop", "bad-journal", "broken-chain", "open-journal", "records-differ",
    "bad-records", "bad-marker", "text-differs", "left-draft", "case-twins", "bad-evidence",
))  # fmt: skip
"""An error each, unless the proof says that it is a warning."""
_SEVERITIES = {**PAPER_CODES, **FILESET_CODES}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """One thing that is wrong: *offset* is the byte in *path* it begins at, where there is one."""

    path: str
    offset: int | None = None
    code: str
    severity: Severity
    sentence: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreProblem:
    """One thing that is wrong at the place *path* of an obi store."""

    path: Path
    code: str
    sentence: str
    severity: str = "error"

    def to_json(self) -> str:
        return json.dumps(
            {"path": str(self.path), "code": self.code, "severity": self.severity,
             "sentence": self.sentence}
        )  # fmt: skip


def problem(path: Path | str, code: str, sentence: str, offset: int | None = None) -> FileProblem:
    return FileProblem(
        path=str(path),
        offset=offset,
        code=code,
        severity=_SEVERITIES[code],
        sentence=_printable(sentence),
    )


def drained(problems: list[FileProblem]) -> list[FileProblem]:
    """Return what is in *problems*, which is empty then."""
    found = problems[:]
    problems.clear()
    return found


def settled(problems: Iterator[FileProblem], end: int | None) -> Iterator[FileProblem]:
    """Beyond *end* nothing is acknowledged yet: what is wrong there is only worth a warning."""
    for found in problems:
        beyond = end is not None and found.offset is not None and found.offset >= end
        yield replace(found, severity="warning") if beyond else found


def _printable(text: str) -> str:
    """*text* with every character that could write a line or drive a terminal as an escape."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )
