"""The problems that there can be with filesets, as data; docs/problems.md explains each code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

CODES: Mapping[str, Literal["error", "warning"]] = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesetProblem:
    """One thing that is wrong: *offset* is the byte in *path* it begins at, where there is one."""

    path: str
    offset: int | None = None
    code: str
    sentence: str

    @property
    def severity(self) -> str:
        return CODES[self.code]

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "offset": self.offset,
            "code": self.code,
            "severity": self.severity,
            "sentence": self.sentence,
        }


def problem(
    path: Path | str, code: str, sentence: str, offset: int | None = None
) -> FilesetProblem:
    """A problem; what of *sentence* could drive a terminal is escaped."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in sentence
    )
    return FilesetProblem(path=str(path), offset=offset, code=code, sentence=shown)
