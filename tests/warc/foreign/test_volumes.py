"""MHTML, MAFF and WACZ files as volumes, and the registry that tells them apart."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import os
import random
import zipfile
from pathlib import Path

import pytest

from lafka.warc.errors import BadWarc, WarcError
from lafka.warc.foreign import KINDS, kind_of, open_volume
from lafka.warc.reading.volumes import Volume

SAMPLES = Path(__file__).parents[3].parent / "shared" / "warc"
MHTML = (
    b"From: <Saved by Blink>\r\nSnapshot-Content-Location: http://a.example/\r\n"
    b"Date: Fri, 20 Nov 2020 10:11:12 -0100\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/related;\r\n\ttype="text/html";\r\n\tboundary="b"\r\n\r\n'
    b"--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n"
    b"Content-Location: http://a.example/\r\n\r\n<p>=C3=BC=\r\n</p>\r\n"
    b"--b\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n"
    b"Content-Location: i/a.png\r\n\r\niVBORw0KGgo=\r\n"
    b"--b\r\nContent-Type: text/css\r\nContent-ID: <c1@x>\r\n\r\np{}\r\n--b--\r\n"
)
RDF = b"""<?xml version="1.0"?>
<RDF:RDF xmlns:MAF="http://maf.mozdev.org/metadata/rdf#"
         xmlns:RDF="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <RDF:Description RDF:about="urn:root">
    <MAF:originalurl RDF:resource="http://a.example/page"/>
    <MAF:archivetime RDF:resource="Mon, 23 Jul 2007 20:23:45 +0200"/>
    <MAF:indexfilename RDF:resource="index.html"/>
  </RDF:Description>
