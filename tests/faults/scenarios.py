"""What is done to the store to see whether a sync or a lock of it is missed.

Each scenario runs real commands, with one call of the product left out or with all of them, and
says what went wrong: nothing, where all is there.
"""

from __future__ import annotations

import errno
import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.faults import powercuts, together
from tests.faults.crawls import Crawls, Going, Run
from tests.faults.disks import SYNCS, Disk, Tree, cuts
from tests.faults.kills import Ordeal
from tests.faults.mutants import LOCKS
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Call, Plan, Site, Which

Told = tuple[list[str], list[Call]]
"""What went wrong, and the calls that were made."""
MOST = 70
DRAFT = r"\.draft-"


def _cut(found: powercuts.Recorded) -> Told:
    return found.cut(random.Random(7), most=MOST, enough=1).losses, found.calls


def crawl(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A first crawl of two papers, and the power goes."""
    return _cut(powercuts.recorded(crawls, site, 2, {"without": without}))


def crawl_after_a_kill(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A crawl is killed before it syncs the name of a WARC; another finishes; the power goes."""
    kill = {"kill": Which(nth=1, kinds=("fsync",), path="/warc/.*/papers$")}
    return _cut(powercuts.recorded(crawls, site, 1, kill, {"without": without}))


def crawl_after_a_late_kill(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """As before, but the name is that of a suwaf."""
    kill = {"kill": Which(nth=1, kinds=("fsync",), path="/suwaf/.*/papers$")}
    return _cut(powercuts.recorded(crawls, site, 1, kill, {"without": without}))


def _held(crawls: Crawls, site: FaultSite, count: int = 1) -> Ordeal:
    """An archive with the first *count* papers of the site."""
    ordeal = Ordeal(crawls, site, count)
    ordeal.finish()
    assert not ordeal.troubles
    return ordeal


def _command(
    crawls: Crawls, ordeal: Ordeal, without: Site | None, *arguments: str
) -> tuple[Run, Disk]:
    disk = Disk.of(ordeal.folder)
    plan = Plan(root=str(ordeal.folder), data=True, without=without)
    return crawls.command(ordeal.archive, *arguments, plan=plan).ended(), disk


def _keeps(disk: Disk, run: Run, lost: Callable[[Tree], list[str]]) -> list[str]:
    """What *lost* finds after power cuts at each sync of *run* and at its end."""
    rng = random.Random(7)
    for call in [*run.calls, None]:
        if call is None or call.kind in SYNCS:
            for tree in cuts(disk, rng, most=MOST):
                if troubles := lost(tree):
                    return troubles
        if call is not None:
            disk.do(call)
    return []


def a_tail_set_aside(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """Bytes that are no record behind a WARC's end are kept aside; the power goes."""
    ordeal = _held(crawls, site)
    [warc] = ordeal.archive.rglob("a0.warc")
    known, tail = warc.read_bytes(), b"bytes of someone " * 40
    warc.write_bytes(known + tail)
    run, disk = _command(crawls, ordeal, without, "repair")

    def lost(tree: Tree) -> list[str]:
        held = {path: data or b"" for path, data in tree.items() if "/a0.warc" in path}
        warcs = [data for path, data in held.items() if path.endswith("/a0.warc")]
        there = [data for data in warcs if data.startswith(known)]
        kept = tail in held.values() or any(data[len(known) :] == tail for data in there)
        return ["the WARC is not as it was"] * (not there) + ["the tail is lost"] * (not kept)

    return [f"exit {run.code}"] * bool(run.code) + _keeps(disk, run, lost), list(run.calls)


def a_suwaf_kept_aside(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A damaged suwaf is kept aside when it is made again; the power goes."""
    ordeal = _held(crawls, site)
    [suwaf] = ordeal.archive.rglob("a0.json")
    damaged = suwaf.read_bytes()[:-30]
    suwaf.write_bytes(damaged)
    run, disk = _command(crawls, ordeal, without, "repair")

    def lost(tree: Tree) -> list[str]:
        return [] if damaged in tree.values() else ["the damaged suwaf is lost"]

    return _keeps(disk, run, lost), list(run.calls)


def _misplaced(ordeal: Ordeal) -> tuple[Path, Path, bytes]:
    """Put the WARC of a0 elsewhere: where it belongs, where it is now, its bytes."""
    [warc] = ordeal.archive.rglob("a0.warc")
    [suwaf] = ordeal.archive.rglob("a0.json")
    suwaf.unlink()
    data = warc.read_bytes()
    other = warc.parent.parent / "elsewhere" / "A0.warc"
    other.parent.mkdir()
    return warc, warc.rename(other), data


def an_adopted_warc(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A WARC that is not where its pid belongs is placed; the power goes, at the latest after."""
    ordeal = _held(crawls, site)
    warc, other, data = _misplaced(ordeal)
    run, disk = _command(crawls, ordeal, without, "rebuild", "--adopt")
    final, wrong = (f"archive/{path.relative_to(ordeal.archive)}" for path in (warc, other))

    def lost(tree: Tree) -> list[str]:
        return [] if data in (tree.get(final), tree.get(wrong)) else ["the WARC is lost"]

    troubles = [f"exit {run.code}: {run.log}"] * bool(run.code) + _keeps(disk, run, lost)
    for tree in cuts(disk, random.Random(7), most=MOST):  # the command has said that it is done
        if tree.get(final) != data or wrong in tree:
            troubles.append("what was said to be placed is not")
    return troubles, list(run.calls)


def _a_merge(there: str) -> Callable[[Crawls, FaultSite, Site | None], Told]:
    """Papers and runs of another archive are taken in; the power goes when that is done.

    Files of runs whose names end like *there* are in the archive by then.
    """

    def scenario(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
        ordeal = _held(crawls, site)
        source = ordeal.archive.rename(ordeal.folder / "other")
        files = {path.name: path.read_bytes() for path in (source / "runs").iterdir()}
        (ordeal.archive / "runs").mkdir(parents=True)
        for name, data in files.items():
            if name.endswith(there):
                (ordeal.archive / "runs" / name).write_bytes(data)
        run, disk = _command(crawls, ordeal, without, "merge", str(source))
        for call in run.calls:
            disk.do(call)
        troubles = [f"exit {run.code}: {run.log}"] * bool(run.code)
        for tree in cuts(disk, random.Random(7), most=MOST):
            lost = {
                f"archive/runs/{name}": data for name, data in files.items()
            }.items() - tree.items()
            troubles += [f"{name} is lost" for name, _ in lost]
        return troubles, list(run.calls)

    return scenario


def an_adoption_beside_a_crawl(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A WARC is to be placed where a crawl has just begun one; that crawl loses nothing by it."""
    ordeal = _held(crawls, site)
    _, _, data = _misplaced(ordeal)
    stop = Which(nth=1, kinds=("sendfile", "write", "pwrite"), path=f"/warc/.*{DRAFT}")
    one = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(stop=stop, without=without))
    assert together.stopped(one)
    plan = ordeal.plan(without=without)
    other = crawls.command(ordeal.archive, "rebuild", "--adopt", plan=plan)
    together.waits(other)
    one.go_on()
    runs = [one.ended(), other.ended()]
    there = [path.read_bytes() for path in (ordeal.archive / "warc").rglob("*.warc")]
    troubles = [f"the crawl ended with {runs[0].code}"] * bool(runs[0].code)
    troubles += ["the WARC is lost"] * (data not in there) + ["not two WARCs"] * (len(there) != 2)
    return troubles, [call for run in runs for call in run.calls]


def a_rebuild_beside_a_crawl(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A suwaf is to be made again that a crawl is about to name; the crawl does not suffer."""
    ordeal = Ordeal(crawls, site, 1)
    stop = Which(nth=1, kinds=("rename",), path="/suwaf/")
    one = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(stop=stop))
    assert together.stopped(one)
    other = crawls.command(ordeal.archive, "rebuild", plan=ordeal.plan(without=without))
    together.waits(other)
    one.go_on()
    runs = [one.ended(), other.ended()]
    troubles = [f"ended with {run.code}: {run.log[-500:]}" for run in runs if run.code]
    return troubles, [call for run in runs for call in run.calls]


def _while_stopped(stop: Which) -> Callable[[Crawls, FaultSite, Site | None], Told]:
    def scenario(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
        troubles, ordeal = together.one_stops_while_another_runs(crawls, site, 2, stop, without)
        return troubles, ordeal.calls

    return scenario


def a_repair_beside_a_crawl(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A repair leaves alone what a living crawl has in hand, and does not wait for it."""
    ordeal = Ordeal(crawls, site, 1)
    stop = Which(nth=1, kinds=("fdatasync",), path="/warc/")
    one = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(stop=stop))
    assert together.stopped(one)
    troubles, calls = [], list[Call]()
    try:
        for arguments in (("repair", "--dry-run"), ("repair",)):
            plan = ordeal.plan(without=without)
            going = crawls.command(ordeal.archive, *arguments, plan=plan)
            if together.waits(going):
                troubles.append("the repair waits for the crawl")
                going.kill()
            run = going.ended()
            calls += run.calls
            deeds = re.findall(r'"deed": "(\w+)"', run.log)
            troubles += [f"{arguments}: {deed}" for deed in deeds]
    finally:
        one.go_on()
        one.ended()
    return troubles, calls


def a_merge_beside_a_crawl(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """A merge takes a paper whose first commit goes on in its source for no damage."""
    ordeal = Ordeal(crawls, site, 1)
    stop = Which(nth=1, kinds=("write", "pwrite", "rename"), path="/suwaf/")
    one = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(stop=stop))
    assert together.stopped(one)
    try:
        plan = ordeal.plan(without=without)
        target = ordeal.folder / "target"
        going = crawls.command(target, "merge", str(ordeal.archive), plan=plan)
        troubles = ["the merge waits for the crawl"] * together.waits(going)
        if troubles:
            going.kill()
        run = going.ended()
    finally:
        one.go_on()
        one.ended()
    return troubles + [f"exit {run.code}: {run.log}"] * bool(run.code), list(run.calls)


def a_disk_that_syncs_no_file(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """The archive is probed before anyone is asked for anything."""
    ordeal = _held(crawls, site)
    site.forget()
    refuse = Which(nth=1, kinds=("fsync",), path=r"\.probe|json$")
    plan = ordeal.plan(refuse=refuse, number=errno.EIO, times=1 << 30, without=without)
    arguments = ("crawl", "futli", "-a", f"input={ordeal.list_}", "-a", "refresh=all")
    run = crawls.command(ordeal.archive, *arguments, plan=plan).ended()
    troubles = [f"asked for {seen.target}" for seen in site.seen]
    return troubles + [f"exit {run.code}, not 2"] * (run.code != 2), list(run.calls)


def _report(ordeal: Ordeal, one: Going) -> Path:
    """The report of a crawl that is going on."""
    [path] = {
        call.to for call in one.calls() if call.kind == "rename" and "/runs/" in call.to
    }  # fmt: skip
    return Path(path)


def the_report_of_a_living_run(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """Neither a command nor another crawl takes a run that lives for a killed one."""
    ordeal = Ordeal(crawls, site, 1)
    stop = Which(nth=1, kinds=("fdatasync",), path="/warc/")
    one = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(stop=stop, without=without))
    assert together.stopped(one)
    report = _report(ordeal, one)
    told = crawls.command(ordeal.archive, "runs", plan=ordeal.plan(without=without)).ended()
    troubles = [] if f"{report.stem}  running" in told.log else [f"told: {told.log}"]
    other = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(without=without))
    together.waits(other)
    if json.loads(report.read_bytes())["reason"] is not None:
        troubles.append("its report was closed by another")
    one.go_on()
    runs = [one.ended(), other.ended()]
    return troubles, [*told.calls, *runs[0].calls, *runs[1].calls]


def the_report_of_a_killed_run(crawls: Crawls, site: FaultSite, without: Site | None) -> Told:
    """It is closed by one of two crawls, and the other does not wait for that."""
    ordeal = Ordeal(crawls, site, 1)
    kill = Which(nth=1, kinds=("fdatasync",), path="/warc/")
    dead = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(kill=kill))
    calls = list(dead.ended().calls)
    name = _report(ordeal, dead).name
    stop = Which(nth=1, kinds=("fsync",), path=f"/{DRAFT}{re.escape(name)}")
    one = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(stop=stop, without=without))
    assert together.stopped(one)
    other = crawls.start(ordeal.archive, ordeal.list_, ordeal.plan(without=without))
    troubles = []
    if together.waits(other, "/runs/"):
        troubles.append("one waits for the other")
    one.go_on()
    runs = [one.ended(), other.ended()]
    return troubles, [*calls, *runs[0].calls, *runs[1].calls]


def suits(name: str, site: Site) -> bool:
    """Whether it is worth the time: no power cut misses a lock."""
    return not (site.call in LOCKS and name.startswith("crawl"))


SCENARIOS: Mapping[str, Callable[[Crawls, FaultSite, Site | None], Told]] = {
    "crawl": crawl,
    "crawl after a kill": crawl_after_a_kill,
    "crawl after a late kill": crawl_after_a_late_kill,
    "a tail set aside": a_tail_set_aside,
    "a suwaf kept aside": a_suwaf_kept_aside,
    "an adopted WARC": an_adopted_warc,
    "a merge": _a_merge("none"),
    "a merge of a report": _a_merge(".jsonl"),
    "an adoption beside a crawl": an_adoption_beside_a_crawl,
    "a rebuild beside a crawl": a_rebuild_beside_a_crawl,
    "two at one paper": _while_stopped(together.stops()[0]),
    "two at one run": _while_stopped(together.stops()[3]),
    "two at one report": _while_stopped(Which(nth=1, kinds=("fsync",), path=f"/runs/{DRAFT}")),
    "a repair beside a crawl": a_repair_beside_a_crawl,
    "a merge beside a crawl": a_merge_beside_a_crawl,
    "a disk that syncs no file": a_disk_that_syncs_no_file,
    "the report of a living run": the_report_of_a_living_run,
    "the report of a killed run": the_report_of_a_killed_run,
}
