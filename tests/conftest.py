"""For all tests: no deadlines, as machines are busy, and nothing foreign is touched."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import lastruns, removals, starts

settings.register_profile("lafka", settings.default, deadline=None)
settings.load_profile("lafka")
removals.install()


@pytest.fixture(autouse=True)
def _nothing_foreign_is_touched() -> Iterator[None]:
    with removals.watched():
        yield


@pytest.fixture(autouse=True, scope="module")
def _runs_of_other_files_are_forgotten() -> None:
    lastruns.forget()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        report.sections += [("a process of this file", run) for run in lastruns.runs()]
    return report


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """A folder with ``lafka`` and ``scrapy``, which start at once."""
    with starts.programs() as folder:
        yield folder
