"""Archives whose suwafs, feeds and reports change by hand, under a clock of their own."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lafka.index import build, tables
from lafka.index.build import Difference, differences, refresh
from lafka.index.papers import IndexTally
from lafka.index.tables import IndexFiles
from lafka.papers import Archive, Suwaf
from lafka.papers.archive.suwafs import Fut
from lafka.papers.origins import Origin

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


def pid_of(number: int, series: str = "wpaper") -> str:
    return f"RePEc:abc:{series}:{number}"


def futli_of(number: int, which: int = 0) -> str:
    return f"http://host{number % 3}.example/abs/{number}/{which}"


def at(day: float) -> str:
    """The time so many days after the first of the year."""
    return (FIRST + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_of(number: int) -> str:
    return f"20260101T{number:02}0000000000Z-host-1"


def line(
    number: int, day: float, outcome: str = "fut", *, which: int = 0, requests: int = 1,
    content: int = 0, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """A line of a feed: *outcome* of a futli of paper *number*."""
    futli = futli_of(number, which)
    fut = {"url": futli, "digest": f"sha256:{content:064x}", "length": 100, "s": 10, "l": 100,
           "new": True}  # fmt: skip
    return {
        "pid": pid_of(number), "futli": futli, "outcome": outcome, "time": at(day),
        "futs": [fut] if outcome == "fut" and requests else [], "splap": None, "candidates": [],
        "capped": False, "requests": requests,
        "error": None if outcome == "fut" else f"it is {outcome}", **more,
    }  # fmt: skip


@dataclass
class History:
    """An archive at *root*, its index, and a clock that tests move; folders have its times."""

    root: Path
    now: int = 1_790_000_000 * SECOND
    batch: int = 3
    made: int = 0
    place: IndexFiles = field(init=False)

    def __post_init__(self) -> None:
        self.archive = Archive.create(self.root, "RePEc")
        self.place = IndexFiles.of(self.root)

    # What happens to the archive ------------------------------------------------------------

    def later(self, seconds: float = 60) -> None:
        self.now += int(seconds * SECOND)

    def touched(self, path: Path) -> None:
        """Give what is at *path*, and the folder around it, the time of the clock."""
        for one in (path, path.parent):
            if one.exists():
                os.utime(one, ns=(self.now, self.now))

    def _changed(self, path: Path, work: Any) -> None:
        """Do *work*; the times of the folders above *path* change only where their entries do."""
        above = [path, *list(path.parents)[: len(path.relative_to(self.root).parts) - 1]]
        before = {one: {*one.iterdir()} for one in above if one.is_dir()}
        times = {one: one.stat().st_mtime_ns for one in before}
        work()
        for one in above:
            if one.is_dir():
                same = before.get(one) == {*one.iterdir()} and one != path.parent
                when = times[one] if same else self.now
                os.utime(one, ns=(when, when))

    def suwaf(
        self, number: int, days: dict[int, list[float]], *, series: str = "wpaper",
        opened: tuple[str, ...] = (), label: str = "",
    ) -> Path:  # fmt: skip
        """The suwaf of paper *number* says that its futlis had futs on these days."""
        pid = self.archive.pid(pid_of(number, series))
        futlis = {
            futli_of(number, which): {
                at(day): Fut(s=10 + n, l=100, url=futli_of(number, which),
                             digest=f"sha256:{n:064x}", origin=Origin(label=label))
                for n, day in enumerate(times)
            }
            for which, times in days.items()
        }  # fmt: skip
        path = self.archive.suwaf_path(pid)
        suwaf = Suwaf(pid=pid, futlis=futlis, end=1000 + self.made, open=opened)
        self.put(path, suwaf.to_bytes())
        return path

    def put(self, path: Path, data: bytes) -> None:
        """As a writer does it: a new file under the name, by a rename."""
        self.made += 1
        draft = path.with_name(f".draft-{self.made}")

        def work() -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(data)
            draft.rename(path)
            # An inode is given anew when a third file comes; no third one comes in a nanosecond.
            when = self.now + self.made
            os.utime(path, ns=(when, when))

        self._changed(path, work)

    def remove(self, path: Path) -> None:
        if path.is_dir():
            self._changed(path, lambda: shutil.rmtree(path))
        elif path.exists():
            self._changed(path, path.unlink)

    def feed(self, run: int, *lines: dict[str, Any] | bytes) -> Path:
        """Append *lines* to the feed of a run; bytes as they are."""
        path = self.root / "runs" / f"{run_of(run)}.jsonl"
        with path.open("ab") as feed:
            for one in lines:
                feed.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")
        return path

    def report(self, run: int, **values: Any) -> Path:
        path = self.root / "runs" / f"{run_of(run)}.json"
        told = {"format": 1, "run": run_of(run), "done": True, "reason": "finished", **values}
        path.write_bytes(json.dumps(told).encode())
        return path

    # The index ------------------------------------------------------------------------------

    def index(self, **more: Any) -> IndexTally:
        return refresh(self.archive, self.place, clock=lambda: self.now, batch=self.batch, **more)

    def anew(self) -> sqlite3.Connection:
        """An index made anew, in memory."""
        db = sqlite3.connect(":memory:", isolation_level=None)
        tables.make_tables(db)
        account = IndexTally()
        build.IndexBuilder(
            db, self.archive, self.place, account=account, clock=lambda: self.now
        ).run()
        return db

    def open(self) -> sqlite3.Connection:
        return tables.open_to_read(self.place.database)

    def differences(self) -> list[Difference]:
        """Where the index differs from one made anew."""
        with closing(self.open()) as one, closing(self.anew()) as other:
            return list(differences(one, other))

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        db = self.open()
        try:
            return db.execute(question).fetchall()
        finally:
            db.close()


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


def killed_at(step: int) -> Any:
    """A context in which an index is killed at its *step*-th transaction, if it comes so far."""

    @contextmanager
    def context() -> Any:
        own, count = build.IndexBuilder._step, 0

        def stepping(builder: build.IndexBuilder) -> None:
            nonlocal count
            count += 1
            if count == step:
                raise Killed
            own(builder)

        with patch.object(build.IndexBuilder, "_step", stepping), suppress(Killed):
            yield

    return context()
