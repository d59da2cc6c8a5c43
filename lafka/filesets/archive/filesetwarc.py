"""The fileset WARC: lock, recover, append a group, commit the summary (docs/formats.md, "Append").

Nothing is lost at any kill: the lock dies with its process, the next writer rolls whole records
forward and keeps a torn tail aside, and only a WARC that was synced is named by a summary.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from lafka.errors import BadSuwaf, BadWarc, ShortWarc, StorageTrouble, TornWarc
from lafka.filesets.archive.contents import Contents, Scanner
from lafka.filesets.archive.groups import Group
from lafka.filesets.summaries import FilesetSummary
from lafka.storage import drafts
from lafka.storage.folders import DRAFT, free_name, make_folders
from lafka.storage.locks import Lock, tried
from lafka.storage.steps import done
from lafka.warc.format.sources import FileSource
from lafka.warc.reading.framing import begins_record
from lafka.warc.writing.appending import Appender
from lafka.warc.writing.copying import Files
from lafka.warc.writing.names import or_numbered

T = TypeVar("T")


class FilesetWarc:
    """One fileset's WARC and summary, locked; made by :meth:`locked`, ended by :meth:`close`."""

    def __init__(self, summary_path: Path, fileset_id: str, lock: Lock) -> None:
        self.path = lock.warc
        self.summary_path = summary_path
        self.fileset_id = fileset_id
        self._lock = lock
        self._contents: Contents | None = None

    @classmethod
    def locked(
        cls, warc: Path, summary: Path, fileset_id: str, *, recover: bool = True
    ) -> Self | None:
        """The WARC, recovered; None where another process has its lock.

        Raises as :meth:`recover`.
        """
        lock = tried(warc)
        if lock is None:
            return None
        made = cls(summary, fileset_id, lock)
        try:
            if recover:
                made.recover()
        except BaseException:
            made.close()
            raise
        return made

    def close(self) -> None:
        """Give up the lock; what was not appended is not there."""
        try:
            self._lock.release()
        except OSError as error:
            raise StorageTrouble(self.path, error) from error

    @property
    def contents(self) -> Contents:
        """What the WARC holds."""
        assert self._contents is not None
        return self._contents

    @property
    def summary(self) -> FilesetSummary:
        """The summary as it is committed."""
        contents = self.contents
        return replace(contents.summary, end=contents.end, chain=contents.chain_text)

    def recover(self) -> None:
        """Make WARC and summary one again after a killed writer.

        ``ShortWarc`` where the WARC is shorter than its summary says, ``BadSuwaf`` where that is
        none, ``BadWarc`` where bytes before its end are no records: then nothing is changed.
        """
        known = load_summary(self.summary_path, self.fileset_id)
        end = known.end if known else 0
        try:
            size = os.fstat(self._lock.fd).st_size
            if size < end:
                raise ShortWarc(self.path, f"{size} bytes, and its summary knows {end}", size)
            self._read(trusted_to=end, chain=known.chain if known else "")
            if size > end:
                os.fdatasync(self._lock.fd)  # what a killed writer left may not be on the disk yet
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        if self.contents.end and (known is None or self.summary != known):
            self._commit()

    def rebuild(self) -> FilesetSummary:
        """Make the summary again from the WARC alone, reading every byte; as :meth:`recover`."""
        with suppress(BadSuwaf):
            known = load_summary(self.summary_path, self.fileset_id)
            size = os.fstat(self._lock.fd).st_size
            if known and size < known.end:
                raise ShortWarc(self.path, f"{size} bytes, and its summary knows {known.end}", size)
        self._read()
        self._commit()
        return self.summary

    def _read(self, *, trusted_to: int = 0, chain: str = "") -> None:
        scanner = Scanner(
            self._lock.fd, self._lock.path, self.fileset_id, trusted_to=trusted_to, chain=chain
        )
        try:
            scanner.read()
        except BadWarc as error:
            tail = scanner.contents.end
            if tail < trusted_to and isinstance(error, TornWarc):
                raise ShortWarc(
                    self.path, "records that its summary knows are torn", tail
                ) from None
            watched = trusted_to or self._lock.is_draft
            if tail < trusted_to or not (watched or not begins_record(self._lock.fd, tail + 1)):
                raise
            self._set_tail_aside(tail)
        self._contents = scanner.contents

    def _set_tail_aside(self, offset: int) -> None:
        """Keep the bytes from *offset* on as ``<name>.torn-<offset>`` and cut them off."""
        torn = self.path.with_name(f"{self.path.name}.torn-{offset}")
        aside = free_name(or_numbered(torn, "."))
        draft = aside.with_name(f"{DRAFT}{self.path.name}.torn")
        tail = FileSource(self._lock.fd, offset, os.fstat(self._lock.fd).st_size - offset)
        drafts.replace(aside, tail.chunks(), draft=draft)
        os.ftruncate(self._lock.fd, offset)  # synced with what is appended next

    def append(self, plan: Callable[[Group], T]) -> T:
        """Append what *plan* plans, and commit it: what *plan* returns. Nothing where it raises.

        ``StorageTrouble`` where the disk refuses; the WARC then ends as it did before.
        """
        with Files() as files:
            group = Group(self.contents, files)
            planned = plan(group)
            if not group.pieces:
                return planned
            out = Appender(self._lock.fd, self.contents.end)
            try:
                with out.group():
                    for piece in group.pieces:
                        piece(out)
                    out.sync()
            except OSError as error:
                raise StorageTrouble(self.path, error) from error
            group.taken_into(self.contents)
        self._commit()
        return planned

    def _commit(self) -> None:
        try:
            done(self._lock.naming_for_good())
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        make_folders(self.summary_path.parent)
        drafts.replace(self.summary_path, [self.summary.to_bytes()])


def load_summary(path: Path, fileset_id: str | None = None) -> FilesetSummary | None:
    """The summary at *path*; None where there is none, ``BadSuwaf`` where it is none."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return FilesetSummary.parse(data, fileset_id)
    except ValueError as error:
        raise BadSuwaf(path, f"not a summary: {error}") from None
