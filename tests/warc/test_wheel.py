"""The library alone: a wheel that needs nothing of Lafka, Scrapy or Twisted (docs/adr/0036)."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import lafka
from tests.warc import api_page, wheel

PROJECT = tomllib.loads((wheel.ROOT / wheel.PROJECT / "pyproject.toml").read_text("utf-8"))
SMOKE = """
import sys
from lafka_warc import Builder, Collection, Record, Volume, build, check, open_volume
from lafka_warc.converting.warc2arc import warc2arc

answer = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\nHello"
with Builder("a.warc.gz") as builder:
    builder.append(Record.response("http://a.example/", answer))
assert [record.type for record in Volume("a.warc.gz")] == ["response"]
assert not list(check("a.warc.gz"))
assert build(["a.warc.gz"], into="a.sqlite") == 1
with Collection(indexes=["a.sqlite"]) as collection:
    (found,) = collection.search(url="http://a.example")
    assert b"".join(found.payload()) == b"Hello"
warc2arc("a.warc.gz", "a.arc")
assert type(open_volume("a.arc")) is type(Volume("a.arc"))
ours = {"lafka", "scrapy", "twisted", "warcio"}
assert not ours & {name.partition(".")[0] for name in sys.modules}, sys.modules
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel.build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module")
def site(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(built) as archive:  # as pip does; make warc-wheel has it done by pip
        archive.extractall(folder)
    return folder


def test_the_wheel_has_every_module(built: Path) -> None:
    folder = wheel.ROOT / "lafka" / "warc"
    with zipfile.ZipFile(built) as archive:
        names = {name for name in archive.namelist() if name.startswith("lafka_warc/")}
    files = {path.relative_to(folder) for path in folder.rglob("*.py")} | {Path("py.typed")}
    assert names == {f"lafka_warc/{path.as_posix()}" for path in files}


def test_the_wheel_works_without_the_rest(site: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(site)!r})\n{SMOKE}"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.long("hundreds of tests again; make warc-wheel has all")
def test_some_tests_of_the_library_pass_against_it(site: Path, tmp_path: Path) -> None:
    wheel.copy_tests(tmp_path / "copy")
    chosen = [f"tests/warc/test_{name}.py" for name in ("docs", "exports", "order")]
    assert wheel.run_tests(site, tmp_path / "copy", *chosen) == 0


def test_its_version_is_that_of_lafka() -> None:
    assert PROJECT["project"]["version"] == lafka.__version__


def test_its_requirements_are_among_those_of_lafka() -> None:
    whole = tomllib.loads((wheel.ROOT / "pyproject.toml").read_text("utf-8"))
    assert set(PROJECT["project"]["dependencies"]) <= set(whole["project"]["dependencies"])


def test_its_page_has_the_api_as_it_is() -> None:
    page = (wheel.ROOT / wheel.PROJECT / "README.md").read_text("utf-8")
    assert page == api_page.written(page), "python -m tests.warc.api_page writes it anew"
