"""Tasks of a reader, answered in order by this process and a second one beside it.

The second one begins when there are many tasks and a core for it. It keeps nothing and writes
nothing: where it ends, for whatever reason, what it was asked is done here. On the pipes each
message is a length of eight bytes and what ``marshal`` makes, which runs nothing when it is read.
"""

from __future__ import annotations

import marshal
import os
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.index.reading import Reader
from lafka.papers import Archive
from lafka.storage import children
from lafka.warc.format.sources import write_all

MODULE = "lafka.index.beside"
"""The module whose ``serve`` the second process runs."""
AHEAD = 3
"""Tasks that it has at a time: while it is busy with them, this process does others itself."""
WINDOW = 6
"""Tasks that are begun and not given back."""
ALONE = 8
"""Tasks that are done without it: to start it for them would take longer."""
_LENGTH = struct.Struct(">Q")

Task = tuple[Any, ...]
"""The name of a method of :class:`Reader`, and what it is called with."""


@dataclass(slots=True)
class _Begun:
    """A task, and what came of it; ``apart``: the second process has it."""

    task: Task
    result: Any = None
    apart: bool = False


class Beside:
    """Answers tasks over *archive*, so many *alone* at first; to be closed."""

    def __init__(self, archive: Archive, *, alone: int | None = None) -> None:
        self._archive = archive
        self._alone = ALONE if alone is None else alone
        self._reader = Reader(archive)
        self._process: subprocess.Popen[bytes] | None = None
        self._count = 0
        self._asked = 0

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Each of *tasks*, which are asked for as they are begun, with its result; in order."""
        begun: deque[_Begun] = deque()
        for task in tasks:
            begun.append(self._begin(task))
            while begun and (len(begun) >= WINDOW or self._is_done(begun[0])):
                yield self._ended(begun.popleft())
        while begun:
            yield self._ended(begun.popleft())

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            children.closed(process)

    def _begin(self, task: Task) -> _Begun:
        self._count += 1
        if self._count == self._alone + 1:
            self._start()
        if self._process is not None and self._asked < AHEAD and self._sent(task):
            self._asked += 1
            return _Begun(task, apart=True)
        return _Begun(task, _answer(self._reader, task))

    def _start(self) -> None:
        if len(os.sched_getaffinity(0)) < 2:
            return
        self._process = children.started(MODULE)
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), True)
        self._sent((str(self._archive.root), self._archive.scheme.name))

    def _sent(self, message: Any) -> bool:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            write_all(process.stdin.fileno(), _packed(message))
        except BrokenPipeError:
            return False  # what it still has is done here when it is wanted
        return True

    def _is_done(self, begun: _Begun) -> bool:
        if not begun.apart or self._process is None:
            return True
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _ended(self, begun: _Begun) -> tuple[Task, Any]:
        if begun.apart:
            self._asked -= 1
            begun.result = self._received()
            if begun.result is None:
                self.close()
                begun.result = _answer(self._reader, begun.task)
        return begun.task, begun.result

    def _received(self) -> Any:
        """The next result of the second process, None where it gives none any more."""
        if self._process is None:
            return None
        assert self._process.stdout is not None
        read = self._process.stdout.read
        head = _exactly(read, _LENGTH.size)
        data = _exactly(read, _LENGTH.unpack(head)[0]) if head else b""
        return marshal.loads(data) if data else None  # noqa: S302  our own process made it


def _answer(reader: Reader, task: Task) -> Any:
    name, *values = task
    return getattr(reader, name)(*values)


def _packed(message: Any) -> bytes:
    data = marshal.dumps(message)
    return _LENGTH.pack(len(data)) + data


def _exactly(read: Any, size: int) -> bytes:
    """*size* bytes; none where there are no more."""
    pieces = bytearray()
    while len(pieces) < size:
        piece = read(size - len(pieces))
        if not piece:
            return b""
        pieces += piece
    return bytes(pieces)


# In the second process --------------------------------------------------------------------


def serve() -> None:
    """Answer tasks until standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # who asks ends us
        signal.signal(number, signal.SIG_IGN)
    answers = os.dup(1)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    made: queue.SimpleQueue[bytes] = queue.SimpleQueue()  # never more than ``AHEAD``
    writer = threading.Thread(target=_write, args=(answers, made), daemon=True)
    writer.start()
    read = sys.stdin.buffer.read
    root, collection = _asked(read)
    reader = Reader(Archive(root, collection))
    with suppress(Exception):  # it comes again where it can be told
        while (task := _asked(read)) is not None:
            made.put(_packed(_answer(reader, task)))
    made.put(b"")
    writer.join()


def _asked(read: Any) -> Any:
    head = _exactly(read, _LENGTH.size)
    return marshal.loads(_exactly(read, _LENGTH.unpack(head)[0])) if head else None  # noqa: S302


def _write(answers: int, made: queue.SimpleQueue[bytes]) -> None:
    with suppress(OSError):  # nobody reads any more
        while data := made.get():
            write_all(answers, data)
    os._exit(0)
