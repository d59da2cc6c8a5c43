"""Filesets: a dataset's landing page becomes its files, each held against what its platform says.

What decides does no I/O: it says what to ask for and judges what came. ``crawling`` drives it, and
``archive`` and ``targets`` keep what it says is to be kept.

``model``       the types of the fileset proposal and its closed vocabularies: requests, manifests,
                results, summaries, and what helpers and strategies want
``platforms``   Dataverse, Figshare, Zenodo, archive.org, Dryad, and any other site
``strategies``  the six ways to archive a manifest, verified file by file
``walk``        the way of a request, which drives all of these
``bundles``     a platform's "download all" against a manifest, in bounded children
``targets``     folders and S3 buckets that hold items, with their ``item.json``
``archive``     the fileset WARC, its summary, the index of hits, recovery, bags
``results``     results on their way out: topics, tables, rows in a database
``crawling``    the walk and Scrapy: ingests, services, downloads, mirrors
``checking``    the proof; shares no code with the writers

What most people need is here too, and is imported when it is first asked for:

>>> from lafka.filesets import IngestRequest, PLATFORMS
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.filesets.archive.filesets import Filesets as Filesets
    from lafka.filesets.model.messages import IngestRequest as IngestRequest
    from lafka.filesets.model.messages import IngestResult as IngestResult
    from lafka.filesets.model.summaries import FilesetSummary as FilesetSummary
    from lafka.filesets.model.types import ArchiveStrategyResult as ArchiveStrategyResult
    from lafka.filesets.model.types import FilesetManifestFile as FilesetManifestFile
    from lafka.filesets.model.types import FilesetPlatformItem as FilesetPlatformItem
    from lafka.filesets.model.types import FileStatus as FileStatus
    from lafka.filesets.model.types import IngestStrategy as IngestStrategy
    from lafka.filesets.model.types import Status as Status
    from lafka.filesets.platforms import PLATFORMS as PLATFORMS
    from lafka.filesets.strategies import STRATEGIES as STRATEGIES
    from lafka.filesets.targets.item import ItemDescription as ItemDescription

_HOMES = {
    "archive.filesets": ("Filesets",),
    "platforms": ("PLATFORMS",),
    "model.messages": ("IngestRequest", "IngestResult"),
    "strategies": ("STRATEGIES",),
    "model.summaries": ("FilesetSummary",),
    "targets.item": ("ItemDescription",),
    "model.types": (
        "ArchiveStrategyResult",
        "FileStatus",
        "FilesetManifestFile",
        "FilesetPlatformItem",
        "IngestStrategy",
        "Status",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
