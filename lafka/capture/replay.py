"""A local Wayback: Scrapy requests are answered from WARCs, not from the network.

::

    DOWNLOADER_MIDDLEWARES = {"lafka.capture.replay.WarcDownloaderMiddleware": 960}
    LAFKA_WAYBACK = ["crawl/"]  # WARCs, folders of them, indexes
    LAFKA_WAYBACK_TIME = "2026-11"  # the captures nearest to it; the newest where it is not set

At 960 it stands where the network would: other middlewares follow redirects, undo content codings
and keep cookies as ever. Any spider of any project can be replayed so. Where Lafka's raw WARC is
written too, each answer comes with its archived bytes and time, so that a replayed crawl archives
what the first one did.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urldefrag, urljoin, urlsplit

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest, NotConfigured
from scrapy.http import Headers, Request, Response
from scrapy.responsetypes import responsetypes

from lafka.capture.exchanges import Exchange, Spool
from lafka.capture.handler import EXCHANGE_KEY
from lafka.capture.middlewares import RawWarcMiddleware
from lafka.storage.threads import Threads
from lafka.warc.errors import BadHttp, BadValue, BadWarc, NotFound
from lafka.warc.format.dates import WarcDate
from lafka.warc.format.http import Head, request_head
from lafka.warc.problems import Problem
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.segments import SegmentedRecord

if TYPE_CHECKING:
    from lafka.warc.indexes.collections import Collection

TIME_KEY = "wayback_time"
"""Key of ``request.meta``: the time to be near to, in place of LAFKA_WAYBACK_TIME."""
DATE_KEY = "wayback_date"
"""Key of ``request.meta``: the WARC-Date of the capture that was the answer."""
FLAG = "wayback"
LOST = "dataloss"  # Scrapy's own flag
_ANSWERS = ("response", "revisit", "resource")
_TIED_MAX = 8  # requests of the same URL and time that are looked at

MISSES = ("error", "network")
"""What LAFKA_WAYBACK_MISS can be."""
logger = logging.getLogger(__name__)


class NotArchived(IgnoreRequest):
    """No volume of LAFKA_WAYBACK has a capture that answers the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedAnswer:
    """An archived answer: ``record`` was captured, ``original`` has its payload."""

    record: StoredRecord
    original: StoredRecord | SegmentedRecord
    request: StoredRecord | None

    @property
    def head(self) -> Head | None:
        """The head of the answer; None where no HTTP was spoken. Of a 304, what it confirms."""
        own = self.record.http
        return own if own is not None and own.status != 304 else self.original.http


