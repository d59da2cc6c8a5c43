"""A WARC and its summary under one lock: recover, append a group, commit, rebuild.

A new WARC is a draft until its first commit, so that bytes under a final name were always synced
once. All of it is work in steps (:mod:`lafka.storage.steps`): many stores can be written to side by
side, each in its own order.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, Generic

from lafka.errors import BadSuwaf, BadWarc, ShortWarc, StorageTrouble, TornWarc
from lafka.storage import drafts
from lafka.storage.folders import DRAFT, free_name, making_folders
from lafka.storage.keeping.contents import ContentsT, RecordGroup, Scanner
from lafka.storage.locks import Lock
from lafka.storage.steps import DataSync, FolderSync, LongStep, Steps, done
from lafka.warc.format.sources import FileSource
from lafka.warc.reading.framing import begins_record
from lafka.warc.writing.appending import Appender
from lafka.warc.writing.names import or_numbered

LONG = 4 << 20
"""A step that reads or writes more bytes than this may not hold up other steps."""


class SummarisedWarc(ABC, Generic[ContentsT]):
    """One WARC and the summary at *summary_path*, both locked by *lock*.

    A store derives from it and says how its summary is loaded and saved and what its records mean.
    """

    summary_name: ClassVar[str] = "summary"
    """The word for the summary in errors."""

    def __init__(self, lock: Lock, summary_path: Path) -> None:
        self.path = lock.warc
        self.summary_path = summary_path
        self.lock = lock
        self._contents: ContentsT | None = None

    @property
    @abstractmethod
    def committed_end(self) -> int:
        """The byte up to which the WARC was committed, by its summary; 0 where it has none."""

    @abstractmethod
    def load_summary(self) -> None:
        """Load the summary from its file; ``BadSuwaf`` where that is none."""

    @abstractmethod
    def make_summary(self) -> Steps[None]:
        """Make the summary of the contents, and append what they lack for it."""

    @abstractmethod
    def summary_bytes(self) -> bytes:
        """The summary's file, for the contents as they are."""

    @abstractmethod
    def scanner(self, trusted_to: int) -> Scanner[ContentsT]:
        """A scanner of the WARC that believes headers before byte *trusted_to*."""

    # ---- What is there

    @property
    def contents(self) -> ContentsT:
        """The inventory of the WARC; read from its headers where that is not known yet."""
        if self._contents is None:
            done(self.reading_contents())
        assert self._contents is not None
        return self._contents

    def reading_contents(self) -> Steps[None]:
        """Read what the WARC holds, unless it is known."""
        if self._contents is None:
            scanner = self.scanner(self.committed_end)
            yield from self._scanning(scanner)
            self._contents = scanner.contents

    def _scanning(self, scanner: Scanner[ContentsT]) -> Steps[None]:
        if self.size > LONG:
            yield LongStep(scanner.read)
        else:
            scanner.read()

    @property
    def size(self) -> int:
        """The bytes that the file has now."""
        return os.fstat(self.lock.fd).st_size

    def check_length(self) -> None:
        """``ShortWarc`` where the WARC is shorter than its summary says."""
        size, end = self.size, self.committed_end
        if size < end:
            name = self.summary_name
            raise ShortWarc(self.path, f"{size} bytes long, but its {name} knows {end} bytes")

    # ---- After a killed writer

    def recovering(self) -> Steps[None]:
        """Make WARC and summary one again after a killed writer.

        ``ShortWarc`` where the WARC is shorter than its summary says, ``BadSuwaf`` where that is
        none, ``BadWarc`` where bytes before its end are no records: then nothing is changed.
        """
        self.load_summary()
        self.check_length()
        if self.size > self.committed_end:
            yield from self.rebuilding(trusted_to=self.committed_end)

    def rebuild(self) -> None:
        """Make the summary again from the WARC, reading every byte; what it was may be damaged.

        ``ShortWarc``, ``BadWarc`` as in :meth:`recovering`.
        """
        with suppress(BadSuwaf):
            self.load_summary()
        self.check_length()
        done(self.rebuilding())

    def rebuilding(self, *, trusted_to: int = 0) -> Steps[None]:
        """Make the summary again from the WARC; a tail that is no record of it is kept aside.

        Digests in headers are believed before byte *trusted_to*, the bytes are read after it.
        """
        scanner = self.scanner(trusted_to)
        try:
            yield from self._scanning(scanner)
        except BadWarc as error:
            tail = scanner.contents.end
            self._check_tail(tail, error)
            yield from self._setting_tail_aside(tail)
        self._contents = scanner.contents
        if self.lock.is_draft and not self._contents.end:
            return
        yield from self.make_summary()
        yield from self.keeping_name(self.path)
        yield from self.committing()

    def _check_tail(self, tail: int, error: BadWarc) -> None:
        """Raise where the bytes from *tail* on, damaged by *error*, may be no one's yet."""
        if tail < self.committed_end and isinstance(error, TornWarc):
            raise ShortWarc(
                self.path, f"records that its {self.summary_name} knows are torn", tail
            ) from None
        # Known is how far the WARC was committed, or no record begins behind the damage.
        is_watched = bool(self.committed_end) or self.lock.is_draft
        if tail < self.committed_end or not (
            is_watched or not begins_record(self.lock.fd, tail + 1)
        ):
            raise error

    def _setting_tail_aside(self, offset: int) -> Steps[None]:
        """Keep the bytes from *offset* on as ``<name>.torn-<offset>`` and cut them off."""
        torn = self.path.with_name(f"{self.path.name}.torn-{offset}")
        aside = free_name(or_numbered(torn, "."))
        draft = aside.with_name(f"{DRAFT}{self.path.name}.torn")
        tail = FileSource(self.lock.fd, offset, self.size - offset)
        yield from drafts.replacing(aside, tail.chunks(), draft=draft)
        try:
            os.ftruncate(self.lock.fd, offset)  # synced with what is appended next
        except OSError as error:
            raise StorageTrouble(aside, error) from error

    # ---- Append and commit

    def writing(self, group: RecordGroup, *, sync: bool = False) -> Steps[None]:
        """Append what *group* plans; rolled back to the known end where the disk refuses.

        *sync*: even where nothing is planned, as what a killed writer left may not be on the disk.
        """
        yield from self._appending(group, sync=sync or bool(group.pieces))
        group.commit()

    def _appending(self, group: RecordGroup, *, sync: bool) -> Steps[None]:
        out = Appender(self.lock.fd, self.contents.end)
        try:
            with out.group():
                if group.end - out.position > LONG:
                    yield LongStep(partial(group.write, out))
                else:
                    group.write(out)
                if sync:
                    yield DataSync(self.lock.fd)
        except OSError as error:
            raise StorageTrouble(self.path, error) from error

    def copying(self, group: RecordGroup, *, believed: bool) -> Steps[None]:
        """Append *group*, records of another WARC, and make the summary, which is not committed.

        What was appended is read back first: ``BadWarc`` where it is not what its digests say, and
        then the WARC is as it was. *believed*: the headers are those that another store committed,
        so payloads are not hashed beside their blocks.
        """
        end = self.committed_end
        yield from self._appending(group, sync=False)
        scanner = self.scanner(end)
        scanner.believes_payloads = believed
        try:
            yield from self._scanning(scanner)
        except BadWarc:
            self.cut_off(end)
            raise
        self._contents = scanner.contents
        yield from self.make_summary()

    def cut_off(self, end: int) -> None:
        """Cut off what stands behind byte *end*, which nobody has committed; ``OSError``."""
        os.ftruncate(self.lock.fd, end)
        self._contents = None

    def committing(self) -> Steps[None]:
        """Give a first WARC its name and put the summary of the contents in place, durably."""
        try:
            yield from self.lock.naming_for_good()
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        yield from making_folders(self.summary_path.parent)
        yield from drafts.replacing(self.summary_path, (self.summary_bytes(),))

    def keeping_name(self, path: Path) -> Steps[None]:
        """Make sure of the name of *path*: who gave it may have been killed before its sync."""
        try:
            if path.exists():
                yield FolderSync(path.parent)
        except OSError as error:
            raise StorageTrouble(path, error) from error
