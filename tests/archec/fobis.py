"""Fobis for tests: gatherings of files, by hand, as docs/archec.md has them."""

from __future__ import annotations

from pathlib import Path

from lafka.archec.gather.gathering import Gathering, NewObi
from lafka.archec.records import Kind
from lafka.archec.store import pages
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.lines import first_line, version
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind
from lafka.warc.format import dates
from tests.archec.stores import Home, template

HEAD = first_line("fobi", "tests", source="tests")


def url(archive: str, number: int) -> str:
    return f"http://x.example/{archive}/{number}.pdf"


def two_archives(root: Path, more: dict[str, str] | None = None) -> Home:
    """A store of two archives: abc has a misspelt field and a duplicate, xyz is sound."""
    made = Home(root)
    made.put({
        "abc/wpaper/1.rdf": "".join(map(template, (1, 2, 3))),
        "abc/wpaper/2.rdf": template(4, more="Titel: x\n") + template(1, title="Other"),
        "xyz/books/1.rdf": template(1, "xyz", "books"),
    } | (more or {}))  # fmt: skip
    made.tobi()
    return made


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


def _stored(records: object, url: str, data: bytes, tist: int, way: tuple[str, ...]) -> NewObi:
    kind = kind_of(data[:SNIFF])
    known = records.history(url)  # type: ignore[attr-defined]
    event = "change" if known and known.versions and not known.lost else "appearance"
    sums = pages.of_file(data, is_page=kind is PayloadKind.HTML)
    time = dates.to_seconds(dates.parse("2012-11-09T17:13:50Z"))
    line = version(
        event, url, sums, length=len(data), found=(known and known.found) or tist, time=time,
        way=list(way), status=200, kind=str(kind), mime="x/y",
    )  # fmt: skip
    return NewObi(data=data, mtime=tist, line=line)
