"""The fobis that a crawl asks for: those that are due, unless nothing points there, or may be had.

Lines come one by one; memory is flat but for a word on each archive and series that restricts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lafka.archec import redif
from lafka.archec.records import Kind, Obi, Records, Refipo, State
from lafka.archec.redif import uris
from lafka.archec.redif.handles import Handle
from lafka.archec.store.folders import ObiStore
from lafka.errors import BadUrl, KeeperError, LafkaError

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FobiLine:
    """A fobi that is to be asked for: the line *number* of a run.

    ``etag`` and ``modified`` are of what ``answered`` last, which may be another URL; None where
    all is asked for anew. ``seconds``: other forms of its URL, asked for where it is not found.
    """

    number: int
    uri: str
    etag: str | None = None
    modified: str | None = None
    answered: str | None = None
    seconds: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """Whom to ask, in lower case."""
        return urlsplit(self.uri).hostname or ""


class FobiForm:
    """Lines as the feeder keeps them (:class:`lafka.politeness.feeder.Form`)."""

    def pack(self, line: FobiLine) -> bytes:
        values = (line.uri, line.etag, line.modified, line.answered, line.seconds)
        return json.dumps(values).encode()

    def unpack(self, number: int, data: bytes) -> FobiLine:
        uri, etag, modified, answered, seconds = json.loads(data)
        return FobiLine(
            number=number, uri=uri, etag=etag, modified=modified, answered=answered,
            seconds=tuple(seconds),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The fobis that are wanted.

    ``age``: those asked for last at least so many seconds ago; 0 for all, None for those that are
    due. ``ids``: these alone, due or not. ``archive``, ``series``: codes, in lower case, of tobis
    that point at them. ``orphans``: also those that nothing points at now. ``excluded``: handles
    of tobis that do not count. ``limit``: of lines, 0 for none.
    """

    age: int | None = None
    ids: tuple[str, ...] | None = None
    archive: str | None = None
    series: str | None = None
    orphans: bool = False
    excluded: Callable[[str], bool] = lambda _: False
    limit: int = 0

    @property
    def is_anew(self) -> bool:
        """True where what is there counts for nothing: no server is asked whether it has
        changed.
        """
        return self.age == 0


class DueFobis:
    """The lines of a run that begins at *now*; ``counts`` says what was left out, and why."""

    def __init__(self, store: ObiStore, records: Records, choice: Choice, now: int) -> None:
        self.counts: Counter[str] = Counter()
        self._records, self._choice, self._now = records, choice, now
        self._restrictions = InheritedRestrictions(store, records)

    def __iter__(self) -> Iterator[FobiLine]:
        limit, number = self._choice.limit, 0
        for obi in self._candidates():
            if limit and number >= limit:
                return
            if reason := self._left_out(obi):
                self.counts[reason] += 1
                continue
            number += 1
            yield self._line(number, obi)

    def _candidates(self) -> Iterable[Obi]:
        choice = self._choice
        if choice.ids is not None:
            return self._named(choice.ids)
        if choice.age is None:
            return self._due()
        before = self._now - choice.age
        walk = self._records.walk(Kind.FOBI)
        return (obi for obi in walk if obi.seen is None or obi.seen <= before)

    def _named(self, ids: Iterable[str]) -> Iterator[Obi]:
        for uri in dict.fromkeys(ids):
            obi = self._records.history(uri)
            if obi is None:
                self.counts["unknown"] += 1
            else:
                yield obi

    def _due(self) -> Iterator[Obi]:
        page = self._records.due(self._now, _PAGE)
        while page:
            yield from page
            last = page[-1]
            page = self._records.due(self._now, _PAGE, (last.due or 0, last.id))

    def _left_out(self, obi: Obi) -> str:
        """Return why *obi* is not asked for; empty where it is."""
        if obi.state is State.WITHDRAWN:
            return "withdrawn"
        if uris.is_ftp(obi.id):
            return "ftp"
        now = [one for one in self._records.pointing_at(obi.id) if one.until is None]
        if not now:
            return "" if self._choice.orphans and not self._narrow else "orphans"
        if obi.noted is None and obi.seen is None and all(one.second for one in now):
            return "second forms"  # asked for where the first is not found
        within = [one for one in now if self._is_within(one.tobi)]
        if not within:
            return "of others"
        kept = [one for one in within if not self._choice.excluded(one.tobi)]
        if not kept:
            return "excluded"
        return "restricted" if all(map(self._restrictions.restrict, kept)) else ""

    @property
    def _narrow(self) -> bool:
        return bool(self._choice.archive or self._choice.series)

    def _is_within(self, tobi: str) -> bool:
        _, archive, series, *_ = [*tobi.split(":", 3), "", ""]
        wanted = self._choice
        return wanted.archive in (None, archive) and wanted.series in (None, series)

    def _line(self, number: int, obi: Obi) -> FobiLine:
        if obi.state is not State.LIVE or self._choice.is_anew:
            return FobiLine(number=number, uri=obi.id, seconds=self._seconds(obi))
        return FobiLine(
            number=number,
            uri=obi.id,
            etag=obi.etag,
            modified=obi.modified,
            answered=obi.answered or obi.id,
        )

    def _seconds(self, obi: Obi) -> tuple[str, ...]:
        """The forms without blanks, not asked for so far, of a URL that was not got so far."""
        found: dict[str, None] = {}
        for one in self._records.pointing_at(obi.id):
            if one.until is not None or one.second or not any(map(str.isspace, one.raw)):
                continue
            for other in self._records.refipos(one.tobi):
                if other.second and other.n == one.n and not self._was_asked(other.fobi):
                    found[other.fobi] = None
        return tuple(found)

    def _was_asked(self, uri: str) -> bool:
        obi = self._records.history(uri)
        return obi is not None and (obi.seen is not None or obi.noted is not None)


@dataclass(slots=True)
class InheritedRestrictions:
    """The refipos that may not be asked for: what the file, its template, series or archive says.

    The templates of series and archives are read out of the *store*, each once.
    """

    store: ObiStore
    records: Records
    _said: redif.Restrictions = field(default_factory=redif.Restrictions)
    _read: dict[str, bool] = field(default_factory=dict)

    def restrict(self, refipo: Refipo) -> bool:
        if refipo.restriction:
            return True
        handle = Handle(text=refipo.tobi)
        if not any(self._restricts(above) for above in handle.enclosing):
            return False
        # The file may say that it is free: that is known from its template alone.
        for template in self._templates(refipo.tobi):
            for file in template.files():
                if file.n == refipo.n:
                    return self._said.of(handle, file) is not None
        return True

    def _restricts(self, handle: str) -> bool:
        """Return whether the template of a series or archive says anything of restrictions."""
        if handle not in self._read:
            templates = list(self._templates(handle))
            for template in templates:
                self._said.add(template)
            self._read[handle] = any(template.first("Restriction") for template in templates)
        return self._read[handle]

    def _templates(self, handle: str) -> Iterator[redif.Template]:
        obi = self.records.history(handle)
        if obi is None or obi.noted is None or obi.lost is not None:
            return
        try:
            data = self.store.read(obi.noted, handle)
        except (LafkaError, KeeperError):  # the check tells of it
            return
        yield from redif.read(data, "")


def ids_in(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, normal form and, where that is none, the reason: of a file with a URL a line."""
    for number, line in enumerate(text.splitlines(), 1):
        url = line.strip()
        if not url or url.startswith("#"):
            continue
        try:
            yield number, uris.normalise(url), ""
        except BadUrl as error:
            yield number, "", str(error)
