"""A forecast of a crawl: how long a list takes with one worker and with several; nobody is asked.

A fluid model: each host gives at most as many lines a second as politeness allows, all workers
together take at most what they can, and the hosts that are left share that alike. What makes a
crawl long is then seen to be its largest hosts, and not its workers (docs/reference.md, "A plan").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Any

from lafka.papers.lists.futlis import RESOLVERS, Line, Shard, shard_of_line

DAY = 86_400
LARGEST = 20
AGREED_HOSTS, AGREED_RATE = 12, 4.0
"""The hosts that are supposed to agree to more, and to how many requests a second."""
PERCENTS = (50, 90, 99, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSpeed:
    """The speed that a forecast assumes.

    ``rate``: requests a second that a host is sent at most; ``requests``: requests that a line
    takes; ``per_worker``: lines a second that one worker fetches and stores; ``mean_size``: bytes
    of a paper in the archive.
    """

    rate: float = 1.0
    requests: float = 2.1
    per_worker: float = 40.0
    mean_size: int = 1_300_000

    @property
    def lines_of_host(self) -> float:
        """Lines a second that one host gives."""
        return self.rate / self.requests


@dataclass(slots=True, kw_only=True)
class HostCounts:
    """The lines of a list by host, in some 100 bytes a host; names are not kept.

    ``lines`` are all of the list, ``asked`` those that need a request. ``shards``: of each, its
    lines, where the list is counted for that many.
    """

    lines: int = 0
    by_hash: Counter[int] = field(default_factory=Counter)
    shards: list[int] = field(default_factory=list)

    @classmethod
    def count(cls, lines: Iterable[Line], shards: int = 0) -> HostCounts:
        counts = cls(shards=[0] * shards)

        def hashes() -> Iterator[int]:
            for line in lines:
                counts.lines += 1
                if host := line.host:
                    yield hash(host)
                    if shards:
                        counts.shards[shard_of_line(line, shards)] += 1

        counts.by_hash.update(hashes())
        return counts

    @property
    def asked(self) -> int:
        return self.by_hash.total()

    @property
    def resolvers(self) -> dict[str, int]:
        """The lines at resolvers, those of the largest first."""
        found = Counter({host: self.by_hash[hash(host)] for host in sorted(RESOLVERS)})
        return dict((+found).most_common())

    def largest(self, lines: Iterable[Line]) -> list[tuple[str, int]]:
        """Return the largest hosts and their lines; *lines* is the list once more, for names."""
        wanted = dict(nlargest(LARGEST, self.by_hash.items(), key=lambda item: item[1]))
        found: dict[str, int] = {}
        for line in lines:
            if len(found) == len(wanted):
                break
            if line.host and hash(line.host) in wanted:
                found[line.host] = wanted[hash(line.host)]
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))


class Forecast:
    """A forecast for the lines of hosts of *sizes*, fetched at *speed*."""

    def __init__(self, sizes: Iterable[int], speed: CrawlSpeed) -> None:
        self._sizes = Counter(sizes)
        self._speed = speed
        self.hosts = self._sizes.total()
        self.lines = sum(size * count for size, count in self._sizes.items())

    def days(self, workers: float, *, agreed: int = 0) -> list[float]:
        """Return the days after which each of PERCENTS of all lines is done.

        The *agreed* largest hosts are sent AGREED_RATE requests a second, the others the rate of
        the speed.
        """
        wanted = [self.lines * percent / 100 for percent in PERCENTS]
        found: list[float] = []
        seconds, done = 0.0, 0.0
        for span, flow in self._spans(workers, agreed):
            while len(found) < len(wanted) and wanted[len(found)] <= done + span * flow + 1e-6:
                found.append((seconds + max(0.0, wanted[len(found)] - done) / flow) / DAY)
            seconds, done = seconds + span, done + span * flow
        return found + [seconds / DAY] * (len(wanted) - len(found))

    def _spans(self, workers: float, agreed: int) -> Iterator[tuple[float, float]]:
        """Yield seconds in which the same hosts are asked, and lines a second in them."""
        speed = self._speed
        capacity = workers * speed.per_worker
        fast = Counter(nlargest(agreed, self._sizes.elements()))
        groups = [
            _HostGroup(self._sizes - fast, speed.lines_of_host),
            _HostGroup(fast, max(AGREED_RATE, speed.rate) / speed.requests),
        ]
        while left := sum(group.hosts for group in groups):
            share = capacity / left
            asked = [group for group in groups if group.hosts]
            span = min(group.seconds(share) for group in asked)
            yield span, sum(group.hosts * group.speed(share) for group in asked)
            for group in asked:
                group.go_on(span, share)


class _HostGroup:
    """Hosts that are asked at one speed: each is as far as the others, or has ended."""

    def __init__(self, sizes: Counter[int], most: float) -> None:
        self._coming = sorted(sizes.items(), reverse=True)
        self._most = most
        self._progress = 0.0
        self.hosts = sizes.total()

    def speed(self, share: float) -> float:
        """Return the lines a second of each host, of which it has *share* of the workers."""
        return min(self._most, share)

    def seconds(self, share: float) -> float:
        """Return the seconds until the next hosts of the group have ended."""
        return max(0.0, self._coming[-1][0] - self._progress) / self.speed(share)

    def go_on(self, span: float, share: float) -> None:
        self._progress += span * self.speed(share)
        while self._coming and self._coming[-1][0] <= self._progress + 1e-9 * self._progress:
            self.hosts -= self._coming.pop()[1]


def crawl_plan(
    counts: HostCounts,
    largest: Sequence[tuple[str, int]],
    speed: CrawlSpeed,
    workers: Sequence[int],
) -> dict[str, Any]:
    """Return what ``lafka plan`` prints of a list: lines, hosts, days, bytes, what saves time.

    Days are fractions.
    """
    forecast = Forecast(counts.by_hash.values(), speed)
    of_workers = {n: forecast.days(n) for n in {*workers, 1, 2}}
    whole, agreed = of_workers[1][-1], forecast.days(1, agreed=AGREED_HOSTS)[-1]
    names = [str(percent) for percent in PERCENTS]
    values: dict[str, Any] = {
        "lines": counts.lines,
        "asked": counts.asked,
        "hosts": forecast.hosts,
        "largest": _hosts(dict(largest)),
        "resolvers": _hosts(counts.resolvers),
        "days": [
            {"workers": n, **dict(zip(names, map(_rounded, of_workers[n]), strict=True))}
            for n in workers
        ],
        "one_worker": _rounded(whole),
        "bytes": counts.asked * speed.mean_size,
        "files": 2 * counts.asked,
        "saves": {
            "second_worker": _rounded(whole - of_workers[2][-1]),
            "twelve_hosts_at_four": _rounded(whole - agreed),
        },
    }
    if shards := counts.shards:
        most = max(range(len(shards)), key=shards.__getitem__)
        shard = str(Shard(number=most, count=len(shards)))
        size = shards[most] * speed.mean_size
        values["fullest"] = {"shard": shard, "lines": shards[most], "bytes": size}
    return values


def _hosts(lines: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"host": host, "lines": count} for host, count in lines.items()]


def _rounded(days: float) -> float:
    return round(days, 6)
