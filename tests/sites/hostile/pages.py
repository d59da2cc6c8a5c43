"""Pages made to stop a parser, to lead a crawler astray, or to fill its memory."""

# ruff: noqa: E501  a line a behaviour, where one will do
from __future__ import annotations

import json
from collections.abc import Iterator

from tests.sites.hostile.behaviours import (
    CLOSE,
    PDF,
    PORT,
    SPLAP,
    TRAP,
    Behaviour,
    Repeat,
    http,
    one,
    page,
    pdf,
)

LINK = '<a href="/a.pdf">Full text (PDF)</a>'
META = '<meta name="citation_pdf_url" content="/a.pdf">'
GOOD = {"/a.pdf": pdf()}
MB = 1_000_000


def behaviours() -> Iterator[Behaviour]:
    yield from _bombs()
    yield from _bytes()
    yield from _bases()
    yield from _metas()
    yield from _links()
    yield from _circles()


def bomb(name: str, outcome: str, body: str | bytes, in_head: str = "") -> Behaviour:
    """A page with *body* behind its link where *outcome* is ``fut``, else without one."""
    coded = body.encode() if isinstance(body, str) else body
    link = LINK.encode() if outcome == "fut" else b""
    return one(f"page-{name}", outcome, *page(link + coded, in_head), answers=GOOD)


