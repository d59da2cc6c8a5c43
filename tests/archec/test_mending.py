"""Damaged journals are mended: by their chain, by a copy, by the files; no loss is invented."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.archec.gather.mending import MendedJournal, mend, salvaged
from lafka.archec.records.opening import open_records
from lafka.archec.records.sqlite import NAME
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import kept_aside
from lafka.errors import BadJournal
from lafka.storage.drafts import NO_CHAIN, chained_lines
from tests import suites
from tests.archec.fobis import gather
from tests.archec.stores import DAY, START, Home, template, unchain
from tests.archec.test_commands import Operator

URL = "http://x.example/{}.pdf"
FOBIS = START + 5


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Templates in two states, and files between them: all three journals are one chain."""
    home = Home(tmp_path / "archec")
    home.put({f"abc/wpaper/{n}.rdf": template(n) for n in range(9)})
    home.tobi()
    gather(home, FOBIS, {URL.format(n): b"%%PDF-1.4\n%d\n%%%%EOF\n" % n for n in range(3)},
           ways=((URL.format("from"), URL.format(2)),))  # fmt: skip
    home.put({"abc/wpaper/0.rdf": template(0, title="B"), "abc/wpaper/9.rdf": template(9)})
    (home.data / "abc/wpaper/1.rdf").unlink()
    home.tobi()
    return home


def mended(home: Home, copy: Path | None = None) -> list[MendedJournal]:
    return list(mend(ObiStore(home.archive), "", copy))


def journals(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(home.archive.glob("journal/*.jsonl"))}


def change(path: Path, act: Callable[[bytes], bytes]) -> bytes:
    before = path.read_bytes()
    path.write_bytes(act(before))
    assert path.read_bytes() != before
    return path.read_bytes()


def byte(place: int, value: bytes = b"|") -> Callable[[bytes], bytes]:
    return lambda data: data[:place] + value + data[place + 1 :]


def test_a_sound_store_is_left_as_it_is(home):
    before = journals(home)
    assert mended(home) == []
    assert journals(home) == before


@pytest.mark.draws("of the bytes of a journal")
@pytest.mark.parametrize("value", [b"|", b"\n", b"\r", b"\xff", b"0"])
@pytest.mark.parametrize("tist", [START, FOBIS])
def test_one_byte_in_a_line_is_found_by_the_chain(home, tist, value):
    before = journals(home)
    path = home.journal_path(tist)
    chance = random.Random(tist)
    for _ in range(suites.amount(2, 6)):
        place = chance.randrange(len(before[path.name]))
        damaged = byte(place, value)(before[path.name])
        if damaged == before[path.name]:
            continue
        path.write_bytes(damaged)
        (done,) = mended(home)
        assert (done.path, done.is_known) == (path, True)
        assert journals(home) == before, place
        assert kept_aside(path).read_bytes() == damaged
        kept_aside(path).unlink()
    assert home.tobi().counts["same"] == 9


def test_lines_behind_the_end_are_taken_away(home):
    before = journals(home)
    change(home.journal_path(), lambda data: data + b'{"e": "deletion", "id": "x"}\n')
    assert [one.is_known for one in mended(home)] == [True]
    assert journals(home) == before


