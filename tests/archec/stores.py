"""Obi stores for tests: RePEc data by hand, and runs over it with a clock of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lafka.archec.gather.loss_rules import LossRule
from lafka.archec.gather.runs import Plan, TobiReport, gather_tobis
from lafka.archec.gather.sources import open_source
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records import Kind, Records
from lafka.archec.records.folding import told_of
from lafka.archec.records.opening import open_records
from lafka.archec.store.folders import ObiStore

START = 1352481230
DAY = 86_400


def template(number: object, archive: str = "abc", series: str = "wpaper", *, title: str = "A",
             more: str = "") -> str:  # fmt: skip
    return (
        f"Template-Type: ReDIF-Paper 1.0\nTitle: {title}\nAuthor-Name: Ana Lima\n{more}"
        f"File-URL: http://x.example/{archive}/{number}.pdf\n"
        f"Handle: RePEc:{archive}:{series}:{number}\n\n"
    )


@dataclass
class Home:
    """A home of ArchEc at *root*: data, store, and a clock that moves a day a run."""

    root: Path
    database: str = ""
    now: int = START
    rule: LossRule = field(default_factory=LossRule)

    @property
    def data(self) -> Path:
        return self.root / "data" / "current" / "RePEc"

    @property
    def archive(self) -> Path:
        return self.root / "archive"

    def put(self, files: Mapping[str, str | bytes], *, mtime: int = START - DAY) -> None:
        """Write files of RePEc data."""
        for name, text in files.items():
            path = self.data / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
            os.utime(path, (mtime, mtime))

    def tobi(self, *, source: Path | None = None, at: int | None = None, dry: bool = False,
             full: bool = False, **rule: Any) -> TobiReport:  # fmt: skip
        """A run of tobi; the next one is a day later."""
        store = ObiStore.create(self.archive)
        clocks = Clocks(now=lambda: self.now, monotonic=lambda: 0.0)
        plan = Plan(
            rule=LossRule(**rule) if rule else self.rule, clocks=clocks, at=at, dry=dry,
            in_full=full,
        )  # fmt: skip
        with (
            open_source(source or self.root / "data" / "current") as opened,
            self.records(store) as records,
        ):
            report = gather_tobis(store, records, opened, plan)
        self.now += DAY
        return report

    @contextmanager
    def records(self, store: ObiStore | None = None) -> Iterator[Records]:
        records = open_records(store or ObiStore(self.archive), self.database)
        try:
            yield records
        finally:
            records.close()

    def walk(self) -> list[dict[str, Any]]:
        with self.records() as records:
            return walked(records)

    def journal_path(self, tist: int = START) -> Path:
        return self.archive / "journal" / f"{tist}.jsonl"

    def journal(self, tist: int) -> list[dict[str, Any]]:
        """The lines of a journal, without what proves them."""
        lines = [json.loads(line) for line in self.journal_path(tist).read_text().splitlines()]
        return [
            {name: value for name, value in line.items() if name not in ("chain", "after")}
            for line in lines
        ]

    def journals(self) -> dict[int, list[dict[str, Any]]]:
        return {tist: self.journal(tist) for tist in ObiStore(self.archive).journals()}

    def objects(self) -> dict[str, bytes | str]:
        """What lies in the gatherings' folders: bytes of files, targets of links."""
        return objects(self.archive)


def walked(records: Records) -> list[dict[str, Any]]:
    return [told for kind in Kind for told in told_of(records.walk(kind))]


def objects(root: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {}
    for path in sorted(root.glob("[0-9][0-9][0-9]/*/*/*")):
        name = path.relative_to(root).as_posix()
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes()
    return found


def unchain(root: Path) -> None:
    """Make the store one of before, whose journals have no chain; its database is made again."""
    for path in (root / "journal").glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        plain = [{n: v for n, v in one.items() if n not in ("chain", "after")} for one in lines]
        path.write_text("".join(f"{json.dumps(one)}\n" for one in plain), "utf-8")
    for path in root.glob("records.sqlite*"):
        path.unlink()
