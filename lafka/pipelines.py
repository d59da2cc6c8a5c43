"""The only writer of paper WARCs and suwafs: a trail item is copied out of the raw WARC."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import CloseSpider, DropItem

from lafka.capture.run import Run
from lafka.errors import KeeperError, StorageTrouble
from lafka.items import TrailItem
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.paperwarc import StoredCapture
from lafka.papers.archive.recovery import end_of, recover
from lafka.papers.walk.outcomes import Outcome
from lafka.papers.walk.trails import Trail
from lafka.storage.stopping import (
    STORAGE_TROUBLE,
    note_storage_trouble,
    stop_for_storage,
    stopping_for,
    storage,
)
from lafka.storage.threads import Threads

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class PaperWarcPipeline:
    """Says in the raw WARC that a trail has ended, copies it, and fills in where its futs stand.

    An error in one paper stops that paper: its item gets the outcome ``damaged`` and its bytes stay
    in the raw WARC. An error of the disk stops the crawl, and the item has no outcome in this run.
    """

    def __init__(
        self, crawler: Crawler, run: Run, *, writers: int, keep: bool, max_entity: int
    ) -> None:
        self._crawler = crawler
        self._raw = run.raw
        self._threads = Threads("lafka-papers", writers)
        self._keep = keep
        self._max_entity = max_entity

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(
            crawler,
            Run.of(crawler),
            writers=crawler.settings.getint("LAFKA_WRITERS"),
            keep=crawler.settings.getbool("LAFKA_KEEP_RAW"),
            max_entity=crawler.settings.getint("LAFKA_MAX_PAYLOAD"),
        )

    @property
    def _archive(self) -> Archive:
        archive: Archive = self._crawler.spider.archive  # type: ignore[union-attr]
        return archive

    async def open_spider(self) -> None:
        """Copy what killed runs left, before the first futli is asked for."""
        try:
            await self._threads.run(self._recover)
        except StorageTrouble as error:
            note_storage_trouble(self._crawler, error)
            raise CloseSpider(STORAGE_TROUBLE) from error
        if reason := stopping_for(self._crawler):
            raise CloseSpider(reason)

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
            if trail.captures:
                await self._threads.run(self._store, item, trail)
            else:
                await self._raw.in_order(self._store, item, trail)
        except StorageTrouble as error:
            stop_for_storage(self._crawler, error)
            raise DropItem(f"{item.pid}: not stored: {error}", log_level="INFO") from error
        return item

    def _store(self, item: TrailItem, trail: Trail) -> None:
        """Close *trail* and copy it; where its paper is damaged the raw WARC keeps it."""
        archive, pid = self._archive, trail.futli.pid
        with storage(archive.root / "raw"):
            raw = self._raw.log()
            raw.note(trail.number, trail.futli.url, end_of(trail))
        try:
            with storage(archive.warc_path(pid)):
                if trail.captures:
                    with archive.paper(pid) as paper:
                        item.futs = [_fut(added) for added in paper.append(trail.captures)]
                elif trail.has_last_word:
                    archive.close(trail.futli)
        except KeeperError as error:
            logger.error("%s: nothing is stored: %s", pid, error)
            item.outcome, item.error = str(Outcome.DAMAGED), str(error)
            return
        with storage(archive.root / "raw"):
            raw.release(trail.number)

    async def close_spider(self) -> None:
        self._threads.stop()


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
