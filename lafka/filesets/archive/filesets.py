"""The folder ``fileset/`` of an archive: its filesets, bags of them, and their recovery.

The raw log of a run is its write-ahead log. Of a killed run, a page goes into the WARC of the
fileset that its warcinfo names or a note binds it to, else into that of its own URL. A file that
was not committed is left out: nobody has verified it, and the next run asks for it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from gzip import GzipFile
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO, Self
from urllib.parse import quote, urlsplit

from lafka.capture.logged import LoggedExchange
from lafka.capture.readback import Bound, DeadLog, recovered
from lafka.errors import (
    ArchiveBusy,
    BadArgument,
    BadPid,
    BadWarc,
    KeeperError,
    NotHeld,
    ShortWarc,
    StorageTrouble,
)
from lafka.filesets.archive.contents import FILESET_ID, ROLE, Role, fileset_id_in
from lafka.filesets.archive.filesetwarc import FilesetGroup, FilesetWarc, load_summary
from lafka.filesets.bundles.unpacking import member_pieces, unpacked_pieces
from lafka.filesets.model.bundles import Member, Slice
from lafka.filesets.model.summaries import (
    FilesetSummary,
    FilesetVersion,
    PackedPlace,
    SummaryFile,
)
from lafka.filesets.targets.folder import FolderTarget
from lafka.filesets.targets.item import Target, local_names
from lafka.pids import SCHEMES, Pid
from lafka.storage import drafts
from lafka.storage.folders import files_below, make_folders
from lafka.warc.format.sources import CHUNK

_DECLARATION = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"


def make_bag(filesets: Filesets, fileset_id: str, folder: Path, version: str | None = None) -> int:
    """Make the bag *folder* of a version; the number of its files.

    Each file is held against its summary while it is copied. Where a name is none for every disk it
    is escaped, and ``names.tsv`` tells the file's own path. ``BadArgument`` where *folder* is there
    and not empty, ``NotHeld``, ``BadWarc``, ``StorageTrouble``.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadArgument(f"{folder}: not empty")
    name, held = filesets.version(fileset_id, version)
    names = {path: _plain(local) for path, local in local_names(held.files).items()}
    stored = [filesets.stored(fileset_id, path, entry) for path, entry in held.files.items()]
    places = {path: folder / "data" / names[path] for path in held.files}
    digests: dict[str, dict[str, str]] = {}
    with UnpackedBundle() as unpacked:
        for file in sorted(stored, key=_in_bundle):
            digests[file.path] = _copied(file, places[file.path], unpacked)
    size = sum(place.stat().st_size for place in places.values())
    tags = {
        f"manifest-{algorithm}.txt": "".join(
            f"{digests[path][algorithm]}  data/{names[path]}\n" for path in held.files
        )
        for algorithm in ("sha256", "md5")
    }
    tags["bag-info.txt"] = (
        f"External-Identifier: {fileset_id}\nExternal-Description: version {name}\n"
        f"Payload-Oxum: {size}.{len(held.files)}\n"
    )
    if any(path != local for path, local in names.items()):
        tags["names.tsv"] = "".join(f"data/{local}\t{path}\n" for path, local in names.items())
    for tag, text in tags.items():
        drafts.replace(folder / tag, [text.encode("utf-8", "surrogatepass")])
    drafts.replace(folder / "bagit.txt", [_DECLARATION])
    return len(held.files)


def _plain(local: str) -> str:
    """A name without ``%``, which readers of manifests take differently (RFC 8493, 2.1.3)."""
    return local.replace("=", "=3D").replace("%", "=")


def _in_bundle(stored: StoredFile) -> tuple[str, int, int]:
    """Return what sorts the members of each gzipped bundle so that it is unpacked once."""
    packed = stored.packed
    return (str(stored.place), packed.s, packed.at) if packed else ("", 0, 0)


def _copied(stored: StoredFile, place: Path, unpacked: UnpackedBundle) -> dict[str, str]:
    made = {name: hashlib.new(name, usedforsecurity=False) for name in ("sha256", "md5")}

    def passing() -> Iterator[bytes]:
        for piece in stored.pieces(unpacked):
            for digest in made.values():
                digest.update(piece)
            yield piece

    make_folders(place.parent)
    try:
        drafts.replace(place, passing())
    except OSError as error:
        raise StorageTrouble(stored.place, error) from error
    found = {name: digest.hexdigest() for name, digest in made.items()}
    if f"sha256:{found['sha256']}" != stored.entry.digest:
        raise BadWarc(Path(stored.place), f"{stored.path!r} is not what its summary says")
    return found


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
    return web_home(exchanges[-1].url)


