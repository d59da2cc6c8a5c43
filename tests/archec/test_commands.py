"""The commands as an operator gives them: tobi, obi and archec's verbs, each a process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from unittest.mock import ANY

import pytest

from lafka.archec.records.sqlite import NAME
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.tists import to_text
from tests import starts
from tests.archec.stores import DAY, START, Home, objects, template, unchain

ROOT = Path(__file__).parents[2]
PAPER = "RePEc:abc:wpaper:{}"


class Operator:
    """Gives commands over the home *home*, in the folder of its own scrapy.cfg."""

    def __init__(self, home: Home) -> None:
        self.home = home
        home.root.mkdir(parents=True, exist_ok=True)
        text = "[settings]\ndefault = lafka.settings\n[archec]\nReDIF_directory = data/current\n"
        (home.root / "scrapy.cfg").write_text(f"{text}object_store = archive\n")

    def gives(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        return starts.verb("lafka", *args, folder=self.home.root)

    def gets(self, *args: str | Path) -> str:
        done = self.gives(*args)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lines(self, *args: str | Path) -> list[dict]:
        return [json.loads(line) for line in self.gets(*args).splitlines()]

    def refusal(self, *args: str | Path, code: int = 2) -> str:
        """The one sentence with which a command refused."""
        done = self.gives(*args)
        told = [line for line in done.stderr.splitlines() if not line.startswith("store: ")]
        assert (done.returncode, len(told), done.stdout) == (code, 1, ""), done.stderr
        assert told[0].startswith("lafka ")
        return told[0]


@pytest.fixture
def operator(home: Home) -> Operator:
    return Operator(home)


def test_the_paper_and_back(operator):
    """Three runs with a change and a loss between them; obi and list tell the history."""
    (first,) = operator.lines("tobi")
    assert (first["appearance"], first["problems"]) == (3, {})
    operator.home.put({"abc/wpaper/0.rdf": template(0, title="B")})
    (operator.home.data / "abc/wpaper/1.rdf").unlink()
    (second,) = operator.lines("tobi", "data/current")
    assert (second["change"], second["deletion"], second["same"]) == (1, 1, 1)
    times = first["gatherings"] + second["gatherings"]

    obi = PAPER.format(0)
    assert operator.gets("obi", obi) == template(0, title="B")
    assert operator.gets("obi", "repec:ABC:WPAPER:0", "--at", str(times[0])) == template(0)
    told = operator.lines("obi", obi, "--versions")
    assert [(line["e"], line["tist"]) for line in told] == [
        ("appearance", times[0]), ("change", times[1]),
    ]  # fmt: skip
    diff = operator.gets("obi", obi, "--diff", str(times[0]), str(times[1]))
    assert "-Title: A\n+Title: B\n" in diff
    (pointer,) = operator.lines("obi", obi, "--refipos")
    assert pointer["fobi"] == "http://x.example/abc/0.pdf"
    pointing = operator.lines("obi", "HTTP://X.example:80/abc/0.pdf", "--pointing")
    assert {line["tobi"] for line in pointing} == {obi}
    path = Path(operator.gets("obi", obi, "--path").strip())
    assert (operator.home.root / path).read_text() == template(0, title="B")

    lost = operator.lines("archec", "list", "--lost", str(times[1]), str(times[1] + 1))
    assert [line["id"] for line in lost] == [PAPER.format(1)]
    args = ("--changed", "2012-01-01", "2100-01-01", "--archive", "abc")
    assert [one["id"] for one in operator.lines("archec", "list", *args)] == [obi]
    found = operator.lines(
        "archec", "list", "--found", "2012-01-01", "2013-01-01", "--kind", "tobi"
    )
    assert len(found) == 3
    assert operator.gets("archec", "check") == ""


def test_an_obi_is_written_to_a_file_that_is_not_there(operator, tmp_path):
    operator.gets("tobi")
    target = tmp_path / "template.rdf"
    operator.gets("obi", PAPER.format(2), "-o", target)
    assert target.read_text() == template(2)
    assert "File exists" in operator.refusal("obi", PAPER.format(2), "-o", target)
    assert target.read_text() == template(2)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("obi",), "which obi"),
        (("obi", "abc"), "fewer than two parts"),
        (("obi", PAPER.format(77)), "not in the store"),
        (("obi", PAPER.format(0), "--at", "1999-01-01"), "nothing of it was in the store"),
        (("obi", PAPER.format(0), "--at", "soon"), "nor a time like"),
        (("tobi", "nowhere"), "no such file"),
        (("tobi", "--at", "name"), "wants -f"),
        (("tobi", "--at", "12"), "no tist of 9 to 11 digits"),
        (("tobi", "--at", "1999-01-01"), "time goes forward"),
        (("tobi", "-f", "none.tar"), "no such tarball"),
        (("tobi", "a", "b"), "unexpected argument"),
        (("tobi", "-s", "LAFKA_LOSS_SHARE=x"), "has to be a number from 0"),
        (("tobi", "-s", "LAFKA_CACHING_DATABASE=oracle://x"), "not like mongodb://"),
        (("tobi", "-s", "LAFKA_OBJECT_STORE=data"), "a folder of something else"),
        (("tobi", "-s", "LAFKA_OBJECT_STORE=archive", "-s", "LAFKA_ARCHIVE=archive"), "are both"),
        (("archec", "check", "-s", "LAFKA_OBJECT_STORE=data"), "no obi store is here"),
        (("archec",), "say a verb"),
        (("archec", "adopt", "data"), "no folder of a gathering"),
        (("archec", "list", "--lost", "2012-01-01"), "expected 2 arguments"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_in_one_sentence(operator, args, told):
    operator.home.tobi()
    assert told in operator.refusal(*args)


def test_old_tarballs_are_replayed_at_their_dates(operator):
    tarballs = operator.home.root / "data" / "tarballs"
    tarballs.mkdir()
    for name, title in (("2012-11-07", "A"), ("2013-01-02", "B")):
        operator.home.put({"abc/wpaper/0.rdf": template(0, title=title)}, mtime=1300000000)
        with tarfile.open(tarballs / f"{name}.tar.gz", "w:gz") as tar:
            tar.add(operator.home.data, "RePEc")
    operator.gets("tobi", "-f", "2012-11-07.tar.gz", "--at", "name")
    (told,) = operator.lines("tobi", "-f", tarballs / "2013-01-02.tar.gz", "--at", "name")
    assert (told["gatherings"], told["change"]) == ([1357084800], 1)
    assert operator.gets("obi", PAPER.format(0), "--at", "2012-12-24") == template(0)
    done = operator.gives("tobi", "-f", "2013-01-02.tar.gz")
    assert (done.returncode, "--at name would take it" in done.stderr) == (0, True)


def test_withheld_losses_end_with_3(operator):
    operator.home.put({f"nbr/wpaper/{n}.rdf": template(n, "nbr") for n in range(30)})
    operator.gets("tobi")
    shutil.rmtree(operator.home.data / "nbr")
    done = operator.gives("tobi")
    assert (done.returncode, "30 losses of nbr are withheld" in done.stderr) == (3, True)
    (told,) = operator.lines("tobi", "--accept-losses", "nbr")
    assert told["deletion"] == 30


def test_exit_codes_are_those_of_the_page(operator):
    """The table of docs/archec.md, but for what stops a run: tests of damage and refusals."""
    home = operator.home
    torn = home.root / "torn.tar"
    with tarfile.open(torn, "w") as tar:
        tar.add(home.data, "RePEc")
    os.truncate(torn, 2600)
    page = (ROOT / "docs" / "archec.md").read_text("utf-8")
    rows = re.findall(r"^\| ([0-3]) \| (.*?) \| .*? \| (.*?) \|$", page, re.MULTILINE)
    said = {code: (tobi, futlis) for code, tobi, futlis in rows}
    assert "not all could be read" in said["3"][0]
    assert "not all could be read" in said["3"][1]
    for args, code in {
        ("tobi",): 0, ("futlis", "data/current"): 0, ("tobi", "-f", "torn.tar"): 3,
        ("futlis", "-f", "torn.tar"): 3, ("tobi", "none"): 2, ("futlis", "none"): 2,
    }.items():  # fmt: skip
        assert operator.gives(*args).returncode == code, args
    home.put({"abc/wpaper/1.rdf": PAGE})
    assert operator.gives("tobi").returncode == 3
    (journal,) = list((home.archive / "journal").glob("*"))[:1]
    journal.write_bytes(journal.read_bytes()[:-3] + b"|}\n")
    (home.archive / NAME).unlink()
    assert operator.gives("tobi").returncode == 1


def test_a_dry_run_writes_nothing_before_the_first_run_or_after(operator):
    (told,) = operator.lines("tobi", "--dry-run")
    assert (told["dry"], told["appearance"]) == (True, 3)
    assert not operator.home.archive.exists()
    ObiStore.create(operator.home.archive)
    assert operator.lines("tobi", "--dry-run") == [told | {"gatherings": [ANY]}]
    assert not (operator.home.archive / NAME).exists()
    assert "a folder of something else" in operator.refusal(
        "tobi", "--dry-run", "-s", "LAFKA_OBJECT_STORE=data"
    )
    operator.gets("tobi")
    home = operator.home
    home.put({"abc/wpaper/0.rdf": template(0, title="B"), "abc/wpaper/9.rdf": template(9)})
    (home.data / "abc/wpaper/1.rdf").unlink()
    before = home.objects(), home.journals(), home.walk()
    (told,) = operator.lines("tobi", "--dry-run")
    events = ("appearance", "change", "deletion", "same")
    assert (told["dry"], [told[event] for event in events]) == (True, [1, 1, 1, 1])
    assert (home.objects(), home.journals(), home.walk()) == before


PAGE = b"<html><head><title>503</title></head><body>Service Unavailable</body></html>\n"


def test_a_lost_database_is_made_again(operator):
    operator.gets("tobi")
    before = operator.home.walk()
    (operator.home.archive / NAME).unlink()
    assert "rebuild makes it from the journals" in operator.refusal("obi", PAPER.format(0))
    operator.gets("archec", "rebuild")
    assert operator.home.walk() == before
    operator.gets("archec", "rebuild", "--from-files")
    assert operator.home.walk() == before


def test_damage_is_told_and_ends_with_1(operator):
    operator.gets("tobi")
    store = ObiStore(operator.home.archive)
    (tist,) = store.journals()
    path = store.path(tist, PAPER.format(1))
    path.chmod(0o644)
    path.write_text("x")
    done = operator.gives("archec", "check")
    assert done.returncode == 1
    assert json.loads(done.stdout)["code"] == "changed-object"
    assert operator.gives("archec", "check", PAPER.format(0)).returncode == 0
    assert operator.gives("archec", "check", "--quick", PAPER.format(1)).returncode == 1


ASKING_OF_AN_ARCHIVE = (
    ("archec", "report"), ("archec", "export", "warcs"), ("futlis", "--from-store"),
    ("archec", "list", "--noted", str(START), str(START + DAY)),
)  # fmt: skip


def test_an_archive_that_the_store_does_not_know_is_refused(operator):
    operator.gets("tobi", "--at", START)
    for asking in ASKING_OF_AN_ARCHIVE:
        told = operator.refusal(*asking, "--archive", "abd")
        assert told.endswith(": --archive abd: the store has no template of that archive")
        assert operator.gets(*asking, "--archive", "ABC")


def test_the_check_says_since_when_the_journals_prove_what_they_tell(operator):
    operator.gets("tobi", "--at", START)
    unchain(operator.home.archive)
    told = operator.gives("archec", "check", "--quick").stderr
    assert told.endswith("; no journal is proved by a chain yet, which the next gathering begins\n")
    operator.gets("tobi", "--at", START + DAY)
    told = operator.gives("archec", "check").stderr
    assert told.endswith(f"; the journals prove all since {START + DAY} ({to_text(START + DAY)})\n")


def test_a_store_on_a_disk_that_cannot_be_written_can_be_looked_at(operator):
    operator.gets("tobi")
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    for path in (operator.home.archive, operator.home.archive / NAME):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert operator.gets("obi", PAPER.format(0)) == template(0)
        assert "cannot be written" in operator.refusal("tobi")
    finally:
        operator.home.archive.chmod(0o755)


def first_archec(root: Path) -> dict[str, bytes | str]:
    """A tree by the paper's rule alone: templates, a page behind a redirect, a cut name."""
    files = {
        "032/184/2531/RePEc%3Aabc%3Awpaper%3A1": template(1).encode(),
        "032/184/2531/http%3A%2F%2Fopenlib.org%2Fhome%2Fkrichel%2F": b"<html><body>Krichel</body>",
        "004/285/4931/RePEc%3Aabc%3Awpaper%3A1": template(1, title="B").encode(),
        "004/285/4931/RePEc%3Aabc%3Awpaper%3A2": template(2).encode(),
    }
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1300000000, 1300000000))
        path.chmod(0o444)
    (root / "032/184/2531/http%3A%2F%2Fopenlib.org%2Fold").symlink_to(
        "http%3A%2F%2Fopenlib.org%2Fhome%2Fkrichel%2F"
    )
    return objects(root)


