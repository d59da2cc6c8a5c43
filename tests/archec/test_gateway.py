"""``scrapy archec serve``: the store by Memento, asked by httpx, by raw sockets, by curl."""

import base64
import hashlib
import json
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import StreamingResponse

from lafka.archec.records.opening import open_records
from lafka.archec.serve.queries import StoreHoldings
from lafka.archec.store.folders import ObiStore
from lafka.errors import KeeperError, NotHeld
from lafka.urls.addresses import LONGEST, VersionElsewhere
from lafka.web import answers
from lafka.web import connections as gateways
from lafka.web.connections import PatientProtocol
from lafka.web.gateway import Gateway
from tests import starts
from tests.archec.fobis import gather
from tests.archec.stores import DAY, START, Home, template
from tests.gateway.linkformat import by_rel
from tests.sites.gateways import ROOT, ask, get, serving
from tests.waiting import LIMIT

HANDLE = "RePEc:abc:wpaper:1"
BAR, FOO, HOP = "http://x.example/bar.pdf", "http://x.example/foo", "http://x.example/a"
PAGE = "http://x.example/page?q=%C3%A9&b=a%2Fb"
BIG = "http://x.example/big.pdf"
SLASH, SLASHED = "http://x.example/slash", b"<html><p>slashed"
PDF = b"%PDF-1.4\n" + bytes(range(256)) * 3000 + b"\n%%EOF\n"
FILES = START + 10 * DAY


@dataclass
class Served:
    home: Home
    address: str
    web: httpx.Client

    def obi(self, name: str, tist: int | None = None) -> str:
        number = f"{tist}/" if tist else ""
        return f"/obi/{number}{httpx.QueryParams({'': name}).__str__()[1:].replace('+', '%20')}"


def http_date(tist: int) -> str:
    return format_datetime(datetime.fromtimestamp(tist, UTC), usegmt=True)


def filled(root: Path) -> Home:
    """Template 1 changes, goes, and is back; a file, its redirects, a page that is lost."""
    home = Home(root)
    for day, title in enumerate(("A", "B", None, "A")):
        here = "" if title is None else template(1, title=title)
        home.put({"abc/wpaper/1.rdf": here + template(2)})
        assert home.now == START + day * DAY
        home.tobi()
    gather(home, FILES, {BAR: PDF, PAGE: b"<html><p>first"}, ways=((FOO, HOP, BAR),))
    gather(home, FILES + DAY, {PAGE: b"<html><p>second"})
    gather(home, FILES + 2 * DAY, {PAGE: b"<html><p>first"})
    gather(home, FILES + 3 * DAY, {}, lost=(PAGE,))
    gather(home, FILES + 4 * DAY, {f"{SLASH}/": SLASHED}, ways=((SLASH, f"{SLASH}/"),))
    ObiStore(home.archive).path(FILES + 4 * DAY, SLASH).unlink()  # as a crawl has it (D14)
    gather(home, FILES + 5 * DAY, {BIG: b"%PDF-1.4\n" + bytes(20_000_000)})
    return home


def holdings_of(home: Home) -> StoreHoldings:
    store = ObiStore(home.archive)
    return StoreHoldings(store, lambda: open_records(store, read_only=True))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    home = filled(folder / "archec")
    arguments = ("archec", "serve", "--port", "0", "-s", f"LAFKA_OBJECT_STORE={home.archive}")
    with serving(*arguments, folder=folder) as address, httpx.Client(base_url=address) as web:
        yield Served(home, address, web)


# Negotiation -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "tist"),
    [
        (None, START + 3 * DAY),
        (http_date(START), START),
        (http_date(START + DAY - 1), START),
        (http_date(START + 2 * DAY), START + DAY),
        ("Mon, 01 Jan 1601 00:00:00 GMT", START),
        ("Fri, 31 Dec 9999 23:59:59 GMT", START + 3 * DAY),
    ],
)
def test_the_timegate_leads_to_what_was_there(served: Served, asked: str | None, tist: int) -> None:
    headers = {} if asked is None else {"Accept-Datetime": asked}
    answer = served.web.get(served.obi(HANDLE), headers=headers)
    assert answer.status_code == 302
    assert answer.headers["Vary"] == "accept-datetime"
    assert answer.headers["Location"] == f"{served.address}/obi/{tist}/RePEc%3Aabc%3Awpaper%3A1"
    assert "Memento-Datetime" not in answer.headers
    found = by_rel(answer.headers["Link"])
    assert found["original"][0].target == HANDLE
    assert found["first"][0].attributes["datetime"] == http_date(START)
    assert found["last"][0].attributes["datetime"] == http_date(START + 3 * DAY)
    assert {one.attributes["type"] for one in found["timemap"]} == {
        "application/link-format",
        "application/json",
        "application/cdxj+ors",
    }


