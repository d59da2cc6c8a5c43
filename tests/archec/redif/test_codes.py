"""Each code of the closed list, by a file that was written by hand to have it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lafka.archec import redif
from lafka.archec.redif.vocabulary import CODES, Problem

HERE = Path(__file__).parent / "codes"
PAGE = Path(__file__).parents[3] / "docs" / "redif.md"
# Told of sources (tests/archec/test_sources.py), or by what reads more than one file.
ACROSS_TEMPLATES = {"duplicate-handle"}  # tests/archec/test_futlis.py
OF_SOURCES = {"unreadable", "truncated", "passed-over"}
TOO_BIG_FOR_A_FILE = {"too-long", "not-told"}


def fixtures() -> list[Path]:
    return sorted(HERE.glob("*.rdf"))


def of_one_file() -> list[Path]:
    return [path for path in fixtures() if path.stem not in ACROSS_TEMPLATES]


def told(reader: redif.Reader) -> list[Problem]:
    """All problems of a file, by line."""
    found = [problem for template in reader for problem in template.problems]
    return sorted([*found, *reader.problems])


def expected(data: bytes) -> list[tuple[int, str]]:
    """What the first line of a fixture says: ``# 4 bad-uri, 5 bad-uri``."""
    line = data.partition(b"\n")[0].decode()
    return [(int(number), code) for number, code in re.findall(r"(\d+) ([a-z-]+)", line)]


def test_each_code_has_a_fixture() -> None:
    named = {path.stem for path in fixtures()}
    assert named == set(CODES) - OF_SOURCES - TOO_BIG_FOR_A_FILE


@pytest.mark.parametrize("path", of_one_file(), ids=lambda path: path.stem)
def test_a_fixture_has_the_problems_that_its_first_line_says(path: Path) -> None:
    data = path.read_bytes()
    found = told(redif.read(data, path.name))
    assert [(problem.line, problem.code) for problem in found] == expected(data)
    assert {problem.code for problem in found} == {path.stem}
    assert all(str(problem).startswith(f"{path.name}, line ") for problem in found)
    assert all(problem.sentence.isprintable() for problem in found)


def test_a_template_that_is_too_long_is_cut_and_the_next_one_is_found() -> None:
    head = b"Template-Type: ReDIF-Paper 1.0\nHandle: RePEc:abc:wpaper:1\nAbstract:\n"
    line = b" What follows is long, and longer still than that.\r\n"
    times = 3 * redif.LONGEST_TEMPLATE // len(line)
    data = head + line * times + head
    reader = redif.read(data, "a.rdf")
    first, second = reader
    assert first.data == data[: redif.LONGEST_TEMPLATE]
    assert [problem.code for problem in first.problems] == ["too-long"]
    assert (second.offset, second.line) == (len(data) - len(head), 4 + times)
    assert second.data == head


def test_of_a_million_problems_a_thousand_are_told_and_the_rest_counted() -> None:
    data = b"Template-Type: ReDIF-Paper 1.0\nHandle: RePEc:abc:wpaper:1\n"
    data += b"Foo: \n" * 100_000 + data + b"Title : A\nTitle : B\n"
    reader = redif.read(data, "a.rdf")
    found = told(reader)
    assert len(found) == redif.MOST_PROBLEMS + 1
    assert str(found[0]) == "a.rdf: not-told: 99003 more problems"
    assert reader.counts == {"unknown-field": 100_000, "spaced-field": 2, "repeated-field": 1}


def test_the_page_on_redif_has_each_code_with_its_sentence() -> None:
    page = PAGE.read_text("utf-8")
    rows = re.findall(r"(?m)^\| `([a-z-]+)` \| (.+?) \|", page)
    assert rows == list(CODES.items())
