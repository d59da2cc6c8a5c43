"""Sources of RePEc data: a folder, or a tarball that is streamed and never extracted.

The layout is RePEc's: below the source, or below ``RePEc/`` in it, one folder per archive. None of
it is relied on but for one thing: an archive is *covered* where every file and folder below its
own folder could be read, and what is not covered cannot be lost.

A source gives its files one after the other; a file is read before the next one is asked for:

    with sources.open_source(path) as source:
        for file in source:
            for template in redif.read(file, file.path):
                ...
    source.covers("nbr")

Read are ``.rdf`` and ``.redif``, in any case. Names with a leading dot are passed over. What has
such a name and is no plain file, or a symlink to a folder, is told, and given without bytes.
A folder comes in byte order of its paths, a tarball in its own.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import re
import stat
import tarfile
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from lafka.archec.redif.vocabulary import Problem
from lafka.errors import BadSource, TornFile, printable
from lafka.storage.folders import FileStamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

LONGEST_FILE = 2 << 30
"""Bytes; the whole of RePEc has less than three times that, so a longer one is a bomb."""

_CHUNK = 1 << 20
_LONGEST_NAME = 1 << 20  # bytes of a tar header that holds a name or attributes
_WANTED = re.compile(rb".+\.(?:rdf|redif)", re.IGNORECASE | re.DOTALL)
_DRAFT = re.compile(rb"\.(.+\.(?:rdf|redif))\.[A-Za-z0-9]{6}", re.IGNORECASE | re.DOTALL)
"""The name under which rsync(1) writes a file."""
_ROOT = "RePEc"
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, OSError, ValueError)


def stamp_of(about: os.stat_result) -> FileStamp:
    """The stamp of a file, by which git's index knows one again.

    ``changed`` is 0 where the file has several names, for each new one changes that time.
    """
    stamp = FileStamp.of(about)
    return stamp if about.st_nlink == 1 else stamp._replace(changed=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of RePEc data, open until the next one is asked for.

    ``path`` is relative to the source, as it is told to people: bytes that are no UTF-8 stand
    as escapes. ``place`` is the same below the folder that holds the archives, so its first part
    is an archive's. ``modified`` is the mtime in whole seconds, ``size`` in bytes. ``is_plain`` is
    false of what was told to be no file: it gives no bytes. ``stamp`` is None in a tarball.
    """

    path: str
    place: str
    modified: int
    size: int
    _read: Callable[[int], bytes] = field(repr=False, compare=False)
    is_plain: bool = True
    stamp: FileStamp | None = None

    @property
    def archive(self) -> str:
        """The folder of an archive in which this stands, in lower case; empty above them."""
        folder, slash, _ = self.place.partition("/")
        return folder.lower() if slash else ""

    def read(self, size: int, /) -> bytes:
        """The next bytes, none at the end; TornFile where the file cannot be read on."""
        return self._read(size)


