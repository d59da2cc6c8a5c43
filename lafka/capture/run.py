"""A Run: the name of one crawl, where it writes, and its raw log; made once, handed to all.

With it stand what configures the raw log, Lafka's settings over scrapy-warcio's settings file, and
the gateway of a crawl that pulls.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import scrapy
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

import lafka
from lafka.capture.pulled import GatewayAway, GatewayClient, PulledMemento
from lafka.capture.rawfiles import load_settings
from lafka.capture.rawlog import RawLog
from lafka.errors import Stopped, StorageTrouble
from lafka.storage.steps import Steps
from lafka.storage.stopping import note_storage_trouble, stop_for, storage
from lafka.storage.threads import AsyncKeeper, ByteBudget, Threads

if TYPE_CHECKING:
    from lafka.politeness.gate import Gate


def warc_settings(settings: BaseSettings) -> dict[str, Any]:
    """The values of a scrapy-warcio settings file, none where no setting names one."""
    path = settings.get("LAFKA_WARC_SETTINGS") or os.environ.get("SCRAPY_WARCIO_SETTINGS")
    return load_settings(path) if path else {}


def raw_config(settings: BaseSettings) -> dict[str, Any]:
    """Return what goes into the raw WARCs' warcinfo: a scrapy-warcio settings file over our
    defaults.
    """
    defaults = {
        "operator": settings.get("LAFKA_CONTACT") or "",
        "collection": settings.get("LAFKA_COLLECTION") or "",
        "robots": "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        "max_warc_size": settings.getint("LAFKA_RAW_SIZE"),
    }
    # The user agent is what is sent, whatever the file says.
    return {**defaults, **warc_settings(settings), "user_agent": settings.get("USER_AGENT")}


def run_name() -> str:
    """A name for this run that no other has: UTC time, host, process."""
    host = "".join(c for c in socket.gethostname().partition(".")[0] if c.isalnum() or c == "-")
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return f"{time}-{host or 'host'}-{os.getpid()}"


GATEWAY_AWAY = "gateway-away"
"""Finish reason of a crawl whose gateway went away."""
_AT_ONCE = 4


class PullGateway:
    """The gateway at ``base`` that *crawler* pulls from."""

    def __init__(self, crawler: Crawler, client: GatewayClient) -> None:
        self.base = client.base
        self._crawler = crawler
        self._client = client
        self._threads = Threads("lafka-pulling", _AT_ONCE)

    async def times(self, url: str) -> list[datetime]:
        """As the client's; ``Stopped`` where the gateway is away, and the crawl stops."""
        try:
            return await self._threads.run(self._client.times, url)
        except GatewayAway as error:
            raise self._stop(error) from error

    async def pull(self, url: str, time: datetime) -> PulledMemento:
        """As the client's; ``Stopped`` where the gateway is away, and the crawl stops."""
        try:
            return await self._threads.run(self._client.pull, url, time)
        except GatewayAway as error:
            raise self._stop(error) from error

    def _stop(self, error: GatewayAway) -> Stopped:
        stop_for(self._crawler, GATEWAY_AWAY, f"The gateway stopped the crawl: {error}")
        return Stopped(str(error))

    def close(self) -> None:
        self._threads.stop()


P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")


WAITING_MAX = 32 << 20
"""Bytes of answers in memory that may wait to be recorded before others are asked for."""


