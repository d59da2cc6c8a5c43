"""The end of a run, for people: what came of its list, who failed, what to do next.

``FeedTally`` counts the lines of the outcome feed as they reach the disk, ``RunSummary`` is made of
it and of the closing report; it is the report's key ``summary`` (docs/formats.md), and some twenty
lines.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lafka.errors import printable
from lafka.papers.outcomes import Group, Outcome
from lafka.runs.reporting import (
    FailingHost,
    failing_hosts,
    group_line,
    host_lines,
    host_of,
    in_time,
)
from lafka.runs.reports import Report, last_of_list
from lafka.storage.outputs import counted, in_bytes

HOSTS_KEPT = 100_000
"""Pairs of host and outcome that are counted; a list has more only where nothing answers."""
FEED_MAX = 1 << 30
"""Bytes of a feed of before that are read for what was lost; a stopped crawl has to end in time."""
_HELD_LINE = re.compile(
    rb'\{"pid": ("(?:[^"\\]|\\.)*"), "futli": ("(?:[^"\\]|\\.)*"), "outcome": "fut"'
)
NOT_PUBLIC = "is not a public address"
"""The end of what ``AddressRefused`` says."""
_NOT_ASKED = frozenset((Outcome.EXCLUDED, Outcome.BAD_PID, Outcome.BAD_URL, Outcome.RESTRICTED))


@dataclass(slots=True, kw_only=True)
class FeedTally:
    """A tally of the feed's lines beyond their counts: 8 bytes a line that ended without a fut."""

    hosts: Counter[tuple[str, str]] = field(default_factory=Counter)
    private: str = ""
    """A host that was not asked because its address is not public; empty for none."""
    _without: array[int] = field(default_factory=lambda: array("Q"))
    _sorted: bool = False

    def add(self, item: Mapping[str, Any]) -> None:
        """Count *item*, a line of the outcome feed."""
        outcome = Outcome(item["outcome"])
        if outcome is Outcome.FUT:
            return
        self._without.append(_key(item["pid"], item["futli"]))
        self._sorted = False
        if outcome in _NOT_ASKED:
            return
        name = (host_of(item["futli"]), str(outcome))
        if str(item.get("error")).endswith(NOT_PUBLIC):
            self.private = self.private or name[0]
            return
        if name in self.hosts or len(self.hosts) < HOSTS_KEPT:
            self.hosts[name] += 1

    def ended_without(self, pid: str, futli: str) -> bool:
        """Return whether a line of *pid* and *futli* ended, and without a fut."""
        if not self._sorted:
            self._without, self._sorted = array("Q", sorted(self._without)), True
        key = _key(pid, futli)
        place = bisect_left(self._without, key)
        return place < len(self._without) and self._without[place] == key

    def lost(self, feed: Path) -> int | None:
        """Return how many futlis of *feed*, which had their futs then, ended without one now.

        None where it cannot be said: it is too big, or cannot be read.
        """
        if not self._without:
            return 0
        lost = set()
        try:
            if feed.stat().st_size > FEED_MAX:
                return None
            with feed.open("rb") as lines:
                for line in lines:
                    if found := _HELD_LINE.match(line):
                        pid, futli = json.loads(b"[%s,%s]" % found.groups())
                        if self.ended_without(pid, futli):
                            lost.add((pid, futli))
        except OSError:
            return None
        return len(lost)


