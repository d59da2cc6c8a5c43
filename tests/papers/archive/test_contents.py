from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadWarc, TornWarc
from lafka.papers.archive.contents import PaperContents, PaperScanner, answer_in, paper_ids
from lafka.papers.origins import Origin
from lafka.storage.keeping.contents import chained
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import IDENTICAL_PAYLOAD, Record, start, uuid_urn
from lafka.warc.reading.framing import begins_record
from lafka.warc.reading.volumes import Volume
from tests.stores import FUTLI, KINDS, PID, START, Store, answer, cuts, page, pdf, redirect


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "archive")
    yield made
    made.raw.close()


def scanned(warc: Path, *, trusted_to: int = 0) -> PaperContents:
    with warc.open("rb") as file:
        return PaperScanner(file.fileno(), warc, trusted_to=trusted_to).read()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def append(warc: Path, kind: str, block: bytes, **fields: str) -> str:
    """Append a record made by hand; *fields* with ``_`` for ``-``. Return its id."""
    warc.parent.mkdir(parents=True, exist_ok=True)
    head = start(kind, uuid_urn(), "2026-11-20T10:11:12Z", FUTLI if kind != "warcinfo" else "")
    for name, value in fields.items():
        head.add(name.replace("_", "-"), value)
    with warc.open("ab") as file:
        file.write(Record(fields=head, block=block).to_bytes())
    return head.first("WARC-Record-ID")


def append_info(warc: Path, pid: str = PID, futli: str = FUTLI) -> str:
    body = Fields([("Paper-Id", pid), *([("Futli", futli)] if futli else [])])
    return append(warc, "warcinfo", body.to_bytes(), Content_Type="application/warc-fields")


def test_a_capture_without_futli_is_of_what_it_asked_first(tmp_path: Path) -> None:
    warc = tmp_path / "x.warc"
    bare, other = append_info(warc, futli=""), append_info(warc, futli="http://other.example/")
    for info in (other, bare, bare):
        append(warc, "resource", b"x", WARC_Warcinfo_ID=info, Content_Type="text/plain")
    infos = scanned(warc).infos
    assert {name: info.futli for name, info in infos.items()} == {
        bare: FUTLI,
        other: "http://other.example/",
    }


def test_a_revisit_is_of_the_fut_that_it_states_else_of_the_one_that_it_refers_to(
    tmp_path: Path,
) -> None:
    warc = tmp_path / "x.warc"
    append_info(warc)
    second = [append(warc, "response", answer(pdf(n))) for n in (1, 2)][1]
    stated = (digest(pdf(1)), "sha1:" + "2" * 32, digest(b"nowhere"), digest(pdf(1)))
    for of, target in zip(stated, (second, second, uuid_urn(), ""), strict=True):
        fields = {"WARC_Refers_To": target} if target else {}
        append(
            warc, "revisit", b"", WARC_Profile=IDENTICAL_PAYLOAD, WARC_Payload_Digest=of, **fields
        )
    futs = [digest(pdf(1)), digest(pdf(2))]
    digests = [visit.digest for visit in scanned(warc).visits]
    assert digests == [*futs, *futs, digest(b"nowhere"), futs[0]]


def test_a_metadata_record_says_what_the_fut_before_it_is(tmp_path: Path) -> None:
    warc = tmp_path / "x.warc"
    told, other = append_info(warc), append_info(warc)
    said = Origin(label="other", inside="cv")
    for info, of in ((told, told), (other, told)):  # the second is of no fut that goes before
        append(warc, "response", answer(pdf()), WARC_Warcinfo_ID=info)
        append(
            warc, "metadata", said.metadata(), WARC_Warcinfo_ID=of,
            Content_Type="application/warc-fields",
        )  # fmt: skip
    assert [visit.info.origin for visit in scanned(warc).visits] == [said, Origin()]


@pytest.mark.parametrize("again", [False, True])
def test_trusting_headers_finds_the_same_as_reading_all(store: Store, again: bool) -> None:
    for n, kind in enumerate((*KINDS, *KINDS) if again else KINDS):
        at = START + timedelta(seconds=n)
        store.put(store.splap(page(n % 3), at=at))
        store.put(store.fut(pdf(n % len(KINDS)), kind, hops=n % 3, at=at))
    size = store.warc().stat().st_size
    read, trusted = scanned(store.warc()), scanned(store.warc(), trusted_to=size)
    assert trusted == read
    assert read.suwaf(store.archive.pid(PID)).to_bytes() == store.suwaf().read_bytes()
    for record in Volume(store.warc()):
        assert scanned(store.warc(), trusted_to=record.end) == read


def test_futs_that_are_converted_are_not_decoded_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(store.fut(pdf(), "gzip chunked"))

    def decoded(*_: object, **__: object) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr("lafka.papers.archive.contents.inspect", decoded)
    size = store.warc().stat().st_size
    assert list(scanned(store.warc(), trusted_to=size).futs) == [digest(pdf())]


def test_a_block_is_hashed_only_behind_what_is_trusted(store: Store) -> None:
    store.put(store.fut(pdf()))
    data = bytearray(store.warc().read_bytes())
    data[data.index(b"%PDF-") + 40] ^= 1
    store.warc().write_bytes(data)
    assert digest(pdf()) in scanned(store.warc(), trusted_to=len(data)).futs
    with pytest.raises(BadWarc, match="digest"):
        scanned(store.warc())