class RawWriter:
    """The raw log of a run, and the keeper, in whose thread alone it is written.

    It is made when something is first to be written. *options* are those of :class:`RawLog`,
    *syncers* the keeper's. ``waiting``: the bytes of answers that wait to be recorded.
    """

    def __init__(
        self, folder: Path, name: str, options: dict[str, Any], *, syncers: int = 4
    ) -> None:
        self.name = name
        self.waiting = ByteBudget(WAITING_MAX)
        self._folder = folder
        self._options = options
        self._keeping = AsyncKeeper(syncers)
        self._log: RawLog | None = None

    def log(self) -> RawLog:
        """The raw log, made when it is first asked for; for calls and commits of the keeper."""
        if self._log is None:
            with storage(self._folder):
                self._log = RawLog(self._folder, self.name, **self._options)
        return self._log

    async def in_order(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do *work* in the one thread that writes, after all that came before."""
        return await self._keeping.call(work, *args, **kwargs)

    async def commit(
        self, key: Hashable, make_steps: Callable[[Sequence[W]], Steps[Sequence[T]]], argument: W
    ) -> T:
        """Do the steps that *make_steps* gives for *argument* there, side by side with other keys'.

        *make_steps* may be given several that go as one: see :class:`lafka.storage.keeper.Commit`.
        """
        return await self._keeping.commit(key, make_steps, argument)

    def as_json(self) -> dict[str, Any]:
        """Return what the run's report says of it: files, bytes, whether some are left."""
        log = self._log
        if log is None:
            return {"files": 0, "bytes": 0, "left": False}
        return {"files": log.files_begun, "bytes": log.bytes_written, "left": log.folder.exists()}

    async def close(self) -> None:
        """End the log, where there is one; ``StorageTrouble``."""
        try:
            if self._log is not None:
                await self._keeping.call(self._close, self._log)
        finally:
            self._keeping.stop()

    def _close(self, log: RawLog) -> None:
        with storage(log.folder):
            log.close()


class Run:
    """One crawl: its ``name``, that no other has, and the ``root`` of the store it writes to.

    ``raw`` writes its raw log, below ``root``; ``pulling`` is what asks a gateway in place of the
    web, ``gate`` what keeps it from asking a host at the same time as another crawl, both None in
    most. *lock* is a descriptor of the store's own lock,
    where it has one that a whole run holds; it is closed when the engine has stopped.
    """

    def __init__(self, crawler: Crawler, root: Path, raw: RawWriter, lock: int | None) -> None:
        self.name = raw.name
        self.root = root
        self.raw = raw
        self.pulling: PullGateway | None = None
        self.gate: Gate | None = None
        self._crawler = crawler
        self._lock = lock

    @classmethod
    def begin(
        cls,
        crawler: Crawler,
        root: Path,
        *,
        raw: Path | None = None,
        lock: int | None = None,
        gateway: str | None = None,
    ) -> Run:
        """The run of *crawler*: its spider keeps it as ``run``, for :meth:`of` to find.

        *raw*: the folder of its raw logs, where it is not ``raw/`` below *root*. *gateway*: the
        ``http://host:port`` of the one that is asked in place of the web.
        """
        settings = crawler.settings
        options = {
            "config": raw_config(settings),
            "software": f"Lafka/{lafka.__version__} Scrapy/{scrapy.__version__}",
            "keep": settings.getbool("LAFKA_KEEP_RAW"),
            "max_entity": settings.getint("LAFKA_MAX_PAYLOAD"),
        }
        folder, syncers = raw or root / "raw", settings.getint("LAFKA_WRITERS", 4)
        writer = RawWriter(folder, run_name(), options, syncers=syncers)
        run = cls(crawler, root, writer, lock)
        if url := settings.get("LAFKA_GATE"):
            from lafka.capture.gating import open_gate  # noqa: PLC0415

            run.gate = open_gate(crawler, str(url))
        if gateway:
            most, spool_dir = settings.getint("LAFKA_MAX_PAYLOAD"), settings.get("LAFKA_SPOOL_DIR")
            client = GatewayClient(gateway, most=most, spool_dir=spool_dir)
            run.pulling = PullGateway(crawler, client)
        crawler.signals.connect(run.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(run.engine_stopped, signal=signals.engine_stopped)
        return run

    @classmethod
    def of(cls, crawler: Crawler) -> Run:
        """The run of *crawler*; ``NotConfigured`` where its spider has begun none."""
        run = getattr(crawler.spider, "run", None)
        if not isinstance(run, cls):
            raise NotConfigured  # silently: Scrapy's shell, and spiders that archive nothing
        return run

    async def spider_closed(self) -> None:
        if self.pulling is not None:
            self.pulling.close()
        try:
            await self.raw.close()
        except StorageTrouble as error:
            note_storage_trouble(self._crawler, error)  # all is stored; a raw WARC stays

    def engine_stopped(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
