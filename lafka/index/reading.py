"""Suwafs and lines of feeds, read in children where an index is made anew and they are many.

What a child tells, it tells in the order in which it was asked, so that the index is the same; what
it cannot tell, because it died or the disk did not read, is read once more here.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from operator import add, attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lafka.errors import BadPid, LafkaError, MachineTrouble
from lafka.index.papers import Count
from lafka.index.rows import BadLine, FeedLine, Named, host_of
from lafka.index.scan import ReadPapers, read_papers
from lafka.papers import Archive, Outcome
from lafka.storage import children
from lafka.storage.children import ChildDied, Children

CHILDREN = min(4, os.cpu_count() or 1)
AHEAD = CHILDREN + 1
"""Questions that are asked before the first of them is answered."""
ALONE = 2_000
"""Suwafs and lines that are read before children begin."""
CPU_SECONDS = 60
MODULE = "lafka.index.reading"
"""The module whose ``serve`` a child runs."""


T = TypeVar("T")
_BAD_PID = str(Outcome.BAD_PID)


class Question(NamedTuple):
    """A question to a child, and how many suwafs or lines it is for."""

    values: dict[str, Any]
    lines: int


class ReadLines(NamedTuple):
    """What was read of some lines: the values of those that were ``asked``, ``counts`` of all, and
    the reason of each that is no outcome.
    """

    asked: list[Sequence[Any]]
    counts: list[Count]
    bad: list[str]


class Reading:
    """Answers questions in their order; *is_anew*: ahead of the one who asks, in children."""

    def __init__(self, archive: Archive, *, is_anew: bool) -> None:
        self._archive = archive
        self._left = ALONE if is_anew and CHILDREN > 1 else float("inf")
        self._children: Children | None = None
        self._threads = ThreadPoolExecutor(CHILDREN, thread_name_prefix="lafka-reading")

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        if self._children:
            self._children.stop()

    def all(self, task: str, asked: Iterable[tuple[T, Question]]) -> Iterator[tuple[T, Any]]:
        """Yield what *task* answers to each question that is *asked*, with what came with it.

        Without children no question is taken before the one before it was answered.
        """
        waiting: deque[tuple[T, Callable[[], Any]]] = deque()
        for key, question in asked:
            waiting.append((key, self._begin(task, question)))
            if len(waiting) > (AHEAD if self._children else 0):
                key, answer = waiting.popleft()
                yield key, answer()
        yield from ((key, answer()) for key, answer in waiting)

    def _begin(self, task: str, question: Question) -> Callable[[], Any]:
        self._left -= question.lines
        if self._left > 0:
            return partial(_TASKS[task], self._archive, question.values)
        self._children = self._children or Children(MODULE, CHILDREN)
        future: Future[Any] = self._threads.submit(self._ask, self._children, task, question.values)
        return future.result

    def _ask(self, children: Children, task: str, values: dict[str, Any]) -> Any:
        place = {"root": str(self._archive.root), "collection": self._archive.scheme.name}
        try:
            answer = children.ask(task, {**values, **place}, seconds=CPU_SECONDS)
        except (ChildDied, MachineTrouble):
            answer = None
        return _TASKS[task](self._archive, values) if answer is None else answer


# In the child, and here -------------------------------------------------------------------


def serve() -> None:
    """Read until standard input ends. Runs in the child."""
    children.serve({name: partial(_tried, task) for name, task in _TASKS.items()})


def _tried(task: _Task, values: dict[str, Any], data: bytes) -> Any:  # noqa: ARG001
    try:
        return task(_archive(values["root"], values["collection"]), values)
    except (LafkaError, OSError, MemoryError):
        return None


_Task = Callable[[Archive, dict[str, Any]], Any]
_archive = lru_cache(maxsize=1)(Archive)
_VALUES = attrgetter(*FeedLine.__slots__)


def _suwafs(archive: Archive, asked: dict[str, Any]) -> ReadPapers:
    return read_papers(archive, asked["folder"], asked["names"])


def _lines(archive: Archive, asked: dict[str, Any]) -> ReadLines:
    read, lines = ReadLines([], [], []), list[bytes]()
    counts: dict[tuple[str, str, str, str], list[int]] = {}
    with suppress(FileNotFoundError), Path(asked["feed"]).open("rb") as feed:
        feed.seek(asked["start"])
        lines = feed.read(asked["size"]).split(b"\n")[:-1]
    for data in lines:
        try:
            line = FeedLine.of(data)
        except BadLine as error:
            read.bad.append(str(error))
            continue
        _count(archive, line, counts)
        if line.outcome != _BAD_PID and not line.is_held:
            read.asked.append(_VALUES(line))
    read.counts.extend(counts.items())
    return read


def _count(
    archive: Archive, line: FeedLine, counts: dict[tuple[str, str, str, str], list[int]]
) -> None:
    code = host = ""
    if line.outcome != _BAD_PID:
        host = host_of(line.futli)
        with suppress(BadPid):
            code = Named.of(archive.pid(line.pid)).archive
    count = counts.setdefault((line.time[:10], host, code, line.outcome), [0, 0, 0, 0, 0])
    values = (1, line.is_held, line.requests, line.new, line.size)
    count[:] = map(add, count, values)


_TASKS: dict[str, _Task] = {"suwafs": _suwafs, "lines": _lines}
