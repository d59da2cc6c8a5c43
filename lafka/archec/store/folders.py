"""The obi store: a folder in which time and id of an obi say where its file lies.

::

    archive/
      archec.json                  {"format": 1, "names": "exact"}
      032/184/2531/<escaped id>    the obi that was noted at 1352481230; never changed
      journal/1352481230.jsonl     what that gathering saw; append-only
      evidence/1352481300.warc     heads of the exchanges behind its fobis; append-only
      raw/                         the write-ahead log of a crawl that lives, or was killed
      runs/                        what runs said; records.sqlite, *.lock: made again at need

>>> ObiStore("archive").read(1352481230, "RePEc:nbr:nberwo:0001")  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from lafka.archec.store import tists
from lafka.errors import ArchiveBusy, BadId, BadStore, KeeperError, NotHeld, StorageTrouble
from lafka.storage.drafts import replace
from lafka.storage.folders import make_folders
from lafka.storage.locks import lock_file

LONGEST = 255
"""Bytes in a file's name, on every disk of today."""
CUT_MARK = "%%"
"""What stands in the name of a long id between its beginning and its hash; no escape has it."""
_CUT_TO = 221
_UPPER = re.compile(r"%[0-9A-F]{2}|[A-Z]")
_HANDLE = re.compile(r"[^:]+:.+", re.DOTALL)
# Nothing to be escaped but colons, as in nearly all handles.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]{1,50}(?::[A-Za-z0-9_.~-]{1,50}){1,3}")


class Names(StrEnum):
    """The way a store writes ids as names, for ever: by its disk, which may be blind to case."""

    EXACT = "exact"
    FOLDED = "folded"

    def file_name(self, obi: str) -> str:
        """The name of the file of the obi with this id; ``BadId`` where no file can have it."""
        is_plain = _PLAIN.fullmatch(obi)
        escaped = obi.replace(":", "%3A") if is_plain else quote(_encoded(obi), safe="")
        if self is Names.FOLDED:
            escaped = _UPPER.sub(_fold, escaped)
        return escaped if len(escaped) <= LONGEST else _cut(escaped, obi)

    def inverse(self, name: str) -> str | None:
        """The id whose name this is; None where the name was cut, or is that of no id."""
        try:
            obi = unquote_to_bytes(name).decode()
            return obi if CUT_MARK not in name and self.file_name(obi) == name else None
        except (UnicodeDecodeError, BadId):
            return None


def _fold(found: re.Match[str]) -> str:
    """An upper-case letter as its escape; an escape stays as it is."""
    text = found[0]
    return text if text.startswith("%") else f"%{ord(text):02X}"


def _encoded(obi: str) -> bytes:
    # Without a colon a name could begin with a dot, as drafts do, or be one or two of them.
    if not _HANDLE.fullmatch(obi):
        raise BadId(f"{obi[:200]!r}: no id of an obi, which has a colon")
    try:
        return obi.encode()
    except UnicodeEncodeError:
        raise BadId(f"{obi[:200]!r}: no text that UTF-8 can hold") from None


def _cut(escaped: str, obi: str) -> str:
    head = escaped[:_CUT_TO]
    if "%" in head[-2:]:
        head = head[: head.rindex("%")]
    return f"{head}{CUT_MARK}{sha256(obi.encode()).hexdigest()[:32]}"


LINKS_MAX = 10
"""Symlinks that a reader follows from an obi's place to its bytes."""
ObiFile = tuple[int, str]
"""Tist and id of the obi whose file has a content."""
FORMAT = 1
MARKER = "archec.json"
_SHARD = re.compile(r"[0-9]{3}")
_CASE_PROBE = ".probe-a"
_LAST = re.compile(r"[0-9]{3,5}")
_JOURNAL = re.compile(r"([1-9][0-9]{8,10})\.jsonl")


