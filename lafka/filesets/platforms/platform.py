"""What every platform helper is; a new platform is a subclass (docs/how-to/add-a-fileset-platform).

A helper does no I/O and keeps no state: ``process_request`` is a generator that yields ``Ask`` and
is sent ``Answer``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import SplitResult, urlsplit

from lafka.filesets.model.asks import Asking, Resource
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.requests import IngestRequest
from lafka.filesets.model.statuses import FileStatus
from lafka.filesets.model.types import (
    EmptyManifest,
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
    NoStrategy,
    PlatformRestrictedError,
)

MISSING, MANY, NEVER = "missing", "many", "never"
"""When a bundle is taken: where a file has no URL of its own, also where they are many, never."""

_ITEM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """How much goes to the WARC; what is more goes to an item. Sizes in bytes."""

    web_max_file: int = 128 << 20
    web_max_total: int = 1 << 30
    web_max_files: int = 20
    bundle: str = MISSING


DEFAULTS = Thresholds()


class FilesetPlatformHelper:
    """What knows the URLs and the API of one platform.

    *thresholds* are for ``chose_strategy``; *hosts* are further hosts of the same software.
    """

    platform_name: ClassVar[str] = "unknown"
    has_api: ClassVar[bool] = True
    """Whether it can tell a dataset by its URL alone, where its page is kept from programs."""

    def __init__(
        self, thresholds: Thresholds = DEFAULTS, hosts: frozenset[str] = frozenset()
    ) -> None:
        self.thresholds = thresholds
        self.more_hosts = hosts

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        """Do the request and its landing page belong to this platform?"""
        raise NotImplementedError

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        """Return what the platform says of the dataset; raises ``PlatformError`` and
        nothing else.
        """
        raise NotImplementedError

    def chose_strategy(self, item: FilesetPlatformItem) -> IngestStrategy:
        """The strategy for *item*, by the number and sizes of its files.

        A size that is not known counts as over each limit. ``EmptyManifest`` where there is no
        file, ``NoStrategy`` where some file has no URL and there is no bundle either.
        """
        files = item.manifest
        if files is None:
            return self._bundled(item, IngestStrategy.ARCHIVEORG_FILESET_BUNDLED)
        if not files:
            raise EmptyManifest("the platform lists no file", item)
        is_small = self._is_small(files)
        if any(file.platform_url is None for file in files if not is_restricted(file)):
            return self._bundled(item, _BUNDLED[is_small])
        if len(files) == 1:
            return IngestStrategy.WEB_FILE if is_small else IngestStrategy.ARCHIVEORG_FILE
        many = self.thresholds.bundle == MANY and len(files) > self.thresholds.web_max_files
        if many and item.web_bundle_url:
            return _BUNDLED[self._total(files) <= self.thresholds.web_max_total]
        return IngestStrategy.WEB_FILESET if is_small else IngestStrategy.ARCHIVEORG_FILESET

    def _bundled(self, item: FilesetPlatformItem, strategy: IngestStrategy) -> IngestStrategy:
        if item.web_bundle_url is None or self.thresholds.bundle == NEVER:
            raise NoStrategy("a file has no URL of its own, and there is no bundle to take", item)
        return strategy

    def _is_small(self, files: tuple[FilesetManifestFile, ...]) -> bool:
        """Return whether *files* may go to the WARC."""
        limits = self.thresholds
        biggest = max(_or_endless(file.size) for file in files)
        if biggest > limits.web_max_file:
            return False
        return len(files) == 1 or (
            len(files) <= limits.web_max_files and self._total(files) <= limits.web_max_total
        )

    def _total(self, files: tuple[FilesetManifestFile, ...]) -> float:
        return sum(_or_endless(file.size) for file in files)


_BUNDLED = {
    True: IngestStrategy.WEB_FILESET_BUNDLED,
    False: IngestStrategy.ARCHIVEORG_FILESET_BUNDLED,
}


def _or_endless(size: int | None) -> float:
    return float("inf") if size is None else size


def is_restricted(file: FilesetManifestFile) -> bool:
    return file.status == FileStatus.RESTRICTED


def refuse_restricted(item: FilesetPlatformItem) -> FilesetPlatformItem:
    """*item*; ``PlatformRestrictedError``, with all of it, where a file is not open."""
    files = item.manifest or ()
    closed = [file.path for file in files if is_restricted(file)]
    if closed:
        count = f"{len(closed)} of {len(files)} files are restricted, {closed[0]!r} the first"
        raise PlatformRestrictedError(count, item)
    return item


def split_url(url: str) -> SplitResult:
    """*url* in its parts; of one that cannot be split, none."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  it is read for the error
    except ValueError:
        return urlsplit("")
    return parts


def host_of(parts: SplitResult) -> str:
    """Host name, lower case, no port."""
    return parts.hostname or ""


def authority_of(parts: SplitResult) -> str:
    """Host, and the port where it is not the scheme's."""
    return host_of(parts) + (f":{parts.port}" if parts.port else "")


def in_domain(host: str, *domains: str) -> bool:
    """Return whether *host* is one of *domains* or below one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def last_part(platform_id: str) -> str:
    return platform_id.rstrip("/").rpartition("/")[2]


def item_name(wanted: str, item: FilesetPlatformItem) -> str:
    """*wanted* as archive.org takes it: ``[A-Za-z0-9][A-Za-z0-9_.-]{2,79}``.

    Where that changes or cuts it, it ends with 8 hex of the SHA-256 of fileset id and version, so
    that no two filesets share an item.
    """
    if _ITEM_NAME.fullmatch(wanted):
        return wanted
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", wanted).lstrip("_.-") or "fileset"
    key = f"{item.fileset_id} {item.version}".encode("utf-8", "replace")
    return f"{plain[:71]}-{sha256(key).hexdigest()[:8]}"


def item_meta(**values: Any) -> Mapping[str, Any]:
    """Metadata of an item: those *values* that say something."""
    return {name: value for name, value in values.items() if value not in (None, "", [], ())}
