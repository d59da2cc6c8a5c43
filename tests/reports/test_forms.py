"""A report in its forms: the same bytes each time, safe to open, and as its page says."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lafka.errors import BadArgument, printable
from lafka.index.build import refresh
from lafka.index.tables import IndexFiles, open_to_read
from lafka.papers import Outcome
from lafka.reports import plots
from lafka.reports.rendering import as_csv, as_html, as_json, as_text
from lafka.reports.report import BY, QUESTIONS, ReportOptions, answer, report
from lafka.reports.rot import _OURS, CITEC
from lafka.reports.tables import Table, TableReport, bound
from tests import starts
from tests.index.histories import History, at, futli_of, line, pid_of, run_of
from tests.stores import START, Store, pdf
from tests.stores import page as page_of

ROOT = Path(__file__).parents[2]
OTHER = "RePEc:abc:wpaper:other"
REFERENCE = (ROOT / "docs" / "reference.md").read_text("utf-8")
SECTION = REFERENCE.partition("\n## Reports\n")[2].partition("\n## ")[0]
HOSTILE = '=cmd|"/c calc"!A1<script>alert(1)</script>\u202e'


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    made = History(tmp_path_factory.mktemp("report") / "archive", batch=100)
    for number in range(12):
        made.suwaf(number, {0: [0.0, 30.0] if number == 3 else [0.0]})
    made.feed(1, *(line(number, 0.001, new=True) for number in range(12)))
    made.feed(1, *(line(number, 0.002, Outcome(word)) for number, word in
                   enumerate(["splap-only", "login", "robots"], 20)))  # fmt: skip
    for run, day in ((2, 10), (3, 20)):
        made.feed(run, *(line(number, day, "not-found") for number in (1, 2, 4)))
        made.feed(run, *(line(number, day, "timeout") for number in (5,)))
        made.feed(run, *(line(number, day, requests=0) for number in (6, 7)))
    made.feed(4, line(4, 40, splap="https://new.example/4"))
    made.feed(4, line(30, 40, "gone", error=HOSTILE) | {"futli": f"http://x.example/{HOSTILE}"})
    parked = [{"host": "host1.example", "times": 2, "longest": 3.5}]
    made.report(1, started=at(0), finished=at(1), seconds=10.0, lines=15, hosts={"parked": parked})
    made.report(4, started=at(40), reason="shutdown", done=False, lines=2)
    made.index()
    return made


@pytest.fixture
def db(history: History) -> Iterator[Any]:
    with closing(history.open()) as db:
        yield db


@pytest.fixture
def whole(db: Any) -> TableReport:
    return report(db)


def values(whole: TableReport) -> dict[str, Any]:
    return json.loads(as_json(whole))


def told(title: str) -> list[list[str]]:
    """The words between backquotes in each row of a table of the section."""
    lines = SECTION.partition(title)[2].splitlines()
    rows = [row for row in lines if row.startswith("| `")]
    return [re.findall(r"`([^`]+)`", row) for row in rows]


def test_the_keys_of_the_json_are_those_of_the_reference(db: Any, whole: TableReport) -> None:
    pages = {words[0]: words[1:] for words in told("\n| table |") if words[0] not in CITEC.values()}
    tables = {table.key: table for table in (*whole.tables, *report(db, archive="abc").tables)}
    said = {key: [str(row[0]) for row in table.rows] if table.columns == ("what", "value")
            else list(table.columns) for key, table in tables.items()}  # fmt: skip
    assert pages == said
    found = values(whole)
    assert {*found} == {*pages, "format", "as_of", "since", "until", "archive"} - {"to_mend"}
    for key, rows in found.items():
        for row in rows if isinstance(rows, list) else ():
            assert list(row) == pages[key]


def test_each_outcome_has_a_word_of_citec(whole: TableReport) -> None:
    assert set(CITEC) == set(Outcome)
    rows = {words[0]: words[1:] for words in told("### CitEc's words")}
    assert {Outcome(word): citec for citec, words in rows.items() for word in words} == CITEC


def test_the_summary_counts_what_is_there(whole: TableReport) -> None:
    found = values(whole)["summary"]
    assert found == {
        "as_of": found["as_of"], "papers": 16, "papers_with_fut": 12,
        "papers_with_fut_share": 0.75, "futlis": 16, "futs": 13, "warc_bytes": 12066, "runs": 4,
        "futlis_once_had": 12, "futlis_lost": 2, "futlis_lost_share": 0.166667,
        "futlis_never_asked_again": 8, "futs_pulled": 0, "damaged_suwafs": 0,
    }  # fmt: skip


def test_tables_say_what_became_of_links(whole: TableReport) -> None:
    found = values(whole)
    assert [(row["outcome"], row["group"], row["futlis"]) for row in found["outcomes"]] == [
        ("fut", "held", 9), ("splap-only", "page only", 1), ("not-found", "not there", 2),
        ("gone", "not there", 1), ("robots", "closed", 1), ("login", "closed", 1),
        ("timeout", "trouble", 1),
    ]  # fmt: skip
    assert found["flow"] == [
        {"month": "2026-02", "new": 0, "held": 0, "changed": 0, "lost": 0, "back": 1},
        {"month": "2026-01", "new": 12, "held": 4, "changed": 1, "lost": 3, "back": 0},
    ]
    hosts = {row["host"]: row for row in found["rot_by_host"]}
    assert (hosts["host1.example"]["lost"], hosts["host1.example"]["back"]) == (1, 1)
    assert found["survival"] == [
        {"days": 0, "at_risk": 12, "lost": 0, "share": 1.0, "lower": 1.0, "upper": 1.0},
        {"days": 10, "at_risk": 4, "lost": 2, "share": 0.5, "lower": 0.057847, "upper": 0.844861},
    ]
    assert found["moved_hosts"] == [
        {"host": "host1.example", "final_host": "new.example", "futlis": 1, "to_https": 1}
    ]
    assert [row["host"] for row in found["dead_hosts"]] == ["x.example"]
    assert found["waits"][0] | {"why": None} == {
        "host": "host1.example", "kind": "parked", "runs": 1, "times": 2, "longest": 3.5,
        "time": None, "why": None,
    }  # fmt: skip
    assert [row["run"] for row in found["runs"]] == [run_of(n) for n in (4, 3, 2, 1)]


def test_visits_that_found_the_same_bytes_are_one_fut(tmp_path: Path) -> None:
    made = Store(tmp_path / "archive")
    bodies = [pdf("x"), pdf("x"), pdf("x"), pdf("y")]
    for day, body in enumerate(bodies):
        made.put(made.fut(body, at=START + timedelta(days=day)))
    splap = made.splap(page_of("a splap"), pid=OTHER)
    made.put(splap, made.found(splap, "http://x.example/o.pdf", pdf("o")))
    place = IndexFiles.of(made.root)
    refresh(made.archive, place)
    with closing(open_to_read(place.database)) as db:
        whole = report(db)
    found = values(whole)
    led = {row["found_by"]: (row["futs"], row["visits"], row["share"]) for row in found["finders"]}
    assert led.pop("futli") == (2, 4, 0.666667)
    assert [*led.values()] == [(1, 1, 0.333333)]
    assert found["summary"]["futs"] == sum(row["futs"] for row in found["growth"]) == 3
    table = next(one for one in whole.tables if one.key == "finders")
    assert table.plot
    assert table.plot.y == ("futs",)


def test_growth_counts_a_labelled_pdf_by_its_bytes_and_paper_and_not_as_a_fut(
    tmp_path: Path,
) -> None:
    made = Store(tmp_path / "archive")
    late = START + timedelta(days=70)
    body, beside = pdf("x"), pdf("beside it, and longer")
    made.put(made.fut(body))
    splap = made.splap(page_of("a splap"), pid=OTHER, at=late)
    found = made.found(splap, "http://x.example/s.pdf", beside, label="supplement", at=late)
    made.put(splap, found)
    place = IndexFiles.of(made.root)
    refresh(made.archive, place)
    with closing(open_to_read(place.database)) as db:
        growth = values(report(db))["growth"]
    months = {row["month"]: (row["papers"], row["futs"], row["bytes"]) for row in growth}
    assert [*months.values()] == [(1, 0, len(beside)), (0, 0, 0), (1, 1, len(body))]
    assert [*months] == sorted(months, reverse=True)


def test_a_span_bounds_what_is_counted(db: Any) -> None:
    later = values(report(db, since="2026-01-15", until="2026-02"))
    assert {row["day"] for row in later["outcomes_by_day"]} == {"2026-01-21", "2026-02-10"}
    assert [row["new"] for row in later["flow"]] == [0, 0]
    assert later["since"] == "2026-01-15"


def test_a_report_until_a_time_is_what_was_known_then(tmp_path: Path) -> None:
    """The same tables, but for sizes, as of an index that was made before the rest came."""
    made = History(tmp_path / "archive", batch=100)
    for number in range(6):
        made.suwaf(number, {0: [0.0]})
    made.feed(1, *(line(number, 0.001, new=True) for number in range(6)))
    for run, day in ((2, 10), (3, 20)):
        made.feed(run, *(line(number, day, "not-found") for number in (1, 2, 4)))
    made.index()
    with closing(made.open()) as db:
        then = values(report(db))
    made.suwaf(3, {0: [0.0, 30.0]})
    made.suwaf(7, {0: [31.0]})
    made.feed(4, line(4, 40), line(7, 31.1, new=True), line(2, 41, "timeout"))
    made.feed(5, line(1, 60, "gone"), line(5, 60, "not-found"), line(5, 60.5, "not-found"))
    made.index()
    with closing(made.open()) as db:
        now, told = values(report(db)), values(report(db, until="2026-01-30"))
        again = values(report(db))
    assert now == again
    of_now = ("summary", "hosts", "growth", "rot_by_age", "survival")
    differing = {key for key in then if then[key] != told[key]} - {"as_of", "until"}
    assert differing <= {*of_now}, [(then[k], told[k]) for k in differing - {*of_now}]
    assert {key for key in then if now[key] != told[key]} > {"rot_by_host", "flow", "outcomes"}
    for key in ("papers", "futlis", "futs", "futlis_once_had", "futlis_lost", "runs"):
        assert told["summary"][key] == then["summary"][key], key
    assert [row["share"] for row in told["survival"]] == [row["share"] for row in then["survival"]]


def test_the_report_begins_with_what_is_to_be_known(whole: TableReport, db: Any) -> None:
    assert whole.lead == "Of 12 links that once led to a full text 2 are lost."
    assert report(db, by="outcome").lead == ""


def test_what_is_not_known_is_refused(db: Any) -> None:
    for bounds, told in {
        ("2030", None): "--since 2030: the index is of 2026-09-21T14:13:20Z and knows nothing",
        (None, "2025"): "--until 2025: nothing is known of so early a time",
        ("2026-02", "2026-01"): "--since 2026-02 is after --until 2026-01",
    }.items():
        with pytest.raises(BadArgument, match=told):
            report(db, since=bounds[0], until=bounds[1])
    with pytest.raises(BadArgument, match="--archive abd: the index has no paper of such an"):
        report(db, archive="abd")


@pytest.mark.parametrize("text", ["2026-13", "20", "yesterday", "30", "2026-11-20 10:11", "30m"])
def test_a_time_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(BadArgument, match="neither 30d nor a beginning of"):
        bound("2026-11-20T10:11:12Z", text)


def test_ages_count_from_the_index() -> None:
    assert bound("2026-11-20T10:11:12Z", "30d") == "2026-10-21T10:11:12Z"
    for text in ("2026", "2026-1", "2026-11-20", "2026-11-20T10:11", "2026-11-20T10:11:12Z"):
        assert bound("2026-11-20T10:11:12Z", text) == text


class Elements(HTMLParser):
    """What a browser would make of a page: elements, and attributes that act or fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.acting: list[tuple[str, str]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attrs:
            leads = name in ("href", "src", "action", "xlink:href") and not (
                value or ""
            ).startswith("#")
            if name.startswith("on") or leads:
                self.acting.append((name, value or ""))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def page(history: History) -> str:
    with closing(history.open()) as db:
        whole = report(db)
    return as_html(whole, plot=plots.svg).decode()


def test_the_html_has_no_script_and_fetches_nothing(page: str, db: Any) -> None:
    mended = as_html(report(db, archive="abc"), plot=plots.svg).decode()
    for text in (page, mended):
        elements = Elements(text)
        assert not {"script", "iframe", "object", "embed", "link", "base", "form", "img"} & {
            *elements.names
        }
        assert elements.acting == []
        assert not re.search(r"url\(|@import", text)
        assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert "=cmd|" in "".join(Elements(mended).text)
    assert "\u202e" not in mended
    assert "\\u202e" in mended


def test_each_table_has_caption_and_scoped_heads_and_each_plot_its_table(page: str) -> None:
    elements = Elements(page)
    assert elements.names.count("table") == elements.names.count("caption") > 15
    assert all("scope=" in head for head in re.findall(r"<th\b[^>]*>", page))
    for section in re.findall(r"(?s)<section.*?</section>", page):
        assert section.count("<svg") <= section.count("<table")
    assert page.count('role="graphics-document"') == page.count("<svg") > 5
    assert 'aria-label="Link rot by host' in page
    assert '<html lang="en">' in page
    assert "@page { size: A4" in page


def test_same_index_same_bytes(history: History, page: str) -> None:
    with closing(history.open()) as db:
        again = report(db)
    assert as_html(again, plot=plots.svg).decode() == page
    assert as_json(again) == as_json(again)


def test_what_is_left_out_is_counted(whole: TableReport) -> None:
    page = as_html(whole, top=2, plot=lambda table: "").decode()
    assert "5 more rows are left out here; the CSV has all." in page
    assert page.count("<tbody>") == page.count("<table")


def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe() -> None:
    cells = ("=1", "+1", "-1", "@x", "\tx", "\rx", "x=1", "", None, -5, 0.25)
    table = Table(key="k", title="t", columns=tuple("abcdefghijk"), rows=(cells,))
    data = as_csv(table).decode()
    _, row = csv.reader(io.StringIO(data, newline=""))
    assert row == ["'=1", "'+1", "'-1", "'@x", "'\tx", "'\rx", "x=1", "", "", "-5", "0.25"]
    assert data.endswith("\r\n")


def test_every_table_of_by_comes_as_csv(db: Any) -> None:
    for by in BY:
        (table,) = report(db, by=by).tables
        head, *rows = csv.reader(io.StringIO(as_csv(table).decode(), newline=""))
        assert head[0] == by
        assert len(rows) == len(table.rows) > 0


def test_a_terminal_gets_forty_lines_at_most(db: Any, whole: TableReport) -> None:
    assert 20 < len(as_text(whole).splitlines()) <= 40
    wide = Table(key="k", title="t", columns=("host", "share"), rows=(("x" * 99, 0.5),) * 99)
    lines = as_text(TableReport(span=whole.span, title="t", tables=(wide,))).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) < 80
    assert lines[-1].startswith("... and ")


