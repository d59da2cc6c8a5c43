"""The two origins as one ASGI application: which is asked, guards, routes, refusals.

Paths are read as they came, and never become paths on disk: a pid goes through its scheme, anything
else through a pattern. What waits for a disk is done in threads.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lafka.errors import (
    BadArgument,
    BadPid,
    CallerError,
    KeeperError,
    LafkaError,
    NotHeld,
    WarcError,
    printable,
)
from lafka.web import answers
from lafka.web.site import Site, Withheld

LONGEST_TARGET = 16 << 10
HEADERS_MAX = 100
RETRY = "30"
"""Seconds after which it is worth asking for what could not be read."""
KEPT_BYTES = 16 << 20
"""Bytes of answers that are kept while the index does not change."""
KEPT_LONGEST = 1 << 20
KEPT_MORE = 4096
"""Bytes that a kept answer takes beside its body: its headers and its place."""
_ANY = re.compile(".*", re.DOTALL)
_THREADS = 8
_SLOW_THREADS = 4
_SLOW_WAITING = 60
"""Questions that may take seconds and wait for a thread; who comes then is told to come again."""

logger = logging.getLogger(__name__)

Handler = Callable[[Request, re.Match[str]], Response]
Refusal = Callable[[Request, int, str], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRoutes:
    """Routes of one origin: patterns over the whole raw path, the first that fits.

    *headers* are on every answer that does not have them; *refused* makes the answer that is told
    with a status. *slow*: handlers that read what is foreign, or much of the index. *quick*: those
    that wait for no thread. *kept*: those that read of the site nothing but its index, so that
    their answers stay while it does.
    """

    routes: Sequence[tuple[re.Pattern[str], Handler]]
    headers: Mapping[str, str]
    refused: Refusal
    slow: frozenset[Handler] = frozenset()
    quick: frozenset[Handler] = frozenset()
    kept: frozenset[Handler] = frozenset()


class Web:
    """Serves *origins* by the port that is asked, to whoever asks by one of the names *hosts*."""

    def __init__(
        self, site: Site, origins: Mapping[int, OriginRoutes], hosts: Iterable[str]
    ) -> None:
        self.site = site
        self._origins = dict(origins)
        self._hosts = frozenset(host.lower() for host in hosts)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lafka-web")
        self._slow = ThreadPoolExecutor(_SLOW_THREADS, thread_name_prefix="lafka-web-slow")
        # Several would wait for Python's lock at each row, and each have a cache of the index.
        self._searches = ThreadPoolExecutor(1, thread_name_prefix="lafka-web-search")
        self._slow_count = 0
        self._kept = KeptAnswers(site)

    def close(self) -> None:
        self._threads.shutdown()
        self._slow.shutdown()
        self._searches.shutdown()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        origin = self._origins[scope["server"][1]]
        response = await self._response(origin, request)
        try:
            await response(scope, receive, answers.within(send))
        except TimeoutError:
            logger.info("hung up on a client that took nothing")

    async def _response(self, origin: OriginRoutes, request: Request) -> Response:
        """The answer, made in a thread but for what is quick; what may take seconds has few of its
        own, and searches have one.
        """
        refused = answers.refusal(
            request, self._hosts, longest=LONGEST_TARGET, headers_max=HEADERS_MAX
        )
        if refused is not None:
            return _finished(origin, request, refused)
        loop = asyncio.get_running_loop()
        handler, found = _routed(origin, request)
        answer = partial(self._answered, origin, request, handler, found)
        if handler in origin.quick:
            return answer()
        if handler not in origin.slow:
            return await loop.run_in_executor(self._threads, answer)
        if self._slow_count >= _SLOW_THREADS + _SLOW_WAITING:
            refused = origin.refused(request, 503, "too much is asked for at once: come again")
            return _finished(origin, request, refused)
        self._slow_count += 1
        threads = self._searches if handler in origin.kept else self._slow
        try:
            return await loop.run_in_executor(threads, answer)
        finally:
            self._slow_count -= 1

    def _answered(
        self, origin: OriginRoutes, request: Request, handler: Handler, found: re.Match[str]
    ) -> Response:
        """The answer of *handler*, with its headers; it may be one that others get, too."""

        def made() -> Response:
            return _finished(origin, request, self._made(origin, request, handler, found))

        return self._kept.answer(request, made) if handler in origin.kept else made()

    def _made(
        self, origin: OriginRoutes, request: Request, handler: Handler, found: re.Match[str]
    ) -> Response:
        try:
            return handler(request, found)
        except LafkaError as error:
            status = _status(error)
            if status == 503:
                logger.error("%s: %s", _shown(request), error)
            return origin.refused(request, status, self._without_paths(str(error)))
        except (WarcError, OSError) as error:
            logger.error("%s: %s", _shown(request), error)
            return origin.refused(request, 503, self._without_paths(_sentence(error)))

    def _without_paths(self, sentence: str) -> str:
        """*sentence* without where on this machine the archive and its index lie."""
        for folder in (self.site.index, self.site.archive.root):
            for path in (folder, folder.absolute()):
                sentence = sentence.replace(f"{path}/", "")
        return sentence


class KeptAnswers:
    """Answers as they were made from the index of *site*, until it changes; for many threads."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._lock = threading.Lock()
        self._answers: dict[tuple[bytes, bool], Response] = {}
        self._version: object = None
        self._size = 0

    def answer(self, request: Request, made: Callable[[], Response]) -> Response:
        """Return what is kept of the address that is asked for, else what is *made*."""
        target = b"?".join((request.scope["raw_path"], request.scope["query_string"]))
        key, version = (target, answers.takes_gzip(request)), self._now()
        with self._lock:
            if version != self._version:
                self._answers, self._version, self._size = {}, version, 0
            kept = self._answers.get(key)
        if kept:
            return kept
        answer = made()
        size = len(answer.body) + len(target) + KEPT_MORE
        if version and answer.status_code == 200 and size < KEPT_LONGEST and self._now() == version:
            with self._lock:
                if self._size + size > KEPT_BYTES:
                    self._answers, self._size = {}, 0
                if version == self._version:
                    self._answers[key] = answer
                    self._size += size
        return answer

    def _now(self) -> object:
        """The version of the index; None where it cannot be read, which the handler tells."""
        try:
            return self._site.version()
        except (LafkaError, WarcError):
            return None


