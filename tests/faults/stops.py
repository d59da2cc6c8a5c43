"""Crawls that are sent signals at any moment of their start, their work and their stop."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lafka.runs.exits import BROKEN_OFF, STOPPED
from tests.faults.crawls import Crawls, Going, Run
from tests.faults.kills import TOLD_A_LINE, Ordeal
from tests.faults.sites import FaultSite
from tests.sites.papers import as_pdf
from tests.sites.server import Reply, Seen, reply

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
Signals = tuple[signal.Signals, ...]
PATTERNS: tuple[Signals, ...] = (
    (INT,), (TERM,), (INT, INT), (TERM, TERM), (INT, TERM), (INT, INT, INT), (TERM, TERM, TERM),
    (TERM, KILL),
)  # fmt: skip
"""By hand; as scrapyd cancels, and cancels again; as systemd stops, and then kills."""
TIMEOUT = 8.0
"""LAFKA_SHUTDOWN_TIMEOUT of these crawls; a stream is cut after half of it."""
START = 0.5
"""Seconds in which a crawl has told its first call, on a quiet machine."""
NO_SAY = (-INT, -TERM)
"""Exit codes before Lafka's command has begun."""


class StopSite(FaultSite):
    """With one paper more, whose PDF comes to a standstill half way while ``holding``."""

    holding = True

    def __enter__(self) -> StopSite:
        super().__enter__()
        data = self._pdf("slow")
        half = reply(data[:700], "application/pdf", length=len(data), then="hold")

        def slow(_: Seen) -> Reply:
            return half if self.holding else as_pdf(data)

        self._add("slow", 0, as_pdf(data), data)
        self.routes["/slow"] = slow
        return self


@dataclass(slots=True)
class Tally:
    """What came of so many stops: by exit code, and what was lost or wrong."""

    moments: int = 0
    signals: int = 0
    codes: dict[int, int] = field(default_factory=dict)
    acknowledged: int = 0
    troubles: list[str] = field(default_factory=list)


def stop(
    crawls: Crawls, site: StopSite, rng: random.Random, patterns: Sequence[Signals], tally: Tally
) -> None:
    """One crawl of one archive after the other, one for each of *patterns*; then finish."""
    ordeal = Ordeal(crawls, site)
    for pattern in patterns:
        site.holding = rng.random() < 0.5
        going = crawls.start(
            ordeal.archive, ordeal.list_, ordeal.plan(), LAFKA_SHUTDOWN_TIMEOUT=TIMEOUT
        )
        early = _wait(going, rng, len(ordeal.lines))
        sent = _send(going, pattern, rng)
        run = going.ended()
        name = f"{[each.name for each in pattern[:sent]]} {'early' if early else ''}:"
        ordeal.look(run, name)
        tally.moments += 1
        tally.signals += sent
        tally.codes[run.code] = tally.codes.get(run.code, 0) + 1
        wrong = _wrong(run, ordeal.archive, pattern[:sent], early=early)
        tally.troubles += [f"{name} {wrong}\n{run.log[-2000:]}"] * bool(wrong)
    site.holding = False
    ordeal.finish()
    tally.acknowledged += ordeal.acknowledged
    tally.troubles += ordeal.troubles


def _wait(going: Going, rng: random.Random, lines: int) -> bool:
    """Until some moment of the start or the work; whether Lafka had not begun then."""
    if rng.random() < 0.35:
        going.ends_within(rng.uniform(0, START))
    else:
        going.tells(int(rng.uniform(0, lines * TOLD_A_LINE)))
        going.ends_within(rng.uniform(0, 0.05))
    return going.size() == 0


def _send(going: Going, pattern: Signals, rng: random.Random) -> int:
    """Send *pattern*, with pauses in which it goes on to stop; how many came before its end."""
    for place, number in enumerate(pattern):
        if place and going.ends_within(rng.choice((0.0, 0.01, 0.1, 1.0))):
            return place
        os.kill(going.pid, number)
    return len(pattern)


def _wrong(run: Run, archive: Path, sent: Signals, *, early: bool) -> str:
    """What is wrong with the exit code, which has to be what the report of the run says."""
    reasons = [json.loads(path.read_text())["reason"] for path in _reports(archive)]
    last = reasons[-1] if reasons else None
    if run.code == STOPPED:
        # Without a report of its own the last one is an older run's: it had not begun one.
        return "" if last in (None, "shutdown", "finished", "killed") else f"reason {last}"
    if run.code == 0:
        return "" if last == "finished" else f"exit 0, reason {last}"
    allowed: tuple[int, ...] = NO_SAY if early else ()
    if len(sent) > 1:
        allowed = (*allowed, BROKEN_OFF, *([-KILL] if KILL in sent else []))
    return "" if run.code in allowed else f"exit {run.code}, reason {last}"


def _reports(archive: Path) -> list[Path]:
    return sorted(path for path in (archive / "runs").glob("*.json") if path.name[0] != ".")
