"""The shell lines of all further how-tos are run, page by page; what is not has a reason.

So are the examples at the end of each help, command by command, in the same folder.
"""

from __future__ import annotations

import gzip
import re
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lafka.cli.archec import VERBS as ARCHEC_VERBS
from lafka.cli.entry import main
from lafka.cli.verbs import VERBS
from lafka.cli.warc import VERBS as WARC_VERBS
from tests.archec import mongods
from tests.archec.stores import template
from tests.archec.test_commands import first_archec
from tests.filesets.test_persisting import result
from tests.sites.papers import BUSY, MAIN, OTHER, STILL, SmallSite, as_pdf
from tests.sites.platforms import PlatformSite, played
from tests.starts import ROOT, Shell
from tests.stores import pdf
from tests.test_shell_lines import PAGES, blocks

NOT_RUN = {
    r"pip install |python3 -m venv ": "it asks a registry of packages; tests/cli/test_entry.py",
    r"datasette/bin/datasette ": "the program of that environment; tests/index/test_datasette.py",
    r"createdb |lafka persist .*postgresql:": "PostgreSQL; tests/filesets/test_persist.py",
    r"lafka crawl futli .*postgresql:": "PostgreSQL; tests/jobs/test_gated_crawls.py",
    r"lafka topics ": "Kafka; tests/jobs/test_kafka.py",
    r"lafka crawl fileset -a input=kafka:": "Kafka; tests/filesets/crawls/test_topics.py",
    r"lafka fleet again ": "Kafka; tests/crawls/test_fleet.py",
    r"rsync -a .*(first|second):": "other machines; tests/papers/archive/test_merging.py",
    r"install -m ": "folders of root; tests/test_deploy.py",
    r"rsync .* backup:": "another server; tests/archec/test_moving.py",
    r"(npm|mkdir|tar|lafka serve) .*replayweb": "asks a registry; tests/web/test_replayweb.py",
    r"(chmod 600 tokens|lafka crawl fileset .* -s LAFKA_ITEMS=s3:)": "a store that speaks S3;"
    " tests/filesets/crawls/test_bucket.py",
    r"(ia/bin/|cd archive/items/ITEM|\.\./.*/ia/bin/python upload\.py)": "archive.org;"
    " tests/filesets/targets/test_uploading.py",
    r"ssh ": "another machine",
    r"systemctl ": "systemd",
    r"/srv/lafka/nightly$": "lines of that page; tests/test_scrapyd.py",
    r".*older\.warc\.gz,crawl\.cdxj": "files that are somebody's; tests/capture/test_replay.py",
    r"(\(cd .* && scrapyd\)|scrapyd-deploy|curl .*:6800/|for list in)": "scrapyd;"
    " tests/test_scrapyd.py",
    r"(root=|set -- |\| \.value |tail -c \+\$\(\(\$1)": "parts of a script;"
    " tests/papers/archive/test_archives.py",
    r"tail -c \+\$\(\(s ": "part of a script; tests/filesets/crawls/test_road.py",
}
"""Lines that no test of this file runs: how they begin, and why; what else runs them."""
WORD_BY_WORD = {
    "take-over-a-first-lafka-archive": "tests/papers/verify/test_takeover.py",
    "run-a-fleet": "tests/crawls/test_fleet.py",
    "alarm-with-spidermon": "tests/runs/test_metrics.py",
}
"""Pages that have a test of their own, which runs each line."""
PLACES = {
    r"(?<![\w./])/srv/lafka(?=[ /])": ".",
    r"(?<![\w.])/(srv|var)/": r"\1/",
    r"20261120T0110\*": "*",  # a night of then
    "--recheck 180d": "--recheck 2999",  # half a year ago nothing was here
}
"""What stands elsewhere on the machine, or at another time."""
SERVES = re.compile(r"(?:lafka|scrapy) (archec serve|gateway)\b")
"""Lines that serve until they are stopped."""
GATEWAY = "http://127.0.0.1:8732"

