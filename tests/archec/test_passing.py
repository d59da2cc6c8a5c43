"""What the last run found is not read again, and nothing comes of that but less work."""

from __future__ import annotations

import random
import sqlite3
import tarfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lafka.archec import redif
from lafka.archec.gather import unchanged_files as passing
from lafka.archec.gather.runs import TobiReport
from lafka.archec.gather.unchanged_files import FileEntry, TemplateProblem
from lafka.archec.records.sqlite import NAME
from lafka.archec.store import texts
from lafka.errors import TornFile
from lafka.storage.folders import FileStamp
from tests.archec.stores import DAY, START, Home, template

SEEDS = range(8)
END = "Template-Type: ReDIF-Mirror 1.0\nHandle: RePEc:all:end\n"
RUNS = 6
ODD = ("", "", "Auhtor-Name: Eve\n", "Seen: often\n<<<<<<< HEAD\n", "Handle: RePEc:abc:other:9\n")
FOLDERS = ("aaa/one", "aaa/two", "abc/one", "aaa", "all", "metadata")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "archec")


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The templates of which a run has made the text."""
    seen: list[bytes] = []
    made = texts.of_template

    def of_template(data: bytes) -> texts.Checksums:
        seen.append(data)
        return made(data)

    monkeypatch.setattr(texts, "of_template", of_template)
    return seen


def dropped(home: Home) -> None:
    """Without a cache: as if there never had been one."""
    if (home.archive / NAME).exists():
        with home.records() as records:
            records.keep_passed(0, set(), [])


def told(home: Home, report: TobiReport) -> tuple[object, ...]:
    """All that a run tells and leaves, but for how long it took."""
    journals = {tist: [one | {"seconds": 0, "run": ""} for one in lines]
                for tist, lines in home.journals().items()}  # fmt: skip
    with home.records() as records:
        problems = records.problems()
    return (home.objects(), journals, home.walk(), sorted(map(str, problems)), report.counts,
            report.problems, report.withheld, report.whole)  # fmt: skip


@dataclass
class Data:
    """RePEc data that change at random, written into several homes alike."""

    random: random.Random
    files: dict[str, list[str]] = field(default_factory=dict)

    def text(self) -> str:
        pick = self.random.choice
        kind = pick(["item"] * 9 + ["mirror", "nothing"])
        made = template(self.random.randrange(9), pick(["aaa", "abc"]), pick(["one", "two"]),
                        title=pick("AB"), more=pick(ODD))  # fmt: skip
        if kind == "mirror":
            made = made.replace("ReDIF-Paper", "ReDIF-Mirror")
        if kind == "nothing":
            made = made.partition("Handle:")[0] + "\n"
        return made

    def change(self) -> None:
        pick = self.random.choice
        name = f"{pick(FOLDERS)}/{self.random.randrange(3)}.rdf"
        parts = self.files.setdefault(name, [])
        what = pick(["add", "add", "move", "copy", "change", "drop", "file", "bytes", "order"])
        if what == "add":
            parts.insert(self.random.randint(0, len(parts)), self.text())
        elif what == "file":
            del self.files[name]
        elif parts:
            self._change(what, parts, self.random.randrange(len(parts)))

    def _change(self, what: str, parts: list[str], at: int) -> None:
        other = self.random.choice(list(self.files.values()))
        if what in ("move", "copy"):
            other.append(parts[at])
        if what in ("move", "drop"):
            del parts[at]
        elif what == "change":
            parts[at] = parts[at].replace("Title: ", "Title: Again ", 1)
        elif what == "bytes":  # and the same text
            parts[at] = parts[at].replace("\n", "\r\n", 1) + "# exported\n"
        elif what == "order":
            self.random.shuffle(parts)

    def write(self, home: Home) -> None:
        for path in home.data.rglob("*.rdf"):
            path.unlink()
        home.data.mkdir(parents=True, exist_ok=True)
        # Each file has an end: where the last run's cache is gone, less is known of what a file
        # that is cut has held.
        home.put({name: "".join(parts) + END for name, parts in self.files.items()})


@pytest.mark.forms(count=4)
@pytest.mark.parametrize("seed", SEEDS)
def test_with_and_without_the_cache_a_history_is_the_same(tmp_path, looked, seed):
    chance = random.Random(seed)
    data = Data(chance)
    homes = [Home(tmp_path / "with"), Home(tmp_path / "without")]
    work: Counter[int] = Counter()
    for _ in range(25):
        data.change()
    for _ in range(RUNS):
        how = chance.choice(["", "", "", "partial", "accepted", "rebuilt", "dry", "tarball"])
        found = []
        for place, home in enumerate(homes):
            data.write(home)
            if how == "rebuilt":
                (home.archive / NAME).unlink(missing_ok=True)
            if place:
                dropped(home)
            before = len(looked)
            report = run(home, how)
            work[place] += len(looked) - before
            found.append(told(home, report))
        assert found[0] == found[1]
        for _ in range(chance.choice([0, 1, 4])):
            data.change()
    assert work[0] < work[1]


def run(home: Home, how: str) -> TobiReport:
    if how == "partial":
        return home.tobi(partial=True)
    if how == "accepted":
        return home.tobi(accepted=frozenset({"aaa", "abc"}))
    if how != "tarball":
        return home.tobi(dry=how == "dry")
    tarball = home.root / "data.tar"
    with tarfile.open(tarball, "w") as tar:
        for path in sorted(home.data.rglob("*.rdf"), reverse=True):
            tar.add(path, f"RePEc/{path.relative_to(home.data)}")
    return home.tobi(source=tarball)


def test_of_a_file_that_is_as_it_was_nothing_is_read(home, looked, monkeypatch):
    home.put({"abc/wpaper/1.rdf": template(1) + template(2, more=ODD[2]),
              "all/abcarch.rdf": template(3), "abc/wpaper/0.rdf": template(0)})  # fmt: skip
    first = home.tobi()
    del looked[:]
    monkeypatch.setattr(redif.TemplateReader, "_template", None)  # whoever reads one fails
    again = home.tobi()
    assert (again.counts, again.problems) == ({"same": 4}, first.problems)
    assert not looked
    assert first.problems == {"misspelt-field": 1}


def test_a_file_that_changed_is_read_whole(home, looked):
    one, two, three = (template(n, more=ODD[2]) for n in (1, 2, 3))
    home.put({"abc/wpaper/1.rdf": one + two + three, "abc/wpaper/2.rdf": template(4)})
    first = home.tobi()
    del looked[:]
    home.put({"abc/wpaper/1.rdf": "\n\n" + three + template(2, title="B") + one})
    again = home.tobi()
    assert [data.count(b"Title: B") for data in looked] == [0, 1, 0]
    assert again.counts == {"same": 3, "change": 1}
    with home.records() as records:
        assert [problem.line for problem in records.problems()] == [6, 19]
    assert first.problems["misspelt-field"] == 3


def test_a_file_that_never_had_a_last_line_end_may_lose_a_template(home):
    parts = {code: [template(n, code).rstrip("\n") for n in (1, 2)] for code in ("abc", "xyz")}
    home.put({f"{code}/wpaper/1.rdf": "\n".join(some) for code, some in parts.items()})
    home.tobi()
    other = template(2, "xyz", title="B").rstrip("\n")  # what ends in another text may be cut
    home.put({"abc/wpaper/1.rdf": parts["abc"][1], "xyz/wpaper/1.rdf": other})
    report = home.tobi()
    assert report.withheld == {"xyz": 1}
    assert report.counts == {"same": 1, "change": 1, "deletion": 1, "withheld": 1}


def test_what_is_odd_about_a_beginning_is_not_told_where_it_is_over(home):
    home.put({"abc/wpaper/1.rdf": f"{template(1)}x{template(2)}"})
    assert home.tobi().problems["glued-field"] == 1
    home.put({"abc/wpaper/1.rdf": f"{template(1)}x\n{template(2)}"})
    again = home.tobi()
    assert (again.counts["change"], again.problems["glued-field"]) == (0, 0)


@pytest.fixture
def read_at_all(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of which a run has read the bytes; what was just written is trusted at once."""
    found: list[str] = []
    beginning = passing._beginning

    def _beginning(file):
        found.append(file.path)
        return beginning(file)

    monkeypatch.setattr(passing, "_beginning", _beginning)
    monkeypatch.setattr(passing, "_TICK", 0)
    return found


