"""Real crawls, started cheaply, that can be killed, stopped, traced and watched."""

from __future__ import annotations

import json
import os
import pickle
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from base64 import b64encode
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from tests.crawls.running import ROOT, SETTINGS
from tests.faults.storecalls import Call, Plan, told

LIMIT = 120.0
"""Seconds after which a crawl that has not ended is taken for one that never will."""
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

    pid: int
    plan: Plan | None
    log: Path
    crawls: Crawls

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

    def is_stopped(self) -> bool:
        state = re.search(r"^State:\s+(\S)", Path(f"/proc/{self.pid}/status").read_text(), re.M)
        return bool(state and state[1] == "T")

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
        reply = self.crawls.ask({"wait": self.pid})
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        assert not hung, f"the crawl hung:\n{log}"
        return Run(code=reply["code"], log=log, calls=tuple(self.calls()), kib=reply["kib"])


@dataclass(slots=True)
class Crawls:
    """Starts crawls; a context manager. Archives, logs and calls lie in a folder of its own."""

    _process: Any = None
    _folder: Path = field(default_factory=Path)
    _number: int = 0
    _turn: Any = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = Path(tempfile.mkdtemp(prefix="lafka-faults-", dir=memory))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.zygote"],
            cwd=ROOT,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        shutil.rmtree(self._folder)

    def clean(self) -> None:
        """Remove what no crawl needs any more: all archives, logs and calls so far."""
        for path in self._folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._turn:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

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
        given = SETTINGS | {"LAFKA_ARCHIVE": archive, "STATS_DUMP": 1} | settings
        named = [part for name, value in given.items() for part in ("-s", f"{name}={value}")]
        reply = self.ask(
            {
                "arguments": [*arguments, *named],
                "plan": b64encode(pickle.dumps(plan)).decode() if plan else "",
                "log": str(log),
                "hold": hold,
            }
        )
        return Going(reply["pid"], plan, log, self)

    def run(self, archive: Path, list_: Path, plan: Plan | None = None, **settings: Any) -> Run:
        """Crawl *list_* to the end, whatever that is."""
        return self.start(archive, list_, plan, **settings).ended()
