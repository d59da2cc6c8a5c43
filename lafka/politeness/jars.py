"""The jars of trails: Scrapy's cookies, with public suffixes that are not asked of the network.

Imported with the first cookie (``cookies``): what knows the suffixes brings an HTTP client of its
own, whose import takes a twentieth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from http.cookiejar import Cookie

from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.http import Request
from scrapy.http.cookies import CookieJar
from scrapy.utils.httpobj import urlparse_cached
from tldextract import TLDExtract


class TrailJars(CookiesMiddleware):
    """Cookies into requests and out of responses, a jar for each ``meta["cookiejar"]``."""

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
