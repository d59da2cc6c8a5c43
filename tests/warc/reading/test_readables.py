"""A volume from any readable: a pipe, a socket, an HTTP answer, the member of a zip."""

import gzip
import http.server
import io
import os
import socket
import threading
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from lafka.warc import Volume, check, open_volume
from lafka.warc.reading.handles import KeptStream, SeekableSource, source_of
from tests.warc.arcs import FILEDESC, PAGE
from tests.warc.captures import request, response

PARTS = [response(name="1"), request(name="2"), response(b"x" * 300_000, name="3")]
FORMS = {
    "plain": b"".join(PARTS),
    "gzip": b"".join(map(gzip.compress, PARTS)),
    "one member": gzip.compress(b"".join(PARTS)),
}
Opened = Callable[[bytes], IO[bytes]]


def over_a_pipe(data: bytes) -> IO[bytes]:
    read, write = os.pipe()

    def send() -> None:
        with os.fdopen(write, "wb") as file:
            file.write(data)

    threading.Thread(target=send, daemon=True).start()
    return os.fdopen(read, "rb")


def over_a_socket(data: bytes) -> IO[bytes]:
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs:
            theirs.sendall(data)

    threading.Thread(target=send, daemon=True).start()
    with ours:
        return ours.makefile("rb")


def in_a_zip(data: bytes) -> IO[bytes]:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.warc", data)
    return zipfile.ZipFile(file).open("a.warc")


def from_its_place_on(data: bytes) -> IO[bytes]:
    file = io.BytesIO(b"something else" + data)
    file.seek(len(b"something else"))
    return file


@pytest.fixture(params=[over_a_pipe, over_a_socket, in_a_zip, from_its_place_on])
def opened(request) -> Iterator[Opened]:
    files: list[IO[bytes]] = []

    def opened(data: bytes) -> IO[bytes]:
        files.append(request.param(data))
        return files[-1]

    yield opened
    for file in files:
        file.close()


@pytest.mark.parametrize("form", FORMS)
def test_records_are_those_of_the_file(opened: Opened, form: str, tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(FORMS[form])
    same = list(Volume(path))
    volume = Volume(opened(FORMS[form]))
    found = list(volume)
    assert [(r.offset, r.length, r.header) for r in found] == [
        (r.offset, r.length, r.header) for r in same
    ]
    assert [b"".join(r.payload()) for r in found] == [b"".join(r.payload()) for r in same]
    assert [volume.at(r.offset, r.inner) for r in found] == found == list(volume)
    assert [problem.code for problem in volume.problems] == (
        ["one-member"] if form == "one member" else []
    )
    volume.close()


@pytest.mark.parametrize("form", FORMS)
def test_a_torn_stream_is_told_as_a_torn_file_is(opened: Opened, form: str) -> None:
    with Volume(opened(FORMS[form][:-20])) as volume:
        assert len(list(volume)) == 2
        assert [p.code for p in volume.problems if p.severity == "error"] == [
            "torn-tail" if form == "plain" else "torn-member"
        ]


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_is_checked(opened: Opened, form: str) -> None:
    checked = check(Volume(opened(FORMS[form])))
    assert [problem.code for problem in checked if problem.severity == "error"] == []
    assert checked.records == 3


def test_a_stream_may_be_an_arc(opened: Opened) -> None:
    with open_volume(opened(gzip.compress(FILEDESC) + gzip.compress(PAGE))) as volume:
        assert [record.url for record in volume] == ["filedesc://a.arc", "http://a.example/x"]


def test_a_record_is_given_before_the_stream_is_over() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as file, os.fdopen(write, "wb") as sent:
        sent.write(response(name="1") + response(b"x" * 50_000, name="2"))
        sent.flush()
        records = iter(Volume(file))
        assert next(records).id == "<urn:test:1>"
        sent.close()
        assert [record.id for record in records] == ["<urn:test:2>"]


class _Ranges(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        part = FORMS["plain"][int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        pass


def test_a_range_of_bytes_over_http_is_a_volume() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ranges)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        begin, size = len(PARTS[0]), len(PARTS[1])
        asked = urllib.request.Request(
            f"http://127.0.0.1:{server.server_port}/",
            headers={"Range": f"bytes={begin}-{begin + size - 1}"},
        )
        with urllib.request.urlopen(asked) as answer, Volume(answer) as volume:
            assert [record.id for record in volume] == ["<urn:test:2>"]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_what_comes_once_is_kept_and_what_can_be_sought_is_not() -> None:
    assert isinstance(source_of(io.BytesIO(b"x")), SeekableSource)
    with over_a_pipe(b"hello, world") as file:
        source = source_of(file)
        assert isinstance(source, KeptStream)
        assert source.read(7, 100) == b"world"
        assert (source.read(0, 5), source.read(12, 1), source.size) == (b"hello", b"", 12)
        assert b"".join(source.chunks(5, 3)) == b", world"
