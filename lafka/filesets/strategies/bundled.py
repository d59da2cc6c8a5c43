"""A single bundle file for all: its members are held against the manifest, one by one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from lafka.filesets.model.asks import (
    Archiving,
    FetchBundle,
    Fetched,
    Got,
    Keep,
    Kept,
    SetAside,
    Want,
)
from lafka.filesets.model.bundles import NOTHING, BundleMatch, match_members
from lafka.filesets.model.manifests import compare, filled, first_trouble, judge
from lafka.filesets.model.types import (
    OTHER_DIGESTS,
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    FileStatus,
    Manifest,
    NoStrategy,
    Status,
)
from lafka.filesets.strategies.strategy import (
    FilesetIngestStrategy,
    fetched_by,
    file_meta,
    kept_by,
    terminal,
)

_TRIES = 2
_SUFFIXES = {"zip": ".zip", "tar": ".tar", "tar.gz": ".tar.gz"}
_TYPES = {"zip": "application/zip", "tar": "application/x-tar", "tar.gz": "application/gzip"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A bundle against the manifest: each file with its status, and which member it is.

    ``status`` where it is not for the files to say.
    """

    manifest: Manifest
    matched: BundleMatch = NOTHING
    status: Status | None = None
    message: str = ""

    @property
    def is_well(self) -> bool:
        return self.status is None and _trouble(self.manifest) is None


class BundledStrategy(FilesetIngestStrategy):
    """One of the two that store a single enclosing file."""

    def process(self, item: FilesetPlatformItem) -> Archiving:
        """Fetch the bundle; keep it where every file of the manifest stands in it as told.

        Where the platform gave no list of files, the members make the manifest.
        """
        if item.web_bundle_url is None:
            raise NoStrategy("the platform has no bundle", item)
        for tried in range(_TRIES):
            want = FetchBundle(
                url=item.web_bundle_url,
                max_bytes=self.limits.max_total,
                others=_others(item),
                again=tried > 0,
            )
            fetched = fetched_by((yield want))
            if fetched.status != FileStatus.SUCCESS:
                return self._refused(item, FileStatus(fetched.status), fetched.trouble)
            opened = self._opened(item, fetched)
            if opened.is_well:
                return (yield from self._keep(item, fetched, opened))
        yield SetAside(file=_bundle_file(item, fetched))
        extra = _extra(item, opened.matched)
        if opened.status is not None:
            message = opened.message
            return self._result(opened.status, opened.manifest, message=message, extra=extra)
        return self._failed_result(opened.manifest, opened.message, extra=extra)

    def _opened(self, item: FilesetPlatformItem, fetched: Fetched) -> _Opened:
        contents = fetched.contents
        if contents is None or contents.trouble:
            why = contents.trouble if contents is not None else "nobody looked into it"
            return _Opened(
                manifest=_all(item.manifest, FileStatus.BUNDLE_UNREADABLE),
                status=Status.BUNDLE_UNREADABLE,
                message=f"the bundle: {why}",
            )
        wanted = item.manifest
        if wanted is None:
            listed = (FilesetManifestFile(path=member.path) for member in contents.members)
            judged = judge(tuple(listed), self.limits)
            wanted = judged.manifest
            if judged.status is not None:
                message = f"the bundle: {judged.message}"
                return _Opened(manifest=wanted, status=judged.status, message=message)
        matched = match_members(tuple(f for f in wanted if not f.is_restricted), contents)
        manifest = tuple(_verified(file, matched, fetched) for file in wanted)
        return _Opened(manifest=manifest, matched=matched)

    def _keep(
        self, item: FilesetPlatformItem, fetched: Fetched, opened: _Opened
    ) -> Generator[Want, Got, ArchiveStrategyResult]:
        bundle = _bundle_file(item, fetched)
        decoded = fetched.decoded is not None
        members = opened.matched.members
        kept = kept_by((yield Keep(file=bundle, decoded=decoded, members=members)))
        if kept.status != FileStatus.SUCCESS:
            return self._failed_result(_all(opened.manifest, FileStatus(kept.status)), kept.trouble)
        values = _bundle_values(bundle, fetched, kept)
        return self._failed_result(opened.manifest, extra=_extra(item, opened.matched), **values)

    def _refused(
        self, item: FilesetPlatformItem, status: FileStatus, trouble: str
    ) -> ArchiveStrategyResult:
        if status is FileStatus.TOO_LARGE_FILE:
            status = FileStatus.TOO_LARGE_SIZE
        message = f"the bundle: {trouble or status}"
        manifest = _all(item.manifest, status)
        if not manifest:
            return self._result(status, manifest, message=message)
        return self._failed_result(manifest, message)


def _others(item: FilesetPlatformItem) -> tuple[str, ...]:
    named = {name for file in item.manifest or () for name in file.digests}
    return tuple(name for name in OTHER_DIGESTS if name in named and name != "crc32")


def _all(manifest: Manifest | None, status: FileStatus) -> Manifest:
    return tuple(
        file if file.is_restricted else replace(file, status=status) for file in manifest or ()
    )


def _trouble(manifest: Manifest) -> FilesetManifestFile | None:
    return first_trouble(tuple(file for file in manifest if not file.is_restricted))


def _verified(
    file: FilesetManifestFile, matched: BundleMatch, fetched: Fetched
) -> FilesetManifestFile:
    if file.is_restricted:
        return file
    member = matched.members.get(file.path)
    if member is None:
        return replace(file, status=FileStatus.BUNDLE_MISSING_FILE)
    status = compare(file, member.facts)
    if status is FileStatus.EMPTY_BLOB and file.size is None:
        status = FileStatus.SUCCESS  # nothing was promised, and nothing was lost on the way
    good = filled(file, member.facts) if status is FileStatus.SUCCESS else file
    return replace(good, status=status, terminal_url=fetched.url, terminal_dt=fetched.dt)


def _bundle_file(item: FilesetPlatformItem, fetched: Fetched) -> FilesetManifestFile:
    kind = fetched.contents.kind if fetched.contents is not None else ""
    file = FilesetManifestFile(
        path=f"{item.archiveorg_item_name or 'bundle'}{_SUFFIXES.get(kind, '')}",
        mimetype=_TYPES.get(kind),
        platform_url=item.web_bundle_url,
        status=FileStatus.SUCCESS,
        terminal_url=fetched.url,
        terminal_dt=fetched.dt,
    )
    facts = fetched.decoded or fetched.facts
    assert facts is not None
    return replace(filled(file, facts), extra=None)


def _bundle_values(bundle: FilesetManifestFile, fetched: Fetched, kept: Kept) -> dict[str, Any]:
    return {
        "bundle_file_meta": file_meta(bundle),
        "bundle_terminal": terminal(bundle, fetched.http_status),
        "bundle_cdx": kept.cdx,
        "bundle_revisit_cdx": kept.revisit_cdx,
        "bundle_archiveorg_path": kept.path or None,
    }


def _extra(item: FilesetPlatformItem, matched: BundleMatch) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    if matched.extra:
        found["bundle_extra"] = [member.path for member in matched.extra]
    if item.manifest is None:
        found["from_bundle"] = True
    return found or None
