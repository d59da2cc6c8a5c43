"""The tutorial as it stands, line by line, with each output that it shows; sites are ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.made_pdfs import Leaf, Text, made
from tests.sites.papers import MAIN, SmallSite, as_pdf
from tests.starts import ROOT, Shell

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", PAGE)
PAPERS = {
    "10.1029/2010WR010299": ("Glacier storage change", "and runoff from a glacier"),
    "10.1007/s10712-013-9262-y": ("Glaciers in the cycle", "a glacier", "glacier mass"),
}
SAVED = ("references.txt", "search.py", "chart.py")
"""The files that a reader saves, in the order of their blocks."""
ABBREVIATED = "lines in 2.4 s"
"""The account of the crawl, of which the time is another each day."""


@pytest.fixture
def shell(tmp_path: Path, programs: Path) -> Iterator[tuple[Shell, str]]:
    with SmallSite((MAIN,), 0) as site:
        for doi, lines in PAPERS.items():
            leaf = Leaf(lines=tuple(Text(said=line, down=20) for line in lines))
            site.routes[f"/{doi}"] = as_pdf(made([leaf]))
        yield Shell(tmp_path, (programs,)), site.at(site.hosts[0])


def test_each_step_shows_what_the_page_shows(shell: tuple[Shell, str]) -> None:
    sh, base = shell
    saved, told = iter(SAVED), ""
    host = base.removeprefix("http://").partition(":")[0]
    for kind, block in BLOCKS:
        if kind == "python" or (kind == "text" and not told):
            (sh.folder / next(saved)).write_text(block, "utf-8")
        elif kind == "text":
            if ABBREVIATED not in block:
                assert told.replace(base, "https://doi.org").replace(host, "doi.org") == block
            else:
                assert [*block.splitlines()[1:]] == [
                    line for line in told.splitlines() if line in block.splitlines()[1:]
                ]
        else:
            told = ""
            for line in block.splitlines():
                if not line.startswith("pip "):
                    done = sh(line.replace("https://doi.org", base))
                    assert done.returncode == 0, (line, done.stderr)
                    told += done.stdout or (done.stderr if "crawl" in line else "")
    assert not [*saved]
    assert (sh.folder / "chart.svg").read_text().count("<rect") == 2
