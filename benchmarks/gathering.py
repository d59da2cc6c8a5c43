"""The obi store, filled from RePEc data: each row a whole process, against peers in the same run.

Peers: ``tar x`` of the files that the store then holds and a sync of the disk; ``git add`` and
commit of them; reading the data and its MD5; ocfl-py at 10,000 templates, where OCFL_PYTHON is an
interpreter of an environment that has it (``pip install ocfl-py``). What MongoDB takes is measured
where a mongod is on the PATH or that of requirements-services.txt is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import runs, templates
from benchmarks.runs import Run
from benchmarks.tables import markdown
from lafka.archec.records import Records
from lafka.archec.records.opening import catch_up
from lafka.archec.records.sqlite import NAME, SqliteRecords
from lafka.archec.store.folders import ObiStore

TEMPLATES = 100_000
OCFL = 10_000
START = 1352481230
DAY = 86_400
PEAK, APART = 300e6, 30e6
RECORD = 700
OCFL_MADE = """
import sys, tempfile
from pathlib import Path
import ocfl
source, place = Path(sys.argv[1]), sys.argv[2]
root = ocfl.StorageRoot(root=place, layout_name="0003-hash-and-id-n-tuple-storage-layout")
root.initialize()
for path in sorted(source.rglob("RePEc*")):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "template").write_bytes(path.read_bytes())
        made = ocfl.Object(identifier=path.name)
        at = Path(place) / root.object_path(path.name)
        at.mkdir(parents=True)
        made.create(srcdir=folder, metadata=ocfl.VersionMetadata(message="new"), objdir=str(at))
"""
READ = """
import hashlib, sys
from pathlib import Path
for path in sorted(Path(sys.argv[1]).rglob("*.rdf")):
    hashlib.md5(path.read_bytes()).hexdigest()
