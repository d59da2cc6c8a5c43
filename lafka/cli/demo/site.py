"""A site with one paper of each common kind, served on a free port of 127.0.0.1."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAnswer:
    """An answer; ``body`` is sent chunked where ``chunked`` says so."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    fields: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False


def pdf(title: str) -> bytes:
    """A PDF of one page that shows *title* (ASCII, without parentheses)."""
    text = f"BT /F1 24 Tf 72 720 Td ({title}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return data + (
        b"xref\n0 7\n0000000000 65535 f \n%strailer\n<< /Size 7 /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (table, len(data))
    )


def _html(title: str, head: str = "", body: str = "") -> bytes:
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head>"
        f"<body><h1>{title}</h1>{body}</body></html>"
    ).encode()


def _pdf(title: str, **more: object) -> DemoAnswer:
    return DemoAnswer(body=pdf(title), content_type="application/pdf", **more)  # type: ignore[arg-type]


PAGES: Mapping[str, DemoAnswer] = {
    "/robots.txt": DemoAnswer(
        body=b"User-agent: *\nDisallow: /private/\n", content_type="text/plain"
    ),
    "/papers/straight.pdf": _pdf("A paper that is a PDF at once"),
    "/papers/chunked.pdf": _pdf("A paper sent in chunks", chunked=True),
    "/doi/10.1/moved": DemoAnswer(status=302, fields={"Location": "/papers/moved.pdf"}),
    "/papers/moved.pdf": _pdf("A paper behind a redirect"),
    "/abs/tagged": DemoAnswer(
        body=_html(
            "A paper with a meta tag",
            '<meta name="citation_pdf_url" content="/papers/tagged.pdf">',
            '<a href="/">Home</a>',
        )
    ),
    "/papers/tagged.pdf": _pdf("A paper with a meta tag"),
    "/abs/linked": DemoAnswer(
        body=_html(
            "A paper with a link",
            "",
            '<nav><a href="/">Home</a> <a href="/about">About</a></nav>'
            '<a href="/papers/linked.pdf">Download PDF</a>'
            '<a href="/papers/other.pdf">A related paper</a>',
        )
    ),
    "/papers/linked.pdf": _pdf("A paper with a link"),
    "/abs/abstract-only": DemoAnswer(
        body=_html("A paper without its text", "", "<p>An abstract.</p>")
    ),
    "/data/paper.zip": DemoAnswer(body=b"PK\x03\x04" + bytes(60), content_type="application/zip"),
    "/private/paper.pdf": _pdf("A paper that robots.txt forbids"),
}

PAPERS = (
    ("straight", "/papers/straight.pdf"),
    ("chunked", "/papers/chunked.pdf"),
    ("moved", "/doi/10.1/moved"),
    ("tagged", "/abs/tagged"),
    ("linked", "/abs/linked"),
    ("abstract", "/abs/abstract-only"),
    ("archive", "/data/paper.zip"),
    ("forbidden", "/private/paper.pdf"),
    ("gone", "/papers/gone.pdf"),
)


def list_of(base: str) -> str:
    """The list, tsv, for the site at *base*, ``http://127.0.0.1:port``."""
    return "".join(f"RePEc:dem:wpaper:{name}\t{base}{path}\n" for name, path in PAPERS)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages: Mapping[str, DemoAnswer] = PAGES

    def do_GET(self) -> None:
        found = self.pages.get(self.path) or self.pages.get(urlsplit(self.path).path)
        page = found or DemoAnswer(body=_html("Not found"), status=404)
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        for name, value in page.fields.items():
            self.send_header(name, value)
        if page.chunked:
            self._send_chunked(page.body)
        else:
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

    def _send_chunked(self, body: bytes) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(body), 100):
            chunk = body[start : start + 100]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")

    log_message: Callable[..., None] = lambda *_: None  # nothing on stderr


@contextmanager
def serving(pages: Mapping[str, DemoAnswer] = PAGES) -> Iterator[str]:
    """Serve *pages*, as they are by then, on a free port of loopback while the context lasts;
    ``http://127.0.0.1:port``.
    """
    handler = type("Handler", (_Handler,), {"pages": pages})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, name="lafka-demo", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
