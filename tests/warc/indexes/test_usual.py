"""The quick way to a row of the database says what the long way says, or nothing."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.warc.errors import BadWarc
from lafka.warc.indexes.base import Entry
from lafka.warc.indexes.sqlite import Row, row_of
from lafka.warc.indexes.usual import usual_rows
from lafka.warc.reading.volumes import WarcVolume
from tests.stores import KINDS, START, Store, page, pdf
from tests.warc.test_samples import volumes


def quick_rows(path: Path, start: int = 0, end: int = -1) -> tuple[int, list[Row]]:
    """Where the quick way ends in the file at *path*, and its rows; *end*: that of the file."""
    found: list[Row] = []
    with path.open("rb") as file:
        size = path.stat().st_size
        ended = usual_rows(file.fileno(), "v", start, size if end < 0 else end, found)
    return ended, found


def all_rows(path: Path) -> list[Row]:
    """As many as the long way gives, strictly."""
    found: list[Row] = []
    with suppress(BadWarc), WarcVolume(path, strict=True) as volume:
        found.extend(row_of(Entry.of(record, "v")) for record in volume)
    return found


@pytest.mark.parametrize("path", volumes(), ids=lambda path: path.name)
def test_records_of_others_get_the_same_rows_as_far_as_it_goes(path: Path) -> None:
    rows = all_rows(path)
    for start in (0, *(row[4] for row in rows)):
        ended, found = quick_rows(path, start)
        behind = [row for row in rows if row[4] >= start]
        assert found == behind[: len(found)]
        assert ended == (found[-1][4] + found[-1][14] if found else start)


def whole(path: Path) -> list[Row]:
    """The rows of the file at *path*, which the quick way reads to its end."""
    ended, found = quick_rows(path)
    assert ended == path.stat().st_size
    assert found == all_rows(path)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_what_we_write_is_read_to_its_end(tmp_path: Path, kind: str) -> None:
    store = Store(tmp_path)
    store.put(store.fut(pdf(1, size=9000), kind, hops=1))
    store.put(store.fut(pdf(1, size=9000), kind, at=START.replace(day=21)))
    assert len(whole(store.warc())) >= 8
    ended, found = quick_rows(store.warc(), end=1)
    assert (len(found), ended) == (1, found[0][14])  # the others begin behind


def test_so_are_a_page_and_the_fut_that_was_found_on_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    splap = store.splap(page())
    store.put(splap, store.found(splap, "http://x.example/1.pdf?a=?b", pdf(1)))
    assert len(whole(store.warc())) > 4


def test_what_is_no_plain_file_is_left_to_the_long_way(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    record = written(HEADER, HEAD, BODY)
    member = gzip.compress(record)
    for data, start in ((member, 0), (member + record, len(member)), (b"", 0), (b"WARC/1.1", 0)):
        path.write_bytes(data)
        assert quick_rows(path, start) == (start, [])
    path.write_bytes(record)
    assert quick_rows(path, end=len(record) + 1) == (0, [])  # shorter than is said


HEADER = (
    "WARC-Type: response", "WARC-Record-ID: <urn:x:1>", "WARC-Date: 2026-11-20T10:11:12.250000Z",
    "WARC-Target-URI: http://x.example/a?b=c", "WARC-Warcinfo-ID: <urn:x:0>",
    "WARC-IP-Address: 127.0.0.1", "WARC-Payload-Digest: sha256:" + "0a" * 32,
    "WARC-Identified-Payload-Type: application/pdf",
    "Content-Type: application/http;msgtype=response", "WARC-Block-Digest: sha256:" + "1b" * 32,
)  # fmt: skip
HEAD = ("HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", "Content-Length: 9")
BODY = b"5\r\nhello\r\n0\r\n\r\n"
ODD_HEADER = (
    "WARC-Type: request", "WARC-Type: resource", "WARC-Type: revisit", "WARC-Type: Response",
    "WARC-Record-ID: urn:x:1", "WARC-Record-ID: <<a>>", "WARC-Record-ID: =?utf-8?Q?=3Cb=3E?=",
    "WARC-Date: 2026", "WARC-Date: 2026-11-20T23:59:60Z", "WARC-Date: 2026-02-30T00:00:00Z",
    "WARC-Date: 20261120", "WARC-Target-URI: <http://y.example/>", "WARC-Target-URI: http://é/",
    "WARC-Target-URI: http://x.example/a b", "WARC-Target-URI: urn:x:=?", " folded", "# comment",
    "WARC-Target-URI:http://z.example/ ", "warc-target-uri: http://w.example/", "no colon",
    "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "WARC-Payload-Digest: sha256:0A",
    "WARC-Payload-Digest: SHA256:" + "0A" * 32, "WARC-Block-Digest: md5:ffff", "WARC-Protocol: h2",
    "Content-Type: application/http", "Content-Type: Application/HTTP ; msgtype=response",
    "Content-Type: text/plain", "Content-Type: =?utf-8?Q?text/plain?=", "Content-Type: ",
    "WARC-Truncated: length", "Lafka-Truncated: payload", "X-Odd: \x01", "WARC-Cipher-Suite: é",
)  # fmt: skip
ODD_HEAD = (
    "GET /a HTTP/1.1", "GET /a", "HEAD /a HTTP/1.0", "POST /a HTTP/1.1", "HTTP/1.1 204 No Content",
    "HTTP/1.1 304", "HTTP/1.0 404 Not \xe9", "HTTP/1.1 103 Early Hints", "HTTP/1.1  200  OK ",
    "ICY 200 OK", "http/1.1 200 ok", "HTTP/2 200", "Content-Type: a/b", "content-type : A/B",
    "Content-Type:  x/y", "Content-Type: x/y ", "Content-Type:", "Content-Type-Odd: 1", "\tfolded",
    "CONTENT-LENGTH: 0", "Content-Length: 15", "Content-Length: 14, 14", "Content-Length: 99",
    "Content-Length: +5", "Content-Length: ٣", "\rContent-Type: s/t", "Content-Type: u/v\r",
    "Content-Type: l/f\nX-Bare: 1", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip",
    "Transfer-Encoding: Chunked, identity", "Content-Encoding: gzip", "no colon", "", "X: \0",
)  # fmt: skip


def written(header: tuple[str, ...], head: tuple[str, ...], body: bytes) -> bytes:
    block = "".join(f"{line}\r\n" for line in (*head, "")).encode("utf-8") + body
    said = "".join(f"{line}\r\n" for line in ("WARC/1.1", *header, f"Content-Length: {len(block)}"))
    return said.encode() + b"\r\n" + block + b"\r\n\r\n"


def changed(lines: tuple[str, ...], odd: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """*lines* with up to three changes: one of *odd* put in, or in the place of what is there."""
    change = st.tuples(st.integers(0, len(lines)), st.integers(0, 1), st.sampled_from(odd))

    def with_changes(changes: list[tuple[int, int, str]]) -> tuple[str, ...]:
        made = list(lines)
        for place, removed, line in changes:
            made[place : place + removed] = [line]
        return tuple(made)

    return st.lists(change, max_size=3).map(with_changes)


def one_for_one(lines: tuple[str, ...], odd: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """*lines*, each perhaps replaced by one of *odd* of its name."""
    own = [[line, *(one for one in odd if one[:9].lower() == line[:9].lower())] for line in lines]
    return st.tuples(*map(st.sampled_from, own))


@given(
    st.one_of(changed(HEADER, ODD_HEADER), one_for_one(HEADER, ODD_HEADER)),
    st.one_of(changed(HEAD, ODD_HEAD), one_for_one(HEAD, ODD_HEAD)),
    st.sampled_from([BODY, b"", b"hello", b"x" * 20, b"5\nhello", b"x" * 9000]),
    st.sampled_from([b"", b"\r\n", b"WARC/1.1\r\n", written(HEADER, HEAD, b"2")]),
)
@example(HEADER, HEAD, BODY, b"")
@example(HEADER, (*HEAD[:2], "Transfer-Encoding: chunked"), BODY, b"")
@example(HEADER, (*HEAD[:2], "Transfer-Encoding: chunked"), b"hello", b"")
@example(HEADER, (*HEAD[:2], "\rContent-Type: s/t"), b"hello", b"")
def test_what_is_odd_gets_the_same_rows_as_far_as_it_goes(
    header: tuple[str, ...], head: tuple[str, ...], body: bytes, behind: bytes
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.warc"
        path.write_bytes(written(header, head, body) + behind)
        ended, found = quick_rows(path)
        assert found == all_rows(path)[: len(found)]
        assert ended == (found[-1][4] + found[-1][14] if found else 0)


def test_the_plain_one_is_not_left_to_the_long_way(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    for body in (b"hello", b"123456789"):  # shorter than its length says, and as long
        path.write_bytes(written(HEADER, HEAD, body))
        assert len(whole(path)) == 1
    path.write_bytes(written(HEADER, HEAD, b"1234567890"))  # the digest decides
    assert quick_rows(path) == (0, [])
