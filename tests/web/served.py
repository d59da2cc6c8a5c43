"""``scrapy serve`` in a process of its own, over an archive with all kinds of papers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests import starts
from tests.stores import START, Store, page, pdf

ROOT = Path(__file__).parents[2]
PID = "RePEc:abc:wpaper:1"
BIG = "RePEc:abc:wpaper:big"
WITHHELD = "RePEc:wit:wpaper:1"
UGLY = "RePEc:abc:wpaper:a/b%2F?#é"
COLON = "RePEc:abc:journl:v:1:y:2026"
COLON_AT = "http://x.example/colon.pdf"
HOSTILE = "RePEc:abc:wpaper:hostile"
FUTLI = "http://x.example/abs/1"
AT = "http://x.example/1.pdf"


def filled(root: Path, hostile: bytes = b"<p>nothing") -> Store:
    """An archive: two versions of a paper behind a splap, a big one, one withheld, an ugly name."""
    store = Store(root)
    for day, name in enumerate(("first", "second")):
        splap = store.splap(page(name), at=START + timedelta(days=day))
        store.put(splap, store.found(splap, AT, pdf(name)))
    store.put(store.fut(pdf("big", 3_000_000), pid=BIG, futli="http://x.example/big.pdf"))
    store.put(store.fut(pdf("secret"), pid=WITHHELD, futli="http://x.example/secret.pdf"))
    store.put(store.fut(pdf("ugly"), pid=UGLY, futli="http://x.example/a?b=c&d=%C3%A9"))
    for day in range(2):  # the second is a revisit
        at = START + timedelta(days=day)
        store.put(store.fut(pdf("colon"), pid=COLON, futli=COLON_AT, at=at))
    splap = store.splap(hostile, pid=HOSTILE, futli="http://x.example/hostile")
    store.put(splap, store.found(splap, "http://x.example/h.pdf", pdf("h")))
    return store


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The addresses of both origins, and the archive behind them."""

    pages: str
    bytes: str
    store: Store
    withheld: Path
    process: int


@contextmanager
def serving(store: Store, withheld: Path, *args: str) -> Iterator[Served]:
    """``scrapy serve`` over *store* on free ports, as long as the context lasts."""
    withheld.write_text("RePEc:wit:*\n", "utf-8")
    settings = {"LAFKA_ARCHIVE": store.root, "LAFKA_WEB_WITHHELD": withheld}
    given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with answering("--port", "0", "--replay-port", "0", *given, *args) as (pages, others, pid):
        yield Served(pages=pages, bytes=others, store=store, withheld=withheld, process=pid)


@contextmanager
def answering(*args: str | Path, lines: int = 2) -> Iterator[tuple[Any, ...]]:
    """``scrapy serve`` with *args*: the addresses of its origins, *lines* many, and its process."""
    server = starts.Popen(
        [sys.executable, "-m", "scrapy", "serve", *map(str, args)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        pages = server.stdout.readline().strip()
        assert pages, server.communicate()[1]
        yield pages, *(server.stdout.readline().strip() for _ in range(lines - 1)), server.pid
    finally:
        server.terminate()
        server.communicate()
