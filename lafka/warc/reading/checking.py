"""A volume held to the standard, and every digest in it computed again (WARC/1.1 sections 4, 5).

>>> checked = check("a.warc.gz")  # doctest: +SKIP
>>> for problem in checked:  # doctest: +SKIP
...     print(problem.to_json())
>>> print(checked.records, checked.counts["error"])  # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ..format.fields import Fields
from ..format.rules import VERSIONS, faults
from ..format.sources import MemorySource
from ..problems import Problem
from .stored import StoredRecord, contents, is_plainly_right
from .volumes import Volume

_APART = 64 << 10  # bytes of a block from which on it is hashed in a thread of its own
_AT_HAND = 4 << 20  # bytes of a block that is inflated once and kept for its thread
_THREADS = 2
_AHEAD = 4
_IDS_MAX = 500_000
_TOLD_BEFORE = frozenset({"line-end", "long-line", "bad-length"})  # by the volume


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
        """True if there was no error, so far."""
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
        """Yield what is found already, in order; of large records *left* may still be hashed."""
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
            record.know(self._judge_header(record.offset, record.header, record.inner))
        self._judge_id(record)
        if not self._digests:
            return
        source = record.block()
        if record.block_length >= _APART and not self.volume.is_plain:
            if record.block_length > _AT_HAND:  # only one thread can inflate a volume
                self._found.extend(contents(record, source))
                return
            source = MemorySource(source.read(0, source.size))
        if record.block_length < _APART:
            data = source.read(0, record.block_length)
            if not is_plainly_right(record, data):
                self._found.extend(contents(record, MemorySource(data)))
        else:
            self._found.append(threads.submit(contents, record, source).result)

    def _placed(self, problem: Problem, offset: int, behind: int, inner: int) -> Problem:
        """*problem*, which stands *behind* the begin of the record there."""
        path, is_plain = self.volume.path, self.volume.is_plain
        if is_plain:
            return replace(problem, path=path, offset=offset + behind)
        return replace(problem, path=path, offset=offset, inner=inner + behind)

    def _judge_header(self, offset: int, header: bytes, inner: int = 0) -> Fields:
        """Hold a header to the standard, of a record that can be read or of one that cannot."""
        volume, begin = self.volume, header.find(b"\n") + 1
        problems: list[Problem] = []
        lines = header[begin:-2] if header.endswith(b"\r\n\r\n") else header[begin:]
        fields = Fields.parse(lines, problems=problems)
        for problem in problems:
            if problem.code not in _TOLD_BEFORE:
                self._found.append(self._placed(problem, offset, begin + problem.offset, inner))
        version = header[5 : begin - 1].decode("latin-1").strip()
        for code, values in faults(fields, version if version in VERSIONS else "1.0"):
            if code != "bad-length":
                self._found.append(Problem.of(code, volume.path, offset, inner, **values))
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
            place = record.path, record.offset, record.inner
            self._found.append(Problem.of("repeated-id", *place, **values))
        elif len(self._ids) < _IDS_MAX:
            self._ids[key] = record.offset


def check(volume: Volume | Path | str, *, digests: bool = True) -> Check:
    """Everything that is wrong with the *volume*: an iterable of problems that counts them."""
    return Check(volume, digests=digests)
