from __future__ import annotations

import gzip
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from lafka.warc.converting.arc2warc import arc2warc, legal_url
from lafka.warc.converting.warc2arc import warc2arc
from lafka.warc.errors import BadWarc
from lafka.warc.foreign.arc import ArcVolume
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder
from tests.warc.arcs import DNS, FILEDESC, FTP, HTTP, PAGE, entry

SAMPLES = Path(__file__).parents[3].parent / "shared" / "warc"
DATE = "2014-02-16T05:02:22Z"
URL = "http://a.example/x"


def warc(path: Path, *records: Record) -> Path:
    with Builder(path, gzip=path.suffix == ".gz") as builder:
        for record in records:
            builder.append(record)
    return path


def lines(path: Path) -> list[str]:
    with ArcVolume(path, strict=True) as volume:
        return [record.arc.line.decode() for record in volume]


def test_answers_and_resources_are_there_and_the_rest_is_counted(tmp_path):
    body = Fields([("software", "x<y"), ("isPartOf", "c"), ("format", "WARC"), ("my-own", "é")])
    response = Record.response(URL, HTTP, date=DATE, ip_address="1.2.3.4")
    path = warc(
        tmp_path / "a.warc",
        Record.warcinfo(body, date=DATE),
        Record.request(URL, b"GET / HTTP/1.1\r\n\r\n", date=DATE),
        response,
        Record.resource("http://a/b c", b"body", content_type="text/plain; a=b", date="2014"),
        Record.resource("dns:a", b"a\n", content_type="text/dns", date=DATE, ip_address="::1"),
        Record.revisit_identical(URL, response, payload_digest="sha1:" + "A" * 32, date=DATE),
        Record.metadata(Fields([("via", "z")]), of=response, date=DATE),
        Record.conversion(response, b"c", content_type="text/plain", date=DATE),
        Record.response(URL, HTTP, date=DATE, segment_number=1),
        Record.warcinfo(body, date=DATE),
    )
    done = warc2arc(path)
    assert done.path == tmp_path / "a.arc"
    assert done.kept == {"warcinfo": 1, "response": 1, "resource": 2}
    assert done.left_out == Counter(
        ["request", "revisit", "metadata", "conversion", "response", "warcinfo"]
    )
    filedesc, *others = lines(done.path)
    assert filedesc.startswith("filedesc://a.arc 0.0.0.0 20140216050222 text/plain ")
    assert others == [
        f"{URL} 1.2.3.4 20140216050222 text/html {len(HTTP)}",
        "http://a/b%20c 0.0.0.0 20140101000000 text/plain 4",
        "dns:a ::1 20140216050222 text/dns 2",
    ]
    told = done.path.read_text("utf-8")
    assert "1 1 Lafka\nURL IP-address Archive-date Content-type Archive-length\n<?xml" in told
    assert "<arc:software>x&lt;y</arc:software>" in told
    assert "<dc:description>my-own: é</dc:description>" in told
    with done.path.open("rb") as file:
        assert [r.rec_type for r in ArchiveIterator(file, arc2warc=True)][1:] == ["response"] * 3


@pytest.mark.parametrize("name", ["a.arc", "a.arc.gz"])
def test_back_from_a_warc_an_arc_is_as_it_was(tmp_path, name):
    pack = gzip.compress if name.endswith("gz") else bytes
    before = tmp_path / name
    before.write_bytes(b"".join(map(pack, (FILEDESC, PAGE, DNS, FTP))))
    between = arc2warc(before).path
    (tmp_path / "back").mkdir()
    done = warc2arc(between, tmp_path / "back" / name)
    assert done.kept == {"warcinfo": 1, "metadata": 1, "response": 1, "resource": 2}
    assert not done.left_out
    after = done.path.read_bytes()
    assert (gzip.decompress(after) if name.endswith("gz") else after) == b"".join(
        (FILEDESC, PAGE, DNS, FTP)
    )


