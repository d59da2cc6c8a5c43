"""The recipes of CONTRIBUTING and architecture: each path is there; four are tried in a copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ADDED = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## To add\n")[2].partition("\n## ")[0]
RECIPES = dict(re.findall(r"^- \*(.+?)\*(?::|,)(.*?)(?=^- \*|^$)", ADDED, re.MULTILINE | re.DOTALL))
CHANGED = (DOCS / "architecture.md").read_text().partition("\n## Where to change what\n")[2]
PAGES = [*sorted(DOCS.glob("how-to/add-*.md"))]
_PATH = re.compile(r"`((?:lafka/)?[\w/]+/(?:[\w<>]+\.py|(?=`)))`|`(\w+\.py)`")
FILES_MOST = {
    "a setting": 2,
    "an outcome": 2,
    "a section of a report": 2,
    "a field of a capture's warcinfo": 3,
}


def paths(text: str) -> set[str]:
    """The product files and folders that *text* names; a file that is to be made by its folder."""
    found = (one or other for one, other in _PATH.findall(text))
    made = {path.removeprefix("lafka/") for path in found if not path.startswith("tests/")}
    return {path.rpartition("/")[0] if "<" in path else path for path in made}


@pytest.mark.parametrize(
    "text", [ADDED, CHANGED, *(page.read_text() for page in PAGES)],
    ids=["CONTRIBUTING", "architecture", *(page.stem for page in PAGES)],
)  # fmt: skip
def test_no_recipe_names_a_file_that_is_not_there(text: str) -> None:
    named = paths(text)
    assert named
    assert [path for path in sorted(named) if not (ROOT / "lafka" / path).exists()] == []


@pytest.mark.parametrize("what", FILES_MOST)
def test_a_recipe_changes_few_files(what: str) -> None:
    assert 0 < len(paths(RECIPES[what])) <= FILES_MOST[what]


def test_a_platform_of_datasets_is_a_file_and_a_line_in_another() -> None:
    text = (DOCS / "how-to" / "add-a-fileset-platform.md").read_text()
    assert paths(text) == {"filesets/platforms", "filesets/platforms/__init__.py"}


class Copy:
    """A copy of the product, which a recipe changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changed: set[str] = set()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "lafka", folder / "lafka", ignore=ignored)

    def add(self, path: str, before: str, text: str) -> None:
        """Put *text* before the first *before* of the file at *path*."""
        file = self.folder / "lafka" / path
        found = file.read_text()
        assert before in found, f"{path}: {before}"
        file.write_text(found.replace(before, text + before, 1))
        self.changed.add(path)

    def says(self, code: str) -> None:
        """Hold that *code* passes with the copy in place of the product."""
        here = f"import lafka; assert lafka.__file__.startswith({str(self.folder)!r})\n"
        done = subprocess.run(
            [sys.executable, "-c", here + code],
            cwd=self.folder, env=os.environ | {"PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_an_outcome(copy: Copy) -> None:
    copy.add("papers/outcomes.py", "    LOOP =", '    PAYWALL = "paywall"\n')
    copy.add("papers/outcomes.py", "    Outcome.ROBOTS:", "    Outcome.PAYWALL: Group.CLOSED,\n")
    copy.add("capture/verdicts.py", "    LOOP =", '    PAYWALL = "paywall"\n')
    copy.add(
        "capture/verdicts.py", "    if status in (401",
        "    if status == 402:\n        return Verdict.PAYWALL\n",
    )  # fmt: skip
    assert copy.changed == paths(RECIPES["an outcome"])
    copy.says(
        """
from lafka.capture.verdicts import judge
from lafka.index.rows import FeedLine
from lafka.papers.outcomes import Group, Outcome
from lafka.payloads import inspect
from lafka.reports.rot import CITEC
from lafka.warc.format.sources import MemorySource

payload = inspect(MemorySource(b"HTTP/1.1 402 Payment Required\\r\\n\\r\\n"))
outcome = Outcome.from_verdict(judge(payload))
assert outcome is Outcome.PAYWALL and outcome.group is Group.CLOSED and not outcome.may_pass
assert CITEC[outcome] == "restricted"
line = b'{"pid": "a:b:c", "futli": "http://x.example/", "outcome": "paywall", "requests": 1,'
assert FeedLine.of(line + b' "time": "2026-11-20T10:11:12Z"}').outcome == outcome
"""
    )


def test_a_section_of_a_report(copy: Copy) -> None:
    copy.add(
        "reports/questions.py", "def runs(",
        """def schemes(db: sqlite3.Connection, span: Span) -> Table:
    \"\"\"Futlis by http and https.\"\"\"
    rows = _rows(db, "SELECT substr(url, 1, instr(url, ':') - 1), count(*) FROM futli GROUP BY 1")
    return Table(key="schemes", title="Schemes", columns=("scheme", "futlis"), rows=rows)


""",
    )  # fmt: skip
    copy.add("reports/report.py", "    questions.runs,\n)", "    questions.schemes,\n")
    assert copy.changed == paths(RECIPES["a section of a report"])
    copy.says(
        """
from contextlib import closing
from pathlib import Path
from lafka.reports.rendering import as_html, as_json
from lafka.reports.report import report
from tests.index.histories import History

history = History(Path("archive"))
history.suwaf(1, {0: [1.0]})
history.index()
with closing(history.open()) as db:
    whole = report(db)
[table] = [table for table in whole.tables if table.key == "schemes"]
assert table.rows == (("http", 1),)
assert b'"schemes"' in as_json(whole)
assert b"Schemes" in as_html(whole, top=5, plot=lambda table: "")
"""
    )


def test_a_setting(copy: Copy) -> None:
    copy.add("settings.py", "LAFKA_LINKS_MAX =", "LAFKA_LOOKS = 3  # at a page\n")
    copy.add("runs/validation.py", '    "LAFKA_WEB_CONNECTIONS":', '    "LAFKA_LOOKS": positive,\n')
    assert copy.changed == paths(RECIPES["a setting"])
    copy.says(
        """
from scrapy.settings import Settings
from lafka.errors import BadArgument
from lafka.runs.validation import check

chosen = Settings()
chosen.setmodule("lafka.settings")
check(chosen)
chosen.set("LAFKA_LOOKS", "0")
try:
    check(chosen)
except BadArgument as error:
    assert "LAFKA_LOOKS" in str(error)
else:
    raise AssertionError
"""
    )


def test_a_field_of_a_warcinfo(copy: Copy) -> None:
    copy.add("papers/origins.py", '    label: str = ""\n', '    rank: str = ""\n')
    copy.add("papers/origins.py", '    "label": "Label",\n', '    "rank": "Link-Rank",\n')
    copy.add(
        "papers/walk.py",
        "                label=",
        "                rank=str(candidate.place),\n",
    )
    copy.add("papers/checking/paper.py", '    "label": "label",\n', '    "rank": "link-rank",\n')
    assert copy.changed == paths(RECIPES["a field of a capture's warcinfo"])
    copy.says(
        """
from pathlib import Path
from lafka.papers.candidates import Candidate
from lafka.papers.checking import Verifier
from lafka.papers.outcomes import PageReading
from lafka.papers.walk import Trail
from tests.stores import Store, page, pdf

store = Store(Path("archive"))
splap = store.splap(page("a"))
found = Candidate(url="http://x.example/1.pdf", found_by="anchor", place=4)
read = PageReading(candidates=(found,))
_, ask = Trail.begin(splap.ask.futli, 0).answered(splap, read).next_ask()
fut = store.found(splap, found.url, pdf("a"), rank=ask.origin.rank)
store.put(splap, fut)
assert b"Link-Rank: 4" in store.warc().read_bytes()
assert '"rank": "4"' in store.suwaf().read_text()
store.raw.close()
problems = [p for p in Verifier(store.root).verify_all() if p.code != "raw-left"]
assert problems == [], problems
"""
    )
