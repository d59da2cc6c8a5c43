"""ARC to WARC/1.1: every record, in a form that strict readers accept, and its header line.

- A ``filedesc:`` becomes a warcinfo, whose fields are the file's metadata, and a metadata record
  about it with its exact block. A file without one gets a warcinfo too.
- An HTTP answer becomes a response; what is none, DNS lookups among them, a resource.
- Each record has its header line in the field ``ARC-Header`` (:func:`archeaders.escaped`).
- A date that an ARC does not say and a WARC has to is taken from what lies near: the answer's own
  Date field, else the record before, else the first record that has any, else the file's time.
- Ids are made of the file's name, the record's place and its header line, so that a second
  conversion gives the same file.
- A record whose length is wrong, that the file ends in, or whose body is shorter than its
  Content-Length, is there as far as it goes, with ``WARC-Truncated: unspecified``.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import BadValue
from ..foreign import maff
from ..foreign.arc import HEADER_FIELD, ArcRecord, ArcVolume, date_of
from ..foreign.archeaders import escaped
from ..format.dates import SECONDS, WarcDate
from ..format.digests import Digest
from ..format.fields import Fields, one_line
from ..format.records import Record, RecordOptions
from ..problems import Problem
from ..writing.appending import Appender, new_file
from ..writing.encoding import Encoding, Gzip, Plain
from ..writing.names import is_gzip

OCTETS = "application/octet-stream"
_NAMESPACE = uuid.UUID("0d1ad4a6-1be0-5b7a-8d0f-6d7a2c1c9a55")
_METADATA_MAX = 1 << 20
_EXTENSION = re.compile(r"\.arc(?=$|\.gz$|\.open$)")
_MEDIA_TYPE = re.compile(
    r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:; ?[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|\"[\w .:/+-]*\"))*", re.ASCII
)
_URL_PARTS = re.compile(r"([^/?#]*:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
# What browsers escape in each part (WHATWG URL Standard, percent-encode sets), so what servers see.
_ESCAPES = (
    re.compile("[^!-~]"),
    re.compile(r"""[^!-~]|["<>\\^`{|}]"""),
    re.compile(r"""[^!-~]|["<>^`{}]"""),
    re.compile(r"""[^!-~]|["<>]"""),
    re.compile(r"""[^!-~]|["<>`]"""),
)
# What the metadata of ARC 1.1 says that a warcinfo says too (WARC/1.1 section 6.2), by its names.
_WARCINFO_NAMES = {
    "software": "arc-software", "hostname": "hostname", "ip": "ip", "operator": "operator",
    "description": "description", "isPartOf": "isPartOf", "robots": "robots",
    "http-header-user-agent": "http-header-user-agent", "http-header-from": "http-header-from",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionResult:
    """The account of a conversion: records of the old file by type.

    ``kept`` are in the new file ``path``, which is None where there was nothing to be kept;
    ``left_out`` are not. ``problems`` are those of the old file.
    """

    path: Path | None
    kept: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)


def arc2warc(
    path: Path | str,
    target: Path | str | None = None,
    *,
    software: str = "lafka.warc.arc2warc",
    gzip: bool | None = None,
) -> ConversionResult:
    """Convert the ARC file at *path* to a WARC at *target*, by default beside it; an account.

    Compressed by record where the name *target* ends with ``.gz``, or as *gzip* says.
    ``FileExistsError`` where *target* is there: nothing is overwritten. ``OSError``, and then there
    is no new file.
    """
    path = Path(path)
    renamed = _EXTENSION.sub(".warc", path.name)
    default = renamed if renamed != path.name else f"{path.name}.warc"
    out = Path(target) if target is not None else path.with_name(default)
    done = ConversionResult(path=out)
    encoding: Encoding = Gzip() if is_gzip(out, gzip) else Plain()
    file: Appender | None = None
    with ArcVolume(path, salvage=True) as volume, ExitStack() as stack:
        for old, group in _Conversion(volume, out.name, software).groups():
            file = file or stack.enter_context(new_file(out))
            try:
                with file.group():
                    encoding.write(file, group)
            except BadValue as error:
                done.problems.append(Problem.of("unconverted", path, old.offset, reason=str(error)))
                done.left_out[old.type] += 1
            else:
                done.kept[old.type] += 1
        done.problems[:0] = volume.problems
    return done if done.kept else replace(done, path=None)