def test_the_maintainers_table_names_links_and_sentences(db: Any) -> None:
    (table,) = report(db, archive="ABC").tables
    found = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["pid"], row["outcome"], row["citec"], row["state"]) for row in found[:2]] == [
        (pid_of(1), "not-found", "downerror", "lost"),
        (pid_of(2), "not-found", "downerror", "lost"),
    ]
    assert found[0]["since"] == at(10)
    assert found[0]["futli"] == futli_of(1)
    assert found[0]["error"] == "it is not-found"
    assert "excluded" not in {row["outcome"] for row in found}


def asked(**more: Any) -> ReportOptions:
    return ReportOptions.of(options(**more))


def test_the_letter_says_what_was_seen_of_each_link(db: Any) -> None:
    text = answer(db, asked(output="x.txt", archive="abc")).decode()
    assert text.startswith("Subject: ")
    gone = "The server has no such file (404). Write the URL that the file has now."
    assert re.search(rf"not-found: \d+ \(CitEc: downerror\)\n{re.escape(gone)}\n\n", text)
    links = json.loads(answer(db, asked(output="x.json", archive="abc")))["to_mend"]
    for row in links:
        place = text.index(f"link: {printable(row['futli'])}")
        facts = text[place:].partition("\n\n")[0]
        for name, word in (("had", "last had"), ("kept", "kept in"), ("since", "fails since")):
            assert (f"{word}: {row[name]}" in facts) is bool(row[name])
    assert {row["kept"] for row in links} > {None, "warc/RePEc/abc/wpaper/1.warc"}
    assert "\u202e" not in text


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - set(_OURS)))
def test_each_outcome_says_what_its_maintainer_does(outcome: Outcome) -> None:
    assert re.fullmatch(r"[A-Z][^\n]+\. [A-Z][^\n]+\.", outcome.meaning)
    assert outcome.meaning != Outcome.FUT.meaning


