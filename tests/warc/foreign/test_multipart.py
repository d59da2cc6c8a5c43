from __future__ import annotations

import base64
import binascii
import quopri
from email.message import EmailMessage

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.warc.errors import BadValue
from lafka.warc.foreign import mhtml
from lafka.warc.foreign.mhtml import MimePart, decoded, parameter, parts
from lafka.warc.format.sources import MemorySource


def message(*bodies: bytes, boundary: str = "xyz") -> bytes:
    mark = b"--" + boundary.encode()
    return (
        b'From: a\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\tboundary="'
        + boundary.encode()
        + b'"; type="text/html"\r\n\r\npreamble\r\n'
        + b"".join(mark + b"\r\n" + body + b"\r\n" for body in bodies)
        + mark
        + b"--\r\nepilogue\r\n"
    )


def bodies(data: bytes) -> list[bytes | str]:
    source = MemorySource(data)
    return [
        b"".join(decoded(source, part)) if isinstance(part, MimePart) else part[1]
        for part in parts(source)
    ]


def test_parts_with_their_places():
    data = message(b"Content-Type: text/html\r\n\r\nbody\r\n", b"\r\nno header", b"\r\n")
    found = [part for part in parts(MemorySource(data)) if isinstance(part, MimePart)]
    assert bodies(data + b"--xyz\r\n\r\nno part") == [b"body\r\n", b"no header", b""]
    assert found[0].content_type == "text/html"
    assert data[found[0].offset :].startswith(b"Content-Type: text/html")
    assert data[found[0].body :].startswith(b"body")
    assert found[0].header == b"Content-Type: text/html\r\n\r\n"


def test_encodings_are_undone():
    raw = bytes(range(256)) * 5000
    data = message(
        b"Content-Transfer-Encoding: BASE64\r\n\r\n" + base64.encodebytes(raw),
        b"Content-Transfer-Encoding: quoted-printable\r\n\r\n" + quopri.encodestring(raw),
        b"Content-Transfer-Encoding: binary\r\n\r\n" + raw,
    )
    assert bodies(data) == [raw, raw, raw]


def test_an_unknown_encoding_is_said():
    data = message(b"Content-Transfer-Encoding: x-uuencode\r\n\r\nabc")
    with pytest.raises(BadValue, match="x-uuencode"):
        bodies(data)


def test_multiparts_in_multiparts():
    inner = message(b"\r\none", b"\r\ntwo", boundary="inner")
    assert bodies(message(inner, b"\r\nthree")) == [b"one", b"two", b"three"]


def test_nesting_has_an_end():
    data = b"\r\nleaf"
    for level in range(20):
        data = message(data, boundary=f"b{level}")
    assert bodies(data) == ["multiparts nested more than 8 deep"]


def test_a_torn_message_gives_its_last_part_and_says_so():
    data = message(b"\r\none", b"\r\ntwo").partition(b"\r\n--xyz--")[0]
    assert bodies(data) == [b"one", b"two", "the message ends inside its last part"]


def test_without_any_boundary_line():
    assert bodies(b"Content-Type: multipart/mixed; boundary=b\n\ntext") == [
        "a multipart without any part"
    ]


def test_a_message_that_is_no_multipart_is_one_part():
    assert bodies(b"Content-Type: text/html\n\n<p>") == [b"<p>"]
    assert bodies(b"") == [b""]


def test_a_header_without_end_is_said():
    assert bodies(message(b"A: " + b"a" * 70_000, b"\r\nb")) == [
        "a header of more than 64 KiB",
        b"b",
    ]


def test_boundaries_over_the_edges_of_windows(monkeypatch):
    data = message(b"\r\none", b"\r\n--xy\r\n", b"\r\n" + b"--xyzz " * 40, b"\r\ntwo")
    expected = bodies(data)
    assert expected == [b"one", b"--xy\r\n", b"--xyzz " * 40, b"two"]
    for window in range(1, 60):
        monkeypatch.setattr(mhtml, "_WINDOW", max(window, 12))
        assert bodies(data) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('multipart/related; boundary="a b"', "a b"),
        ("multipart/related; boundary=a-b; x=y", "a-b"),
        ("multipart/related", ""),
        ("multipart/related; boundary*=utf-8''a%20b", "a b"),
        ("multipart/related; boundary*0*=bad-charset''%ff; boundary*x=1", "ÿ"),
        ("", ""),
    ],
)
def test_a_parameter(text, value):
    assert parameter(text, "boundary") == value


@given(st.text())
def test_no_parameter_raises(text):
    assert isinstance(parameter("multipart/related;" + text, "boundary"), str)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_what_the_standard_library_writes_is_read(contents):
    made = EmailMessage()
    for content in contents:
        made.add_attachment(content, maintype="application", subtype="octet-stream")
    assert bodies(made.as_bytes()) == contents


@given(st.binary(max_size=400), st.integers(1, 40), st.booleans())
@example(b"\n\r\n", 1, True)
def test_quoted_printable_in_pieces(data, size, is_text):
    # In a text its writer makes all ends of lines those of the first.
    text = binascii.b2a_qp(data, istext=is_text)
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    read = b"".join(mhtml._quoted_printable(pieces))
    assert read == quopri.decodestring(text)
    assert is_text or read == data
