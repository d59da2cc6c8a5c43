"""Downloader middlewares that record what was exchanged and undo content codings.

``RawWarcMiddleware`` sits at 950, next to the downloader: it sees every hop, retry and failure
before any other middleware changes it. It judges nothing about papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from lafka.capture.exchanges import Exchange, Spool
from lafka.capture.handler import EXCHANGE_KEY
from lafka.capture.logged import LoggedExchange, LoggedHops, Provenance
from lafka.capture.pulled import PulledMemento
from lafka.capture.run import Run
from lafka.errors import BadHttp, StorageTrouble
from lafka.storage.stopping import stop_for_storage, storage
from lafka.warc.format.codings import decode

PROVENANCE_KEY = "lafka_provenance"
"""Key of ``request.meta``: whom the request is for, a Provenance that whoever makes it gives."""
LOGGED_KEY = "lafka_logged"
"""Key of ``request.meta``: the LoggedHops of the request so far."""
PAGE_MAX = 4 * 1024 * 1024


class RawWarcMiddleware:
    """Writes every exchange to the raw log and leaves its :class:`LoggedHops` in the request."""

    def __init__(self, crawler: Crawler, run: Run) -> None:
        self._crawler = crawler
        self._raw = run.raw

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, Run.of(crawler))

    async def process_request(self, request: Request) -> None:  # noqa: ARG002
        """Let nobody be asked while too much of what came waits for the disk."""
        await self._raw.waiting.wait()

    async def process_response(self, request: Request, response: Response) -> Response:
        await self._record(request)
        return response

    async def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        await self._record(request)

    async def _record(self, request: Request) -> None:
        exchange: Exchange | PulledMemento | None = request.meta.pop(EXCHANGE_KEY, None)
        if exchange is None:
            return
        provenance: Provenance | None = request.meta.get(PROVENANCE_KEY)
        hops: LoggedHops = request.meta.get(LOGGED_KEY) or LoggedHops()
        before = hops.exchanges[: len(request.meta.get("redirect_urls", ()))]
        first = before[0] if before else None
        try:
            with self._raw.waiting.holding(_spool(exchange).in_memory):
                logged = await self._raw.in_order(self._write, exchange, provenance, first)
        except StorageTrouble as error:
            stop_for_storage(self._crawler, error)
            raise
        if provenance is None:
            return
        request.meta[LOGGED_KEY] = LoggedHops(
            exchanges=(*before, logged) if logged else before,
            requests=hops.requests + bool(logged),
        )

    def _write(
        self,
        exchange: Exchange | PulledMemento,
        provenance: Provenance | None,
        first: LoggedExchange | None,
    ) -> LoggedExchange | None:
        try:
            log = self._raw.log()
            with storage(log.folder):
                if isinstance(exchange, PulledMemento):
                    assert provenance is not None  # robots.txt is never pulled
                    return log.pulled(exchange, provenance, first)
                return log.record(exchange, provenance, first)
        finally:
            _spool(exchange).close()


def _spool(exchange: Exchange | PulledMemento) -> Spool:
    """Return where the bytes that came are."""
    return exchange.body if isinstance(exchange, PulledMemento) else exchange.response


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
