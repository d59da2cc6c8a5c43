"""The WARC standard (ISO 28500, WARC/1.1) and nothing of Lafka's own.

``fields``    named fields: the header of a record, the body of a warcinfo
``dates``     WARC-Date at every precision
``records``   records to be written
``volumes``   a plain or compressed file, record by record, and what is wrong with it
``stored``    a record where it lies in a volume
``checking``  a volume held to the standard, digests and all
``scanning``  from record to record, over whatever lies between them
``framing``   where a header ends and how long its block is
``streams``   a volume as one stream of plain bytes
``arc``       ARC files, read as if they were WARCs; their header lines in ``archeaders``
``alike``     other files that hold what WARCs hold
``arc2warc``  ARC to WARC, header lines kept; ``warc2arc`` the other way
``reader``    records in a plain file, found by seeking over their blocks
``sources``   bytes in memory or in a file, read the same way
``http``      the HTTP message in a response block, its payload and its entity
``builders``  writes volumes: groups of records, names, rotation, nothing overwritten
``pools``     several builders for several threads
``segments``  records of any size over several volumes: written, and joined when read
``repairing`` what is whole of a damaged volume, in a new one; ``recompressing`` all of a sound one
``encoding``  records as bytes of a file, plain or a gzip member each
``appending`` a group of records whole at the end of a file, or the file as it was before
``names``     names of files by the guidelines; renaming that overwrites nothing
``surts``     keys under which indexes sort URLs
``indexes``   CDX, CDXJ and SQLite: built, attached, searched
``collections`` many volumes and indexes as one: search, revisits, segments
``sizes``     sizes with K, M, G, Ki, Mi, Gi

What most people need is here too, and is imported when it is first asked for:

>>> from lafka.warc import Record, Volume
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.warc.alike import open_volume as open_volume
    from lafka.warc.builders import Builder as Builder
    from lafka.warc.builders import Place as Place
    from lafka.warc.checking import check as check
    from lafka.warc.collections import Collection as Collection
    from lafka.warc.dates import WarcDate as WarcDate
    from lafka.warc.digests import Digest as Digest
    from lafka.warc.errors import BadHttp as BadHttp
    from lafka.warc.errors import BadIndex as BadIndex
    from lafka.warc.errors import BadValue as BadValue
    from lafka.warc.errors import BadWarc as BadWarc
    from lafka.warc.errors import DamagedFile as DamagedFile
    from lafka.warc.errors import MissingSegment as MissingSegment
    from lafka.warc.errors import NotFound as NotFound
    from lafka.warc.errors import TornWarc as TornWarc
    from lafka.warc.errors import WarcError as WarcError
    from lafka.warc.fields import Fields as Fields
    from lafka.warc.indexes import attach as attach
    from lafka.warc.indexes import build as build
    from lafka.warc.indexes.base import Entry as Entry
    from lafka.warc.pools import WriterPool as WriterPool
    from lafka.warc.problems import Problem as Problem
    from lafka.warc.recompressing import recompress as recompress
    from lafka.warc.records import Record as Record
    from lafka.warc.repairing import repair as repair
    from lafka.warc.segments import join as join
    from lafka.warc.segments import write_segmented as write_segmented
    from lafka.warc.stored import StoredRecord as StoredRecord
    from lafka.warc.volumes import Volume as Volume

_HOMES = {
    "alike": ("open_volume",),
    "builders": ("Builder", "Place"),
    "checking": ("check",),
    "collections": ("Collection",),
    "dates": ("WarcDate",),
    "digests": ("Digest",),
    "errors": (
        "BadHttp", "BadIndex", "BadValue", "BadWarc", "DamagedFile", "MissingSegment", "NotFound",
        "TornWarc", "WarcError",
    ),
    "fields": ("Fields",),
    "indexes": ("attach", "build"),
    "indexes.base": ("Entry",),
    "pools": ("WriterPool",),
    "problems": ("Problem",),
    "recompressing": ("recompress",),
    "records": ("Record",),
    "repairing": ("repair",),
    "segments": ("join", "write_segmented"),
    "stored": ("StoredRecord",),
    "volumes": ("Volume",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