class _Conversion:
    """One pass over an ARC file; knows the warcinfo and the date that records go with."""

    def __init__(self, volume: ArcVolume, name: str, software: str) -> None:
        self._volume = volume
        self._name = name
        self._software = software
        self._info = ""
        self._date: WarcDate | None = None

    def groups(self) -> Iterator[tuple[ArcRecord, list[Record]]]:
        """Each record of the file, and the records that it becomes."""
        for record in self._volume:
            assert isinstance(record, ArcRecord)
            self._date = date_of(record.arc) or self._http_date(record) or self._date
            if self._date is None:
                self._date = self._first_date()
            if record.arc.is_filedesc:
                yield record, [self._warcinfo(record), self._filedesc(record)]
            elif not self._info:
                yield record, [self._warcinfo(record), self._record(record)]
            else:
                yield record, [self._record(record)]

    def _http_date(self, record: ArcRecord) -> WarcDate | None:
        if not record.is_http or record.http is None:
            return None
        return WarcDate.of_message(record.http.fields.first("Date"))

    def _first_date(self) -> WarcDate:
        with ArcVolume(self._volume.path, salvage=True) as volume:
            for record in volume:
                assert isinstance(record, ArcRecord)
                date = date_of(record.arc) or self._http_date(record)
                if date:
                    return date
        time = self._volume.path.stat().st_mtime
        return WarcDate.of(datetime.fromtimestamp(time, UTC), SECONDS)

    def _warcinfo(self, record: ArcRecord) -> Record:
        body = Fields([("software", self._software), ("format", "WARC File Format 1.1")])
        body.add("source", one_line(self._volume.path.name))
        if record.arc.is_filedesc:
            for name, value in _metadata(record):
                body.add(name, one_line(value))
        self._info = record.id if record.arc.is_filedesc else _id(record, "warcinfo")
        assert self._date is not None
        return Record.warcinfo(body, filename=self._name, id=self._info, date=self._date)

    def _named(self, record: ArcRecord) -> RecordOptions:
        assert self._date is not None
        named = RecordOptions(
            date=self._date,
            warcinfo=self._info,
            ip_address=record.arc.address,
            more=[(HEADER_FIELD, escaped(record.arc.line))],
        )
        if record.torn or _surplus(record) < 0:
            named["truncated"] = "unspecified"
        return named

    def _filedesc(self, record: ArcRecord) -> Record:
        named = self._named(record)
        named["id"] = _id(record, "filedesc")
        return Record.metadata(
            record.block(),
            url=legal_url(record.url),
            of=self._info,
            content_type=_media_type(record, "text/plain"),
            **named,
        )

    def _record(self, record: ArcRecord) -> Record:
        named = self._named(record)
        named["id"] = record.id
        url = legal_url(record.url)
        if record.is_http and record.http is not None:
            if _surplus(record) > 0:  # readers differ on where such a payload ends
                named["algorithm"] = ""
                named["block_digest"] = Digest.of(record.block().chunks())
            return Record.response(url, record.block(), **named)
        return Record.resource(
            url, record.block(), content_type=_media_type(record, OCTETS), **named
        )


def _id(record: ArcRecord, what: str) -> str:
    return f"<urn:uuid:{uuid.uuid5(_NAMESPACE, f'{what} of {record.id}')}>"


def _surplus(record: ArcRecord) -> int:
    """Return how many bytes the body is longer than its Content-Length; 0 without one."""
    head = record.http if record.is_http else None
    stated = head.content_length if head else None
    return 0 if head is None or stated is None else record.block_length - head.end - stated


def _media_type(record: ArcRecord, default: str) -> str:
    kind = record.arc.media_type.strip()
    return kind if _MEDIA_TYPE.fullmatch(kind) else default


def legal_url(url: str) -> str:
    """*url* with what stands in no URL percent-encoded as UTF-8, as browsers do; nothing else."""
    found = _URL_PARTS.fullmatch(url)
    assert found is not None  # it takes anything
    parts = zip(_ESCAPES, found.groups(""), strict=True)
    return "".join(escape.sub(_escape, part) for escape, part in parts)


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def _metadata(record: ArcRecord) -> Iterator[tuple[str, str]]:
    """The metadata in the block of a filedesc of ARC 1.1, by the names of a warcinfo's fields."""
    block = record.block().read(0, _METADATA_MAX)
    begin = block.find(b"<?xml")
    if begin < 0:
        begin = block.find(b"<arcmetadata")
    try:
        leaves = maff.leaves(block[begin:].rstrip(b"\0 \r\n")) if begin >= 0 else iter(())
    except BadValue:
        return  # it is in the metadata record as it stands
    for leaf in leaves:
        value = " ".join(leaf.text.split())
        if leaf.name in _WARCINFO_NAMES and value:
            yield _WARCINFO_NAMES[leaf.name], value
