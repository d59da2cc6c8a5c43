"""The services that all ingests of a run share: Scrapy's scheduler, pipeline, threads, topics."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from lafka.capture.handler import GROUP_KEY, SINK_KEY
from lafka.capture.logged import LoggedHops, Provenance
from lafka.capture.middlewares import LOGGED_KEY, PROVENANCE_KEY
from lafka.capture.run import Run
from lafka.errors import Stopped, StorageTrouble
from lafka.filesets.archive.filesets import BOUND, Filesets
from lafka.filesets.archive.index import HitIndex
from lafka.filesets.bundles.children import BundleChildren
from lafka.filesets.crawling.answers import RequestOutcome
from lafka.filesets.crawling.arguments import Arguments
from lafka.filesets.crawling.downloads import PartSink
from lafka.filesets.crawling.lines import Inbox, ThreadRunner
from lafka.filesets.crawling.tokens import PlatformBases
from lafka.filesets.model.bundles import BundleLimits
from lafka.filesets.model.messages import file_result
from lafka.filesets.results import group, key, results
from lafka.filesets.walk import Rules
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.producing import Producer, TooLarge
from lafka.jobs.lines import burying
from lafka.politeness.failures import not_the_sites
from lafka.storage.stopping import stop_for_storage, stopping_for, storage
from lafka.storage.threads import Threads, the_reactor

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """A request as it is to go out: at most ``most`` bytes; ``robots``: its rules are asked.

    ``is_proved``: a digest tells whether what comes is its answer, so that it may go on a
    connection that carried others of its owner. What nothing proves has a connection of its own.
    """

    url: str
    fields: tuple[tuple[str, str], ...]
    most: int
    tries: int
    robots: bool = True
    is_proved: bool = False
    accept: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    sink: PartSink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestServices:
    """The services that all ingests of a run share."""

    wire: CrawlWire
    rules: Rules
    filesets: Filesets
    index: HitIndex
    children: BundleChildren
    bases: PlatformBases
    run: str
    collection: str
    locks: dict[str, asyncio.Lock]
    landing_max: int
    keep_free: int
    tries: int
    robots_everywhere: bool = False
    dry: bool = False

    def public(self, message: str) -> str:
        """*message* without where this machine keeps its files and which mirrors it asks."""
        for folder in (self.filesets.items.work, self.filesets.root):
            message = re.sub(rf"(?<![^\s'\"(]){re.escape(str(folder))}/", "", message)
        return self.bases.told_in(message)

    @property
    def bundle_limits(self) -> BundleLimits:
        """Return the limits of a bundle."""
        limits = self.rules.limits
        return BundleLimits.for_files(limits.max_files, limits.max_total)


class DryRunEnd(Exception):
    """The walk has come as far as it goes without a download; ``told`` is what it found."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__("dry run")
        self.told = told


CAME = "came"
"""Key of a request's ``cb_kwargs``: who waits for its answer."""
NO_TIMEOUT = 10 * 365 * 86_400.0
"""Seconds; the stall timeout and the minimum rate end what does not move."""
GO_ON = 10
"""Priority of the requests of ingests in progress: they go before landing pages."""
_THREADS = 4

Handed = Callable[[str, Callable[[], Any], "asyncio.Future[Any]"], object]
"""Gives the pipeline work for a fileset, and the future that is to have what it gives."""


