"""``pytest --floors``: the share of each room's statements that the tests reach, held to a floor.

A run of the whole short suite fails where a room is below its floor; one of a room's tests tells
the lines of that room that they did not reach. Floors are one to two points below what was
measured, so that a room whose new code has no test is noticed; who raises a share raises its floor.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests import reached, suites
from tests.starts import ROOT

FLOORS = {
    ".": 95, "archec": 93, "capture": 95, "cli": 94, "filesets": 94, "index": 96, "jobs": 77,
    "papers": 93, "politeness": 96, "reports": 97, "runs": 97, "spiders": 90, "storage": 96,
    "urls": 98, "warc": 97, "web": 95, "witness": 97,
}  # fmt: skip
"""Room, a folder of ``lafka`` -> percent; ``.`` for the modules beside them."""
WHOLE = (suites.SHORT, suites.ALL)
"""The suites that reach each room."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--floors", action="store_true", help="tell what the tests reach of Lafka")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("floors"):
        config.pluginmanager.register(_Floors(), "floors")


class _Floors:
    """A plugin of the process that tells; its forks have nothing to say."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lines: reached.Lines = {}
        self.low: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if os.getpid() != self.pid:
            return
        self.lines = reached.end()
        option = session.config.option
        if option.suite in WHOLE and not option.file_or_dir and not option.keyword:
            self.low = below(shares(self.lines, reached.PACKAGE), FLOORS)
            if self.low and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        terminalreporter.section("statements reached")
        places = [Path(path.split("::")[0]).absolute() for path in config.option.file_or_dir]
        for path, (yes, no) in self.lines.items():
            own = ROOT / "tests" / path.relative_to(reached.PACKAGE)
            if yes and no and any(own.parent.is_relative_to(place) for place in places):
                terminalreporter.write_line(f"{path.relative_to(ROOT)}: not {runs(yes, no)}")
        for room, share in shares(self.lines, reached.PACKAGE).items():
            terminalreporter.write_line(f"{room:12} {share:5.1f} %")
        for sentence in self.low:
            terminalreporter.write_line(sentence, red=True)


def runs(reached: list[int], missed: list[int]) -> str:
    """The lines *missed*, as ``3, 7-12``: from one to another where none between was reached."""
    lines = sorted([(line, False) for line in reached] + [(line, True) for line in missed])
    told = []
    for is_missed, group in groupby(lines, key=lambda line: line[1]):
        run = [line for line, _ in group]
        if is_missed:
            told.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}")
    return ", ".join(told)


def shares(lines: reached.Lines, package: Path) -> dict[str, float]:
    """Percent of the statements of each room of *package* that were reached."""
    counts: dict[str, list[int]] = {}
    for path, (yes, no) in sorted(lines.items()):
        room = next(iter(path.relative_to(package).parent.parts), ".")
        count = counts.setdefault(room, [0, 0])
        count[0] += len(yes)
        count[1] += len(yes) + len(no)
    return {room: 100 * yes / (all_ or 1) for room, (yes, all_) in counts.items()}


def below(found: Mapping[str, float], floors: Mapping[str, int]) -> list[str]:
    """A sentence a room that is below its floor, has none, or is not there any more."""
    said = [
        f"{room}: {share:.1f} %, and its floor is {floors[room]} %"
        for room, share in found.items()
        if room in floors and share < floors[room]
    ]
    said += [f"{room}: it has no floor in tests/floors.py" for room in found if room not in floors]
    return said + [f"{room}: there is no such room" for room in floors if room not in found]
