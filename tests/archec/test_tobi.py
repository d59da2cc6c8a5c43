"""Runs over RePEc data: what is stored, noted, lost; told by journals, files and records."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from lafka.archec.gather import gathering, tobis
from lafka.archec.records.opening import anew, catch_up
from lafka.archec.records.sqlite import NAME
from lafka.archec.store.folders import ObiStore
from lafka.errors import (
    ArchiveBusy,
    BadArgument,
    BadStore,
    KeeperError,
    NotHeld,
    StorageTrouble,
)  # fmt: skip
from tests.archec.stores import DAY, START, Home, template, unchain, walked

PAPER = "RePEc:abc:wpaper:{}"


def events(home: Home, tist: int) -> list[tuple[str, str]]:
    return [(line["e"], line.get("id", "")) for line in home.journal(tist)[1:-1]]


def everything(root: Path) -> dict[str, object]:
    """Every file but the database and the locks, with its bytes and mtime."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file() and NAME not in path.name and path.suffix != ".lock"
    }


def test_a_second_run_writes_nothing_but_the_two_lines_of_its_journal(home):
    home.tobi()
    before, walk = everything(home.archive), home.walk()
    report = home.tobi()
    after = everything(home.archive)
    new = set(after) - set(before)
    assert new == {f"journal/{START + DAY}.jsonl"}
    assert {name: after[name] for name in before} == before
    assert len(home.journal(START + DAY)) == 2
    assert (report.counts["same"], home.walk()) == (3, walk)


def test_appearance_change_and_deletion_are_the_three_incidences(home):
    home.tobi()
    home.put({"abc/wpaper/0.rdf": template(0, title="B"), "abc/wpaper/9.rdf": template(9)})
    (home.data / "abc/wpaper/1.rdf").unlink()
    home.tobi()
    assert events(home, START + DAY) == [
        ("change", PAPER.format(0)), ("appearance", PAPER.format(9)),
        ("deletion", PAPER.format(1)),
    ]  # fmt: skip
    home.put({"abc/wpaper/1.rdf": template(1)})
    home.tobi()
    assert events(home, START + 2 * DAY) == [("appearance", PAPER.format(1))]
    with home.records() as records:
        found = records.history(PAPER.format(1))
        assert found
        assert (found.past, found.lost) == ([START + DAY], None)


def test_content_whose_file_was_taken_away_is_stored_anew(home):
    home.tobi()
    home.put({"abc/wpaper/0.rdf": template(0, title="B")})
    home.tobi()
    store = ObiStore(home.archive)
    store.path(START, PAPER.format(0)).unlink()
    home.put({"abc/wpaper/0.rdf": template(0)})
    home.tobi()
    assert store.read(START + 2 * DAY, PAPER.format(0)) == template(0).encode()
    assert not store.path(START + 2 * DAY, PAPER.format(0)).is_symlink()


def test_an_mtime_after_the_run_or_none_at_all_is_replaced_by_the_tist(home):
    home.put({"abc/wpaper/0.rdf": template(0)}, mtime=START + 9 * DAY)
    home.put({"abc/wpaper/1.rdf": template(1)}, mtime=0)
    report = home.tobi()
    assert report.counts["late"] == 2
    assert [line["found"] for line in home.journal(START)[1:-1]] == [START, START, START - DAY]
    assert ObiStore(home.archive).path(START, PAPER.format(0)).stat().st_mtime == START


def test_one_handle_in_its_own_folder_and_in_another_is_that_of_its_own(home):
    copy, own = template(7, title="copy"), template(7, title="own")
    home.put({"aaa/copies.rdf": copy, "abc/wpaper/z.rdf": own, "zzz/copies.rdf": copy})
    report = home.tobi()
    store = ObiStore(home.archive)
    assert store.read(START, PAPER.format(7)) == own.encode()
    assert report.problems["duplicate-handle"] == 2
    again = home.tobi()
    assert (again.problems, events(home, START + DAY)) == (report.problems, [])
    with home.records() as records:
        told = [one for one in records.problems() if one.code == "duplicate-handle"]
        assert {one.file for one in told} == {"RePEc/aaa/copies.rdf", "RePEc/zzz/copies.rdf"}
        assert all("abc/wpaper/z.rdf, line 1" in one.sentence for one in told)


def test_the_same_handle_twice_in_its_own_folder_is_the_first(home):
    home.put({"abc/wpaper/d.rdf": template(7, title="one") + template(7, title="two"),
              "abc/wpaper/e.rdf": template(7, title="one")})  # fmt: skip
    report = home.tobi()
    assert ObiStore(home.archive).read(START, PAPER.format(7)) == template(7, title="one").encode()
    assert report.problems["duplicate-handle"] == 1


def test_a_copy_in_all_is_not_asked_for_where_the_archive_has_its_own(home):
    arch = "Template-Type: ReDIF-Archive 1.0\nName: {}\nURL: http://a.example/\nHandle: RePEc:abc\n"
    home.put({"all/abcarch.rdf": arch.format("old"), "abc/abcarch.rdf": arch.format("own")})
    home.tobi()
    assert b"own" in ObiStore(home.archive).read(START, "RePEc:abc")


