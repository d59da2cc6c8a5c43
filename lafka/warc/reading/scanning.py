"""From record to record of a stream, over whatever lies between them.

A record is given when its whole block is there. All else is reported, once, and reading goes on at
the next place where a record begins: nothing bad hides the good that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

from ..errors import BadValue
from ..format.digests import Digest
from ..format.fields import Fields
from ..format.sources import CHUNK
from . import framing
from .framing import END, HeaderLimits
from .stored import Holder, StoredRecord, TornRecord
from .streams import AHEAD, PackedStream, PlainStream

Report = Callable[..., None]
_OVERLAP = 256
FIRST_LOOK = 4 << 10  # for the next record: it is mostly near, and there may be very many
_SKIPPED = 128 << 10
PATIENCE = 64 << 20  # inflated bytes without a record, after which a member is given up
_HASHED_MAX = 4 << 30  # bytes of a volume, hashed to tell a wrong length from stray bytes
_STARTS = (END + b"WARC/1.0\r\n", END + b"WARC/1.1\r\n")


class RecordScan:
    """Reads records from *stream*; *report* is called with code, offset and values of a problem.

    *strict*: *report* raises, so nothing is searched for that would only be told to it. *refuse*
    is told offset and header of each record that is not given. *skip*: large members that tell
    their length are passed over. *salvage*: what there is of a torn record is given.
    """

    record_type = StoredRecord
    nothing = "no WARC record begins here"
    """What is said of a place where there is none."""

    @staticmethod
    def is_start(data: bytes) -> bool:
        """Return whether the first bytes of a member look like a record's."""
        return data[:5].upper() == b"WARC/"

    def __init__(
        self,
        holder: Holder,
        stream: PlainStream | PackedStream,
        limits: HeaderLimits,
        report: Report,
        *,
        strict: bool = False,
        refuse: Callable[[int, bytes], object] = lambda *_: None,
        skip: bool = False,
        salvage: bool = False,
    ) -> None:
        self._holder = holder
        self._stream = stream
        self._limits = limits
        self._most = min(16384, limits.line, limits.header)
        self._report = report
        self._strict = strict
        self._refuse = refuse
        self._skip = skip
        self._salvage = salvage
        self._stop = 0
        self._hashed = 0
        self._told_one_member = False

    def records(self, start: int) -> Iterator[StoredRecord]:
        """The records from the place *start* on."""
        at: int | None = start
        while at is not None and (at := self._seek(at)) is not None:
            if isinstance(self._stream, PlainStream):
                at = yield from self._plain_run(self._stream, at)
                if at is None:
                    return
            record, at = self.take(at)
            if record is not None:
                yield record

    def _plain_run(self, stream: PlainStream, at: int) -> Generator[StoredRecord, None, int | None]:
        """Records as nearly all are, up to the first that is not: the loop that has to be fast."""
        holder, most, quick = self._holder, self._most, framing.quick
        base, data = stream.view(at, at)
        while found := quick(data, at - base, most):
            header = data[at - base : found[0]]
            end = base + found[0] + found[1]
            base, data = stream.view(end, at)
            if not data.startswith(_STARTS, end - base):
                if end + 4 != stream.size or data[end - base :] != END:
                    break
                yield StoredRecord(holder, at, end + 4 - at, header, found[1])
                return None
            yield StoredRecord(holder, at, end + 4 - at, header, found[1])
            at = end + 4
        return at

    def take(self, at: int) -> tuple[StoredRecord | None, int | None]:
        """The record at *at*, where one begins, None if it is bad; and where to go on.

        There a record may begin, or what belongs to none.
        """
        stream = self._stream
        base, data = stream.view(at, at)
        found = framing.quick(data, at - base, self._most)
        if found is None:
            return self._take_carefully(at)
        header_end, length = found
        header = data[at - base : header_end]
        end = base + header_end + length
        if length > _SKIPPED and self._skip and isinstance(stream, PackedStream):
            offset, size = stream.place(at)[0], len(header) + length + 4
            if end > stream.end and (packed := stream.skip(at, size)):
                return self.record_type(self._holder, offset, packed, header, length), end + 4
        base, data = stream.view(end, at)
        if not data.startswith(_STARTS, end - base):
            return self._take_odd(at, header, length)
        return self._record(at, header, length, 4), end + 4

    def begins(self, at: int) -> bool:
        """Return whether a record begins at *at*."""
        data = self._stream.read(at, framing.START_MAX)
        return framing.begins(data, last=len(data) < framing.START_MAX)

    def _record(
        self,
        at: int,
        header: bytes,
        length: int,
        trailer: int,
        kind: type[StoredRecord] | None = None,
    ) -> StoredRecord:
        stream, kind = self._stream, kind or self.record_type
        size = len(header) + length + trailer
        if isinstance(stream, PlainStream):
            return kind(self._holder, at, size, header, length, 0, trailer)
        offset, inner = stream.place(at)
        after = stream.member_after(at + size)
        alone = inner == 0 and after is not None
        if not alone and not self._told_one_member:
            self._told_one_member = True
            split = after is None and stream.place(at + size - 1)[0] != offset
            self._say("split-record" if split else "one-member", at)
        end = after if after is not None else stream.raw_place
        return kind(self._holder, offset, end - offset, header, length, inner, trailer, alone)

    def _say(self, code: str, at: int, **values: object) -> None:
        offset, inner = self._stream.place(at)
        self._report(code, offset, inner=inner, **values)

    def _take_carefully(self, at: int) -> tuple[StoredRecord | None, int | None]:
        if isinstance(self._stream, PlainStream) and self._stream.ahead < 16384:
            self._stream.ahead *= 2  # headers of this volume are longer than most
        header = framing.careful(self._stream.read, at, self._limits)
        for code, values in header.findings:
            self._say(code, at, **values)
        if header.torn:
            self._torn(at)
            return None, None
        if header.length < 0:
            self._refuse(self._stream.place(at)[0], header.data)
            return None, self._find(at + max(1, len(header.data)))
        record, after = self._take_odd(at, header.data, header.length)
        if header.refused and record:
            self._refuse(record.offset, header.data)
            return None, after
        return record, after

    def _take_odd(
        self, at: int, header: bytes, length: int
    ) -> tuple[StoredRecord | None, int | None]:
        """The record whose header is known, whatever stands behind its block."""
        stream = self._stream
        body = at + len(header)
        end = body + length
        stream.view(end, at)
        if stream.lacks(end):
            if not self._salvage:
                self._refuse(stream.place(at)[0], header)
            return self._overrun(at, header, end)
        if self._strict:
            return self._take_strictly(at, header, length), end + 4
        line_ends = self._line_ends(end)
        after = end + len(line_ends)
        if self.begins(after):
            if line_ends != END:
                self._judge_trailer(at, header, length, line_ends)
            return self._record(at, header, length, len(line_ends)), after
        if stream.lacks(after + 1):
            return self._last(at, header, length, line_ends)
        return self._followed_by_stray(at, header, length, line_ends)

    def _judge_trailer(self, at: int, header: bytes, length: int, line_ends: bytes) -> None:
        """Tell what is wrong with *line_ends*: of them some can be in a block that is too long."""
        body = at + len(header)
        found = length - len(END) + len(line_ends)
        if 0 <= found < length and self._has_digest(header, body, body + found):
            self._say("wrong-length", at, length=length, found=found)
        else:
            self._say("bad-trailer", at, found=_shown(line_ends))

    def _take_strictly(self, at: int, header: bytes, length: int) -> StoredRecord | None:
        end = at + len(header) + length
        behind = self._stream.read(end, 4)
        if len(behind) < 4:
            self._torn(at)
            return None  # the member is broken, which is still to be reported
        if behind != END:
            self._say("bad-trailer", at, found=_shown(behind))
        return self._record(at, header, length, 4)

    def _last(
        self, at: int, header: bytes, length: int, line_ends: bytes
    ) -> tuple[StoredRecord, None]:
        if line_ends != END:
            if END.startswith(line_ends):
                self._torn(at)
            else:
                self._say("bad-trailer", at, found=_shown(line_ends))
        return self._record(at, header, length, len(line_ends)), None

    def _followed_by_stray(
        self, at: int, header: bytes, length: int, line_ends: bytes
    ) -> tuple[StoredRecord | None, int | None]:
        body = at + len(header)
        end = body + length
        inside = self._record_in(body, end)
        if inside is not None and not self._has_digest(header, body, end):
            if not self._salvage:
                self._refuse(self._stream.place(at)[0], header)
            self._say("overlong-block", at, length=length, next=self._stream.place(inside)[0])
            return self._cut(at, header, inside), inside
        after = end + len(line_ends)
        if line_ends != END:
            behind = self._behind_block(after)
            if behind is not None:
                self._say("wrong-length", at, length=length, found=behind - len(END) - body)
                return self._record(at, header, length, len(line_ends)), behind
            self._say("bad-trailer", at, found=_shown(line_ends))
        return self._record(at, header, length, len(line_ends)), after

    def _behind_block(self, at: int) -> int | None:
        """Return where the next record or the end is, if what stands from *at* on ends as a block
        does.

        So that the length was too short for it.
        """
        behind = self._find(at)
        if behind is None and self._stream.lacks(self._stop + 1):
            behind = self._stop
        if behind is None or behind < at + len(END) or not self._can_read(behind - len(END)):
            return None
        return behind if self._stream.read(behind - len(END), len(END)) == END else None

    def _overrun(self, at: int, header: bytes, end: int) -> tuple[StoredRecord | None, int | None]:
        """The stream ends inside the block: where the next record begins, if one does."""
        body = at + len(header)
        inside = None if self._strict else self._record_in(body, end)
        if inside is not None:
            self._say("overlong-block", at, length=end - body, next=self._stream.place(inside)[0])
            return self._cut(at, header, inside), inside
        self._torn(at)
        return self._cut(at, header, body + self._there(body, end)), None

    def _cut(self, at: int, header: bytes, end: int) -> StoredRecord | None:
        """Return what there is of a record whose block ends at *end*, if that is asked for."""
        if not self._salvage:
            return None
        body = at + len(header)
        behind = self._stream.read(max(body, end - len(END)), min(len(END), end - body))
        trailer = len(END) if behind == END and not self._stream.lacks(end + 1) else 0
        return self._record(at, header, end - trailer - body, trailer, TornRecord)

    def _there(self, start: int, end: int) -> int:
        """Return how many of the bytes from *start* to *end* there are."""
        low, high = start, end  # between them the stream ends
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._stream.lacks(middle) else (middle, high)
        return low - start

    def _torn(self, at: int) -> None:
        stream = self._stream
        if isinstance(stream, PlainStream) or stream.trouble is None:
            self._say("torn-tail", at)  # else the trouble says it

    def _record_in(self, start: int, end: int) -> int | None:
        """Return where between *start* and *end* a sound header stands, whose record it then is."""
        if not self._can_read(start):
            return None
        at = self._find(start, end)
        while at is not None:
            header = framing.careful(self._stream.read, at, self._limits)
            if framing.is_record(header):
                return at
            at = self._find(at + 1, end)
        return None

    def _can_read(self, at: int) -> bool:
        return isinstance(self._stream, PlainStream) or self._stream.has(at)

    def _has_digest(self, header: bytes, start: int, end: int) -> bool:
        """Return whether the bytes from *start* to *end* have the block digest of *header*."""
        self._hashed += end - start
        if self._hashed > _HASHED_MAX:
            return False
        with suppress(BadValue):
            stated = Digest.parse(Fields.parse(header).first("WARC-Block-Digest"))
            return stated == Digest.of(self._pieces(start, end), stated.algorithm)
        return False

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        while start < end and self._can_read(start):
            data = self._stream.read(start, min(CHUNK, end - start))
            yield data
            start += len(data)

    def _line_ends(self, at: int) -> bytes:
        """The CRs and LFs at *at*."""
        found = b""
        while True:
            data = self._stream.read(at + len(found), AHEAD)
            rest = data.lstrip(b"\r\n")
            found += data[: len(data) - len(rest)]
            if rest or not data or len(found) > CHUNK:
                return found

    def _seek(self, at: int) -> int | None:
        """Return where from *at* on the next record begins; what lies before it is reported."""
        if self.begins(at):
            return at
        if self._strict and not self._stream.lacks(at + 1):
            self._say("no-record", at)
        found = self._find(at)
        stop = self._stop if found is None else found
        if stop > at:
            self._say("stray-bytes", at, size=stop - at)
        return found

    def _find(self, at: int, end: int | None = None) -> int | None:
        """Return where a record seems to begin from *at* on and before *end*."""
        stream, patience = self._stream, at + PATIENCE
        before = stream.read(at - 1, 1) if at and self._can_read(at - 1) else b""
        window = FIRST_LOOK
        while end is None or at < end:
            data = stream.read(at, window)
            place = framing.find_start(data, 0, before)
            if place >= 0 and (end is None or at + place < end):
                return at + place
            self._stop = at + len(data)
            if len(data) < window:
                return None
            if isinstance(stream, PackedStream) and at > patience:
                stream.give_up()
                return None
            at += window - _OVERLAP
            window = min(4 * window, CHUNK)
            before = data[-_OVERLAP - 1 : -_OVERLAP]
        return None


def _shown(line_ends: bytes) -> str:
    return line_ends[:16].decode("latin-1") + ("..." if len(line_ends) > 16 else "")
