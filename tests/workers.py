"""``pytest --workers N``: the tests are collected once, and run by N forks of the process that did.

A worker is given one file at a time, so that the fixtures of a module are made once, and the next
one when it begins the last test of that: fixtures of the session stay. One that dies fails the test
that it ran, and another goes on behind it. What a worker prints beside its reports is not shown.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest

from tests import warm

Place = tuple[int, int]
"""Where a file's tests begin in those of the session, and where they end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, metavar="N", help="processes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("workers") > 1 and not config.getoption("usepdb"):
        config.pluginmanager.register(_Workers(config), "workers")


@dataclass(eq=False)
class _Worker:
    """A fork, the end of the pipe to it, and the tests that it has begun or is to begin."""

    pid: int
    pipe: Connection
    waiting: deque[int]


class _Workers:
    """A plugin: in the process that collects it gives out files; in a worker it runs them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.warnings: dict[str, None] = {}
        self.pipe: Connection | None = None  # of a worker
        self.reports: list[Any] = []  # of the test that it runs

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or self.config.option.collectonly:
            return None
        files = deque(_files(session.items))
        self.config._tmp_path_factory.getbasetemp()  # one for all, which makes it empty
        workers: list[_Worker] = []
        try:
            for number in range(min(self.config.getoption("workers"), len(files))):
                if not self._begin(session, number, workers, files.popleft()):
                    return True  # this is the worker, and it has run its tests
            self._gather(session, files, workers)
            return True
        finally:
            _end(workers)

    # ---- Where the tests were collected

    def _begin(
        self, session: pytest.Session, number: int, workers: list[_Worker], first: Place
    ) -> bool:
        """Add a worker to *workers*; false in that worker, when it has run its tests."""
        ours, its = Pipe()
        if pid := os.fork():
            its.close()
            workers.append(_Worker(pid, ours, deque(range(*first))))
            return True
        ours.close()
        for other in workers:
            other.pipe.close()
        workers.clear()  # they are not this process's to end
        self._become(its, number)
        self._work(session, *first)
        return False

    def _gather(self, session: pytest.Session, files: deque[Place], workers: list[_Worker]) -> None:
        """Hand on what workers report until all have ended; in a worker that takes the place of
        one that died, run its tests.
        """
        begun = len(workers)
        while workers:
            for pipe in wait([worker.pipe for worker in workers]):
                worker = next(one for one in workers if one.pipe is pipe)
                try:
                    self._heard(session, worker, files)
                except EOFError:
                    workers.remove(worker)
                    _end([worker])
                    if rest := self._failed(session, worker):
                        begun += 1
                        if not self._begin(session, begun, workers, rest):
                            return
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)

    def _heard(self, session: pytest.Session, worker: _Worker, files: deque[Place]) -> None:
        kind, told = worker.pipe.recv()
        hook = self.config.hook
        if kind == "next":
            place = files.popleft() if files else None
            worker.waiting.extend(range(*place) if place else ())
            with suppress(BrokenPipeError):
                worker.pipe.send(place)
        elif kind == "warning":
            self.warnings[told] = None
        else:
            item = session.items[worker.waiting.popleft()]
            hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for data in told:
                report = hook.pytest_report_from_serializable(config=self.config, data=data)
                hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _failed(self, session: pytest.Session, worker: _Worker) -> Place | None:
        """Tell that the test failed in which *worker* died; what it had still to run."""
        if not worker.waiting:
            return None
        number = worker.waiting.popleft()
        item = session.items[number]
        report = pytest.TestReport(
            nodeid=item.nodeid, location=item.location, keywords={}, outcome="failed",
            longrepr=f"the worker died that ran {item.nodeid}", when="call",
        )  # fmt: skip
        self.config.hook.pytest_runtest_logreport(report=report)
        return (worker.waiting[0], worker.waiting[-1] + 1) if worker.waiting else None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.warnings:
            terminalreporter.section("warnings of workers")
            for warning in self.warnings:
                terminalreporter.write_line(warning)

    # ---- In a worker

    def _become(self, pipe: Connection, number: int) -> None:
        """Have what is this process's alone: what it captures, and where it puts files."""
        self.pipe = pipe
        os.register_at_fork(after_in_child=pipe.close)  # or nobody would hear that this one died
        plugins = self.config.pluginmanager
        if reporter := plugins.getplugin("terminalreporter"):
            plugins.unregister(reporter)
        if capture := plugins.getplugin("capturemanager"):
            capture.stop_global_capturing()
            capture.start_global_capturing()
        factory = self.config._tmp_path_factory
        factory._basetemp = factory.getbasetemp() / f"w{number}"
        factory._basetemp.mkdir(mode=0o700)

    def _work(self, session: pytest.Session, begin: int, end: int) -> None:
        while True:
            for number in range(begin, end - 1):
                self._run(session, number, number + 1)
            following = self._asked()
            self._run(session, end - 1, following[0] if following else None)
            if not following:
                return
            begin, end = following

    def _run(self, session: pytest.Session, number: int, following: int | None) -> None:
        item, items = session.items[number], session.items
        after = None if following is None else items[following]
        self.reports.clear()
        self.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        self._tell("ran", self.reports)

    def _asked(self) -> Place | None:
        self._tell("next", None)
        assert self.pipe
        place: Place | None = self.pipe.recv()
        return place

    def _tell(self, kind: str, told: Any) -> None:
        if self.pipe:
            try:
                self.pipe.send((kind, told))
            except OSError:
                raise pytest.exit.Exception("nobody hears any more") from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.pipe:
            hook = self.config.hook
            data = hook.pytest_report_to_serializable(config=self.config, report=report)
            self.reports.append(data)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """End a worker without taking apart all that was collected, which takes seconds."""
        if self.pipe:
            warm.end(0)

    def pytest_warning_recorded(self, warning_message: Any, nodeid: str) -> None:
        said = f"{warning_message.category.__name__}: {warning_message.message}"
        self._tell("warning", f"{nodeid}: {said}")


def _files(items: Sequence[pytest.Item]) -> Iterator[Place]:
    end = 0
    for _, own in groupby(items, key=lambda item: item.path):
        begin, end = end, end + len(list(own))
        yield begin, end


def _end(workers: Sequence[_Worker]) -> None:
    """Hear them no more, which ends each behind its test, and wait for that."""
    for worker in workers:
        worker.pipe.close()
    for worker in workers:
        os.waitpid(worker.pid, 0)
