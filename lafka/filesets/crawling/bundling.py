"""Bundles looked into where they came: as they are, else behind their content coding. This blocks.

As of single files, the coding is undone only where the coded bytes are not what is wanted: some
servers call the compression of a ``.tar.gz`` its content coding. Of a bundle that is so where they
cannot be read as one; bytes that can be have the same members, coded or not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lafka.errors import BadHttp, StorageTrouble
from lafka.filesets.bundles.children import Children
from lafka.filesets.model.asks import FetchBundle, Fetched
from lafka.filesets.model.bundles import BundleContents, BundleLimits
from lafka.filesets.model.verification import Digester, FileFacts
from lafka.warc.format.sources import write_all


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleReader:
    """Reads what came for *want*, in a child, within *limits*; copies have no name in *folder*."""

    want: FetchBundle
    children: Children
    limits: BundleLimits
    folder: Path

    def at(self, path: Path, *, start: int = 0, length: int | None = None) -> BundleContents:
        """Return what stands in *length* bytes from byte *start* of the file *path*."""
        return self.children.bundle(
            path, self.limits, start=start, length=length, others=self.want.others
        )

    def copied(self, pieces: Iterable[bytes]) -> tuple[BundleContents, FileFacts]:
        """Return what stands in *pieces*, and the facts of them all; ``StorageTrouble``."""
        seen = Digester(self.want.others)
        with _nameless(self.folder) as fd:
            for piece in pieces:
                seen.feed(piece)
                try:
                    write_all(fd, piece)
                except OSError as error:
                    raise StorageTrouble(self.folder, error) from error
            contents = self.at(Path(f"/proc/{os.getpid()}/fd/{fd}"))
        return contents, self.typed(seen.facts())

    def typed(self, facts: FileFacts) -> FileFacts:
        """*facts* with the type of the bytes."""
        return replace(facts, mimetype=self.children.mimetype(facts.prefix))

    def looked_into(
        self,
        fetched: Fetched,
        contents: BundleContents,
        undone: Callable[[], Iterator[bytes]] | None,
    ) -> Fetched:
        """*fetched* with *contents*, or, where these are none, with those that *undone* gives.

        *undone* has the bytes behind the content coding, None where there is none; ``BadHttp`` of
        it leaves *contents*.
        """
        if contents.trouble and undone is not None:
            with suppress(BadHttp):
                behind, facts = self.copied(undone())
                return replace(fetched, contents=behind, decoded=facts)
        return replace(fetched, contents=contents)


@contextmanager
def _nameless(folder: Path) -> Iterator[int]:
    """The descriptor of a new file without a name in *folder*; ``StorageTrouble``."""
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageTrouble(folder, error) from error
    try:
        yield fd
    finally:
        os.close(fd)
