"""Messages that end too early, too late or never, and what is no HTTP at all."""

from __future__ import annotations

from collections.abc import Iterator

from tests.sites.hostile.behaviours import (
    CLOSE,
    HOLD,
    PDF,
    RESET,
    SPLAP,
    Behaviour,
    Repeat,
    head,
    http,
    one,
)

OK = "HTTP/1.1 200 OK"
AS_PDF = "Content-Type: application/pdf"
CHUNKED = "Transfer-Encoding: chunked"
SIZE = len(PDF)


def length(count: int | str) -> str:
    return f"Content-Length: {count}"


def chunked(*pieces: bytes) -> bytes:
    """The head of a chunked PDF, and *pieces* behind it as they are."""
    return head(OK, AS_PDF, CHUNKED) + b"".join(pieces)


def chunk(data: bytes, size: str = "", extension: bytes = b"") -> bytes:
    return (size or f"{len(data):x}").encode() + extension + b"\r\n" + data + b"\r\n"


def behaviours() -> Iterator[Behaviour]:
    yield from _lengths()
    yield from _chunks()
    yield from _heads()
    yield from _status_lines()
    yield from _interim()


def _lengths() -> Iterator[Behaviour]:
    cut = {"truncated": "disconnect"}
    yield one(
        "short-of-length", "truncated", head(OK, AS_PDF, length(SIZE + 500)), PDF, CLOSE, **cut
    )
    yield one(
        "reset-in-body", "truncated", head(OK, AS_PDF, length(SIZE)), PDF[:1500], RESET, **cut
    )
    yield one("closed-after-head", "truncated", head(OK, AS_PDF, length(SIZE)), CLOSE, **cut)
    yield one(
        "longer-than-length", "fut", head(OK, AS_PDF, length(SIZE)), PDF + b"more" * 99, CLOSE
    )
    yield one("answer-behind-the-body", "fut", head(OK, AS_PDF, length(SIZE)) + PDF
              + head("HTTP/1.1 404 Not Found", length(0)))  # fmt: skip
    yield one("lengths-equal", "fut", head(OK, AS_PDF, length(SIZE), length(SIZE)), PDF, CLOSE)
    yield one("lengths-in-one-line", "fut", head(OK, AS_PDF, length(f"{SIZE}, {SIZE}")), PDF, CLOSE)
    yield one("lengths-differ", "bad-http", head(OK, AS_PDF, length(SIZE), length(7)), PDF, CLOSE)
    yield one("length-no-number", "bad-http", head(OK, AS_PDF, length("many")), PDF, CLOSE)
    yield one("length-negative", "bad-http", head(OK, AS_PDF, length(-5)), PDF, CLOSE)
    yield one("length-signed", "bad-http", head(OK, AS_PDF, length("+5")), PDF, CLOSE)
    yield one("length-hexadecimal", "bad-http", head(OK, AS_PDF, length("0x10")), PDF, CLOSE)
    yield one("length-empty", "bad-http", head(OK, AS_PDF, "Content-Length:"), PDF, CLOSE)
    yield one(
        "length-huge", "too-big", head(OK, AS_PDF, length(10**17)), PDF, HOLD, truncated="length"
    )
    yield one("length-overflowing", "too-big", head(OK, AS_PDF, length("9" * 40)), PDF, HOLD,
              truncated="length")  # fmt: skip
    yield one("length-of-thousand-digits", "too-big", head(OK, AS_PDF, length("9" * 1000)), PDF,
              HOLD, truncated="length")  # fmt: skip
    yield one("length-of-ten-thousand-digits", "bad-http", head(OK, AS_PDF, length("9" * 10_000)),
              PDF, CLOSE)  # fmt: skip
    yield one(
        "length-unicode-digits",
        "bad-http",
        head(OK, AS_PDF, "Content-Length: ٣".encode()),
        PDF,
        CLOSE,
    )
    yield one("length-zero-and-a-body", "other-type", head(OK, AS_PDF, length(0)) + PDF, CLOSE)
    yield one("no-length-closed", "fut", head(OK, AS_PDF), PDF, CLOSE)
    yield one("no-length-reset-whole", "fut", head(OK, AS_PDF), PDF, RESET)
    yield one("no-length-reset-behind-a-page", "truncated", head(OK) + SPLAP, RESET, **cut)
    yield one("no-length-reset-in-a-second-pdf", "truncated", head(OK), PDF + PDF[:2000], RESET,
              **cut)  # fmt: skip
    yield one("chunks-reset-behind-the-pdf", "truncated", chunked(chunk(PDF)), RESET, **cut)
    yield one("short-of-length-behind-eof", "truncated", head(OK, length(SIZE + 1)), PDF, RESET,
              **cut)  # fmt: skip
    yield one("no-length-reset-in-body", "truncated", head(OK, AS_PDF), PDF[:1500], RESET, **cut)
    yield one("no-length-closed-in-body", "truncated", head(OK, AS_PDF), PDF[:1500], CLOSE)
    yield one("no-length-never-closed", "timeout", head(OK, AS_PDF), PDF, HOLD, truncated="time")


