"""The suwafs of an archive as an index of its paper WARCs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lafka.papers.archive.index import SuwafIndex
from lafka.warc.indexes import attach, copy
from lafka.warc.indexes.collections import Collection
from tests.stores import FUTLI, PID, START, Store, page, pdf

OTHER = "RePEc:abc:wpaper:2"
URL = "http://x.example/1.pdf"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "archive")
    splap = made.splap(page())
    made.put(splap, made.found(splap, URL, pdf(1)))
    made.put(made.fut(pdf(2), "chunked", pid=OTHER, futli="http://y.example/2.pdf"))
    later = START + timedelta(days=1)
    made.put(made.fut(pdf(3), pid=OTHER, futli="http://y.example/2.pdf", at=later))
    return made


def cut(store: Store, entry) -> bytes:
    data = (store.root / entry.volume).read_bytes()
    return data[entry.payload_offset : entry.payload_offset + entry.payload_length]


def test_futs_are_found_by_url_futli_time_and_digest(store: Store) -> None:
    with SuwafIndex(store.archive) as index:
        assert len(list(index)) == 3
        for url in (URL, FUTLI):
            [found] = index.search(url=url)
            assert (found.url, cut(store, found)) == (URL, pdf(1))
        both = [cut(store, one) for one in index.search(url="http://y.example/2.pdf")]
        assert both == [pdf(3), pdf(2)]
        early = index.search(url="http://y.example/2.pdf", time="2026-11-20")
        assert [cut(store, one) for one in early] == [pdf(2), pdf(3)]
        [same] = index.search(digest=found.digest)
        assert same == found
        assert len(list(index.search(url_prefix="http://y.example/"))) == 2
        assert not list(index.search(url="http://z.example/"))
        assert not list(index.search(record_id="urn:uuid:1"))


def test_a_collection_finds_the_records_around_the_futs(store: Store) -> None:
    with Collection(indexes=[SuwafIndex(store.archive)]) as collection:
        for url, body in ((FUTLI, pdf(1)), ("http://y.example/2.pdf", pdf(3))):
            record = next(collection.search(url=url))
            assert b"".join(record.payload(decoded=True)) == body
        [_, conversion] = collection.search(url="http://y.example/2.pdf", time="2027")
        assert conversion.type == "conversion"
        assert b"".join(conversion.payload()) == pdf(2)
        assert {record.type for record in collection} >= {"warcinfo", "request", "response"}


def test_suwafs_are_copied_into_a_fast_index(store: Store) -> None:
    for name in ("futs.sqlite", "futs.cdxj"):
        with SuwafIndex(store.archive) as index:
            assert copy(index, store.root / name) == 3
        with attach(store.root / name) as index:
            [found] = index.search(url=URL)
            assert cut(store, found) == pdf(1)


def test_a_damaged_suwaf_is_told_and_hides_no_other(store: Store) -> None:
    store.suwaf(PID).write_text("{")
    with SuwafIndex(store.archive) as index:
        for _ in range(2):
            assert len(list(index)) == 2
        [problem] = index.problems
        assert problem.path == store.warc(PID)
