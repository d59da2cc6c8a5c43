"""One cookie jar per trail."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http import Request, Response

from lafka.politeness.redirects import refuse_loop

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http.cookies import CookieJar

    from lafka.politeness.jars import TrailJars


class TrailCookiesMiddleware:
    """Cookies that live as long as their trail.

    ``meta["cookiejar"]`` is the number of the spider's ask; the jar goes when an item with that
    ``number`` comes out, so memory stays flat. Public suffixes come from the snapshot inside
    tldextract: Scrapy's own middleware asks the network for them at the first Set-Cookie. A trail
    to which no site gave a cookie has no jar.
    """

    def __init__(self, crawler: Crawler | None = None) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("COOKIES_ENABLED"):
            raise NotConfigured
        middleware = cls(crawler)
        # An expiry that no clock has makes http.cookiejar print a traceback; the cookie is dropped.
        warnings.filterwarnings("ignore", "http.cookiejar bug!", UserWarning)
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(middleware.trail_ended, signal)
        return middleware

    @cached_property
    def _jars(self) -> TrailJars:
        from lafka.politeness.jars import TrailJars  # noqa: PLC0415  most crawls begin without

        if self._crawler is None:
            return TrailJars()
        return TrailJars.from_crawler(self._crawler)

    @property
    def jars(self) -> Mapping[Any, CookieJar]:
        """The jars by their trails' numbers."""
        return self._jars.jars if "_jars" in self.__dict__ else {}

    def process_request(self, request: Request) -> None:
        if not request.meta.get("dont_merge_cookies", False):
            if request.cookies or request.meta.get("cookiejar") in self.jars:
                self._jars.process_request(request)
            else:
                request.headers.pop("Cookie", None)
        refuse_loop(request)

    def process_response(self, request: Request, response: Response) -> Response:
        if "Set-Cookie" in response.headers:
            self._jars.process_response(request, response)
        return response

    def trail_ended(self, item: Any) -> None:
        if self.jars:
            self._jars.jars.pop(getattr(item, "number", None), None)
