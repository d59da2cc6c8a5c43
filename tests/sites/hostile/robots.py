"""robots.txt as an obstacle (RFC 9309), and hosts that are not well."""

# ruff: noqa: E501  a line a behaviour, where one will do
from __future__ import annotations

import gzip
from collections.abc import Iterator

from tests.sites.hostile.behaviours import (
    CLOSE,
    HOLD,
    PDF,
    PORT,
    RESET,
    SPLAP,
    Behaviour,
    Repeat,
    Steps,
    head,
    http,
    in_turn,
    one,
    page,
    pdf,
    to,
)

OK = "HTTP/1.1 200 OK"


def text(body: bytes) -> Steps:
    return http(body, media_type="text/plain")


def behaviours() -> Iterator[Behaviour]:
    yield from _robots()
    yield from _states()
    yield from _connections()


def _robots() -> Iterator[Behaviour]:
    def says(name: str, outcome: str, *steps: object, good: str = "") -> Behaviour:
        return one(f"robots-{name}", outcome, *pdf(), robots=steps, good=good or outcome)  # type: ignore[arg-type]

    yield says("forbids-all", "robots", *text(b"User-agent: *\nDisallow: /\n"))
    yield says("forbids-this", "robots", *text(b"User-agent: *\nDisallow: /x\n"), good="fut")
    yield says("forbids-us", "robots", *text(b"User-agent: Lafka\nDisallow: /\n"))
    yield says("500", "robots", *http(b"oops", status="500 Oops"))
    yield says("503", "robots", *http(b"oops", "Retry-After: 999999", status="503 Busy"))
    yield says("429", "robots", *http(b"oops", "Retry-After: -1", status="429 Slow"))
    yield says("403", "fut", *http(b"no", status="403 Forbidden"))
    yield says("404-of-endless-body", "fut", head("HTTP/1.1 404 Not Found"), Repeat(b"x" * 65536))
    yield says(
        "of-1-gb", "fut", head(OK, f"Content-Length: {1 << 30}"), Repeat(b"# comment\n" * 6000)
    )
    yield says("endless", "robots", head(OK) + b"User-agent: *\nDisallow: /x\n",
               Repeat(b"Allow: /y\n" * 6000), good="fut")  # fmt: skip
    yield says(
        "endless-line", "fut", head(OK) + b"User-agent: *\nDisallow: /", Repeat(b"a" * 65536)
    )
    yield says("binary", "fut", *text(bytes(range(256)) * 900))
    yield says("of-nul", "fut", *text(b"\0" * 400_000))
    yield says("utf-16", "fut", *text("\ufeffUser-agent: *\nDisallow: /\n".encode("utf-16")))
    yield says("is-html", "fut", *http(SPLAP * 100))
    yield says("is-pdf", "fut", *pdf())
    yield says("is-a-gzip-bomb", "fut", *http(gzip.compress(bytes(1 << 24)) * 64,
               "Content-Encoding: gzip"))  # fmt: skip
    yield says("loops", "fut", *to("/robots.txt"))
    yield says("redirects-to-loopback", "refused", *to(f"http://127.0.0.1:{PORT}/robots.txt"))
    yield says("redirects-to-file", "fut", *to("file:///etc/passwd"))
    yield says("held", "timeout", HOLD)
    yield says("held-in-head", "timeout", b"HTTP/1.1 200 OK\r\nX-", HOLD)
    yield says("reset", "connection", RESET)
    yield says("closed", "connection", CLOSE)
    yield says("no-http", "bad-http", b"\x01\x02\x03\r\n\r\n", CLOSE)
    yield says("cut", "truncated", head(OK, "Content-Length: 900"), b"User-agent: *\n", CLOSE)
    yield says("crawl-delay-huge", "fut", *text(b"User-agent: *\nCrawl-delay: " + b"9" * 400))
    yield says("crawl-delay-negative", "fut", *text(b"User-agent: *\nCrawl-delay: -9\n"))
    yield says("crawl-delay-nan", "fut", *text(b"User-agent: *\nCrawl-delay: nan\n"))
    yield says("of-100000-agents", "fut", *text(b"User-agent: a\n" * 35_000 + b"Disallow: /\n"))
    yield says("of-40000-rules", "fut", *text(b"User-agent: *\n" + b"Disallow: /a\n" * 38_000))
    yield says("of-wildcards", "fut", *text(b"User-agent: *\nDisallow: /" + b"*a" * 5000 + b"$\n"))
    yield says("of-many-wildcards", "fut",
               *text(b"User-agent: *\n" + (b"Disallow: /" + b"*x" * 20 + b"y$\n") * 900))  # fmt: skip


