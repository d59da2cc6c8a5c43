"""Mirrors that are asked for a platform, and tokens that a host wants to see, as middlewares.

``LAFKA_PLATFORM_BASES``: scheme and authority of each URL of a named host are replaced, hops' and
robots.txt's too; results tell the platform's own URL, WARCs what was asked. ``LAFKA_TOKENS``:
tokens are added next to the wire, to requests of their host alone, by https (or on loopback), and
stand nowhere: the raw WARC has ``[removed]`` for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from lafka.capture.handler import SECRETS_KEY
from lafka.errors import BadArgument, BadUrl
from lafka.filesets.targets import Token, is_safe, load_tokens

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class PlatformBases:
    """Host -> base URL to ask in its place, ``http://127.0.0.2:8000``; ``BadArgument``."""

    def __init__(self, bases: Mapping[str, str] | None = None) -> None:
        self._asked = {str(host).lower(): _base(host, base) for host, base in (bases or {}).items()}
        self._told = {base: host for host, base in self._asked.items()}
        if len(self._told) < len(self._asked):
            raise BadArgument("LAFKA_PLATFORM_BASES: two hosts have one base")

    def __bool__(self) -> bool:
        return bool(self._asked)

    def asked(self, url: str) -> str:
        """The URL that is asked for *url*."""
        base = self._asked.get((urlsplit(url).hostname or "").lower())
        return url if base is None else f"{base[0]}://{base[1]}{_target(url)}"

    def told(self, url: str) -> str:
        """The platform's own URL of what was asked for as *url*."""
        parts = urlsplit(url)
        host = self._told.get((parts.scheme, parts.netloc.lower()))
        return url if host is None else f"https://{host}{_target(url)}"

    def told_in(self, text: str) -> str:
        """*text* with hosts where it names what is asked in their place."""
        for (scheme, place), host in self._told.items():
            name = urlsplit(f"//{place}").hostname or place
            mirror = f"(?:{scheme}://)?{re.escape(place)}|{re.escape(name)}"
            text = re.sub(rf"(?<![\w.-])(?:{mirror})(?![\w-]|\.\w)", host, text)
        return text


def _target(url: str) -> str:
    """Return what stands behind the authority, char by char."""
    rest = url.partition("://")[2]
    place = min((rest.find(char) for char in "/?#" if char in rest), default=len(rest))
    return rest[place:]


def _base(host: str, base: str) -> tuple[str, str]:
    parts = urlsplit(str(base))
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise BadArgument(f"LAFKA_PLATFORM_BASES: {base!r} for {host} is no http://host:port")
    return parts.scheme, parts.netloc.lower()


class PlatformBasesMiddleware:
    """Sends requests to a mirror that stands for their host, redirected ones too."""

    def __init__(self, bases: PlatformBases) -> None:
        self._bases = bases

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(PlatformBases(crawler.settings.getdict("LAFKA_PLATFORM_BASES")))

    def process_request(self, request: Request) -> Request | None:
        url = self._bases.asked(request.url)
        return None if url == request.url else request.replace(url=url, dont_filter=True)


class TokensMiddleware:
    """Adds the token of the host that is asked, and takes away those of others."""

    def __init__(self, tokens: Mapping[str, Token], bases: PlatformBases) -> None:
        self._tokens = tokens
        self._bases = bases
        self._names = {token.header.lower().encode() for token in tokens.values()}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        tokens = load_tokens(settings.get("LAFKA_TOKENS"))
        return cls(tokens, PlatformBases(settings.getdict("LAFKA_PLATFORM_BASES")))

    def process_request(self, request: Request) -> None:
        """``BadUrl`` where the URL itself holds a token: it would stand in the WARC."""
        for token in self._tokens.values():
            request.headers.pop(token.header, None)
            if token.value in request.url:
                raise BadUrl("a token in the URL; it would stand in a WARC")
        host = (urlsplit(self._bases.told(request.url)).hostname or "").lower()
        own = self._tokens.get(host)
        if own is not None and is_safe(request.url):
            request.headers[own.header] = own.value
        if self._names:
            request.meta[SECRETS_KEY] = tuple(sorted(self._names))
