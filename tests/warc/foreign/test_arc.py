from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadWarc, TornWarc, WarcError
from lafka.warc.foreign.arc import ArcRecord, ArcVolume
from tests.warc.arcs import DNS, DNS_BODY, FILEDESC, FILEDESC_BODY, FTP, HTTP, PAGE, entry

SAMPLES = Path(__file__).parents[3].parent / "shared" / "warc"
SIZE = len(HTTP)


WHOLE = (FILEDESC, PAGE, DNS, FTP)
FORMS = {
    "plain": b"".join,
    "members": lambda parts: b"".join(gzip.compress(part) for part in parts),
    "one member": lambda parts: gzip.compress(b"".join(parts)),
}


def volume(folder: Path, data: bytes, **kw: bool) -> ArcVolume:
    path = folder / "a.arc"
    path.write_bytes(data)
    return ArcVolume(path, **kw)


def codes(opened: ArcVolume) -> list[tuple[int, str]]:
    return [(problem.offset, problem.code) for problem in opened.problems]


def records(opened: ArcVolume) -> list[ArcRecord]:
    found = list(opened)
    assert all(isinstance(record, ArcRecord) for record in found)
    return found


def block(record: ArcRecord) -> bytes:
    return b"".join(record.block().chunks())


@pytest.mark.parametrize("form", FORMS)
def test_records_are_those_of_a_warc(tmp_path, form):
    opened = volume(tmp_path, FORMS[form](WHOLE))
    filedesc, page, dns, ftp = records(opened)
    assert [r.type for r in (filedesc, page, dns, ftp)] == [
        "warcinfo",
        "response",
        "response",
        "resource",
    ]
    assert list(page.fields)[2:] == [
        ("WARC-Date", "2014-02-16T05:02:22Z"),
        ("WARC-Target-URI", "http://a.example/x"),
        ("WARC-IP-Address", "93.184.216.119"),
        ("Content-Type", "application/http;msgtype=response"),
        ("Content-Length", str(SIZE)),
        ("ARC-Header", PAGE.partition(b"\n")[0].decode()),
    ]
    assert filedesc.fields.first("WARC-Filename") == "a.arc"
    assert "WARC-IP-Address" not in filedesc.fields
    assert page.http
    assert (page.http.status, b"".join(page.payload())) == (200, b"hello")
    assert (dns.content_type, ftp.content_type) == ("text/dns", "no-type")
    assert (block(filedesc), block(ftp)) == (FILEDESC_BODY, b"bytes")
    assert [b"".join(r.pieces()) for r in (filedesc, page, dns, ftp)] == list(WHOLE)
    assert codes(opened) == ([(0, "one-member")] if form == "one member" else [])
    assert page.next() == dns
    assert opened.at(dns.offset, dns.inner) == dns
    assert opened.at(dns.offset, dns.inner).id == dns.id
    assert len({r.id for r in (filedesc, page, dns, ftp)}) == 4


def test_ten_fields_are_known_from_the_filedesc_and_by_themselves(tmp_path):
    names = (
        b"URL IP-address Archive-date Content-type Result-code Checksum Location Offset"
        b" Filename Archive-length\n"
    )
    first = entry("filedesc://a.arc 0.0.0.0 20140216050221 text/plain", b"2 0 Test\n" + names)
    page = entry("http://a/b c 1.2.3.4 20140216050222 text/html 200 ABC - 9 a.arc", HTTP)
    opened = volume(tmp_path, first + page + page.replace(b"b c", b"bc"))
    assert [r.url for r in opened] == ["filedesc://a.arc", "http://a/b c", "http://a/bc"]
    assert opened.at(len(first + page)).arc.value("Checksum") == "ABC"
    assert codes(opened) == [(len(first), "bad-uri")]


@pytest.mark.parametrize("between", [b"", b"\n", b"\n\n\r\n"])
def test_line_ends_between_records_may_be_any(tmp_path, between):
    opened = volume(tmp_path, between.join(part[:-1] for part in WHOLE))
    assert [block(r) for r in records(opened)] == [FILEDESC_BODY, HTTP, DNS_BODY, b"bytes"]
    assert {code for _, code in codes(opened)} == (set() if between else {"arc-trailer"})
    assert all(opened.at(record.offset) == record for record in opened)


@pytest.mark.parametrize("form", ["plain", "one member"])
def test_a_length_that_is_too_long_hides_nothing(tmp_path, form):
    wrong = FTP.replace(b" 5\n", b" 180\n")
    opened = volume(tmp_path, FORMS[form]((FILEDESC, wrong, DNS, PAGE)))
    assert [r.type for r in opened] == ["warcinfo", "response", "response"]
    assert "overlong-arc" in [code for _, code in codes(opened)]
    opened = volume(tmp_path, FORMS[form]((FILEDESC, wrong, DNS, PAGE)), salvage=True)
    cut = records(opened)[1]
    assert cut.torn
    assert block(cut) == b"bytes"