def test_the_feed_is_atom_with_an_entry_a_link(db: Any) -> None:
    feed = ET.fromstring(answer(db, asked(output="x.atom", archive="abc")))
    atom = "{http://www.w3.org/2005/Atom}"
    entries = feed.findall(f"{atom}entry")
    links = json.loads(answer(db, asked(output="x.json", archive="abc")))["to_mend"]
    assert len(entries) == len(links) == len({one.findtext(f"{atom}id") for one in entries})
    updated = [one.findtext(f"{atom}updated") or "" for one in entries]
    assert updated == sorted(updated, reverse=True)
    assert all(len(one) >= 20 for one in updated)


@pytest.mark.parametrize("archive", ["", "abc"])
def test_what_is_not_as_in_an_earlier_report_is_told(db: Any, tmp_path: Path, archive: str) -> None:
    now = json.loads(answer(db, asked(output="x.json", archive=archive)))
    if archive:
        gone = now["to_mend"].pop(0)
        now["to_mend"].append({**gone, "pid": "RePEc:abc:wpaper:mended"})
    else:
        now["summary"]["futs"] -= 3
    (tmp_path / "before.json").write_text(json.dumps(now), "utf-8")
    given = {"archive": archive, "before": str(tmp_path / "before.json")}
    told = json.loads(answer(db, asked(output="x.json", **given)))
    if archive:
        assert [row["pid"] for row in told["newly_failing"]] == [gone["pid"]]
        assert [row["pid"] for row in told["mended"]] == ["RePEc:abc:wpaper:mended"]
        assert "Mended since" in answer(db, asked(output="x.txt", **given)).decode()
    else:
        futs = now["summary"]["futs"]
        assert told["difference"] == [
            {"what": "futs", "before": futs, "now": futs + 3, "change": 3}
        ]
    assert "the report of" in answer(db, asked(**given)).decode()


