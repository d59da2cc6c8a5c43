"""Fobis for tests: gatherings of files, by hand, as docs/archec.md has them."""

from __future__ import annotations

from lafka.archec.gather.gathering import Gathering, Stored
from lafka.archec.records import Kind
from lafka.archec.store import pages
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.lines import first_line, version
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind
from lafka.warc.format import dates
from tests.archec.stores import Home

HEAD = first_line("fobi", "tests", source="tests")


def gather(
    home: Home,
    tist: int,
    files: dict[str, bytes],
    *,
    ways: tuple[tuple[str, ...], ...] = (),
    lost: tuple[str, ...] = (),
) -> None:
    """A gathering of *files*, URL to bytes; a way of *ways* ends at one of them."""
    store = ObiStore.create(home.archive)
    to = {way[-1]: way for way in ways}
    with store.locked(Kind.FOBI), home.records(store) as records:
        gathering = Gathering.begin(store, records, Kind.FOBI, HEAD, not_before=tist, exactly=True)
        for url, data in files.items():
            way = to.get(url, (url,))
            for hop in reversed(way):
                gathering.put(_stored(records, hop, data, tist, way))
        for url in lost:
            gathering.note({"e": "deletion", "id": url, "why": "410"})
        gathering.end(seconds=0.0)


def _stored(records: object, url: str, data: bytes, tist: int, way: tuple[str, ...]) -> Stored:
    kind = kind_of(data[:SNIFF])
    known = records.history(url)  # type: ignore[attr-defined]
    event = "change" if known and known.versions and not known.lost else "appearance"
    sums = pages.of_file(data, is_page=kind is PayloadKind.HTML)
    time = dates.to_seconds(dates.parse("2012-11-09T17:13:50Z"))
    line = version(
        event, url, sums, length=len(data), found=(known and known.found) or tist, time=time,
        way=list(way), status=200, kind=str(kind), mime="x/y",
    )  # fmt: skip
    return Stored(data=data, mtime=tist, line=line)
