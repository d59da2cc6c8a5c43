"""Crawls of fobis without a network, in processes of their own that are killed, refused, cut off.

They do what the crawl's threads do, one after the other: lock, recovery, raw log, keeper. What they
are answered is written down here, so that a run can be watched call by call.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from lafka.archec.checking import check_store
from lafka.archec.files import fobi_store as fobikeeping
from lafka.archec.files.fobi_recovery import Obis, recover_fobis
from lafka.archec.files.fobi_store import FobiFetch, FobiKeeper, FobiRules
from lafka.archec.files.fobis import Choice, DueFobis
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records import Kind
from lafka.archec.records.folding import RefreshRule
from lafka.archec.store.folders import ObiStore
from lafka.capture.logged import LoggedExchange, Provenance
from lafka.capture.rawlog import RawLog
from lafka.errors import BadWarc
from lafka.storage.stopping import storage
from lafka.warc import Volume
from tests.archec.crawling import template
from tests.archec.faults import ordeals
from tests.archec.faults.ordeals import Ordeal, Road, Run
from tests.archec.stores import DAY, START, Home
from tests.faults.storecalls import Plan
from tests.stores import answer, exchange, page, pdf, redirect

H = "http://x.example"
ASKED = ("a", "b", "d", "e", "f", "g", "x")
Answers = dict[str, bytes]


def answers(phase: int) -> Answers:
    """What the site says in a phase, by path; what is not here is an error of the server."""
    always = {"b": redirect(f"{H}/b/"), "b/": redirect(f"{H}/c"), "g": answer(pdf("same"))}
    return always | [
        {"a": answer(pdf("a")), "c": answer(pdf("c")), "d": answer(pdf("d")),
         "e": answer(page("e")), "f": answer(pdf("same"), "chunked")},
        {"a": answer(pdf("a2")), "c": answer(pdf("c")), "d": answer(b"no", status="410 Gone"),
         "e": answer(page("e2")), "f": answer(pdf("f"), "gzip")},
        {"a": answer(pdf("a")), "c": answer(pdf("c2")), "d": answer(pdf("d")),
         "e": answer(pdf("e")), "f": redirect(f"{H}/a")},
    ][phase]  # fmt: skip


@dataclass
class Visitor:
    """Asks for all there is and is answered by *answers*; groups of two, gatherings of three."""

    home: Home
    answers: Answers
    number: int

    def __call__(self) -> None:
        fobikeeping.OBIS_MAX = 3
        store = ObiStore(self.home.archive)
        lock = store.lock(Kind.FOBI)
        with self.home.records(store) as records:
            rules = FobiRules(
                rule=RefreshRule(least=0, most=0),
                clocks=Clocks(now=lambda: self.home.now, monotonic=lambda: 0.0),
                judge_page=lambda *_: ("", ""),
            )
            obis = Obis(store=store, records=records, rules=rules)
            for found in recover_fobis(obis):
                if found.problems:  # holes that the power left: told, and the log stays
                    (self.home.root / "damaged").touch()
            self._crawl(store, records, rules)
        os.close(lock)

    def _crawl(self, store: ObiStore, records: Any, rules: FobiRules) -> None:
        run = f"20261120T101112{self.number:06}Z-test-1"
        keeper = FobiKeeper(store, records, run=run, rules=rules)
        try:
            keeper.begin()
            with storage(store.root):
                raw = RawLog(store.root / "raw", run, config={})
                owners: list[int] = []
                for line in list(DueFobis(store, records, Choice(age=0), self.home.now)):
                    exchanges = tuple(self._asked(raw, line.number, line.uri))
                    keeper.take(FobiFetch(uri=line.uri, exchanges=exchanges))
                    owners.append(line.number)
                    if len(owners) == 2:
                        self._commit(keeper, raw, owners)
                self._commit(keeper, raw, owners)
                keeper.end()
                raw.close()
        finally:
            keeper.close()

    def _commit(self, keeper: FobiKeeper, raw: RawLog, owners: list[int]) -> None:
        keeper.commit()
        while owners:
            raw.release(owners.pop())

    def _asked(self, raw: RawLog, owner: int, uri: str) -> Iterator[LoggedExchange]:
        first = None
        while uri:
            said = self.answers.get(uri.removeprefix(f"{H}/"), answer(b"", status="500 Oops"))
            made = exchange(uri, said)
            logged = raw.record(made, Provenance(owner=owner, fields=(("Obi", uri),)), first)
            assert logged is not None
            yield logged
            first = first or logged
            _, there, rest = said.partition(b"Location: ")
            uri = rest.partition(b"\r\n")[0].decode() if there else ""


@dataclass
class FobiOrdeal(Ordeal):
    """A home whose files are asked for through the phases."""

    phases: ClassVar = 3
    road: ClassVar = Road()

    phase: int = 0

    @property
    def home(self) -> Home:
        return Home(self.root / "home", now=START + (self.runs + 1) * DAY)

    def put(self, phase: int) -> None:
        self.phase = phase
        home = Home(self.root / "home", now=START)
        if not (home.archive / "journal" / f"{START}.jsonl").exists():
            home.put({"abc/wpaper/1.rdf": template(1, *(f"{H}/{name}" for name in ASKED))})
            home.tobi()

    def work(self) -> Callable[[], object]:
        return Visitor(self.home, answers(self.phase), self.runs)

    def run(self, plan: Plan | None = None) -> Run:
        captured = set(self._captured())
        run = super().run(plan)
        if not run.code:
            kept = {hashlib.sha256(data).hexdigest() for data in self.home.objects().values()
                    if isinstance(data, bytes)}  # fmt: skip
            self.troubles += [f"captured and not kept: {one}" for one in captured - kept]
            if not (self.home.root / "damaged").exists():
                self.troubles += [f"left in raw: {path}" for path in self._raw()]
        return run

    def _raw(self) -> list[Path]:
        return sorted((self.home.archive / "raw").glob("*/*.warc"))

    def _captured(self) -> Iterator[str]:
        """The SHA-256 of what stands whole in raw logs of dead runs, of answers with a length."""
        for path in self._raw():
            with suppress(BadWarc), Volume(path, strict=True) as volume:
                for record in volume.records(types=["response"]):
                    head, _, body = record.block().read(0, 1 << 20).partition(b"\r\n\r\n")
                    if head.startswith(b"HTTP/1.1 200") and b"-Encoding" not in head:
                        yield hashlib.sha256(body).hexdigest()

    def moment(self) -> list[str]:
        found = super().moment()
        root = self.home.archive
        for path in sorted((root / "journal").glob("*.jsonl")):
            named = _named(root / "evidence" / f"{path.stem}.warc")
            for line in ordeals.acknowledged(root):
                stored = line.get("e") in ("appearance", "change") and "interval" in line
                if stored and line["tist"] == int(path.stem) and line["way"][-1] not in named:
                    found.append(f"no evidence of {line['id']} at {path.stem}")
        return found

    def end(self) -> list[str]:
        found = super().end()
        return found + [one.code for one in check_store(self.home.archive, rows=self.home.walk())]


def _named(path: Path) -> set[str]:
    """The obis of which an evidence file has the last answer, whole."""
    found: set[str] = set()
    if path.exists():
        with suppress(BadWarc), Volume(path, strict=True) as volume:
            found.update(record.fields.first("Lafka-Obi") for record in volume)
    return found
