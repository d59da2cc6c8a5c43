"""Results on their way into a database: batches, rows that are refused, a database that is away.

At least once: a batch that was written is acknowledged afterwards, and writing it again changes
nothing but ``updated``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lafka.errors import LafkaError
from lafka.filesets.model.results import check_result
from lafka.filesets.model.rows import Row, Rows, rows_of
from lafka.jobs.database import Away, Refused

BATCH = 500
LONGEST_LINE = 32 << 20
"""Bytes of a result: more than any topic takes."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0  # seconds between two tries


class Tables(Protocol):
    """A database as it is needed here: :class:`lafka.jobs.database.Database`."""

    def write(self, batch: Sequence[Mapping[str, Sequence[Row]]]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A result as it came: ``place`` says where from, a line of a file or an offset of a topic."""

    place: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """A message that cannot be persisted, and why."""

    message: Message
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A message's rows; None where it is no result, and then ``reason`` says why."""

    message: Message
    rows: Rows | None = None
    reason: str = ""


def prepared(messages: Iterable[Message]) -> list[Prepared]:
    """*messages* read, in their order; nothing is written and nothing told."""
    return [_prepared(message) for message in messages]


def _prepared(message: Message) -> Prepared:
    try:
        return Prepared(message=message, rows=rows_of(parse(message.data)))
    except ValueError as error:
        return Prepared(message=message, reason=str(error))


@dataclass(slots=True)
class Account:
    """How many results were written, how many refused, and terminal URLs that no column takes."""

    written: int = 0
    refused: int = 0
    dropped_urls: int = 0


@dataclass(slots=True, kw_only=True)
class Persister:
    """Writes results to *database*; those that cannot be written go to *dead*.

    *wait* is given seconds when the database is away, and the sentence to tell: it may go on
    polling, and raises to give up.
    """

    database: Tables
    dead: Callable[[Dead], object]
    wait: Callable[[float, str], object]
    account: Account = field(default_factory=Account)

    def write(self, messages: Sequence[Message]) -> None:
        """Persist *messages*, in their order; what a check refuses is isolated, the rest goes in.

        ``BadDatabase``; ``StorageTrouble``.
        """
        self.put(prepared(messages))

    def put(self, batch: Sequence[Prepared]) -> None:
        """Persist what was prepared, as :meth:`write`."""
        readable = list(self._readable(batch))
        if readable:
            self._write([message for message, _ in readable], [rows for _, rows in readable])

    def _readable(self, batch: Iterable[Prepared]) -> Iterator[tuple[Message, Mapping[str, Any]]]:
        for one in batch:
            if one.rows is None:
                self._refuse(one.message, one.reason)
                continue
            self.account.dropped_urls += one.rows.dropped_urls
            yield one.message, one.rows.tables()

    def _write(self, messages: Sequence[Message], rows: Sequence[Mapping[str, Any]]) -> None:
        try:
            self._tried(rows)
        except Refused as error:
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
            except Away as error:
                self.wait(seconds, str(error))
            seconds = min(2 * seconds, _LONGEST_WAIT)

    def _refuse(self, message: Message, reason: str) -> None:
        self.account.refused += 1
        self.dead(Dead(message=message, reason=reason))


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


def batches(messages: Iterable[Message], size: int = BATCH) -> Iterator[list[Message]]:
    """*messages* in lists of *size*, the last one shorter."""
    batch: list[Message] = []
    for message in messages:
        batch.append(message)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
