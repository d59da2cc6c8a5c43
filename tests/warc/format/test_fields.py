import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadValue, NotFound
from lafka.warc.format.fields import Fields, decoded_words, one_line
from lafka.warc.problems import Problem

NAMES = st.from_regex(r"(?!#)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}", fullmatch=True)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
PARTS = [
    b"A: b\r\n",
    b"c:d\r\n",
    b"\r\n",
    b"\n",
    b" ",
    b"\t",
    b"#",
    b":",
    b"E",
    b"\xff",
    b"\0",
    b"\xc3\xa9",
]


@given(st.lists(st.tuples(NAMES, TEXT.map(one_line).map(lambda v: v.strip(" \t"))), max_size=8))
def test_what_is_written_is_read_back(items: list[tuple[str, str]]) -> None:
    fields = Fields(items)
    assert Fields.parse(fields.to_bytes()) == fields
    assert Fields.parse(fields.to_bytes().replace(b"\r\n", b"\n")) == fields


@given(st.text())
def test_one_line_makes_any_text_fit_for_one_line(text: str) -> None:
    data = Fields([("A", one_line(text))]).to_bytes()
    assert data.count(b"\n") == data.count(b"\r") == 1
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", data)


@given(st.binary(max_size=200))
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
        (b"A: =?utf-8?Q?caf=C3=A9?=\r\n", [("A", "café")]),
        (b"A:=?utf-8?Q?caf=C3=A9?=\r\n", [("A", "café")]),
        (b"A:=?utf-8?Q?a_b?=\r\n =?utf-8?B?Yw==?=\r\n", [("A", "a bc")]),
        (b"A: =?utf-8?Q?a=0D=0AB:_c?=\r\n", [("A", "=?utf-8?Q?a=0D=0AB:_c?=")]),
        (b"A: http://x.example/?b=?utf-8?Q?c?=\r\n", [("A", "http://x.example/?b=?utf-8?Q?c?=")]),
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


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (b"A: b\r\n", []),
        (b"A: b\nC: d\n", ["line-end@0"]),
        (b"A: b\r\nno colon\r\nC: d\r\n", ["no-colon@6"]),
        (b"A: b\r\n: v\r\n", ["no-name@6"]),
        (b"A B: v\r\n", ["bad-name@0"]),
        (b"A : v\r\n", ["bad-name@0"]),
        (b"A: b\r\nB: \x1b[2J\r\n", ["control-character@6"]),
        (b"A: b\rB: c\r\n", ["control-character@0"]),
        (b"A: \xff\r\n", ["bad-utf-8@0"]),
        (b"A: " + b"x" * 65536 + b"\r\n", ["long-line@0"]),
        (b" x\r\nA: b\r\n", ["folded-first-line@0"]),
        (b"A: b\r\n c\r\n", ["folded-line@6"]),
        (b"# c\r\nA: b\r\n", ["comment@0"]),
        (b"A:\tb\r\n", []),
    ],
)
def test_what_is_wrong_is_named_once_and_strictly_refused(data: bytes, codes: list[str]) -> None:
    problems: list[Problem] = []
    fields = Fields.parse(data, problems=problems)
    assert [f"{problem.code}@{problem.offset}" for problem in problems] == codes
    if any(problem.severity == "error" for problem in problems):
        with pytest.raises(BadValue, match="byte"):
            Fields.parse(data, strict=True)
    else:
        assert Fields.parse(data, strict=True) == fields


@given(st.binary(max_size=200) | st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join))
def test_the_short_way_reads_as_the_long_way_does(data: bytes) -> None:
    problems: list[Problem] = []
    fields = Fields.parse(data, problems=problems)
    assert fields.to_bytes() == data
    assert list(Fields.parse(data + b"\r\n ")) == list(fields)  # no plain line: the long way
    if not problems and data.endswith(b"\r\n"):
        assert Fields.parse(fields.copy().to_bytes()) == fields


def test_what_was_read_is_kept_as_it_is() -> None:
    data = b"a:  b\r\n\tc\r\nD:e"
    fields = Fields.parse(data)
    assert fields.frozen
    assert fields.to_bytes() == fields.raw == data
    for change in (
        lambda: fields.add("X", "y"),
        lambda: fields.set("D", "y"),
        lambda: fields.remove("D"),
    ):
        with pytest.raises(BadValue, match="copy"):
            change()
    mine = fields.copy()
    mine.set("d", "f")
    assert mine.to_bytes() == b"a: b c\r\nd: f\r\n"
    assert fields["D"] == "e"


def test_fields_are_made_of_pairs_or_of_a_mapping() -> None:
    assert Fields({"A": "1", "B": "2"}) == Fields([("A", "1"), ("B", "2")]) != Fields()


def test_fields_change_in_place() -> None:
    fields = Fields([("A", "1"), ("B", "2"), ("a", "3"), ("C", "4")])
    assert fields.names() == ["A", "B", "C"]
    fields.set("a", "5")
    assert list(fields) == [("a", "5"), ("B", "2"), ("C", "4")]
    fields.remove("b")
    fields.remove("b")
    fields.set("D", "6")
    assert list(fields) == [("a", "5"), ("C", "4"), ("D", "6")]
    assert "c" in fields
    assert "B" not in fields
    assert 1 not in fields


def test_an_http_head_is_latin_1_and_has_no_comments() -> None:
    fields = Fields.parse(b"#A: \xe9\r\nB: \x80\r\n", encoding="latin-1", comments=False)
    assert list(fields) == [("#A", "é"), ("B", "\x80")]


@pytest.mark.parametrize(
    ("value", "decoded"),
    [
        ("plain", "plain"),
        ("=?utf-8?Q?caf=C3=A9?=", "café"),
        ("=?iso-8859-1?B?6Q==?= x", "é x"),
        ("=?nonsense?Q?a?=", "=?nonsense?Q?a?="),
        ("=?utf-8?B?a?=", "=?utf-8?B?a?="),
        ("=?utf-8?Q?=FF?=", "=?utf-8?Q?=FF?="),
    ],
)
def test_encoded_words_are_decoded_on_request(value: str, decoded: str) -> None:
    assert decoded_words(value) == decoded


@given(st.text(max_size=60).map(lambda text: f"=?{text}?="))
def test_decoding_words_never_fails(value: str) -> None:
    assert isinstance(decoded_words(value), str)


def test_a_header_of_nothing_but_problems_tells_some_of_them() -> None:
    problems: list[Problem] = []
    Fields.parse(b"#\r\n" * 1000 + b"A: b\r\n", problems=problems)
    assert len(problems) == 100
    Fields.parse(b"no colon", problems=problems)
    assert len(problems) == 101


def test_fields_are_used_as_people_guess() -> None:
    fields = Fields([("A", "1"), ("B", "2"), ("a", "3")])
    assert (fields.get("a"), fields.get("c"), fields.get("c", "none")) == ("1", None, "none")
    assert list(fields.items()) == list(fields) == [("A", "1"), ("B", "2"), ("a", "3")]
    assert fields.values() == ["1", "2", "3"]
    fields["c"] = "4"
    fields["A"] = "5"
    assert fields.items() == [("A", "5"), ("B", "2"), ("c", "4")]
    del fields["b"]
    assert "B" not in fields
    with pytest.raises(NotFound, match="B stands 0 times"):
        del fields["B"]
    read = Fields.parse(b"A: 1\r\n")
    with pytest.raises(BadValue, match="copy"):
        read["A"] = "2"
    with pytest.raises(BadValue, match="copy"):
        del read["A"]
    assert dict(Fields([("A", "1"), ("A", "2")])) == {"A": "2"}