def _states() -> Iterator[Behaviour]:
    busy = http(b"busy", "Retry-After: 1", status="503 Busy")
    yield one("503-forever", "server-error", *busy)
    yield one("503-with-a-good-pdf", "server-error", *http(PDF, status="503 Busy"))
    yield one("429-forever", "refused", *http(b"slow", "Retry-After: 1", status="429 Slow"))
    yield one("429-then-fine", "fut", answers={"/x": in_turn(http(b"", status="429 Slow"), pdf())})
    yield one("500-forever", "server-error", *http(b"oops", status="500 Oops"))
    yield one("500-then-fine", "fut", answers={"/x": in_turn(http(b"", status="500 Oops"), pdf())})
    yield one("reset-then-fine", "fut", answers={"/x": in_turn((RESET,), pdf())})
    yield one("cut-then-fine", "fut",
              answers={"/x": in_turn((pdf()[0][:900], CLOSE), pdf())})  # type: ignore[index] # fmt: skip
    yield one("cut-three-ways", "truncated", answers={"/x": in_turn(
        (pdf()[0][:900], CLOSE), (pdf()[0][:1900], RESET), (pdf()[0][:700], CLOSE))},  # type: ignore[index]
        truncated="disconnect")  # fmt: skip
    for status, outcome in (
        ("400 Bad", "not-found"), ("401 Login", "refused"), ("402 Pay", "refused"),
        ("403 Forbidden", "refused"), ("404 Not Found", "not-found"), ("405 Not Allowed", "not-found"),
        ("407 Proxy", "refused"), ("408 Timeout", "not-found"), ("410 Gone", "gone"), ("418 Teapot", "not-found"),
        ("451 Law", "refused"), ("499 Odd", "not-found"), ("501 No", "server-error"),
        ("505 Version", "server-error"), ("511 Login", "server-error"), ("599 Odd", "server-error"),
    ):  # fmt: skip
        yield one(f"status-{status[:3]}-with-a-good-pdf", outcome,
                  *http(PDF, status=status, media_type="application/pdf"))  # fmt: skip
    yield one("401-with-realm-of-escapes", "refused",
              *http(b"", 'WWW-Authenticate: Basic realm="\x1b[31m\x07"', status="401 Who"))  # fmt: skip
    yield one("200-empty", "other-type", *http(b""))
    yield one("200-empty-as-pdf", "other-type", *pdf(data=b""))
    yield one("201-pdf", "fut", *http(PDF, status="201 Created"))
    yield one("202-empty", "bot-challenge", *http(b"", status="202 Accepted"))
    yield one("202-challenge", "bot-challenge", *page(_CHALLENGE, _TITLE))
    yield one("203-pdf", "fut", *http(PDF, status="203 Proxy"))
    yield one("204", "other-type", head("HTTP/1.1 204 No Content"))
    yield one("205", "other-type", *http(b"", status="205 Reset"))
    yield one("206-unasked", "refused", *http(PDF, f"Content-Range: bytes 0-{len(PDF) - 1}/999999",
              status="206 Partial", media_type="application/pdf"))  # fmt: skip
    yield one("206-of-all", "refused", *http(PDF, f"Content-Range: bytes 0-{len(PDF) - 1}/{len(PDF)}",
              status="206 Partial", media_type="application/pdf"))  # fmt: skip
    yield one("206-multipart", "refused", *http(b"--b\r\nContent-Type: application/pdf\r\n\r\n" + PDF
              + b"\r\n--b--", status="206 Partial", media_type="multipart/byteranges; boundary=b"))  # fmt: skip
    yield one("226-delta", "fut", *http(PDF, "IM: vcdiff", status="226 IM Used"))
    yield one("304-unasked", "bad-http", head("HTTP/1.1 304 Not Modified"))
    for status in ("403 Forbidden", "503 Busy", "200 OK"):
        yield one(f"challenge-{status[:3]}", "bot-challenge",
                  *http(b"<!doctype html><html><head>" + _TITLE.encode() + b"</head><body>"
                        + _CHALLENGE.encode() + b"</body></html>", status=status))  # fmt: skip
    yield one("challenge-in-place-of-fut", "bot-challenge", *page('<a href="/a.pdf">PDF</a>',
              '<meta name="citation_pdf_url" content="/a.pdf">'),
              answers={"/a.pdf": http(b"<!doctype html><html><head>" + _TITLE.encode()
                       + b"</head><body>" + _CHALLENGE.encode(), media_type="application/pdf")})  # fmt: skip
    yield one("login-in-place-of-fut", "login", *page('<a href="/a.pdf">PDF</a>',
              '<meta name="citation_pdf_url" content="/a.pdf">'),
              answers={"/a.pdf": http(_LOGIN, media_type="application/pdf")})  # fmt: skip


_TITLE = "<title>Just a moment...</title>"
_CHALLENGE = (
    "<script>window._cf_chl_opt={}</script><p>Enable JavaScript and cookies to continue</p>"
)
_LOGIN = (b"<!doctype html><html><head><title>Log in</title></head><body><form action=/login>"
          b"<input name=u><input type=password name=p></form></body></html>")  # fmt: skip


def _connections() -> Iterator[Behaviour]:
    yield Behaviour(
        name="accepts-and-closes", outcome="connection", on_connect=(CLOSE,), good="connection"
    )
    yield Behaviour(
        name="accepts-and-resets", outcome="connection", on_connect=(RESET,), good="connection"
    )
    yield Behaviour(
        name="accepts-and-is-silent", outcome="timeout", on_connect=(HOLD,), good="timeout"
    )
    yield Behaviour(
        name="talks-first", outcome="bad-http", on_connect=(b"220 ready\r\n", HOLD), good="bad-http"
    )
    # One that answers before it is asked is in tests/crawls/test_twice.py: what crosses the request
    # on its way is its answer, so that here chance would decide.
    yield one("reads-and-closes", "connection", CLOSE)
    yield one("reads-and-resets", "connection", RESET)
    yield one("reads-and-is-silent", "timeout", HOLD)
    yield Behaviour(name="nobody-listens", outcome="connection", start=f"http://127.77.255.254:{PORT}/x",
                    good="fut")  # fmt: skip