@pytest.mark.parametrize("text", ["yesterday", "", "2012-11-09T00:00:00Z", "Fri, 99 Nov 2012"])
def test_a_date_that_cannot_be_read_is_told(served: Served, text: str) -> None:
    answer = served.web.get(served.obi(HANDLE), headers={"Accept-Datetime": text})
    assert answer.status_code == 400
    assert "is no date" in answer.text


def test_what_is_not_there_is_404_without_vary(served: Served) -> None:
    for target in (
        served.obi("RePEc:abc:wpaper:9"),
        served.obi(HANDLE, START + 1),
        "/timemap/link/RePEc%3Aabc%3Awpaper%3A9",
        "/timemap/link/2/RePEc%3Aabc%3Awpaper%3A1",
        "/refipos/RePEc%3Aabc%3Awpaper%3A9",
        "/list",
        "/nothing",
        "/obi/",
    ):
        answer = served.web.get(target)
        assert (target, answer.status_code) == (target, 404)
        assert "Vary" not in answer.headers
        assert answer.text.count("\n") == 1


def test_the_way_to_a_memento_by_links_alone(served: Served) -> None:
    """From the first memento by next to the last, and back by prev."""
    answer = served.web.get(
        served.obi(HANDLE), headers={"Accept-Datetime": http_date(START)}, follow_redirects=True
    )
    seen = [answer]
    while following := by_rel(seen[-1].headers["Link"]).get("next"):
        seen.append(served.web.get(following[0].target))
    times = [one.headers["Memento-Datetime"] for one in seen]
    assert times == [http_date(START + day * DAY) for day in (0, 1, 3)]
    assert [b"Title: B" in one.content for one in seen] == [False, True, False]
    for before, after in pairwise(seen):
        back = by_rel(after.headers["Link"])["prev"][0].target
        assert back == str(before.url)


# Mementos ----------------------------------------------------------------------------------


def test_a_memento_is_the_file_of_the_store(served: Served) -> None:
    store = ObiStore(served.home.archive)
    answer = served.web.get(served.obi(HANDLE, START + DAY))
    data = store.read(START + DAY, HANDLE)
    assert (answer.status_code, answer.content) == (200, data)
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    assert answer.headers["Repr-Digest"] == f"sha-256=:{digest}:"
    md5 = served.home.journal(START + DAY)[1]["md5"]
    assert answer.headers["ETag"] == f'"{md5}"'
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
    assert "Lafka-Lost" not in answer.headers
    assert "timegate" in by_rel(answer.headers["Link"])


@pytest.mark.parametrize(
    ("name", "to", "tist"),
    [(FOO, BAR, FILES), (HOP, BAR, FILES), (SLASH, f"{SLASH}/", FILES + 4 * DAY)],
)
def test_a_redirect_leads_to_what_it_led_to(served: Served, name: str, to: str, tist: int) -> None:
    answer = served.web.get(served.obi(name, tist))
    assert answer.status_code == 302
    assert answer.headers["Location"] == served.address + served.obi(to, tist)
    assert answer.headers["Memento-Datetime"] == http_date(tist)
    assert by_rel(answer.headers["Link"])["original"][0].target == name
    content = SLASHED if name == SLASH else PDF
    assert served.web.get(answer.headers["Location"]).content == content


def test_redirects_are_followed_to_a_file(served: Served) -> None:
    last = served.web.get(served.obi(FOO), follow_redirects=True)
    assert last.content == PDF
    assert last.headers["Content-Type"] == "application/pdf"
    assert [one.status_code for one in last.history] == [302, 302]


