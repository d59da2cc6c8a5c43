"""Tobis as they stand in RePEc data: from templates to what a journal line says of one."""

from __future__ import annotations

import codecs
import pickle
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from tempfile import gettempdir
from typing import Any, Protocol, TypeVar

from lafka.archec import redif
from lafka.archec.gather.sources import FolderSource, RedifSource, SourceFile
from lafka.archec.gather.unchanged_files import (
    FileReading,
    OutcomeRow,
    TemplateProblem,
    UnchangedFiles,
    UnchangedTobis,
    end_of,
    passages,
)
from lafka.archec.redif.vocabulary import Problem
from lafka.errors import BadHandle, BadId, StorageTrouble, TornFile, printable

_STORED_NOT = ("mirror",)
Tell = Callable[[Problem], None]


@dataclass(slots=True, kw_only=True)  # not frozen: made three times as fast
class Sighting:
    """A tobi at one place of the source.

    ``id`` is its canonical handle, ``modified`` the mtime of ``file`` in whole seconds,
    ``is_own`` whether the file stands in the folder that the handle belongs to; ``row`` is where
    the next run is told of it.
    """

    id: str
    template: redif.Template
    file: str
    modified: int
    is_own: bool
    row: OutcomeRow | None = None

    @property
    def data(self) -> bytes:
        return self.template.data

    @property
    def line(self) -> int:
        return self.template.line

    def line_values(self) -> dict[str, Any]:
        """Return what a journal line says of it beside id, checksums and times."""
        offset = self.template.offset
        told: dict[str, Any] = {"type": self.template.type, "file": self.file, "offset": offset}
        if offset is None:
            told["from"] = "utf-16"
        # Only now: of a template that is as it was, nobody asks for its files.
        refipos = list(_refipos(self.template))
        return told | {"encoding": self.template.encoding, "refipos": refipos}


def sightings(
    source: RedifSource, tell: Tell, passing: UnchangedFiles
) -> Iterator[Sighting | UnchangedTobis]:
    """All tobis of *source* in its order; *tell* gets what is odd.

    What *passing* has of the last run is not read again.
    """
    for file in source:
        try:
            yield from _of_file(file, tell, passing)
        except TornFile:
            continue  # the source notes what it did not read
    for problem in source.problems:
        tell(problem)


def _of_file(
    file: SourceFile, tell: Tell, passing: UnchangedFiles
) -> Iterator[Sighting | UnchangedTobis]:
    look = passing.look(file)
    if look.is_same:
        name = printable(file.path)
        for place, odd in look.entry.odd.items():
            for below, code, sentence in odd:
                line = look.entry.lines[place] + below
                tell(Problem(file=name, line=line, code=code, sentence=sentence))
        yield from passages(file.path, look)
        passing.proofs.read(file, is_whole=bool(look.entry.lines))
        if not look.entry.lines:
            _report_no_template(file, look, tell)
        return
    reader = redif.read(look.source, file.path)
    draft = passing.draft(look)
    last: redif.Template | None = None
    for last in () if _is_page(look) else reader:
        for problem in last.problems:
            tell(problem)
        if sighting := _sighting(file, last, passing, draft):
            yield sighting
    if last is None:
        _report_no_template(file, look, tell)
    passing.end(draft, last, is_whole=reader.is_told_whole)
    is_whole = last is not None and not _is_cut(look, last)
    passing.proofs.read(file, is_whole=is_whole)
    if not is_whole:
        passing.doubt(file, look, is_barren=last is None)


class FileFinding(Protocol):
    """Any finding in a file of RePEc data; ``is_own``: in the folder that its handle belongs to."""

    @property
    def file(self) -> str: ...

    @property
    def is_own(self) -> bool: ...


_P = TypeVar("_P", bound=FileFinding)


