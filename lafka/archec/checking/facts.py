"""The content of all journals in a nameless database, and the rules of a store written anew."""

from __future__ import annotations

import hashlib
import json
import mmap
import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lafka.witness.problems import StoreProblem

try:
    import fcntl
except ImportError:  # Windows, where nothing can write, so nothing is locked
    fcntl = None  # type: ignore[assignment]

UNRESERVED = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_UPPER = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


def name_of(obi: str, *, folded: bool) -> str:
    """The name of the file of an obi."""
    kept = UNRESERVED - _UPPER if folded else UNRESERVED
    data = obi.encode("utf-8", "surrogatepass")
    pieces = [chr(byte) if byte in kept else f"%{byte:02X}" for byte in data]
    if sum(map(len, pieces)) <= 255:
        return "".join(pieces)
    head = ""
    for piece in pieces:
        if len(head) + len(piece) > 221:
            break
        head += piece
    return f"{head}%%{hashlib.sha256(data).hexdigest()[:32]}"


def folder_of(tist: int) -> str:
    reverse = "".join(reversed(str(tist)))
    return "/".join((reverse[0:3], reverse[3:6], reverse[6:]))


def tist_of(parts: tuple[str, ...]) -> int | None:
    """The tist of a folder's three names; None where they are those of none."""
    reverse = "".join(parts)
    if [len(part) for part in parts[:2]] != [3, 3] or not re.fullmatch(r"[0-9]{9,11}", reverse):
        return None
    return None if reverse.endswith("0") else int("".join(reversed(reverse)))


def template_md5(data: bytes) -> str:
    """The MD5 of the text of a template."""
    lines = re.split("\r\n|\r|\n", "".join(_characters(data)))
    texts = [line.removeprefix(_BOM) for line in lines]
    kept = [line for line in texts if not line.startswith("#")]
    while kept and re.fullmatch("[ \t\v\f]*", kept[-1]):
        del kept[-1]
    text = "".join(f"{line}\n" for line in kept) or "\n"
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _characters(data: bytes) -> list[str]:
    """*data* as text, line by line: UTF-8 where a line is that, else Windows-1252."""
    texts = []
    for line in re.findall(rb"[^\r\n]*[\r\n]?", data):
        try:
            texts.append(str(line, "utf-8"))
        except UnicodeDecodeError:
            texts.append("".join(map(_windows_1252, line)))
    return texts


