"""Proves that an archive is sound: the invariants, by other code than what wrote it.

A paper is sound when its suwaf and its WARC tell the same story to the byte: every record can be
read and has its digests, every fut is where the suwaf says, every fut of the WARC is in the suwaf,
nothing is stored twice, and nothing that was acknowledged has changed. docs/problems.md explains
each code.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from lafka import strict
from lafka.errors import BadPid, NotHeld, printable
from lafka.pids import COLLECTIONS, Collection, Pid
from lafka.strict import Fut, Problem, Severity, StrictReader, StrictRecord, canonical_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CODES: Mapping[str, Severity] = {
    **strict.CODES,
    "bad-marker": "error",
    "no-suwaf": "error",
    "no-warc": "error",
    "unreadable": "error",
    "bad-suwaf": "error",
    "suwaf-spelling": "warning",
    "unknown-key": "warning",
    "no-end": "warning",
    "wrong-path": "error",
    "wrong-pid": "error",
    "short-warc": "error",
    "end-inside-record": "error",
    "uncommitted-tail": "warning",
    "headers-changed": "error",
    "not-a-fut": "error",
    "fut-digest": "error",
    "unknown-futli": "error",
    "suwaf-differs": "error",
    "fut-not-in-suwaf": "error",
    "stored-twice": "error",
    "digest-twice": "error",
    "repeated-id": "error",
    "dangling-reference": "error",
    "revisit-differs": "error",
    "pair-differs": "error",
    "bad-warcinfo": "error",
    "payload-type": "error",
    "empty-warc": "warning",
    "draft": "warning",
    "torn-aside": "warning",
    "stray-file": "warning",
    "raw-left": "warning",
    "acknowledged-lost": "error",
    "bad-feed": "warning",
}

FORMAT = 1
_MARK = b"%PDF-"
_PDF = "application/pdf"
_CHUNK = 1 << 20
_BATCH = 16
_ENTRY_KEYS = frozenset(("s", "l", "url", "digest", "found_by", "html_url", "html_date", "label"))
_FROM_WARCINFO = {
    "found_by": "found-by",
    "html_url": "html-url",
    "html_date": "html-date",
    "label": "label",
}
_WRITER_KEYS = frozenset(("format", "end", "chain", "open"))
_HOLDERS = frozenset(("response", "resource", "conversion"))
_CAPTURED = frozenset(("request", "response", "resource", "revisit", "conversion"))
_TORN = re.compile(r".+\.torn-\d+")


class Verifier:
    """Checks the archive at *root* without a lock and without writing to it.

    ``bytes_read`` and ``papers_read`` grow on the way; *progress* is told ``bytes_read``.
    Problems come as they are found; a file that cannot be read is a problem, not an exception.
    With more than one of *workers* ``verify_all`` shares an archive out to that many processes
    when it has been at work *alone* for so many seconds. They import the main module of the
    program again: it needs its ``if __name__ == "__main__":``.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        workers: int = 1,
        alone: float = 2.0,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.root = Path(root)
        self.bytes_read = 0
        self.papers_read = 0
        self._workers = workers
        self._alone = alone
        self._collection = _collection(self.root)
        self._progress = progress
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="lafka-verify")

    def papers(self) -> Iterator[str]:
        """The papers by path, ``RePEc/pra/mprapa/58120``: all that have a WARC or a suwaf."""
        return (name for name, stray in self._walk("") if stray is None)

    def verify_paper(self, paper: Pid | str | Path, *, quick: bool = False) -> Iterator[Problem]:
        """The problems of one paper: a pid, or the path of its WARC or suwaf.

        *quick* looks at sizes, tails and the first bytes of futs only. ``NotHeld`` where the
        archive has neither WARC nor suwaf of it, ``BadPid`` where it is none.
        """
        name = self._name(paper)
        if not self._warc(name).exists() and not self._suwaf(name).exists():
            raise NotHeld(f"{paper}: not held in {self.root}")
        return self._verify(name, quick=quick)

    def verify_all(self, *, quick: bool = False) -> Iterator[Problem]:
        """The problems of the whole archive, marker and left-over files included."""
        yield from self._verify_marker()
        batches = self._batches()
        begun = monotonic()
        for names, strays in batches:
            yield from strays
            for name in names:
                yield from self._verify(name, quick=quick)
            if self._workers > 1 and monotonic() - begun >= self._alone:
                break
        yield from self._verify_beside(batches, quick=quick)
        yield from self._verify_raw()
        yield from self._verify_feeds()

    def _verify_beside(
        self, batches: Iterator[tuple[list[str], list[Problem]]], *, quick: bool
    ) -> Iterator[Problem]:
        """Batches in processes of their own, a few ahead; their problems in order."""
        waiting: deque[Future[tuple[list[Problem], int]]] = deque()
        with ExitStack() as stack:
            pool: ProcessPoolExecutor | None = None
            for names, strays in batches:
                yield from strays
                pool = pool or stack.enter_context(
                    ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
                )
                waiting.append(pool.submit(_verify_batch, self.root, names, quick))
                self.papers_read += len(names)
                if len(waiting) > 2 * self._workers:
                    yield from self._taken(waiting.popleft())
            while waiting:
                yield from self._taken(waiting.popleft())

    def _taken(self, batch: Future[tuple[list[Problem], int]]) -> list[Problem]:
        problems, count = batch.result()
        self._passed(count)
        return problems

    def _batches(self) -> Iterator[tuple[list[str], list[Problem]]]:
        """Some papers at a time, with the stray files found on the way to them."""
        walk = self._walk("")
        while batch := list(islice(walk, _BATCH)):
            names = [name for name, stray in batch if stray is None]
            yield names, [stray for _, stray in batch if stray is not None]

    def _verify(self, name: str, *, quick: bool) -> Iterator[Problem]:
        self.papers_read += 1
        check = _Paper(
            name=name,
            warc=self._warc(name),
            suwaf=self._suwaf(name),
            collection=self._collection,
            pool=self._pool,
            progress=self._passed,
        )
        try:
            yield from check.quick() if quick else check.full()
        except OSError as error:
            yield _problem(error.filename or check.warc, "unreadable", error.strerror or str(error))

    def _passed(self, count: int) -> None:
        self.bytes_read += count
        if self._progress is not None:
            self._progress(self.bytes_read)

    def _warc(self, name: str) -> Path:
        return self.root / "warc" / f"{name}.warc"

    def _suwaf(self, name: str) -> Path:
        return self.root / "suwaf" / f"{name}.json"

    def _name(self, paper: Pid | str | Path) -> str:
        if isinstance(paper, Path):
            for base, suffix in (("warc", ".warc"), ("suwaf", ".json")):
                folder = (self.root / base).absolute()
                if paper.absolute().is_relative_to(folder) and paper.name.endswith(suffix):
                    return paper.absolute().relative_to(folder).as_posix().removesuffix(suffix)
            raise NotHeld(f"{paper}: no WARC or suwaf of {self.root}")
        pid = paper if isinstance(paper, Pid) else self._collection.pid(paper)
        return pid.path

    def _verify_marker(self) -> Iterator[Problem]:
        path = self.root / "lafka.json"
        try:
            marker = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            yield _problem(path, "bad-marker", f"cannot be read: {error}")
            return
        if not isinstance(marker, dict) or marker.get("format") != FORMAT:
            yield _problem(path, "bad-marker", f"not of format {FORMAT}")
        elif marker.get("collection") not in COLLECTIONS:
            yield _problem(path, "bad-marker", f"no collection {marker.get('collection')!r}")

    def _verify_raw(self) -> Iterator[Problem]:
        for folder, _, names in os.walk(self.root / "raw"):
            for name in sorted(names):
                yield _problem(Path(folder, name), "raw-left", "a raw WARC that is still there")

    def _verify_feeds(self) -> Iterator[Problem]:
        """Invariant 5: every fut that an outcome line acknowledged is in its suwaf."""
        places = lru_cache(256)(lambda pid: _places(self._suwaf(pid.path)))
        for path in sorted((self.root / "runs").glob("*.jsonl")):
            offset = 0
            with path.open("rb") as feed:
                for line in feed:
                    try:
                        pid, futs = _acknowledged(line, self._collection)
                    except (ValueError, LookupError, TypeError, RecursionError):
                        yield _problem(path, "bad-feed", "a line that is no outcome", offset)
                    else:
                        for fut in futs - places(pid) if futs else ():
                            sentence = f"{fut[0]} of {pid} is not in its suwaf"
                            yield _problem(path, "acknowledged-lost", sentence, offset)
                    offset += len(line)

    def _walk(self, folder: str) -> Iterator[tuple[str, Problem | None]]:
        """Every paper below *folder*, each with None, and every other file as a problem."""
        papers: set[str] = set()
        folders: set[str] = set()
        for base, suffix in (("warc", ".warc"), ("suwaf", ".json")):
            for entry in _entries(self.root / base / folder):
                if entry.is_dir(follow_symlinks=False):
                    folders.add(entry.name)
                elif entry.is_file(follow_symlinks=False) and _is_paper(entry.name, suffix):
                    papers.add(entry.name.removesuffix(suffix))
                else:
                    yield folder, _stray(entry)
        prefix = f"{folder}/" if folder else ""
        for name in sorted(papers):
            yield prefix + name, None
        for name in sorted(folders):
            yield from self._walk(prefix + name)


