"""One request from its landing page to its result: what drives the walk through Scrapy.

An ingest decides nothing about a fileset: it asks what the walk wants, sends it what came, and has
stored what the walk says is to be kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any

from lafka.errors import KeeperError, Stopped
from lafka.filesets.archive.contents import Role, warcinfo_fields
from lafka.filesets.archive.filesets import web_home
from lafka.filesets.archive.filesetwarc import FilesetWarc
from lafka.filesets.archive.index import Hit
from lafka.filesets.archive.storing import Exchanges, PageCapture, RequestStore
from lafka.filesets.crawling.answers import (
    LandingPage,
    RequestOutcome,
    answer_of,
    fetched_of,
    is_shared,
    landing_of,
)
from lafka.filesets.crawling.itemstore import FilesetHoldings, ItemStore, free_bytes
from lafka.filesets.crawling.services import DryRunEnd, IngestServices, PlannedRequest
from lafka.filesets.model.asks import (
    Ask,
    Claim,
    Fetch,
    FetchBundle,
    Fetched,
    Keep,
    Kept,
    SetAside,
)
from lafka.filesets.model.messages import IngestRequest, IngestResult, LandingCapture
from lafka.filesets.model.types import FilesetPlatformItem, FileStatus, Status
from lafka.filesets.strategies.strategy import HoldingsView
from lafka.filesets.targets.item import TargetTrouble
from lafka.filesets.walk import Walking, refused, walk

logger = logging.getLogger(__name__)

BUSY_SECONDS, BUSY_MOST = 0.1, 5.0
"""Until a fileset is tried again that another process has: twice as long each time, up to these."""
GATHER_SECONDS = 2.0
"""Until small files that came one after the other are committed: a power cut loses no more."""
_LANDING_STATUS = {
    "too-big": Status.BODY_TOO_LARGE,
    "loop": Status.REDIRECT_LOOP,
}


class Ingest:
    """The ingest of *request*, whose captures belong to *owner*.

    *moved* is called, in a thread, when something of its fileset is safe that a kill leaves; None
    where nobody counts begins.
    """

    def __init__(
        self,
        shop: IngestServices,
        request: IngestRequest,
        owner: int,
        moved: Callable[[], object] | None = None,
    ) -> None:
        self._shop = shop
        self._request = request
        self._owner = owner
        self._moved = moved
        self._pages: list[PageCapture] = []
        self._item: FilesetPlatformItem | None = None
        self._claim: Claim | None = None
        self._store: RequestStore | None = None
        self._held: FilesetHoldings | None = None
        self._landing: tuple[LandingPage, RequestOutcome] | None = None
        self._fetched: tuple[Exchanges, Fetched] | None = None
        self._target: ItemStore | None = None
        self._lock: asyncio.Lock | None = None
        self._gathering: asyncio.Task[None] | None = None
        self._requests = self._bytes = 0
        self._begun = monotonic()

    async def run(self) -> dict[str, Any]:
        """Return the result, for the topic and the feed; the files are stored.

        ``DryRunEnd`` instead, where nothing is to be stored.

        ``StorageTrouble``, ``Stopped``: it is nobody's result, and the next run asks again.
        """
        told = refused(self._request, self._shop.rules)
        if told is None:
            with suppress(TargetTrouble):  # the ingest tells of it
                former = await self._former()
                if former is not None:
                    return former
            try:
                try:
                    told = await self._ingested()
                except TargetTrouble as error:
                    told = self._untaken(str(error))
                return await self._finish(told)
            except KeeperError as error:
                logger.error("%s: nothing is stored: %s", self._request.base_url, error)
                told = _plain(self._request, Status.DAMAGED, str(error))
            finally:
                await self._let_go()
        return self._as_json(told)

    # ---- Before anything is asked

    async def _former(self) -> dict[str, Any] | None:
        """The result of a request that had a hit before and is not to be asked again."""
        shop, request = self._shop, self._request
        if request.force_recrawl or shop.rules.refresh or shop.dry:
            return None
        hit = await shop.wire.aside(shop.index.former, request.ingest_type, request.base_url)
        if hit is None or hit.time < shop.rules.refresh_before:
            return None
        result = self._again(hit)
        if not self._is_owed(hit):
            files = [{**file, "status": FileStatus.EXISTS} for file in result.get("manifest", [])]
            result |= {"status": Status.SUCCESS_EXISTING, **({"manifest": files} if files else {})}
        return result

    def _again(self, hit: Hit) -> dict[str, Any]:
        """The result of *hit*, for this request."""
        lafka = {**hit.result.get("lafka", {}), **self._account()}
        return {**hit.result, "request": dict(self._request.raw), "lafka": lafka}

    def _is_owed(self, hit: Hit) -> bool:
        """Return whether nobody will tell of *hit*: the run that had it was killed before
        it did.
        """
        return not hit.told and hit.result.get("lafka", {}).get("run") != self._shop.run

    # ---- The walk

    async def _ingested(self) -> IngestResult:
        shop = self._shop
        wanted = self._wanted(self._request.url, None, shop.landing_max)
        came = await self._get(wanted)
        page = await shop.wire.aside(landing_of, came, shop.bases)
        if page is not None:
            self._pages.append(PageCapture(role=Role.SPLAP, exchanges=came.hops.exchanges))
        landing = await self._landed(page)
        trouble = _landing_trouble(came, page)
        if trouble is not None or page is None:
            status, word, sentence = trouble or (Status.NO_CAPTURE, "", "")
            told = _plain(self._request, status, sentence)
            return replace(told, landing=landing, lafka={"outcome": word} if word else {})
        self._landing = (page, came)
        free = await shop.wire.aside(free_bytes, (shop.filesets.root, shop.filesets.items.work))
        steps = walk(
            self._request,
            page.resource,
            landing,
            shop.rules,
            held=self._view,
            free=max(0, free - shop.keep_free),
        )
        return await self._driven(steps)

    async def _landed(self, page: LandingPage | None) -> LandingCapture:
        if page is None:
            return LandingCapture()
        shop, resource = self._shop, page.resource
        facts = page.facts
        biblio = None
        if resource.media_type in ("text/html", "application/xhtml+xml", ""):
            biblio = await shop.wire.aside(
                shop.children.page, resource.url, resource.body, page.content_type, list(page.links)
            )
        sniffed = await shop.wire.aside(shop.children.mimetype, facts.prefix)
        meta = replace(facts, mimetype=sniffed).file_meta()
        return LandingCapture.of(resource, file_meta=meta, html_biblio=biblio)

    async def _driven(self, steps: Walking) -> IngestResult:
        got: Any = None
        while True:
            if isinstance(got, Fetched | Kept):  # to read it takes less time than to ask a thread
                want, result = _step(steps, got)
            else:
                want, result = await self._shop.wire.aside(_step, steps, got)
            if result is not None:
                self._item = result.item
                return result
            got = await self._answered(want)

    async def _answered(self, want: Any) -> Any:
        if isinstance(want, Ask):
            return await self._ask(want)
        if isinstance(want, Claim):
            return await self._claimed(want)
        if isinstance(want, Fetch | FetchBundle):
            return await self._fetch(want)
        if isinstance(want, Keep):
            kept = await self._keep(want)
            if self._moved is not None:
                await self._shop.wire.aside(self._moved)
            return kept
        assert isinstance(want, SetAside)
        if self._target is not None:
            await self._target.set_aside()
        return None

    async def _ask(self, want: Ask) -> Any:
        robots = self._shop.robots_everywhere or want.robots
        came = await self._get(self._wanted(want.url, want, want.max_bytes, robots=robots))
        if came.last is not None:
            self._pages.append(PageCapture(role=Role.API, exchanges=came.hops.exchanges))
        return await self._shop.wire.aside(answer_of, want, came, self._shop.bases)

    def _wanted(
        self, url: str, want: Ask | Fetch | FetchBundle | None, most: int, *, robots: bool = True
    ) -> PlannedRequest:
        asked = self._shop.bases.asked(url)
        return PlannedRequest(
            url=asked,
            fields=tuple(warcinfo_fields(self._request, asked, want, self._item)),
            most=most,
            tries=self._shop.tries if isinstance(want, Fetch | FetchBundle) else 3,
            robots=robots,
            is_proved=isinstance(want, Fetch) and bool(want.file.digests) and not want.again,
            accept=want.accept if isinstance(want, Ask) else "",
        )

    async def _get(self, wanted: PlannedRequest) -> RequestOutcome:
        came = await self._shop.wire.get(self._owner, wanted)
        self._requests += came.hops.requests
        return came

    # ---- The fileset

    async def _claimed(self, claim: Claim) -> None:
        """Have the fileset alone, of all processes and of this one's ingests."""
        self._item, self._claim = claim.item, claim
        shop = self._shop
        if shop.dry:
            raise DryRunEnd(_dry(claim))
        fileset = claim.item.fileset_id or ""
        captures = [page.exchanges[0].warcinfo_id for page in self._pages]
        await shop.wire.bind(self._owner, fileset, captures)
        store = self._store = await self._locked(fileset)
        if not claim.strategy.is_web:
            self._target = ItemStore(shop, claim, self._get, self._moved or bool)
        folder = self._target.folder if self._target else None
        self._held = FilesetHoldings(store, shop.filesets, folder)

    async def _locked(self, fileset_id: str) -> RequestStore:
        shop = self._shop
        lock = shop.locks.setdefault(fileset_id, asyncio.Lock())
        await lock.acquire()
        self._lock = lock
        warc: FilesetWarc | None = await shop.wire.aside(shop.filesets.locked, fileset_id)
        if warc is None:
            logger.info("%s: another process has it; tried again", fileset_id)
        seconds = BUSY_SECONDS
        while warc is None:
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, BUSY_MOST)
            warc = await shop.wire.aside(shop.filesets.locked, fileset_id)
        return RequestStore(warc, self._request, self._pages, root=shop.filesets.root)

    async def _let_go(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
        if self._store is not None:
            await self._shop.wire.aside(self._store.close)
            self._store = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _view(self) -> HoldingsView:
        assert self._held is not None
        return self._held

    def _named(self) -> RequestStore:
        """The store, which knows by now under which name the version is kept."""
        store, claim, held = self._store, self._claim, self._held
        assert store is not None
        assert claim is not None
        assert held is not None
        if not store.entry:
            rules = self._shop.rules
            anew = self._request.force_recrawl or rules.refresh or bool(rules.refresh_before)
            store.version(claim.item, claim.strategy, anew=anew)
        return store

    # ---- Files

    async def _fetch(self, want: Fetch | FetchBundle) -> Fetched:
        shop = self._shop
        robots = shop.robots_everywhere or self._is_web
        wanted = self._wanted(want.url, want, want.max_bytes, robots=robots)
        if self._target is not None:
            return await self._target.fetch(want, wanted)
        came = self._landed_as(want) or await self._get(wanted)
        fetched: Fetched = await shop.wire.aside(
            fetched_of, want, came, shop.children, shop.bases, shop.bundle_limits
        )
        fetched = replace(fetched, shared=is_shared(came.hops.exchanges))
        self._fetched = (came.hops.exchanges, fetched)
        self._bytes += fetched.facts.size if fetched.facts else 0
        return fetched

    @property
    def _is_web(self) -> bool:
        return self._item is not None and self._item.platform_name == "web"

    def _landed_as(self, want: Fetch | FetchBundle) -> RequestOutcome | None:
        """The landing page where it is the file itself: it is not asked for twice."""
        if self._landing is None or not self._is_web:
            return None
        page, came = self._landing
        self._landing = None
        return came if want.url == page.resource.url and isinstance(want, Fetch) else None

    async def _keep(self, want: Keep) -> Kept:
        store = self._named()
        later = store.may_gather(want)
        if later and self._gathering is None:
            self._gathering = asyncio.ensure_future(self._gather(store))
        if self._target is not None:
            return await self._target.keep(want, store, later=later)
        assert self._fetched is not None
        exchanges, _ = self._fetched
        item = self._item
        assert item is not None
        kept: Kept = await self._shop.wire.store(
            item.fileset_id or "", lambda: store.keep(want, exchanges, later=later), later=later
        )
        return kept

    async def _gather(self, store: RequestStore) -> None:
        """Have committed what *store* keeps, now and then, until it is let go, which commits it."""
        with suppress(Stopped):
            while True:
                await asyncio.sleep(GATHER_SECONDS)
                if store.is_behind:
                    await self._shop.wire.store(self._request.base_url, store.commit)

    # ---- The end

    async def _finish(self, told: IngestResult) -> dict[str, Any]:
        """Store *told* and what is left of the pages; the result with where its page stands."""
        if self._target is not None and told.hit and (trouble := await self._target.finish()):
            status = Status.ERROR_ARCHIVEORG_UPLOAD
            told = replace(told, status=status, error_message=trouble)
        result = self._as_json(told)
        if not self._pages or self._shop.dry:
            return result
        if self._store is None:
            self._store = await self._locked(self._home(told))
        store = self._store
        if self._claim is not None and self._held is not None:
            self._named()

        def end() -> dict[str, Any]:
            owed = None
            if told.status == Status.SUCCESS_EXISTING:
                owed = self._owed()
            else:
                # A kill behind the end of the version leaves what is still to be told of it.
                self._note(store, told, result)
            ended = store.end(result)
            if owed is not None:
                return owed
            self._note(store, told, ended)
            return ended

        stored: dict[str, Any] = await self._shop.wire.store(self._home(told), end)
        return stored

    def _owed(self) -> dict[str, Any] | None:
        """Return what another worker stored and did not live to tell, while this one
        waited for it.
        """
        with suppress(TargetTrouble):
            hit = self._shop.index.former(self._request.ingest_type, self._request.base_url)
            return self._again(hit) if hit is not None and self._is_owed(hit) else None
        return None

    def _note(self, store: RequestStore, told: IngestResult, result: dict[str, Any]) -> None:
        """Note *result* in the index, where it is a hit; it counts once the version is whole."""
        if result["hit"] and told.item is not None:
            time = "" if (known := store.known()) is None else known.time
            self._shop.index.note(result, told.item.fileset_id or "", store.entry, time)

    def _home(self, told: IngestResult) -> str:
        """The fileset in whose WARC the landing page of *told* is kept."""
        known = told.item.fileset_id if told.item is not None else None
        return known or web_home(str((told.landing.terminal or {}).get("terminal_url") or ""))

    def _untaken(self, message: str) -> IngestResult:
        """The result where the store of items does not answer."""
        told = _plain(self._request, Status.ERROR_ARCHIVEORG_UPLOAD, message)
        return replace(told, item=self._item)

    def _as_json(self, told: IngestResult) -> dict[str, Any]:
        message = self._shop.public(told.error_message or "") or None
        lafka = {**(told.lafka or {}), **self._account()}
        return replace(told, error_message=message, lafka=lafka).as_json()

    def _account(self) -> dict[str, Any]:
        return {
            "run": self._shop.run,
            "requests": self._requests,
            "bytes": self._bytes + (self._target.fetched_bytes if self._target else 0),
            "seconds": round(monotonic() - self._begun, 3),
        }


def _step(steps: Walking, got: Any) -> tuple[Any, IngestResult | None]:
    """Return what the walk wants next, or its result: a StopIteration cannot come out of
    a thread.
    """
    try:
        return steps.send(got), None
    except StopIteration as end:
        return None, end.value


def _plain(request: IngestRequest, status: Status, message: str) -> IngestResult:
    raw: Mapping[str, Any] = request.raw
    return IngestResult(request=raw, status=status, error_message=message or None)


def _landing_trouble(
    came: RequestOutcome, page: LandingPage | None
) -> tuple[Status, str, str] | None:
    """Status, word and sentence where there is no page to walk from; None where there is one."""
    word, sentence = came.trouble
    if page is not None and page.bad_coding:
        return Status.BAD_GZIP_ENCODING, word, f"{page.resource.url}: its coding is broken"
    if not word:
        return None
    return _LANDING_STATUS.get(word, Status.NO_CAPTURE), word, sentence


def _dry(claim: Claim) -> dict[str, Any]:
    item = claim.item
    return {
        "fileset": item.fileset_id,
        "version": item.version,
        "platform_base_url": item.web_base_url,
        "ingest_strategy": str(claim.strategy),
        "file_count": len(item.manifest or ()),
        "total_size": item.total_size,
        "manifest": [file.as_json() for file in item.manifest or ()],
    }
