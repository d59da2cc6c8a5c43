"""The lines of a journal: a type for each kind, made and judged here alone (docs/archec.md).

The first line has no ``e``; each other one has there its kind. What is read is a mapping, for keys
that a later Lafka adds are to be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

import lafka

if TYPE_CHECKING:
    from lafka.archec.store.texts import Checksums

FORMAT = 1
Line = Mapping[str, Any]
"""A line as it was read."""
STORED = ("appearance", "change")


class FirstLine(TypedDict):
    """The line with which a journal begins; ``derived`` where it was written from files."""

    format: int
    gathering: int
    kind: str
    source: Any
    at: bool
    run: str
    software: str
    after: NotRequired[dict[str, str]]
    derived: NotRequired[bool]


class VersionLine(TypedDict):
    """A version of an obi that came with this gathering: the line that ``appearance`` or
    ``change`` begins.

    ``md5`` is the key of its content, ``held`` the tist and id of the file that had it before;
    ``type`` to ``refipos`` are of tobis, the others of fobis. ``from`` is a key too, ``utf-16``.
    """

    e: Literal["appearance", "change"]
    id: str
    md5: str
    sha256: str
    length: int
    found: int
    text_sha256: NotRequired[str]
    held: NotRequired[tuple[int, str]]
    type: NotRequired[str]
    file: NotRequired[str | None]
    offset: NotRequired[int | None]
    encoding: NotRequired[str]
    refipos: NotRequired[list[RefipoValues]]
    time: NotRequired[str]
    way: NotRequired[list[str]]
    status: NotRequired[int]
    mime: NotRequired[str]
    kind: NotRequired[str]
    etag: NotRequired[str]
    modified: NotRequired[str]
    text: NotRequired[str]
    soft: NotRequired[bool]
    interval: NotRequired[int]
    recovered: NotRequired[bool]
    derived: NotRequired[bool]


class RefipoValues(TypedDict):
    """A pointer in the line of a tobi: the File-URL number ``n`` and what its cluster says."""

    n: int
    uri: str
    raw: str
    format: NotRequired[str]
    function: NotRequired[str]
    size: NotRequired[int]
    restriction: NotRequired[str]
    second: NotRequired[bool]
    mended: NotRequired[bool]


class VisitLine(TypedDict):
    """A visit of a fobi that found the content it had; an ETag of None: it has none any more."""

    e: Literal["visit"]
    id: str
    time: str
    way: list[str]
    status: int
    interval: NotRequired[int]
    etag: NotRequired[str | None]
    modified: NotRequired[str | None]
    recovered: NotRequired[bool]


class MissLine(TypedDict):
    """A request for a fobi that gave nothing that could be stored."""

    e: Literal["miss"]
    id: str
    time: str
    outcome: str
    error: NotRequired[str]
    recovered: NotRequired[bool]


class DeletionLine(TypedDict):
    """The loss of an obi."""

    e: Literal["deletion"]
    id: str
    why: str
    time: NotRequired[str]
    recovered: NotRequired[bool]


class WithheldLine(TypedDict):
    """The losses of an archive that are not believed; a ``count`` of 0 ends that."""

    e: Literal["withheld"]
    archive: str
    count: int


class WithdrawnLine(TypedDict):
    """A version that the operator took down."""

    e: Literal["withdrawn"]
    id: str
    tist: int
    why: str


class EndLine(TypedDict):
    """The last line: lines by kind; ``instead`` the seal of the journal that it stands for."""

    e: Literal["end"]
    counts: dict[str, int]
    seconds: float
    killed: NotRequired[bool]
    instead: NotRequired[str]
    evidence: NotRequired[dict[str, int | str]]


KINDS: dict[str, type] = {
    **dict.fromkeys(STORED, VersionLine), "visit": VisitLine, "miss": MissLine,
    "deletion": DeletionLine, "withheld": WithheldLine, "withdrawn": WithdrawnLine, "end": EndLine,
}  # fmt: skip
"""What ``e`` says -> the type of the line."""


def first_line(
    kind: str, run: str, *, source: object = None, at: bool = False, tist: int = 0, **more: object
) -> dict[str, Any]:
    """The first line of the journal of *tist*, which may be set when one is taken."""
    line: FirstLine = {
        "format": FORMAT, "gathering": tist, "kind": kind, "source": source, "at": at, "run": run,
        "software": f"Lafka {lafka.__version__}",
    }  # fmt: skip
    return {**line, **more}


def version(
    event: str, obi: str, sums: Checksums, *, length: int, found: int, **more: object
) -> dict[str, Any]:
    """The line of a version of *length* bytes; its ``md5`` is that of *sums*, its key may differ.

    *more* are keys of :class:`VersionLine`.
    """
    first = {"e": event, "id": obi, "md5": sums.md5, "sha256": sums.sha256, "length": length}
    return {**first, "found": found, **more, "text_sha256": sums.text_sha256}


def end(counts: Mapping[str, int], seconds: float = 0.0, **more: object) -> dict[str, Any]:
    line: EndLine = {"e": "end", "counts": dict(counts), "seconds": round(seconds, 3)}
    return {**line, **more}


def fault(line: object, place: int) -> str:
    """Return why *line*, at byte *place*, is no line of a journal; empty where it is one."""
    if not isinstance(line, dict):
        return "a line that is no object"
    if not place:
        if line.get("format") != FORMAT:
            return f"a journal of another format, not of format {FORMAT}"
        if not isinstance(line.get("after", {}), dict):
            return "a first line that does not say what was before it"
        return "" if isinstance(line.get("gathering"), int) else "a first line without a tist"
    event = line.get("e")
    if event in STORED:
        if _are(str, line, "id", "md5", "sha256") and _are(int, line, "length", "found"):
            return ""
        return f"an {event} without its id, checksums, length or time"
    if event not in KINDS:
        return f"a line of no known kind: {str(event)[:50]!r}"
    if "id" in KINDS[event].__annotations__ and not _are(str, line, "id"):
        return f"a {event} without an id"
    return ""


def _are(kind: type, line: Line, *keys: str) -> bool:
    for key in keys:  # noqa: SIM110 - of each line of all journals, four times as fast
        if not isinstance(line.get(key), kind):
            return False
    return True
