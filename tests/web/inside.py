"""The web application without sockets: what is asked as raw bytes, what is opened meanwhile."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lafka.index.build import refresh
from lafka.index.captures import index_captures
from lafka.index.tables import IndexFiles
from lafka.web.app import Web
from lafka.web.replayweb import Scripts
from lafka.web.serving import bytes_origin, pages_origin, replayweb_origin
from lafka.web.site import Origins, Site
from tests.stores import Store

PAGES, BYTES, REPLAYWEB = 1, 2, 3
"""Ports of the origins."""
_NAMES = ("open", "os.listdir", "os.scandir", "sqlite3.connect")
_notes: list[tuple[int, str, Any, int]] | None = None

Headers = Iterable[tuple[bytes, bytes]]


@contextmanager
def inside(store: Store, folder: Path) -> Iterator[Web]:
    """The application over *store*, indexed; *folder* has the file of those withheld."""
    place = IndexFiles.of(store.root)
    refresh(store.archive, place, more=[index_captures])
    withheld = folder / "withheld"
    withheld.write_text("RePEc:wit:*\n", "utf-8")
    origins = Origins(pages="http://127.0.0.1:1", bytes="http://127.0.0.1:2",
                      replayweb="http://127.0.0.1:3")  # fmt: skip
    site = Site(archive=store.archive, index=place.folder, origins=origins, withheld=withheld)
    scripts = Scripts(named={"ui": b"", "sw": b""})
    made = {PAGES: pages_origin(site), BYTES: bytes_origin(site),
            REPLAYWEB: replayweb_origin(site, scripts)}  # fmt: skip
    web = Web(site, made, ["127.0.0.1"])
    try:
        yield web
    finally:
        web.close()


def ask(web: Web, port: int, path: bytes, *query: bytes, **more: Any) -> tuple[int, bytes]:
    """As :func:`answer_of`, in a loop of its own."""
    return asyncio.run(answer_of(web, port, path, *query, **more))


async def answer_of(
    web: Web, port: int, path: bytes, query: bytes = b"", headers: Headers = ()
) -> tuple[int, bytes]:
    """Status and body of what *web* answers to a GET of the raw *path*."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path.decode("latin-1"), "raw_path": path, "query_string": query,
        "root_path": "", "headers": [(b"host", b"127.0.0.1"), *headers], "client": ("127.0.0.1", 9),
        "server": ("127.0.0.1", port),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    await web(scope, receive, send)
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:])


def _note(event: str, args: tuple[Any, ...]) -> None:
    if _notes is not None and event in _NAMES:
        flags = args[2] if event == "open" and isinstance(args[2], int) else 0
        _notes.append((threading.get_ident(), event, args[0] if args else ".", flags))


sys.addaudithook(_note)


@contextmanager
def noted() -> Iterator[list[tuple[int, str, Any, int]]]:
    """Thread, event, path and flags of whatever is opened or listed in this process meanwhile."""
    global _notes  # noqa: PLW0603  an audit hook cannot be taken away
    _notes = []
    try:
        yield _notes
    finally:
        _notes = None


def outside(notes: list[tuple[int, str, Any, int]], root: Path, allowed: list[Path]) -> list[str]:
    """What of *notes* is neither below warc/ or suwaf/ of *root*, nor below one of *allowed*.

    A name without a folder is opened in the folder that its thread opened last: it has to be a
    name, without following links, and right below *root* one of the two.
    """
    wrong: list[str] = []
    at_root: dict[int, bool] = {}
    for thread, event, path, flags in notes:
        if isinstance(path, int):
            continue  # what was opened before
        text = os.fsdecode(path).removeprefix("file:").partition("?")[0]
        if "/" in text:
            at_root[thread] = text == str(root) and bool(flags & os.O_DIRECTORY)
            real = Path(os.path.realpath(text))
            if not at_root[thread] and not any(real.is_relative_to(one) for one in allowed):
                wrong.append(f"{event} {text}")
            continue
        is_name = text not in ("", ".", "..") and bool(flags & os.O_NOFOLLOW)
        if not is_name or (at_root.get(thread) and text not in ("warc", "suwaf")):
            wrong.append(f"{event} {text!r}")
        at_root[thread] = False
    return wrong
