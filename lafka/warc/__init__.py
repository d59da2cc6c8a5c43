"""The WARC standard (ISO 28500, WARC/1.1) and nothing of Lafka's own.

``errors``, ``problems``  what is raised, and what is told: one table of codes

``format``, what a record is made of:

``fields``, ``dates``     named fields, WARC-Date at every precision
``digests``, ``sources``  labelled digests; bytes in memory or in a file, read the same way
``http``, ``codings``     the HTTP message in a block, its payload, its entity
``compression``           gzip, bzip2, zstd: members and streams, inflated within bounds
``rules``                 what the standard says of the fields of a record
``records``, ``base``     records of every type, held to the standard; what a record says

``writing``:

``builders``              groups of records into files, nothing overwritten, or onto a stream
``names``                 names of files by the guidelines
``encoding``              records as bytes of a file, plain or a gzip member each
``appending``             a group whole at the end of a file, or the file as it was before
``segments``              records of any size over several volumes, and joined when read

``reading``:

``volumes``, ``stored``   a plain or compressed file; a record where it lies in one, its digests
``scanning``, ``framing`` from record to record over whatever lies between; where a header ends
``handles``               the file of a volume, or the part of one; any stream as one
``streams``               a volume as one stream of plain bytes
``checking``              a volume held to the standard, digests and all

``converting``:

``repairing``             what is whole of a damaged volume, or all of a sound one, in a new one
``arc2warc``, ``warc2arc`` ARC to WARC, header lines kept, and back
``packing``               WARCs with an index and pages as one WACZ

``foreign``, other files that hold what WARCs hold, read as if they were WARCs: ``arc`` with
``archeaders``, WACZ, MAFF, MHTML.

``indexes``, CDX, CDXJ and SQLite, built, attached, searched:

``surts``                 keys under which indexes sort URLs
``collections``           many volumes and indexes as one: search, revisits, segments, redirects

What most people need is here too, and is imported when it is first asked for:

>>> from lafka.warc import Record, Volume
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .reading import DETECTORS as _DETECTORS

if TYPE_CHECKING:
    from .converting.repairing import recompress as recompress
    from .converting.repairing import repair as repair
    from .errors import BadHttp as BadHttp
    from .errors import BadIndex as BadIndex
    from .errors import BadValue as BadValue
    from .errors import BadWarc as BadWarc
    from .errors import DamagedFile as DamagedFile
    from .errors import MissingSegment as MissingSegment
    from .errors import NotFound as NotFound
    from .errors import TornWarc as TornWarc
    from .errors import WarcError as WarcError
    from .foreign import open_volume as open_volume
    from .format.dates import WarcDate as WarcDate
    from .format.digests import Digest as Digest
    from .format.fields import Fields as Fields
    from .format.records import Record as Record
    from .indexes import attach as attach
    from .indexes import build as build
    from .indexes.base import Entry as Entry
    from .indexes.collections import Collection as Collection
    from .problems import Problem as Problem
    from .reading.checking import check as check
    from .reading.stored import StoredRecord as StoredRecord
    from .reading.volumes import Volume as Volume
    from .writing.builders import Builder as Builder
    from .writing.builders import Place as Place
    from .writing.segments import join as join
    from .writing.segments import write_segmented as write_segmented

_DETECTORS.append(f"{__name__}.foreign:class_of")

_HOMES = {
    "foreign": ("open_volume",),
    "writing.builders": ("Builder", "Place"),
    "reading.checking": ("check",),
    "indexes.collections": ("Collection",),
    "format.dates": ("WarcDate",),
    "format.digests": ("Digest",),
    "errors": (
        "BadHttp", "BadIndex", "BadValue", "BadWarc", "DamagedFile", "MissingSegment", "NotFound",
        "TornWarc", "WarcError",
    ),
    "format.fields": ("Fields",),
    "indexes": ("attach", "build"),
    "indexes.base": ("Entry",),
    "problems": ("Problem",),
    "converting.repairing": ("recompress", "repair"),
    "format.records": ("Record",),
    "writing.segments": ("join", "write_segmented"),
    "reading.stored": ("StoredRecord",),
    "reading.volumes": ("Volume",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [*_HOME_OF]  # noqa: PLE0604  all of them are strings


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
