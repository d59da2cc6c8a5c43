"""A site on loopback with more than a hundred papers, of every kind that a list leads to.

Each :class:`Paper` says how its line has to end and which PDFs have to be had for it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import socket
import ssl
import zipfile
import zlib
from dataclasses import dataclass
from urllib.parse import quote

import brotli

from lafka.papers.walk import TAIL
from tests.sites.server import Handler, Reply, Seen, Server, chunked, in_turn, redirect, reply

TLS, MAIN, OTHER, BUSY, STILL, LOCKED, RESET, LATE = (f"127.0.0.{n}" for n in range(1, 9))
"""Hosts: one with TLS (its certificate is for 127.0.0.1), the main one, another, one that asks to
wait, one that stalls, one whose robots.txt is broken, one that resets, one that answers 500."""
HOSTS = (MAIN, OTHER, BUSY, STILL, LOCKED, TLS, RESET, LATE)

MAX_PAYLOAD = 3_000_000
LINKS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A line of the list, and how it ends: an outcome and the PDFs, in the order of their finding.

    ``requests`` are those without robots.txt; None where they depend on the ranking.
    """

    name: str
    url: str
    outcome: str
    futs: tuple[bytes, ...] = ()
    requests: int | None = None

    @property
    def pid(self) -> str:
        return f"RePEc:tst:papers:{self.name}"

    @property
    def line(self) -> str:
        return f"{self.pid}\t{self.url}\n"


