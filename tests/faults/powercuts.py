"""Power cuts at every sync of a run, by the model: each disk that may be left is recovered."""

from __future__ import annotations

import json
import random
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import recover
from tests.faults import invariants
from tests.faults.crawls import Crawls
from tests.faults.disks import SYNCS, Disk, Tree, cuts, name_of, put
from tests.faults.kills import Ordeal
from tests.faults.sites import FaultSite, Line
from tests.faults.storecalls import Call, Plan

Told = Mapping[str, Any]


@dataclass(slots=True)
class Judge(ABC):
    """Recovers disks as the same command would, and says what is lost."""

    folder: Path
    final: Tree
    judged: dict[bytes, list[str]] = field(default_factory=dict)

    @abstractmethod
    def told(self, disk: Disk, *, ended: bool = False) -> list[Told]:
        """What was acknowledged and is on *disk* for good, whatever became of its file's name.

        Where the last run has *ended*, all lines of its feed: it has said that it is done.
        """

    @abstractmethod
    def troubles(self, root: Path, told: Sequence[Told], ended: bool) -> Iterator[str]:
        """What is wrong with the archive at *root*, which is recovered on the way."""

    def verdict(
        self, tree: Tree, told: Sequence[Told], *, ended: bool = False, done: bool = False
    ) -> list[str]:
        """What is wrong with *tree* once it is recovered, where *told* was acknowledged.

        *ended*: trails whose end is in a raw WARC have to be copied as well, as after a kill.
        *done*: the last run has said that it is done, so its report has to stay.
        """
        reports = [path for path in self.final if _REPORT.fullmatch(path)] if done else []
        if any(tree.get(path) != self.final[path] for path in reports):
            return ["the report of a run that was done is lost"]
        name = name_of(tree) + repr(sorted(json.dumps(line) for line in told)).encode()
        if name not in self.judged:
            root = self.folder / "cut"
            root.mkdir(parents=True)  # what a test of the same file cleaned away
            try:
                put(tree, root)
                self.judged[name] = list(self.troubles(root / "archive", told, ended))
            finally:
                shutil.rmtree(root)
        return self.judged[name]


@dataclass(slots=True, kw_only=True)
class PaperJudge(Judge):
    """Of papers, their lines and what the site sent."""

    lines: Sequence[Line]
    sent: invariants.Sent

    def told(self, disk: Disk, *, ended: bool = False) -> list[Told]:
        return acknowledgements(disk, b'{"pid":', ended=ended)

    def troubles(self, root: Path, told: Sequence[Told], ended: bool) -> Iterator[str]:
        copied = _ended(root, self.lines) if ended else []
        yield from torn_reports(root)
        yield from lost_lines(root, told)
        try:
            self._recover(root)
        except Exception as error:
            yield f"cannot be recovered: {error!r}"
            return
        stored = {(line.pid, line.url): line.stored for line in self.lines}
        for line in told:
            yield from invariants.promised(
                root, line, self.sent, stored[line["pid"], line["futli"]]
            )
        yield from self._changed(root, told)
        try:
            held = {(pid, futli) for suwaf, _ in invariants.suwafs(root)
                    for pid, futli, _ in invariants.entries(suwaf)}  # fmt: skip
        except ValueError as error:
            yield f"a suwaf is none: {error}"
            return
        for line in copied:
            if (line.pid, line.url) not in held:
                yield f"{line.url}: had ended and was not copied"
        try:
            self._open(root)
        except Exception as error:
            yield f"cannot be opened: {error!r}"
            return
        yield from invariants.every_suwaf_names_a_warc_that_is_long_enough(root)
        yield from invariants.every_cut_is_the_pdf_of_its_digest(root)
        for trouble in invariants.every_warc_is_records_from_end_to_end(root):
            # Of lines that were never synced and stayed all the same nothing is promised.
            if json.loads(trouble)["code"] != "acknowledged-lost":
                yield trouble
        yield from invariants.no_payload_is_stored_twice(root, self.sent)

    def _recover(self, root: Path) -> None:
        """What the same command does before its first request."""
        archive = Archive.create(root)
        # A raw WARC is never synced: a hole in it is told, and it stays; nothing is promised of it.
        problems = [problem for found in recover(archive) for problem in found.problems]
        if any("/raw/" not in problem for problem in problems):
            raise OSError("; ".join(problems))

    def _open(self, root: Path) -> None:
        """Open each paper, as the same command does with those that it has to ask for again."""
        archive = Archive(root)
        for pid in dict.fromkeys(line.pid for line in self.lines):
            paper = archive.pid(pid)
            if archive.warc_path(paper).exists() or archive.suwaf_path(paper).exists():
                with archive.paper(paper):
                    pass

    def _changed(self, root: Path, told: Sequence[Told]) -> Iterator[str]:
        """Invariant 11: of what was acknowledged, no byte may be another one."""
        for pid in {line["pid"] for line in told}:
            name = f"warc/{pid.replace(':', '/')}.warc"
            now = (root / name).read_bytes() if (root / name).exists() else b""
            end = max((fut["s"] + fut["l"] for line in told if line["pid"] == pid
                       for fut in line["futs"] or ()), default=0)  # fmt: skip
            final = self.final.get(f"archive/{name}") or b""
            if now[:end] != final[:end]:
                yield f"{name}: its first {end} bytes are not what was acknowledged"


