"""Lines of the list that try to be more than a line: in a WARC, a log, a terminal, a path."""

# ruff: noqa: E501  a line a behaviour, where one will do
from __future__ import annotations

from collections.abc import Iterator

from tests.sites.hostile.behaviours import PDF, PORT, TRAP, Behaviour, pdf


def behaviours() -> Iterator[Behaviour]:
    yield from _pids()
    yield from _urls()
    yield from _lines()


def of(name: str, outcome: str, pid: bytes, url: bytes) -> Behaviour:
    fut = PDF if outcome == "fut" else None
    return Behaviour(name=name, outcome=outcome, line=pid + b"\t" + url, fut=fut,
                     answers={"*": pdf()})  # fmt: skip


def _pids() -> Iterator[Behaviour]:
    for name, pid, outcome in (
        ("dots", "RePEc:abc:wpaper:../../../../etc/passwd", "fut"),
        ("slashes", "RePEc:abc:wpaper:/etc/cron.d/x", "fut"),
        ("backslashes", "RePEc:abc:wpaper:..\\..\\x", "fut"),
        ("device", "RePEc:con:aux:nul", "fut"),
        ("percent", "RePEc:abc:wpaper:%2e%2e%2f%00", "fut"),
        ("percent-percent", "RePEc:abc:wpaper:%%", "fut"),
        ("quotes", "RePEc:abc:wpaper:'\"`$(id);|&", "fut"),
        ("of-5000", "RePEc:abc:wpaper:" + "n" * 5000, "fut"),
        ("emoji", "RePEc:abc:wpaper:\U0001f600", "fut"),
        ("combining", "RePEc:abc:wpaper:e" + "\u0301" * 400, "fut"),
        ("json", 'RePEc:abc:wpaper:{"_warc":1}', "fut"),
        ("warc", "RePEc:abc:wpaper:WARC/1.1", "fut"),
        ("dash", "RePEc:abc:wpaper:--help", "fut"),
        ("other-script", "RePEc:абв:бумага:１", "fut"),
        ("cr", "RePEc:abc:wpaper:1\rX-Injected: yes", "bad-pid"),
        ("vertical-tab", "RePEc:abc:wpaper:1\x0bX", "bad-pid"),
        ("nul", "RePEc:abc:wpaper:1\0", "bad-pid"),
        ("escape", "RePEc:abc:wpaper:\x1b[2J\x1b]0;owned\x07", "bad-pid"),
        ("c1-control", "RePEc:abc:wpaper:\x9b31m", "bad-pid"),
        ("line-separator", "RePEc:abc:wpaper:a\u2028b", "bad-pid"),
        ("next-line", "RePEc:abc:wpaper:a\x85b", "bad-pid"),
        ("blank", "RePEc:abc:wpaper:a b", "bad-pid"),
        ("bom", "RePEc:abc:wpaper:\ufeffa", "bad-pid"),
        ("replacement", "RePEc:abc:wpaper:\ufffd", "bad-pid"),
        ("too-few-parts", "RePEc:abc", "bad-pid"),
        ("empty-parts", "RePEc:::", "bad-pid"),
        ("reserved", "_warc", "bad-pid"),
    ):  # fmt: skip
        yield of(f"pid-{name}", outcome, pid.encode(), b"@URL@/x")
    yield of("pid-not-utf-8", "bad-pid", b"RePEc:abc:wpaper:\xff\xfe", b"@URL@/x")
    yield of("pid-surrogate", "bad-pid", b"RePEc:abc:wpaper:\xed\xa0\x80", b"@URL@/x")
    yield of("pid-bidi", "fut", "RePEc:abc:wpaper:\u202egpj.exe".encode(), b"@URL@/x")


def _urls() -> Iterator[Behaviour]:
    for name, url, outcome in (
        ("file", "file:///etc/passwd", "bad-url"),
        ("ftp", "ftp://127.0.0.1/a.pdf", "bad-url"),
        ("data", "data:application/pdf;base64,JVBERi0xLjQK", "bad-url"),
        ("javascript", "javascript:alert(1)", "bad-url"),
        ("no-scheme", "127.77.0.1/x", "bad-url"),
        ("no-host", "http:///x", "bad-url"),
        ("port-0", "http://127.77.0.1:0/x", "bad-url"),
        ("port-99999", "http://127.77.0.1:99999/x", "bad-url"),
        ("port-letters", "http://127.77.0.1:x/x", "bad-url"),
        ("bad-ipv6", "http://[::1/x", "bad-url"),
        ("empty", "", "bad-url"),
        ("label-of-300", "http://" + "h" * 300 + "/x", "bad-url"),
        ("loopback", TRAP, "refused"),
        ("loopback-decimal", f"http://2130706433:{PORT}/trap", "refused"),
        ("loopback-ipv6", f"http://[::1]:{PORT}/trap", "refused"),
        ("loopback-mapped", f"http://[::ffff:127.0.0.1]:{PORT}/trap", "refused"),
        ("loopback-name", f"http://localhost:{PORT}/trap", "refused"),
        ("loopback-with-user", f"http://127.77.0.1@127.0.0.1:{PORT}/trap", "bad-url"),
        ("escape", "@URL@/\x1b[31m\x1b]0;owned\x07", "bad-url"),
        ("cr", "@URL@/a\rX-Injected: yes", "bad-url"),
        ("nul", "@URL@/a\0b", "bad-url"),
        ("cr-lf-escaped", "@URL@/a%0d%0aX-Injected:%20yes%0d%0a", "fut"),
        ("blank", "@URL@/a b", "fut"),
        ("pipes", "@URL@/a|b^c`d{e}", "fut"),
        ("bad-percent", "@URL@/%zz%", "fut"),
        ("other-script", "@URL@/größe/纸.pdf", "fut"),
        ("line-separator", "@URL@/a\u2028b", "bad-url"),
        ("bidi", "@URL@/\u202efdp.exe", "fut"),
        ("of-50-kb", "@URL@/" + "u" * 50_000, "fut"),
        ("of-70-kb", "@URL@/" + "u" * 70_000, "bad-url"),
        ("of-70-kb-escaped", "@URL@/" + "é" * 12_000, "bad-url"),
        ("query-of-50-kb", "@URL@/?" + "q=1&" * 12_000, "fut"),
        ("dots", "@URL@/../../../../etc/passwd", "fut"),
        ("quotes", "@URL@/'\"<>", "fut"),
        ("fragment", "@URL@/x#\x7f", "bad-url"),
    ):  # fmt: skip
        yield of(f"url-{name}", outcome, f"RePEc:url:papers:{name}".encode(), url.encode())
    yield of("url-not-utf-8", "bad-url", b"RePEc:url:papers:not-utf-8", b"@URL@/\xff\xfe")


def _lines() -> Iterator[Behaviour]:
    for name, line in (
        ("without-url", b"RePEc:abc:wpaper:1"),
        ("of-one-letter", b"x"),
        ("of-nul", b"\0" * 50),
        ("of-escapes", b"\x1b[2J\x1b]0;owned\x07\t\x9b"),
        ("of-2-mb", b"RePEc:abc:wpaper:1\thttp://a/" + b"l" * 2_000_000),
        ("html", b"<html><body>not a list</body></html>"),
    ):
        yield Behaviour(name=f"line-{name}", outcome="bad-url" if name in ("without-url", "of-one-letter") else "bad-pid",
                        line=line, answers={"*": pdf()})  # fmt: skip