class CrawlWire:
    """The requests and the storing of ingests: by Scrapy's scheduler and pipeline.

    *crawler* is the crawl, *run* its run; *hand* has the pipeline work.
    """

    def __init__(self, crawler: Crawler, run: Run, hand: Handed) -> None:
        self._crawler = crawler
        self._run = run
        self._hand = hand
        self._threads = Threads("lafka-ingests", _THREADS)

    async def get(self, owner: int, wanted: PlannedRequest) -> RequestOutcome:
        """Put a request through the scheduler, and wait for what comes of it."""
        came: asyncio.Future[RequestOutcome] = asyncio.get_running_loop().create_future()
        try:
            request = self._request(owner, wanted, came)
        except ValueError as error:  # what Scrapy takes for no URL
            return RequestOutcome(hops=LoggedHops(), error=error)
        if stopping_for(self._crawler) or self._crawler.engine is None:
            raise Stopped(f"{wanted.url}: not asked, for the crawl stops")
        self._crawler.engine.crawl(request)
        return await came

    def _request(
        self, owner: int, wanted: PlannedRequest, came: asyncio.Future[RequestOutcome]
    ) -> Request:
        return Request(
            wanted.url,
            callback=self._answered,
            errback=self._failed,
            headers=dict(wanted.headers) | ({"Accept": wanted.accept} if wanted.accept else {}),
            meta={
                PROVENANCE_KEY: Provenance(owner=owner, fields=wanted.fields),
                "cookiejar": owner,
                GROUP_KEY: owner if wanted.is_proved else None,
                "download_maxsize": wanted.most,
                "max_retry_times": wanted.tries - 1,
                "dont_obey_robotstxt": not wanted.robots,
                **(_streamed(wanted.sink) if wanted.sink else {}),
            },
            cb_kwargs={CAME: came},
            priority=GO_ON,
            dont_filter=True,
        )

    async def _answered(self, response: Response, came: asyncio.Future[RequestOutcome]) -> None:
        request = response.request
        assert request is not None
        if not came.done():
            came.set_result(RequestOutcome(hops=request.meta.get(LOGGED_KEY) or LoggedHops()))

    async def _failed(self, failure: Failure) -> None:
        """The errback: a download that gave no response."""
        request: Request = failure.request  # type: ignore[attr-defined]
        came: asyncio.Future[RequestOutcome] = request.cb_kwargs[CAME]
        error: BaseException = failure.value  # type: ignore[assignment]
        trouble = not_the_sites(error)
        if isinstance(trouble, StorageTrouble):
            stop_for_storage(self._crawler, trouble)
        if came.done():
            return
        if trouble is not None:
            came.set_exception(trouble)
        else:
            hops = request.meta.get(LOGGED_KEY) or LoggedHops()
            came.set_result(RequestOutcome(hops=hops, error=error))

    async def store(self, fileset: str, work: Callable[[], Any], *, later: bool = False) -> Any:
        """Have the pipeline do *work* in a thread; what it gives.

        What is only to be committed *later* is done beside it: an item of a crawl takes longer.
        """
        if stopping_for(self._crawler):
            raise Stopped(f"{fileset}: not stored, for the crawl stops")
        if later:
            with storage(self._run.root):
                return await self.aside(work)
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._hand(fileset, work, done)
        return await done

    def call(self, work: Callable[[], object]) -> object:
        """Have *work* done in the reactor's thread."""
        return the_reactor().callFromThread(work)

    async def bind(self, owner: int, fileset: str, captures: list[str]) -> None:
        """Note in the raw log whose *captures* are: a recovery stores them by it."""
        await self._run.raw.in_order(self._bind, owner, fileset, captures)

    def _bind(self, owner: int, fileset: str, captures: list[str]) -> None:
        self._run.raw.log().note(owner, fileset, {BOUND: fileset, "captures": captures})

    async def aside(self, work: Callable[..., Any], *args: Any) -> Any:
        """Return what *work* gives, done in a thread."""
        return await self._threads.run(work, *args)

    def stop(self) -> None:
        """End the threads, after what they do."""
        self._threads.stop()


def _streamed(sink: PartSink) -> dict[str, Any]:
    """Return what a request's meta says of a body that goes past the raw WARC, as long as
    it comes.
    """
    return {SINK_KEY: sink, "download_timeout": NO_TIMEOUT, "dont_retry": True}


class _Owed:
    """A request's result, and how many acknowledgements it waits for."""

    def __init__(self, result: Mapping[str, Any], left: int) -> None:
        self.result = result
        self._left = left
        self._turn = threading.Lock()

    def came(self) -> bool:
        """One more acknowledgement came; whether it was the last."""
        with self._turn:
            self._left -= 1
            return not self._left


