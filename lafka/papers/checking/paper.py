"""One paper: what its suwaf says against what its WARC says."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lafka.papers.checking.warc_content import DatedFut, WarcContent
from lafka.pids import Pid, Scheme
from lafka.witness.blocks import LiteralPdf
from lafka.witness.problems import FileProblem, problem, settled

FORMAT = 1
_FROM_WARCINFO = {
    "found_by": "found-by",
    "html_url": "html-url",
    "html_date": "html-date",
    "label": "label",
    "inside": "inside",
}
"""Key of a suwaf's entry -> field of a capture's warcinfo, or of the metadata on it, in small
letters."""
_ENTRY_KEYS = frozenset(("s", "l", "url", "digest", *_FROM_WARCINFO))
_WRITER_KEYS = frozenset(("format", "end", "chain", "open"))

_CHAIN = re.compile(r"sha256:[0-9a-f]{64}")
_TEXT = json.JSONEncoder(ensure_ascii=False).encode

HeldFut = tuple[str, int]  # digest, l


@dataclass(slots=True, kw_only=True)
class SuwafContent:
    """The content of the suwaf; ``end`` and ``chain`` are None where it says nothing of them."""

    pid: Pid
    entries: dict[tuple[str, str], dict[str, Any]]
    end: int | None
    chain: str | None
    open: list[str]
    ours: bool


def futs_in(suwaf: Path) -> frozenset[HeldFut]:
    """Return the futs that a suwaf names; nothing where it is missing or none."""
    try:
        values = json.loads(suwaf.read_bytes())
        papers = [futlis for key, futlis in values.items() if key != "_warc"]
        entries = (entry for futlis in papers for _, entry in _entries_of(futlis))
        return frozenset((entry.get("digest", ""), entry["l"]) for entry in entries)
    except (OSError, ValueError, AttributeError, RecursionError):
        return frozenset()


def load(suwaf: Path, name: str, scheme: Scheme) -> tuple[SuwafContent | None, list[FileProblem]]:
    """The suwaf of the paper *name*, None where there is none or it is none; what is wrong with it.

    Raises OSError.
    """
    try:
        data = suwaf.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None, []
    try:
        values = json.loads(data, object_pairs_hook=_unique)
        summary = _summary(values, scheme)
    except (ValueError, RecursionError) as error:
        return None, [problem(suwaf, "bad-suwaf", f"not a suwaf: {error}")]
    found = [
        problem(suwaf, code, sentence) for code, sentence in _faults(data, values, summary, name)
    ]
    return summary, found


def _summary(values: object, scheme: Scheme) -> SuwafContent:
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
    _check_types(chain, opened)
    return SuwafContent(
        pid=scheme.pid(pids[0]),
        entries=dict(_entries_of(values[pids[0]])),
        end=end,
        chain=chain,
        open=[str(futli) for futli in opened],
        ours=bool(writer),
    )


def _check_types(chain: object, opened: object) -> None:
    if not isinstance(chain, str | None) or not isinstance(opened, list):
        raise ValueError("_warc holds a value of another type")
    if chain is not None and not _CHAIN.fullmatch(chain):
        raise ValueError("the chain is no digest")


def _faults(
    data: bytes, values: dict[str, Any], summary: SuwafContent, name: str
) -> Iterator[tuple[str, str]]:
    """Code and sentence of what is wrong with the form of a suwaf."""
    pid = next(key for key in values if key != "_warc")
    if str(summary.pid) != pid or summary.pid.path != name:
        yield "wrong-path", f"{pid} belongs at {summary.pid.path}"
    if not summary.ours:
        yield "no-end", "it does not say how far its WARC is good"
    for key in values.get("_warc", {}).keys() - _WRITER_KEYS:
        yield "unknown-key", f"_warc has {key[:60]!r}"
    for (futli, time), entry in summary.entries.items():
        for key in entry.keys() - _ENTRY_KEYS:
            yield "unknown-key", f"{futli} at {time} has {key[:60]!r}"
    if summary.chain is not None and data != _spelled(values):
        yield "suwaf-spelling", "not as Lafka writes these values"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands there twice")
    return values


def _spelled(values: object) -> bytes:
    return (_indented(values, "\n") + "\n").encode("utf-8", "surrogatepass")


def _indented(value: object, indent: str) -> str:
    """As ``json.dumps`` with ``indent=1`` has it, which takes several times as long."""
    inner = f"{indent} "
    if isinstance(value, dict) and value:
        members = [f"{_TEXT(key)}: {_indented(each, inner)}" for key, each in value.items()]
        return f"{{{inner}{f',{inner}'.join(members)}{indent}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join(_indented(each, inner) for each in value)}{indent}]"
    return _TEXT(value) if isinstance(value, str) else json.dumps(value)


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


_MARK = b"%PDF-"
_CHUNK = 1 << 20


@dataclass(slots=True, kw_only=True)
class PaperCheck:
    """One paper under examination."""

    name: str
    warc: Path
    suwaf: Path
    scheme: Scheme
    pool: Executor | None
    progress: Callable[[int], None]

    def full(self) -> Iterator[FileProblem]:
        # The suwaf first: what a writer adds meanwhile lies beyond its end.
        summary, problems = load(self.suwaf, self.name, self.scheme)
        yield from problems
        if not self.warc.exists():
            yield problem(self.suwaf, "no-warc", f"its WARC {self.warc} is missing")
            return
        if summary is None and not problems:
            if self.warc.stat().st_size == 0:
                yield problem(self.warc, "empty-warc", "no byte and no suwaf")
                return
            yield problem(self.warc, "no-suwaf", f"its suwaf {self.suwaf} is missing")
        if summary is not None and summary.pid.path != self.name:
            summary = None  # what it says is of another WARC
        end = summary.end if summary is not None else None
        content = WarcContent(warc=self.warc, name=self.name, scheme=self.scheme)
        yield from settled(content.read(end, self.progress, self.pool), end)
        if summary is None:
            return
        yield from self._compare_ends(content, summary)
        yield from self._compare_futs(content, summary)

    def quick(self) -> Iterator[FileProblem]:
        summary, problems = load(self.suwaf, self.name, self.scheme)
        yield from problems
        if not self.warc.exists():
            yield problem(self.suwaf, "no-warc", f"its WARC {self.warc} is missing")
            return
        size = self.warc.stat().st_size
        self.progress(size)
        if summary is not None and summary.pid.path != self.name:
            return
        if summary is None:
            if not problems:
                code = "no-suwaf" if size else "empty-warc"
                yield problem(self.warc, code, f"its suwaf {self.suwaf} is missing")
            return
        yield from self._compare_sizes(size, summary)
        with self.warc.open("rb", buffering=0) as file:
            yield from self._compare_marks(file.fileno(), size, summary)

    def _compare_marks(self, fd: int, size: int, summary: SuwafContent) -> Iterator[FileProblem]:
        """The bytes by which the end of a record and the beginning of a PDF can be told."""
        end = size if summary.end is None else summary.end
        tail = os.pread(fd, 4, max(0, end - 4))
        if end <= size and tail != b"\r\n\r\n":
            yield problem(self.warc, "end-inside-record", "no record ends there", end)
        for (futli, time), entry in summary.entries.items():
            if os.pread(fd, len(_MARK), entry["s"]) != _MARK or _past(entry, end):
                sentence = f"s, l of {futli} at {time} are no PDF"
                yield problem(self.suwaf, "not-a-fut", sentence, entry["s"])

    def _compare_sizes(self, size: int, summary: SuwafContent) -> Iterator[FileProblem]:
        end = summary.end
        if end is not None and size < end:
            yield problem(self.warc, "short-warc", f"{end - size} of {end} bytes are missing", size)
        elif end is not None and size > end:
            sentence = f"{size - end} bytes that the suwaf does not know yet"
            yield problem(self.warc, "uncommitted-tail", sentence, end)

    def _compare_ends(self, content: WarcContent, summary: SuwafContent) -> Iterator[FileProblem]:
        yield from self._compare_sizes(
            max(content.boundaries | {self.warc.stat().st_size}), summary
        )
        if summary.end is None:
            return
        if summary.end not in content.boundaries:
            yield problem(self.warc, "end-inside-record", "no record ends there", summary.end)
        elif summary.chain is not None and summary.chain != (content.chain or _NO_CHAIN):
            sentence = "a record header before the end is not as it was written"
            yield problem(self.warc, "headers-changed", sentence)

    def _compare_futs(self, content: WarcContent, summary: SuwafContent) -> Iterator[FileProblem]:
        by_futli: dict[str, list[DatedFut]] = {}
        by_range: dict[tuple[int, int], LiteralPdf] = {}
        for each in content.visits:
            by_futli.setdefault(each.futli, []).append(each)
            by_range[each.pdf.offset, each.pdf.length] = each.pdf
        named: set[_Key] = set()
        for (futli, time), entry in summary.entries.items():
            yield from self._compare_range(futli, time, entry, by_range, summary)
            visits = by_futli.get(futli, [])
            fut = by_range.get((entry["s"], entry["l"]))
            digest = fut.digest if fut is not None else entry.get("digest", "")
            visit = _chosen(time, entry, digest, visits, named)
            if futli not in content.futlis:
                yield problem(self.suwaf, "unknown-futli", f"{futli} is not in the WARC")
            elif visit is None:
                yield self._differs(futli, time, "the WARC has no fut of it at this time")
            else:
                named.add(_key(visit))
                yield from self._compare_entry(futli, time, entry, visit, by_range)
        yield from self._compare_open(content, summary)
        yield from self._compare_unnamed(content, summary, named)
        yield from self._compare_twins(summary)

    def _compare_unnamed(
        self, content: WarcContent, summary: SuwafContent, named: set[_Key]
    ) -> Iterator[FileProblem]:
        end = summary.end
        for each in content.visits:
            if each.pdf.whole and _key(each) not in named and (end is None or each.offset < end):
                sentence = f"the fut of {each.futli} at {each.date} is not in the suwaf"
                yield problem(self.warc, "fut-not-in-suwaf", sentence, each.offset)

    def _compare_open(self, content: WarcContent, summary: SuwafContent) -> Iterator[FileProblem]:
        for futli in summary.open:
            if futli not in content.futlis:
                unknown = problem(self.suwaf, "unknown-futli", f"open {futli} is not in the WARC")
                yield replace(unknown, severity="warning")

    def _compare_range(
        self,
        futli: str,
        time: str,
        entry: dict[str, Any],
        by_range: Mapping[tuple[int, int], LiteralPdf],
        summary: SuwafContent,
    ) -> Iterator[FileProblem]:
        """Invariant 2, from the bytes that the reader has hashed, else from the file."""
        start, length = entry["s"], entry["l"]
        fut = by_range.get((start, length))
        where = f"s, l of {futli} at {time}"
        front, digest = (_MARK, fut.digest) if fut is not None else self._cut(start, length)
        if front != _MARK:
            yield problem(self.suwaf, "not-a-fut", f"{where} do not begin a PDF", start)
            return
        if fut is None:
            yield problem(self.suwaf, "not-a-fut", f"{where} are not a fut of a record", start)
        if summary.end is not None and _past(entry, summary.end):
            yield problem(self.suwaf, "not-a-fut", f"{where} lie beyond end", start)
        if entry.get("digest", "" if summary.ours else digest) != digest:
            yield problem(self.suwaf, "fut-digest", f"{where} have another digest", start)

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
        visit: DatedFut,
        by_range: Mapping[tuple[int, int], LiteralPdf],
    ) -> Iterator[FileProblem]:
        fut = by_range.get((entry["s"], entry["l"]))
        if fut is not None and fut.digest != visit.pdf.digest:
            yield self._differs(futli, time, "s, l are another fut than the WARC has for it")
        expected = {"url": visit.url}
        expected |= {key: visit.info.get(name, "") for key, name in _FROM_WARCINFO.items()}
        for key, value in expected.items():
            # Another writer may leave out all but s and l, as the requirement paper does.
            if entry.get(key, value if len(entry) == 2 else "") != value:
                yield self._differs(futli, time, f"{key} is not {value[:200]!r}")

    def _compare_twins(self, summary: SuwafContent) -> Iterator[FileProblem]:
        ranges: dict[str, tuple[int, int]] = {}
        for (futli, time), entry in summary.entries.items():
            place = entry["s"], entry["l"]
            digest = entry.get("digest", "")
            if digest and ranges.setdefault(digest, place) != place:
                sentence = f"{futli} at {time} has another s, l for the same digest"
                yield problem(self.suwaf, "digest-twice", sentence)

    def _differs(self, futli: str, time: str, what: str) -> FileProblem:
        return problem(self.suwaf, "suwaf-differs", f"{futli} at {time}: {what}")


_Key = tuple[int, str, str]
_NO_CHAIN = "sha256:" + bytes(32).hex()


def _past(entry: Mapping[str, Any], end: int) -> bool:
    return bool(entry["s"] + entry["l"] > end)


def _key(visit: DatedFut) -> _Key:
    return visit.offset, visit.futli, visit.date


def _chosen(
    time: str, entry: Mapping[str, Any], digest: str, visits: list[DatedFut], named: set[_Key]
) -> DatedFut | None:
    """The visit that *entry* is of: one at its time; of several the one most like it.

    *digest* is that of the entry's bytes: where a fut was stored twice, one place is named for
    both visits.
    """

    def likeness(visit: DatedFut) -> tuple[bool, bool, bool, bool]:
        return (
            visit.pdf.digest == digest,
            visit.url == entry.get("url", visit.url),
            _key(visit) not in named,
            visit.pdf.offset == entry["s"],
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