def pdf(name: str, size: int = 3000) -> bytes:
    """A PDF as far as bytes go, of about *size* bytes that differ by *name*."""
    seed = hashlib.sha256(name.encode()).digest()
    body = (seed * (size // 32 + 1))[:size]
    return b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + body + b"\nstartxref\n0\n%%EOF\n"


def page(body: str, head: str = "") -> bytes:
    """A page that shows that it is of a paper."""
    head = f"<title>A paper on something</title>{head}"
    body = f"<h2>Abstract</h2>{body}"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def meta(url: str) -> str:
    return f'<meta name="citation_pdf_url" content="{url}">'


def link(url: str, text: str = "Full text (PDF)") -> str:
    return f'<a href="{url}">{text}</a>'


def as_pdf(data: bytes, *fields: str) -> Reply:
    return reply(data, "application/pdf", *fields)


class PaperSite(Server):
    """The server with its papers, made when it is entered."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(HOSTS, {TLS: context})
        self.papers: list[Paper] = []

    def __enter__(self) -> PaperSite:
        super().__enter__()
        self.robots[MAIN] = reply(b"User-agent: *\nDisallow: /forbidden/\n", "text/plain")
        self.robots[LOCKED] = reply(b"broken", "text/plain", status="500 Oops")
        for kind in (_literal, _framed, _coded, _redirected, _urls, _splaps, _followed, _wanted,
                     _no_futs, _broken, _hosts, _pages):  # fmt: skip
            kind(self)
        return self

    def list(self) -> str:
        return "".join(paper.line for paper in self.papers)

    def add(
        self,
        name: str,
        answer: Reply | Handler | None,
        *futs: bytes,
        outcome: str = "fut",
        host: str = MAIN,
        path: str = "",
        url: str = "",
        requests: int | None = None,
    ) -> None:
        """A paper at ``/p/<name>``, or *path*, of *host*, or where *url* says."""
        path = path or f"/p/{name}"
        if answer is not None:
            self.routes[path] = answer
        url = url or self.at(host) + path
        paper = Paper(name=name, url=url, outcome=outcome, futs=futs, requests=requests)
        self.papers.append(paper)

    def splap(
        self, name: str, html: bytes, answers: dict[str, Reply | Handler], *futs: bytes,
        outcome: str = "fut", requests: int | None = None, **fields: str,
    ) -> None:  # fmt: skip
        """A splap, and what stands behind its links, by their last names."""
        for last, answer in answers.items():
            self.routes[f"/p/{name}/{last}"] = answer
        self.add(name, reply(html), *futs, outcome=outcome, requests=requests, **fields)


def _literal(site: PaperSite) -> None:
    for name, media_type in (
        ("pdf", "application/pdf"),
        ("pdf-as-html", "text/html; charset=utf-8"),
        ("pdf-as-octets", "application/octet-stream"),
        ("pdf-as-text", "text/plain"),
        ("pdf-as-nothing", ""),
        ("pdf-as-rubbish", "x/y/z;;"),
    ):
        site.add(name, reply(pdf(name), media_type), pdf(name), requests=1)
    for name, lead in (
        ("junk-led", b"\n\r\n garbage \0\xff\n"),
        ("bom-led", b"\xef\xbb\xbf"),
        ("deep-led", b"x" * 1000),
    ):
        site.add(name, as_pdf(lead + pdf(name)), pdf(name), requests=1)
    for name, data in (
        ("tiny", b"%PDF-1.0\n%%EOF"),
        ("two-in-one", pdf("one") + pdf("two")),
        ("big", pdf("big", 2_000_000)),
        ("more-after-eof", pdf("more") + b"\0" * 5000),
    ):
        site.add(name, as_pdf(data), data, requests=1)
    half = pdf("no-end")[:2000]
    site.add("no-end", as_pdf(half), outcome="truncated", requests=1)
    site.splap("no-end-behind-a-page", page("", meta("no-end-behind-a-page/a.pdf")),
               {"a.pdf": as_pdf(half)}, outcome="splap-only", requests=2)  # fmt: skip
    same = pdf("the same everywhere")
    site.add("same-1", as_pdf(same), same)
    site.add("same-2", as_pdf(same), same)


def _framed(site: PaperSite) -> None:
    def head(*lines: str) -> bytes:
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    data = pdf("framed")
    length = f"Content-Length: {len(data)}"
    trailers = b"0;last=1\r\nX-Sum: 12\r\nX-More: yes\r\n\r\n"
    extended = b'3e8;a=b\r\n%b\r\n%x;c="d"\r\n%b\r\n' % (data[:1000], len(data) - 1000, data[1000:])
    te = head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
    filler = "x" * 100_000
    for name, answer in {
        "chunked": chunked(data),
        "chunked-small": chunked(*(data[n : n + 7] for n in range(0, len(data), 7))),
        "chunked-trailers": Reply(te + extended + trailers),
        "chunked-junk-led": chunked(b"junk\n", data),
        "http10": Reply(head("HTTP/1.0 200 OK") + data, "close"),
        "http10-length": Reply(head("HTTP/1.0 200 OK", length) + data, "close"),
        "closed": Reply(head("HTTP/1.1 200 OK", "Connection: close") + data, "close"),
        "early-hints": Reply(head("HTTP/1.1 103 Early Hints", "Link: </x>") +
                             head("HTTP/1.1 200 OK", length) + data),
        "long-header": Reply(head("HTTP/1.1 200 OK", f"X-Filler: {filler}", length) + data),
        "odd-head": Reply(head("HTTP/1.1 200 Très  bien", "x-a: 1", "X-A:2", "x-folded: a",
                               "\tb", "Set-Cookie: a=1; domain=com", length) + data),
        "lower-head": Reply(head("HTTP/1.1 200", length.lower()) + data),
        "disposed": reply(data, "application/force-download",
                          'Content-Disposition: attachment; filename="a b.pdf"'),
    }.items():  # fmt: skip
        site.add(name, answer, data, requests=1)


def _coded(site: PaperSite) -> None:
    data = pdf("coded")
    squeezed = gzip.compress(data, mtime=0)
    raw = zlib.compressobj(wbits=-15)
    for name, coding, coded in (
        ("gzip", "gzip", squeezed),
        ("x-gzip", "x-gzip", squeezed),
        ("deflate", "deflate", zlib.compress(data)),
        ("raw-deflate", "deflate", raw.compress(data) + raw.flush()),
        ("br", "br", brotli.compress(data)),
        ("gzip-twice", "gzip, gzip", gzip.compress(squeezed, mtime=0)),
        ("identity", "identity", data),
    ):
        site.add(name, as_pdf(coded, f"Content-Encoding: {coding}"), data, requests=1)
    fields = ("Content-Encoding: gzip",)
    site.add("gzip-chunked", chunked(squeezed[:20], squeezed[20:], fields=fields), data)
    led = gzip.compress(b"junk\n" + data, mtime=0)
    site.add("gzip-junk-led", as_pdf(led, *fields), data)
    cut = as_pdf(squeezed[: len(squeezed) // 2], *fields)
    site.add("gzip-cut", cut, outcome="truncated")


def _redirected(site: PaperSite) -> None:
    data = pdf("redirected")
    site.routes["/d/redirected.pdf"] = as_pdf(data)
    there = site.at(MAIN) + "/d/redirected.pdf"
    for status in ("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"):
        site.add(f"hop-{status[:3]}", redirect(there, status), data, requests=2)
    site.add("hop-relative", redirect("../d/redirected.pdf"), data, requests=2)
    site.add("hop-other-host", redirect(site.at(OTHER) + "/d/redirected.pdf"), data, requests=2)
    site.add("hop-to-tls", redirect(site.at(TLS) + "/d/redirected.pdf"), data, requests=2)
    site.routes |= {"/h/1": redirect("/h/2"), "/h/2": redirect(there)}
    site.add("hops-3", redirect("/h/1"), data, requests=4)
    refresh = f'<meta http-equiv="refresh" content="0; url={there}">'
    site.add("meta-refresh", reply(page("", refresh)), data, requests=2)
    site.add("refresh-header", reply(page(""), "text/html", f"Refresh: 0; url={there}"), data)
    site.add("hop-cookie", _cookie_wall(data), data, requests=2)
    site.routes["/h/404"] = redirect("/h/nothing")
    site.add("hop-to-404", redirect("/h/404"), outcome="not-found", requests=3)
    site.add("hop-to-robots", redirect("/forbidden/x.pdf"), outcome="robots")
    site.add("hop-to-ftp", redirect("ftp://127.0.0.1/x.pdf"), outcome="bad-http")
    site.add("hop-nowhere", reply(b"", status="302 Found"), outcome="bad-http")
    site.add("loop", redirect("/p/loop"), outcome="loop")
    site.routes |= {"/h/a": redirect("/h/b"), "/h/b": redirect("/h/a")}
    site.add("ping-pong", redirect("/h/a"), outcome="loop")
    site.routes |= {f"/h/far/{n}": redirect(f"/h/far/{n + 1}") for n in range(30)}
    site.add("too-far", redirect("/h/far/0"), outcome="loop")


def _cookie_wall(data: bytes) -> Handler:
    def answer(seen: Seen) -> Reply:
        if "wall=1" in seen.headers.get("Cookie", ""):
            return as_pdf(data)
        return redirect(seen.target, "302 Found", "Set-Cookie: wall=1; Path=/")

    return answer


def _urls(site: PaperSite) -> None:
    base = site.at(MAIN)
    for name, path in (
        ("query", "/u/get?a=1&b=2&a=3"),
        ("space", "/u/a b c.pdf"),
        ("non-ascii", "/u/naïve-Ωμ.pdf"),
        ("escaped", "/u/a%2Fb%20c%E4.pdf"),
        ("long", "/u/" + "a" * 4000),
        ("semicolon", "/u/x;jsessionid=1?q"),
        ("dots", "/u/../u/dots.pdf"),
        ("brackets", "/u/<a>[b]|c.pdf"),
    ):
        asked = quote(path, safe="/?&=;%.[]|~")
        for target in {asked, asked.replace("/u/../u", "/u"), path}:
            site.routes[target] = as_pdf(pdf(name))
        site.routes[quote(path, safe="/?&=;%.~")] = as_pdf(pdf(name))
        site.add(name, None, pdf(name), url=base + path, requests=1)
    site.routes["/u/fragment.pdf"] = as_pdf(pdf("fragment"))
    site.add("fragment", None, pdf("fragment"), url=f"{base}/u/fragment.pdf#page=3")
    site.add("fragment-2", None, pdf("fragment"), url=f"{base}/u/fragment.pdf#page=4")
    upper = base.replace("http://", "HTTP://")
    site.add("upper-scheme", None, pdf("fragment"), url=f"{upper}/u/fragment.pdf")


def _splaps(site: PaperSite) -> None:
    def of(name: str) -> dict[str, Reply | Handler]:
        return {"a.pdf": as_pdf(pdf(name))}

    for name, url in (
        ("meta-absolute", f"{site.at(MAIN)}/p/meta-absolute/a.pdf"),
        ("meta-relative", "meta-relative/a.pdf"),
        ("meta-rooted", "/p/meta-rooted/a.pdf"),
        ("meta-no-scheme", f"{site.at(MAIN).removeprefix('http:')}/p/meta-no-scheme/a.pdf"),
        ("meta-fragment", "/p/meta-fragment/a.pdf#view=fit"),
    ):
        site.splap(name, page("Abstract", meta(url)), of(name), pdf(name), requests=2)
    base = f'<base href="{site.at(OTHER)}/p/meta-base/">'
    site.splap("meta-base", page("", base + meta("a.pdf")), of("meta-base"), pdf("meta-base"))
    link_here = link("NAME/a.pdf")
    for name, missed in (
        ("meta-html", reply(page("no PDF at all"))),
        ("meta-404", reply(b"no", status="404 Not Found")),
        ("meta-500", reply(b"no", status="501 Not done")),
        ("meta-zip", reply(b"PK\x03\x04" + b"\0" * 5000, "application/pdf")),
    ):
        html = page(link_here.replace("NAME", name), meta(f"{name}/m.pdf"))
        site.splap(name, html, of(name) | {"m.pdf": missed}, pdf(name))
    html = page(link("meta-refused/a.pdf"), meta("http://127.0.0.1:1/m.pdf"))
    site.splap("meta-refused", html, of("meta-refused"), pdf("meta-refused"))
    html = page(link("meta-self/a.pdf"), meta("/p/meta-self"))
    site.splap("meta-self", html, of("meta-self"), pdf("meta-self"))
    html = page(link("meta-bad/a.pdf"), meta("http://[::1/m.pdf") + meta("http://127.0.0.2:99999/"))
    site.splap("meta-bad", html, of("meta-bad"), pdf("meta-bad"))
    html = page(link("meta-wins/b.pdf"), meta("meta-wins/a.pdf"))
    more = of("meta-wins") | {"b.pdf": as_pdf(pdf("not asked"))}
    site.splap("meta-wins", html, more, pdf("meta-wins"), requests=2)


def _followed(site: PaperSite) -> None:
    def of(name: str) -> dict[str, Reply | Handler]:
        return {"a.pdf": as_pdf(pdf(name))}

    for name, html in (
        ("link", page(link("link/a.pdf"))),
        ("link-odd", page(
            '<a href="mailto:a@example.org">Full text</a><a href="javascript:pdf()">PDF</a>'
            '<a href="#top">PDF</a><a>PDF</a><a href="">PDF</a><a href="file:///etc/passwd">PDF</a>'
            '<a href="http://127.0.0.2:99999/x.pdf">PDF</a><a href="http://[::1/x.pdf">PDF</a>'
            '<a href="http:///x.pdf">PDF</a><a href="data:,x">PDF</a>' + link("link-odd/a.pdf"))),
        ("link-nested", page("<div>" * 400 + link("link-nested/a.pdf") + "</div>" * 400)),
        ("link-bytes", b"<html><body>\xff\xfe\x00caf\xe9 " + link("link-bytes/a.pdf").encode()),
    ):  # fmt: skip
        site.splap(name, html, of(name), pdf(name))
    space = page(link("link-space/a b.pdf"))
    site.splap("link-space", space, {"a%20b.pdf": as_pdf(pdf("space"))}, pdf("space"))
    hop = page(link("link-hop/a.pdf"))
    site.routes["/d/link-hop.pdf"] = as_pdf(pdf("link-hop"))
    there = redirect(site.at(OTHER) + "/d/link-hop.pdf")
    site.splap("link-hop", hop, {"a.pdf": there}, pdf("link-hop"), requests=3)
    coded = as_pdf(gzip.compress(pdf("link-gzip")), "Content-Encoding: gzip")
    site.splap("link-gzip", page(link("link-gzip/a.pdf")), {"a.pdf": coded}, pdf("link-gzip"))
    site.splap(
        "link-chunked", page(link("link-chunked/a.pdf")), {"a.pdf": chunked(pdf("l-c"))}, pdf("l-c")
    )
    site.splap("link-tls", page(link(site.at(TLS) + "/p/link-tls/a.pdf")), of("link-tls"),
               pdf("link-tls"))  # fmt: skip
    many = page(
        "".join(link(f"links-many/{n}.html", f"Chapter {n}") for n in range(60)),
    )
    other = {f"{n}.html": reply(page("nothing")) for n in range(60)}
    site.splap("links-many", many, other, outcome="splap-only", requests=1 + TAIL)
    both = page(link("link-twice/a.pdf") + link("link-twice/a.pdf", "PDF") + link("/p/link-twice"))
    site.splap("link-twice", both, of("link-twice"), pdf("link-twice"), requests=2)
    site.add("splap-hop", redirect("/p/splap-hopped"), pdf("splap-hopped"), requests=3)
    site.routes["/p/splap-hopped"] = reply(page("", meta("/d/splap-hopped.pdf")))
    site.routes["/d/splap-hopped.pdf"] = as_pdf(pdf("splap-hopped"))
    html = page("", meta("/d/splap-hopped.pdf"))
    for name, answer in {
        "splap-gzip": reply(gzip.compress(html), "text/html", "Content-Encoding: gzip"),
        "splap-chunked": chunked(html[:50], html[50:], fields=("Content-Type: text/html",)),
        "splap-as-text": reply(html, "text/plain"),
        "splap-as-pdf": reply(html, "application/pdf"),
        "splap-utf-16": reply(html.decode().encode("utf-16"), "text/html; charset=utf-16"),
    }.items():
        site.add(name, answer, pdf("splap-hopped"), requests=2)


def _wanted(site: PaperSite) -> None:
    """What asks for a cookie or a Referer of the splap."""

    def with_cookie(seen: Seen) -> Reply:
        had = "visit=yes" in seen.headers.get("Cookie", "")
        return as_pdf(pdf("cookie")) if had else reply(b"no cookie", status="403 Forbidden")

    def with_referer(seen: Seen) -> Reply:
        had = seen.headers.get("Referer", "").endswith("/p/referer")
        return as_pdf(pdf("referer")) if had else reply(b"no Referer", status="403 Forbidden")

    site.routes["/p/cookie/a.pdf"] = with_cookie
    html = page("", meta("cookie/a.pdf"))
    cookie = "Set-Cookie: visit=yes; Path=/"
    site.add("cookie", reply(html, "text/html", cookie), pdf("cookie"), requests=2)
    site.routes["/p/cookie-other/a.pdf"] = with_cookie  # no other trail's cookie helps
    html = page("", meta("cookie-other/a.pdf"))
    site.add("cookie-other", reply(html), outcome="splap-only", requests=2)
    site.routes["/p/referer/a.pdf"] = with_referer
    site.add("referer", reply(page("", meta("referer/a.pdf"))), pdf("referer"), requests=2)


def _no_futs(site: PaperSite) -> None:
    site.add("no-fut", reply(page(link("/nowhere", "Home"))), outcome="splap-only")
    site.add("no-links", reply(page("An abstract")), outcome="splap-only", requests=1)
    about = page("A PDF begins with %PDF-1.4 and ends with %%EOF")
    site.add("about-pdf", reply(about, "application/pdf"), outcome="splap-only", requests=1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.pdf", pdf("zipped"))
    for name, body, media_type in (
        ("zip", packed.getvalue(), "application/zip"),
        ("postscript", b"%!PS-Adobe-3.0\n" + b"x" * 5000, "application/postscript"),
        ("text", b"Full text, as text.\n" * 50, "text/plain"),
        ("json", b'{"error": "no"}', "application/json"),
        ("empty", b"", "application/pdf"),
        ("empty-html", b"", "text/html"),
    ):
        site.add(name, reply(body, media_type), outcome="other-type", requests=1)
    site.add("no-content", Reply(b"HTTP/1.1 204 No Content\r\n\r\n"), outcome="other-type")


def _broken(site: PaperSite) -> None:
    for status, outcome in (
        ("400 Bad", "not-found"), ("401 Who", "refused"), ("402 Pay", "refused"),
        ("403 No", "refused"), ("404 Not Found", "not-found"), ("410 Gone", "gone"),
        ("418 Tea", "not-found"), ("451 Law", "refused"), ("501 Never", "server-error"),
        ("304 Same", "bad-http"), ("999 No", "bad-http"),
    ):  # fmt: skip
        answer = reply(page("no"), status=status) if status[:3] != "304" else Reply(
            b"HTTP/1.1 304 Not Modified\r\n\r\n"
        )  # fmt: skip
        site.add(f"status-{status[:3]}", answer, outcome=outcome, requests=1)
    error_pdf = reply(pdf("an error"), "application/pdf", status="404 Not Found")
    site.add("pdf-404", error_pdf, outcome="not-found", requests=1)
    part = as_pdf(pdf("part")[:100], "Content-Range: bytes 0-99/3000")
    part = Reply(part.data.replace(b"200 OK", b"206 Partial"))
    site.add("part", part, outcome="refused", requests=1)
    data = pdf("cut", 20_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n"
    site.add("cut", reply(data[:9000], "application/pdf", length=len(data), then="close"),
             outcome="truncated")  # fmt: skip
    te = head + b"Transfer-Encoding: chunked\r\n\r\n"
    site.add("chunked-cut", Reply(te + b"4e20\r\n" + data[:9000], "close"), outcome="truncated")
    site.add("closed-cut", Reply(head + b"\r\n" + data[:9000], "close"), outcome="truncated")
    site.add("no-http", Reply(b"SSH-2.0-OpenSSH_9.6\r\n", "close"), outcome="bad-http")
    site.add("two-lengths", Reply(head + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n1234567",
                                  "close"), outcome="bad-http")  # fmt: skip
    site.add("too-big", reply(b"%PDF-1.7\n" + b"x" * 70_000, "application/pdf",
                              length=MAX_PAYLOAD + 1, then="hold"), outcome="too-big")  # fmt: skip
    site.add("too-big-unknown", Reply(head + b"\r\n" + pdf("huge", MAX_PAYLOAD + 9), "close"),
             outcome="too-big")  # fmt: skip
    site.add("forbidden", as_pdf(b""), outcome="robots", path="/forbidden/a.pdf", requests=0)
    site.splap("link-forbidden", page("", meta("/forbidden/b.pdf")), {}, outcome="splap-only")


def _hosts(site: PaperSite) -> None:
    data = pdf("at last")
    oops = reply(b"not now", status="500 Oops")
    site.add("500-then-ok", in_turn(oops, as_pdf(data)), data, host=LATE, requests=2)
    site.add("500", oops, outcome="server-error", host=LATE, requests=3)
    html = page("", meta("500-link/a.pdf"))
    answers: dict[str, Reply | Handler] = {"a.pdf": in_turn(oops, as_pdf(pdf("late")))}
    site.splap("500-link", html, answers, pdf("late"), host=LATE, requests=3)
    site.routes["/h/late"] = in_turn(oops, as_pdf(pdf("hop-late")))
    site.add("hop-500", redirect("/h/late"), pdf("hop-late"), host=LATE, requests=3)
    wait = reply(b"later", "text/plain", "Retry-After: 1", status="503 Busy")
    site.add("503-then-ok", in_turn(wait, as_pdf(data)), data, host=BUSY, requests=2)
    many = reply(b"later", "text/plain", "Retry-After: 1", status="429 Too Many")
    site.add("429-then-ok", in_turn(many, as_pdf(data)), data, host=BUSY, requests=2)
    site.add("stalled", Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n%PDF", "hold"),
             outcome="timeout", host=STILL)  # fmt: skip
    site.add("locked", as_pdf(data), outcome="robots", host=LOCKED, requests=0)
    site.add("tls", as_pdf(pdf("tls")), pdf("tls"), host=TLS, requests=1)
    not_tls = site.at(MAIN).replace("http:", "https:") + "/p/pdf"
    site.add("no-tls", None, outcome="tls", url=not_tls)
    site.add("reset", Reply(b"", "reset"), outcome="connection", host=RESET)
    site.add("reset-inside", Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n%PDF-1.7 ",
                                   "reset"), outcome="truncated", host=RESET)  # fmt: skip
    with socket.create_server((OTHER, 0)) as closed:
        port = closed.getsockname()[1]
    site.add("refused", None, outcome="connection", url=f"http://127.0.0.77:{port}/x.pdf")


def _pages(site: PaperSite) -> None:
    """Pages that stand where a splap should be."""
    challenge = (
        "<html><head><title>Just a moment...</title></head><body>Checking your browser"
        '<script src="/cdn-cgi/challenge-platform/x.js"></script></body></html>'
    )
    site.add("challenge", reply(challenge.encode()), outcome="bot-challenge", requests=1)
    framed = page('<iframe src="viewer/a.pdf"></iframe>')
    site.splap("viewer", framed, {"a.pdf": as_pdf(pdf("viewer"))}, pdf("viewer"), requests=2)
    wrapped = page(link("wrapped/a.pdf", "Download PDF"))
    inside = reply(page("", meta("b.pdf")))
    answers: dict[str, Reply | Handler] = {"a.pdf": inside, "b.pdf": as_pdf(pdf("wrapped"))}
    site.splap("wrapped", wrapped, answers, pdf("wrapped"), requests=3)


class SmallSite(Server):
    """*count* papers at each of *hosts*, in the order of the list: PDFs, splaps with one, neither.

    The list is sorted by host, as lists are.
    """

    def __init__(self, hosts: tuple[str, ...] = (MAIN,), count: int = 12) -> None:
        super().__init__(hosts)
        self._papers_at_each = count
        self.papers: list[Paper] = []

    def __enter__(self) -> SmallSite:
        super().__enter__()
        for place, host in enumerate(self.hosts):
            for number in range(self._papers_at_each):
                self._add(host, f"{place}-{number}", number % 4)
        return self

    def _add(self, host: str, name: str, kind: int) -> None:
        path, data = f"/{name}", pdf(name)
        url, outcome, futs = self.at(host) + path, "fut", (data,)
        if kind == 3:
            self.routes[path] = reply(page("An abstract"))
            outcome, futs = "splap-only", ()
        elif kind == 0:
            self.routes[path] = as_pdf(data)
        else:
            self.routes[path] = reply(page("", meta(f"{name}/a.pdf")))
            self.routes[f"{path}/a.pdf"] = (
                as_pdf(data) if kind == 1 else chunked(data[:1500], data[1500:])
            )
        self.papers.append(Paper(name=name, url=url, outcome=outcome, futs=futs))

    def list(self) -> str:
        return "".join(paper.line for paper in self.papers)