"""


def table(*, quick: bool = False, size: int = 0) -> str:
    count = size or (TEMPLATES // 50 if quick else TEMPLATES)
    load = os.getloadavg()[0]
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        work = Work(folder=Path(name), count=count)
        rows = list(work.rows())
    return markdown(
        ("", "seconds", "CPU s", "peak MB", "/ peer", "goal"),
        rows,
        f"{count:,} templates (benchmarks/templates.py) of {work.bytes / count:,.0f} bytes"
        f" in {work.files:,} files; seconds by the clock, whole processes, one run of each. The"
        f" machine's load was {load:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end.",
        *work.notes,
    )


@dataclass
class Work:
    """The rows over *count* templates, in *folder*, which is empty."""

    folder: Path
    count: int
    bytes: int = 0
    files: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "archive"

    def rows(self) -> Iterator[list[str]]:
        self._write("data")
        first = self._tobi("data", START)
        folders = sorted(path.name for path in self.store.glob("[0-9][0-9][0-9]"))
        self._peer("tar", "cf", self._at("all.tar"), "-C", self.store, *folders)
        unpacked = self._unpacked()
        yield row("first gather, durable", first)
        yield row("`tar x` of the same files, then a sync", unpacked)
        yield from self._git(first)
        yield from self._ocfl()
        yield verdict("first gather / `tar x` and sync", first.wall / unpacked.wall, "≤", 4)
        read = self._peer(sys.executable, "-c", READ, self._at("data"))
        yield row("reading and MD5 of the data", read)
        yield from self._again(read)
        yield from self._database(first)
        yield from self._looked_at()

    # Each of them -----------------------------------------------------------------------------

    def _unpacked(self) -> Run:
        (self.folder / "tar").mkdir()
        script = 'tar xf "$1" -C "$2" && sync -f "$2"'
        return self._peer("sh", "-c", script, "sh", self._at("all.tar"), self._at("tar"))

    def _git(self, first: Run) -> Iterator[list[str]]:
        if not shutil.which("git"):
            self.notes.append("git is not on this machine.")
            return
        script = (
            'cd "$1" && git init -q && git add -A && git -c user.name=x -c user.email=x@x.example'
            " -c gc.auto=0 commit -qm all && sync -f ."
        )
        run = self._peer("sh", "-c", script, "sh", self._at("tar"))
        yield row("`git add` and commit of them, then a sync", run)
        yield verdict("first gather / git", first.wall / run.wall, "<", 1)

    def _ocfl(self) -> Iterator[list[str]]:
        if not (python := os.environ.get("OCFL_PYTHON")):
            self.notes.append("Without ocfl-py: OCFL_PYTHON names no interpreter that has it.")
            return
        count = min(OCFL, self.count)
        self._write("few", count=count)
        ours = self._tobi("few", START, store=self.folder / "few-archive")
        made = self._peer(python, "-c", OCFL_MADE, self._at("few-archive"), self._at("ocfl"))
        yield row(f"first gather of {count:,}", ours)
        yield row(f"ocfl-py, {count:,} objects", made)
        yield verdict(f"first gather / ocfl-py, {count:,}", ours.wall / made.wall, "<", 1)
        self.notes.append(f"Peak memory over {count:,} templates: {ours.peak / 1e6:.0f} MB.")

    def _again(self, read: Run) -> Iterator[list[str]]:
        before = lines(self.store)
        same = self._tobi("data", START + DAY)
        yield row("again, nothing changed", same)
        told = lines(self.store) - before
        self.notes.append(f"It wrote {told} lines of journals and no file.")
        yield verdict("again / reading and MD5", same.wall / read.wall, "≤", 3)
        self._write("later", later=True)
        changed = self._tobi("later", START + 2 * DAY)
        yield row("again, 1 % changed and 1 % gone", changed)
        yield verdict("1 % and 1 % / reading and MD5", changed.wall / read.wall, "≤", 3.5)
        self.notes.append(f"Peak of a run below {PEAK / 1e6:.0f} MB:"
                          f" {_holds(max(same.peak, changed.peak) < PEAK)}.")  # fmt: skip

    def _database(self, first: Run) -> Iterator[list[str]]:
        size = (self.store / NAME).stat().st_size / self.count
        yield ["records, bytes a template", *[""] * 3, f"{size:,.0f}", _goal(size, "<", RECORD)]
        rebuilt = self._lafka("archec", "rebuild")
        yield row("rebuild of the database", rebuilt)
        yield verdict("rebuild / first gather", rebuilt.wall / first.wall, "≤", 0.25)
        sqlite = applied(self.store, SqliteRecords(self.folder / "again.sqlite"))
        mongo = self._mongo()
        if mongo is None:
            self.notes.append("No mongod is here.")
            return
        yield ["apply of all journals, SQLite", f"{sqlite:.1f}", *[""] * 4]
        yield ["apply of all journals, MongoDB", f"{mongo:.1f}", *[""] * 4]
        yield verdict("MongoDB / SQLite", mongo / sqlite, "≤", 4)

    def _mongo(self) -> float | None:
        from tests.archec import mongods  # noqa: PLC0415

        if mongods.binary() is None or find_spec("pymongo") is None:
            return None
        from lafka.archec.records.mongo import MongoRecords  # noqa: PLC0415

        server = mongods.started()
        try:
            return applied(self.store, MongoRecords(server.uri()))
        finally:
            server.end()

    def _looked_at(self) -> Iterator[list[str]]:
        handle = next(path.name for path in self.store.glob("032/184/2531/RePEc*"))
        obi = self._lafka("obi", handle.replace("%3A", ":"), "--path")
        started = runs.run([sys.executable, "-m", "scrapy", "version"], cwd=runs.ROOT,
                           log=self.folder / "log")  # fmt: skip
        yield row("`lafka obi` of one handle", obi)
        yield row("`scrapy version`", started)
        more = obi.wall - started.wall
        yield [
            "`lafka obi` beyond `scrapy version`, s",
            *[""] * 3,
            f"{more:.2f}",
            _goal(more, "≤", 0.2),
        ]
        told = self._lafka("archec", "report", "--by", "archive", "--format", "csv")
        yield row("report per archive", told)

    # Means ------------------------------------------------------------------------------------

    def _at(self, name: str) -> Path:
        return self.folder / name

    def _write(self, name: str, *, count: int = 0, later: bool = False) -> None:
        """The RePEc data; *later*: the same, 1 % of it changed and 1 % gone."""
        sizes = [len(data) for data in _written(self._at(name), count or self.count, later=later)]
        if name == "data":
            self.files, self.bytes = len(sizes), sum(sizes)

    def _tobi(self, data: str, tist: int, store: Path | None = None) -> Run:
        return self._lafka("tobi", self._at(data), "--at", str(tist), store=store)

    def _lafka(self, *args: str | Path, store: Path | None = None) -> Run:
        group = 2 if args[0] == "archec" else 1  # -s stands behind the verb
        setting = ["-s", f"LAFKA_OBJECT_STORE={store or self.store}"]
        command = [sys.executable, "-m", "lafka", *args[:group], *setting, *args[group:]]
        return runs.run(command, cwd=runs.ROOT, log=self.folder / "log")

    def _peer(self, *command: str | Path) -> Run:
        return runs.run(command, cwd=runs.ROOT, log=self.folder / "log")


def _written(root: Path, count: int, *, later: bool) -> Iterator[bytes]:
    left, number = count, 0
    for path, data in templates.files(sys.maxsize):
        parts = list(islice(re.split(rb"(?=Template-Type: )", data)[1:], left))
        left -= len(parts)
        if later:
            parts = [_edited(part, number + at) for at, part in enumerate(parts)]
        number += len(parts)
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if whole := b"".join(parts):  # else its only template is gone, and the file with it
            place.write_bytes(whole)
            os.utime(place, (START - DAY, START - DAY))
            yield whole
        if not left:
            return


def _edited(part: bytes, number: int) -> bytes:
    if number % 100 == 0:
        return b""
    return part.replace(b"Title: ", b"Title: Again: ", 1) if number % 100 == 1 else part


def lines(store: Path) -> int:
    """How many lines all journals have."""
    return sum(path.read_bytes().count(b"\n") for path in (store / "journal").iterdir())


def applied(store: Path, records: Records) -> float:
    """Seconds in which empty *records* take all journals in; they are closed."""
    begun = time.perf_counter()
    catch_up(ObiStore(store), records)
    took = time.perf_counter() - begun
    records.close()
    return took


def row(name: str, run: Run) -> list[str]:
    return [name, f"{run.wall:.1f}", f"{run.cpu:.1f}", f"{run.peak / 1e6:.0f}", "", ""]


def verdict(name: str, ratio: float, sign: str, goal: float) -> list[str]:
    return [name, "", "", "", f"{ratio:.2f}", _goal(ratio, sign, goal)]


def _goal(value: float, sign: str, goal: float) -> str:
    reached = value < goal if sign == "<" else value <= goal
    return f"{sign} {goal:g}: {_holds(reached)}"


def _holds(truth: bool) -> str:
    return "holds" if truth else "falls short"