def _bombs() -> Iterator[Behaviour]:
    attributes = " ".join(f"a{n}=1" for n in range(100_000))
    yield bomb("of-100000-attributes", "fut", f"<div {attributes}>x</div>")
    yield bomb("of-100000-attributes-unclosed", "fut", f"<div {attributes}")
    quoted = " ".join(f'a{n}="&gt;"' for n in range(70_000))
    yield bomb("of-attributes-behind-a-quoted-bracket", "fut", f"<div t='>' {quoted}>x</div>")
    some = " ".join(f"b{n}=1" for n in range(499))
    yield bomb("of-499-attributes-in-each-tag", "fut", f"<i {some}></i>" * 900)
    yield bomb(
        "of-16000-byte-tags", "fut", f"<i {' '.join(f'c{n}' for n in range(2700))}></i>" * 240
    )
    yield bomb("of-an-attribute-named-million-times", "fut", f"<div {'a ' * MB}>")
    yield bomb("of-equals-signs", "fut", f"<div {'=' * MB}>")
    yield bomb("of-quotes", "fut", f"<div {chr(34) * MB}>")
    yield bomb("of-slashes", "fut", f"<div {'/' * MB}>")
    links = "".join(f"<a href=/n/{n}>w</a>" for n in range(100_000))
    yield bomb("of-100000-links", "fut", links)
    yield one("page-of-100000-links-that-say-pdf", "splap-only",
              *page("".join(f"<a href=/n/{n}.pdf>PDF</a>" for n in range(100_000))))  # fmt: skip
    yield one("page-of-200000-links-alike", "splap-only", *page("<a href=/n.pdf>PDF</a>" * 180_000))
    yield bomb("of-million-divs", "fut", "<div>" * 800_000)
    yield bomb("of-million-fonts", "fut", "<font>" * 700_000)
    yield bomb("of-million-bold-and-italic", "fut", "<b><i>" * 600_000)
    yield bomb("of-million-anchors-open", "fut", "<a>" * MB)
    yield bomb("of-million-links-open", "fut", "<a href=x>" * 400_000)
    yield bomb("of-million-tables", "fut", "<table>" * 550_000)
    yield bomb("of-million-rows", "fut", "<table><tr><td>" * 250_000)
    yield bomb("of-million-paragraphs", "fut", "<p>" * MB)
    yield bomb("of-million-items", "fut", "<ul><li>" * 450_000)
    yield bomb("of-million-forms", "fut", "<form><input>" * 300_000)
    yield bomb("of-million-options", "fut", "<select>" + "<option value=/o.x>" * 200_000)
    yield bomb("of-million-headings", "fut", "<h1>x" * 700_000)
    yield bomb("of-nested-headings", "fut", "<h1>" * 250 + "w " * 100_000 + "<h2>" * 9_000)
    yield bomb("of-million-closings", "fut", "</div>" * 600_000)
    yield bomb("of-closings-of-nothing", "fut", "<p></b></i></font>" * 200_000)
    yield bomb("of-million-entities", "fut", "&amp;" * 800_000)
    yield bomb("of-entities-unknown", "fut", "&lafka" * 600_000)
    yield bomb("of-entities-numeric", "fut", "&#x110000;&#0;&#xD800;" * 180_000)
    yield bomb("of-entities-in-an-attribute", "fut", f'<div title="{"&amp;" * 700_000}">x</div>')
    yield bomb("of-million-comments", "fut", "<!---->" * 550_000)
    yield bomb("of-a-comment-unclosed", "fut", "<!--" + "-" * 3 * MB)
    yield bomb("of-comment-starts", "fut", "<!--" * MB)
    yield one("page-of-comment-starts-before-a-citation", "fut", *http(
        b"<html>" + b"<!--" * 60_000 + b"-->" + META.encode() + LINK.encode()), answers=GOOD)  # fmt: skip
    yield bomb("of-declarations", "fut", "<!DOCTYPE x [<!ENTITY a 'b'>]>" * 100_000)
    yield bomb("of-instructions", "fut", "<?x ?>" * 600_000)
    yield bomb("of-cdata", "fut", "<![CDATA[" * 400_000)
    yield bomb("of-angle-brackets", "fut", "<" * 4 * MB)
    yield bomb("of-angle-brackets-and-letters", "fut", "<a" * 2 * MB)
    yield bomb("of-open-tags-unclosed", "fut", "<a <b <i " * 400_000)
    yield bomb("of-one-text", "fut", "word" * MB)
    yield bomb("of-blanks", "fut", " " * 4 * MB)
    yield bomb("of-line-ends", "fut", "\r\n" * 2 * MB)
    yield bomb("of-scripts", "fut", "<script>x</script>" * 200_000)
    yield bomb("of-a-script-unclosed", "fut", "<script>" + "if(a<b)" * 500_000)
    yield bomb("of-styles", "fut", "<style>*{}</style>" * 200_000)
    yield bomb("of-svg", "fut", "<svg><g>" * 400_000)
    yield bomb("of-math", "fut", "<math><mi>" * 300_000)
    yield bomb("of-templates", "fut", "<template>" * 300_000)
    yield bomb("of-frames", "fut", '<iframe src="/f"></iframe>' * 120_000)
    yield bomb("of-embeds", "fut", '<embed src="/e.x">' * 150_000)
    yield bomb("of-custom-tags", "fut", "".join(f"<x-{n}>" for n in range(300_000)))
    yield bomb("of-a-tag-name-of-4-mb", "fut", "<" + "x" * 4 * MB + ">")
    yield bomb("of-an-attribute-name-of-4-mb", "fut", "<i " + "x" * 4 * MB + ">")
    yield bomb("of-a-value-of-4-mb", "fut", "<i title='" + "x" * 4 * MB + "'>")
    yield bomb("of-an-id-for-each", "fut", "".join(f"<i id=i{n}>" for n in range(200_000)))
    yield bomb("of-one-id", "fut", "<i id=i>" * 300_000)
    yield bomb(
        "of-metas", "fut", "", "".join(f"<meta name=m{n} content=c>" for n in range(100_000))
    )
    yield bomb("of-meta-charsets", "fut", "", "<meta charset=utf-16><meta charset=x>" * 50_000)
    yield bomb("of-titles", "fut", "<title>t</title>" * 200_000)
    yield bomb("of-a-title-of-4-mb", "fut", "<title>" + "t" * 4 * MB)
    yield bomb("of-bases", "fut", "<base href=/>" * 200_000)
    yield bomb("of-json-ld-nested", "fut", _ld("[" * 400_000))
    yield bomb("of-json-ld-deep", "fut", _ld('{"a":' * 300_000 + "1" + "}" * 300_000))
    yield bomb("of-json-ld-wide", "fut",
               _ld(json.dumps([{"@type": "x", "url": f"/u{n}"} for n in range(70_000)])))  # fmt: skip
    yield bomb("of-json-ld-urls", "fut",
               _ld(json.dumps({"encoding": [{"contentUrl": f"/j{n}.x"} for n in range(70_000)]})))  # fmt: skip
    yield bomb("of-json-ld-number", "fut", _ld('{"a": ' + "9" * MB + "}"))
    yield bomb("of-json-ld-many", "fut", _ld("{}") * 60_000)
    yield bomb("of-script-json", "fut", "<script>var d=" + json.dumps(
        [{"pdf": f"/s{n}", "n": "x" * 20} for n in range(90_000)]) + "</script>")  # fmt: skip
    yield bomb(
        "of-script-json-of-5-mb", "fut", "<script>d=" + '{"pdfUrl":"' * 450_000 + "</script>"
    )
    yield bomb("of-script-quotes", "fut", "<script>" + '"' * 3 * MB + "</script>")
    yield bomb("of-script-pdf-words", "fut", "<script>" + "'/x.pdf'," * 300_000 + "</script>")
    yield bomb("of-backslashes", "fut", "<script>'" + "\\" * 3 * MB + "</script>")
    yield bomb("of-onclicks", "fut", "<a onclick=\"window.open('/o')\">x</a>" * 80_000)
    yield bomb(
        "of-a-javascript-link-of-1-mb", "fut", f'<a href="javascript:{"f();" * 250_000}">PDF</a>'
    )
    yield bomb("of-javascript-parentheses", "fut", f'<a href="javascript:{"(" * MB}">PDF</a>')
    yield bomb("of-anchor-text-of-4-mb", "fut", "<a href=/t>" + "pdf " * MB + "</a>")
    yield bomb("of-anchor-text-in-pieces", "fut", "<a href=/t>" + "<b>pdf</b>" * 300_000 + "</a>")
    yield bomb("of-nested-spans-in-anchors", "fut", ("<a href=/t>" + "<b>" * 200 + "</a>") * 3_000)
    yield bomb("of-lists-of-identifiers", "fut", "10.1000/182 " * 300_000)
    yield bomb("of-identifiers-in-title", "fut", "", "<title>" + "10.1/a " * 200_000 + "</title>")
    yield bomb("of-regular-expression-food", "fut", "verify you are " * 200_000)
    yield bomb("of-access-denied-food", "fut", "access denied " + "reference " * 300_000)
    yield one(
        "page-of-20-mb", "fut", *page(LINK.encode() + b"<p>text</p>" * 1_800_000), answers=GOOD
    )
    yield one("page-of-20-mb-link-last", "splap-only", *page(b"<p>text</p>" * 1_800_000 + LINK.encode()),
              answers=GOOD)  # fmt: skip


