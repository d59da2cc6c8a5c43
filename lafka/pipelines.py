"""The only writers of stores: what the spiders yield is copied out of the raw WARC."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DropItem, NotConfigured

from lafka.capture.run import Run
from lafka.errors import KeeperError, RecordsAway, StorageTrouble
from lafka.items import FobiItem, StoreItem, TrailItem
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.paperwarc import Stored, StoredCapture, TrailRecord
from lafka.papers.archive.recovery import end_of, recover
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import Trail
from lafka.runs.reporting import RunReports
from lafka.storage.steps import Steps
from lafka.storage.stopping import (
    STORAGE_TROUBLE,
    TROUBLE_STAT,
    note_storage_trouble,
    stop_crawl,
    stop_for_storage,
    stopping_for,
    storage,
)
from lafka.storage.threads import Threads

if TYPE_CHECKING:
    from lafka.archec.files.fobi_thread import FobiThread

logger = logging.getLogger(__name__)


class PaperWarcPipeline:
    """Says in the raw WARC that a trail has ended, copies it, and fills in where its futs stand.

    An error in one paper stops that paper: its item gets the outcome ``damaged`` and its bytes stay
    in the raw WARC. An error of the disk stops the crawl, and the item has no outcome in this run.
    """

    def __init__(self, crawler: Crawler, run: Run, *, keep: bool, max_entity: int) -> None:
        self._crawler = crawler
        self._raw = run.raw
        self._keep = keep
        self._max_entity = max_entity

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not isinstance(getattr(crawler.spider, "archive", None), Archive):
            raise NotConfigured  # silently: another store; ``-a archive=abc`` is RePEc's code
        return cls(
            crawler,
            Run.of(crawler),
            keep=crawler.settings.getbool("LAFKA_KEEP_RAW"),
            max_entity=crawler.settings.getint("LAFKA_MAX_PAYLOAD"),
        )

    @property
    def _archive(self) -> Archive:
        archive: Archive = self._crawler.spider.archive  # type: ignore[union-attr]
        return archive

    async def open_spider(self) -> None:
        """Copy what killed runs left, before the first futli is asked for."""
        await _await_recovery(self._crawler, self._raw.in_order(self._recover))

    def _recover(self) -> None:
        def stopped() -> bool:
            return bool(stopping_for(self._crawler))

        found_runs = recover(
            self._archive, keep=self._keep, stopped=stopped, max_entity=self._max_entity
        )
        for found in found_runs:
            if found.run:
                logger.info(
                    "Recovered the run %s: %d trails copied, %d of them to be asked again",
                    found.run,
                    found.trails,
                    found.opened,
                )
            for problem in found.problems:
                logger.error("%s", problem)

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, TrailItem) or item.ended is None:
            return item
        trail = item.ended
        try:
            stored = await self._raw.commit(trail.futli.pid.path, self._storing, trail)
        except StorageTrouble as error:
            stop_for_storage(self._crawler, error)
            raise DropItem(f"{item.pid}: not stored: {error}", log_level="INFO") from error
        if isinstance(stored, KeeperError):
            logger.error("%s: nothing is stored: %s", item.pid, stored)
            item.outcome, item.error = str(Outcome.DAMAGED), str(stored)
        else:
            item.futs = [_fut(added) for added in stored]
        return item

    def _storing(self, trails: Sequence[Trail]) -> Steps[Sequence[Stored]]:
        """Close *trails*, of one pid, and copy them; what a paper cannot take stays in raw/."""
        archive, pid = self._archive, trails[0].futli.pid
        with storage(archive.root / "raw"):
            raw = self._raw.log()
            for trail in trails:
                raw.note(trail.number, trail.futli.url, end_of(trail))
        with storage(archive.warc_path(pid)):
            found = yield from archive.storing(pid, [_record_of(trail) for trail in trails])
        with storage(archive.root / "raw"):
            for trail, stored in zip(trails, found, strict=True):
                if not isinstance(stored, KeeperError):
                    raw.release(trail.number)
        return found


RECORDS_AWAY = "records-away"
"""Finish reason of a crawl whose database could not be reached any more."""
STORE_DAMAGED = "store-damaged"
"""Finish reason of a crawl that found a line damaged which a journal of its store had sure."""


class ObiStorePipeline:
    """Keeps fobis in the obi store, and fills in what became of each.

    An error in one fobi stops that one, and its bytes stay in the raw WARC; an error of the disk or
    of the database stops the crawl.
    """

    def __init__(self, crawler: Crawler, run: Run) -> None:
        self._crawler = crawler
        self._run = run
        self._thread: FobiThread = crawler.spider.keeping(self._release)  # type: ignore[union-attr]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not hasattr(crawler.spider, "keeping"):
            raise NotConfigured
        return cls(crawler, Run.of(crawler))

    async def open_spider(self) -> None:
        """Take up what killed runs left, before the first fobi is asked for."""
        try:
            await self._thread.begin()
        except (StorageTrouble, RecordsAway, KeeperError) as error:
            raise CloseSpider(self._note_stop(error)) from error
        if reason := stopping_for(self._crawler):
            raise CloseSpider(reason)

    def _release(self, owner: int) -> None:
        with storage(self._run.root / "raw"):
            self._run.raw.log().release(owner)

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, FobiItem):
            return item
        try:
            kept = await self._thread.keep(item.asked, item.number)
        except (StorageTrouble, RecordsAway) as error:
            self._stop(error)
            raise DropItem(f"{item.fobi}: not stored: {error}", log_level="INFO") from error
        if kept is None:
            item.outcome, item.error = str(Outcome.DAMAGED), "it could not be kept; see the log"
        else:
            item.became(kept)
        return item

    def _note_stop(self, error: Exception) -> str:
        """Say, once, why the crawl stops; the finish reason."""
        if isinstance(error, StorageTrouble):
            note_storage_trouble(self._crawler, error)
            return STORAGE_TROUBLE
        is_damage = isinstance(error, KeeperError)
        then = ("No crawl does until it is mended; lafka archec check tells more" if is_damage
                else "The same command goes on afterwards")  # fmt: skip
        assert self._crawler.stats is not None
        if not self._crawler.stats.get_value(TROUBLE_STAT):
            self._crawler.stats.set_value(TROUBLE_STAT, str(error))
            logger.error("The crawl stops: %s. %s.", error, then)
        return STORE_DAMAGED if is_damage else RECORDS_AWAY

    def _stop(self, error: Exception) -> None:
        stop_crawl(self._crawler, self._note_stop(error))

    async def close_spider(self) -> None:
        if not self._thread.has_begun:
            return
        try:
            tists = await self._thread.end()
        except (StorageTrouble, RecordsAway) as error:
            self._note_stop(error)
            return
        if reports := self._crawler.get_extension(RunReports):
            await reports.tell({"gatherings": tists})


async def _await_recovery(crawler: Crawler, recovery: Awaitable[object]) -> None:
    """Wait for *recovery*; a disk that refuses, or a stop meanwhile, ends the crawl."""
    try:
        await recovery
    except StorageTrouble as error:
        note_storage_trouble(crawler, error)
        raise CloseSpider(STORAGE_TROUBLE) from error
    if reason := stopping_for(crawler):
        raise CloseSpider(reason)


def _record_of(trail: Trail) -> TrailRecord:
    closes = trail.has_last_word and not trail.captures
    return TrailRecord(captures=trail.captures, closes=trail.futli.url if closes else "")


def _fut(added: StoredCapture) -> dict[str, Any]:
    """An entry of the feed's ``futs``."""
    fut = added.fut
    values = {
        "url": fut.url,
        "digest": fut.digest,
        "length": fut.l,
        "s": fut.s,
        "l": fut.l,
        "new": added.new,
    }
    return {**values, "label": fut.label} if fut.label else values


