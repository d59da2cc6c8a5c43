"""Papers found by pid, URL, host and words; pages that follow one another; foreign questions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadArgument
from lafka.index import search as searching
from lafka.index.papers import HostRows, PaperRows
from lafka.index.search import LARGEST_PAGE, MARKS, FoundPage, Question, search
from lafka.index.tables import JOINER
from tests.index.histories import History, futli_of, line, pid_of

PDF = "https://files.example/a%20b/7.pdf"
TITLES = {
    5: "Über Geld und Größe", 6: "中国経済学 เศรษฐศาสตร์", 8: "Money, money: on money",
    9: "Money and much else of many words that say nothing of what is looked for here",
    **{number: f"A common word, {number}" for number in range(20, 40)},
}  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    history = History(tmp_path_factory.mktemp("search") / "archive", batch=100)
    for number in range(60):
        history.suwaf(number, {0: [1.0], 1: [2.0]} if number % 2 else {0: [1.0]})
    history.feed(1, *(line(7, day, "gone") for day in (5, 20)))
    history.feed(
        1, line(99, 5, "gone") | {"pid": "doi:10.1000/X%y", "futli": "http://doi.example/"}
    )
    history.index()
    db = sqlite3.connect(history.place.database)
    db.execute("UPDATE fut SET url = ? WHERE futli IN (SELECT id FROM futli WHERE url IN (?, ?))",
               (PDF, futli_of(7, 0), futli_of(7, 1)))  # fmt: skip
    for number, title in TITLES.items():
        db.execute("UPDATE paper SET title = ? WHERE pid = ?", (title, pid_of(number)))
        (paper,) = db.execute("SELECT id FROM paper WHERE pid = ?", (pid_of(number),)).fetchone()
        PaperRows(db, HostRows(db)).words(paper)
    yield db
    db.close()


def pids(page: FoundPage) -> list[str]:
    return [paper.pid for paper in page.papers]


def every(db: sqlite3.Connection, question: Question) -> list[str]:
    """What all pages of a search have."""
    page = search(db, question)
    found = pids(page)
    while page.after:
        page = search(db, replace(question, after=page.after))
        found += pids(page)
    return found


@pytest.mark.parametrize(
    ("text", "way", "found"),
    [
        ("RePEc:abc:wpaper:7", "pid", [pid_of(7)]),
        ("repec:ABC:wpaper:58", "pid", [pid_of(58)]),
        ("https://doi.org/10.1000/x%25y", "url", []),
        ("doi:10.1000/X%y", "pid", ["doi:10.1000/x%y"]),
        ("10.1000/X%y", "pid", ["doi:10.1000/x%y"]),
        (futli_of(7, 1), "url", [pid_of(7)]),
        (PDF, "url", [pid_of(7)]),
        ("http://www.files.example/a%20b#page=2", "url", [pid_of(7)]),
        ("doi.example", "host", ["doi:10.1000/x%y"]),
        ("www.doi.example", "host", ["doi:10.1000/x%y"]),
        ("https://www.doi.example/", "url", ["doi:10.1000/x%y"]),
        ("doi.example/", "url", ["doi:10.1000/x%y"]),
        ("https://doi.org/10.1000/X%y", "pid", ["doi:10.1000/x%y"]),
        ("経済", "words", [pid_of(6)]),
        ("国経", "words", [pid_of(6)]),
        ("学国", "words", []),
        ("เศรษฐ", "words", [pid_of(6)]),
        ("grosse", "words", []),
        ("größe geld", "words", [pid_of(5)]),
        ("uber gel", "words", [pid_of(5)]),
        ("RePEc:zzz:", "pid", []),
    ],
)
def test_what_is_asked_is_known_by_its_form(
    db: sqlite3.Connection, text: str, way: str, found: list[str]
) -> None:
    page = search(db, Question(text=text))
    assert (page.way, pids(page), page.after) == (way, found, "")


@pytest.mark.parametrize(
    "question",
    [
        Question(text="RePEc:abc:"),
        Question(text="repec:ABC"),
        Question(text="http://host"),
        Question(text="abc wpaper"),
        Question(archive="abc"),
        Question(archive="abc", state="held"),
        Question(text="wpaper", host="HOST0.example"),
        Question(host="host1.example", archive="abc", state="held"),
        Question(),
    ],
)
@pytest.mark.parametrize("limit", [1, 7, LARGEST_PAGE])
def test_pages_have_each_paper_once(db: sqlite3.Connection, question: Question, limit: int) -> None:
    whole = every(db, replace(question, limit=LARGEST_PAGE))
    found = every(db, replace(question, limit=limit))
    assert list(dict.fromkeys(found)) == whole
    hosts = 20 if question.host else 60
    assert len(whole) >= hosts - 1 - (question.text == "abc wpaper")


def test_words_are_ranked_counted_and_marked(db: sqlite3.Connection) -> None:
    page = search(db, Question(text="money"))
    assert pids(page) == [pid_of(8), pid_of(9)]
    assert page.count == 2
    begin, end = MARKS
    assert page.papers[1].marked.startswith(f"{begin}Money{end} and much")
    assert JOINER not in search(db, Question(text="経済")).papers[0].marked
    assert every(db, Question(text="money", limit=1)) == pids(page)
    common = search(db, Question(text="comm")).papers
    assert {one.marked for one in common} == {
        f"A {begin}common{end} word, {number}" for number in range(20, 40)
    }


@pytest.mark.parametrize(
    ("text", "number", "marked"),
    [("uber gel", 5, "<Über> <Geld> und Größe"), ("国経", 6, "中<国経>済学 เศรษฐศาสตร์"),
     ("money", 8, "<Money>, <money>: on <money>"),
     ("on MONEY, on", 8, "<Money>, <money>: <on> <money>"),
     ("8 mon", 8, "<Money>, <money>: on <money>")],
)  # fmt: skip
def test_words_are_marked_as_they_were_found(
    db: sqlite3.Connection, text: str, number: int, marked: str
) -> None:
    (paper,) = (one for one in search(db, Question(text=text)).papers if one.pid == pid_of(number))
    begin, end = MARKS
    assert paper.marked.replace(begin, "<").replace(end, ">") == marked


BOUNDS: dict[str, dict[str, int]] = {
    "few papers of a part": {"RARE": 2, "PART": 3, "PART_OF_FEW": 2},
    "little work": {"RARE": 2, "WORK": 7},
    "few are compared": {"COUNTED": 5, "LOOKED": 10},
    "all of it": {"RARE": 1, "PART": 2, "PART_OF_FEW": 1, "WORK": 11, "COUNTED": 2, "LOOKED": 4},
}


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize(
    "question",
    [
        Question(text="common"), Question(text="abc wpaper"), Question(text="word a common"),
        Question(text="common word 2"), Question(text="word 25 common a"), Question(text="money"),
        Question(text="word", host="host1.example"), Question(text="common", state="lost"),
        Question(text="common", archive="abc", state="held"), Question(text="经"),
        Question(text="RePEc:abc:", state="held"), Question(archive="abc", state="held"),
        Question(text="http://host", state="held"), Question(state="held"), Question(host="x"),
        Question(text="RePEc:abc:", host="host1.example"), Question(series="wpaper"),
        Question(archive="abc", series="wpaper"), Question(text="repec", series="wpaper"),
    ],
)  # fmt: skip
def test_bounds_of_work_lose_no_paper_and_claim_no_count(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, question: Question,
    bounds: dict[str, int],
) -> None:  # fmt: skip
    whole = every(db, replace(question, limit=LARGEST_PAGE))
    for name, value in bounds.items():
        monkeypatch.setattr(searching, name, value)
    for limit in (1, 4):
        found = every(db, replace(question, limit=limit))
        assert sorted(set(found)) == sorted(set(whole))
        assert len(found) == len(set(found)) or question.text.startswith("http")
        page = search(db, replace(question, limit=limit))
        assert page.count <= len(set(whole))
        assert page.is_least or page.count == len(set(whole))
        assert page.is_least or not page.note


def test_a_rare_word_finds_its_paper_at_once(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RARE", "PART", "WORK"):
        monkeypatch.setattr(searching, name, 2)
    page = search(db, Question(text="word common a 25"))
    assert (pids(page), page.count, page.is_least, page.note) == ([pid_of(25)], 1, False, "")
    page = search(db, Question(text="common a word"))
    assert (page.way, page.is_least, len(page.papers)) == ("frequent-words", True, page.count)
    assert "rarer word" in page.note


def test_a_word_that_very_many_begin_like_is_looked_for_in_some_forms(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {*every(db, Question(text="wor"))}
    assert whole
    monkeypatch.setattr(searching, "_BEGUN", 3)
    page = search(db, Question(text="wor"))
    assert page.is_least
    assert "whole word" in page.note
    assert {*every(db, Question(text="wor"))} <= whole


def test_facets_count_what_a_search_can_be_narrowed_to(db: sqlite3.Connection) -> None:
    page = search(db, Question(text="RePEc:abc:", limit=1))
    assert page.count == len(every(db, Question(text="RePEc:abc:")))
    assert dict(page.facets["archive"]) == {"abc": page.count}
    for name in ("archive", "year", "host", "state"):
        for value, count in page.facets[name]:
            narrowed = replace(Question(text="RePEc:abc:"), **{name: value})
            assert len(every(db, narrowed)) == count, (name, value)
    series = dict(page.facets["series"])
    for value, count in series.items():
        archive, _, name = value.partition("/")
        assert len(every(db, Question(archive=archive, series=name))) == count


def test_papers_tell_what_they_have(db: sqlite3.Connection) -> None:
    (paper,) = search(db, Question(text=pid_of(7))).papers
    assert (paper.futs, paper.futlis, paper.states) == (1, 2, ("held", "lost"))
    assert pids(search(db, Question(state="lost"))) == [pid_of(7)]
    assert search(db, Question(state="lost", archive="xyz")).papers == ()
    assert search(db, Question(host="nowhere.example")).papers == ()


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (Question(state="dead"), "dead: no state"),
        (Question(limit=0), "a page of 0"),
        (Question(year="94"), "94: no year"),
        (Question(text="?!"), "no word is in it"),
        (Question(text="x" * 20_000), "a search for more than"),
        (Question(after="[1, 2]"), "after: not where"),
        (Question(after='["a"]'), "after: not where"),
        (Question(after="[" * 9999), "after: not where"),
    ],
)
def test_a_question_that_is_none_is_one_sentence(
    db: sqlite3.Connection, question: Question, sentence: str
) -> None:
    with pytest.raises(BadArgument, match=sentence.replace("?", r"\?")):
        search(db, question)


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_no_text_breaks_a_search(db: sqlite3.Connection, text: str, host: str, after: str) -> None:
    with suppress(BadArgument):
        search(db, Question(text=text, host=host, after=after))


def test_a_page_far_behind_goes_along_an_index(db: sqlite3.Connection) -> None:
    told: list[str] = []
    db.set_trace_callback(told.append)
    for question in (Question(text="RePEc:abc:"), Question(host="host1.example"),
                     Question(archive="abc"), Question(text="http://host"),
                     Question(state="lost")):  # fmt: skip
        search(db, replace(question, limit=3))
    db.set_trace_callback(None)
    walks = [one for one in told if "ORDER BY" in one and not one.startswith("--")
             and "GROUP BY" not in one]  # fmt: skip
    assert len(walks) == 5
    for walk in walks:
        plan = " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + walk))
        assert "SEARCH" in plan
        assert "TEMP B-TREE" not in plan, (walk, plan)
