"""The files of one ingest that go to an item: fetched into parts, kept under their final names.

The holdings of its fileset, which say what need not be fetched, are here too.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.storing import ItemPlace, RequestStore, held_version
from lafka.filesets.crawling.answers import RequestOutcome, is_shared
from lafka.filesets.crawling.downloads import (
    Download,
    DownloadContext,
    PartSink,
    is_small,
    looked_into,
    others_of,
)
from lafka.filesets.crawling.services import IngestServices, PlannedRequest
from lafka.filesets.model.asks import (
    Claim,
    Fetch,
    FetchBundle,
    Fetched,
    Keep,
    Kept,
)
from lafka.filesets.model.manifests import FileFacts, compare
from lafka.filesets.model.summaries import FilesetVersion
from lafka.filesets.model.types import FilesetManifestFile, FilesetPlatformItem, FileStatus
from lafka.filesets.strategies.strategy import HeldVersion
from lafka.filesets.targets.folder import BUNDLE, PartFile, facts_on_disk, moment_of
from lafka.filesets.targets.item import (
    FILES,
    ForeignItem,
    ItemDescription,
    TargetItem,
    TargetTrouble,
)
from lafka.filesets.targets.s3 import BucketItem
from lafka.storage.threads import run_aside

logger = logging.getLogger(__name__)


class FilesetHoldings:
    """The holdings of the claimed fileset: by its summary, and, of items, by their folder."""

    def __init__(self, store: RequestStore, filesets: Filesets, target: TargetItem | None) -> None:
        self._store = store
        self._filesets = filesets
        self._target = target

    def version(self, item: FilesetPlatformItem) -> HeldVersion | None:
        """The version of that name; of what changes in place, the latest."""
        found = self._store.latest(item)
        return None if found is None else held_version(self._there(found))

    def _there(self, version: FilesetVersion) -> FilesetVersion:
        """*version* without the files whose item has lost them."""
        lost = self._filesets.lost(version.files.values())
        files = {
            path: entry
            for path, entry in version.files.items()
            if (entry.item, entry.name) not in lost
        }
        described = self._target is None or self._target.is_described
        complete = version.complete and len(files) == len(version.files) and described
        return msgspec.structs.replace(version, files=files, complete=complete)


def free_bytes(paths: tuple[Path, ...]) -> int:
    """Bytes that are free for all of *paths*, or for what they are to be made in."""
    found = []
    for path in paths:
        while not path.exists() and path != path.parent:
            path = path.parent
        state = os.statvfs(path)
        found.append(state.f_bavail * state.f_frsize)
    return min(found)


class ItemStore:
    """The item of *claim*; *get* asks for something.

    *moved* is called, in a thread, when bytes of a part are synced.
    """

    def __init__(
        self,
        shop: IngestServices,
        claim: Claim,
        get: Callable[[PlannedRequest], Awaitable[RequestOutcome]],
        moved: Callable[[], object],
    ) -> None:
        self.folder = _item_folder(shop, claim)
        self.fetched_bytes = 0
        self._shop = shop
        self._get = get
        self._moved = moved
        self._download: Download | None = None
        self._wanted: FilesetManifestFile | None = None
        self._there: set[Path] | None = None  # when the item was made; None before

    async def fetch(self, want: Fetch | FetchBundle, wanted: PlannedRequest) -> Fetched:
        """Have the file in a part of the item; it is on the disk already where a kill left it."""
        path = want.file.path if isinstance(want, Fetch) else BUNDLE
        self._wanted = want.file if isinstance(want, Fetch) else None
        fetched = None
        part = PartFile(self.folder.final(path), others_of(want))
        if self._is_nowhere(want, part):
            self._download = Download(part)
        else:
            try:
                fetched = await self._shop.wire.aside(self._resume, want, part)
            except (ForeignItem, TargetTrouble) as error:
                status = FileStatus.ERROR_ARCHIVEORG_UPLOAD
                return Fetched(status=status, url=want.url, trouble=str(error))
        assert self._download is not None
        if fetched is None:
            fetched = await self._download.run(want, self._way(wanted))
            self.fetched_bytes += sum(end - start for start, end in self._download.ranges)
            shared = any(map(is_shared, self._download.captures))
            fetched = replace(fetched, shared=shared)
        return fetched

    def _is_nowhere(self, want: Fetch | FetchBundle, part: PartFile) -> bool:
        """Return whether *want* is a small file of which nothing is on the disk."""
        if self._there is None or isinstance(want, FetchBundle) or want.again:
            return False
        return is_small(want.file) and self._there.isdisjoint((part.final, *part.paths))

    def _resume(self, want: Fetch | FetchBundle, part: PartFile) -> Fetched | None:
        """Have the part that the file is to come into; the file where it need not come."""
        if self._there is None:
            self.folder.make()
            self._there = set(self.folder.path.rglob("*"))
        if want.again and self._download is not None:  # what came before was something else
            self._download.file.drop()
        self._download = Download(part)
        fetched = None if want.again else self._on_disk(part, want)
        if fetched is None:
            part.take_up(want.url)
        return fetched

    def _on_disk(self, part: PartFile, want: Fetch | FetchBundle) -> Fetched | None:
        """The file where it has its final name, but no note yet; None to ask for it."""
        final = part.final
        if isinstance(want, FetchBundle) or want.anew or not final.exists():
            return None
        facts, status = facts_on_disk(final, others_of(want)), FileStatus.SUCCESS
        moment = moment_of(final)
        found = Fetched(status=status, url=want.url, dt=moment, http_status=200, facts=facts)
        return self._look(found, want, part)

    def _look(self, fetched: Fetched, want: Fetch | FetchBundle, file: PartFile) -> Fetched:
        shop = self._shop
        return looked_into(fetched, want, file, shop.children, shop.bundle_limits)

    def _way(self, wanted: PlannedRequest) -> DownloadContext:
        shop = self._shop

        async def get(headers: dict[str, str], sink: PartSink) -> RequestOutcome:
            asked = replace(wanted, tries=1, headers=tuple(headers.items()), sink=sink)
            return await self._get(asked)

        return DownloadContext(
            get=get,
            aside=shop.wire.aside,
            call=shop.wire.call,
            moved=self._moved,
            look=self._look,
            told=shop.bases.told,
            tries=shop.tries,
        )

    async def keep(self, want: Keep, store: RequestStore, *, later: bool) -> Kept:
        """Give the part its final name, and note it in the WARC, to be committed *later*."""
        download, folder = self._download, self.folder
        assert download is not None
        self._download = None
        if want.members:  # the bundle's kind is known only now
            files = {want.file.path: f"{FILES}/{want.file.path}"}
            folder.description = replace(folder.description, files=files)
        final = folder.final(want.file.path)
        item, name = folder.description.identifier, folder.name_of(want.file.path)
        place = ItemPlace(item=item, name=name)

        def named() -> Kept | None:
            file = download.file
            comes = file.path.exists() or not final.exists()
            if comes and not file.keep(final, undone=want.decoded, later=later):
                there = facts_on_disk(final)
                if self._is_rotten(there, want, store.digests(place)):
                    logger.warning("%s/%s: it had rotted and is replaced", item, name)
                    file.keep_over(final, undone=want.decoded)
                elif _sha256(there) != want.file.sha256:
                    return _other_content(place)
                file.drop()
            return None

        def keep() -> Kept:
            if (trouble := named()) is not None:
                return trouble
            captures, ranges = download.captures, download.ranges
            unsynced = final.parent if later else None
            kept = store.keep_item(want, captures, place, ranges, unsynced=unsynced)
            if isinstance(folder, BucketItem):
                folder.sent(want.file.path)
            return kept

        trouble = None
        if isinstance(folder, BucketItem):  # in the bucket before anything says so
            trouble = await self._shop.wire.aside(named) or await _sent(folder, want, place)
        kept: Kept = trouble or await self._shop.wire.store(item, keep, later=later)
        return kept

    def _is_rotten(self, there: FileFacts, want: Keep, noted: set[str]) -> bool:
        """Return whether the file that is *there* is what the file of *want* became on the disk.

        It is where its digest is none of those that were *noted* of it, which *want* has again; or,
        where none was, where it is not the file of the manifest. A file that stands as it was kept
        never is: other content is another version's.
        """
        if want.members or self._wanted is None or _sha256(there) == want.file.sha256:
            return False
        if noted:
            return noted == {f"sha256:{want.file.sha256}"}
        return compare(self._wanted, there) is not FileStatus.SUCCESS

    async def finish(self) -> str:
        """End the item; why it could not be, empty where it is."""
        try:
            await self._shop.wire.aside(self.folder.finish)
        except TargetTrouble as error:
            return str(error)
        return ""

    async def set_aside(self) -> None:
        """Keep what was fetched last as what is not the file."""
        download, self._download = self._download, None
        if download is not None:
            await self._shop.wire.aside(download.file.set_aside)


async def _sent(folder: BucketItem, want: Keep, place: ItemPlace) -> Kept | None:
    """Have the file of *want* in the bucket; None where all is well."""
    stopped = threading.Event()
    path, sha256 = want.file.path, want.file.sha256 or ""
    try:
        mine = await run_aside("lafka-upload", lambda: folder.send(path, sha256, stopped.is_set))
    except TargetTrouble as error:
        return Kept(status=FileStatus.ERROR_ARCHIVEORG_UPLOAD, trouble=str(error))
    finally:
        stopped.set()  # the thread ends at its next part where nobody waits any more
    return None if mine else _other_content(place)


def _other_content(place: ItemPlace) -> Kept:
    status = FileStatus.MISMATCH_EXISTING
    return Kept(status=status, trouble=f"{place.item}/{place.name}: other content is there")


def _item_folder(shop: IngestServices, claim: Claim) -> TargetItem:
    item = claim.item
    paths = [file.path for file in item.manifest or () if not file.is_restricted]
    if claim.strategy.is_bundled:
        paths = [BUNDLE]
    description = ItemDescription.of(item, paths, collection=shop.collection)
    return shop.filesets.items.item(description, item.fileset_id or "")


def _sha256(facts: FileFacts) -> str:
    return facts.digests["sha256"]
