import hashlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from lafka.warc.fields import Fields
from lafka.warc.records import Record, header, sha256, start, uuid_urn, warcinfo

DATE = "2026-11-20T10:11:12.500000Z"


def test_a_record_is_header_block_and_end() -> None:
    fields = start("metadata", "<urn:uuid:1>", DATE, "http://x.example/")
    fields.add("Content-Type", "text/plain")
    assert Record(fields=fields, block=b"block").to_bytes() == (
        b"WARC/1.1\r\n"
        b"WARC-Type: metadata\r\n"
        b"WARC-Record-ID: <urn:uuid:1>\r\n"
        b"WARC-Date: 2026-11-20T10:11:12.500000Z\r\n"
        b"WARC-Target-URI: http://x.example/\r\n"
        b"Content-Type: text/plain\r\n"
        b"WARC-Block-Digest: sha256:" + hashlib.sha256(b"block").hexdigest().encode() + b"\r\n"
        b"Content-Length: 5\r\n\r\n"
        b"block\r\n\r\n"
    )
    assert len(fields) == 5  # what is written is no change of the record


def test_a_warcinfo_names_its_file_where_it_has_one() -> None:
    body = Fields([("Paper-Id", "RePEc:a:b:c")])
    named = warcinfo("<urn:uuid:1>", DATE, body, filename="x.warc")
    assert named.fields.first("WARC-Filename") == "x.warc"
    assert named.block == b"Paper-Id: RePEc:a:b:c\r\n"
    assert named.id == "<urn:uuid:1>"
    assert "WARC-Filename" not in dict(warcinfo("<urn:uuid:1>", DATE, body).fields)


def test_a_foreign_value_cannot_write_a_header_line() -> None:
    fields = start("resource", uuid_urn(), DATE, "http://x.example/\r\nWARC-Type: revisit")
    with pytest.raises(ValueError, match="WARC-Target-URI"):
        Record(fields=fields, block=b"").to_bytes()
    with pytest.raises(ValueError, match="WARC-Target-URI"):
        header(fields)


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4))
@settings(deadline=None)
def test_others_read_what_is_written(blocks: list[bytes]) -> None:
    data = b"".join(
        Record(fields=start("resource", uuid_urn(), DATE, "urn:x"), block=block).to_bytes()
        for block in blocks
    )
    found = [record.content_stream().read() for record in ArchiveIterator(io.BytesIO(data))]
    assert found == blocks


def test_ids_are_fresh() -> None:
    assert len({uuid_urn() for _ in range(100)}) == 100
    assert sha256(b"") == "sha256:" + hashlib.sha256(b"").hexdigest()


def test_warcio_finds_the_digests_right(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "x.warc"
    info = warcinfo(uuid_urn(), DATE, Fields([("software", "Lafka")]), filename="x.warc")
    path.write_bytes(info.to_bytes())

    class Command:
        inputs = (str(path),)
        verbose = True

    checker = Checker(Command)
    checker.process_all()
    assert not checker.exit_value
    assert "digest pass" in capsys.readouterr().out
