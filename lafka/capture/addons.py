"""A Scrapy add-on for any project: whole responses into the WARCs of a run.

``ADDONS = {"lafka.capture.Addon": 300}``. What is fetched is kept byte for byte in
``<LAFKA_ARCHIVE>/raw/<run>/``, beside whatever the project does with it; no paper is known here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings, default_settings

from lafka import settings as defaults
from lafka.capture.handler import ExactDownloadHandler
from lafka.capture.middlewares import RawWarcMiddleware
from lafka.capture.run import Run
from lafka.errors import BadArgument

SCHEMES = ("http", "https")
PLACE = 950
"""Next to the downloader: each hop, retry and failure is seen before anything changes it."""


class WholeDownloadHandler(ExactDownloadHandler):
    """Hands on whole bodies, where a crawl of papers needs their beginning alone."""

    whole = True
    group = "all"
    """As in Scrapy: nothing is known here of which requests belong together."""


class WholeWarcMiddleware(RawWarcMiddleware):
    """Begins a run whose WARCs stay, and records what is nobody's in particular."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, Run.begin(crawler, Path(crawler.settings["LAFKA_ARCHIVE"])))


class Addon:
    """The add-on ``lafka.capture.Addon``.

    It downloads itself: a handler for ``http`` or ``https`` that the project has of its own is
    refused, ``BadArgument``. Settings of Lafka that the project does not name are as Lafka has
    them, but ``LAFKA_KEEP_RAW`` is on, and ``LAFKA_MAX_PAYLOAD`` is ``DOWNLOAD_MAXSIZE``, as bodies
    are handed on whole.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        for name in dir(defaults):
            if name.startswith("LAFKA_") and name not in settings:
                settings.set(name, getattr(defaults, name), priority="default")
        settings.set("LAFKA_KEEP_RAW", value=True, priority="addon")
        settings.set("LAFKA_MAX_PAYLOAD", settings.getint("DOWNLOAD_MAXSIZE"), priority="addon")
        handlers = settings.getwithbase("DOWNLOAD_HANDLERS").copy_to_dict()
        for scheme in SCHEMES:
            if handlers.get(scheme) not in (None, default_settings.DOWNLOAD_HANDLERS_BASE[scheme]):
                raise BadArgument(
                    f"DOWNLOAD_HANDLERS: {scheme} has a handler of its own, by which nothing could"
                    " be kept as the wire carried it"
                )
        handlers |= dict.fromkeys(SCHEMES, WholeDownloadHandler)
        self._over(settings, "DOWNLOAD_HANDLERS", handlers)
        middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES")
        self._over(settings, "DOWNLOADER_MIDDLEWARES", middlewares | {WholeWarcMiddleware: PLACE})

    def _over(self, settings: BaseSettings, name: str, value: object) -> None:
        """Set *name*, whoever has set it before."""
        settings.set(name, value, priority=max(settings.getpriority(name) or 0, 15))