def test_a_file_of_the_same_size_time_and_inode_is_not_read(home, read_at_all):
    home.put({"abc/wpaper/1.rdf": template(1), "abc/wpaper/2.rdf": template(2)})
    home.tobi()
    del read_at_all[:]
    assert home.tobi().counts == {"same": 2}
    assert read_at_all == []
    (home.data / "abc/wpaper/1.rdf").touch()
    assert home.tobi().counts == {"same": 2}
    assert read_at_all == ["RePEc/abc/wpaper/1.rdf"]
    del read_at_all[:]
    assert home.tobi().counts == {"same": 2}  # its new time is known
    assert read_at_all == []


def test_a_file_written_in_place_with_its_time_set_back_is_read(home, read_at_all):
    home.put({"abc/wpaper/1.rdf": template(1, title="A")})
    home.tobi()
    home.put({"abc/wpaper/1.rdf": template(1, title="B")})  # the same size, mtime and inode
    assert home.tobi().counts == {"change": 1}


def test_a_file_with_several_names_is_known_by_size_mtime_and_inode(home, read_at_all):
    home.put({"abc/wpaper/1.rdf": template(1)})
    (home.root / "kept").hardlink_to(home.data / "abc/wpaper/1.rdf")
    home.tobi()
    del read_at_all[:]
    (home.root / "other").hardlink_to(home.data / "abc/wpaper/1.rdf")  # as rsync --link-dest does
    assert home.tobi().counts == {"same": 1}
    assert read_at_all == []