@pytest.mark.parametrize(
    "response",
    [
        answer(pdf(), status="206 Partial Content"),
        answer(pdf(), status="404 Not Found"),
        answer(pdf(), "until-close")[:-7],  # no %%EOF
        answer(pdf())[:-1],
        answer(pdf(), "chunked")[:-9],
        answer(pdf(), "gzip")[:-9],
        b"no http at all" + pdf(),
        redirect("/x"),
        b"",
    ],
)
def test_what_is_no_whole_fut_is_none(tmp_path: Path, response: bytes) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc)
    append(warc, "response", response)
    found = scanned(warc)
    assert (found.futs, found.unconverted, found.visits) == ({}, {}, [])


def test_a_truncated_answer_is_no_fut(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc)
    append(warc, "response", answer(pdf()), WARC_Truncated="length")
    assert scanned(warc).futs == {}


def test_bytes_behind_content_length_are_no_part_of_the_fut(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc)
    append(warc, "response", answer(pdf()) + b"more", WARC_Payload_Digest=digest(pdf() + b"more"))
    for trusted_to in (0, warc.stat().st_size):
        assert list(scanned(warc, trusted_to=trusted_to).futs) == [digest(pdf())]


def test_conversions_of_others_are_no_futs(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc)
    append(warc, "conversion", b"text of a PDF", Content_Type="text/plain")
    assert scanned(warc).futs == {}


def test_a_paper_without_its_conversion_gets_it(store: Store) -> None:
    append_info(store.warc())
    append(store.warc(), "response", answer(pdf(), "gzip chunked trailers"))
    before = store.warc().read_bytes()
    store.archive.rebuild(store.archive.pid(PID))
    assert list(cuts(store.archive).values()) == [pdf()]
    after = store.warc().read_bytes()
    assert after.startswith(before)
    assert after.count(b"WARC-Type: conversion") == 1
    store.archive.rebuild(store.archive.pid(PID))
    assert store.warc().read_bytes() == after


def test_an_answer_without_its_warcinfo_s_id_is_of_the_one_before(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc, "RePEc:abc:wpaper:1")
    append(warc, "resource", pdf(1))
    append_info(warc, "RePEc:abc:wpaper:2")
    append(warc, "resource", b"\r\n" + pdf(2))
    visits = scanned(warc).visits
    assert [visit.info.pid_text[-1] for visit in visits] == ["1", "2"]
    assert [visit.digest for visit in visits] == [digest(pdf(1)), digest(pdf(2))]
    assert list(paper_ids(warc)) == ["RePEc:abc:wpaper:1", "RePEc:abc:wpaper:2"]


def test_a_resource_that_is_no_pdf_is_held_by_the_digest_it_states(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc)
    held = append(warc, "resource", page(), WARC_Payload_Digest=digest(page()))
    append(warc, "resource", page(2), WARC_Payload_Digest="sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A")
    payloads = scanned(warc).payloads
    assert {stated: one.record_id for stated, one in payloads.items()} == {digest(page()): held}


def test_what_was_read_before_trouble_is_there(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc)
    append(warc, "resource", pdf())
    whole = warc.read_bytes()
    for tail, error in ((b"WARC/1.1\r\nWARC-Type: x", TornWarc), (bytes(100), BadWarc)):
        warc.write_bytes(whole + tail)
        with warc.open("rb") as file:
            scanner = PaperScanner(file.fileno(), warc)
            with pytest.raises(error):
                scanner.read()
            assert scanner.contents.end == len(whole)
            assert list(scanner.contents.futs) == [digest(pdf())]
        assert list(paper_ids(warc)) == [PID]


def test_a_fut_is_where_it_was_first(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    append_info(warc)
    for _ in range(3):
        append(warc, "response", answer(pdf()))
    found = scanned(warc)
    [held] = found.futs.values()
    assert held.s == warc.read_bytes().index(b"%PDF-")
    assert len(found.visits) == 3


def test_the_chain_is_over_all_headers(store: Store) -> None:
    store.put(store.fut(pdf(), "chunked", hops=1))
    chain = bytes(32)
    for record in Volume(store.warc()):
        chain = chained(chain, record.header)
    assert scanned(store.warc()).chain == chain
    assert store.archive.suwaf(PID).chain == "sha256:" + chain.hex()


@pytest.mark.parametrize("lead", [0, 1, (1 << 20) - 20, (1 << 20) - 3, (1 << 20) + 5])
def test_where_a_record_seems_to_begin(tmp_path: Path, lead: int) -> None:
    path = tmp_path / "x"
    for tail, begins in (
        (b"\r\n\r\nWARC/1.1\r\nWARC-Type: x", True),
        (b"\r\n\r\nWARC/1.0\nContent-Length: 1", True),
        (b"\r\n\r\nWARC/1.1\r\n\r\n", False),
        (b"WARC/1.1\r\nWARC-Type: x", False),
        (b"", False),
    ):
        path.write_bytes(bytes(lead) + tail)
        fd = os.open(path, os.O_RDONLY)
        assert begins_record(fd, 0) == begins
        assert not begins_record(fd, lead + 1)
        assert not begins_record(fd, lead + 1000)
        os.close(fd)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"


@given(st.integers(0, len(CHUNKED) + 4), st.integers(0, len(CHUNKED) + 4))
def test_a_chunked_answer_without_its_last_line_is_read_as_if_it_had_it(begin: int, size: int):
    with TemporaryDirectory() as folder:
        warc = Path(folder) / "1.warc"
        append(warc, "response", CHUNKED)
        with Volume(warc) as volume:
            (record,) = volume
            ended = answer_in(record)
            assert ended.size == len(CHUNKED) + 2
            assert ended.read(begin, size) == (CHUNKED + b"\r\n")[begin : begin + size]
