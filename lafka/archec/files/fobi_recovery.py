"""Recovery after killed crawls of fobis: dead gatherings end, answers that the raw log has and no
journal are stored.

The answers of one run are known by their times: what a journal of that run tells of, or of an
earlier recovery of it, is not stored again. What gave nothing that could be stored is passed over:
it is due still, and asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lafka.archec.files.evidence import OBI, cut_torn, sealed
from lafka.archec.files.fobi_store import FobiFetch, FobiKeeper, FobiRules
from lafka.archec.gather.recovery import RecoveredGathering, UnlistedFiles, content_key, recover
from lafka.archec.records import Kind, Records, event_of, found_of
from lafka.archec.redif.uris import normalise
from lafka.archec.store import pages, texts, tists
from lafka.archec.store.folders import CUT_MARK, Names, ObiStore
from lafka.archec.store.journals import head, read
from lafka.archec.store.lines import version
from lafka.capture.logged import LoggedExchange
from lafka.capture.readback import DeadLog, recovered
from lafka.capture.verdicts import judge
from lafka.errors import BadId, BadJournal, BadUrl, BadWarc
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind
from lafka.warc.format import dates
from lafka.warc.format.sources import CHUNK


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTally:
    """The work of a recovery: gatherings that were ended, answers that were stored."""

    ended: int
    stored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredRun:
    """The recovery of *run*, which is empty for gatherings whose raw log is no more."""

    run: str
    taken: RecoveryTally | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Obis:
    """An obi store as the road knows it: a ``CrawlStore``."""

    store: ObiStore
    records: Records
    rules: FobiRules
    owner_field: str = OBI

    @property
    def root(self) -> Path:
        return self.store.root

    def take_up(self, log: DeadLog, run: str) -> RecoveryTally:
        """Store what is told nowhere; ``StorageTrouble``, ``RecordsAway``."""
        answers = list(_answers(log))
        names = dict(_names(self.store.names, answers))
        ended = sum(1 for _ in self.end_dead(lambda name: names.get(name) or self.named(name), run))
        told = self._journaled(run)
        left = [got for got in answers if _key(got) not in told and _is_stored(got.exchanges[-1])]
        if left:
            self._store_all(left, run)
        return RecoveryTally(ended=ended, stored=len(left))

    def end_dead(
        self, named: Callable[[str], str | None], run: str | None = None
    ) -> Iterator[RecoveredGathering]:
        """End the dead gatherings, those of *run* alone where it is said; as ``recover``.

        *named* gives the id of the fobi whose file has that name.
        """

        def line(path: Path, tist: int) -> dict[str, Any] | None:
            obi = named(path.name)
            return _line_of(self.records, path, obi, tist) if obi else None

        def seal(tist: int) -> dict[str, Any]:
            cut_torn(self.store.evidence(tist))
            return sealed(self.store.evidence(tist))

        unlisted = UnlistedFiles(fobi_line=line, seal=seal, run=run)
        return recover(self.store, self.records, Kind.FOBI, unlisted)

    def named(self, name: str) -> str | None:
        """The id of the fobi whose file has that name; of a cut name, if the records know it."""
        names = self.store.names
        if (obi := names.inverse(name)) is not None:
            return obi if Kind.of(obi) is Kind.FOBI else None
        head, mark, _ = name.partition(CUT_MARK)
        if not mark:
            return None
        known = self.records.walk(Kind.FOBI, unquote(head, errors="ignore"))
        return next((obi.id for obi in known if names.file_name(obi.id) == name), None)

    def _journaled(self, run: str) -> set[tuple[str, str]]:
        """Ids and times of what the journals of *run* tell."""
        found = set()
        for tist in self.store.journals():
            path = self.store.journal(tist)
            try:
                if head(path).get("run") != run:
                    continue
                found |= {(line["id"], line["time"]) for _, line in read(path) if "time" in line}
            except BadJournal:
                continue  # the check tells of it
        return found

    def _store_all(self, left: list[FobiFetch], run: str) -> None:
        keeper = FobiKeeper(self.store, self.records, run=run, rules=self.rules, recovers=True)
        try:
            keeper.begin()
            for got in left:
                keeper.take(got)
            keeper.end()
        finally:
            keeper.close()


def _line_of(records: Records, path: Path, obi: str, tist: int) -> dict[str, Any]:
    """The line of a fobi that has none: what its bytes tell, and when they came."""
    state = path.stat()
    with path.open("rb") as file:
        kind = kind_of(file.read(SNIFF))
        file.seek(0)
        is_page = kind is PayloadKind.HTML and state.st_size <= pages.PAGE_MAX
        if is_page:
            sums = pages.of_file(file.read(), is_page=True)
        else:
            sums, _ = texts.of_pieces(iter(lambda: file.read(CHUNK), b""))
    last = records.last(Kind.FOBI, obi)
    time = tists.to_text(int(state.st_mtime))
    text = {"text": pages.HTML_TEXT} if is_page else {}
    told = version(
        event_of(last), obi, sums, length=state.st_size, found=found_of(last, tist), time=time,
        way=[obi], status=200, kind=str(kind), **text, recovered=True,
    )  # fmt: skip
    return told | {"md5": content_key(records, Kind.FOBI, sums)}


def _answers(log: DeadLog) -> Iterator[FobiFetch]:
    """Yield what was asked and answered, in the order of the log."""
    for bound in log.bound.values():
        try:
            exchanges = log.exchanges(bound, log.known)
        except BadWarc as error:
            log.problems.append(str(error))
            continue
        if exchanges:
            yield FobiFetch(uri=bound.body.first(OBI), exchanges=exchanges)


def _key(got: FobiFetch) -> tuple[str, str]:
    return got.uri, dates.to_text(got.exchanges[-1].time)


def _names(names: Names, answers: list[FobiFetch]) -> Iterator[tuple[str, str]]:
    """The names that the files of these answers have, or were to have, and their ids."""
    for got in answers:
        try:
            obi = normalise(got.exchanges[-1].url)
            yield names.file_name(obi), obi
        except (BadUrl, BadId):
            continue


def _is_stored(last: LoggedExchange) -> bool:
    """Return whether the answer was, or would have been, stored; what it is not is asked
    for again.
    """
    if last.payload is None or last.response is None:
        return False
    verdict = judge(last.payload, truncated=last.truncated, too_big=last.too_big)
    return verdict.is_whole


def recover_fobis(
    obis: Obis, *, keep: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Iterator[RecoveredRun]:
    """Take up what killed crawls left, one run at a time; under the lock of fobis.

    ``BadJournal``, ``StorageTrouble``, ``RecordsAway``.
    """
    for one in recovered(obis, keep=keep, max_entity=obis.rules.max_entity, stopped=stopped):
        yield RecoveredRun(run=one.run, taken=one.taken, problems=one.problems)
    if not stopped():
        # Those whose raw log is gone: somebody removed it, or the power took its folder's name.
        for _ in obis.end_dead(obis.named):
            yield RecoveredRun(run="", taken=RecoveryTally(ended=1, stored=0), problems=())
