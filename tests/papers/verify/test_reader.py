from __future__ import annotations

import base64
import gzip
import hashlib
import re
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lafka.witness.digests import canonical_digest
from lafka.witness.headers import _parse_lines as parse_lines
from lafka.witness.headers import _parse_plain as parse_plain
from lafka.witness.problems import FileProblem
from lafka.witness.reader import StrictReader, StrictRecord, records
from tests.stores import START, Store, page, pdf

ROOT = Path(__file__).parents[3]
SHARED = Path(__file__).parents[3].parent / "shared" / "warc"
HTTP = "application/http; msgtype=response"


def record(
    block: bytes = b"",
    *,
    kind: str = "resource",
    number: int = 1,
    version: str = "WARC/1.1",
    media: str = "text/plain",
    extra: str = "",
) -> bytes:
    """A record with all that it needs; *extra* holds more header lines."""
    digest = hashlib.sha256(block).hexdigest()
    lines = [
        version,
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012x}>",
        "WARC-Date: 2026-11-20T10:11:12Z",
        "WARC-Target-URI: http://x.example/",
        f"Content-Type: {media}",
        f"WARC-Block-Digest: sha256:{digest}",
        f"Content-Length: {len(block)}",
    ]
    head = "".join(f"{line}\r\n" for line in lines) + extra + "\r\n"
    return head.encode() + block + b"\r\n\r\n"


def read(path: Path, data: bytes, **how: object) -> tuple[list[StrictRecord], list[FileProblem]]:
    path.write_bytes(data)
    reader = StrictReader(path, **how)  # type: ignore[arg-type]
    return list(reader), reader.problems


def codes(path: Path, data: bytes) -> list[str]:
    return [problem.code for problem in read(path, data)[1]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.warc"


def test_offsets_blocks_and_the_chain(path: Path) -> None:
    first, second = record(b"one"), record(b"second", number=2)
    found, problems = read(path, first + second)
    assert problems == []
    assert [r.offset for r in found] == [0, len(first)]
    assert [r.end for r in found] == [len(first), len(first + second)]
    data = first + second
    assert [data[r.block : r.block + r.length] for r in found] == [b"one", b"second"]
    chain = bytes(32)
    for r in found:
        chain = hashlib.sha256(chain + data[r.offset : r.block]).digest()
        assert r.chain == chain


def test_records_from_an_offset(path: Path) -> None:
    first = record(b"one")
    path.write_bytes(first + record(number=2))
    problems: list[FileProblem] = []
    assert [r.offset for r in records(path, len(first), problems)] == [len(first)]
    assert problems == []


def test_a_missing_file_is_an_os_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(records(path))


@pytest.mark.parametrize("place", range(1, 250, 7))
def test_a_cut_anywhere_is_a_torn_tail(path: Path, place: int) -> None:
    whole, torn = record(b"one"), record(b"torn" * 20, number=2)
    found, problems = read(path, whole + torn[:-place])
    assert len(found) == 1
    assert [(p.code, p.offset) for p in problems] == [("torn-tail", len(whole))]


def test_an_error_names_what_was_skipped_and_the_next_record_is_read(path: Path) -> None:
    whole = record(b"one")
    wrong = [whole.replace(b"Length: 3", b"Length: %b" % text) for text in (b"2", b"9999", b"-3")]
    for bad in (*wrong, b"\0" * 3_000_000, b"\r\n"):
        found, problems = read(path, whole + bad + record(number=3))
        assert [r.offset for r in found] == [0, len(whole + bad)]
        last = problems[-1]
        assert last.offset == len(whole)
        assert f"{len(bad)} bytes skipped" in last.sentence


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("WARC/1.1", "WARC/0.9", "bad-version"),
        ("WARC-Type: resource\r\n", "", "missing-field"),
        ("WARC-Type: resource", "WARC-Type: resourse", "unknown-type"),
        ("WARC-Type: resource\r\n", "WARC-Type: resource\n", "line-end"),
        ("WARC-Type: resource", "WARC-Type: res\x07urce", "bad-header"),
        ("WARC-Type:", "WARC Type:", "bad-header"),
        ("<urn:uuid:0", "urn:uuid:0", "bad-record-id"),
        ("<urn:uuid:0", "<urn:uuid:x", "bad-record-id"),
        ("2026-11-20T10:11:12Z", "2026-11-20T10:61:12Z", "bad-date"),
        ("2026-11-20T10:11:12Z", "2026-02-29T10:11:12Z", "bad-date"),
        ("2026-11-20T10:11:12Z", "2026-11-20 10:11:12Z", "bad-date"),
        ("Length: 3", "Length: three", "bad-length"),
        ("http://x.example/", "x.example/", "bad-uri"),
        ("http://x.example/", "<http://x.example/>", "bad-uri"),
        ("text/plain", "text", "content-type"),
        ("Content-Type", "WARC-IP-Address: 1.2.3.400\r\nContent-Type", "bad-value"),
        ("Content-Type", "WARC-Truncated: tired\r\nContent-Type", "bad-value"),
        ("Content-Type", "Lafka-Certificate: a;b\r\nContent-Type", "bad-value"),
        ("Content-Type", "WARC-Tuncated: time\r\nContent-Type", "unknown-field"),
        ("Content-Type", "Content-Type: text/plain\r\nContent-Type", "repeated-field"),
        ("sha256:", "sha256:0", "bad-digest"),
        ("sha256:", "sha3:", "unknown-digest"),
        ("WARC-Block-Digest", "WARC-Payload-Digest", "no-block-digest"),
        ("\r\n\r\none", "\r\n\r\ntwo", "block-digest"),
    ],
)
def test_what_is_wrong_has_a_code(path: Path, old: str, new: str, code: str) -> None:
    data = record(b"one")
    assert codes(path, data) == []
    assert code in codes(path, data.replace(old.encode(), new.encode(), 1))


