import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lafka.warc.fields import Fields, one_line

NAMES = st.from_regex(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}", fullmatch=True)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(st.lists(st.tuples(NAMES, TEXT.map(one_line).map(lambda v: v.strip(" \t"))), max_size=8))
@settings(deadline=None)
def test_what_is_written_is_read_back(items: list[tuple[str, str]]) -> None:
    fields = Fields(items)
    assert Fields.parse(fields.to_bytes()) == fields
    assert Fields.parse(fields.to_bytes().replace(b"\r\n", b"\n")) == fields


@given(st.text())
@settings(deadline=None)
def test_one_line_makes_any_text_fit_for_one_line(text: str) -> None:
    data = Fields([("A", one_line(text))]).to_bytes()
    assert data.count(b"\n") == data.count(b"\r") == 1
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", data)


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_parsing_takes_anything(data: bytes) -> None:
    for name, value in Fields.parse(data):
        assert "\n" not in name + value


@pytest.mark.parametrize("value", ["a\r\nB: c", "a\nb", "\r", "\0", "\x1b[2J", "\x7f", "\ud800"])
def test_a_value_cannot_write_a_line_or_drive_a_terminal(value: str) -> None:
    with pytest.raises(ValueError, match="A"):
        Fields([("A", value)]).to_bytes()


@pytest.mark.parametrize("name", ["", "A B", "A:", "A\r\nB", "é", " A"])
def test_a_name_is_a_token(name: str) -> None:
    with pytest.raises(ValueError, match="field name"):
        Fields([(name, "v")]).to_bytes()


@pytest.mark.parametrize(
    ("data", "items"),
    [
        (b"A: b\r\nC: d\r\n", [("A", "b"), ("C", "d")]),
        (b"A: b\nC: d\n", [("A", "b"), ("C", "d")]),
        (b"A:b", [("A", "b")]),
        (b"A:\r\n", [("A", "")]),
        (b"A: b: c\r\n", [("A", "b: c")]),
        (b"A : b\r\n", [("A", "b")]),
        (b"A: b\r\n  c\r\n\td\r\nE: f\r\n", [("A", "b c d"), ("E", "f")]),
        (b"A:\r\n b\r\n \r\n", [("A", "b")]),
        (b" X: folded under nothing\r\nA: b\r\n", [("A", "b")]),
        (b"no colon\r\nA: b\r\n", [("A", "b")]),
        (b"A: 1\r\na: 2\r\n", [("A", "1"), ("a", "2")]),
        ("A: é\u00a0\r\n".encode(), [("A", "é\u00a0")]),
        (b"A: \xff\r\n", [("A", "\ufffd")]),
    ],
)
def test_lenient_parsing(data: bytes, items: list[tuple[str, str]]) -> None:
    assert list(Fields.parse(data)) == items


def test_ask_by_how_many_there_should_be() -> None:
    fields = Fields([("A", "1"), ("B", "2"), ("a", "3")])
    assert fields.all("A") == ["1", "3"]
    assert fields.first("a") == "1"
    assert fields.first("C") == ""
    assert fields.first("C", "x") == "x"
    assert fields.sole("b") == "2"
    for name in ("A", "C"):
        with pytest.raises(LookupError):
            fields.sole(name)
    fields.add("C", "4")
    assert len(fields) == 4
    assert fields != Fields()


def test_a_value_folded_over_very_many_lines_costs_no_more_than_its_size() -> None:
    value = Fields.parse(b"A: x\r\n" + b" y\r\n" * 250_000).first("A")
    assert len(value) == 1 + 2 * 250_000
