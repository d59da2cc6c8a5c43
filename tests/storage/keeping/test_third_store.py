"""A third store with summaries stands on ``keeping``: notes of a day, counted in a JSON file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lafka.errors import BadSuwaf, BadWarc, ShortWarc
from lafka.storage.keeping.contents import Contents, RecordGroup, Scanner
from lafka.storage.keeping.stores import SummarisedWarc
from lafka.storage.locks import Lock, locking
from lafka.storage.steps import Steps, done
from lafka.warc.format.records import Record
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.appending import Files

DAY = "2026-11-20T10:11:12Z"


@dataclass(slots=True, kw_only=True)
class DayContents(Contents):
    """The notes of a day, in order."""

    notes: list[str] = field(default_factory=list)


class DayScanner(Scanner[DayContents]):
    def take(self, record: StoredRecord) -> None:
        if record.type != "metadata":
            raise BadWarc(self.path, "no note", record.offset)
        block = record.block()
        self.contents.notes.append(block.read(0, block.size).decode())


class DayWarc(SummarisedWarc[DayContents]):
    """The WARC of a day and its summary."""

    def __init__(self, lock: Lock, summary_path: Path) -> None:
        super().__init__(lock, summary_path)
        self.known: dict[str, object] = {}

    @property
    def committed_end(self) -> int:
        return int(str(self.known.get("end", 0)))

    def load_summary(self) -> None:
        if self.summary_path.exists():
            try:
                self.known = dict(json.loads(self.summary_path.read_bytes()))
            except ValueError as error:
                raise BadSuwaf(self.summary_path, f"not a summary: {error}") from None

    def make_summary(self) -> Steps[None]:
        with Files() as files:
            yield from self.writing(RecordGroup(self.contents, files), sync=True)

    def summary_bytes(self) -> bytes:
        contents = self.contents
        self.known = {"end": contents.end, "chain": contents.chain_text, "notes": contents.notes}
        return json.dumps(self.known).encode()

    def scanner(self, trusted_to: int) -> DayScanner:
        chain = str(self.known.get("chain", "")) if trusted_to else ""
        return DayScanner(
            self.lock.fd, self.lock.path, DayContents(), trusted_to=trusted_to, chain=chain
        )

    def add(self, *notes: str) -> None:
        with Files() as files:
            group = RecordGroup(self.contents, files)
            for note in notes:
                group.add(
                    Record.metadata(note.encode(), url="day:1", content_type="text/plain", date=DAY)
                )
            done(self.writing(group))
            self.contents.notes.extend(notes)
            done(self.committing())


@dataclass(frozen=True)
class Day:
    """Where a day's files are."""

    folder: Path

    @property
    def warc(self) -> Path:
        return self.folder / "warc" / "day.warc"

    @property
    def summary(self) -> Path:
        return self.folder / "summary" / "day.json"

    def notes(self) -> list[str]:
        return list(json.loads(self.summary.read_bytes())["notes"])

    def add(self, *notes: str) -> None:
        """Add *notes* as a writer does, after what an earlier one left."""
        lock = done(locking(self.warc))
        try:
            day = DayWarc(lock, self.summary)
            done(day.recovering())
            day.add(*notes)
        finally:
            lock.release()

    def rebuild(self) -> None:
        lock = done(locking(self.warc))
        try:
            DayWarc(lock, self.summary).rebuild()
        finally:
            lock.release()


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)


def test_notes_are_appended_and_named(day: Day) -> None:
    day.add("one")
    first = day.warc.read_bytes()
    day.add("two", "three")
    assert day.notes() == ["one", "two", "three"]
    assert day.warc.read_bytes().startswith(first)
    assert json.loads(day.summary.read_bytes())["end"] == day.warc.stat().st_size


def test_whole_records_that_a_killed_writer_left_are_rolled_forward(day: Day) -> None:
    day.add("one")
    before = day.summary.read_bytes()
    day.add("two")
    day.summary.write_bytes(before)
    day.add("three")
    assert day.notes() == ["one", "two", "three"]


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_torn_tail_is_kept_aside(day: Day, cut: int) -> None:
    day.add("one")
    before, end = day.summary.read_bytes(), day.warc.stat().st_size
    day.add("two" * 100)
    day.summary.write_bytes(before)
    os.truncate(day.warc, day.warc.stat().st_size - cut)
    tail = day.warc.read_bytes()[end:]
    day.add("three")
    assert day.notes() == ["one", "three"]
    assert day.warc.with_name(f"day.warc.torn-{end}").read_bytes() == tail


def test_a_summary_is_made_again_from_its_warc(day: Day) -> None:
    day.add("one", "two")
    whole = day.summary.read_bytes()
    for damage in (b"", b"{", None):
        day.summary.unlink() if damage is None else day.summary.write_bytes(damage)
        day.rebuild()
        assert day.summary.read_bytes() == whole


def test_what_was_committed_and_is_gone_or_changed_is_no_repair(day: Day) -> None:
    day.add("one", "two")
    data = day.warc.read_bytes()
    os.truncate(day.warc, len(data) - 1)
    with pytest.raises(ShortWarc):
        day.add("three")
    with pytest.raises(ShortWarc):
        day.rebuild()
    day.warc.write_bytes(data.replace(b"day:1", b"day:2"))
    with pytest.raises(BadWarc, match="its record headers are not as they were"):
        day.add("three")
    day.warc.write_bytes(data.replace(b"two", b"TWO"))
    with pytest.raises(BadWarc, match="the block is not what its digest says"):
        day.rebuild()
