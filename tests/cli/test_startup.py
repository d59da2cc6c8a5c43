"""What a command does not need is not imported; what Scrapy would say is said all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.conf import get_sources

from lafka import __version__
from lafka.cli.completion import all_words
from lafka.cli.plain import PRIORITIES, PlainCommand, PlainSettings
from lafka.cli.verbs import VERBS
from lafka.cli.words import script
from lafka.runs import sources
from tests import starts
from tests.stores import PID, Store, pdf

ROOT = Path(__file__).parents[2]
HEAVY = {
    "scrapy",
    "twisted",
    "lxml",
    "parsel",
    "w3lib",
    "warcio",
    "scrapy_warcio",
    "OpenSSL",
    "idna",
}
ASKED = """\
import json, sys
from lafka.cli.entry import main
code = main(sys.argv[1:])
sys.stdout.flush()
print("\\n" + json.dumps([code, *sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def words() -> str:
    return script("bash", all_words()).partition("'")[2].partition("'")[0]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store(tmp_path_factory.mktemp("startup"))
    store.put(store.fut(pdf("a")))
    store.raw.close()
    return store.archive.root


def lafka(archive: Path, *args: str, typed: str = "") -> tuple[bytes, int, set[str]]:
    """What a command writes, its exit code, and the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED, *args],
        cwd=archive,
        env=os.environ | {"PYTHONPATH": str(ROOT), "LAFKA_ARCHIVE": str(archive)},
        input=typed.encode(),
        capture_output=True,
        check=True,
    )
    code, *modules = json.loads(done.stderr.splitlines()[-1])
    return done.stdout, code, set(modules)


@pytest.mark.forms(count=3)
@pytest.mark.parametrize(
    "args",
    [
        ("fut", PID), ("suwaf", PID), ("verify", PID), ("verify",), ("runs",), ("--version",),
        ("fut", PID, "-s", "LAFKA_COLLECTION=RePEc", "-o", "out.pdf"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_that_asks_nobody_needs_no_crawler(archive: Path, args: tuple[str, ...]) -> None:
    _, code, modules = lafka(archive, *args)
    assert code == 0
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("lafka fut ", f"{PID}\t"),
        ("lafka verify --qu", "--quick\t"),
        ("lafka crawl futli -a in", "input=\t"),
        ("lafka crawl futli -s LAFKA_ARCH", "LAFKA_ARCHIVE=\t"),
        ("lafka outcomes --group 'not", "not there\t"),
        ("lafka fil", "fileset\t"),
    ],
)
def test_a_tab_imports_no_crawler(archive: Path, line: str, word: str, words: str) -> None:
    out, code, modules = lafka(
        archive, "completion", "words", __version__, typed=f"{words}\n{line}\n"
    )
    assert (out.decode().startswith(word), code) == (True, 0)
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()


def test_a_script_of_another_version_completes_too(archive: Path) -> None:
    for words in ("", '["0.0",[],{}]\n'):
        typed = f"{words}lafka fil\n"
        done = starts.verb("lafka", "completion", "words", folder=archive, stdin=typed)
        assert (done.stdout.partition("\t")[0], done.returncode) == ("fileset", 0)


def test_a_fut_needs_little_of_the_house(archive: Path) -> None:
    out, code, modules = lafka(archive, "fut", PID)
    assert (out, code) == (pdf("a"), 0)
    ours = {name for name in modules if name.startswith("lafka.")}
    rooms = {"finders", "walk", "crawling", "checking", "capture", "politeness", "runs", "archec"}
    known = {"lafka.runs", "lafka.runs.sources", "lafka.runs.terminals"}
    assert not {name for name in ours - known if rooms & set(name.split("."))}
    assert not {"asyncio", "ssl", "sqlite3", "multiprocessing", "http.client"} & modules


def test_a_run_over_unchanged_templates_loads_no_reader_of_them(tmp_path: Path) -> None:
    data = tmp_path / "data" / "RePEc" / "abc"
    data.mkdir(parents=True)
    (data / "a.rdf").write_text("Template-Type: ReDIF-Paper 1.0\nHandle: RePEc:abc:wpaper:1\n\n")
    again = (data / "a.rdf").stat().st_mtime_ns - 10**12
    os.utime(data / "a.rdf", ns=(again, again))
    readers = {f"lafka.archec.redif.{name}" for name in ("reading", "templates", "uris", "handles")}
    for tist, read in (("1352481230", readers), ("1352567630", set())):
        told, code, modules = lafka(
            tmp_path, "tobi", "data", "--full", "--at", tist, "-s", "LAFKA_OBJECT_STORE=store"
        )
        counts = json.loads(told)
        assert (code, counts.get("appearance"), counts.get("same")) == (
            (0, 1, None) if read else (0, None, 1)
        )
        assert readers & modules == read
        assert not {"importlib.metadata", "lxml"} & modules
    assert not {"w3lib.url", "concurrent.futures.thread"} & modules


@pytest.mark.forms(count=2)
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("fut", "-h"), b"Usage\n=====\n  lafka fut PID"),
        (("fut", PID, "--nolog"), pdf("a")),
        (("fut", PID, "-s", "LAFKA_ARCHIVE=none"), b""),
        (("fut", PID, "-s", "nothing"), b""),
    ],
)
def test_what_is_rare_is_left_to_scrapy(archive: Path, args: tuple[str, ...], said: bytes) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lafka", *args],
        cwd=archive,
        env=os.environ | {"PYTHONPATH": str(ROOT), "LAFKA_ARCHIVE": str(archive)},
        capture_output=True,
        check=False,
    )
    assert done.stdout.startswith(said)
    assert done.returncode == (0 if said else 2)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["folder", "egg"])
def test_scrapy_finds_all_our_commands_under_the_same_names(kind: str, tmp_path: Path) -> None:
    """In a process of its own: with ``scrapy``, Scrapy is there before our commands are.

    scrapyd takes them from an egg, which is a zip file.
    """
    place = ROOT
    if kind == "egg":
        place = tmp_path / "lafka.egg"
        with zipfile.ZipFile(place, "w") as egg:
            for path in (ROOT / "lafka").rglob("*.py"):
                egg.write(path, path.relative_to(ROOT))
    code = (
        "from scrapy.cmdline import _get_commands_from_module as found;"
        "print(*found('lafka.cli.commands', inproject=True));"
        "import lafka; print(lafka.__file__)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(place)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *names, file = told.stdout.split()
    assert file.startswith(f"{place}{os.sep}")
    assert names == [*VERBS]
    assert len(VERBS) > 15


def test_plain_settings_say_what_scrapys_say() -> None:
    ours, theirs = PlainSettings(PlainCommand.default_settings), Settings()
    theirs.setmodule("lafka.settings", priority="project")
    theirs.setdict(PlainCommand.default_settings, priority="command")
    for settings in (ours, theirs):
        settings.set("LAFKA_KEEP_RAW", "true", priority="cmdline")
        settings.setdict({"LAFKA_KEEP_RAW": "0", "LAFKA_CONTACT": "me", "LAFKA_X": "1"})
        settings.set("LAFKA_LINKS_MAX", "7", "command")
    for name in ("LAFKA_KEEP_RAW", "LAFKA_TLS_STRICT", "LAFKA_X", "LAFKA_Y", "LOG_ENABLED"):
        assert ours.getbool(name) == theirs.getbool(name), name
    for name in (*sources.KNOWN, "LAFKA_X", "LAFKA_Y", "LOG_ENABLED", "ITEM_PIPELINES"):
        assert ours[name] == theirs[name], name
        assert ours.get(name, "z") == theirs.get(name, "z"), name
        assert ours.getpriority(name) == theirs.getpriority(name), name
    for settings in (ours, theirs):
        settings.set("LAFKA_WAYBACK", "a,b", "cmdline")
        settings.set("LAFKA_EXCLUDE", "", "cmdline")
    for name in ("LAFKA_WAYBACK", "LAFKA_ALLOWED_NETWORKS", "LAFKA_EXCLUDE", "LAFKA_Y"):
        assert ours.getlist(name) == theirs.getlist(name), name
    assert ours.getfloat("LAFKA_MIN_RATE") == theirs.getfloat("LAFKA_MIN_RATE") == 100
    assert ours.getint("LAFKA_LINKS_MAX") == theirs.getint("LAFKA_LINKS_MAX") == 50
    assert {name: SETTINGS_PRIORITIES[name] for name in PRIORITIES} == PRIORITIES


@pytest.mark.parametrize("config", [None, "config"])
@pytest.mark.parametrize("folder", ["a/b/c", "a", "."])
def test_settings_are_looked_for_in_the_files_of_scrapy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str | None, folder: str
) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/scrapy.cfg").touch()
    monkeypatch.chdir(tmp_path / folder)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if config:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / config))
    assert sources.files() == get_sources()


def test_plain_settings_know_what_is_in_them() -> None:
    settings = PlainSettings({"MINE": 1})
    assert "MINE" in settings
    assert "LAFKA_ARCHIVE" in settings
    assert "YOURS" not in settings


CRAWLED = """\
import json, sys
from scrapy.cmdline import execute
try:
    execute(["scrapy", "crawl", *sys.argv[1:]])
finally:
    print("\\n" + json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def test_a_crawl_of_papers_loads_no_other_wing(tmp_path: Path) -> None:
    (tmp_path / "list.tsv").write_text(f"{PID}\thttp://127.0.0.1:1/x.pdf\n")
    done = subprocess.run(
        [sys.executable, "-c", CRAWLED, "futli", "-a", "input=" + str(tmp_path / "list.tsv"),
         "-s", f"LAFKA_ARCHIVE={tmp_path / 'archive'}"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    assert len(list((tmp_path / "archive" / "runs").glob("*.jsonl"))) == 1, done.stderr
    modules = json.loads(done.stderr.splitlines()[-1])
    rooms = {name.split(".")[1] for name in modules if name.startswith("lafka.")}
    assert rooms & {"archec", "filesets", "jobs", "index", "reports", "web", "demo"} == set()
    assert {"papers", "capture", "politeness", "runs"} <= rooms
