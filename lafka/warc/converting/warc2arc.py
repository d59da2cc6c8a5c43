"""WARC to ARC 1.1: what an ARC can hold; the rest is counted by type, never dropped in silence.

An ARC holds a filedesc, and answers and resources each under a line of URL, address, date, media
type and length. So a response or a resource becomes a record with the same block, the first
warcinfo the metadata of the filedesc. Requests, metadata, revisits, conversions, continuations,
first segments, further warcinfos, and records without a URL or a date are left out; so are all
other fields of those that are kept.

A record that :mod:`arc2warc` made becomes what it was made of: header lines as they stand in
``ARC-Header``, where they are legal, and the filedesc's own block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import escape

from ..errors import BadValue
from ..foreign import archeaders, open_volume
from ..foreign.arc import HEADER_FIELD, date_of
from ..foreign.archeaders import NAMES_LINE, ONE
from ..format.dates import WarcDate
from ..format.fields import Fields, one_line
from ..format.sources import MemorySource, Source
from ..reading.stored import StoredRecord
from ..writing.appending import Appender, new_file
from ..writing.encoding import gzip_member
from ..writing.names import is_gzip
from .arc2warc import ConversionResult, legal_url

NO_ADDRESS = "0.0.0.0"  # noqa: S104  what an ARC says for none
NO_TYPE = "no-type"
_INFO_MAX = 1 << 20
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)
_EXTENSION = re.compile(r"\.warc(?=$|\.gz$|\.bz2$|\.zst$|\.open$)")
_NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:arc="http://archive.org/arc/1.0/" xmlns="http://archive.org/arc/1.0/"'
)
# Elements of the metadata of ARC 1.1 by names of a warcinfo; all else is a description.
_ELEMENTS = {
    "arc-software": "arc:software", "software": "arc:software", "hostname": "arc:hostname",
    "ip": "arc:ip", "operator": "arc:operator", "robots": "arc:robots",
    "http-header-user-agent": "arc:http-header-user-agent",
    "http-header-from": "arc:http-header-from", "ispartof": "dcterms:isPartOf",
    "description": "dc:description",
}  # fmt: skip


def warc2arc(
    path: Path | str, target: Path | str | None = None, *, gzip: bool | None = None
) -> ConversionResult:
    """Convert the WARC (or WACZ) at *path* to an ARC at *target*, by default beside it; an account.

    Compressed by record where the name *target* ends with ``.gz``, or as *gzip* says.
    ``FileExistsError`` where *target* is there: nothing is overwritten. ``OSError``, and then there
    is no new file.
    """
    path = Path(path)
    out = Path(target) if target is not None else path.with_name(_arc_name(path.name))
    done, packed = ConversionResult(path=out), is_gzip(out, gzip)
    with open_volume(path) as volume:
        first = list(islice(volume, 4))
        info = next((record for record in first if record.type == "warcinfo"), None)
        about = next(
            (
                record
                for record in first
                if record.url.startswith("filedesc:") and record.type == "metadata"
            ),
            None,
        )
        with new_file(out) as file:
            _write(file, _filedesc(out.name, info, about, first), gzip=packed)
            for record in volume:
                line = _line(record)
                if line:
                    _write(file, _pieces(line, record.block()), gzip=packed)
                held = line or record in (info, about)
                (done.kept if held else done.left_out)[record.type or "none"] += 1
        done.problems.extend(volume.problems)
    return done


def _arc_name(name: str) -> str:
    name = re.sub(r"\.(bz2|zst)$", ".gz", name)
    return _EXTENSION.sub(".arc", name) if _EXTENSION.search(name) else name + ".arc"


def _write(out: Appender, pieces: Iterable[bytes], *, gzip: bool) -> None:
    with out.group():
        out.write(gzip_member(pieces) if gzip else pieces)


def _pieces(line: bytes, block: Source) -> Iterator[bytes]:
    yield line + b"\n"
    yield from block.chunks()
    yield b"\n"


# ---- Header lines


def _line(record: StoredRecord) -> bytes:
    """The header line of *record* in an ARC; empty where it cannot hold it."""
    if record.type not in ("response", "resource") or "WARC-Segment-Number" in record.fields:
        return b""
    date = _date(record)
    url = legal_url(record.url)
    if date is None or not url or ":" not in url:
        return b""
    return _old_line(record) or _new_line(record, url, date)


def _date(record: StoredRecord) -> WarcDate | None:
    try:
        return WarcDate.parse(record.fields.first("WARC-Date"))
    except BadValue:
        return None


def _new_line(record: StoredRecord, url: str, date: WarcDate) -> bytes:
    try:
        address = str(ip_address(record.fields.first("WARC-IP-Address")))
    except ValueError:
        address = NO_ADDRESS
    values = (url, address, date.digits14, _media_type(record), str(record.block_length))
    return " ".join(values).encode()


def _old_line(record: StoredRecord) -> bytes:
    """The line that the record had in an ARC, where it is legal and still true."""
    line = archeaders.unescaped(record.fields.first(HEADER_FIELD))
    try:
        header = archeaders.parse(line)
    except BadValue:
        return b""
    same = header.length == record.block_length and legal_url(header.url) == header.url
    media_type = header.media_type in ("", NO_TYPE) or _MEDIA_TYPE.fullmatch(header.media_type)
    legal = line.isascii() and line.count(b" ") == 4 and header.is_sure and len(header.date) == 14
    legal = legal and date_of(header) is not None
    return line if same and media_type and legal and header.url == record.url else b""


def _media_type(record: StoredRecord) -> str:
    head = record.http
    kind = head.fields.first("Content-Type") if head else record.content_type
    kind = kind.partition(";")[0].strip()
    http = kind.lower() == "application/http"
    return kind if _MEDIA_TYPE.fullmatch(kind) and not http else NO_TYPE


# ---- The filedesc


def _filedesc(
    name: str,
    info: StoredRecord | None,
    about: StoredRecord | None,
    first: list[StoredRecord],
) -> Iterator[bytes]:
    block: Source | None = about.block() if about else None
    if block is None or archeaders.names_in(block.read(0, 4096)) != ONE:
        block, about = MemorySource(_metadata(info)), None
    dates = [date.digits14 for record in first if (date := _date(record))]
    url = legal_url(f"filedesc://{name}")
    line = f"{url} {NO_ADDRESS} {dates[0] if dates else '00000000000000'} text/plain {block.size}"
    old = _old_line(about) if about else b""
    return _pieces(old if old else line.encode(), block)


def _metadata(info: StoredRecord | None) -> bytes:
    """The block of a filedesc of ARC 1.1: version, names of the fields, metadata in XML."""
    block = info.block().read(0, _INFO_MAX) if info else b""
    lines = [f"<{element}>{text}</{element}>" for element, text in _elements(Fields.parse(block))]
    xml = [
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>',
        f"<arcmetadata {_NAMESPACES}>",
        *lines,
        "<dc:format>ARC file version 1.1</dc:format>",
        "</arcmetadata>",
        "",
    ]
    return b"1 1 Lafka\n" + NAMES_LINE + "\n".join(xml).encode("utf-8", "replace")


def _elements(fields: Fields) -> Iterator[tuple[str, str]]:
    for name, value in fields:
        element = _ELEMENTS.get(name.lower())
        text = value if element else f"{name}: {value}"
        if name.lower() not in ("format", "conformsto"):
            yield element or "dc:description", escape(one_line(text))
