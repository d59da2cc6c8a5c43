"""One cookie jar per trail."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.utils.httpobj import urlparse_cached
from tldextract import TLDExtract

from lafka.politeness.redirects import refuse_loop

if TYPE_CHECKING:
    from collections.abc import Iterable
    from http.cookiejar import Cookie
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from scrapy.http.cookies import CookieJar


class TrailCookiesMiddleware(CookiesMiddleware):
    """Cookies that live as long as their trail.

    ``meta["cookiejar"]`` is the number of the spider's ask; the jar goes when an item with that
    ``number`` comes out, so memory stays flat. Public suffixes come from the snapshot inside
    tldextract: Scrapy's own middleware asks the network for them at the first Set-Cookie.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        # An expiry that no clock has makes http.cookiejar print a traceback; the cookie is dropped.
        warnings.filterwarnings("ignore", "http.cookiejar bug!", UserWarning)
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(middleware.trail_ended, signal)
        return middleware

    def process_request(  # type: ignore[override]  # without the deprecated spider argument
        self, request: Request
    ) -> Request | Response | None:
        result = super().process_request(request)
        refuse_loop(request)
        return result

    def trail_ended(self, item: Any) -> None:
        self.jars.pop(getattr(item, "number", None), None)

    @cached_property
    def _suffixes(self) -> TLDExtract:
        return TLDExtract(
            suffix_list_urls=(),
            cache_dir=None,
            fallback_to_snapshot=True,
            include_psl_private_domains=True,
        )

    def _process_cookies(
        self, cookies: Iterable[Cookie], *, jar: CookieJar, request: Request
    ) -> None:
        host = (urlparse_cached(request).hostname or "").lower()
        for cookie in cookies if host else ():
            domain = cookie.domain.removeprefix(".")
            if domain and not self._suffixes(domain).domain:
                if domain != host:
                    continue
                cookie.domain = host
            jar.set_cookie_if_ok(cookie, request)