def test_a_store_of_the_first_archec_is_taken_over_in_place(operator):
    root = operator.home.archive
    before = first_archec(root)
    assert "lafka archec adopt" in operator.refusal("tobi")
    done = operator.gives("archec", "adopt", "archive")
    assert (done.returncode, "5 obis taken over" in done.stderr) == (0, True), done.stderr
    assert done.stderr.splitlines()[0] == f"store: {root}"
    assert objects(root) == before
    assert operator.gets("archec", "check") == ""
    told = operator.lines("obi", PAPER.format(1), "--versions")
    assert [(one["e"], one["tist"], one["found"]) for one in told] == [
        ("appearance", 1352481230, 1300000000), ("change", 1394582400, 1300000000),
    ]  # fmt: skip
    assert "Krichel" in operator.gets(
        "obi", f"http://openlib.org/{'home'}/krichel", "--at", "2012-12-01"
    )
    assert "Krichel" in operator.gets("obi", "http://openlib.org/old")
    operator.home.put({"abc/wpaper/1.rdf": template(1), "abc/wpaper/2.rdf": template(2)})
    (operator.home.data / "abc/wpaper/0.rdf").unlink()
    (told,) = operator.lines("tobi")
    assert (told["change"], told["same"], told.get("appearance", 0)) == (1, 1, 0)
    assert operator.gives("archec", "adopt", "archive").returncode == 0


