"""The spider, with a disk that refuses somebody something: the setting TROUBLE says what.

It is ``module:name.of.a.function nth kind``: from its call number *nth* on the function raises a
StorageTrouble, or the OSError that *kind* is the name of.
"""

from __future__ import annotations

import errno
import itertools
import os
from functools import wraps
from importlib import import_module
from typing import Any

from scrapy.settings import BaseSettings

from lafka.capture import exchanges
from lafka.errors import StorageTrouble
from lafka.spiders.futli import FutliSpider

exchanges.IN_MEMORY = 500  # what is spooled goes to the disk


def refusal(kind: str) -> Exception:
    if kind != "StorageTrouble":
        number = getattr(errno, kind)
        return OSError(number, os.strerror(number), "a file")
    return StorageTrouble("a file", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))


def install(trouble: str) -> None:
    path, nth, kind = trouble.split()
    module, _, names = path.partition(":")
    owner: Any = import_module(module)
    *owners, name = names.split(".")
    for each in owners:
        owner = getattr(owner, each)
    work, calls = getattr(owner, name), itertools.count(1)
    if getattr(work, "troubled", False):
        return

    @wraps(work)
    def refused(*args: Any, **kwargs: Any) -> Any:
        if next(calls) >= int(nth):
            raise refusal(kind)
        return work(*args, **kwargs)

    refused.troubled = True  # type: ignore[attr-defined]
    setattr(owner, name, refused)


class TroubledSpider(FutliSpider):
    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        install(settings["TROUBLE"])


del FutliSpider  # Scrapy takes every spider in here
