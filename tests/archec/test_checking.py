"""What the checker finds: nothing in a sound store, and each damage by its code."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.archec.checking import check_store
from lafka.archec.checking.facts import folder_of, name_of, template_md5, tist_of
from lafka.archec.store import texts, tists
from lafka.archec.store.folders import Names, ObiStore
from lafka.witness.problems import OBI_CODES
from tests.archec import test_check_damages as check_damages
from tests.archec.stores import START, Home, template

ONE = "RePEc:abc:wpaper:1"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A store with appearances, a change, a loss and a link."""
    home = Home(tmp_path / "archec")
    for titles in ("AAA", "BAA", "AA"):
        home.put({f"abc/wpaper/{n}.rdf": template(n, title=t) for n, t in enumerate(titles)})
        if titles == "AA":
            (home.data / "abc/wpaper/2.rdf").unlink()
        home.tobi()
    return home


def codes(home: Home, **how: object) -> list[str]:
    return [problem.code for problem in check_store(home.archive, rows=home.walk(), **how)]


def place(home: Home, obi: str = ONE, tist: int = START) -> Path:
    return ObiStore(home.archive).path(tist, obi)


def overwrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def changed(home: Home) -> None:
    overwrite(place(home), place(home).read_bytes().replace(b"Ana", b"Eva"))


def longer(home: Home) -> None:
    overwrite(place(home), place(home).read_bytes() + b"\n")


def wrong_name(home: Home) -> None:
    place(home).with_name(place(home).name.replace("%3A", "%3a")).touch()


def open_journal(home: Home) -> None:
    lines = home.journal_path().read_bytes().splitlines(keepends=True)
    home.journal_path().write_bytes(b"".join(lines[:-1]))


def text(home: Home) -> None:
    lines = [json.loads(line) for line in home.journal_path().read_bytes().splitlines()]
    lines[1]["md5"] = "0" * 32
    home.journal_path().write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def twins(home: Home) -> None:
    marker = home.archive / "archec.json"
    marker.write_text('{"format": 1, "names": "folded"}')
    for name in ("http%3A%2F%2Fx%2Fa", "http%3A%2F%2Fx%2FA"):
        (place(home).parent / name).touch()


DAMAGES: dict[Callable[[Home], None], str] = {
    wrong_name: "wrong-place", text: "text-differs", twins: "case-twins",
}  # fmt: skip
"""What is damaged of another store than that of ``test_check_damages``."""


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_is_found_by_its_code(home, damage):
    rows = home.walk()
    damage(home)
    found = list(check_store(home.archive, rows=rows))
    assert DAMAGES[damage] in [problem.code for problem in found]
    told = json.loads(next(p for p in found if p.code == DAMAGES[damage]).to_json())
    assert set(told) == {"path", "code", "severity", "sentence"}
    assert told["severity"] == "error"


def test_each_code_has_a_damage():
    codes = {code for _, code in check_damages.DAMAGES.values()}
    assert codes | {*DAMAGES.values()} == OBI_CODES


def test_only_digests_are_left_out_when_it_is_quick(home):
    changed(home)
    assert (codes(home), codes(home, quick=True)) == (["changed-object"], [])
    longer(home)
    assert codes(home, quick=True) == ["changed-object"]


def test_the_journal_of_a_living_gathering_is_a_warning(home):
    open_journal(home)
    with home.journal_path().open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = [(one.code, one.severity) for one in check_store(home.archive)]
    assert ("open-journal", "warning") in found


def test_what_kills_left_beside_a_journal_is_no_problem(home):
    Path(f"{home.journal_path()}.torn-17").write_bytes(b"{")
    assert codes(home) == []


# The rules, written twice, say the same.


@given(st.text(min_size=1, max_size=150).map("RePEc:{}".format), st.sampled_from(Names))
def test_both_writings_of_the_names_agree(obi, names):
    if not any("\ud800" <= char <= "\udfff" for char in obi):
        assert name_of(obi, folded=names is Names.FOLDED) == names.file_name(obi)


@given(st.integers(tists.FIRST, tists.LAST))
def test_both_writings_of_the_folders_agree(tist):
    assert folder_of(tist) == tists.folder(tist)
    assert tist_of(tuple(folder_of(tist).split("/"))) == tist


ODD = st.sampled_from([b"a", b" ", b"\t", b"\v", b"\f", b"\n", b"\r", b"\r\n", b"\n#",
                       b"\xef\xbb\xbf", b"\xe9", b"\xc3\xa9"])  # fmt: skip


@given(st.lists(ODD | st.binary(max_size=20) | st.text(max_size=9).map(str.encode)).map(b"".join))
def test_both_writings_of_the_text_agree(data):
    assert template_md5(data) == texts.of_template(data).md5


def test_the_disk_is_not_written(home):
    before = {path: path.stat().st_mtime_ns for path in home.archive.rglob("*")}
    rows = home.walk()
    list(check_store(home.archive, rows=rows))
    after = {path: path.stat().st_mtime_ns for path in home.archive.rglob("*")}
    names = {path for path in before if not path.name.startswith("records")} - {home.archive}
    assert all(before[path] == after[path] for path in names)
    assert os.access(home.archive, os.W_OK)