class ObiStore:
    """The obi store at the folder *root*; readers take no lock.

    ``BadStore`` where none is there, or one of another format.
    """

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        names = _marked(self.root / MARKER)
        if names is None:
            raise BadStore(f"{self.root}: no obi store is here")
        self.names = names

    @classmethod
    def create(cls, root: Path | str, *, adopting: bool = False) -> ObiStore:
        """The store at *root*, made and marked where there is none yet; *adopting* a tree there.

        ``BadStore`` as above, and where *root* cannot be written or is a folder of something else.
        """
        root = Path(root)
        try:
            if _marked(root / MARKER) is None:
                if not adopting:
                    _refuse_foreign(root)
                make_folders(root)
                is_folded = not adopting and _is_blind(root)
                _mark(root, Names.FOLDED if is_folded else Names.EXACT)
            store = cls(root)
            for folder in ("journal", "runs"):
                make_folders(root / folder)
            store.probe()
        except (OSError, StorageTrouble) as error:
            raise BadStore(f"{root}: cannot be written: {_reason(error)}") from error
        return store

    @staticmethod
    def is_to_be_made(root: Path | str) -> bool:
        """Return whether no store is at *root*; ``BadStore`` where none can be made, as for
        ``create``.
        """
        root = Path(root)
        if _marked(root / MARKER) is not None:
            return False
        _refuse_foreign(root)
        return True

    def probe(self) -> None:
        """Create, sync, rename and delete a file; ``OSError`` where that cannot be done."""
        with _folder_locked(self.root):  # so the names can be the same each time
            probe = self.root / ".probe"
            with probe.open("wb") as file:
                file.write(b"archec\n")
                file.flush()
                os.fsync(file.fileno())
            probe.replace(probe.with_suffix(".renamed")).unlink()
            (self.root / _CASE_PROBE).unlink(missing_ok=True)  # a power cut may have kept its name

    def free_inodes(self) -> float:
        """The share of the disk's inodes that is free; 1 where it makes them as needed."""
        about = os.statvfs(self.root)
        return about.f_favail / about.f_files if about.f_files else 1.0

    # Where things lie --------------------------------------------------------------------------

    def folder(self, tist: int) -> Path:
        return self.root / tists.folder(tist)

    def path(self, tist: int, obi: str) -> Path:
        """The place of the obi with the id *obi* at *tist*, whether or not something is there."""
        return self.folder(tist) / self.names.file_name(obi)

    def link(self, tist: int, held: tuple[int, str]) -> str:
        """Return what a symlink in the folder of *tist* says to lead to what is *held*,
        relative.
        """
        name = self.names.file_name(held[1])
        return name if held[0] == tist else f"../../../{tists.folder(held[0])}/{name}"

    def journal(self, tist: int) -> Path:
        return self.root / "journal" / f"{tist}.jsonl"

    def evidence(self, tist: int) -> Path:
        return self.root / "evidence" / f"{tist}.warc"

    def journals(self) -> list[int]:
        """The tists of all journals, oldest first."""
        with suppress(FileNotFoundError):
            found = [_JOURNAL.fullmatch(path.name) for path in (self.root / "journal").iterdir()]
            return sorted(int(match[1]) for match in found if match)
        return []

    def gatherings(self) -> Iterator[int]:
        """The tists that have a folder, in no order, whether or not they have a journal."""
        return shards(self.root)

    # Reading -----------------------------------------------------------------------------------

    def find(self, tist: int, obi: str) -> Path:
        """The file with the bytes of *obi* at *tist*, symlinks followed.

        Of a URL that was redirected to the same with or without a slash at its end, that one's
        (decision D14). ``NotHeld``; ``KeeperError`` where links lead nowhere or out of the store.
        """
        tried = (obi, obi.removesuffix("/"), f"{obi}/") if "://" in obi else (obi,)
        for name in dict.fromkeys(tried):
            path = self.path(tist, name)
            if os.path.lexists(path):
                return self._followed(path)
        raise NotHeld(f"{obi}: not in the store at {tist}")

    def _followed(self, path: Path) -> Path:
        place = path
        for _ in range(LINKS_MAX + 1):
            if not place.is_symlink():
                if place.is_file():
                    return place
                raise KeeperError(path, "leads to no file")
            place = Path(os.path.normpath(place.parent / place.readlink()))
            if not place.is_relative_to(self.root):
                raise KeeperError(path, "leads out of the store")
        raise KeeperError(path, f"more than {LINKS_MAX} links behind each other")

    def read(self, tist: int, obi: str) -> bytes:
        """The bytes of *obi* at *tist*; raises as ``find``."""
        path = self.find(tist, obi)
        try:
            return path.read_bytes()
        except OSError as error:
            raise StorageTrouble(path, error) from error

    # One run of a kind at a time ---------------------------------------------------------------

    def lock(self, kind: str) -> int:
        """The lock of runs that gather obis of this *kind*, held until the descriptor is closed.

        ``ArchiveBusy`` says who has it.
        """
        return _acquired(self.root / f"{kind}.lock")

    @contextmanager
    def locked(self, kind: str) -> Iterator[None]:
        """As :meth:`lock`, as long as a block lasts."""
        fd = self.lock(kind)
        try:
            yield
        finally:
            os.close(fd)


