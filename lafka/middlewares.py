"""Downloader middlewares that record what was exchanged and undo content codings.

``RawWarcMiddleware`` sits at 950, next to the downloader: it sees every hop, retry and failure
before any other middleware changes it. It judges nothing about papers.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import scrapy
from scrapy import Request, signals
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

import lafka
from lafka.archives import Archive
from lafka.errors import BadHttp, StorageTrouble
from lafka.exchanges import Exchange
from lafka.failures import outcome_of
from lafka.rawfiles import load_settings
from lafka.raws import RawRun, Recorded
from lafka.stopping import note_storage_trouble, stop_for_storage, storage
from lafka.threads import Threads
from lafka.trails import Ask, Capture, Outcome, judge
from lafka.warc.codings import decode
from lafka.wire import EXCHANGE_KEY

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

ASK_KEY = "lafka_ask"
"""Key of ``request.meta``, the spider's: the Ask that the request is for."""
WAY_KEY = "lafka_way"
"""Key of ``request.meta``, this module's: the Way of the ask so far."""
PAGE_MAX = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One exchange of an ask, as recorded, and why reading it stopped, where it did."""

    recorded: Recorded
    truncated: str = ""
    too_big: bool = False
    dropped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The exchanges of one ask: redirect hops, then the last answer; retried ones only counted."""

    steps: tuple[Step, ...] = ()
    requests: int = 0


class RawWarcMiddleware:
    """Writes every exchange to the run's raw WARC and leaves its :class:`Way` in the request."""

    def __init__(self, crawler: Crawler, run: str, options: dict[str, Any]) -> None:
        self.run = run
        self._crawler = crawler
        self._options = options
        self._threads = Threads("lafka-raw", 1)  # one: the records of a file come one by one
        self._raw: RawRun | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        options = {
            "config": raw_config(settings),
            "software": f"Lafka/{lafka.__version__} Scrapy/{scrapy.__version__}",
            "keep": settings.getbool("LAFKA_KEEP_RAW"),
            "max_entity": settings.getint("LAFKA_MAX_PAYLOAD"),
        }
        middleware = cls(crawler, run_name(), options)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def open(self, archive: Archive) -> RawRun:
        """The run's raw WARC, made when it is first asked for, in :meth:`in_order`."""
        if self._raw is None:
            with storage(archive.root / "raw"):
                self._raw = RawRun(archive, self.run, **self._options)
        return self._raw

    def told(self) -> dict[str, Any]:
        """What the run's report says of the raw WARC: files, bytes, whether some are left."""
        raw = self._raw
        if raw is None:
            return {"files": 0, "bytes": 0, "left": False}
        left = raw.folder.exists()
        return {"files": raw.files_begun, "bytes": raw.bytes_written, "left": left}

    async def in_order(self, work: Any, *args: Any) -> Any:
        """Do *work* in the one thread that writes the raw WARC, after all that came before."""
        return await self._threads.run(work, *args)

    async def process_response(self, request: Request, response: Response) -> Response:
        await self._record(request)
        return response

    async def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        await self._record(request)

    async def _record(self, request: Request) -> None:
        exchange: Exchange | None = request.meta.pop(EXCHANGE_KEY, None)
        if exchange is None:
            return
        ask: Ask | None = request.meta.get(ASK_KEY)
        way: Way = request.meta.get(WAY_KEY) or Way()
        hops = way.steps[: len(request.meta.get("redirect_urls", ()))]
        known = hops[0].recorded if hops else None
        try:
            recorded = await self._threads.run(self._write, exchange, ask, known)
        except StorageTrouble as error:
            stop_for_storage(self._crawler, error)
            raise
        if ask is None:
            return
        step = recorded and Step(
            recorded=recorded,
            truncated=exchange.truncated or "",
            too_big=exchange.too_big,
            dropped=exchange.dropped,
        )
        request.meta[WAY_KEY] = Way(
            steps=(*hops, step) if step else hops, requests=way.requests + bool(step)
        )

    def _write(
        self, exchange: Exchange, ask: Ask | None, known: Recorded | None
    ) -> Recorded | None:
        try:
            raw = self.open(self._crawler.spider.archive)  # type: ignore[union-attr]
            info = (known.warcinfo_id, known.warcinfo) if known else None
            with storage(raw.folder):
                return raw.record(exchange, ask, info)
        finally:
            exchange.response.close()

    async def spider_closed(self) -> None:
        if self._raw is not None:
            try:
                await self._threads.run(self._close, self._raw)
            except StorageTrouble as error:
                note_storage_trouble(self._crawler, error)  # all is stored; a raw WARC stays
        self._threads.stop()

    def _close(self, raw: RawRun) -> None:
        with storage(raw.folder):
            raw.close()


