"""The archive: a root folder with paper WARCs, suwafs, raw WARCs and outcome feeds.

::

    archive/
      lafka.json       layout marker: {"format": 1, "collection": "RePEc"}
      warc/<path>.warc     one paper WARC a paper, append-only, never compressed
      suwaf/<path>.json    its suwaf; can always be rebuilt from the WARC
      raw/<run>/           raw WARCs of runs that are not wholly copied; empty after a clean run
      runs/<run>.jsonl     outcome feed, one line per futli that was tried
      runs/<run>.json      report: whether the run is done, and what came of it

>>> Archive("archive").fut("RePEc:abc:wpaper:1").read()  # doctest: +SKIP
"""

from __future__ import annotations

import io
import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lafka.errors import BadArchive, BadPid, BadWarc, NotHeld, ShortWarc, StorageTrouble
from lafka.papers.archive.contents import paper_ids
from lafka.papers.archive.paperwarc import PaperWarc, locked
from lafka.papers.archive.suwafs import Suwaf
from lafka.papers.lists.futlis import Futli
from lafka.pids import SCHEMES, Pid, Scheme
from lafka.storage import drafts
from lafka.storage.folders import files_below, make_folders, sync_folder
from lafka.storage.locks import vacant

FORMAT = 1
MARKER = "lafka.json"
DEFAULT_COLLECTION = "RePEc"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFut:
    """A fut in an archive: ``length`` bytes at ``start`` of the file ``warc``.

    ``time`` is as in the suwaf, ``digest`` is ``sha256:`` and hex of the bytes, ``url`` is what the
    fut was fetched from, ``futli`` what the list said.
    """

    pid: Pid
    futli: str
    time: str
    url: str
    digest: str
    warc: Path
    start: int
    length: int

    def read(self) -> bytes:
        """The whole PDF, by one positioned read; ``ShortWarc`` where the file is too short."""
        with _warc_file(self.warc, self.pid) as file:
            data = os.pread(file.fileno(), self.length, self.start)
            while len(data) < self.length:  # one read gives at most 2 GiB
                more = os.pread(file.fileno(), self.length - len(data), self.start + len(data))
                if not more:
                    raise ShortWarc(self.warc, "ends inside a fut of its suwaf", self.start)
                data += more
            return data

    def open(self) -> io.BufferedReader:
        """A binary file object over the PDF alone, seekable; the caller closes it."""
        return io.BufferedReader(_Range(self))


def _warc_file(path: Path, pid: Pid) -> io.FileIO:
    try:
        return io.FileIO(path)
    except FileNotFoundError:
        raise NotHeld(f"{pid}: its suwaf is here, but {path} is missing") from None
    except OSError as error:
        raise StorageTrouble(path, error) from error


class _Range(io.RawIOBase):
    """The bytes of a fut as a file of their own."""

    _file: io.FileIO | None = None  # where opening fails, closing still works

    def __init__(self, fut: StoredFut) -> None:
        self._file = _warc_file(fut.warc, fut.pid)
        self._fut = fut
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._fut.length}
        if whence not in bases or bases[whence] + offset < 0:
            raise ValueError(f"cannot seek to {offset} from {whence}")
        self._place = bases[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._file is None or self.closed:
            raise ValueError("I/O operation on closed file")
        size = max(0, min(len(buffer), self._fut.length - self._place))
        data = os.pread(self._file.fileno(), size, self._fut.start + self._place)
        if size and not data:
            raise ShortWarc(self._fut.warc, "ends inside a fut of its suwaf", self._fut.start)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


class Archive:
    """An archive at the folder *root*, to read from, and for one paper at a time to write to.

    ``BadArchive`` where *root* holds no archive, one of another layout, or one of another
    collection than *collection*. Readers take no lock.
    """

    def __init__(self, root: Path | str, collection: str | None = None) -> None:
        self.root = Path(root)
        self._base = str(self.root)  # a path is made in one go: reading a fut costs little else
        marked = self._marked()
        if marked is None and not (self.root / "warc").is_dir():
            raise BadArchive(f"{self.root}: no archive is here")
        if marked and collection and collection != marked:
            raise BadArchive(f"{self.root}: an archive of {marked}, not of {collection}")
        self.scheme = _scheme(marked or collection or DEFAULT_COLLECTION)

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
                _mark(self.root, self.scheme.name)
                sync_folder(self.root)
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
        suwaf = Suwaf.load(self.suwaf_path(pid), pid)
        if suwaf is None:
            raise NotHeld(f"{pid}: not in the archive at {self.root}")
        return suwaf

    def fut(self, pid: str | Pid, futli: str | None = None, time: str | None = None) -> StoredFut:
        """The latest fut of a paper, or of its *futli*, or the latest not after *time*.

        *time* is ``YYYY-MM-DDThh:mm:ssZ`` or any beginning of it. ``BadPid``, ``NotHeld``,
        ``BadSuwaf``.
        """
        pid = self.pid(pid)
        name, key, fut = self.suwaf(pid).fut(futli, time)
        return StoredFut(
            pid=pid,
            futli=name,
            time=key,
            url=fut.url,
            digest=fut.digest,
            warc=self.warc_path(pid),
            start=fut.s,
            length=fut.l,
        )

    def has_fut(self, futli: Futli, since: datetime | None = None) -> bool:
        """Whether *futli* has its fut, had not before *since*, and was not left open.

        ``BadSuwaf``, and ``ShortWarc`` where the WARC is missing or shorter than its suwaf says.
        """
        suwaf = Suwaf.load(self.suwaf_path(futli.pid), futli.pid)
        if suwaf is None:
            return False
        self._check_length(futli.pid, suwaf)
        if futli.url in suwaf.open:
            return False
        times = [time for time, fut in suwaf.futlis.get(futli.url, {}).items() if not fut.label]
        if not times or since is None:
            return bool(times)
        return max(times)[:19] >= since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")

    def _check_length(self, pid: Pid, suwaf: Suwaf) -> None:
        warc, size = self.warc_path(pid), 0
        with suppress(FileNotFoundError):
            size = warc.stat().st_size
        suwaf.check_length(warc, size)

    def paper(self, pid: Pid, *, recover: bool = True) -> AbstractContextManager[PaperWarc]:
        """The paper's WARC, locked for writing: ``paperwarc.locked``."""
        return locked(self.warc_path(pid), self.suwaf_path(pid), pid, self.scheme, recover=recover)

    def close(self, futli: Futli) -> None:
        """Note that a trail of *futli* ended with nothing to store: it is not open any longer.

        Raises as :meth:`paper`; nothing is written where the futli was not open.
        """
        suwaf = Suwaf.load(self.suwaf_path(futli.pid), futli.pid)
        if suwaf and futli.url in suwaf.open:
            with self.paper(futli.pid) as paper:
                paper.close(futli.url)

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
        relative = warc.relative_to(self.root / "warc").as_posix().removesuffix(".warc")
        pid = self.scheme.inverse(relative)
        if pid is None:  # a cut path
            pid = self._pid_inside(warc, relative)
        return pid

    def _pid_inside(self, warc: Path, relative: str) -> Pid:
        for text in (*_pids_of(self.root / "suwaf" / f"{relative}.json"), *paper_ids(warc)):
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
            paper.load_suwaf(lenient=True)
            paper.rebuild()
            return paper.suwaf

    def adopt(self, warc: Path) -> Pid:
        """Move the WARC of a first Lafka to the path that its Paper-Id has here; the pid.

        ``BadPid`` where it names none or several, ``BadWarc`` where the place is taken.
        """
        pids = {self.scheme.pid(text) for text in paper_ids(warc)}
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
