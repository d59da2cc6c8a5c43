"""Scrapy's own tools with Lafka's settings: what is set outside the code, and Lafka's user agent.

Scrapy imports every command at the start of any, so what is rare is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.base import attempt, settle

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

LOOPBACK = ["127.0.0.0/8", "::1/128"]
"""Where the server of ``lafka bench`` listens."""


def ready(settings: BaseSettings | None, verb: str) -> None:
    """Apply to *settings* what *verb* needs; ends with a sentence and exit code 2 where it cannot.

    The user agent stays a default: ``-s``, a spider and the environment go before it.
    """
    if code := attempt(verb, lambda: _ready(settings, verb)):
        raise SystemExit(code)


def _ready(settings: BaseSettings | None, verb: str) -> None:
    assert settings is not None
    settle(settings, verb)
    call_ourselves(settings)


def call_ourselves(settings: BaseSettings) -> None:
    """Have Lafka's user agent where none is set."""
    from lafka.spiders.agents import user_agent  # noqa: PLC0415

    if settings.getpriority("USER_AGENT") == 0 or not settings.get("USER_AGENT"):
        settings.set("USER_AGENT", user_agent(settings), priority="default")


def of_a_list(spider: type[Spider]) -> bool:
    """Return whether *spider* works on a list, so that a single address is nothing to it."""
    from lafka.spiders.fileset import FilesetSpider  # noqa: PLC0415
    from lafka.spiders.road import RoadSpider  # noqa: PLC0415

    return issubclass(spider, RoadSpider | FilesetSpider)
