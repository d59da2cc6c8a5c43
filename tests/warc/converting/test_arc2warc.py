from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from warcio.checker import Checker

from lafka.warc.converting.arc2warc import arc2warc, legal_url
from lafka.warc.foreign.arc import ArcVolume
from lafka.warc.foreign.archeaders import unescaped
from lafka.warc.format.fields import Fields
from lafka.warc.reading.volumes import Volume
from lafka.witness.reader import StrictReader
from tests.warc.arcs import DNS, FILEDESC, FILEDESC_BODY, FTP, HTTP, PAGE, entry

SAMPLES = Path(__file__).parents[3].parent / "shared" / "warc"
FULL = (
    b"1 1 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
    b'<?xml version="1.0"?>\n<arcmetadata xmlns:arc="http://archive.org/arc/1.0/" '
    b'xmlns:dc="http://purl.org/dc/elements/1.1/">'
    b"<arc:software>Heritrix 1.14</arc:software><arc:operator>A\xc3\xa9</arc:operator>"
    b"<dc:date>2008</dc:date></arcmetadata>\n"
)


def converted(folder: Path, data: bytes, name: str = "a.arc") -> tuple[Path, Counter, list[str]]:
    path = folder / name
    path.write_bytes(data)
    done = arc2warc(path)
    assert not done.left_out
    return done.path, done.kept, [problem.code for problem in done.problems]


def accepted(path: Path) -> bool:
    """Whether warcio's checker and our strict reader have nothing against the WARC at *path*."""

    class Arguments:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Arguments())
    checker.process_all()
    reader = StrictReader(path)
    if path.suffix == ".warc":
        list(reader)
    # A field of our own is what a lawful extension is.
    return not checker.exit_value and {p.code for p in reader.problems} <= {"unknown-field"}


@pytest.mark.parametrize("name", ["a.arc", "a.arc.gz"])
def test_each_record_is_there_with_its_header_line(tmp_path, name):
    pack = gzip.compress if name.endswith("gz") else bytes
    parts = (FILEDESC, PAGE, DNS, FTP)
    path, kept, problems = converted(tmp_path, b"".join(map(pack, parts)), name)
    assert path.name == name.replace("arc", "warc")
    assert kept == {"warcinfo": 1, "response": 2, "resource": 1}
    assert problems == []
    assert accepted(path)
    with Volume(path) as volume:
        info, about, page, dns, ftp = volume
        assert [r.type for r in volume] == [
            "warcinfo", "metadata", "response", "resource", "resource",
        ]  # fmt: skip
        lines = [unescaped(r.fields.sole("ARC-Header")) for r in (about, page, dns, ftp)]
        assert lines == [part.partition(b"\n")[0] for part in parts]
        assert b"".join(about.block().chunks()) == FILEDESC_BODY
        assert about.fields["WARC-Refers-To"] == info.id
        assert {r.fields["WARC-Warcinfo-ID"] for r in (about, page, dns, ftp)} == {info.id}
        assert (dns.content_type, ftp.content_type) == ("text/dns", "application/octet-stream")
        assert (page.fields["WARC-IP-Address"], page.fields["WARC-Date"]) == (
            "93.184.216.119",
            "2014-02-16T05:02:22Z",
        )
        assert b"".join(page.block().chunks()) == HTTP
        assert info.fields["WARC-Filename"] == path.name
        assert not volume.problems


def test_a_second_conversion_gives_the_same(tmp_path):
    path, _, _ = converted(tmp_path, FILEDESC + PAGE + DNS)
    first = path.read_bytes()
    path.unlink()
    assert converted(tmp_path, FILEDESC + PAGE + DNS)[0].read_bytes() == first


def test_the_metadata_of_arc_1_1_is_in_the_warcinfo(tmp_path):
    filedesc = entry("filedesc://a.arc 0.0.0.0 20140216050221 text/plain", FULL)
    path, _, _ = converted(tmp_path, filedesc)
    with Volume(path) as volume:
        info, about = volume
        told = Fields.parse(b"".join(info.block().chunks()))
        assert list(told) == [
            ("software", "lafka.warc.arc2warc"),
            ("format", "WARC File Format 1.1"),
            ("source", "a.arc"),
            ("arc-software", "Heritrix 1.14"),
            ("operator", "Aé"),
        ]
        assert b"".join(about.block().chunks()) == FULL


def test_answers_that_are_no_http_are_resources(tmp_path):
    bare = entry("http://a.example/b 1.2.3.4 20140216050222 text/html", b"<p>no head</p>")
    endless = entry("http://a.example/c 1.2.3.4 20140216050222 x", b"HTTP/1.0 200 OK\r\nA: b\r\n")
    path, _, _ = converted(tmp_path, FILEDESC + bare + endless)
    assert accepted(path)
    with Volume(path) as volume:
        *_, first, second = volume
        assert (first.type, first.content_type) == ("resource", "text/html")
        assert (second.type, second.content_type) == ("resource", "application/octet-stream")


