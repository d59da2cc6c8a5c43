"""Two and three crawls on the same papers at once, stopped at moments that matter, and killed."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from tests import waiting
from tests.faults import invariants
from tests.faults.crawls import LIMIT, Crawls, Going
from tests.faults.invariants import Reader
from tests.faults.kills import HOWS, Ordeal
from tests.faults.sites import FaultSite
from tests.faults.storecalls import KINDS, Plan, Site, Which


def stopped(going: Going) -> bool:
    """Wait until *going* has stopped itself, as its plan says; False where it ended before."""
    return waiting.stops_itself(going.pid)


def waits(going: Going, path: str = "") -> bool:
    """Wait until *going* waits for a lock below *path*; False where it ended without."""
    end, size = time.monotonic() + LIMIT, 0
    while not going.ends_within(0.01):
        if (now := going.size()) > size:
            size = now
            if any(call.kind == "waits" and path in call.path for call in going.calls()):
                return True
        assert time.monotonic() < end
    return False


def one_stops_while_another_runs(
    crawls: Crawls, site: FaultSite, count: int, stop: Which, without: Site | None = None,
    batch: int = 0,
) -> tuple[list[str], Ordeal]:  # fmt: skip
    """One crawl stops before *stop* while the same command runs beside it; then it goes on."""
    ordeal = Ordeal(crawls, site, count)
    plans = [ordeal.plan(stop=each, without=without, batch=batch) for each in (stop, None)]
    one = crawls.start(ordeal.archive, ordeal.list_, plans[0])
    assert stopped(one), one.ended().log
    other = crawls.start(ordeal.archive, ordeal.list_, plans[1])
    waits(other)
    one.go_on()
    runs = [one.ended(), other.ended()]
    ordeal.calls = [call for run in runs for call in run.calls]
    troubles = [f"ended with {run.code}: {run.troubles}" for run in runs if run.code]
    sent = site.sent(count)
    troubles += invariants.at_any_moment(ordeal.archive, ordeal.lines, sent)
    troubles += invariants.nothing_is_left_over(ordeal.archive)
    troubles += invariants.the_same_futs_as_undisturbed(ordeal.archive, sent)
    return troubles, ordeal


def one_is_killed_at_a_draft_whose_warc_another_named(crawls: Crawls, site: FaultSite) -> Ordeal:
    """One crawl opens a draft when another has just given the WARC its name, and is killed."""
    ordeal = Ordeal(crawls, site, 1, shared=True)
    opens = Which(nth=1, kinds=("open",), path="/warc/.*warc$")
    one = crawls.start(
        ordeal.archive, ordeal.list_, ordeal.plan(stop=opens, kill=opens, how="after")
    )
    assert stopped(one), one.ended().log
    ordeal.look(crawls.start(ordeal.archive, ordeal.list_, ordeal.plan()).ended())
    one.go_on()
    ordeal.look(one.ended())
    ordeal.finish()
    return ordeal


def some_at_once(
    crawls: Crawls, site: FaultSite, rng: random.Random, *, count: int, rounds: int,
    batch: int = 0,
) -> Ordeal:  # fmt: skip
    """*count* crawls at once, most of them killed somewhere, *rounds* times; a reader looks on."""
    ordeal = Ordeal(crawls, site, shared=True)
    with Reader(ordeal.archive) as reader:
        for _ in range(rounds):
            plans = [_plan(ordeal, rng, batch) for _ in range(count)]
            going = [crawls.start(ordeal.archive, ordeal.list_, plan) for plan in plans]
            for one in going:
                ordeal.look(one.ended(), f"{count} at once:")
        ordeal.finish()
    ordeal.troubles += reader.troubles
    return ordeal


def _plan(ordeal: Ordeal, rng: random.Random, batch: int) -> Plan:
    if rng.random() < 0.25:
        return ordeal.plan(batch=batch)
    which = Which(nth=rng.randrange(1, 200), kinds=KINDS)
    return ordeal.plan(kill=which, how=rng.choice(HOWS), batch=batch)


def stops() -> Sequence[Which]:
    """Moments at which another writer would do harm, were there no locks."""
    return (
        Which(nth=1, kinds=("fdatasync",), path="/warc/"),  # written, not committed
        Which(nth=2, kinds=("sendfile", "write", "pwrite"), path="/warc/"),
        Which(nth=1, kinds=("rename",), path="/suwaf/"),
        Which(nth=1, kinds=("open",), path="/warc/.*warc$"),  # captured, not copied
    )
