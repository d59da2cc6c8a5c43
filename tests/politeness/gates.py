"""A gate's table in memory, with a clock that tests set, and workers that share it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lafka.politeness.claims import GateAway, Refusal
from lafka.politeness.courier import BatchSender
from lafka.politeness.gate import Gate


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Row:
    worker: str | None = None
    until: float = 0.0
    wanted: float = 0.0
    parked: float = 0.0
    why: str = ""


@dataclass
class Table:
    """What ``lafka_gate`` is on a server; away where ``away`` is set."""

    clock: Clock = field(default_factory=Clock)
    rows: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    away: bool = False
    visits: int = 0


class FakeClaims:
    """The claims of *worker* in *table*."""

    def __init__(self, table: Table, worker: str) -> None:
        self._table = table
        self._worker = worker
        self.aborted = 0

    def _now(self) -> float:
        self._table.visits += 1
        if self._table.away:
            raise GateAway("postgresql://db/x: it is away")
        return self._table.clock()

    def _mine(self, hosts: Iterable[str]) -> list[tuple[str, Row]]:
        rows = ((host, self._table.rows[host]) for host in hosts)
        return [(host, row) for host, row in rows if row.worker == self._worker]

    def claim(self, leases: Mapping[str, float]) -> dict[str, Refusal | None]:
        now, found = self._now(), dict[str, Refusal | None]()
        for host, lease in leases.items():
            row = self._table.rows[host]
            if row.parked <= now and (row.until <= now or row.worker == self._worker):
                row.worker, row.until, row.wanted = self._worker, now + lease, 0.0
                found[host] = None
            else:
                row.wanted = now
                found[host] = Refusal(max(0, row.until - now), max(0, row.parked - now), row.why)
        return found

    def renew(self, leases: Mapping[str, float]) -> dict[str, bool]:
        now = self._now()
        for host, row in self._mine(leases):
            row.until = now + leases[host]
        return {host: row.wanted > now - 2 for host, row in self._mine(leases)}

    def release(self, delays: Mapping[str, float]) -> None:
        now = self._now()
        for host, row in self._mine(delays):
            row.worker, row.until, row.wanted = None, now + delays[host], 0.0

    def park(self, parkings: Mapping[str, tuple[float, str]]) -> None:
        now = self._now()
        for host, (seconds, why) in parkings.items():
            row = self._table.rows[host]
            if now + seconds > row.parked:
                row.parked, row.why = now + seconds, why

    def leave(self) -> None:
        for _, row in self._mine([*self._table.rows]):
            row.worker, row.until = None, self._table.clock()

    def abort(self) -> None:
        self.aborted += 1


class Worker:
    """A gate whose courier goes when the test says so, and what it told."""

    def __init__(self, table: Table, name: str, *, delay: float = 0.0, patience: float = 60.0):
        self.table = table
        self.claims = FakeClaims(table, name)
        self.delay = delay
        self.last: dict[str, float] = {}
        self.waits: set[str] = set()
        self.sending: set[str] = set()
        self.changed: list[str] = []
        self.parked: dict[str, float] = {}
        self.lost: list[str] = []
        self.gate = Gate(
            self.claims,
            delay=lambda _: self.delay,
            call=lambda work: work(),
            on_lost=self.lost.append,
            patience=patience,
            clock=table.clock,
        )
        self.gate.on_parked = lambda host, seconds, _: self.parked.update({host: seconds})
        self.gate.queues.append(self)
        self.courier: BatchSender = self.gate._courier
        self.courier.start = lambda: None  # type: ignore[method-assign]

    def delay_left(self, host: str) -> float:
        return self.last.get(host, -1e9) + self.delay - self.table.clock()

    def has(self, host: str) -> bool:
        return host in self.waits

    def is_sending(self, host: str) -> bool:
        return host in self.sending

    def gate_changed(self, hosts: Iterable[str]) -> None:
        self.changed += hosts

    def visit(self) -> None:
        """Let the courier go, where there is anything to do."""
        if self.courier._next:
            self.courier.visit()

    def look(self) -> None:
        self.gate.look()
        self.visit()

    def send(self, host: str, request: object = "request") -> bool:
        """Begin a request where that may be and the slot's delay is over."""
        if self.delay_left(host) > 0 or not self.gate.begin(host, (host, request)):
            return False
        self.last[host] = self.table.clock()
        return True

    def end(self, host: str, request: object = "request") -> None:
        self.gate.end((host, request))

    def takes(self, host: str) -> bool:
        """Ask for *host*, and return whether it is ours then."""
        self.waits.add(host)
        self.gate.wait(host)
        self.visit()
        return self.gate.wait(host) == 0
