"""ArchEc: a dark archive of RePEc's templates and of the files that they point at.

The Fort Lee paper is its source. An *obi* is anything that has a URL or a RePEc handle; a *tobi*
is a template as it stands in RePEc data; a *fobi* is what a ``File-URL`` points at.

::

    archec/
      data/current -> rsync/2026-11-20     RePEc data, the operator's
      data/tarballs/2012-11-07.tar.gz      past RePEc data, by date
      archive/                             the obi store; all below is ours
        archec.json                        {"format": 1, "names": "exact"}
        032/184/2531/<escaped id>          an obi that was noted at 1352481230
        journal/1352481230.jsonl           what that gathering saw
        evidence/1352481300.warc           heads of the exchanges behind its fobis
        raw/<run>/                         the write-ahead log of a crawl
        runs/<run>.jsonl, <run>.json       what became of each fobi; the report of a crawl
        runs/<run>.problems.jsonl          what was odd about the data
        records.sqlite                     the caching database
        tobi.lock, fobi.lock               locked while a run of that kind lives

Never changed: a file under its final name; what was synced of journals and evidence;
``archec.json``.
Made again at need: the database, from the journals; and from the files alone what docs/archec.md
says. Never removed: anything.

Reading RePEc data:

``redif``, ``sources``       templates in bytes; files in a folder or a tarball
``handles``, ``uris``        ids of templates and of files, canonical
``claims``, ``futlis``       one template of a handle; the way to a list for a crawl
``problems``                 what is odd: a closed list of codes

The store:

``store``, ``names``, ``tists``   where an obi lies
``texts``                    what checksums are taken of
``journals``, ``gathering``  what was seen, and how it is kept
``records``                  the database, in SQLite or MongoDB: a fold over the journals
``recovering``, ``deriving`` after a kill; after journals were lost, or of the first ArchEc

Runs, and looking:

``sightings``, ``tobis``, ``losses``, ``running``   a run of ``scrapy tobi``
``passing``                  what the last run found, so that it is not read again
``duefobis``, ``refreshing``, ``fobis``             which files to ask for, and what came of it
``fobikeeping``, ``fobithread``, ``entities``, ``evidence``, ``fobirecovering``
                             how a crawl of fobis keeps them
``looking``                  the history of an obi
``statistics``, ``letters``  what a store adds up to; what a maintainer can be sent
``withdrawing``              notes that a version is taken down
``checking``                 proves a store sound; shares no code with the rest

>>> from lafka.archec import ObiStore
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.archec.checking import check_store as check_store
    from lafka.archec.gather.sources import open_source as open_source
    from lafka.archec.records import Kind as Kind
    from lafka.archec.records import Records as Records
    from lafka.archec.records.opening import open_records as open_records
    from lafka.archec.redif.handles import Handle as Handle
    from lafka.archec.store.folders import ObiStore as ObiStore

_HOME_OF = {
    "Handle": "handles",
    "Kind": "records",
    "ObiStore": "store",
    "Records": "records",
    "check_store": "checking",
    "open_records": "records.opening",
    "open_source": "sources",
}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