def test_the_journal_of_a_copy_comes_first(home, tmp_path):
    before = journals(home)
    shutil.copytree(home.archive, tmp_path / "copy", symlinks=True)
    change(home.journal_path(), lambda data: data[: len(data) // 2] + bytes(len(data) // 2))
    home.journal_path(FOBIS).unlink()
    change(tmp_path / "copy/journal" / home.journal_path(FOBIS).name, byte(90))
    done = mended(home, tmp_path / "copy")
    assert {one.path.name: one.is_known for one in done} == {
        f"{START}.jsonl": True, f"{FOBIS}.jsonl": False,
    }  # fmt: skip
    assert journals(home)[f"{START}.jsonl"] == before[f"{START}.jsonl"]


def test_what_lies_behind_a_break_is_derived_from_the_files(home):
    walk = home.walk()
    change(home.journal_path(), lambda data: data[: len(data) // 2] + bytes(len(data) // 2))
    with pytest.raises(BadJournal):
        home.tobi()
    (done,) = mended(home)
    assert not done.is_known
    assert "losses, visits and misses of the other lines are not known" in done.sentence
    told = home.journal(START)
    assert told[0]["derived"]
    assert [line["id"] for line in told[1:-1]] == [f"RePEc:abc:wpaper:{n}" for n in range(9)]
    assert 0 < sum(line.get("derived", False) for line in told[1:-1]) < 9
    after = home.walk()
    for name in ("id", "versions", "past", "lost", "noted", "archive", "series"):
        assert [one[name] for one in after] == [one[name] for one in walk], name
    assert home.tobi().counts["same"] == 9
    assert mended(home) == []


def test_a_loss_that_is_not_known_any_more_is_not_invented(home):
    path = home.journal_path(START + DAY)
    lines = path.read_bytes().splitlines(keepends=True)
    (place,) = [n for n, line in enumerate(lines) if b'"e": "deletion"' in line]
    lines[place] = b"?" * 200 + b"\n"
    path.write_bytes(b"".join(lines))
    (done,) = mended(home)
    assert not done.is_known
    found = {one["id"]: one for one in home.walk()}
    assert found["RePEc:abc:wpaper:1"]["lost"] is None
    home.put({"abc/wpaper/2.rdf": template(2)})
    assert home.tobi().counts["deletion"] == 1  # as the data say


def test_a_journal_that_is_gone_is_derived(home):
    home.journal_path(FOBIS).unlink()
    (done,) = mended(home)
    assert not done.is_known
    assert [one["e"] for one in home.journal(FOBIS)[1:-1]] == ["appearance"] * 4
    assert home.tobi().counts["same"] == 9


@pytest.mark.parametrize("after", ["kept", "gone"])
def test_a_mend_that_was_killed_goes_on(home, after):
    """Killed when the damaged journal had been kept aside, or the new one was not there yet."""
    damaged = change(home.journal_path(), lambda data: data[: len(data) // 2] + bytes(9))
    home.journal_path().rename(kept_aside(home.journal_path()))
    if after == "gone":
        (home.archive / NAME).unlink()
    (done,) = mended(home)
    assert not done.is_known
    assert kept_aside(home.journal_path()).read_bytes() == damaged
    assert len(home.journal(START)) == 11


def test_a_journal_without_a_chain_keeps_the_lines_that_are_some(home):
    unchain(home.archive)
    change(home.journal_path(), byte(len(home.journal_path().read_bytes()) // 2))
    (done,) = mended(home)
    assert not done.is_known
    assert len(home.journal(START)) == 11
    open_records(ObiStore(home.archive)).close()


def test_the_command_mends_and_says_what_is_not_known(tmp_path):
    home = Home(tmp_path / "archec")
    home.put({f"abc/wpaper/{n}.rdf": template(n) for n in range(3)})
    operator = Operator(home)
    operator.gets("tobi")
    (path,) = (home.archive / "journal").iterdir()
    before = path.read_bytes()
    path.write_bytes(byte(400)(before))
    (home.archive / NAME).unlink()
    assert "or: lafka archec mend" in operator.gives("tobi").stderr
    assert "1 lines mended by their chain" in operator.gets("archec", "mend")
    assert path.read_bytes() == before
    kept_aside(path).unlink()
    path.write_bytes(before[:600] + b"?" * 700 + before[1300:])
    done = operator.gives("archec", "mend")
    assert (done.returncode, "are not known" in done.stdout) == (1, True)
    assert operator.gives("archec", "mend").stdout == ""
    assert json.loads(operator.gets("tobi"))["same"] == 3
    assert operator.gives("archec", "mend", "--from", "none").returncode == 2


LINES = st.lists(
    st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3), min_size=1, max_size=6
)


@given(LINES, st.data())
def test_any_one_byte_of_a_sealed_journal_is_mended(lines, data):
    texts = [json.dumps({"gathering": 1}), *map(json.dumps, lines), json.dumps({"e": "end"})]
    whole, chain = chained_lines("".join(f"{one}\n" for one in texts).encode(), NO_CHAIN)
    place = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255))
    found = salvaged(byte(place, bytes([value]))(whole), {f"sha256:{chain.hex()}"})
    assert (b"".join(found.lines), found.is_whole) == (whole, True)
