"""A download handler that writes into a request when it is sent: a busy server notes it late."""

from __future__ import annotations

from time import monotonic

from scrapy import Request
from scrapy.http import Response

from lafka.capture.handler import ExactDownloadHandler

SENT = "X-Sent"
"""A field with seconds, monotonic."""


class StampingHandler(ExactDownloadHandler):
    """Stamps requests once the gate has let them go."""

    async def _download(self, request: Request) -> Response:
        request.headers[SENT] = repr(monotonic())
        return await super()._download(request)