def capture_of(ask: Ask, way: Way | None, error: BaseException | None = None) -> Capture:
    """What came of *ask*: its way through the wire, or the *error* that ended it."""
    way = way or Way()
    now = datetime.now(UTC)
    if not way.steps:
        outcome, sentence = outcome_of(error) if error else (Outcome.BAD_HTTP, "no answer")
        return Capture(
            ask=ask, url=ask.url, time=now, outcome=outcome, requests=way.requests, error=sentence
        )
    last = way.steps[-1]
    recorded = last.recorded
    outcome = judge(
        recorded.payload, truncated=last.truncated, too_big=last.too_big, dropped=last.dropped
    )
    sentence = recorded.payload.trouble if recorded.payload else "the answer is no HTTP"
    if error:
        outcome, sentence = outcome_of(error)
    elif not outcome.is_stored and recorded.payload and not sentence:
        sentence = f"HTTP status {recorded.payload.status}"
    return Capture(
        ask=ask,
        url=recorded.exchanged.url,
        time=recorded.time,
        outcome=outcome,
        payload=recorded.payload,
        warcinfo_id=recorded.warcinfo_id,
        warcinfo=recorded.warcinfo,
        exchanges=tuple(step.recorded.exchanged for step in way.steps),
        requests=way.requests,
        error="" if outcome.is_stored else sentence,
    )


class ContentCodingMiddleware:
    """Undoes content codings for the middlewares and the spider; the raw WARC keeps them.

    Lafka asks for ``identity``; some servers compress all the same. At most 4 MiB are decoded,
    and what can be decoded of a broken body is handed on.
    """

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002
        codings = b",".join(response.headers.getlist("Content-Encoding")).decode("latin-1")
        names = tuple(n.strip() for n in codings.lower().split(",") if n.strip())
        names = tuple(name for name in names if name != "identity")
        if not names or not response.body:
            return response
        body = b"".join(_decoded(response.body, names))
        headers = Headers(response.headers)
        for name in ("Content-Encoding", "Content-Length"):
            headers.pop(name, None)
        kind = responsetypes.from_args(headers=headers, url=response.url, body=body)
        return response.replace(cls=kind, headers=headers, body=body)


def _decoded(body: bytes, codings: tuple[str, ...]) -> Iterator[bytes]:
    size = 0
    try:
        for piece in decode(_pieces(body), codings):
            yield piece[: PAGE_MAX - size]
            size += len(piece)
            if size >= PAGE_MAX:
                return
    except BadHttp:
        return


def _pieces(body: bytes, size: int = 16_384) -> Iterable[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def warc_settings(settings: BaseSettings) -> dict[str, Any]:
    """The values of a scrapy-warcio settings file, none where no setting names one."""
    path = settings.get("LAFKA_WARC_SETTINGS") or os.environ.get("SCRAPY_WARCIO_SETTINGS")
    return load_settings(path) if path else {}


def raw_config(settings: BaseSettings) -> dict[str, Any]:
    """What goes into the raw WARCs' warcinfo: a scrapy-warcio settings file over our defaults."""
    defaults = {
        "operator": settings.get("LAFKA_CONTACT") or "",
        "collection": settings.get("LAFKA_COLLECTION") or "",
        "robots": "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        "max_warc_size": settings.getint("LAFKA_RAW_SIZE"),
    }
    # The user agent is what is sent, whatever the file says.
    return {**defaults, **warc_settings(settings), "user_agent": settings.get("USER_AGENT")}


def run_name() -> str:
    """A name for this run that no other has: UTC time, host, process."""
    host = "".join(c for c in socket.gethostname().partition(".")[0] if c.isalnum() or c == "-")
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return f"{time}-{host or 'host'}-{os.getpid()}"