def test_a_gathering_ends_when_its_folder_is_full(home, monkeypatch):
    monkeypatch.setattr(tobis, "OBIS_MAX", 4)
    home.put({f"abc/wpaper/{n}.rdf": template(n) for n in range(10)})
    report = home.tobi()
    assert report.tists == [START, START + 1, START + 2]
    assert [len(events(home, tist)) for tist in report.tists] == [4, 4, 2]
    assert report.counts["appearance"] == 10


def test_gatherings_of_the_past_have_the_tist_that_is_said(home):
    report = home.tobi(at=1200000000)
    assert (report.tists, home.journal(1200000000)[0]["at"]) == ([1200000000], True)
    with pytest.raises(BadArgument, match="not after 1200000000, the last gathering"):
        home.tobi(at=1199999999)
    report = home.tobi(at=1200000001)
    assert report.tists == [1200000001]


def test_time_goes_forward_where_the_clock_does_not(home):
    home.tobi()
    home.now = START - 365 * DAY
    report = home.tobi()
    assert (report.tists, report.moved) == ([START + 1], 365 * DAY + 1)


def test_a_tist_that_a_folder_has_is_not_taken_again(home):
    store = ObiStore.create(home.archive)
    store.folder(START).mkdir(parents=True)
    assert home.tobi().tists == [START + 1]


def test_a_tarball_gives_what_the_folder_gives(home, tmp_path):
    tarball = tmp_path / "2012-11-07.tar.gz"
    with tarfile.open(tarball, "w:gz") as tar:
        tar.add(home.data, "RePEc")
    home.tobi(source=tarball)
    head = home.journal(START)[0]
    assert set(head["source"]) == {"tarball", "sha256"}
    assert home.tobi().counts == {"same": 3}


def many(home: Home, archive: str, count: int) -> None:
    home.put({f"{archive}/wpaper/{n}.rdf": template(n, archive) for n in range(count)})


def gone(home: Home, archive: str, count: int) -> None:
    for n in range(count):
        (home.data / archive / "wpaper" / f"{n}.rdf").unlink()


def test_many_losses_at_once_are_withheld_for_thirty_days(home):
    many(home, "nbr", 40)
    home.tobi()
    gone(home, "nbr", 11)
    report = home.tobi()
    assert (report.withheld, report.counts["deletion"]) == ({"nbr": 11}, 0)
    assert home.journal(START + DAY)[1] == {"e": "withheld", "archive": "nbr", "count": 11}
    home.now = START + 29 * DAY
    assert home.tobi().withheld == {"nbr": 11}
    home.now = START + 31 * DAY
    report = home.tobi()
    assert (report.withheld, report.counts["deletion"]) == ({}, 11)


def test_what_comes_back_begins_the_thirty_days_anew(home):
    many(home, "nbr", 40)
    home.tobi()
    gone(home, "nbr", 11)
    home.tobi()
    many(home, "nbr", 40)
    assert home.tobi().withheld == {}
    gone(home, "nbr", 11)
    home.now = START + 40 * DAY
    assert home.tobi().withheld == {"nbr": 11}


@pytest.mark.parametrize(("there", "lost"), [(40, 10), (100, 20)])
def test_few_losses_are_believed_at_once(home, there, lost):
    many(home, "nbr", there)
    home.tobi()
    gone(home, "nbr", lost)
    assert (home.tobi().counts["deletion"], home.walk()[0]["lost"]) == (lost, None)


def test_an_archive_whose_folder_is_gone_is_lost_unless_the_data_are_partial(home, tmp_path):
    many(home, "xyz", 5)
    home.tobi()
    (home.data / "abc").rename(tmp_path / "abc")
    assert home.tobi(partial=True).counts["deletion"] == 0
    assert home.tobi().withheld == {"abc": 3}
    home.now += 30 * DAY
    assert home.tobi(partial=True).counts["deletion"] == 0
    assert home.tobi().counts["deletion"] == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_not_lost(home):
    home.tobi()
    (home.data / "abc" / "wpaper").chmod(0)
    try:
        report = home.tobi()
    finally:
        (home.data / "abc" / "wpaper").chmod(0o755)
    assert report.counts["deletion"] == 0


def test_current_switched_during_a_run_mixes_nothing(home, tmp_path):
    new = tmp_path / "new"
    (home.data.parent).rename(tmp_path / "old")
    home.data.parent.symlink_to(tmp_path / "old")
    look = tobis.TobiRun._judge_all

    def switching(run, batch):
        home.data.parent.unlink()
        home.data.parent.symlink_to(new)
        tobis.TobiRun._judge_all = look
        look(run, batch)

    tobis.TobiRun._judge_all = switching
    assert home.tobi().counts["appearance"] == 3


def test_two_runs_at_once_are_one(home):
    store = ObiStore.create(home.archive)
    with store.locked("tobi"), pytest.raises(ArchiveBusy, match=rf"process {os.getpid()} on \S+"):
        home.tobi()
    with store.locked("fobi"):
        assert home.tobi().counts["appearance"] == 3


