"""The inventory of a paper WARC: its futs, other payloads, and when each was had.

Blocks are passed over by seeking wherever a digest in the record's header says what is needed and
may be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from lafka.capture.rawlog import UNENDED
from lafka.errors import BadHttp, BadWarc
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.origins import FUTLI, FUTLI_ITSELF, PAPER_ID, Origin
from lafka.payloads import SNIFF, Kind, Payload, inspect, kind_of, pdf_start
from lafka.pids import Pid
from lafka.storage.keeping.contents import Contents, OriginalRecord, Scanner
from lafka.warc.format import dates, http
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import sha256_of
from lafka.warc.format.sources import CHUNK, BaseSource, Source
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import open_plain

_CAPTURED = frozenset(("request", "response", "resource", "revisit"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """The content of a capture's warcinfo (requirement paper, section 4)."""

    id: str
    pid_text: str
    futli: str
    origin: Origin = FUTLI_ITSELF

    @classmethod
    def of(cls, record: StoredRecord) -> Info:
        body = Fields.parse(record.block().read(0, CHUNK))
        return cls(
            id=record.id,
            pid_text=body.first(PAPER_ID),
            futli=body.first(FUTLI),
            origin=Origin.of_fields(body),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPayload:
    """A payload in the WARC and the record that holds it; ``s`` and ``l`` where it is a fut."""

    record_id: str
    url: str
    date: datetime
    s: int = -1
    l: int = -1  # noqa: E741  the suwaf's name

    @classmethod
    def of(cls, record: StoredRecord, start: int = -1, length: int = -1) -> HeldPayload:
        """The payload in *record*; ``BadWarc`` where its WARC-Date is none."""
        date = record.time
        return cls(record_id=record.id, url=record.url, date=date, s=start, l=length)

    @property
    def original(self) -> OriginalRecord:
        """The record as a revisit names it."""
        return OriginalRecord(record_id=self.record_id, url=self.url, date=dates.to_text(self.date))


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A fut was had at ``time`` from ``url``: an entry of the suwaf, once its place is known."""

    info: Info
    time: datetime
    url: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedFut:
    """A response whose entity is a fut that does not stand in it literally."""

    record: StoredRecord
    payload: Payload


@dataclass(slots=True, kw_only=True)
class PaperContents(Contents):
    """The inventory of one paper WARC.

    ``futs`` and ``payloads`` (of other kinds) by digest; ``unconverted``: by digest, futs that
    stand chunked or coded in a response and have no conversion yet.
    """

    infos: dict[str, Info] = field(default_factory=dict)
    futs: dict[str, HeldPayload] = field(default_factory=dict)
    payloads: dict[str, HeldPayload] = field(default_factory=dict)
    unconverted: dict[str, CodedFut] = field(default_factory=dict)
    visits: list[Visit] = field(default_factory=list)

    def suwaf(self, pid: Pid) -> Suwaf:
        """The suwaf that these contents make."""
        suwaf = Suwaf(pid=pid, end=self.end, chain=self.chain_text)
        for visit in self.visits:
            held = self.futs.get(visit.digest)
            if held is not None:
                suwaf.add(visit.info.futli, visit.time, fut_of(visit, held))
        return suwaf


def fut_of(visit: Visit, held: HeldPayload) -> Fut:
    """The suwaf's entry for *visit* of the fut that *held* tells the place of."""
    return Fut(
        s=held.s,
        l=held.l,
        url=visit.url,
        digest=visit.digest,
        origin=visit.info.origin,
    )


class PaperScanner(Scanner[PaperContents]):
    """Reads the records of the paper WARC that is open as *fd* into ``contents``.

    ``BadWarc`` also for a warcinfo that was not committed, with a Paper-Id that *is_paper* denies.
    """

    needs_digests = False  # first Lafkas wrote none, or SHA-1

    def __init__(
        self,
        fd: int,
        path: Path,
        *,
        trusted_to: int = 0,
        chain: str = "",
        is_paper: Callable[[str], bool] = bool,
    ) -> None:
        super().__init__(fd, path, PaperContents(), trusted_to=trusted_to, chain=chain)
        self._is_paper = is_paper
        self._conversions: dict[str, str] | None = None
        self._nameless: set[str] = set()

    def take(self, record: StoredRecord) -> None:
        if record.type == "warcinfo":
            self._take_info(record)
        elif self._nameless and record.type in _CAPTURED:
            self._name(record)
        if record.type == "response":
            self._take_response(record)
        elif record.type == "resource":
            self._take_resource(record)
        elif record.type == "conversion":
            self._take_conversion(record)
        elif record.type == "revisit":
            self._visit(record, self._revisited(record))
        elif record.type == "metadata":
            self._describe(record)

    def _take_info(self, record: StoredRecord) -> None:
        info = Info.of(record)
        named = info.pid_text
        if named and not self.is_trusted(record) and not self._is_paper(named):
            raise BadWarc(self.path, f"a capture of {named}", record.offset)
        self.contents.infos[record.id] = info
        if not info.futli:
            self._nameless.add(record.id)

    def _name(self, record: StoredRecord) -> None:
        """A capture without Futli, as first Lafkas may have left, is one of what it asked first."""
        info = self._info_of(record)
        if info is not None and info.id in self._nameless:
            self._nameless.remove(info.id)
            self.contents.infos[info.id] = replace(info, futli=record.url)

    def _revisited(self, record: StoredRecord) -> str:
        """The digest of what *record* is a revisit of, by its reference where that is a fut's."""
        stated = record.fields.first("WARC-Payload-Digest")
        if stated in self.contents.futs or not (target := record.fields.first("WARC-Refers-To")):
            return stated
        found = (d for d, held in self.contents.futs.items() if held.record_id == target)
        return next(found, stated)

    def _take_response(self, record: StoredRecord) -> None:
        block = answer_in(record)
        try:
            head = http.head(block)
        except BadHttp:
            return
        if head.status == 206 or not 200 <= head.status < 300:
            return
        if record.fields.first("WARC-Truncated"):
            return
        if record.fields.first(UNENDED):
            self.contents.payloads.setdefault(inspect(block).digest, HeldPayload.of(record))
            return
        stated = record.fields.first("WARC-Payload-Digest")
        trusted = stated.startswith("sha256:") and self._is_proved(record)
        prefix = block.read(head.end, SNIFF)
        start, size = max(0, pdf_start(prefix)), block.size - head.end
        framed = head.content_length in (None, size)  # else there is more than the entity
        if not head.literal and (converted := self._converted().get(record.id)):
            self._visit(record, converted)
            return
        if trusted and head.literal and framed and not start:
            kind = kind_of(prefix, head.fields.first("Content-Type"))
            digest = stated
        else:
            payload = inspect(block)
            if not payload.whole and payload.kind is Kind.PDF:
                return
            kind, start, size, digest = payload.kind, payload.start, payload.length, payload.digest
        if kind is Kind.PDF:
            self._visit(record, digest)
            place = head.end + start if head.literal else literal_place(block, payload)
            if place >= 0:
                self._place(digest, record, record.block_start + place, size)
            elif digest not in self.contents.futs:
                self.contents.unconverted[digest] = CodedFut(record=record, payload=payload)
        else:
            self.contents.payloads.setdefault(digest, HeldPayload.of(record))

    def _is_proved(self, record: StoredRecord) -> bool:
        """Return whether the payload digest was committed, here or in the store it comes from."""
        hashed = "sha256:" in record.fields.first("WARC-Block-Digest")
        return self.is_trusted(record) or (self.believes_payloads and hashed)

    def _converted(self) -> dict[str, str]:
        """Response id -> digest of its conversion, of those whose headers are believed.

        It saves decoding a fut at each visit to its paper.
        """
        if self._conversions is None:
            self._conversions = {}
            with suppress(BadWarc):  # read() will come to it
                for record in open_plain(self.path, self.fd):
                    if not self.is_trusted(record):
                        break
                    if record.type == "conversion":
                        digest = record.fields.first("WARC-Block-Digest")
                        self._conversions[record.fields.first("WARC-Refers-To")] = digest
        return self._conversions

    def _take_resource(self, record: StoredRecord) -> None:
        """A resource is its own payload: a memento, or what wget kept of an ftp futli."""
        block = record.block()
        start = pdf_start(block.read(0, SNIFF))
        if start < 0 or record.url.startswith("metadata:"):
            stated = record.fields.first("WARC-Payload-Digest")
            if stated.startswith("sha256:"):  # wget's own have another, or none
                self.contents.payloads.setdefault(stated, HeldPayload.of(record))
            return
        digest = sha256_of(block.chunks(start))
        self._visit(record, digest)
        self._place(digest, record, record.block_start + start, block.size - start)

    def _take_conversion(self, record: StoredRecord) -> None:
        digest = record.fields.first("WARC-Block-Digest")
        if pdf_start(record.block().read(0, SNIFF)) == 0:
            self.contents.unconverted.pop(digest, None)
            self._place(digest, record, record.block_start, record.block_length)

    def _info_of(self, record: StoredRecord) -> Info | None:
        info = self.contents.infos.get(record.fields.first("WARC-Warcinfo-ID"))
        return info or next(reversed(self.contents.infos.values()), None)

    def _visit(self, record: StoredRecord, digest: str) -> None:
        info = self._info_of(record)
        if info is not None:
            self.contents.visits.append(
                Visit(info=info, time=record.time, url=record.url, digest=digest)
            )

    def _describe(self, record: StoredRecord) -> None:
        """Take what a metadata record says of the last fut, which is of its capture."""
        visits = self.contents.visits
        if not visits or visits[-1].info.id != record.fields.first("WARC-Warcinfo-ID"):
            return
        info = visits[-1].info
        said = Fields.parse(record.block().read(0, CHUNK))
        visits[-1] = replace(visits[-1], info=replace(info, origin=info.origin.described(said)))

    def _place(self, digest: str, record: StoredRecord, start: int, length: int) -> None:
        self.contents.futs.setdefault(digest, HeldPayload.of(record, start, length))


def paper_ids(warc: Path) -> Iterator[str]:
    """The Paper-Ids in the WARC at *warc*, as they stand there, up to any trouble in it."""
    with suppress(BadWarc), open_plain(warc) as volume:  # what was read before trouble names it
        for record in volume.records(types=["warcinfo"]):
            yield from filter(None, [Info.of(record).pid_text])


def literal_place(block: Source, payload: Payload) -> int:
    """Return where in the response *block* its fut stands as it is, -1 where it does not.

    A server may name a content coding that it has not applied.
    """
    place = payload.body + payload.start
    if payload.literal:
        return place
    if payload.chunked or pdf_start(block.read(place, SNIFF)):
        return -1
    end = place + payload.length
    digest = sha256_of(
        block.read(start, min(CHUNK, end - start)) for start in range(place, end, CHUNK)
    )
    return place if payload.digest == digest else -1


def fut_in(record: StoredRecord, payload: Payload) -> Iterator[bytes]:
    """Decode the answer in *record*, and yield the pieces of the fut in it."""
    skip, left = payload.start, payload.length
    block = answer_in(record)
    for piece in http.entity(block, http.head(block)):
        part = piece[skip : skip + left]
        skip = max(0, skip - len(piece))
        left -= len(part)
        yield part


class _Ended(BaseSource):
    """A block and a CRLF behind it."""

    __slots__ = ("_block",)

    def __init__(self, block: Source) -> None:
        super().__init__(block.size + 2)
        self._block = block

    def read(self, start: int, length: int) -> bytes:
        behind = start - self._block.size
        data = self._block.read(start, length)
        return data + b"\r\n"[max(0, behind) : max(0, behind + length)]


def answer_in(record: StoredRecord) -> Source:
    """The block of a response, ended as HTTP wants it.

    wget 1.21 leaves out the blank line behind the last chunk (RFC 9112 section 7.1) when it writes
    a chunked body into its WARC.
    """
    block = record.block()
    if block.read(max(0, block.size - 4), 4) == b"\r\n\r\n":
        return block
    with suppress(BadHttp):
        if http.head(block).chunked:
            return _Ended(block)
    return block
