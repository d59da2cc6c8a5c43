"""Files of results into a database, and the file of those that no table takes."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from lafka.errors import BadArgument, StorageTrouble
from lafka.filesets.results.persisting import (
    BATCH,
    LONGEST_LINE,
    Dead,
    Message,
    Persister,
    Prepared,
    prepared,
)
from lafka.filesets.results.topics import group, results
from lafka.jobs.kafka import Message as Read
from lafka.jobs.kafka.places import Place, properties
from lafka.jobs.kafka.reading import Reader
from lafka.jobs.lines import ahead, batches, short_turns
from lafka.storage.folders import sync_folder

DATABASE = "ingest.sqlite"
DEAD = "ingest.dead.jsonl"
_SECONDS = 2.0


def place_of(root: Path | str, database: str | None) -> str:
    """Return where results are kept: *database* as it is set, else a file of the archive
    at *root*.
    """
    return database or str(Path(root) / DATABASE)


def persist(source: str, persister: Persister) -> None:
    """Persist the results in the file *source*, ``-`` for standard input, a JSON object a line.

    ``BadArgument`` where it cannot be opened; what persisting raises.
    """
    try:
        fd = os.dup(0) if source == "-" else os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise BadArgument(f"{source}: {error.strerror}") from None
    name = "standard input" if source == "-" else source
    try:
        with short_turns():
            for batch in ahead(_prepared(fd, name)):
                persister.put(batch)
    except IsADirectoryError:
        raise BadArgument(f"{source}: a folder, not a file of results") from None


def _prepared(fd: int, name: str) -> Iterator[list[Prepared]]:
    """The results that *fd* gives, ready to be written; it is closed behind the last."""
    try:
        for lines in batches(fd, BATCH, _SECONDS, LONGEST_LINE):
            yield prepared(Message(place=f"{name}:{n}", data=data) for n, data in lines)
    finally:
        os.close(fd)


def persist_topics(url: str, persister: Persister, settings: Mapping[str, Any]) -> None:
    """Persist what comes on the two topics of results at *url*, until a signal ends it in order.

    While the database is away nothing is taken, and the group keeps its member. Offsets are
    committed behind the transaction. ``BadArgument``, ``BrokerTrouble``.
    """
    place = Place.parse(url)
    names = settings["LAFKA_KAFKA_PREFIX"], settings["LAFKA_KAFKA_ENV"]
    topics = [place.topic] if place.topic else list(results(*names))
    member = group(*names, "persist-ingest-fileset")
    with Reader(place.servers, topics, member, properties(settings["LAFKA_KAFKA"])) as reader:
        told = persister.wait

        def wait(seconds: float, sentence: str) -> None:
            told(0, sentence)
            reader.rest(seconds)

        persister = replace(persister, wait=wait)
        with _ending() as is_over:
            for messages in reader.batches(BATCH, _SECONDS):
                if messages:
                    persister.write([_persisted(one) for one in messages])
                    reader.commit(messages)
                if is_over():
                    return


def _persisted(message: Read) -> Message:
    return Message(place=message.place, data=message.value)


@contextmanager
def _ending() -> Iterator[Callable[[], bool]]:
    """Return whether SIGINT or SIGTERM came: the first is noted, a second acts as it did before."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        came.append(number)
        signal.signal(number, before[signal.Signals(number)])

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield lambda: bool(came)
    finally:
        for number in numbers:
            signal.signal(number, before[number])


@contextmanager
def dead_letters(root: Path | str, path: str | None) -> Iterator[Callable[[Dead], None]]:
    """:func:`burying` to the file at *path*, else to one of the archive, or, where no archive is
    there, of the current folder.
    """
    folder = Path(root) if Path(root).is_dir() else Path()
    yield burying(Path(path) if path else folder / DEAD)


def burying(place: Path) -> Callable[[Dead], None]:
    """Return what appends each dead letter, synced, to the file *place*.

    A line has ``place``, ``reason`` and the message in base64 as ``data``. The file is made when
    it is needed. ``StorageTrouble``.
    """

    def bury(dead: Dead) -> None:
        data = base64.b64encode(dead.message.data).decode("ascii")
        told = {"place": dead.message.place, "reason": dead.reason, "data": data}
        line = json.dumps(told, ensure_ascii=False) + "\n"
        try:
            is_new = not place.exists()
            with place.open("ab", buffering=0) as file:
                file.write(line.encode("utf-8", "backslashreplace"))
                os.fsync(file.fileno())
            if is_new:
                sync_folder(place.parent)
        except OSError as error:
            raise StorageTrouble(place, error) from error

    return bury
