"""The command ``lafka`` of an installed Lafka, in folders that know nothing of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
import scrapy

import lafka
from lafka.cli.demo.site import list_of, pdf, serving
from tests import starts

ROOT = Path(__file__).parents[2]
PID = "RePEc:dem:wpaper:tagged"
PDF = pdf("A paper with a meta tag")
QUICK = ("-s", "LAFKA_ALLOWED_NETWORKS=127.0.0.0/8", "-s", "AUTOTHROTTLE_ENABLED=False")


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheel in it; other packages are the tests'."""
    place = tmp_path_factory.mktemp("installed")
    source = place / "source"
    shutil.copytree(ROOT / "lafka", source / "lafka", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "docs", source / "docs")
    offline = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    pip("wheel", *offline, "--no-build-isolation", "--wheel-dir", place, source)
    (wheel,) = place.glob("lafka-*.whl")
    shutil.rmtree(source)
    venv.create(place / "venv", with_pip=False)
    fresh = place / "venv" / "bin" / "python"
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    (packages,) = subprocess.check_output([fresh, "-c", asked], text=True).splitlines()
    Path(packages, "tests.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    pip("--python", fresh, "install", *offline, wheel)
    return fresh.parent


def pip(*args: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", *map(str, args)], check=True)


def called(
    program: list[str | Path], folder: Path, **env: str
) -> subprocess.CompletedProcess[bytes]:
    clean = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH",)}
    return starts.run(
        program,
        cwd=folder,
        env=clean | {"HOME": str(folder.parent), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving() as base:
        yield base


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "lists"
    folder.mkdir(parents=True)
    return folder


def here(folder: Path, *args: str | Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """``python -m lafka`` of the code under test, in *folder*."""
    path = {"PYTHONPATH": str(ROOT)}
    return called([sys.executable, "-m", "lafka", *args], folder, **path, **env)


@pytest.mark.long("it makes a wheel; the short suite uses one in test_wheel")
def test_a_wheel_in_a_fresh_environment_crawls_and_reads_in_an_empty_folder(bin_, empty, site):
    told = called([bin_ / "lafka", "--version"], empty)
    assert told.stdout.decode() == f"Lafka {lafka.__version__}, Scrapy {scrapy.__version__}\n"
    assert (bin_.parent / "share/man/man1/lafka.1").read_bytes().startswith(b".TH LAFKA 1")
    where = called([bin_ / "python", "-c", "import lafka; print(lafka.__file__)"], empty)
    assert where.stdout.decode().startswith(str(bin_.parent))
    (empty / "list.tsv").write_text(list_of(site), "utf-8")
    crawl = ["crawl", "futli", "-a", "input=list.tsv", "-s", "LAFKA_CONTACT=a@example.org"]
    done = called([bin_ / "lafka", *crawl, *QUICK], empty)
    assert done.returncode == 0, done.stderr.decode()
    first = done.stderr.decode().splitlines()[0]
    assert first == f"archive: {empty}/archive (LAFKA_ARCHIVE: the default)"
    assert b" ERROR: " not in done.stderr
    fut = called([bin_ / "lafka", "fut", PID], empty)
    assert (fut.returncode, fut.stdout, fut.stderr) == (0, PDF, b"")
    assert sorted(path.name for path in empty.iterdir()) == ["archive", "list.tsv"]


@pytest.mark.long("it makes a wheel; the short suite uses one in test_wheel")
def test_the_demo_of_a_wheel_names_the_command(bin_, empty, tmp_path):
    done = called([bin_ / "lafka", "demo"], empty, TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"lafka fut {PID} -s LAFKA_ARCHIVE=" in done.stdout.decode()
    assert list(empty.iterdir()) == []


def test_lafka_alone_lists_its_commands_and_those_of_scrapy(empty):
    done = here(empty)
    assert (done.returncode, done.stderr) == (0, b"")
    own, scrapys = done.stdout.decode().split("Scrapy's, with Lafka's settings:")
    assert re.search(r"(?m)^  fut +Write the full text", own)
    assert re.search(r"(?m)^  view +\w", scrapys)
    assert "genspider" not in scrapys


def test_a_command_that_is_none_is_told_in_one_sentence(empty):
    done = here(empty, "crwal")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"lafka: no command is called 'crwal'; crawl meant? lafka -h lists them\n"


def test_help_and_refusals_name_the_command(empty):
    assert b"lafka fut PID [--futli URL]" in here(empty, "fut", "-h").stdout
    done = here(empty, "fut", PID)
    assert done.returncode == 2
    assert done.stderr == b"lafka fut: archive: no archive is here\n"


def test_options_of_scrapy_are_refused_as_scrapy_does(empty):
    done = here(empty, "fut", PID, "-s", "LAFKA_ARCHIVE")
    assert done.returncode == 2
    assert b"Invalid -s value" in done.stderr


def test_a_profile_is_written(empty):
    done = here(empty, "settings", "--profile", "it.prof")
    assert done.returncode == 0
    assert (empty / "it.prof").stat().st_size


def test_settings_tell_values_and_sources(empty):
    (empty.parent / "scrapy.cfg").write_text("[lafka]\narchive = papers\nlinks = all\n")
    env = {"LAFKA_CONTACT": "a@example.org", "LAFKA_LINKS": "first", "LAFKA_CONTCT": "x"}
    done = here(empty, "settings", "-s", "LAFKA_WRITERS=2", **env)
    told = done.stdout.decode().splitlines()
    assert done.returncode == 0
    near = empty.parent / "scrapy.cfg"
    assert {
        f"LAFKA_ARCHIVE = {empty.parent}/papers  # {near}",
        "LAFKA_CONTACT = a@example.org  # the environment",
        "LAFKA_LINKS = first  # the environment",
        "LAFKA_WRITERS = 2  # -s",
        "LAFKA_LINKS_MAX = 50  # the default",
    } <= set(told)
    assert done.stderr.decode() == (
        "lafka settings: warning: the environment: LAFKA_CONTCT is no setting of Lafka;"
        " LAFKA_CONTACT meant?\n"
    )


def test_settings_with_an_option_are_scrapys(empty):
    done = here(empty, "settings", "--get", "LAFKA_ARCHIVE", LAFKA_ARCHIVE="elsewhere")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"elsewhere\n", b"")
    assert here(empty, "settings", "--getint", "LAFKA_LINKS_MAX").stdout == b"50\n"
    scrapys = [sys.executable, "-m", "scrapy", "settings"]
    assert called(scrapys, ROOT).stdout == b""


def test_scrapys_commands_have_what_is_set_outside(empty):
    code = "from scrapy.spiders import Spider\n"
    code += "class S(Spider):\n    name = 's'\n    async def start(self):\n"
    code += "        print(self.settings['LAFKA_CONTACT'])\n        return\n        yield\n"
    (empty / "s.py").write_text(code)
    done = here(empty, "runspider", "s.py", LAFKA_CONTACT="a@example.org")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"a@example.org\n"


def test_the_environment_names_the_archive_of_every_command(empty, site):
    (empty / "list.tsv").write_text(list_of(site), "utf-8")
    env = {"LAFKA_ARCHIVE": "mine", "LAFKA_CONTACT": "a@example.org"}
    done = here(empty, "crawl", "futli", "-a", "input=list.tsv", *QUICK, **env)
    assert done.returncode == 0, done.stderr.decode()
    first = f"archive: {empty}/mine (LAFKA_ARCHIVE: the environment)"
    assert done.stderr.decode().splitlines()[0] == first
    assert here(empty, "fut", PID, **env).stdout == PDF
    rebuilt = here(empty, "rebuild", **env).stderr.decode()
    assert rebuilt == f"{first}\n7 suwafs made\n"
    from_scrapy = [sys.executable, "-m", "scrapy", "fut", PID]
    absolute = {"LAFKA_ARCHIVE": str(empty / "mine")}
    assert called(from_scrapy, ROOT, **absolute).stdout == PDF


def test_with_a_log_file_the_log_alone_names_the_archive(empty, site):
    (empty / "list.tsv").write_text(list_of(site), "utf-8")
    crawl = ["crawl", "futli", "-a", "input=list.tsv", "--logfile", "crawl.log", *QUICK]
    done = here(empty, *crawl, LAFKA_CONTACT="a@example.org")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    log = (empty / "crawl.log").read_text("utf-8")
    assert f"archive: {empty}/archive (LAFKA_ARCHIVE: the default)" in log


def test_a_damaged_scrapy_cfg_is_refused_in_one_sentence(empty):
    (empty / "scrapy.cfg").write_text("archive = x\n")
    done = here(empty, "runs")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"lafka runs: {empty}/scrapy.cfg: not a file of")
    assert len(done.stderr.splitlines()) == 1