def test_a_timemap_in_cdxj_has_a_memento_a_line(served: Served) -> None:
    answer = served.web.get("/timemap/cdxj/RePEc%3Aabc%3Awpaper%3A1")
    assert answer.headers["Content-Type"] == "application/cdxj+ors"
    lines = [line.partition(" ") for line in answer.text.splitlines()]
    about = [(name, json.loads(value)) for name, _, value in lines if name.startswith("!")]
    assert about[:3] == [
        ("!context", ["http://tools.ietf.org/html/rfc7089"]),
        ("!id", {"uri": f"{served.address}/timemap/cdxj/RePEc%3Aabc%3Awpaper%3A1"}),
        ("!keys", ["memento_datetime_YYYYMMDDhhmmss"]),
    ]
    mementos = [(name, json.loads(value)) for name, _, value in lines if not name.startswith("!")]
    assert [name for name, _ in mementos] == sorted(name for name, _ in mementos)
    assert [one["rel"] for _, one in mementos] == ["first memento", "memento", "last memento"]
    for name, one in mementos:
        tist = datetime.strptime(name, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        assert one["datetime"] == http_date(int(tist))
        assert served.web.get(one["uri"]).headers["Memento-Datetime"] == one["datetime"]
        assert len(one["md5"]) == 32


def test_what_is_lost_is_served_at_its_own_place_and_says_so(served: Served) -> None:
    """The content of the third was held: its file is that of the first."""
    for day, content in enumerate((b"first", b"second", b"first")):
        answer = served.web.get(served.obi(PAGE, FILES + day * DAY))
        assert (answer.status_code, answer.content) == (200, b"<html><p>" + content)
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.headers["Lafka-Lost"] == http_date(FILES + 3 * DAY)


def test_ids_escaped_once_and_as_they_are_name_the_same(served: Served) -> None:
    want = served.obi(PAGE)
    for target in (want, f"/obi/{PAGE}", "/obi/HTTP://X.example:80/page?q=%c3%a9&b=a%2Fb"):
        status, fields, _ = get(served.address, target)
        assert (target, status) == (target, 302)
        assert fields["location"] == served.address + served.obi(PAGE, FILES + 2 * DAY)
    status, _, _ = get(served.address, "/obi/RePEc:ABC:wpaper:1")
    assert status == 302


# Ranges, HEAD ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "data"),
    [
        ("bytes=0-3", 206, PDF[:4]),
        ("bytes=-7", 206, PDF[-7:]),
        ("bytes=9-", 206, PDF[9:]),
        (f"bytes={len(PDF)}-", 416, b""),
        ("bytes=0-1,5-6", 200, PDF),
        ("bytes=9-3", 200, PDF),
        ("pages=1-2", 200, PDF),
    ],
)
def test_ranges(served: Served, text: str, status: int, data: bytes) -> None:
    target = served.obi(BAR, FILES)
    answer = served.web.get(target, headers={"Range": text})
    assert (answer.status_code, answer.content) == (status, data)
    assert answer.headers["Accept-Ranges"] == "bytes"
    head = served.web.head(target, headers={"Range": text})  # of GET alone (RFC 9110, 14.2)
    assert (head.status_code, head.content) == (200, b"")
    answer = served.web.get(target)
    for name in ("Content-Length", "Content-Range", "ETag", "Memento-Datetime", "Link"):
        assert head.headers.get(name) == answer.headers.get(name)


def test_a_range_of_something_else_is_not_sent(served: Served) -> None:
    target = served.obi(BAR, FILES)
    etag = served.web.get(target).headers["ETag"]
    same = served.web.get(target, headers={"Range": "bytes=0-3", "If-Range": etag})
    other = served.web.get(target, headers={"Range": "bytes=0-3", "If-Range": '"other"'})
    known = served.web.get(target, headers={"If-None-Match": etag})
    assert [same.status_code, other.status_code, known.status_code] == [206, 200, 304]
    assert known.content == b""


# TimeMaps, refipos, what this is -----------------------------------------------------------


