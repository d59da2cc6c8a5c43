"""A model of a disk whose writes are not on it before they are synced.

Fed with the calls of a run it knows, at each moment, what a sync has made sure of and what still
waits: bytes of files, lengths, names in folders. A power cut keeps, drops or tears each of what
waits as it likes; only the order in which one file grows and one name is given is kept where both
are kept. This is what POSIX promises, and less than most file systems do: a sync of a file says
nothing of its name, a rename may be on the disk before the bytes of what it names.
"""

# ruff: noqa: PTH119

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.storecalls import Call

Tree = dict[str, bytes | None]
"""A disk's contents: path -> bytes, None for a folder."""
LINK = b"\0symlink to "
"""What the contents of a symlink begin with."""
KEPT, DROPPED, TORN, ZEROS = "kept", "dropped", "torn", "zeros"
SYNCS = ("fsync", "fdatasync")


@dataclass(frozen=True, slots=True, eq=False)
class Bytes:
    """Written to the file *ino*; where *cut*, it was made *offset* bytes long instead."""

    ino: int
    offset: int
    data: bytes = b""
    cut: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Names given or taken (None) in the folder *ino*, together; ``to`` another folder's, too."""

    ino: int
    names: tuple[tuple[str, int | None], ...]


Waiting = Bytes | Names
Fate = Mapping[Waiting, str]


@dataclass(slots=True)
class Disk:
    """What is on the disk below *root*, and what waits."""

    root: str
    contents: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    root_ino: int = 0
    _now: dict[int, int] = field(default_factory=dict)  # inode of the process -> ours
    _next: int = 1

    @classmethod
    def of(cls, root: Path) -> Disk:
        """The disk with all that is below *root*, long synced."""
        disk = cls(str(root))
        disk.root_ino = disk._load(root)
        return disk

    def _load(self, path: Path) -> int:
        ours = self.known(path.lstat().st_ino)
        if path.is_symlink():
            self.contents[ours] = LINK + os.fsencode(path.readlink())
        elif path.is_dir():
            names = sorted(path.iterdir())
            self.folders[ours] = {name.name: self._load(name) for name in names}
        else:
            self.contents[ours] = path.read_bytes()
        return ours

    def known(self, ino: int, *, new: bool = False) -> int:
        """Our number of an inode; a new one where the file system gives a number again."""
        if new or ino not in self._now:
            self._now[ino] = self._next
            self._next += 1
        return self._now[ino]

    # A call is done --------------------------------------------------------------------------

    def do(self, call: Call) -> None:
        if not call.failed:
            getattr(self, f"_{call.kind}", lambda _: None)(call)

    def _open(self, call: Call) -> None:
        if call.created:
            ours = self.known(call.ino, new=True)
            self.contents[ours] = b""
            if not call.anonymous:
                self._name(call.parent, (os.path.basename(call.path), ours))
        elif call.size & os.O_TRUNC:
            self.waiting.append(Bytes(self.known(call.ino), 0, cut=True))

    def _write(self, call: Call) -> None:
        self.waiting.append(Bytes(self.known(call.ino), call.offset, call.data))

    _pwrite = _sendfile = _write

    def _ftruncate(self, call: Call) -> None:
        self.waiting.append(Bytes(self.known(call.ino), call.size, cut=True))

    def _mkdir(self, call: Call) -> None:
        ours = self.known(call.ino, new=True)
        self.folders[ours] = {}
        self._name(call.parent, (os.path.basename(call.path), ours))

    def _rename(self, call: Call) -> None:
        assert call.parent == call.to_parent, call
        was, to = os.path.basename(call.path), os.path.basename(call.to)
        self._name(call.parent, (was, None), (to, self.known(call.ino)))

    def _link(self, call: Call) -> None:
        self._name(call.to_parent, (os.path.basename(call.to), self.known(call.ino)))

    def _symlink(self, call: Call) -> None:
        ours = self.known(call.ino, new=True)
        self.contents[ours] = LINK + call.data
        self._name(call.parent, (os.path.basename(call.path), ours))

    def _unlink(self, call: Call) -> None:
        self._name(call.parent, (os.path.basename(call.path), None))

    _rmdir = _unlink

    def _name(self, folder: int, *names: tuple[str, int | None]) -> None:
        self.waiting.append(Names(self.known(folder), names))

    def _fsync(self, call: Call) -> None:
        ours = self.known(call.ino)
        for change in [change for change in self.waiting if change.ino == ours]:
            self.waiting.remove(change)
            if isinstance(change, Names):
                _rename(self.folders[ours], change)
            else:
                self.contents[ours] = _grown(self.contents[ours], change, KEPT)

    _fdatasync = _fsync

    # What a power cut leaves -------------------------------------------------------------------

    def tree(self, fate: Fate, default: str = KEPT) -> Tree:
        """The disk after a power cut that did *fate* to what waits, and *default* to the rest."""
        contents, folders = dict(self.contents), {i: dict(f) for i, f in self.folders.items()}
        for change in self.waiting:
            end = fate.get(change, default)
            if isinstance(change, Bytes):
                contents[change.ino] = _grown(contents[change.ino], change, end)
            elif end != DROPPED:
                _rename(folders[change.ino], change)
        tree: Tree = {}
        self._walk(self.root_ino, "", contents, folders, tree)
        return tree

    def _walk(
        self, ino: int, prefix: str, contents: dict[int, bytes],
        folders: dict[int, dict[str, int]], tree: Tree,
    ) -> None:  # fmt: skip
        for name, child in sorted(folders[ino].items()):
            path = f"{prefix}{name}"
            if child in folders:
                tree[path] = None
                self._walk(child, f"{path}/", contents, folders, tree)
            else:
                tree[path] = contents[child]

    def fates(self) -> list[list[str]]:
        """What can become of each change that waits."""
        return [_fates(change) for change in self.waiting]