TOBI = ("lafka tobi -f 2012-11-07.tar.gz --at name", "lafka tobi")
ADOPTED = "mkdir -p srv/archec && mv taken srv/archec/archive"
BEFORE = {
    "archive-repec": TOBI,
    "look-at-history": TOBI,
    "merge-nightly": (
        "mkdir parts && cp -R archive parts/first && cp -R archive parts/second",
        "echo lafka merge parts/first parts/second > gather",
    ),
    "tell-a-maintainer": ("lafka tobi",),
    "use-mongodb": TOBI,
    "pull-in-legacy-data": ("lafka tobi", "lafka crawl fobi"),
    "serve-to-a-colleague": ("lafka tobi",),
    "thirty-million-files": (ADOPTED, "lafka archec adopt srv/archec/archive"),
    "gather-templates": (ADOPTED,),
}
"""What a page takes for granted."""
PROGRAMS = ("curl", "flock", "jq", "sqlite3")
"""Of others; pages that ask for them are run where these are."""
CRON = r"(?:[\d*]+ +){5}"
RSYNC = """\
#!/bin/sh
# As much of rsync as pages ask for: to the last argument from that before it, which is RePEc's.
for word; do from=$to to=$word; done
[ "$from" = rsync://example.org/RePEc/ ] && mkdir "$to" && cp -R today/RePEc/. "$to"
"""


def lines(page: Path) -> list[str]:
    """The commands of *page*, joined where they go on; of a crontab as cron gives them."""
    found: list[str] = []
    text = page.read_text("utf-8").replace("\\\n", " ")
    for kind, block in re.findall(r"(?ms)^ *```(sh|crontab)\n(.*?)^ *```", text):
        if kind == "crontab":
            block = "".join(re.findall(rf"(?m)^{CRON}(.*\n)", block)).replace(r"\%", "%")
        block = re.sub(r"(?ms)^for .*?^done$", lambda loop: loop[0].replace("\n", " "), block)
        found += [line.strip() for line in block.splitlines()]
    return [line for line in found if line]


def runs(line: str, exceptions: Iterable[str] = NOT_RUN) -> bool:
    return not any(re.match(rule, line) for rule in exceptions)


EXAMPLES = {
    **{verb: told.examples for verb, told in VERBS.items()},
    **{f"archec {verb}": told.examples for verb, told in ARCHEC_VERBS.items()},
    **{f"warc {verb}": told.examples for verb, told in WARC_VERBS.items()},
}
EXAMPLES_NOT_RUN = {
    r"lafka (archec serve|gateway|serve)\b": "they serve until they are stopped",
    r"lafka bench": "it measures for ten seconds; tests/cli/test_scrapys.py",
    r"lafka demo": "a site and archive of its own; tests/test_commands.py",
    r"lafka (fetch|parse) |lafka shell https:": "they ask the web; tests/cli/test_scrapys.py",
    r"lafka fleet ": "Kafka; tests/crawls/test_fleet.py",
    r"lafka topics ": "Kafka; tests/jobs/test_kafka.py",
    r"lafka warc get .* 5120": "a byte of somebody's file; tests/test_warc_commands.py",
    r"lafka archec withdraw ": "a version that somebody has; tests/archec/test_withdrawing.py",
}
"""Examples that no test of this file runs: how they begin, and why."""
FIND_FAULTS = {"text", "warc repair"}
"""Commands that end with 1 there: no PDF of that folder has a text, and the WARC is torn."""
WARCS = (
    "lafka warc recompress archive/warc/RePEc/abc/wpaper/1.warc a.warc.gz",
    "mkdir warcs && cp a.warc.gz warcs && cp a.warc.gz one-member.warc.gz",
    "head -c 1000 a.warc.gz > torn.warc.gz && lafka warc warc2arc a.warc.gz old.arc.gz",
)
STORED = ("lafka tobi today/RePEc",)
BEFORE_EXAMPLES = {
    "archec": STORED,
    **{f"archec {verb}": STORED for verb in ARCHEC_VERBS if verb != "adopt"},
    "archec adopt": (ADOPTED,),
    "archec mend": (
        *STORED,
        "mkdir -p srv/backup/archec && cp -R archec/archive srv/backup/archec/",
    ),
    "archec withdraw": (*STORED, "lafka crawl fobi"),
    "futlis": (*STORED, "ln -s today/RePEc RePEc"),
    "merge": ("cp -R archive part-1", "cp -R archive part-2"),
    "obi": STORED,
    "tobi": ("ln -s today/RePEc RePEc",),
    **{f"warc {verb}": WARCS for verb in WARC_VERBS},
}
"""What examples of a command take for granted."""

