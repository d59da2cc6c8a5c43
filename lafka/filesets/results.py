"""Results on their way to topics and into a database, and the file of refused messages.

At least once: a batch that was written is acknowledged afterwards, and writing it again changes
nothing but ``updated``.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

from lafka.errors import BadArgument, LafkaError
from lafka.filesets.model.messages import check_result
from lafka.filesets.model.rows import Rows, rows_of
from lafka.jobs.database import BadDatabase, Database, DatabaseAway, RowRefused, opened
from lafka.jobs.kafka import Message as Read
from lafka.jobs.kafka.consuming import Reader
from lafka.jobs.kafka.topics import Place, Topic, properties
from lafka.jobs.lines import Message, UnusableMessage, ahead, batches, burying, short_turns

REQUESTS = (("ingest-file-requests-daily", 24), ("ingest-file-requests-bulk", 12),
            ("ingest-file-requests-priority", 6))  # fmt: skip
RESULTS = ("ingest-fileset-results", "ingest-file-results")
"""Of filesets, and of the single files that a ``success-file`` tells beside."""
_ASKED = {"cleanup.policy": "delete", "retention.ms": "7889400000"}  # a quarter of a year
_TOLD = {
    "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1",
    "max.message.bytes": "31457280",
}  # fmt: skip
_SNAPPY = {"compression.type": "snappy"}


def topics(prefix: str, env: str) -> tuple[Topic, ...]:
    """All topics, as they should be: ``PREFIX-ENV.NAME``."""
    asked = [(name, count, _ASKED) for name, count in REQUESTS]
    told = [(name, 6, _TOLD) for name in RESULTS]
    return tuple(
        Topic(name=f"{prefix}-{env}.{name}", partitions=count, config={**config, **_SNAPPY})
        for name, count, config in (*asked, *told)
    )


def results(prefix: str, env: str) -> tuple[str, str]:
    """The names of the two topics of results."""
    fileset, file = (f"{prefix}-{env}.{name}" for name in RESULTS)
    return fileset, file


def group(prefix: str, env: str, worker: str) -> str:
    """The consumer group of a kind of *worker*: ``ingest-fileset``, ``persist-ingest-fileset``."""
    return f"{prefix}-{env}-{worker}"


def key(result: Mapping[str, Any]) -> str:
    """The key of a result's message: results of one request stay in order."""
    request = result["request"]
    return f"{request['ingest_type']}\t{request['base_url']}"


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
            for batch in ahead(_read_results(fd, name)):
                persister.put(batch)
    except IsADirectoryError:
        raise BadArgument(f"{source}: a folder, not a file of results") from None


def _read_results(fd: int, name: str) -> Iterator[list[MessageRows]]:
    """Yield the results that *fd* gives, ready to be written; close it behind the last."""
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
    how = properties(settings["LAFKA_KAFKA"])
    with closing(Reader(place.servers, topics, member, how)) as reader:
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
def dead_letters(root: Path | str, path: str | None) -> Iterator[Callable[[UnusableMessage], None]]:
    """:func:`burying` to the file at *path*, else to one of the archive, or, where no archive is
    there, of the current folder.
    """
    folder = Path(root) if Path(root).is_dir() else Path()
    yield burying(Path(path) if path else folder / DEAD)


BATCH = 500
LONGEST_LINE = 32 << 20
"""Bytes of a result: more than any topic takes."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0  # seconds between two tries
_PATIENCE = 8.0  # the longest of those waits in a crawl


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRows:
    """A message's rows; None where it is no result, and then ``reason`` says why."""

    message: Message
    rows: Rows | None = None
    reason: str = ""


def prepared(messages: Iterable[Message]) -> list[MessageRows]:
    """*messages* read, in their order; nothing is written and nothing told."""
    return [_prepared(message) for message in messages]


def _prepared(message: Message) -> MessageRows:
    try:
        return MessageRows(message=message, rows=rows_of(parse(message.data)))
    except ValueError as error:
        return MessageRows(message=message, reason=str(error))


