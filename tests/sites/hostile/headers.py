"""Header fields: too many, too long, lies."""

# ruff: noqa: E501  a line a behaviour, where one will do
from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from functools import cache

import brotli

from lafka.warc.format.compression import zstd
from tests.sites.hostile.behaviours import (
    CLOSE,
    PDF,
    PORT,
    SPLAP,
    TRAP,
    Behaviour,
    Steps,
    head,
    http,
    one,
    pdf,
    to,
)

OK = "HTTP/1.1 200 OK"
LENGTH = f"Content-Length: {len(PDF)}"


def behaviours() -> Iterator[Behaviour]:
    yield from _fields()
    yield from _locations()
    yield from _refused()
    yield from _waits()
    yield from _codings()
    yield from _bombs()
    yield from _types()


def _fields() -> Iterator[Behaviour]:
    for name, *lines in (
        ("ten-thousand", *(f"X-{n}: {n}" for n in range(10_000))),
        ("of-a-100-kb-line", "X-Long: " + "l" * 100_000),
        ("duplicated", *(f"X-Same: {n}" for n in range(2_000))),
        ("folded", "X-Folded: a", " b", "\tc"),
        ("colon-less", "this is no field"),
        ("nameless", ": nothing"),
        ("with-blank-before-colon", "X-Blank : a"),
        ("with-control-characters", "X-Bell: \x07\x1b[2J\x08\x7f"),
        ("with-controls-in-name", "X-\x01\x1b: a"),
        ("non-ascii", "X-Caf\xe9: \xff\xfe"),
        ("set-cookie-flood", *(f"Set-Cookie: c{n}={n}; Path=/" for n in range(3_000))),
        ("set-cookie-huge", "Set-Cookie: c=" + "v" * 90_000),
        ("set-cookie-garbage", "Set-Cookie: =;;;==\x01;expires=never;domain=.", "Set-Cookie:"),
        ("set-cookie-for-a-suffix", "Set-Cookie: a=b; Domain=com", "Set-Cookie: a=b; Domain=."),
        ("set-cookie-expires-far", "Set-Cookie: a=b; Expires=Fri, 31 Dec 99999999 23:59:59 GMT",
         "Set-Cookie: c=d; Max-Age=" + "9" * 400),
        ("link-flood", *(f'Link: </l{n}>; rel="next"' for n in range(2_000))),
        ("link-garbage", 'Link: <<<>;;;rel="', "Link: " + "<" * 20_000, "Link: " + ";" * 20_000),
        ("date-garbage", "Date: yesterday", "Last-Modified: 0", "Age: -1"),
        ("connection-garbage", "Connection: \x01, close, , keep-alive", "Keep-Alive: timeout=-9"),
        ("upgrade", "Upgrade: h2c, websocket", 'Alt-Svc: h3=":1"; ma=9999999999999'),
        ("hsts", "Strict-Transport-Security: max-age=" + "9" * 99),
        ("warc-lines", "WARC-Type: warcinfo", "WARC-Record-ID: <urn:uuid:0>"),
    ):  # fmt: skip
        yield one(f"fields-{name}", "fut", head(OK, *lines, LENGTH) + PDF)
    yield one("fields-of-a-300-kb-line", "bad-http", head(OK, "X-Long: " + "l" * 300_000, LENGTH)
              + PDF, CLOSE)  # fmt: skip
    yield one("fields-of-300-kb", "bad-http",
              head(OK, *(f"X-{n}: {n * 'x'}" for n in range(1, 800)), LENGTH) + PDF, CLOSE)  # fmt: skip


def _locations() -> Iterator[Behaviour]:
    """A 3xx that leads nowhere is the answer, and no paper."""
    for name, location in (
        ("of-a-bad-port", "http://127.77.0.1:99999/"),
        ("of-port-0", "http://127.77.0.1:0/"),
        ("of-a-bad-ipv6", "http://[::1/"),
        ("javascript", "javascript:alert(1)"),
        ("file", "file:///etc/passwd"),
        ("file-with-host", "file://127.0.0.1/etc/passwd"),
        ("ftp", f"ftp://127.0.0.1:{PORT}/a.pdf"),
        ("data", "data:application/pdf;base64,JVBERi0xLjQK"),
        ("s3", "s3://bucket/a.pdf"),
        ("gopher", f"gopher://127.0.0.1:{PORT}/1a"),
        ("about", "about:blank"),
        ("view-source", f"view-source:{TRAP}"),
        ("h2", f"h2://127.0.0.1:{PORT}/"),
    ):
        yield one(f"location-{name}", "bad-http", *to(location))
    yield one("location-missing", "bad-http", head("HTTP/1.1 302 Found", "Content-Length: 0"))
    # These are read as addresses below the host itself, as urljoin has it.
    yield one("location-empty", "loop", *to(""))
    yield one("location-without-host", "loop", *to("http:///x"))
    yield one("location-garbage", "not-found", *to("::::"))
    good = {"answers": {"/good": pdf()}}
    for name, location in (
        ("relative", "good"),
        ("with-fragment", "/good#page=2"),
        ("with-tab", "/go\tod"),
        ("with-blanks-around", "  /good  "),
        ("with-dots", "/a/b/../../../good"),
    ):
        yield one(f"location-{name}", "fut", *to(location), **good)
    yield one("location-twice", "not-found", *to("/good", "Location: /bad"), **good)
    yield one("location-raw-utf-8", "fut", *to("/größe.pdf".encode()),
              answers={"/gr%C3%B6%C3%9Fe.pdf": pdf()})  # fmt: skip
    yield one("location-of-60-kb", "fut", *to("/" + "l" * 60_000),
              answers={"/" + "l" * 60_000: pdf()})  # fmt: skip
    yield one("location-of-100-kb", "bad-url", *to("/" + "l" * 100_000))
    yield one("location-cr-lf", "not-found", *to("/a%0D%0AX-Injected:%20yes%0D%0A%0D%0A"))
    yield one("location-bare-cr", "not-found", *to("/a\rX-Injected: yes"))
    yield one("location-on-200", "fut", *pdf("Location: /elsewhere"))
    for status in ("300 Choices", "304 Not Modified", "305 Use Proxy", "306 Unused", "399 Odd"):
        name = f"status-{status.partition(' ')[0]}-with-location"
        yield one(name, "bad-http", *to("/good", status=status), **good)
    for status in ("301 Moved", "303 Other", "307 Temporary", "308 Permanent"):
        yield one(f"status-{status.partition(' ')[0]}", "fut", *to("/good", status=status), **good)


