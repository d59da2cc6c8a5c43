import json
from pathlib import Path
from string import Formatter

import pytest

from lafka.warc.problems import CODES, Problem


@pytest.mark.parametrize("code", CODES)
def test_each_code_makes_a_sentence(code: str) -> None:
    severity, template = CODES[code]
    names = [name for _, name, _, _ in Formatter().parse(template) if name]
    problem = Problem.of(code, Path("x.warc"), 7, **dict.fromkeys(names, "v\x1b"))
    assert problem.severity == severity
    assert problem.sentence.isprintable()
    assert not problem.sentence.endswith(".")


def test_a_problem_is_one_line_of_json() -> None:
    problem = Problem.of("bad-date", Path("a\nb"), 5, name="WARC-Date", value="é\n")
    assert "\n" not in problem.to_json()
    assert json.loads(problem.to_json()) == {
        "path": "a\\nb",
        "offset": 5,
        "code": "bad-date",
        "severity": "error",
        "sentence": "WARC-Date is 'é\\n'",
    }


def test_a_problem_of_some_bytes_is_put_where_they_stand() -> None:
    found = Problem.of("torn-tail", Path(), 5).at(Path("x"), 100)
    assert (found.path, found.offset) == (Path("x"), 105)
