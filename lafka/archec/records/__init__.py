"""The records: a database of all obis, a fold over the journals, and made again from them.

``sqlite`` is the default, one file in the store; ``mongo`` is the paper's choice, by one setting.
No other module knows SQL or Mongo. Both keep what :mod:`lafka.archec.records.folding` makes of
journal lines, so the same journals give the same ``walk``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from itertools import islice
from typing import Any, Protocol, TypeVar

from lafka.archec.store.lines import Line

VERSION = 1
"""Of the schema; a database of another version is refused, and made again by ``rebuild``."""


PASSED_AT = b""
"""The key of what ``passed_at`` returns, among the keys of ``passed``."""

GROUPS = {"kind": (), "archive": ("archive",), "series": ("archive", "series"), "host": ("host",)}
"""What ``counts`` can count by -> the columns of it."""


class Kind(StrEnum):
    TOBI = "tobi"
    FOBI = "fobi"

    @classmethod
    def of(cls, obi: str) -> Kind:
        """The kind of the obi with this id: a URI or a handle."""
        return cls.FOBI if "://" in obi else cls.TOBI


class State(StrEnum):
    LIVE = "live"
    LOST = "lost"
    NEW = "new"  # a fobi that a refipo points at and nobody asked for yet
    NEVER = "never"  # a fobi that was asked for and never got
    RESTRICTED = "restricted"
    WITHDRAWN = "withdrawn"


class Incidence(StrEnum):
    """An event of an obi in a gathering, other than a miss."""

    APPEARANCE = "appearance"
    CHANGE = "change"
    VISIT = "visit"
    DELETION = "deletion"


@dataclass(slots=True, kw_only=True)
class Obi:
    """The facts known of an obi.

    ``versions`` are tists and MD5 keys (hex, ``-2`` behind one that another text has), oldest
    first, ``past`` the tists lost; tists are seconds. ``length`` is that of the last version in
    bytes. ``payload`` to ``soft`` are of fobis alone: ``missed`` the last ten misses as tist and
    outcome, ``seen`` the tist of the last gathering that asked, ``churn`` how many visits in a row
    found another content, ``answered`` who answered last, where that is another URL, which is
    whose ``etag`` and ``modified`` are. ``number`` is the database's own.
    """

    id: str
    kind: Kind
    number: int = 0
    found: int | None = None
    noted: int | None = None
    lost: int | None = None
    type: str | None = None
    archive: str | None = None
    series: str | None = None
    host: str | None = None
    payload: str | None = None
    length: int | None = None
    state: State = State.LIVE
    due: int | None = None
    interval: int | None = None
    missed: list[list[Any]] = field(default_factory=list)
    etag: str | None = None
    modified: str | None = None
    soft: bool = False
    seen: int | None = None
    churn: int = 0
    answered: str | None = None
    versions: list[tuple[int, str]] = field(default_factory=list)
    past: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestVersion:
    """The last version of an obi: MD5 key and SHA-256 of its text, SHA-256 of the bytes that lie
    in the store; None where there is none.
    """

    number: int
    found: int | None
    noted: int | None
    lost: int | None
    md5: str | None
    text_sha256: str | None
    sha256: str | None


def event_of(last: LatestVersion | None, text_sha256: str = "") -> Incidence:
    """Return what the sight of a text is to an obi with the version *last*; without
    *text_sha256* it is another text.
    """
    if last is None or last.noted is None or last.lost is not None:
        return Incidence.APPEARANCE
    return Incidence.VISIT if last.text_sha256 == text_sha256 else Incidence.CHANGE


def found_of(last: LatestVersion | Obi | None, first: int) -> int:
    """The tist found of an obi: that of the version *last*, else *first*."""
    return last.found if last and last.found is not None else first


Pointer = tuple[str, bool]
"""A refipo of a fobi in short: the id of the tobi, and whether it points now."""
Present = tuple[str, int, str]
"""An obi that is there: id, number, and the code of its archive, empty where it has none."""


@dataclass(slots=True, kw_only=True)  # not frozen: made three times as fast, for each template
class Content:
    """The place of a content: file of the obi ``id`` at ``tist``; ``md5`` is its key."""

    kind: Kind
    md5: str
    tist: int
    id: str
    sha256: str
    text_sha256: str
    length: int


def content_of(kind: Kind, tist: int, line: Line) -> Content:
    """The content whose file came with the version that *line* of the journal *tist* has."""
    return Content(
        kind=kind, md5=line["md5"], tist=tist, id=line["id"], sha256=line["sha256"],
        text_sha256=line.get("text_sha256") or line["sha256"], length=line["length"],
    )  # fmt: skip


@dataclass(slots=True, kw_only=True)  # not frozen, as Content
class Refipo:
    """A pointer from a tobi to a file, as it stood from ``since`` until before ``until``."""

    tobi: str
    n: int
    second: bool
    since: int
    until: int | None
    fobi: str
    raw: str
    format: str | None = None
    function: str | None = None
    size: int | None = None
    restriction: str | None = None

    @property
    def key(self) -> str:
        return f"{self.tobi}#file-{self.n}{'b' if self.second else ''}@{self.since}"


@dataclass(slots=True, kw_only=True)
class GatheringRecord:
    """A gathering as its journal tells; ``applied`` bytes of it are in the records."""

    tist: int
    kind: str
    source: Any
    run: str
    ended: bool = False
    killed: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    withheld: dict[str, int] = field(default_factory=dict)
    applied: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DataProblem:
    """A problem that the ReDIF reader reported of a place in a file of RePEc data."""

    archive: str
    file: str
    line: int
    code: str
    sentence: str


class Records(Protocol):
    """The database; ``RecordsAway`` from any method where it cannot be reached.

    Methods with a body are the same in every database that is asked by pages and batches.
    """

    def apply(self, journal: int, upto: int, lines: Sequence[Line]) -> None:
        """Take in *lines*, which end at byte *upto* of the journal; twice is once."""

    def applied(self, journal: int) -> int:
        """Return how many bytes of that journal are in; 0 for one that is unknown."""
        gathering = self.gathering(journal)
        return gathering.applied if gathering else 0

    def gathering(self, tist: int) -> GatheringRecord | None: ...

    def last(self, kind: Kind, obi: str) -> LatestVersion | None:
        return self.last_many(kind, [obi]).get(obi)

    def last_many(self, kind: Kind, obis: Iterable[str]) -> dict[str, LatestVersion]: ...

    def numbers(self, kind: Kind, obis: Iterable[str]) -> dict[str, int]:
        """The numbers of those of *obis* that are known."""

    def numbered(self, kind: Kind, numbers: Iterable[int]) -> dict[int, str]:
        """The ids of the obis of *kind* that have these numbers."""

    def present(self, kind: Kind) -> Iterator[Present]:
        """Obis that were noted and are not lost, sorted by the bytes of their ids."""
        page = self.present_page(kind, "")
        while page:
            yield from page
            page = self.present_page(kind, page[-1][0])

    def present_page(self, kind: Kind, after: str) -> Sequence[Present]:
        """Return the first of ``present`` whose ids come after that one."""

    def held(self, kind: Kind, md5: str) -> list[Content]:
        """The contents with this MD5, 32 hex digits: one, or several texts that share it."""
        return self.held_many(kind, [md5]).get(md5, [])

    def held_many(self, kind: Kind, md5s: Iterable[str]) -> dict[str, list[Content]]:
        """``held`` of each of *md5s* with which anything is."""
        found: dict[str, list[Content]] = {}
        # A text that shares its MD5 has the next key, which is asked for together with the first.
        keys, several = [key for md5 in md5s for key in (md5, f"{md5}-2")], 2
        while contents := self.contents(kind, keys):
            for one in contents.values():
                found.setdefault(one.md5[:32], []).append(one)
            keys = [f"{key[:33]}{several + 1}" for key in contents if key[33:] == str(several)]
            several += 1
        return found

    def contents(self, kind: Kind, keys: Iterable[str]) -> dict[str, Content]:
        """The contents that have these MD5 keys, by key."""

    def history(self, obi: str) -> Obi | None: ...

    def refipos(self, tobi: str, at: int | None = None) -> list[Refipo]:
        """Those of *tobi* now, or at the tist *at*."""
        every = self.refipos_of(Kind.TOBI, tobi)
        if at is None:
            return [one for one in every if one.until is None]
        return [one for one in every if one.since <= at and (one.until is None or one.until > at)]

    def pointing_at(self, fobi: str) -> list[Refipo]:
        """All that ever did."""
        return self.refipos_of(Kind.FOBI, fobi)

    def refipos_of(self, kind: Kind, obi: str) -> list[Refipo]:
        """All that ever pointed from or, by its *kind*, at *obi*, sorted by tobi and place."""

    def pointers(self, fobis: Iterable[str]) -> dict[str, list[Pointer]]:
        """For each of *fobis* that any refipo ever pointed at: from where, in no order."""

    def due(self, now: int, limit: int, after: tuple[int, str] | None = None) -> list[Obi]:
        """At most *limit* fobis to be asked for at *now*, the longest due first.

        *after*: ``due`` and id of the last one of the page before.
        """

    def counts(self, by: str) -> list[dict[str, Any]]:
        """Obis ``live``, ``lost`` and in all, ``versions``; *by* kind, archive, series or host.

        Sorted by what they are counted by, then by kind.
        """
        names = (*GROUPS[by], "kind")
        return sorted(
            self.counted(GROUPS[by]),
            key=lambda row: [(row[name] is not None, row[name]) for name in names],
        )

    def counted(self, names: Sequence[str]) -> Iterable[dict[str, Any]]:
        """Return the rows of ``counts`` by those *names*, in no order."""

    def walk(self, kind: Kind, prefix: str = "") -> Iterator[Obi]:
        """Obis whose id begins with *prefix*, sorted by the bytes of their ids."""
        # Page by page: what is written meanwhile disturbs no open cursor, and is not held up.
        page = self.page(kind, prefix, is_behind=False)
        while page:
            for obi in page:
                if not obi.id.startswith(prefix):
                    return
                yield obi
            page = self.page(kind, page[-1].id, is_behind=True)

    def page(self, kind: Kind, obi: str, *, is_behind: bool) -> Sequence[Obi]:
        """Return some of the obis from that id on, or behind it, in the order of ``walk``."""

    def gatherings(self) -> list[GatheringRecord]:
        """All that are known, oldest first."""

    def keep_problems(self, run: str, told: Iterable[DataProblem]) -> None:
        """Keep what was *told*, in place of what an earlier run was told."""

    def problems(self, archive: str | None = None) -> Sequence[DataProblem]: ...

    def problem_counts(self) -> list[tuple[str, str, int]]:
        """Archive, code, and how many problems were told of it; sorted."""

    # A cache of what the last run of tobis found, which no journal has: dropped, it is made again.

    def passed_at(self) -> int:
        """The last gathering of the run that kept what is kept; 0 where nothing is."""
        return int(self.passed(PASSED_AT) or 0)

    def passed(self, key: bytes) -> bytes | None: ...

    def keep_passed(
        self, tist: int, kept: Container[bytes], added: Iterable[tuple[bytes, bytes]]
    ) -> None:
        """Of what is there keep what is in *kept*, take up *added*, keys and values; at *tist*."""

    def faults(self) -> Iterator[str]:
        """Return the damages that the database itself finds."""
        return iter(())

    def close(self) -> None: ...


Known = Mapping[str, Obi]
_T = TypeVar("_T")
_R = TypeVar("_R", bound=type[Records])


def told_as_away(trouble: type[Exception]) -> Callable[[_R], _R]:
    """Make of a class of records one whose methods raise *trouble* as its ``away`` says it."""

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def telling(self: Any, *args: Any, **more: Any) -> Any:
            try:
                return method(self, *args, **more)
            except trouble as error:
                raise self.away(error) from None

        return telling

    def decorated(records: _R) -> _R:
        for name, method in list(vars(records).items()):
            if not name.startswith("_") and name in vars(Records):
                setattr(records, name, guarded(method))
        return records

    return decorated


def in_batches(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """*items* as lists of *size*, the last one shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