def _chunks() -> Iterator[Behaviour]:
    whole = chunk(PDF) + b"0\r\n\r\n"
    first = f"{SIZE:x}\r\n".encode()
    cut = {"truncated": "disconnect"}
    for name, body in (
        ("before-first-size", b""),
        ("in-size", first[:2]),
        ("before-lf-of-size", first[:-1]),
        ("after-size", first),
        ("in-data", first + PDF[:1500]),
        ("after-data", first + PDF),
        ("before-lf-of-data", first + PDF + b"\r"),
        ("before-last", chunk(PDF)),
        ("in-last", chunk(PDF) + b"0"),
        ("before-lf-of-last", chunk(PDF) + b"0\r"),
        ("before-trailers", chunk(PDF) + b"0\r\n"),
        ("in-trailer", chunk(PDF) + b"0\r\nX-Trailer: on"),
        ("before-end", chunk(PDF) + b"0\r\nX-Trailer: one\r\n\r"),
    ):
        yield one(f"chunks-cut-{name}", "truncated", chunked(body), CLOSE, **cut)
    yield one("chunks-reset", "truncated", chunked(first, PDF[:1500]), RESET, **cut)
    for name, size in (
        ("no-number", "zz"),
        ("empty", " "),
        ("negative", "-5"),
        ("signed", "+5"),
        ("hexadecimal-prefix", "0x5"),
        ("overflowing", "f" * 40),
        ("of-a-kilobyte", "0" * 1000 + "5"),
        ("with-underscore", "1_0"),
        ("with-nul", "5\0"),
    ):
        yield one(f"chunk-size-{name}", "truncated", chunked(chunk(PDF[:5], size)), CLOSE, **cut)
    yield one("chunk-size-huge", "too-big", chunked(chunk(PDF, "7fffffffffffffff")),
              Repeat(b"x" * 65536), truncated="length")  # fmt: skip
    yield one("chunk-longer-than-size", "truncated", chunked(chunk(PDF, "10")), CLOSE, **cut)
    yield one("chunks-endless", "too-big", chunked(chunk(PDF)), Repeat(chunk(b"y" * 65536)),
              truncated="length")  # fmt: skip
    yield one("chunks-of-one-byte", "fut", chunked(*(chunk(PDF[i : i + 1]) for i in range(SIZE))),
              b"0\r\n\r\n")  # fmt: skip
    yield one(
        "chunk-extension", "fut", chunked(chunk(PDF, extension=b';a=b;c="d"'), b"0;e\r\n\r\n")
    )
    yield one(
        "chunk-extension-endless", "truncated", chunked(first[:-2], b";"), Repeat(b"x" * 8192)
    )
    yield one(
        "trailers", "fut", chunked(chunk(PDF), b"0\r\nX-Trailer: one\r\nSet-Cookie: a=b\r\n\r\n")
    )
    yield one("trailers-endless", "truncated", chunked(chunk(PDF), b"0\r\n"),
              Repeat(b"X-Trailer: " + b"t" * 4000 + b"\r\n"))  # fmt: skip
    yield one("chunks-and-length", "fut", head(OK, AS_PDF, CHUNKED, length(7)), whole)
    yield one("length-and-chunks", "fut", head(OK, AS_PDF, length(7), CHUNKED), whole)
    yield one("chunked-twice", "fut", head(OK, AS_PDF, CHUNKED, CHUNKED), whole, CLOSE)
    yield one("chunked-in-name-only", "truncated", head(OK, AS_PDF, CHUNKED), PDF, CLOSE)
    yield one("chunks-behind-bare-lf", "truncated", chunked(whole.replace(b"\r\n", b"\n")), CLOSE)
    yield one("transfer-coding-unknown", "bad-http", head(OK, AS_PDF, "Transfer-Encoding: lafka"),
              PDF, CLOSE)  # fmt: skip
    yield one("transfer-coding-garbage", "bad-http", head(OK, AS_PDF, "Transfer-Encoding: ,;\x0b"),
              PDF, CLOSE)  # fmt: skip
    yield one("transfer-coding-identity", "fut", head(OK, AS_PDF, "Transfer-Encoding: identity"),
              PDF, CLOSE)  # fmt: skip