@pytest.mark.parametrize("text", ["", "[]", '{"format": 9}', '{"format": 1, "archive": "xyz"}'])
def test_an_earlier_report_that_is_none_is_one_sentence(db: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "before.json").write_text(text, "utf-8")
    sentence = "that report is of xyz" if "xyz" in text else "no report in JSON of format 1"
    with pytest.raises(BadArgument, match=f"--before.*{sentence}"):
        answer(db, asked(before=str(tmp_path / "before.json")))


def test_a_table_of_a_span_with_nothing_in_it_is_refused(db: Any) -> None:
    with pytest.raises(BadArgument, match="--by found_by: nothing"):
        answer(db, asked(by="found_by", since=at(38)[:10], until=at(38)[:10]))


def options(**more: Any) -> Any:
    given = {"output": "", "since": None, "until": None, "by": "", "archive": "", "top": 50,
             "recheck": None, "before": ""}  # fmt: skip
    return SimpleNamespace(**{**given, **more})


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"output": "x.pdf"}, "ends with none of"),
        ({"by": "host", "archive": "abc"}, "say one of them"),
        ({"by": "hots"}, "--by hots: no table, .*; host meant"),
        ({"top": 0}, "at least 1"),
        ({"since": "x"}, "neither 30d"),
        ({"recheck": "x"}, "neither 30d"),
        ({"output": "x.txt"}, "of one archive"),
        ({"output": "x.atom"}, "of one archive"),
    ],
)
def test_options_that_make_no_sense_are_one_sentence(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence):
        ReportOptions.of(options(**more))