@pytest.mark.parametrize("how", ["asked", "a month"])
def test_in_full_a_digest_is_taken_of_each_file(home, read_at_all, how):
    home.put({"abc/wpaper/1.rdf": template(1, title="A")})
    path = home.data / "abc/wpaper/1.rdf"
    (home.root / "kept").hardlink_to(path)  # so that the time of its change does not count
    home.tobi()
    home.put({"abc/wpaper/1.rdf": template(1, title="B")})
    assert home.tobi().counts == {"same": 1}
    if how == "a month":
        home.now += 30 * DAY
    assert home.tobi(full=how == "asked").counts == {"change": 1}
    del read_at_all[:]
    home.tobi()
    assert read_at_all == []


def test_a_file_that_was_just_written_is_not_trusted(home, read_at_all, monkeypatch):
    monkeypatch.setattr(passing, "_TICK", 3600 * 10**9)
    home.put({"abc/wpaper/1.rdf": template(1)})
    home.tobi()
    del read_at_all[:]
    home.tobi()
    assert read_at_all == ["RePEc/abc/wpaper/1.rdf"]


def test_another_reader_reads_all(home, looked, monkeypatch):
    home.put({"abc/wpaper/1.rdf": template(1)})
    home.tobi()
    del looked[:]
    monkeypatch.setattr(passing, "reader_version", lambda: b"another")
    home.tobi()
    assert len(looked) == 1


def test_after_a_run_that_did_not_end_all_is_read(home, looked, monkeypatch):
    home.put({"abc/wpaper/1.rdf": template(1), "abc/wpaper/2.rdf": template(2)})
    home.tobi()
    home.put({"abc/wpaper/1.rdf": template(1, title="B")})
    with monkeypatch.context() as patch:
        patch.setattr(passing.UnchangedFiles, "keep", None)  # the end is written by then
        with pytest.raises(TypeError):
            home.tobi()
    home.now += DAY
    del looked[:]
    assert home.tobi().counts == {"same": 2}
    assert len(looked) == 2
    home.tobi()
    assert len(looked) == 2


def test_a_template_whose_text_was_beaten_is_told_where_its_file_is_as_it_was(home):
    home.put({"abc/wpaper/5.rdf": template(1), "zzz/copy.rdf": template(1)})
    home.tobi()
    home.put({"abc/wpaper/0.rdf": template(1, title="B")})
    report = home.tobi()
    assert (report.counts, report.problems) == ({"change": 1}, {"duplicate-handle": 2})
    with home.records() as records:
        assert {problem.file for problem in records.problems()} == {
            "RePEc/abc/wpaper/5.rdf", "RePEc/zzz/copy.rdf"
        }  # fmt: skip
        assert all("abc/wpaper/0.rdf, line 1" in one.sentence for one in records.problems())
    assert home.tobi().problems == report.problems


def test_a_file_with_more_problems_than_are_told_is_read_each_time(home, looked):
    home.put({"abc/wpaper/1.rdf": template(1, more="Seen: often\n" * 1001)})
    first = home.tobi()
    again = home.tobi()
    assert len(looked) == 2
    assert again.problems == first.problems


def test_a_longer_file_is_read_in_pieces(home, looked, monkeypatch):
    monkeypatch.setattr(passing, "LONGEST", 200)
    home.put({"abc/wpaper/1.rdf": template(1) + template(2), "abc/wpaper/3.rdf": template(3)})
    assert home.tobi().counts["appearance"] == 3
    assert home.tobi().counts["same"] == 3
    assert len(looked) == 5


class Torn:
    """A file that breaks off behind *data*."""

    path = place = "abc/1.rdf"
    size = 10
    stamp = None

    def __init__(self, data: bytes) -> None:
        self._left = data

    def read(self, size: int, /) -> bytes:
        if not self._left:
            raise TornFile("torn")
        piece, self._left = self._left[:size], self._left[size:]
        return piece


def test_of_a_torn_file_what_is_there_is_read_before_that_is_told(home):
    home.put({})
    home.data.mkdir(parents=True)
    home.tobi()
    with home.records() as records:
        look = passing.UnchangedFiles(records, START, now=START).look(Torn(b"abc"))
    assert not isinstance(look.source, bytes)
    assert [look.source.read(2), look.source.read(2)] == [b"ab", b"c"]
    with pytest.raises(TornFile):
        look.source.read(2)


def test_an_entry_is_what_it_was():
    entry = FileEntry([7, 0, 9, 8], [1, 30, 31, 99], [True, False, True, False],
                      {1: [TemplateProblem(0, "no-handle", "ü")],
                       3: [TemplateProblem(2, "x", "y"), TemplateProblem(5, "z", "")]},
                      "0" * 16)  # fmt: skip
    for one in (entry, FileEntry()):
        assert FileEntry.decoded(one.encoded(b"d" * 32, FileStamp(1, 2, 3, 4, 5))) == one
        assert FileEntry.decoded(one.encoded(b"d" * 32, None)) == one


def test_a_database_of_before_the_cache_gets_it(home):
    home.put({"abc/wpaper/1.rdf": template(1)})
    home.tobi()
    with sqlite3.connect(home.archive / NAME) as db:
        db.execute("DROP TABLE passed")
    assert home.tobi(dry=True).counts == {"same": 1}
    assert home.tobi().counts == {"same": 1}
    with home.records() as records:
        assert records.passed_at() == home.now - DAY
