"""Damages of a store with both kinds of obis: ``archec check`` has a code for each."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from scrapy.settings import Settings

from lafka.archec.records.sqlite import NAME
from lafka.archec.store.folders import ObiStore
from lafka.cli.archec import problems_of
from lafka.witness.problems import StoreProblem
from tests.archec.crawling import crawl, template
from tests.archec.stores import Home
from tests.sites.papers import as_pdf, pdf
from tests.sites.server import Server, redirect

HOST = "127.0.0.2"
PAPER = "RePEc:abc:wpaper:{}"
PAGE = Path(__file__).parents[2] / "docs" / "archec-damage.md"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A store with two states of templates, a loss, a redirect, evidence and a held content."""
    home = Home(tmp_path_factory.mktemp("sound") / "archec", now=int(time.time()) - 300_000)
    with Server((HOST,)) as site:
        at = site.at(HOST)
        site.routes |= {
            "/0.pdf": as_pdf(pdf("zero"), 'ETag: "0"'), "/1.pdf": redirect("/to.pdf"),
            "/to.pdf": as_pdf(pdf("one")), "/2.pdf": as_pdf(pdf("zero")),
        }  # fmt: skip
        home.put({f"abc/wpaper/{n}.rdf": template(n, f"{at}/{n}.pdf") for n in range(4)})
        home.tobi()
        home.put({"abc/wpaper/0.rdf": template(0, f"{at}/0.pdf", more="Title: B\n")})
        (home.data / "abc/wpaper/3.rdf").unlink()
        home.tobi()
        crawl(home)
    return home


@pytest.fixture
def home(sound: Home, tmp_path: Path) -> Home:
    shutil.copytree(sound.archive, tmp_path / "archec/archive", symlinks=True)
    return Home(tmp_path / "archec", now=sound.now)


def check(home: Home, *ids: str, quick: bool = False) -> list[StoreProblem]:
    settings = Settings({"LAFKA_OBJECT_STORE": str(home.archive), "LAFKA_CACHING_DATABASE": "",
                         "LAFKA_ARCHIVE": "archive"})  # fmt: skip
    return list(problems_of(home.archive, settings, ids, quick=quick))


def tists(home: Home, kind: str = "tobi") -> list[int]:
    return [tist for tist, lines in home.journals().items() if lines[0]["kind"] == kind]


def journal(home: Home, kind: str = "tobi", place: int = 0) -> Path:
    return home.archive / "journal" / f"{tists(home, kind)[place]}.jsonl"


def evidence(home: Home) -> Path:
    (path,) = (home.archive / "evidence").glob("*.warc")
    return path


def obi(home: Home, kind: str = "tobi", *, link: bool = False) -> Path:
    folder = Path(ObiStore(home.archive).folder(tists(home, kind)[0]))
    return next(path for path in sorted(folder.iterdir()) if path.is_symlink() is link)


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.chmod(0o644)
    before = path.read_bytes()
    after = change(before)
    assert after != before
    path.write_bytes(after)


def in_journal(old: bytes, new: bytes, kind: str = "tobi") -> Callable[[Home], None]:
    return lambda home: rewrite(journal(home, kind), lambda data: data.replace(old, new, 1))


