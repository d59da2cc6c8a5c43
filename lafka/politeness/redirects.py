"""Redirects: in the slot of the host they lead to, at most ten, never in a circle."""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import urldefrag, urljoin

from scrapy.downloadermiddlewares.redirect import (
    BaseRedirectMiddleware,
    MetaRefreshMiddleware,
    RedirectMiddleware,
)
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Request, Response
from scrapy.utils.httpobj import urlparse_cached
from w3lib.encoding import html_to_unicode
from w3lib.html import get_base_url, get_meta_refresh

from lafka.errors import SiteError
from lafka.politeness.hosts import SLOT_KEY
from lafka.politeness.retries import ASKS_TO_WAIT

logger = logging.getLogger(__name__)

HOPS = "lafka_hops"  # meta key: the hops before this request, each (method, url, Cookie header)
Hop = tuple[str, str, bytes]
OPENING = 4096  # bytes of a page in which a refresh is looked for, as Scrapy does
REFRESH = re.compile(
    r"""\s*(?P<seconds>\d{1,9}(?:\.\d*)?|\.\d+)\s*[;,]\s*url\s*=\s*(?P<quote>["']?)(?P<url>.*)""",
    re.IGNORECASE | re.DOTALL,
)


class RedirectLoop(SiteError, IgnoreRequest):
    """A chain of redirects came back to a URL with the same cookies, or is too long."""


def hop(request: Request) -> Hop:
    """Return what the server is asked: method, URL without fragment, Cookie header."""
    cookies = b"; ".join(request.headers.getlist("Cookie"))
    return request.method, urldefrag(request.url).url, cookies


def refuse_loop(request: Request) -> None:
    """Raise ``RedirectLoop`` if *request* asks again what its chain has asked before.

    Called where the Cookie header is set and nothing is sent yet.
    """
    if hop(request) in request.meta.get(HOPS, ()):
        raise RedirectLoop(f"redirect loop: {request.url} asked twice with the same cookies")


class _Hops(BaseRedirectMiddleware):
    """The common part of both kinds of redirect."""

    def _redirect(self, redirected: Request, request: Request, reason: Any) -> Request:
        refuse_loop(request)  # where no cookie middleware runs
        self._check_port_and_host(redirected)
        try:
            redirected = super()._redirect(redirected, request, reason)
        except IgnoreRequest as error:
            raise RedirectLoop(f"too many redirects, the last one from {request.url}") from error
        redirected.meta[HOPS] = (*request.meta.get(HOPS, ()), hop(request))
        self._leave_slot(redirected, request)
        return redirected

    def _leave_slot(self, redirected: Request, request: Request) -> None:
        # Scrapy notes the slot that a request ran in under the key by which a user chooses one,
        # so a redirect to another host would wait in the first host's slot (scrapy#2141). A slot
        # that is not the host's name was chosen.
        host = urlparse_cached(request).hostname or ""
        if redirected.meta.get(SLOT_KEY) == host:
            del redirected.meta[SLOT_KEY]

    def _check_port_and_host(self, redirected: Request) -> None:
        parts = urlparse_cached(redirected)
        if not parts.hostname or parts.port == 0:  # .port raises ValueError for others
            raise ValueError(f"no host in {redirected.url}")


def _log_garbage(request: Request, error: Exception) -> None:
    logger.info("%s redirects to what is no URL, not followed: %s", request.url, error)


class TrailRedirectMiddleware(_Hops, RedirectMiddleware):
    """3xx answers. A Location that is no http(s) URL is not followed: the 3xx is the answer."""

    def process_response(  # type: ignore[override]  # without the deprecated spider argument
        self, request: Request, response: Response
    ) -> Request | Response:
        try:
            return super().process_response(request, response)
        except ValueError as error:
            _log_garbage(request, error)
            return response


class TrailRefreshMiddleware(_Hops, MetaRefreshMiddleware):
    """``<meta http-equiv="refresh">`` and the ``Refresh`` header, up to METAREFRESH_MAXDELAY s.

    A page that reloads itself after some seconds is kept as it is (a session kept alive, a
    progress bar); at once it is followed: that is how cookie walls work.
    """

    def process_response(  # type: ignore[override]  # without the deprecated spider argument
        self, request: Request, response: Response
    ) -> Request | Response:
        if request.meta.get("dont_redirect", False) or request.method == "HEAD":
            return response
        if response.status in ASKS_TO_WAIT:
            return response  # the host wants to be left alone, whatever its error page says
        try:
            seconds, url = self._refresh(response)
            if url is None or seconds >= self._maxdelay or not url.lower().startswith("http"):
                return response
            if seconds and urldefrag(url).url == urldefrag(request.url).url:
                return response
            redirected = self._redirect_request_using_get(request, response, url)
            if urlparse_cached(redirected).scheme not in {"http", "https"}:
                return response
            return self._redirect(redirected, request, "meta refresh")
        except ValueError as error:
            _log_garbage(request, error)
            return response

    def _refresh(self, response: Response) -> tuple[float, str | None]:
        if isinstance(response, HtmlResponse):
            encoding, text = _opening(response)
            base = get_base_url(text, response.url, encoding)
            seconds, url = get_meta_refresh(text, base, encoding, ignore_tags=self._ignore_tags)
            if url:
                return seconds or 0.0, url
        return header_refresh(response)


def _opening(response: HtmlResponse) -> tuple[str, str]:
    """Charset and text of a page's beginning.

    Not ``response.text``: its guess at the charset of some MiB stops the reactor for a second.
    """
    declared = (response.headers.get("Content-Type") or b"").decode("latin-1")
    body = response.body[:OPENING]
    try:
        return html_to_unicode(declared, body, default_encoding="utf-8")
    except (LookupError, ValueError):  # a codec that is none of text
        return "utf-8", body.decode("utf-8", "replace")


def header_refresh(response: Response) -> tuple[float, str | None]:
    """Seconds and absolute URL of the ``Refresh`` header (HTML standard, 4.2.5.3), if any."""
    value = response.headers.get("Refresh")
    found = REFRESH.fullmatch(value.decode("latin-1")) if value else None
    if found is None or b"%PDF-" in response.body[:1024]:
        return 0.0, None
    url = found["url"].split(found["quote"])[0] if found["quote"] else found["url"]
    return float(found["seconds"]), urljoin(response.url, url.strip())