def test_the_database_is_made_again_from_the_journals(home):
    for title in "ABC":
        home.put({"abc/wpaper/0.rdf": template(0, title=title)})
        home.tobi()
    (home.data / "abc/wpaper/1.rdf").unlink()
    home.tobi()
    before = home.walk()
    (home.archive / NAME).unlink()
    store = ObiStore(home.archive)
    with anew(store) as records:
        catch_up(store, records)
        assert walked(records) == before
    assert home.walk() == before
    (home.archive / NAME).unlink()
    assert home.tobi().counts == {"same": 2}
    assert home.walk() == before


def test_a_journal_that_was_put_back_is_not_folded_out_of_order(home, tmp_path):
    home.tobi()
    home.put({"abc/wpaper/0.rdf": template(0, title="B")})
    home.tobi()
    unchain(home.archive)
    first = home.archive / "journal" / f"{START}.jsonl"
    first.rename(tmp_path / "kept")
    home.tobi()
    (tmp_path / "kept").rename(first)
    with pytest.raises(BadStore, match="older than what the database has"):
        home.tobi()


def test_names_that_are_too_long_are_cut_and_found_again(home):
    number = "x" * 300
    home.put({"abc/wpaper/long.rdf": template(number)})
    home.tobi()
    store = ObiStore(home.archive)
    assert len(store.path(START, PAPER.format(number)).name) == 255
    assert store.read(START, PAPER.format(number)) == template(number).encode()
    assert home.tobi().counts == {"same": 4}


def test_case_twins_and_odd_numbers_have_files_of_their_own(home):
    numbers = ["a", "A", "1:2:3", "é", "50%", "a/b", "..", "*"]
    home.put({"abc/wpaper/odd.rdf": "".join(map(template, numbers))})
    home.tobi()
    store = ObiStore(home.archive)
    for number in numbers:
        assert store.read(START, PAPER.format(number)) == template(number).encode(), number


@pytest.mark.parametrize(
    ("target", "told"),
    [("gone", "leads to no file"), ("../../../../../x", "out of the store"), ("me", "10 links")],
)  # fmt: skip
def test_a_link_that_leads_nowhere_is_told(home, target, told):
    home.tobi()
    store = ObiStore(home.archive)
    place = store.path(START, "http://x.example/a")
    place.symlink_to(place.name if target == "me" else target)
    with pytest.raises(KeeperError, match=told):
        store.read(START, "http://x.example/a")


def test_the_slash_at_the_end_of_a_url_is_tried_both_ways_in_one_tist(tmp_path):
    store = ObiStore.create(tmp_path)
    store.folder(START).mkdir(parents=True)
    store.path(START, "http://x.example/a/").write_bytes(b"a")
    store.path(START, "http://x.example/b").write_bytes(b"b")
    assert store.read(START, "http://x.example/a") == b"a"
    assert store.read(START, "http://x.example/b/") == b"b"
    with pytest.raises(NotHeld):
        store.read(START + 1, "http://x.example/a")


@pytest.mark.parametrize(
    ("marker", "told"),
    [('{"format": 2}', "another format"), ("[]", "another format"), ("{", "not JSON"),
     ('{"format": 1, "names": "odd"}', "neither exact nor folded")],
)  # fmt: skip
def test_a_store_of_another_format_is_refused(tmp_path, marker, told):
    (tmp_path / "archec.json").write_text(marker)
    for make in (ObiStore, ObiStore.create):
        with pytest.raises(BadStore, match=told):
            make(tmp_path)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(BadStore, match=r"something else, it holds 'thesis\.tex'"):
        ObiStore.create(tmp_path)
    (tmp_path / "lafka.json").touch()
    with pytest.raises(BadStore, match="an archive of papers"):
        ObiStore.create(tmp_path)


def test_a_disk_that_is_blind_to_case_gets_names_that_are_not(tmp_path, monkeypatch):
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: exists(path.with_name(path.name.lower())))
    store = ObiStore.create(tmp_path / "s")
    assert store.names == "folded"
    assert [path.name for path in (tmp_path / "s").glob(".probe*")] == []
    assert store.path(START, "RePEc:A").name == "%52e%50%45c%3A%41"


def test_a_probe_that_a_power_cut_left_goes_with_the_next_run(home: Home) -> None:
    home.put({"abc/wpaper/1.rdf": template(1)})
    home.tobi()
    (home.archive / ".probe-a").touch()
    home.tobi()
    assert list(home.archive.glob(".probe*")) == []


def test_a_second_disk_error_leaves_what_was_acknowledged(home, monkeypatch):
    home.tobi()
    before, journals = home.objects(), home.journals()

    def full(*_):
        raise OSError(28, "No space left on device")

    home.put({"abc/wpaper/9.rdf": template(9)})
    monkeypatch.setattr(gathering, "write_all", full)
    with pytest.raises(StorageTrouble, match="No space left"):
        home.tobi()
    monkeypatch.undo()
    assert (home.objects(), {t: home.journals()[t] for t in journals}) == (before, journals)
    assert home.tobi().counts == {"same": 3, "appearance": 1}
