"""Put what Scrapy logs of itself where it belongs: its tables at DEBUG, no wrong advice."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

OF_ITSELF = (
    "scrapy.utils.log",
    "scrapy.addons",
    "scrapy.crawler",
    "scrapy.middleware",
    "scrapy.extensions.logstats",
)
"""Loggers of Scrapy that tell at INFO how it is set up, and its own progress."""
STATS = "scrapy.statscollectors"
DOWNLOADS = (
    "lafka.capture.handler",
    "scrapy.core.downloader.handlers._base_streaming",
)
WRONG = "DOWNLOAD_FAIL_ON_DATALOSS"
"""Scrapy's advice to set it is not said: what is cut short is an outcome, ``truncated``."""


def settle_log(settings: BaseSettings) -> None:
    """Take Scrapy's words about itself for DEBUG, but for its stats where STATS_DUMP is set."""
    asked = (settings.getpriority("STATS_DUMP") or 0) > 0
    for name in (*OF_ITSELF, *(() if asked else (STATS,))):
        logging.getLogger(name).addFilter(at_debug)
    for name in DOWNLOADS:
        logging.getLogger(name).addFilter(is_no_wrong_advice)


def at_debug(record: logging.LogRecord) -> bool:
    """Let *record* pass, as one of DEBUG where it was one of INFO; handlers look at its level."""
    if record.levelno == logging.INFO:
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return True


def is_no_wrong_advice(record: logging.LogRecord) -> bool:
    return WRONG not in record.getMessage()
