"""Recovery: what a killed run captured of filesets and did not store.

The raw log of a run is its write-ahead log. A page goes into the WARC of the fileset that its
warcinfo names or a note binds it to, else into that of its own URL. A file that was not committed
is left out: nobody has verified it, and the next run asks for it again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlsplit

from lafka.capture.leftovers import Leftover, leftovers, strangers
from lafka.capture.logged import LoggedExchange, Span
from lafka.errors import BadHttp, BadPid, BadWarc, KeeperError, StorageTrouble, TornWarc
from lafka.filesets.archive.contents import opened
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.groups import Group
from lafka.filesets.archive.notes import FILESET_ID, ROLE, Role
from lafka.payloads import Payload, decoded_max, inspect
from lafka.warc.format import dates
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import sha256_of
from lafka.warc.reading.framing import begins_record
from lafka.warc.reading.stored import StoredRecord

logger = logging.getLogger(__name__)

BOUND = "bound"
"""Key of a raw log's note: the fileset that an owner's captures belong to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What one recovered run gave: captures stored, problems."""

    run: str
    captures: int
    problems: tuple[str, ...]


def recover(
    filesets: Filesets, *, keep: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Iterator[Recovery]:
    """Store what dead runs have captured and not stored; one run at a time, as it is asked for.

    A run that could be stored whole loses its folder (with *keep* it stays, marked as stored). What
    Lafka did not write stays, and is a problem. Doing it twice adds nothing. ``StorageTrouble``.
    """
    raw = filesets.folder / "raw"
    for left in leftovers(raw, stopped=stopped):
        try:
            found = _recovered(filesets, left)
            if not found.problems:
                left.done(keep=keep)
        except OSError as error:
            raise StorageTrouble(left.folder, error) from error
        yield replace(found, problems=(*found.problems, left.told)) if left.told else found
    if sentence := strangers(raw):
        yield Recovery(run="", captures=0, problems=(sentence,))


@dataclass(slots=True)
class _Capture:
    """The records that one warcinfo binds."""

    span: Span
    body: Fields
    requests: dict[str, Span] = field(default_factory=dict)
    exchanges: list[LoggedExchange] = field(default_factory=list)

    @property
    def home(self) -> str:
        """The id of the fileset in whose WARC it belongs."""
        if named := self.body.first(FILESET_ID):
            return named
        url = self.exchanges[-1].url
        host = urlsplit(url).hostname or "unknown"
        return f"fileset:web:{host}:{quote(url, safe=_PLAIN)}"


_PLAIN = "".join(map(chr, range(0x21, 0x7F)))


def _recovered(filesets: Filesets, left: Leftover) -> Recovery:
    problems: list[str] = []
    captures: dict[str, _Capture] = {}
    bound: dict[str, str] = {}
    with ExitStack() as files:
        for name in left.warcs:
            fd = files.enter_context(left.reading(name))
            try:
                for record in opened(left.folder / name, fd):
                    _take(record, captures, bound)
            except TornWarc as error:
                logger.info("%s", error)  # what a kill leaves
            except BadWarc as error:
                if begins_record(fd, error.offset or 0):
                    problems.append(str(error))
        stored = 0
        for warcinfo_id, capture in captures.items():
            if not capture.exchanges or _is_file(capture):
                continue
            try:
                stored += _stored(filesets, capture, bound.get(warcinfo_id) or capture.home)
            except (KeeperError, BadPid) as error:
                problems.append(str(error))
    return Recovery(run=left.name, captures=stored, problems=tuple(problems))


def _is_file(capture: _Capture) -> bool:
    """Whether it is of a file, which nobody has verified: the next run asks for it again."""
    return capture.body.first(ROLE) in (Role.FILE, Role.BUNDLE)


def _stored(filesets: Filesets, capture: _Capture, home: str) -> bool:
    """Whether *capture* was stored just now; False where it was held."""
    warc = filesets.locked(home)
    if warc is None:
        raise BadWarc(
            filesets.warc_path(filesets.pid(home)), "another process has it; recover again"
        )
    try:
        before = warc.contents.end

        def planned(group: Group) -> None:
            group.page(tuple(capture.exchanges))

        warc.append(planned)
        return warc.contents.end > before
    finally:
        warc.close()


def _take(record: StoredRecord, captures: dict[str, _Capture], bound: dict[str, str]) -> None:
    if not _is_whole(record):
        raise BadWarc(record.path, "not the record that was written here", record.offset)
    block = record.block()
    span = Span(path=str(record.path), offset=record.offset, length=record.length)
    capture = captures.get(record.fields.first("WARC-Warcinfo-ID"))
    if record.type == "warcinfo":
        body = Fields.parse(block.read(0, block.size))
        if body.first(ROLE):
            captures[record.id] = _Capture(span, body)
    elif record.type == "metadata":
        with suppress(ValueError, TypeError, AttributeError):
            values = json.loads(block.read(0, block.size))
            bound.update(dict.fromkeys(values.get("captures", ()), values.get(BOUND, "")))
    elif capture and record.type == "request":
        capture.requests[record.id] = span
    elif capture and record.type == "response":
        _answered(capture, record, span)


def _answered(capture: _Capture, record: StoredRecord, span: Span) -> None:
    """Take in an answer: of several of one URL, retries, only the last counts."""
    exchanges = capture.exchanges
    payload: Payload | None = None
    with suppress(BadHttp):
        block = record.block()
        payload = inspect(block, max_entity=decoded_max(block.size))
    before = exchanges[-1] if exchanges else None
    redirects = before is not None and before.payload and 300 <= before.payload.status < 400
    if before is not None and before.url == record.url and not redirects:
        exchanges.pop()
    exchanges.append(
        LoggedExchange(
            url=record.url,
            time=dates.parse(record.fields.first("WARC-Date")),
            request=capture.requests.get(record.fields.first("WARC-Concurrent-To")),
            response=span,
            warcinfo=capture.span,
            warcinfo_id="",
            payload=payload,
            truncated=record.fields.first("WARC-Truncated"),
        )
    )


def _is_whole(record: StoredRecord) -> bool:
    stated = record.fields.first("WARC-Block-Digest")
    return b"\0" not in record.header and stated == sha256_of(record.block().chunks())
