"""What is done to the store of filesets to see whether a sync or a lock of it is missed.

Each scenario goes a road, or does one deed, with one call of the product left out, one done too
late, or with all of them in time, and says what went wrong: nothing, where all is there.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from lafka.capture.rawlog import RawLog
from lafka.errors import KeeperError, LafkaError
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.repairs import FilesetRepair
from lafka.filesets.targets.folder import PartFile
from lafka.filesets.targets.item import begun
from lafka.jobs.lines import Message, UnusableMessage, burying
from lafka.storage.folders import DRAFT
from lafka.warc import Fields
from tests.faults import mutants
from tests.faults.crawls import Crawls
from tests.faults.disks import SYNCS, Disk, Tree, cuts, put
from tests.faults.lateness import MOVES, Late, put_off
from tests.faults.powercuts import Recorded
from tests.faults.scenarios import Told
from tests.faults.storecalls import Site
from tests.filesets.archive import ordeals
from tests.filesets.faults import roads

MOST, FEW, MANY = 14, 2, 60
"""Disks at each moment: of a mutant, where nothing is left out, where a disk costs little."""
TAIL = b"bytes of someone " * 40
DEAD = "dead.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """What is not done as it is written: a call left out, or done late."""

    without: Site | None = None
    late: Late | None = None


class Scenario(Protocol):
    def __call__(self, crawls: Crawls, site: roads.RoadSite, wrong: Wrong, /) -> Told: ...


@dataclass(slots=True)
class PowerCuts:
    """The power goes while the road *name* is gone."""

    name: str
    _gone: Recorded | None = field(default=None)

    def __call__(self, crawls: Crawls, site: roads.RoadSite, wrong: Wrong) -> Told:
        if wrong.without is None:
            found = self.recorded(crawls, site)
        else:
            ordeal = roads.Ordeal(crawls, site, roads.ROADS[self.name])
            found = roads.recorded(ordeal, without=wrong.without)
        if wrong.late is not None:
            found.calls = list(put_off(found.calls, wrong.late))
        most = FEW if wrong == Wrong() else MOST
        return found.cut(random.Random(7), most=most, enough=1).losses, found.calls

    def recorded(self, crawls: Crawls, site: roads.RoadSite) -> Recorded:
        """The road with all in time, gone once; what was judged stays so."""
        if self._gone is None:
            self._gone = roads.recorded(roads.Ordeal(crawls, site, roads.ROADS[self.name]))
        judge = replace(self._gone.judge, folder=crawls.folder())
        return replace(self._gone, judge=judge)


def _deed(
    root: Path,
    work: Callable[[ordeals.Work], object],
    wrong: Wrong,
    lost: Callable[[Tree], bool] = lambda _: False,
    at_the_end: Callable[[Tree], bool] = lambda _: False,
    most: int = MOST,
) -> Told:
    """Do *work*; what is *lost* after power cuts in it, or at the end, when it is told as done."""
    disk, rng = Disk.of(root), random.Random(7)
    run = ordeals.run(root, work, data=True, without=wrong.without)
    troubles = [run.said] if run.code else []
    for call in put_off(run.calls, wrong.late) if wrong.late else run.calls:
        if call.kind in SYNCS and any(map(lost, cuts(disk, rng, most=most))):
            troubles.append(f"lost before {call}")
        disk.do(call)
    if any(lost(tree) or at_the_end(tree) for tree in cuts(disk, rng, most=most)):
        troubles.append("lost when all was done")
    return troubles, list(run.calls)


def two_writers(_: Crawls, __: roads.RoadSite, wrong: Wrong) -> Told:
    """Of two who want one fileset one gets it."""

    def work(store: ordeals.Work) -> None:
        if all(store.filesets.locked(ordeals.ID) is not None for _ in range(2)):
            raise LafkaError("two have one fileset")

    with ordeals.folder() as root:
        return _deed(root, work, wrong)


def a_fileset_stored(_: Crawls, __: roads.RoadSite, wrong: Wrong) -> Told:
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

        return _deed(root, ordeals.Work.into_a_warc, wrong, lost, most=MANY)


def small_files_of_an_item(_: Crawls, __: roads.RoadSite, wrong: Wrong) -> Told:
    """Names of small files are synced before the summary that names them; the power goes."""

    def work(store: ordeals.Work) -> None:
        store.files_into_an_item()[0].commit()

    def lost(tree: Tree) -> bool:
        for path, data in tree.items():
            if data and path.startswith("fileset/suwaf/") and f"/{DRAFT}" not in path:
                for version in json.loads(data)[ordeals.ITEM_ID].values():
                    names = (f"items/{e['item']}/{e['name']}" for e in version["files"].values())
                    if not all(name in tree for name in names):
                        return True
        return False

    with ordeals.folder() as root:
        return _deed(root, work, wrong, lost, most=MANY)


def a_tail_set_aside(_: Crawls, __: roads.RoadSite, wrong: Wrong) -> Told:
    """Bytes that are no record behind a WARC's end are kept aside; the power goes."""
    with ordeals.folder() as root:
        ordeals.run(root)
        filesets = Filesets(root)
        warc = filesets.warc_path(filesets.pid(ordeals.ID))
        with warc.open("ab") as file:
            file.write(TAIL)

        def lost(tree: Tree) -> bool:
            held = (data for path, data in tree.items() if f"/{DRAFT}" not in path)
            return not any((data or b"").endswith(TAIL) for data in held)

        return _deed(root, lambda store: store.locked().close(), wrong, lost)