def _heads() -> Iterator[Behaviour]:
    yield one("head-without-end", "connection", head(OK, AS_PDF)[:-2], CLOSE)
    yield one("head-cut-in-a-line", "connection", b"HTTP/1.1 200 OK\r\nContent-Ty", CLOSE)
    yield one("head-cut-and-held", "timeout", b"HTTP/1.1 200 OK\r\nContent-Ty", HOLD)
    yield one("head-endless-lines", "bad-http", b"HTTP/1.1 200 OK\r\n",
              Repeat(b"X-Line: " + b"h" * 500 + b"\r\n"))  # fmt: skip
    yield one("head-endless-line", "bad-http", b"HTTP/1.1 200 OK\r\nX-Line: ", Repeat(b"h" * 8192))
    yield one("head-bare-lf", "fut", head(OK, AS_PDF, length(SIZE)).replace(b"\r\n", b"\n") + PDF)
    yield one("head-mixed-line-ends", "fut", b"HTTP/1.1 200 OK\nContent-Type: application/pdf\r\n"
              b"Content-Length: %d\n\r\n" % SIZE + PDF)  # fmt: skip
    yield one("head-with-nul", "fut", head(OK, "X-Nul: a\0b", AS_PDF, length(SIZE)) + PDF)
    yield one("head-bare-cr", "fut", head(OK, "X-Cr: a\rb", AS_PDF, length(SIZE)) + PDF)
    yield one("head-led-by-blank-lines", "bad-http", b"\r\n\r\n" + http(PDF)[0], CLOSE)
    yield one("head-empty", "fut", head(OK) + PDF, CLOSE)


def _status_lines() -> Iterator[Behaviour]:
    for name, line in (
        ("garbage", "\x01\x02 what is this"),
        ("endless", "HTTP/1.1 200 " + "O" * 300_000),
        ("99", "HTTP/1.1 99 Low"),
        ("0", "HTTP/1.1 0 None"),
        ("000", "HTTP/1.1 000 None"),
        ("600", "HTTP/1.1 600 High"),
        ("999", "HTTP/1.1 999 Request denied"),
        ("1000", "HTTP/1.1 1000 More"),
        ("abc", "HTTP/1.1 abc No"),
        ("negative", "HTTP/1.1 -200 OK"),
        ("missing", "HTTP/1.1"),
        ("no-version", "200 OK"),
        ("version-garbage", "HTTP/x.y 200 OK"),
        ("other-protocol", "RTSP/1.0 200 OK"),
    ):
        yield one(f"status-{name}", "bad-http", head(line, AS_PDF, length(SIZE)), PDF, CLOSE)
    for name, line in (
        ("http-1-0", "HTTP/1.0 200 OK"),
        ("http-2-in-text", "HTTP/2.0 200 OK"),
        ("http-9-9", "HTTP/9.9 200 OK"),
        ("no-phrase", "HTTP/1.1 200"),
        ("non-ascii-phrase", "HTTP/1.1 200 \xe9\xe9"),
        ("phrase-of-escapes", "HTTP/1.1 200 \x1b[31mred\x1b]0;title\x07"),
        ("299", "HTTP/1.1 299 Whatever"),
    ):
        yield one(f"status-line-{name}", "fut", head(line, AS_PDF, length(SIZE)), PDF, CLOSE)
    yield one("http-0-9", "bad-http", SPLAP_0_9, CLOSE)
    yield one("pdf-without-head", "bad-http", PDF, CLOSE)
    yield one("http-2-preface", "bad-http", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", CLOSE)
    yield one("http-2-frames", "bad-http", b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64" * 3, CLOSE)
    yield one("smtp-banner", "bad-http", b"220 mail.example ESMTP\r\n", CLOSE)
    yield one("ssh-banner", "bad-http", b"SSH-2.0-OpenSSH_9.2\r\n", CLOSE)
    yield one("tls-alert-in-clear", "bad-http", b"\x15\x03\x01\x00\x02\x02\x46", CLOSE)
    yield one("nothing-but-nul", "bad-http", b"\0" * 5000, CLOSE)
    yield one("garbage-endless", "bad-http", Repeat(b"\xff\xfe\xfd" * 3000))


SPLAP_0_9 = b"<html><body>No head in HTTP/0.9</body></html>"


def _interim() -> Iterator[Behaviour]:
    whole = head(OK, AS_PDF, length(SIZE)) + PDF
    yield one("100-continue", "fut", head("HTTP/1.1 100 Continue") + whole)
    yield one(
        "103-early-hints", "fut", head("HTTP/1.1 103 Early Hints", "Link: </a>; rel=x") + whole
    )
    yield one("102-a-thousand", "fut", head("HTTP/1.1 102 Processing") * 1000 + whole)
    yield one("102-without-end", "bad-http", Repeat(head("HTTP/1.1 102 Processing")))
    yield one("100-and-nothing", "timeout", head("HTTP/1.1 100 Continue"), HOLD)
    yield one("101-unasked", "bad-http", head("HTTP/1.1 101 Switching Protocols", "Upgrade: x",
              "Connection: Upgrade") + b"\x81\x05hello", CLOSE)  # fmt: skip
    yield one("100-with-length", "fut", head("HTTP/1.1 100 Continue", length(0)) + whole)