def test_what_must_go_with_a_type(path: Path) -> None:
    assert codes(path, record(kind="revisit", media=HTTP)) == ["missing-field"]
    profile = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
    assert codes(path, record(kind="revisit", media=HTTP, extra=profile)) == ["missing-field"]
    assert codes(path, record(kind="conversion")) == ["missing-field"]
    assert codes(path, record(kind="request", media=HTTP)) == ["content-type"]
    assert codes(path, record(kind="warcinfo", media="application/warc-fields")) == ["bad-value"]
    no_url = record().replace(b"WARC-Target-URI: http://x.example/\r\n", b"")
    assert codes(path, no_url) == ["missing-field"]


def test_brackets_and_dates_of_older_writers(path: Path) -> None:
    old = record(version="WARC/1.0").replace(b"http://x.example/", b"<http://x.example/>")
    (found,), problems = read(path, old)
    assert problems == []
    assert found.url == "http://x.example/"
    assert codes(path, record(version="WARC/1.0").replace(b"12Z", b"12.5Z")) == ["bad-date"]
    assert codes(path, record().replace(b"12Z", b"12.5Z")) == []
    assert codes(path, record().replace(b"-20T10:11:12Z", b"")) == []


def test_folded_lines_and_repeated_concurrent_to(path: Path) -> None:
    other = "<urn:uuid:00000000-0000-4000-8000-00000000000{}>"
    extra = "".join(f"WARC-Concurrent-To:\r\n {other.format(n)}\r\n" for n in (7, 8))
    (found,), problems = read(path, record(extra=extra))
    assert problems == []
    assert found.concurrent_to == (other.format(7), other.format(8))


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "SHA-256", "sha512"])
def test_digests_in_hex_and_base32(algorithm: str) -> None:
    raw = hashlib.new(algorithm.lower().replace("-", ""), b"x").digest()
    wanted = f"{algorithm.lower().replace('-', '')}:{raw.hex()}"
    base32 = base64.b32encode(raw).decode()
    for text in (raw.hex(), raw.hex().upper(), base32, base32.lower()):
        assert canonical_digest(f"{algorithm}:{text}") == wanted
    mixed = base32[:1].lower() + base32[1:].upper() if base32[0].isalpha() else "a" + base32[1:]
    for text in ("", raw.hex()[1:], base32[:-8], mixed, "0" * 3):
        assert canonical_digest(f"{algorithm}:{text}") is None


def response(head: bytes, body: bytes, payload: bytes | None = None, **fields: str) -> bytes:
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    if payload is not None:
        extra += f"WARC-Payload-Digest: sha256:{hashlib.sha256(payload).hexdigest()}\r\n"
    return record(head + body, kind="response", media=HTTP, extra=extra)


