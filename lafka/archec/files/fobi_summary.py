"""The end of a crawl of files, for people: what came of them, which hosts failed, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from lafka.archec.records import Incidence
from lafka.capture.verdicts import Verdict
from lafka.runs.reporting import (
    FailingHost,
    failing_hosts,
    group_line,
    host_lines,
    host_of,
    in_time,
)
from lafka.storage.outputs import counted, in_bytes

HELD = frozenset({Incidence.APPEARANCE, Incidence.CHANGE, Incidence.VISIT})
"""Outcomes after which the store has the file as it is now."""
_NEW = frozenset({Incidence.APPEARANCE, Incidence.CHANGE})


class FobiGroup(StrEnum):
    """A group of outcomes, for people."""

    STORED = "stored"
    SAME = "as before"
    NOT_THERE = "not there"
    TROUBLE = "trouble"

    @classmethod
    def of(cls, outcome: str) -> FobiGroup:
        if outcome in _NEW:
            return cls.STORED
        if outcome == Incidence.VISIT:
            return cls.SAME
        is_gone = outcome in (Incidence.DELETION, Verdict.NOT_FOUND, Verdict.GONE, "dns")
        return cls.NOT_THERE if is_gone else cls.TROUBLE


@dataclass(slots=True)
class FobiTally:
    """A count of the feed's lines: by host and outcome those that failed, bytes that were new."""

    hosts: Counter[tuple[str, str]] = field(default_factory=Counter)
    size: int = 0

    def add(self, item: Mapping[str, Any]) -> None:
        """Count *item*, a line of the outcome feed."""
        if item["outcome"] in _NEW:
            self.size += item["length"] or 0
        elif item["outcome"] not in HELD:
            self.hosts[host_of(item["fobi"]), item["outcome"]] += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FobiSummary:
    """The outcome of a crawl of files; ``size`` is in bytes, of what was stored."""

    outcomes: Mapping[str, int]
    hosts: tuple[FailingHost, ...]
    size: int
    requests: int
    seconds: float
    done: bool
    feed: Path

    @classmethod
    def of(cls, values: Mapping[str, Any], tally: FobiTally, root: Path) -> FobiSummary:
        """Of the closing report *values* of a run of the store at *root*."""
        return cls(
            outcomes=values["outcomes"], hosts=failing_hosts(tally.hosts), size=tally.size,
            requests=values["requests"], seconds=values["seconds"], done=values["done"],
            feed=(root / "runs" / f"{values['run']}.jsonl").absolute(),
        )  # fmt: skip

    def group(self, group: FobiGroup) -> dict[str, int]:
        """The outcomes of *group* that there are, the most first."""
        found = Counter({o: n for o, n in self.outcomes.items() if FobiGroup.of(o) is group})
        return dict(found.most_common())

    @property
    def warning(self) -> str:
        """A sentence on how most files ended where none was had; else empty."""
        if not self.outcomes or HELD & self.outcomes.keys():
            return ""
        word, count = max(self.outcomes.items(), key=lambda one: one[1])
        return f"Not one file: {count:,} of {sum(self.outcomes.values()):,} ended as {word}"

    def as_json(self) -> dict[str, Any]:
        return {
            "groups": {str(group): sum(self.group(group).values()) for group in FobiGroup},
            "hosts": [host.as_json() for host in self.hosts],
            "bytes": self.size,
            "seconds": self.seconds,
            "next": list(self.next()),
            "feed": str(self.feed),
        }

    def summary_lines(self) -> Iterator[str]:
        """The lines for people."""
        total = sum(self.outcomes.values())
        yield f"{counted(total, 'file')} in {in_time(self.seconds)}:"
        for group in FobiGroup:
            yield group_line(group, self.group(group), total)
        yield from host_lines(self.hosts)
        yield f"{in_bytes(self.size)} stored; {counted(self.requests, 'request')}"
        yield from ("next:", *(f"  {sentence}" for sentence in self.next()))
        yield f"each file and how it ended: {self.feed}"

    def next(self) -> Iterator[str]:
        """Yield what to do, a sentence each, the most urgent first."""
        if not self.done:
            yield "go on: the same command asks for what is left"
        if lost := self.outcomes.get(Incidence.DELETION):
            yield f"tell the maintainers: {counted(lost, 'file')} lost; lafka archec report --mail"
        if trouble := sum(self.group(FobiGroup.TROUBLE).values()):
            yield f"{counted(trouble, 'file')} had trouble: each is asked for again when it is due"
        yield "see what the store has: lafka archec report"
