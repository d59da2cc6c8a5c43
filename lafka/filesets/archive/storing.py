"""Stores one request in its fileset's WARC: landing page, API answers, files, its result.

A kill loses the file in flight at most. All methods block, and each is one commit, but for small
files that are kept *later*: they are committed together, by :meth:`RequestStore.commit`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from lafka.capture.logged import LoggedExchange
from lafka.filesets.archive.contents import HeldBytes, MetadataKind, RecordPlace, Role
from lafka.filesets.archive.filesetwarc import FileAnswer, FilesetGroup, FilesetWarc
from lafka.filesets.model.asks import Keep, Kept
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.summaries import BundlePlace, FilesetSummary, FilesetVersion, SummaryFile
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    FileStatus,
    IngestStrategy,
    Status,
)
from lafka.filesets.strategies.strategy import IN_PLACE, HeldVersion, agrees
from lafka.warc.format import dates
from lafka.warc.indexes.surts import surt

Exchanges = tuple[LoggedExchange, ...]
SMALL = 1 << 20
"""Bytes of a file that may be committed with others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCapture:
    """A capture of the landing page or of an API's answer."""

    role: Role
    exchanges: Exchanges


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPlace:
    """The place of a file in an item: ``name`` is its path below the item's folder."""

    item: str
    name: str


def held_version(version: FilesetVersion) -> HeldVersion:
    """Return what a strategy is told of *version*: its files, and what its result said of them."""
    told = version.told or {}
    file, bundle = told.get("fileset_file") or {}, told.get("fileset_bundle") or {}
    result = ArchiveStrategyResult(
        ingest_strategy=version.strategy,
        status=Status.SUCCESS_EXISTING,
        manifest=(),
        file_file_meta=file.get("file_meta"),
        file_terminal=file.get("terminal"),
        file_cdx=file.get("cdx"),
        file_revisit_cdx=file.get("revisit_cdx"),
        bundle_file_meta=bundle.get("file_meta"),
        bundle_terminal=bundle.get("terminal"),
        bundle_cdx=bundle.get("cdx"),
        bundle_revisit_cdx=bundle.get("revisit_cdx"),
        bundle_archiveorg_path=bundle.get("archiveorg_bundle_path"),
    )
    files = {path: entry.as_manifest_file(path) for path, entry in version.files.items()}
    return HeldVersion(complete=version.complete, files=files, result=result, time=version.time)


def entry_name(
    summary: FilesetSummary, item: FilesetPlatformItem, now: datetime, *, anew: bool
) -> str:
    """The summary's name for *item*'s version, ``<version>@<time>`` where another has its name.

    A version that is complete is never written over: other content under its name is an entry of
    its own, which only *anew* (``force_recrawl``, ``refresh``), or a platform that changes in
    place, ever brings about.
    """
    name = item.version or dates.to_seconds(now)[:10]
    known = summary.versions.get(name)
    if known is None or not known.complete:
        return name
    files = {path: entry.as_manifest_file(path) for path, entry in known.files.items()}
    wanted = [file for file in item.manifest or () if not file.is_restricted]
    same = item.manifest is None or {file.path for file in wanted} == set(files)
    if same and all(agrees(file, files[file.path]) for file in wanted):
        certain = all(file.digests for file in wanted)
        if certain or not anew:
            return name
    return f"{name}@{dates.to_seconds(now)}"