PDF = b"%PDF-1.4 x\n%%EOF\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "body", "at", "length"),
    [
        (OK % len(PDF), PDF, 0, len(PDF)),
        (b"HTTP/1.0 200\n\n", PDF, 0, len(PDF)),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK % len(PDF), PDF, 0, len(PDF)),
        (OK % (len(PDF) + 6), b"junk\r\n" + PDF, 6, len(PDF)),
        (OK % len(PDF), PDF + b"garbage", 0, len(PDF)),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 40_000 + b"\r\n\r\n", PDF, 0, len(PDF)),
        (b"HTTP/1.1 200 OK\r\n\r\n", PDF * 600_000, 0, len(PDF) * 600_000),
    ],
)
def test_a_fut_is_found_and_hashed(
    path: Path, head: bytes, body: bytes, at: int, length: int
) -> None:
    with ThreadPoolExecutor(2) as pool:
        (found,), problems = read(path, response(head, body, body[: at + length]), pool=pool)
    assert problems == []
    assert found.pdf is not None
    assert found.pdf.whole
    cut = path.read_bytes()[found.pdf.offset : found.pdf.offset + found.pdf.length]
    assert cut == body[at : at + length]
    assert found.pdf.digest == "sha256:" + hashlib.sha256(cut).hexdigest()


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (OK % 50, PDF),
        (b"HTTP/1.1 200 OK\r\n\r\n", PDF[:-7]),
        (b"HTTP/1.1 206 Partial\r\nContent-Length: 17\r\n\r\n", PDF),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 17\r\n\r\n", PDF),
    ],
)
def test_a_fut_that_is_not_whole(path: Path, head: bytes, body: bytes) -> None:
    (found,), problems = read(path, response(head, body, body))
    assert problems == []
    assert found.pdf is not None
    assert not found.pdf.whole


STORED = gzip.compress(PDF, compresslevel=0, mtime=0)


def test_a_coding_that_was_not_applied_hides_no_fut(path: Path) -> None:
    for coding in (b"gzip", b"deflate", b"br", b"x-unknown, identity"):
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\nContent-Length: 17\r\n\r\n" % coding
        (found,), problems = read(path, response(head, PDF + b"behind"))
        assert problems == []
        assert found.pdf is not None
        assert (found.pdf.length, found.pdf.whole) == (17, True)
    assert PDF in STORED


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"11\r\n" + PDF + b"\r\n0\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", STORED),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n", b"\x78\x01\x01" + PDF),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"<!doctype html><p>" + PDF),
        (b"HTTP/1.1 200 OK\r\n\r\n", bytes(1020) + PDF),
        (b"HTTP/1.1 200 OK\r\nno end of the head", b""),
        (b"", b""),
    ],
)
def test_no_fut(path: Path, head: bytes, body: bytes) -> None:
    (found,), problems = read(path, response(head, body))
    assert problems == []
    assert found.pdf is None


def test_payload_digests(path: Path) -> None:
    assert codes(path, response(OK % len(PDF), PDF, b"other")) == ["payload-digest"]
    # Some writers count what stands behind the end that Content-Length gives.
    assert codes(path, response(OK % len(PDF), PDF + b"more", PDF + b"more")) == []
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"11\r\n" + PDF + b"\r\n0\r\n\r\n"
    assert codes(path, response(chunked, body, body)) == []
    assert codes(path, response(chunked, body, PDF)) == ["payload-digest-unsure"]


