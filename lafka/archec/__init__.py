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

The rooms, from the ground up:

``redif``       templates in bytes, handles and URIs, and what is odd: a closed list of codes
``store``       folders, names, times, texts and journals on disk
``records``     the database, in SQLite or MongoDB: a fold over the journals
``gather``      a run of ``tobi`` over RePEc data; recovery, rebuilding, withdrawing, pulling
``files``       fobis: which are due, what came of them, how a crawl keeps them, its evidence
``serve``       the history of an obi, the holdings of a gateway, futlis for a crawl of papers
``checking``    proves a store sound; shares no code with the rest
``statistics``  the sums over a store, and the letter to a maintainer

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
    "Handle": "redif.handles",
    "Kind": "records",
    "ObiStore": "store.folders",
    "Records": "records",
    "check_store": "checking",
    "open_records": "records.opening",
    "open_source": "gather.sources",
}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
