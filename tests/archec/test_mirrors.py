"""Ways in which a mirror of RePEc data breaks: no template is lost by any of them."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from lafka.errors import BadSource
from tests.archec.stores import Home, template

MANY = [template(f"m{n}") for n in range(20)]
WHOLE = "".join(MANY).encode()
FILES = {
    "abc/abcarch.rdf": "Template-Type: ReDIF-Archive 1.0\nHandle: RePEc:abc\n",
    "abc/abcseri.rdf": "Template-Type: ReDIF-Series 1.0\nHandle: RePEc:abc:wpaper\n",
    **{f"abc/wpaper/{n}.rdf": template(n) for n in range(5)},
    "abc/wpaper/many.rdf": WHOLE,
    **{f"xyz/papers/{n}.rdf": template(n, "xyz", "papers") for n in range(3)},
}
HANDLES = {f"RePEc:abc:wpaper:m{n}" for n in range(20)}
PAGE = b"<!DOCTYPE html>\n<html><body><h1>503 Service Unavailable</h1></body></html>\n"
ONE, LONG = "abc/wpaper/0.rdf", "abc/wpaper/many.rdf"
Break = Callable[[Home], object]


def becomes(data: bytes, *names: str) -> Break:
    return lambda home: home.put(dict.fromkeys(names or (ONE,), data))


def without(name: str, *, empty: bool = False) -> Break:
    def act(home: Home) -> None:
        shutil.rmtree(home.data / name)
        if empty:
            (home.data / name).mkdir()

    return act


def in_place(make: Callable[[Path], object]) -> Break:
    def act(home: Home) -> None:
        (home.data / ONE).unlink()
        make(home.data / ONE)

    return act


def renamed(old: str, new: str) -> Break:
    return lambda home: (home.data / old).rename(home.data / new)


def is_a_file(home: Home) -> None:
    shutil.rmtree(home.data / "abc/wpaper")
    home.put({"abc/wpaper": b"gone\n"})


def is_a_link(home: Home) -> None:
    (home.data / "abc/wpaper").rename(home.root / "elsewhere")
    (home.data / "abc/wpaper").symlink_to(home.root / "elsewhere")


def hole(data: bytes) -> bytes:
    return data[:700] + bytes(1400) + data[2100:]


BREAKS: dict[str, Break] = {
    "an error page": becomes(PAGE),
    "an error page for each file of the archive": becomes(PAGE, *(n for n in FILES if "abc" in n)),
    "an error page after a byte order mark": becomes(b"\xef\xbb\xbf" + PAGE),
    "an XML error": becomes(b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>"),
    "a login page that quotes a template": becomes(
        b"<html><body><pre>\n" + template(0).encode() + b"</pre></body></html>\n", LONG),
    "a sentence of a server": becomes(b"421 Too many connections from your host.\n"),
    "an answer in JSON": becomes(b'{"error": "rate limited"}\n', LONG),
    "a listing of a folder": becomes(b"drwxr-xr-x 2 ftp ftp 4096 Nov 20 2012 wpaper\n", LONG),
    "empty": becomes(b"", ONE, LONG),
    "zeros": becomes(bytes(len(WHOLE)), LONG),
    "zeros behind its half": becomes(WHOLE[:1500] + bytes(len(WHOLE) - 1500), LONG),
    "a hole of zeros": becomes(hole(WHOLE), LONG),
    "half": becomes(template(0).encode()[:70]),
    "cut before a handle": becomes(template(0).encode()[:-30]),
    "cut behind a handle's name": becomes(WHOLE[: WHOLE.index(b"Handle:", 1500) + 7], LONG),
    "UTF-16 without a mark": becomes(WHOLE.decode().encode("utf-16-le"), LONG),
    "EBCDIC": becomes(WHOLE.decode().encode("cp500"), LONG),
    "packed under its plain name": becomes(gzip.compress(WHOLE), LONG),
    "another kind of file": becomes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), LONG),
    "a draft of rsync": in_place(lambda path: path.with_name(".0.rdf.x7Yq2Z").write_text("Templ")),
    "a link to nowhere": in_place(lambda path: path.symlink_to("nowhere.rdf")),
    "a link to another file": in_place(lambda path: path.symlink_to("1.rdf")),
    "a pipe": in_place(os.mkfifo),
    "a folder": in_place(Path.mkdir),
    "an archive that is gone": without("xyz"),
    "an archive that is empty": without("xyz", empty=True),
    "a series that is gone": without("abc/wpaper"),
    "a series that is empty": without("abc/wpaper", empty=True),
    "an archive under a hidden name": renamed("xyz", ".xyz"),
    "an archive that another has taken in": renamed("xyz", "abc/.old"),
    "a series under another ending": lambda home: [
        path.rename(path.with_suffix(".txt")) for path in (home.data / "xyz/papers").iterdir()
    ],
    "a file where a folder was": is_a_file,
    "a link where a folder was": is_a_link,
    "nothing mounted": without("", empty=True),
    "another folder mounted": lambda home: (
        shutil.rmtree(home.data), home.put({"lost+found/readme.txt": b"no data"})),
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "archec")
    home.put(FILES)
    assert home.tobi().counts == {"appearance": 30}
    return home


PAGE_OF_DAMAGE = Path(__file__).parents[2] / "docs" / "archec-damage.md"


def test_the_page_has_them_all() -> None:
    said = PAGE_OF_DAMAGE.read_text("utf-8").partition("## Mirrors")[2]
    assert re.findall(r"^\| ([^|`]+) \| (?:`|-)", said, re.MULTILINE)[2:] == list(BREAKS)


def mended(home: Home) -> None:
    shutil.rmtree(home.data)
    home.put(FILES)


def lost(home: Home) -> list[str]:
    return [str(one["id"]) for one in home.walk() if one["lost"]]


@pytest.mark.forms
@pytest.mark.parametrize("breaking", BREAKS.values(), ids=BREAKS)
def test_a_broken_mirror_loses_nothing_and_is_told(home: Home, breaking: Break) -> None:
    breaking(home)
    for _ in range(3):
        report = home.tobi()
        assert report.counts["deletion"] == 0
        assert not report.is_sure
        assert report.withheld
    mended(home)
    report = home.tobi()
    assert (report.counts["deletion"], report.withheld) == (0, {})
    assert report.is_sure
    assert lost(home) == []


def test_a_file_that_is_cut_within_a_handle_loses_nothing(home: Home) -> None:
    """The data speak of a series for a day; what the file held is there all the time."""
    becomes(template(0).encode()[:-5])(home)
    assert home.tobi().withheld == {"abc": 1}
    mended(home)
    home.tobi()
    assert lost(home) == ["RePEc:abc:wpape"]


@pytest.mark.forms(count=3)
@pytest.mark.parametrize("tenth", range(1, 10))
def test_a_file_that_is_cut_loses_nothing(home: Home, tenth: int) -> None:
    becomes(WHOLE[: len(WHOLE) * tenth // 10], LONG)(home)
    for _ in range(2):
        report = home.tobi()
        assert (report.counts["deletion"], report.is_sure) == (0, False)
    mended(home)
    home.tobi()
    assert {*lost(home)} & HANDLES == set()


@pytest.mark.forms(count=3)
@pytest.mark.parametrize("tenth", range(1, 10))
def test_a_tarball_that_is_cut_loses_nothing(home: Home, tmp_path: Path, tenth: int) -> None:
    tarball = tmp_path / "2012-11-20.tar.gz"
    with tarfile.open(tarball, "w:gz") as tar:
        tar.add(home.data, "RePEc")
    os.truncate(tarball, tarball.stat().st_size * tenth // 10)
    with suppress(BadSource):
        report = home.tobi(source=tarball)
        assert (report.counts["deletion"], report.whole, report.is_sure) == (0, False, False)
    assert lost(home) == []


def test_a_folder_that_may_not_be_read_loses_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def refusing(path: object) -> object:
        if os.fsencode(path).endswith(b"wpaper/"):  # type: ignore[arg-type]
            raise PermissionError(13, "no")
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refusing)
    report = home.tobi()
    assert (report.counts["deletion"], report.is_sure) == (0, False)
    assert report.unread == {"abc"}


def test_what_a_broken_file_held_is_never_lost_by_time(home: Home) -> None:
    becomes(PAGE)(home)
    home.tobi()
    home.now += 300 * 86_400
    assert home.tobi().withheld == {"abc": 1}


def test_a_template_that_stood_alone_is_lost_with_its_file(home: Home) -> None:
    home.put({"one/wpaper/1.rdf": template(1, "one")})
    home.tobi()
    (home.data / "one/wpaper/1.rdf").unlink()
    report = home.tobi()
    assert (report.counts["deletion"], report.is_sure) == (1, True)


def test_a_template_less_in_a_whole_file_is_lost(home: Home) -> None:
    home.put({LONG: "".join(MANY[:7] + MANY[8:-1])})
    report = home.tobi()
    assert (report.counts["deletion"], report.is_sure) == (2, True)
    (home.data / ONE).unlink()
    report = home.tobi()
    assert (report.counts["deletion"], report.is_sure) == (1, True)
