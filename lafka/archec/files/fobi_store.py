"""The way of a crawl's fobis into the store: judged, gathered in groups, acknowledged.

For one thread, which the crawl has for it: everything that waits shares its syncs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lafka.archec.files.evidence import Entity, Evidence, ObiExchanges, sealed
from lafka.archec.files.fobis import (
    FobiAnswer,
    lines_of_miss,
    links,
    stored_line,
    visit_line,
    way_of,
)
from lafka.archec.gather.gathering import AGE_MAX, OBIS_MAX, Gathering, NewObi, held_values
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records import Content, Incidence, Kind, LatestVersion, Obi, Records, event_of
from lafka.archec.records.folding import RefreshRule
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.lines import first_line, version
from lafka.archec.store.pages import HTML_TEXT
from lafka.capture.logged import LoggedExchange
from lafka.capture.verdicts import Verdict, judge
from lafka.errors import BadHttp, BadUrl, StorageTrouble
from lafka.payloads import Kind as PayloadKind
from lafka.warc.format import dates

OK = 200
NOT_MODIFIED = 304
GUARDS_MAX = 256 * 1024
"""Bytes of a page that may be a guard's; who says more is none."""
JudgePage = Callable[[str, bytes, str], tuple[str, str]]
"""URL, bytes and Content-Type of a page -> its outcome and why where it is a guard's or a login
page, in place of what was asked for; empty texts for any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FobiFetch:
    """The outcome of asking for the fobi *uri*: its exchanges in the raw log, hops first.

    ``error``: outcome and sentence of a download that gave no response. ``is_same``: the answer is
    a 304 to validators that belong to who answered.
    """

    uri: str
    exchanges: tuple[LoggedExchange, ...] = ()
    error: tuple[str, str] | None = None
    is_same: bool = False
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FobiOutcome:
    """The fate of a fobi once its gathering has committed: ``outcome`` an incidence, or a miss's.

    ``md5`` and ``length`` are of the content that is there now.
    """

    outcome: str
    tist: int
    answer: FobiAnswer
    md5: str | None = None
    length: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FobiRules:
    """Values that a keeper of fobis needs beside its store."""

    rule: RefreshRule
    clocks: Clocks
    judge_page: JudgePage
    max_entity: int = 0


class FobiGathering(Gathering):
    """A gathering that keeps evidence, and knows which obis it has stored."""

    def __init__(self, store: ObiStore, *args: Any) -> None:
        super().__init__(store, *args)
        self.ids: set[str] = set()
        self.touched: set[str] = set()
        self.witnesses: list[ObiExchanges] = []
        self._evidence = Evidence(store, self.tist)

    def _witness(self) -> None:
        witnesses, self.witnesses = self.witnesses, []
        self._evidence.append(witnesses)

    def commit(self) -> None:
        super().commit()
        self.touched.clear()

    def end(self, *, seconds: float, **more: Any) -> None:
        self.commit()
        try:
            told = sealed(self._evidence.path)
        except OSError as error:
            raise StorageTrouble(self._evidence.path, error) from error
        super().end(seconds=seconds, **more, **told)

    def close(self) -> None:
        super().close()
        self._evidence.close()


class FobiKeeper:
    """Keeps what the run *run* gets; *begin* a gathering first, *end* it at last.

    *recovers*: its lines say that they were written by a recovery. ``StorageTrouble``,
    ``RecordsAway`` from each method; then the same command goes on.
    """

    def __init__(
        self, store: ObiStore, records: Records, *, run: str, rules: FobiRules,
        recovers: bool = False,
    ) -> None:  # fmt: skip
        self._store, self._records = store, records
        self._rule, self._clocks = rules.rule, rules.clocks
        self._judge_page = rules.judge_page
        self._head = first_line(Kind.FOBI, run)
        self._more = {"recovered": True} if recovers else {}
        self._gathering: FobiGathering | None = None
        self._began = 0.0
        self.tists: list[int] = []

    @property
    def _now(self) -> FobiGathering:
        assert self._gathering is not None  # begun
        return self._gathering

    def begin(self) -> None:
        """Take a tist: now, or the one behind the last of its kind."""
        last = max((one.tist for one in self._records.gatherings() if one.kind == Kind.FOBI),
                   default=0)  # fmt: skip
        self._begin(max(self._clocks.now(), last + 1))

    def _begin(self, tist: int) -> None:
        self._gathering = FobiGathering.begin(
            self._store, self._records, Kind.FOBI, self._head, not_before=tist
        )
        self._began = self._clocks.monotonic()
        self.tists.append(self._now.tist)

    def _roll(self) -> None:
        self.end()
        self._begin(max(self._now.tist + 1, self._clocks.now()))

    def commit(self) -> None:
        """Acknowledge all that was taken."""
        self._now.commit()

    def end(self) -> None:
        """Commit, and close the journal with its last line."""
        self._now.end(seconds=self._clocks.monotonic() - self._began)

    def close(self) -> None:
        """Let go of a gathering that cannot be ended: as if it had been killed."""
        if self._gathering is not None:
            self._gathering.close()

    # What came --------------------------------------------------------------------------------

    def take(self, got: FobiFetch) -> FobiOutcome:
        """Judge what came and take it into the group."""
        answer = self._answer(got)
        self._settle({answer.uri, *answer.way})
        if not answer.miss and got.is_same:
            return self._same(answer)
        if not answer.miss:
            try:
                return self._new(answer, got.exchanges)
            except BadHttp as error:  # of a log that was damaged since
                answer = replace(answer, miss=str(Verdict.TRUNCATED), error=str(error))
        return self._missed(answer)

    def _settle(self, uris: set[str]) -> None:
        """Commit the group if it says anything of *uris*: the records have to know that first."""
        if uris & self._now.touched:
            self._now.commit()
        aged = self._clocks.monotonic() - self._began > AGE_MAX
        if aged or self._now.stored >= OBIS_MAX:
            self._roll()
        self._now.touched |= uris

    def _answer(self, got: FobiFetch) -> FobiAnswer:
        time = dates.to_text(got.exchanges[-1].time) if got.exchanges else got.time
        answer = FobiAnswer(uri=got.uri, time=time, way=(got.uri,))
        if got.error:
            return replace(answer, miss=got.error[0], error=got.error[1])
        try:
            way = way_of([got.uri, *(exchange.url for exchange in got.exchanges)])
        except BadUrl as error:
            return replace(answer, miss=str(Verdict.BAD_URL), error=str(error))
        return self._judged(replace(answer, way=way), got)

    def _judged(self, answer: FobiAnswer, got: FobiFetch) -> FobiAnswer:
        if not got.exchanges:
            return replace(answer, miss=str(Verdict.BAD_HTTP), error="no answer")
        last = got.exchanges[-1]
        if last.response is None or last.payload is None:
            return replace(answer, miss=str(Verdict.BAD_HTTP), error="the answer is no HTTP")
        answer = replace(answer, status=last.payload.status)
        if got.is_same:
            return self._described(answer, last)
        outcome, error = _outcome(last)
        if outcome:
            return replace(answer, miss=outcome, error=error)
        guard, why = self._guard(last)
        if guard:
            return replace(answer, miss=guard, error=why)
        return self._described(answer, last)

    def _guard(self, last: LoggedExchange) -> tuple[str, str]:
        assert last.payload
        assert last.response
        if last.payload.kind is not PayloadKind.HTML or last.payload.length > GUARDS_MAX:
            return "", ""
        with Entity(last.response) as entity:
            body = entity.beginning(GUARDS_MAX)
        return self._judge_page(last.url, body, last.payload.content_type)

    def _described(self, answer: FobiAnswer, last: LoggedExchange) -> FobiAnswer:
        assert last.payload
        assert last.response
        with Entity(last.response) as entity:
            return replace(
                answer,
                mime=last.payload.content_type.partition(";")[0].strip().lower()[:100],
                kind=str(last.payload.kind),
                etag=entity.validator("ETag"),
                modified=entity.validator("Last-Modified"),
            )

    def _missed(self, answer: FobiAnswer) -> FobiOutcome:
        obis = self._obis([answer.uri, *answer.way])
        lines = list(lines_of_miss(answer, obis, self._now.tist))
        self._make_room(line["id"] for line in lines if line["e"] == Incidence.DELETION)
        kept = FobiOutcome(outcome=answer.miss, tist=self._now.tist, answer=answer)
        for line in lines:
            self._note(line)
            if line["id"] == answer.uri and line["e"] == Incidence.DELETION:
                kept = replace(kept, outcome=str(Incidence.DELETION), why=line["why"])
        return kept

    def _make_room(self, uris: Iterable[str]) -> None:
        """At one tist an obi appears, changes or goes once: else it is the next gathering's."""
        uris = set(uris)
        if self._now.ids & uris:
            touched = set(self._now.touched)
            self._roll()
            self._now.touched |= touched
        self._now.ids |= uris

    def _note(self, line: Mapping[str, Any]) -> None:
        self._now.note({**line, **self._more})

    def _obis(self, uris: Iterable[str]) -> dict[str, Obi]:
        found = ((uri, self._records.history(uri)) for uri in dict.fromkeys(uris))
        return {uri: obi for uri, obi in found if obi is not None}

    # What is there ----------------------------------------------------------------------------

    def _same(self, answer: FobiAnswer) -> FobiOutcome:
        """A 304: the content is the one that was there."""
        last = self._records.last(Kind.FOBI, answer.uri)
        content = self._content(last)
        if last is None or content is None:
            error = "a 304 about a content that is not in the store"
            return self._missed(replace(answer, miss=str(Verdict.BAD_HTTP), error=error))
        obi = self._records.history(answer.uri)
        answer = replace(answer, kind=(obi.payload if obi else None) or "", mime="")
        return self._note_way(answer, content.text_sha256, content, None)

    def _content(self, last: LatestVersion | None) -> Content | None:
        if last is None or last.md5 is None:
            return None
        held = self._records.held(Kind.FOBI, last.md5[:32])
        return next((content for content in held if content.md5 == last.md5), None)

    def _new(self, answer: FobiAnswer, exchanges: Sequence[LoggedExchange]) -> FobiOutcome:
        """A 200, whole."""
        response = exchanges[-1].response
        assert response is not None  # judged
        with Entity(response) as entity:
            sums, is_page = entity.checksums(PayloadKind(answer.kind))
            if is_page:
                answer = replace(answer, text=HTML_TEXT)
            mtime = int(exchanges[-1].time.timestamp())
            line = version("appearance", answer.way[-1], sums, length=entity.size, found=0)
            stored = NewObi(data=entity, mtime=mtime, line=line)  # and what becomes of it
            return self._note_way(answer, sums.text_sha256, stored, exchanges)

    def _note_way(
        self, answer: FobiAnswer, text: str, content: Content | NewObi,
        exchanges: Sequence[LoggedExchange] | None,
    ) -> FobiOutcome:  # fmt: skip
        """Each obi on the way with its incidence."""
        obis, lasts = self._obis(answer.way), self._records.last_many(Kind.FOBI, answer.way)
        events = {uri: event_of(lasts.get(uri), text) for uri in answer.way}
        stored = [uri for uri in answer.way if events[uri] is not Incidence.VISIT]
        self._make_room(stored)
        for uri in answer.way:
            if events[uri] is Incidence.VISIT:
                self._note(visit_line(answer, uri, obis[uri], self._rule))
        lines = {
            uri: {
                **stored_line(
                    answer,
                    uri,
                    events[uri],
                    obi=obis.get(uri),
                    tist=self._now.tist,
                    rule=self._rule,
                ),
                **self._more,
            }
            for uri in stored
        }
        held = self._put(answer, lines, content, lasts)
        self._link(answer, lines, held)
        if exchanges and (stored or self._more):  # what was rolled forward may have none yet
            self._keep(answer, exchanges, held)
        return FobiOutcome(outcome=str(events[answer.uri]), tist=self._now.tist, answer=answer,
                    md5=held.md5, length=held.length)  # fmt: skip

    def _put(
        self, answer: FobiAnswer, lines: dict[str, dict[str, Any]], content: Content | NewObi,
        lasts: Mapping[str, LatestVersion],
    ) -> Content:  # fmt: skip
        """Store who answered, where that is new; the content, where it lies."""
        bar = answer.way[-1]
        if isinstance(content, Content):
            if bar in lines:
                self._now.link(_held_line(lines.pop(bar), content), (content.tist, content.id))
            return content
        if bar not in lines:
            held = self._content(lasts.get(bar))
            assert held is not None  # its text is the last one's
            return held
        return self._now.put(replace(content, line={**content.line, **lines[bar]}))

    def _link(self, answer: FobiAnswer, lines: Mapping[str, dict[str, Any]], held: Content) -> None:
        place = (held.tist, held.id)
        for uri, to in links(answer.way, lines.keys(), place, self._now.tist).items():
            self._now.link(_held_line(lines[uri], held), to)

    def _keep(self, answer: FobiAnswer, exchanges: Sequence[LoggedExchange], held: Content) -> None:
        place = self._store.path(held.tist, held.id).relative_to(self._store.root).as_posix()
        self._now.witnesses.append(
            ObiExchanges(
                exchanges=tuple(exchanges), obi=answer.way[-1], place=place, sha256=held.sha256
            )
        )


def _held_line(line: Mapping[str, Any], held: Content) -> dict[str, Any]:
    return {**line, **held_values(held)}


def _outcome(last: LoggedExchange) -> tuple[str, str]:
    """Outcome and sentence of an answer that cannot be stored; empty where it is a whole 200."""
    payload = last.payload
    assert payload is not None
    verdict = judge(payload, truncated=last.truncated, too_big=last.too_big, dropped=last.dropped)
    if payload.status == NOT_MODIFIED:
        return str(Verdict.BAD_HTTP), "HTTP status 304, which nobody has asked for"
    if not verdict.is_whole:
        return str(verdict), payload.trouble or f"HTTP status {payload.status}"
    if payload.status != OK:
        return str(Verdict.BAD_HTTP), f"HTTP status {payload.status}"
    return "", ""
