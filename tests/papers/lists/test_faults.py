"""Faults of lists: each kind has its guess, and sound lists have none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadList
from lafka.papers.lists.faults import FIRST, ListAccount, fault, refuse_all_bad
from lafka.papers.lists.listfiles import read
from lafka.pids import SCHEMES

PID = "RePEc:abc:wpaper:1"
URL = "https://example.org/1.pdf"


def account(folder: Path, text: str | bytes, name: str = "list.tsv") -> ListAccount:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return ListAccount.of(read(path, SCHEMES["RePEc"]), SCHEMES["RePEc"])


@pytest.mark.parametrize(
    ("line", "guess"),
    [
        (f"{URL}\t{PID}", "column 1 looks like URLs and column 2 like pids: swapped?"),
        (f"{PID}    {URL}", "blanks where a tab should be"),
        (f"{PID} {URL}", "blanks where a tab should be"),
        (f"{URL} {PID}", "blanks where a tab should be"),
        (f"{PID};{URL}", "separated by ';'"),
        (f"{PID},{URL}", "separated by ','"),
        (f"{PID} | {URL}", "separated by '|'"),
        (f"{PID}\\t{URL}", "a backslash and a t"),
        (URL, "the pid's column is missing?"),
        (f"{PID}\twww.example.org/1.pdf", "no scheme: https:// meant?"),
        (f"{PID}\texample.org", "no scheme: https:// meant?"),
        (f"{PID}\thtp://example.org/1.pdf", "a misspelt http://?"),
        (f"{PID}\thttps//example.org/1.pdf", "a misspelt https://?"),
        (f"{PID}\thttps:\\\\example.org\\1.pdf", "a misspelt https://?"),
        (f"{PID}\tdoi:10.1000", "a DOI is like doi:10.1000/182"),
        (f"{PID}\tDOI 10.1000/182", "a DOI: doi:10.../... meant?"),
        (f"{PID}\thdl:2027", "a handle is like hdl:PREFIX/NAME"),
        (f"{PID}\tarXiv:2001", "an arXiv id is like arXiv:2101.00001"),
        (f"{PID}\tftp://example.org/1.pdf", "ftp is not asked"),
        (f"{PID}\tfile:///srv/1.pdf", "a file of one computer"),
        (f"{PID}\tC:\\papers\\1.pdf", "a file of one computer"),
        (f"{PID}\t<{URL}", "quotes or brackets around the URL"),
        (f"{PID}\tN/A", "an empty value written out"),
        (f"{PID}\t", "column 2, the URL, is empty or missing"),
        (f"\t{URL}", "column 1, the pid, is empty"),
        (f"RePEc:abc:w paper:1\t{URL}", "a blank in the pid"),
        (f'{{"pid": "{PID}", "futli": "{URL}"}} ', "JSON: such a list is called .jsonl"),
        (f"{PID}\t{URL}?a=1&amp;b=2", "&amp; in the URL: & meant?"),
        (f"{PID}\t{URL} {URL}", "two URLs in one column"),
        (f"{PID}\t{URL}>", "the URL ends with a quote"),
    ],
)
def test_each_fault_has_its_guess_and_first_line(tmp_path, line, guess):
    found = account(tmp_path, f"# a list\n{PID}\t{URL}\n{line}\n{line}\n")
    (told,) = found.sentences()
    assert told.startswith("line 3 and 1 more: ")
    assert guess in told


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        (f"{PID}    {URL}", (PID, URL)),
        (f"{URL} {PID}", (PID, URL)),
        (f"{PID};{URL}", (PID, URL)),
        (f"{PID}\\t{URL}", (PID, URL)),
        (f"{URL}\t{PID}", (PID, URL)),
        (f"{PID}\texample.org/1.pdf", (PID, "https://example.org/1.pdf")),
        (f"{PID}\thtp://example.org/1.pdf", (PID, "http://example.org/1.pdf")),
        (f"{PID}\thttps//example.org/1.pdf", (PID, URL)),
        (f"{PID}\thttps:\\\\example.org\\1.pdf", (PID, URL)),
        (f"{PID}\tDOI 10.1000/182", (PID, "doi:10.1000/182")),
        (f"{PID}\t“{URL}", (PID, URL)),
        (f"{PID}\t{URL}?a=1&amp;b=2", (PID, f"{URL}?a=1&b=2")),
        (f"{PID}\thttp://{URL}", (PID, URL)),
        (f"{PID}\thttps://www.google.com/url?sa=t&q=https%3A%2F%2Fexample.org%2F1.pdf", (PID, URL)),
        (f"{PID}\thttps://www.google.com/url?sa=t", None),
        (f"{PID}\tftp://example.org/1.pdf", None),
        (f"{PID}\t{URL}>", None),
        (f"RePEc:abc:w paper:1\t{URL}", None),
        (f"RePEc:abc;{URL}", None),
        (f"{PID}\t", None),
    ],
)
def test_what_is_beyond_doubt_is_mended(tmp_path, line, mended):
    path = tmp_path / "list.tsv"
    path.write_text(f"{PID}\t{URL}\n{line}\n")
    (*_, read_line) = read(path, SCHEMES["RePEc"])
    found = fault(read_line, SCHEMES["RePEc"])
    assert found is not None
    assert found.mended == mended


def test_advice_that_does_not_help_is_not_given(tmp_path):
    (told,) = account(tmp_path, f"{PID}\t{URL}\nRePEc:abc;{URL}\n").sentences()
    assert "a tab belongs there" not in told


def test_what_is_said_twice_is_shown_with_its_line(tmp_path):
    found = account(tmp_path, f"{PID}\t{URL}\n{PID}2\t{URL}\n{PID}\t{URL}\n{PID}\t{URL}\n")
    twice = {kind.reason: [number for number, _ in kind.first] for kind in found.twice.values()}
    assert twice == {"the link of another pid": [2], "said before": [3, 4]}
    assert all(
        text.endswith("as line 1") for kind in found.twice.values() for _, text in kind.first
    )
    assert (found.duplicates, found.kinds) == (2, {})


@pytest.mark.parametrize("blank", [" ", "   ", "\u00a0", "\u2003", " \u00a0"])
@pytest.mark.parametrize("name", ["list.tsv", "list.csv"])
def test_blanks_at_the_ends_are_no_part_of_a_pid(tmp_path, blank, name):
    by = "\t" if name == "list.tsv" else ","
    path = tmp_path / name
    path.write_text(f"{PID}{blank}{by}{URL}\n{blank}{PID}{by}{URL}\n", "utf-8")
    lines = list(read(path, SCHEMES["RePEc"]))
    assert [(str(line.futli.pid), fault(line, SCHEMES["RePEc"])) for line in lines] == [
        (PID, None)
    ] * 2


@pytest.mark.parametrize("blank", ["", " ", "\u00a0"])
@pytest.mark.parametrize("pid", ["RePEc:abc:wpaper", "repec:abc::1", "RePEc:abc:w\u00a0paper:1"])
def test_no_other_collection_is_advised_for_a_broken_handle(tmp_path, pid, blank):
    (told,) = account(tmp_path, f"{pid}{blank}\t{URL}\n").sentences()
    assert "collection" not in told


@pytest.mark.parametrize("blank", ["", " ", "\u00a0"])
def test_another_collection_that_is_advised_takes_the_line(tmp_path, blank):
    path = tmp_path / "list.tsv"
    path.write_text(f"thesis-7{blank}\t{URL}\n", "utf-8")
    (told,) = ListAccount.of(read(path, SCHEMES["Socionet"]), SCHEMES["Socionet"]).sentences()
    assert told.endswith("a pid of another collection: -a collection=any takes it")
    (line,) = read(path, SCHEMES["any"])
    assert str(line.futli.pid) == "thesis-7"


def test_tabs_in_a_line_of_a_csv_are_told(tmp_path):
    (told,) = account(tmp_path, f"{PID},{URL}\n{PID}2\t{URL}\n", "list.csv").sentences()
    assert "separated by tabs: such a list is called .tsv" in told


def test_what_is_no_utf_8_is_told(tmp_path):
    (told,) = account(tmp_path, "RePEc:abc:wpaper:ü\t".encode("latin-1") + URL.encode()).sentences()
    assert "save it as UTF-8" in told


def test_lines_hosts_duplicates_and_restricted_are_counted(tmp_path):
    text = f"pid\turl\trestriction\n{PID}\t{URL}\t\n{PID}\t{URL}\t\n{PID}2\t{URL}\tyes\nx\t\t\n"
    found = account(tmp_path, text + f"{PID}3\thttp://b.example/\t\n")
    counts = (found.lines, found.bad, found.restricted, found.duplicates, dict(found.hosts))
    assert counts == (5, 1, 1, 1, {"example.org": 3, "b.example": 1})
    assert not found.all_bad


def test_the_most_frequent_kind_comes_first(tmp_path):
    text = f"{PID}\tN/A\n{PID}\twww.a.example\n{PID}\twww.b.example\n"
    first, second = account(tmp_path, text).sentences()
    assert first.startswith("line 2 and 1 more: no scheme")
    assert second.startswith("line 1: ")


def refusal(folder: Path, text: str) -> str:
    path = folder / "list.tsv"
    path.write_text(text)
    with pytest.raises(BadList) as error:
        refuse_all_bad("list.tsv", read(path, SCHEMES["RePEc"]), SCHEMES["RePEc"])
    return str(error.value)


def test_a_list_without_a_good_line_is_refused(tmp_path):
    told = refusal(tmp_path, f"{PID} On money {URL}\n{PID} Money {URL}\n{PID} On {URL}\n")
    assert told.startswith("list.tsv: none of its 3 lines can be asked for: line 1 and 2 more: ")
    assert "blanks where a tab should be" in told


def test_an_empty_list_is_refused(tmp_path):
    assert "an empty list" in refusal(tmp_path, "# nothing\n\n")


def test_only_the_first_lines_decide(tmp_path):
    bad, good = f"{PID}\n", f"{PID}\t{URL}\n"
    assert "none of its first 100 lines" in refusal(tmp_path, bad * FIRST + good)
    path = tmp_path / "list.tsv"
    path.write_text(bad * (FIRST - 1) + good)
    refuse_all_bad("list.tsv", read(path, SCHEMES["RePEc"]), SCHEMES["RePEc"])


@given(st.text(), st.text())
def test_whatever_a_line_holds_it_is_judged(tmp_path_factory, pid, url):
    path = tmp_path_factory.mktemp("any") / "list.tsv"
    path.write_bytes(f"{pid}\t{url}\n".encode("utf-8", "surrogatepass"))
    for line in read(path, SCHEMES["RePEc"]):
        found = fault(line, SCHEMES["RePEc"])
        if line.outcome in ("bad-pid", "bad-url"):
            assert found
            assert found[0]


def test_a_pid_in_other_letters_is_shown_with_the_one_that_is_archived(tmp_path: Path) -> None:
    found = account(tmp_path, f"repec:abc:wpaper:1\t{URL}\n")
    (note,) = found.twice.values()
    assert note.first == [(1, f"repec:abc:wpaper:1 {URL}  as {PID}")]
    assert not found.kinds