def _acquired(path: Path) -> int:
    """The lock file *path*, locked, with the name of its holder in it."""
    try:
        fd = lock_file(path, os.O_RDWR | os.O_CREAT, wait=False)
        if fd is None:
            raise ArchiveBusy(f"{path}: held by {_holder(path)}")
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        except OSError:
            os.close(fd)
            raise
    except OSError as error:
        raise StorageTrouble(path, error) from error
    return fd


def _holder(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "replace").strip() or "another process"
    return "another process"


def _marked(path: Path) -> Names | None:
    """Return how the store writes names; None where there is no marker."""
    try:
        values = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadStore(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadStore(f"{path}: the marker is not JSON") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise BadStore(f"{path}: a store of another format, not of format {FORMAT}")
    if values.get("names") not in list(Names):
        raise BadStore(f"{path}: names {values.get('names')!r}, neither exact nor folded")
    return Names(values["names"])


def _refuse_foreign(root: Path) -> None:
    names = {path.name for path in root.iterdir()} if root.is_dir() else set()
    if "lafka.json" in names:
        raise BadStore(f"{root}: an archive of papers, the obi store needs a folder of its own")
    if any(_SHARD.fullmatch(name) for name in names):
        raise BadStore(f"{root}: a store without a marker; lafka archec adopt takes it over")
    strange = {name for name in names if not name.startswith(".")} - {"journal", "runs"}
    if strange:
        raise BadStore(f"{root}: a folder of something else, it holds {min(strange)!r}")


def _mark(root: Path, names: Names) -> None:
    """Mark *root* as an obi store; of two makers one does."""
    with _folder_locked(root):
        if _marked(root / MARKER) is None:
            text = json.dumps({"format": FORMAT, "names": names}) + "\n"
            replace(root / MARKER, [text.encode()])


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    fd = lock_file(folder, os.O_RDONLY | os.O_DIRECTORY)
    assert fd is not None  # it is waited for
    try:
        yield
    finally:
        os.close(fd)


def _is_blind(root: Path) -> bool:
    """Return whether the disk takes names that differ by case alone for one."""
    (root / _CASE_PROBE).touch()
    try:
        return (root / _CASE_PROBE.upper()).exists()
    finally:
        (root / _CASE_PROBE).unlink(missing_ok=True)


def shards(root: Path) -> Iterator[int]:
    """The tists whose folders are below *root*."""
    for first in _subfolders(root, _SHARD):
        for second in _subfolders(first, _SHARD):
            for third in _subfolders(second, _LAST):
                tist = tists.of_folder(third.relative_to(root).as_posix())
                if tist is not None:
                    yield tist


def _subfolders(folder: Path, name: re.Pattern[str]) -> Iterator[Path]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        found = [e for e in entries if name.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
    for entry in sorted(found, key=lambda entry: entry.name):
        yield Path(entry.path)


def _reason(error: OSError | StorageTrouble) -> str:
    inner = error.error if isinstance(error, StorageTrouble) else error
    return inner.strerror or str(inner)
