"""Real crawls, started cheaply, that can be killed, stopped, traced and watched."""

from __future__ import annotations

import os
import pickle
import re
import select
import shutil
import signal
import subprocess
import tempfile
from base64 import b64encode
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from tests import lastruns, starts
from tests.crawls.running import ROOT, scrapy
from tests.faults.storecalls import Call, Plan, told
from tests.waiting import LIMIT

GO_ON = "The same command goes on afterwards"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a crawl ended: exit code or minus a signal, log, calls where told, peak memory."""

    code: int
    log: str
    calls: tuple[Call, ...]
    kib: int

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def troubles(self) -> list[str]:
        """Lines of the log that no undisturbed crawl has."""
        signs = re.compile(r" (ERROR|WARNING|CRITICAL): |^Traceback|^scrapy \w+: ")
        return [line for line in self.log.splitlines() if signs.search(line)]


@dataclass(slots=True)
class Going:
    """A crawl that is going on."""

    process: starts.Popen
    plan: Plan | None
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def calls(self) -> list[Call]:
        """What was told so far."""
        return told(Path(self.plan.told)) if self.plan and self.plan.told else []

    def size(self) -> int:
        """How many bytes it has told of its calls."""
        path = Path(self.plan.told if self.plan else "")
        return path.stat().st_size if path.is_file() else 0

    def ends_within(self, seconds: float) -> bool:
        fd = os.pidfd_open(self.pid)
        try:
            return bool(select.select([fd], [], [], seconds)[0])
        finally:
            os.close(fd)

    def tells(self, size: int) -> bool:
        """Wait until it has told *size* bytes of calls; whether it ended before."""
        while self.size() < size:
            if self.ends_within(0.005):
                return True
        return False

    def ended(self) -> Run:
        """Wait for its end; a crawl that hangs is killed and fails the test."""
        hung = not self.ends_within(LIMIT)
        if hung:
            self.kill()
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        assert not hung, f"the crawl hung:\n{log}"
        lastruns.note(self.process.args, self.process.returncode, log)
        return Run(
            code=self.process.returncode, log=log, calls=tuple(self.calls()), kib=usage.ru_maxrss
        )


@dataclass(slots=True)
class Crawls:
    """Starts crawls; a context manager. Archives, logs and calls lie in a folder of its own."""

    _folder: Path = field(default_factory=Path)
    _number: int = 0
    _going: list[starts.Popen] = field(default_factory=list)

    def __enter__(self) -> Self:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = Path(tempfile.mkdtemp(prefix="lafka-faults-", dir=memory))
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._going:
            process.kill()
            process.wait()
        shutil.rmtree(self._folder)

    def clean(self) -> None:
        """Remove what no crawl needs any more: all archives, logs and calls so far."""
        for path in self._folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def folder(self) -> Path:
        """A new empty folder, in memory where there is room for it."""
        self._number += 1
        made = self._folder / f"{self._number}"
        made.mkdir()
        return made

    def start(
        self,
        archive: Path,
        list_: Path,
        plan: Plan | None = None,
        *,
        hold: bool = False,
        **settings: Any,
    ) -> Going:
        """Crawl *list_* into *archive*; with *hold* it waits for SIGCONT before it begins."""
        arguments = ["crawl", "futli", "-a", f"input={list_}"]
        return self.command(archive, *arguments, plan=plan, hold=hold, **settings)

    def command(
        self, archive: Path, *arguments: str, plan: Plan | None = None, hold: bool = False,
        **settings: Any,
    ) -> Going:  # fmt: skip
        """Start any of Scrapy's or Lafka's commands."""
        self._number += 1
        log, calls = self._folder / f"{self._number}.log", self._folder / f"{self._number}.calls"
        if plan is not None:
            plan = replace(plan, told=str(calls))
        line = scrapy(arguments, (), {"LAFKA_ARCHIVE": archive, "STATS_DUMP": 1} | settings)
        planned = b64encode(pickle.dumps(plan)).decode() if plan else ""
        self._going = [process for process in self._going if process.returncode is None]
        with log.open("ab") as file:
            process = starts.Popen(
                line, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
                before=("tests.faults.planned", "install", [hold, planned]),
            )  # fmt: skip
        self._going.append(process)
        return Going(process, plan, log)

    def run(self, archive: Path, list_: Path, plan: Plan | None = None, **settings: Any) -> Run:
        """Crawl *list_* to the end, whatever that is."""
        return self.start(archive, list_, plan, **settings).ended()
