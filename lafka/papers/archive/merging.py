"""One archive out of several: the papers of a source are taken into a target.

A source is read without locks up to what its suwafs commit, and never written to, so its crawl may
be going on. What is taken is read back by its digests before it is committed. Records that are
there are passed over, so that a merge may be killed at any moment and given again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lafka.errors import BadSuwaf, BadWarc, LafkaError, NotHeld, StorageTrouble
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.contents import HeldPayload, PaperScanner
from lafka.papers.archive.paperwarc import OF_THE_VISIT, PaperWarc, working
from lafka.papers.archive.suwafs import Suwaf
from lafka.storage.keeper import Commit, all_done
from lafka.storage.keeping.contents import NO_CHAIN, RecordGroup, chained
from lafka.storage.locks import is_locked_at
from lafka.storage.steps import Steps
from lafka.warc.errors import WarcError
from lafka.warc.format import http
from lafka.warc.format.records import Record, named_urn
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.appending import Files

NEW, MORE, SAME, LEFT = "new", "more", "same", "left"
"""Results of a paper: it was not here; it brought captures; nothing; it is damaged and was left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPaper:
    """The result of one paper: NEW, MORE, SAME or LEFT, and why it was left."""

    pid: str
    result: str
    problem: str = ""


def merge_papers(source: Archive, target: Archive, warcs: Iterable[Path]) -> Iterator[MergedPaper]:
    """Take the papers of *source* whose paper WARCs are at *warcs* into *target*, side by side.

    A paper that is damaged in either of them is left as it is. ``StorageTrouble``.
    """
    works = [_commit(source, target, warc) for warc in warcs]
    all_done([work for work in works if isinstance(work, Commit)])
    for work in works:
        if isinstance(work, MergedPaper):
            yield work
        elif work.error:
            raise work.error
        else:
            assert work.result
            yield work.result


def _commit(source: Archive, target: Archive, warc: Path) -> Commit[MergedPaper] | MergedPaper:
    """Return what is to be done for the paper at *warc*, or what came of it without a commit."""
    found = _suwafs(source, target, warc)
    if isinstance(found, MergedPaper):
        return found
    theirs, ours = found
    if ours and _is_same(ours, theirs) and not {*ours.open} - {*theirs.open}:
        return MergedPaper(pid=str(theirs.pid), result=SAME)
    steps = partial(_merging, source, target, warc)
    return Commit(key=theirs.pid.path, make_steps=steps, argument=theirs)


def _merging(
    source: Archive, target: Archive, warc: Path, suwafs: Sequence[Suwaf]
) -> Steps[list[MergedPaper]]:
    [theirs] = suwafs
    name = str(theirs.pid)
    work = partial(_merged, theirs, source, warc)
    try:
        result = yield from working(target.paper_files(theirs.pid), work)
    except StorageTrouble:
        raise
    except (LafkaError, WarcError) as error:
        return [MergedPaper(pid=name, result=LEFT, problem=str(error))]
    return [MergedPaper(pid=name, result=result)]


def forecast_papers(
    source: Archive, target: Archive | None, warcs: Iterable[Path]
) -> Iterator[MergedPaper]:
    """Yield what :func:`merge_papers` would do, and change nothing; digests are not looked at.

    *target* None: there is no archive yet.
    """
    for warc in warcs:
        found = _suwafs(source, target, warc)
        if isinstance(found, MergedPaper):
            yield found
            continue
        theirs, ours = found
        try:
            if target is None or ours is None:
                result = NEW
            elif _is_same(ours, theirs):
                result = SAME
            else:
                held = {*_infos(target.warc_path(ours.pid), ours)}
                result = MORE if {*_infos(warc, theirs)} - held else SAME
            yield MergedPaper(pid=str(theirs.pid), result=result)
        except (LafkaError, WarcError) as error:
            yield MergedPaper(pid=str(theirs.pid), result=LEFT, problem=str(error))


def _infos(warc: Path, suwaf: Suwaf) -> Iterator[str]:
    with Files() as files:
        volume = files.volume(warc)
        yield from (record.id for record in _committed(volume, suwaf) if record.type == "warcinfo")


