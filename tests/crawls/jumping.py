"""The spider, on a machine whose wall clock jumps by a day, forth and back, while it crawls."""

from __future__ import annotations

import datetime as dt
import itertools
import sys
import time
from typing import Any

from lafka.spiders.futli import FutliSpider

DAY = 86_400
wall, calls = time.time, itertools.count()


def jumping() -> float:
    """Return the seconds of a clock that is right for ten looks, then ahead, then behind."""
    return wall() + (0, DAY, -DAY)[next(calls) // 10 % 3]


class JumpingDatetime(dt.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return dt.datetime.fromtimestamp(jumping(), tz)


class JumpingModule:
    """The module ``datetime``, with that clock."""

    datetime = JumpingDatetime

    def __getattr__(self, name: str) -> Any:
        return getattr(dt, name)


class JumpingSpider(FutliSpider):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        time.time = jumping
        for name, module in list(sys.modules.items()):
            if name.startswith("lafka.") and getattr(module, "datetime", None) is dt.datetime:
                module.datetime = JumpingDatetime  # type: ignore[attr-defined]
            elif name.startswith("lafka.") and getattr(module, "dt", None) is dt:
                module.dt = JumpingModule()  # type: ignore[attr-defined]


del FutliSpider  # Scrapy takes every spider in here