def test_strange_files_of_an_adopted_tree_are_told_and_left(operator):
    first_archec(operator.home.archive)
    strange = operator.home.archive / "032/184/2531/notes.txt"
    strange.write_text("mine")
    done = operator.gives("archec", "adopt", "archive")
    assert (done.returncode, "notes.txt: no obi's, left as it is" in done.stderr) == (1, True)
    assert strange.read_text() == "mine"


def test_a_killed_gathering_is_ended_by_recover(operator):
    operator.gets("tobi")
    (tist,) = ObiStore(operator.home.archive).journals()
    journal = operator.home.archive / "journal" / f"{tist}.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]) + lines[2][:30])
    (operator.home.archive / NAME).unlink()
    told = operator.gets("archec", "recover")
    assert told.startswith(f"{tist}: 2 tobis rolled forward, 0 drafts and links removed, 30 bytes")
    assert operator.gets("archec", "check") == ""
    assert operator.lines("tobi")[0]["same"] == 3


def test_an_archive_of_papers_is_not_made_in_an_obi_store(operator):
    operator.gets("tobi")
    listed = operator.home.root / "list.tsv"
    listed.write_text("RePEc:abc:wpaper:1\thttp://127.0.0.1:1/\n")
    told = operator.gives("crawl", "futli", "-a", f"input={listed}", "-s", "LAFKA_ARCHIVE=archive")
    assert "an obi store, the archive needs a folder of its own" in told.stderr
    assert not (operator.home.archive / "lafka.json").exists()
