"""Metrics of a crawl for Prometheus, read from the crawl when they are asked for.

Imported only where LAFKA_METRICS is set. No metric has a label by host of a list or by pid, so
there are as many series as there are outcomes and states, however long the list is.
"""

from __future__ import annotations

import logging
import re
import shutil
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Self
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector
from scrapy import signals
from scrapy.crawler import Crawler

import lafka
from lafka.capture.run import Run
from lafka.errors import BadArgument
from lafka.runs.progress import host_states
from lafka.runs.validation import metrics_address
from lafka.storage.threads import run_aside

logger = logging.getLogger(__name__)

OUTCOME = re.compile(r"lafka/(?:trails|filesets)/([a-z-]+)")
_OTHER_COUNTS = frozenset(("files", "held", "bytes"))
"""Names below ``lafka/filesets/`` that are no status of a dataset."""
GATE = (
    ("lafka_gate_claims", "held", "Hosts that this worker has claimed."),
    ("lafka_gate_wait_seconds", "waited", "Seconds from asking for hosts to their claims, in all."),
)
"""Metrics of the run's gate, where it has one, with the attribute that has the number."""
FLEET = (
    ("lafka_fleet_partitions", "partitions", "Partitions of the fleet that this worker has."),
    ("lafka_fleet_untold", "untold", "Outcomes that no broker has acknowledged yet."),
)
"""Metrics of the input of a fleet's worker."""


class CrawlCollector(Collector):
    """The metrics of a crawl; it is asked in the thread of the server."""

    def __init__(self, crawler: Crawler, run: Run) -> None:
        self._crawler = crawler
        self._run = run

    def collect(self) -> Iterator[Metric]:
        """Yield each metric that this crawl has; none of a gate where it has none."""
        assert self._crawler.stats is not None
        spider = self._crawler.spider
        yield from _counters(dict(self._crawler.stats.get_stats()))
        hosts = GaugeMetricFamily("lafka_hosts", "Hosts by state.", labels=["state"])
        for state, count in host_states(self._crawler).items():
            hosts.add_metric([state], count)
        yield hosts
        waiting = getattr(getattr(spider, "feeder", None), "waiting_lines", None)
        if waiting is not None:
            yield GaugeMetricFamily("lafka_lines_waiting", "Lines not begun yet.", value=waiting)
        yield from _gauges(getattr(self._run, "gate", None), GATE)
        yield from _gauges(getattr(spider, "list_input", None), FLEET)
        with suppress(OSError):
            free = shutil.disk_usage(self._run.root).free
            text = "Bytes that are free on the disk of the archive."
            yield GaugeMetricFamily("lafka_disk_free_bytes", text, value=free)
        yield InfoMetricFamily("lafka_run", "The run.", value=self._info())

    def _info(self) -> dict[str, str]:
        worker = getattr(getattr(self._crawler.spider, "list_input", None), "worker", None)
        return {
            "run": self._run.name,
            "worker": worker or self._crawler.settings.get("LAFKA_WORKER") or socket.gethostname(),
            "shard": str(getattr(self._crawler.spider, "shard", "")),
            "version": lafka.__version__,
        }


def _counters(stats: dict[str, Any]) -> Iterator[Metric]:
    ended = CounterMetricFamily("lafka_trails", "Lines by outcome.", labels=["outcome"])
    for outcome, count in _outcomes(stats).items():
        ended.add_metric([outcome], count)
    yield ended
    for name, keys, text in (
        ("lafka_futs", ("lafka/futs/new",), "Futs that were stored."),
        ("lafka_bytes", ("lafka/futs/bytes", "lafka/filesets/bytes"), "Bytes of new futs, files."),
        ("lafka_requests", ("downloader/request_count",), "Requests, those for robots.txt too."),
    ):
        yield CounterMetricFamily(name, text, value=sum(stats.get(key, 0) for key in keys))


def _outcomes(stats: dict[str, Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, count in stats.items():
        outcome = OUTCOME.fullmatch(name)
        if outcome and outcome[1] not in _OTHER_COUNTS:
            found[outcome[1]] += count
    return found


def _gauges(part: object, metrics: Iterable[tuple[str, str, str]]) -> Iterator[Metric]:
    for name, attribute, text in metrics:
        value = None
        with suppress(RuntimeError):  # its thread has changed what is counted just now
            value = getattr(part, attribute, None)
        if value is not None:
            yield GaugeMetricFamily(name, text, value=float(value))


class MetricsServer:
    """Prometheus's own server, in a thread, from the start of the crawl until its end."""

    def __init__(self, server: WSGIServer) -> None:
        self._server = server

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        host, port = metrics_address(crawler.settings)
        registry = CollectorRegistry()
        registry.register(CrawlCollector(crawler, Run.of(crawler)))
        server, _ = start_http_server(port, host, registry)
        logger.info("Metrics are at %s port %d", host, server.server_port)
        extension = cls(server)
        crawler.signals.connect(extension.engine_stopped, signals.engine_stopped)
        return extension

    async def engine_stopped(self) -> None:
        await run_aside("lafka-metrics", self._server.shutdown)
        self._server.server_close()


def check_port(host: str, port: int) -> None:
    """Raise ``BadArgument`` where nothing can listen at *port* of *host*."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]  # Python names the address once more
        sentence = f"LAFKA_METRICS: nothing can listen at {host} port {port}: {why}"
        raise BadArgument(sentence) from None