def test_a_length_that_is_too_short_leaves_bytes_that_are_named(tmp_path):
    wrong = FTP.replace(b"bytes", b"bytes" * 20)
    opened = volume(tmp_path, b"".join((FILEDESC, wrong, DNS)))
    assert len(records(opened)) == 3
    assert codes(opened) == [(len(FILEDESC + wrong) - 96, "stray-bytes")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("off", [-9, -2, -1, 1, 2, 3, 30])
@pytest.mark.parametrize("behind", [b"", DNS, PAGE + FTP])
def test_a_length_that_is_off_by_some_bytes_is_told_and_the_block_is_whole(
    tmp_path, form, off, behind
):
    wrong = PAGE.replace(b" %d\n" % SIZE, b" %d\n" % (SIZE + off))
    opened = volume(tmp_path, FORMS[form]((FILEDESC, wrong, behind)))
    found = records(opened)
    if not behind and off > 1:
        assert [code for _, code in codes(opened) if code != "one-member"] == ["torn-tail"]
        return
    assert [block(r) for r in found][1] == HTTP
    assert not found[1].torn
    assert [r.url for r in found] == [
        r.url for r in records(volume(tmp_path, FILEDESC + PAGE + behind))
    ]
    told = [problem for problem in opened.problems if problem.code == "arc-length"]
    assert [problem.offset for problem in told] == [found[1].offset]


def test_a_header_in_a_block_that_is_as_long_as_it_says_is_not_believed(tmp_path):
    text = b"see\n" + FTP
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text)
    page = entry("http://a/ 1.2.3.4 20140216050222 text/plain", head + text)
    opened = volume(tmp_path, FILEDESC + page + b"junk\n" + DNS)
    assert [r.type for r in opened] == ["warcinfo", "response", "response"]
    assert [code for _, code in codes(opened)] == ["stray-bytes"]


def test_records_of_version_2_are_had_again_at_their_offsets(tmp_path):
    names = "URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename"
    filedesc = entry("filedesc://a.arc 0.0.0.0 20140216050221 text/plain 200 - - 0 a.arc",
                     f"2 0 Test\n{names} Archive-length\n".encode())  # fmt: skip
    pages = [
        entry(f"http://a/{n} 1.2.3.4 20140216050222 text/html {code} ABC - 0 a.arc", HTTP)
        for n, code in enumerate(["200", "-", "x y", "OK", "0"])
    ]
    opened = volume(tmp_path, filedesc + b"".join(pages))
    assert len(records(opened)) == 6
    for record in opened:
        again = ArcVolume(opened.path).at(record.offset)
        assert (again, again.arc, again.block_length) == (record, record.arc, record.block_length)


def test_bytes_of_a_url_that_are_no_utf_8_are_kept_as_escapes(tmp_path):
    line = b"http://a/caf\xe9/\xc3\xa9 1.2.3.4 20140216050222 text/plain 2\nok\n"
    record = records(volume(tmp_path, FILEDESC + line))[1]
    assert record.url == "http://a/caf%E9/\xe9"
    assert record.header == line[:-3]


def test_an_arc_in_an_arc_is_a_block(tmp_path):
    inside = entry("http://a/a.arc 1.2.3.4 20140216050222 application/x-arc", b"".join(WHOLE))
    opened = volume(tmp_path, FILEDESC + inside + DNS)
    assert [r.type for r in opened] == ["warcinfo", "response", "response"]
    assert not codes(opened)


@pytest.mark.parametrize("form", FORMS)
def test_cut_anywhere_the_whole_records_come_and_the_rest_is_named(tmp_path, form):
    data = FORMS[form](WHOLE)
    for end in range(1, len(data)):
        opened = volume(tmp_path, data[:end])
        found = records(opened)
        if form == "plain":
            ends = [len(b"".join(WHOLE[: n + 1])) - 1 for n in range(4)]
            assert len(found) == sum(place <= end for place in ends)
            assert bool(codes(opened)) == (end not in ends and end - 1 not in ends)
        assert all(block(record) is not None for record in found)


def test_a_torn_record_is_given_on_request(tmp_path):
    data = FILEDESC + PAGE[:-20]
    assert len(records(volume(tmp_path, data))) == 1
    opened = volume(tmp_path, data, salvage=True)
    filedesc, page = records(opened)
    assert (filedesc.torn, page.torn) == (False, True)
    assert block(page) == HTTP[:-19]
    assert codes(opened) == [(len(FILEDESC), "torn-tail")]
    torn = records(volume(tmp_path, gzip.compress(data)[:-9], salvage=True))[-1]
    assert torn.torn
    assert HTTP.startswith(block(torn))


def test_garbage_is_passed_over(tmp_path):
    dice = random.Random(7)
    junk = dice.randbytes(3_000_000) + b"\n"
    opened = volume(tmp_path, FILEDESC + junk + PAGE + b"filedesc:// a b\nno header\n" + DNS)
    assert [r.type for r in opened] == ["warcinfo", "response", "response"]
    assert codes(opened) == [
        (len(FILEDESC), "stray-bytes"),
        (len(FILEDESC + junk + PAGE), "arc-header"),
    ]