ALL = sorted((ROOT / "docs" / "how-to").glob("*.md"))
RUN = [
    pytest.param(
        page, id=page.stem, marks=[pytest.mark.server("MongoDB")] * (page.stem == "use-mongodb")
    )
    for page in ALL
    if f"docs/how-to/{page.name}" not in PAGES
    and page.stem not in WORD_BY_WORD
    and any(map(runs, lines(page)))
]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Iterator[Shell]:
    """In a folder with a list, its archive, and what else pages name; sites are ours."""
    stand_ins = tmp_path_factory.mktemp("stand-ins")
    (stand_ins / "rsync").write_text(RSYNC)
    (stand_ins / "rsync").chmod(0o755)
    pids = [
        "RePEc:abc:wpaper:1",
        "doi:10.1/x",
        *(f"RePEc:dem:wpaper:{n}" for n in ("tagged", "straight")),
    ]
    with SmallSite((MAIN, OTHER, BUSY, STILL), 0) as site, PlatformSite() as platforms:
        bins = (stand_ins, programs)
        shell = Shell(tmp_path_factory.mktemp("crawled"), bins, platforms.settings)
        urls = [
            f"{site.at(host)}/{pid[-1]}.pdf" for host, pid in zip(site.hosts, pids, strict=True)
        ]
        for pid in pids:
            site.routes[f"/{pid[-1]}.pdf"] = as_pdf(pdf(pid))
        text = "".join(f"{pid}\t{url}\n" for pid, url in zip(pids, urls, strict=True))
        _lists(shell.folder, text)
        _templates(shell.folder, urls[0])
        _datasets(shell.folder, platforms)
        shutil.copy(ROOT / "tests/pages/anchor-aria-label.html", shell.folder / "page.html")
        first_archec(shell.folder / "taken")
        (shell.folder / ".venv").mkdir()
        (shell.folder / ".venv/bin").symlink_to(programs)
        done = shell("lafka crawl futli -a input=list.tsv")
        assert done.returncode == 0, done.stderr
        yield shell


def _lists(folder: Path, text: str) -> None:
    """The list and the files under the names that pages give them, and folders of the machine."""
    for name in ("srv/lists", "var/www", "var/log/lafka", "var/lock"):
        (folder / name).mkdir(parents=True)
    (folder / "list.tsv").write_text(text)
    (folder / "srv/lists/repec.tsv.gz").write_bytes(gzip.compress(text.encode()))
    (page,) = blocks("docs/how-to/pull-in-legacy-data.md", "tsv")
    (folder / "legacy.tsv").write_text(page)
    for line in page.splitlines():
        path = folder / "srv/papers" / line.split("\t")[3]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pdf(line))


def _templates(folder: Path, url: str) -> None:
    """RePEc data of today and of 2012, in the folder and the tarball that pages name."""
    now = template("0001", "nbr", "nberwo").replace("http://x.example/nbr/0001.pdf", url)
    then = now.replace("Title: A", "Title: As it was").replace(
        url, "http://www.nber.org/papers/w0001"
    )
    for root, text in (("past", then), ("today", now), ("srv", now)):
        path = folder / root / "RePEc/nbr/nberwo/a.rdf"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    with tarfile.open(folder / "2012-11-07.tar.gz", "w:gz") as tar:
        tar.add(folder / "past/RePEc", "RePEc")
    (folder / "archec/data/rsync").mkdir(parents=True)
    (folder / "archec/data/current").symlink_to("../../today")


def _datasets(folder: Path, site: PlatformSite) -> None:
    """The datasets that pages name, and results of others."""
    for platform, doi, number in (
        ("zenodo", "10.5281/zenodo.3463499", 3463499),
        ("dataverse", "10.7910/DVN/Q5PV4U", 4711),
    ):
        dataset = played(("data/a.csv", b"a,b\n"), ("b.csv", b"b\n"), number=number)
        site.doi(doi, site.play(platform, dataset))
    (folder / "requests.jsonl").write_text(blocks("docs/how-to/list-of-datasets.md", "json")[0])
    (folder / "results.jsonl").write_bytes(b"\n".join(result(n) for n in range(3)))