def without_line(number: int, kind: str = "tobi") -> Callable[[Home], None]:
    def cut(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        return b"".join(lines[:number] + lines[number + 1 :] if number >= 0 else lines[:number])

    return lambda home: rewrite(journal(home, kind), cut)


def in_database(*statements: str) -> Callable[[Home], None]:
    def act(home: Home) -> None:
        with closing(sqlite3.connect(home.archive / NAME)) as db, db:
            for statement in statements:
                assert db.execute(statement).rowcount != 0, statement

    return act


def garbage(home: Home) -> None:
    with closing(sqlite3.connect(home.archive / NAME)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'obi'").fetchone()[0]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    with (home.archive / NAME).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * 8192)


def of_another_store(home: Home) -> None:
    other = Home(home.root / "other")
    other.put({"xyz/wpaper/1.rdf": template(1, "http://x.example/1")})
    other.tobi()
    with closing(sqlite3.connect(other.archive / NAME)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for suffix in ("-wal", "-shm"):
        (home.archive / f"{NAME}{suffix}").unlink(missing_ok=True)
    shutil.copyfile(other.archive / NAME, home.archive / NAME)


def flipped(path: Path, place: int) -> None:
    def flip(data: bytes) -> bytes:
        at = place if place >= 0 else len(data) + place
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    rewrite(path, flip)


def relink(home: Home, target: str) -> None:
    path = obi(home, "fobi", link=True)
    path.unlink()
    path.symlink_to(target)


def renamed(path: Path, name: str) -> None:
    path.rename(path.with_name(name))


Damage = Callable[[Home], object]
DAMAGES: dict[str, tuple[Damage, str]] = {
    # Journals
    "a byte of a line end": (in_journal(b"}\n", b"}|"), "bad-journal"),
    "found": (in_journal(b'"found": 1', b'"found": 2'), "broken-chain"),
    "uri": (in_journal(b"/0.pdf", b"/9.pdf"), "broken-chain"),
    "file": (in_journal(b"wpaper/0.rdf", b"wpaper/7.rdf"), "broken-chain"),
    "time": (in_journal(b'"time": "2', b'"time": "3', "fobi"), "broken-chain"),
    "status": (in_journal(b'"status": 200', b'"status": 206', "fobi"), "broken-chain"),
    "a digest": (in_journal(b'"sha256": "', b'"sha256": "0', "fobi"), "broken-chain"),
    "an event": (in_journal(b'"appearance"', b'"change"    '), "broken-chain"),
    "a line gone": (without_line(2), "broken-chain"),
    "the end gone": (without_line(-1), "open-journal"),
    "a journal emptied": (lambda home: rewrite(journal(home), lambda _: b""), "bad-journal"),
    "a journal gone": (lambda home: journal(home).unlink(), "broken-chain"),
    "the last journal gone": (lambda home: journal(home, "fobi").unlink(), "stray-object"),
    "a journal of another": (
        lambda home: shutil.copyfile(journal(home, place=1), journal(home)), "bad-journal"),
    "bytes behind an end": (
        lambda home: rewrite(journal(home), lambda data: data + b"{}\n"), "bad-journal"),
    "a stranger among journals": (
        lambda home: (home.archive / "journal/notes.txt").write_text("x"), "bad-journal"),
    "a draft of a journal": (
        lambda home: (home.archive / "journal/.draft-tobi").write_text("x"), "left-draft"),
    "all journals gone": (lambda home: shutil.rmtree(home.archive / "journal"), "stray-object"),
    # Objects
    "a template gone": (lambda home: obi(home).unlink(), "missing-object"),
    "a file gone": (lambda home: obi(home, "fobi").unlink(), "missing-object"),
    "a bit of a template": (lambda home: flipped(obi(home), 40), "changed-object"),
    "a bit of a file": (lambda home: flipped(obi(home, "fobi"), 9), "changed-object"),
    "a file cut": (lambda home: rewrite(obi(home, "fobi"), lambda d: d[:-1]), "changed-object"),
    "a file emptied": (lambda home: rewrite(obi(home), lambda _: b""), "changed-object"),
    "a file renamed": (
        lambda home: renamed(obi(home), "RePEc%3Aabc%3Awpaper%3A77"), "stray-object"),
    "a file too many": (
        lambda home: obi(home).with_name("http%3A%2F%2Fx%2F").write_text("x"), "stray-object"),
    "a folder too many": (
        lambda home: (home.archive / "000/000/1").mkdir(parents=True), "wrong-place"),
    "a stranger in the store": (lambda home: (home.archive / "x").write_text("x"), "wrong-place"),
    "a draft left": (lambda home: obi(home).with_name(".draft-7").write_text("x"), "left-draft"),
    "a gathering's folder gone": (lambda home: shutil.rmtree(obi(home).parent), "missing-object"),
    # Links
    "a link gone": (lambda home: obi(home, "fobi", link=True).unlink(), "missing-object"),
    "a link to nothing": (lambda home: relink(home, "nothing"), "dangling-link"),
    "a link out of the store": (lambda home: relink(home, "../../../../.."), "outside-link"),
    "a link to itself": (
        lambda home: relink(home, obi(home, "fobi", link=True).name), "link-loop"),
    "a link to another file": (
        lambda home: relink(home, "../../../archec.json"), "changed-object"),
    # Evidence
    "evidence gone": (lambda home: evidence(home).unlink(), "bad-evidence"),
    "a bit of evidence": (lambda home: flipped(evidence(home), -60), "bad-evidence"),
    "evidence cut": (lambda home: rewrite(evidence(home), lambda d: d[:-7]), "bad-evidence"),
    "evidence of none": (
        lambda home: evidence(home).with_name("1352481230.warc").write_bytes(b""), "bad-evidence"),
    # The database
    "no database": (lambda home: (home.archive / NAME).unlink(), "bad-records"),
    "garbage in the database": (garbage, "bad-records"),
    "no database at its place": (
        lambda home: rewrite(home.archive / NAME, lambda _: b"x" * 9000), "bad-records"),
    "the database of another": (of_another_store, "bad-records"),
    "pointers deleted": (in_database("DELETE FROM refipo"), "records-differ"),
    "found, due, state, etag": (
        in_database("UPDATE obi SET found = 1, due = 2, state = 'lost', etag = 'x'"),
        "records-differ"),
    "a version deleted": (
        in_database("DELETE FROM m WHERE tist = (SELECT max(tist) FROM m)"), "records-differ"),
    "a content elsewhere": (in_database("UPDATE v SET length = length + 1"), "records-differ"),
    "a loss forgotten": (in_database("DELETE FROM loss"), "records-differ"),
    # The marker
    "the marker gone": (lambda home: (home.archive / "archec.json").unlink(), "bad-marker"),
    "the marker of another format": (
        lambda home: (home.archive / "archec.json").write_text('{"format": 9}'), "bad-marker"),
}  # fmt: skip


def test_a_sound_store_has_no_problem(home: Home) -> None:
    assert check(home) == []
    assert check(home, quick=True) == []
    assert check(home, PAPER.format(0)) == []


@pytest.mark.parametrize(("damage", "code"), DAMAGES.values(), ids=DAMAGES)
def test_each_damage_is_told(home: Home, damage: Damage, code: str) -> None:
    damage(home)
    found = check(home)
    assert code in [one.code for one in found], [one.to_json() for one in found]


def test_the_page_has_them_all() -> None:
    rows = re.findall(r"^\| ([^|`]+) \| `([a-z-]+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert rows == [(name, code) for name, (_, code) in DAMAGES.items()]


def test_what_is_not_there_yet_is_a_warning(home: Home) -> None:
    (home.archive / NAME).unlink()
    ((code, severity),) = {(one.code, one.severity) for one in check(home)}
    assert (code, severity) == ("bad-records", "warning")


@pytest.mark.parametrize("has_database", [True, False])
def test_one_obi_is_looked_at_alone(home: Home, *, has_database: bool) -> None:
    flipped(obi(home), 40)
    if not has_database:
        (home.archive / NAME).unlink()
    assert [one.code for one in check(home, PAPER.format(0))] == ["changed-object"]
    assert check(home, PAPER.format(1)) == []
    assert check(home, PAPER.format(9)) == []


def test_of_one_obi_its_own_journals_alone_are_read(home: Home) -> None:
    """Of a damaged store, too: where millions of obis are, nobody waits for all journals."""
    rewrite(journal(home), lambda data: data.replace(b":wpaper:2", b":wpaper:8"))
    (home.archive / "journal" / "1000000000.jsonl").write_text("no journal\n")
    assert check(home, PAPER.format(0)) == []


def test_evidence_is_sealed_by_the_last_line(home: Home) -> None:
    (end,) = [json.loads(line) for line in journal(home, "fobi").read_bytes().splitlines()[-1:]]
    assert end["evidence"]["length"] == evidence(home).stat().st_size
