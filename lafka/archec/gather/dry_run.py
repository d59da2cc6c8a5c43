"""A gathering that writes nothing: what ``lafka tobi --dry-run`` counts by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory

from lafka.archec.gather.gathering import Gathering, Stored
from lafka.archec.records import Content, Kind, Records
from lafka.archec.records.opening import open_records
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Line


@contextmanager
def empty_store() -> Iterator[tuple[ObiStore, Records]]:
    """A store without anything, and its records, in a folder of its own that goes with it."""
    with TemporaryDirectory(prefix="lafka-") as folder:
        store = ObiStore.create(folder)
        with closing(open_records(store)) as records:
            yield store, records


class Rehearsal(Gathering):
    """Takes what a gathering takes, and counts it."""

    def __init__(self, tist: int) -> None:
        self.tist = tist
        self.stored = 0
        self.counts: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        return 0

    def expect(self, md5s: Iterable[str]) -> None:
        pass

    def put(self, obi: Stored) -> Content:
        self.note(obi.line)
        self.stored += 1
        sums, obi_id = obi.checksums, obi.line["id"]
        return Content(
            kind=Kind.of(obi_id), md5=sums.md5, tist=self.tist, id=obi_id, sha256=sums.sha256,
            text_sha256=sums.text_sha256, length=obi.length,
        )  # fmt: skip

    def note(self, line: Line) -> None:
        self.counts[line["e"]] += 1

    def commit(self) -> None:
        pass

    def begin_commit(self) -> None:
        pass

    def end(self, **_: object) -> None:
        pass

    def close(self) -> None:
        pass
