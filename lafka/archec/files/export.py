"""An obi store, or a part of it, as web archives speak: WARC files with a CDXJ index.

A file is a ``response`` with the head that its server gave, which evidence has, codings undone; a
``resource`` where no evidence is. What had the same bytes before is a ``revisit``, as is a visit
that found nothing new. A URL that redirected is the answer that did so; of a pulled one, of which
nothing but the way is known, a made one that says so. A template is a ``resource`` whose target is
its handle. Dates are those of the answers; of a template its gathering's.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lafka
from lafka.archec.records import Kind, Records, in_batches
from lafka.archec.redif.uris import normalise
from lafka.archec.store import tists
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Withdrawals, head, whole
from lafka.archec.store.lines import STORED, Line
from lafka.errors import BadUrl, BadWarc, KeeperError, NotHeld
from lafka.payloads import MEDIA_TYPES, SNIFF, kind_of
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record
from lafka.warc.format.sources import BaseSource, FileSource
from lafka.warc.indexes import builder as index_builder
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder

INDEX = "index.cdxj"
MADE = "Lafka-Made"
"""The header of an answer that no evidence has: where what it says comes from."""
_BATCH = 500
_CODED = ("content-encoding", "transfer-encoding", "content-length", "trailer")
_TABLES = """CREATE TABLE had (sha256 TEXT PRIMARY KEY, record TEXT, url TEXT, date TEXT);
  CREATE TABLE last (id TEXT PRIMARY KEY, sha256 TEXT);"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportChoice:
    """The part of a store: of the archive and series with these codes, of gatherings in a time.

    ``begin`` and ``end`` are tists, the latter not included; ``templates``: with them.
    """

    archive: str | None = None
    series: str | None = None
    begin: int = 0
    end: int = tists.LAST + 1
    templates: bool = True

    def takes(self, tobi: str) -> bool:
        """Return whether the template *tobi* is in the part."""
        _, archive, series, *_ = [*tobi.split(":", 3), "", ""]
        return self.archive in (None, archive) and self.series in (None, series)


@dataclass(slots=True)
class ExportReport:
    """The records written, by type, and what was left out; sentences on what could not be read."""

    counts: Counter[str] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def export(store: ObiStore, records: Records, folder: Path, choice: ExportChoice) -> ExportReport:
    """Write the part *choice* of *store* into *folder*, which exists: WARCs and ``index.cdxj``.

    Each file's bytes are proved by their SHA-256 first. ``OSError`` where the disk refuses,
    ``FileExistsError`` where an index is there; ``BadJournal``, ``RecordsAway``.
    """
    if (folder / INDEX).exists():
        raise FileExistsError(17, "an export is there already", str(folder / INDEX))
    body = Fields([("software", f"Lafka {lafka.__version__}"), ("format", "WARC File Format 1.1"),
                   ("description", f"exported from the obi store {store.root.name}")])  # fmt: skip
    with (
        index_builder(folder / INDEX) as index,
        Builder(folder=folder, prefix="archec", warcinfo=body, gzip=True, indexes=[index]) as out,
        closing(_Export(store, records, choice, out)) as work,
    ):  # fmt: skip
        for tist in store.journals():
            if choice.begin <= tist < choice.end:
                work.gathering(tist)
        out.close()
        work.report.files = out.finished
    return work.report


class _Headed(BaseSource):
    """A source of a head and, behind it, an open file of *size* bytes."""

    def __init__(self, start: bytes, fd: int, size: int) -> None:
        super().__init__(len(start) + size)
        self._start, self._file = start, FileSource(fd, 0, size)

    def read(self, start: int, length: int) -> bytes:
        first = self._start[start : start + length]
        behind = max(0, start - len(self._start))
        rest = self._file.read(behind, length - len(first)) if len(first) < length else b""
        return first + rest