def test_lines_that_were_not_legal_are_made_so(tmp_path):
    odd = entry("http://a/b c 1.2.3.4 20140216050222 text/html; charset=x", HTTP)
    (tmp_path / "a.arc").write_bytes(FILEDESC + odd + PAGE[:-9])
    between = arc2warc(tmp_path / "a.arc").path
    assert lines(warc2arc(between, tmp_path / "b.arc").path)[1:] == [
        f"http://a/b%20c 1.2.3.4 20140216050222 text/html {len(HTTP)}",
        f"http://a.example/x 93.184.216.119 20140216050222 text/html {len(HTTP) - 8}",
    ]


def test_what_is_wrong_with_the_warc_is_told(tmp_path):
    path = warc(tmp_path / "a.warc", Record.resource(URL, b"b", content_type="a/b", date=DATE))
    path.write_bytes(path.read_bytes() + b"WARC/1.1\r\nWARC-Type: resp")
    done = warc2arc(path)
    assert [problem.code for problem in done.problems] == ["torn-tail"]
    assert done.kept == {"resource": 1}


def test_nothing_is_overwritten_and_a_failure_leaves_no_arc(tmp_path):
    path = warc(tmp_path / "a.warc", Record.resource(URL, b"b", content_type="a/b", date=DATE))
    (tmp_path / "a.arc").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        warc2arc(path)
    assert (tmp_path / "a.arc").read_bytes() == b"mine"
    with pytest.raises(BadWarc):
        warc2arc(tmp_path, tmp_path / "b.arc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.arc", "a.warc"]


def test_a_reader_that_fails_leaves_no_file(tmp_path, monkeypatch):
    path = warc(tmp_path / "a.warc", Record.resource(URL, b"b", content_type="a/b", date=DATE))

    def fail(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr("lafka.warc.converting.warc2arc._line", fail)
    with pytest.raises(OSError, match="gone"):
        warc2arc(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.warc"]


BLOCKS = st.lists(
    st.one_of(
        st.binary(max_size=80),
        st.binary(max_size=40).map(lambda body: HTTP[:-5].replace(b": 5", b": 9") + body),
        st.sampled_from([PAGE, DNS + FILEDESC, b"\n\n", b"", FTP[:-1]]),
    ),
    max_size=5,
)


@settings(max_examples=25)
@given(BLOCKS, st.text(st.characters(codec="utf-8"), max_size=12))
def test_there_and_back_keeps_blocks(blocks, name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.warc"
        records = [
            Record.resource(f"http://a/{number}", block, content_type="a/b", date=DATE)
            for number, block in enumerate(blocks)
        ]
        url = legal_url(f"http://a/{name}")
        warc(path, Record.response(url, HTTP, date=DATE), *records)
        back = arc2warc(warc2arc(path).path, path.with_name("b.warc"))
        with Volume(back.path, strict=True) as volume:
            found = list(volume.records({"response", "resource"}))
            assert [b"".join(r.block().chunks()) for r in found] == [HTTP, *blocks]
            assert [r.url for r in found] == [url, *(r.url for r in records)]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
def test_samples_keep_their_payloads(tmp_path):
    for number, sample in enumerate(sorted(SAMPLES.glob("*.arc*"))):
        done = arc2warc(sample, tmp_path / f"{number}.warc")
        back = warc2arc(done.path, tmp_path / f"{number}.arc")
        with ArcVolume(sample, salvage=True) as old, ArcVolume(back.path, strict=True) as new:
            blocks = [b"".join(r.block().chunks()) for r in old if r.type != "warcinfo"]
            assert [b"".join(r.block().chunks()) for r in new][1:] == blocks
        again = arc2warc(back.path, tmp_path / f"{number}-again.warc")
        with Volume(done.path) as first, Volume(again.path) as second:
            digests = [
                [
                    r.fields["WARC-Block-Digest"]
                    for r in volume
                    if r.type in ("response", "resource")
                ]
                for volume in (first, second)
            ]
            assert digests[0] == digests[1]
