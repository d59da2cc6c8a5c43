"""A fileset in its WARC and one in an item, stored in processes that are killed or lose power.

The work is what an ingest has the pipeline do, without the crawl around it. Running it again goes
on where it ended; what comes of it has to be the same, whatever happened on the way.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lafka.errors import LafkaError
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.storing import ItemPlace, RequestStore
from lafka.filesets.checking.filesets import check_filesets
from lafka.filesets.model.asks import Keep
from lafka.filesets.model.manifests import facts_of, filled
from lafka.filesets.model.types import FilesetManifestFile, IngestStrategy
from lafka.filesets.targets.folder import ItemFolder, PartFile, facts_on_disk
from lafka.filesets.targets.item import DownloadProgress, ItemDescription
from tests.faults import forks
from tests.faults.forks import Run, in_child
from tests.faults.storecalls import Plan
from tests.filesets.archive.test_filesetwarc import BODIES, ID, Store, ended
from tests.filesets.archive.test_repairs import ITEM, ITEM_ID, URL

ACKS = "acks"
"""A file in the archive's folder to which the id of what is whole is written, as to a feed."""


@contextmanager
def folder() -> Iterator[Path]:
    with forks.folder() as made:
        root = made / "root"
        root.mkdir()
        yield root


class Work(Store):
    """What an ingest of each fileset stores in *root*; the raw log lies beside it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, logs=Path(tempfile.mkdtemp(dir=root.parent)))

    def run(self) -> None:
        self.into_a_warc()
        self.into_an_item()
        self.log.close()

    def acknowledge(self, fileset: str) -> None:
        with (self.filesets.root / ACKS).open("ab", buffering=0) as acks:
            acks.write(f"{fileset}\n".encode())

    def into_a_warc(self) -> None:
        storing = self.storing()
        known = storing.known()
        for path in BODIES:
            if known is None or path not in known.files:
                self.keep(storing, path, later=path != next(iter(BODIES)))
        ended(self, storing)
        self.acknowledge(ID)

    def into_an_item(self) -> None:
        storing, item = self.files_into_an_item()
        item.finish()
        ended(self, storing)
        self.acknowledge(ITEM_ID)

    def files_into_an_item(self) -> tuple[RequestStore, ItemFolder]:
        storing = self.storing(ITEM_ID)
        storing.version(ITEM, IngestStrategy.ARCHIVEORG_FILESET, anew=False)
        described = ItemDescription.of(ITEM, list(BODIES))
        item = self.filesets.items.item(described, ITEM_ID)
        item.make()
        known = storing.known()
        for path, body in BODIES.items():
            if known is not None and path in known.files:
                continue
            final, later = item.final(path), path != next(iter(BODIES))
            if not final.exists() or facts_on_disk(final).digests != facts_of([body]).digests:
                self.fetch(final, body, later=later)
            elif (part := PartFile(final)).path.exists():  # as the item's store does
                part.drop()
            file = filled(FilesetManifestFile(path=path), facts_of([body]))
            place = ItemPlace(item="an-item", name=item.name_of(path))
            unsynced = final.parent if later else None
            storing.keep_item(Keep(file=file), [], place, [], unsynced=unsynced)
        return storing, item

    def fetch(self, final: Path, body: bytes, *, later: bool) -> None:
        """Have *body* in a part, half of it at a time, and give it its name once it is verified.

        *later*: it is small, and written at once where nothing is there of it.
        """
        part = PartFile(final)
        if later and not any(path.exists() for path in part.paths):
            part.begin(DownloadProgress(url=URL))
            part.write(body)
            part.sync(is_whole=True)
            part.keep(later=True)
            return
        part.take_up(URL)
        if part.facts() != facts_of([body[: part.size]]):
            part.begin(part.part)
        for data in (body[part.size : len(body) // 2], body[max(part.size, len(body) // 2) :]):
            part.write(data)
            part.sync()
        if not part.keep():
            raise LafkaError(f"{final}: other content is there")


def run(root: Path, work: Callable[[Work], object] = Work.run, **what: Any) -> Run:
    """Do *work* in a process of its own, watched by a plan with *what*."""
    calls, log = root.parent / "calls", root.parent / "log"
    calls.unlink(missing_ok=True)
    plan = Plan(root=str(root), told=str(calls), **what)
    return in_child(lambda: work(Work(root)), log, plan, steps=True)


def moment(root: Path, acknowledged: list[str]) -> list[str]:
    """What is wrong with *root* as it is found: what was acknowledged is there with all its bytes.

    A WARC whose first summary was not written yet is none, and so is a tail.
    """
    found = [p for p in check_filesets(root) if p.severity == "error" and p.code != "no-summary"]
    troubles = [f"{p.code}: {p.sentence}" for p in found]
    filesets = Filesets(root)
    for fileset in acknowledged:
        try:
            _, version = filesets.version(fileset)
            held = {path: b"".join(filesets.file(fileset, path).pieces()) for path in version.files}
        except Exception as error:
            troubles.append(f"{fileset} was acknowledged: {error!r}")
            continue
        if held != BODIES or not version.complete:
            troubles.append(f"{fileset} was acknowledged, and is not whole")
    return troubles


def finish(root: Path) -> list[str]:
    """Run the work undisturbed: what is wrong with what comes of it."""
    done = run(root)
    if done.code:
        return [f"the same again ends with {done.code}: {done.said}"]
    troubles = moment(root, [ID, ITEM_ID])
    left = [path for path in root.rglob("*") if path.name.startswith((".part-", ".draft-"))]
    return [*troubles, *(f"{path.name} is left" for path in left),
            *(problem.code for problem in check_filesets(root))]  # fmt: skip
