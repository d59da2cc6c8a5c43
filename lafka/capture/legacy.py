"""``-a legacy=URL``: every request of a crawl is answered by a gateway, and none by the web.

At 955 it stands where the network would. What it hands on is no exchange: ``RawWarcMiddleware``
records it as a resource. robots.txt is not asked for: it would be the web's.
"""

from __future__ import annotations

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from lafka.capture.handler import EXCHANGE_KEY
from lafka.capture.pulled import PulledMemento
from lafka.capture.run import PullGateway, Run
from lafka.payloads import SNIFF, Kind, kind_of

PAST_KEY = "lafka_past"
"""Key of ``request.meta``: the aware time whose memento is wanted, of whoever makes the request."""
FLAG = "pulled"
_PAGE_MAX = 4 * 1024 * 1024


class LegacyMiddleware:
    """Answers every request of a crawl that pulls from the gateway; none of them gets further."""

    def __init__(self, pulling: PullGateway) -> None:
        self._pulling = pulling

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pulling = Run.of(crawler).pulling
        if pulling is None:
            raise NotConfigured  # without a word: most crawls ask the web
        return cls(pulling)

    async def process_request(self, request: Request) -> Response:
        time = request.meta.get(PAST_KEY)
        if time is None:  # robots.txt: no site is asked that could mind
            return Response(request.url, status=404, flags=[FLAG], request=request)
        pulled = await self._pulling.pull(request.url, time)
        request.meta[EXCHANGE_KEY] = pulled
        return _response(request, pulled)


def _response(request: Request, pulled: PulledMemento) -> Response:
    """Return what a spider sees of it: of a page all, of anything else how it begins."""
    is_page = kind_of(pulled.body.read(0, SNIFF), pulled.media_type) is Kind.HTML
    body = pulled.body.read(0, _PAGE_MAX if is_page else SNIFF)
    headers = Headers({"Content-Type": pulled.media_type})
    kind = responsetypes.from_args(headers=headers, url=pulled.url, body=body)
    return kind(pulled.url, headers=headers, body=body, flags=[FLAG], request=request)
