"""Platforms: software that hosts datasets, and what knows its URLs and its API.

``PLATFORMS`` is asked in order; the first helper that matches a landing page has it. A further
platform is a file with a class and a line here, or one in another package, which registers its
class by an entry point (docs/how-to/add-a-fileset-platform.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import entry_points

from lafka.errors import BadArgument
from lafka.filesets.model.asks import Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.platforms.archiveorg import ArchiveorgHelper
from lafka.filesets.platforms.dataverse import DataverseHelper
from lafka.filesets.platforms.dryad import DryadHelper
from lafka.filesets.platforms.figshare import FigshareHelper
from lafka.filesets.platforms.platform import DEFAULTS, FilesetPlatformHelper, Thresholds
from lafka.filesets.platforms.web import WebHelper
from lafka.filesets.platforms.zenodo import ZenodoHelper

PLATFORMS: tuple[type[FilesetPlatformHelper], ...] = (
    DataverseHelper,
    FigshareHelper,
    ZenodoHelper,
    ArchiveorgHelper,
    DryadHelper,
    WebHelper,
)


GROUP = "lafka.platforms"
"""Entry points of installed packages, each the class of a helper."""


@cache
def registered() -> tuple[type[FilesetPlatformHelper], ...]:
    """``PLATFORMS`` with those of installed packages, by name, before ``web``, which is the last.

    ``BadArgument`` where one cannot be imported, is no helper, or has a name that is taken.
    """
    found = {made.platform_name: made for made in PLATFORMS}
    web = found.pop(WebHelper.platform_name)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            made = entry.load()
        except Exception as error:
            raise BadArgument(f"the platform {entry.value} cannot be imported: {error}") from error
        if not (isinstance(made, type) and issubclass(made, FilesetPlatformHelper)):
            raise BadArgument(f"the platform {entry.value} is no FilesetPlatformHelper")
        if made.platform_name in (*found, web.platform_name, "unknown"):
            name = made.platform_name
            raise BadArgument(f"the platform {entry.value} has the name {name!r}, which is taken")
        found[made.platform_name] = made
    return (*found.values(), web)


def helpers(
    thresholds: Thresholds = DEFAULTS,
    *,
    names: Iterable[str] = (),
    hosts: dict[str, frozenset[str]] | None = None,
) -> tuple[FilesetPlatformHelper, ...]:
    """A helper of each platform, in order; *names*: of these alone; *hosts*: more of a platform."""
    wanted, more = set(names), hosts or {}
    return tuple(
        made(thresholds, more.get(made.platform_name, frozenset()))
        for made in registered()
        if not wanted or made.platform_name in wanted
    )


def matches(
    known: Iterable[FilesetPlatformHelper],
    request: IngestRequest,
    resource: Resource,
    html_biblio: HtmlBiblio,
) -> Iterator[FilesetPlatformHelper]:
    """The helpers of *known* that the landing page may belong to, in order."""
    return (one for one in known if one.match_request(request, resource, html_biblio))
