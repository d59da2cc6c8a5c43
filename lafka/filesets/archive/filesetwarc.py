"""The fileset WARC and its summary: groups of records are appended, and named (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from lafka.errors import BadSuwaf, StorageTrouble
from lafka.filesets.archive.contents import FilesetContents, FilesetScanner
from lafka.filesets.archive.groups import FilesetGroup
from lafka.filesets.model.summaries import FilesetSummary
from lafka.keeping.stores import SummarisedWarc
from lafka.storage.locks import Lock, tried
from lafka.storage.steps import Steps, done
from lafka.warc.writing.copying import Files

T = TypeVar("T")


class FilesetWarc(SummarisedWarc[FilesetContents]):
    """One fileset's WARC and summary, locked; made by :meth:`locked`, ended by :meth:`close`."""

    def __init__(self, summary_path: Path, fileset_id: str, lock: Lock) -> None:
        super().__init__(lock, summary_path)
        self.fileset_id = fileset_id
        self._known: FilesetSummary | None = None

    @classmethod
    def locked(
        cls, warc: Path, summary: Path, fileset_id: str, *, recover: bool = True
    ) -> Self | None:
        """Lock the WARC and recover it; None where another process has its lock.

        Raises as :meth:`recovering`, and ``StorageTrouble``.
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
            self.lock.release()
        except OSError as error:
            raise StorageTrouble(self.path, error) from error

    @property
    def summary(self) -> FilesetSummary:
        """The summary of the contents."""
        contents = self.contents
        return replace(contents.summary, end=contents.end, chain=contents.chain_text)

    @property
    def committed_end(self) -> int:
        return self._known.end if self._known else 0

    def load_summary(self) -> None:
        self._known = load_summary(self.summary_path, self.fileset_id)

    def recover(self) -> None:
        """:meth:`recovering`, at once; any ``OSError`` is ``StorageTrouble``."""
        try:
            done(self.recovering())
        except OSError as error:
            raise StorageTrouble(self.path, error) from error

    def recovering(self) -> Steps[None]:
        yield from super().recovering()
        if self.contents.end and self.summary != self._known:
            yield from self.committing()

    def make_summary(self) -> Steps[None]:
        with Files() as files:  # what a killed writer left may not be on the disk yet
            yield from self.writing(FilesetGroup(self.contents, files), sync=True)

    def summary_bytes(self) -> bytes:
        self._known = self.summary
        return self._known.to_bytes()

    def scanner(self, trusted_to: int) -> FilesetScanner:
        chain = self._known.chain if self._known and trusted_to else ""
        return FilesetScanner(
            self.lock.fd, self.lock.path, self.fileset_id, trusted_to=trusted_to, chain=chain
        )

    def append(self, plan: Callable[[FilesetGroup], T]) -> T:
        """Append what *plan* plans, and commit it: what *plan* returns. Nothing where it raises.

        ``StorageTrouble`` where the disk refuses; the WARC then ends as it did before.
        """
        with Files() as files:
            group = FilesetGroup(self.contents, files)
            planned = plan(group)
            if group.pieces:
                done(self.writing(group))
                done(self.committing())
        return planned


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