def _suwafs(
    source: Archive, target: Archive | None, warc: Path
) -> tuple[Suwaf, Suwaf | None] | MergedPaper:
    """The suwafs of a paper in *source* and, where it is there, in *target*; or why it is left."""
    pid = None
    try:
        pid = source.pid_at(warc)
        path = source.suwaf_path(pid)
        theirs = Suwaf.load(path, pid)
        if theirs is None and is_locked_at(warc):
            return MergedPaper(pid=str(pid), result=SAME)  # its first commit goes on just now
        theirs = theirs or Suwaf.load(path, pid)  # by now it may have ended
        if theirs is None:
            raise NotHeld(f"{source.warc_path(pid)}: it has no suwaf; recover or rebuild it there")
        return theirs, Suwaf.load(target.suwaf_path(pid), pid) if target else None
    except (LafkaError, WarcError) as error:
        name = pid or warc.relative_to(source.root / "warc").as_posix()
        return MergedPaper(pid=str(name), result=LEFT, problem=str(error))


def _is_same(ours: Suwaf, theirs: Suwaf) -> bool:
    return bool(ours.chain) and (ours.end, ours.chain) == (theirs.end, theirs.chain)


def _merged(theirs: Suwaf, source: Archive, warc: Path, paper: PaperWarc) -> Steps[str]:
    """Take what the *source* committed of a paper, by its suwaf *theirs*, into *paper*."""
    with Files() as files:
        volume = files.volume(warc)
        theirs.check_length(volume.path, volume.size)
        _drop_own_tail(paper, volume.fd)
        yield from paper.recovering()
        yield from paper.reading_contents()
        before = paper.suwaf.copy()
        is_new = not before.end
        group = RecordGroup(paper.contents, files)
        # Of a paper that is new every byte is taken, and its headers are read with what was taken.
        records = [] if is_new else [*_committed(volume, theirs)]
        is_longer = is_new or _goes_on(paper, theirs, records, volume.path)
        if is_new:
            group.copy_to(theirs.end, volume.path)
        elif is_longer:
            for record in records:
                if record.offset >= paper.contents.end:
                    group.copy(record)
        else:
            CaptureMerge(paper, group, records).plan()
        if group.pieces:
            yield from paper.copying(group, believed=bool(theirs.chain))
            if is_new and theirs.chain not in ("", paper.contents.chain_text):
                paper.cut_off(0)
                raise BadWarc(volume.path, "its record headers are not as they were")
            if is_longer and paper.suwaf.futlis != theirs.futlis:
                paper.cut_off(before.end)
                raise BadSuwaf(source.suwaf_path(theirs.pid), "not what its WARC says")
        paper.suwaf.open = _open(before, theirs, is_longer=is_longer and bool(group.pieces))
        if group.pieces or paper.suwaf.open != before.open:
            yield from paper.committing()
    return (NEW if is_new else MORE) if group.pieces else SAME


def _drop_own_tail(paper: PaperWarc, fd: int) -> None:
    """Cut off what a killed merge has left behind the end: bytes that the source has there too."""
    paper.load_summary()
    place = end = paper.committed_end
    while piece := os.pread(paper.lock.fd, 1 << 20, place):
        if piece != os.pread(fd, len(piece), place):
            return
        place += len(piece)
    if place > end:
        paper.cut_off(end)


def _committed(volume: Iterable[StoredRecord], suwaf: Suwaf) -> Iterator[StoredRecord]:
    """The records up to the end that *suwaf* knows."""
    if not suwaf.end:
        return
    for record in volume:
        yield record
        if record.end >= suwaf.end:  # what a writer appends behind it just now is not looked at
            return


def _goes_on(paper: PaperWarc, theirs: Suwaf, records: Sequence[StoredRecord], warc: Path) -> bool:
    """Return whether the source's WARC begins as the paper's does, from byte to byte.

    ``BadWarc`` where its headers are not those that its suwaf *theirs* was made of.
    """
    known, chain = paper.contents, NO_CHAIN
    is_longer = False
    for record in records:
        is_longer = is_longer or (record.offset, chain) == (known.end, known.chain)
        chain = chained(chain, record.header)
    if theirs.chain and theirs.chain != "sha256:" + chain.hex():
        raise BadWarc(warc, "its record headers are not as they were")
    return is_longer


