"""What all ingests of a run share, and how an ingest asks and stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.index import HitIndex
from lafka.filesets.bundles.children import Children
from lafka.filesets.crawling.answers import Came
from lafka.filesets.crawling.bases import PlatformBases
from lafka.filesets.crawling.downloads import PartSink
from lafka.filesets.model.bundles import BundleLimits
from lafka.filesets.walk.walk import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A request as it is to go out: at most ``most`` bytes; ``robots``: its rules are asked."""

    url: str
    fields: tuple[tuple[str, str], ...]
    most: int
    tries: int
    robots: bool = True
    accept: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    sink: PartSink | None = None


class Wire(Protocol):
    """How an ingest asks and stores: by Scrapy's scheduler and pipeline."""

    async def get(self, owner: int, wanted: Wanted) -> Came:
        """Return what came of a request, recorded for *owner*."""

    async def store(self, fileset: str, work: Callable[[], Any]) -> Any:
        """Return what *work*, done by the pipeline in a thread, gives."""

    async def aside(self, work: Callable[..., Any], *args: Any) -> Any:
        """Return what *work* gives, done in a thread."""

    def call(self, work: Callable[[], object]) -> object:
        """Have *work* done in the reactor's thread."""

    async def bind(self, owner: int, fileset: str, captures: list[str]) -> None:
        """Note in the raw log that the captures with these warcinfos are of *fileset*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """What all ingests of a run share."""

    wire: Wire
    rules: Rules
    filesets: Filesets
    index: HitIndex
    children: Children
    bases: PlatformBases
    run: str
    collection: str
    locks: dict[str, asyncio.Lock]
    landing_max: int
    keep_free: int
    tries: int
    robots_everywhere: bool = False
    dry: bool = False

    @property
    def bundle_limits(self) -> BundleLimits:
        """What a bundle may hold."""
        limits = self.rules.limits
        return BundleLimits.for_files(limits.max_files, limits.max_total)


class Dry(Exception):
    """The walk has come as far as it goes without a download; ``told`` is what it found."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__("dry run")
        self.told = told