class Publisher:
    """Sends results by *producer* to *topics*, those of filesets and of files.

    *acknowledged* is called with a fileset's result when all of it is at the broker, *failed* with
    what ends the publishing; in whatever thread.
    """

    def __init__(
        self,
        producer: Producer,
        topics: tuple[str, str],
        *,
        acknowledged: Callable[[Mapping[str, Any]], object],
        failed: Callable[[BrokerTrouble | StorageTrouble], object],
    ) -> None:
        self._producer = producer
        self._filesets, self._files = topics
        self._acknowledged = acknowledged
        self._failed = failed
        self._files_owed: defaultdict[str, deque[_Owed]] = defaultdict(deque)
        self.published = 0

    def publish(self, results: Sequence[dict[str, Any]]) -> None:
        """Send *results*, in the feed's order: a file's behind its fileset's. From one thread.

        One whose request has no type or no URL has no key, and is told in the feed alone.
        """
        for result in results:
            request = result["request"]
            if not (request.get("ingest_type") and request.get("base_url")):
                self._acknowledged(result)
            elif owed := self._owed_for(key(result)):
                self._send(self._files, result, owed)
            else:
                self._publish(result)

    def _publish(self, result: dict[str, Any]) -> None:
        file = file_result(result)
        owed = _Owed(result, 1 if file is None else 2)
        if file is not None:
            self._files_owed[key(file)].append(owed)
        self._send(self._filesets, result, owed)

    def _owed_for(self, name: str) -> _Owed | None:
        """Return the request whose file result has the key *name*."""
        if name not in self._files_owed:
            return None
        waiting = self._files_owed[name]
        owed = waiting.popleft()
        if not waiting:
            del self._files_owed[name]
        return owed

    def _send(self, topic: str, result: dict[str, Any], owed: _Owed) -> None:
        text = json.dumps(result, ensure_ascii=False).encode("utf-8", "backslashreplace")
        answer = self._producer.send(topic, key(result), text)
        answer.add_done_callback(lambda answer: self._answered(answer, topic, result, owed))

    def _answered(
        self, answer: Future[None], topic: str, result: dict[str, Any], owed: _Owed
    ) -> None:
        try:
            answer.result()
            self.published += 1
            if owed.came():
                self._acknowledged(owed.result)
        except TooLarge as error:
            if "manifest" in result:
                self._send(topic, without_manifest(result), owed)
            else:
                self._failed(error)
        except (BrokerTrouble, StorageTrouble) as error:
            self._failed(error)

    def close(self) -> None:
        """Wait until all is acknowledged; ``BrokerTrouble`` where it is not in half a minute."""
        self._producer.close()


def without_manifest(result: Mapping[str, Any]) -> dict[str, Any]:
    """*result* as it is told where a message of the whole would be too large."""
    left = {name: value for name, value in result.items() if name != "manifest"}
    return {**left, "manifest_truncated": True}


class Brokers:
    """Publishes results, and reads requests where the *arguments* name a topic; made in the loop.

    *names*: prefix and environment of topics and groups. *acknowledged* is called, in a thread,
    with each result that is at the broker, before its request is done; *let_go*, in a thread, with
    the places of messages that are another worker's by now; *failed*, in the loop, with what ends
    reading or publishing.
    """

    def __init__(
        self,
        arguments: Arguments,
        names: tuple[str, str],
        *,
        aside: ThreadRunner,
        dead: Path,
        acknowledged: Callable[[Mapping[str, Any]], object],
        let_go: Callable[[list[str]], object],
        failed: Callable[[BrokerTrouble | StorageTrouble], object],
        window: int,
        properties: Mapping[str, str],
    ) -> None:
        loop = asyncio.get_running_loop()

        def told(error: BrokerTrouble | StorageTrouble) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(lambda: failed(error))

        self._acknowledged, self._let_go, self._told = acknowledged, let_go, told
        self.publisher = Publisher(
            Producer(arguments.servers, properties),
            results(*names),
            acknowledged=self._done,
            failed=told,
        )
        self.inbox: Inbox | None = None
        if arguments.topic is not None:
            self.inbox = Inbox(
                arguments.topic,
                group(*names, "ingest-fileset"),
                arguments.rules.types,
                aside=aside,
                dead=burying(dead),
                failed=told,
                let_go=self._lost,
                window=window,
                properties=properties,
            )

    def start(self) -> None:
        if self.inbox is not None:
            self.inbox.start()

    def _lost(self, places: list[str]) -> None:
        try:
            self._let_go(places)
        except StorageTrouble as error:
            self._told(error)

    def _done(self, result: Mapping[str, Any]) -> None:
        self._acknowledged(result)
        if self.inbox is not None:
            self.inbox.done(result.get("lafka", {}).get("message", ""))

    @property
    def counts(self) -> dict[str, int]:
        """Messages by what became of them."""
        read = self.inbox.counts if self.inbox is not None else {}
        return {**read, "published": self.publisher.published}

    def leave(self) -> None:
        """Wait for what is published, commit what is done, leave the group; ``BrokerTrouble``."""
        try:
            self.publisher.close()
        finally:
            if self.inbox is not None:
                self.inbox.stop()
