"""Readers while the index is made anew, again and again: no answer denies what is held, and none
that is kept says what is no longer so.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from starlette.responses import Response

from lafka.index import tables
from lafka.index.build import refresh
from lafka.index.captures import index_captures
from lafka.index.tables import IndexFiles
from lafka.web import app
from lafka.web.app import Web
from tests import suites
from tests.stores import Store, pdf
from tests.web.inside import BYTES, PAGES, ask, inside
from tests.web.served import AT, PID, filled

REBUILDS = suites.amount(8, 25)
PAPERS, DIFFERENT = 6, 7
"""Those of :func:`filled`, and their different futs; one of them is had twice."""
QUESTIONS = {
    f"/web/cdx?url={AT}&fl=filename": (200, b"RePEc/abc/wpaper/1.warc\n" * 2),
    f"/web/{AT}": (302, b""),
    f"/web/20261121101113id_/{AT}": (200, pdf("second")),
}


def answers(web: Web, seen: Counter[str], stop: threading.Event) -> None:
    """Ask until *stop*, and count the answers that are not what is held."""
    while not stop.is_set():
        for asked, held in QUESTIONS.items():
            path, _, query = asked.encode().partition(b"?")
            answer = ask(web, BYTES, path, query)
            seen["as held" if answer == held else f"{asked}: {answer}"] += 1


@pytest.mark.draws("of the rebuilds")
def test_readers_during_rebuilds_get_no_false_denial(tmp_path: Path) -> None:
    store = filled(tmp_path / "archive")
    anew = partial(index_captures, anew=True)
    seen: Counter[str] = Counter()
    stop = threading.Event()
    with inside(store, tmp_path) as web:
        readers = [threading.Thread(target=answers, args=(web, seen, stop)) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for number in range(REBUILDS):  # each new paper moves the numbers of the others
                pid = f"RePEc:aaa:wpaper:{REBUILDS - number}"
                store.put(store.fut(pdf(pid), pid=pid, futli=f"http://x.example/new{number}.pdf"))
                refresh(store.archive, IndexFiles.of(store.root), anew=True, more=[anew])
        finally:
            stop.set()
            for reader in readers:
                reader.join()
    assert set(seen) == {"as held"}
    assert seen.total() > REBUILDS


def test_before_captures_are_indexed_nothing_is_denied(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("one"), pid=PID, futli=AT))
    with inside(store, tmp_path) as web:
        web.site.captures.unlink()
        for asked in QUESTIONS:
            path, _, query = asked.encode().partition(b"?")
            status, body = ask(web, BYTES, path, query)
            assert status == 503
            assert body == b"captures are not indexed: lafka index --captures does it\n"


def test_an_answer_that_is_kept_is_that_of_the_index_as_it_is(tmp_path: Path) -> None:
    """Each change shows in the next answer: of a batch, of an index anew, of another file."""
    store = filled(tmp_path / "archive")
    place, other = IndexFiles.of(store.root), IndexFiles(folder=tmp_path / "other")
    with inside(store, tmp_path) as web:
        for number, (anew, at) in enumerate(((False, place), (True, place), (False, other)) * 3):
            pid = f"RePEc:aaa:wpaper:{number}"
            store.put(store.fut(pdf(pid), pid=pid, futli=f"http://x.example/new{number}.pdf"))
            refresh(store.archive, at, anew=anew)
            if at is other:
                copied = place.database.with_name("copied")
                copied.write_bytes(other.database.read_bytes())
                tables.remove(place.database)
                copied.rename(place.database)
            for _ in range(2):
                status, body = ask(web, PAGES, b"/api/v1/search", b"archive=aaa")
                assert (status, json.loads(body)["count"]) == (200, number + 1)
                status, body = ask(web, PAGES, b"/api/v1/summary")
                assert json.loads(body)["papers"] == PAPERS + number + 1
                assert json.loads(body)["futs"] == DIFFERENT + number + 1
        tables.remove(place.database)
        assert ask(web, PAGES, b"/api/v1/summary")[0] == 503


def test_while_the_index_does_not_change_an_answer_is_made_once(tmp_path: Path) -> None:
    made: list[int] = []

    def counted(*_: object) -> Response:
        made.append(len(made) + 1)
        return Response(f"{made[-1]} " * 2000, media_type="text/plain")

    store = filled(tmp_path / "archive")
    gzip = {"headers": [(b"accept-encoding", b"gzip")]}
    with inside(store, tmp_path) as web:
        route = re.compile("/search"), counted
        routes = replace(web._origins[PAGES], routes=[route], kept=frozenset({counted}))
        web._origins[PAGES] = routes
        first, again, other = (ask(web, PAGES, b"/search", q) for q in (b"q=1", b"q=1", b"q=2"))
        assert (first, len(made)) == (again, 2)
        assert other != first
        zipped = ask(web, PAGES, b"/search", b"q=1", **gzip)[1]
        assert zipped[:2] == b"\x1f\x8b"
        assert (zipped, len(made)) == (ask(web, PAGES, b"/search", b"q=1", **gzip)[1], 3)
        pid = "RePEc:aaa:wpaper:1"
        store.put(store.fut(pdf(pid), pid=pid, futli="http://x.example/new.pdf"))
        refresh(store.archive, IndexFiles.of(store.root))
        assert ask(web, PAGES, b"/search", b"q=1")[1].startswith(b"4 ")


def test_an_answer_of_an_index_that_changed_meanwhile_is_not_kept(tmp_path: Path) -> None:
    store = filled(tmp_path / "archive")
    seen: list[bytes] = []

    def behind(*_: object) -> Response:
        """What was read before a change that comes while the answer is made."""
        seen.append(b"old" if not seen else b"new")
        if len(seen) == 1:
            pid = "RePEc:aaa:wpaper:1"
            store.put(store.fut(pdf(pid), pid=pid, futli="http://x.example/new.pdf"))
            refresh(store.archive, IndexFiles.of(store.root))
        return Response(seen[-1])

    with inside(store, tmp_path) as web:
        route = re.compile("/search"), behind
        web._origins[PAGES] = replace(web._origins[PAGES], routes=[route], kept=frozenset({behind}))
        assert [ask(web, PAGES, b"/search")[1] for _ in range(3)] == [b"old", b"new", b"new"]
        assert len(seen) == 2


def test_what_is_kept_stays_within_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "KEPT_BYTES", 3 * app.KEPT_MORE + 300)
    with inside(filled(tmp_path / "archive"), tmp_path) as web:
        for number in range(9):
            assert ask(web, PAGES, b"/years", b"%d" % number)[0] == 200
            assert web._kept._size <= app.KEPT_BYTES
            assert len(web._kept._answers) <= 2