LOOPBACK = (
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0X7F.1",
    "017700000001", "0177.0.0.1", "0177.0.0.01", "127.0.0.1.", "127.255.255.254",
    "１２７.０.０.１", "127。0。0。1", "127．0．0．1", "①②⑦.0.0.1", "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1", "localhost", "LOCALHOST.", "any.localhost", "[::1]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]", "0.0.0.0", "0", "user@127.0.0.1", "127.77.0.1@127.0.0.1",
)  # fmt: skip
OFF = (
    "10.0.0.1", "10.1", "167772161", "0x0a000001", "169.254.169.254", "2852039166", "0xA9FEA9FE",
    "172.16.0.1", "192.168.1.1", "192.168.257", "100.64.0.1", "192.0.2.1", "198.18.0.1",
    "224.0.0.1", "255.255.255.255", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]",
    "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[::]",
)  # fmt: skip


def _refused() -> Iterator[Behaviour]:
    """Redirects to addresses that may not be asked: refused before a connection is made."""
    for host in LOOPBACK:
        location = f"http://{host}:{PORT}/trap"
        yield one(f"to-{host}", "refused", *to(location.encode()))
    for host in OFF:
        location = f"http://{host}:{PORT}/trap"
        yield one(f"to-{host}", "refused", *to(location.encode()), led_off=True)
    yield one("to-loopback-by-refresh", "refused", *http(SPLAP, f"Refresh: 0; url={TRAP}"))
    yield one("to-loopback-by-https", "refused", *to(f"https://127.0.0.1:{PORT}/trap"))


