"""Addresses of a gateway: those that requests name, and of what is served; its holdings. Pure.

An id is escaped once, as on disk (``RePEc%3Aabc%3Awpaper%3A1``), or stands as it is up to the end
of the request line, query included (``/obi/http://x.example/a?b``): a text with ``://`` in it is
the latter, any other is unescaped, once. An id that was escaped twice is another id, and unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version that was noted at ``tist``, seconds UTC; ``facts`` go into the TimeMap in JSON."""

    tist: int
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The versions of the id ``id``, oldest first, at least one.

    ``lost``: since when it is gone, None where it is not; it is served all the same. ``facts`` go
    into the TimeMap in JSON.
    """

    id: str
    versions: Sequence[Version]
    lost: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFile:
    """The bytes of a version: the open file ``fd``, which whoever gets this closes.

    ``md5`` is what its ETag says, ``sha256`` of the bytes in hex, empty where it is not known.
    """

    fd: int
    size: int
    md5: str
    sha256: str = ""
    media_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionElsewhere:
    """The version redirected: what came is the version at ``tist`` of the id ``id``."""

    id: str
    tist: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionWithdrawn:
    """The version was taken down by its keeper; ``why`` is a few words."""

    why: str


Held = HeldFile | VersionElsewhere | VersionWithdrawn


class Holdings(Protocol):
    """The papers or obis that are served, to one thread; methods raise where the disk fails."""

    def the_id(self, text: str) -> str:
        """The id that *text* means; ``BadArgument`` where it can be none."""

    def history(self, name: str, *, full: bool = False) -> History | None:
        """Return what there is of an id; None where nothing ever was. *full*: with facts of
        versions.
        """

    def held(self, name: str, tist: int) -> Held:
        """The version that was noted at *tist*; ``NotHeld``."""

    def refipos(self, name: str, at: int | None) -> Iterable[Mapping[str, Any]] | None:
        """Pointers to files of a template, now or at *at*; None where no such thing is kept."""

    def listed(self) -> Iterator[str] | None:
        """Lines of a list for a crawl, without line ends; None where there is none."""

    def about(self) -> Mapping[str, Any]:
        """Return what this is, and how much; for people."""

    def health(self) -> Mapping[str, Any]:
        """That it can be read; cheap."""

    def close(self) -> None: ...
