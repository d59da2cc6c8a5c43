"""The folder ``fileset/`` of an archive: where a fileset lies, and how its files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from gzip import GzipFile
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO, Self

from lafka.errors import ArchiveBusy, BadPid, NotHeld, ShortWarc
from lafka.filesets.archive.contents import fileset_id_in
from lafka.filesets.archive.filesetwarc import FilesetWarc, load_summary
from lafka.filesets.bundles.slices import Slice
from lafka.filesets.bundles.unpacking import member_pieces, unpacked_pieces
from lafka.filesets.model.bundles import Member
from lafka.filesets.model.summaries import (
    FilesetSummary,
    FilesetVersion,
    PackedPlace,
    SummaryFile,
)
from lafka.filesets.targets.folder import FolderTarget
from lafka.filesets.targets.target import Target
from lafka.pids import SCHEMES, Pid
from lafka.storage.folders import files_below
from lafka.warc.format.sources import CHUNK

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
        """Where it stands in a gzipped bundle; None where it stands in none."""
        return self.entry.bundle.packed if self.entry.bundle else None

    def pieces(self, unpacked: Unpacked | None = None) -> Iterator[bytes]:
        """Its bytes, a piece at a time; ``ShortWarc`` where there are fewer.

        ``BadBundle`` where a bundle does not give them; *unpacked* keeps gzipped ones open for the
        next file.
        """
        bundle = self.entry.bundle
        if bundle is not None and bundle.packed is not None:
            with Unpacked() as own:
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


class Unpacked:
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
    """What the archive at *root* holds of filesets; *items*: where items stand.

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
