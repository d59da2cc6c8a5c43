"""The name that ``lafka.capture.replay`` had before: settings that say it go on working."""

import warnings

from scrapy.exceptions import ScrapyDeprecationWarning

from lafka.capture.replay import (
    DATE_KEY,
    FLAG,
    TIME_KEY,
    NotArchived,
    WarcDownloaderMiddleware,
    Wayback,
)

__all__ = ["DATE_KEY", "FLAG", "TIME_KEY", "NotArchived", "WarcDownloaderMiddleware", "Wayback"]

warnings.warn(
    "lafka.wayback is called lafka.capture.replay now: DOWNLOADER_MIDDLEWARES should name"
    " lafka.capture.replay.WarcDownloaderMiddleware",
    ScrapyDeprecationWarning,
    stacklevel=2,
)
