"""A Scrapy extension that watches its own process: the loop's gaps, memory, sockets, files.

A gap is what the loop's thread worked, seconds of CPU, while no timer had its turn: how long the
machine let it wait for that is no matter of ours.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import traceback
from pathlib import Path
from time import monotonic, thread_time
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from tests.memory import peak

TICK = 0.02
LONG = 0.4
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
)


class Watch:
    """Writes what it has seen to the file that the setting WATCH_REPORT names."""

    def __init__(self, report: Path) -> None:
        self._report = report
        self._connected: set[str] = set()
        self._resolved: set[str] = set()
        self._written: set[str] = set()
        self._started: set[str] = set()
        self._gaps: list[float] = []
        self._stalls: list[str] = []
        self._last, self._worked = monotonic(), thread_time()
        self._on = True
        self._main = threading.main_thread().ident
        sys.addaudithook(self._audit)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        watch = cls(Path(crawler.settings["WATCH_REPORT"]))
        crawler.signals.connect(watch.engine_started, signals.engine_started)
        crawler.signals.connect(watch.engine_stopped, signals.engine_stopped)
        return watch

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._on:
            return
        if event == "socket.connect":
            self._connected.add(str(args[1]))
        elif event == "socket.getaddrinfo":
            self._resolved.add(str(args[0]))
        elif event == "open" and isinstance(args[2], int) and args[2] & _WRITING:
            self._written.add(str(args[0]))
        elif event in _CHANGING:
            self._written.update(str(a) for a in args[:2] if isinstance(a, str | bytes | Path))
        elif event in ("subprocess.Popen", "os.exec", "os.system"):
            self._started.add(f"{event} {args[0]}")

    def engine_started(self) -> None:
        self._last, self._worked = monotonic(), thread_time()
        self._tick()
        threading.Thread(target=self._look, daemon=True).start()

    def _tick(self) -> None:
        from twisted.internet import reactor

        self._last, worked, self._worked = monotonic(), self._worked, thread_time()
        self._gaps.append(self._worked - worked)
        if self._on:
            reactor.callLater(TICK, self._tick)  # type: ignore[attr-defined]

    def _look(self) -> None:
        """Note what the main thread does while it stalls."""
        event = threading.Event()
        while self._on:
            event.wait(0.1)
            gap = monotonic() - self._last
            if gap > LONG:
                frames = traceback.extract_stack(sys._current_frames()[self._main])  # type: ignore[index]
                places = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[-6:]]
                self._stalls.append(f"{gap:.1f} s: {' < '.join(reversed(places))}")

    def engine_stopped(self) -> None:
        self._on = False
        usage = resource.getrusage(resource.RUSAGE_SELF)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = {
            "largest_gaps": sorted(self._gaps, reverse=True)[:12],
            "stalls": self._stalls,
            "peak_mb": peak() / (1 << 20),
            "children_peak_mb": children.ru_maxrss / 1024,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "connected": sorted(self._connected),
            "resolved": sorted(self._resolved),
            "written": sorted(self._written),
            "started": sorted(self._started),
        }
        self._report.write_text(json.dumps(said, indent=1))
