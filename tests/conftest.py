"""For all tests: which there are, what a failure tells, and nothing foreign is touched."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import httpx
import pytest
import scrapy.core.downloader.contextfactory  # noqa: F401  looks at its callers: few, this early

from tests import costs, lastruns, removals, starts, suites
from tests.waiting import LIMIT

pytest_plugins = ["tests.workers", "tests.floors"]
removals.install()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so shells begin what is in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite", choices=suites.SUITES, default=suites.SHORT)
    parser.addoption(
        "--programs", metavar="FOLDER", default="", help="an installed Lafka's, for docs"
    )
    parser.addoption("--costs", action="store_true", help="tell what each room's tests cost")
    parser.addoption("--draw", metavar="COMMIT", help="the forms that are drawn at this commit")
    parser.addoption("--order", type=int, metavar="SEED", help="a random order of files and tests")


def pytest_configure(config: pytest.Config) -> None:
    suites.choose(config.getoption("--suite"), config.getoption("--draw") or suites.commit())
    if config.getoption("--costs"):
        config.pluginmanager.register(costs.Costs())
    installed = config.getoption("--programs")
    starts.INSTALLED = str(Path(installed).absolute()) if installed else ""
    starts.children_are_forks()
    # The default of all its functions: five seconds are too few on a busy machine.
    vars(httpx._config.DEFAULT_TIMEOUT_CONFIG).update(httpx.Timeout(LIMIT).as_dict())


def pytest_collection() -> None:
    gc.disable()  # what tests are made of stays


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = suites.chosen(items)
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = suites.ordered(chosen, config.getoption("--order"))


@pytest.fixture(autouse=True)
def _nothing_foreign_is_touched() -> Iterator[None]:
    with removals.watched():
        yield


@pytest.fixture(autouse=True)
def _garbage_is_collected_as_ever() -> Iterator[None]:
    """After a command that set it for a process of its own, too; what it froze stays so."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.enable()


@pytest.fixture(autouse=True)
def _signals_come_as_ever() -> Iterator[None]:
    """After a crawl in this process, too: it leaves them to a thread of its own."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