@pytest.fixture
def shell(crawled: Shell, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """In a copy of the folder; of use-mongodb with a database."""
    folder = tmp_path / "folder"
    shutil.copytree(crawled.folder, folder, symlinks=True)
    more = dict(crawled.more)
    if request.node.callspec.id == "use-mongodb":
        more["LAFKA_CACHING_DATABASE"] = request.getfixturevalue("mongod").uri()
    return Shell(folder, crawled.bins, more)


@pytest.fixture
def mongod() -> Iterator[mongods.Mongod]:
    server = mongods.started()
    yield server
    server.end()


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("page", RUN)
def test_the_shell_lines_of_a_how_to_do_what_they_say(page: Path, shell: Shell) -> None:
    given = [*BEFORE.get(page.stem, ()), *filter(runs, lines(page))]
    for program in PROGRAMS:
        if any(re.search(rf"\b{program} ", line) for line in given) and not shutil.which(program):
            pytest.skip(f"no {program} here")
    address = GATEWAY
    with ExitStack() as going:
        for line in given:
            line = placed(line).replace(GATEWAY, address)
            if SERVES.match(line):
                going.close()  # the next serves at the address of the last
                address = going.enter_context(shell.serving(line))
                assert address.startswith("http://127.0.0.1:"), line
                continue
            done = shell(line)
            assert done.returncode == 0, (line, done.stderr)
            assert "Traceback" not in done.stderr, line
            assert " || " not in line or not done.stdout, (line, done.stdout)  # cron would mail it


RUN_EXAMPLES = {
    verb: those
    for verb, examples in EXAMPLES.items()
    if (those := [line for line in examples if runs(line, EXAMPLES_NOT_RUN)])
}


@pytest.mark.forms(count=8)
@pytest.mark.parametrize("verb", RUN_EXAMPLES)
def test_the_examples_of_a_help_do_what_they_say(verb: str, shell: Shell) -> None:
    examples = RUN_EXAMPLES[verb]
    for line in (*BEFORE_EXAMPLES.get(verb, ()), *examples):
        if " | jq " in line and not shutil.which("jq"):
            continue
        done = shell(placed(line))
        assert done.returncode == (verb in FIND_FAULTS and line in examples), (line, done.stderr)
        assert "Traceback" not in done.stderr, line


@pytest.mark.parametrize("verb", EXAMPLES)
def test_a_help_ends_with_examples_of_its_command(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    examples, begins = EXAMPLES[verb], f"lafka {verb}"
    assert len({*examples}) == len(examples) >= (1 if " " in verb else 2)
    assert all(one == begins or one.startswith(f"{begins} ") for one in examples)
    with pytest.raises(SystemExit, match="0"):
        main([*verb.split(), "--help"])
    assert capsys.readouterr().out.splitlines()[-len(examples) :] == [f"  {e}" for e in examples]


def placed(line: str) -> str:
    for what, where in PLACES.items():
        line = re.sub(what, where, line)
    return line


def test_each_exception_is_of_a_line_that_is_there() -> None:
    all_lines = [line for page in ALL for line in lines(page)]
    assert [rule for rule in NOT_RUN if all(runs(line, [rule]) for line in all_lines)] == []
    assert len(all_lines) > 100
    examples = [line for found in EXAMPLES.values() for line in found]
    assert [rule for rule in EXAMPLES_NOT_RUN if all(runs(line, [rule]) for line in examples)] == []


def test_what_runs_the_others_is_there() -> None:
    named = re.findall(
        r"tests/\S+\.py",
        " ".join((*NOT_RUN.values(), *WORD_BY_WORD.values(), *EXAMPLES_NOT_RUN.values())),
    )
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *ALL], ids=lambda page: page.stem)
def test_no_command_stands_outside_the_blocks_that_are_run(page: Path) -> None:
    """Others, and the text, have what is shown, or what stands behind a prompt."""
    shown = re.sub(r"(?ms)^ *```\w+\n.*?^ *```", "", page.read_text("utf-8"))
    program = r"(?:\S+/)?(?:lafka|scrapy|pip|python3?|pytest)|sudo|apt|systemctl|cd|curl|jq"
    assert re.findall(rf"(?m)^ *(?:{program}) .*|^{CRON}.*", shown) == []
