"""Crawls in a network that has nothing but loopback, on which every address is at home.

    unshare -rnm bash tests/sites/alone.sh FOLDER

A trap listens at one port of all addresses, IPv4 and IPv6; whatever connects to it is counted.
What was found is in FOLDER/found.json.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lafka import settings
from tests.capture.test_addresses import LOOPBACK, OTHERS_REFUSED
from tests.crawls.running import crawl, outcomes
from tests.sites.papers import as_pdf, link, meta, page, pdf
from tests.sites.server import Server, redirect, reply

SITE = "127.88.0.1"
NAMES = {
    "loop4.example": ["127.0.0.1"],
    "loop6.example": ["::1"],
    "both.example": ["127.0.0.1", "::1"],
    "private.example": ["10.1.2.3"],
    "metadata.example": ["169.254.169.254"],
    "unique.example": ["fd12:3456::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::127.0.0.1"],
    "6to4.example": ["2002:7f00:1::"],
}
HERE = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "172.16.0.1", "192.168.1.1", "100.64.0.1",
        "::1", "fc00::1", "fd12:3456::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:127.0.0.1",
        "2001:db8::1"]  # fmt: skip
SETTINGS: dict[str, Any] = {
    "LAFKA_ALLOWED_NETWORKS": "127.88.0.0/16",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "RETRY_TIMES": 1,
}


class Trap:
    """Listens at one port of every address; ``reached`` has the address of each connection."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        first = socket.create_server(("0.0.0.0", 0))
        self.port: int = first.getsockname()[1]
        second = socket.create_server(("::", self.port), family=socket.AF_INET6)
        for listener in (first, second):
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            self.reached.append(connection.getsockname()[0])
            connection.close()

    def holds(self, address: str) -> bool:
        """Whether a connection to *address* is counted here."""
        before = len(self.reached)
        with suppress(OSError), socket.create_connection((address, self.port), 5) as connection:
            connection.recv(1)
        return len(self.reached) == before + 1


def url_of(host: str, port: int) -> str:
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{bracketed}:{port}/paper.pdf"


def spelled(folder: Path, trap: Trap) -> dict[str, Any]:
    """Every spelling as a line, a redirect, a refresh, links; names; and a good paper."""
    hosts = [*LOOPBACK, *OTHERS_REFUSED, *NAMES]
    lines = []
    with Server((SITE,)) as site:
        site.routes["/good"] = as_pdf(pdf("good"))
        for number, host in enumerate(hosts):
            url = url_of(host, trap.port)
            wire = url.encode().decode("latin-1")  # the bytes of UTF-8, as browsers send them
            site.routes[f"/redirect/{number}"] = redirect(wire)
            site.routes[f"/refresh/{number}"] = reply(b"", "text/html", f"Refresh: 0; url={wire}")
            site.routes[f"/links/{number}"] = reply(page(link(url), meta(url)))
            lines.append(f"RePEc:alo:line:{number}\t{url}\n")
            lines += [f"RePEc:alo:{way}:{number}\t{site.at(SITE)}/{way}/{number}\n"
                      for way in ("redirect", "refresh", "links")]  # fmt: skip
        lines.append(f"RePEc:alo:good:1\t{site.at(SITE)}/good\n")
        run = _crawled(folder / "spelled", "".join(lines))
    return run | {"hosts": hosts}


def proxied(folder: Path, trap: Trap) -> dict[str, Any]:
    os.environ["http_proxy"] = f"http://both.example:{trap.port}"
    try:
        return _crawled(folder / "proxied", f"RePEc:alo:proxy:1\thttp://{SITE}:80/paper.pdf\n")
    finally:
        del os.environ["http_proxy"]


def rebound(folder: Path, trap: Trap) -> dict[str, Any]:
    """Names that are public at first, where no packet can go from here, and then are not."""
    lines = [
        f"RePEc:alo:rebound:{n}\t{url_of(f'rebind{n}.example', trap.port)}\n" for n in range(9)
    ]
    used = {**settings.EXTENSIONS, "tests.sites.alone.Rebinding": 1}
    return _crawled(folder / "rebound", "".join(lines), EXTENSIONS=json.dumps(used), RETRY_TIMES=4,
                    DNSCACHE_ENABLED=0, RETRY_PRIORITY_ADJUST=-1)  # fmt: skip


class Rebinding:
    """A Scrapy extension: what each name resolves to changes from one question to the next."""

    ANSWERS = ("192.0.66.1", "127.0.0.1", "::1", "10.1.2.3")

    def __init__(self) -> None:
        from twisted.internet import reactor

        self.asked: dict[str, int] = {}
        resolver: Any = reactor
        for name in ("nameResolver", "original_resolver"):
            resolver = getattr(resolver, name)
        assert callable(resolver._getaddrinfo)
        resolver._getaddrinfo = self.getaddrinfo

    @classmethod
    def from_crawler(cls, crawler: object) -> Rebinding:
        return cls()

    def getaddrinfo(self, host: str, port: int, *_: object) -> list[tuple[Any, ...]]:
        count = self.asked[host] = self.asked.get(host, -1) + 1
        address = self.ANSWERS[count % len(self.ANSWERS)]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        print(f"{host} is {address}", file=sys.stderr, flush=True)
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]


class OneFut(BaseHTTPRequestHandler):
    """Has a PDF at every path but robots.txt."""

    def do_GET(self) -> None:
        is_pdf = self.path != "/robots.txt"
        data = pdf(self.path) if is_pdf else b""
        self.send_response(200 if is_pdf else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server6(ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True


def over_six(folder: Path, trap: Trap) -> dict[str, Any]:
    """A site on ::1: by its address, by a name that has no other, by one that has both."""
    with Server6(("::1", 0), OneFut) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        hosts = ["[::1]", "[0:0:0::1]", "loop6.example", "both.example"]
        lines = [f"RePEc:alo:six:{n}\thttp://{h}:{port}/{n}.pdf\n" for n, h in enumerate(hosts)]
        run = _crawled(folder / "six", "".join(lines), LAFKA_ALLOWED_NETWORKS="::1/128")
        server.shutdown()
    warcs = (folder / "six" / "warc").rglob("*.warc")
    found = [line for warc in warcs for line in warc.read_bytes().split(b"\r\n")
             if line.startswith(b"WARC-IP-Address")]  # fmt: skip
    return run | {"addresses": sorted({line.decode() for line in found}), "trap": trap.port}


def _crawled(archive: Path, lines: str, **more: Any) -> dict[str, Any]:
    list_ = archive.with_suffix(".tsv")
    list_.write_text(lines, "utf-8")
    run = crawl(archive, list_, **SETTINGS | more)
    told = {line["pid"]: line["outcome"] for line in outcomes(archive)[0]}
    return {"code": run.code, "log": run.log, "troubles": run.troubles(), "outcomes": told}


def main(folder: Path) -> None:
    assert [name for _, name in socket.if_nameindex()] == ["lo"], "this is a network of others"
    trap = Trap()
    found: dict[str, Any] = {}
    for part in (spelled, proxied, rebound, over_six):
        found[part.__name__] = part(folder, trap)
        found[part.__name__]["trapped"] = list(trap.reached)
    found["held"] = [address for address in HERE if trap.holds(address)]
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
