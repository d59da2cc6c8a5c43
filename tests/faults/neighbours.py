"""Good hosts beside hostile ones: how long they wait for us, and how soon we go on after a kill.

Two crawls go on at once, one of good hosts alone and one of as many beside hostile ones: so
whatever else the machine does, it does to both. Each has a clock of its own, which stands still
while its reactor could have gone on and the kernel let another program do so (Linux's
``schedstat``): on a machine with more to do they tell nearly what they would on an idle one.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Self

from tests.faults.crawls import Crawls, Going
from tests.sites.hostile.behaviours import MAX_PAYLOAD, STALL, Behaviour
from tests.sites.hostile.site import HostileSite
from tests.sites.papers import as_pdf, pdf
from tests.sites.server import Reply, Seen, Server

ALONE = tuple(f"127.0.40.{n}" for n in range(1, 101))
BESIDE = tuple(f"127.0.41.{n}" for n in range(1, 101))
NEXT = ("127.0.42.1", "127.0.42.2")
"""The first hosts that the next runs ask, of the crawl alone and of the one beside."""
PAPERS = 3
ROUND_TRIP = 0.2
"""Seconds that a good host takes to answer: without any, it is our CPU alone that is measured."""
GROWTH_MAX = 0.10
START_MAX = 1.0
"""Seconds from a start after a kill to the first request, beyond what any start takes."""
COPIED = 200e6
"""Bytes a second of what a dead run has left, which is copied first."""
LIMIT = 100.0
"""Seconds after which good hosts that were not asked are lost."""
TRIES = 3
"""A growth that is not there each time is another program's on the same machine."""
SETTINGS: dict[str, Any] = {
    "LAFKA_CRAWL_DELAY_MAX": 1,
    "LAFKA_LINKS_MAX": 6,
    "LAFKA_MAX_PAYLOAD": MAX_PAYLOAD,
    "LAFKA_RETRY_AFTER_MAX": 1,
    "LAFKA_STALL_TIMEOUT": STALL,
}