def _ld(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


def _bytes() -> Iterator[Behaviour]:
    body = f"<!doctype html><html><body>{LINK}</body></html>".encode()
    for name, data, charset in (
        ("charset-unknown", body, "lafka-8"),
        ("charset-of-a-codec-that-is-none", body, "base64"),
        ("charset-idna", body, "idna"),
        ("charset-unicode-escape", body, "unicode_escape"),
        ("charset-zlib", body, "zlib_codec"),
        ("charset-undefined", body, "undefined"),
        ("charset-utf-16-lie", body, "utf-16"),
        ("charset-utf-7", body, "utf-7"),
        ("charset-of-60-kb", body, "c" * 60_000),
        ("charset-of-controls", body, "\x1b[31m"),
        ("bytes-not-utf-8", body + bytes(range(128, 256)) * 500, "utf-8"),
        ("nuls", body.replace(b"><", b">\0<\0"), "utf-8"),
        ("nuls-in-tags", b"<html><body><a\0 href=/a.pdf>Full text (PDF)</a>", "utf-8"),
        ("surrogates", body + b"\xed\xa0\x80" * 900, "utf-8"),
        ("controls", body + bytes(range(32)) * 900, "utf-8"),
        ("bom-twice", b"\xef\xbb\xbf" * 2 + body, "utf-8"),
        ("unclosed", b"<html><body><table><tr><td><p><b><i><a href=/a.pdf>Full text PDF", "utf-8"),
        ("closed-twice", b"</html></body>" + body + b"</html>" * 90 + body, "utf-8"),
        ("cut-in-a-tag", b'<html><body><a href=/a.pdf>Full text PDF</a><a href="/b', "utf-8"),
        ("xml", b'<?xml version="1.0"?><!DOCTYPE html><html><body>' + LINK.encode(), "utf-8"),
        ("xml-entity-of-a-file", b'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e SYSTEM '
         b'"file:///etc/passwd">]><html><body>&e;' + LINK.encode(), "utf-8"),
        ("xml-entity-of-a-host", f'<?xml version="1.0"?><!DOCTYPE html SYSTEM "{TRAP}">'
         f"<html><body>{LINK}".encode(), "utf-8"),
        ("xinclude", b'<html><body><xi:include href="file:///etc/passwd"/>' + LINK.encode(), "utf-8"),
    ):  # fmt: skip
        # what stands behind a UTF-16 that is none, or a codec of bytes, cannot be told
        yield one(f"page-{name}", "fut", *http(data, media_type=f"text/html; charset={charset}"),
                  answers=GOOD)  # fmt: skip


def _bases() -> Iterator[Behaviour]:
    for name, base in (
        ("file", "file:///etc/"), ("javascript", "javascript:"), ("data", "data:text/html,"),
        ("garbage", "::::"), ("bad-ipv6", "http://[::1/"), ("bad-port", "http://h:99999/"),
        ("empty", ""), ("of-1-mb", "/" + "b" * MB), ("mailto", "mailto:a@b"),
    ):  # fmt: skip
        yield one(f"base-{name}", "fut", *page(LINK, f'<base href="{base}">'), answers=GOOD)
    yield one(
        "base-loopback", "splap-only", *page('<a href="a.pdf">PDF</a>', f'<base href="{TRAP}/">')
    )


def _metas() -> Iterator[Behaviour]:
    for name, value in (
        ("javascript", "javascript:alert(1)"), ("file", "file:///etc/passwd"),
        ("data", "data:application/pdf;base64,JVBERi0xLjQK"), ("self", "/x"), ("empty", ""),
        ("loopback", TRAP), ("ipv6-loopback", f"http://[::1]:{PORT}/trap"),
        ("bad-ipv6", "http://[::1/"), ("bad-port", "http://h:99999/"), ("port-0", "http://127.77.0.1:0/"),
        ("garbage", "::::"), ("of-1-mb", "/" + "m" * MB), ("cr-lf", "/a&#13;&#10;X-Injected: yes"),
        ("mailto", "mailto:a@b"), ("ftp", "ftp://127.0.0.1/a.pdf"), ("nul", "/a&#0;.pdf"),
        ("label-of-300", "http://" + "h" * 300 + "/"), ("host-of-dots", "http://.../"),
        ("host-of-blanks", "http:// /a.pdf"), ("host-of-escapes", "http://%00/"),
        ("emoji", "http://\U0001f600.invalid/"),
    ):  # fmt: skip
        meta = f'<meta name="citation_pdf_url" content="{value}">'
        yield one(f"citation-pdf-url-{name}", "fut", *page(LINK, meta), answers=GOOD)
    many = "".join(f'<meta name="citation_pdf_url" content="/c{n}">' for n in range(50_000))
    yield one("citation-pdf-url-50000-times", "splap-only", *page("", many))


def _links() -> Iterator[Behaviour]:
    bad = [
        "file:///etc/passwd", "file://localhost/etc/shadow", "FILE:/etc/passwd", "data:,x",
        "data:application/pdf;base64,JVBERi0xLjQK", "mailto:a@b.example?subject=PDF", "tel:+1",
        "javascript:void(0)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "vbscript:x",
        "ftp://127.0.0.1/a.pdf", "s3://bucket/a.pdf", "gopher://127.0.0.1/", "about:blank",
        "blob:http://a/b", "view-source:http://a/", "ws://127.0.0.1/", "http://127.77.0.1:99999/a.pdf",
        "http://127.77.0.1:0/a.pdf", "http://127.77.0.1:-1/a.pdf", "http://127.77.0.1:x/a.pdf",
        "http://[::1/a.pdf", "http://[::g]/a.pdf", "http://[]/a.pdf", "http://]/a.pdf", "http:///a.pdf",
        "http:", "http://", "//", "///", "////", "?", "#", "", " ", "\x00", "http://%/", "http://a%00b/",
        "http://xn--/", "http://-.-/", "http://a..b/", "https://", "http:\\\\127.0.0.1\\a.pdf",
        "/a\r\nX-Injected: yes", "/%0d%0aX-Injected:%20yes", "/\x1b[31m.pdf", "/a.pdf\x07",
        "http://user:pass@127.0.0.1/a.pdf", "http://127.77.0.1@127.0.0.1/a.pdf", "/\u202egpj.fdp",
        "/\udcff" .encode("utf-8", "replace").decode(), "/" + "../" * 3000, "/" + "a" * 100_000,
    ]  # fmt: skip
    every = "".join(f'<a href="{href}">Download PDF</a>' for href in bad)
    yield one("links-of-every-bad-kind", "fut", *page(every + LINK, META), answers=GOOD)
    for place, href in enumerate(bad):
        yield one(f"link-{place:02d}-{_named(href)}", "fut",
                  *page(f'<a href="{href}">Download PDF</a>{LINK}'), answers=GOOD)  # fmt: skip
    yield one("links-to-loopback", "splap-only", *page("".join(
        f'<a href="http://{host}:{PORT}/trap.pdf">PDF</a>'
        for host in ("127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]",
                     "localhost", "１２７.0.0.1", "0"))))  # fmt: skip
    yield one("links-with-credentials", "fut",
              *page(f'<a href="http://me:secret@127.77.0.1:{PORT}/robots.txt">PDF</a>{LINK}'), answers=GOOD)  # fmt: skip


def _named(href: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in href[:24])
    return kept.strip("-") or "nothing"


def _circles() -> Iterator[Behaviour]:
    yield one("link-to-the-page-itself", "splap-only",
              *page('<a href="/x">PDF</a><a href="x?">PDF</a>', '<meta name="citation_pdf_url" content="x">'))  # fmt: skip
    viewer = 'View <iframe src="/{}"></iframe><a href="/{}">PDF</a>'
    yield one("viewers-in-a-circle", "splap-only", *page(viewer.format("v", "v"), _meta("/v")),
              answers={"/v": page(viewer.format("w", "w"), _meta("/w")),
                       "/w": page(viewer.format("x", "v"), _meta("/x"))})  # fmt: skip
    yield one("viewers-without-end", "splap-only", answers={"*": lambda asked: page(
        f'<a href="{asked.target}v">PDF</a>', _meta(asked.target + "v"))})  # fmt: skip
    yield one("frames-nested", "splap-only", answers={"*": lambda asked: page(
        f'<iframe src="{asked.target}/f"></iframe>')})  # fmt: skip
    yield one("frame-of-itself", "splap-only", *page('<iframe src="/x"></iframe><frame src="/x">'))
    yield one("candidate-that-redirects-to-the-page", "splap-only", *page(LINK),
              answers={"/a.pdf": (b"HTTP/1.1 302 F\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",)})  # fmt: skip
    yield one("candidate-that-loops", "splap-only", *page(LINK),
              answers={"/a.pdf": (b"HTTP/1.1 302 F\r\nLocation: /a.pdf\r\nContent-Length: 0\r\n\r\n",)})  # fmt: skip
    yield one(
        "candidate-is-a-page-endless",
        "splap-only",
        *page(LINK),
        answers={
            "/a.pdf": (
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
                Repeat(b"<p>word " * 8192),
            )
        },
    )
    yield one("candidate-of-another-kind", "splap-only", *page(LINK),
              answers={"/a.pdf": http(b"PK\x03\x04" * 9000, media_type="application/pdf")})  # fmt: skip
    yield one("candidate-503", "splap-only", *page(LINK),
              answers={"/a.pdf": http(PDF, status="503 Busy")})  # fmt: skip
    yield one("candidate-then-fut", "fut", *page('<a href="/b.pdf">PDF</a>' + LINK),
              answers={"/b.pdf": http(SPLAP), **GOOD})  # fmt: skip
    yield one("citation-cut", "fut", *page('<a href="/b.pdf">PDF</a>', META),
              answers={"/b.pdf": pdf(), "/a.pdf": (pdf()[0][:900], CLOSE)})  # type: ignore[index] # fmt: skip


def _meta(url: str) -> str:
    return f'<meta name="citation_pdf_url" content="{url}">'
