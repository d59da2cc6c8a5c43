"""A strict reader of plain WARC files (ISO 28500:2017), for checking and for nothing else.

It shares no code with ``lafka.warc`` nor with any WARC library, so that a mistake there cannot
hide itself here. It reads from first byte to last in bounded memory, reports what is wrong as
:class:`FileProblem` values, and after an error goes on at the next record, so that one bad record
never hides the others.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lafka.witness.blocks import (
    HttpEntity,
    LiteralPdf,
    RecordBlock,
    http_entity,
    is_whole,
    pdf_offset,
)
from lafka.witness.digests import differences, hash_block, hashers_for, stated_digests
from lafka.witness.headers import (
    DIGITS,
    HEADER_LIMIT,
    HTTP_TYPE,
    RecordHeader,
    has_plain_lines,
    parse,
)
from lafka.witness.problems import Fault, FileProblem, problem

_CHUNK = 1 << 18
_WINDOW = 1 << 14
_INFORMS = ("warcinfo", "metadata")

_RECORD_END = b"\r\n\r\n"
_ANY_HEAD_END = re.compile(rb"\r?\n\r?\n")
_RECORD_START = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n[A-Za-z][A-Za-z0-9-]*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictRecord:
    """A record whose header could be read and whose block is all there.

    ``fields`` has lower-case names and the first value of each. ``chain`` is the running digest
    of all record headers so far: SHA-256 over the chain before and this header's bytes from its
    version line to its blank line, beginning with 32 zero bytes. ``info`` is the block of a
    warcinfo.
    """

    offset: int
    block: int
    length: int
    end: int
    version: str
    fields: Mapping[str, str]
    concurrent_to: tuple[str, ...]
    chain: bytes
    entity: HttpEntity | None
    pdf: LiteralPdf | None
    info: bytes

    @property
    def type(self) -> str:
        return self.fields.get("warc-type", "")

    @property
    def id(self) -> str:
        return self.fields.get("warc-record-id", "")

    @property
    def date(self) -> str:
        return self.fields.get("warc-date", "")

    @property
    def url(self) -> str:
        """The target URI, without the angle brackets of WARC/1.0 writers."""
        url = self.fields.get("warc-target-uri", "")
        return url[1:-1] if url.startswith("<") and url.endswith(">") else url


class StrictReader:
    """Iterating gives the records of one plain WARC; ``problems`` fills up on the way.

    *start* is the offset of the first record, *end* where to stop (the file's size). Without
    *hashing* blocks are skipped. *progress* is told how many bytes were passed since it was
    called last. A *pool* lets the digests of big blocks run beside each other.
    Raises OSError where the file cannot be read.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        start: int = 0,
        end: int | None = None,
        hashing: bool = True,
        progress: Callable[[int], None] | None = None,
        pool: Executor | None = None,
    ) -> None:
        self.path = str(path)
        self.problems: list[FileProblem] = []
        self._start = start
        self._end = end
        self._hashing = hashing
        self._progress = progress
        self._pool = pool
        self._chain = bytes(32)
        self._size = 0
        self._fd = -1

    def __iter__(self) -> Iterator[StrictRecord]:
        with self._opened():
            offset = self._start
            while offset < self._size:
                record = self._record(offset)
                if record is not None:
                    yield record
                after = record.end if record is not None else self._resumed
                if self._progress is not None:
                    self._progress(after - offset)
                offset = after

    @contextmanager
    def _opened(self) -> Iterator[None]:
        self._fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            size = os.fstat(self._fd).st_size
            self._size = size if self._end is None else min(size, self._end)
            yield
        finally:
            os.close(self._fd)
            self._fd = -1

    def _record(self, offset: int) -> StrictRecord | None:
        window = self._read(offset, _WINDOW)
        head = self._head(offset, window)
        if head is None:
            return None
        at = len(head)
        header = parse(head)
        self._note(offset, header.faults)
        size = self._block_length(offset, offset + at, header.fields, window)
        if size is None:
            return None
        self._chain = hashlib.sha256(self._chain + head).digest()
        block = RecordBlock(offset + at, size, window[at : at + size], self._read)
        entity, pdf = self._contents(offset, header, block)
        return StrictRecord(
            offset=offset,
            block=block.offset,
            length=size,
            end=block.end + 4,
            version=header.version,
            fields=header.fields,
            concurrent_to=header.concurrent_to,
            chain=self._chain,
            entity=entity,
            pdf=pdf,
            info=block.cut(0, HEADER_LIMIT) if header.type in _INFORMS else b"",
        )

    def _head(self, offset: int, window: bytes) -> bytes | None:
        if not window.startswith(b"WARC/"):
            if b"WARC/".startswith(window) or not window:
                self._give_up(offset, "torn-tail", "the file ends inside a version line")
            else:
                self._give_up(offset, "stray-bytes", "bytes outside a record")
            return None
        found = window.find(b"\r\n\r\n")
        if found < 0 and len(window) == _WINDOW:
            window = self._read(offset, HEADER_LIMIT)
            found = window.find(b"\r\n\r\n")
        head = window[: found + 4] if found >= 0 else window
        if found >= 0 and has_plain_lines(head):
            return head
        match = _ANY_HEAD_END.search(head)
        if match is not None:
            return head[: match.end()]
        if len(window) < HEADER_LIMIT:
            self._give_up(offset, "torn-tail", "the file ends inside a record header")
        else:
            self._give_up(offset, "bad-header", "a record header of more than 1 MiB")
        return None

    def _block_length(
        self, offset: int, block: int, fields: Mapping[str, str], window: bytes
    ) -> int | None:
        """Content-Length, where the file has that many bytes and the end of a record after them."""
        length = fields.get("content-length", "")
        if not DIGITS.fullmatch(length):
            self._give_up(offset, "bad-length", "no Content-Length that can be used")
            return None
        end = block + int(length)
        if end > self._size:
            missing = end + 4 - self._size
            self._give_up(offset, "torn-tail", f"the file ends {missing} bytes before the record")
            return None
        trailer = window[end - offset : end - offset + 4]
        if len(trailer) < 4:
            trailer = self._read(end, 4)
        if trailer == _RECORD_END:
            return int(length)
        code = "torn-tail" if _RECORD_END.startswith(trailer) else "bad-trailer"
        sentence = "the block is not followed by two line ends where Content-Length says"
        self._give_up(offset, code, sentence)
        return None

    def _contents(
        self, offset: int, header: RecordHeader, block: RecordBlock
    ) -> tuple[HttpEntity | None, LiteralPdf | None]:
        """The HTTP entity and the PDF of a block; digests are compared on the way."""
        fields, faults = header.fields, list[tuple[str, str]]()
        is_http = HTTP_TYPE.match(fields.get("content-type", ""))
        entity = http_entity(block) if is_http else None
        stated = list(stated_digests(fields, block, entity, faults))
        place = pdf_offset(header.type, block, entity)
        end = entity.end if entity is not None else block.end
        digest = ""
        if self._hashing:
            pdf_range = ("sha256", place or 0, end)
            hashers = hashers_for(stated, *([] if place is None else [pdf_range]))
            hash_block(self._fd, block, hashers, self._pool)
            chunked = entity is not None and entity.chunked
            faults.extend(differences(stated, hashers, chunked=chunked))
            digest = "" if place is None else f"sha256:{hashers[pdf_range].hexdigest()}"
        self._note(offset, faults)
        if place is None:
            return entity, None
        whole = is_whole(fields, block, entity, place, end)
        return entity, LiteralPdf(offset=place, length=end - place, digest=digest, whole=whole)

    def _read(self, offset: int, length: int) -> bytes:
        return os.pread(self._fd, min(length, self._size - offset), offset)

    def _note(self, offset: int, faults: Iterable[Fault]) -> None:
        for code, sentence in faults:
            self.problems.append(problem(self.path, code, sentence, offset))

    def _give_up(self, offset: int, code: str, sentence: str) -> None:
        """Leave the record at *offset*; ``_resumed`` is where the next one begins."""
        found = self._next_start(offset + 1)
        if code == "torn-tail" and found is not None:
            code = "bad-trailer"
            sentence = "the block does not end where Content-Length says"
        self._resumed = self._size if found is None else found
        self._note(offset, [(code, f"{sentence}; {self._resumed - offset} bytes skipped")])

    def _next_start(self, offset: int) -> int | None:
        overlap = 256
        while offset < self._size:
            data = self._read(offset, _CHUNK)
            found = _RECORD_START.search(data)
            if found:
                return offset + found.start()
            if len(data) <= overlap or offset + len(data) >= self._size:
                return None
            offset += len(data) - overlap
        return None


def records(
    path: Path | str, start: int = 0, problems: list[FileProblem] | None = None
) -> Iterator[StrictRecord]:
    """The records of a plain WARC from *start* on; what is wrong is added to *problems*.

    A problem of a record is there before the record is given. Raises OSError.
    """
    reader = StrictReader(path, start=start)
    if problems is not None:
        reader.problems = problems
    return iter(reader)