def test_what_is_cut_says_so(tmp_path):
    short = entry("http://a.example/b 1.2.3.4 20140216050222 text/html", HTTP[:-2])
    wrong = PAGE.replace(b" %d\n" % len(HTTP), b" 999\n")
    longer = entry("http://a.example/d 1.2.3.4 20140216050222 text/html", HTTP + b"!")
    data = FILEDESC + short + wrong + DNS + longer + PAGE[:-20]
    path, _, problems = converted(tmp_path, data)
    assert accepted(path)
    assert problems == ["arc-length", "torn-tail"]
    with Volume(path) as volume:
        cut = [r.fields.first("WARC-Truncated") for r in volume]
        assert cut == ["", "", "unspecified", "", "", "", "unspecified"]


def test_dates_that_an_arc_does_not_say(tmp_path):
    filedesc = entry("filedesc://a.arc - - -", FILEDESC_BODY)
    with_own = entry(
        "http://a/ 1.2.3.4 - x",
        HTTP.replace(b"\n", b"\nDate: Sun, 16 Feb 2014 05:02:20 GMT\n", 1),
    )
    without = entry("http://a/ 1.2.3.4 9999 x", HTTP)
    path, _, problems = converted(tmp_path, filedesc + with_own + without + PAGE)
    assert accepted(path)
    assert problems == ["bad-date"] * 3
    with Volume(path) as volume:
        assert [r.fields["WARC-Date"][11:] for r in volume] == ["05:02:20Z"] * 3 + ["", "05:02:22Z"]


def test_without_a_filedesc_there_is_a_warcinfo(tmp_path):
    path, _, _ = converted(tmp_path, PAGE + DNS)
    with Volume(path) as volume:
        assert [r.type for r in volume] == ["warcinfo", "response", "resource"]


def test_an_arc_without_records_makes_no_file(tmp_path):
    (tmp_path / "a.arc").write_bytes(b"junk")
    assert arc2warc(tmp_path / "a.arc").path is None
    assert [p.name for p in tmp_path.iterdir()] == ["a.arc"]


def test_nothing_is_overwritten(tmp_path):
    path, _, _ = converted(tmp_path, PAGE)
    before = path.read_bytes()
    for taken in (path, tmp_path / "b.warc.new.open"):
        taken.touch()
        with pytest.raises(FileExistsError):
            arc2warc(tmp_path / "a.arc", tmp_path / taken.name.removesuffix(".new.open"))
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.arc", "a.warc", "b.warc.new.open"]


@pytest.mark.parametrize(
    ("url", "legal"),
    [
        ("http://a.example/?a[]=b&c=%20#d", "http://a.example/?a[]=b&c=%20#d"),
        ('http://a/b c"<>{}|\\^`%zz%', "http://a/b%20c%22%3C%3E%7B%7D|\\%5E%60%zz%"),
        ('http://a/?b c"<>{}|\\^`%zz%', "http://a/?b%20c%22%3C%3E{}|\\^`%zz%"),
        ("http://[::1]:80/ü#a#b`", "http://[::1]:80/%C3%BC#a#b%60"),
        ("http://a/caf%E9", "http://a/caf%E9"),
        ("dns:a.example", "dns:a.example"),
        ("x", "x"),
    ],
)
def test_urls_are_made_legal(url, legal):
    assert legal_url(url) == legal == legal_url(legal)


def test_a_length_that_is_off_makes_no_other_url(tmp_path):
    wrong = PAGE.replace(b" %d\n" % len(HTTP), b" %d\n" % (len(HTTP) + 2))
    path, _, codes = converted(tmp_path, FILEDESC + wrong + PAGE)
    assert accepted(path)
    assert codes == ["arc-length"]
    pages = list(Volume(path).records(types=["response"]))
    assert [page.url for page in pages] == ["http://a.example/x"] * 2
    assert all(page.block().read(0, 1000) == HTTP for page in pages)
    assert not any("WARC-Truncated" in page.fields for page in pages)


def test_a_url_of_other_bytes_than_utf_8_keeps_each_of_them(tmp_path):
    line = b"http://a/caf\xe9?|\xc3\xa9[%zz] 1.2.3.4 20140216050222 text/plain 2\nok\n"
    path, _, _ = converted(tmp_path, FILEDESC + line)
    assert accepted(path)
    assert list(Volume(path))[-1].url == "http://a/caf%E9?|%C3%A9[%zz]"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
@pytest.mark.parametrize("suffix", [".warc", ".warc.gz"])
def test_samples(tmp_path, suffix):
    for sample in sorted(SAMPLES.glob("*.arc*")):
        target = tmp_path / (sample.name.partition(".")[0] + suffix)
        done = arc2warc(sample, target)
        assert not done.left_out
        assert accepted(target), sample.name
        with ArcVolume(sample) as old, Volume(target) as new:
            headers = {r.fields.first("ARC-Header"): r for r in new}
            for record in old:
                other = headers[record.fields["ARC-Header"]]
                assert b"".join(other.block().chunks()) == b"".join(record.block().chunks())
            assert not new.problems
