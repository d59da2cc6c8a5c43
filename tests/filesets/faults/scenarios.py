"""What is done to the store of filesets to see whether a sync or a lock of it is missed.

Each scenario goes a road, or does one deed, with one call of the product left out or with all of
them, and says what went wrong: nothing, where all is there.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from lafka.capture.rawlog import RawLog
from lafka.errors import KeeperError, LafkaError
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.repairs import FilesetRepair
from lafka.filesets.persisting import Dead, Message
from lafka.filesets.tables import burying
from tests.faults import mutants
from tests.faults.crawls import Crawls
from tests.faults.disks import SYNCS, Disk, Tree, cuts, put
from tests.faults.scenarios import Told
from tests.faults.storecalls import Site
from tests.filesets.archive import ordeals
from tests.filesets.faults import roads

MOST, FEW, MANY = 14, 2, 60
"""Disks at each moment: of a mutant, where nothing is left out, where a disk costs little."""
TAIL = b"bytes of someone " * 40
DEAD = "dead.jsonl"

Scenario = Callable[[Crawls, roads.RoadSite, Site | None], Told]


def power_cuts(name: str) -> Scenario:
    """The power goes while a road is gone."""

    def scenario(crawls: Crawls, site: roads.RoadSite, without: Site | None) -> Told:
        found = roads.recorded(roads.Ordeal(crawls, site, roads.ROADS[name]), without=without)
        most = MOST if without else FEW
        return found.cut(random.Random(7), most=most, enough=1).losses, found.calls

    return scenario


def _deed(
    root: Path,
    work: Callable[[ordeals.Work], object],
    without: Site | None,
    lost: Callable[[Tree], bool] = lambda _: False,
    at_the_end: Callable[[Tree], bool] = lambda _: False,
    most: int = MOST,
) -> Told:
    """Do *work*; what is *lost* after power cuts in it, or at the end, when it is told as done."""
    disk, rng = Disk.of(root), random.Random(7)
    run = ordeals.run(root, work, data=True, without=without)
    troubles = [run.said] if run.code else []
    for call in run.calls:
        if call.kind in SYNCS and any(map(lost, cuts(disk, rng, most=most))):
            troubles.append(f"lost before {call}")
        disk.do(call)
    if any(lost(tree) or at_the_end(tree) for tree in cuts(disk, rng, most=most)):
        troubles.append("lost when all was done")
    return troubles, list(run.calls)


def two_writers(_: Crawls, __: roads.RoadSite, without: Site | None) -> Told:
    """Of two who want one fileset one gets it."""

    def work(store: ordeals.Work) -> None:
        if all(store.filesets.locked(ordeals.ID) is not None for _ in range(2)):
            raise LafkaError("two have one fileset")

    with ordeals.folder() as root:
        return _deed(root, work, without)


def a_fileset_stored(_: Crawls, __: roads.RoadSite, without: Site | None) -> Told:
    """Two files are stored, without a crawl, so that many disks can be looked at; the power goes.

    The next writer has to be able to go on.
    """
    with ordeals.folder() as root:
        again = root.parent / "again"

        def lost(tree: Tree) -> bool:
            again.mkdir()
            try:
                put(tree, again)
                warc = Filesets(again).locked(ordeals.ID)
                assert warc is not None
                warc.close()
            except KeeperError:
                return True
            finally:
                shutil.rmtree(again)
            return False

        return _deed(root, ordeals.Work.into_a_warc, without, lost, most=MANY)


def a_tail_set_aside(_: Crawls, __: roads.RoadSite, without: Site | None) -> Told:
    """Bytes that are no record behind a WARC's end are kept aside; the power goes."""
    with ordeals.folder() as root:
        ordeals.run(root)
        filesets = Filesets(root)
        warc = filesets.warc_path(filesets.pid(ordeals.ID))
        with warc.open("ab") as file:
            file.write(TAIL)

        def lost(tree: Tree) -> bool:
            return not any((data or b"").endswith(TAIL) for data in tree.values())

        return _deed(root, lambda store: store.locked().close(), without, lost)


def a_dead_letter(_: Crawls, __: roads.RoadSite, without: Site | None) -> Told:
    """A message that no table takes is buried before its offset is committed; the power goes."""
    dead = Dead(message=Message(place="topic:0:1", data=b"{}"), reason="no result")

    def lost(tree: Tree) -> bool:
        return b"topic:0:1" not in (tree.get(DEAD) or b"")

    with ordeals.folder() as root:
        work = lambda _: burying(root / DEAD)(dead)  # noqa: E731
        return _deed(root, work, without, at_the_end=lost)


def a_dry_repair_beside_a_crawl(_: Crawls, __: roads.RoadSite, without: Site | None) -> Told:
    """A repair does not take the raw log of a crawl that lives for a dead one's."""

    def work(store: ordeals.Work) -> None:
        for deed in FilesetRepair(store.filesets, dry=True).all():
            raise LafkaError(f"{deed.deed}: {deed.sentence}")

    with ordeals.folder() as root:
        log = RawLog(root / "fileset" / "raw", "20261120T101112000000Z-host-1", config={})
        try:
            return _deed(root, work, without)
        finally:
            log.close()


QUICK: Mapping[str, Scenario] = {
    "two writers": two_writers,
    "a fileset stored": a_fileset_stored,
    "a tail set aside": a_tail_set_aside,
    "a dead letter": a_dead_letter,
    "a dry repair beside a crawl": a_dry_repair_beside_a_crawl,
}
"""Those without a crawl."""
SCENARIOS: Mapping[str, Scenario] = {
    **QUICK,
    **{name: power_cuts(name) for name in roads.ROADS},
}


def reached(crawls: Crawls, site: roads.RoadSite, name: str) -> set[Site]:
    """What a scenario calls, with all syncs and locks."""
    if name in QUICK:
        calls = QUICK[name](crawls, site, None)[1]
    else:
        calls = roads.recorded(roads.Ordeal(crawls, site, roads.ROADS[name])).calls
    return mutants.reached(calls, SITES)


SITES = mutants.sites("filesets")
EXEMPT = {
    "archive/bags.py": "a bag that an operator asks for: the same command makes it again",
    "targets/s3.py": "of an upload that is not known any more the parts are sent again",
    "else:\n            self._file.sync()": "nothing comes just now: the sync at the end does it",
    "the same\n                self._file.sync()": "the disk has refused: it may do so again",
    "drafts.link(self.path, aside)": "what was set aside was not the file",
    "SYNC_BYTES:\n            self.sync()": "now and then: the sync at the end does it",
}
"""What no scenario can miss, by a part of its place or of its line, and why."""
NAMES = {
    "drafts.replace(self.summary_path,": "a summary without its name is made again from its WARC,"
    " unless the next group has a hole: one disk of very many",
    "drafts.replace(self._told,": "by an older account, or none, the part goes on further back",
}
"""Likewise, of the name that is given there; its bytes have to be synced."""


def exempt(site: Site) -> str:
    """Why nobody can miss it; empty where somebody has to."""
    place = site.by or site
    lines = "\n".join(
        Path(place.file).read_text("utf-8").splitlines()[place.first - 2 : place.first]
    )
    signs = EXEMPT | (NAMES if site.call == "FolderSync" else {})
    return next((why for sign, why in signs.items() if sign in lines or sign in place.file), "")
