"""Real crawls of fobis, refused by the disk or killed at a store call: the same command goes on."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lafka.archec.store.folders import ObiStore
from tests.archec.crawling import EVERY_RUN, fobi_lines, sound, template
from tests.archec.stores import Home
from tests.faults.crawls import GO_ON, Crawls, Run
from tests.faults.storecalls import Plan, Which
from tests.sites.papers import as_pdf, pdf
from tests.sites.server import Server

HOST = "127.0.0.2"
DRAFT, JOURNAL, EVIDENCE = r"/\.draft-\d+$", r"/journal/", r"/evidence/"


@pytest.fixture(scope="module")
def crawls() -> Iterator[Crawls]:
    with Crawls() as started:
        yield started


def crawl(crawls: Crawls, home: Home, **plan: Any) -> Run:
    root = home.archive
    made = Plan(root=str(root), **plan) if plan else None
    settings = EVERY_RUN | {"LAFKA_OBJECT_STORE": root}
    return crawls.command(home.root / "papers", "crawl", "fobi", plan=made, **settings).ended()


@pytest.mark.forms(count=2)
@pytest.mark.parametrize(
    ("plan", "how"),
    [
        ({"refuse": Which(nth=2, kinds=("rename",), path=DRAFT)}, "refused"),
        ({"refuse": Which(nth=2, kinds=("fdatasync",), path=JOURNAL), "number": errno.EIO},
         "refused"),
        ({"refuse": Which(nth=1, kinds=("sendfile",), path=EVIDENCE), "times": 1 << 30}, "refused"),
        ({"kill": Which(nth=1, kinds=("rename",), path=DRAFT), "how": "after"}, "killed"),
        ({"kill": Which(nth=2, kinds=("sendfile",), path=EVIDENCE), "how": "half"}, "killed"),
        ({"kill": Which(nth=2, kinds=("write",), path=JOURNAL), "how": "half"}, "killed"),
    ],
)  # fmt: skip
def test_a_crawl_that_was_disturbed_is_finished_by_the_same_command(
    crawls: Crawls, tmp_path: Path, plan: dict[str, Any], how: str
) -> None:
    home = Home(tmp_path, now=int(time.time()) - 9_000)
    with Server((HOST,)) as site:
        urls = [f"{site.at(HOST)}/{n}.pdf" for n in range(8)]
        site.routes |= {f"/{n}.pdf": as_pdf(pdf(str(n))) for n in range(8)}
        home.put({"abc/wpaper/1.rdf": template(1, *urls)})
        home.tobi()
        first = crawl(crawls, home, **plan)
        if how == "killed":
            assert first.killed, first.log
        else:
            assert first.code == 1, first.log
            assert first.log.count("The disk stopped the crawl: ") == 1
            assert "Traceback" not in first.log
            assert GO_ON in first.log
        # What was captured is kept; so is what was another one by then.
        second = crawl(crawls, home)
        assert (second.code, second.troubles) == (0, []), second.log
        assert how == "refused" or "Recovered the run " in second.log
    store, found = ObiStore(home.archive), {}
    for line in fobi_lines(home):
        if line["e"] != "visit":
            assert (line["e"], line["id"] in found) == ("appearance", False)
            found[line["id"]] = store.read(line["tist"], line["id"])
    assert found == {url: pdf(str(n)) for n, url in enumerate(urls)}
    sound(home)
