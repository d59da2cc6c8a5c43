"""Recovery: what a killed run captured of filesets and did not store.

The raw log of a run is its write-ahead log. A page goes into the WARC of the fileset that its
warcinfo names or a note binds it to, else into that of its own URL. A file that was not committed
is left out: nobody has verified it, and the next run asks for it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from lafka.capture.logged import LoggedExchange
from lafka.capture.readback import Bound, DeadLog, recovered
from lafka.errors import BadPid, BadWarc, KeeperError
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.groups import FilesetGroup
from lafka.filesets.archive.notes import FILESET_ID, ROLE, Role

BOUND = "bound"
"""Key of a raw log's note: the fileset that an owner's captures belong to."""
_PLAIN = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesetRecovery:
    """The result of one recovered run: captures stored, problems."""

    run: str
    captures: int
    problems: tuple[str, ...]


def recover(
    filesets: Filesets, *, keep: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Iterator[FilesetRecovery]:
    """Store what dead runs have captured and not stored; one run at a time, as it is asked for.

    A run that could be stored whole loses its folder (with *keep* it stays, marked as stored). What
    Lafka did not write stays, and is a problem. Doing it twice adds nothing. ``StorageTrouble``.
    """
    for found in recovered(FilesetStore(filesets), keep=keep, stopped=stopped):
        yield FilesetRecovery(run=found.run, captures=found.taken or 0, problems=found.problems)


@dataclass(frozen=True, slots=True)
class FilesetStore:
    """An archive of filesets as the road knows it: a ``CrawlStore``."""

    filesets: Filesets
    owner_field: str = ROLE

    @property
    def root(self) -> Path:
        return self.filesets.folder

    def take_up(self, log: DeadLog, run: str) -> int:  # noqa: ARG002
        """Store the pages and answers of *log*; the number of those that were not held."""
        homes = dict(_bound(log))
        stored = 0
        for found in log.bound.values():
            # Nobody has verified a file: the next run asks for it again.
            if found.body.first(ROLE) in (Role.FILE, Role.BUNDLE):
                continue
            try:
                exchanges = log.exchanges(found, log.unknown)
                if exchanges and exchanges[-1].payload is not None:
                    home = homes.get(found.id) or _home(found, exchanges)
                    stored += self._store(home, exchanges)
            except (KeeperError, BadPid) as error:
                log.problems.append(str(error))
        return stored

    def _store(self, home: str, exchanges: tuple[LoggedExchange, ...]) -> bool:
        """Store a capture in the WARC of the fileset *home*; False where it was held."""
        warc = self.filesets.locked(home)
        if warc is None:
            path = self.filesets.warc_path(self.filesets.pid(home))
            raise BadWarc(path, "another process has it; recover again")
        try:
            before = warc.contents.end

            def plan(group: FilesetGroup) -> None:
                group.page(exchanges)

            warc.append(plan)
            return warc.contents.end > before
        finally:
            warc.close()


def _bound(log: DeadLog) -> Iterator[tuple[str, str]]:
    """The ids of warcinfos, each with the fileset that a note binds its capture to."""
    for note in log.notes:
        home = note.get(BOUND)
        captures = note.get("captures")
        if isinstance(home, str) and isinstance(captures, list):
            yield from ((str(capture), home) for capture in captures)


def _home(found: Bound, exchanges: tuple[LoggedExchange, ...]) -> str:
    """Return the id of the fileset in whose WARC a capture belongs that no note binds."""
    if named := found.body.first(FILESET_ID):
        return named
    url = exchanges[-1].url
    host = urlsplit(url).hostname or "unknown"
    return f"fileset:web:{host}:{quote(url, safe=_PLAIN)}"
