"""Shell lines of further how-tos are run, page by page; those that cannot be have a reason."""

from __future__ import annotations

import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archec.stores import template
from tests.archec.test_commands import first_archec
from tests.filesets.test_persisting import result
from tests.sites.papers import MAIN, SmallSite, as_pdf
from tests.stores import pdf
from tests.test_shell_lines import ROOT, blocks, sh, shims

NOT_RUN = {
    r"pip install |python3 -m venv ": "it asks a registry of packages",
    r"datasette/bin/datasette ": "the program of that environment; it serves until it is stopped",
    r"createdb |scrapy persist .*postgresql:": "PostgreSQL; tests/filesets/test_persist.py",
    r"(npm|mkdir|tar|scrapy serve) .*replayweb": "asks a registry; tests/web/test_replayweb.py",
    r"rsync ": "another server; tests/archec/test_moving.py runs the backup",
    r"ssh ": "another machine",
    r"scrapy fileset (https://|--get|--list f|--bag)": "a dataset on a site of others;"
    " tests/filesets/crawls/test_command.py",
    r"(scrapy (gateway|archec serve)\b|.*-a legacy=)": "a gateway in the background;"
    " tests/crawls/test_legacy.py, tests/archec/test_gateway.py",
    r".*older\.warc\.gz,crawl\.cdxj": "files that are somebody's; tests/capture/test_replay.py",
    r"jq ": "the feed of a night; tests/archec/test_fobi_crawl.py, tests/test_scrapyd.py",
    r"(\(cd .* && scrapyd\)|scrapyd-deploy|curl |for list in)": "scrapyd; tests/test_scrapyd.py",
    r"(root=|set -- |tail -c )": "parts of a script; tests/papers/archive/test_archives.py,"
    " tests/filesets/crawls/test_road.py",
}
"""Lines that no test of this file runs: how they begin, and why; what else runs them."""
TOBI = ("scrapy tobi -f 2012-11-07.tar.gz --at name", "scrapy tobi")
ADOPTED = "mkdir -p srv/archec && mv taken srv/archec/archive"
BEFORE = {
    "look-at-history": TOBI,
    "use-mongodb": TOBI,
    "thirty-million-files": (ADOPTED, "scrapy archec adopt srv/archec/archive"),
    "gather-templates": (
        ADOPTED,
        "mkdir -p archec/data/rsync && rm archec/data/current",
        "mv today archec/data/rsync/2026-11-20",
    ),
}
"""What a page takes for granted."""


def lines(page: Path) -> list[str]:
    """The commands of *page*, joined where they go on, as they are given."""
    found: list[str] = []
    for block in blocks(str(page.relative_to(ROOT)), "sh"):
        block = re.sub(r"(?ms)^for .*?^done$", lambda loop: loop[0].replace("\n", " "), block)
        found += [line.strip() for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in found if line]


def runs(line: str) -> bool:
    return not any(re.match(rule, line) for rule in NOT_RUN)


ALL = sorted((ROOT / "docs" / "how-to").glob("*.md"))
TAKEN = {
    "explore-with-datasette", "first-dataset", "gather-templates", "hand-over-a-wacz",
    "keep-results-in-a-database", "make-a-report", "polite-crawl", "repair-an-archive",
    "replay-a-crawl", "tell-a-maintainer", "verify-an-archive",
}  # fmt: skip
RUN = [page for page in ALL if page.stem in TAKEN]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a list, its archive, RePEc data and what else pages name; sites are ours."""
    folder = tmp_path_factory.mktemp("crawled")
    shims(folder)
    pids = [
        "RePEc:abc:wpaper:1",
        "doi:10.1/x",
        *(f"RePEc:dem:wpaper:{n}" for n in ("tagged", "straight")),
    ]
    with SmallSite((MAIN,), 0) as site:
        for pid in pids:
            site.routes[f"/{pid[-1]}.pdf"] = as_pdf(pdf(pid))
        text = "".join(f"{pid}\t{site.at(MAIN)}/{pid[-1]}.pdf\n" for pid in pids)
        (folder / "list.tsv").write_text(text)
        _templates(folder, f"{site.at(MAIN)}/1.pdf")
        (folder / "results.jsonl").write_bytes(b"\n".join(result(n) for n in range(3)))
        (folder / "var/www").mkdir(parents=True)
        first_archec(folder / "taken")
        done = sh("lafka crawl futli -a input=list.tsv", folder)
        assert done.returncode == 0, done.stderr
        yield folder


def _templates(folder: Path, url: str) -> None:
    """RePEc data of today and of 2012, in the folder and the tarball that pages name."""
    text = template("0001", "nbr", "nberwo").replace("http://x.example/nbr/0001.pdf", url)
    past = folder / "past" / "RePEc/nbr/nberwo/a.rdf"
    past.parent.mkdir(parents=True)
    past.write_text(text.replace("Title: A", "Title: As it was"))
    with tarfile.open(folder / "2012-11-07.tar.gz", "w:gz") as tar:
        tar.add(past, "RePEc/nbr/nberwo/a.rdf")
    for name in ("today", "srv/RePEc"):
        now = folder / name / "RePEc/nbr/nberwo/a.rdf"
        now.parent.mkdir(parents=True)
        now.write_text(text)
    (folder / "archec/data").mkdir(parents=True)
    (folder / "archec/data/current").symlink_to("../../today")


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_shell_lines_of_a_how_to_do_what_they_say(
    page: Path, crawled: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(crawled, folder, symlinks=True)
    for line in (*BEFORE.get(page.stem, ()), *filter(runs, lines(page))):
        done = sh(re.sub(r"(?<![\w.])/(srv|var)/", r"\1/", line), folder)
        assert done.returncode == 0, (line, done.stderr)
        assert "Traceback" not in done.stderr, line


def test_each_exception_is_of_a_line_that_is_there() -> None:
    all_lines = [line for page in ALL for line in lines(page)]
    assert [rule for rule in NOT_RUN if not any(re.match(rule, line) for line in all_lines)] == []
    assert len(all_lines) > 80
