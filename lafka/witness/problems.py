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
Fault = tuple[str, str]
"""A code and its sentence, of a thing whose place somebody else knows."""

PAPER_CODES: Mapping[str, Severity] = {
    "bad-version": "error",
    "stray-bytes": "error",
    "line-end": "error",
    "bad-header": "error",
    "missing-field": "error",
    "repeated-field": "error",
    "unknown-field": "warning",
    "unknown-type": "warning",
    "bad-record-id": "error",
    "bad-date": "error",
    "bad-length": "error",
    "bad-uri": "warning",
    "bad-value": "error",
    "content-type": "warning",
    "bad-digest": "error",
    "unknown-digest": "warning",
    "no-block-digest": "warning",
    "block-digest": "error",
    "payload-digest": "error",
    "payload-digest-unsure": "warning",
    "bad-trailer": "error",
    "torn-tail": "error",
    "bad-marker": "error",
    "no-suwaf": "error",
    "no-warc": "error",
    "unreadable": "error",
    "bad-suwaf": "error",
    "suwaf-spelling": "warning",
    "unknown-key": "warning",
    "no-end": "warning",
    "wrong-path": "error",
    "wrong-pid": "error",
    "short-warc": "error",
    "end-inside-record": "error",
    "uncommitted-tail": "warning",
    "headers-changed": "error",
    "not-a-fut": "error",
    "fut-digest": "error",
    "unknown-futli": "error",
    "suwaf-differs": "error",
    "fut-not-in-suwaf": "error",
    "stored-twice": "error",
    "digest-twice": "error",
    "repeated-id": "error",
    "dangling-reference": "error",
    "revisit-differs": "error",
    "conversion-differs": "error",
    "pair-differs": "error",
    "bad-warcinfo": "error",
    "payload-type": "error",
    "empty-warc": "warning",
    "draft": "warning",
    "torn-aside": "warning",
    "stray-file": "warning",
    "broken-link": "error",
    "link-loop": "warning",
    "papers-missed": "error",
    "raw-left": "warning",
    "acknowledged-lost": "error",
    "bad-feed": "warning",
    "feed-changed": "error",
    "bad-report": "error",
}
FILESET_CODES: Mapping[str, Severity] = {
    "bad-record": "error",
    "bad-block": "error",
    "bad-summary": "error",
    "no-summary": "error",
    "no-fileset-warc": "error",
    "fileset-short": "error",
    "fileset-headers": "error",
    "fileset-tail": "warning",
    "fileset-digest": "error",
    "member-unchecked": "warning",
    "summary-differs": "error",
    "result-lost": "error",
    "item-missing": "error",
    "item-description": "error",
    "bad-description": "error",
    "item-part": "warning",
}
OBI_CODES = frozenset(
    (
        "stray-object",
        "missing-object",
        "changed-object",
        "wrong-place",
        "dangling-link",
        "outside-link",
        "link-loop",
        "bad-journal",
        "broken-chain",
        "open-journal",
        "records-differ",
        "bad-records",
        "bad-marker",
        "text-differs",
        "left-draft",
        "case-twins",
        "bad-evidence",
    )
)
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
