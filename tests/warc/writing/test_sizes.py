import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadValue
from lafka.warc.writing.builders import UNITS, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (1, 1), ("1", 1), ("007", 7), ("1K", 1000), ("1Ki", 1024), ("5M", 5_000_000),
        ("512Mi", 512 << 20), ("1G", 1_000_000_000), ("2Gi", 2 << 30),
    ],
)  # fmt: skip
def test_a_suffix_is_a_power_of_ten_or_of_two(text: int | str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "0", 0, -1, "-1", "1 G", "1g", "1GB", "G", "1.5G", "1e9", "1T", "١G", True, "1G\n"]
)
def test_anything_else_is_refused(text: int | str) -> None:
    with pytest.raises(BadValue, match="not a size"):
        parse_size(text)


@given(st.integers(1, 10**18 - 1), st.sampled_from([*UNITS]))
def test_every_size_comes_back_from_its_text(count: int, unit: str) -> None:
    assert parse_size(f"{count}{unit}") == count * UNITS[unit]
    assert parse_size(count * UNITS[unit]) == count * UNITS[unit]


@given(st.text(max_size=8))
def test_no_text_is_taken_for_what_it_is_not(text: str) -> None:
    try:
        size = parse_size(text)
    except BadValue:
        return
    assert size % int("".join(c for c in text if c.isdigit())) == 0
