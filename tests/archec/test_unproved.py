"""Files of RePEc data that have no template any more: what they held is not lost by that."""

from __future__ import annotations

import pytest

from lafka.archec.gather import unchanged_files as passing
from lafka.archec.records.sqlite import NAME
from tests.archec.stores import DAY, START, Home, template

BROKEN = {
    "error page": b"<html><body>503 Service Unavailable</body></html>\n",
    "empty": b"",
    "UTF-16 without a mark": template(0).encode("utf-16-le"),
    "zeros": bytes(300),
    "bytes": b"\x89PNG\r\n\x1a\n\x00\x00",
    "cut": template(0).encode()[:8],
}


def broken(home: Home, data: bytes = b"<html>") -> None:
    home.put({"abc/wpaper/0.rdf": data})


def forget(home: Home) -> None:
    """Let the database be made again, so that it has no cache."""
    for path in home.archive.glob(f"{NAME}*"):
        path.unlink()


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_a_file_without_a_template_held_is_kept(home, data, is_known):
    home.tobi()
    broken(home, data)
    for _ in range(3):
        if not is_known:
            forget(home)
        report = home.tobi()
        assert (report.counts["deletion"], report.counts["same"]) == (0, 2)
        assert (report.withheld, report.problems) == ({"abc": 1}, {"no-template": 1})
    with home.records() as records:
        (told,) = records.problems()
    assert (told.file, told.line, told.code) == ("RePEc/abc/wpaper/0.rdf", 0, "no-template")
    home.put({"abc/wpaper/0.rdf": template(0)})
    report = home.tobi()
    assert (report.counts, report.withheld, report.problems) == ({"same": 3}, {}, {})


def test_the_cache_and_the_journals_take_turns(home):
    home.tobi()
    broken(home)
    for step in (home.walk, lambda: forget(home), home.walk, home.walk):
        step()
        assert home.tobi().withheld == {"abc": 1}


def test_a_file_too_long_for_the_cache_is_known_by_the_journals(home, monkeypatch):
    monkeypatch.setattr(passing, "LONGEST", 10)
    home.tobi()
    broken(home, b"<html>" * 9)
    assert home.tobi().withheld == {"abc": 1}


def test_a_template_that_moved_before_its_file_broke_is_kept(home):
    home.tobi()
    (home.data / "abc/wpaper/0.rdf").rename(home.data / "abc/wpaper/moved.rdf")
    assert home.tobi().counts == {"same": 3}
    home.put({"abc/wpaper/moved.rdf": b"<html>"})
    assert home.tobi().withheld == {"abc": 1}


def test_other_losses_of_its_archive_wait_with_it(home):
    home.tobi()
    broken(home)
    (home.data / "abc/wpaper/1.rdf").unlink()
    report = home.tobi()
    assert (report.counts["deletion"], report.withheld) == (0, {"abc": 2})
    home.put({"abc/wpaper/0.rdf": template(0)})
    report = home.tobi()
    assert (report.counts["deletion"], report.withheld) == (1, {})
    assert home.journal(START + 2 * DAY)[1]["id"] == "RePEc:abc:wpaper:1"


def test_losses_of_other_archives_are_believed_beside_it(home):
    home.put({f"xyz/wpaper/{n}.rdf": template(n, "xyz") for n in range(2)})
    home.tobi()
    broken(home)
    (home.data / "xyz/wpaper/1.rdf").unlink()
    report = home.tobi()
    assert (report.counts["deletion"], report.withheld) == (1, {"abc": 1})


def test_what_stands_elsewhere_now_is_not_withheld(home):
    home.tobi()
    home.put({"abc/wpaper/0.rdf": b"<html>", "abc/wpaper/new.rdf": template(0, title="B")})
    report = home.tobi()
    assert (report.counts["change"], report.withheld) == (1, {})
    home.put({"abc/wpaper/0.rdf": template(0)})
    assert home.tobi().problems == {"duplicate-handle": 1}


def test_a_file_that_never_held_a_template_withholds_nothing(home):
    home.put({"abc/wpaper/readme.rdf": b"hello"})
    home.tobi()
    for n in range(2):
        (home.data / f"abc/wpaper/{n}.rdf").unlink()
        report = home.tobi()
        assert (report.counts["deletion"], report.withheld) == (1, {})
        assert report.problems == {"no-template": 1}


def test_a_file_that_is_gone_loses_what_it_held_though_it_was_broken_before(home):
    home.tobi()
    broken(home)
    home.tobi()
    (home.data / "abc/wpaper/0.rdf").unlink()
    report = home.tobi()
    assert (report.counts["deletion"], report.withheld) == (1, {})


def test_losses_that_are_accepted_are_believed(home):
    home.tobi()
    broken(home)
    report = home.tobi(accepted=frozenset({"abc"}))
    assert (report.counts["deletion"], report.problems) == (1, {"no-template": 1})
    assert home.tobi().counts == {"same": 2}


def test_a_dry_run_tells_the_same(home):
    home.tobi()
    broken(home)
    report = home.tobi(dry=True)
    assert (report.counts["deletion"], report.withheld) == (0, {"abc": 1})
