"""Ways that lead in circles, nowhere, or only with a cookie."""

# ruff: noqa: E501  a line a behaviour, where one will do
from __future__ import annotations

from collections.abc import Iterator

from tests.sites.hostile.behaviours import SPLAP, Asked, Behaviour, Steps, http, one, page, pdf, to


def refresh(to: str, seconds: str = "0") -> str:
    return f'<meta http-equiv="refresh" content="{seconds}; url={to}">'


def behaviours() -> Iterator[Behaviour]:
    yield one("redirect-self", "loop", *to("/x"))
    yield one("redirect-self-fragment", "loop", *to("/x#again"))
    yield one("redirect-empty-query", "loop", answers={"/x": to("/x?"), "/x?": to("/x")})
    yield one("redirect-ping-pong", "loop", *to("/y"), answers={"/y": to("/x")})
    yield one("redirect-growing", "loop", answers={"*": _grows})
    yield one("redirect-doubling", "loop", answers={"*": _doubles})
    yield one("redirect-11-hops", "loop", answers={"/x": to("/1"), **_hops(11)})
    yield one("redirect-10-hops", "fut", answers={"/x": to("/1"), **_hops(9)})
    yield one("redirect-random", "loop", answers={"*": _random})
    yield one("cookie-wall-that-loops", "loop", *to("/x", "Set-Cookie: seen=1"))
    yield one("cookie-wall-ever-new", "loop", answers={"/x": _ever_new})
    yield one("cookie-wall-that-works", "fut", answers={"/x": _wall})
    yield one("cookie-wall-by-refresh", "fut", answers={"/x": _wall_by_refresh})
    yield one("meta-refresh-self", "loop", *page("wait", refresh("/x")))
    yield one("meta-refresh-ping-pong", "loop", *page("wait", refresh("/y")),
              answers={"/y": page("wait", refresh("/x"))})  # fmt: skip
    yield one("meta-refresh-to-fragment", "loop", *page("wait", refresh("/x#top")))
    yield one("meta-refresh-slow-self", "splap-only", *page("wait", refresh("/x", "3")))
    yield one("meta-refresh-far", "splap-only", *page("wait", refresh("/y", "9" * 400)))
    yield one("meta-refresh-negative", "splap-only", *page("wait", refresh("/bad", "-1")))
    yield one("meta-refresh-nonsense", "splap-only", *page("wait", refresh("http://[/", "0")))
    yield one("meta-refresh-javascript", "splap-only", *page("w", refresh("javascript:alert(1)")))
    yield one("meta-refresh-data", "splap-only", *page("w", refresh("data:text/html,hello")))
    yield one("meta-refresh-file", "splap-only", *page("w", refresh("file:///etc/passwd")))
    yield one("meta-refresh-many", "fut", *page("w", refresh("/good") * 5000),
              answers={"/good": pdf()})  # fmt: skip
    yield one("meta-refresh-in-noscript", "splap-only",
              *page(f"<noscript>{refresh('/bad')}</noscript>"))  # fmt: skip
    yield one("refresh-header-self", "loop", *http(SPLAP, "Refresh: 0; url=/x"))
    yield one("refresh-header-ping-pong", "loop", *http(SPLAP, "Refresh: 0;url=/y"),
              answers={"/y": http(SPLAP, 'Refresh: 0; URL="/x"')})  # fmt: skip
    yield one("refresh-header-garbage", "splap-only", *http(SPLAP, "Refresh: now; url=::::"))
    yield one("refresh-header-of-blanks", "loop", *http(SPLAP, "Refresh: 0;url=" + " " * 50_000))
    yield one(
        "refresh-header-file", "splap-only", *http(SPLAP, "Refresh: 0; url=file:///etc/passwd")
    )
    yield one("refresh-header-on-pdf", "fut", *pdf("Refresh: 0; url=/bad"))
    yield one("refresh-on-404", "not-found", *http(SPLAP, status="404 Not Found"))
    for name, script in (
        ("location", "location.href = '/good'"), ("replace", 'window.location.replace("/good")'),
        ("self", "location = '/x'"), ("loopback", "top.location='http://127.0.0.1/trap'"),
    ):  # fmt: skip
        yield one(f"javascript-redirect-by-{name}", "splap-only",
                  *page(f"<script>{script}</script>"), answers={"/good": pdf()})  # fmt: skip
    yield one("redirect-to-fragment", "fut", *to("/good#page=5"), answers={"/good": pdf()})
    yield one("redirect-with-body", "fut", b"HTTP/1.1 302 Found\r\nLocation: /good\r\n"
              b"Content-Length: 999999\r\n\r\n" + b"b" * 999_999, answers={"/good": pdf()})  # fmt: skip
    yield one("redirect-by-pdf", "fut", *to("/good", "Content-Type: application/pdf"),
              answers={"/good": pdf()})  # fmt: skip
    yield one("redirect-to-robots", "other-type", *to("/robots.txt"),
              robots=http(b"User-agent: *\nDisallow: /nothing\n", media_type="text/plain"))  # fmt: skip
    yield one("redirect-into-forbidden", "robots", *to("/forbidden"),
              robots=http(b"User-agent: *\nDisallow: /forbidden\n", media_type="text/plain"))  # fmt: skip


def _hops(count: int) -> dict[str, Steps]:
    """/1 ... to a PDF at /*count*."""
    return {**{f"/{n}": to(f"/{n + 1}") for n in range(1, count)}, f"/{count}": pdf()}


def _grows(asked: Asked) -> Steps:
    return to(f"{asked.target}/more")


def _doubles(asked: Asked) -> Steps:
    return to(asked.target + asked.target) if len(asked.target) < 30_000 else to("/x")


def _random(asked: Asked) -> Steps:
    return to(f"/{abs(hash(asked.target))}")


def _ever_new(asked: Asked) -> Steps:
    return to("/x", f"Set-Cookie: visit={asked.visits}")


def _wall(asked: Asked) -> Steps:
    return pdf() if b"pass=1" in asked.head else to("/x", "Set-Cookie: pass=1")


def _wall_by_refresh(asked: Asked) -> Steps:
    return pdf() if b"pass=1" in asked.head else page("w", refresh("/x"), "Set-Cookie: pass=1")