class Wayback:
    """Answers requests from what lies at *paths*; for one thread, as it waits for the disk.

    *time*: the captures nearest to it answer, where a request names no other. *max_size*: bytes of
    a body, 0 for any number. *records*: the exchange is given, too, with its bytes in *spool_dir*.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        *,
        time: WarcDate | None = None,
        max_size: int = 0,
        records: bool = False,
        spool_dir: str | None = None,
    ) -> None:
        self._paths = paths
        self._time = time
        self._max_size = max_size
        self._records = records
        self._spool_dir = spool_dir
        self._opened: Collection | None = None

    @property
    def _collection(self) -> Collection:
        if self._opened is None:
            from lafka.warc.indexes.collections import Collection  # noqa: PLC0415  most need none

            self._opened = Collection.of(self._paths)
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def answer(self, request: Request) -> Response | None:
        """The archived response to *request*, None where there is none.

        ``DownloadCancelledError`` where its body is too big.
        """
        capture = next(self._captures(request), None)
        if capture is None:
            return None
        response = self._response(request, capture)
        request.meta[DATE_KEY] = str(capture.record.date or "")
        if self._records:
            request.meta[EXCHANGE_KEY] = _exchange(request, capture, self._spool_dir)
        return response

    def _captures(self, request: Request) -> Iterator[ArchivedAnswer]:
        """The captures that answer *request*, the best first."""
        url = urldefrag(request.url)[0]
        time = request.meta.get(TIME_KEY) or self._time
        for record in self._collection.search(url=url, time=time, types=_ANSWERS):
            asked = _request_of(self._collection, record)
            if _method(asked) not in _methods(request) or _leads_back(record, url):
                continue
            try:
                original = self._collection.whole(self._collection.resolve(record))
                capture = ArchivedAnswer(record=record, original=original, request=asked)
                if capture.head is not None or record.type == "resource":
                    yield capture
            except (NotFound, BadWarc) as error:
                logger.warning("%s: %s", url, error)

    def _response(self, request: Request, capture: ArchivedAnswer) -> Response:
        head, flags, body = capture.head, [FLAG], b""
        if head is not None:
            status, headers = head.status, _headers(head)
        else:
            kind = capture.original.fields.first("Content-Type")
            status, headers = 200, Headers({"Content-Type": kind})
        if request.method != "HEAD":
            max_size = request.meta.get("download_maxsize", self._max_size)
            body = _body(capture.original, max_size, flags)
        kind_of_response = responsetypes.from_args(headers=headers, url=request.url, body=body)
        return kind_of_response(
            request.url,
            status=status,
            headers=headers,
            body=body,
            flags=flags,
            request=request,
            ip_address=_address(capture.record),
        )


class WarcDownloaderMiddleware:
    """Answers from a :class:`Wayback`; ``NotArchived``, or the network, for what that lacks."""

    def __init__(self, crawler: Crawler, paths: Sequence[Path], time: WarcDate | None) -> None:
        self._crawler = crawler
        self._paths = paths
        self._time = time
        self._asks_network = crawler.settings.get("LAFKA_WAYBACK_MISS") == "network"
        self._threads = Threads("lafka-wayback", 1)
        self._wayback: Wayback | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        paths = [Path(path) for path in settings.getlist("LAFKA_WAYBACK")]
        if not paths:
            raise NotConfigured  # without a word: most crawls ask the network
        missing = [path for path in paths if not path.exists()]
        miss = settings.get("LAFKA_WAYBACK_MISS", "error")
        time = settings.get("LAFKA_WAYBACK_TIME")
        if missing:
            raise NotConfigured(f"LAFKA_WAYBACK: {missing[0]} is not there")
        if miss not in MISSES:
            raise NotConfigured(f"LAFKA_WAYBACK_MISS={miss!r} is none of {', '.join(MISSES)}")
        try:
            date = WarcDate.parse(str(time)) if time else None
        except BadValue as error:
            raise NotConfigured(f"LAFKA_WAYBACK_TIME: {error}") from None
        middleware = cls(crawler, paths, date)
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        settings = self._crawler.settings
        self._wayback = Wayback(
            self._paths,
            time=self._time,
            max_size=settings.getint("DOWNLOAD_MAXSIZE"),
            records=bool(self._crawler.get_downloader_middleware(RawWarcMiddleware)),
            spool_dir=settings.get("LAFKA_SPOOL_DIR"),
        )

    async def process_request(self, request: Request) -> Response | None:
        if self._wayback is None or urlsplit(request.url).scheme not in ("http", "https"):
            return None
        response = await self._threads.run(self._wayback.answer, request)
        if response is not None or self._asks_network:
            return response
        if urlsplit(request.url).path == "/robots.txt":  # no site is asked that could mind
            return Response(request.url, status=404, flags=[FLAG])
        raise NotArchived(f"no capture of {request.method} {request.url} in LAFKA_WAYBACK")

    async def spider_closed(self) -> None:
        if self._wayback is not None:
            await self._threads.run(self._wayback.close)
        self._threads.stop()


def _methods(request: Request) -> tuple[str, ...]:
    """Return what may have been asked for, so that the answer is one to *request*."""
    return ("HEAD", "GET") if request.method == "HEAD" else (request.method,)


def _method(asked: StoredRecord | None) -> str:
    with suppress(BadHttp):
        if asked is not None:
            return request_head(asked.block()).method
    return "GET"


def _request_of(collection: Collection, record: StoredRecord) -> StoredRecord | None:
    """The request that *record* is the answer to; None where it is not archived."""
    tied = set(record.fields.all("WARC-Concurrent-To"))
    found = collection.search(url=record.url, time=record.date, types=["request"])
    for _, request in zip(range(_TIED_MAX), found, strict=False):
        if request.id in tied or record.id in request.fields.all("WARC-Concurrent-To"):
            return request
    return None


def _leads_back(record: StoredRecord, url: str) -> bool:
    """Return whether *record* is a capture of another URL, of the same key, that redirects to
    *url*.

    As http://x.example/ does to https://x.example/: it would be found again and again.
    """
    head = record.http
    if record.url == url or head is None or not 300 <= head.status < 400:
        return False
    return urldefrag(urljoin(record.url, head.fields.first("Location")))[0] == url


def _headers(head: Head) -> Headers:
    """The header fields, but for Transfer-Encoding, which is undone."""
    headers = Headers()
    for name, value in head.fields:
        if name.lower() != "transfer-encoding":
            headers.appendlist(name, value.encode("latin-1", "replace"))
    return headers


def _body(original: StoredRecord | SegmentedRecord, max_size: int, flags: list[str]) -> bytes:
    """The payload as far as it can be read; ``DownloadCancelledError`` over *max_size* bytes."""
    parts: list[bytes] = []
    problems: list[Problem] = []
    size = 0
    for piece in original.payload(problems=problems):
        parts.append(piece)
        size += len(piece)
        if 0 < max_size < size:
            raise DownloadCancelledError(f"the archived body is over {max_size} bytes")
    if any(problem.code == "bad-payload" for problem in problems):
        flags.append(LOST)
    return b"".join(parts)


def _address(record: StoredRecord) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with suppress(ValueError):
        return ipaddress.ip_address(record.fields.first("WARC-IP-Address"))
    return None


def _exchange(request: Request, capture: ArchivedAnswer, spool_dir: str | None) -> Exchange:
    """The exchange as it was, at the time when it was, for the raw WARC."""
    record, date = capture.record, capture.record.date
    exchange = Exchange(
        url=urldefrag(request.url)[0], method=request.method, response=Spool(spool_dir)
    )
    exchange.begin(
        date.datetime if date else datetime.now(UTC), record.fields.first("WARC-IP-Address") or None
    )
    if capture.request is not None:
        exchange.request = b"".join(capture.request.block().chunks())
    else:
        target = urlsplit(exchange.url)._replace(scheme="", netloc="").geturl() or "/"
        host = urlsplit(exchange.url).netloc
        exchange.request = f"{request.method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    if capture.head is None:
        kind = capture.original.fields.first("Content-Type")
        exchange.response.append(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode())
    for piece in capture.original.block().chunks():
        exchange.response.append(piece)
    exchange.exact = capture.request is not None and record.type == "response"
    exchange.ended = "complete"
    truncated = record.fields.first("WARC-Truncated")
    if truncated in ("length", "time", "disconnect"):
        exchange.truncated = truncated  # type: ignore[assignment]
        exchange.ended = ""
    return exchange
