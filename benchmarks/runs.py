"""Programs run in a process of their own: what CPU, time and memory they took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONCURRENCY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a program took, children included.

    CPU (user and system) and wall time in seconds, peak RSS in bytes, voluntary context switches,
    bytes that it wrote to files.
    """

    cpu: float
    wall: float
    peak: int
    switches: int = 0
    written: int = 0


def run(
    args: Sequence[str | Path],
    *,
    cwd: Path,
    log: Path,
    each_second: Callable[[int], None] | None = None,
    more: Mapping[str, str] | None = None,
) -> Run:
    """Run a program to its end; *each_second* is called with its process id meanwhile.

    *more*: further variables of its environment.
    """
    begun = time.perf_counter()
    env = {**environment(), **(more or {})}
    with log.open("wb") as output:
        process = subprocess.Popen(args, cwd=cwd, stdout=output, stderr=output, env=env)
    ended = 0
    while not ended:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG if each_second else 0)
        if each_second and not ended:
            each_second(process.pid)
            time.sleep(1)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(f"{args}: exit code {process.returncode}\n{log.read_text()[-3000:]}")
    return Run(
        cpu=usage.ru_utime + usage.ru_stime,
        wall=wall,
        peak=usage.ru_maxrss * 1024,
        switches=usage.ru_nvcsw,
        written=usage.ru_oublock * 512,
    )


def environment() -> dict[str, str]:
    """Ours, but compiled modules are kept: otherwise each run would compile Lafka again.

    Nor is any proxy named in it: every request would be held against the list of exceptions.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE" and not name.lower().endswith("_proxy")
    }


# What both sides get: as many requests at once, no manners, no line a request in the log.
SAME = {
    "CONCURRENT_REQUESTS": CONCURRENCY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
    "ROBOTSTXT_OBEY": False,
    "AUTOTHROTTLE_ENABLED": False,
    "LOG_LEVEL": "INFO",
}

OWN = {"LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8", "LAFKA_CONTACT": "nobody@example.org"}


def lafka(path: Path | str, archive: Path, spider: str = "futli", **settings: object) -> list[str]:
    """``scrapy crawl`` with the list at *path*; run it in ROOT."""
    own = {**SAME, **OWN, "LAFKA_ARCHIVE": archive, **settings}
    return [*_scrapy("crawl", spider, own), "-a", f"input={path}"]


def fobi(store: Path) -> list[str]:
    """``scrapy crawl fobi`` over the obi store at *store*; run it in ROOT."""
    return _scrapy("crawl", "fobi", {**SAME, **OWN, "LAFKA_OBJECT_STORE": store})


def peer(spider: str, path: Path | str, **settings: object) -> list[str]:
    """A spider of this folder in plain Scrapy with the list at *path*; run it out of ROOT."""
    file = str(Path(__file__).with_name(spider))
    return [*_scrapy("runspider", file, {**SAME, **settings}), "-a", f"path={path}"]


def _scrapy(verb: str, what: str, settings: dict[str, object]) -> list[str]:
    given = [f"{name}={value}" for name, value in {"STATS_DUMP": 1, **settings}.items()]
    flags = [part for text in given for part in ("-s", text)]
    return [sys.executable, "-m", "scrapy", verb, what, *flags]
