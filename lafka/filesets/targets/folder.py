"""Items in a folder: parts that are written as they come, final names that are whole.

::

    <items>/<item name>/
      .lafka.json            which fileset the item is of; what has none is not Lafka's
      item.json              last of all: what the internetarchive library's upload takes
      files/<path>           a file, verified
      files/.part-<name>     a file that comes, with .part-<name>.json: how far it is synced
      files/<name>.mismatch  what twice was not the file
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from lafka.errors import StorageTrouble
from lafka.filesets.model.manifests import Digester, FileFacts
from lafka.filesets.targets.item import (
    DESCRIPTION,
    FILES,
    MARKER,
    DownloadProgress,
    ForeignItem,
    ItemDescription,
)
from lafka.payloads import decoded_max
from lafka.storage import drafts
from lafka.storage.folders import draft_of, free_name, make_folders, put_in_place, sync_folder
from lafka.warc.format.codings import decode
from lafka.warc.format.sources import CHUNK
from lafka.warc.writing.names import or_numbered

PART = ".part-"
BUNDLE = "bundle"
"""The name of a bundle before its kind is known."""
SYNC_BYTES = 256 << 20
SYNC_SECONDS = 2.0
_MARKER_DRAFT = re.compile(rf"{re.escape(MARKER)}-\d+")


class FolderTarget:
    """The items in the folder *work*: where they are made they stay."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def item(self, description: ItemDescription, fileset_id: str) -> ItemFolder:
        return ItemFolder(self.work, description, fileset_id)

    def sizes(self, item: str, names: Iterable[str]) -> Mapping[str, int]:
        found = {}
        for name in names:
            with suppress(OSError):
                found[name] = self.place(item, name).stat().st_size
        return found

    def opened(self, item: str, name: str) -> BinaryIO:
        return self.place(item, name).open("rb")

    def place(self, item: str, name: str) -> Path:
        return self.work / item / name


class ItemFolder:
    """The folder of the item that *description* names, of the fileset *fileset_id*."""

    is_remote = False

    def __init__(self, items: Path, description: ItemDescription, fileset_id: str) -> None:
        self.path = items / description.identifier
        self.description = description
        self._fileset_id = fileset_id

    @property
    def is_described(self) -> bool:
        """True where ``item.json`` is there: the item was finished once."""
        return (self.path / DESCRIPTION).is_file()

    def make(self) -> None:
        """Make the folder; ``ForeignItem`` where another's is there, ``StorageTrouble``."""
        marker = self.path / MARKER
        if self.path.exists() and not marker.exists() and self._is_anothers():
            raise ForeignItem(f"{self.path}: a folder that is not Lafka's")
        make_folders(self.path)
        draft = self.path / f"{MARKER}-{os.getpid()}"
        made = drafts.create(marker, [self.marker_bytes], draft=draft)
        if not made and self._marked() != self._fileset_id:
            raise ForeignItem(f"{self.path}: an item of {self._marked()}")
        # Behind the marker, for what has none is not Lafka's; this syncs the marker's name, too.
        make_folders(self.path / FILES)
        self._drop(entry for entry in self.path.iterdir() if _MARKER_DRAFT.fullmatch(entry.name))

    def _is_anothers(self) -> bool:
        """Return whether the folder, which has no marker, has more than a kill leaves of making
        one.
        """
        for entry in self.path.iterdir():
            made = entry.name == FILES and entry.is_dir() and not any(entry.iterdir())
            if not made and not _MARKER_DRAFT.fullmatch(entry.name):
                return True
        return False

    def _drop(self, left: Iterable[Path]) -> None:
        """Remove what a killed crawl *left*."""
        for path in left:
            with StorageTrouble.at(path):
                path.unlink(missing_ok=True)

    @property
    def marker_bytes(self) -> bytes:
        """The content of the marker."""
        return json.dumps({"fileset": self._fileset_id}).encode() + b"\n"

    def _marked(self) -> str:
        try:
            return str(json.loads((self.path / MARKER).read_bytes())["fileset"])
        except (OSError, ValueError, LookupError, TypeError):
            return "nobody"

    def name_of(self, path: str) -> str:
        """Return where the file *path* of the manifest stands, below the item's folder."""
        return self.description.files[path]

    def final(self, path: str) -> Path:
        return self.path / self.name_of(path)

    def finish(self) -> None:
        """Write ``item.json``, last of all, where it is not there.

        Before it, parts of what the item has go for good: a power cut may have brought them back,
        or still do so, and nobody would ever go on with them.
        """
        if self.is_described:
            return
        bundle = self.path / FILES / BUNDLE
        finals = [self.path / name for name in self.description.files.values()]
        there = set(self.path.rglob("*"))
        for final in (bundle, *finals):
            self._drop(there.intersection(PartFile(final).paths))
        with StorageTrouble.at(self.path):
            for folder in {final.parent for final in finals}:
                sync_folder(folder)
        self.describe()

    def describe(self) -> None:
        """Write ``item.json``, for whatever is there; ``StorageTrouble``."""
        drafts.replace(self.path / DESCRIPTION, [self.description.to_bytes()])


