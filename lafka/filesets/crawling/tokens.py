"""Tokens: what a host wants to see before it gives what is restricted (``LAFKA_TOKENS``).

They are added next to the wire, to requests of their host alone, by https (or on loopback), and
stand nowhere: the raw WARC has ``[removed]`` for them.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from lafka.capture.handler import SECRETS_KEY
from lafka.errors import BadArgument, BadUrl
from lafka.filesets.crawling.bases import PlatformBases
from lafka.filesets.targets.s3 import Keys

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Token:
    """A header field that a host wants to see; it has no repr."""

    header: str
    value: str


def load_tokens(path: str | None) -> dict[str, Token]:
    """Tokens by host; ``BadArgument`` where the file is none, or others may read it."""
    values = _loaded(path)
    return {host: _token(path, host, each) for host, each in values.items() if not _is_key(each)}


def load_keys(path: str | None) -> dict[str, Keys]:
    """The keys of stores by host, as :func:`load_tokens`."""
    values = _loaded(path)
    return {host: _keys(path, host, each) for host, each in values.items() if _is_key(each)}


def _loaded(path: str | None) -> dict[str, object]:
    if not path:
        return {}
    try:
        mode = Path(path).stat().st_mode
        values = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise BadArgument(f"LAFKA_TOKENS: {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadArgument(f"LAFKA_TOKENS: {path}: not JSON") from None
    if stat.S_IMODE(mode) & 0o077:
        raise BadArgument(f"LAFKA_TOKENS: {path}: others may read it; chmod 600 it")
    if not isinstance(values, dict):
        raise BadArgument(f"LAFKA_TOKENS: {path}: no object of hosts")
    return {host.lower(): value for host, value in values.items()}


def _is_key(value: object) -> bool:
    return isinstance(value, dict) and ("access_key" in value or "secret_key" in value)


def _keys(path: str | None, host: str, value: Any) -> Keys:
    texts = value.get("access_key"), value.get("secret_key")
    if all(isinstance(text, str) and _VALUE.fullmatch(text) for text in texts):
        return Keys(access_key=texts[0], secret_key=texts[1])
    raise BadArgument(f"LAFKA_TOKENS: {path}: {host} needs an access_key and a secret_key")


def _token(path: str | None, host: str, value: object) -> Token:
    if isinstance(value, dict):
        header, text = value.get("header"), value.get("value")
        if not isinstance(header, str) or not isinstance(text, str):
            header = text = ""
        if _NAME.fullmatch(header) and _VALUE.fullmatch(text):
            return Token(header=header, value=text)
    raise BadArgument(f"LAFKA_TOKENS: {path}: {host} needs a header and a value, of one line each")


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


def is_safe(url: str) -> bool:
    """Return whether nobody on the way reads what is sent: TLS, or this machine itself."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