class FilesetPipeline:
    """Stores what an ingest wants stored, and lets it go on with what came of that.

    An error in one fileset is its ingest's; an error of the disk stops the crawl.
    """

    def __init__(self, crawler: Crawler, run: Run, *, writers: int, keep: bool) -> None:
        self._crawler = crawler
        self._run = run
        self._threads = Threads("lafka-filesets", writers)
        self._keep = keep

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not hasattr(crawler.spider, "filesets"):
            raise NotConfigured
        settings = crawler.settings
        return cls(
            crawler,
            Run.of(crawler),
            writers=settings.getint("LAFKA_WRITERS"),
            keep=settings.getbool("LAFKA_KEEP_RAW"),
        )

    async def open_spider(self) -> None:
        """Store what killed runs left, before the first request is begun."""
        await _await_recovery(self._crawler, self._threads.run(self._recover))

    def _recover(self) -> None:
        spider: Any = self._crawler.spider
        stopped = lambda: bool(stopping_for(self._crawler))  # noqa: E731
        for found in spider.recover(keep=self._keep, stopped=stopped):
            logger.info("Recovered the run %s: %d captures stored", found.run, found.captures)
            for problem in found.problems:
                logger.error("%s", problem)

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, StoreItem):
            return item
        work, done = item.stored
        try:
            with storage(self._run.root):
                result = await self._threads.run(work)
        except StorageTrouble as error:
            stop_for_storage(self._crawler, error)
            done.cancel()
            raise DropItem(f"{item.fileset}: not stored: {error}", log_level="INFO") from error
        except Exception as error:
            done.set_exception(error)
        else:
            if not done.done():
                done.set_result(result)
        return item

    async def close_spider(self) -> None:
        self._threads.stop()
