"""Servers that answer a request twice, early or late: no paper gets the PDF of another.

What is late is sent when the next request comes, so nothing here is a matter of seconds.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from tests.crawls.early import GREETED
from tests.crawls.running import Run, check, crawl, futs, outcomes
from tests.sites.papers import as_pdf, meta, page, pdf
from tests.sites.raw_bytes import Answer, RawSite, server_context
from tests.sites.server import Server, _parsed, chunked, redirect, reply

GARBAGE = b"\0\r\n\r\nrubbish\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A way to answer twice: *first*, then what it says again, or a PDF that is *foreign*.

    ``when``: ``at-once`` in one piece, ``after`` it in another; ``next``: before the next answer on
    the connection, ``split`` in pieces whose last has that answer, too; ``behind``: each answer
    from then on is the one before; ``elsewhere``: when the host is asked next, wherever that is.
    """

    first: Literal["fut", "splap", "redirect", "robots", "missing", "error", "chunked"]
    when: Literal["at-once", "after", "next", "split", "behind", "elsewhere"]
    foreign: bool = False
    between: bytes = b""
    tls: bool = False


KINDS = (
    Kind(first="fut", when="at-once"),
    Kind(first="fut", when="at-once", foreign=True),
    Kind(first="fut", when="after"),
    Kind(first="fut", when="next"),
    Kind(first="fut", when="next", foreign=True),
    Kind(first="fut", when="next", between=INTERIM),
    Kind(first="fut", when="next", between=GARBAGE),
    Kind(first="fut", when="split"),
    Kind(first="fut", when="behind"),
    Kind(first="fut", when="elsewhere"),
    Kind(first="fut", when="next", tls=True),
    Kind(first="fut", when="behind", tls=True),
    Kind(first="chunked", when="next"),
    Kind(first="chunked", when="split", between=b"0\r\n\r\n"),
    Kind(first="splap", when="after", foreign=True),
    Kind(first="splap", when="next"),
    Kind(first="splap", when="next", foreign=True),
    Kind(first="splap", when="behind"),
    Kind(first="splap", when="split", foreign=True),
    Kind(first="splap", when="next", foreign=True, tls=True),
    Kind(first="redirect", when="at-once", foreign=True),
    Kind(first="redirect", when="next"),
    Kind(first="redirect", when="next", foreign=True),
    Kind(first="redirect", when="next", foreign=True, tls=True),
    Kind(first="redirect", when="next", foreign=True, between=NO_CONTENT),
    Kind(first="robots", when="at-once", foreign=True),
    Kind(first="robots", when="next"),
    Kind(first="robots", when="next", foreign=True),
    Kind(first="robots", when="behind", tls=True),
    Kind(first="missing", when="next", foreign=True),
    Kind(first="error", when="next", foreign=True),
)


RARE = pytest.mark.rare("a crawl of 2,000 papers")


def host_of(number: int) -> str:
    return f"127.0.30.{number + 1}"