class _Answers:
    """The answers in the evidence of a gathering, by the normal form of their URLs."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._found: dict[str, StoredRecord] = {}
        if path.is_file():
            for record in stack.enter_context(Volume(path)):
                if record.type == "response":
                    with suppress(BadUrl):
                        self._found[normalise(record.url)] = record

    def of(self, uri: str, *, status: int) -> StoredRecord | None:
        """The answer of *uri*, of a *status* by its first digit; None without one."""
        record = self._found.get(uri)
        if record is None or record.http is None or record.http.status // 100 != status:
            return None
        return record


class _Export:
    def __init__(
        self, store: ObiStore, records: Records, choice: ExportChoice, out: Builder
    ) -> None:
        self.report = ExportReport()
        self._store, self._records, self._choice, self._out = store, records, choice, out
        self._withdrawals = Withdrawals(store)
        self._known = sqlite3.connect("", isolation_level=None)
        self._known.executescript(_TABLES)

    def close(self) -> None:
        self._known.close()

    def gathering(self, tist: int) -> None:
        """Write what the gathering *tist* noted."""
        path = self._store.journal(tist)
        is_of_fobis = head(path).get("kind") == Kind.FOBI
        with ExitStack() as stack:
            answers = _Answers(self._store.evidence(tist), stack)
            lines = (line for _, line in whole(path) if line.get("e") in (*STORED, "visit"))
            for line in self._chosen(lines, is_of_fobis=is_of_fobis):
                try:
                    self._write(line, tist, answers)
                except (KeeperError, NotHeld, BadWarc) as error:
                    self.report.counts["unreadable"] += 1
                    self.report.problems.append(str(error))

    def _chosen(self, lines: Iterator[Line], *, is_of_fobis: bool) -> Iterator[Line]:
        for some in in_batches(lines, _BATCH):
            if not is_of_fobis:
                is_wanted = self._choice.templates
                yield from (one for one in some if is_wanted and self._choice.takes(one["id"]))
                continue
            if self._choice.archive is None and self._choice.series is None:
                yield from some
                continue
            # A hop, or who answered, belongs to whoever was asked for: the first of the way.
            asked = {(line.get("way") or [line["id"]])[0] for line in some}
            pointers = self._records.pointers(asked)
            yield from (line for line in some if self._is_pointed_at(line, pointers))

    def _is_pointed_at(self, line: Line, pointers: dict[str, list[tuple[str, bool]]]) -> bool:
        found = pointers.get((line.get("way") or [line["id"]])[0], [])
        return any(self._choice.takes(tobi) for tobi, _ in found)

    def _write(self, line: Line, tist: int, answers: _Answers) -> None:
        obi, way = line["id"], line.get("way") or [line["id"]]
        if self._withdrawals.why(obi, tist):
            self.report.counts["withdrawn"] += 1
        elif line["e"] == "visit":
            if obi == way[-1]:
                self._visit(line)
        elif obi != way[-1] and obi in way:
            answer = answers.of(obi, status=3)
            self._redirect(obi, way[way.index(obi) + 1], _date(line, tist), answer)
        else:
            self._content(line, tist, answers.of(obi, status=2))

    def _put(self, record: Record, kind: str = "") -> None:
        self._out.append(record)
        self.report.counts[kind or record.type] += 1

    def _redirect(self, uri: str, to: str, date: str, answer: StoredRecord | None) -> None:
        if answer is not None:
            record = Record.response(
                answer.url, answer.block(), date=answer.fields["WARC-Date"]
            )  # fmt: skip
        else:
            made = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\n{MADE}: journal\r\n"
            block = f"{made}Content-Length: 0\r\n\r\n".encode()
            record = Record.response(uri, block, date=date)
        self._put(record, "redirect")

    def _content(self, line: Line, tist: int, answer: StoredRecord | None) -> None:
        """The bytes of a version, or that they are those of an earlier record."""
        obi, digest = line["id"], line["sha256"]
        url, date = (answer.url, answer.fields["WARC-Date"]) if answer else (obi, _date(line, tist))
        options: Any = {"date": date, "payload_digest": f"sha256:{digest}"}
        path = self._store.find(tist, obi)
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise KeeperError(path, f"not the bytes that {tist}.jsonl tells of")
            start = _start(answer, size) if answer else b""
            if before := self._had(digest):
                record = Record.revisit_identical(url, before, start, **options)
            elif start:
                headed = _Headed(start, file.fileno(), size)
                record = Record.response(url, headed, **options)
            else:
                media_type = _media_type(obi, os.pread(file.fileno(), SNIFF, 0))
                block = FileSource(file.fileno(), 0, size)
                record = Record.resource(url, block, content_type=media_type, **options)
            self._put(record)
        values = (digest, record.fields["WARC-Record-ID"], url, date)
        self._known.execute("INSERT OR IGNORE INTO had VALUES (?,?,?,?)", values)
        self._known.execute("REPLACE INTO last VALUES (?,?)", (obi, digest))

    def _visit(self, line: Line) -> None:
        """A visit that found nothing new; left out where what it found is not in the part."""
        row = self._known.execute("SELECT sha256 FROM last WHERE id = ?", [line["id"]]).fetchone()
        before = self._had(row[0]) if row else None
        if before is None:
            self.report.counts["visits of other parts"] += 1
        elif line.get("status") == 304:
            digest = f"sha256:{row[0]}"
            self._put(Record.revisit_not_modified(
                line["id"], before, date=line["time"], payload_digest=digest
            ))  # fmt: skip
        else:
            self._put(Record.revisit_identical(line["id"], before, date=line["time"]))

    def _had(self, digest: str) -> Record | None:
        """The record with the payload *digest*, as far as a revisit names it."""
        row = self._known.execute("SELECT * FROM had WHERE sha256 = ?", [digest]).fetchone()
        if row is None:
            return None
        return Record(fields=Fields([
            ("WARC-Record-ID", row[1]), ("WARC-Target-URI", row[2]), ("WARC-Date", row[3]),
            ("WARC-Payload-Digest", f"sha256:{digest}"),
        ]))  # fmt: skip


def _date(line: Line, tist: int) -> str:
    return str(line.get("time") or tists.to_text(tist))


def _start(answer: StoredRecord, size: int) -> bytes:
    """The head of *answer* for its entity, whose codings are undone, of *size* bytes."""
    found = answer.http
    assert found is not None  # asked for
    fields = Fields([item for item in found.fields if item[0].lower() not in _CODED])
    fields.add("Content-Length", str(size))
    first = f"{found.version} {found.status} {found.reason}".rstrip()
    return first.encode("latin-1", "replace") + b"\r\n" + fields.to_bytes() + b"\r\n"


def _media_type(obi: str, opening: bytes) -> str:
    if Kind.of(obi) is Kind.TOBI:
        return "text/plain"
    return MEDIA_TYPES.get(kind_of(opening), "application/octet-stream")
