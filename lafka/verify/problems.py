"""The codes of what can be wrong; docs/problems.md explains each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lafka import strict
from lafka.errors import printable
from lafka.strict import Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CODES: Mapping[str, Severity] = {
    **strict.CODES,
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
    "raw-left": "warning",
    "acknowledged-lost": "error",
    "bad-feed": "warning",
}


def problem(path: Path | str, code: str, sentence: str, offset: int | None = None) -> Problem:
    return Problem(
        path=str(path),
        offset=offset,
        code=code,
        severity=CODES[code],
        sentence=printable(sentence),
    )


def drained(problems: list[Problem]) -> list[Problem]:
    """What is in *problems*, which is empty then."""
    found = problems[:]
    problems.clear()
    return found


def settled(problems: Iterator[Problem], end: int | None) -> Iterator[Problem]:
    """Beyond *end* nothing is acknowledged yet: what is wrong there is only worth a warning."""
    for found in problems:
        beyond = end is not None and found.offset is not None and found.offset >= end
        yield replace(found, severity="warning") if beyond else found