class PartFile:
    """A file on its way to *final*; whoever has the fileset's lock is its only writer."""

    def __init__(self, final: Path, others: Iterable[str] = ()) -> None:
        self.final = final
        self.path = final.with_name(PART + final.name)
        self._told = final.with_name(f"{PART}{final.name}.json")
        self._undone = final.with_name(f"{PART}{final.name}.undone")
        self._others = tuple(others)
        self._digester = Digester(self._others)
        self._fd = -1
        self._noted = False
        self._drops = self.paths
        self._synced = 0
        self._synced_at = 0.0
        self.part = DownloadProgress(url="")

    @property
    def paths(self) -> tuple[Path, ...]:
        """All that there may be of it before it has its name."""
        return (draft_of(self._told), self._told, self._undone, self.path)

    @property
    def size(self) -> int:
        """Bytes that were written."""
        return self._digester.size

    def take_up(self, url: str) -> None:
        """Open what there is of it; the prefix that was synced is hashed again.

        ``StorageTrouble``.
        """
        with StorageTrouble.at(self.path):
            self._open()
            self._noted = self._told.exists()
            self.part = self._known(url)
            os.ftruncate(self._fd, self.part.offset)
            self._digester = Digester(self._others)
            for piece in _pieces(self._fd, self.part.offset):
                self._digester.feed(piece)
            self._synced, self._synced_at = self.part.offset, monotonic()

    def _open(self) -> None:
        make_folders(self.path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o666)

    def _known(self, url: str) -> DownloadProgress:
        try:
            known = DownloadProgress.parse(self._told.read_bytes())
        except (OSError, ValueError):
            return DownloadProgress(url=url)
        whole = os.fstat(self._fd).st_size >= known.offset
        return known if whole else DownloadProgress(url=url)

    def begin(self, part: DownloadProgress) -> None:
        """Begin anew with the file that *part* tells of.

        What was told of the one before goes first, for good: it would be believed of this one.
        Where it was never taken up, there is nothing of it.
        """
        with StorageTrouble.at(self.path):
            if self._fd < 0:
                self._open()
                self._drops = (self.path,)
            if self._noted:
                self._told.unlink()
                self._noted = False
                sync_folder(self._told.parent)
            os.ftruncate(self._fd, 0)
        self.part = part
        self._digester = Digester(self._others)
        self._synced, self._synced_at = 0, monotonic()

    def write(self, data: bytes) -> None:
        """Append *data*; zeros alone are left as a hole. Synced now and then."""
        with StorageTrouble.at(self.path):
            if data != bytes(len(data)):
                rest, place = memoryview(data), self.size
                while rest:
                    written = os.pwrite(self._fd, rest, place)
                    rest, place = rest[written:], place + written
            self._digester.feed(data)
        late = monotonic() - self._synced_at >= SYNC_SECONDS
        if late or self.size - self._synced >= SYNC_BYTES:
            self.sync()

    def sync(self, *, is_whole: bool = False) -> None:
        """Have on the disk what was written, and say so: a kill loses nothing of it.

        *is_whole*: it gets its name next, so that one that came within one sync needs no note.
        """
        if self.size == self.part.offset and self._noted:
            return
        with StorageTrouble.at(self.path):
            if os.fstat(self._fd).st_size < self.size:
                os.ftruncate(self._fd, self.size)  # a hole at its end
            os.fdatasync(self._fd)
        self._synced, self._synced_at = self.size, monotonic()
        self.part = self.part.at(self.size)
        if not is_whole or self._noted:
            self._noted, self._drops = True, self.paths
            drafts.replace(self._told, [self.part.to_bytes()])

    def moment(self) -> str:
        """The time when it was written last, 14 digits, UTC."""
        return moment_of(self.path)

    def facts(self) -> FileFacts:
        """Return what was written, digests and all."""
        return self._digester.facts()

    def undone(self, most: int = 0) -> Iterator[bytes]:
        """Return what the answer's content coding hides; ``BadHttp``, also over *most* bytes (0:
        any).
        """
        codings = tuple(filter(None, map(str.strip, (self.part.coding or "").split(","))))
        return decode(_pieces(self._fd, self.size), codings, most=decoded_max(self.size, most))

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def keep(self, final: Path | None = None, *, undone: bool = False, later: bool = False) -> bool:
        """Give the part its final name, durably; False where another file has it.

        *undone*: the file is what the part's content coding hides. *later*: the caller syncs the
        folder of the name.
        """
        final = final or self.final
        with StorageTrouble.at(final):
            make_folders(final.parent)
            if undone:
                if not drafts.create(final, self.undone(), draft=self._undone):
                    return False
                sync_folder(final.parent)
            else:
                try:
                    drafts.link(self.path, final, later=later)
                except FileExistsError:
                    return False
            self.drop()
        return True

    def keep_over(self, final: Path, *, undone: bool = False) -> None:
        """Give the part the name *final* of a file that rotted, which is set aside."""
        with StorageTrouble.at(final):
            drafts.link(final, _aside(final))
            if undone:
                drafts.replace(final, self.undone(), draft=self._undone)
            else:
                put_in_place(self.path, final)

    def drop(self) -> None:
        """Have no part any more."""
        self.close()
        with StorageTrouble.at(self.path):
            for path in self._drops:
                path.unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """Keep the part as what is not the file."""
        self.close()
        aside = _aside(self.final)
        with StorageTrouble.at(aside):
            drafts.link(self.path, aside)
        self.drop()
        return aside


def _aside(final: Path) -> Path:
    """The name for what has, or came for, the name *final* and is not the file."""
    return free_name(or_numbered(final.with_name(f"{final.name}.mismatch"), "."))


def moment_of(path: Path) -> str:
    """Return the time of the last write of *path*, 14 digits, UTC; ``StorageTrouble``."""
    with StorageTrouble.at(path):
        written = path.stat().st_mtime
    return datetime.fromtimestamp(written, UTC).strftime("%Y%m%d%H%M%S")


def facts_on_disk(path: Path, others: Iterable[str] = ()) -> FileFacts:
    """The facts of the file at *path*; ``StorageTrouble``."""
    digester = Digester(tuple(others))
    with StorageTrouble.at(path), path.open("rb") as file:
        for piece in _pieces(file.fileno(), os.fstat(file.fileno()).st_size):
            digester.feed(piece)
    return digester.facts()


def _pieces(fd: int, length: int) -> Iterator[bytes]:
    place = 0
    while place < length:
        data = os.pread(fd, min(CHUNK, length - place), place)
        if not data:
            raise OSError("the file ends before its length")
        yield data
        place += len(data)
