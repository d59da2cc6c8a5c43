"""Readers while captures are indexed anew, again and again: no answer denies what is held."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial
from pathlib import Path

from lafka.index.build import refresh
from lafka.index.captures import index_captures
from lafka.index.tables import IndexFiles
from lafka.web.app import Web
from tests.stores import Store, pdf
from tests.web.inside import BYTES, ask, inside
from tests.web.served import AT, PID, filled

REBUILDS = 25
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