def _finished(origin: OriginRoutes, request: Request, response: Response) -> Response:
    """*response* with the headers of its origin, compressed where that helps."""
    headers = {"Retry-After": RETRY} if response.status_code == 503 else {}
    for name, value in {**origin.headers, **headers}.items():
        response.headers.setdefault(name, value)
    answers.compress(request, response)
    return response


def _routed(origin: OriginRoutes, request: Request) -> tuple[Handler, re.Match[str]]:
    path = request.scope["raw_path"].decode("latin-1")
    routes = (*origin.routes, (_ANY, _no_page))
    tried = ((handler, pattern.fullmatch(path)) for pattern, handler in routes)
    return next((handler, found) for handler, found in tried if found)


def _no_page(request: Request, found: re.Match[str]) -> Response:  # noqa: ARG001
    raise NotHeld("no such page")


def _status(error: LafkaError) -> int:
    if isinstance(error, Withheld):
        return 451
    if isinstance(error, NotHeld | BadPid):
        return 404
    if isinstance(error, BadArgument | CallerError):
        return 400
    return 503


def _sentence(error: Exception) -> str:
    if isinstance(error, KeeperError | WarcError):
        return str(error)
    return "what is kept of this cannot be read now; the log tells"


def _shown(request: Request) -> str:
    return printable(request.scope["raw_path"][:200].decode("latin-1"))