class TwiceSite(Server):
    """*hosts*, each of the next kind, with so many *papers* each; every other one is doubled."""

    def __init__(self, context: ssl.SSLContext, hosts: int, papers: int) -> None:
        self._papers = papers
        self._kinds = {host_of(number): KINDS[number % len(KINDS)] for number in range(hosts)}
        tls = {host: context for host, kind in self._kinds.items() if kind.tls}
        super().__init__(tuple(self._kinds), tls)
        self._due: dict[socket.socket, bytes] = {}
        self._elsewhere: dict[str, tuple[socket.socket, bytes]] = {}
        self._failed: set[tuple[str, str]] = set()
        self.doubled: Counter[str] = Counter()

    def url(self, host: str, number: int) -> str:
        return f"{self.at(host)}/{number}"

    def pid(self, host: str, number: int) -> str:
        return f"RePEc:tst:twice:{host}-{number}"

    def papers(self) -> Iterator[tuple[Kind, str, int]]:
        return ((k, host, n) for host, k in self._kinds.items() for n in range(self._papers))

    def list(self) -> str:
        return "".join(f"{self.pid(h, n)}\t{self.url(h, n)}\n" for _, h, n in self.papers())

    def _answer(self, host: str, head: bytes, connection: socket.socket) -> bool:
        seen, kind = _parsed(host, head), self._kinds[host]
        with self._lock:
            self.seen.append(seen)
        due = self._due.pop(connection, b"")
        old, late = self._elsewhere.pop(host, (None, b""))
        if old is not None:
            with contextlib.suppress(OSError):
                old.sendall(late)
        own = self._own(kind, host, seen.target)
        if due and kind.when == "behind":
            self._due[connection] = own
            connection.sendall(due)
        elif due and kind.when == "split":
            connection.sendall(due[:10])
            connection.sendall(due[10:-20])
            connection.sendall(due[-20:] + own)
        elif self._is_doubled(kind, seen.target):
            self.doubled[host] += 1
            self._double(kind, host, own, connection)
        else:
            connection.sendall(due + own)
        return True

    def _double(self, kind: Kind, host: str, own: bytes, connection: socket.socket) -> None:
        second = kind.between + (as_pdf(pdf(f"foreign {host}")).data if kind.foreign else own)
        if kind.when == "at-once":
            connection.sendall(own + second)
            return
        connection.sendall(own)
        if kind.when == "after":
            with contextlib.suppress(OSError):
                connection.sendall(second)
        elif kind.when == "elsewhere":
            self._elsewhere[host] = connection, second
        else:
            self._due[connection] = second

    def _is_doubled(self, kind: Kind, target: str) -> bool:
        if kind.first == "robots":
            return target == "/robots.txt"
        return target[1:].isdigit() and int(target[1:]) % 2 == 0

    def _own(self, kind: Kind, host: str, target: str) -> bytes:
        """The right answer."""
        if target == "/robots.txt":
            return reply(b"User-agent: *\nAllow: /\n", "text/plain").data
        data = self.fut(host, int(target.split("/")[1]))
        if target.endswith(".pdf") or not self._is_doubled(kind, target):
            return as_pdf(data).data
        if kind.first == "error" and (host, target) not in self._failed:
            self._failed.add((host, target))
            return reply(b"oops", status="500 Oops").data
        return {
            "fut": as_pdf(data),
            "error": as_pdf(data),
            "robots": as_pdf(data),
            "chunked": chunked(data[:1000], data[1000:]),
            "splap": reply(page("", meta(f"{target}/a.pdf"))),
            "redirect": redirect(f"{target}/a.pdf"),
            "missing": reply(b"not here", status="404 Not Found"),
        }[kind.first].data

    def fut(self, host: str, number: int) -> bytes:
        return pdf(f"{host} {number}")


@dataclass(frozen=True, kw_only=True)
class Crawled:
    site: TwiceSite
    archive: Path
    run: Run


