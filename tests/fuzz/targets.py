"""What is fuzzed: each target takes any bytes, and lets out no error but the library's own.

A target is a function of bytes; what it gives back is dropped. ``run.py`` feeds them with atheris,
``test_corpus.py`` with the files of ``corpus/`` alone.
"""

from __future__ import annotations

import gzip as gzipped
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from lafka.archec import redif
from lafka.archec.redif import uris
from lafka.errors import BadUrl
from lafka.warc.converting.arc2warc import arc2warc
from lafka.warc.converting.repairing import LOST, repair
from lafka.warc.converting.warc2arc import warc2arc
from lafka.warc.errors import WarcError
from lafka.warc.foreign import archeaders, maff, open_volume, zips
from lafka.warc.foreign.arc import ArcVolume
from lafka.warc.foreign.mhtml import MhtmlVolume, MimePart, decoded, parts
from lafka.warc.format import codings, http
from lafka.warc.format.dates import WarcDate
from lafka.warc.format.fields import Fields
from lafka.warc.format.sources import MemorySource
from lafka.warc.indexes import attach, surts
from lafka.warc.reading.checking import check
from lafka.warc.reading.volumes import Volume

MOST = 1 << 20  # bytes of anything decoded
NAME = Path("fuzzed")


def fields(data: bytes) -> None:
    parsed = Fields.parse(data, problems=[])
    assert all(parsed.first(name) in parsed.all(name) for name, _ in parsed)
    assert parsed.to_bytes() == data
    with suppress(WarcError):
        Fields.parse(data, strict=True)
    with suppress(WarcError):
        written = parsed.copy().to_bytes()
        assert list(Fields.parse(written, strict=True, comments=False)) == list(parsed)


def date(data: bytes) -> None:
    with suppress(WarcError):
        parsed = WarcDate.parse(data.decode("utf-8", "replace"))
        assert parsed.covers(WarcDate.parse(parsed.text))  # which has minutes where it had hours
        assert not parsed.distance(parsed)
        assert len(parsed.digits14) == 14


def surt(data: bytes) -> None:
    key = surts.surt(data.decode("utf-8", "surrogateescape"))
    assert key.isascii()
    assert key.isprintable()


def volume(data: bytes) -> None:
    """A file of any kind that is read from a source: plain, compressed, of any codec."""
    _walk(Volume(NAME, source=MemorySource(data)))
    with suppress(WarcError):
        list(Volume(NAME, source=MemorySource(data), strict=True))


def members(data: bytes) -> None:
    """Bytes that are sure to be inflated, in members that part at every NUL."""
    packed = b"".join(gzipped.compress(part, 1, mtime=0) for part in data.split(b"\0", 8))
    _walk(Volume(NAME, source=MemorySource(packed)))


def checked(data: bytes) -> None:
    found = check(Volume(NAME, source=MemorySource(data)))
    assert sum(found.counts.values()) == 0
    assert len({problem.to_json() for problem in islice(found, 10_000)}) <= sum(
        found.counts.values()
    )


def arc_header(data: bytes) -> None:
    for place, header in archeaders.likely(data):
        assert data.startswith(header.line, place)
    assert archeaders.unescaped(archeaders.escaped(data)) == data
    with suppress(WarcError):
        header = archeaders.parse(data, archeaders.names_in(data))
        assert (header.length, header.address, header.url, header.date) is not None


def arc(data: bytes) -> None:
    _walk(ArcVolume(NAME, source=MemorySource(data)))
    _walk(ArcVolume(NAME, source=MemorySource(gzipped.compress(data, 1)), salvage=True))
    with suppress(WarcError):
        list(ArcVolume(NAME, source=MemorySource(data), strict=True))


def conversions(data: bytes) -> None:
    """An ARC becomes a WARC without an error, and that an ARC again."""
    with _file(data, "a.arc") as path:
        done = arc2warc(path)
        assert not done.left_out
        if not done.path:
            return
        assert [p.to_json() for p in check(done.path) if p.severity == "error"] == []
        back = warc2arc(done.path, path.with_name("b.arc"))
        with ArcVolume(back.path, strict=True) as again:
            list(again)


def repaired(data: bytes) -> None:
    """Whatever is repaired reads without trouble."""
    with _file(data, "a.warc") as path:
        done = repair(path, path.with_name("b.warc"))
        if done.into:
            with type(open_volume(path))(done.into) as mended:
                assert sum(1 for _ in mended) == done.records
                assert not LOST & {problem.code for problem in mended.problems}


