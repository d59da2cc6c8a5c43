"""The oddities of RePEc data: a closed list of codes, each with its sentence (docs/redif.md)."""

from __future__ import annotations

from dataclasses import dataclass

CODES = {
    # The file
    "unreadable": "a file or folder cannot be read; its archive cannot lose anything in this run",
    "truncated": "a tarball ends too early or is damaged; nothing can be lost in this run",
    "passed-over": "a member of a tarball is no plain file below it, or is larger than any can be",
    "no-template": "bytes stand before the first template, or there is none",
    "not-told": "the file has more problems than are told one by one",
    # The bytes
    "control-character": "NUL or Ctrl-Z",
    "replacement-character": "U+FFFD: an earlier program lost a character",
    "conflict-marker": "a line that git left behind in a merge",
    # The template
    "unknown-type": "the template is of none of the ten types",
    "too-long": "the template is longer than 4 MiB; what lies beyond is left out",
    "no-handle": "the template has no handle",
    "bad-handle": "the handle is none",
    "repeated-handle": "the template has several handles; the first counts",
    "duplicate-handle": "another template has the same handle and another text",
    # The fields
    "glued-field": "Template-Type stands behind other text: a line end is missing before it",
    "spaced-field": "blanks stand before the colon of a field",
    "misspelt-field": "a name is one edit away from that of a field, and is taken for it",
    "unknown-field": "a field is none of this type of template",
    "unindented-line": "a line within prose looks like a field and is none: it goes on",
    "stray-cluster-field": "a field of a cluster stands before any key field of that cluster",
    "repeated-field": "a field stands twice that may stand once; the first counts",
    "bad-uri": "a File-URL cannot be asked for",
}
"""Code -> what it says."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """A fact about one place of RePEc data.

    ``file`` is the path below the source, ``line`` counts from 1 and is 0 where the file as a
    whole is meant. ``sentence`` is printable and does not name the place.
    """

    file: str
    line: int
    code: str
    sentence: str

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.code}: {self.sentence}"