@dataclass(slots=True)
class ResultCounts:
    """The numbers of results written and refused, and of terminal URLs that no column takes."""

    written: int = 0
    refused: int = 0
    dropped_urls: int = 0


@dataclass(slots=True, kw_only=True)
class Persister:
    """Writes results to *database*; those that cannot be written go to *dead*.

    *wait* is given seconds when the database is away, and the sentence to tell: it may go on
    polling, and raises to give up.
    """

    database: Database
    dead: Callable[[UnusableMessage], object]
    wait: Callable[[float, str], object]
    account: ResultCounts = field(default_factory=ResultCounts)

    def write(self, messages: Sequence[Message]) -> None:
        """Persist *messages*, in their order; what a check refuses is isolated, the rest goes in.

        ``BadDatabase``; ``StorageTrouble``.
        """
        self.put(prepared(messages))

    def put(self, batch: Sequence[MessageRows]) -> None:
        """Persist what was prepared, as :meth:`write`."""
        readable = list(self._readable(batch))
        if readable:
            self._write([message for message, _ in readable], [rows for _, rows in readable])

    def _readable(
        self, batch: Iterable[MessageRows]
    ) -> Iterator[tuple[Message, Mapping[str, Any]]]:
        for one in batch:
            if one.rows is None:
                self._refuse(one.message, one.reason)
                continue
            self.account.dropped_urls += one.rows.dropped_urls
            yield one.message, one.rows.tables()

    def _write(self, messages: Sequence[Message], rows: Sequence[Mapping[str, Any]]) -> None:
        try:
            self._tried(rows)
        except RowRefused as error:
            if len(rows) == 1:
                self._refuse(messages[0], str(error))
                return
            half = len(rows) // 2
            self._write(messages[:half], rows[:half])
            self._write(messages[half:], rows[half:])
        else:
            self.account.written += len(rows)

    def _tried(self, rows: Sequence[Mapping[str, Any]]) -> None:
        seconds = _FIRST_WAIT
        while True:
            try:
                self.database.write(rows)
                return
            except DatabaseAway as error:
                self.wait(seconds, str(error))
            seconds = min(2 * seconds, _LONGEST_WAIT)

    def _refuse(self, message: Message, reason: str) -> None:
        self.account.refused += 1
        self.dead(UnusableMessage(message=message, reason=reason))


class CrawlRows:
    """Writes the results of a crawl without brokers into the database at *place*.

    It is opened with the first of them, in the thread that brings them. What a check refuses goes
    to *dead*. A database that is away is waited for some seconds, not where *is_over* says that
    the crawl ends.
    """

    def __init__(
        self, place: str, dead: Callable[[UnusableMessage], object], is_over: Callable[[], bool]
    ) -> None:
        self._place = place
        self._dead = dead
        self._is_over = is_over
        self._persister: Persister | None = None
        self._database: Database | None = None

    def write(self, run: str, results: Iterable[tuple[bytes, Mapping[str, Any]]]) -> None:
        """Write *results*, lines of the feed of *run*, but for those of no request.

        ``BadDatabase`` where it cannot be used, or stays away; ``StorageTrouble``.
        """
        if self._persister is None:
            self._database = opened(self._place)
            self._persister = Persister(database=self._database, dead=self._dead, wait=self._wait)
        self._persister.put([
            MessageRows(message=Message(place=run, data=line), rows=rows_of(result))
            for line, result in results
            if all(result["request"].get(name) for name in ("ingest_type", "base_url"))
        ])  # fmt: skip

    def _wait(self, seconds: float, sentence: str) -> None:
        if seconds > _PATIENCE or self._is_over():
            raise BadDatabase(sentence)
        time.sleep(seconds)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


def parse(data: bytes) -> dict[str, Any]:
    """The result in *data*; ``ValueError`` with a reason where it is none."""
    if len(data) > LONGEST_LINE:
        raise ValueError(f"a result of over {LONGEST_LINE} bytes")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    try:
        return check_result(value)
    except LafkaError as error:
        raise ValueError(str(error)) from None