def web_home(url: str) -> str:
    """Return the id of the fileset in whose WARC a page belongs that is of no known fileset."""
    host = urlsplit(url).hostname or "unknown"
    return f"fileset:web:{host}:{quote(url, safe=_PLAIN)}"


FOLDER = "fileset"
ITEMS = "items"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file of a fileset where it is held: all or a part of the file, or object, ``place``."""

    path: str
    entry: SummaryFile
    place: Path | str
    target: Target

    @property
    def packed(self) -> PackedPlace | None:
        """Its place in a gzipped bundle; None where it stands in none."""
        return self.entry.bundle.packed if self.entry.bundle else None

    def pieces(self, unpacked: UnpackedBundle | None = None) -> Iterator[bytes]:
        """Its bytes, a piece at a time; ``ShortWarc`` where there are fewer.

        ``BadBundle`` where a bundle does not give them; *unpacked* keeps gzipped ones open for the
        next file.
        """
        bundle = self.entry.bundle
        if bundle is not None and bundle.packed is not None:
            with UnpackedBundle() as own:
                stream = (unpacked or own).stream(self, bundle.packed)
                yield from unpacked_pieces(stream, _member(self.path, self.entry))
            return
        with self.opened() as file:
            if bundle is not None:
                size = file.seek(0, SEEK_END)
                yield from member_pieces(
                    Slice(file, 0, size).buffered(), _member(self.path, self.entry)
                )
                return
            start, left = self.entry.s or 0, self.entry.l
            file.seek(start)
            while left:
                data = file.read(min(left, CHUNK))
                if not data:
                    message = "ends inside a file of its summary"
                    raise ShortWarc(Path(self.place), message, start)
                yield data
                start += len(data)
                left -= len(data)

    def opened(self) -> BinaryIO:
        """The file, or object, that it stands in; ``OSError``."""
        entry = self.entry
        if entry.item is not None and entry.name is not None:
            return self.target.opened(entry.item, entry.name)
        return Path(self.place).open("rb")


class UnpackedBundle:
    """The gzipped bundle that was read last, still open.

    Its members are read in one pass where they are asked for in their order.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._what: tuple[Path | str, int, int] | None = None
        self._stream: GzipFile | None = None

    def stream(self, stored: StoredFile, packed: PackedPlace) -> GzipFile:
        """Return what unpacks the bundle of *stored*, which stands as *packed* says."""
        what = (stored.place, packed.s, packed.l)
        if self._stream is None or self._what != what:
            self._open.close()
            file = self._open.enter_context(stored.opened())
            part = Slice(file, packed.s, packed.l).buffered()
            self._stream = self._open.enter_context(GzipFile(fileobj=part, mode="rb"))
            self._what = what
        return self._stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def _member(path: str, entry: SummaryFile) -> Member:
    bundle = entry.bundle
    assert bundle is not None
    return Member(
        path=path,
        size=entry.size or 0,
        md5=entry.md5 or "",
        sha1=entry.sha1 or "",
        sha256=entry.digest.partition(":")[2],
        crc32=bundle.crc32,
        s=bundle.s,
        at=None if bundle.packed is None else bundle.packed.at,
        l=bundle.l,
        method=bundle.method,
        flags=bundle.flags,
    )


