"""Sums of a run in words: hosts that fail most, counts and times as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lafka.errors import printable

HOSTS = 5
"""Hosts that a summary names."""
WORDS = 4
"""Outcomes of a group or host that a summary names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingHost:
    """A host and how its lines ended that gave no fut: outcome to number, the most first."""

    name: str
    why: Mapping[str, int]

    @property
    def failures(self) -> int:
        return sum(self.why.values())

    def as_json(self) -> dict[str, Any]:
        return {"host": self.name, "failures": self.failures, "why": dict(self.why)}


def failing_hosts(counts: Counter[tuple[str, str]]) -> tuple[FailingHost, ...]:
    hosts: dict[str, Counter[str]] = {}
    for (host, word), count in counts.items():
        hosts.setdefault(host, Counter())[word] += count
    most = sorted(hosts, key=lambda name: (-hosts[name].total(), name))[:HOSTS]
    return tuple(FailingHost(name=name, why=dict(hosts[name].most_common())) for name in most)


def group_line(group: str, words: Mapping[str, int], total: int) -> str:
    """The line of a *group* of outcomes: how many of *total*, their share, and which outcomes."""
    count = sum(words.values())
    return f"  {group:<10}{count:>9,} {count / max(total, 1):6.1%}  {in_words(words)}".rstrip()


def host_lines(hosts: tuple[FailingHost, ...]) -> Iterator[str]:
    """Lines that name *hosts* and how their lines ended; none where there are none."""
    if hosts:
        yield "hosts with most failures:"
    for host in hosts:
        yield f"  {printable(host.name)}: {host.failures:,} ({in_words(host.why)})"


def host_of(futli: str) -> str:
    with suppress(ValueError):
        return urlsplit(futli).hostname or ""
    return ""


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def in_words(counts: Mapping[str, int]) -> str:
    """``not-found 12, dns 8``."""
    told = [f"{word} {count:,}" for word, count in [*counts.items()][:WORDS]]
    return ", ".join(told + ["..."] * (len(counts) > WORDS))


def in_time(seconds: float) -> str:
    """``2 h 5 min``, ``3 min 20 s`` or ``4.2 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {round(seconds) % 60} s"
    return f"{minutes // 60:,} h {minutes % 60} min"
