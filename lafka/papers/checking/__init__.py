"""Proves that an archive is sound: the invariants, by other code than what wrote it.

A paper is sound when its suwaf and its WARC tell the same story to the byte: every record can be
read and has its digests, every fut is where the suwaf says, every fut of the WARC is in the suwaf,
nothing is stored twice, and nothing that was acknowledged has changed. docs/problems.md explains
each code.

Here papers are walked, one by one or shared out; ``paper`` compares the suwaf with the WARC,
``warc_content`` reads the WARC, ``feeds`` the outcome feeds. They stand on ``lafka.witness``, the
strict reader.
"""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

from lafka.errors import NotHeld
from lafka.papers.checking.feeds import verify_feeds
from lafka.papers.checking.paper import FORMAT, PaperCheck
from lafka.pids import SCHEMES, Pid, Scheme
from lafka.witness.problems import PAPER_CODES as PAPER_CODES
from lafka.witness.problems import FileProblem as FileProblem
from lafka.witness.problems import problem
from lafka.witness.processes import WorkerProcesses

_BATCH, _BATCH_MAX = 4, 16
_GROWS_AFTER = 64  # papers; handing a batch to a process costs as much as half a small paper
_THREADS = 2
_Batch = tuple[list[str], list["FileProblem"]]


class Verifier:
    """Checks the archive at *root* without a lock and without writing to it.

    ``bytes_read`` and ``papers_read`` grow on the way; *progress* is told ``bytes_read``.
    Problems come as they are found; a file that cannot be read is a problem, not an exception.
    With more than one of *workers* ``verify_all`` shares an archive out to that many processes:
    from the start where the program can fork (on Linux, while it has one thread), else when it has
    been at work *alone* for so many seconds. Then they import the main module of the program
    again: it needs its ``if __name__ == "__main__":``.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        workers: int = 1,
        alone: float = 2.0,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.root = Path(root)
        self.bytes_read = 0
        self.papers_read = 0
        self._workers = workers
        self._alone = alone
        self._scheme = _scheme(self.root)
        self._progress = progress
        self._pool: Executor | None = ThreadPoolExecutor(_THREADS, "lafka-verify")

    def papers(self) -> Iterator[str]:
        """The papers by path, ``RePEc/pra/mprapa/58120``: all that have a WARC or a suwaf."""
        return (found for found in papers_below(self.root) if isinstance(found, str))

    def verify_paper(
        self, paper: Pid | str | Path, *, quick: bool = False
    ) -> Iterator[FileProblem]:
        """The problems of one paper: a pid, or the path of its WARC or suwaf.

        *quick* looks at sizes, tails and the first bytes of futs only. ``NotHeld`` where the
        archive has neither WARC nor suwaf of it, ``BadPid`` where it is none.
        """
        name = self._name(paper)
        if not self._warc(name).exists() and not self._suwaf(name).exists():
            raise NotHeld(f"{paper}: not held in {self.root}")
        return self._verify(name, quick=quick)

    def verify_all(self, *, quick: bool = False) -> Iterator[FileProblem]:
        """The problems of the whole archive, marker and left-over files included."""
        suwafs, before = count_suwafs(self.root), self.papers_read
        yield from self._verify_marker()
        yield from self._verify_papers(quick=quick)
        yield from raw_below(self.root)
        yield from self._verify_feeds()
        if self.papers_read - before < suwafs:
            sentence = f"{suwafs} suwafs, and only {self.papers_read - before} papers were verified"
            yield problem(self.root / "suwaf", "papers-missed", sentence)

    def _verify_papers(self, *, quick: bool) -> Iterator[FileProblem]:
        batches = self._batches()
        way = "fork" if _can_fork() else "spawn"
        if self._workers > 1:
            alone = 0 if way == "fork" else self._alone  # another program's start is worth seconds
            first = _until(monotonic() + alone, batches)
        else:
            first = batches
        # Hashing lets go of the interpreter, so that threads keep two cores busy.
        yield from self._share_out(first, lambda: ThreadPoolExecutor(_THREADS), quick=quick)
        yield from self._share_out(
            batches, lambda: WorkerProcesses(self._workers, get_context(way)), quick=quick
        )

    def verify_around(self) -> Iterator[FileProblem]:
        """The problems of what is no paper's: marker, stray files, raw WARCs, outcome feeds."""
        yield from self._verify_marker()
        yield from (found for found in papers_below(self.root) if not isinstance(found, str))
        yield from raw_below(self.root)
        yield from self._verify_feeds()

    def _share_out(
        self, batches: Iterator[_Batch], new_pool: Callable[[], Executor], *, quick: bool
    ) -> Iterator[FileProblem]:
        """Batches in threads or processes, a few ahead; their problems in order."""
        waiting: deque[Future[tuple[list[FileProblem], int]]] = deque()
        pool: Executor | None = None
        try:
            for names, strays in batches:
                yield from strays
                pool = pool or new_pool()
                waiting.append(pool.submit(_verify_batch, self.root, names, quick))
                self.papers_read += len(names)
                if len(waiting) > 2 * max(_THREADS, self._workers):
                    yield from self._take(waiting.popleft())
            while waiting:
                yield from self._take(waiting.popleft())
        finally:
            if pool is not None:
                pool.shutdown(cancel_futures=True)

    def _take(self, batch: Future[tuple[list[FileProblem], int]]) -> list[FileProblem]:
        problems, count = batch.result()
        self._count(count)
        return problems

    def _batches(self) -> Iterator[_Batch]:
        """Some papers at a time, of many papers more, with the stray files on the way to them."""
        walk, passed = papers_below(self.root), 0
        while batch := list(islice(walk, min(_BATCH_MAX, _BATCH + passed // _GROWS_AFTER))):
            passed += len(batch)
            names = [found for found in batch if isinstance(found, str)]
            yield names, [found for found in batch if not isinstance(found, str)]

    def _verify(self, name: str, *, quick: bool) -> Iterator[FileProblem]:
        self.papers_read += 1
        check = PaperCheck(
            name=name,
            warc=self._warc(name),
            suwaf=self._suwaf(name),
            scheme=self._scheme,
            pool=self._pool,
            progress=self._count,
        )
        try:
            yield from check.quick() if quick else check.full()
        except OSError as error:
            yield problem(error.filename or check.warc, "unreadable", error.strerror or str(error))

    def _count(self, count: int) -> None:
        self.bytes_read += count
        if self._progress is not None:
            self._progress(self.bytes_read)

    def _warc(self, name: str) -> Path:
        return self.root / "warc" / f"{name}.warc"

    def _suwaf(self, name: str) -> Path:
        return self.root / "suwaf" / f"{name}.json"

    def _name(self, paper: Pid | str | Path) -> str:
        if isinstance(paper, Path):
            for base, suffix in (("warc", ".warc"), ("suwaf", ".json")):
                folder = (self.root / base).absolute()
                if paper.absolute().is_relative_to(folder) and paper.name.endswith(suffix):
                    return paper.absolute().relative_to(folder).as_posix().removesuffix(suffix)
            raise NotHeld(f"{paper}: no WARC or suwaf of {self.root}")
        pid = paper if isinstance(paper, Pid) else self._scheme.pid(paper)
        return pid.path

    def _verify_marker(self) -> Iterator[FileProblem]:
        path = self.root / "lafka.json"
        try:
            marker = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            yield problem(path, "bad-marker", f"cannot be read: {error}")
            return
        if not isinstance(marker, dict) or marker.get("format") != FORMAT:
            yield problem(path, "bad-marker", f"not of format {FORMAT}")
        elif marker.get("collection") not in SCHEMES:
            yield problem(path, "bad-marker", f"no collection {marker.get('collection')!r}")

    def _verify_feeds(self) -> Iterator[FileProblem]:
        return verify_feeds(self.root, self._scheme, lambda pid: self._suwaf(pid.path))


def _scheme(root: Path) -> Scheme:
    """That of the marker; where that is no good, the one that holds every pid."""
    try:
        return SCHEMES[json.loads((root / "lafka.json").read_bytes())["collection"]]
    except (OSError, ValueError, LookupError, TypeError):
        return SCHEMES["RePEc"]


def _can_fork() -> bool:
    """Return whether this has one thread: a copy may wait for ever for the lock of another."""
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:  # not Linux
        return False


def _until(time: float, batches: Iterator[_Batch]) -> Iterator[_Batch]:
    while monotonic() < time and (batch := next(batches, None)) is not None:
        yield batch


def _verify_batch(root: Path, names: list[str], quick: bool) -> tuple[list[FileProblem], int]:
    """The problems of papers, and the bytes that were read."""
    verifier = Verifier(root)
    verifier._pool = None  # each core has a batch
    found = [problem for name in names for problem in verifier._verify(name, quick=quick)]
    return found, verifier.bytes_read


BASES = (("warc", ".warc"), ("suwaf", ".json"))
_TORN = re.compile(r".+\.torn-\d+(?:\.\d+)?")


def papers_below(root: Path, folder: str = "") -> Iterator[str | FileProblem]:
    """Every paper by path, ``RePEc/pra/mprapa/58120``, and what is no paper as a problem.

    A paper is what has a WARC or a suwaf. *folder* is relative to both their bases.
    """
    papers, folders = set[str](), set[str]()
    for base, suffix in BASES:
        for entry in _entries(root / base / folder, is_entry=bool(folder)):
            if not isinstance(entry, os.DirEntry):
                yield entry
            elif (wrong := _wrong_with(entry, suffix)) is not None:
                yield wrong
            elif entry.is_dir():
                folders.add(entry.name)
            else:
                papers.add(entry.name.removesuffix(suffix))
    prefix = f"{folder}/" if folder else ""
    yield from (prefix + name for name in sorted(papers))
    for name in sorted(folders):
        yield from papers_below(root, prefix + name)


def _entries(folder: Path, *, is_entry: bool) -> Iterator[os.DirEntry[str] | FileProblem]:
    """*is_entry*: *folder* is an entry of one that was read; if it is a link, it was looked at."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        if folder.is_symlink() and not is_entry:
            yield _broken(folder)
    except OSError as error:
        yield problem(folder, "unreadable", error.strerror or str(error))
    else:
        yield from found


def _wrong_with(entry: os.DirEntry[str], suffix: str) -> FileProblem | None:
    """Return what keeps *entry* from being a folder to look into or a file of a paper."""
    if entry.is_symlink():
        if not os.path.exists(entry.path):  # noqa: PTH110  a Path raises for a link to itself
            return _broken(entry.path)
        if entry.is_dir() and _leads_back(Path(entry.path)):
            return problem(entry.path, "link-loop", "a link into a folder that it lies in")
    if entry.is_dir() or (entry.is_file() and _is_paper(entry.name, suffix)):
        return None
    if _TORN.fullmatch(entry.name):
        return problem(entry.path, "torn-aside", "bytes that recovery or repair kept aside")
    if "draft" in entry.name:
        return problem(entry.path, "draft", "a draft that no writer finished")
    return problem(entry.path, "stray-file", "not a file of an archive")


def _broken(path: Path | str) -> FileProblem:
    sentence = "a link that leads nowhere: what should be behind it was not looked at"
    return problem(path, "broken-link", sentence)


def _leads_back(link: Path) -> bool:
    target = link.stat()
    return any(os.path.samestat(target, above.stat()) for above in link.absolute().parents)


def _is_paper(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and not name.startswith(".")


def count_suwafs(root: Path) -> int:
    """Return how many suwafs there are, by another way than that on which papers are found."""
    top = str((root / "suwaf").absolute())
    above = frozenset(os.path.realpath(folder) for folder in Path(top).parents)
    ways: dict[str, frozenset[str]] = {top: above}
    count = 0
    for folder, folders, names in os.walk(top, followlinks=True):
        way = ways.pop(folder) | {os.path.realpath(folder)}
        inner = {name: os.path.join(folder, name) for name in folders}  # noqa: PTH118  as it walks
        folders[:] = [name for name in folders if os.path.realpath(inner[name]) not in way]
        ways |= {inner[name]: way for name in folders}
        count += sum(_is_paper(name, ".json") for name in names)
    return count


def raw_below(root: Path) -> Iterator[FileProblem]:
    """Yield what lies in ``raw/``, where no link is followed."""
    failed: list[OSError] = []
    for folder, folders, names in os.walk(root / "raw", onerror=failed.append):
        for name in sorted(names):
            if ".warc" in name:
                yield problem(Path(folder, name), "raw-left", "a raw WARC that is still there")
            else:
                yield problem(Path(folder, name), "raw-left", "a file of a run, still there")
        for name in sorted(folders):
            if (path := Path(folder, name)).is_symlink():
                yield problem(path, "stray-file", "a link, which nobody follows here")
    for error in failed:
        if not isinstance(error, FileNotFoundError):
            yield problem(error.filename, "unreadable", error.strerror or str(error))
