"""A huge file after a break: what is asked for, and what each answer means."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.targets.item import DownloadProgress, DownloadStep, begun, step_after
from lafka.warc import Fields

URL = "https://x.example/big"
DATE = "Tue, 03 Mar 2026 10:00:00 GMT"
PART = DownloadProgress(url=URL, offset=60, length=100, etag='"a"', last_modified=DATE)


@pytest.mark.parametrize(
    ("part", "headers"),
    [
        (PART, {"Range": "bytes=60-", "If-Range": '"a"'}),
        (DownloadProgress(url=URL, offset=60, etag='W/"a"', last_modified=DATE),
         {"Range": "bytes=60-", "If-Range": DATE}),
        (DownloadProgress(url=URL, offset=60, etag='W/"a"'), {}),
        (DownloadProgress(url=URL, offset=60), {}),
        (DownloadProgress(url=URL, etag='"a"'), {}),
    ],
)  # fmt: skip
def test_the_rest_is_asked_for_where_a_validator_guards_it(
    part: DownloadProgress, headers: Any
) -> None:
    assert part.headers() == headers


def partial(content_range: str, **more: str) -> Fields:
    return Fields({"Content-Range": content_range, **more})


@pytest.mark.parametrize(
    ("status", "headers", "step"),
    [
        (200, Fields(), "begin"),
        (200, Fields({"ETag": '"b"'}), "begin"),
        (206, partial("bytes 60-99/100"), "go-on"),
        (206, partial("bytes 60-99/100", ETag='"a"'), "go-on"),
        (206, partial("bytes 60-99/*"), "go-on"),
        (206, partial("BYTES 60-99/100"), "go-on"),
        (206, partial("bytes 60-99/100", ETag='"b"'), "ask-anew"),
        (206, partial("bytes 60-99/100", **{"Last-Modified": "other"}), "ask-anew"),
        (206, partial("bytes 60-99/100", **{"Content-Encoding": "gzip"}), "ask-anew"),
        (206, partial("bytes 0-99/100"), "ask-anew"),
        (206, partial("bytes 61-99/100"), "ask-anew"),
        (206, partial("bytes 60-89/100"), "ask-anew"),
        (206, partial("bytes 60-120/121"), "ask-anew"),
        (206, partial("bytes 60-89/*"), "ask-anew"),
        (206, partial("bytes 60-59/100"), "ask-anew"),
        (206, partial("rows 60-99/100"), "ask-anew"),
        (206, Fields(), "ask-anew"),
        (206, Fields({"Content-Type": "multipart/byteranges; boundary=x"}), "ask-anew"),
        (416, partial("bytes */60"), "ask-anew"),
        (416, partial("bytes */100"), "ask-anew"),
        (416, Fields(), "ask-anew"),
        (404, Fields(), "fail"),
        (403, Fields(), "fail"),
        (429, Fields(), "fail"),
        (503, Fields(), "fail"),
        (302, Fields(), "fail"),
    ],
)
def test_each_answer_has_its_meaning(status: int, headers: Fields, step: str) -> None:
    assert step_after(PART, status, headers) == step


def test_a_whole_part_is_verified() -> None:
    assert PART.at(100).is_whole
    assert not PART.is_whole
    assert step_after(PART.at(100), 416, partial("bytes */100")) is DownloadStep.VERIFY
    unknown = DownloadProgress(url=URL, offset=100, etag='"a"')
    assert not unknown.is_whole
    assert step_after(unknown, 416, partial("bytes */100")) is DownloadStep.VERIFY
    assert step_after(unknown, 416, partial("bytes */99")) is DownloadStep.ASK_ANEW


def test_a_206_that_nobody_asked_for_is_of_no_use() -> None:
    assert (
        step_after(DownloadProgress(url=URL), 206, partial("bytes 0-9/10")) is DownloadStep.ASK_ANEW
    )


@pytest.mark.parametrize(
    ("headers", "length"),
    [
        ({"Content-Length": "100"}, 100),
        ({"Content-Length": "100", "Content-Encoding": "identity"}, 100),
        ({"Content-Length": "100", "Content-Encoding": "gzip"}, None),
        ({"Content-Length": "100", "Transfer-Encoding": "chunked"}, None),
        ({"Content-Length": "-1"}, None),
        ({"Content-Length": "100, 100"}, None),
        ({}, None),
    ],
)
def test_a_length_is_believed_where_the_body_is_the_file(headers: Any, length: int | None) -> None:
    part = begun(URL, 200, Fields({**headers, "ETag": '"a"', "Last-Modified": DATE}))
    coding = "gzip" if "gzip" in headers.values() else None
    assert part == DownloadProgress(
        url=URL, length=length, etag='"a"', last_modified=DATE, coding=coding
    )
    assert (part.at(7).headers() == {}) == (coding is not None)  # the rest may be coded otherwise
    assert DownloadProgress.parse(part.to_bytes()) == part


parts = st.builds(
    DownloadProgress,
    url=st.text(max_size=5),
    offset=st.integers(0, 2**60),
    length=st.none() | st.integers(0, 2**60),
    etag=st.none() | st.text(max_size=5),
    last_modified=st.none() | st.text(max_size=5),
)


@given(parts)
def test_a_part_survives_its_file(part: DownloadProgress) -> None:
    assert DownloadProgress.parse(part.to_bytes()) == part


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"5", b"{}", b'{"url": 5}', b'{"url": "x", "offset": -1}', b'{"url": "x", "y": 1}',
     b'{"url": "x", "offset": true}', b'{"url": "x", "length": "5"}', b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_part_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        DownloadProgress.parse(data)


@dataclass
class Server:
    """Serves *content*, breaks where it is told to, and may change its file or ignore ranges."""

    content: bytes
    etag: str | None
    plan: list[dict[str, Any]]
    sent: int = 0
    log: list[tuple[int, int]] = field(default_factory=list)

    def answer(self, headers: dict[str, str]) -> tuple[int, Fields, bytes]:
        now = self.plan.pop(0) if self.plan else {}
        if "content" in now:
            self.content, self.etag = now["content"], f'"{len(self.log)}"' if self.etag else None
        known = {"ETag": self.etag} if self.etag else {}
        if "status" in now:
            return now["status"], Fields(), b"no"
        start = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", headers.get("Range", ""))
        if wanted and headers["If-Range"] == self.etag and not now.get("ignores"):
            start = int(wanted[1]) + now.get("shift", 0)
            if start >= len(self.content):
                return 416, Fields({"Content-Range": f"bytes */{len(self.content)}"}), b""
        body = self.content[start:][: now.get("cut", len(self.content))]
        self.log.append((start, len(body)))
        total = len(self.content)
        if start or (wanted and headers["If-Range"] == self.etag and not now.get("ignores")):
            known["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
            return 206, Fields(known), body
        known["Content-Length"] = str(total)
        return 200, Fields(known), body


def download(server: Server, most: int = 60) -> bytes | None:
    """What a target would do: at most *most* requests until all is there."""
    part, data = DownloadProgress(url=URL), b""
    for _ in range(most):
        if part.is_whole:
            return data
        part = DownloadProgress.parse(part.to_bytes())  # as after a kill
        status, headers, body = server.answer(part.headers())
        step = step_after(part, status, headers)
        if step is DownloadStep.VERIFY:
            return data
        if step is DownloadStep.ASK_ANEW:
            part, data = DownloadProgress(url=URL), b""
        elif step is DownloadStep.BEGIN:
            part, data = begun(URL, status, headers), body
            part = part.at(len(body))
        elif step is DownloadStep.GO_ON:
            data += body
            part = part.at(len(data))
    return None


events = st.fixed_dictionaries(
    {},
    optional={
        "cut": st.integers(0, 40),
        "status": st.sampled_from([403, 404, 429, 500, 503]),
        "ignores": st.booleans(),
        "shift": st.integers(0, 3),
        "content": st.binary(min_size=1, max_size=60),
    },
)


@given(
    st.binary(min_size=1, max_size=100),
    st.sampled_from(['"a"', None]),
    st.lists(events, max_size=20),
)
def test_whatever_breaks_the_file_is_the_servers_last_one(
    content: bytes, etag: str | None, plan: list[dict[str, Any]]
) -> None:
    server = Server(content, etag, plan)
    assert download(server) == server.content


def test_after_a_break_only_the_rest_is_fetched() -> None:
    server = Server(bytes(100), '"a"', [{"cut": 60}, {"status": 503}, {"cut": 30}])
    assert download(server) == bytes(100)
    assert server.log == [(0, 60), (60, 30), (90, 10)]
