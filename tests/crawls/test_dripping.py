"""Hosts that answer by a byte now and then, many more than there are places, and some that answer.

What is counted is the order of the requests: nothing here is a matter of seconds.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.crawls.running import check, crawl, outcomes
from tests.sites.papers import SmallSite
from tests.sites.server import Seen

GOOD = tuple(f"127.0.20.{n}" for n in range(1, 6))
PAUSE = 0.3
PATIENCE_OF_THE_TEST = 60
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Drops: "


class DrippingSite(SmallSite):
    """Papers of good hosts; *dripping* other hosts drip until all of the good ones' were asked.

    They drip their robots.txt, or their pages with *pages*.
    """

    def __init__(self, dripping: int, papers: int, *, pages: bool) -> None:
        super().__init__(GOOD, papers)
        self.dripping = tuple(f"127.0.21.{n}" for n in range(1, dripping + 1))
        self.hosts = GOOD
        self.done = threading.Event()
        self._pages = pages

    def __enter__(self) -> DrippingSite:
        self.hosts = (*GOOD, *self.dripping)
        super(SmallSite, self).__enter__()
        for place, host in enumerate(GOOD):
            for number in range(self._papers_at_each):
                self._add(host, f"{place}-{number}", number % 4)
        self.done = self.when_asked(len(self.routes), *(self.at(host) for host in GOOD))
        return self

    def __exit__(self, *error: object) -> None:
        self.done.set()
        super().__exit__(*error)

    def lines(self) -> list[str]:
        return [
            f"RePEc:tst:drips:{n}\t{self.at(host)}/paper\n" for n, host in enumerate(self.dripping)
        ]

    def _drips(self, seen: Seen) -> bool:
        return seen.host not in GOOD and (seen.target == "/robots.txt") != self._pages

    def _answer(self, host: str, head: bytes, connection: socket.socket) -> bool:
        target = head.split(b" ")[1].decode("latin-1")
        if not self._drips(Seen(host=host, target=target, headers={}, time=0.0)):
            return super()._answer(host, head, connection)
        with self._lock:
            self.seen.append(Seen(host=host, target=target, headers={}, time=0.0))
        connection.sendall(HEAD)
        while not self.done.wait(PAUSE):
            connection.sendall(b"drop")
        connection.sendall(b"\r\nContent-Length: 0\r\n\r\n")
        return False


def dripped(site: DrippingSite) -> list[Seen]:
    """What was dripping before the last good paper was asked for."""
    asked = [seen for seen in site.seen if seen.host in GOOD and seen.target != "/robots.txt"]
    before = site.seen[: site.seen.index(asked[-1])]
    return [seen for seen in before if site._drips(seen)]


def crawled(tmp_path: Path, lines: list[str], **settings: Any) -> list[dict[str, Any]]:
    (tmp_path / "list.tsv").write_text("".join(lines))
    # Never let go of a host that drips: whoever waits for that waits for the test's end.
    given = {"LAFKA_STALL_TIMEOUT": PATIENCE_OF_THE_TEST, "LAFKA_MIN_RATE": 0, "RETRY_TIMES": 0}
    run = crawl(tmp_path / "a", tmp_path / "list.tsv", **(given | settings))
    assert run.code == 0, run.log[-2000:]
    check(tmp_path / "a")
    return outcomes(tmp_path / "a")[0]


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("pages", [False, True], ids=["robots", "pages"])
def test_good_hosts_are_asked_while_more_drip_than_there_are_places(
    tmp_path: Path, pages: bool
) -> None:
    with DrippingSite(60, 4, pages=pages) as site:
        found = crawled(tmp_path, [*site.lines(), site.list()], CONCURRENT_REQUESTS=20)
        drops = dripped(site)
    # Each drips all the time and was asked once: nobody was waited for.
    assert len(drops) == len({seen.host for seen in drops}) == 60
    good = {line["pid"]: line["outcome"] for line in found if ":papers:" in line["pid"]}
    assert good == {paper.pid: paper.outcome for paper in site.papers}
    assert len(found) == 60 + len(good)


@pytest.mark.long("a second crawl beside servers that drip")
def test_hosts_that_answer_have_places_when_no_more_can_wait_beside_them(tmp_path: Path) -> None:
    """The good hosts come first, so they are known; then more drip than may wait in all."""
    with DrippingSite(60, 24, pages=True) as site:
        first, more = site.papers[::24], [p for n, p in enumerate(site.papers) if n % 24]
        lines = [*(p.line for p in first), *site.lines(), *(p.line for p in more)]
        found = crawled(tmp_path, lines, CONCURRENT_REQUESTS=6)
        drops = dripped(site)
    assert len(drops) <= 6 + 3 * 6
    good = {line["pid"]: line["outcome"] for line in found if ":papers:" in line["pid"]}
    assert good == {paper.pid: paper.outcome for paper in site.papers}