def a_dead_letter(_: Crawls, __: roads.RoadSite, wrong: Wrong) -> Told:
    """A message that no table takes is buried before its offset is committed; the power goes."""
    dead = UnusableMessage(message=Message(place="topic:0:1", data=b"{}"), reason="no result")

    def lost(tree: Tree) -> bool:
        return b"topic:0:1" not in (tree.get(DEAD) or b"")

    with ordeals.folder() as root:
        work = lambda _: burying(root / DEAD)(dead)  # noqa: E731
        return _deed(root, work, wrong, at_the_end=lost)


def a_rotten_file_replaced(_: Crawls, __: roads.RoadSite, wrong: Wrong, *, coded: bool) -> Told:
    """A verified copy takes the place of a rotten file, which stays aside; the power goes."""
    rotten, good = b"\0" + roads.ONE[1:], roads.ONE
    name = "items/an-item/files/a.txt"

    def work(store: ordeals.Work) -> None:
        part = PartFile(root / name)
        part.take_up(ordeals.URL)
        fields = Fields([("Content-Encoding", "gzip")] if coded else [])
        part.begin(begun(ordeals.URL, 200, fields))
        part.write(gzip.compress(good) if coded else good)
        part.sync()
        part.keep_over(root / name, undone=coded)
        part.drop()
        store.acknowledge(ordeals.ITEM_ID)

    def lost(tree: Tree) -> bool:
        told = bool(tree.get(ordeals.ACKS))
        is_good = tree.get(name) == good
        return rotten not in tree.values() or not (
            is_good or (tree.get(name) == rotten and not told)
        )

    with ordeals.folder() as root:
        (root / name).parent.mkdir(parents=True)
        (root / name).write_bytes(rotten)
        return _deed(root, work, wrong, lost, most=MANY)


def a_dry_repair_beside_a_crawl(_: Crawls, __: roads.RoadSite, wrong: Wrong) -> Told:
    """A repair does not take the raw log of a crawl that lives for a dead one's."""

    def work(store: ordeals.Work) -> None:
        for deed in FilesetRepair(store.filesets, dry=True).all():
            raise LafkaError(f"{deed.deed}: {deed.sentence}")

    with ordeals.folder() as root:
        log = RawLog(root / "fileset" / "raw", "20261120T101112000000Z-host-1", config={})
        try:
            return _deed(root, work, wrong)
        finally:
            log.close()


