"""Files that are whole under their names: drafts, written, synced, and only then named.

Who is killed on the way leaves what was there before, and at most a draft beside it. A name that
was given is on the disk when the function returns. The steps are those of rename(2) and fsync(2):
write, sync the file, rename or link it, sync the folder.

Of a file that grows, each line carries a digest of itself and of all before it: the last key,
``chain``, is ``sha256:`` and the hex of SHA-256 over the chain of the line before (32 zero bytes
before the first) and the line's bytes without its chain and line feed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lafka.errors import StorageTrouble
from lafka.storage.folders import draft_of, put_in_place, sync_folder
from lafka.storage.locks import lock_file
from lafka.storage.steps import FileSync, FolderSync, Steps, done
from lafka.warc.format.sources import write_all


def write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write the file at *path*, over what is there, and sync it, not its name. ``OSError``.

    Where a link is there, what it leads to is no file of ours: it is an ``OSError``, too.
    """
    with open(_create(path), "wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def _create(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o666)


def replace(path: Path, pieces: Iterable[bytes], *, draft: Path | None = None) -> None:
    """Put a file that holds *pieces* at *path*, durably, for whatever is there.

    *draft*: its name until it is whole, in the same folder; that of ``draft_of`` where none is
    given, which admits one writer at a time. ``StorageTrouble`` where the disk refuses; then
    *path* is as it was, unless its folder could not be synced, and the draft is removed.
    """
    done(replacing(path, pieces, draft=draft))


def replacing(path: Path, pieces: Iterable[bytes], *, draft: Path | None = None) -> Steps[None]:
    """:func:`replace`, in steps."""
    draft = draft or draft_of(path)
    with _drafted(draft, path):
        fd = _create(draft)
        try:
            for piece in pieces:
                write_all(fd, piece)
            yield FileSync(fd)
        finally:
            os.close(fd)
        draft.replace(path)
        yield FolderSync(path.parent)


def replace_locked(path: Path, data: bytes) -> int:
    """As :func:`replace`; the new file's descriptor, locked before it had the name."""
    draft = draft_of(path)
    with _drafted(draft, path):
        fd = _locked(draft)
        try:
            os.ftruncate(fd, 0)
            with open(fd, "wb", closefd=False) as file:
                file.write(data)
            os.fsync(fd)
            put_in_place(draft, path)
        except BaseException:
            os.close(fd)
            raise
    return fd


def create(path: Path, pieces: Iterable[bytes], *, draft: Path) -> bool:
    """Put a file that holds *pieces* at *path*, whose name is not synced; False where one is there.

    Of two that create it the first wins. *draft* is a name of the caller's own. ``StorageTrouble``
    where the disk refuses; the draft is gone in any case.
    """
    with _drafted(draft, path):
        write(draft, pieces)
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
    return True


def link(file: Path, path: Path, *, later: bool = False) -> None:
    """Give *file* the second name *path*, durably; unlike a rename it never replaces. ``OSError``.

    ``FileExistsError`` where *path* is there. *later*: the caller syncs its folder, with others'.
    """
    os.link(file, path)
    if not later:
        sync_folder(path.parent)


@contextmanager
def _drafted(draft: Path, path: Path) -> Iterator[None]:
    """An ``OSError`` meanwhile removes *draft* and is ``StorageTrouble`` of *path*."""
    try:
        yield
    except OSError as error:
        with suppress(OSError):
            if not draft.is_symlink():  # somebody's: nothing was written through it
                draft.unlink()
        raise StorageTrouble(path, error) from error


def _locked(draft: Path) -> int:
    """The file at *draft*, locked; again where another process took it for a dead one's."""
    while (fd := lock_file(draft, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)) is None:
        pass
    return fd


NO_CHAIN = bytes(32)
"""The chain before the first line."""
MARK = b', "chain": "sha256:'
_TAIL = b'"}\n'
LENGTH = len(MARK) + 64 + len(_TAIL)
"""Bytes with which a line that carries a chain ends."""


def chained_lines(lines: bytes, chain: bytes) -> tuple[bytes, bytes]:
    """Whole *lines* with their chains (docs/formats.md), and the chain after the last of them.

    *chain* is that of the line before them, 32 bytes.
    """
    pieces = []
    for line in lines.splitlines():
        chain = hashlib.sha256(chain + line).digest()
        pieces += [line[:-1], MARK, chain.hex().encode(), _TAIL]
    return b"".join(pieces), chain


def split_chain(line: bytes) -> tuple[bytes, bytes | None]:
    """*line* as it was before it got its chain, without a line feed, and that chain.

    The line itself and None where it carries none.
    """
    if line[-LENGTH : len(MARK) - LENGTH] == MARK and line.endswith(_TAIL):
        with suppress(ValueError):
            return line[:-LENGTH] + b"}", bytes.fromhex(line[len(MARK) - LENGTH : -3].decode())
    return line, None


def is_next(line: bytes, chain: bytes, before: bytes) -> bool:
    """Return whether *chain* is that of *line* behind one with the chain *before*."""
    return hashlib.sha256(before + line).digest() == chain
