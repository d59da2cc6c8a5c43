"""The archive: a root folder with paper WARCs, suwafs, raw WARCs and outcome feeds.

::

    archive/
      lafka.json       layout marker: {"format": 1, "collection": "RePEc"}
      warc/<path>.warc     one paper WARC a paper, append-only, never compressed
      suwaf/<path>.json    its suwaf; can always be rebuilt from the WARC
      raw/<run>/           raw WARCs of runs that are not wholly copied; empty after a clean run
      runs/<run>.jsonl     outcome feed, one line per futli that was tried
      runs/<run>.json      report: whether the run is done, and what came of it
      index/               what lafka.index makes of the above; no writer reads it

>>> Archive("archive").fut("RePEc:abc:wpaper:1").read()  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lafka.errors import (
    BadArchive,
    BadChoice,
    BadPid,
    BadWarc,
    CallerError,
    KeeperError,
    NotHeld,
    StorageTrouble,
)
from lafka.papers import archive as parts
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.archive.suwafs import StoredFut as StoredFut  # noqa: PLC0414
from lafka.papers.origins import Origin
from lafka.pids import SCHEMES, Pid, Scheme
from lafka.storage import drafts
from lafka.storage.folders import files_below, make_folders, sync_folder
from lafka.storage.locks import vacant
from lafka.storage.steps import Steps, done

if TYPE_CHECKING:
    from lafka.papers.archive.cache import PaperCache
    from lafka.papers.archive.catalogue import LastOutcome, Paper
    from lafka.papers.archive.paperwarc import PaperFiles, PaperWarc, Stored, TrailRecord
    from lafka.papers.archive.texts import FutText
    from lafka.papers.lists.futlis import Futli

FORMAT = 1
MARKER = "lafka.json"
DEFAULT_COLLECTION = "RePEc"


class Archive:
    """An archive at the folder *root*, to read from, and for one paper at a time to write to.

    ``BadArchive`` where *root* holds no archive, one of another layout, or one of another
    collection than *collection*. Readers take no lock.
    """

    def __init__(self, root: Path | str, collection: str | None = None) -> None:
        self.root = Path(root)
        self._base = str(self.root)  # a path is made in one go: reading a fut costs little else
        self._warcs = f"{(self.root / 'warc').as_posix()}/"
        marked = self._marked()
        if marked is None and not (self.root / "warc").is_dir():
            raise BadArchive(f"{self.root}: no archive is here")
        if marked and collection and collection != marked:
            raise BadArchive(f"{self.root}: an archive of {marked}, not of {collection}")
        self.scheme = _scheme(marked or collection or DEFAULT_COLLECTION)

    @cached_property
    def _cache(self) -> PaperCache:
        return parts.cache.PaperCache()

    @classmethod
    def create(cls, root: Path | str, collection: str | None = None) -> Archive:
        """The archive at *root*, made and marked where there is none yet.

        Two makers at once make one. ``BadArchive`` as for ``Archive``, and where *root* cannot be
        written or is a folder of something else.
        """
        root = Path(root)
        name = _scheme(collection or DEFAULT_COLLECTION).name
        try:
            make_folders(root)
            if not (root / MARKER).exists():
                _refuse_foreign(root)
                _mark(root, name)
            archive = cls(root, collection)
            for folder in ("warc", "suwaf", "raw", "runs"):
                make_folders(root / folder)
            archive.probe()
        except (OSError, StorageTrouble) as error:
            raise BadArchive(f"{root}: cannot be written: {_reason(error)}") from error
        return archive

    def _marked(self) -> str | None:
        """The collection in the marker, None where there is no marker."""
        path = self.root / MARKER
        try:
            values = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise BadArchive(f"{path}: {error.strerror}") from None
        except ValueError:
            raise BadArchive(f"{path}: the layout marker is not JSON") from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise BadArchive(f"{path}: an archive of another layout, not of format {FORMAT}")
        return str(values.get("collection"))

    def mark(self) -> None:
        """Write the layout marker where there is none, as a first Lafka had none."""
        try:
            if not (self.root / MARKER).exists():
                _mark(self.root, self.scheme.name)  # not synced: without it all is as it was
        except OSError as error:
            raise StorageTrouble(self.root / MARKER, error) from error

    def probe(self) -> None:
        """Create, sync, rename and delete a file: ``StorageTrouble`` where that cannot be done."""
        draft = self.root / f".probe-{uuid.uuid4().hex}"
        try:
            drafts.write(draft, [b"lafka\n"])
            draft = draft.rename(draft.with_suffix(".renamed"))
            draft.unlink()
        except OSError as error:
            raise StorageTrouble(self.root, error) from error

    def pid(self, text: str | Pid) -> Pid:
        """The canonical pid; ``BadPid`` where *text* is none of this archive's collection."""
        return text if isinstance(text, Pid) else self.scheme.pid(text)

    def warc_path(self, pid: Pid) -> Path:
        return Path(f"{self._base}/warc/{pid.path}.warc")

    def suwaf_path(self, pid: Pid) -> Path:
        return Path(f"{self._base}/suwaf/{pid.path}.json")

    def suwaf(self, pid: str | Pid) -> Suwaf:
        """The suwaf of a paper; ``NotHeld`` where there is none, ``BadSuwaf`` where it is none."""
        pid = self.pid(pid)
        suwaf = Suwaf.load(f"{self._base}/suwaf/{pid.path}.json", pid)
        if suwaf is None:
            raise NotHeld(f"{pid}: not in the archive at {self.root}")
        return suwaf

    def fut(
        self,
        pid: str | Pid,
        futli: str | None = None,
        time: str | None = None,
        *,
        label: str | None = "",
    ) -> StoredFut:
        """The latest fut of a paper, or of its *futli*, or the latest not after *time*.

        *time* is ``YYYY-MM-DDThh:mm:ssZ`` or any beginning of it. *label*: ``supplement`` or
        ``other`` for a PDF that is thought to be that, None for any. ``BadPid``, ``BadSuwaf``,
        ``NotHeld``, which says what labelled PDFs there are.
        """
        pid = self.pid(pid)
        name, key, fut = self.suwaf(pid).fut(futli, time, label=label)
        return self._stored(pid, name, key, fut)

    def _stored(self, pid: Pid, futli: str, time: str, fut: Fut) -> StoredFut:
        return StoredFut(
            pid=pid,
            futli=futli,
            time=time,
            url=fut.url,
            digest=fut.digest,
            warc_name=f"{self._base}/warc/{pid.path}.warc",
            start=fut.s,
            length=fut.l,
            label=fut.origin.label,
        )

    def futs_of(self, pid: str | Pid) -> Iterator[tuple[StoredFut, Origin]]:
        """Every fut of a paper, in the order of its suwaf, and how each was found; as ``suwaf``."""
        pid = self.pid(pid)
        for futli, times in self.suwaf(pid).futlis.items():
            for key, fut in times.items():
                yield self._stored(pid, futli, key, fut), fut.origin

    def __iter__(self) -> Iterator[Paper]:
        return self.papers()

    def __contains__(self, paper: object) -> bool:
        """Return whether *paper*, a pid, its text or a paper of :meth:`papers`, has a suwaf."""
        pid = getattr(paper, "pid", paper)
        try:
            return isinstance(pid, str | Pid) and self.suwaf_path(self.pid(pid)).is_file()
        except BadPid:
            return False

    def papers(
        self,
        pids: Iterable[str | Pid] | None = None,
        *,
        problem: Callable[[Exception], object] | None = None,
    ) -> Iterator[Paper]:
        """All papers, or those of *pids*, in constant memory; of all, sorted within each folder.

        ``BadSuwaf`` where one is none, ``BadPid``, ``NotHeld``; or *problem* is told of each such
        error, and the next paper comes.
        """
        if pids is None:
            return parts.catalogue.papers(self.root, self.scheme, problem)
        return parts.catalogue.papers_of(self.root, map(self._pid_or_error, pids), problem)

    def _pid_or_error(self, text: str | Pid) -> Pid | BadPid:
        try:
            return self.pid(text)
        except BadPid as error:
            return error

    def futs(
        self,
        pids: Iterable[str | Pid] | None = None,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        host: str | None = None,
        archive: str | None = None,
        series: str | None = None,
        label: str | None = "fut",
        latest: bool = True,
        problem: Callable[[Exception], object] | None = None,
    ) -> Iterator[StoredFut]:
        """The futs of all papers, or of *pids*, in constant memory.

        *since*, *until*: had then or later, then or before, an aware time or text as in
        :meth:`fut`; *host*: that of the futli; *archive*, *series*: RePEc's codes in the pid;
        *label*: ``fut`` for what is thought to be one, ``supplement``, ``other``, or ``any``;
        *latest*: of each futli the last one alone. Errors as of :meth:`papers`, and ``CallerError``
        for what cannot be.
        """
        wanted = parts.catalogue.FutFilter.parse(since, until, host, label, latest=latest)
        is_in = self._codes(archive, series)
        for paper in self.papers(pids, problem=problem):
            if not is_in(paper.pid):
                continue
            for futli, time, fut in paper.chosen(wanted):
                yield self._stored(paper.pid, futli, time, fut)

    def texts(self, pids: Iterable[str | Pid] | None = None, **which: Any) -> Iterator[FutText]:
        """The texts of futs in their order, each with what prevented one; arguments and errors are
        those of :meth:`futs`.

        ``BadArgument`` where the extra ``lafka[text]`` is not installed.
        """
        return parts.texts.texts(self.futs(pids, **which))

    def _codes(self, archive: str | None, series: str | None) -> Callable[[Pid], bool]:
        """Return what tells pids with these codes of RePEc; ``CallerError`` for what is none."""
        if archive is None and series is None:
            return lambda pid: True  # noqa: ARG005
        if self.scheme is not SCHEMES["RePEc"]:
            raise CallerError("archive and series are codes of RePEc, and this is no archive of it")
        for name, code, length in (("archive", archive, 3), ("series", series, 6)):
            if code is not None and not re.fullmatch(rf"[a-z0-9]{{{length}}}", code):
                why = f"no code of {length} small letters or digits"
                raise BadChoice(f"{name} {code!r}: {why}")
        wanted = (archive, series)

        def has_codes(pid: Pid) -> bool:
            found = str(pid).split(":")[1:3]
            return all(code in (None, own) for code, own in zip(wanted, found, strict=True))

        return has_codes

    def outcomes(
        self, *, problem: Callable[[Exception], object] | None = None
    ) -> Iterator[LastOutcome]:
        """Return how each line of all runs ended at last, the oldest first; some 200 bytes a line.

        All feeds as one: of a pid and futli the last line alone. A line whose fut was held names
        it. Errors as of :meth:`papers`.
        """
        return parts.catalogue.outcomes(self.root, self.scheme, problem=problem)

    def has_fut(self, futli: Futli, since: datetime | None = None) -> bool:
        """Return whether *futli* has its fut, had not before *since*, and was not left open.

        ``BadSuwaf``, and ``ShortWarc`` where the WARC is missing or shorter than its suwaf says.
        """
        return self.held(futli, since) is not None

    def held(self, futli: Futli, since: datetime | None = None) -> Fut | None:
        """The fut of *futli*, where :meth:`has_fut`; raises as that."""
        pid = futli.pid
        suwaf = self._cache.suwaf(f"{self._base}/suwaf/{pid.path}.json", pid)
        if suwaf is None:
            return None
        self._check_length(pid, suwaf)
        if futli.url in suwaf.open:
            return None
        found = [*parts.catalogue.LATEST.of(suwaf.futlis.get(futli.url, {}))]
        if not found:
            return None
        time, fut = found[-1]
        held = since is None or time[:19] >= since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return fut if held else None

    def _check_length(self, pid: Pid, suwaf: Suwaf) -> None:
        warc, size = f"{self._base}/warc/{pid.path}.warc", 0
        with suppress(FileNotFoundError):
            size = os.stat(warc).st_size  # noqa: PTH116  half the cost
        if size < suwaf.end:
            suwaf.check_length(Path(warc), size)

    def paper(self, pid: Pid, *, recover: bool = True) -> AbstractContextManager[PaperWarc]:
        """The paper's WARC, locked for writing: ``paperwarc.locked``."""
        return parts.paperwarc.locked(self.paper_files(pid), recover=recover)

    def paper_files(self, pid: Pid) -> PaperFiles:
        """The paths of a paper's files, and what is known of papers."""
        return parts.paperwarc.PaperFiles(
            warc=self.warc_path(pid),
            suwaf=self.suwaf_path(pid),
            pid=pid,
            scheme=self.scheme,
            cache=self._cache,
        )

    def storing(self, pid: Pid, trails: Sequence[TrailRecord]) -> Steps[list[Stored]]:
        """Store what *trails* of *pid* left: ``paperwarc.storing``."""
        return parts.paperwarc.storing(self.paper_files(pid), trails)

    def close(self, futli: Futli) -> None:
        """Note that a trail of *futli* ended with nothing to store: it is not open any longer.

        Raises as :meth:`paper`; nothing is written where the futli was not open.
        """
        [end] = done(self.storing(futli.pid, [parts.paperwarc.TrailRecord(closes=futli.url)]))
        if isinstance(end, KeeperError):
            raise end

    def warcs(self, lost: Callable[[Path], object] | None = None) -> Iterator[Path]:
        """The paths of all paper WARCs, sorted within each folder, found as they are asked for.

        Links are followed (docs/adr/0013). *lost* is told of each that leads nowhere;
        ``BadArchive`` where nobody is there to be told.
        """
        found = files_below(self.root / "warc", lost or _refuse_lost)
        return (path for path in found if path.suffix == ".warc" and not path.name.startswith("."))

    def pid_at(self, warc: Path) -> Pid:
        """The pid of the paper WARC at *warc*: by its path, else by suwaf or Paper-Id.

        ``BadPid`` where the path is that of no pid.
        """
        relative = warc.as_posix().removeprefix(self._warcs).removesuffix(".warc")
        return self.pid_of(relative, warc)

    def pid_of(self, relative: str, warc: Path) -> Pid:
        """The pid with the path *relative*; where that is cut, by its suwaf or what is in *warc*.

        ``BadPid`` where nothing tells it.
        """
        if pid := self.scheme.inverse(relative):
            return pid
        for text in (
            *_pids_of(self.root / "suwaf" / f"{relative}.json"),
            *parts.contents.paper_ids(warc),
        ):
            with suppress(BadPid):
                pid = self.scheme.pid(text)
                if pid.path == relative:
                    return pid
        raise BadPid(f"{warc}: no Paper-Id in it has this path")

    def rebuild(self, pid: Pid) -> Suwaf:
        """Make the suwaf of *pid* again from its WARC, reading every byte.

        ``NotHeld`` where there is no WARC; ``ShortWarc`` where a suwaf that can be read knows more
        bytes than there are, ``BadWarc`` where bytes are no records: then nothing is changed.
        """
        if not self.warc_path(pid).exists():
            raise NotHeld(f"{pid}: not in the archive at {self.root}")
        with self.paper(pid, recover=False) as paper:
            paper.rebuild()
            return paper.suwaf

    def adopt(self, warc: Path) -> Pid:
        """Move the WARC of a first Lafka to the path that its Paper-Id has here; the pid.

        ``BadPid`` where it names none or several, ``BadWarc`` where the place is taken.
        """
        pids = {self.scheme.pid(text) for text in parts.contents.paper_ids(warc)}
        if len(pids) != 1:
            raise BadPid(f"{warc}: {len(pids)} Paper-Ids in it, so it is no paper's")
        pid = pids.pop()
        path = self.warc_path(pid)
        if path == warc:
            return pid
        try:
            if not (path.exists() and path.samefile(warc)):  # else killed between link and unlink
                with vacant(path):
                    drafts.link(warc, path)
            warc.unlink()
            sync_folder(warc.parent)
        except BadWarc:
            raise BadWarc(warc, f"is of {pid}, but {path} exists already") from None
        except OSError as error:
            raise StorageTrouble(path, error) from error
        return pid