def test_a_broken_member_hides_no_other(tmp_path):
    broken = bytearray(gzip.compress(PAGE))
    broken[20:30] = bytes(10)
    opened = volume(tmp_path, gzip.compress(FILEDESC) + bytes(broken) + gzip.compress(DNS))
    assert [r.type for r in opened] == ["warcinfo", "response"]
    assert codes(opened)[0][1] == "bad-compression"


def test_odd_fields_are_absent_and_named(tmp_path):
    opened = volume(tmp_path, entry("http://a/ x.y 2014021 html", HTTP))
    (record,) = records(opened)
    assert record.date is None
    assert [name for name, _ in record.fields][2:4] == ["WARC-Target-URI", "Content-Type"]
    assert codes(opened) == [(0, "bad-date"), (0, "bad-value")]
    assert not [
        r for r in volume(tmp_path, entry("http://a/ - 20140216050222123 -", b"x")) if not r.date
    ]


def test_headers_of_other_writers(tmp_path):
    bad = (
        b"\r\n\nfiledesc://live-web-example.arc.gz 127.0.0.1 20140216050221 text/plain 4\n1 0\n\n"
        b"http://example.com/ 93.184.216.119 201404010000000000 text/html -1\n\n"
        b"http://example.com/ 93.184.216.119 201404010000000000 text/html 0\n\n"
        b"http://example.com/ 127.0.0.1 20140102000000 text/html 1\n\n"
        b"whois:a.example  20140102000000 text/plain 2\nok\n"
    )
    opened = volume(tmp_path, bad)
    _, empty, one, whois = records(opened)
    assert (block(empty), block(one), block(whois)) == (b"", b"\n", b"ok")
    assert empty.fields["WARC-Date"] == "2014-04-01T00:00:00Z"
    assert "WARC-IP-Address" not in whois.fields
    assert [code for _, code in codes(opened)] == ["arc-header", "bad-date", "arc-trailer"]


def test_strict_raises(tmp_path):
    with pytest.raises(TornWarc):
        list(volume(tmp_path, FILEDESC + PAGE[:-9], strict=True))
    with pytest.raises(BadWarc):
        list(volume(tmp_path, FILEDESC + b"junk\n" + PAGE, strict=True))
    with pytest.raises(WarcError):
        volume(tmp_path, FILEDESC).at(3)


def test_a_header_of_one_endless_line_is_no_header(tmp_path):
    opened = volume(tmp_path, gzip.compress(FILEDESC + b"http://a/" + b"a" * 20_000_000))
    assert len(records(opened)) == 1
    assert [code for _, code in codes(opened)][-1] == "arc-header"


TOLD = {
    "w027_example.arc.gz": (1, 299, 0, 0),
    "w122_1-1-20110922131213-00000-svc-VirtualBox.arc": (1, 101, 0, 0),
    "w123_invalid-arcfile-record-then-garbage.arc": (0, 1, 0, 1),
    "w124_small_BNF.arc": (1, 5, 0, 0),
    "w125_test-arc-1.0-dashed-fields.arc": (1, 1, 0, 2),
    "w126_test-arc-1.0-invalid-fields.arc": (0, 1, 0, 2),
    "w228_hello-world.arc": (1, 1, 0, 0),
    "w296_example.arc": (1, 1, 0, 0),
}


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
@pytest.mark.parametrize("name", TOLD)
def test_samples(name):
    with ArcVolume(SAMPLES / name) as opened:
        types = Counter(record.type for record in opened)
        assert (
            types["warcinfo"],
            types["response"],
            types["resource"],
            len(opened.problems),
        ) == TOLD[name]


ENTRIES = st.sampled_from([
    ("http://a.example/x 1.2.3.4 20140216050222 text/html", HTTP),
    ("http://a.example/y 1.2.3.4 20140216050222 text/html", HTTP + b"\n"),
    ("dns:a.example 8.8.8.8 20140216050223 text/dns", DNS_BODY),
    ("ftp://a.example/f 1.2.3.4 20140216050224 no-type", b""),
    ("http://a b/ x 20140216050224 no-type", b"text\n\n"),
])  # fmt: skip
OFF = st.sampled_from([0, 0, 0, 1, -1, 2, 7, 300])


@given(st.lists(st.tuples(ENTRIES, OFF, st.sampled_from([b"\n", b"", b"\r\n", b"\n\n"]))))
def test_what_is_given_can_be_had_again_at_its_offset(tmp_path_factory, parts):
    data = FILEDESC
    for (line, body), off, behind in parts:
        data += f"{line} {max(0, len(body) + off)}\n".encode() + body + behind
    # Behind a length that is far off a header is looked for at the begin of a line alone.
    found = all(behind for *_, behind in parts) or all(off < 300 for _, off, _ in parts)
    path = tmp_path_factory.mktemp("arc") / "a.arc"
    for form in (data, gzip.compress(data)):
        path.write_bytes(form)
        with ArcVolume(path) as opened, ArcVolume(path) as again:
            for record in opened:
                same = again.at(record.offset, record.inner)
                assert (same.arc, same.block_length) == (record.arc, record.block_length)
                known = record.url.startswith(("http://a", "dns:a", "ftp://a", "filedesc:"))
                assert known or not found
