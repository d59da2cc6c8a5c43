import gzip
import os
import threading
import zlib
from datetime import UTC, datetime
from functools import partial

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from lafka.capture.exchanges import (
    IN_MEMORY,
    Exchange,
    Spool,
    decoded_opening,
    kind_of_opening,
    without_secrets,
)
from lafka.errors import StorageTrouble

NOW = datetime(2026, 11, 20, 10, 11, 12, 345678, tzinfo=UTC)


def test_a_small_spool_stays_in_memory(tmp_path):
    spool = Spool(tmp_path)
    spool.append(b"x" * IN_MEMORY)
    assert (spool.size, spool.file, spool.fileno()) == (IN_MEMORY, None, None)
    assert spool.in_memory == IN_MEMORY


def test_a_big_spool_is_a_file_without_a_name(tmp_path):
    spool = Spool(tmp_path)
    spool.append(b"x" * IN_MEMORY)
    spool.append(b"yz")
    assert os.fstat(spool.fileno()).st_size == spool.size == IN_MEMORY + 2
    assert spool.in_memory == 0
    assert list(tmp_path.iterdir()) == []
    assert spool.read(IN_MEMORY - 1, 9) == b"xyz"
    spool.close()
    assert (spool.size, spool.file) == (0, None)


@given(
    st.lists(st.one_of(st.binary(max_size=9), st.integers(0, 300_000).map(bytes)), max_size=6),
    st.integers(0, 400_000),
    st.integers(1, 300_000),
)
def test_a_spool_gives_back_what_came(parts, trimmed, size):
    spool = Spool()
    for part in parts:
        spool.append(part)
    whole = b"".join(parts)
    kept = max(len(whole) - trimmed, 0)
    spool.trim(trimmed)
    assert spool.size == kept
    assert b"".join(spool.chunks(size=size)) == whole[:kept]
    spool.append(b"after")
    assert b"".join(spool.chunks(start=kept)) == b"after"
    spool.close()


def test_what_is_in_memory_is_given_as_it_came_and_not_joined_for_a_head():
    spool, parts = Spool(), [b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 70_000, b"b" * 70_000]
    for part in parts:
        spool.append(part)
    assert spool.read(0, 8192) == b"".join(parts)[:8192]
    assert spool.read(12, 65_000) == b"".join(parts)[12:65_012]
    assert [*map(id, spool.chunks())] == [*map(id, parts)]
    assert [*spool.chunks(30)] == [parts[1][11:], parts[2]]


def test_a_thread_reads_a_spool():
    spool = Spool()
    spool.append(b"z" * (IN_MEMORY + 1))
    found = []
    thread = threading.Thread(target=lambda: found.extend(spool.chunks(size=100_000)))
    thread.start()
    thread.join()
    assert b"".join(found) == b"z" * (IN_MEMORY + 1)


def test_a_folder_that_is_not_there_is_trouble_that_names_it(tmp_path):
    spool = Spool(tmp_path / "gone")
    spool.append(b"x" * IN_MEMORY)
    with pytest.raises(StorageTrouble, match="gone"):
        spool.append(b"x")


def test_a_full_disk_is_trouble():
    spool = Spool()
    spool.append(b"x" * (IN_MEMORY + 1))
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123
        os.dup2(full.fileno(), spool.fileno())
    with pytest.raises(StorageTrouble, match="No space left"):
        spool.append(b"x")


def test_an_exchange_starts_over():
    exchange = Exchange(url="HTTPS://a.example/", method="GET")
    exchange.begin(NOW, "127.0.0.1")
    exchange.request = b"GET"
    exchange.response.append(b"half")
    exchange.begin(NOW.replace(second=13), "127.0.0.2")
    assert (exchange.request, exchange.response.size, exchange.tls) == (b"", 0, True)
    assert (exchange.started.second, exchange.ip_address) == (13, "127.0.0.2")


def test_secrets_are_removed_and_nothing_else():
    request = (
        b"POST /?authorization=1 HTTP/1.1\r\nHost: a\r\nAUTHORIZATION: Basic c2VjcmV0\r\n"
        b"X-Authorization: kept\r\nproxy-authorization:Basic c2VjcmV0\r\n\tc2VjcmV0\r\n"
        b"Last: 1\r\n\r\nAuthorization: in the body\r\n\r\n"
    )
    assert without_secrets(request) == (
        b"POST /?authorization=1 HTTP/1.1\r\nHost: a\r\nAUTHORIZATION: [removed]\r\n"
        b"X-Authorization: kept\r\nproxy-authorization: [removed]\r\n"
        b"Last: 1\r\n\r\nAuthorization: in the body\r\n\r\n"
    )


@given(st.binary())
def test_a_request_without_secrets_is_untouched(request_):
    if b"authorization" not in request_.lower():
        assert without_secrets(request_) == request_


CODINGS = {
    "": lambda data: data,
    " Identity": lambda data: data,
    "gzip": gzip.compress,
    "X-GZIP": gzip.compress,
    "deflate": zlib.compress,
    "deflate ": lambda data: zlib.compress(data, wbits=-15),
    "br": partial(brotli.compress, quality=5),
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"%PDF-1.7\n\x00\xff", "pdf"),
        (b"\xef\xbb\xbfjunk\r\n%PDF-1.4", "pdf"),
        (b" " * 1019 + b"%PDF-1.4", "pdf"),
        (b" " * 1020 + b"%PDF-1.4", "text"),
        (b"<html>\xe4\xf6", "text"),
        ("\ufeff<html>".encode("utf-16-le"), "text"),
        (b"", "text"),
        (b"PK\x03\x04\x00" * 9, "binary"),
    ],
)
def test_the_opening_decides(coding, body, kind):
    coded = CODINGS[coding](body)
    opening = decoded_opening(coded, coding)
    assert opening == body[:1024]
    assert kind_of_opening(opening, "application/octet-stream") == kind


def test_a_content_type_of_text_is_believed_where_the_bytes_say_nothing():
    assert kind_of_opening(b"a\x00b", " Text/html; charset=utf-16") == "text"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress", "gzip, gzip"])
def test_what_cannot_be_decoded_is_unknown(coding):
    assert decoded_opening(b"<html>\xff\xff\xff\xff no coding at all", coding) is None
    assert kind_of_opening(None, "text/html") == "unknown"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_decoded_no_further_than_asked(coding):
    coded = CODINGS[coding](bytes(50_000_000))
    assert decoded_opening(coded, coding) == bytes(1024)
