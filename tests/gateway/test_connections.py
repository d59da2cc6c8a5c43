"""Heads and bodies of every kind on a real connection: read as they came, bounded, in order."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from lafka.web.connections import HEAD_MAX, LINES_MAX, PatientProtocol, config
from tests.waiting import LIMIT

HOST = b"Host: x\r\n"


@dataclass
class Echo:
    """An application that answers what it was asked, and notes how many ask at once."""

    address: tuple[str, int] = ("", 0)
    running: int = 0
    most: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(5):  # whatever else has come is read meanwhile
            await asyncio.sleep(0)
        request = Request(scope)
        told = {name: scope[name].decode("latin-1") for name in ("raw_path", "query_string")}
        headers = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
        answer = {**told, "method": request.method, "headers": headers}
        self.running -= 1
        await Response(json.dumps(answer))(scope, receive, send)


class Patient(PatientProtocol):
    patience = LIMIT


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    made = Echo()
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        made.address = listening.getsockname()
        server = uvicorn.Server(config(made, Patient))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield made
        finally:
            server.should_exit = True
            thread.join()


def told(echo: Echo, *parts: bytes) -> bytes:
    """All that is answered to *parts*, sent one after the other, until the connection ends."""
    with socket.create_connection(echo.address, timeout=LIMIT) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for part in parts:
                connection.sendall(part)
        except ConnectionError:
            pass  # hung up on already; what was said before is there still
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def answers(data: bytes) -> list[dict[str, Any]]:
    """What the application told in each answer of *data*, all of them 200."""
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


def get(target: bytes, more: bytes = HOST) -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\n" + more + b"\r\n"


LAST = get(b"/last", HOST + b"Connection: close\r\n")


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/", "/", ""),
        (b"*", "*", ""),
        (b"//a//b", "//a//b", ""),
        (b"/a?b?c=%20", "/a", "b?c=%20"),
        (b"/a#b?c#d", "/a#b", "c#d"),
        (b"/\\..\\%2e%2E", "/\\..\\%2e%2E", ""),
        (b"http://y:99/a?b", "/a", "b"),
        (b"HTTP://y:99?b", "/", "b"),
        (b"/web/http://y/?q", "/web/http://y/", "q"),
    ],
)
def test_targets_come_as_they_were_sent(echo: Echo, target: bytes, path: str, query: str) -> None:
    (answer,) = answers(told(echo, get(target, HOST + b"Connection: close\r\n")))
    assert (answer["raw_path"], answer["query_string"]) == (path, query)


def test_fields_come_as_they_were_sent(echo: Echo) -> None:
    fields = HOST + b"X-A: \t a b \t\r\nx-a:\r\nX-B:\xe9\r\nConnection: close\r\n"
    (answer,) = answers(told(echo, get(b"/", fields)))
    assert answer["headers"] == [
        ["host", "x"], ["x-a", "a b"], ["x-a", ""], ["x-b", "é"], ["connection", "close"],
    ]  # fmt: skip


WRONG = {
    "no Host": get(b"/", b""),
    "two Hosts": get(b"/", HOST + HOST),
    "no HTTP": b"\x16\x03\x01\x02\x00\x01",
    "an empty line first": b"\r\n",
    "no version": b"GET /\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "no method": b" / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a foreign target": get("/é".encode()),
    "a target with NUL": get(b"/\0"),
    "a target with DEL": get(b"/\x7f"),
    "NUL in a field": get(b"/", HOST + b"X: a\0b\r\n"),
    "CR in a field": get(b"/", HOST + b"X: a\rY: b\r\n"),
    "a blank before the colon": get(b"/", HOST + b"X : a\r\n"),
    "no colon": get(b"/", HOST + b"X\r\n"),
    "lengths that differ": get(b"/", HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n"),
    "a length that is none": get(b"/", HOST + b"Content-Length: +1\r\n"),
    "a length and chunks": get(b"/", HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
    "too many lines": get(b"/", HOST + b"X: a\r\n" * LINES_MAX),
    "a head without an end": b"GET /" + b"a" * (HEAD_MAX - 4),
    "a field without an end": b"GET / HTTP/1.1\r\nX: " + b"a" * (HEAD_MAX - 18),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_request_is_told_at_once(echo: Echo, name: str) -> None:
    """Also behind one that is: the answer to that is whole."""
    assert told(echo, WRONG[name]).startswith(b"HTTP/1.1 400 ")
    before, bad, after = told(echo, get(b"/first") + WRONG[name]).rpartition(b"HTTP/1.1 400 ")
    assert bad
    assert [one["raw_path"] for one in answers(before)] == ["/first"]
    assert after.endswith(b"Invalid HTTP request received.")


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(1, 200), max_size=12))
def test_requests_can_be_cut_anywhere_and_are_answered_in_turn(echo: Echo, cuts: list[int]) -> None:
    data = get(b"/1") + get(b"/2?x") + get(b"/3", HOST + b"X: " + b"y" * 60 + b"\r\n") + LAST
    places = [0, *sorted({cut for cut in cuts if cut < len(data)}), len(data)]
    parts = [data[start:end] for start, end in pairwise(places)]
    echo.most = 0
    found = answers(told(echo, *parts))
    assert [one["raw_path"] for one in found] == ["/1", "/2", "/3", "/last"]
    assert echo.most == 1


BODIES = {
    "a body": (b"Content-Length: 6\r\n", b"abc\n\n\n"),
    "chunks": (b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n0\r\nX: y\r\n\r\n"),
    "chunks that are none": (b"Transfer-Encoding: chunked\r\n", b"zzz\r\n\r\n"),
    "a body of which little comes": (b"Content-Length: 1000000\r\n", b"abc"),
    "a body of some size": (b"Content-Length: 9000000\r\n", b"a" * 9_000_000),
    "an upgrade": (b"Connection: Upgrade\r\nUpgrade: h2c\r\n", b"\0\0\0"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_a_body_is_not_read_and_is_the_last_of_its_connection(
    echo: Echo, method: bytes, name: str
) -> None:
    """What stands behind a body is no request: the client may mean it to be the body's."""
    fields, body = BODIES[name]
    head = method + b" /with HTTP/1.1\r\n" + HOST + fields + b"\r\n"
    found = answers(told(echo, head + body + get(b"/behind")))
    assert [(one["method"].encode(), one["raw_path"]) for one in found] == [(method, "/with")]


def test_a_body_of_nothing_is_no_body(echo: Echo) -> None:
    found = answers(told(echo, get(b"/with", HOST + b"Content-Length: 0\r\n") + LAST))
    assert [one["raw_path"] for one in found] == ["/with", "/last"]


def test_http_1_0_is_answered_once(echo: Echo) -> None:
    (answer,) = answers(told(echo, b"GET /old HTTP/1.0\r\n\r\n" + LAST))
    assert answer["raw_path"] == "/old"


@pytest.mark.parametrize("method", [b"HEAD", b"DELETE"])
def test_an_answer_without_a_body_is_not_kept_back(echo: Echo, method: bytes) -> None:
    data = told(echo, method + b" /1 HTTP/1.1\r\nHost: x\r\n\r\n" + LAST)
    head, _, rest = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert rest.startswith(b"HTTP/1.1 200 ") == (method == b"HEAD")
    assert rest.count(b'"raw_path"') == (1 if method == b"HEAD" else 2)
