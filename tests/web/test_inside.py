"""Whatever is asked, nothing but the archive is opened; no link is followed; slow heads end."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import sqlite3
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import httpx
import jinja2
import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import Response

import lafka
from lafka.index.tables import IndexFiles
from lafka.web.app import Web
from lafka.web.connections import PatientProtocol, config
from tests.stores import Store, pdf
from tests.waiting import LIMIT
from tests.web.inside import BYTES, PAGES, REPLAYWEB, answer_of, ask, inside, noted, outside
from tests.web.served import BIG, FUTLI, PID, filled

SECRET = b"what nobody may read"
CODE = [Path(lafka.__file__).parent, Path(sys.base_prefix), Path(sys.prefix),
        Path(sysconfig.get_paths()["purelib"])]  # fmt: skip
"""Where Python and its packages read their own files when they are first needed."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """An archive beside files with a secret."""
    tmp = tmp_path_factory.mktemp("inside")
    store = filled(tmp / "archive")
    for place in (tmp, store.root, store.root / "raw", store.root / "runs"):
        for name in ("secret.warc", "secret.json", "secret"):
            (place / name).write_bytes(SECRET)
    return store


@pytest.fixture(scope="module")
def web(store: Store) -> Iterator[Web]:
    with inside(store, store.root.parent) as made:
        yield made


def test_no_one_who_asks_waits_for_a_template_to_be_compiled(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        raise AssertionError("compiled while somebody waits")

    with inside(store, store.root.parent) as web:
        monkeypatch.setattr(jinja2.Environment, "compile", late)
        for path in ("/", "/search", "/archives", "/years", "/runs", f"/papers/{PID}", "/nowhere"):
            status, body = ask(web, PAGES, path.encode())
            assert status == (404 if path == "/nowhere" else 200)
            assert b"</html>" in body


STARTS = {
    PAGES: ("/", "/papers/", f"/papers/{PID}/captures/", "/runs/", "/hosts/", "/archives/",
            "/archives/abc/", "/api/v1/papers/", f"/api/v1/papers/{PID}/", "/report"),
    BYTES: ("/", "/warc/", "/warc/RePEc/abc/", "/futs/", f"/splaps/{PID}/", "/wacz/", "/web/",
            "/web/20261120id_/", "/web/timemap/link/"),
    REPLAYWEB: ("/", "/papers/", "/wacz/", "/wacz/1-2/", "/replay/"),
}  # fmt: skip
PARTS = (
    b"..", b"/", b"\\", b"%2e%2e", b"%2F", b"%5c", b"%00", b"\0", b"%c0%ae", b"%c0%af", b"%252e",
    b"%e0%80%ae", b"\xff", b"\xc0\xae", b":", b"~", b"%", b"?", b"#", b".warc", b".json", b".wacz",
    b"secret", b"secret.warc", b"raw", b"runs", b"etc/passwd", b"/etc/passwd", b"lafka.json",
    b"warc", b"suwaf", b"RePEc", b"abc", b"wpaper", b"1", PID.encode(), b"file:///", b"//",
    b"index/archive.sqlite", b"http://x.example/", b"a" * 300, b"/x" * 200, b"A" * 66_000,
)  # fmt: skip


def test_whether_the_index_answers_is_said_while_every_thread_is_taken(tmp_path: Path) -> None:
    store, free = filled(tmp_path / "archive"), threading.Event()
    with inside(store, tmp_path) as web:
        for pool in (web._threads, web._slow):
            for _ in range(pool._max_workers):
                pool.submit(free.wait)
        try:
            assert ask(web, PAGES, b"/healthz") == (200, b"the index answers\n")
            with closing(sqlite3.connect(IndexFiles.of(store.root).database)) as db, db:
                db.execute("DELETE FROM meta WHERE key = 'figures'")
            assert ask(web, PAGES, b"/healthz")[0] == 503
        finally:
            free.set()


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), port=st.sampled_from((PAGES, BYTES, REPLAYWEB)))
def test_nothing_else_is_opened(web: Web, store: Store, data: st.DataObject, port: int) -> None:
    """Raw paths: made of what leads out elsewhere, or of any bytes."""
    start = data.draw(st.sampled_from(STARTS[port])).encode()
    named = st.lists(st.sampled_from(PARTS), max_size=9).map(b"".join)
    path = start + data.draw(named | st.binary(max_size=80))
    with noted() as notes:
        status, body = ask(web, port, path)
    assert status in (200, 301, 302, 400, 404, 414, 451), (status, path)
    assert SECRET not in body
    below = [store.root / "warc", store.root / "suwaf", store.root / "index"]
    withheld = store.root.parent / "withheld"
    assert outside(notes, store.root, [*below, withheld, *CODE]) == []


def test_the_hook_would_have_noticed(store: Store) -> None:
    """The test above can fail."""
    with noted() as notes:
        (store.root / "raw" / "secret").read_bytes()
        list((store.root / "runs").iterdir())
    assert len(outside(notes, store.root, [store.root / "warc"])) == 2


def test_papers_are_read_meanwhile(web: Web, store: Store) -> None:
    """What may be opened is opened: below both folders, and named by no path."""
    with noted() as notes:
        assert ask(web, BYTES, f"/futs/{PID}".encode())[1] == pdf("second")
    assert [path for _, _, path, _ in notes if isinstance(path, str) and "/" not in path] == [
        "suwaf", "RePEc", "abc", "wpaper", "1.json", "warc", "RePEc", "abc", "wpaper", "1.warc",
    ]  # fmt: skip


def test_sixty_four_may_search_at_once_and_others_are_told_to_come_again(
    store: Store, tmp_path: Path
) -> None:
    gate = threading.Event()

    def search(*_: object) -> Response:
        assert gate.wait(60)
        return Response("found")

    async def asked(web: Web) -> list[int]:
        asking = [asyncio.create_task(answer_of(web, PAGES, b"/search")) for _ in range(65)]
        done, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        assert [one.result()[0] for one in done] == [503]
        gate.set()
        return [status for status, _ in await asyncio.gather(*asking)]

    with inside(store, tmp_path) as web:
        pages = web._origins[PAGES]
        route = re.compile("/search"), search
        web._origins[PAGES] = replace(pages, routes=[route], slow=frozenset({search}))
        assert sorted(asyncio.run(asked(web))) == [200] * 64 + [503]


# Links -------------------------------------------------------------------------------------

OF_A_PAPER = {
    "a fut": (BYTES, "/futs/{pid}"),
    "a WARC": (BYTES, "/warc/RePEc/abc/wpaper/1.warc"),
    "a WACZ": (BYTES, "/wacz/{pid}.wacz"),
    "a suwaf": (PAGES, "/api/v1/papers/{pid}/suwaf"),
    "captures": (PAGES, "/api/v1/papers/{pid}"),
    "a memento": (BYTES, f"/web/20261121101112id_/{FUTLI}"),
    "a page": (BYTES, "/splaps/{pid}/urn:uuid:00000000-0000-0000-0000-000000000000"),
    "a capture": (PAGES, "/papers/{pid}/captures/urn:uuid:00000000-0000-0000-0000-000000000000"),
    "a WACZ for ReplayWeb.page": (REPLAYWEB, "/wacz/{token}/{pid}.wacz"),
}
LINKED = [
    "{}",
    "{}/RePEc",
    "{}/RePEc/abc",
    "{}/RePEc/abc/wpaper",
    "{}/RePEc/abc/wpaper/1.{}",
]


@pytest.mark.parametrize("linked", LINKED)
@pytest.mark.parametrize("top", ["warc", "suwaf"])
def test_no_link_is_followed(tmp_path: Path, top: str, linked: str) -> None:
    """A link in any component, though it leads to the very files, is not gone along."""
    store = filled(tmp_path / "archive")
    with inside(store, tmp_path) as web:
        there = store.root / linked.format(top, {"warc": "warc", "suwaf": "json"}[top])
        there.rename(tmp_path / "elsewhere")
        there.symlink_to(tmp_path / "elsewhere")
        for name, (port, path) in OF_A_PAPER.items():
            if (name, top) == ("a suwaf", "warc"):
                continue  # it takes no WARC
            token = web.site.tokens.token(web.site.pid(PID))
            path = path.format(pid=quote(PID, safe=""), token=token)
            status, body = ask(web, port, path.encode())
            if (name, top) == ("captures", "warc"):  # the paper's page lives without its WARC
                assert (status, b'"captures": []' in body) == (200, True)
            else:
                assert status in (404, 503), name
            assert b"%PDF" not in body


# Slow heads --------------------------------------------------------------------------------


class Impatient(PatientProtocol):
    patience = 0.2


@pytest.fixture
def impatient(web: Web) -> Iterator[tuple[str, int]]:
    """The pages on a socket, which hang up soon, in a thread; few may come at once."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
        web._origins[port] = web._origins[PAGES]
        server = uvicorn.Server(config(web, Impatient, connections=8))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield "127.0.0.1", port
        finally:
            server.should_exit = True
            thread.join()


