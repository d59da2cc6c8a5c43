"""The inventory of a WARC, read from the WARC alone.

It is how a summary is rebuilt, how a killed writer's whole records are rolled forward, and how a
writer knows what is held already.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from lafka.errors import BadWarc
from lafka.warc.format.records import sha256_of
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import open_plain

NO_CHAIN = bytes(32)


@dataclass(slots=True, kw_only=True)
class Contents:
    """The inventory of a WARC, grown record by record.

    ``ids`` are those of its records. ``end`` is the byte behind the last one, ``chain`` the running
    SHA-256 over the headers of all; both stand in the summary.
    """

    ids: set[str] = field(default_factory=set)
    end: int = 0
    chain: bytes = NO_CHAIN

    @property
    def chain_text(self) -> str:
        """The chain as a summary has it."""
        return "sha256:" + self.chain.hex()


ContentsT = TypeVar("ContentsT", bound=Contents)


def chained(chain: bytes, header: bytes) -> bytes:
    """Return the chain after one more record header: SHA-256 of the chain so far and the header."""
    return hashlib.sha256(chain + header).digest()


class Scanner(ABC, Generic[ContentsT]):
    """Reads the records of the open file *fd* into ``contents``.

    Headers before byte *trusted_to* are believed, but held against the *chain* that was committed,
    where it is known. From there on every block is hashed, and ``BadWarc`` raised for one that is
    not what its header says.
    """

    needs_digests: ClassVar[bool] = True
    """False where blocks without a SHA-256 may stand in the WARC, as those of other writers."""
    believes_payloads = False
    """True where another store committed the payload digests: blocks alone are hashed."""

    def __init__(
        self, fd: int, path: Path, contents: ContentsT, *, trusted_to: int = 0, chain: str = ""
    ) -> None:
        self.contents = contents
        self.path = path
        self.fd = fd
        self._trusted_to = trusted_to
        self._chain = chain

    def read(self) -> ContentsT:
        """Read all records; raise ``TornWarc`` or ``BadWarc`` once the whole ones are taken in."""
        contents = self.contents
        for record in open_plain(self.path, self.fd):
            if not self.is_trusted(record):
                self._check(record)
            self.take(record)
            contents.chain = chained(contents.chain, record.header)
            self._check_chain(record)
            contents.ids.add(record.id)
            contents.end = record.end
        return contents

    @abstractmethod
    def take(self, record: StoredRecord) -> None:
        """Take *record* into the contents; ``BadWarc`` where it has no place in them."""

    def is_trusted(self, record: StoredRecord) -> bool:
        """Return whether the header of *record* was committed, so that its digests are believed."""
        return record.offset < self._trusted_to

    def _check(self, record: StoredRecord) -> None:
        if b"\0" in record.header:  # a page of it never came to the disk
            raise BadWarc(self.path, "there are zeros in its header", record.offset)
        stated = record.fields.first("WARC-Block-Digest")
        if not (self.needs_digests or stated.startswith("sha256:")):
            return
        if stated != sha256_of(record.block().chunks()):
            raise BadWarc(self.path, "the block is not what its digest says", record.offset)

    def _check_chain(self, record: StoredRecord) -> None:
        """Compare at the last record that was committed, before it counts as read."""
        if not self._chain or not record.offset < self._trusted_to <= record.end:
            return
        if record.end != self._trusted_to or self._chain != self.contents.chain_text:
            raise BadWarc(self.path, "its record headers are not as they were", record.offset)
