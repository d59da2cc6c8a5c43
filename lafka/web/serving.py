"""The origins on their sockets, by one uvicorn, until a signal ends it."""

from __future__ import annotations

import gc
import logging
import re
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from socket import socket
from urllib.parse import urlsplit

import uvicorn
from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument
from lafka.web import answers
from lafka.web.api import Api
from lafka.web.app import Handler, OriginRoutes, Web
from lafka.web.cdx import Cdx
from lafka.web.connections import CONNECTIONS_MAX, LOOPBACK, config, listening_at
from lafka.web.held import BytesOrigin
from lafka.web.mementos import Mementos
from lafka.web.pages import Pages
from lafka.web.replayweb import ReplayWeb, Scripts
from lafka.web.site import Origins, Site
from lafka.web.splaps import Splaps

_ONE = r"[^/]+"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeAddresses:
    """The addresses to listen at, and the names to be asked by.

    *origin*, *replay_origin*: how browsers reach our pages and the bytes, where not by their ports;
    *connections*: open at once, of all origins; *replayweb*: a folder of ReplayWeb.page to serve at
    *replayweb_port*, which browsers reach at *replayweb_origin*, where not there.
    """

    bind: str = "127.0.0.1"
    port: int = 8000
    replay_port: int = 8001
    hosts: tuple[str, ...] = ()
    origin: str = ""
    replay_origin: str = ""
    connections: int = CONNECTIONS_MAX
    replayweb: Path | None = None
    replayweb_port: int = 8002
    replayweb_origin: str = ""
    workers: int = 1


def serve(
    make: Callable[[Origins], Site], where: ServeAddresses, begun: Callable[[Origins], None]
) -> None:
    """Serve the site that *make* gives until a signal ends it; *begun* is told where.

    A port of 0 is a free one. Each of ``workers`` processes has its own threads and connections.
    ``BadArgument`` where an address cannot be had.
    """
    replayweb = Scripts.of(where.replayweb) if where.replayweb else None
    wanted = (where.port, where.replay_port, *([where.replayweb_port] if replayweb else []))
    with ExitStack() as stack:

        def listening(ports: Sequence[int], *, shared: bool = False) -> list[socket]:
            return [stack.enter_context(closing(listening_at(where.bind, port, shared=shared)))
                    for port in ports]  # fmt: skip

        sockets = [listening(wanted)]  # alone at first: a port that another server has is refused
        ports = [one.getsockname()[1] for one in sockets[0]]
        if where.workers > 1:  # of one socket, who wakes first would take all who come at once
            for one in sockets[0]:
                one.close()
            sockets = [listening(ports, shared=True) for _ in range(where.workers)]
        origins = origins_of(where, ports)
        site = make(origins)
        made = [pages_origin(site), bytes_origin(site)]
        if replayweb:
            made.append(replayweb_origin(site, replayweb))
        hosts = (*LOOPBACK, *where.hosts, *_names(where))

        def work(own: Sequence[socket]) -> None:
            web = Web(site, dict(zip(ports, made, strict=True)), hosts)
            try:
                uvicorn.Server(config(web, connections=where.connections)).run(sockets=[*own])
            finally:
                web.close()

        begun(origins)
        gc.collect()
        gc.freeze()  # what is there by now stays: it is not gone through again and again
        if where.workers == 1:
            work(sockets[0])
        else:
            _in_processes([partial(work, own) for own in sockets])


def _in_processes(works: Sequence[Callable[[], None]]) -> None:
    """Do each of *works* in a process until a signal ends them; one that dies is begun anew."""
    fork = get_context("fork")
    workers: list[BaseProcess] = []
    is_ended = False

    def end(*_: object) -> None:
        nonlocal is_ended
        is_ended = True
        for worker in workers:
            worker.terminate()

    def begin(work: Callable[[], None]) -> BaseProcess:
        worker = fork.Process(target=_as_worker, args=(work,))
        worker.start()
        return worker

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    workers += map(begin, works)
    while not is_ended:
        wait([worker.sentinel for worker in workers])
        for place, worker in enumerate(workers):
            if not is_ended and not worker.is_alive():
                logger.error("a worker ended with %s and is begun anew", worker.exitcode)
                workers[place] = begin(works[place])
    for worker in workers:
        worker.terminate()
        worker.join()


