"""Papers side by side in the keeper: what a power cut or a kill leaves of a batch."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests import suites
from tests.faults import mutants, powercuts
from tests.faults.crawls import Crawls
from tests.faults.mutants import LOCKS, STEPS
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Call, Site

SIZES = (1, 16)
LINES = {1: 2, 16: 18}
"""Lines of a list that make so many papers wait; among 18, two pids have two each."""
MOST = {1: 70, 16: 6}
SHORT_MOST = {1: 24, 16: 3}
"""Disks at each moment; in the short suite."""


def recorded(
    crawls: Crawls, site: FaultSite, size: int, *, without: Site | None = None,
    late: Site | None = None,
) -> powercuts.Recorded:  # fmt: skip
    """A crawl whose papers are stored *size* at once, with a sync left out or done too *late*."""
    plan = {"batch": size, "without": without, "late": late}
    return powercuts.recorded(crawls, site, LINES[size], plan)


def losses(found: powercuts.Recorded, size: int, *, enough: int = 1) -> list[str]:
    most = suites.amount(SHORT_MOST[size], MOST[size])
    return found.cut(random.Random(size), most=most, enough=enough).losses


def is_step(site: Site) -> bool:
    """Whether *site* asks for a sync that the keeper does, or is where it does it."""
    return site.call in STEPS - LOCKS or site.call == "naming_for_good"


def harmless_if_late(site: Site) -> bool:
    """A new folder's name: no file of which anyone was told lies in it yet."""
    return str(site).startswith("FolderSync at storage/folders.py")


SITES = sorted(filter(is_step, mutants.sites()), key=str)


def reached(calls: Sequence[Call]) -> list[Site]:
    """The steps that *calls* came from, which power cuts can miss."""
    found = mutants.reached(calls, SITES)
    return [site for site in SITES if site in found]


def side_by_side(calls: Sequence[Call]) -> int:
    """How many suwafs were written one after the other before one of them was named."""
    most = now = 0
    for call in calls:
        if "/suwaf/" in call.path and call.path.endswith(".json"):
            now = now + 1 if call.kind == "fsync" else 0 if call.kind == "rename" else now
            most = max(most, now)
    return most