def in_order(found: Iterable[_P], source: RedifSource) -> Generator[_P]:
    """*found* in *source*, such that of several templates of one handle the first counts (D19).

    Those in their own folders first, then by path, then as they stand in their file. What does not
    come so, as anything in a tarball, waits on disk. ``StorageTrouble``.
    """
    is_ordered = isinstance(source, FolderSource)
    with closing(Spool(_HELD)) as held:
        for number, one in enumerate(found):
            if is_ordered and one.is_own:
                yield one
            else:
                values = (not one.is_own, one.file, number, pickle.dumps(one))
                held.execute("INSERT INTO held VALUES (?, ?, ?, ?)", values)
        for (data,) in held.execute("SELECT data FROM held ORDER BY outside, file, n"):
            yield pickle.loads(data)  # noqa: S301 - nobody else can have written it


_HELD = """CREATE TABLE held (outside INTEGER, file TEXT, n INTEGER, data BLOB,
  PRIMARY KEY (outside, file, n)) WITHOUT ROWID"""


class Spool:
    """A database in a file without a name, which is gone when it is closed."""

    def __init__(self, table: str) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for statement in ("PRAGMA journal_mode = OFF", table, "BEGIN"):
            self.execute(statement)

    def execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise StorageTrouble(gettempdir(), OSError(0, f"no room to sort: {error}")) from None

    def close(self) -> None:
        self._database.close()


def _report_no_template(file: SourceFile, look: FileReading, tell: Tell) -> None:
    """Tell that no template is in *file*, unless the source has told that it is none."""
    if file.is_plain:
        sentence = "it is a page of HTML" if _is_page(look) else "no template is in it"
        name = printable(file.path)
        tell(Problem(file=name, line=0, code="no-template", sentence=sentence))


_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DOS_END = b"\x1a"


def _is_page(look: FileReading) -> bool:
    """Return whether a mirror has put a page of HTML where the file was."""
    return isinstance(look.source, bytes) and _PAGE.match(look.source) is not None


def _is_cut(look: FileReading, last: redif.Template) -> bool:
    """Return whether the file may go on behind *last*, or has holes.

    A template without its handle, no line end, NULs. Of a file that ends as it did when it was read
    last, and of a long one, only what can be seen.
    """
    is_as_it_was = look.entry.end == end_of(last)
    if last.handle is None and last.type not in _STORED_NOT and not is_as_it_was:
        return True
    data = look.source
    if not isinstance(data, bytes) or data.startswith(_UTF_16):
        return False
    has_end = is_as_it_was or data.rstrip(_DOS_END).endswith((b"\n", b"\r"))
    return 0 in data or not has_end


def _sighting(
    file: SourceFile, template: redif.Template, passing: UnchangedFiles, draft: int
) -> Sighting | None:
    """Return what *template* is a sighting of, and a row for it; None for what is not stored."""
    odd = [
        TemplateProblem(one.line - template.line, one.code, one.sentence)
        for one in template.problems
    ]
    if template.handle is None or template.type in _STORED_NOT:
        passing.put_other(draft, template, odd)
        return None
    is_own = template.handle.owns(file.place)
    return Sighting(
        id=template.handle.text,
        template=template,
        file=file.path,
        modified=file.modified,
        is_own=is_own,
        row=passing.put(draft, template, odd, is_own=is_own),
    )


_TOLD = ("format", "function", "size", "restriction")


def _refipos(template: redif.Template) -> Iterator[dict[str, Any]]:
    for file in template.files():
        said = {name: value for name in _TOLD if (value := getattr(file, name)) is not None}
        for uri in file.uris:
            raw = uri.futli if uri.second else file.url
            told = {"n": file.n, "uri": uri.uri, "raw": raw, **said}
            if uri.second:
                told["second"] = True
            if uri.mended:
                told["mended"] = True
            yield told


def read_tobi(data: bytes) -> dict[str, Any] | None:
    """Return what a journal line says of the tobi with these bytes, ``id`` too; None for another
    file.
    """
    try:
        for template in redif.read(data, ""):
            if template.handle is not None and template.type not in _STORED_NOT:
                told = {"id": template.handle.text, "type": template.type, "file": None}
                return {
                    **told,
                    "offset": None,
                    "encoding": template.encoding,
                    "refipos": list(_refipos(template)),
                }
    except (BadHandle, BadId):
        return None
    return None
