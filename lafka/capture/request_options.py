"""The options of one download, as Scrapy's settings, signals and metadata say them."""

from __future__ import annotations

import logging
from ipaddress import IPv4Address, IPv6Address
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from scrapy import Request, signals
from scrapy.exceptions import DownloadCancelledError, StopDownload
from scrapy.http import Headers
from scrapy.utils.httpobj import urlparse_cached
from twisted.web.iweb import UNKNOWN_LENGTH

from lafka.capture.client.answers import AnswerHead
from lafka.capture.scrapy_private import (
    check_stop_download,
    get_maxsize_msg,
    get_warnsize_msg,
    log_tls_connection,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class Carrier(Protocol):
    """A connection that carries an exchange (:mod:`lafka.capture.client.connections`)."""

    transport: Any

    @property
    def place(self) -> str: ...

    @property
    def certificate(self) -> Any: ...

    @property
    def address(self) -> IPv4Address | IPv6Address: ...

    def abort(self) -> None: ...


class DownloadSettings:
    """DOWNLOAD_MAXSIZE, DOWNLOAD_WARNSIZE, DOWNLOAD_FAIL_ON_DATALOSS and their like, read once."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self.crawler = crawler
        self.maxsize = settings.getint("DOWNLOAD_MAXSIZE")
        self.warnsize = settings.getint("DOWNLOAD_WARNSIZE")
        self.fail_on_dataloss = settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        self.tells_tls = settings.getbool("DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING")


class RequestOptions:
    """The options of *request*, and the answers of those whom its signals reach.

    ``headers``, ``certificate`` and ``address`` are for the response, once its head is there.
    DOWNLOAD_MAXSIZE holds for what is handed on; ``download_maxsize`` of a request does not, for
    Scrapy throws away what came, and the tap cuts instead.
    """

    def __init__(self, settings: DownloadSettings, request: Request) -> None:
        spider, meta = settings.crawler.spider, request.meta
        self.fail_on_dataloss = meta.get("download_fail_on_dataloss", settings.fail_on_dataloss)
        self.headers = Headers()
        self.certificate: Any = None
        self.address: IPv4Address | IPv6Address | None = None
        self._maxsize = getattr(spider, "download_maxsize", settings.maxsize)
        if "download_maxsize" in meta:
            self._maxsize = 0
        self._warnsize = meta.get(
            "download_warnsize", getattr(spider, "download_warnsize", settings.warnsize)
        )
        self._settings = settings
        self._request = request
        self._begun = monotonic()
        self._size = 0

    def begin(self, head: AnswerHead, connection: Carrier) -> StopDownload | None:
        """The head is there."""
        request = self._request
        request.meta["download_latency"] = monotonic() - self._begun
        if head.length is not None:
            self.headers[b"Content-Length"] = b"%d" % head.length
        self.headers.update(head.fields)
        stopped = check_stop_download(
            signals.headers_received,
            self._settings.crawler,
            request,
            headers=self.headers,
            body_length=UNKNOWN_LENGTH if head.length is None else head.length,
        )
        if stopped is None:
            self.certificate, self.address = connection.certificate, connection.address
        if stopped is None and head.length != 0 and self._settings.tells_tls and self.certificate:
            self._tell_tls(connection)
        return stopped

    def announce(self, length: int | None) -> None:
        """A body of *length* bytes is about to be read; ``DownloadCancelledError``."""
        size = -1 if length is None else length
        if self._maxsize and size > self._maxsize:
            said = get_maxsize_msg(size, self._maxsize, self._request, expected=True)
            logger.warning(said)
            raise DownloadCancelledError(said)
        self._warn(size, expected=True)

    def take(self, data: bytes) -> StopDownload | None:
        """More of the body, as much as is handed on; ``DownloadCancelledError``."""
        self._size += len(data)
        stopped = check_stop_download(
            signals.bytes_received, self._settings.crawler, self._request, data=data
        )
        if stopped is None and self._maxsize and self._size > self._maxsize:
            said = get_maxsize_msg(self._size, self._maxsize, self._request, expected=False)
            logger.warning(said)
            raise DownloadCancelledError(said)
        self._warn(self._size, expected=False)
        return stopped

    def _warn(self, size: int, *, expected: bool) -> None:
        """Warn once."""
        if self._warnsize and size > self._warnsize:
            said = get_warnsize_msg(size, self._warnsize, self._request, expected=expected)
            logger.warning(said)
            self._warnsize = 0

    def _tell_tls(self, connection: Carrier) -> None:
        hostname = urlparse_cached(self._request).hostname or ""
        log_tls_connection(hostname, connection.transport.getHandle())
