"""Crawls of single filesets, one for each way that their bytes go, for faults to be put into.

A road is a request, what the site answers to it, and the files that have to come of it. What each
crawl leaves is judged by plain Python and by ``filesets.checking``, which shares no code with the
writers.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lafka.filesets.archive.filesets import Filesets, recover
from lafka.filesets.checking.filesets import check_filesets
from tests.faults import invariants
from tests.faults.crawls import Crawls, Run
from tests.faults.disks import Disk, Tree, put
from tests.faults.lateness import BEGINS
from tests.faults.powercuts import (
    Judge,
    Recorded,
    Told,
    acknowledgements,
    lost_lines,
    torn_reports,
    tree_of,
)
from tests.faults.storecalls import Call, Plan, Which
from tests.filesets.crawls.running import held
from tests.filesets.crawls.test_bundled import zipped
from tests.sites.platforms import PlatformSite, file_target, played, ranged
from tests.sites.server import Reply, Seen, reply

ONE, OTHER = b"one,1\n" * 70, b"the other\n" * 50
BIG, OLDER = bytes(range(256)) * 40, bytes(range(255, -1, -1)) * 40
SMALL = {"one.csv": ONE, "sub/other.txt": OTHER}
MANY = {f"{number}.csv": b"%d,one\n" % number * 70 for number in range(5)}
HUGE = {"huge.bin": BIG, "other.txt": OTHER}
_LEFT = (".part-", ".draft-", ".lafka.json-")
"""What names begin with that nothing whole has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """A dataset number *number* of *platform*; ``strategy`` where it is not the platform's own.

    ``answer``: how its first file is answered, and then ``bodies`` are what came, by their ETag.
    ``kills``: at which calls the crawls are killed that come before the one that is looked at.
    """

    platform: str
    number: int
    files: Mapping[str, bytes]
    strategy: str = ""
    answer: Callable[[Seen], Reply] | None = None
    bodies: Mapping[str, bytes] = field(default_factory=dict)
    kills: tuple[Which, ...] = ()

    @property
    def fileset(self) -> str:
        if self.platform == "archiveorg":
            return f"fileset:archiveorg:archive.org:played-{self.number}"
        return f"fileset:zenodo:zenodo.org:{self.number}"


