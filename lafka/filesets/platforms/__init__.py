"""Platforms: software that hosts datasets, and what knows its URLs and its API.

``PLATFORMS`` is asked in order; the first helper that matches a landing page has it. A further
platform is a file with a class and a line here (docs/how-to/add-a-fileset-platform.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
        for made in PLATFORMS
        if not wanted or made.platform_name in wanted
    )


def matching(
    known: Sequence[FilesetPlatformHelper],
    request: IngestRequest,
    resource: Resource,
    html_biblio: HtmlBiblio,
) -> FilesetPlatformHelper | None:
    """The first helper of *known* that the landing page belongs to; None: ``no-platform-match``."""
    return next((one for one in known if one.match_request(request, resource, html_biblio)), None)
