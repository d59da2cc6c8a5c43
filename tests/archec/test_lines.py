"""The types of journal lines, held against the lines that gatherings write."""

from __future__ import annotations

import msgspec
import pytest

from lafka.archec.files.fobis import FobiAnswer, lines_of_miss, visit_line
from lafka.archec.records import Kind, Obi
from lafka.archec.records.folding import RefreshRule
from lafka.archec.store.lines import KINDS, FirstLine, Line, fault
from tests.archec.fobis import gather
from tests.archec.stores import DAY, START, Home, template

URL = "http://x.example/abc/1.pdf"
UNTYPED = {"from"}
"""A key that no class can name, for it is a word of Python's."""


def check(line: Line) -> None:
    of = KINDS[line["e"]] if "e" in line else FirstLine
    msgspec.convert(line, of)
    assert set(line) <= {*of.__annotations__, *UNTYPED}


def test_each_line_that_a_gathering_writes_is_of_its_type(tmp_path):
    home = Home(tmp_path)
    home.put({"abc/a.rdf": "".join(map(template, range(60)))})
    home.put({"abc/b.rdf": template("b").encode("utf-16")})
    home.tobi()
    home.put({"abc/a.rdf": template(0, title="B") + "".join(map(template, range(1, 59)))})
    home.tobi()
    home.put({"abc/a.rdf": template(0)})
    home.tobi()
    gather(home, START + 9 * DAY, {URL: b"%PDF-1.4"}, ways=((f"{URL}?a", URL),))
    gather(home, START + 10 * DAY, {}, lost=(URL,))
    lines = [line for journal in home.journals().values() for line in journal]
    for line in lines:
        check(line)
    assert {line.get("e") for line in lines} == {*KINDS, None} - {"visit", "miss", "withdrawn"}


def test_the_lines_of_answers_are_of_their_types():
    obi = Obi(id=URL, kind=Kind.FOBI, noted=START)
    answer = FobiAnswer(uri=URL, time="2012-11-09T17:13:50Z", way=(URL,), status=304)
    check(visit_line(answer, URL, obi, RefreshRule()))
    miss = FobiAnswer(uri=URL, time="2012-11-09T17:13:50Z", way=(URL,), miss="dns", error="none")
    (line,) = lines_of_miss(miss, {}, START)
    check(line)


@pytest.mark.parametrize("event", KINDS)
def test_a_line_about_an_obi_without_its_id_is_refused(event):
    assert bool(fault({"e": event}, 9)) == ("id" in KINDS[event].__annotations__)