def _windows_1252(byte: int) -> str:
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_JOURNAL = re.compile(r"([1-9][0-9]{8,10})\.jsonl")
_KEPT = re.compile(r"[0-9]+\.jsonl\.torn-[0-9]+")
_EVENTS = {"appearance", "change", "deletion", "visit", "miss", "withheld", "withdrawn", "end"}
_NEEDED = {"md5": str, "sha256": str, "length": int, "found": int}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A version of an obi as its journal line has it."""

    id: str
    name: str
    md5: str
    sha256: str
    length: int
    is_held: bool
    is_page: bool
    is_withdrawn: bool


_CHAINED = re.compile(rb'(.*), "chain": "sha256:([0-9a-f]{64})"}\n', re.DOTALL)


def proved_since(folder: Path) -> int | None:
    """The first gathering in *folder* whose journal has a chain; None where none has one.

    Its first line has the seals of the journals before it, so these are proved as they were then.
    """
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    for tist in sorted(int(found[1]) for found in map(_JOURNAL.fullmatch, names) if found):
        with (folder / f"{tist}.jsonl").open("rb") as file:
            if _CHAINED.fullmatch(file.readline()):
                return tist
    return None


@dataclass(slots=True)
class _Chain:
    """The chain along a journal (docs/formats.md); ``last`` is None where its lines have none.

    ``after`` are the seals that its first line names, ``instead`` that of the journal for which it
    was derived.
    """

    last: bytes | None = bytes(32)
    kind: str = ""
    after: Mapping[str, str] = field(default_factory=dict)
    instead: str = ""
    is_derived: bool = False
    _bytes: Any = field(default_factory=hashlib.sha256)

    def takes(self, data: bytes, line: Mapping[str, Any]) -> bool:
        """Return whether *data*, which is *line*, stands behind all before it as it was written."""
        found = _CHAINED.fullmatch(data)
        if "gathering" in line and "e" not in line:
            self.kind, self.after = str(line.get("kind")), line.get("after") or {}
            self.is_derived = bool(line.get("derived"))
            self.last = self.last if found else None
        self.instead = str(line.get("instead") or "")
        self._bytes.update(data)
        if found is None or self.last is None:
            return found is None and self.last is None
        before, self.last = self.last, bytes.fromhex(found[2].decode())
        return hashlib.sha256(before + found[1] + b"}").digest() == self.last

    @property
    def seals(self) -> tuple[str, str]:
        return f"sha256:{(self.last or self._bytes.digest()).hex()}", self.instead

    def follows(self, tist: int, before: _Chain) -> bool:
        """Return whether it may stand behind the journal *before*, of its kind, at *tist*."""
        if self.is_derived or before.is_derived:
            return True
        return str(tist) in self.after if self.last else not before.last


class Facts:
    """Versions and losses of all journals; a context manager would close what has no name."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("")
        self._db.executescript(
            "CREATE TABLE version (tist, id, name, md5, sha256, length, held, page, withdrawn);"
            "CREATE TABLE loss (tist, id);"
        )
        self.ended: dict[int, bool] = {}
        self.evidence: dict[int, tuple[str, int]] = {}
        """The SHA-256 and length of the evidence of gatherings whose end tells of it."""
        self._chains: dict[int, _Chain] = {}

    def read(self, folder: Path, *, folded: bool) -> Iterator[StoreProblem]:
        """Take in all journals; what is wrong with them."""
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            found = _JOURNAL.fullmatch(path.name)
            if found:
                yield from self._journal(path, int(found[1]), folded=folded)
            elif path.name.startswith(".draft-"):
                yield _draft(path)
            elif not _KEPT.fullmatch(path.name):
                yield StoreProblem(
                    path=path, code="bad-journal", sentence="not the name of a journal"
                )
        yield from self._links(folder)
        self._db.execute("CREATE INDEX by_tist ON version (tist)")
        self._db.execute("CREATE INDEX by_id ON version (id)")
        self._db.execute("CREATE INDEX loss_by_id ON loss (id)")

    def read_of(
        self, folder: Path, tists: Collection[int], ids: Collection[str], *, folded: bool
    ) -> None:
        """Take in what the journals of *tists* say of *ids*, without a proof of their chains."""
        wanted = [f'"id": {json.dumps(obi, ensure_ascii=False)}'.encode() for obi in ids]
        for tist in sorted({*tists}):
            self.ended[tist] = True
            with suppress(FileNotFoundError, ValueError), _mapped(folder / f"{tist}.jsonl") as data:
                for start, end in _lines_with(data, wanted):
                    line, reason = _line(data[start:end], first=False, tist=tist)
                    if not reason:
                        self._take(line, tist, folded=folded)

    def _links(self, folder: Path) -> Iterator[StoreProblem]:
        """Hold each journal to what the first lines of later ones say of its end."""
        last: dict[str, int] = {}
        for tist, chain in sorted(self._chains.items()):
            path = folder / f"{tist}.jsonl"
            for named, seal in chain.after.items():
                other = folder / f"{named}.jsonl"
                there = self._chains.get(int(named)) if named.isdigit() else None
                if there is None or seal not in there.seals:
                    reason = "not the end" if there else "missing, but a journal"
                    sentence = f"{reason} that the first line of {path.name} names"
                    yield StoreProblem(path=other, code="broken-chain", sentence=sentence)
            before = last.get(chain.kind)
            if before is not None and not chain.follows(before, self._chains[before]):
                sentence = f"its first line does not name {before}.jsonl, which stands before it"
                yield StoreProblem(path=path, code="broken-chain", sentence=sentence)
            last[chain.kind] = tist

    def _journal(self, path: Path, tist: int, *, folded: bool) -> Iterator[StoreProblem]:
        place, last, is_told = 0, "", False
        self.ended[tist] = False
        chain = _Chain()
        with path.open("rb") as file:
            for data in file:
                line, reason = _line(data, first=not place, tist=tist)
                code = "bad-journal"
                if not chain.takes(data, line) and not reason and not is_told:
                    code = "broken-chain"
                    reason = "not as it was written, or a line before it is not"
                if reason:
                    is_told = True
                    sentence = f"byte {place}: {reason}"
                    yield StoreProblem(path=path, code=code, sentence=sentence)
                if code == "broken-chain" or not reason:
                    self._take(line, tist, folded=folded)
                place, last = place + len(data), line.get("e", "")
        if not place:
            yield StoreProblem(path=path, code="bad-journal", sentence="an empty journal")
        elif last != "end":
            alive = is_locked(path)
            sentence = "its gathering lives" if alive else "killed: lafka archec recover ends it"
            severity = "warning" if alive else "error"
            yield StoreProblem(path=path, code="open-journal", sentence=sentence, severity=severity)
        self.ended[tist] = last == "end"
        self._chains[tist] = chain

    def _take(self, line: Mapping[str, Any], tist: int, *, folded: bool) -> None:
        event, obi = line.get("e"), line.get("id")
        if event in ("appearance", "change"):
            assert isinstance(obi, str)
            values = (tist, obi, name_of(obi, folded=folded), line["md5"], line["sha256"],
                      line["length"], bool(line.get("held")), "text" in line, False)  # fmt: skip
            self._db.execute("INSERT INTO version VALUES (?,?,?,?,?,?,?,?,?)", values)
        elif event == "deletion":
            self._db.execute("INSERT INTO loss VALUES (?,?)", (tist, obi))
        elif event == "end" and isinstance(told := line.get("evidence"), dict):
            self.evidence[tist] = (told.get("sha256", ""), told.get("length", 0))
        elif event == "withdrawn":
            asked = "UPDATE version SET withdrawn = 1 WHERE tist = ? AND id = ?"
            self._db.execute(asked, (line.get("tist"), obi))

    def of_gathering(self, tist: int) -> dict[str, Fact]:
        """The versions of a gathering by the names of their files."""
        asked = """SELECT id, name, md5, sha256, length, held, page, withdrawn FROM version
          WHERE tist = ?"""
        return {row[1]: _fact(row) for row in self._db.execute(asked, [tist])}

    def gatherings(self) -> list[int]:
        return [row[0] for row in self._db.execute("SELECT DISTINCT tist FROM version")]

    def versions(self, obi: str) -> list[list[Any]]:
        asked = "SELECT tist, md5 FROM version WHERE id = ? ORDER BY tist"
        return [list(row) for row in self._db.execute(asked, [obi])]

    def losses(self, obi: str) -> list[int]:
        """The tists at which it was lost; a fobi that was never got is not."""
        asked = """SELECT tist FROM loss WHERE id = ?1 AND EXISTS (SELECT 1 FROM version v
          WHERE v.id = ?1 AND v.tist < loss.tist) ORDER BY tist"""
        return [row[0] for row in self._db.execute(asked, [obi])]

    def ids(self) -> int:
        """Return how many obis were ever stored."""
        return int(self._db.execute("SELECT count(DISTINCT id) FROM version").fetchone()[0])


