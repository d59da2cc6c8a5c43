"""Memento over the captures (RFC 7089, pattern 2.1): TimeGate, mementos, TimeMaps.

A URL stands in an address as it is, query included. Mementos are the bytes as they were, ``id_``,
guarded: what was HTML is a file to be saved, never a page of ours.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument, NotHeld
from lafka.storage.outputs import counted
from lafka.urls import memento
from lafka.urls.memento import Memento, Original, TimeMapPage
from lafka.web.captures import Captured, Captures, padded
from lafka.web.site import Site
from lafka.web.splaps import handed_on

PREFIX = "/web"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_QUOTED = re.compile("([1-9][0-9]*/)?https?%3a", re.IGNORECASE)
_BARE = re.compile(r"[\w-]+(\.[\w-]+)+(:[0-9]{1,5})?(/.*)?", re.DOTALL)
"""A URL without its scheme."""
_PAGE = re.compile(r"(?P<number>[1-9][0-9]{0,5})/(?P<url>.*)", re.DOTALL)


class Mementos:
    """Handlers of Memento for *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._captures = Captures(site)

    # ---- Handlers

    def timegate(self, request: Request, found: re.Match[str]) -> Response:
        """A redirect to the memento nearest to Accept-Datetime, of two the older."""
        url = whole(request, found["url"])
        text = request.headers.get("accept-datetime")
        try:
            time = memento.read_http_date(text) if text is not None else None
        except ValueError as error:
            raise BadArgument(f"Accept-Datetime: {error}") from None
        original = self._original(url, self._captures.of(url))
        chosen = memento.nearest(original.mementos, time)
        headers = {"Vary": "accept-datetime", "Link": memento.gate_links(original)}
        return Response(status_code=302, headers={**headers, "Location": chosen.uri})

    def memento(self, request: Request, found: re.Match[str]) -> Response:
        """The payload of a capture; at another second, or without ``id_`` as other archives have
        it, a redirect to the nearest one.
        """
        url = whole(request, found["url"])
        captures = self._captures.of(url)
        original = self._original(url, captures)
        wanted = _time(found["time"])
        exact = next((one for one in captures if one.time == wanted), None)
        if exact is None or found["form"] != "id_":
            near = memento.nearest(original.mementos, wanted)
            return Response(status_code=302, headers={"Location": near.uri})
        own = next(one for one in original.mementos if one.time == exact.time)
        response = self._payload(request, exact)
        response.headers["Memento-Datetime"] = memento.http_date(exact.time)
        response.headers["Link"] = memento.memento_links(original, own)
        return response

    def timemap(self, request: Request, found: re.Match[str]) -> Response:
        """A page of the TimeMap, in link-format, JSON or CDXJ."""
        if (form := found["form"]) not in memento.TIMEMAPS:
            raise BadArgument(f"{form[:20]}: no TimeMap, which are {', '.join(memento.TIMEMAPS)}")
        text, number = whole(request, found["url"]), 1
        if numbered := _PAGE.fullmatch(text):
            text, number = numbered["url"], int(numbered["number"])
        original = self._original(text, self._captures.of(text))
        count = memento.pages(len(original.mementos))
        if number > count:
            raise NotHeld(f"the TimeMap has {counted(count, 'page')}")
        page = TimeMapPage(
            number=number, uris=[self._map(form, text, n) for n in range(1, count + 1)]
        )
        text = memento.timemap(form, original, page)
        return Response(text, media_type=memento.TIMEMAPS[form])

    # ---- What they share

    def _original(self, url: str, captures: list[Captured]) -> Original:
        return Original(
            uri=url,
            timegate=f"{self._site.origins.bytes}{PREFIX}/{url}",
            timemaps={
                media_type: self._map(form, url) for form, media_type in memento.TIMEMAPS.items()
            },
            mementos=[
                Memento(time=one.time, uri=self.at(one.digits, url), facts={"pid": str(one.pid)})
                for one in captures
            ],
        )

    def at(self, digits: str, url: str) -> str:
        """The address of a memento."""
        return f"{self._site.origins.bytes}{PREFIX}/{digits}id_/{url}"

    def _map(self, form: str, url: str, page: int = 1) -> str:
        number = f"{page}/" if page > 1 else ""
        return f"{self._site.origins.bytes}{PREFIX}/timemap/{form}/{number}{url}"

    def _payload(self, request: Request, captured: Captured) -> Response:
        with self._captures.record(captured) as record:
            head = record.http
            if head is not None and head.status in _REDIRECTS:
                target = head.fields.first("Location") or ""
                if target.startswith(("http://", "https://")):
                    place = self.at(captured.digits, target)
                    return Response(status_code=head.status, headers={"Location": place})
            return handed_on(request, self._site, record, captured.pid)


def whole(request: Request, path: str) -> str:
    """The URL that stands in the address, with what stands behind the ``?``.

    Clients that quote it as a whole (cdx_toolkit) are understood: no URL begins with ``http%3A``.
    """
    query = request.scope["query_string"].decode("latin-1")
    if _QUOTED.match(path):
        path = unquote(path)
    if _BARE.fullmatch(path):
        path = f"http://{path}"
    return f"{path}?{query}" if query else path


def _time(digits: str) -> datetime:
    """``YYYYMMDDhhmmss``, or a beginning of it; ``BadArgument``."""
    return datetime.strptime(padded(digits), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