def test_memory_stays_bounded(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(300_000_000)  # a hole of zeros: no record begins in it
        file.seek(0, 2)
        file.write(record(bytes(50_000_000)))
    tracemalloc.start()
    found = sum(1 for _ in StrictReader(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == 1
    assert peak < 8_000_000


def test_a_header_without_end_is_given_up(path: Path) -> None:
    endless = b"WARC/1.1\r\n" + b"X: y\r\n" * 400_000
    found, problems = read(path, endless + record())
    assert len(found) == 1
    assert problems[0].code == "bad-header"
    long_line = record(extra="WARC-Filename: " + "x" * 70_000 + "\r\n")
    assert codes(path, long_line) == ["bad-header"]


@settings(suppress_health_check=list(HealthCheck))
@given(st.lists(st.binary(max_size=300)), st.binary(max_size=60))
def test_sound_records_are_read_whatever_their_blocks(
    path: Path, blocks: list[bytes], junk: bytes
) -> None:
    data = b"".join(record(block, number=n) for n, block in enumerate(blocks))
    found, problems = read(path, data)
    assert problems == []
    assert [data[r.block : r.block + r.length] for r in found] == blocks
    found, problems = read(path, data + junk + record(number=999))
    assert len(found) == len(blocks) + 1
    assert bool(problems) == bool(junk)


REVISIT = (
    "WARC-Refers-To: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"
    "WARC-Refers-To-Target-URI: http://x.example/?a=b#c\r\n"
    "WARC-Refers-To-Date: 2026-11-20T10:11:12.123456Z\r\n"
    "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
    "WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000002>\r\n"
    "WARC-Warcinfo-ID: <urn:uuid:00000000-0000-4000-8000-000000000003>\r\n"
    f"WARC-Payload-Digest: sha256:{'0' * 64}\r\n"
    "WARC-Identified-Payload-Type: application/pdf\r\n"
    "WARC-IP-Address: ::1\r\nWARC-Truncated: length\r\nLafka-Certificate: expired, wrong-host\r\n"
)
HEAD = record(kind="revisit", media=HTTP, extra=REVISIT).removesuffix(b"\r\n\r\n")
BITS = [
    b"",
    b"\r\n",
    b"\n",
    b" ",
    b"\t",
    b":",
    b": ",
    b"0",
    b"9",
    b"-",
    b"<",
    b">",
    b"\xc3\xa9",
    b"\0",
    b"a",
]


def test_a_plain_header_is_read_in_one_pass() -> None:
    assert parse_plain(HEAD) == parse_lines(HEAD)
    assert parse_plain(HEAD).faults == []


def test_each_header_that_lafka_writes_is_read_in_one_pass(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("a")))
    store.put(store.fut(pdf("a"), at=START + timedelta(days=1)))
    splap = store.splap(page("b"), futli="http://x.example/b")
    store.put(splap, store.found(splap, "http://x.example/b.pdf", pdf("b"), "gzip"))
    store.raw.close()
    heads = re.findall(
        rb"WARC/1\.1\r\nWARC-Type: .*?\r\n\r\n", store.warc().read_bytes(), re.DOTALL
    )
    kinds = {re.findall(rb"WARC-Type: (\w+)", head)[0] for head in heads}
    assert kinds == {b"warcinfo", b"request", b"response", b"revisit", b"conversion"}
    assert [head for head in heads if parse_plain(head) is None] == []


@given(st.lists(st.tuples(st.integers(0, len(HEAD)), st.integers(0, 3),
                          st.sampled_from([*BITS, *HEAD.split(b"\r\n")])), max_size=3))  # fmt: skip
def test_one_pass_says_the_same_as_line_by_line_or_nothing(
    edits: list[tuple[int, int, bytes]],
) -> None:
    head = HEAD
    for place, gone, bit in edits:
        head = head[:place] + bit + head[place + gone :]
    head = head.removesuffix(b"\r\n\r\n") + b"\r\n\r\n"
    assert parse_plain(head) in (None, parse_lines(head))


@settings(suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=400), st.integers(0, 600))
def test_nothing_is_raised_on_any_bytes(path: Path, data: bytes, place: int) -> None:
    sound = record(b"one") + response(OK % len(PDF), PDF, PDF)
    read(path, b"WARC/1.1\r\n" + data)
    read(path, sound[:place] + data + sound[place:])


def test_the_reader_loads_nothing_of_ours_but_itself() -> None:
    program = "import lafka.witness.reader, sys; print(*(m for m in sys.modules))"
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name for name in told.stdout.split() if name.partition(".")[0] == "lafka"}
    parts = ("blocks", "digests", "headers", "problems", "reader")
    packages = {"lafka", "lafka.witness"}
    assert loaded == packages | {f"lafka.witness.{name}" for name in parts}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the sample files are not here")
@pytest.mark.parametrize(
    ("name", "count", "wanted"),
    [
        ("w065_IAH-urls-wget.warc", 36, set()),
        ("w020_google.warc", 10, set()),
        ("w022_no-warc-info.warc", 9, set()),
        ("torn_pl_1.warc", 2, {"torn-tail"}),
        ("torn_pl_1173.warc", 2, {"torn-tail"}),
        ("w240_premature_wo_trailing_newline.warc", 0, {"torn-tail"}),
        ("w299_post-test-more.warc", 0, {"stray-bytes"}),
    ],
)
def test_public_samples(name: str, count: int, wanted: set[str]) -> None:
    reader = StrictReader(SHARED / name)
    assert len(list(reader)) == count
    assert {problem.code for problem in reader.problems} == wanted
