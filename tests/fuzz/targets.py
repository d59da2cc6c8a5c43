"""What is fuzzed: each target takes any bytes, and lets out no error but the library's own.

A target is a function of bytes; what it gives back is dropped. ``run.py`` feeds them with atheris,
``test_corpus.py`` with the files of ``corpus/`` alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress

from lafka.warc import archeaders, surts
from lafka.warc.alike import multipart, rdf, zips
from lafka.warc.errors import WarcError
from lafka.warc.fields import Fields
from lafka.warc.sources import MemorySource

MOST = 1 << 20  # bytes of anything decoded


def fields(data: bytes) -> None:
    parsed = Fields.parse(data)
    assert all(parsed.first(name) in parsed.all(name) for name, _ in parsed)


def surt(data: bytes) -> None:
    key = surts.surt(data.decode("utf-8", "surrogateescape"))
    assert key.isascii()
    assert key.isprintable()


def arc_header(data: bytes) -> None:
    for place, header in archeaders.likely(data):
        assert data.startswith(header.line, place)
    assert archeaders.unescaped(archeaders.escaped(data)) == data
    with suppress(WarcError):
        header = archeaders.parse(data, archeaders.names_in(data))
        assert (header.length, header.address, header.url, header.date) is not None


def mime(data: bytes) -> None:
    source = MemorySource(data)
    for part in multipart.parts(source):
        if isinstance(part, multipart.Part):
            assert part.body + part.length <= source.size
            with suppress(WarcError):
                list(multipart.decoded(source, part))


def zip_file(data: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        with suppress(WarcError):
            for member in zips.members(file.fileno()):
                with suppress(WarcError):
                    zips.content(file.fileno(), member, MOST)


def xml(data: bytes) -> None:
    with suppress(WarcError):
        list(rdf.leaves(data))


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (fields, surt, arc_header, mime, zip_file, xml)
}