def no_disk_for_it(*_: int) -> int:
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def test_a_disk_whose_files_the_kernel_does_not_send_is_read(
    web: Web, impatient: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Impatient, "patience", LIMIT)
    web._origins[impatient[1]] = web._origins[BYTES]
    at = "http://{}:{}/futs/{}".format(*impatient, BIG)
    whole = httpx.get(at).content
    assert whole == pdf("big", 3_000_000)
    monkeypatch.setattr(os, "sendfile", no_disk_for_it)
    assert httpx.get(at).content == whole


def test_a_file_that_is_cut_meanwhile_ends_the_connection(
    web: Web, impatient: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Impatient, "patience", LIMIT)
    web._origins[impatient[1]] = web._origins[BYTES]
    monkeypatch.setattr(os, "sendfile", lambda *_: 0)
    with pytest.raises(httpx.TransportError):
        httpx.get("http://{}:{}/futs/{}".format(*impatient, BIG))
    assert httpx.get("http://{}:{}/robots.txt".format(*impatient)).status_code == 200


HEADS = {
    "nothing": b"",
    "a method": b"GE",
    "half an address": b"GET /papers/",
    "half a head": b"GET /robots.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
}


@pytest.mark.parametrize("head", HEADS)
def test_a_slow_head_is_hung_up_on(
    impatient: tuple[str, int], head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then keeps no connection: it ends, and those who wait are let in."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(impatient, timeout=LIMIT))
            for _ in range(8)
        ]
        for client in clients:
            client.sendall(HEADS[head])
        for client in clients:
            assert trickled(client) == b""
    monkeypatch.setattr(Impatient, "patience", LIMIT)
    with httpx.Client(transport=httpx.HTTPTransport(retries=3)) as client:
        assert client.get("http://{}:{}/robots.txt".format(*impatient)).status_code == 200


def trickled(client: socket.socket) -> bytes:
    """What *client* is told while it sends a byte at a time, until it is hung up on."""
    client.settimeout(0.05)
    for _ in range(20 * int(LIMIT)):
        try:
            client.send(b"x")
            return client.recv(1 << 16)
        except TimeoutError:
            continue
        except OSError:
            return b""
    pytest.fail("it was never hung up on")