</RDF:RDF>"""


def record(number: int) -> bytes:
    return (
        b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:%d>\r\n"
        b"WARC-Date: 2020-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.example/%d\r\n"
        b"Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nbody\r\n\r\n" % (number, number)
    )


def zipped(path: Path, contents: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def wacz(path: Path, method: int = zipfile.ZIP_STORED, **change: object) -> Path:
    contents = {
        "archive/a.warc.gz": gzip.compress(record(1)) + gzip.compress(record(2)),
        "indexes/index.cdxj": b"",
        "archive/b.warc": record(3) + record(4),
    }
    resources = [
        {"path": name, "hash": "sha256:" + hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in contents.items()
    ]
    package = json.dumps({"resources": resources, **change}).encode()
    return zipped(path, {**contents, "datapackage.json": package}, method)


def codes(volume: Volume) -> list[str]:
    return [problem.code for problem in volume.problems]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "a.mhtml"
    path.write_bytes(MHTML)
    return path


def test_mhtml_parts_are_resources(page):
    with open_volume(page) as volume:
        html, image, style = volume
        assert [(r.type, r.url, r.content_type) for r in volume] == [
            ("resource", "http://a.example/", "text/html"),
            ("resource", "thismessage:/i/a.png", "image/png"),
            ("resource", "cid:c1@x", "text/css"),
        ]
        assert {r.fields.first("WARC-Date") for r in volume} == {"2020-11-20T11:11:12Z"}
        assert b"".join(html.payload()) == "<p>ü</p>".encode()
        assert b"".join(image.payload()) == b"\x89PNG\r\n\x1a\n"
        assert (html.payload_place, image.payload_place) == (None, None)
        offset, length = style.payload_place
        assert MHTML[offset : offset + length] == b"p{}"
        assert volume.at(image.offset) == image == html.next()
        assert style.next() is None
        assert volume.at(image.offset).next() == style
        walked = volume.first()
        assert [walked := walked.next(), walked := walked.next()] == [image, style]
        assert list(volume.records(start=style.offset)) == [style]
        assert len({r.id for r in volume}) == 3
        assert codes(volume) == []
        with pytest.raises(BadWarc):
            volume.at(1)


def test_what_mhtml_lacks_is_absent(page):
    page.write_bytes(b"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n<p>")
    (record,) = open_volume(page)
    assert [name for name, _ in record.fields] == [
        "WARC-Type",
        "WARC-Record-ID",
        "Content-Type",
        "Content-Length",
    ]
    assert record.date is None


def test_a_torn_or_odd_part_is_named_and_hides_no_other(page):
    page.write_bytes(MHTML.replace(b"base64", b"base65").removesuffix(b"--b--\r\n"))
    volume = open_volume(page)
    assert [r.content_type for r in volume] == ["text/html", "text/css"]
    assert codes(volume) == ["bad-part", "bad-part"]
    with pytest.raises(BadWarc):
        list(open_volume(page, strict=True))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_maff_files_are_resources_of_a_page(tmp_path, method):
    files = {"1/index.rdf": RDF, "1/index.html": b"<p>", "1/index_files/a.png": b"png"}
    volume = open_volume(zipped(tmp_path / "a.maff", {**files, "2/x": b""}, method))
    about, html, image, other = volume
    assert (about.type, about.content_type) == ("metadata", "application/rdf+xml")
    assert (html.type, html.url, html.fields["MAFF-Member"]) == (
        "resource",
        "http://a.example/page",
        "1/index.html",
    )
    assert html.fields.first("WARC-Date") == "2007-07-23T18:23:45Z"
    assert (image.url, image.content_type, image.date) == ("", "", html.date)
    assert other.date is None
    assert [b"".join(r.payload()) for r in volume] == [*files.values(), b""]
    assert (html.payload_place is not None) == (method == zipfile.ZIP_STORED)
    assert volume.at(image.offset) == image
    assert codes(volume) == []


def test_a_maff_page_that_says_nothing(tmp_path):
    volume = open_volume(zipped(tmp_path / "a.maff", {"1/index.rdf": b"<a>", "1/b": b"b"}))
    assert [r.url for r in volume] == ["", ""]
    assert codes(volume) == ["maff-index"]


def test_wacz_records_are_read_in_place(tmp_path):
    path = wacz(tmp_path / "a.wacz")
    with open_volume(path) as volume:
        found = list(volume)
        assert [r.id for r in found] == [f"<urn:x:{n}>" for n in (1, 2, 3, 4)]
        assert [b"".join(r.payload()) for r in found] == [b"body"] * 4
        assert path.read_bytes()[found[2].offset :].startswith(record(3))
        assert volume.indexes == ("indexes/index.cdxj",)
        for r in found:
            assert open_volume(path).at(r.offset) == r
            assert list(volume.records(start=r.offset)) == found[found.index(r) :]
        walked = [volume.first()]
        while (following := walked[-1].next()) is not None:
            walked.append(following)
        assert walked == found
        assert codes(volume) == []
    with pytest.raises(BadWarc):
        open_volume(path).at(0)


def test_a_compressed_wacz_is_inflated_aside_and_told_of(tmp_path):
    volume = open_volume(wacz(tmp_path / "a.wacz", zipfile.ZIP_DEFLATED))
    assert [r.id for r in volume] == [f"<urn:x:{n}>" for n in (1, 2, 3, 4)]
    assert codes(volume) == ["wacz-packed", "wacz-packed"]


def test_what_datapackage_says_is_compared(tmp_path):
    other = {
        "resources": [
            {"path": "archive/a.warc.gz", "hash": "sha256:" + "0" * 64, "bytes": 7},
            {"path": "archive/b.warc", "hash": "md9:00"},
            {"path": "none", "stats": {"hash": "00", "bytes": 1}},
            {"path": 7},
            None,
        ]
    }
    volume = open_volume(wacz(tmp_path / "a.wacz", **other))
    assert sorted(codes(volume)) == [
        "wacz-digest",
        "wacz-length",
        "wacz-missing",
        "wacz-unlisted",
    ]
    assert len(list(volume)) == 4


@pytest.mark.parametrize("package", [b"", b"[]", b"[" * 100_000, b'{"resources": 1}', b"{}"])
def test_a_datapackage_that_is_none(tmp_path, package):
    path = zipped(tmp_path / "a.wacz", {"archive/b.warc": record(1), "datapackage.json": package})
    volume = open_volume(path)
    assert len(list(volume)) == 1
    assert codes(volume) == ["wacz-package"]


def test_no_zip_at_all(tmp_path):
    path = tmp_path / "a.wacz"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    volume = open_volume(path)
    assert list(volume) == []
    assert codes(volume) == ["bad-zip", "wacz-empty"]


def test_kinds_are_told_by_their_first_bytes(tmp_path, page):
    arc = b"filedesc://a.arc 0.0.0.0 20140216050221 text/plain 4\nbody\n"
    files = {
        "a.arc": arc,
        "b.gz": gzip.compress(arc),
        "c.arc": b"http://a/ 1.2.3.4 20140216050221 text/plain 4\nbody\n",
        "d.wacz": b"PK\x03\x04",
        "e.maff": b"PK\x03\x04",
        "f": MHTML,
        "g.warc": record(1),
        "h.warc.gz": gzip.compress(record(1)),
        "i.mht": b"MIME-Version: 1.0\n\n",
        "j": b"",
        "k.gz": b"\x1f\x8b\x08nothing",
        "l.gz": bz2.compress(arc),
        "m.arc.gz": gzip.compress(b"junk"),
        "n.arc": record(1),
    }
    kinds = []
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        kinds.append(kind_of(tmp_path / name))
        list(open_volume(tmp_path / name))
    assert " ".join(kinds) == "arc arc arc wacz maff mhtml warc warc mhtml warc warc arc arc warc"
    assert {name for name, _, _ in KINDS} == {"arc", "wacz", "maff", "mhtml", "warc"}


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo"):
        with pytest.raises(BadWarc):
            open_volume(path)
    with pytest.raises(OSError, match="none"):
        open_volume(tmp_path / "none")


def test_damage_raises_nothing_but_the_librarys_own(tmp_path, page):
    maff = zipped(tmp_path / "b.maff", {"1/index.rdf": RDF, "1/index.html": b"<p>" * 100}, 8)
    dice = random.Random(3)
    for source in (page, maff, wacz(tmp_path / "c.wacz")):
        data = source.read_bytes()
        for _ in range(150):
            changed = bytearray(data)
            for _ in range(dice.randint(1, 3)):
                changed[dice.randrange(len(changed))] = dice.randrange(256)
            cut = dice.randrange(len(changed)) if dice.random() < 0.3 else len(changed)
            source.write_bytes(changed[:cut])
            volume = open_volume(source)
            try:
                for found in volume:
                    assert b"".join(found.payload()) is not None
                assert volume.problems is not None
            except WarcError:
                pass


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
@pytest.mark.parametrize(
    ("name", "count", "told"),
    [
        ("z001_scoop.wacz", 207, ["wacz-digest"]),
        ("z006_invalid_example_1.wacz", 0, ["wacz-empty", "wacz-missing", "wacz-unlisted"]),
        ("z007_invalid_signed_example_1.wacz", 4, ["wacz-signed"]),
        ("z009_valid_example_2.wacz", 4, []),
        ("z010_valid_signed_example_1.wacz", 4, ["wacz-signed"]),
    ],
)
def test_samples(name, count, told):
    with open_volume(SAMPLES / name) as volume:
        assert len(list(volume)) == count
        assert codes(volume) == told