def _open(ours: Suwaf, theirs: Suwaf, *, is_longer: bool) -> tuple[str, ...]:
    """Return the futlis that stay to be asked again: of one paper, as two archives have it.

    A futli is closed by a later fut of it in the other archive. Of one and the same WARC it is
    closed where either of them says so.
    """
    if is_longer:
        return theirs.open
    if _is_same(ours, theirs):
        return tuple(futli for futli in ours.open if futli in theirs.open)
    both = dict.fromkeys((*ours.open, *theirs.open))
    return tuple(
        futli
        for futli in both
        if not (futli not in ours.open and _is_later(ours, theirs, futli))
        and not (futli not in theirs.open and _is_later(theirs, ours, futli))
    )


def _is_later(one: Suwaf, other: Suwaf, futli: str) -> bool:
    last = [max((key[:-1] for key in of.futlis.get(futli, {})), default="") for of in (one, other)]
    return last[0] > last[1]


class CaptureMerge:
    """The plan of what a paper lacks of the committed *records* of another archive's WARC.

    What a crawl would do with these captures is done: a payload that is held becomes a revisit, by
    the id that is derived from its response; a revisit names the record that holds its payload
    here.
    """

    def __init__(
        self, paper: PaperWarc, group: RecordGroup, records: Sequence[StoredRecord]
    ) -> None:
        self._group = group
        self._records = records
        contents = paper.contents
        self._held = {
            digest: held.original
            for payloads in (contents.payloads, contents.futs)
            for digest, held in payloads.items()
        }
        self._digests = _digests_of(records)

    def plan(self) -> None:
        """Plan every record that the paper lacks; ``BadWarc`` for a payload that is nowhere."""
        for record in self._records:
            if self._group.holds(record.id):
                continue
            if record.type in ("response", "resource"):
                self._add_answer(record)
            elif record.type == "revisit":
                self._add_revisit(record)
            elif record.type == "conversion":
                self._add_conversion(record)
            elif record.type == "metadata":
                self._add_metadata(record)
            else:
                self._group.copy(record)

    def _add_answer(self, record: StoredRecord) -> None:
        if self._group.holds_answer(record):
            return
        digest = self._digests.get(record.id)
        original = self._held.get(digest or "")
        if digest is None or original is None:
            self._group.copy(record)
            if digest:
                self._held[digest] = HeldPayload.of(record).original
            return
        head = http.head(record.block()).end if record.type == "response" else 0
        self._group.add_revisit(
            record, original, digest=digest, head_length=head, visit_fields=OF_THE_VISIT
        )

    def _add_conversion(self, record: StoredRecord) -> None:
        """Plan a conversion of a response that is held; else its payload is held already."""
        if self._group.holds(record.fields.first("WARC-Refers-To")):
            self._group.copy(record)
            digest = record.fields.first("WARC-Block-Digest")
            self._held[digest] = HeldPayload.of(record).original

    def _add_revisit(self, record: StoredRecord) -> None:
        original = self._held.get(record.fields.first("WARC-Payload-Digest"))
        if original is None:
            raise BadWarc(record.path, "a revisit of a payload that no record holds", record.offset)
        self._refer(record, {
            "WARC-Refers-To": original.record_id,
            "WARC-Refers-To-Target-URI": original.url,
            "WARC-Refers-To-Date": original.date,
        })  # fmt: skip

    def _add_metadata(self, record: StoredRecord) -> None:
        answer = record.fields.first("WARC-Refers-To")
        if not self._group.holds(answer):
            answer = named_urn(f"{answer} revisit")
        self._refer(record, {"WARC-Refers-To": answer})

    def _refer(self, record: StoredRecord, names: dict[str, str]) -> None:
        """Plan *record* as it stands where it refers to these, else with its fields changed."""
        if all(record.fields.first(name) == value for name, value in names.items()):
            self._group.copy(record)
            return
        fields = record.fields.copy()
        for name, value in names.items():
            fields.set(name, value)
        block = record.block()
        self._group.add(Record(fields=fields, block=block.read(0, block.size)))


def _digests_of(records: Sequence[StoredRecord]) -> dict[str, str]:
    """Record id -> digest of the payload that it brought into the WARC."""
    if not records:
        return {}
    with Files() as files:
        volume = files.volume(records[0].path)
        scanner = PaperScanner(volume.fd, volume.path, trusted_to=records[-1].end)
        for record in records:
            scanner.take(record)
    contents = scanner.contents
    found = {held.record_id: digest for digest, held in contents.payloads.items()}
    found |= {held.record_id: digest for digest, held in contents.futs.items()}
    for record in records:
        if record.type == "conversion":
            found[record.fields.first("WARC-Refers-To")] = record.fields.first("WARC-Block-Digest")
    return found
