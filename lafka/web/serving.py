"""Both origins on their sockets, by one uvicorn, until a signal ends it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvicorn
from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument
from lafka.gateway.serving import CONNECTIONS_MAX, LOOPBACK, config, listening_at
from lafka.web import answers
from lafka.web.api import Api
from lafka.web.app import Handler, Origin, Web
from lafka.web.cdx import Cdx
from lafka.web.held import Held
from lafka.web.mementos import Mementos
from lafka.web.pages import Pages
from lafka.web.site import Origins, Site
from lafka.web.splaps import Splaps

_ONE = r"[^/]+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where to listen, and by what names to be asked.

    *replay_origin*: how browsers reach the origin of bytes, where that is not its port here;
    *connections*: open at once, of both origins.
    """

    bind: str = "127.0.0.1"
    port: int = 8000
    replay_port: int = 8001
    hosts: tuple[str, ...] = ()
    replay_origin: str = ""
    connections: int = CONNECTIONS_MAX


def serve(make: Callable[[Origins], Site], where: Where, begun: Callable[[Origins], None]) -> None:
    """Serve the site that *make* gives until a signal ends it; *begun* is told where.

    A port of 0 is a free one. ``BadArgument`` where an address cannot be had.
    """
    with (
        closing(listening_at(where.bind, where.port)) as first,
        closing(listening_at(where.bind, where.replay_port)) as second,
    ):
        ports = first.getsockname()[1], second.getsockname()[1]
        origins = origins_of(where, *ports)
        site = make(origins)
        web = web_of(site, ports, (*LOOPBACK, *where.hosts, *_names(where)))
        begun(origins)
        try:
            uvicorn.Server(config(web, connections=where.connections)).run(sockets=[first, second])
        finally:
            web.close()


def origins_of(where: Where, port: int, replay_port: int) -> Origins:
    shown = f"[{where.bind}]" if ":" in where.bind else where.bind
    elsewhere = where.replay_origin.rstrip("/")
    if elsewhere and not re.fullmatch(r"https?://[A-Za-z0-9.\-\[\]:]+", elsewhere):
        raise BadArgument(f"LAFKA_WEB_REPLAY_ORIGIN {elsewhere!r} is not like https://b.example")
    return Origins(
        pages=f"http://{shown}:{port}", bytes=elsewhere or f"http://{shown}:{replay_port}"
    )


def _names(where: Where) -> tuple[str, ...]:
    shown = f"[{where.bind}]" if ":" in where.bind else where.bind
    host = urlsplit(where.replay_origin).hostname
    return (shown, host) if host else (shown,)


def web_of(site: Site, ports: tuple[int, int], hosts: tuple[str, ...]) -> Web:
    """The application: our pages at the first of *ports*, the bytes of others at the second."""
    return Web(site, {ports[0]: pages_origin(site), ports[1]: bytes_origin(site)}, hosts)


def _routes(handlers: dict[str, Handler]) -> list[tuple[re.Pattern[str], Handler]]:
    return [(re.compile(pattern, re.DOTALL), handler) for pattern, handler in handlers.items()]


def pages_origin(site: Site) -> Origin:
    pages, api = Pages(site), Api(site)
    paper = f"/papers/(?P<pid>{_ONE})"
    patterns: dict[str, Handler] = {
        "/": pages.home,
        "/style\\.css": pages.style,
        "/robots\\.txt": pages.robots,
        "/healthz": pages.healthz,
        "/search": pages.search,
        paper: pages.paper,
        f"{paper}/captures/(?P<record>{_ONE})": pages.capture,
        "/runs": pages.runs,
        f"/runs/(?P<name>{_ONE})": pages.run,
        f"/hosts/(?P<name>{_ONE})": pages.host,
        f"/archives/(?P<code>{_ONE})": pages.archive,
        f"/archives/(?P<code>{_ONE})/(?P<name>{_ONE})": pages.series,
        "/report": pages.report,
        "/openapi\\.json": api.openapi,
        f"/api/v1{paper}": api.paper,
        f"/api/v1{paper}/suwaf": api.suwaf,
        "/api/v1/search": api.search,
        "/api/v1/runs": api.runs,
        "/api/v1/summary": api.summary,
    }

    def refused(request: Request, status: int, sentence: str) -> Response:
        is_api = request.scope["raw_path"].startswith(b"/api/")
        return (api if is_api else pages).refused(request, status, sentence)

    return Origin(
        routes=_routes(patterns), headers=answers.for_pages(site.origins.bytes), refused=refused
    )


def bytes_origin(site: Site) -> Origin:
    held, splaps, mementos = Held(site), Splaps(site), Mementos(site)
    patterns: dict[str, Handler] = {
        f"/futs/(?P<pid>{_ONE})": held.fut,
        "/warc/(?P<path>.+\\.warc)": held.warc,
        f"/wacz/(?P<pid>{_ONE})\\.wacz": held.wacz,
        f"/splaps/(?P<pid>{_ONE})/(?P<record>{_ONE})": splaps.splap,
        "/web/cdx": Cdx(site).query,
        "/web/timemap/(?P<form>link|json)/(?P<url>.+)": mementos.timemap,
        "/web/(?P<time>[0-9]{4,14})id_/(?P<url>.+)": mementos.memento,
        "/web/(?P<url>.+)": mementos.timegate,
        "/robots\\.txt": Pages(site).robots,
    }
    return Origin(
        routes=_routes(patterns),
        headers=answers.for_bytes(site.origins.pages),
        refused=lambda _, status, sentence: answers.told(status, sentence),
    )