def _waits() -> Iterator[Behaviour]:
    for name, value in (
        ("nonsense", "soon"), ("negative", "-5"), ("huge", "9" * 30), ("a-year", "31536000"),
        ("float", "0.5"), ("past-date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("bad-date", "Sun, 99 Foo 99999 99:99:99 GMT"), ("empty", ""), ("nan", "nan"),
        ("unicode-digits", "\xb2"), ("future-date", "Fri, 31 Dec 9999 23:59:59 GMT"),
    ):  # fmt: skip
        steps = http(b"busy", f"Retry-After: {value}", status="503 Busy")
        yield one(f"retry-after-{name}", "fut", answers={"/x": _then_good(steps)})
    twice = http(b"busy", "Retry-After: soon", "Retry-After: 1", status="429 Slow")
    yield one("retry-after-twice", "fut", answers={"/x": _then_good(twice)})


def _then_good(steps: Steps):  # type: ignore[no-untyped-def]
    return lambda asked: pdf() if asked.visits else steps


def coded(data: bytes, *codings: str, media_type: str = "application/pdf") -> Steps:
    return http(data, *(f"Content-Encoding: {c}" for c in codings), media_type=media_type)


def _codings() -> Iterator[Behaviour]:
    for coding in ("gzip", "deflate", "br", "zstd", "x-gzip", "identity", "lafka", "none", "", "*"):
        yield one(f"coding-lie-{coding or 'empty'}", "fut", *coded(PDF, coding))  # fmt: skip
    zipped = gzip.compress(PDF, mtime=0)
    yield one("coding-gzip-not-told", "other-type", *pdf(data=zipped))
    yield one("coding-gzip", "fut", *coded(zipped, "gzip"))
    yield one("coding-gzip-cut", "truncated", *coded(zipped[: len(zipped) // 2], "gzip"))
    half = zipped[: len(zipped) // 2]
    yield one("coding-gzip-cut-without-length", "truncated",
              head(OK, "Content-Encoding: gzip") + half, CLOSE)  # fmt: skip
    yield one("coding-gzip-cut-in-chunks", "truncated",
              head(OK, "Content-Encoding: gzip", "Transfer-Encoding: chunked"),
              b"%x\r\n%s\r\n0\r\n\r\n" % (len(half), half))  # fmt: skip
    for coding, data in (
        ("deflate", zlib.compress(PDF)), ("br", brotli.compress(PDF)), ("zstd", zstd.compress(PDF)),
    ):  # fmt: skip
        yield one(f"coding-{coding}-cut", "truncated", *coded(data[: len(data) // 2], coding))
    yield one("coding-gzip-bad-crc", "truncated", *coded(zipped[:-8] + b"\0" * 8, "gzip"))
    yield one("coding-gzip-garbage-inside", "truncated",
              *coded(zipped[:20] + b"\xff" * 40 + zipped[60:], "gzip"))  # fmt: skip
    yield one("coding-gzip-then-padding", "fut", *coded(zipped + b"\0" * 5000, "gzip"))
    yield one("coding-gzip-page-cut", "truncated",
              *coded(gzip.compress(SPLAP * 9)[:-30], "gzip", media_type="text/html"))  # fmt: skip
    yield one("coding-deflate-raw", "fut", *coded(zlib.compress(PDF, wbits=-15), "deflate"))
    yield one("coding-gzip-gzip", "fut", *coded(gzip.compress(zipped), "gzip, gzip"))
    yield one("coding-br-gzip", "fut", *coded(gzip.compress(brotli.compress(PDF)), "br", "gzip"))
    yield one("coding-stacked-nine", "truncated", *coded(zipped, "gzip, " * 9))
    yield one("coding-stacked-thousand", "truncated", *coded(zipped, "gzip, " * 1000))
    yield one("coding-utf-8", "fut", *coded(PDF, "utf-8"))
    yield one("coding-on-nothing", "other-type", *coded(b"", "gzip"))


GIB = 1 << 30
_BLOCK = bytes(1 << 24)


def _deflate_bomb() -> bytes:
    """A raw stream of 1 GiB: one block that refers to nothing before it, 64 times."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = squeezer.compress(_BLOCK) + squeezer.flush(zlib.Z_FULL_FLUSH)
    return block * (GIB // len(_BLOCK)) + b"\x03\x00"


@cache
def _brotli_bomb() -> bytes:
    squeezer = brotli.Compressor(quality=1, lgwin=24)
    pieces = [squeezer.process(_BLOCK) for _ in range(GIB // len(_BLOCK))]
    return b"".join([*pieces, squeezer.finish()])


def _bombs() -> Iterator[Behaviour]:
    lead = PDF[:2000]
    gzipped = gzip.compress(lead, mtime=0) + gzip.compress(_BLOCK, mtime=0) * 64
    for name, bomb, codings in (
        ("gzip", gzipped, ("gzip",)),
        ("deflate", b"\x78\x9c" + _deflate_bomb(), ("deflate",)),
        ("br", _brotli_bomb(), ("br",)),
        ("zstd", zstd.compress(_BLOCK) * 64, ("zstd",)),
        ("gzip-gzip", gzip.compress(gzipped), ("gzip, gzip",)),
        ("gzip-of-br", gzip.compress(_brotli_bomb()), ("br", "gzip")),
    ):
        yield one(f"bomb-{name}", "too-big", *coded(bomb, *codings))
        yield one(f"bomb-{name}-as-page", "too-big", *coded(bomb, *codings, media_type="text/html"))
    yield one("bomb-as-candidate", "splap-only", *http(SPLAP + b'<a href="/b.pdf">PDF</a>'),
              answers={"/b.pdf": coded(gzipped, "gzip")})  # fmt: skip
    yield one("bomb-as-transfer-coding", "bad-http",
              head(OK, "Transfer-Encoding: gzip, chunked", "Connection: close")
              + b"%x\r\n" % len(gzipped) + gzipped + b"\r\n0\r\n\r\n", CLOSE)  # fmt: skip
    yield one("bomb-on-404", "not-found",
              *http(gzipped, "Content-Encoding: gzip", status="404 Not Found"))  # fmt: skip


def _types() -> Iterator[Behaviour]:
    for media_type in ("text/html", "text/plain", "image/png", "x/y/z;;", "", "\xff\xfe",
                       "text/html; charset=" + "x" * 5000, "multipart/form-data", "../../etc"):  # fmt: skip
        name = media_type[:24].encode("ascii", "backslashreplace").decode() or "nothing"
        yield one(f"pdf-as-{name}", "fut", *http(PDF, media_type=media_type))
    for media_type in ("application/pdf", "image/png", "application/octet-stream", "", "\x1b[31m"):
        yield one(f"page-as-{media_type.replace(chr(27), 'esc') or 'nothing'}", "splap-only",
                  *http(SPLAP, media_type=media_type))  # fmt: skip
    yield one("types-twenty", "fut",
              *http(PDF, *(f"Content-Type: text/{n}" for n in range(20)), media_type=""))  # fmt: skip
    yield one("disposition-to-etc", "fut",
              *pdf('Content-Disposition: attachment; filename="../../../../etc/cron.d/x"'))  # fmt: skip