def _collection(root: Path) -> Collection:
    """That of the marker; where that is no good, the one that holds every pid."""
    try:
        return COLLECTIONS[json.loads((root / "lafka.json").read_bytes())["collection"]]
    except (OSError, ValueError, LookupError, TypeError):
        return COLLECTIONS["RePEc"]


def _verify_batch(root: Path, names: list[str], quick: bool) -> tuple[list[Problem], int]:
    """The problems of papers, and the bytes that were read."""
    verifier = Verifier(root)
    found = [problem for name in names for problem in verifier._verify(name, quick=quick)]
    return found, verifier.bytes_read


_Place = tuple[str, int, int]  # digest, s, l


def _acknowledged(line: bytes, collection: Collection) -> tuple[Pid | None, frozenset[_Place]]:
    """The futs that an outcome line promises, and of which paper; no pid where there are none."""
    item = json.loads(line)
    futs = frozenset((fut["digest"], fut["s"], fut["l"]) for fut in item["futs"] or ())
    return (collection.pid(item["pid"]) if futs else None), futs


def _places(suwaf: Path) -> frozenset[_Place]:
    """What a suwaf names; nothing where it is missing or none."""
    try:
        values = json.loads(suwaf.read_bytes())
        papers = [futlis for key, futlis in values.items() if key != "_warc"]
        entries = (entry for futlis in papers for _, entry in _entries_of(futlis))
        return frozenset((entry.get("digest", ""), entry["s"], entry["l"]) for entry in entries)
    except (OSError, ValueError, AttributeError, RecursionError):
        return frozenset()


