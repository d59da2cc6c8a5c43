"""The checker: as strict as the standard, digests computed again, problems as data."""

import csv
import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record
from lafka.warc.problems import CODES
from lafka.warc.reading.checking import check
from lafka.warc.reading.volumes import Volume

DATE = "2026-11-20T10:11:12Z"
URL = "http://x.example/1"
SAMPLES = Path(__file__).parents[3].parent / "shared" / "warc"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKS = b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*records: Record | bytes) -> Path:
        path = tmp_path / "x.warc"
        path.write_bytes(b"".join(r if isinstance(r, bytes) else r.to_bytes() for r in records))
        return path

    return write


def codes(path: Path) -> list[str]:
    return [problem.code for problem in check(path)]


def response(body: bytes = b"abc", head: bytes = HTTP, **named: str) -> Record:
    return Record.response(URL, head + body, date=DATE, **named)  # type: ignore[arg-type]


def sha(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def test_a_sound_volume_has_no_problem(write: Write) -> None:
    info = Record.warcinfo(Fields([("software", "x")]), date=DATE)
    big = response(b"x" * 300_000)
    records = [info, response(), big, Record.revisit_identical(URL, Volume(write(big)).first())]
    for path in (write(*records), write(*(gzip.compress(r.to_bytes()) for r in records))):
        checked = check(path)
        assert list(checked) == []
        assert checked.passed
        assert checked.records == 4


def test_bytes_that_changed_are_found(write: Write) -> None:
    for body in (b"abc" * 5, b"abc" * 100_000, b"abc" * 2_000_000):
        data = response(body).to_bytes()
        changed = data.replace(b"\r\n\r\nabc", b"\r\n\r\nabd")
        for path in (write(changed), write(gzip.compress(changed, 1))):
            checked = check(path)
            assert [p.code for p in checked] == ["block-digest", "payload-digest"]
            assert not checked.passed
            assert checked.counts == {"error": 2}
        head = data.replace(b"text/plain", b"text/pulp!")
        assert codes(write(head)) == ["block-digest"]


def test_a_chunked_body_has_two_digests(write: Write) -> None:
    """WARC/1.1 has it of the payload; many writers take the body as it stands (warcio #74)."""
    assert codes(write(response(CHUNKS, CHUNKED, payload_digest=sha(b"abc")))) == []
    assert codes(write(response(CHUNKS, CHUNKED, payload_digest=sha(CHUNKS)))) == []
    assert codes(write(response(CHUNKS, CHUNKED, payload_digest=sha(b"")))) == ["payload-digest"]


def test_digests_in_every_spelling(write: Write) -> None:
    block = HTTP + b"abc"
    made = hashlib.sha1(block)
    for value in (f"sha1:{made.hexdigest()}", f"SHA-1:{made.hexdigest().upper()}"):
        assert codes(write(response(block_digest=value, algorithm=""))) == []
    assert codes(write(response(payload_digest="md6:abcd"))) == ["unknown-digest"]


def test_what_is_not_all_there_is_not_blamed(write: Write) -> None:
    truncated = response(truncated="length", payload_digest=sha(b"longer"))
    assert codes(write(truncated)) == ["truncated-payload"]
    segment = response(segment_number=1, payload_digest=sha(b"longer"))  # type: ignore[arg-type]
    assert codes(write(segment)) == []


def test_records_are_held_to_the_standard(write: Write) -> None:
    bad = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2016-01\r\nContent-Type: text/plain\r\n"
        b"Content-Type: text/html\r\nWARC-Filename: x\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    )
    assert sorted(codes(write(bad))) == [
        "bad-date", "forbidden-field", "missing-field", "missing-field", "repeated-field",
    ]  # fmt: skip
    record = response(id="<urn:x:1>")
    assert codes(write(record, record)) == ["repeated-id"]
    assert codes(write(response(b"", b"no head"))) == ["bad-http"]


def test_what_cannot_be_read_is_named_with_what_its_header_lacks(write: Write) -> None:
    found = list(check(write(b"WARC/1.0\r\nWARC-Type: warcinfo\r\n\r\n\r\n\r\n", response())))
    assert found[0].code == "bad-length"
    assert {p.sentence for p in found[1:]} == {
        "a warcinfo record without WARC-Record-ID",
        "a warcinfo record without WARC-Date",
        "a warcinfo record without Content-Length",
    }


def test_problems_stand_at_their_byte(write: Write) -> None:
    first = response().to_bytes()
    path = write(first, response().to_bytes().replace(b"WARC-Date", b"no colon\r\nWARC-Date"))
    (problem,) = check(path)
    assert problem.code == "no-colon"
    assert path.read_bytes()[problem.offset :].startswith(b"no colon")


def test_an_empty_volume_is_odd(write: Write) -> None:
    assert codes(write(b"")) == ["no-records"]


def test_one_record_is_verified(write: Write) -> None:
    path = write(response(b"abcd").to_bytes().replace(b"\r\n\r\nabcd", b"\r\n\r\nabce"))
    record = Volume(path).first()
    assert record
    assert [problem.code for problem in record.verify()] == ["block-digest", "payload-digest"]
    assert Volume(write(response())).at(0).verify() == []


def test_torn_files_are_rejected(tmp_path: Path) -> None:
    first, last = response().to_bytes(), response(b"xyz").to_bytes()
    path = tmp_path / "x.warc"
    for begin, end in ((first, last), (gzip.compress(first), gzip.compress(last))):
        for cut in range(1, len(end)):
            path.write_bytes(begin + end[:cut])
            checked = check(path)
            assert sum(p.code in ("torn-tail", "torn-member") for p in checked) == 1, cut
            assert not checked.passed


# What the manifest calls an oddity, and the code that says it.
NAMED = {
    "bad-content-length": "bad-length",
    "bad-date": "bad-date",
    "bad-version-line": "bad-version",
    "block-digest-mismatch": "block-digest",
    "content-shorter-than-length": "torn-tail",
    "dup-content-length": "repeated-field",
    "dup-warc-segment-number": "repeated-field",
    "empty-target-uri": "bad-uri",
    "folded-header": "folded-line",
    "header-not-terminated": "torn-tail",
    "lf-only-header": "line-end",
    "missing-content-length": "missing-field",
    "missing-warc-date": "missing-field",
    "missing-warc-record-id": "missing-field",
    "no-final-newlines": "torn-tail",
    "record-not-at-member-start": "split-record",
    "single-gzip-member-whole-file": "one-member",
    "space-in-target-uri": "bad-uri",
    "torn tail": "torn-",
    "unknown-type": "unknown-type",
    "version-0.17": "old-version",
    "version-0.18": "old-version",
}
# Values that its reader did not unfold; headers that have no end, of which no more is said.
UNNAMED = ("w146", "w147", "w054", "w240")


@pytest.mark.skipif(not SAMPLES.exists(), reason="the samples are not here")
def test_every_oddity_of_every_sample_is_named() -> None:
    with (SAMPLES / "manifest.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        if row["version"] in ("cdx", "wacz", "arc"):
            continue
        checked = check(SAMPLES / row["file"])
        found = {problem.code for problem in checked}
        assert found <= CODES.keys()
        for oddity in row["oddities"].split(","):
            code = NAMED.get(oddity, "bad-trailer" if oddity.startswith("record-ends") else "")
            known = not code or any(name.startswith(code) for name in found)
            assert known or row["id"] in UNNAMED, (row["file"], oddity, found)
        if row["oddities"] == "torn tail":
            assert not checked.passed
        if row["oddities"] == "-" and row["id"] != "w321":  # whose digests are wrong on purpose
            assert checked.passed, row["file"]
