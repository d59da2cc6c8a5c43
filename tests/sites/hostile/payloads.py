"""Bodies that are not what they are called, or too much of anything."""

# ruff: noqa: E501  a line a behaviour, where one will do
from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator

from tests.sites.hostile.behaviours import (
    CLOSE,
    PDF,
    Behaviour,
    Pause,
    Repeat,
    Step,
    head,
    http,
    one,
    pdf,
)

OK = "HTTP/1.1 200 OK"
LOGIN = (b"<!doctype html><html><head><title>Log in</title></head><body><form action=/login>"
         b"<input name=u><input type=password name=p></form></body></html>")  # fmt: skip
DRIPPED = PDF[:2994] + b"%%EOF\n"
CUT = PDF.removesuffix(b"\n%%EOF\n")


def behaviours() -> Iterator[Behaviour]:
    yield one("login-as-pdf", "login", *pdf(data=LOGIN))
    yield one("page-as-pdf", "splap-only", *pdf(data=b"<html><body>Not a PDF</body></html>"))
    yield one("pdf-as-page", "fut", *http(PDF))
    for name, lead in (
        ("newlines", b"\r\n\r\n\n"), ("bom", b"\xef\xbb\xbf"), ("garbage", b"\0\xff\x01garbage"),
        ("1019-bytes", b"j" * 1019), ("php-warnings", b"<br />\n<b>Warning</b>: foo in <b>/x.php</b><br />\n"),
        ("xml-declaration", b'<?xml version="1.0"?>\n'), ("pjl", b"\x1b%-12345X@PJL\r\n"),
        ("mime-part", b"--b\r\nContent-Type: application/pdf\r\n\r\n"),
    ):  # fmt: skip
        yield one(f"pdf-led-by-{name}", "fut", *pdf(data=lead + PDF))
    yield one("pdf-led-by-1020-bytes", "other-type", *pdf(data=b"j" * 1020 + PDF))
    yield one("pdf-led-by-a-page", "splap-only", *pdf(data=b"<html><body></body></html>" + PDF))
    yield one("pdf-name-deep-in-page", "splap-only",
              *http(b"<!doctype html><html><body>A PDF begins with %PDF-1.4</body></html>"))  # fmt: skip
    yield one("pdf-header-only", "truncated", *pdf(data=b"%PDF-1.4\n"))
    yield one("pdf-header-cut", "other-type", *pdf(data=b"%PDF"))
    yield one("pdf-twice", "fut", *pdf(data=PDF + PDF), fut=PDF + PDF)
    yield one("pdf-without-eof", "truncated", *pdf(data=CUT))
    without = CUT + b"\nstartxref\n116\n"
    yield one("pdf-with-startxref-alone", "fut", *pdf(data=without), fut=without)
    yield one("pdf-in-half", "truncated", *pdf(data=PDF[: len(PDF) // 2]))
    yield one("pdf-in-half-coded", "truncated",
              *pdf("Content-Encoding: gzip", data=gzip.compress(PDF[:2000])))  # fmt: skip
    yield one("pdf-without-eof-or-length", "truncated", head(OK), CUT, CLOSE)
    encrypted = PDF.replace(b"<< >>", b"<< /Encrypt 5 0 R >>")
    yield one("pdf-encrypted", "fut", *pdf(data=encrypted), fut=encrypted)
    yield one("pdf-version-garbage", "fut", *pdf(data=PDF.replace(b"1.7", b"\xff9Z")),
              fut=PDF.replace(b"1.7", b"\xff9Z"))  # fmt: skip
    yield one("pdf-with-warc-inside", "fut", *pdf(data=_WARC_INSIDE), fut=_WARC_INSIDE)
    yield one("pdf-with-http-inside", "fut", *pdf(data=PDF + b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
              fut=PDF + b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")  # fmt: skip
    yield one("pdf-lower-case", "other-type", *pdf(data=PDF.lower()))
    yield one("pdf-utf-16", "other-type", *pdf(data=PDF.decode("latin-1").encode("utf-16")))
    yield one("body-of-nul", "other-type", *pdf(data=b"\0" * 100_000))
    yield one("one-byte", "other-type", *pdf(data=b"%"))
    yield one("blanks", "other-type", *pdf(data=b" \r\n" * 9000))
    yield one("page-utf-16", "splap-only",
              *http("\ufeff<!doctype html><html><body>Größe</body></html>".encode("utf-16")))  # fmt: skip
    yield one("page-utf-32", "splap-only",
              *http("<!doctype html><html></html>".encode("utf-32"), media_type="text/plain"))  # fmt: skip
    yield one(
        "page-utf-7", "splap-only", *http(b"+ADw-html+AD4-", media_type="text/html; charset=utf-7")
    )
    yield one("multipart", "fut", *http(b"--b\r\n\r\n" + PDF, media_type="multipart/mixed; boundary=b"),
              fut=PDF)  # fmt: skip
    for name, data in (
        ("zip", _zip()), ("exe", b"MZ\x90\0" + b"\0" * 900), ("gzip", b"\x1f\x8b\x08\0" + b"\0" * 90),
        ("postscript", b"%!PS-Adobe-3.0\nshowpage\n"), ("rtf", b"{\\rtf1 text}"),
        ("png", b"\x89PNG\r\n\x1a\n" + b"\0" * 90), ("word", b"\xd0\xcf\x11\xe0" + b"\0" * 900),
        ("json", b'{"error": "no"}'), ("xml", b"<?xml version='1.0'?><rss></rss>"),
        ("svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>"),
        ("script", b"#!/bin/sh\nrm -rf /\n"), ("tex", b"\\documentclass{article}"),
        ("warc", b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n"),
        ("xml-bomb", _laughs()), ("escapes", b"\x1b[2J\x1b]0;owned\x07" * 50),
    ):  # fmt: skip
        yield one(f"other-{name}", "other-type", *http(data, media_type="application/octet-stream"))
    yield one("body-endless", "too-big", head(OK), PDF, Repeat(b"e" * 65536), truncated="length")
    yield one("body-endless-page", "too-big", head(OK, "Content-Type: text/html") + b"<html>",
              Repeat(b"<p>word " * 8192), truncated="length")  # fmt: skip
    yield one("body-of-40-mb", "too-big", head(OK, "Content-Length: 40000000"),
              PDF, Repeat(b"f" * 65536, 620), truncated="length")  # fmt: skip
    yield one("body-drips-and-stalls", "timeout", head(OK, "Content-Length: 9999"), *_drips(5),
              Pause(30), truncated="time")  # fmt: skip
    yield one("body-drips-and-ends", "fut", head(OK, "Content-Length: 3000") + PDF[:2990],
              *(s for n in range(2990, 3000) for s in (DRIPPED[n : n + 1], Pause(0.2))),
              fut=DRIPPED)  # fmt: skip
    yield one("body-drips-without-end", "timeout", head(OK, "Content-Length: 9999999"),
              PDF[:100], *_drips(600), truncated="time")  # fmt: skip
    yield one("head-drips-without-end", "timeout", head(OK)[:-2], *_drips(600))


def _drips(count: int) -> Iterator[Step]:
    for _ in range(count):
        yield b"X"
        yield Pause(0.4)


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("../../../evil.pdf", PDF)
        packed.writestr("bomb", bytes(10_000_000))
    return file.getvalue()


def _laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">{entities}]><l>&l11;</l>'.encode()


_WARC_INSIDE = (
    PDF
    + b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:0>\r\n"
    + b"Content-Length: 5\r\n\r\nhello\r\n\r\n"
    + PDF
)
