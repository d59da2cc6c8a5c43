"""A volume held to the standard, and every digest in it computed again (WARC/1.1 sections 4, 5).

>>> checked = check("a.warc.gz")  # doctest: +SKIP
>>> for problem in checked:  # doctest: +SKIP
...     print(problem.to_json())
>>> print(checked.records, checked.counts["error"])  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lafka.warc import http
from lafka.warc.digests import BlockHash, Digest, hashed
from lafka.warc.errors import BadHttp, BadValue, BadWarc
from lafka.warc.fields import Fields
from lafka.warc.problems import Problem
from lafka.warc.rules import VERSIONS, faults
from lafka.warc.sources import MemorySource, Source
from lafka.warc.stored import StoredRecord
from lafka.warc.volumes import Volume

_APART = 64 << 10  # bytes of a block from which on it is hashed in a thread of its own
_AT_HAND = 4 << 20  # bytes of a block that is inflated once and kept for its thread
_THREADS = 2
_AHEAD = 4
_IDS_MAX = 500_000
_TOLD_BEFORE = frozenset({"line-end", "long-line", "bad-length"})  # by the volume
_WITH_PAYLOAD = frozenset({"response", "request", "resource", "metadata", "conversion"})
_HEADED = ("response", "request")


class _Block:
    """A block and its digests, each algorithm one pass."""

    def __init__(self, record: StoredRecord, source: Source) -> None:
        self.source = source
        self.head: http.Head | None = None
        self.is_http = record.type in _HEADED and record.media_type == http.MESSAGE
        self.trouble = ""
        self._made: dict[str, BlockHash] = {}
        if self.is_http:
            try:
                self.head = http.message_head(source)
            except BadHttp as error:
                self.trouble = str(error)

    def digest(self, algorithm: str) -> Digest:
        return self._hashed(algorithm).block

    def _hashed(self, algorithm: str) -> BlockHash:
        if algorithm not in self._made:
            self._made[algorithm] = hashed(self.source, algorithm, self.head, to_end=False)
        return self._made[algorithm]

    def payload(self, stated: Digest) -> Digest | None:
        """*stated* where it is the payload's; else what the payload's is, None where it is broken.

        Of a body that is chunked or longer than it says, some writers take it as it stands.
        """
        if self.head is None:
            return self.digest(stated.algorithm)
        found = self._hashed(stated.algorithm).payload
        if found == stated:
            return stated
        body = Digest.of(self.source.chunks(self.head.end), stated.algorithm)
        return stated if body == stated else found


def verify(record: StoredRecord) -> list[Problem]:
    """What the digests of *record* say about it: empty where all is well or nothing can be told.

    Nothing is said of digests by unknown algorithms, nor of a payload that lies elsewhere: of a
    revisit, of a segment.
    """
    codes = ("block-digest", "payload-digest", "truncated-payload", "unreadable")
    return [problem for problem in _contents(record, record.block()) if problem.code in codes]


def _digest_problems(record: StoredRecord, block: _Block) -> Iterator[Problem]:
    for code, found, stated in _mismatches(record, block):
        yield Problem.of(code, record.path, record.offset, found=found, value=stated)


def _mismatches(record: StoredRecord, block: _Block) -> Iterator[tuple[str, str, str]]:
    fields = record.fields
    stated = _stated(fields, "WARC-Block-Digest")
    if stated and (found := block.digest(stated.algorithm)) != stated:
        yield "block-digest", found.text, stated.text
    stated = _stated(fields, "WARC-Payload-Digest")
    if not stated or record.type not in _WITH_PAYLOAD or "WARC-Segment-Number" in fields:
        return
    payload = block.payload(stated)
    if payload != stated:
        code = "truncated-payload" if "WARC-Truncated" in fields else "payload-digest"
        yield code, payload.text if payload else "broken", stated.text


def _stated(fields: Fields, name: str) -> Digest | None:
    """The digest *name* where it can be computed here."""
    text = fields.first(name)
    if text:
        with suppress(BadValue):
            digest = Digest.parse(text)
            return digest if digest.known else None
    return None


class Check(Iterable[Problem]):
    """Everything that is wrong with a volume, as it is found; may be iterated once.

    ``records`` and ``counts`` (of problems, by severity) grow meanwhile. *digests*: compute them,
    which reads every block; large ones in threads of their own. ``OSError`` and ``BadWarc`` where
    there is no such file.
    """

    def __init__(self, volume: Volume | Path | str, *, digests: bool = True) -> None:
        self.volume = volume if isinstance(volume, Volume) else Volume(volume)
        self.records = 0
        self.counts: Counter[str] = Counter()
        self._digests = digests
        self._ids: dict[int, int] = {}
        self._found: deque[Problem | Callable[[], list[Problem]]] = deque()

    @property
    def passed(self) -> bool:
        """Whether there was no error, so far."""
        return not self.counts["error"]

    def __iter__(self) -> Iterator[Problem]:
        volume, found = self.volume, self._found
        volume.watch = found.append
        volume.refused = self._judge_header
        volume.inflate_all = True
        try:
            with ThreadPoolExecutor(_THREADS, thread_name_prefix="warc-check") as threads:
                for record in volume:
                    self._take(record, threads)
                    if len(found) > _AHEAD or not callable(found[0] if found else None):
                        yield from self._done(_AHEAD)
                yield from self._done(0)
        finally:
            volume.watch = volume.refused = None
        if not self.records:
            yield self._counted(Problem.of("no-records", volume.path, 0))

    def _done(self, left: int) -> Iterator[Problem]:
        """What is found already, in order; of large records *left* may still be hashed."""
        found = self._found
        while found and (len(found) > left or not callable(found[0])):
            first = found.popleft()
            for problem in first() if callable(first) else (first,):
                yield self._counted(problem)

    def _counted(self, problem: Problem) -> Problem:
        self.counts[problem.severity] += 1
        return problem

    def _take(self, record: StoredRecord, threads: ThreadPoolExecutor) -> None:
        self.records += 1
        if record.header[:5].upper() == b"WARC/":  # else it is another format's
            record.know(self._judge_header(record.offset, record.header))
        self._judge_id(record)
        if not self._digests:
            return
        source = record.block()
        if record.block_length >= _APART and not self.volume.is_plain:
            if record.block_length > _AT_HAND:  # only one thread can inflate a volume
                self._found.extend(_contents(record, source))
                return
            source = MemorySource(source.read(0, source.size))
        if record.block_length < _APART:
            data = source.read(0, record.block_length)
            if not _is_plainly_right(record, data):
                self._found.extend(_contents(record, MemorySource(data)))
        else:
            self._found.append(threads.submit(_contents, record, source).result)

    def _judge_header(self, offset: int, header: bytes) -> Fields:
        """Hold a header to the standard, of a record that can be read or of one that cannot."""
        volume, begin = self.volume, header.find(b"\n") + 1
        problems: list[Problem] = []
        lines = header[begin:-2] if header.endswith(b"\r\n\r\n") else header[begin:]
        fields = Fields.parse(lines, problems=problems)
        for problem in problems:
            if problem.code not in _TOLD_BEFORE:
                place = offset + begin + problem.offset if volume.is_plain else offset
                self._found.append(replace(problem, path=volume.path, offset=place))
        version = header[5 : begin - 1].decode("latin-1").strip()
        for code, values in faults(fields, version if version in VERSIONS else "1.0"):
            if code != "bad-length":
                self._found.append(Problem.of(code, volume.path, offset, **values))
        return fields

    def _judge_id(self, record: StoredRecord) -> None:
        """Ids are of one record each (section 5.2); of very many only the first ones are kept."""
        name = record.id
        if not name:
            return
        key = hash(name)
        first = self._ids.get(key)
        if first is not None:
            values = {"value": name[:200], "first": first}
            self._found.append(Problem.of("repeated-id", record.path, record.offset, **values))
        elif len(self._ids) < _IDS_MAX:
            self._ids[key] = record.offset


def _is_plainly_right(record: StoredRecord, data: bytes) -> bool:
    """Whether all is well with the block *data*, as far as that is told without parsing it.

    So it is with nearly all small blocks, which it makes twice as fast to check.
    """
    fields = record.fields
    stated = fields.first("WARC-Block-Digest")
    if stated and not _says(stated, data):
        return False
    stated = fields.first("WARC-Payload-Digest")
    if record.type not in _HEADED:
        return not stated
    line = _FIRST_LINE.match(data)
    end = data.find(b"\r\n\r\n") + 4
    return bool(line) and end > 4 and (not stated or _says(stated, data[end:]))


_FIRST_LINE = re.compile(rb"HTTP/1\.[01] [2-5][0-9][0-9] [ -~]*\r\n|[A-Z]+ [!-~]+ HTTP/1\.[01]\r\n")
_MAKERS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "md5": hashlib.md5}
_BASE32 = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv", "_")


def _says(stated: str, data: bytes) -> bool:
    """Whether *stated* is the digest of *data*; only its usual spellings are known here."""
    label, _, value = stated.partition(":")
    make = _MAKERS.get(label)
    if make is None:
        return False
    made = make(data, usedforsecurity=False)
    if len(value) != 32 or label != "sha1":
        return value == made.hexdigest()
    try:
        return int(value.translate(_BASE32), 32) == int.from_bytes(made.digest(), "big")
    except ValueError:
        return False


def _contents(record: StoredRecord, source: Source) -> list[Problem]:
    """What is wrong with the block of *record*."""
    try:
        block = _Block(record, source)
        problems = list(_digest_problems(record, block))
        if block.trouble:
            values = {"reason": block.trouble}
            problems.append(Problem.of("bad-http", record.path, record.offset, **values))
    except BadWarc as error:
        return [Problem.of("unreadable", record.path, record.offset, reason=error.message)]
    return problems


def check(volume: Volume | Path | str, *, digests: bool = True) -> Check:
    """Everything that is wrong with the *volume*: an iterable of problems that counts them."""
    return Check(volume, digests=digests)
