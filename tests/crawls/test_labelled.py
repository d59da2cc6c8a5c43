"""``lafka finders --from-archive``: a labelled set out of what a crawl brought home."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import starts
from tests.crawls.running import crawl
from tests.sites.papers import MAIN, SmallSite, as_pdf, link, page, pdf
from tests.sites.server import reply

PID = "RePEc:tst:papers:"
DRUPAL = '<meta name="generator" content="Drupal 10">'


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A paper whose first link is a page and whose second is its fut, and one without any."""
    root = tmp_path_factory.mktemp("labelled")
    with SmallSite((MAIN,), 0) as site:
        site.routes["/f/1.pdf"] = as_pdf(pdf("a"))
        site.routes["/f/0.pdf"] = reply(page("nothing"))
        links = link("/f/0.pdf", "Download full text PDF") + link("/f/1.pdf", "PDF")
        site.routes["/a"] = reply(page(f"{DRUPAL}<h1>Slow glaciers</h1>{links}"))
        site.routes["/b"] = reply(page("<h1>Nothing of it</h1>"))
        lines = (f"{PID}{name}\t{site.at(MAIN)}/{name}\n" for name in "ab")
        (root / "list.tsv").write_text("".join(lines))
        assert not crawl(root / "archive", root / "list.tsv").troubles()
    return root / "archive"


def finders(archive: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scrapy", "finders", "-s", f"LAFKA_ARCHIVE={archive}"]
    return starts.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_each_splap_has_what_its_links_came_to(archive):
    done = finders(archive, "--from-archive")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["pid"][-1]: row for row in map(json.loads, done.stdout.splitlines())}
    first, second = rows["a"]["links"]
    assert (first["label"], second["label"]) == ("miss", "fut")
    assert second["found_by"] == "anchor"
    assert second["url"].endswith("/f/1.pdf")
    assert (rows["a"]["has_fut"], rows["a"]["first"]) == (True, False)
    assert rows["a"]["platform"] == "Drupal"
    assert (rows["b"]["has_fut"], rows["b"]["links"]) == (False, [])


@pytest.mark.parametrize(("by", "count"), [("host", 1), ("platform", 2)])
def test_the_finders_are_measured_by_host_or_platform(archive, by, count):
    lines = [
        json.loads(x)
        for x in finders(archive, "--from-archive", "--by", by).stdout.split("\n")
        if x
    ]
    assert len(lines) == count
    assert sum(line["pages"] for line in lines) == 2
    assert sum(line["has_fut"] for line in lines) == 1
    assert sum(line["requests"] for line in lines) == 2


def test_pages_leave_the_archive_where_it_is_asked_alone(archive, tmp_path):
    folder = tmp_path / "set"
    assert finders(archive, "--from-archive", "--pages", folder).returncode == 0
    with (folder / "splaps.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert sorted(row["reach"] for row in rows) == ["anchor", "none"]
    (fut,) = (row for row in rows if row["reach"] == "anchor")
    assert fut["expected_fulltext_pdf_urls"].endswith("/f/1.pdf")
    assert b"Slow glaciers" in (folder / "pages" / f"{fut['id']}.html").read_bytes()
    again = finders(archive, "--from-archive", "--pages", folder)
    assert (again.returncode, again.stdout) == (2, "")
    assert "is there already" in again.stderr


def test_its_options_go_together(archive, tmp_path):
    for arguments in (("--by", "host"), ("--from-archive", "page.html")):
        done = finders(archive, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    missing = finders(tmp_path / "none", "--from-archive")
    assert missing.returncode != 0
    assert "no archive is here" in missing.stderr
