"""The spider ``fobi``: asks for the files that RePEc data points at, when they are due."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from twisted.python.failure import Failure

from lafka.archec.files.evidence import OBI
from lafka.archec.files.fobi_recovery import Obis, recover_fobis
from lafka.archec.files.fobi_store import FobiFetch, FobiKeeper
from lafka.archec.files.fobi_summary import HELD, FobiGroup, FobiSummary, FobiTally
from lafka.archec.files.fobi_thread import FobiThread
from lafka.archec.files.fobis import Choice, DueFobis, FobiForm, FobiLine, is_trusted
from lafka.archec.records import Kind
from lafka.archec.records.opening import open_records
from lafka.archec.store.folders import ObiStore
from lafka.capture.failures import is_bug, verdict_of
from lafka.capture.logged import LoggedHops, Provenance
from lafka.capture.middlewares import LOGGED_KEY, PROVENANCE_KEY
from lafka.capture.run import Run
from lafka.capture.verdicts import Verdict, judge
from lafka.errors import BadJournal, BadList, BadStore, RecordsAway
from lafka.items import FOBI_FIELDS, FobiItem
from lafka.politeness.feeder import HostFeeder
from lafka.runs import validation
from lafka.runs.feed import add_outcome_feed
from lafka.runs.progress import ProgressGoal
from lafka.runs.sources import GUESTS, archive_line
from lafka.spiders.fobi_arguments import ARGUMENTS, choice_of, due_lines, fobi_rules
from lafka.spiders.obi_settings import INODES_LOW, open_store, records_of
from lafka.spiders.road import RoadSpider
from lafka.storage.folders import make_folders
from lafka.storage.stopping import stopping_for
from lafka.warc.format import dates

ASKED_KEY = "lafka_fobi"
"""Key of ``request.meta``: the FobiAsk that the request is for."""
_ELSEWHERE = (Verdict.NOT_FOUND, Verdict.GONE)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FobiAsk:
    """A request for a fobi: of which line, and the number that owns its exchanges.

    ``line.uri`` is asked for; ``requests`` were made for it before.
    """

    line: FobiLine
    owner: int
    requests: int = 0


class FobiSpider(RoadSpider[FobiLine]):
    """``lafka crawl fobi``; docs/reference.md has its arguments."""

    name = "fobi"
    store_setting = "LAFKA_OBJECT_STORE"
    aim = ProgressGoal("files", frozenset(map(str, HELD)), "files")

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        add_outcome_feed(settings, fields=list(FOBI_FIELDS))

    @classmethod
    def check(cls, settings: BaseSettings, given: dict[str, str]) -> None:
        """Raise a LafkaError, one sentence, where a crawl with these arguments cannot begin."""
        store, _ = cls._options(settings, given)
        os.close(store.lock(Kind.FOBI))

    @classmethod
    def check_lines(cls, settings: BaseSettings, given: Mapping[str, str]) -> list[str]:
        """``-a check=1``: lines that say how many are due, and what is left out."""
        store, choice = cls._options(settings, given)
        with records_of(settings, store) as records:
            return [*due_lines(DueFobis(store, records, choice, int(time.time())))]

    @staticmethod
    def _options(settings: BaseSettings, given: Mapping[str, str]) -> tuple[ObiStore, Choice]:
        validation.check(settings)
        fobi_rules(settings)
        choice = choice_of(settings, given)
        return open_store(settings), choice

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        store, choice = cls._options(crawler.settings, kwargs)
        # Scrapy would make attributes of them, and ``archive`` is an archive of papers elsewhere.
        spider = super().from_crawler(crawler, *args)
        spider.store, spider.choice, spider.given = store, choice, dict(kwargs)
        spider.database = crawler.settings["LAFKA_CACHING_DATABASE"]
        lock = store.lock(Kind.FOBI)
        try:
            make_folders(store.root / "raw")
            if not crawler.settings.get("LAFKA_SPOOL_DIR"):
                crawler.settings.set("LAFKA_SPOOL_DIR", str(store.root / "raw"), priority="spider")
            spider.run = Run.begin(crawler, store.root, lock=lock)
        except BaseException:
            os.close(lock)
            raise
        if crawler.settings.get("LOG_FILE"):
            logger.info(archive_line(crawler.settings, cls.store_setting))
        spider.take_road(crawler)
        return spider

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store: ObiStore
        self.choice: Choice
        self.given: dict[str, str]
        self.database = ""
        self._owners = 0
        self._more = 0
        self._tally = FobiTally()

    def keeping(self, release: Callable[[int], object]) -> FobiThread:
        """A thread that stores what killed runs left, then what it is given; *release* as there."""
        return FobiThread(self._keeper, release)

    def _keeper(self) -> FobiKeeper:
        settings = self.crawler.settings
        rules, records = fobi_rules(settings), open_records(self.store, self.database)
        if (share := self.store.free_inodes()) < INODES_LOW:
            logger.warning("%.1f%% of the disk's inodes are free", 100 * share)
        found = recover_fobis(
            Obis(store=self.store, records=records, rules=rules),
            keep=settings.getbool("LAFKA_KEEP_RAW"),
            stopped=lambda: bool(stopping_for(self.crawler)),
        )
        for one in found:
            if one.taken:
                logger.info(
                    "Recovered %s: %d gatherings ended, %d fobis stored",
                    f"the run {one.run}" if one.run else "a gathering without a raw log",
                    one.taken.ended,
                    one.taken.stored,
                )
            for problem in one.problems:
                logger.error("%s", problem)
        keeper = FobiKeeper(self.store, records, run=self.run.name, rules=rules)
        keeper.begin()
        return keeper

    # The list ---------------------------------------------------------------------------------

    def new_feeder(self, path: Path) -> HostFeeder[FobiLine]:
        return HostFeeder(path, FobiForm(), per_host=self.per_host, probes=1)

    def load(self, feeder: HostFeeder[FobiLine]) -> dict[str, Any] | None:
        try:
            records = open_records(self.store, self.database)
            try:
                due = DueFobis(self.store, records, self.choice, int(time.time()))
                whole = feeder.load(due)
            finally:
                records.close()
        except (RecordsAway, BadStore, BadJournal) as error:
            raise BadList(str(error)) from None
        left_out = dict(sorted(due.counts.items()))
        lines = {"whole": True, "lines": feeder.total + self._more, "left_out": left_out}
        return lines if whole else None

    async def started(self, lines: list[FobiLine]) -> list[Request | Any]:
        for line in lines:
            self.places.begin(line)
        return [self._request(FobiAsk(line=line, owner=self._owner())) for line in lines]

    def _owner(self) -> int:
        self._owners += 1
        return self._owners

    def number_of(self, meta: Mapping[str, Any]) -> int | None:
        ask = meta.get(ASKED_KEY)
        return ask.line.number if isinstance(ask, FobiAsk) else None

    def report_fields(self) -> dict[str, Any]:
        given = {name: self.given[name] for name in ARGUMENTS if name in self.given}
        return {
            "job": self.given.get(GUESTS[0]),
            "list": {"path": str(self.store.root.absolute()), "whole": False, "lines": None},
            "arguments": given,
        }

    def heard(self, item: dict[str, Any]) -> None:
        """Count a line of the outcome feed that is on the disk, in the feed's thread."""
        self._tally.add(item)

    def summary(self, values: Mapping[str, Any]) -> FobiSummary:
        """Return what came of the run whose closing report is *values*."""
        return FobiSummary.of(values, self._tally, self.store.root)

    @staticmethod
    def group_of(outcome: str) -> str:
        return str(FobiGroup.of(outcome))

    # Answers ----------------------------------------------------------------------------------

    def _request(self, ask: FobiAsk) -> Request:
        line = ask.line
        both = {"If-None-Match": line.etag, "If-Modified-Since": line.modified}
        return Request(
            line.uri,
            callback=self.parse,
            errback=self.failed,
            headers={name: value for name, value in both.items() if value},
            meta={
                ASKED_KEY: ask,
                PROVENANCE_KEY: Provenance(owner=ask.owner, fields=((OBI, line.uri),)),
                "cookiejar": ask.owner,
            },
            dont_filter=True,
        )

    async def parse(self, response: Response) -> AsyncIterator[Request | FobiItem]:
        request = response.request
        assert request is not None
        ask: FobiAsk = request.meta[ASKED_KEY]
        hops: LoggedHops = request.meta.get(LOGGED_KEY) or LoggedHops()
        same = response.status == 304
        if same and not is_trusted(ask.line, response.url, _header(response, "ETag")):
            if ask.line.etag or ask.line.modified:
                logger.info("%s: a 304 that is not believed, asked for anew", ask.line.uri)
                line = replace(ask.line, etag=None, modified=None)
                yield self._request(replace(ask, line=line, requests=hops.requests))
                return
            same = False
        got = FobiFetch(uri=ask.line.uri, exchanges=hops.exchanges, is_same=same)
        async for next_ in self._answered(ask, got, hops):
            yield next_

    async def failed(self, failure: Failure) -> AsyncIterator[Request | FobiItem]:
        """The errback: a download that gave no response."""
        error: BaseException = failure.value  # type: ignore[assignment]
        request: Request = failure.request  # type: ignore[attr-defined]
        if not await self.is_the_sites(request, error):
            return
        ask: FobiAsk = request.meta[ASKED_KEY]
        if is_bug(error):
            info = type(error), error, error.__traceback__
            logger.error("%s: %s failed", ask.line.uri, request.url, exc_info=info)
        verdict, sentence = verdict_of(error)
        hops: LoggedHops = request.meta.get(LOGGED_KEY) or LoggedHops()
        time_ = dates.to_text(datetime.now(UTC))
        got = FobiFetch(uri=ask.line.uri, exchanges=hops.exchanges, error=(str(verdict), sentence),
                  time=time_)  # fmt: skip
        async for next_ in self._answered(ask, got, hops):
            yield next_

    async def _answered(
        self, ask: FobiAsk, got: FobiFetch, hops: LoggedHops
    ) -> AsyncIterator[Request | FobiItem]:
        self.places.answered(ask.line.number)
        requests = ask.requests + hops.requests
        yield FobiItem(fobi=ask.line.uri, requests=requests, got=got, owner=ask.owner)
        if ask.line.seconds and _is_elsewhere(got):
            uri, *seconds = ask.line.seconds
            self._more += 1
            feeder = self.feeder
            if feeder is not None and feeder.loaded:
                await self.tell_of_list({"whole": True, "lines": feeder.total + self._more})
            line = FobiLine(number=ask.line.number, uri=uri, seconds=tuple(seconds))
            yield self._request(FobiAsk(line=line, owner=self._owner()))
        else:
            self.places.end(ask.line.number)


def _header(response: Response, name: str) -> str:
    return (response.headers.get(name) or b"").decode("latin-1").strip()


def _is_elsewhere(got: FobiFetch) -> bool:
    """Return whether what was asked for is not there, so that another form of its URL may be."""
    if got.error or not got.exchanges:
        return False
    return judge(got.exchanges[-1].payload) in _ELSEWHERE