def held_up(pid: int) -> float:
    """Seconds in which the first thread of *pid* could have run, and something else did.

    0 where the kernel does not say so, and of a process that is gone.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


class GoodHosts(Server):
    """Two times *count* hosts with three papers each, and one more for each next run.

    Times are those of the crawls' own clocks, once ``crawled_by`` says who asks whom.
    """

    def __init__(self, count: int = 100) -> None:
        self.alone, self.beside = ALONE[:count], BESIDE[:count]
        super().__init__((*self.alone, *self.beside, *NEXT))
        self.crawled_by: dict[str, int] = {}
        """The process that crawls a host."""
        self.asked: dict[str, dict[str, float]] = {}
        """When a host was asked for each target, seconds."""
        self._round_trip = threading.Event()  # never set

    def __enter__(self) -> Self:
        super().__enter__()
        for number in range(PAPERS):
            self.routes[f"/{number}"] = as_pdf(pdf(f"good {number}", 20_000))
        return self

    def forget(self) -> None:
        super().forget()
        self.asked.clear()

    def _reply(self, seen: Seen) -> Reply:
        waited = held_up(self.crawled_by.get(seen.host, 0))
        with self._lock:
            self.asked.setdefault(seen.host, {})[seen.target] = seen.time - waited
        self._round_trip.wait(ROUND_TRIP)
        return super()._reply(seen)

    def lines(self, hosts: Sequence[str]) -> bytes:
        lines = (
            f"RePEc:tst:good:{host}-{number}\t{self.at(host)}/{number}\n"
            for host in hosts
            for number in range(PAPERS)
        )
        return "".join(lines).encode()

    def first(self, hosts: Sequence[str]) -> float | None:
        """When any of *hosts* was first asked for anything, seconds."""
        return min((time for of in self._of(hosts).values() for time in of.values()), default=None)

    def last(self, hosts: Sequence[str]) -> dict[str, float]:
        """When each of *hosts* that was asked for all of its papers was asked for the last."""
        papers = {
            host: [time for target, time in of.items() if target != "/robots.txt"]
            for host, of in self._of(hosts).items()
        }
        return {host: max(times) for host, times in papers.items() if len(times) == PAPERS}

    def _of(self, hosts: Sequence[str]) -> dict[str, dict[str, float]]:
        with self._lock:
            return {host: dict(self.asked[host]) for host in hosts if host in self.asked}


@dataclass(slots=True, kw_only=True)
class Beside:
    """What was measured beside some behaviours, in seconds, the best of so many tries.

    The seconds are those of the crawls' own clocks.

    ``alone`` and ``median`` are medians over the good hosts, without and with hostile ones;
    ``first`` and ``again`` go from a start to the first request, of a new archive and after a
    kill, which left ``left`` bytes in raw/.
    """

    names: Sequence[str]
    alone: float = 0.0
    median: float = 0.0
    first: float = 0.0
    again: float = 0.0
    left: int = 0
    tries: int = 0
    lost: list[str] = field(default_factory=list)

    @property
    def growth(self) -> float:
        return self.median / self.alone - 1 if self.alone else 0.0

    @property
    def start(self) -> float:
        """Seconds that the start after the kill took beyond what any start does, and copying."""
        return self.again - self.first - self.left / COPIED

    @property
    def troubles(self) -> list[str]:
        wrong = list(self.lost)
        if self.growth > GROWTH_MAX:
            wrong.append(f"good hosts wait {self.growth:.0%} longer beside {', '.join(self.names)}")
        if self.start > START_MAX:
            wrong.append(f"{self.start:.2f} s to the first request after {', '.join(self.names)}")
        return wrong


Behaviours = Sequence[tuple[str, Behaviour]]


def beside(crawls: Crawls, good: GoodHosts, behaviours: Behaviours) -> Iterator[Beside]:
    """Measure beside all *behaviours* at once; where something is wrong, beside each half of them.

    So many that hold up nobody together are known by one measurement, and who does is found. One
    alone is measured until nothing is wrong, three times at most.
    """
    found = _measured(crawls, good, behaviours)
    found.tries = 1
    if not found.troubles:
        yield found
    elif len(behaviours) == 1:
        yield _again(found, lambda: _measured(crawls, good, behaviours))
    else:
        middle = len(behaviours) // 2
        for half in (behaviours[:middle], behaviours[middle:]):
            yield from beside(crawls, good, half)


def _again(found: Beside, measure: Callable[[], Beside]) -> Beside:
    while found.troubles and found.tries < TRIES:
        tries = found.tries + 1
        found = _better(found, measure())
        found.tries = tries
    return found


def _better(one: Beside, other: Beside) -> Beside:
    """The better measurement of each of the two kinds, for each holds by itself."""
    waited = min(one, other, key=lambda each: each.growth)
    begun = min(one, other, key=lambda each: each.start)
    return Beside(
        names=one.names, alone=waited.alone, median=waited.median, first=begun.first,
        again=begun.again, left=begun.left, lost=other.lost,
    )  # fmt: skip


def _measured(crawls: Crawls, good: GoodHosts, behaviours: Behaviours) -> Beside:
    found = Beside(names=[behaviour.name for _, behaviour in behaviours])
    folder = crawls.folder()
    with HostileSite(behaviours, folder) as hostile:
        alone, beside = good.lines(good.alone), hostile.list() + good.lines(good.beside)
        begun = _both(crawls, good, folder, (alone, beside), (good.alone, good.beside))
        found.alone, found.median = (
            _median(good, hosts, started, found)
            for hosts, started in zip((good.alone, good.beside), begun, strict=True)
        )
        found.left = sum(p.stat().st_size for p in (folder / "1/raw").rglob("*.warc"))
        # A new archive, and the one that the killed crawl has left.
        shutil.rmtree(folder / "0")
        lists = (good.lines(NEXT[:1]) + alone, good.lines(NEXT[1:]) + beside)
        begun = _both(crawls, good, folder, lists, (NEXT[:1], NEXT[1:]))
        found.first, found.again = (
            (good.first([host]) or started + LIMIT) - started
            for host, started in zip(NEXT, begun, strict=True)
        )
    return found


def _both(
    crawls: Crawls, good: GoodHosts, folder: Path, lists: Sequence[bytes],
    wanted: Sequence[Sequence[str]],
) -> list[float]:  # fmt: skip
    """Crawl both lists until the hosts of each are all asked, or were asked at all, then kill.

    What the hostile hosts have in flight then is what a dead run leaves. When each was started.
    """
    good.forget()
    going: list[Going] = []
    begun: list[float] = []
    for number, lines in enumerate(lists):
        list_ = folder / f"{number}.tsv"
        list_.write_bytes(lines)
        begun.append(time.monotonic())
        going.append(crawls.start(folder / str(number), list_, **SETTINGS))
        good.crawled_by |= dict.fromkeys(wanted[number], going[-1].pid)
    left = list(zip(going, wanted, strict=True))
    while left and time.monotonic() - begun[0] < LIMIT:
        left = [(each, hosts) for each, hosts in left if not _is_done(each, good, hosts)]
    for each in going:
        each.kill()
        each.ended()
    return begun


def _is_done(going: Going, good: GoodHosts, hosts: Sequence[str]) -> bool:
    if len(hosts) == 1:
        return bool(good.first(hosts)) or going.ends_within(0.01)
    return len(good.last(hosts)) == len(hosts) or going.ends_within(0.01)


def _median(good: GoodHosts, hosts: Sequence[str], started: float, found: Beside) -> float:
    """Seconds from the first request to the last of a host, the median over *hosts*."""
    last = good.last(hosts)
    if len(last) < len(hosts):
        found.lost.append(f"only {len(last)} of {len(hosts)} good hosts were asked for all")
    first = good.first(hosts) or started
    return median(last.values()) - first if last else LIMIT
