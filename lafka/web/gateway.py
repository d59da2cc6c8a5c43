"""A gateway's addresses as an ASGI application (docs/reference.md, "Gateway").

The path is read as it came, never unescaped by a framework, and never becomes a path on disk: what
is served is found by its id in the holdings. Everything that waits for a disk is done in a thread.
"""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lafka.errors import BadArgument, KeeperError, NotHeld, OperatorError, printable
from lafka.urls import addresses, memento
from lafka.urls.addresses import (
    Addresses,
    GatewayAddresses,
    GatewayRequest,
    HeldFile,
    History,
    Holdings,
    VersionElsewhere,
    VersionWithdrawn,
)
from lafka.web.answers import Stretch, refusal, sent, told, within

NOT_KEPT = "not kept here"
_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

logger = logging.getLogger(__name__)


class Gateway:
    """Serves *holdings* to whoever asks by one of the names *hosts* (values of Host, no port).

    Reading only: GET and HEAD. Who serves it closes it.
    """

    def __init__(self, holdings: Holdings, hosts: Iterable[str]) -> None:
        self._holdings = holdings
        self._hosts = frozenset(host.lower() for host in hosts)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lafka-gateway")  # SQLite's
        self._answers: Mapping[GatewayAddresses, Callable[[Request, GatewayRequest], Response]] = {
            GatewayAddresses.ABOUT: lambda _, __: _json(dict(self._holdings.about())),
            GatewayAddresses.HEALTH: lambda _, __: _json(dict(self._holdings.health())),
            GatewayAddresses.LIST: self._list,
            GatewayAddresses.TIMEGATE: self._timegate,
            GatewayAddresses.MEMENTO: self._memento,
            GatewayAddresses.LINKS: self._timemap,
            GatewayAddresses.JSON: self._timemap,
            GatewayAddresses.CDXJ: self._timemap,
            GatewayAddresses.REFIPOS: self._refipos,
        }

    def close(self) -> None:
        """Close the holdings, in the thread that asked them."""
        self._thread.submit(self._holdings.close).result()
        self._thread.shutdown()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        response = refusal(request, self._hosts, longest=addresses.LONGEST)
        if response is None:
            loop = asyncio.get_running_loop()
            response = await loop.run_in_executor(self._thread, self._answered, request)
        response.headers["X-Content-Type-Options"] = "nosniff"
        try:
            await response(scope, receive, within(send))
        except TimeoutError:
            logger.info("%s: hung up on a client that took nothing", request.client)

    def _answered(self, request: Request) -> Response:
        path, query = request.scope["raw_path"], request.scope["query_string"]
        try:
            asked = addresses.read(path.decode("latin-1"), query.decode("latin-1"))
            if asked is None:
                return told(404, "no address of a gateway")
            return self._answers[asked.place](request, asked)
        except BadArgument as error:
            return told(400, str(error))
        except NotHeld as error:
            return told(404, str(error))
        except (KeeperError, OperatorError, OSError) as error:
            logger.error("%s: %s", printable(path[:200].decode("latin-1")), error)
            return told(503, "what is kept of this cannot be read now; the log tells")

    # The addresses -------------------------------------------------------------------------

    def _list(self, _: Request, __: GatewayRequest) -> Response:
        lines = self._holdings.listed()
        if lines is None:
            return told(404, "this gateway has no list")
        text = "".join(f"{line}\n" for line in lines)
        return Response(text, media_type="text/tab-separated-values")

    def _timegate(self, request: Request, asked: GatewayRequest) -> Response:
        text = request.headers.get("accept-datetime")
        try:
            time = memento.read_http_date(text) if text is not None else None
        except ValueError as error:
            return told(400, f"Accept-Datetime: {error}")
        original = self._original(request, self._history(asked.id))
        chosen = memento.as_of(original.mementos, time)
        headers = {"Vary": "accept-datetime", "Link": memento.gate_links(original)}
        return Response(status_code=302, headers={**headers, "Location": chosen.uri})

    def _memento(self, request: Request, asked: GatewayRequest) -> Response:
        history = self._history(asked.id)
        if all(version.tist != asked.number for version in history.versions):
            raise NotHeld(f"{history.id}: nothing was noted at {asked.number}")
        held = self._holdings.held(history.id, asked.number)
        if isinstance(held, VersionWithdrawn):
            return told(451, f"taken down: {held.why}")
        described = _described(history, self._original(request, history), asked.number)
        if isinstance(held, VersionElsewhere):
            place = _addresses(request).memento(held.id, held.tist)
            return Response(status_code=302, headers=described | {"Location": place})
        return self._bytes(request, held, described)

    def _bytes(self, request: Request, held: HeldFile, headers: dict[str, str]) -> Response:
        headers |= {**_GUARDS, "Cache-Control": "no-cache", "Content-Type": held.media_type}
        stretch = Stretch(fd=held.fd, start=0, size=held.size, etag=f'"{held.md5}"')
        response = sent(request, stretch, headers)
        if held.sha256 and response.status_code == 200:
            digest = b64encode(bytes.fromhex(held.sha256)).decode()
            response.headers["Repr-Digest"] = f"sha-256=:{digest}:"
        return response

    def _timemap(self, request: Request, asked: GatewayRequest) -> Response:
        form = str(asked.place).split("/")[2]
        history = self._history(asked.id, full=form != "link")
        original, there = self._original(request, history), _addresses(request)
        count = memento.pages(len(original.mementos))
        if asked.number > count:
            raise NotHeld(f"{history.id}: its TimeMap has {count} pages")
        uris = [there.timemap(form, history.id, number) for number in range(1, count + 1)]
        page = memento.TimeMapPage(number=asked.number, uris=uris)
        text = memento.timemap(form, original, page)
        return Response(text, media_type=memento.TIMEMAPS[form])

    def _refipos(self, _: Request, asked: GatewayRequest) -> Response:
        found = self._holdings.refipos(self._holdings.the_id(asked.id), _at(asked.query))
        if found is None:
            return told(404, NOT_KEPT)
        return _json([dict(one) for one in found])

    # What they share -----------------------------------------------------------------------

    def _history(self, text: str, *, full: bool = False) -> History:
        name = self._holdings.the_id(text)
        history = self._holdings.history(name, full=full)
        if history is None:
            raise NotHeld(f"{name[:200]}: {NOT_KEPT}")
        return history

    def _original(self, request: Request, history: History) -> memento.Original:
        there, name = _addresses(request), history.id
        return memento.Original(
            uri=name,
            timegate=there.timegate(name),
            timemaps={
                media_type: there.timemap(form, name)
                for form, media_type in memento.TIMEMAPS.items()
            },
            mementos=[
                memento.Memento(
                    time=_time(version.tist),
                    uri=there.memento(name, version.tist),
                    facts=version.facts,
                )
                for version in history.versions
            ],
            facts=history.facts,
        )


def _addresses(request: Request) -> Addresses:
    # The Host is one that is allowed, so it can stand in what we say.
    return Addresses(base=f"{request.scope['scheme']}://{request.headers['host']}")


def _described(history: History, original: memento.Original, tist: int) -> dict[str, str]:
    time = _time(tist)
    own = next(one for one in original.mementos if one.time == time)
    headers = {
        "Memento-Datetime": memento.http_date(time),
        "Link": memento.memento_links(original, own),
    }
    if history.lost is not None:
        headers["Lafka-Lost"] = memento.http_date(_time(history.lost))
    return headers


def _time(tist: int) -> datetime:
    return _EPOCH + timedelta(seconds=tist)


def _at(query: str) -> int | None:
    if not query:
        return None
    name, _, text = query.partition("=")
    if name != "at" or not (text.isascii() and text.isdigit() and len(text) <= 11):
        raise BadArgument("what stands behind the ? is not at=<tist>")
    return int(text)


def _json(values: object) -> Response:
    text = json.dumps(values, ensure_ascii=False, indent=1)
    return Response(f"{text}\n", media_type="application/json")