class RedifSource(ABC):
    """RePEc data; read once, from first to last.

    ``problems`` and what ``covers`` says are whole when the iteration has ended. ``partial``
    says that this is a single archive by its own layout, not a collection of them.
    """

    partial: bool = False

    def __init__(self, path: Path) -> None:
        self.path = path
        """The folder or tarball, symlinks resolved: a switch of ``current`` changes nothing."""
        self.problems: list[Problem] = []
        self.archives: set[str] = set()
        """The folders of archives that were met, in lower case."""
        self.folders: set[str] = set()
        """The folders that were met, as places."""
        self.whole = False
        """Whether the source was read to its end; never of a torn tarball."""
        self.unread: set[str] = set()
        """The folders of archives of which something could not be read; empty text: of all."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def __iter__(self) -> Iterator[SourceFile]: ...

    @abstractmethod
    def close(self) -> None: ...

    def covers(self, archive: str) -> bool:
        """Return whether what is not there of *archive* is gone indeed, and not only unread."""
        return self.whole and not self.unread & {archive.lower(), ""}

    def _odd(self, path: str, place: str, reason: str) -> SourceFile:
        """Report an entry that has the name of a file and is none."""
        self._report(path, "passed-over", reason)
        return SourceFile(
            path=path, place=place, modified=0, size=0, _read=lambda _: b"", is_plain=False
        )

    def _unreadable(self, path: str, place: str, reason: str) -> None:
        self.unread.add(place.partition("/")[0].lower())
        self._report(path, "unreadable", reason)

    def _report(self, path: str, code: str, reason: str) -> None:
        problem = Problem(file=printable(path), line=0, code=code, sentence=printable(reason))
        self.problems.append(problem)

    def _met(self, place: str) -> None:
        """Note the folders of a file, or of a folder with its slash."""
        folder, slash, _ = place.partition("/")
        if folder and slash:
            self.archives.add(folder.lower())
            self.folders.add(place.rpartition("/")[0])


def open_source(path: str | Path) -> RedifSource:
    """The folder or tarball *path*; BadSource where it is neither."""
    try:
        found = Path(path).resolve(strict=True)
        if found.is_dir():
            return FolderSource(found)
        if stat.S_ISREG(found.stat().st_mode):
            return TarSource(found)
    except (OSError, RuntimeError, ValueError) as error:
        raise BadSource(f"{path}: {_reason(error)}") from None
    raise BadSource(f"{path}: neither a folder nor a tarball")


class FolderSource(RedifSource):
    """A folder and all that lies below it, in byte order of the paths."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._root = os.fsencode(path)
        own = {path.name.lower() + ending for ending in _ARCHIVE}
        self.partial = any(entry.name.lower() in own for entry in path.iterdir())
        self._prefix = f"{path.name}/" if self.partial else ""

    def __iter__(self) -> Iterator[SourceFile]:
        yield from self._below(b"")
        self.whole = "" not in self.unread

    def close(self) -> None:
        """Nothing stays open between two files."""

    def _below(self, folder: bytes) -> Iterator[SourceFile]:
        for entry, kind in self._entries(folder):
            inside = folder + entry
            path, place = self._names(inside)
            is_wanted = _WANTED.fullmatch(entry) is not None
            if is_wanted:
                self._met(place)
            if is_wanted and kind is not _EntryKind.FILE:
                yield self._odd(path, place, str(kind))
            elif kind is _EntryKind.FILE:
                if is_wanted:
                    yield from self._file(inside, path, place)
            elif kind is _EntryKind.FOLDER_LINK:
                self._report(path, "passed-over", str(kind))
            if kind is _EntryKind.FOLDER:
                self._met(f"{place}/")
                yield from self._below(inside + b"/")

    def _names(self, inside: bytes) -> tuple[str, str]:
        path = inside.decode("utf-8", "backslashreplace")
        return path, self._prefix + below_root(path)

    def _entries(self, folder: bytes) -> list[tuple[bytes, _EntryKind]]:
        """Files and folders in byte order of their paths, a folder's with its slash."""
        try:
            with os.scandir(os.path.join(self._root, folder)) as found:  # noqa: PTH118 - bytes
                entries = {entry.name: _EntryKind.of(entry) for entry in found}
        except OSError as error:
            path, place = self._names(folder.rstrip(b"/"))
            self._unreadable(path or str(self.path), place, _reason(error))
            return []
        drafts = {
            draft[1]: _EntryKind.DRAFT for name in entries if (draft := _DRAFT.fullmatch(name))
        }
        shown = {name: kind for name, kind in entries.items() if not name.startswith(b".")}
        return sorted(
            (drafts | shown).items(), key=lambda one: one[0] + b"/" * (one[1] is _EntryKind.FOLDER)
        )

    def _file(self, inside: bytes, path: str, place: str) -> Iterator[SourceFile]:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            opened = os.open(os.path.join(self._root, inside), flags)  # noqa: PTH118 - bytes
        except OSError as error:
            self._unreadable(path, place, _reason(error))
            return
        with open(opened, "rb", buffering=0) as stream:  # noqa: PTH123 - a descriptor
            about = os.fstat(opened)
            if not stat.S_ISREG(about.st_mode):
                yield self._odd(path, place, str(_EntryKind.OTHER))
                return
            if about.st_size > LONGEST_FILE:
                self._unreadable(path, place, f"over {LONGEST_FILE} bytes")
                return

            def read(size: int) -> bytes:
                try:
                    return stream.read(size)
                except OSError as error:
                    self._unreadable(path, place, _reason(error))
                    raise TornFile(f"{path}: {_reason(error)}") from None

            yield SourceFile(
                path=path,
                place=place,
                modified=about.st_mtime_ns // 1_000_000_000,
                size=about.st_size,
                stamp=stamp_of(about),
                _read=read,
            )


