"""A site of small papers on three hosts of loopback, and what a crawl of it has to bring home."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.sites.papers import as_pdf, link, meta, page, pdf
from tests.sites.server import Reply, Server, chunked, redirect, reply

HOSTS = ("127.0.0.31", "127.0.0.32", "127.0.0.33")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the list: how it ends, the PDFs it gives, other bytes that have to be stored."""

    pid: str
    url: str
    outcome: str
    futs: tuple[bytes, ...] = ()
    stored: bytes = b""

    @property
    def text(self) -> str:
        return f"{self.pid}\t{self.url}\n"


class FaultSite(Server):
    """*rounds* times nine kinds of papers; with *pages*, two more that a page reader looks at."""

    def __init__(self, rounds: int = 1, *, pages: bool = False, size: int = 1500) -> None:
        super().__init__(HOSTS)
        self.lines: list[Line] = []
        self._rounds = rounds
        self._pages = pages
        self._size = size

    def __enter__(self) -> Self:
        super().__enter__()
        for number in range(self._rounds):
            self._round(number)
        if self._pages:
            self._links()
        return self

    def _add(
        self, name: str, host: int, answer: Reply, *futs: bytes, outcome: str = "fut",
        pid: str = "", stored: bytes = b"",
    ) -> None:  # fmt: skip
        self.routes[f"/{name}"] = answer
        pid = f"RePEc:tst:papers:{pid or name}"
        url = self.at(HOSTS[host]) + f"/{name}"
        self.lines.append(Line(pid=pid, url=url, outcome=outcome, futs=futs, stored=stored))

    def _pdf(self, name: str) -> bytes:
        return pdf(name, self._size)

    def _round(self, n: int) -> None:
        data = {kind: self._pdf(f"{kind}-{n}") for kind in ("a", "b", "c", "d", "e", "f")}
        self._add(f"a{n}", 0, as_pdf(data["a"]), data["a"])
        self.routes[f"/b{n}.pdf"] = as_pdf(data["b"])
        self._add(f"b{n}", 1, reply(page("", meta(f"/b{n}.pdf"))), data["b"])
        self._add(f"c{n}", 2, chunked(data["c"][:700], data["c"][700:]), data["c"])
        coded = gzip.compress(data["d"], mtime=0)
        fields = ("Content-Encoding: gzip",)
        self._add(f"d{n}", 0, chunked(coded[:50], coded[50:], fields=fields), data["d"])
        self.routes[f"/e{n}-hop"] = redirect(self.at(HOSTS[2]) + f"/e{n}.pdf")
        self.routes[f"/e{n}.pdf"] = as_pdf(data["e"])
        self._add(f"e{n}", 1, redirect(f"/e{n}-hop"), data["e"])
        # One paper, two futlis, the same bytes: the second visit stores none.
        self._add(f"f{n}", 2, as_pdf(data["f"]), data["f"])
        self._add(
            f"f{n}-again", 0, chunked(data["f"][:900], data["f"][900:]), data["f"], pid=f"f{n}"
        )
        zipped = b"PK\x03\x04" + self._pdf(f"zip-{n}")[5:]
        other = reply(zipped, "application/zip")
        self._add(f"g{n}", 1, other, outcome="other-type", stored=zipped)
        self._add(f"h{n}", 2, reply(b"none", status="404 Not Found"), outcome="not-found")

    def _links(self) -> None:
        futs = (self._pdf("one"), self._pdf("two"))
        for name, data in zip(("one", "two"), futs, strict=True):
            self.routes[f"/i/{name}.pdf"] = as_pdf(data)
        html = page(link("/i/one.pdf") + link("/i/two.pdf", "Download PDF"))
        self._add("i", 0, reply(html), *futs, stored=html)
        bare = page("An abstract")
        self._add("j", 1, reply(bare), outcome="splap-only", stored=bare)

    def list(self, folder: Path, lines: int | None = None) -> Path:
        """The first *lines* lines of the list, or all, as a file in *folder*."""
        path = folder / "list.tsv"
        path.write_text("".join(line.text for line in self.lines[:lines]))
        return path

    def sent(self, lines: int | None = None) -> dict[str, dict[str, bytes]]:
        """What is really sent: pid -> digest -> PDF."""
        found: dict[str, dict[str, bytes]] = {}
        for line in self.lines[:lines]:
            for fut in line.futs:
                found.setdefault(line.pid, {})["sha256:" + hashlib.sha256(fut).hexdigest()] = fut
        return found