def _fact(row: tuple[Any, ...]) -> Fact:
    return Fact(
        id=row[0], name=row[1], md5=row[2], sha256=row[3], length=row[4], is_held=bool(row[5]),
        is_page=bool(row[6]), is_withdrawn=bool(row[7]),
    )  # fmt: skip


def _line(data: bytes, *, first: bool, tist: int) -> tuple[dict[str, Any], str]:
    """A line, and what is wrong with it."""
    if not data.endswith(b"\n"):
        return {}, "a torn line"
    try:
        line = json.loads(data)
    except (ValueError, RecursionError):
        return {}, "not JSON"
    if not isinstance(line, dict):
        return {}, "no object"
    if first:
        return line, "" if line.get("gathering") == tist else "a first line of another gathering"
    if line.get("e") not in _EVENTS:
        return {}, "of no known kind"
    if line["e"] in ("appearance", "change", "deletion") and not isinstance(line.get("id"), str):
        return {}, "without an id"
    if line["e"] in ("appearance", "change"):
        wrong = [name for name, kind in _NEEDED.items() if not isinstance(line.get(name), kind)]
        return line, f"without {wrong[0]}" if wrong else ""
    return line, ""


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def _lines_with(data: mmap.mmap, wanted: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """The places of the lines in which one of *wanted* stands."""
    for text in wanted:
        place = data.find(text)
        while place >= 0:
            start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place) + 1
            yield start, end or len(data)
            place = data.find(text, end or len(data))


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of *path*."""
    if fcntl is None:
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _draft(path: Path) -> StoreProblem:
    severity = "warning" if is_locked(path) else "error"
    return StoreProblem(
        path=path, code="left-draft", sentence="a draft of a journal", severity=severity
    )
