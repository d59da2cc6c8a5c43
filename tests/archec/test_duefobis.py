"""Which fobis a crawl asks for, of a store that tobi filled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from scrapy.settings import Settings

from lafka.archec.files.fobis import Choice, DueFobis, FobiLine
from lafka.archec.records import Records, State
from lafka.archec.store.folders import ObiStore
from lafka.errors import BadArgument, BadList
from lafka.spiders.fobi_arguments import choice_of
from tests.archec.crawling import template
from tests.archec.stores import DAY, START, Home
from tests.archec.test_records import apply, head, stored

H = "http://x.example"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


class Listed(list[FobiLine]):
    counts: dict[str, int]


def lines(home: Home, choice: Choice | None = None, *, days: int = 0) -> Listed:
    with home.records() as records:
        return _listed(home, records, choice or Choice(), days)


def _listed(home: Home, records: Records, choice: Choice, days: int) -> Listed:
    due = DueFobis(ObiStore(home.archive), records, choice, home.now + days * DAY)
    found = Listed(due)
    found.counts = dict(due.counts)
    return found


def uris(found: Iterable[FobiLine]) -> list[str]:
    return sorted(line.uri.removeprefix(f"{H}/") for line in found)


def series(code: str, restriction: str) -> str:
    return (f"Template-Type: ReDIF-Series 1.0\nName: S\nProvider-Name: P\n{restriction}"
            f"Handle: RePEc:abc:{code}\n\n")  # fmt: skip


def archive(restriction: str) -> str:
    return (f"Template-Type: ReDIF-Archive 1.0\nName: A\nMaintainer-Email: a@x.example\n"
            f"{restriction}URL: {H}/\nHandle: RePEc:abc\n\n")  # fmt: skip


def test_what_is_restricted_is_not_asked_for_whoever_says_so(home):
    no = "Restriction: Access to subscribers\n"
    free = "Restriction: none\n"
    home.put({
        "abc/abcarch.rdf": archive(""),
        "abc/abcseri.rdf": series("open", "") + series("shut", no),
        "abc/open/1.rdf": template(1, f"{H}/open", series="open"),
        "abc/open/2.rdf": template(2, f"{H}/own\nFile-Restriction: for members", series="open"),
        "abc/open/3.rdf": template(3, f"{H}/whole", series="open", more=no),
        "abc/shut/4.rdf": template(4, f"{H}/inherited", series="shut"),
        "abc/shut/5.rdf": template(5, f"{H}/free\nFile-Restriction: none", series="shut"),
        "abc/shut/6.rdf": template(6, f"{H}/both", series="shut"),
        "abc/open/7.rdf": template(7, f"{H}/both", series="open"),
        "abc/shut/8.rdf": template(8, f"{H}/free2", series="shut", more=free),
    })  # fmt: skip
    home.tobi()
    found = lines(home)
    assert uris(found) == ["both", "free", "free2", "open"]
    assert found.counts == {"restricted": 1}
    states = {obi["id"].removeprefix(f"{H}/"): obi["state"] for obi in home.walk()}
    assert (states["own"], states["whole"]) == (State.RESTRICTED, State.RESTRICTED)
    assert uris(lines(home, Choice(age=0))) == ["both", "free", "free2", "open"]


def test_a_whole_archive_can_be_restricted_and_be_free_again(home):
    paper = {"abc/wpaper/1.rdf": template(1, f"{H}/1")}
    home.put(paper | {"abc/abcarch.rdf": archive("Restriction: closed\n")})
    home.tobi()
    assert lines(home).counts == {"restricted": 1}
    home.put({"abc/abcarch.rdf": archive("")})
    home.tobi()
    assert uris(lines(home)) == ["1"]


def test_a_restriction_of_a_file_that_is_lifted_has_it_asked_for(home):
    home.put({"abc/wpaper/1.rdf": template(1, f"{H}/1\nFile-Restriction: for members")})
    home.tobi()
    assert uris(lines(home)) == []
    home.put({"abc/wpaper/1.rdf": template(1, f"{H}/1")})
    home.tobi()
    assert uris(lines(home)) == ["1"]


def test_a_crawl_is_of_an_archive_a_series_or_a_list_and_has_its_limit(home):
    def of(code: str, kind: str, number: int) -> str:
        return template(number, f"{H}/{number}").replace("abc:wpaper", f"{code}:{kind}")

    home.put({"abc/a/1.rdf": of("abc", "a", 1), "abc/b/2.rdf": of("abc", "b", 2),
              "xyz/a/3.rdf": of("xyz", "a", 3)})  # fmt: skip
    home.tobi()
    assert uris(lines(home)) == ["1", "2", "3"]
    assert uris(lines(home, Choice(archive="abc"))) == ["1", "2"]
    assert uris(lines(home, Choice(series="a"))) == ["1", "3"]
    assert uris(lines(home, Choice(archive="abc", series="a"))) == ["1"]
    assert len(lines(home, Choice(limit=2))) == 2
    only = lines(home, Choice(ids=(f"{H}/2", f"{H}/9", f"{H}/2")))
    assert (uris(only), only.counts) == (["2"], {"unknown": 1})
    left = lines(home, Choice(excluded=lambda handle: handle.startswith("RePEc:xyz:")))
    assert (uris(left), left.counts) == (["1", "2"], {"excluded": 1})


def test_orphans_and_ftp_and_second_forms_are_left_out_and_counted(home):
    home.put({"abc/wpaper/1.rdf": template(1, f"{H}/1", "ftp://x.example/1", f"{H}/a b.pdf")})
    home.tobi()
    found = lines(home)
    assert uris(found) == ["1", "a%20b.pdf"]
    assert [line.seconds for line in found] == [(), (f"{H}/ab.pdf",)]
    assert found.counts == {"ftp": 1}
    assert lines(home, Choice(age=0)).counts == {"ftp": 1, "second forms": 1}
    home.put({"abc/wpaper/1.rdf": template(1, f"{H}/2")})
    home.tobi()
    assert uris(lines(home)) == ["2"]
    assert lines(home).counts == {"ftp": 1, "orphans": 2}
    assert uris(lines(home, Choice(orphans=True))) == ["1", "2", "a%20b.pdf"]


def test_validators_go_with_what_is_live_and_not_where_all_is_asked_anew(home):
    home.put({"abc/wpaper/1.rdf": template(1, f"{H}/1", f"{H}/2")})
    home.tobi()
    store = ObiStore(home.archive)
    with home.records(store) as records:
        tist = START + DAY
        way = {"way": [f"{H}/1", f"{H}/x"], "etag": '"t"', "modified": "m", "interval": 0}
        apply(records, tist, [head(tist, "fobi"),
              stored("appearance", f"{H}/1", "a", **way), stored("appearance", f"{H}/2", "b"),
              {"e": "deletion", "id": f"{H}/2", "why": "410"}])  # fmt: skip
        found = _listed(home, records, Choice(), 0)
        assert [(one.uri, one.etag, one.modified, one.answered) for one in found] == [
            (f"{H}/1", '"t"', "m", f"{H}/x"),
        ]  # fmt: skip
        anew = _listed(home, records, Choice(age=0), 0)
        assert [(one.uri, one.etag, one.answered) for one in anew] == [
            (f"{H}/1", None, None), (f"{H}/2", None, None),
        ]  # fmt: skip
        assert _listed(home, records, Choice(age=9 * DAY), 0) == []
        assert uris(_listed(home, records, Choice(age=9 * DAY), 9)) == ["1", "2"]


def test_what_is_due_comes_page_by_page_and_once(home, monkeypatch):
    monkeypatch.setattr("lafka.archec.files.fobis._PAGE", 7)
    home.put({"abc/wpaper/1.rdf": template(1, *(f"{H}/{n}" for n in range(40)))})
    home.tobi()
    found = lines(home)
    assert sorted(line.uri for line in found) == sorted(f"{H}/{n}" for n in range(40))
    assert [line.number for line in found] == list(range(1, 41))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"limit": "-1"}, "limit='-1' is no whole number from 0"),
        ({"orphans": "perhaps"}, "orphans='perhaps' is neither 1 nor 0"),
        ({"archive": "RePEc:abc"}, "archive='RePEc:abc' is no code, such as nbr or nberwo"),
        ({"check": "1"}, "check=1 is for the command crawl alone"),
        ({"ids": "/nowhere/ids"}, "/nowhere/ids: No such file or directory"),
        ({"exclude": "/nowhere/x"}, "/nowhere/x: no such file"),
    ],
)
def test_a_bad_argument_is_told_in_one_sentence(given, sentence):
    with pytest.raises((BadArgument, BadList), match=sentence):
        choice_of(Settings(), given)


def test_a_file_of_ids_is_read_in_any_spelling_and_names_its_bad_line(tmp_path):
    path = tmp_path / "ids"
    path.write_text(f"# these\n\nHTTP://X.example:80/%7ea\n{H}/b\n")
    choice = choice_of(Settings(), {"ids": str(path), "due": "30d", "archive": "NBR", "limit": "5"})
    assert choice.ids == (f"{H}/~a", f"{H}/b")
    assert (choice.age, choice.archive, choice.limit) == (30 * DAY, "nbr", 5)
    path.write_text(f"{H}/b\nmailto:me@x.example\n")
    with pytest.raises(BadList, match="ids, line 2: "):
        choice_of(Settings(), {"ids": str(path)})
    excludes = tmp_path / "excludes"
    excludes.write_text("RePEc:abc:wpaper:*\n")
    excluded = choice_of(Settings(), {"exclude": str(excludes)}).excluded
    assert (excluded("RePEc:abc:wpaper:1"), excluded("RePEc:abc:other:1")) == (True, False)
