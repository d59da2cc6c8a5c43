"""robots.txt by RFC 9309."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Self

from scrapy import Request, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.python import global_object_name
from twisted.internet.threads import deferToThread

from lafka.errors import SiteError
from lafka.politeness.failures import not_the_sites, without_frames
from lafka.politeness.redirects import RedirectLoop
from lafka.politeness.retries import ASKS_TO_WAIT, HostSetAside, RetryAfterMiddleware

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)

SIZE_MAX = 500 * 1024  # RFC 9309, 2.5: at least that much is parsed
PARSED_AT_ONCE = 32 * 1024  # bytes; 500 KiB made for it take the parser a second
DOWNLOAD_MAX = 8 * 1024 * 1024
DOWNLOAD_SECONDS = 60.0  # an endless one must not hold up its host
REDIRECTS_MAX = 5  # RFC 9309, 2.3.1.2
KEPT_HOSTS = 10_000
KEPT_SECONDS = 24 * 3600  # RFC 9309, 2.4
KEPT_FAILURE_SECONDS = 3600
AGENTS_MAX = 16
AGENT_LINE = re.compile(r"user[- ]?agent\s*:?(?P<agent>.*)", re.IGNORECASE)


class RobotsForbidden(SiteError, IgnoreRequest):
    """robots.txt forbids the URL; ``unavailable`` if it does so by an answer of 5xx."""

    def __init__(self, message: str, *, unavailable: bool = False) -> None:
        super().__init__(message)
        self.unavailable = unavailable


class RobotsUnreachable(SiteError, IgnoreRequest):
    """The host of robots.txt gives no answer, so it is not asked for anything else.

    ``cause`` is the failure of the robots.txt download, the one that the page would have met.
    """

    def __init__(self, origin: str, cause: Exception) -> None:
        super().__init__(f"{origin}/robots.txt cannot be had: {cause}")
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRules:
    """The rules in the robots.txt of one origin.

    ``parser`` is None where everything is allowed. ``status`` is that of the answer, ``delay``
    the seconds of Crawl-delay, ``expires`` monotonic seconds. A ``parked`` verdict is none yet:
    the host asked to wait.
    """

    parser: RobotParser | None = None
    unavailable: bool = False
    parked: bool = False
    cause: Exception | None = None
    delay: float = 0.0
    expires: float = math.inf


def own_groups(text: str, agent: str) -> str:
    """The groups of a robots.txt that can be meant for *agent*, and those for ``*``.

    The parser multiplies agents by rules: 500 KiB made for that would stop it for minutes.
    """
    kept: list[str] = []
    agents: set[str] = set()
    in_agents = False
    name = agent.lower()
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        found = AGENT_LINE.match(line)
        if found:
            agents = agents if in_agents else set()
            in_agents = True
            word = found["agent"].strip().lower()
            word = word.replace("*", "") or word[:1]
            ours = word == "*" or (word and word in name)
            if ours and word not in agents and len(agents) < AGENTS_MAX:
                agents.add(word)
                kept.append(f"User-agent: {word}")
        elif line:
            in_agents = False
            if agents:
                kept.append(line)
    return "\n".join(kept)


class RobotsMiddleware(RobotsTxtMiddleware):
    """Asks robots.txt before anything else, once for each origin, and does as it says.

    2xx is parsed; 3xx that lead nowhere and 4xx allow all; 5xx, and 429 as Google reads it, after
    their retries forbid all (``RobotsForbidden.unavailable``); no answer at all fails each request
    with ``RobotsUnreachable``. A failure is believed for an hour, the rest for a day.
    """

    crawl_delay_max: float
    tries_max: int

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._verdicts: OrderedDict[str, asyncio.Future[RobotsRules]] = OrderedDict()
        self._tries: dict[str, int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        settings = crawler.settings
        middleware.crawl_delay_max = settings.getfloat("LAFKA_CRAWL_DELAY_MAX", 60)
        middleware.tries_max = settings.getint("RETRY_TIMES")
        for signal in (signals.request_reached_downloader, signals.response_downloaded):
            crawler.signals.connect(middleware.keep_delay, signal)
        return middleware

    async def process_request(  # type: ignore[override]  # may send a request back to wait
        self, request: Request
    ) -> Request | None:
        if request.meta.get("dont_obey_robotstxt"):
            return None
        origin = _origin(request)
        known = self._known(origin)
        verdict = known or await self._ask(origin, request)
        # Back to the scheduler where it has to wait: there it takes no place. A component's own
        # request (engine.download_async) does not pass the scheduler and cannot.
        scheduled = request.callback is not NO_CALLBACK
        if verdict.parked and scheduled:
            return request.replace(dont_filter=True)
        self._obey(verdict, origin, request)
        if known is None and scheduled and self._wait(request) > 1:
            return request.replace(dont_filter=True)
        return None

    def keep_delay(self, request: Request) -> None:
        """Raise the delay of the request's slot to the Crawl-delay.

        AutoThrottle lowers it with each answer, and a slot that was idle for a minute is made
        anew; so it is raised after each answer (extensions are connected before middlewares,
        AutoThrottle has had its turn) and before the slot sends a request. No jitter then: it
        would halve the delay now and then.
        """
        verdict = self._known(_origin(request))
        slot = self._slot(request)
        if verdict is None or slot is None or slot.delay >= verdict.delay:
            return
        slot.delay = verdict.delay
        slot.jitter = 0.0

    def _known(self, origin: str) -> RobotsRules | None:
        future = self._verdicts.get(origin)
        if future is None or not future.done():
            return None
        verdict = future.result()
        if verdict.expires <= monotonic():
            del self._verdicts[origin]
            return None
        self._verdicts.move_to_end(origin)
        return verdict

    async def _ask(self, origin: str, request: Request) -> RobotsRules:
        """Fetch, or wait for the fetch that another request has begun."""
        future = self._verdicts.get(origin)
        if future is None:
            future = self._verdicts[origin] = asyncio.ensure_future(self._fetch(origin, request))
            if len(self._verdicts) > KEPT_HOSTS:
                self._verdicts.popitem(last=False)
        try:
            verdict = await asyncio.shield(future)
        except Exception:  # ours: no verdict about the host
            self._verdicts.pop(origin, None)
            raise
        self.keep_delay(request)
        return verdict

    async def _fetch(self, origin: str, request: Request) -> RobotsRules:
        tries = self._tries.pop(origin, 0)
        robots_request = Request(
            f"{origin}/robots.txt",
            priority=self.DOWNLOAD_PRIORITY,
            callback=NO_CALLBACK,
            meta={
                "dont_obey_robotstxt": True,
                "dont_merge_cookies": True,
                "download_maxsize": DOWNLOAD_MAX,
                "download_timeout": DOWNLOAD_SECONDS,
                "redirect_ttl": REDIRECTS_MAX,
                "retry_times": tries,
            },
        )
        self._stats.inc_value("robotstxt/request_count")
        try:
            response = await self._engine.download_async(robots_request)
            return await self._read(origin, request, response, tries)
        except RedirectLoop:
            return RobotsRules(expires=monotonic() + KEPT_SECONDS)
        except Exception as error:  # whatever the host's is, each of its pages meets it
            if trouble := not_the_sites(error):
                raise trouble from None
            return self._unreachable(origin, error)

    def _unreachable(self, origin: str, error: Exception) -> RobotsRules:
        self._stats.inc_value(f"robotstxt/exception_count/{global_object_name(type(error))}")
        logger.info("%s/robots.txt cannot be had, so nothing there is asked for: %s", origin, error)
        return RobotsRules(cause=without_frames(error), expires=monotonic() + KEPT_FAILURE_SECONDS)

    async def _read(
        self, origin: str, request: Request, response: Response, tries: int
    ) -> RobotsRules:
        status = response.status
        self._stats.inc_value("robotstxt/response_count")
        self._stats.inc_value(f"robotstxt/response_status_count/{status}")
        if 200 <= status < 300:
            return await self._parse(request, response)
        parks = self.crawler.get_downloader_middleware(RetryAfterMiddleware) is not None
        if parks and status in ASKS_TO_WAIT and tries < self.tries_max:
            self._tries[origin] = tries + 1
            return RobotsRules(parked=True, expires=0.0)
        if status < 500 and status != 429:
            return RobotsRules(expires=monotonic() + KEPT_SECONDS)
        logger.info("%s/robots.txt answers %d, so nothing there is asked for", origin, status)
        return RobotsRules(unavailable=True, expires=monotonic() + KEPT_FAILURE_SECONDS)

    async def _parse(self, request: Request, response: Response) -> RobotsRules:
        agent = self._agent(request)
        if len(response.body) < PARSED_AT_ONCE:
            parser = self._parsed(response.body, agent)
        else:
            parsing = deferToThread(self._parsed, response.body, agent)
            parser = await maybe_deferred_to_future(parsing)
        await self.crawler.signals.send_catch_log_async(
            signal=signals.robots_parsed, robotparser=parser, request=request
        )
        delay = parser.crawl_delay(agent) or 0.0
        if not delay > 0:  # neither negative nor NaN
            delay = 0.0
        return RobotsRules(
            parser=parser,
            delay=min(delay, self.crawl_delay_max),
            expires=monotonic() + KEPT_SECONDS,
        )

    def _parsed(self, data: bytes, agent: str) -> RobotParser:
        text = data[:SIZE_MAX].decode("utf-8-sig", errors="ignore")
        body = own_groups(text, agent).encode()
        return build_from_crawler(self._parserimpl, self.crawler, body)

    def _obey(self, verdict: RobotsRules, origin: str, request: Request) -> None:
        if isinstance(verdict.cause, HostSetAside):
            raise HostSetAside(verdict.cause.slot, verdict.cause.cause)
        if verdict.cause is not None:
            raise RobotsUnreachable(origin, verdict.cause) from verdict.cause
        if verdict.parser and not verdict.parser.allowed(request.url, self._agent(request)):
            self._stats.inc_value("robotstxt/forbidden")
            raise RobotsForbidden(f"robots.txt forbids {request.url}")
        if verdict.unavailable or verdict.parked:
            self._stats.inc_value("robotstxt/forbidden")
            raise RobotsForbidden(f"{origin}/robots.txt is not available", unavailable=True)

    def _agent(self, request: Request) -> str:
        if self._robotstxt_useragent:
            return self._robotstxt_useragent
        sent = request.headers.get("User-Agent")
        return sent.decode("latin-1") if sent else self._default_useragent

    def _wait(self, request: Request) -> float:
        slot = self._slot(request)
        return 0.0 if slot is None else slot.lastseen + slot.delay - monotonic()

    def _slot(self, request: Request) -> Slot | None:
        downloader = self._engine.downloader
        return downloader.slots.get(downloader.get_slot_key(request))

    @property
    def _engine(self) -> ExecutionEngine:
        assert self.crawler.engine is not None
        return self.crawler.engine


def _origin(request: Request) -> str:
    """Scheme, host and port: rules hold for these (RFC 9309, 2.3), not for a user's name."""
    parts = urlparse_cached(request)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