def _fates(change: Waiting) -> list[str]:
    if isinstance(change, Bytes) and not change.cut:
        return [KEPT, DROPPED, TORN, ZEROS]
    return [KEPT, DROPPED]


def _rename(folder: dict[str, int], change: Names) -> None:
    for name, ino in change.names:
        if ino is None:
            folder.pop(name, None)
        else:
            folder[name] = ino


def _grown(data: bytes, change: Bytes, end: str) -> bytes:
    if end == DROPPED:
        return data
    if change.cut:
        return data[: change.offset] + bytes(max(0, change.offset - len(data)))
    new = change.data
    if end == TORN:
        new = new[: len(new) // 2]
    elif end == ZEROS:
        new = bytes(len(new))
    data += bytes(max(0, change.offset - len(data)))
    return data[: change.offset] + new + data[change.offset + len(new) :]


def cuts(disk: Disk, rng: random.Random, *, most: int) -> Iterator[Tree]:
    """What a power cut now may leave: all there is where that is at most *most*, else so many: the
    likely ones first, then others at random.

    The likely ones: everything, nothing, all but the names in one folder, the changes up to each,
    each alone dropped, torn or zeroed, each alone kept, all of one file dropped or zeroed.
    """
    fates = disk.fates()
    count = 1
    for fate in fates:
        count *= len(fate)
    if count <= most:
        yield from _all(disk, fates)
        return
    likely = list(_likely(disk))
    if len(likely) > most:
        first = min(most, 2 + len(_folders(disk)))
        likely = likely[:first] + rng.sample(likely[first:], most - first)
    for fate, default in likely:
        yield disk.tree(fate, default)
    for _ in range(most - len(likely)):
        yield disk.tree({c: rng.choice(f) for c, f in zip(disk.waiting, fates, strict=True)})


def _all(disk: Disk, fates: Sequence[Sequence[str]]) -> Iterator[Tree]:
    from itertools import product

    for chosen in product(*fates):
        yield disk.tree(dict(zip(disk.waiting, chosen, strict=True)))


def _folders(disk: Disk) -> list[int]:
    """The folders in which names wait."""
    return list(dict.fromkeys(c.ino for c in disk.waiting if isinstance(c, Names)))


def _likely(disk: Disk) -> Iterator[tuple[Fate, str]]:
    waiting = disk.waiting
    yield {}, KEPT
    yield {}, DROPPED
    for ino in _folders(disk):
        yield {change: DROPPED for change in waiting if change.ino == ino}, KEPT
    for ino in dict.fromkeys(change.ino for change in waiting):
        mine = [change for change in waiting if change.ino == ino]
        yield dict.fromkeys(mine, DROPPED), KEPT
        yield dict.fromkeys(mine, ZEROS), KEPT
        yield dict.fromkeys(mine, KEPT), DROPPED
    for place, change in enumerate(waiting):
        for end in _fates(change)[1:]:
            yield {change: end}, KEPT
        yield {change: KEPT}, DROPPED
        upto: Fate = dict.fromkeys(waiting[:place], KEPT)
        yield upto, DROPPED
        if isinstance(change, Bytes):
            yield {**upto, change: TORN}, DROPPED


def name_of(tree: Tree) -> bytes:
    """The same for the same trees."""
    digest = hashlib.sha256()
    for path, data in sorted(tree.items()):
        digest.update(repr((path, data)).encode())
    return digest.digest()


def put(tree: Tree, root: Path) -> None:
    """Make *tree* below *root*, which is empty."""
    for path, data in sorted(tree.items()):
        if data is None:
            (root / path).mkdir(exist_ok=True)
        elif data.startswith(LINK):
            (root / path).symlink_to(os.fsdecode(data.removeprefix(LINK)))
        else:
            (root / path).write_bytes(data)
