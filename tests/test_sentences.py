"""What operators read stays as it is, letter by letter, wherever the code is moved."""

import ast
from pathlib import Path

import pytest

from tests.sentences import sentences, template

KNOWN = [
    line
    for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("# ")
]


def test_each_sentence_that_was_known_is_still_said() -> None:
    assert sorted(set(KNOWN) - sentences()) == []
    assert len(KNOWN) > 250


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("f'{path}: not a {kind}'", "{}: not a {}"),
        ("'one' ' two'", "one two"),
        ("name", ""),
        ("f'{n:,} lines'", "{} lines"),
    ],
)
def test_names_of_variables_do_not_count(code: str, text: str) -> None:
    assert template(ast.parse(code, mode="eval").body) == text