def _pids_of(suwaf: Path) -> list[str]:
    """The pids in a suwaf; none where it cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        values = json.loads(suwaf.read_bytes())
        if isinstance(values, dict):
            return [key for key in values if key != "_warc"]
    return []


def _scheme(name: str) -> Scheme:
    try:
        return SCHEMES[name]
    except KeyError:
        known = ", ".join(SCHEMES)
        raise BadArchive(f"{name!r} is no collection; the collections are {known}") from None


def _refuse_lost(link: Path) -> None:
    raise BadArchive(f"{link}: a link that leads nowhere")


def _refuse_foreign(root: Path) -> None:
    known = {"warc", "suwaf", "raw", "runs", MARKER}
    names = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    if (root / "index" / "archive.sqlite").is_file():  # of an archive that was moved away
        names.discard("index")
    if "archec.json" in names:  # it has a folder runs/, too
        raise BadArchive(f"{root}: an obi store, the archive needs a folder of its own")
    if names and not names & known:
        raise BadArchive(f"{root}: a folder of something else, it holds {min(names)!r}")


def _mark(root: Path, collection: str) -> None:
    draft = root / f".{MARKER}-{uuid.uuid4().hex}"
    data = json.dumps({"format": FORMAT, "collection": collection}).encode() + b"\n"
    # Its name is synced with those of the folders beside it.
    drafts.create(root / MARKER, [data], draft=draft)


def _reason(error: Exception) -> str:
    if isinstance(error, StorageTrouble):
        return error.error.strerror or str(error.error)
    return getattr(error, "strerror", None) or str(error)