def _broken_off(seen: Seen) -> Reply:
    """Half of the file, then the connection is gone; the rest where that is asked for."""
    if seen.headers.get("Range"):
        return ranged(BIG)(seen)
    return reply(BIG[: len(BIG) // 2], "", 'ETag: "v1"', length=len(BIG), then="close")


def _changed(seen: Seen) -> Reply:
    """Half of another file; a rest that is none where that is asked for; then the file."""
    if seen.headers.get("Range"):
        return reply(b"no rest", "", "Content-Range: bytes 1-7/9", status="206 Partial Content")
    asked = seen.headers["X-Times"]
    if asked == "1":
        return reply(OLDER[: len(BIG) // 2], "", 'ETag: "v0"', length=len(BIG), then="close")
    return ranged(BIG)(seen)


PACKED = gzip.compress(BIG, mtime=0)
ROADS: Mapping[str, Road] = {
    "web-fileset": Road(platform="zenodo", number=1, files=SMALL),
    "item": Road(platform="archiveorg", number=2, files=SMALL),
    "many small files": Road(platform="zenodo", number=10, files=MANY),
    "many small files of an item": Road(platform="archiveorg", number=11, files=MANY),
    "bundle": Road(platform="zenodo", number=3, files=SMALL, strategy="web-fileset-bundled"),
    "bundle in an item": Road(
        platform="zenodo", number=4, files=SMALL, strategy="archiveorg-fileset-bundled"
    ),
    "a part that goes on": Road(platform="archiveorg", number=5, files=HUGE, answer=_broken_off),
    "a part that is begun anew": Road(
        platform="archiveorg", number=6, files=HUGE, answer=_changed,
        bodies={'"v0"': OLDER, '"v1"': BIG},
    ),
    "web-fileset after a kill": Road(
        platform="zenodo", number=7, files=SMALL,
        kills=(Which(nth=1, kinds=("fdatasync",), path=r"/fileset/warc/"),),
    ),
    "item after a kill": Road(
        platform="archiveorg", number=8, files=HUGE, answer=_broken_off,
        kills=(Which(nth=1, kinds=("fdatasync",), path=r"/\.part-"),),
    ),
    "a coded file": Road(
        platform="archiveorg", number=9, files=HUGE, bodies={'"v1"': PACKED},
        answer=lambda _: reply(PACKED, "", 'ETag: "v1"', "Content-Encoding: gzip"),
    ),
}  # fmt: skip


class RoadSite(PlatformSite):
    """The platforms with the dataset of each road."""

    def __enter__(self) -> RoadSite:
        super().__enter__()
        for road in ROADS.values():
            dataset = played(*road.files.items(), number=road.number)
            self.play(road.platform, dataset)
            if road.answer:
                target = file_target(road.platform, dataset, 0)
                self.routes[target] = self._counting(road.answer, target)
            if "bundled" in road.strategy:
                bundle = reply(zipped(*road.files.items()), "application/zip")
                self.routes[f"/api/records/{road.number}/files-archive"] = bundle
        return self

    def _counting(self, answer: Callable[[Seen], Reply], target: str) -> Callable[[Seen], Reply]:
        """*answer*, told as ``X-Times`` the how manieth question without a Range it is."""

        def counted(seen: Seen) -> Reply:
            times = sum(
                one.target == target and "Range" not in one.headers for one in list(self.seen)
            )
            seen.headers["X-Times"] = str(times)
            return answer(seen)

        return counted


@dataclass(slots=True)
class Ordeal:
    """One archive in which a road is gone, again and again."""

    crawls: Crawls
    site: RoadSite
    road: Road
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.crawls.folder()
        request = {"ingest_type": "dataset", "base_url": _url(self.road)}
        if self.road.strategy:
            request["ingest_strategy"] = self.road.strategy
        (self.folder / "requests.jsonl").write_text(json.dumps(request) + "\n")

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    def run(self, **what: Any) -> Run:
        """The crawl, with what its plan has in store for it."""
        self.site.forget()
        plan = Plan(root=str(self.folder), **what)
        arguments = ("crawl", "fileset", "-a", f"input={self.folder / 'requests.jsonl'}")
        going = self.crawls.command(self.archive, *arguments, plan=plan, **self.site.settings)
        return going.ended()

    def finish(self, *, cut: bool = False) -> list[str]:
        """The same command undisturbed, and once more: what is wrong then.

        After a power *cut* a raw log that has a hole stays, and is told (docs/reliability.md).
        """
        run = self.run()
        if run.code:
            return [f"the same command ends with {run.code}: {run.log[-3000:]}"]
        last = invariants.acknowledged(self.archive)[-1]
        told = [line["hit"] for line in last]
        troubles = [] if told == [True] else [f"it ends as {last}"]
        troubles += wrong_files(self.archive, self.road, last)
        troubles += [f"{p.code}: {p.sentence}" for p in check_filesets(self.archive)]
        rooms = (self.archive / "fileset", self.archive / "items", self.archive / "runs")
        left = [p for room in rooms for p in room.rglob("*") if p.name.startswith(_LEFT)]
        left += [] if cut else (self.archive / "fileset" / "raw").iterdir()
        troubles += [f"{path.relative_to(self.folder)} is left" for path in left]
        again = self.run()
        if again.code or self.site.targets():
            troubles.append(f"again: exit {again.code}, asked for {self.site.targets()}")
        return troubles


def _url(road: Road) -> str:
    if road.platform == "archiveorg":
        return f"https://archive.org/details/played-{road.number}"
    return f"https://zenodo.org/records/{road.number}"


def wrong_files(root: Path, road: Road, told: Sequence[Told]) -> Iterator[str]:
    """Files that are not what was sent: any that a summary names; those *told* of have to be there.

    A version is whole only where it has all files.
    """
    try:
        files = held(root)
    except (OSError, ValueError, LookupError) as error:
        yield f"what a summary names cannot be cut out: {error!r}"
        return
    for (fileset, version, path), data in files.items():
        if fileset != road.fileset or data != road.files.get(path):
            yield f"{path} of {fileset}, {version} is not what was sent"
    names = {path for fileset, _, path in files if fileset == road.fileset}
    for summary in (root / "fileset" / "suwaf").rglob("[!.]*.json"):
        values = json.loads(summary.read_bytes()).get(road.fileset, {})
        if any(version["complete"] and set(version["files"]) != set(road.files)
               for version in values.values()):  # fmt: skip
            yield f"{summary}: a version is told to be complete that is not"
    for line in told:
        if line["hit"] and names != set(road.files):
            yield f"acknowledged, and only {sorted(names)} are there"


def broken_promises(root: Path, road: Road, told: Sequence[Told]) -> Iterator[str]:
    """What is not as its own account says, or is lost or left, in the folders of items."""
    yield from _unmarked(root)
    yield from _other_parts(root, road)
    yield from _not_there(root)
    items = root / "items"
    if any(line["hit"] for line in told) and (left := list(items.rglob(".part-*"))):
        yield f"acknowledged, and {[path.name for path in left]} is left"
    for described in items.glob("*/item.json"):  # the last that is done to it
        if left := list(described.parent.rglob(".part-*")):
            yield f"{described}: {[path.name for path in left]} is left beside it"
    for line in told:
        if line["hit"] and (name := line.get("archiveorg_item_name")):
            yield from _described(items / name)


def _not_there(root: Path) -> Iterator[str]:
    """Files of items that a summary names, whose names are to be on the disk before it."""
    for summary in (root / "fileset" / "suwaf").rglob("[!.]*.json"):
        for version in next(iter(json.loads(summary.read_bytes()).values())).values():
            for entry in version["files"].values():
                if (
                    "item" in entry
                    and not (root / "items" / entry["item"] / entry["name"]).exists()
                ):
                    yield f"{summary} names {entry['name']}, which is not there"


def _described(item: Path) -> Iterator[str]:
    """Whether ``item.json`` names files that are there, as who uploads it needs it."""
    try:
        files = json.loads((item / "item.json").read_bytes())["files"].values()
    except (OSError, ValueError) as error:
        yield f"acknowledged, and its item.json is none: {error}"
        return
    yield from (f"{item}: no {name}" for name in files if not (item / name).is_file())


def _unmarked(root: Path) -> Iterator[str]:
    """Items that the next crawl would take for somebody else's."""
    for item in (root / "items").glob("*"):
        marker = item / ".lafka.json"
        try:
            marked = marker.exists() and json.loads(marker.read_bytes())["fileset"]
        except ValueError:
            marked = ""
            yield f"{marker}: half a marker"
        if not marked and any(path.is_file() for path in item.glob("files/**/*")):
            yield f"{item}: files, and no marker"


def _other_parts(root: Path, road: Road) -> Iterator[str]:
    """Parts that do not have what is told of them: so many bytes, of the file with that ETag."""
    for told in (root / "items").rglob(".part-*.json"):
        try:
            part = json.loads(told.read_bytes())
        except ValueError:
            yield f"{told}: half a part's account"
            continue
        file = told.with_name(told.name.removesuffix(".json"))
        data = file.read_bytes() if file.exists() else b""
        name = file.name.removeprefix(".part-")
        by_name = {path.rpartition("/")[2]: body for path, body in road.files.items()}
        first = next(iter(by_name))
        wanted = by_name.get(name, data)
        if name == first and road.bodies:
            wanted = road.bodies[part["etag"]]
        offset = part["offset"]
        # One that is shorter than its account says is begun anew.
        if len(data) >= offset and data[:offset] != wanted[:offset]:
            yield f"{file}: its first {offset} bytes are not those of the file that it tells of"


@dataclass(slots=True, kw_only=True)
class RoadJudge(Judge):
    """Of one road."""

    road: Road

    def told(self, disk: Disk, *, ended: bool = False) -> list[Told]:
        return acknowledgements(disk, b'{"hit":', ended=ended)

    def troubles(self, root: Path, told: Sequence[Told], ended: bool) -> Iterator[str]:
        yield from torn_reports(root)
        yield from lost_lines(root, told)
        if root.exists():
            yield from broken_promises(root, self.road, told)
        try:
            yield from self._recovered(root)
        except Exception as error:
            yield f"cannot be recovered: {error!r}"
            return
        yield from wrong_files(root, self.road, told)
        for problem in check_filesets(root):
            if problem.severity == "error":
                yield f"{problem.code}: {problem.sentence}"
        yield from self._changed(root, told)

    def _recovered(self, root: Path) -> Iterator[str]:
        """What the same command does before it asks for a file."""
        filesets = Filesets(root)
        for found in recover(filesets):
            # A raw WARC is never synced: a hole in it is told, and it stays.
            yield from (problem for problem in found.problems if "/raw/" not in problem)
        warc = filesets.locked(self.road.fileset)
        assert warc is not None
        warc.close()

    def _changed(self, root: Path, told: Sequence[Told]) -> Iterator[str]:
        """Of what was acknowledged no byte may be another one."""
        filesets = Filesets(root)
        warc = filesets.warc_path(filesets.pid(self.road.fileset))
        final = self.final.get(f"archive/{warc.relative_to(root)}") or b""
        data = warc.read_bytes() if warc.exists() else b""
        if told and not data.startswith(final):
            yield f"{warc}: what was acknowledged is not as it was"


def recorded(ordeal: Ordeal, **what: Any) -> Recorded:
    """Go the road to its end, and write down each call of it; *what*: of the last crawl's plan."""
    start, calls = Disk.of(ordeal.folder), list[Call]()
    for plan in (*({"kill": kill} for kill in ordeal.road.kills), what):
        run = ordeal.run(data=True, **plan)
        calls += (Call(kind=BEGINS, path=""), *run.calls)
    final = tree_of(ordeal.folder)
    judge = RoadJudge(ordeal.crawls.folder(), final, road=ordeal.road)
    return Recorded(start, calls, judge, ended=run.code == 0)


def finished(
    crawls: Crawls, site: RoadSite, road: Road, tree: Tree, *, cut: bool = False
) -> list[str]:
    """What is wrong when the disk *tree* is given to the same command once more."""
    ordeal = Ordeal(crawls, site, road)
    (ordeal.folder / "requests.jsonl").unlink()
    put(tree, ordeal.folder)
    return ordeal.finish(cut=cut)