def head(data: bytes) -> None:
    source = MemorySource(data)
    with suppress(WarcError):
        found = http.message_head(source)
        assert found.end <= len(data)
        assert found.content_length is None or found.content_length >= 0
        with suppress(WarcError):
            _drain(http.payload(source, found))
        with suppress(WarcError):
            _drain(http.entity(source, found))
        with suppress(WarcError):
            http.trailers(source, found)


def chunked(data: bytes) -> None:
    whole = []
    for size in (1, 7, 1 << 20):
        dechunker, parts = http.Dechunker(), []
        with suppress(WarcError):
            for place in range(0, len(data), size):
                parts.extend(dechunker.feed(data[place : place + size]))
        whole.append(b"".join(parts))
    assert len(set(whole)) == 1


def coded(data: bytes) -> None:
    """Bytes by a content coding that the first of them chooses."""
    names = ("gzip", "deflate", "br", "zstd", "compress", "gzip,br")
    chosen = tuple(names[data[0] % len(names)].split(",")) if data else ("gzip",)
    for size in (3, 1 << 16):
        pieces = (data[place : place + size] for place in range(1, len(data), size))
        with suppress(WarcError):
            _drain(codings.decode(pieces, chosen))


def index(data: bytes) -> None:
    """CDX and CDXJ; what is neither is refused."""
    with _file(data, "index.cdxj") as path, suppress(WarcError), attach(path) as attached:
        list(islice(attached, 1000))
        for url in ("http://a.example/", "http://a.example/b"):
            list(islice(attached.search(url=url, time="2020"), 10))
        list(islice(attached.search(url_prefix="http://a"), 10))


def mime(data: bytes) -> None:
    source = MemorySource(data)
    for part in parts(source):
        if isinstance(part, MimePart):
            assert part.body + part.length <= source.size
            with suppress(WarcError):
                _drain(decoded(source, part))
    _walk(MhtmlVolume(NAME, source=source))


def zip_file(data: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        with suppress(WarcError):
            for member in zips.members(file.fileno()):
                with suppress(WarcError):
                    zips.content(file.fileno(), member, MOST)
    for name in ("a.wacz", "a.maff"):
        with _file(data, name) as path, open_volume(path) as volume:
            _walk(volume)


def xml(data: bytes) -> None:
    with suppress(WarcError):
        list(maff.leaves(data))


def templates(data: bytes) -> None:
    """Templates are parts of the file, in order; what they say can be asked for."""
    reader = redif.read(data, "fuzzed.rdf")
    at = 0
    for template in reader:
        assert template.offset is None or template.offset >= at
        if template.offset is not None:
            at = template.offset + template.length
            assert data[template.offset : at] == template.data
        for file in template.files():
            assert all(uris.normalise(reading.uri) == reading.uri for reading in file.uris)
        assert template.fields
        assert template.authors() is not None
        assert all(str(problem).isprintable() for problem in template.problems)
    assert all(str(problem).isprintable() for problem in reader.problems)


def uri(data: bytes) -> None:
    with suppress(BadUrl):
        normal = uris.normalise(data.decode("utf-8", "replace"))
        assert uris.normalise(normal) == normal


@contextmanager
def _file(data: bytes, name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


def _drain(pieces: Iterable[bytes]) -> None:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > 4 * MOST:
            return


def _walk(opened: Volume) -> None:
    """Read all that can be asked of the records of a volume."""
    with opened:
        found = list(islice(opened, 1000))
        for record in found:
            assert (record.type, record.url, record.id, record.content_type) is not None
            assert record.date is None or record.date is not None
            assert record.block_length == sum(map(len, record.block().chunks()))
            for decoded in (False, True):
                with suppress(WarcError):
                    _drain(record.payload(decoded=decoded))
            with suppress(WarcError):
                record.verify()
            with suppress(WarcError):
                assert opened.at(record.offset, record.inner) == record
        for problem in opened.problems:
            assert problem.to_json().isprintable()


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        fields, date, surt, volume, members, checked, repaired, arc_header, arc, conversions, head,
        chunked, coded, index, mime, zip_file, xml, templates, uri,
    )
}  # fmt: skip