QUICK: Mapping[str, Scenario] = {
    "two writers": two_writers,
    "a fileset stored": a_fileset_stored,
    "small files of an item": small_files_of_an_item,
    "a tail set aside": a_tail_set_aside,
    "a dead letter": a_dead_letter,
    "a rotten file replaced": partial(a_rotten_file_replaced, coded=False),
    "a rotten file replaced, coded": partial(a_rotten_file_replaced, coded=True),
    "a dry repair beside a crawl": a_dry_repair_beside_a_crawl,
}
"""Those without a crawl."""
SCENARIOS: Mapping[str, Scenario] = {
    **QUICK,
    **{name: PowerCuts(name) for name in roads.ROADS},
}


_reached: dict[str, set[Site]] = {}


def reached(crawls: Crawls, site: roads.RoadSite, name: str) -> set[Site]:
    """What a scenario calls, with all syncs and locks; it is gone once."""
    if name not in _reached:
        scenario = SCENARIOS[name]
        if isinstance(scenario, PowerCuts):
            calls = scenario.recorded(crawls, site).calls
        else:
            calls = scenario(crawls, site, Wrong())[1]
        _reached[name] = mutants.reached(calls, (*SITES, *(late.site for late in LATE)))
    return _reached[name]


SITES = mutants.sites("filesets")
_LOCKS = {*mutants.LOCKS, "is_locked_at"}
_NAMING = ("create", "link", "naming_for_good", "replace", "replace_locked", "replacing")
LATE = (
    *(Late(site=site) for site in SITES if site.call not in _LOCKS),
    *(
        Late(site=site, kinds=MOVES)
        for site in dict.fromkeys(site.by or site for site in SITES)
        if site.call in _NAMING
    ),
)
"""The syncs and names of filesets: each is done too late."""
_BAG = "a bag that an operator asks for: the same command makes it again"
EXEMPT = {
    "drafts.replace(place, passing())": _BAG,
    "drafts.replace(folder / tag,": _BAG,
    'drafts.replace(folder / "bagit.txt",': _BAG,
    "targets/s3.py": "of an upload that is not known any more the parts are sent again",
    "else:\n            self._file.sync()": "nothing comes just now: the sync at the end does it",
    "the same\n                self._file.sync()": "the disk has refused: it may do so again",
    "drafts.link(self.path, aside)": "what was set aside was not the file",
    "yield FolderSync(path.parent)": "what is kept here the scenarios of the main road miss",
    "SYNC_BYTES:\n            self.sync()": "now and then: the sync at the end does it",
}
"""What no scenario can miss, by a part of its place or of its line, and why."""
NAMES = {
    "drafts.replacing(self.summary_path,": "a summary without its name is made again from its WARC,"
    " unless the next group has a hole: one disk of very many",
    "drafts.replace(self._told,": "by an older account, or none, the part goes on further back",
}
"""Likewise, of the name that is given there; its bytes have to be synced."""


LATE_NAMES = {
    "drafts.replacing(self.summary_path,": "by an older summary the next writer goes on",
}
"""Likewise, of a name that is given late."""


def missed(crawls: Crawls, site: roads.RoadSite, wrong: Wrong) -> tuple[bool, list[str]]:
    """Whether a scenario that comes there misses what is *wrong*; the names of those tried."""
    mutant, tried = wrong.without or (wrong.late and wrong.late.site), []
    for name, scenario in SCENARIOS.items():
        if mutant in reached(crawls, site, name):
            tried.append(name)
            if scenario(crawls, site, wrong)[0]:
                return True, tried
    return False, tried


def exempt_late(late: Late) -> str:
    """As :func:`exempt`."""
    return exempt(late.site, LATE_NAMES if late.kinds == MOVES else {})


def exempt(site: Site, more: Mapping[str, str] | None = None) -> str:
    """Why nobody can miss it; empty where somebody has to."""
    place = site.by or site
    lines = "\n".join(
        Path(place.file).read_text("utf-8").splitlines()[place.first - 2 : place.first]
    )
    signs = {**EXEMPT, **(NAMES if site.call == "FolderSync" else {}), **(more or {})}
    return next((why for sign, why in signs.items() if sign in lines or sign in place.file), "")
