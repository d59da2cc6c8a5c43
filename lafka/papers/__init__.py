"""Papers: a list of futlis becomes paper WARCs and suwafs.

``lists``        futlis, exclude files, the feeder and its hosts' places
``candidates``   what finders give and the walk takes
``origins``      where a capture's URL came from: the one table of what its warcinfo says
``finders``      a splap in, ranked candidates out; pure
``outcomes``     the one word that says how a trail ended
``walk``         asks and trails: a state machine without I/O
``crawling``     where walk and Scrapy meet: captures, arguments, pages read in children
``archive``      the root folder: paper WARCs, suwafs, plans, recovery, repairs
``checking``     the proof, on the strict reader of ``lafka.witness``; shares no code with the above

What most people need is here too, and is imported when it is first asked for:

>>> from lafka.papers import Archive
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.papers.archive.archives import Archive as Archive
    from lafka.papers.archive.catalogue import LastOutcome as LastOutcome
    from lafka.papers.archive.catalogue import Paper as Paper
    from lafka.papers.archive.suwafs import Fut as Fut
    from lafka.papers.archive.suwafs import StoredFut as StoredFut
    from lafka.papers.archive.suwafs import Suwaf as Suwaf
    from lafka.papers.archive.texts import read_text as read_text
    from lafka.papers.archive.wacz import package as package
    from lafka.papers.archive.wacz import pieces as pieces
    from lafka.papers.lists.futlis import shard_of as shard_of
    from lafka.papers.lists.listfiles import Excludes as Excludes
    from lafka.papers.outcomes import Group as Group
    from lafka.papers.outcomes import Outcome as Outcome
    from lafka.pids import Pid as Pid

_HOMES = {
    "lafka.papers.archive.archives": ("Archive",),
    "lafka.papers.archive.catalogue": ("LastOutcome", "Paper"),
    "lafka.papers.archive.wacz": ("package", "pieces"),
    "lafka.papers.archive.suwafs": ("Fut", "StoredFut", "Suwaf"),
    "lafka.papers.archive.texts": ("read_text",),
    "lafka.papers.lists.listfiles": ("Excludes",),
    "lafka.papers.lists.futlis": ("shard_of",),
    "lafka.papers.outcomes": ("Group", "Outcome"),
    "lafka.pids": ("Pid",),
}


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for names in _HOMES.values() for name in names)})
