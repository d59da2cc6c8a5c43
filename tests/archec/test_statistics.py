"""What a store adds up to, and its report in each form."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from lafka.archec.records import Kind, Obi, State
from lafka.archec.statistics import YEAR, Scope, is_live, statistics
from lafka.errors import BadArgument
from lafka.reports.obi_report import ObiReportOptions, answer
from tests.archec.fobis import gather, two_archives, url
from tests.archec.stores import DAY, START, Home, template
from tests.services.chromiums import browsing


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Two archives; of the files of abc one is lost after two years, one never got."""
    made = two_archives(tmp_path / "archec")
    made.put({"abc/wpaper/1.rdf": template(1, title="B") + template(2)})
    made.tobi()
    files = {url("abc", n): f"%PDF-1.4 {n}".encode() for n in (1, 2)}
    gather(made, START + 5 * DAY, files | {url("xyz", 1): b"%PDF-1.4 x"})
    gather(made, START + 2 * YEAR, {url("abc", 2): b"%PDF-1.4 new"}, lost=(url("abc", 1),))
    _miss(made, START + 4 * YEAR, url("abc", 4), "not-found")
    return made


def _miss(home: Home, tist: int, fobi: str, outcome: str) -> None:
    first = {"format": 1, "gathering": tist, "kind": "fobi", "run": "tests", "source": "tests"}
    lines = [first, {"e": "miss", "id": fobi, "time": "x", "outcome": outcome}]
    lines.append({"e": "end", "counts": {"miss": 1}, "seconds": 0})
    path = home.archive / "journal" / f"{tist}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with home.records() as records:
        records.apply(tist, path.stat().st_size, lines)


class Opts:
    """Options of the command as they are without any."""

    format, output, by, archive, since, top = None, "", "", "", "", 50

    def __init__(self, **values: object) -> None:
        vars(self).update(values)


def told(home: Home, **opts: object) -> bytes:
    with home.records() as records:
        return answer(records, ObiReportOptions.of(Opts(**opts)))


def test_what_a_store_adds_up_to(home: Home) -> None:
    with home.records() as records:
        found = statistics(records, Scope())
        whole, odd = found.whole, records.problem_counts()
    assert [whole[name] for name in ("tobis", "tobis_lost", "appeared", "changed", "gone")] == [
        4, 1, 5, 1, 1,
    ]  # fmt: skip
    assert [whole[name] for name in ("refipos", "fobis", "held", "live", "lost", "never")] == [
        4, 5, 3, 2, 1, 1,
    ]  # fmt: skip
    assert (whole["new"], whole["versions"]) == (1, 4)
    assert found.never == {"not-found": 1}
    assert found.archives["xyz"]["live"] == found.series["xyz", "books"]["fobis"] == 1
    assert found.archives["abc"]["refipos"] == found.series["abc", "wpaper"]["refipos"] == 3
    assert list(found.hosts) == ["x.example"]
    assert found.problems == {(archive, code): count for archive, code, count in odd} != {}


def test_links_rot_over_years(home: Home) -> None:
    with home.records() as records:
        rot = [(one.year, one.fobis, one.years, one.n, one.live)
               for one in statistics(records, Scope()).rot()]  # fmt: skip
    assert rot == [(2012, 3, 1, 3, 3), (2012, 3, 2, 3, 2), (2012, 3, 3, 3, 2)]


@pytest.mark.parametrize(
    ("past", "soft", "years", "live"),
    [
        ([], False, 1, True),
        ([START + 5], False, 1, False),
        ([START + 5], False, 3, True),  # it came back after two years
        ([], True, 1, True),
        ([], True, 3, False),
        ([], False, -1, False),
    ],
)
def test_a_fobi_is_live_at_a_time(past: list[int], soft: bool, years: int, live: bool) -> None:
    versions = [(START, "a"), (START + 2 * YEAR, "b")]
    obi = Obi(id="http://x/", kind=Kind.FOBI, noted=versions[-1][0], soft=soft, state=State.LIVE,
              versions=versions, past=past)  # fmt: skip
    assert is_live(obi, START + years * YEAR) is live


def test_one_archive_and_a_time_alone(home: Home) -> None:
    with home.records() as records:
        found = statistics(records, Scope(archive="xyz", since=START + DAY))
    assert (list(found.archives), found.whole["fobis"], found.whole["appeared"]) == (["xyz"], 1, 0)
    assert not any(archive != "xyz" for archive, _ in found.problems)


def test_the_same_store_gives_the_same_bytes(home: Home) -> None:
    for form in ("json", "csv"):
        assert told(home, format=form) == told(home, format=form)
    values = json.loads(told(home))
    assert values["as_of"] == "2016-11-09T16:30:38Z"
    assert [row["archive"] for row in values["archives"]] == ["abc", "xyz"]
    assert values["summary"]["lost"] == 1


def test_a_table_as_csv_runs_in_no_spreadsheet(home: Home) -> None:
    home.put({"abc/wpaper/9.rdf": template(9, series="@sum(1)")})
    home.tobi()
    rows = list(csv.reader(io.StringIO(told(home, output="x.csv", by="series").decode())))
    assert rows[0][:3] == ["archive", "series", "tobis"]
    assert {row[1] for row in rows[1:]} >= {"wpaper", "'@sum(1)"}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


def test_a_form_that_is_none_is_refused() -> None:
    with pytest.raises(BadArgument, match=r"x\.pdf: ends with none of \.json, \.csv, \.html"):
        ObiReportOptions.of(Opts(output="x.pdf"))
    with pytest.raises(BadArgument, match="--top 0: at least 1"):
        ObiReportOptions.of(Opts(top=0))


@pytest.fixture
def page(home: Home, tmp_path: Path) -> Path:
    target = tmp_path / "report.html"
    target.write_bytes(told(home, format="html"))
    return target


def test_the_page_has_no_script(page: Path) -> None:
    text = page.read_text("utf-8").lower()
    assert "<svg" in text
    assert "as the obi store had it at 2016-11-09t" in text
    assert not any(word in text for word in ("<script", "<link", "src=", "url(", "@import"))


@pytest.mark.server("Chromium")
def test_a_browser_opens_the_page_without_any_request(page: Path) -> None:
    with browsing() as browser:
        tab = browser.new_page()
        asked: list[str] = []
        odd: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("console", lambda message: odd.append(message.text))
        tab.goto(page.as_uri())
        assert tab.locator("h1").inner_text() == "Report on the obi store"
        assert tab.locator("svg").count() >= 4
        assert tab.locator("#link_rot").count() == 1
        assert tab.locator("section table").count() >= 6
    assert (asked, odd) == ([page.as_uri()], [])


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report has no clock but the store's."""
    monkeypatch.setattr("time.time", lambda: 0.0)