def test_both_timemaps_tell_the_history(served: Served) -> None:
    links = by_rel(served.web.get("/timemap/link/RePEc%3Aabc%3Awpaper%3A1").text)
    values = served.web.get("/timemap/json/RePEc%3Aabc%3Awpaper%3A1").json()
    told = values["mementos"]["list"]
    assert [one.target for one in links["memento"]] == [one["uri"] for one in told]
    assert [one["incidence"] for one in told] == ["appearance", "change", "appearance"]
    assert values["deletions"] == [START + 2 * DAY]
    assert values["lost"] is None
    assert told[0]["md5"] == told[2]["md5"] != told[1]["md5"]
    for one in told:
        data = served.web.get(one["uri"]).content
        assert one["sha256"] == hashlib.sha256(data).hexdigest()
        assert one["length"] == len(data)
    lost = served.web.get(f"/timemap/json/{PAGE}").json()
    assert lost["lost"] == FILES + 3 * DAY


def test_refipos_at_a_time(served: Served) -> None:
    url = "/refipos/RePEc%3Aabc%3Awpaper%3A1"
    now = served.web.get(url).json()
    assert [one["fobi"] for one in now] == ["http://x.example/abc/1.pdf"]
    assert served.web.get(f"{url}?at={START + DAY}").json()[0]["since"] <= START + DAY
    assert served.web.get(f"{url}?at={START - 1}").json() == []
    for query in ("at=", "at=now", "since=1", f"at={START}&x=1"):
        assert served.web.get(f"{url}?{query}").status_code == 400
    assert served.web.get(f"/refipos/{PAGE}").status_code == 404


def test_it_says_what_it_is(served: Served) -> None:
    about, health = served.web.get("/").json(), served.web.get("/health").json()
    assert "Memento" in about["gateway"]
    assert {row["kind"]: row["obis"] for row in about["counts"]} == {"tobi": 2, "fobi": 9}
    assert health["gatherings"] == 10


# Guards ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_nothing_but_get_and_head(served: Served, method: str) -> None:
    status, fields, _ = get(served.address, "/obi/RePEc%3Aabc", method=method)
    assert (status, fields["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("127.0.0.1:80", 200),
        ("", 421),
        ("LOCALHOST", 200),
        ("[::1]:9", 200),
        ("127.0.0.1:x", 421),
        ("user@127.0.0.1", 421),
    ],
)
def test_it_is_asked_by_its_own_names_alone(served: Served, host: str, status: int) -> None:
    assert get(served.address, "/health", f"Host: {host}")[0] == status


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/obi/RePEc%253Aabc%253Awpaper%253A1", 400),
        ("/obi/..", 400),
        ("/obi/../archec.json", 400),
        ("/obi/%2e%2e%2farchec.json", 400),
        ("/obi/1352481230/../../archec.json", 400),
        ("/obi/RePEc%3Aabc%00", 400),
        ("/obi/http%3A%2F%2Fx.example%2F%00", 400),
        ("/obi/http://x.example/%00", 404),
        ("/obi/RePEc%3Aabc%0A", 404),
        ("/obi/%ff%fe", 400),
        ("/obi/%c0%ae%c0%ae%2fx", 400),
        ("/obi/file:///etc/passwd", 400),
        ("/obi/http://user:secret@x.example/", 400),
        ("/obi/\\..\\x", 400),
        ("/../../etc/passwd", 404),
        ("/obi/99999999999/RePEc%3Aabc%3Awpaper%3A1", 404),
        ("/obi/" + "a" * (LONGEST + 1), 414),
        ("/obi/RePEc:" + "%3A" * 1000, 400),
        ("http://x.example/obi/RePEc%3Aabc", 421),
        ("*", 404),
    ],
)
def test_odd_targets(served: Served, target: str, status: int) -> None:
    assert get(served.address, target)[0] == status