class Filesets:
    """The filesets that the archive at *root* holds; *items*: the target of items.

    Reading takes no lock.
    """

    def __init__(self, root: Path | str, items: Target | None = None) -> None:
        self.root = Path(root)
        self.folder = self.root / FOLDER
        self.items = items or FolderTarget(self.root / ITEMS)

    def pid(self, fileset_id: str) -> Pid:
        """``BadPid`` where *fileset_id* is none."""
        if not fileset_id.startswith("fileset:"):
            raise BadPid(f"{fileset_id}: a fileset's id begins with fileset:")
        return SCHEMES["any"].pid(fileset_id)

    def warc_path(self, pid: Pid) -> Path:
        return self.folder / "warc" / f"{pid.path}.warc"

    def summary_path(self, pid: Pid) -> Path:
        return self.folder / "suwaf" / f"{pid.path}.json"

    def summary(self, fileset_id: str) -> FilesetSummary:
        """``NotHeld`` where there is none, ``BadSuwaf`` where it is none."""
        pid = self.pid(fileset_id)
        summary = load_summary(self.summary_path(pid), fileset_id)
        if summary is None:
            raise NotHeld(f"{fileset_id}: not in the archive at {self.root}")
        return summary

    def locked(self, fileset_id: str, *, recover: bool = True) -> FilesetWarc | None:
        """The fileset's WARC for writing; None where another process has it."""
        pid = self.pid(fileset_id)
        return FilesetWarc.locked(
            self.warc_path(pid), self.summary_path(pid), fileset_id, recover=recover
        )

    def rebuild(self, fileset_id: str) -> FilesetSummary:
        """Make a summary again from its WARC alone, reading every byte.

        ``ArchiveBusy`` where another process has it, ``ShortWarc``, ``BadWarc``.
        """
        warc = self.locked(fileset_id, recover=False)
        if warc is None:
            raise ArchiveBusy(f"{fileset_id}: another process has it")
        try:
            warc.rebuild()
            return warc.summary
        finally:
            warc.close()

    def version(self, fileset_id: str, name: str | None = None) -> tuple[str, FilesetVersion]:
        """The version *name*, else the latest that is complete, else the latest; ``NotHeld``."""
        versions = self.summary(fileset_id).versions
        if name is None and versions:
            name = max(versions, key=lambda key: (versions[key].complete, versions[key].time))
        if name not in versions:
            known = ", ".join(versions) or "none"
            raise NotHeld(f"{fileset_id}: no version {name}; the versions held are {known}")
        assert name is not None
        return name, versions[name]

    def file(self, fileset_id: str, path: str, version: str | None = None) -> StoredFile:
        """The file *path* of a fileset; ``NotHeld``."""
        name, held = self.version(fileset_id, version)
        if path not in held.files:
            raise NotHeld(f"{fileset_id}: no file {path!r} in version {name}")
        return self.stored(fileset_id, path, held.files[path])

    def stored(self, fileset_id: str, path: str, entry: SummaryFile) -> StoredFile:
        """The file that *entry* of a summary tells the place of."""
        place: Path | str
        if entry.item is not None and entry.name is not None:
            place = self.items.place(entry.item, entry.name)
        else:
            place = self.warc_path(self.pid(fileset_id))
        return StoredFile(path=path, entry=entry, place=place, target=self.items)

    def lost(self, entries: Iterable[SummaryFile]) -> set[tuple[str, str]]:
        """Item and name of those files of items that are not there with all their bytes.

        ``TargetTrouble``.
        """
        wanted: dict[str, dict[str, int | None]] = {}
        for entry in entries:
            if entry.item is not None and entry.name is not None:
                size = entry.l if entry.bundle is None else None  # a bundle is bigger than a member
                wanted.setdefault(entry.item, {})[entry.name] = size
        found: set[tuple[str, str]] = set()
        for item, names in wanted.items():
            sizes = self.items.sizes(item, names)
            found |= {
                (item, name)
                for name, size in names.items()
                if name not in sizes or size not in (None, sizes[name])
            }
        return found

    def warcs(self, lost: Callable[[Path], object] = lambda _: None) -> Iterator[Path]:
        """The paths of all fileset WARCs, sorted within each folder."""
        found = files_below(self.folder / "warc", lost)
        return (path for path in found if path.suffix == ".warc" and not path.name.startswith("."))

    def ids(self) -> Iterator[str]:
        """The ids of all filesets that have a WARC."""
        return (self.id_at(warc) for warc in self.warcs())

    def id_at(self, warc: Path) -> str:
        """The id of the fileset whose WARC is *warc*; ``BadPid`` where it is none's."""
        relative = warc.relative_to(self.folder / "warc").as_posix().removesuffix(".warc")
        pid = SCHEMES["any"].inverse(relative)
        text = pid.text if pid else fileset_id_in(warc)
        if text is None or not text.startswith("fileset:"):
            raise BadPid(f"{warc}: no fileset has this path")
        return text
