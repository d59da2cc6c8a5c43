"""What each room's tests cost, shown at the end of a run with ``--costs``.

CPU is of the tests' own process and of the children that it waited for; a process counts where it
was started, forks of a warm one too. What the collection of tests takes is nobody's.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pytest

from tests.starts import STARTED

_Cost = tuple[float, float, int]
"""Seconds of CPU in this process, in its children, and processes started."""


@dataclass(eq=False)  # pytest keeps plugins in sets
class Costs:
    """A plugin: in the process that tests, it adds to reports; in the one that tells, it sums."""

    started: int = 0
    before: _Cost = (0.0, 0.0, 0)
    rooms: dict[str, list[_Cost]] = field(default_factory=lambda: defaultdict(list))
    tests: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _args: tuple[Any, ...]) -> None:
        self.started += event in ("subprocess.Popen", STARTED)

    def _now(self) -> _Cost:
        took = os.times()
        return took.user + took.system, took.children_user + took.children_system, self.started

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        del item
        self.before = self._now()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        own, children, started = (b - a for a, b in zip(self.before, self._now(), strict=True))
        item.user_properties.append(("cost", (own, children, started)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        path = PurePosixPath(report.nodeid.partition("::")[0])
        room = path.parts[1] if len(path.parts) > 2 else "the whole house"
        self.tests[room].add(report.nodeid)
        self.rooms[room] += [tuple(cost) for name, cost in report.user_properties if name == "cost"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in self.table():
            terminalreporter.write_line(line)

    def table(self) -> list[str]:
        rows = [
            (room, len(self.tests[room]), *map(sum, zip(*costs, strict=True)))
            for room, costs in self.rooms.items()
        ]
        rows.sort(key=lambda row: -row[2] - row[3])
        if rows:
            rows.append(("all", *map(sum, zip(*(row[1:] for row in rows), strict=True))))
        return [
            "| tests of | tests | processes | CPU s | of them in children |",
            "| --- | ---: | ---: | ---: | ---: |",
            *(
                f"| {room} | {tests:,} | {started:,} | {own + children:.0f} | {children:.0f} |"
                for room, tests, own, children, started in rows
            ),
        ]
