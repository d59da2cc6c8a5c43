"""Loads the spider of a crawl and no other, to start sooner; and the crawl's user agent."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec

from scrapy import Request, Spider
from scrapy.settings import BaseSettings
from scrapy.spiderloader import SpiderLoader
from scrapy.utils.spider import iter_spider_classes

import lafka
from lafka.capture.run import warc_settings
from lafka.errors import BadArgument, printable

_BELOW_ALL = 5
"""A priority under that of any source; a program sets Scrapy's own defaults, 0, a second time."""


def with_ours(settings: BaseSettings) -> None:
    """Put Lafka's settings below *settings* where no module of settings brought them.

    As in a program, or with ``runspider``, in a folder without a ``scrapy.cfg``.
    """
    if "LAFKA_WRITERS" not in settings:
        settings.setmodule("lafka.settings", priority=_BELOW_ALL)


def user_agent(settings: BaseSettings) -> str:
    """Return what a scrapy-warcio settings file says, else Lafka and whom to turn to."""
    own = None
    with suppress(BadArgument):  # told by check
        own = warc_settings(settings).get("user_agent")
    contact = settings.get("LAFKA_CONTACT")
    about = f" (+{contact})" if contact else ""
    return printable(own or f"Lafka/{lafka.__version__}{about}")


class LoaderByName:
    """Scrapy's SpiderLoader, which imports all spiders, only where that is wanted.

    A spider whose module has its name, in a package of SPIDER_MODULES, is found there; for any
    other, and for lists of all, it is Scrapy's own loader that answers.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> LoaderByName:
        return cls(settings)

    @cached_property
    def _all(self) -> SpiderLoader:
        return SpiderLoader(self._settings)

    def load(self, spider_name: str) -> type[Spider]:
        """The spider called *spider_name*; ``KeyError`` if there is none."""
        for package in self._settings.getlist("SPIDER_MODULES"):
            place = f"{package}.{spider_name}"
            if spider_name.isidentifier() and _is_there(place):
                for spider in iter_spider_classes(import_module(place)):
                    if spider.name == spider_name:
                        return spider
        return self._all.load(spider_name)

    def list(self) -> list[str]:
        return self._all.list()

    def find_by_request(self, request: Request) -> list[str]:  # type: ignore[valid-type]
        return self._all.find_by_request(request)


def _is_there(place: str) -> bool:
    """Return whether there is a module *place*; its parent may be no package, or missing."""
    try:
        return find_spec(place) is not None
    except ModuleNotFoundError:
        return False