class _Visit(NamedTuple):
    """A fut of a futli at a time, as the WARC tells it; ``offset`` is that of its record."""

    offset: int
    futli: str
    date: str
    url: str
    fut: Fut
    info: Mapping[str, str]


class _Seen(NamedTuple):
    """What later records need to know of a record that they refer to."""

    offset: int
    type: str
    url: str
    date: str
    address: str
    digest: str | None
    fut: Fut | None


@dataclass(slots=True, kw_only=True)
class _Story:
    """What the WARC says."""

    visits: list[_Visit] = field(default_factory=list)
    futlis: set[str] = field(default_factory=set)
    boundaries: set[int] = field(default_factory=lambda: {0})
    chain: str = ""
    beyond: int = 0
    seen: dict[str, _Seen] = field(default_factory=dict)
    infos: dict[str, Mapping[str, str]] = field(default_factory=dict)
    concurrent: list[tuple[str, str]] = field(default_factory=list)
    stored: dict[str, int] = field(default_factory=dict)
    answers: dict[str, tuple[str, StrictRecord]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Summary:
    """What the suwaf says; ``end`` and ``chain`` are None where it says nothing of them."""

    pid: Pid
    entries: dict[tuple[str, str], dict[str, Any]]
    end: int | None
    chain: str | None
    open: list[str]
    ours: bool


@dataclass(slots=True, kw_only=True)
class _Paper:
    """One paper under examination."""

    name: str
    warc: Path
    suwaf: Path
    collection: Collection
    pool: ThreadPoolExecutor
    progress: Callable[[int], None]

    def full(self) -> Iterator[Problem]:
        # The suwaf first: what a writer adds meanwhile lies beyond its end.
        summary, problems = self._load()
        yield from problems
        if not self.warc.exists():
            yield _problem(self.suwaf, "no-warc", f"its WARC {self.warc} is missing")
            return
        if self.warc.stat().st_size == 0 and not self.suwaf.exists():
            yield _problem(self.warc, "empty-warc", "no byte and no suwaf")
            return
        if not self.suwaf.exists():
            yield _problem(self.warc, "no-suwaf", f"its suwaf {self.suwaf} is missing")
        end = summary.end if summary is not None else None
        story = _Story()
        yield from _settled(self._read(story, summary, end), end)
        if summary is None:
            return
        yield from self._compare_ends(story, summary)
        yield from self._compare_futs(story, summary)

    def quick(self) -> Iterator[Problem]:
        summary, problems = self._load()
        yield from problems
        if not self.warc.exists():
            yield _problem(self.suwaf, "no-warc", f"its WARC {self.warc} is missing")
            return
        size = self.warc.stat().st_size
        self.progress(size)
        if summary is None:
            if not problems:
                code = "no-suwaf" if size else "empty-warc"
                yield _problem(self.warc, code, f"its suwaf {self.suwaf} is missing")
            return
        end = size if summary.end is None else summary.end
        with self.warc.open("rb", buffering=0) as file:
            yield from self._compare_sizes(size, summary)
            tail = os.pread(file.fileno(), 4, max(0, end - 4))
            if end <= size and tail != b"\r\n\r\n":
                yield _problem(self.warc, "end-inside-record", "no record ends there", end)
            for (futli, time), entry in summary.entries.items():
                if os.pread(file.fileno(), 5, entry["s"]) != _MARK or _past(entry, end):
                    sentence = f"s, l of {futli} at {time} are no PDF"
                    yield _problem(self.suwaf, "not-a-fut", sentence, entry["s"])

    # The suwaf alone

    def _load(self) -> tuple[_Summary | None, list[Problem]]:
        """The suwaf, None where there is none or it is none, and what is wrong with it."""
        if not self.suwaf.exists():
            return None, []
        data = self.suwaf.read_bytes()
        try:
            values = json.loads(data, object_pairs_hook=_unique)
            summary = self._summary(values)
        except (ValueError, RecursionError) as error:
            return None, [_problem(self.suwaf, "bad-suwaf", f"not a suwaf: {error}")]
        return summary, list(self._check_form(data, values, summary))

    def _summary(self, values: object) -> _Summary:
        if not isinstance(values, dict):
            raise ValueError("not an object")
        writer = values.get("_warc", {})
        if not isinstance(writer, dict):
            raise ValueError("_warc is no object")
        pids = [key for key in values if key != "_warc"]
        if len(pids) != 1:
            raise ValueError(f"it is of {len(pids)} pids")
        end, chain, opened = writer.get("end"), writer.get("chain"), writer.get("open", [])
        if "_warc" in values and (writer.get("format") != FORMAT or not _is_count(end)):
            raise ValueError(f"_warc is not of format {FORMAT}, or has no end")
        if not isinstance(chain, str | None) or not isinstance(opened, list):
            raise ValueError("_warc holds a value of another type")
        return _Summary(
            pid=self.collection.pid(pids[0]),
            entries=dict(_entries_of(values[pids[0]])),
            end=end,
            chain=chain,
            open=[str(futli) for futli in opened],
            ours=bool(writer),
        )

    def _check_form(
        self, data: bytes, values: dict[str, Any], summary: _Summary
    ) -> Iterator[Problem]:
        pid = next(key for key in values if key != "_warc")
        if str(summary.pid) != pid or summary.pid.path != self.name:
            yield _problem(self.suwaf, "wrong-path", f"{pid} belongs at {summary.pid.path}")
        if not summary.ours:
            yield _problem(self.suwaf, "no-end", "it does not say how far its WARC is good")
        for key in values.get("_warc", {}).keys() - _WRITER_KEYS:
            yield _problem(self.suwaf, "unknown-key", f"_warc has {key[:60]!r}")
        for (futli, time), entry in summary.entries.items():
            for key in entry.keys() - _ENTRY_KEYS:
                yield _problem(self.suwaf, "unknown-key", f"{futli} at {time} has {key[:60]!r}")
        if summary.chain is not None and data != _spelled(values):
            yield _problem(self.suwaf, "suwaf-spelling", "not as Lafka writes these values")

    # The WARC alone

    def _read(self, story: _Story, summary: _Summary | None, end: int | None) -> Iterator[Problem]:
        reader = StrictReader(self.warc, progress=self.progress, pool=self.pool)
        for record in reader:
            yield from _drain(reader.problems)
            yield from self._note(record, story, summary, end)
        yield from _drain(reader.problems)
        for one, other in story.concurrent:
            yield from self._check_pair(story, one, other)
        for digest, record in story.answers.values():
            yield from self._check_once(record, digest, story)

    def _note(
        self, record: StrictRecord, story: _Story, summary: _Summary | None, end: int | None
    ) -> Iterator[Problem]:
        story.boundaries.add(record.end)
        if record.end == end:
            story.chain = f"sha256:{record.chain.hex()}"
        story.beyond += end is not None and record.end > end
        if record.id in story.seen:
            yield self._wrong(record, "repeated-id", f"{record.id} was there before")
        yield from self._check_references(record, story)
        if record.type == "warcinfo":
            story.infos[record.id] = _info(record.info)
            yield from self._check_info(record, story, summary)
        yield from self._check_payload(record, story)
        if record.type in ("response", "resource", "revisit", "conversion"):
            visit = _visit(record, story)
            if visit is not None:
                story.visits.append(visit)
        story.seen[record.id] = _seen(record, story)
        story.concurrent.extend((record.id, other) for other in record.concurrent_to)

    def _check_references(self, record: StrictRecord, story: _Story) -> Iterator[Problem]:
        info = record.fields.get("warc-warcinfo-id")
        if info is not None and info not in story.infos:
            yield self._wrong(record, "dangling-reference", f"no warcinfo {info} before it")
        if info is None and record.type in _CAPTURED:
            yield self._wrong(record, "dangling-reference", "no warc-warcinfo-id")
        target = record.fields.get("warc-refers-to")
        if target is None or record.type not in ("revisit", "conversion"):
            return
        seen = story.seen.get(target)
        if seen is None or seen.type not in _HOLDERS:
            yield self._wrong(record, "dangling-reference", f"no payload {target} before it")
        elif record.type == "revisit":
            yield from self._check_revisit(record, seen)
        elif record.url != seen.url:
            yield self._wrong(record, "pair-differs", "another target URI than what it is of")

    def _check_revisit(self, record: StrictRecord, seen: _Seen) -> Iterator[Problem]:
        fields = record.fields
        digest = canonical_digest(fields.get("warc-payload-digest", ""))
        held = {seen.digest, seen.fut.digest if seen.fut else None} - {None}
        if digest is not None and held and digest not in held:
            yield self._wrong(
                record, "revisit-differs", "another payload digest than what it is of"
            )
        if fields.get("warc-refers-to-target-uri", seen.url) != seen.url:
            yield self._wrong(record, "revisit-differs", "another target URI than what it is of")
        if fields.get("warc-refers-to-date", seen.date)[:19] != seen.date[:19]:
            yield self._wrong(record, "revisit-differs", "another date than what it is of")
        kind = fields.get("warc-identified-payload-type", _PDF)
        if seen.fut is not None and kind != _PDF:
            yield self._wrong(record, "payload-type", f"{kind[:60]!r} for a PDF")

    def _check_info(
        self, record: StrictRecord, story: _Story, summary: _Summary | None
    ) -> Iterator[Problem]:
        info = story.infos[record.id]
        missing = [name for name in ("paper-id", "futli") if not info.get(name)]
        if missing:
            yield self._wrong(record, "bad-warcinfo", f"no {' and no '.join(missing)}")
            return
        story.futlis.add(info["futli"])
        if summary is not None and info["paper-id"] == str(summary.pid):
            return
        try:
            pid = self.collection.pid(info["paper-id"])
        except BadPid as error:
            yield self._wrong(record, "wrong-pid", str(error))
            return
        if pid.path != self.name or (summary is not None and pid != summary.pid):
            yield self._wrong(record, "wrong-pid", f"a capture of {pid}")

    def _check_payload(self, record: StrictRecord, story: _Story) -> Iterator[Problem]:
        if record.type not in _HOLDERS:
            return
        kind = record.fields.get("warc-identified-payload-type")
        coded = record.entity is not None and record.entity.coded
        if record.fut is not None and kind not in (None, _PDF):
            yield self._wrong(record, "payload-type", f"{kind[:60]!r} for a PDF")
        if record.fut is None and kind == _PDF and not coded:
            yield self._wrong(record, "payload-type", "no PDF, but identified as one")
        if record.type == "conversion" and (
            record.fut is None
            or record.fut.offset != record.block
            or record.fields.get("content-type") != _PDF
        ):
            yield self._wrong(record, "payload-type", "a conversion that is no PDF")
        digest = _stored(record)
        if digest is None:
            return
        if record.fut is not None:
            yield from self._check_once(record, digest, story)
        else:
            # A redirect hop is stored at each visit; only the last answer of a capture is none.
            story.answers[record.fields.get("warc-warcinfo-id", "")] = digest, record

    def _check_once(self, record: StrictRecord, digest: str, story: _Story) -> Iterator[Problem]:
        first = story.stored.setdefault(digest, record.offset)
        if first != record.offset:
            twice = self._wrong(record, "stored-twice", f"the payload of the record at {first}")
            # The first Lafka stored a fut at every visit.
            yield replace(twice, severity="warning") if record.version == "WARC/1.0" else twice

    def _check_pair(self, story: _Story, one: str, other: str) -> Iterator[Problem]:
        first, second = story.seen[one], story.seen.get(other)
        if second is None:
            sentence = f"no record {other}"
            yield _problem(self.warc, "dangling-reference", sentence, first.offset)
            return
        if {first.type, second.type} - {"revisit", "response"} != {"request"}:
            return
        if first.url != second.url or first.address != second.address:
            sentence = "request and answer differ in target URI or IP address"
            yield _problem(self.warc, "pair-differs", sentence, first.offset)

    # Both together

    def _compare_sizes(self, size: int, summary: _Summary) -> Iterator[Problem]:
        end = summary.end
        if end is not None and size < end:
            yield _problem(
                self.warc, "short-warc", f"{end - size} of {end} bytes are missing", size
            )
        elif end is not None and size > end:
            sentence = f"{size - end} bytes that the suwaf does not know yet"
            yield _problem(self.warc, "uncommitted-tail", sentence, end)

    def _compare_ends(self, story: _Story, summary: _Summary) -> Iterator[Problem]:
        yield from self._compare_sizes(max(story.boundaries | {self.warc.stat().st_size}), summary)
        if summary.end is None:
            return
        if summary.end not in story.boundaries:
            yield _problem(self.warc, "end-inside-record", "no record ends there", summary.end)
        elif summary.chain is not None and summary.chain != (story.chain or _NO_CHAIN):
            sentence = "a record header before the end is not as it was written"
            yield _problem(self.warc, "headers-changed", sentence)

    def _compare_futs(self, story: _Story, summary: _Summary) -> Iterator[Problem]:
        by_futli: dict[str, list[_Visit]] = {}
        by_range: dict[tuple[int, int], Fut] = {}
        for each in story.visits:
            by_futli.setdefault(each.futli, []).append(each)
            by_range[each.fut.offset, each.fut.length] = each.fut
        named: set[_Key] = set()
        for (futli, time), entry in summary.entries.items():
            yield from self._compare_range(futli, time, entry, by_range, summary)
            visits = by_futli.get(futli, [])
            visit = _chosen(time, entry, visits, named)
            if futli not in story.futlis:
                yield _problem(self.suwaf, "unknown-futli", f"{futli} is not in the WARC")
            elif visit is None:
                yield self._differs(futli, time, "the WARC has no fut of it at this time")
            else:
                named.add(_key(visit))
                yield from self._compare_entry(futli, time, entry, visit, by_range)
        for futli in summary.open:
            if futli not in story.futlis:
                unknown = _problem(self.suwaf, "unknown-futli", f"open {futli} is not in the WARC")
                yield replace(unknown, severity="warning")
        for each in story.visits:
            if each.fut.whole and _key(each) not in named and _within(each, summary.end):
                sentence = f"the fut of {each.futli} at {each.date} is not in the suwaf"
                yield _problem(self.warc, "fut-not-in-suwaf", sentence, each.offset)
        yield from self._compare_twins(summary)

    def _compare_range(
        self,
        futli: str,
        time: str,
        entry: dict[str, Any],
        by_range: Mapping[tuple[int, int], Fut],
        summary: _Summary,
    ) -> Iterator[Problem]:
        """Invariant 2, from the bytes that the reader has hashed, else from the file."""
        start, length = entry["s"], entry["l"]
        fut = by_range.get((start, length))
        where = f"s, l of {futli} at {time}"
        if fut is not None:
            digest = fut.digest
        else:
            front, digest = self._cut(start, length)
            if front != _MARK:
                yield _problem(self.suwaf, "not-a-fut", f"{where} do not begin a PDF", start)
                return
            yield _problem(self.suwaf, "not-a-fut", f"{where} are not a fut of a record", start)
        if summary.end is not None and _past(entry, summary.end):
            yield _problem(self.suwaf, "not-a-fut", f"{where} lie beyond end", start)
        if entry.get("digest", "" if summary.ours else digest) != digest:
            yield _problem(self.suwaf, "fut-digest", f"{where} have another digest", start)

    def _cut(self, start: int, length: int) -> tuple[bytes, str]:
        """The first bytes and the digest of a range of the WARC, as much of it as there is."""
        hasher, front = hashlib.sha256(), b""
        with self.warc.open("rb", buffering=0) as file:
            end = min(start + length, os.fstat(file.fileno()).st_size)
            for at in range(start, end, _CHUNK):
                data = os.pread(file.fileno(), min(_CHUNK, end - at), at)
                front = front or data[: len(_MARK)]
                hasher.update(data)
        return front, f"sha256:{hasher.hexdigest()}"

    def _compare_entry(
        self,
        futli: str,
        time: str,
        entry: dict[str, Any],
        visit: _Visit,
        by_range: Mapping[tuple[int, int], Fut],
    ) -> Iterator[Problem]:
        fut = by_range.get((entry["s"], entry["l"]))
        if fut is not None and fut.digest != visit.fut.digest:
            yield self._differs(futli, time, "s, l are another fut than the WARC has for it")
        expected = {"url": visit.url}
        expected |= {key: visit.info.get(name, "") for key, name in _FROM_WARCINFO.items()}
        for key, value in expected.items():
            # Another writer may leave out all but s and l, as the requirement paper does.
            if entry.get(key, value if len(entry) == 2 else "") != value:
                yield self._differs(futli, time, f"{key} is not {value[:200]!r}")

    def _compare_twins(self, summary: _Summary) -> Iterator[Problem]:
        ranges: dict[str, tuple[int, int]] = {}
        for (futli, time), entry in summary.entries.items():
            place = entry["s"], entry["l"]
            digest = entry.get("digest", "")
            if digest and ranges.setdefault(digest, place) != place:
                sentence = f"{futli} at {time} has another s, l for the same digest"
                yield _problem(self.suwaf, "digest-twice", sentence)

    def _differs(self, futli: str, time: str, what: str) -> Problem:
        return _problem(self.suwaf, "suwaf-differs", f"{futli} at {time}: {what}")

    def _wrong(self, record: StrictRecord, code: str, sentence: str) -> Problem:
        return _problem(self.warc, code, sentence, record.offset)


_Key = tuple[int, str, str]
_NO_CHAIN = "sha256:" + bytes(32).hex()


def _problem(path: Path | str, code: str, sentence: str, offset: int | None = None) -> Problem:
    return Problem(
        path=str(path),
        offset=offset,
        code=code,
        severity=CODES[code],
        sentence=printable(sentence),
    )


def _drain(problems: list[Problem]) -> list[Problem]:
    found = problems[:]
    problems.clear()
    return found


def _settled(problems: Iterator[Problem], end: int | None) -> Iterator[Problem]:
    """Beyond *end* nothing is acknowledged yet: what is wrong there is only worth a warning."""
    for problem in problems:
        beyond = end is not None and problem.offset is not None and problem.offset >= end
        yield replace(problem, severity="warning") if beyond else problem


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands there twice")
    return values


def _spelled(values: object) -> bytes:
    text = json.dumps(values, ensure_ascii=False, indent=1)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _entries_of(futlis: object) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    if not isinstance(futlis, dict):
        raise ValueError("the futlis are no object")
    for futli, times in futlis.items():
        if not isinstance(times, dict):
            raise ValueError("the times of a futli are no object")
        for time, entry in times.items():
            if not isinstance(entry, dict) or not all(_is_count(entry.get(k)) for k in "sl"):
                raise ValueError("an entry without s and l")
            if not all(isinstance(value, str) for key, value in entry.items() if key not in "sl"):
                raise ValueError("an entry with something that is no text")
            yield (futli, time), entry


def _past(entry: Mapping[str, Any], end: int) -> bool:
    return bool(entry["s"] + entry["l"] > end)


def _within(visit: _Visit, end: int | None) -> bool:
    return end is None or visit.offset < end


def _info(block: bytes) -> dict[str, str]:
    """The lines of a warcinfo, names in lower case, the first of each."""
    values: dict[str, str] = {}
    for line in block.decode("utf-8", "replace").split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            values.setdefault(name.strip().lower(), value.strip(" \t\r"))
    return values


def _seen(record: StrictRecord, story: _Story) -> _Seen:
    # A conversion is made later than what it is of; its date is that of the visit.
    source = story.seen.get(record.fields.get("warc-refers-to", ""))
    date = source.date if record.type == "conversion" and source is not None else record.date
    return _Seen(
        offset=record.offset,
        type=record.type,
        url=record.url,
        date=date,
        address=record.fields.get("warc-ip-address", ""),
        digest=canonical_digest(record.fields.get("warc-payload-digest", "")),
        fut=record.fut,
    )


def _visit(record: StrictRecord, story: _Story) -> _Visit | None:
    """The fut that *record* is a visit of, None where it is none or nobody asked for it."""
    target = story.seen.get(record.fields.get("warc-refers-to", ""))
    fut = record.fut
    if record.type == "revisit":
        fut = target.fut if target is not None else _by_digest(record, story)
    info = story.infos.get(record.fields.get("warc-warcinfo-id", ""))
    if fut is None or info is None or "futli" not in info:
        return None
    date = target.date if record.type == "conversion" and target is not None else record.date
    return _Visit(record.offset, info["futli"], date, record.url, fut, info)


def _by_digest(record: StrictRecord, story: _Story) -> Fut | None:
    digest = canonical_digest(record.fields.get("warc-payload-digest", ""))
    found = (seen.fut for seen in story.seen.values() if seen.fut and seen.digest == digest)
    return next(found, None) if digest else None


def _stored(record: StrictRecord) -> str | None:
    """The digest by which *record* must not be stored again, None where that is allowed.

    Redirects and empty answers are stored at each visit.
    """
    if "warc-truncated" in record.fields or (record.type == "resource" and record.fut is None):
        return None
    if record.fut is not None:
        return record.fut.digest if record.fut.whole else None
    entity = record.entity
    if entity is None or entity.chunked or entity.offset == entity.end:
        return None
    if entity.status is None or not 200 <= entity.status < 300:
        return None
    return canonical_digest(record.fields.get("warc-payload-digest", ""))


def _key(visit: _Visit) -> _Key:
    return visit.offset, visit.futli, visit.date


def _chosen(
    time: str, entry: Mapping[str, Any], visits: list[_Visit], named: set[_Key]
) -> _Visit | None:
    """The visit that *entry* is of: one at its time; of several the one most like it."""

    def likeness(visit: _Visit) -> tuple[bool, bool, bool]:
        place = visit.fut.offset, visit.fut.length
        return (
            place == (entry["s"], entry["l"]),
            visit.url == entry.get("url"),
            _key(visit) not in named,
        )

    same_second = [visit for visit in visits if visit.date[:19] == time[:19]]
    at_time = [visit for visit in same_second if time in _keys(visit.date, len(same_second))]
    return max(at_time, key=likeness, default=None)


def _keys(date: str, crowd: int) -> Iterator[str]:
    """The keys under which a fut of *date* can stand where *crowd* futs share its second."""
    yield f"{date[:19]}Z"
    try:
        time = datetime.fromisoformat(date)
    except ValueError:
        return
    for later in range(max(1, crowd - 2)):
        text = (time + timedelta(microseconds=later)).strftime("%Y-%m-%dT%H:%M:%S.%f")
        yield f"{text[:23]}Z"
        yield f"{text}Z"


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_paper(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and not name.startswith(".")


def _stray(entry: os.DirEntry[str]) -> Problem:
    if _TORN.fullmatch(entry.name):
        return _problem(entry.path, "torn-aside", "a torn tail that was kept aside")
    if "draft" in entry.name:
        return _problem(entry.path, "draft", "a draft that no writer finished")
    return _problem(entry.path, "stray-file", "not a file of an archive")