def test_an_id_of_64_kb_is_refused_and_the_next_one_answered(served: Served) -> None:
    assert get(served.address, "/obi/http://x.example/" + "a" * 65_536)[0] == 414
    with suppress(ConnectionError):  # it need not read all of that before it hangs up
        assert ask(served.address, b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\n\r\n")[0] == 400
    assert get(served.address, "/health")[0] == 200


def test_what_is_no_http_is_refused(served: Served) -> None:
    assert ask(served.address, b"\x16\x03\x01\x02\x00\x01\r\n\r\n")[0] == 400
    assert ask(served.address, "GET /obi/é HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())[0] == 400


def test_many_at_once_get_their_own(served: Served) -> None:
    wrong: list[object] = []

    def read() -> None:
        with httpx.Client(base_url=served.address) as web:
            for tist in (FILES, FILES + DAY, FILES + 2 * DAY):
                text = web.get(served.obi(PAGE, tist)).content
                wrong.extend([text] if text.endswith(b"second") != (tist == FILES + DAY) else [])

    threads = [threading.Thread(target=read) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Clients that hang -------------------------------------------------------------------------


class Impatient(PatientProtocol):
    patience = 0.2


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A gateway that hangs up soon, in a thread."""
    gateway = Gateway(holdings_of(filled(tmp_path / "archec")), ["127.0.0.1"])
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        server = uvicorn.Server(gateways.config(gateway, Impatient))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join()
            gateway.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /obi/",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
        b"POST /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nabc",
    ],
)
def test_a_client_that_hangs_is_hung_up_on(impatient: tuple[str, int], sent: bytes) -> None:
    with socket.create_connection(impatient, timeout=LIMIT) as connection:
        connection.sendall(sent)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer == b"" if not sent.startswith(b"POST") else answer.startswith(b"HTTP/1.1 405")


def test_one_that_goes_away_costs_nothing_more(
    impatient: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Impatient, "patience", LIMIT)
    for _ in range(20):
        with socket.create_connection(impatient, timeout=LIMIT) as connection:
            path = f"/obi/{FILES}/{BAR}".encode()
            connection.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % path)
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert get("http://{}:{}".format(*impatient), "/health")[0] == 200


def test_one_that_takes_nothing_is_hung_up_on(
    impatient: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hang-up shows without reading: what was read would make room for more."""
    monkeypatch.setattr(Impatient, "patience", LIMIT)
    monkeypatch.setattr(answers, "STALL", 0.2)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(impatient)
        path = f"/obi/{FILES + 5 * DAY}/{BIG}".encode()
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % path)
        poll = select.poll()
        poll.register(connection, select.POLLHUP | select.POLLERR)
        assert poll.poll(1000 * LIMIT)


# Nothing but the store is opened -----------------------------------------------------------

_listening: list[list[str]] = []
"""Who wants to know what is opened."""


def _heard(event: str, args: tuple[object, ...]) -> None:
    if _listening and event == "open" and isinstance(args[0], str | bytes):
        _listening[-1].append(os.fsdecode(args[0]))


sys.addaudithook(_heard)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = Gateway(holdings_of(filled(tmp_path_factory.mktemp("quiet") / "archec")), ["x"])
    gateway._holdings.history(PAGE)  # the database is open
    yield gateway
    gateway._holdings.close()


PARTS = st.sampled_from([
    "/obi/", "/timemap/link/", "/timemap/json/", "/refipos/", f"{FILES}/", "..", "/", "//", "%2e",
    "%2F", "%00", "%", "%c0%ae", "\\", "~", "RePEc:abc:wpaper:1", "RePEc%3Aabc", "http://", BAR,
    "http%3A%2F%2F", "x.example", "file:///etc/passwd", "archec.json", "?", "at=1", "2/", ":",
])  # fmt: skip


@given(st.lists(PARTS | st.text(max_size=8), max_size=8))
def test_no_address_leads_out_of_the_store(quiet: Gateway, parts: list[str]) -> None:
    path, _, query = quote("".join(parts), safe="!#$%&'()*+,/:;=?@[]~").partition("?")
    scope = {"type": "http", "method": "GET", "raw_path": path.encode(), "scheme": "http",
             "query_string": query.encode(), "headers": [(b"host", b"x")]}  # fmt: skip
    _listening.append([])
    try:
        answer = quiet._answered(Request(scope))
    finally:
        heard = _listening.pop()
    if isinstance(answer, StreamingResponse):
        os.close(answer._fd)  # type: ignore[attr-defined]
    assert answer.status_code in (200, 302, 304, 400, 404)
    root = str(quiet._holdings._store.root)  # type: ignore[attr-defined]
    assert [path for path in heard if not path.startswith(f"{root}/")] == []


def test_the_extra_that_is_missing_is_named(tmp_path: Path) -> None:
    home = filled(tmp_path / "archec")
    (tmp_path / "starlette").mkdir()
    (tmp_path / "starlette" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'starlette'\", name='starlette')"
    )
    store, path = f"LAFKA_OBJECT_STORE={home.archive}", f"{tmp_path}{os.pathsep}{ROOT}"
    done = starts.verb("lafka", "archec", "serve", "-s", store, folder=tmp_path, PYTHONPATH=path)
    sentence = "lafka archec serve: needs the package starlette: pip install lafka[web]\n"
    assert (done.returncode, done.stderr, done.stdout) == (2, sentence, "")


# A store that is being written to, rebuilt, damaged ----------------------------------------


@pytest.fixture
def holdings(tmp_path: Path) -> Iterator[tuple[Home, StoreHoldings]]:
    home = filled(tmp_path / "archec")
    made = holdings_of(home)
    yield home, made
    made.close()


def test_a_gathering_that_lives_shows(holdings: tuple[Home, StoreHoldings]) -> None:
    home, made = holdings
    before = made.history(PAGE)
    gather(home, FILES + 9 * DAY, {PAGE: b"<html><p>third"})
    after = made.history(PAGE)
    assert before is not None
    assert after is not None
    assert len(after.versions) == len(before.versions) + 1
    assert (before.lost, after.lost) == (FILES + 3 * DAY, None)


def test_records_that_were_made_again_are_read(holdings: tuple[Home, StoreHoldings]) -> None:
    home, made = holdings
    assert made.history(PAGE) is not None
    store = f"LAFKA_OBJECT_STORE={home.archive}"
    done = starts.verb("lafka", "archec", "rebuild", "-s", store, folder=home.root)
    assert done.returncode == 0, done.stderr
    gather(home, FILES + 9 * DAY, {PAGE: b"<html><p>third"})
    found = made.history(PAGE)
    assert found is not None
    assert found.versions[-1].tist == FILES + 9 * DAY


def test_a_file_that_was_emptied_is_told(holdings: tuple[Home, StoreHoldings]) -> None:
    home, made = holdings
    place = ObiStore(home.archive).path(FILES + DAY, PAGE)
    place.chmod(0o644)
    place.write_bytes(b"")
    with pytest.raises(KeeperError, match="0 bytes, and not the 15 of its journal"):
        made.held(PAGE, FILES + DAY)


def test_a_file_that_is_gone_is_told(holdings: tuple[Home, StoreHoldings]) -> None:
    home, made = holdings
    ObiStore(home.archive).path(FILES + DAY, PAGE).unlink()
    with pytest.raises(NotHeld):
        made.held(PAGE, FILES + DAY)
    assert isinstance(made.held(HOP, FILES), VersionElsewhere)


# curl, as the docs have it -----------------------------------------------------------------

HOW_TO = ROOT / "docs" / "how-to" / "serve-to-a-colleague.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_the_curl_lines_of_the_docs_do_what_they_say(tmp_path: Path) -> None:
    """Each line of the how-to that begins with ``$ curl`` is run; what stands below comes."""
    home = Home(tmp_path / "archec")
    home.put({"abc/wpaper/1.rdf": template(1, title="Costs")})
    home.tobi()
    home.put({"abc/wpaper/1.rdf": template(1, title="Costs and benefits")})
    home.tobi()
    arguments = ("archec", "serve", "--port", "0", "-s", f"LAFKA_OBJECT_STORE={home.archive}")
    blocks = re.findall(r"^\$ (curl .*)\n((?:(?!\$ |```).*\n)*)", HOW_TO.read_text(), re.MULTILINE)
    assert len(blocks) >= 5
    with serving(*arguments, folder=tmp_path) as address:
        for line, said in blocks:
            command = shlex.split(line.replace("http://127.0.0.1:8732", address))
            done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
            came = done.stdout.replace(address, "http://127.0.0.1:8732").replace("\r", "")
            for expected in said.splitlines():
                if expected.strip() and expected.strip() != "...":
                    assert expected.strip() in came, f"{line}: {expected}\n{came}"
