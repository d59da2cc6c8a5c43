"""The fobis that a crawl asks for, and what an answer makes of one.

Those are asked for that are due, unless nothing points there, or may be had. Lines come one by one;
memory is flat but for a word on each archive and series that restricts. An answer makes an
appearance, change, visit, miss or deletion (pure): the URL that was asked for, the ways on which it
was sent on, and who answered last are all obis, each with its line in the journal.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol
from urllib.parse import urlsplit

from lafka.archec import redif
from lafka.archec.records import Incidence, Kind, Obi, Records, Refipo, State, found_of
from lafka.archec.records.folding import RefreshRule, why_lost
from lafka.archec.redif import uris
from lafka.archec.redif.handles import Handle
from lafka.archec.store.folders import LINKS_MAX, ObiFile, ObiStore
from lafka.archec.store.lines import DeletionLine, MissLine, VisitLine
from lafka.errors import BadUrl, KeeperError, LafkaError

PDF = "pdf"
_SOFT = ("html", "empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class FobiAnswer:
    """The outcome of asking for the fobi *uri* at ``time``, ISO 8601 in UTC.

    ``way``: normal forms from ``uri`` to who answered. ``miss`` is an outcome where nothing came
    that could be stored, else empty. ``status`` 200 or 304; ``text`` what the text was made by.
    """

    uri: str
    time: str
    way: tuple[str, ...]
    miss: str = ""
    error: str = ""
    status: int = 0
    mime: str = ""
    kind: str = ""
    etag: str | None = None
    modified: str | None = None
    text: str = ""

    @property
    def told(self) -> dict[str, Any]:
        """Return the keys by which a line with a version describes the answer."""
        names = ("time", "way", "status", "mime", "kind", "etag", "modified", "text")
        values = {name: getattr(self, name) for name in names} | {"way": list(self.way)}
        return {name: value for name, value in values.items() if value not in (None, "")}


def way_of(urls: Sequence[str]) -> tuple[str, ...]:
    """The way over *urls* in normal form; one that comes twice counts where it comes last (D15).

    What has no normal form on the way is passed over; ``BadUrl`` where that is the last one.
    """
    way: dict[str, None] = {}
    for place, url in enumerate(urls, 1):
        try:
            uri = uris.normalise(url)
        except BadUrl:
            if place == len(urls):
                raise
            continue
        way.pop(uri, None)
        way[uri] = None
    return tuple(way)


class SentValidators(Protocol):
    """The validators of an earlier answer that were sent back, and whose answer that was."""

    @property
    def etag(self) -> str | None: ...

    @property
    def modified(self) -> str | None: ...

    @property
    def answered(self) -> str | None: ...


def is_trusted(asked: SentValidators, url: str, etag: str) -> bool:
    """Return whether a 304 of *url* with that *etag* (empty for none) says that the content is as
    it was.

    It has to have been asked for, to come from who had given the validators, and not to name
    another version (RFC 9110, 13.1.2, 15.4.5).
    """
    if not (asked.etag or asked.modified):
        return False
    try:
        is_theirs = uris.normalise(url) == asked.answered
    except BadUrl:
        return False
    return is_theirs and (not etag or not asked.etag or _strong(etag) == _strong(asked.etag))


def _strong(etag: str) -> str:
    return etag.removeprefix("W/")


def stored_line(
    answer: FobiAnswer, uri: str, event: Incidence, *, obi: Obi | None, tist: int, rule: RefreshRule
) -> dict[str, Any]:
    """The line of *uri*, on the way of *answer*, with another content than before."""
    interval = rule.of_changed(obi) if obi and event is Incidence.CHANGE else rule.of_new()
    found = found_of(obi, tist)
    line = {"e": str(event), "id": uri, "found": found, **answer.told, "interval": interval}
    if event is Incidence.CHANGE and obi and was_pdf(obi) and answer.kind in _SOFT:
        line["soft"] = True
    return line


def was_pdf(obi: Obi) -> bool:
    """Return whether its last version was a PDF, or a page that stood in for one already."""
    return obi.payload == PDF or obi.soft


def visit_line(answer: FobiAnswer, uri: str, obi: Obi, rule: RefreshRule) -> dict[str, Any]:
    """The line of *uri*, on the way of *answer*, with the content that it had."""
    line = VisitLine(
        e="visit", id=uri, time=answer.time, way=list(answer.way), status=answer.status,
        interval=rule.of_same(obi),
    )  # fmt: skip
    both = {"etag": answer.etag, "modified": answer.modified}
    if answer.status == 304:  # it says what of its head has changed (RFC 9110, 15.4.5)
        both = {name: value for name, value in both.items() if value is not None}
    return {**line, **both}


def lines_of_miss(
    answer: FobiAnswer, obis: Mapping[str, Obi], tist: int
) -> Iterator[dict[str, Any]]:
    """The lines of an answer that gave nothing: a miss of what was asked for, or losses.

    What a server says is gone, is gone for all that led there.
    """
    asked = obis.get(answer.uri)
    why = why_lost(asked, answer.miss, tist) if asked else ""
    lost = answer.way if answer.miss == "gone" else (answer.uri,)
    gone = [obis[uri] for uri in lost if uri in obis and why_lost(obis[uri], answer.miss, tist)]
    for obi in gone:
        reason = why or why_lost(obi, answer.miss, tist)
        yield {**DeletionLine(e="deletion", id=obi.id, why=reason, time=answer.time)}
    if not why:
        line = MissLine(e="miss", id=answer.uri, time=answer.time, outcome=answer.miss)
        yield {**line, "error": answer.error} if answer.error else {**line}


def links(
    way: Sequence[str], stored: Collection[str], content: ObiFile, tist: int
) -> dict[str, ObiFile | None]:
    """Return where the symlink of each hop leads that is *stored* at *tist*; None where it has
    none.

    *way* ends with who answered; *content* is where the bytes lie. A hop leads to the next one that
    has a place at this tist, but over at most ten links; two neighbours that differ by a slash at
    the end alone need none, for readers try both (the paper, "redirects").
    """
    last = way[-1]
    places = {last} if last in stored else set[str]()
    target, depth = content, 0
    if places and content != (tist, last):
        target, depth = (tist, last), 1
    found: dict[str, ObiFile | None] = {}
    for hop, onward in reversed(list(pairwise(way))):
        if hop not in stored:
            continue
        if onward in places and hop.removesuffix("/") == onward.removesuffix("/"):
            found[hop] = None
            continue
        if depth == LINKS_MAX:
            target, depth = content, 0
        found[hop] = target
        target, depth = (tist, hop), depth + 1
        places.add(hop)
    return found


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
        """The host to ask, in lower case."""
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