class RequestStore:
    """The store of one request's *pages* and files, in *warc*, under the version *entry*."""

    def __init__(
        self,
        warc: FilesetWarc,
        request: IngestRequest,
        pages: list[PageCapture],
        *,
        root: Path,
        clock: Callable[[], datetime] = dates.now,
    ) -> None:
        self._warc = warc
        self._request = request
        self._pages = pages
        self._root = root
        self._clock = clock
        self._stored = 0  # pages
        self._item: FilesetPlatformItem | None = None
        self._strategy: IngestStrategy | None = None
        self._entry = self._latest = ""
        self._begun = False
        self._splap: HeldBytes | None = None
        self._splap_place: RecordPlace | None = None

    @property
    def entry(self) -> str:
        """The name of the version that is stored; empty before there is one."""
        return self._entry

    def version(self, item: FilesetPlatformItem, strategy: IngestStrategy, *, anew: bool) -> str:
        """Store *item* from now on; the name of its entry."""
        self._item, self._strategy = item, strategy
        self._entry = entry_name(self._warc.summary, item, self._clock(), anew=anew)
        return self._entry

    def latest(self, item: FilesetPlatformItem) -> FilesetVersion | None:
        """The version that *item* names, the last entry of it; of what changes in place, the last.

        None where nothing is held of it.
        """
        versions, name = self._warc.summary.versions, item.version or ""
        named = [key for key in versions if key == name or key.startswith(f"{name}@")]
        if not named and item.platform_name in IN_PLACE:
            named = [key for key in versions if versions[key].complete]
        if not named:
            return None
        self._latest = max(named, key=lambda key: versions[key].time)
        return versions[self._latest]

    def digests(self, place: ItemPlace) -> set[str]:
        """Return the digests that the summary has of the file at *place*, of any version."""
        entries = [e for v in self._warc.summary.versions.values() for e in v.files.values()]
        return {e.digest for e in entries if (e.item, e.name) == (place.item, place.name)}

    def known(self) -> FilesetVersion | None:
        """Return what the summary says of the version that is stored."""
        return self._warc.summary.versions.get(self._entry)

    # ---- Files

    def may_gather(self, want: Keep) -> bool:
        """Return whether the file of *want* may be kept later: it is small, and not the first.

        The first is the progress by which a begin of its request counts.
        """
        return self._begun and not want.members and (want.file.size or 0) <= SMALL

    @property
    def is_behind(self) -> bool:
        """Return whether something was kept that is not committed yet."""
        return self._warc.is_behind

    def commit(self) -> None:
        """Commit what was kept later."""
        self._warc.commit()

    def keep(self, want: Keep, exchanges: Exchanges, *, later: bool = False) -> Kept:
        """Store the file of *want*, or the bundle, out of its capture."""
        file = want.file
        wanted = FileAnswer(
            digest=f"sha256:{file.sha256}",
            l=file.size or 0,
            mimetype=file.mimetype or "",
            decoded=want.decoded,
        )

        def planned(group: FilesetGroup) -> tuple[RecordPlace | None, bool]:
            self._begin(group)
            held, place, revisits = group.file(exchanges, wanted)
            stands = {"record": held.record_id, "at": held.at}
            self._note_files(group, want, stands)
            return place, revisits

        place, revisits = self._warc.append(planned, later=later)
        self._begun = True
        last = exchanges[-1]
        status = last.payload.status if last.payload else 0
        told = self._cdx(place, file.terminal_url or last.url, file.mimetype, status, file.sha1)
        cdx, revisit_cdx = (None, told) if revisits else (told, None)
        return Kept(status=FileStatus.SUCCESS, cdx=cdx, revisit_cdx=revisit_cdx)

    def keep_item(
        self, want: Keep, captures: list[Exchanges], place: ItemPlace,
        ranges: list[tuple[int, int]], *, unsynced: Path | None = None,
    ) -> Kept:  # fmt: skip
        """Note that the file of *want* stands in an item; *ranges*: bytes that each capture had.

        *unsynced*: the folder of its name, which is to be synced and the note committed later.
        """

        def planned(group: FilesetGroup) -> None:
            self._begin(group)
            for exchanges in captures:
                group.heads(exchanges)
            more = {"item": place.item, "name": place.name}
            self._note_files(group, want, more, ranges=ranges, decoded=want.decoded)

        if unsynced is not None:
            self._warc.unsynced.add(unsynced)
        self._warc.append(planned, later=unsynced is not None)
        self._begun = True
        return Kept(status=FileStatus.SUCCESS, path=f"{place.item}/{place.name}")

    def _note_files(
        self, group: FilesetGroup, want: Keep, stands: Mapping[str, Any], **more: Any
    ) -> None:
        assert self._item is not None
        entries = {want.file.path: _entry(want.file)} if not want.members else {
            path: _member_entry(want, path) for path in want.members
        }  # fmt: skip
        files = {path: {**entry.as_json(), **stands} for path, entry in entries.items()}
        values = {
            "fileset": self._warc.fileset_id,
            "what": MetadataKind.FILES,
            "version": self._entry,
            "files": files,
            **{key: value for key, value in more.items() if value},
        }
        group.note(values, want.file.terminal_url or "", self._now)

    # ---- The rest

    def end(self, result: dict[str, Any]) -> dict[str, Any]:
        """Store what is left of the pages, and *result*; the result with where its page stands."""
        if result["status"] == Status.SUCCESS_EXISTING:
            self._entry = self._latest

        def planned(group: FilesetGroup) -> None:
            self._store_pages(group)
            known = self.known()
            url = self._request.base_url
            if self._begun or _is_new(result):
                complete = bool(result["hit"])
                self._begin(group)
                self._say(group, MetadataKind.END, complete=complete, base_url=url, result=result)
            elif result["status"] == Status.SUCCESS_EXISTING and known is not None:
                if url not in known.base_urls:
                    self._say(group, MetadataKind.SEEN, base_url=url)
            elif group.pieces:
                self._say(group, MetadataKind.FAILED, base_url=url, result=result)

        self._warc.append(planned)
        meta = result.get("file_meta", {})
        told = self._cdx(
            self._splap_place,
            result.get("terminal", {}).get("terminal_url", ""),
            meta.get("mimetype"),
            result.get("terminal", {}).get("terminal_status_code", 0),
            meta.get("sha1hex"),
        )
        return {**result, "cdx": told} if told else result

    def _say(self, group: FilesetGroup, what: MetadataKind, **values: Any) -> None:
        told = {"fileset": self._warc.fileset_id, "what": what, "time": self._now[:19] + "Z"}
        if what is not MetadataKind.FAILED:
            told["version"] = self._entry
        group.note({**told, **values}, self._page_url, self._now)

    def _begin(self, group: FilesetGroup) -> None:
        """Plan the pages and the note that the version is begun, before its first file."""
        self._store_pages(group)
        if self._begun:
            return
        assert self._item is not None
        splap = self._splap
        values: dict[str, Any] = {
            "strategy": self._strategy,
            "base_url": self._request.base_url,
            "item": self._item.as_json(),
        }
        if splap is not None:
            digest = self._pages[0].exchanges[-1].payload
            assert digest is not None
            values["splap"] = {"record": splap.record_id, "at": splap.at, "l": splap.l,
                               "url": self._page_url, "digest": digest.payload_digest}  # fmt: skip
        self._say(group, MetadataKind.BEGIN, **values)

    def _store_pages(self, group: FilesetGroup) -> None:
        for number, page in enumerate(self._pages[self._stored :], self._stored):
            held = group.page(page.exchanges)
            if number == 0 and page.role is Role.SPLAP:
                self._splap = held
                self._splap_place = group.place(held.record_id) if held else None
        self._stored = len(self._pages)

    @property
    def _page_url(self) -> str:
        return self._pages[0].exchanges[-1].url if self._pages else self._request.url

    @property
    def _now(self) -> str:
        return dates.to_text(self._clock())

    def _cdx(
        self, place: RecordPlace | None, url: str, mimetype: str | None, status: int,
        sha1: str | None,
    ) -> dict[str, Any] | None:  # fmt: skip
        """The ``cdx`` object of a record; its path is relative to the archive."""
        if place is None:
            return None
        moment = "".join(filter(str.isdigit, place.date))[:14]
        return {
            "surt": surt(url),
            "datetime": moment,
            "url": url,
            "mimetype": mimetype or "application/octet-stream",
            "status_code": status,
            "sha1b32": base64.b32encode(bytes.fromhex(sha1)).decode() if sha1 else None,
            "sha1hex": sha1,
            "warc_csize": place.length,
            "warc_offset": place.offset,
            "warc_path": self._warc.path.relative_to(self._root).as_posix(),
        }

    def close(self) -> None:
        """Let others have the fileset."""
        self._warc.close()


def _is_new(result: Mapping[str, Any]) -> bool:
    return result["status"] in (Status.SUCCESS, Status.SUCCESS_FILE)


def _entry(file: FilesetManifestFile) -> SummaryFile:
    return SummaryFile(
        l=file.size or 0,
        url=file.terminal_url,
        time=_time(file.terminal_dt),
        md5=file.md5,
        sha1=file.sha1,
        digest=f"sha256:{file.sha256}",
        mimetype=file.mimetype,
    )


def _member_entry(want: Keep, path: str) -> SummaryFile:
    member = want.members[path]
    return replace(
        _entry(want.file),
        l=member.size,
        md5=member.md5,
        sha1=member.sha1,
        digest=f"sha256:{member.sha256}",
        mimetype=member.mimetype or None,
        size=member.size,
        bundle=BundlePlace.of(member, want.file.size or 0),
    )


def _time(digits: str | None) -> str | None:
    """14 digits as a time of the summary."""
    if not digits:
        return None
    d = digits
    return f"{d[:4]}-{d[4:6]}-{d[6:8]}T{d[8:10]}:{d[10:12]}:{d[12:14]}Z"
