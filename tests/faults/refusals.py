"""A disk that says no, at any call, with any word: one sentence, and the same command goes on."""

from __future__ import annotations

import errno
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.faults.crawls import Crawls, Run
from tests.faults.kills import Ordeal
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Which

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE, errno.EDQUOT)
GROWING = ("open", "write", "pwrite", "sendfile", "mkdir", "link", "rename")
"""Calls that a full disk refuses; until there is room again all of them."""
_STOPPED = re.compile(
    r"(?:The disk|A limit of this machine) stopped the crawl: .+"
    r" The same command goes on afterwards\.|The list ends early: .+"
)
_REFUSED = re.compile(r"^scrapy crawl: .+")
_KNOWN = re.compile(r"neither PDF nor HTML|a torn record stays at byte")


@dataclass(slots=True)
class Tally:
    """What came of so many refusals."""

    refused: int = 0
    stopped: int = 0
    harmless: int = 0
    never: int = 0
    troubles: list[str] = field(default_factory=list)


def refuse(
    crawls: Crawls, site: FaultSite, which: Which, number: int, tally: Tally, *,
    times: int = 1, count: int | None = None, started: Ordeal | None = None, batch: int = 0,
) -> Ordeal:  # fmt: skip
    """One crawl is refused *which* call; what it says and leaves is judged."""
    ordeal = started or Ordeal(crawls, site, count)
    plan = ordeal.plan(refuse=which, number=number, times=times, batch=batch)
    run = crawls.run(ordeal.archive, ordeal.list_, plan)
    name = f"{errno.errorcode[number]} at {which}, {times} times:"
    ordeal.look(run, name)
    if not any(call.failed == number for call in run.calls):
        tally.never += 1
    else:
        tally.refused += 1
        _judge(run, name, tally)
    return ordeal


def _judge(run: Run, name: str, tally: Tally) -> None:
    """Stopped by one sentence and an exit code, or not disturbed at all."""
    lines = [line for line in run.troubles if not _KNOWN.search(line)]
    sentences = [line for line in lines if _STOPPED.search(line) or _REFUSED.search(line)]
    if run.code == 0 and not lines:
        tally.harmless += 1
    elif run.code in (1, 2) and len(lines) == len(sentences) == 1 and "Traceback" not in run.log:
        tally.stopped += 1
    else:
        tally.troubles.append(f"{name} exit {run.code}: {lines}\n{run.log[-3000:]}")


def finish(ordeal: Ordeal, tally: Tally) -> None:
    ordeal.finish()
    tally.troubles += ordeal.troubles


def some(
    crawls: Crawls, site: FaultSite, rng: random.Random, whiches: Sequence[Which], *,
    count: int | None = None,
) -> Tally:  # fmt: skip
    """Each of *whiches* refused, with an error drawn for it, three to an archive; then finished."""
    tally = Tally()
    ordeal: Ordeal | None = None
    for place, which in enumerate(whiches):
        times = rng.choice((1, 1, 1 << 30))
        if times > 1:  # the disk stays full
            which = Which(nth=which.nth, kinds=GROWING)
        ordeal = refuse(crawls, site, which, rng.choice(ERRORS), tally, times=times, count=count,
                        started=ordeal)  # fmt: skip
        if place % 3 == 2:
            finish(ordeal, tally)
            ordeal = None
    if ordeal:
        finish(ordeal, tally)
    return tally
