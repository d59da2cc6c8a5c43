"""``scrapy futlis --from-store``: what the store has now, and had at a time, as a list."""

from __future__ import annotations

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.archec.gather.tobis import Clocks
from lafka.archec.gather.withdrawing import withdraw
from lafka.archec.serve.futlis import FutliChoice, FutliList, StoreFutliList
from lafka.archec.store.folders import ObiStore
from tests.archec.stores import DAY, START, Home, template
from tests.archec.test_commands import Operator

SERIES = "Template-Type: ReDIF-Series 1.0\nHandle: RePEc:abc:closed\nRestriction: {}\n\n"
PERSON = "Template-Type: ReDIF-Person 1.0\nHandle: RePEc:per:1965-06-05:ana_lima\n\n"
MOVED = template(1).replace("x.example", "y.example")


def line(number: object, restriction: str = "", series: str = "wpaper", host: str = "x.example"):
    return (f"RePEc:abc:{series}:{number}", f"http://{host}/abc/{number}.pdf", restriction, "A")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Day 0: two papers, one in a closed series; day 1: a paper moves; day 2: one is gone."""
    made = Home(tmp_path / "archec")
    closed = template(3, series="closed")
    for papers, said in (
        (template(1) + template(2), "ask"),
        (MOVED + template(2), "ask"),
        (MOVED, "none"),
    ):
        made.put(
            {
                "abc/abcseri.rdf": SERIES.format(said),
                "abc/closed/1.rdf": closed,
                "abc/wpaper/1.rdf": papers,
                "per/pers/1.rdf": PERSON,
            }
        )
        made.tobi()
    return made


def listed(home: Home, at: int | None = None, **choice: object) -> list[tuple[str, str, str, str]]:
    with home.records() as records:
        found = StoreFutliList(ObiStore(home.archive), records, FutliChoice(**choice), at)
        lines = [tuple(one) for one in found]
    assert found.whole
    return lines


def test_what_stands_now_is_what_the_data_gives(home: Home) -> None:
    with FutliList(home.root / "data" / "current", FutliChoice()) as found:
        of_data = [tuple(one) for one in found]
    assert listed(home) == of_data == [line(3, series="closed"), line(1, host="y.example")]


PLACES = ("abc/other/0.rdf", "abc/wpaper/1.rdf", "abc/wpaper/2.rdf", "all/1.rdf", "zzz/1.rdf")
TEXTS = st.dictionaries(
    st.sampled_from(PLACES),
    st.lists(st.tuples(st.integers(1, 2), st.sampled_from("AB")), max_size=3),
)


@given(TEXTS, st.permutations(PLACES), st.booleans())
def test_of_several_templates_of_a_handle_store_and_list_keep_the_same(
    files: dict[str, list[tuple[int, str]]], order: list[str], is_tarball: bool
) -> None:
    with TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.put({"abc/abcarch.rdf": ""} | {
            place: "".join(template(n, title=title) for n, title in some)
            for place, some in files.items()
        })  # fmt: skip
        source = home.root / "data" / "current"
        with FutliList(source, FutliChoice()) as found:
            of_data = sorted(tuple(one) for one in found)
        if is_tarball:
            source = home.root / "all.tar"
            with tarfile.open(source, "w") as tar:
                for place in order:
                    if place in files:
                        tar.add(home.data / place, f"RePEc/{place}")
        report = home.tobi(source=source)
        assert sorted(listed(home)) == of_data
        assert report.problems["duplicate-handle"] == found.counts["duplicates"]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (START - 1, []),
        (START, [line(3, "ask", "closed"), line(1), line(2)]),
        (START + DAY, [line(3, "ask", "closed"), line(1, host="y.example"), line(2)]),
        (START + 2 * DAY - 1, [line(3, "ask", "closed"), line(1, host="y.example"), line(2)]),
        (START + 2 * DAY, [line(3, series="closed"), line(1, host="y.example")]),
    ],
)
def test_at_a_time_it_is_what_stood_then(home: Home, at: int, expected: list) -> None:
    assert listed(home, at) == expected


def test_archive_series_and_type_can_be_chosen(home: Home) -> None:
    assert listed(home, START, archive="abc", series="closed") == [line(3, "ask", "closed")]
    assert listed(home, START, archive="other") == []
    assert listed(home, START, types=frozenset({"article"})) == []


def test_what_was_withdrawn_or_cannot_be_read_is_counted_and_told(home: Home) -> None:
    store, gone = ObiStore(home.archive), "RePEc:abc:wpaper:1"
    clocks = Clocks(now=lambda: 5, monotonic=lambda: 0.0)
    with home.records() as records:
        withdraw(store, records, gone, START + DAY, why="a court", run="r", clocks=clocks)
    store.path(START, "RePEc:abc:closed:3").unlink()
    with home.records() as records:
        found = StoreFutliList(store, records, FutliChoice(), None)
        assert list(found) == []
    assert (found.counts["withdrawn"], found.counts["unreadable"]) == (1, 1)
    [problem] = found.problems
    assert (problem.code, found.whole) == ("unreadable", False)
    assert problem.file.endswith("RePEc%3Aabc%3Aclosed%3A3")
    assert listed(home, START, series="wpaper") == [line(1), line(2)]  # that version was not


def test_an_operator_takes_the_list_from_the_store(home: Home) -> None:
    operator = Operator(home)
    table = [tuple(row.split("\t")) for row in operator.gets("futlis", "--from-store").splitlines()]
    assert table == [("pid", "futli", "restriction", "title"), *listed(home)]
    operator.gets("futlis", "--from-store", "--at", str(START), "-o", "list.tsv")
    rows = (home.root / "list.tsv").read_text().splitlines()[1:]
    assert [tuple(row.split("\t")) for row in rows] == listed(home, START)
    assert "--at is for --from-store" in operator.refusal("futlis", "data", "--at", str(START))
    assert "say where RePEc data is" in operator.refusal("futlis", "data", "--from-store")
    assert "no tist of 9 to 11 digits" in operator.refusal("futlis", "--from-store", "--at", "x")