def _as_worker(work: Callable[[], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    work()


def origins_of(where: ServeAddresses, ports: Sequence[int]) -> Origins:
    """Return how browsers reach what listens on *ports*: pages, bytes, ReplayWeb.page if it is
    there.
    """
    names = (_checked("LAFKA_WEB_ORIGIN", where.origin),
             _checked("LAFKA_WEB_REPLAY_ORIGIN", where.replay_origin),
             _checked("LAFKA_WEB_REPLAYWEB_ORIGIN", where.replayweb_origin))  # fmt: skip
    pages, others, *replayweb = (
        name or f"http://{_shown(where.bind)}:{port}"
        for name, port in zip(names, ports, strict=False)
    )
    return Origins(pages=pages, bytes=others, replayweb=replayweb[0] if replayweb else "")


def _checked(setting: str, told: str) -> str:
    origin, many = told.rstrip("/"), r"(\*\.)?" if setting == "LAFKA_WEB_REPLAYWEB_ORIGIN" else ""
    if origin and not re.fullmatch(rf"https?://{many}[A-Za-z0-9.\-\[\]:]+", origin):
        raise BadArgument(f"{setting} {origin!r} is not like https://b.example")
    return origin


def _shown(bind: str) -> str:
    return f"[{bind}]" if ":" in bind else bind


def _names(where: ServeAddresses) -> tuple[str, ...]:
    """By what names the origins are asked: the address, and those behind a proxy."""
    origins = (where.origin, where.replay_origin, where.replayweb_origin)
    elsewhere = (urlsplit(one).hostname for one in origins)
    return (_shown(where.bind), *(host for host in elsewhere if host))


def _routes(handlers: dict[str, Handler]) -> list[tuple[re.Pattern[str], Handler]]:
    return [(re.compile(pattern, re.DOTALL), handler) for pattern, handler in handlers.items()]


def pages_origin(site: Site) -> OriginRoutes:
    pages, api = Pages(site), Api(site)
    pages.compile()
    paper = f"/papers/(?P<pid>{_ONE})"
    patterns: dict[str, Handler] = {
        "/": pages.home,
        "/style\\.css": pages.style,
        "/robots\\.txt": pages.robots,
        "/healthz": pages.healthz,
        "/search": pages.search,
        paper: pages.paper,
        f"{paper}/captures/(?P<record>{_ONE})": pages.capture,
        f"{paper}/compare": pages.compare,
        f"{paper}/replay": pages.replay,
        "/runs": pages.runs,
        f"/runs/(?P<name>{_ONE})": pages.run,
        f"/hosts/(?P<name>{_ONE})": pages.host,
        "/archives": pages.archives,
        "/years": pages.years,
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

    return OriginRoutes(
        routes=_routes(patterns), headers=answers.for_pages(site.origins.bytes), refused=refused,
        slow=frozenset({pages.capture, pages.compare, pages.paper, pages.search, pages.series,
                        api.paper, api.search}),
        quick=frozenset({pages.healthz, pages.robots}),
        kept=frozenset({pages.home, pages.search, pages.runs, pages.run, pages.host, pages.archives,
                        pages.years, pages.archive, pages.series, api.search, api.runs,
                        api.summary}),
    )  # fmt: skip


def bytes_origin(site: Site) -> OriginRoutes:
    held, splaps, mementos, cdx = BytesOrigin(site), Splaps(site), Mementos(site), Cdx(site)
    patterns: dict[str, Handler] = {
        f"/futs/(?P<pid>{_ONE})": held.fut,
        "/warc/(?P<path>.+\\.warc)": held.warc,
        f"/wacz/(?P<pid>{_ONE})\\.wacz": held.wacz,
        f"/splaps/(?P<pid>{_ONE})/(?P<record>{_ONE})": splaps.splap,
        "/web/cdx": cdx.query,
        f"/web/timemap/(?P<form>{_ONE})/(?P<url>.+)": mementos.timemap,
        "/web/(?P<time>[0-9]{4,14})(?P<form>(?:[a-z]{2}_)?)/(?P<url>.+)": mementos.memento,
        "/web/(?P<url>.+)": mementos.timegate,
        "/robots\\.txt": Pages(site).robots,
    }
    return OriginRoutes(
        routes=_routes(patterns),
        headers=answers.for_bytes(site.origins.pages),
        slow=frozenset({splaps.splap, cdx.query, mementos.memento}),
        refused=lambda _, status, sentence: answers.told(status, sentence),
    )


def replayweb_origin(site: Site, scripts: Scripts) -> OriginRoutes:
    """ReplayWeb.page, and the WACZ files that it reads; scripts run here, so nothing else is."""
    replay = ReplayWeb(site, scripts)
    patterns: dict[str, Handler] = {
        f"/papers/(?P<token>{_ONE})/(?P<pid>{_ONE})": replay.page,
        f"/wacz/(?P<token>{_ONE})/(?P<pid>{_ONE})\\.wacz": replay.wacz,
        "/replay/(?:index\\.html)?": replay.frame,
        "/(?:replay/)?(?P<name>ui)\\.js": replay.script,
        "/replay/(?P<name>program)\\.js": replay.script,
        "/replay/sw\\.js": replay.worker,
        "/robots\\.txt": Pages(site).robots,
    }
    return OriginRoutes(
        routes=_routes(patterns),
        headers=answers.for_replayweb(site.origins.pages),
        refused=lambda _, status, sentence: answers.told(status, sentence),
    )