class _EntryKind(StrEnum):
    """The kind of an entry of a folder, in the words of a problem."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a symbolic link"
    FOLDER_LINK = "a symbolic link to a folder"
    OTHER = "no plain file"
    DRAFT = "a draft of rsync is there in its place"

    @classmethod
    def of(cls, entry: os.DirEntry[bytes]) -> _EntryKind:
        if entry.is_dir(follow_symlinks=False):
            return cls.FOLDER
        if entry.is_file(follow_symlinks=False):
            return cls.FILE
        if not entry.is_symlink():
            return cls.OTHER
        return cls.FOLDER_LINK if entry.is_dir() else cls.LINK


_ARCHIVE = ("arch.rdf", "arch.redif")


class _Member(tarfile.TarInfo):
    """A member whose header cannot fill the memory."""

    _WITH_NAMES: ClassVar = (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )

    # The hook that tarfile keeps for subclasses: it reads what follows the header.
    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in self._WITH_NAMES and self.size > _LONGEST_NAME:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        member: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return member

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tar)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # in no stub
            assert isinstance(tar, _Tar)
            tar.ended = True
            raise


class _Tar(tarfile.TarFile):
    tarinfo = _Member
    ended = False
    """Whether the block of zeros was met that ends a tarball; tarfile itself does not ask."""


class TarSource(RedifSource):
    """A tarball, plain or compressed by gzip, bzip2 or xz, read once from its first byte.

    ``digest`` of the file is not taken here: a reader that wants it reads ``path``.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._damaged = False
        self._file = path.open("rb")
        try:
            self._stream = _decompressed(self._file)
            self._tar = _Tar.open(fileobj=self._stream, mode="r|", tarinfo=_Member)
        except BaseException as error:
            self._file.close()
            if isinstance(error, _DAMAGE):
                raise BadSource(f"{path}: no tarball: {_reason(error)}") from None
            raise

    def close(self) -> None:
        self._tar.close()
        self._file.close()

    def __iter__(self) -> Iterator[SourceFile]:
        try:
            while member := self._tar.next():
                yield from self._member(member)
                if self._damaged:
                    return
                # It would keep every header that it ever read.
                self._tar.members.clear()  # type: ignore[attr-defined]  # in no stub
            self._to_the_end()
            self.whole = True
        except _DAMAGE as error:
            self._torn(error)

    def _torn(self, error: Exception) -> None:
        self._damaged = True
        self._report(self.path.name, "truncated", _reason(error))

    def _to_the_end(self) -> None:
        """Read what follows the last member, so that the compressor's checksum is looked at."""
        assert isinstance(self._tar, _Tar)
        if not self._tar.ended:
            raise EOFError
        while self._stream.read(_CHUNK):
            pass

    def _member(self, member: tarfile.TarInfo) -> Iterator[SourceFile]:
        name = member.name.encode("utf-8", "surrogateescape")
        parts = [part for part in name.split(b"/") if part not in (b"", b".")]
        path = b"/".join(parts).decode("utf-8", "backslashreplace")
        place = below_root(path)
        if any(part.startswith(b".") and part != b".." for part in parts):
            return
        if b".." in parts:
            self._report(path, "passed-over", "its name leads out of the tarball")
            return
        self._met(place if not member.isdir() else f"{place}/")
        if not parts or not _WANTED.fullmatch(parts[-1]):
            return
        if not member.isreg() or member.issparse():
            yield self._odd(path, place, str(_EntryKind.OTHER))
        elif member.size > LONGEST_FILE:
            self.unread.add(place.partition("/")[0].lower())
            self._report(path, "passed-over", f"over {LONGEST_FILE} bytes")
        else:
            yield self._plain(member, path, place)

    def _plain(self, member: tarfile.TarInfo, path: str, place: str) -> SourceFile:
        stream = self._tar.extractfile(member)
        assert stream is not None

        def read(size: int) -> bytes:
            try:
                return stream.read(size)
            except _DAMAGE as error:
                self._torn(error)
                raise TornFile(f"{path}: {_reason(error)}") from None

        return SourceFile(
            path=path, place=place, modified=_seconds(member.mtime), size=member.size, _read=read
        )


def _decompressed(file: BinaryIO) -> BinaryIO:
    """*file* without its compression, known by its first bytes; checksums are looked at."""
    head = file.read(6)
    file.seek(0)
    opened: object = file
    if head.startswith(b"\x1f\x8b"):
        opened = gzip.GzipFile(fileobj=file)
    elif head.startswith(b"BZh"):
        opened = bz2.BZ2File(file)
    elif head == b"\xfd7zXZ\0":
        opened = lzma.LZMAFile(file)  # noqa: SIM115 - closed with the file below it
    return opened  # type: ignore[return-value]  # each has the read of a BinaryIO


def _seconds(time: float) -> int:
    try:
        return int(time // 1)
    except (ValueError, OverflowError):  # a pax header may say nan or inf
        return 0


def below_root(path: str) -> str:
    """*path* behind its first ``RePEc/``, where it has one."""
    parts = path.split("/")
    if _ROOT not in parts:
        return path
    return "/".join(parts[parts.index(_ROOT) + 1 :])


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    if isinstance(error, EOFError):
        return "cut short"
    if isinstance(error, RuntimeError):  # Path.resolve
        return os.strerror(errno.ELOOP).lower()
    return str(error) or type(error).__name__
