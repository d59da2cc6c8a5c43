"""The problems that there can be with an obi store: one table of codes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

CODES = {
    "stray-object": "no journal line tells of what lies here",
    "missing-object": "a journal line tells of an obi, and nothing lies at its place",
    "changed-object": "the bytes are not those of the journal line, by length or SHA-256",
    "wrong-place": "a name or folder that no obi and no gathering of this store has",
    "dangling-link": "a symlink leads to nothing",
    "outside-link": "a symlink leads out of the store",
    "link-loop": "more than ten symlinks lead to each other",
    "bad-journal": "a line of a journal is none",
    "open-journal": "a journal has no end: its gathering lives, or was killed",
    "records-differ": "the database has not what the journals have",
    "text-differs": "the MD5 is not that of the text of the bytes",
    "left-draft": "a draft that no run is writing",
    "case-twins": "two names that a disk blind to case takes for one",
    "bad-evidence": "an evidence file is no WARC, or is of no gathering",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A fact about the place *path* of a store; ``severity`` is ``error`` or ``warning``."""

    path: Path
    code: str
    sentence: str
    severity: str = "error"

    def to_json(self) -> str:
        return json.dumps(
            {"path": str(self.path), "code": self.code, "severity": self.severity,
             "sentence": self.sentence}
        )  # fmt: skip
