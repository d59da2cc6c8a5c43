"""Addresses of a gateway: those that requests name, and those of what is served. Pure.

An id is escaped once, as on disk (``RePEc%3Aabc%3Awpaper%3A1``), or stands as it is up to the end
of the request line, query included (``/obi/http://x.example/a?b``): a text with ``://`` in it is
the latter, any other is unescaped, once. An id that was escaped twice is another id, and unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

from lafka.errors import BadArgument

LONGEST = 48 * 1024
"""Bytes of a request's target; a longer one is refused with 414."""
_TIST = re.compile(r"([1-9][0-9]{8,10})/(.*)", re.DOTALL)
_PAGE = re.compile(r"([1-9][0-9]{0,8})/(.*)", re.DOTALL)


class GatewayAddresses(StrEnum):
    """The addresses of a gateway."""

    ABOUT = "/"
    HEALTH = "/health"
    LIST = "/list"
    TIMEGATE = "/obi/<id>"
    MEMENTO = "/obi/<tist>/<id>"
    LINKS = "/timemap/link/<id>"
    JSON = "/timemap/json/<id>"
    CDXJ = "/timemap/cdxj/<id>"
    REFIPOS = "/refipos/<id>"


_PREFIXES = {
    "/obi/": GatewayAddresses.TIMEGATE,
    "/timemap/link/": GatewayAddresses.LINKS,
    "/timemap/json/": GatewayAddresses.JSON,
    "/timemap/cdxj/": GatewayAddresses.CDXJ,
    "/refipos/": GatewayAddresses.REFIPOS,
}
_TIMEMAPS = (GatewayAddresses.LINKS, GatewayAddresses.JSON, GatewayAddresses.CDXJ)
_WHOLE = {
    str(place): place
    for place in (GatewayAddresses.ABOUT, GatewayAddresses.HEALTH, GatewayAddresses.LIST)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayRequest:
    """The request to a gateway; ``number`` is the tist of a memento, the page of a TimeMap from 1.

    ``query`` is what stands behind the ``?`` where that is no part of the id.
    """

    place: GatewayAddresses
    id: str = ""
    number: int = 1
    query: str = ""


def read(path: str, query: str = "") -> GatewayRequest | None:
    """Return what *path*, not unescaped, and *query* name; None for no address of a gateway.

    ``BadArgument`` where the id is no text in UTF-8.
    """
    if path in _WHOLE:
        return GatewayRequest(place=_WHOLE[path], query=query)
    for prefix, place in _PREFIXES.items():
        if path.startswith(prefix):
            place, number, text = _numbered(place, path.removeprefix(prefix))
            if not text:
                return None
            if "://" in text:
                whole = f"{text}?{query}" if query else text
                return GatewayRequest(place=place, id=whole, number=number)
            return GatewayRequest(place=place, id=_unescaped(text), number=number, query=query)
    return None


def _numbered(place: GatewayAddresses, text: str) -> tuple[GatewayAddresses, int, str]:
    if place is GatewayAddresses.TIMEGATE and (found := _TIST.fullmatch(text)):
        return GatewayAddresses.MEMENTO, int(found[1]), found[2]
    if place in _TIMEMAPS and (found := _PAGE.fullmatch(text)):
        return place, int(found[1]), found[2]
    return place, 1, text


def _unescaped(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise BadArgument(f"{text[:80]!r} is no text in UTF-8") from None


@lru_cache(maxsize=64)  # a TimeMap has it in each line
def escaped(text: str) -> str:
    """An id as it stands in an address."""
    return quote(text, safe="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The addresses of one gateway, which is at *base*, without a slash at its end."""

    base: str

    def timegate(self, name: str) -> str:
        return f"{self.base}/obi/{escaped(name)}"

    def memento(self, name: str, tist: int) -> str:
        return f"{self.base}/obi/{tist}/{escaped(name)}"

    def timemap(self, form: str, name: str, page: int = 1) -> str:
        """The TimeMap in *form*, ``link``, ``json`` or ``cdxj``."""
        number = f"{page}/" if page > 1 else ""
        return f"{self.base}/timemap/{form}/{number}{escaped(name)}"

    @property
    def health(self) -> str:
        return f"{self.base}/health"
