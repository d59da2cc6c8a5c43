"""A real ``scrapy crawl futli`` in its own process, and what it left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from warcio.archiveiterator import ArchiveIterator

from lafka.papers.archive.archives import Archive
from lafka.papers.checking import Verifier
from tests import lastruns, starts
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]
SETTINGS: dict[str, Any] = {
    "AUTOTHROTTLE_ENABLED": 0,
    "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
    "LAFKA_CONTACT": "operator@example.org",
    "LAFKA_PROGRESS_INTERVAL": 0,
    "STATS_DUMP": 1,  # for Run.stats
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a crawl ended: exit code, standard output, log."""

    code: int
    out: str
    log: str

    @property
    def stats(self) -> dict[str, int]:
        """The stats that are whole numbers, as Scrapy dumps them into the log."""
        return {name: int(n) for name, n in re.findall(r"'([^']+)': (\d+)[,}]", self.log)}

    def troubles(self, *expected: str) -> list[str]:
        """Lines of the log that no undisturbed crawl has, but for those that match *expected*."""
        signs = re.compile(r" (ERROR|WARNING|CRITICAL): |Traceback|lafka/.*Warning:|Deprecat")
        lines = [line for line in self.log.splitlines() if signs.search(line)]
        usual = (*expected, "Not one fut: ")  # what some small sites have
        return [line for line in lines if not any(re.search(e, line) for e in usual)]


def command(archive: Path, *arguments: str, **settings: Any) -> list[str]:
    """The command line of a crawl."""
    return scrapy(("crawl", "futli"), arguments, {"LAFKA_ARCHIVE": archive} | settings)


def scrapy(
    words: Sequence[str], arguments: Sequence[str], settings: Mapping[str, Any], *,
    program: str = "scrapy",
) -> list[str]:  # fmt: skip
    """A command line of Scrapy's, or of ``lafka``; *settings* are added to ``SETTINGS``."""
    given = {**SETTINGS, **settings}
    named = [part for name, value in given.items() for part in ("-s", f"{name}={value}")]
    return [sys.executable, "-m", program, *words, *named, *arguments]


class Crawl:
    """A crawl that is going on; a context manager that ends it at the latest.

    With a *limit*, in the command *wrap*, or where it is to be *fresh*, it is a process that begins
    from nothing.
    """

    command = staticmethod(command)

    def __init__(
        self,
        archive: Path,
        *arguments: str,
        limit: str = "",
        wrap: str = "",
        fresh: bool = False,
        **settings: Any,
    ) -> None:
        line = self.command(archive, *arguments, **settings)
        if limit:  # what a shell says before it becomes the crawl
            line = [*wrap.split(), "bash", "-c", f'{limit} && exec "$0" "$@"', *line]
        self.process = (subprocess.Popen if fresh else starts.Popen)(
            line,
            cwd=ROOT,
            env=os.environ | {"PYTHONWARNINGS": "default::DeprecationWarning"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def ended(self, stdin: str = "") -> Run:
        out, log = self.process.communicate(stdin, timeout=LIMIT)
        run = Run(code=self.process.returncode, out=out, log=log)
        lastruns.note(self.process.args, run.code, log)
        return run

    def kill(self) -> Run:
        self.process.kill()
        return self.ended()

    def sets_when_it_ends(self, event: threading.Event) -> None:
        """Have *event* set once the crawl has ended, of itself or otherwise."""

        def waits() -> None:
            with suppress(ChildProcessError):  # waited for by another by now
                os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
            event.set()

        threading.Thread(target=waits, daemon=True).start()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)


def crawl(
    archive: Path, list_: Path | str, *arguments: str, stdin: str = "", **options: Any
) -> Run:
    """Crawl *list_* to the end."""
    with Crawl(archive, "-a", f"input={list_}", *arguments, **options) as going:
        return going.ended(stdin)


def outcomes(archive: Path) -> list[list[dict[str, Any]]]:
    """The outcome feeds, oldest first."""
    feeds = sorted((archive / "runs").glob("*.jsonl"))
    return [[json.loads(line) for line in feed.read_bytes().splitlines()] for feed in feeds]


def files(archive: Path, *, without: str = "runs") -> dict[str, bytes]:
    """Every file below *archive*, by its relative path, but for those in the folder *without*."""
    found = (p for p in archive.rglob("*") if p.is_file())
    named = {p.relative_to(archive).as_posix(): p.read_bytes() for p in found}
    return {name: data for name, data in named.items() if not name.startswith(without + "/")}


def futs(archive: Path) -> Iterator[tuple[str, str, bytes]]:
    """Each ``s``, ``l`` of every suwaf, read without any code of Lafka's: pid, futli, the bytes."""
    for suwaf in (archive / "suwaf").rglob("*.json"):
        warc = archive / "warc" / suwaf.relative_to(archive / "suwaf").with_suffix(".warc")
        entries = json.loads(suwaf.read_bytes())
        entries.pop("_warc")
        for pid, futlis in entries.items():
            for futli, times in futlis.items():
                for entry in times.values():
                    with warc.open("rb") as file:
                        file.seek(entry["s"])
                        yield pid, futli, file.read(entry["l"])


def check(archive: Path, *, but: str = r"(?!)") -> None:
    """Fail where the archive is not sound: by ``papers.checking``, by warcio, and raw/ is empty.

    *but* matches the problems, as ``scrapy verify`` prints them, that are expected.
    """
    wrong = (p for p in Verifier(archive).verify_all() if p.severity == "error")
    found = [json.dumps(p.as_json(), ensure_ascii=False) for p in wrong]
    problems = [problem for problem in found if not re.search(but, problem)]
    assert not problems, problems
    for warc in Archive(archive).warcs():
        _warcio_check(warc)
    assert list((archive / "raw").iterdir()) == []


def _warcio_check(warc: Path) -> None:
    """What ``warcio check`` does, without its process."""
    with warc.open("rb") as file:
        records = ArchiveIterator(file, check_digests=True)
        for record in records:
            while record.raw_stream.read(1 << 20):
                pass
            assert record.digest_checker.passed is not False, (warc, record.digest_checker.problems)