def test_without_the_extra_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(BadArgument, match=r"pip install 'lafka\[report\]'"):
        ReportOptions.of(options(output="x.html"))
    assert ReportOptions.of(options(output="x.json")).form == ".json"


def test_the_recheck_list_takes_hosts_in_turn(db: Any) -> None:
    listed = answer(db, ReportOptions(recheck="2026-01-15")).decode().splitlines()
    pids = [row.split("\t")[0] for row in listed]
    assert sorted(pids) == sorted(pid_of(n) for n in (0, 6, 7, 8, 9, 10, 11))
    hosts = [row.split("/")[2] for row in listed]
    assert len({*hosts[:3]}) == 3


def command(history: History, *args: str) -> subprocess.CompletedProcess[str]:
    return starts.verb("scrapy", "report", *args, LAFKA_ARCHIVE=str(history.root))


def test_the_command_writes_each_form(history: History, tmp_path: Path) -> None:
    for form, begin in ((".html", "<!DOCTYPE html>"), (".csv", "archive,"), (".json", "{")):
        path = tmp_path / f"report{form}"
        path.write_text("old")
        done = command(history, "-o", str(path))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert path.read_text("utf-8").startswith(begin)
    assert not [path for path in tmp_path.iterdir() if "draft" in path.name]
    shown = command(history, "--no-index", "--by", "outcome")
    assert shown.stdout.startswith("Outcomes:")
    listed = tmp_path / "list.tsv"
    assert command(history, "--recheck", "2026-01-15", "-o", str(listed)).returncode == 0
    checked = starts.verb("scrapy", "check-list", listed)
    assert checked.returncode == 0, checked.stdout
    refused = command(history, "--by", "colour")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("scrapy report: --by colour: no table")


def test_while_another_process_indexes_the_report_tells_from_what_is_there(
    history: History,
) -> None:
    with history.place.locked():
        done = command(history, "--by", "outcome")
    assert done.returncode == 0
    assert "another process brings this index up to date; told as it is" in done.stderr
    assert done.stdout.startswith("Outcomes:")


def test_every_question_has_an_answer_for_an_archive_with_nothing_in_it(tmp_path: Path) -> None:
    empty = History(tmp_path / "archive")
    empty.index()
    with closing(empty.open()) as db:
        whole = report(db)
    assert len(whole.tables) == len(QUESTIONS)
    assert as_html(whole, plot=plots.svg).count(b"Nothing.") > 10
    assert len(as_text(whole).splitlines()) > 10