_REPORT = re.compile(r"archive/runs/[^./]+\.json")
_FEED = re.compile(r"archive/runs/[^./]+\.jsonl")


def lost_lines(root: Path, told: Sequence[Told]) -> Iterator[str]:
    """Lines that were acknowledged and are in no feed."""
    kept = [line for run in invariants.acknowledged(root) for line in run]
    yield from (f"its line is lost: {json.dumps(line)[:90]}" for line in told if line not in kept)


def torn_reports(root: Path) -> Iterator[str]:
    for report in root.glob("runs/[!.]*.json"):
        try:
            json.loads(report.read_bytes())
        except ValueError:
            yield f"{report}: half a report"


def _ended(root: Path, lines: Sequence[Line]) -> list[Line]:
    """The lines with a fut whose trail's end stands whole in a raw WARC."""
    raw = b"".join(path.read_bytes() for path in sorted(root.glob("raw/*/*.warc")))
    return [
        line for line in lines
        if line.futs and re.search(
            rb'\{"pid": "%b", "futli": "%b", [^\r]*\}\r\n\r\n'
            % (re.escape(line.pid.encode()), re.escape(line.url.encode())), raw,
        )
    ]  # fmt: skip


def acknowledgements(disk: Disk, begin: bytes, *, ended: bool) -> list[Told]:
    """The lines of feeds, which *begin* so, as ``Judge.told`` has them."""
    feeds = [data for data in disk.contents.values() if data.startswith(begin)]
    if ended:
        tree = disk.tree({})
        feeds.append(tree[max(filter(_FEED.fullmatch, tree))] or b"")
    return [line for feed in feeds for line in invariants.lines_of(feed)]


@dataclass(slots=True)
class Recorded:
    """The calls of one or more runs, and what is needed to judge them."""

    start: Disk
    calls: list[Call]
    judge: Judge
    ended: bool
    """Whether the last run came to its end and said so: then every line of its feed counts."""

    def cut(self, rng: random.Random, *, most: int, enough: int = 1 << 60) -> Findings:
        """Cut the power at each sync and at the end; stop when *enough* losses are found.

        What a cut between two syncs can leave, one right before the second can leave as well.
        Of a mutant, only what comes after the first call that was left out is looked at.
        """
        found = Findings()
        disk = deepcopy(self.start)
        begun = not any(call.kind == "left out" for call in self.calls)
        for place, call in enumerate([*self.calls, None]):
            begun = begun or (call is not None and call.kind == "left out")
            if begun and (call is None or (call.kind in SYNCS and not call.failed)):
                told = self.judge.told(disk, ended=call is None and self.ended)
                self._cut_here(disk, told, rng, most, found, f"before call {place}, {call}")
                if len(found.losses) >= enough:
                    return found
            if call is not None:
                disk.do(call)
        return found

    def _cut_here(
        self, disk: Disk, told: Sequence[Told], rng: random.Random, most: int, found: Findings,
        where: str,
    ) -> None:  # fmt: skip
        found.moments += 1
        for tree in cuts(disk, rng, most=most):
            found.disks += 1
            done = self.ended and where.endswith("None")
            if troubles := self.judge.verdict(tree, told, done=done):
                found.losses.append(f"{where}: {troubles[0]}")
                return

    def some(self, rng: random.Random, count: int) -> Iterator[Tree]:
        """*count* of the disks that power cuts leave, at moments and of kinds drawn by *rng*."""
        syncs = [n for n, call in enumerate(self.calls) if call.kind in SYNCS and not call.failed]
        wanted = rng.choices([*syncs, len(self.calls)], k=count)
        disk = deepcopy(self.start)
        for place, call in enumerate([*self.calls, None]):
            for _ in range(wanted.count(place)):
                yield rng.choice(list(cuts(disk, rng, most=12)))
            if call is not None:
                disk.do(call)

    def die(self) -> Iterator[tuple[Tree, list[Told]]]:
        """What a killed process leaves: all that was done up to each call, or half of the next."""
        disk = deepcopy(self.start)
        for call in self.calls:
            yield disk.tree({}), self.judge.told(disk)
            disk.do(call)
        yield disk.tree({}), self.judge.told(disk)


@dataclass(slots=True)
class Findings:
    """How much was tried, and what was lost."""

    moments: int = 0
    disks: int = 0
    losses: list[str] = field(default_factory=list)


def tree_of(root: Path) -> Tree:
    return {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


def recorded(
    crawls: Crawls,
    site: FaultSite,
    count: int,
    *plans: Mapping[str, Any],
    ordeal: Ordeal | None = None,
    **settings: Any,
) -> Recorded:
    """Crawl the first *count* lines once for each of *plans*, and write down each call."""
    ordeal = ordeal or Ordeal(crawls, site, count)
    start, calls = Disk.of(ordeal.folder), list[Call]()
    for plan in plans or ({},):
        told = Plan(root=str(ordeal.folder), data=True, **plan)
        run = crawls.run(ordeal.archive, ordeal.list_, told, **settings)
        calls += run.calls
    sent = site.sent(count)
    judge = PaperJudge(crawls.folder(), tree_of(ordeal.folder), lines=ordeal.lines, sent=sent)
    return Recorded(start, calls, judge, ended=run.code == 0)
