"""A cache of the papers that were used last: many lines of one pid cost no more than many pids.

Nothing here is taken for true but while the files are those that it was read from or written to,
by their stats. So other processes may write to the archive, and so may who restores a backup.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from lafka.errors import StorageTrouble
from lafka.papers.archive.contents import PaperContents
from lafka.papers.archive.suwafs import Suwaf
from lafka.pids import Pid
from lafka.storage.folders import FileStamp

PAPERS_MAX = 64
ENTRIES_MAX = 100_000
"""Of all papers: entries of suwafs and records of WARCs, a few hundred bytes each."""
SMALL = 4 << 10
"""Bytes of a suwaf that is read as fast as it is found here, unless its writer kept it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paper:
    """A suwaf and the file it stands in; what the WARC held as of ``warc``, where that is known."""

    suwaf: Suwaf
    stamp: FileStamp
    contents: PaperContents | None = None
    warc: FileStamp | None = None

    @property
    def entries(self) -> int:
        return len(self.suwaf.futlis) + (len(self.contents.ids) if self.contents else 0)


class PaperCache:
    """The papers of one archive that this process used last; threads take turns.

    Suwafs in here are never changed. Contents are changed by who has the paper's lock, alone.
    """

    def __init__(self) -> None:
        self._papers: OrderedDict[Pid, _Paper] = OrderedDict()
        self._entries: dict[Pid, int] = {}  # of each, as they were when it was put here
        self._sum = 0
        self._turn = Lock()

    def suwaf(self, path: Path | str, pid: Pid) -> Suwaf | None:
        """As :meth:`Suwaf.load`, read only where the file changed; to be copied, not changed."""
        known = self._find(pid)
        if known and known.stamp == _stamp_at(path):
            return known.suwaf
        found = Suwaf.load_with_stat(path, pid)
        if found is None:
            return None
        suwaf, status = found
        if known is None and status.st_size <= SMALL:
            return suwaf
        stamp = FileStamp.of(status)
        with self._turn:
            known = self._papers.get(pid)
            if known is None or known.stamp != stamp:
                made = _Paper(suwaf=suwaf, stamp=stamp)
                self._put(pid, replace(known, suwaf=suwaf, stamp=stamp) if known else made)
        return suwaf

    def contents(self, suwaf: Suwaf, warc: os.stat_result) -> PaperContents | None:
        """Return what the WARC of *suwaf* holds; None where that is not known, or outdated."""
        known = self._find(suwaf.pid)
        if known is None or known.contents is None or known.warc != FileStamp.of(warc):
            return None
        ends = known.contents.end, known.contents.chain_text, warc.st_size
        return known.contents if ends == (suwaf.end, suwaf.chain, suwaf.end) else None

    def keep(
        self, path: Path, suwaf: Suwaf, contents: PaperContents | None, warc: os.stat_result
    ) -> None:
        """Keep what the writer of a paper, who has its lock, has just left there.

        *contents* None: it did not ask for them.
        """
        stamp = _stamp_at(path)
        if stamp is None:
            return
        kept = replace(contents, infos={}, visits=[]) if contents else None  # for rebuilding alone
        paper = _Paper(suwaf=suwaf.copy(), stamp=stamp, contents=kept, warc=FileStamp.of(warc))
        with self._turn:
            known = self._papers.get(suwaf.pid)
            if known and kept is None:
                paper = replace(paper, contents=known.contents, warc=known.warc)
            elif kept and kept.unconverted:  # read from a descriptor that will be closed
                paper = replace(paper, contents=None)
            self._put(suwaf.pid, paper)

    def forget(self, pid: Pid) -> None:
        with self._turn:
            self._drop(pid)

    def _find(self, pid: Pid) -> _Paper | None:
        with self._turn:
            known = self._papers.get(pid)
            if known:
                self._papers.move_to_end(pid)
            return known

    def _put(self, pid: Pid, paper: _Paper) -> None:
        self._drop(pid)
        self._papers[pid] = paper
        entries = self._entries[pid] = paper.entries
        self._sum += entries
        while len(self._papers) > PAPERS_MAX or (self._sum > ENTRIES_MAX and len(self._papers) > 1):
            self._drop(next(iter(self._papers)))

    def _drop(self, pid: Pid) -> None:
        if self._papers.pop(pid, None):
            self._sum -= self._entries.pop(pid)


def _stamp_at(path: Path | str) -> FileStamp | None:
    try:
        return FileStamp.of(os.stat(path))  # noqa: PTH116  half the cost
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageTrouble(path, error) from error