@pytest.fixture(
    scope="module",
    params=[(len(KINDS), 6), pytest.param((100, 20), marks=RARE)],
    ids=["each-kind", "hundred-hosts"],
)
def crawled(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("twice")
    with TwiceSite(server_context(folder), *request.param) as site:
        (folder / "list.tsv").write_text(site.list())
        settings: dict[str, Any] = {"DOWNLOAD_DELAY": 0, "LAFKA_HOST_FAILURES_MAX": 0}
        run = crawl(folder / "archive", folder / "list.tsv", **settings)
        yield Crawled(site=site, archive=folder / "archive", run=run)


def test_the_crawl_ends_by_itself_and_the_archive_is_sound(crawled: Crawled) -> None:
    assert crawled.run.code == 0, crawled.run.log[-3000:]
    check(crawled.archive)


def test_each_kind_answered_twice(crawled: Crawled) -> None:
    assert [host for host in crawled.site.hosts if not crawled.site.doubled[host]] == []


def test_no_pdf_of_another_is_a_fut(crawled: Crawled) -> None:
    site = crawled.site
    own = {site.url(host, n): (kind, n, site.fut(host, n)) for kind, host, n in site.papers()}
    found = [(own[futli], data) for _, futli, data in futs(crawled.archive)]
    assert [(kind, n) for (kind, n, want), data in found if data != want] == []
    assert len(found) > 0.9 * len(own)


def test_each_paper_gets_its_own(crawled: Crawled) -> None:
    site = crawled.site
    [lines] = outcomes(crawled.archive)
    got = {line["futli"]: line["outcome"] for line in lines}
    wrong = [
        (kind, n, got[site.url(host, n)])
        for kind, host, n in site.papers()
        if got[site.url(host, n)]
        != ("not-found" if kind.first == "missing" and not n % 2 else "fut")
    ]
    assert wrong == []


class EarlySite(RawSite):
    """Says a foreign PDF on two of its connections before it is asked.

    Over TLS 1.2 it comes in one piece with the end of the handshake.
    """

    def _serve(self, connection: socket.socket, number: int) -> None:
        if number not in GREETED:
            super()._serve(connection, number)
            return
        foreign = as_pdf(pdf("foreign")).data
        if not self._tls:
            connection.sendall(foreign)
            return
        came, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        assert self._context is not None
        tls = self._context.wrap_bio(came, leaving, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(leaving.read())
                came.write(connection.recv(65536))
        tls.write(foreign)
        connection.sendall(leaving.read())


@pytest.mark.parametrize("tls", [False, True])
def test_what_a_server_says_before_it_is_asked_is_nobodys_answer(tls: bool, tmp_path: Path) -> None:
    context = server_context(tmp_path)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    own = {f"/{n}.pdf": pdf(f"own {n}") for n in range(3)}
    answers = {path: Answer(parts=(as_pdf(data).data,)) for path, data in own.items()}
    answers["/robots.txt"] = Answer(parts=(reply(b"").data,))
    with EarlySite(answers, context=context, tls=tls) as site:
        lines = "".join(f"RePEc:tst:early:{n}\t{site.url}/{n}.pdf\n" for n in range(3))
        (tmp_path / "list.tsv").write_text(lines)
        run = crawl(tmp_path / "archive", tmp_path / "list.tsv", DOWNLOAD_DELAY=0,
                    SPIDER_MODULES="tests.crawls.early")  # fmt: skip
    assert run.code == 0, run.log[-3000:]
    found = {url.removeprefix(site.url): data for _, url, data in futs(tmp_path / "archive")}
    assert found == own
    assert len(site.requests) == 4
    assert site.connections == 4 + len(GREETED)


class CrossingSite(RawSite):
    """Answers some connections when a request has begun to come and cannot have come whole.

    A connection takes so few bytes that the rest of a long URL waits until they are read.
    """

    def __init__(self, *args: Any, first: dict[int, bytes], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._first = first

    def __enter__(self) -> Self:
        super().__enter__()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        return self

    def _serve(self, connection: socket.socket, number: int) -> None:
        if number not in self._first:
            super()._serve(connection, number)
            return
        if self._tls:
            connection = self._secured(connection)
        connection.recv(1)
        connection.sendall(self._first[number])
        connection.recv(1)  # until the client goes
        connection.close()


@pytest.mark.parametrize("tls", [False, True])
def test_what_crosses_the_request_on_its_way_is_nobodys_answer(tls: bool, tmp_path: Path) -> None:
    """But a server may refuse a request before it has read it."""
    paths = {n: f"/{n}{'x' * 40_000}.pdf" for n in range(2)}
    own = {path: pdf(f"own {n}") for n, path in paths.items()}
    answers = {path: Answer(parts=(as_pdf(data).data,)) for path, data in own.items()}
    answers["/robots.txt"] = Answer(parts=(reply(b"").data,))
    refusal = reply(b"too long", status="414 URI Too Long").data
    first = {2: as_pdf(pdf("foreign")).data, 4: refusal}
    with CrossingSite(answers, first=first, context=server_context(tmp_path), tls=tls) as site:
        lines = "".join(f"RePEc:tst:cross:{n}\t{site.url}{path}\n" for n, path in paths.items())
        (tmp_path / "list.tsv").write_text(lines)
        run = crawl(tmp_path / "archive", tmp_path / "list.tsv", DOWNLOAD_DELAY=0)
    assert run.code == 0, run.log[-3000:]
    [ended] = outcomes(tmp_path / "archive")
    assert {line["outcome"] for line in ended} == {"fut", "not-found"}
    assert [data for *_, data in futs(tmp_path / "archive")] == [own[paths[0]]]
    assert site.connections == 4
