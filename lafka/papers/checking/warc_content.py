"""The content of a paper WARC, and its faults by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from lafka.errors import BadPid
from lafka.pids import Scheme
from lafka.witness.blocks import HttpEntity, LiteralPdf
from lafka.witness.digests import canonical_digest, difference, payload_digest, range_digest
from lafka.witness.headers import ALGORITHMS
from lafka.witness.problems import FileProblem, drained, problem
from lafka.witness.reader import StrictReader, StrictRecord

_PDF = "application/pdf"
_HOLDERS = frozenset(("response", "resource", "conversion"))
_VISITS = frozenset(("response", "resource", "revisit", "conversion"))
_CAPTURED = frozenset(("request", "response", "resource", "revisit", "conversion"))


class DatedFut(NamedTuple):
    """A fut of a futli at a time, as the WARC tells it; ``offset`` is that of its record."""

    offset: int
    futli: str
    date: str
    url: str
    pdf: LiteralPdf
    info: Mapping[str, str]


class EarlierRecord(NamedTuple):
    """The facts of a record to which later ones may refer; its block is ``file[block:end]``."""

    offset: int
    block: int
    end: int
    type: str
    url: str
    date: str
    address: str
    digest: str | None
    pdf: LiteralPdf | None
    entity: HttpEntity | None


@dataclass(slots=True, kw_only=True)
class WarcContent:
    """The content of the WARC of the paper *name*, once :meth:`read` has gone through it.

    ``boundaries`` are the offsets at which a record ends, ``chain`` the digest of the headers at
    the end that the suwaf knows.
    """

    warc: Path
    name: str
    scheme: Scheme
    visits: list[DatedFut] = field(default_factory=list)
    futlis: set[str] = field(default_factory=set)
    boundaries: set[int] = field(default_factory=lambda: {0})
    chain: str = ""
    _seen: dict[str, EarlierRecord] = field(default_factory=dict)
    _infos: dict[str, dict[str, str]] = field(default_factory=dict)
    _concurrent: list[tuple[str, str]] = field(default_factory=list)
    _stored: dict[str, int] = field(default_factory=dict)
    _answers: dict[str, tuple[str, StrictRecord]] = field(default_factory=dict)
    _paper_ids: set[str] = field(default_factory=set)

    def read(
        self, end: int | None, progress: Callable[[int], None], pool: Executor | None
    ) -> Iterator[FileProblem]:
        """Yield what is wrong with the WARC; *end* is where the suwaf says that it ends."""
        reader = StrictReader(self.warc, progress=progress, pool=pool)
        for record in reader:
            if reader.problems:
                yield from drained(reader.problems)
            yield from self._note(record, end)
        yield from drained(reader.problems)
        for one, other in self._concurrent:
            yield from self._check_pair(one, other)
        for digest, record in self._answers.values():
            yield from self._check_once(record, digest)

    def _note(self, record: StrictRecord, end: int | None) -> Iterator[FileProblem]:
        self.boundaries.add(record.end)
        if record.end == end:
            self.chain = f"sha256:{record.chain.hex()}"
        if record.id in self._seen:
            yield self._wrong(record, "repeated-id", f"{record.id} was there before")
        yield from self._check_references(record)
        if record.type == "warcinfo":
            self._infos[record.id] = _info(record.info)
            yield from self._check_info(record)
        elif record.type in _CAPTURED:
            self._name(record)
        elif record.type == "metadata":
            self._describe(record)
        if record.type in _VISITS:
            yield from self._note_visit(record)
        self._seen[record.id] = self._summed_up(record)
        self._concurrent.extend((record.id, other) for other in record.concurrent_to)

    def _note_visit(self, record: StrictRecord) -> Iterator[FileProblem]:
        if record.type in _HOLDERS:
            yield from self._check_payload(record)
        yield from self._check_twice(record)
        visit = self._visit(record)
        if visit is not None:
            self.visits.append(visit)

    def _info_of(self, record: StrictRecord) -> dict[str, str] | None:
        """Return what the warcinfo of *record* says: that it names, else the last before it."""
        info = self._infos.get(record.fields.get("warc-warcinfo-id", ""))
        return info if info is not None else next(reversed(self._infos.values()), None)

    def _name(self, record: StrictRecord) -> None:
        """A capture without Futli is one of the URL that it asked first."""
        info = self._info_of(record)
        if info is not None and not info.get("futli"):
            info["futli"] = record.url
            self.futlis.add(record.url)

    def _describe(self, record: StrictRecord) -> None:
        """Take the metadata on a capture's fut before its warcinfo."""
        info = self._infos.get(record.fields.get("warc-warcinfo-id", ""))
        said = _info(record.info)
        if info is not None and said.get("inside"):
            label = said.get("label", "")
            info |= {"inside": said["inside"], "label": "" if label == "fut" else label}

    def _check_references(self, record: StrictRecord) -> Iterator[FileProblem]:
        info = record.fields.get("warc-warcinfo-id")
        if info is not None and info not in self._infos:
            yield self._wrong(record, "dangling-reference", f"no warcinfo {info} before it")
        if info is None and record.type in _CAPTURED:
            yield self._wrong(record, "dangling-reference", "no warc-warcinfo-id")
        target = record.fields.get("warc-refers-to")
        if target is None or record.type not in ("revisit", "conversion", "metadata"):
            return
        seen = self._seen.get(target)
        if seen is None or (seen.type not in _HOLDERS and record.type != "metadata"):
            yield self._wrong(record, "dangling-reference", f"no payload {target} before it")
        elif record.type == "revisit":
            yield from self._check_revisit(record, seen)
        elif record.url != seen.url:  # of metadata, too
            yield self._wrong(record, "pair-differs", "another target URI than what it is of")
        elif record.type == "conversion":
            yield from self._check_conversion(record, seen)

    def _check_conversion(self, record: StrictRecord, seen: EarlierRecord) -> Iterator[FileProblem]:
        """A conversion is its answer with every coding undone (WARC/1.1 section 6.8)."""
        if seen.entity is None or seen.type != "response":
            return
        with self.warc.open("rb", buffering=0) as file:
            sentence = difference(file.fileno(), seen.entity, record.block, record.length)
        if sentence:
            yield self._wrong(record, "conversion-differs", sentence)

    def _check_revisit(self, record: StrictRecord, seen: EarlierRecord) -> Iterator[FileProblem]:
        fields = record.fields
        digest = canonical_digest(fields.get("warc-payload-digest", ""))
        if digest is not None and not self._has_digest(seen, digest):
            sentence = "another payload digest than what it is of"
            yield self._wrong(record, "revisit-differs", sentence)
        if fields.get("warc-refers-to-target-uri", seen.url) != seen.url:
            yield self._wrong(record, "revisit-differs", "another target URI than what it is of")
        if fields.get("warc-refers-to-date", seen.date)[:19] != seen.date[:19]:
            yield self._wrong(record, "revisit-differs", "another date than what it is of")
        kind = fields.get("warc-identified-payload-type", _PDF)
        if seen.pdf is not None and kind != _PDF:
            yield self._wrong(record, "payload-type", f"{kind[:60]!r} for a PDF")

    def _has_digest(self, seen: EarlierRecord, digest: str) -> bool:
        """Return whether *digest* is that of the payload of *seen*, by its bytes where need be."""
        held = {seen.digest, seen.pdf.digest if seen.pdf else None} - {None}
        algorithm = digest.partition(":")[0]
        if digest in held or not held or algorithm not in ALGORITHMS:
            return True
        if seen.digest is not None and seen.digest.startswith(f"{algorithm}:"):
            return False
        with self.warc.open("rb", buffering=0) as file:
            begin = seen.entity.offset if seen.entity is not None else seen.block
            ends = {seen.end, seen.entity.end if seen.entity is not None else seen.end}
            if any(digest == range_digest(file.fileno(), (algorithm, begin, end)) for end in ends):
                return True
            if seen.entity is None or not seen.entity.chunked:
                return False
            # Where the chunks cannot be undone nothing speaks against it.
            return payload_digest(file.fileno(), seen.entity, algorithm) in (digest, "")

    def _check_info(self, record: StrictRecord) -> Iterator[FileProblem]:
        info = self._infos[record.id]
        missing = [name for name in ("paper-id", "futli") if not info.get(name)]
        if missing:
            nameless = self._wrong(record, "bad-warcinfo", f"no {' and no '.join(missing)}")
            yield _milder_of_first_lafkas(record, nameless)
        if futli := info.get("futli"):
            self.futlis.add(futli)
        if paper_id := info.get("paper-id"):
            yield from self._check_paper_id(record, paper_id)

    def _check_paper_id(self, record: StrictRecord, paper_id: str) -> Iterator[FileProblem]:
        if paper_id in self._paper_ids:
            return
        try:
            pid = self.scheme.pid(paper_id)
        except BadPid as error:
            yield self._wrong(record, "wrong-pid", str(error))
            return
        if pid.path == self.name:
            self._paper_ids.add(paper_id)
        else:
            yield self._wrong(record, "wrong-pid", f"a capture of {pid}")

    def _check_payload(self, record: StrictRecord) -> Iterator[FileProblem]:
        kind = record.fields.get("warc-identified-payload-type")
        coded = record.entity is not None and record.entity.coded
        if record.pdf is not None and kind not in (None, _PDF):
            yield self._wrong(record, "payload-type", f"{kind[:60]!r} for a PDF")
        if record.pdf is None and kind == _PDF and not coded:
            yield self._wrong(record, "payload-type", "no PDF, but identified as one")
        if record.type == "conversion" and (
            record.pdf is None
            or record.pdf.offset != record.block
            or record.fields.get("content-type") != _PDF
        ):
            yield self._wrong(record, "payload-type", "a conversion that is no PDF")

    def _check_twice(self, record: StrictRecord) -> Iterator[FileProblem]:
        """A fut is stored once; of other payloads the last answer of a capture is.

        What leads on, a redirect or a page with a refresh, is stored at each visit.
        """
        info = record.fields.get("warc-warcinfo-id", "")
        if record.type != "resource":  # wget keeps its log as one
            self._answers.pop(info, None)
        digest = _digest_stored(record)
        if digest is None:
            return
        if record.pdf is not None:
            yield from self._check_once(record, digest)
        else:
            self._answers[info] = digest, record

    def _check_once(self, record: StrictRecord, digest: str) -> Iterator[FileProblem]:
        first = self._stored.setdefault(digest, record.offset)
        if first != record.offset:
            twice = self._wrong(record, "stored-twice", f"the payload of the record at {first}")
            yield _milder_of_first_lafkas(record, twice)

    def _check_pair(self, one: str, other: str) -> Iterator[FileProblem]:
        first, second = self._seen[one], self._seen.get(other)
        if second is None:
            sentence = f"no record {other}"
            yield problem(self.warc, "dangling-reference", sentence, first.offset)
            return
        if {first.type, second.type} - {"revisit", "response"} != {"request"}:
            return
        if first.url != second.url or first.address != second.address:
            sentence = "request and answer differ in target URI or IP address"
            yield problem(self.warc, "pair-differs", sentence, first.offset)

    def _summed_up(self, record: StrictRecord) -> EarlierRecord:
        # A conversion is made later than what it is of; its date is that of the visit.
        source = self._seen.get(record.fields.get("warc-refers-to", ""))
        date = source.date if record.type == "conversion" and source is not None else record.date
        return EarlierRecord(
            offset=record.offset,
            block=record.block,
            end=record.block + record.length,
            type=record.type,
            url=record.url,
            date=date,
            address=record.fields.get("warc-ip-address", ""),
            digest=canonical_digest(record.fields.get("warc-payload-digest", "")),
            pdf=record.pdf,
            entity=record.entity,
        )

    def _visit(self, record: StrictRecord) -> DatedFut | None:
        """The fut that *record* is a visit of, None where it is none or nobody asked for it."""
        target = self._seen.get(record.fields.get("warc-refers-to", ""))
        fut = record.pdf
        if record.type == "revisit":
            fut = target.pdf if target is not None else self._by_digest(record)
        info = self._info_of(record)
        if fut is None or info is None:
            return None
        date = target.date if record.type == "conversion" and target is not None else record.date
        return DatedFut(record.offset, info["futli"], date, record.url, fut, info)

    def _by_digest(self, record: StrictRecord) -> LiteralPdf | None:
        digest = canonical_digest(record.fields.get("warc-payload-digest", ""))
        found = (seen.pdf for seen in self._seen.values() if seen.pdf and seen.digest == digest)
        return next(found, None) if digest else None

    def _wrong(self, record: StrictRecord, code: str, sentence: str) -> FileProblem:
        return problem(self.warc, code, sentence, record.offset)


def _milder_of_first_lafkas(record: StrictRecord, found: FileProblem) -> FileProblem:
    """They stored a fut at every visit, and need not have noted the futli: only a warning there."""
    return replace(found, severity="warning") if record.version == "WARC/1.0" else found


def _info(block: bytes) -> dict[str, str]:
    """The lines of a warcinfo, names in lower case, the first of each."""
    values: dict[str, str] = {}
    for line in block.decode("utf-8", "replace").split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            values.setdefault(name.strip().lower(), value.strip(" \t\r"))
    return values


def _digest_stored(record: StrictRecord) -> str | None:
    """The digest by which *record* must not be stored again, None where that is allowed.

    Redirects and empty answers are stored at each visit.
    """
    if record.type == "revisit" or "warc-truncated" in record.fields:
        return None
    if record.type == "resource" and record.pdf is None:
        return None
    if record.pdf is not None:
        return record.pdf.digest if record.pdf.whole else None
    entity = record.entity
    if entity is None or entity.chunked or entity.offset == entity.end:
        return None
    if entity.status is None or not 200 <= entity.status < 300:
        return None
    return canonical_digest(record.fields.get("warc-payload-digest", ""))