def _key(pid: str, futli: str) -> int:
    text = f"{pid}\t{futli}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousRun:
    """The last run of the same list; ``lost``: futs it had and this run had not, None: unknown."""

    run: str
    started: str
    lost: int | None

    def as_json(self) -> dict[str, Any]:
        return {"run": self.run, "started": self.started, "lost": self.lost}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The outcome of a run. ``size`` is the bytes of new futs, ``total`` the list's lines, or None.

    ``requests`` are those of trails; ``seconds``: how long the run took; ``refreshed``: whether it
    was to ask for held futs too; ``legacy``: the gateway that it asked in place of the web, or "";
    ``private``: a host that is not public and was not asked, or "".
    """

    outcomes: Mapping[Outcome, int]
    total: int | None
    hosts: tuple[FailingHost, ...]
    new: int
    held: int
    size: int
    requests: int
    seconds: float
    before: PreviousRun | None
    done: bool
    refreshed: bool
    feed: Path
    legacy: str = ""
    private: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any], heard: FeedTally, root: Path) -> RunSummary:
        """Of the closing report *values* of a run of the archive at *root*."""
        futs = values["futs"]
        return cls(
            outcomes={Outcome(word): count for word, count in values["outcomes"].items()},
            total=values["list"]["lines"],
            hosts=failing_hosts(heard.hosts),
            new=futs["new"],
            held=futs["held"],
            size=futs["bytes"],
            requests=values["requests"],
            seconds=values["seconds"],
            before=_before(values, heard, root),
            done=values["done"],
            refreshed=bool(values["arguments"].get("refresh")),
            legacy=str(values["arguments"].get("legacy") or ""),
            private=heard.private,
            feed=(root / "runs" / f"{values['run']}.jsonl").absolute(),
        )

    @property
    def lines(self) -> int:
        return sum(self.outcomes.values())

    def group(self, group: Group) -> dict[str, int]:
        """The outcomes of *group* that there are, the most first."""
        found = Counter({str(o): n for o, n in self.outcomes.items() if o.group is group})
        return dict(found.most_common())

    @property
    def warning(self) -> str:
        """A sentence on how most lines ended where none has a fut; else empty."""
        if not self.lines or self.outcomes.get(Outcome.FUT):
            return ""
        word, count = max(self.outcomes.items(), key=lambda one: one[1])
        return f"Not one fut: {count:,} of {self.lines:,} lines ended as {word} ({word.group})"

    def as_json(self) -> dict[str, Any]:
        return {
            "groups": {str(group): sum(self.group(group).values()) for group in Group},
            "hosts": [host.as_json() for host in self.hosts],
            "new": self.new,
            "held": self.held,
            "before": self.before.as_json() if self.before else None,
            "bytes": self.size,
            "requests_a_fut": round(self.requests / self.new, 2) if self.new else None,
            "seconds": self.seconds,
            "next": list(self.next()),
            "feed": str(self.feed),
        }

    def summary_lines(self) -> Iterator[str]:
        """The lines for people."""
        lines = counted(self.lines if self.total is None else self.total, "line")
        of = "" if self.total is None else f"{self.lines:,} of "
        yield f"{of}{lines} in {in_time(self.seconds)}:"
        for group in Group:
            yield group_line(group, self.group(group), self.lines)
        yield from host_lines(self.hosts)
        yield self._futs_line()
        a_fut = f", {self.requests / self.new:.1f} a new fut" if self.new else ""
        yield f"{in_bytes(self.size)} of new futs; {counted(self.requests, 'request')}{a_fut}"
        yield "next:"
        for sentence in self.next():
            yield f"  {sentence}"
        yield f"each line and how it ended: {self.feed}"

    def _futs_line(self) -> str:
        futs = f"{counted(self.new, 'new fut')}, {self.held:,} held before"
        if self.before is None:
            return f"{futs}; the first run of this list"
        lost = self.before.lost
        told = "what was lost is not known" if lost is None else f"{lost:,} lost"
        return f"{futs}, {told} since the last run of this list ({self.before.run})"

    def next(self) -> Iterator[str]:
        """Yield what to do, a sentence each, the most urgent first."""
        count = {group: sum(self.group(group).values()) for group in Group}
        if not self.done:
            yield "go on: the same command asks for what is left"
        if damaged := self.outcomes.get(Outcome.DAMAGED):
            yield f"look at {counted(damaged, 'damaged paper')}: lafka verify"
        if self.outcomes.get(Outcome.BAD_PID) or self.outcomes.get(Outcome.BAD_URL):
            yield "mend the list: lafka check-list says what is wrong with its lines"
        if count[Group.TROUBLE]:
            troubled = count[Group.TROUBLE]
            yield f"crawl the list again later: {counted(troubled, 'line')} had trouble on the way"
        if self.private:
            told = f"{printable(self.private)} {NOT_PUBLIC} and was not asked"
            yield f"{told}; -s LAFKA_ALLOWED_NETWORKS=... allows a network of yours"
        if closed := self._closed():
            lines = counted(closed.failures, "line")
            yield f"write to {printable(closed.name)}, which closed {lines} to us"
        if (dead := count[Group.NOT_THERE]) and self.legacy:
            yield f"{counted(dead, 'line')} not held by {self.legacy}: that is no link rot"
        elif dead:
            yield f"tell who made the list: {counted(dead, 'dead link')}"
        if self.done and self.held and not self.new and not self.refreshed:
            yield "nothing was new; -a refresh=180d asks again for what was had longer ago"
        elif self.done and count[Group.HELD]:
            yield "read them: lafka fut --all --into FOLDER"

    def _closed(self) -> FailingHost | None:
        """Of the hosts with most failures the one that closed most lines."""
        closed = [
            FailingHost(name=host.name, why=why)
            for host in self.hosts
            if (why := {w: n for w, n in host.why.items() if _is_closed(w)})
        ]
        return max(closed, key=lambda host: host.failures, default=None)


def _is_closed(word: str) -> bool:
    return Outcome(word).group is Group.CLOSED or word == Outcome.BOT_CHALLENGE


def _before(values: Mapping[str, Any], heard: FeedTally, root: Path) -> PreviousRun | None:
    last: Report | None = last_of_list(root, values["list"], before=values["run"])
    if last is None:
        return None
    lost = heard.lost(root / "runs" / f"{last.run}.jsonl")
    return PreviousRun(run=last.run, started=str(last.values.get("started", "")), lost=lost)
