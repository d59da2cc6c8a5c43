"""The gate's table in PostgreSQL: which worker may ask a host, until when, and who is parked.

A row is a host. ``until`` is when a claim runs out or, once it was given back (``worker`` is null),
when the host's delay is over; ``wanted`` is when a worker was refused last; ``parked`` and ``why``
are a host's own wish to be left alone. The clock is the server's. Each statement is a transaction
and locks its rows in the order of their names, so that no two workers lock each other out.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from lafka.errors import LafkaError

LEASE = 15.0
"""Seconds, beside the host's delay, that a claim lasts if it is not renewed."""
_MADE = """
SELECT pg_advisory_xact_lock(hashtext('lafka_gate'));
CREATE TABLE IF NOT EXISTS lafka_gate (
    host text COLLATE "C" PRIMARY KEY,
    worker text,
    until timestamptz NOT NULL DEFAULT now(),
    wanted timestamptz,
    parked timestamptz,
    why text
) WITH (fillfactor = 50)
"""
_SESSION = (
    "SELECT set_config('synchronous_commit', 'on', false),"
    " set_config('statement_timeout', '5s', false), to_regclass('lafka_gate')"
)
# A server that was away could not be told that its claims go on: they last a lease from its start.
_FREE = f"""(
    (gate.until <= now() AND (
        gate.worker IS NULL OR pg_postmaster_start_time() <= now() - interval '{LEASE} s'
    ) OR gate.worker = excluded.worker)
    AND coalesce(gate.parked, now()) <= now()
)"""
_CLAIM = f"""
INSERT INTO lafka_gate AS gate (host, worker, until)
SELECT host, %(worker)s, now() + seconds * interval '1 s'
    FROM unnest(%(hosts)s::text[], %(seconds)s::float8[]) AS asked (host, seconds)
    ORDER BY host COLLATE "C"
ON CONFLICT (host) DO UPDATE SET
    worker = CASE WHEN {_FREE} THEN excluded.worker ELSE gate.worker END,
    until = CASE WHEN {_FREE} THEN excluded.until ELSE gate.until END,
    wanted = CASE WHEN {_FREE} THEN NULL ELSE now() END
RETURNING host, coalesce(worker = %(worker)s AND wanted IS NULL, false),
    extract(epoch FROM until - now())::float8,
    coalesce(extract(epoch FROM parked - now()), 0)::float8, coalesce(why, '')
"""  # noqa: S608  ours
_MINE = """
WITH mine AS (
    SELECT gate.host, seconds FROM lafka_gate AS gate
    JOIN unnest(%(hosts)s::text[], %(seconds)s::float8[]) AS given (host, seconds) USING (host)
    WHERE worker = %(worker)s ORDER BY gate.host COLLATE "C" FOR UPDATE OF gate
)
UPDATE lafka_gate AS gate SET until = now() + seconds * interval '1 s'"""
_RENEW = f"""{_MINE} FROM mine WHERE gate.host = mine.host
RETURNING gate.host, coalesce(wanted > now() - interval '2 s', false)"""
_RELEASE = f"{_MINE}, worker = NULL, wanted = NULL FROM mine WHERE gate.host = mine.host"
_PARK = """
INSERT INTO lafka_gate AS gate (host, parked, why)
SELECT host, now() + seconds * interval '1 s', why
    FROM unnest(%(hosts)s::text[], %(seconds)s::float8[], %(whys)s::text[])
        AS given (host, seconds, why) ORDER BY host COLLATE "C"
ON CONFLICT (host) DO UPDATE SET
    why = CASE WHEN gate.parked > excluded.parked THEN gate.why ELSE excluded.why END,
    parked = greatest(gate.parked, excluded.parked)
"""
_LEAVE = """
WITH mine AS (
    SELECT host FROM lafka_gate WHERE worker = %(worker)s ORDER BY host COLLATE "C" FOR UPDATE
)
UPDATE lafka_gate AS gate SET worker = NULL, until = now() FROM mine WHERE gate.host = mine.host
"""


class GateAway(LafkaError):
    """The gate does not answer, or refuses; what was asked may be asked again."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Seconds until another's claim or a delay is over, and for how many the host is parked."""

    left: float
    parked: float = 0.0
    why: str = ""


class Server(Protocol):
    """``lafka.jobs.database.postgresql.Server``."""

    error: type[Exception]

    def connect(self) -> Any: ...

    def sentence(self, error: Exception) -> str: ...


class Claims:
    """The claims of one worker in the table ``lafka_gate`` on *server*, made where it is missing.

    *worker* is a name that no other has. Connected when first asked, and again after a failure. For
    one thread, but for :meth:`abort`; all methods raise ``GateAway``.
    """

    def __init__(self, server: Server, worker: str) -> None:
        self._server = server
        self._worker = worker
        self._connection: Any = None

    def claim(self, leases: Mapping[str, float]) -> dict[str, Refusal | None]:
        """Claim hosts for so many seconds: None for those that are ours now."""
        rows = self._execute(_CLAIM, hosts=[*leases], seconds=[*leases.values()])
        return {
            host: None if ours else Refusal(max(0.0, left), max(0.0, parked), why)
            for host, ours, left, parked, why in rows
        }

    def renew(self, leases: Mapping[str, float]) -> dict[str, bool]:
        """Keep hosts for so many seconds from now: whether another wants it; not those lost."""
        return dict(self._execute(_RENEW, hosts=[*leases], seconds=[*leases.values()]))

    def release(self, delays: Mapping[str, float]) -> None:
        """Give hosts back; nobody may claim one for so many seconds."""
        self._execute(_RELEASE, hosts=[*delays], seconds=[*delays.values()])

    def park(self, parkings: Mapping[str, tuple[float, str]]) -> None:
        """Let nobody claim a host for so many seconds, with the reason."""
        seconds = [seconds for seconds, _ in parkings.values()]
        whys = [why for _, why in parkings.values()]
        self._execute(_PARK, hosts=[*parkings], seconds=seconds, whys=whys)

    def leave(self) -> None:
        """Give back all that is still ours, and disconnect."""
        if self._connection is not None:
            self._execute(_LEAVE)
            self._close()

    def abort(self) -> None:
        """Break off what goes on, from any thread."""
        connection = self._connection
        # It may be closed just now, or not be open yet.
        with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)

    def _execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        try:
            if self._connection is None:
                self._connect()
            cursor = self._connection.execute(statement, {"worker": self._worker, **values})
            return list(cursor.fetchall()) if cursor.description else []
        except self._server.error as error:
            self._close()
            raise GateAway(self._server.sentence(error)) from error

    def _connect(self) -> None:
        self._connection = self._server.connect()
        *_, table = self._connection.execute(_SESSION).fetchone()
        if table is None:
            self._connection.execute(_MADE)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        with suppress(self._server.error):
            if connection is not None:
                connection.close()
