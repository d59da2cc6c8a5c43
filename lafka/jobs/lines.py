"""Lines of a file or a pipe, read in batches ahead of their use, and dead letters.

A dead letter is a message of which nothing can be made, kept in a file with the reason.
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from lafka.errors import StorageTrouble
from lafka.storage.folders import sync_folder

T = TypeVar("T")
_PIECE = 1 << 20
_TURN = 0.000_5
"""Seconds after which a thread of two that work lets the other on."""


class Splitter:
    """Makes lines, without their ends, of bytes that come in pieces.

    Of a line of over *longest* bytes its first ``longest + 1`` are given, and the rest is dropped.
    """

    def __init__(self, longest: int) -> None:
        self._most = longest + 1
        self._rest = bytearray()

    def lines(self, data: bytes) -> Iterator[bytes]:
        """The lines that *data* ends."""
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._keep(piece)
            yield self.last()
        self._keep(rest)

    def last(self) -> bytes:
        """The line that is begun, empty for none."""
        line = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        return line

    def _keep(self, piece: bytes) -> None:
        self._rest += piece[: self._most - len(self._rest)]


def batches(fd: int, size: int, seconds: float, longest: int) -> Iterator[list[tuple[int, bytes]]]:
    """The lines of *fd* with their numbers from 1; those that are empty are left out.

    A list has *size* lines, or fewer where another one does not come for *seconds*. Lines are cut
    as :class:`Splitter` does. ``OSError``.
    """
    splitter = Splitter(longest)
    held: list[tuple[int, bytes]] = []
    number = 0
    while True:
        if held and not select.select([fd], [], [], seconds)[0]:
            yield held
            held = []
        data = os.read(fd, _PIECE)
        for line in splitter.lines(data) if data else (splitter.last(),):
            number += 1
            if line.strip():
                held.append((number, line))
            if len(held) == size:
                yield held
                held = []
        if not data:
            break
    if held:
        yield held


def ahead(items: Iterable[T]) -> Iterator[T]:
    """*items*, the next of which is made in a thread while one is in use; what making raises.

    Nobody waits for that thread where the use ends early: it may be reading a pipe.
    """
    made: SimpleQueue[tuple[T, ...] | BaseException] = SimpleQueue()
    room = threading.Semaphore(1)
    over = threading.Event()

    def make() -> None:
        iterator = iter(items)
        try:
            while room.acquire() and not over.is_set():
                made.put((next(iterator),))
        except StopIteration:
            made.put(())
        except BaseException as error:
            made.put(error)

    threading.Thread(target=make, name="lafka-ahead", daemon=True).start()
    try:
        while got := made.get():
            room.release()
            if isinstance(got, BaseException):
                raise got
            yield got[0]
    finally:
        over.set()
        room.release()


@contextmanager
def short_turns() -> Iterator[None]:
    """Threads take turns more often, for one that makes and one that mostly waits for others.

    Who has waited for a database goes on only when the other's turn ends. After Python's own 5 ms a
    batch was made meanwhile, nothing more could be, and each worked while the other stood.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as it came: ``place`` says where from, a line of a file or an offset of a topic."""

    place: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusableMessage:
    """A message of which nothing can be made, and why."""

    message: Message
    reason: str


def burying(place: Path) -> Callable[[UnusableMessage], None]:
    """Return what appends each dead letter, synced, to the file *place*.

    A line of a topic's message has ``topic``, ``partition``, ``offset``, ``base64`` and ``reason``;
    one of a line of a file has ``place``, ``reason``, and the line in base64 as ``data``. The file
    is made when it is needed. ``StorageTrouble``.
    """

    def bury(dead: UnusableMessage) -> None:
        line = json.dumps(_letter(dead), ensure_ascii=False) + "\n"
        with StorageTrouble.at(place):
            is_new = not place.exists()
            with place.open("ab", buffering=0) as file:
                file.write(line.encode("utf-8", "backslashreplace"))
                os.fsync(file.fileno())
            if is_new:
                sync_folder(place.parent)

    return bury


_OF_TOPIC = re.compile(r"([A-Za-z0-9._-]+)/([0-9]+)@([0-9]+)")


def _letter(dead: UnusableMessage) -> dict[str, Any]:
    """Return the values of the line of *dead*."""
    message, reason = dead.message, dead.reason
    data = base64.b64encode(message.data).decode("ascii")
    if found := _OF_TOPIC.fullmatch(message.place):
        topic, partition, offset = found.groups()
        where = {"topic": topic, "partition": int(partition), "offset": int(offset)}
        return {**where, "base64": data, "reason": reason}
    return {"place": message.place, "reason": reason, "data": data}
